//! What the compiler says of an OnWebhook node's parameters.

use crate::diagnostics::{graph, node, of};
use serde_json::{Value, json};

/// What is said of a webhook with these parameters, without the help.
fn told(parameters: Value) -> Vec<String> {
    let said = of(graph([node("hook", "OnWebhook", parameters)], &[]));
    let lines = said.lines().filter(|line| !line.starts_with(' '));
    lines.map(str::to_owned).collect()
}

#[test]
fn parameters_that_fit_together_are_fine() {
    for parameters in [
        json!({}),
        json!({"scheme": "twilio"}),
        json!({"scheme": "header", "tokenHeader": "X-Api-Key", "methods": ["GET", "POST"], "accept": ["json", "form"]}),
        json!({"scheme": "basic", "user": "ann", "path": "/orders/:order/lines"}),
        json!({"scheme": "hmac", "hmac": {"header": "X-Signed", "timestampHeader": "X-Time", "algorithm": "sha1"}}),
        json!({"scheme": "jwt"}),
        json!({"scheme": "jwt", "jwt": {"algorithm": "ES256", "keys": {"keys": [{"kty": "EC"}]}, "issuer": "x"}}),
        json!({"scheme": "jwt", "jwt": {"algorithm": "RS256", "keysUrl": "https://id.example.com/keys"}}),
        json!({"scheme": "jwt", "jwt": {"algorithm": "PS256", "keys": {"keys": [
            {"kty": "RSA", "n": "u".repeat(683), "kid": "1"}, {"kty": "RSA", "n": "u".repeat(342), "kid": "2"}, {"kty": "RSA", "kid": "3"},
            {"kty": "RSA", "kid": "4"}, {"kty": "RSA", "kid": "5"}, {"kty": "EC"}, {"kty": "EC"}, {"kty": "EC"}, {"kty": "EC"}, {"kty": "EC"},
        ]}}}),
        json!({"allowIps": ["192.0.2.7", "192.0.2.0/24", "2001:db8::/32"], "cors": ["*", "https://a.example", "http://localhost:3000"]}),
        json!({"whenPaused": "queue", "rawBody": true, "maxBytes": 100, "requestsPerMinute": 5}),
    ] {
        assert_eq!(told(parameters.clone()), [""; 0], "{parameters}");
    }
}

#[test]
fn a_scheme_that_is_none_is_told_with_all_that_are() {
    let told = told(json!({"scheme": "acme"}));
    let expected = "`bearer`, `basic`, `jwt` and `none`, not the text \"acme\"";
    assert!(told.len() == 1 && told[0].ends_with(expected), "{told:?}");
}

