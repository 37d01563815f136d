//! How often logging in can be tried, and that trying tells nothing of who is registered.

use super::account;
use crate::harness::{Database, Reply, Service, each_database};
use heddle_api::config::Config;
use heddle_service::auth::limits::AuthRateLimit;
use serde_json::json;
use std::time::Duration;

fn limited(per_email: u32, per_ip: u32) -> impl FnOnce(&mut Config) {
    move |config| {
        config.auth_rate_limit = AuthRateLimit { per_email, per_ip };
        config.trusted_proxies = vec!["127.0.0.0/8".parse().unwrap()];
    }
}

async fn login(service: &Service, email: &str, ip: &str) -> Reply {
    let body = json!({"email": email, "password": "wrong-password"});
    service
        .post("/api/auth/login")
        .header("x-forwarded-for", ip)
        .json(&body)
        .send()
        .await
}

async fn register(service: &Service, email: &str, ip: &str) -> Reply {
    service
        .post("/api/auth/register")
        .header("x-forwarded-for", ip)
        .json(&account(email))
        .send()
        .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_email_can_be_tried_so_often_in_a_minute_from_wherever() {
    let service = Service::with(Database::Sqlite, limited(3, 0)).await;
    register(&service, "ann@example.com", "192.0.2.1").await.data(201);
    for ip in ["192.0.2.2", "192.0.2.3"] {
        login(&service, "Ann@example.com", ip)
            .await
            .assert_refused(401, "INVALID_CREDENTIALS");
    }
    let refused = login(&service, "ann@EXAMPLE.com", "192.0.2.4").await;
    refused.assert_refused(429, "RATE_LIMITED");
    assert_eq!(refused.headers["retry-after"], "60");
    register(&service, "ann@example.com", "192.0.2.4")
        .await
        .assert_refused(429, "RATE_LIMITED");
    // Unknown emails count alike, and the limit of one is not another's.
    for _ in 0..3 {
        login(&service, "bob@example.com", "192.0.2.2")
            .await
            .assert_refused(401, "INVALID_CREDENTIALS");
    }
    login(&service, "bob@example.com", "192.0.2.2")
        .await
        .assert_refused(429, "RATE_LIMITED");

    service.app.clock.advance(Duration::from_secs(20));
    assert_eq!(
        login(&service, "ann@example.com", "192.0.2.4").await.headers["retry-after"],
        "40"
    );
    service.app.clock.advance(Duration::from_secs(40));
    let body = json!({"email": "ann@example.com", "password": "correct-horse"});
    service.post("/api/auth/login").json(&body).send().await.data(200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_address_can_try_so_often_in_a_minute_for_whomever() {
    let service = Service::with(Database::Sqlite, limited(0, 3)).await;
    register(&service, "ann@example.com", "192.0.2.1").await.data(201);
    login(&service, "bob@example.com", "192.0.2.1")
        .await
        .assert_refused(401, "INVALID_CREDENTIALS");
    login(&service, "carl@example.com", "192.0.2.1")
        .await
        .assert_refused(401, "INVALID_CREDENTIALS");
    login(&service, "dora@example.com", "192.0.2.1")
        .await
        .assert_refused(429, "RATE_LIMITED");
    register(&service, "dora@example.com", "192.0.2.1")
        .await
        .assert_refused(429, "RATE_LIMITED");
    // What a client itself writes into the header does not make it another client.
    login(&service, "dora@example.com", "203.0.113.9, 192.0.2.1")
        .await
        .assert_refused(429, "RATE_LIMITED");
    register(&service, "dora@example.com", "192.0.2.2")
        .await
        .data(201);
}

each_database! {
    async fn an_unknown_email_costs_as_much_as_a_wrong_password(service: Service) {
        service.user("ann").await;
        for (email, cost) in [("ann@example.com", 1), ("nobody@example.com", 1)] {
            let before = service.app.passwords.checked();
            login(&service, email, "192.0.2.1").await.assert_refused(401, "INVALID_CREDENTIALS");
            assert_eq!(service.app.passwords.checked() - before, cost, "{email}");
        }
    }
}
