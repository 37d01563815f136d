//! Jwt against Node.js's own cryptography, with keys that it has made.

use crate::oracle;
use crate::sandbox::Node;
use serde_json::{Value, json};

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

fn signer(algorithm: &str) -> Node {
    let parameters = json!({"operation": "sign", "algorithm": algorithm, "secret": "{{ $secrets.KEY }}"});
    Node::new("Jwt", parameters)
}

fn verifier(algorithm: &str) -> Node {
    let parameters = json!({"operation": "verify", "algorithm": algorithm, "secret": "{{ $secrets.KEY }}"});
    Node::new("Jwt", parameters)
}

/// Algorithm, key to sign, key to verify.
fn keys(made: &Value) -> Vec<(&'static str, String, String)> {
    let secret = "a secret of\n\"thirty-two\" bytes é😀".to_owned();
    let pair = |name: &str| {
        (
            text(&made[name]["privateKey"]).to_owned(),
            text(&made[name]["publicKey"]).to_owned(),
        )
    };
    let ((rsa, rsa_public), (ec, ec_public)) = (pair("rsa"), pair("ec"));
    vec![
        ("HS256", secret.clone(), secret.clone()),
        ("HS384", secret.clone(), secret.clone()),
        ("HS512", secret.clone(), secret),
        ("RS256", rsa, rsa_public),
        ("ES256", ec, ec_public),
    ]
}

#[tokio::test]
async fn tokens_are_signed_and_verified_as_by_node() {
    let Some(made) = oracle::ask("jwtKeys", &[Value::Null]) else {
        return;
    };
    let keys = keys(&made[0]);
    let payload = json!({"sub": "é😀", "n": 1.5, "exp": 1_800_000_000, "list": [null, {"a": true}]});
    let cases: Vec<Value> = keys
        .iter()
        .map(|(algorithm, key, _)| json!({"algorithm": algorithm, "key": key, "payload": payload}))
        .collect();
    let theirs = oracle::ask("jwtSign", &cases).unwrap();
    let mut ours = Vec::new();
    for ((algorithm, key, public), token) in keys.iter().zip(&theirs) {
        let verified = verifier(algorithm).run_with(token, &[("KEY", public)]).await;
        assert_eq!(verified.as_ref(), Ok(&payload), "{algorithm}");
        let token = signer(algorithm)
            .run_with(&payload, &[("KEY", key)])
            .await
            .unwrap();
        // Changed by one character, of the signature or of the claims.
        for at in [
            token.as_str().unwrap().len() - 8,
            token.as_str().unwrap().len() / 3,
        ] {
            let mut changed = text(&token).to_owned();
            let other = if changed[at..].starts_with('A') { "B" } else { "A" };
            changed.replace_range(at..=at, other);
            let failure = verifier(algorithm)
                .run_with(&changed.into(), &[("KEY", public)])
                .await
                .unwrap_err();
            assert!(
                failure.starts_with("JWT_INVALID: ") || failure.starts_with("PARSE: "),
                "{algorithm}: {failure}"
            );
        }
        ours.push(json!({"algorithm": algorithm, "key": public, "token": token}));
    }
    let verdicts = oracle::ask("jwtVerify", &ours).unwrap();
    assert!(verdicts.iter().all(|right| *right == true), "{verdicts:?}");
}

