//! The login by another service: against oidc-provider from npm, and against a provider that cheats.

mod browser;
mod cheating;
mod groups;
pub mod oidc_provider;
mod proven;
mod registration;
mod several;

use crate::harness::{Database, Reply, Service};
use crate::needs;
use crate::sessions::account;
use heddle_api::config::Config;
use heddle_model::clock::Clock;
use heddle_runtime::EgressPolicy;
use heddle_service::auth::external::{ExternalLogin, SINGLE_LOGIN};
use oidc_provider::OidcProvider;
use serde_json::{Value, json};
use std::time::{SystemTime, UNIX_EPOCH};

pub const CLIENT_ID: &str = "heddle tests";
pub const CLIENT_SECRET: &str = "a secret: with/special+characters";
const REDIRECT_URI: &str = "http://localhost/callback";

/// A service with an external login at this issuer, whose clock tells the time as the provider's does.
async fn service(database: Database, issuer: &str, egress: &str) -> Service {
    service_for(database, issuer, egress, REDIRECT_URI).await
}

/// The same for clients to which the provider sends people back here.
async fn service_for(database: Database, issuer: &str, egress: &str, redirect_uri: &str) -> Service {
    service_with(database, (issuer, egress, redirect_uri), |_| {}).await
}

/// The same with other settings.
async fn service_with(
    database: Database,
    (issuer, egress, redirect_uri): (&str, &str, &str),
    change: impl FnOnce(&mut Config),
) -> Service {
    let external_login = ExternalLogin {
        id: SINGLE_LOGIN.to_owned(),
        client_id: CLIENT_ID.to_owned(),
        client_secret: CLIENT_SECRET.into(),
        issuer: Some(issuer.to_owned()),
        name: None,
        authorize_url: None,
        scopes: "openid email profile".to_owned(),
        token_url: None,
        userinfo_url: None,
        redirect_uri: redirect_uri.to_owned(),
        group_roles: Vec::new(),
    };
    let egress = EgressPolicy::parse([egress]).unwrap();
    let service = Service::with(database, |config| {
        config.external_logins = vec![external_login];
        config.egress = egress;
        change(config);
    })
    .await;
    tell_the_time(&service);
    service
}

/// Has a service's clock tell the time as the provider's does.
fn tell_the_time(service: &Service) {
    if let Clock::Manual(clock) = &service.app.clock {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        clock.store(
            now.as_millis().try_into().unwrap(),
            std::sync::atomic::Ordering::SeqCst,
        );
    }
}

async fn ext(service: &Service, body: Value) -> Reply {
    service.post("/api/auth/ext").json(&body).send().await
}

async fn me(service: &Service, login: &Reply) -> Value {
    let token = login.data(200)["token"].as_str().unwrap();
    service
        .get("/api/auth/me")
        .bearer(token)
        .send()
        .await
        .data(200)
        .clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn people_log_in_at_a_real_provider() {
    let Some(provider) = needs::or_skip("oidc-provider", OidcProvider::start().await) else {
        return;
    };
    for database in [Database::Sqlite, Database::Postgres] {
        let service = service(database, &provider.issuer, &provider.address).await;
        first_and_later_logins(&service, &provider).await;
        codes_that_must_not_work(&service, &provider).await;
        proof_keys(&service, &provider).await;
        emails_that_are_taken(&service, &provider).await;
    }
    let unlisted = service(Database::Sqlite, &provider.issuer, "127.0.0.1:1").await;
    let code = provider.code("ann", None).await;
    ext(&unlisted, json!({"code": code}))
        .await
        .assert_refused(503, "UNAVAILABLE");
}

async fn first_and_later_logins(service: &Service, provider: &OidcProvider) {
    let providers = service.get("/api/auth/providers").send().await;
    assert_eq!(
        providers.data(200),
        &json!({"local": true, "ext": true, "extClientId": CLIENT_ID})
    );
    let first = ext(service, json!({"code": provider.code("ann", None).await})).await;
    let id = first.data(200)["user"]["id"].as_str().unwrap().to_owned();
    assert_eq!(
        first.data(200)["user"],
        json!({
            "id": id, "email": "ann@example.com", "firstName": "Ann", "lastName": "Lee", "role": "user",
            "avatarUrl": "https://example.com/ann.png"
        })
    );
    assert_eq!(
        me(service, &first).await["avatarUrl"],
        "https://example.com/ann.png"
    );
    let again = ext(service, json!({"code": provider.code("ann", None).await})).await;
    assert_eq!(again.data(200)["user"]["id"], id.as_str());
    // A user without a password has none that fits.
    let login = json!({"email": "ann@example.com", "password": ""});
    let login = service.post("/api/auth/login").json(&login).send().await;
    login.assert_refused(401, "INVALID_CREDENTIALS");
}

async fn codes_that_must_not_work(service: &Service, provider: &OidcProvider) {
    ext(service, json!({"code": "nonsense"}))
        .await
        .assert_refused(401, "INVALID_CREDENTIALS");
    let used = provider.code("ann", None).await;
    ext(service, json!({"code": used})).await.data(200);
    ext(service, json!({"code": used}))
        .await
        .assert_refused(401, "INVALID_CREDENTIALS");
    // Somebody without an email can't become a user.
    let nameless = provider.code("quiet", None).await;
    ext(service, json!({"code": nameless}))
        .await
        .assert_refused(401, "INVALID_CREDENTIALS");
    for (body, field) in [
        (json!({}), "code"),
        (json!({"code": 1}), "code"),
        (json!({"code": ""}), "code"),
        (json!({"code": "x".repeat(4097)}), "code"),
        (json!({"code": "x", "codeVerifier": "short"}), "codeVerifier"),
    ] {
        assert_eq!(ext(service, body).await.wrong_fields(), [field]);
    }
}

async fn proof_keys(service: &Service, provider: &OidcProvider) {
    let verifier = "a-verifier-of-at-least-forty-three-characters";
    let code = provider.code("ann", Some(verifier)).await;
    ext(service, json!({"code": code, "codeVerifier": verifier}))
        .await
        .data(200);
    let code = provider.code("ann", Some(verifier)).await;
    ext(service, json!({"code": code}))
        .await
        .assert_refused(401, "INVALID_CREDENTIALS");
    let code = provider.code("ann", Some(verifier)).await;
    let other = json!({"code": code, "codeVerifier": "b-verifier-of-at-least-forty-three-characters"});
    ext(service, other)
        .await
        .assert_refused(401, "INVALID_CREDENTIALS");
}

async fn emails_that_are_taken(service: &Service, provider: &OidcProvider) {
    // Registered here and verified there: the same person.
    let carl = service
        .post("/api/auth/register")
        .json(&account("CARL@example.com"))
        .send()
        .await;
    let id = carl.data(201)["user"]["id"].clone();
    let login = ext(service, json!({"code": provider.code("carl", None).await})).await;
    assert_eq!(login.data(200)["user"]["id"], id);
    assert_eq!(me(service, &login).await["email"], "CARL@example.com");
    // Not verified there: perhaps somebody else.
    service
        .post("/api/auth/register")
        .json(&account("bob@example.com"))
        .send()
        .await
        .data(201);
    let refused = ext(service, json!({"code": provider.code("bob", None).await})).await;
    refused.assert_refused(409, "EMAIL_ALREADY_EXISTS");
    // Another person at the provider with the email of somebody who logs in there.
    let refused = ext(service, json!({"code": provider.code("twin", None).await})).await;
    refused.assert_refused(409, "EMAIL_ALREADY_EXISTS");
}
