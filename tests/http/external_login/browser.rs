//! The external login as the console has it: begun by a browser, answered by a real provider.

use super::oidc_provider::OidcProvider;
use super::service_for;
use crate::harness::{Database, Reply, Service};
use crate::needs;
use serde_json::{Value, json};
use std::collections::BTreeMap;

const RETURN: &str = "http://localhost/sign-in/return";

/// An attempt that a browser has begun.
struct Begun {
    /// Where it is sent to, with what is asked there.
    url: String,
    asked: BTreeMap<String, String>,
    cookie: String,
}

async fn begin(service: &Service) -> Begun {
    let begun = service.post("/api/session/ext/begin").send().await;
    let url = begun.data(200)["authorizeUrl"].as_str().unwrap().to_owned();
    let (_, query) = url.split_once('?').unwrap();
    let given = begun.headers["set-cookie"].to_str().unwrap();
    for part in ["HttpOnly", "SameSite=Strict", "Max-Age=600"] {
        assert!(given.contains(part), "{given}");
    }
    Begun {
        asked: form_urlencoded::parse(query.as_bytes()).into_owned().collect(),
        cookie: given.split(';').next().unwrap().to_owned(),
        url,
    }
}

async fn answer(service: &Service, cookie: &str, code: &str, state: &str) -> Reply {
    let request = service.post("/api/session/ext").header("cookie", cookie);
    request.json(&json!({"code": code, "state": state})).send().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_browser_signs_in_at_a_real_provider() {
    let Some(provider) = needs::or_skip("oidc-provider", OidcProvider::returning_to(RETURN).await) else {
        return;
    };
    for database in [Database::Sqlite, Database::Postgres] {
        let service = service_for(database, &provider.issuer, &provider.address, RETURN).await;
        let providers = service.get("/api/auth/providers").send().await;
        assert_eq!(providers.data(200)["extName"], "127.0.0.1");
        let begun = begin(&service).await;
        assert_eq!(begun.asked["code_challenge_method"], "S256");
        assert_eq!(begun.asked["redirect_uri"], RETURN);
        assert_eq!(begun.asked["scope"], "openid email profile");
        let secret = begun.cookie.split_once('=').unwrap().1;
        assert!(!begun.url.contains(secret), "{}", begun.url);
        let came = provider.answer_to(&begun.url, "ann").await;
        assert_eq!(came["state"], begun.asked["state"]);
        // In another browser, or without the attempt's state, it is of no use.
        let other = begin(&service).await;
        for (cookie, state) in [
            (&other.cookie, &came["state"]),
            (&begun.cookie, &other.asked["state"]),
            (&String::from("a=b"), &came["state"]),
        ] {
            let refused = answer(&service, cookie, &came["code"], state).await;
            refused.assert_refused(401, "INVALID_CREDENTIALS");
            assert!(refused.text.contains("start again"), "{refused}");
        }
        let signed_in = answer(&service, &begun.cookie, &came["code"], &came["state"]).await;
        assert_eq!(signed_in.data(200)["user"]["email"], "ann@example.com");
        let given: Vec<&str> = signed_in
            .headers
            .get_all("set-cookie")
            .iter()
            .map(|line| line.to_str().unwrap())
            .collect();
        assert!(
            given.iter().any(|line| line.starts_with("heddle-sign-in=;")),
            "{given:?}"
        );
        let session = given.iter().find(|line| line.starts_with("heddle=")).unwrap();
        let session = session.split(';').next().unwrap();
        let log = service
            .get("/api/audit?of=account")
            .header("cookie", session)
            .send()
            .await;
        let told: Vec<(&Value, &Value)> = log.body["data"]
            .as_array()
            .unwrap()
            .iter()
            .map(|entry| (&entry["action"], &entry["details"]["way"]))
            .collect();
        let external = json!("external");
        assert_eq!(
            told,
            [
                (&json!("account.signed_in"), &external),
                (&json!("account.registered"), &external)
            ]
        );
        // A code counts once.
        let again = answer(&service, &begun.cookie, &came["code"], &came["state"]).await;
        again.assert_refused(401, "INVALID_CREDENTIALS");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_console_begins_what_leads_back_to_it() {
    let (issuer, address, _) = super::cheating::start().await;
    let service = service_for(Database::Sqlite, &issuer, &address, super::REDIRECT_URI).await;
    let providers = service.get("/api/auth/providers").send().await;
    assert!(providers.data(200).get("extName").is_none(), "{providers}");
    let refused = service.post("/api/session/ext/begin").send().await;
    refused.assert_refused(403, "EXT_AUTH_DISABLED");
    // This provider does not say where people log in.
    let service = service_for(Database::Sqlite, &issuer, &address, RETURN).await;
    let refused = service.post("/api/session/ext/begin").send().await;
    refused.assert_refused(503, "UNAVAILABLE");
    let foreign = service
        .post("/api/session/ext/begin")
        .header("sec-fetch-site", "cross-site");
    foreign.send().await.assert_refused(403, "FORBIDDEN");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_id_token_of_another_attempt_signs_nobody_in() {
    let (issuer, address, next) = super::cheating::start_with("/authorize").await;
    let service = service_for(Database::Sqlite, &issuer, &address, RETURN).await;
    let now = service.app.clock.now().millis() / 1000;
    let token = |nonce: Option<&str>| {
        let claims = json!({
            "iss": issuer, "aud": super::CLIENT_ID, "sub": "7", "exp": now + 600, "nonce": nonce,
            "email": "ann@example.com", "email_verified": true, "name": "Ann Lee"
        });
        super::cheating::signed(super::cheating::GOOD, "good", &claims)
    };
    let (begun, other) = (begin(&service).await, begin(&service).await);
    for nonce in [None, Some("x"), Some(other.asked["nonce"].as_str())] {
        *next.lock().unwrap() = token(nonce);
        let refused = answer(&service, &begun.cookie, "x", &begun.asked["state"]).await;
        refused.assert_refused(401, "INVALID_CREDENTIALS");
    }
    *next.lock().unwrap() = token(Some(&begun.asked["nonce"]));
    answer(&service, &begun.cookie, "x", &begun.asked["state"])
        .await
        .data(200);
}
