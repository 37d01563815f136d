//! Tokens that somebody made who has no key, and what else is sent where a token should be.

use super::claims;
use crate::harness::{Service, each_database};
use base64::Engine as _;
use base64::engine::general_purpose::{URL_SAFE, URL_SAFE_NO_PAD};
use hmac::{Hmac, Mac};
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use sha2::Sha256;

fn part(value: &Value) -> String {
    URL_SAFE_NO_PAD.encode(value.to_string())
}

/// A token with this header and these claims, signed by HMAC-SHA256 with this key.
fn signed(header: &Value, claims: &Value, key: &[u8]) -> String {
    let payload = format!("{}.{}", part(header), part(claims));
    let mut mac = Hmac::<Sha256>::new_from_slice(key).unwrap();
    mac.update(payload.as_bytes());
    format!(
        "{payload}.{}",
        URL_SAFE_NO_PAD.encode(mac.finalize().into_bytes())
    )
}

/// What was forged, and the token.
fn forgeries(service: &Service, token: &str, victim: &str) -> Vec<(String, String)> {
    let (payload, signature) = token.rsplit_once('.').unwrap();
    let (header, body) = payload.split_once('.').unwrap();
    let right = service.app.config.jwt_secret.expose_secret().as_bytes();
    let known = claims(token);
    let usual = json!({"alg": "HS256", "typ": "JWT"});
    let mut all: Vec<(String, String)> = Vec::new();
    let mut add = |what: &str, token: String| all.push((what.to_owned(), token));

    for algorithm in [
        "none", "None", "NONE", "nOnE", "", "hs256", "HS256 ", "HS384", "HS512", "RS256", "PS256", "ES256",
        "EdDSA", "dir",
    ] {
        let header = part(&json!({"alg": algorithm, "typ": "JWT"}));
        add(
            &format!("algorithm {algorithm:?} without a signature"),
            format!("{header}.{body}."),
        );
        add(
            &format!("algorithm {algorithm:?} with the old signature"),
            format!("{header}.{body}.{signature}"),
        );
    }
    for (what, header) in [
        ("no algorithm", json!({"typ": "JWT"})),
        ("algorithm null", json!({"alg": null})),
        ("two algorithms", json!({"alg": ["none", "HS256"]})),
        (
            "a key in the header",
            json!({"alg": "HS256", "jwk": {"kty": "oct", "k": ""}}),
        ),
        (
            "a key's path",
            json!({"alg": "HS256", "kid": "../../../../dev/null"}),
        ),
        (
            "a key by a query",
            json!({"alg": "HS256", "kid": "x' union select '"}),
        ),
        (
            "a key's address",
            json!({"alg": "HS256", "jku": "http://127.0.0.1:1/", "x5u": "http://127.0.0.1:1/"}),
        ),
        (
            "a payload that is not encoded",
            json!({"alg": "HS256", "b64": false, "crit": ["b64"]}),
        ),
    ] {
        add(what, signed(&header, &known, b""));
    }
    let workspace = known["workspaceId"].as_str().unwrap().to_owned();
    for key in [
        "",
        "secret",
        "changeme",
        "heddle",
        "your-256-bit-secret",
        "null",
        "undefined",
        workspace.as_str(),
        victim,
    ] {
        add(
            &format!("the key {key:?}"),
            signed(&usual, &known, key.as_bytes()),
        );
    }
    add(
        "the master key",
        signed(&usual, &known, service.app.config.master_key.expose()),
    );
    add(
        "a part of the key",
        signed(&usual, &known, &right[..right.len() - 1]),
    );
    add(
        "padding",
        format!(
            "{}.{}.{}",
            header,
            body,
            URL_SAFE.encode(URL_SAFE_NO_PAD.decode(signature).unwrap())
        ),
    );
    add("a part more", format!("{token}.{signature}"));
    add(
        "the parts of an encrypted one",
        format!("{header}.{signature}.{body}.{body}.{signature}"),
    );
    add("no header", format!(".{body}.{signature}"));
    add("no claims", format!("{header}..{signature}"));
    add("a point before it", format!(".{token}"));
    add(
        "another alphabet",
        format!("{header}.{body}.+/{}", &signature[2..]),
    );
    add(
        "the signature of something else",
        format!("{header}.{}.{signature}", part(&json!({"sub": victim}))),
    );
    add("claims in padded base64", format!("{header}.{body}=.{signature}"));
    add("a zero byte's escape", format!("{payload}%00.{signature}"));

    // With the right key, and no time or user that would do.
    for (claim, value) in [
        ("exp", Value::Null),
        ("exp", json!("9999999999")),
        ("exp", json!(-1)),
        ("exp", json!(0)),
        ("exp", json!(true)),
        ("sub", Value::Null),
        ("sub", json!(["x"])),
        ("sub", json!("' or 1=1 --")),
        ("sub", json!("*")),
        ("sub", json!({"$ne": null})),
    ] {
        let mut claims = known.clone();
        claims[claim] = value.clone();
        add(&format!("{claim} {value}"), signed(&usual, &claims, right));
    }
    all
}

each_database! {
    async fn no_forged_token_is_anybody_s(service: Service) {
        let (ann, eve) = (service.user("ann").await, service.user("eve").await);
        let forgeries = forgeries(&service, &eve.token, &ann.id);
        assert!(forgeries.len() >= 51, "{}", forgeries.len());
        for (what, token) in forgeries {
            let reply = service.get("/api/auth/me").header("authorization", &format!("Bearer {token}")).send().await;
            assert!(reply.status == 401 && ["UNAUTHORIZED", "TOKEN_EXPIRED"].contains(&reply.code()), "{what}: {reply}");
        }
        // Made in the same way with the right key it is one.
        let right = signed(&json!({"alg": "HS256", "typ": "JWT"}), &claims(&eve.token), service.app.config.jwt_secret.expose_secret().as_bytes());
        let reply = service.get("/api/auth/me").bearer(&right).send().await;
        assert_eq!(reply.data(200)["id"], eve.id.as_str());
    }

    async fn a_token_is_taken_from_one_place_only(service: Service) {
        let ann = service.user("ann").await;
        let token = &ann.token;
        for (name, value) in [
            ("authorization", token.clone()),
            ("authorization", format!("Token {token}")),
            ("authorization", format!("Basic {token}")),
            ("authorization", format!("Bearer: {token}")),
            ("authorization", format!("Bearer {token} x")),
            ("authorization", format!("Bearer \"{token}\"")),
            ("authorization", format!("Bearer {token},Bearer {token}")),
            ("x-access-token", token.clone()),
            ("x-api-key", token.clone()),
            ("cookie", format!("token={token}; session={token}")),
            ("proxy-authorization", format!("Bearer {token}")),
        ] {
            let reply = service.get("/api/auth/me").header(name, &value).send().await;
            assert_eq!((reply.status, reply.code()), (401, "UNAUTHORIZED"), "{name}: {value}: {reply}");
        }
        for name in ["token", "access_token", "jwt", "auth", "authorization"] {
            let reply = service.get(&format!("/api/auth/me?{name}={token}")).send().await;
            assert_eq!(reply.status, 401, "{name}: {reply}");
        }
    }
}
