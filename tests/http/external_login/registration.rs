//! Who comes from the provider for the first time needs what everybody needs to register; who has an account comes in.

use super::cheating::{GOOD, signed, start};
use super::{CLIENT_ID, REDIRECT_URI, ext, service_with};
use crate::harness::{Database, Service};
use heddle_service::auth::registration::{Mode, Registration};
use serde_json::{Value, json};
use std::time::{SystemTime, UNIX_EPOCH};

/// What the provider says of this person.
fn token(issuer: &str, email: &str, is_verified: bool) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let claims = json!({
        "iss": issuer, "aud": CLIENT_ID, "sub": email, "exp": now + 600, "iat": now, "email": email,
        "email_verified": is_verified, "name": "Ann Lee"
    });
    signed(GOOD, "good", &claims)
}

async fn link(service: &Service, login: &Value) -> String {
    let (token, user) = (
        login["token"].as_str().unwrap(),
        login["user"]["id"].as_str().unwrap(),
    );
    let by = crate::harness::User {
        id: user.to_owned(),
        token: token.to_owned(),
    };
    let path = format!(
        "/api/workspaces/{}/invitation-links",
        service.workspace_of(&by).await
    );
    let body = json!({"role": "viewer", "singleUse": false});
    let made = service.post(&path).bearer(token).json(&body).send().await;
    let url = made.data(201)["url"].as_str().unwrap();
    url.split_once('#').unwrap().1.to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_provider_opens_no_closed_door() {
    for database in [Database::Sqlite, Database::Postgres] {
        let (issuer, address, next) = start().await;
        let come = async |service: &Service, email: &str, is_verified: bool, invitation: Option<&str>| {
            *next.lock().unwrap() = token(&issuer, email, is_verified);
            let body = json!({"code": "x", "invitation": invitation});
            ext(service, body).await
        };
        let with = async |mode: Mode| {
            let at = (issuer.as_str(), address.as_str(), REDIRECT_URI);
            service_with(database, at, |config| {
                config.registration = Registration {
                    mode,
                    domains: vec!["example.com".to_owned()],
                };
            })
            .await
        };
        let closed = with(Mode::Closed).await;
        come(&closed, "ann@example.com", true, None)
            .await
            .assert_refused(403, "REGISTRATION_CLOSED");

        let domains = with(Mode::Domains).await;
        come(&domains, "eve@elsewhere.org", true, None)
            .await
            .assert_refused(403, "EMAIL_DOMAIN_NOT_ALLOWED");
        come(&domains, "ann@example.com", false, None)
            .await
            .assert_refused(403, "EMAIL_NOT_VERIFIED");
        let ann = come(&domains, "ann@example.com", true, None).await;
        let invitation = link(&domains, ann.data(200)).await;
        come(&domains, "eve@elsewhere.org", true, Some("nonsense"))
            .await
            .assert_refused(404, "NOT_FOUND");
        let eve = come(&domains, "eve@elsewhere.org", true, Some(&invitation)).await;
        let token = eve.data(200)["token"].as_str().unwrap();
        let workspaces = domains.get("/api/workspaces").bearer(token).send().await;
        assert_eq!(workspaces.data(200).as_array().unwrap().len(), 2, "{workspaces}");
        // Who has an account needs no invitation any more.
        come(&domains, "eve@elsewhere.org", true, None).await.data(200);
    }
}
