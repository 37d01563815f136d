//! A provider whose ID tokens are not what they must be: none of them may log anybody in.

use super::{CLIENT_ID, ext, service};
use crate::harness::Database;
use axum::extract::State;
use axum::routing::{get, post};
use axum::{Json, Router};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

/// Keys of the tests, of use nowhere else: PKCS #8 of P-256.
pub(super) const GOOD: &str = "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgiBPSKksVNwnPSADCXjd4JqqjR1euXfYQCr+94IQW9/qhRANCAATHDKkxSGbu0paolzFor0kzcuEn8HmIME0g6oyHZq6nEg93WjHWk+EMSHpmpoME1J+d/G6XqM3jvuuFW5CK6PYV";
const GOOD_POINT: (&str, &str) = (
    "xwypMUhm7tKWqJcxaK9JM3LhJ_B5iDBNIOqMh2aupxI",
    "D3daMdaT4QxIemamgwTUn538bpeozeO-64VbkIro9hU",
);
const EVIL: &str = "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgLxxJ/7b509nHGaX55tDAHidP6BmdEBfC97JMh5ZSzDehRANCAASllBCBuOOjlfMdDFJQlWYIa3Na1cQt+J1LztfL84iFEii5Pp4apMjpSHOXckBprUmp0jkbwBx3oMfeiOG6KUFV";

/// The ID token of the next answer.
pub(super) type Next = Arc<Mutex<String>>;

pub(super) async fn start() -> (String, String, Next) {
    start_as(None).await
}

/// The same, saying that people log in at this path of its own, or at another address.
pub(super) async fn start_with(path: &str) -> (String, String, Next) {
    start_as(Some(path)).await
}

async fn start_as(authorize: Option<&str>) -> (String, String, Next) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let issuer = format!("http://{address}");
    let mut configuration = json!({
        "issuer": issuer, "token_endpoint": format!("{issuer}/token"), "jwks_uri": format!("{issuer}/keys")
    });
    if let Some(path) = authorize {
        let own = if path.starts_with('/') {
            issuer.as_str()
        } else {
            ""
        };
        configuration["authorization_endpoint"] = json!(format!("{own}{path}"));
    }
    let (x, y) = GOOD_POINT;
    let keys = json!({"keys": [
        {"kty": "EC", "crv": "P-256", "kid": "good", "alg": "ES256", "use": "sig", "x": x, "y": y},
        {"kty": "unknown", "kid": "odd"}
    ]});
    let next = Next::default();
    let token = |State(next): State<Next>| async move {
        let id_token = next.lock().unwrap().clone();
        Json(json!({"access_token": "x", "token_type": "Bearer", "id_token": id_token}))
    };
    let router = Router::new()
        .route(
            "/.well-known/openid-configuration",
            get(move || async move { Json(configuration) }),
        )
        .route("/keys", get(move || async move { Json(keys) }))
        .route("/token", post(token))
        .with_state(next.clone());
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    (issuer, address, next)
}

fn header(algorithm: Algorithm, key: &str) -> Header {
    let mut header = Header::new(algorithm);
    header.kid = Some(key.to_owned());
    header
}