#[tokio::test]
async fn keys_that_do_not_fit_are_refused() {
    let Some(made) = oracle::ask("jwtKeys", &[Value::Null]) else {
        return;
    };
    let made = &made[0];
    let key = |name: &str, part: &str| text(&made[name][part]).to_owned();
    let (rsa, rsa_public) = (key("rsa", "privateKey"), key("rsa", "publicKey"));
    let (ec, ec_public) = (key("ec", "privateKey"), key("ec", "publicKey"));
    for (algorithm, secret, expected) in [
        ("HS256", String::new(), "PARAMETER: Parameter `secret`"),
        (
            "HS256",
            rsa_public.clone(),
            "PARAMETER: Parameter `secret` is a PEM key, which HS256 does not accept",
        ),
        (
            "RS256",
            "plain".into(),
            "PARAMETER: For RS256, parameter `secret` must be a PEM key of at most 4096 bytes.",
        ),
        (
            "RS256",
            rsa.repeat(3),
            "PARAMETER: For RS256, parameter `secret` must be a PEM key of at most 4096 bytes.",
        ),
        (
            "RS256",
            rsa_public.clone(),
            "PARAMETER: Parameter `secret` can't sign with RS256",
        ),
        (
            "RS256",
            ec.clone(),
            "PARAMETER: Parameter `secret` can't sign with RS256",
        ),
        (
            "RS256",
            key("weak", "privateKey"),
            "PARAMETER: Parameter `secret` can't sign with RS256",
        ),
        (
            "ES256",
            rsa.clone(),
            "PARAMETER: Parameter `secret` can't sign with ES256",
        ),
        (
            "ES256",
            ec_public.clone(),
            "PARAMETER: Parameter `secret` can't sign with ES256",
        ),
        (
            "ES256",
            "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----".into(),
            "PARAMETER: Parameter `secret` can't sign with ES256",
        ),
    ] {
        let failure = signer(algorithm)
            .run_with(&json!({}), &[("KEY", &secret)])
            .await
            .unwrap_err();
        assert!(failure.starts_with(expected), "{algorithm}: {failure}");
        assert!(!failure.contains("BEGIN"), "{failure}");
    }
    // What the weak key has signed is refused as well.
    let case = json!({"algorithm": "RS256", "key": made["weak"]["privateKey"], "payload": {}});
    let weak = oracle::ask("jwtSign", &[case]).unwrap().remove(0);
    let public = key("weak", "publicKey");
    let failure = verifier("RS256")
        .run_with(&weak, &[("KEY", &public)])
        .await
        .unwrap_err();
    assert!(
        failure.starts_with("PARAMETER: Parameter `secret` can't verify with RS256"),
        "{failure}"
    );
    let token = signer("ES256")
        .run_with(&json!({"a": 1}), &[("KEY", &ec)])
        .await
        .unwrap();
    let other = key("other", "publicKey");
    let failure = verifier("ES256")
        .run_with(&token, &[("KEY", &other)])
        .await
        .unwrap_err();
    assert!(
        failure.starts_with("JWT_INVALID: The token's signature"),
        "{failure}"
    );
    // A token must not choose how it is checked.
    for algorithm in ["HS256", "RS256"] {
        let failure = verifier(algorithm)
            .run_with(&token, &[("KEY", &rsa_public)])
            .await
            .unwrap_err();
        assert!(
            failure.starts_with("JWT_INVALID: The token's algorithm is `ES256`"),
            "{failure}"
        );
    }
}

/// The examples of RFC 7515 (A.1) and of jwt.io.
#[tokio::test]
async fn known_tokens_are_verified() {
    let io = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9lIiwiaWF0IjoxNTE2MjM5MDIyfQ.SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c";
    let verified = verifier("HS256")
        .run_with(&json!(io), &[("KEY", "your-256-bit-secret")])
        .await;
    assert_eq!(verified.unwrap()["name"], "John Doe");
    let failure = verifier("HS256")
        .run_with(&json!(io), &[("KEY", "your-256-bit-secreT")])
        .await
        .unwrap_err();
    assert!(failure.starts_with("JWT_INVALID: "), "{failure}");
    let expired = "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
    let decoded = Node::new("Jwt", json!({"operation": "decode"}))
        .run(&json!(expired))
        .await
        .unwrap();
    assert_eq!(decoded["payload"]["iss"], "joe");
}

/// The secret is used outside of the sandbox, and a token is no way to read it.
#[tokio::test]
async fn secrets_do_not_show() {
    let missing = signer("HS256").run(&json!({})).await.unwrap_err();
    assert!(missing.starts_with("CONNECTION_MISSING: "), "{missing}");
    let parameters =
        json!({"operation": "sign", "secret": "{{ $secrets.KEY }}", "payload": {"k": "{{ $secrets.KEY }}"}});
    let failure = Node::new("Jwt", parameters)
        .run_with(&json!({}), &[("KEY", "hush")])
        .await
        .unwrap_err();
    assert!(
        failure.starts_with("PARAMETER: A secret can't be encoded here"),
        "{failure}"
    );
}