#[test]
fn what_a_scheme_needs_is_asked_for() {
    let many: Vec<Value> = (0..5).map(|_| json!({"kty": "EC"})).collect();
    let large = "u".repeat(1_366);
    for (parameters, expected) in [
        (
            json!({"scheme": "header"}),
            "error[missing-parameter] hook tokenHeader: `tokenHeader` is required with the scheme `header`",
        ),
        (
            json!({"scheme": "basic"}),
            "error[missing-parameter] hook user: `user` is required with the scheme `basic`",
        ),
        (
            json!({"scheme": "hmac"}),
            "error[missing-parameter] hook hmac: `hmac` is required with the scheme `hmac`",
        ),
        (
            json!({"user": "ann"}),
            "warning[unused-parameter] hook user: `user` does nothing with the scheme `heddle`",
        ),
        (
            json!({"scheme": "header", "tokenHeader": "X Key"}),
            "error[header] hook tokenHeader: `X Key` is not the name of a header",
        ),
        (
            json!({"scheme": "hmac", "hmac": {"header": "X-Signed", "timestampHeader": ""}}),
            "error[header] hook hmac.timestampHeader: `` is not the name of a header",
        ),
        (
            json!({"scheme": "basic", "user": "a:b"}),
            "error[user] hook user: the name of a user can't have a colon, which stands between it and the password",
        ),
        (
            json!({"scheme": "jwt", "jwt": {"algorithm": "RS256"}}),
            "error[public-keys] hook jwt.keys: tokens of this algorithm need the issuer's public keys, as a JSON Web Key Set: \
             `{\"keys\": [{\"kty\": …}]}`, or their address as `keysUrl`",
        ),
        (
            json!({"scheme": "jwt", "jwt": {"algorithm": "RS256", "keysUrl": "id.example.com/keys"}}),
            "error[public-keys] hook jwt.keysUrl: this is not a web address: write one such as \
             `https://id.example.com/.well-known/jwks.json`",
        ),
        (
            json!({"scheme": "jwt", "jwt": {"algorithm": "RS256", "keysUrl": "https://id.example.com/keys", "keys": {"keys": []}}}),
            "error[public-keys] hook jwt.keysUrl: the issuer's public keys stand in `keys` already: delete one of the two",
        ),
        (
            json!({"scheme": "jwt", "jwt": {"keysUrl": "https://id.example.com/keys"}}),
            "error[public-keys] hook jwt.keysUrl: tokens of this algorithm are signed with the webhook's secret, not with a key pair",
        ),
        (
            json!({"scheme": "jwt", "jwt": {"keys": {"keys": [{"kty": "RSA"}]}}}),
            "error[public-keys] hook jwt.keys: tokens of this algorithm are signed with the webhook's secret, not with a key pair",
        ),
        (
            json!({"scheme": "jwt", "jwt": {"algorithm": "RS256", "keys": {"keys": [{"kty": "RSA", "n": large}]}}}),
            "error[public-keys] hook jwt.keys: a key of RSA has more than 4,096 bits: such keys take too long to check, so use one \
             of 2,048 to 4,096",
        ),
        (
            json!({"scheme": "jwt", "jwt": {"algorithm": "ES256", "keys": {"keys": many}}}),
            "error[public-keys] hook jwt.keys: more than 4 keys may have signed the same token: give each its `kid`, which tokens name",
        ),
    ] {
        assert_eq!(told(parameters.clone()), [expected], "{parameters}");
    }
}

#[test]
fn texts_with_a_syntax_are_checked() {
    let long = vec!["a"; 17].join("/");
    for (parameters, code, place) in [
        (json!({"path": "/:1a"}), "path", "path"),
        (json!({"path": "/:a/:a"}), "path", "path"),
        (json!({"path": "/a//b"}), "path", "path"),
        (json!({"path": "/a b"}), "path", "path"),
        (json!({"path": "/%41"}), "path", "path"),
        (json!({"path": long}), "path", "path"),
        (
            json!({"allowIps": ["192.0.2.7", "192.0.2.0/33"]}),
            "network",
            "allowIps[1]",
        ),
        (json!({"allowIps": ["example.com"]}), "network", "allowIps[0]"),
        (json!({"cors": ["https://a.example/path"]}), "origin", "cors[0]"),
        (json!({"cors": ["a.example"]}), "origin", "cors[0]"),
        (json!({"cors": vec!["*"; 101]}), "too-large", "cors"),
        (json!({"alias": "x".repeat(20_000)}), "too-large", "alias"),
        (json!({"path": "/{{ 1 }}"}), "literal-only", "path"),
    ] {
        let told = told(parameters.clone());
        assert!(
            told.iter()
                .any(|line| line.starts_with(&format!("error[{code}] hook {place}: "))),
            "{parameters}: {told:?}"
        );
    }
}

#[test]
fn a_time_that_runs_into_the_body_is_warned_about() {
    let with = |separator: &str| {
        let mac = json!({"header": "X-Signed", "timestampHeader": "X-Time", "separator": separator});
        told(json!({"scheme": "hmac", "hmac": mac}))
    };
    for separator in ["", "0."] {
        let told = with(separator);
        assert!(
            told.len() == 1 && told[0].starts_with("warning[separator] hook hmac.separator: "),
            "{told:?}"
        );
    }
    assert_eq!(with(":0"), [""; 0]);
    let untimed = json!({"scheme": "hmac", "hmac": {"header": "X-Signed", "separator": ""}});
    assert_eq!(told(untimed), [""; 0]);
}

#[test]
fn an_open_webhook_is_warned_about() {
    let told = told(json!({"scheme": "none"}));
    let expected = "warning[unauthenticated-webhook] hook scheme: anyone who knows this webhook's address can start runs: its only \
                    protection is that nobody can guess it";
    assert_eq!(told, [expected]);
}