pub(super) fn signed(key: &str, kid: &str, claims: &Value) -> String {
    let (random, key) = (SystemRandom::new(), STANDARD.decode(key).unwrap());
    let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &key, &random).unwrap();
    let part = |value: Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let input = format!(
        "{}.{}",
        part(json!({"typ": "JWT", "alg": "ES256", "kid": kid})),
        part(claims.clone())
    );
    let signature = pair.sign(&random, input.as_bytes()).unwrap();
    format!("{input}.{}", URL_SAFE_NO_PAD.encode(signature))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_id_token_that_is_not_genuine_logs_nobody_in() {
    let (issuer, address, next) = start().await;
    let service = service(Database::Sqlite, &issuer, &address).await;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let genuine = json!({
        "iss": issuer, "aud": CLIENT_ID, "sub": "7", "exp": now + 600, "iat": now,
        "email": "ann@example.com", "email_verified": true, "name": "Ann Lee"
    });
    let with = |claim: &str, value: Value| {
        let mut claims = genuine.clone();
        claims[claim] = value;
        signed(GOOD, "good", &claims)
    };
    let without = |claim: &str| {
        let mut claims = genuine.clone();
        claims.as_object_mut().unwrap().remove(claim);
        signed(GOOD, "good", &claims)
    };
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let unsigned = |algorithm: &str| {
        format!(
            "{}.{}.",
            part(&json!({"alg": algorithm, "kid": "good"})),
            part(&genuine)
        )
    };
    let (x, y) = GOOD_POINT;
    let by_hmac = |secret: &[u8]| {
        jsonwebtoken::encode(
            &header(Algorithm::HS256, "good"),
            &genuine,
            &EncodingKey::from_secret(secret),
        )
        .unwrap()
    };
    for (id_token, what) in [
        (signed(EVIL, "good", &genuine), "signed with another key"),
        (
            signed(EVIL, "evil", &genuine),
            "signed with a key that the provider does not have",
        ),
        (signed(GOOD, "odd", &genuine), "naming a key of an unknown kind"),
        (unsigned("none"), "unsigned"),
        (unsigned("ES256"), "without its signature"),
        (
            by_hmac(format!("{x}{y}").as_bytes()),
            "signed with the public key as a secret",
        ),
        (
            by_hmac(super::CLIENT_SECRET.as_bytes()),
            "signed with the client's secret",
        ),
        (with("iss", json!("https://example.com")), "of another issuer"),
        (with("aud", json!("another client")), "for another client"),
        (with("azp", json!("another client")), "issued to another client"),
        (with("exp", json!(now - 61)), "expired"),
        (with("sub", json!("")), "of nobody"),
        (without("iss"), "without issuer"),
        (without("aud"), "without audience"),
        (without("exp"), "without end"),
        (without("sub"), "without subject"),
        (without("email"), "without email"),
        ("nonsense".to_owned(), "nonsense"),
        (String::new(), "empty"),
    ] {
        *next.lock().unwrap() = id_token;
        let reply = ext(&service, json!({"code": "x"})).await;
        assert_eq!(
            (reply.status, reply.code()),
            (401, "INVALID_CREDENTIALS"),
            "a token {what}: {reply}"
        );
    }
    *next.lock().unwrap() = signed(GOOD, "good", &genuine);
    let reply = ext(&service, json!({"code": "x"})).await;
    assert_eq!(reply.data(200)["user"]["lastName"], "Lee");
    *next.lock().unwrap() = with("aud", json!(["other", CLIENT_ID]));
    ext(&service, json!({"code": "x"})).await.data(200);
    // An answer of more than a provider has to say is not kept.
    *next.lock().unwrap() = "x".repeat(2 << 20);
    let reply = ext(&service, json!({"code": "x"})).await;
    reply.assert_refused(503, "UNAVAILABLE");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_is_sent_to_an_address_that_is_none_of_the_web() {
    for endpoint in [
        "javascript:alert(document.domain)//",
        // With a host that the operator lists.
        "javascript://127.0.0.1/%0aalert(document.domain)",
        "data:text/html,<script>alert(1)</script>",
        "http://login.example.com/authorize",
        "file:///etc/passwd",
    ] {
        let (issuer, _, _) = start_with(endpoint).await;
        let returns = "http://localhost/sign-in/return";
        let service = super::service_for(Database::Sqlite, &issuer, "127.0.0.0/8", returns).await;
        let begun = service.post("/api/session/ext/begin").send().await;
        begun.assert_refused(503, "UNAVAILABLE");
        assert!(!begun.text.contains("authorizeUrl"), "{endpoint}: {begun}");
    }
}
