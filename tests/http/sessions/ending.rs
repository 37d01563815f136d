//! How logins end: by logging out, by a new password, by the operator, and by themselves.

use super::{account, claims};
use crate::harness::{Database, Reply, Service, User, each_database};
use heddle_service::auth::limits::AuthRateLimit;
use heddle_store::credentials;
use serde_json::{Value, json};
use std::time::Duration;

async fn login(service: &Service, password: &str) -> Reply {
    let body = json!({"email": "ann@example.com", "password": password});
    service.post("/api/auth/login").json(&body).send().await
}

async fn post(service: &Service, token: &str, path: &str) -> Reply {
    service.post(path).bearer(token).send().await
}

fn token(reply: &Reply, status: u16) -> String {
    reply.data(status)["token"].as_str().unwrap().to_owned()
}

async fn works(service: &Service, token: &str) {
    service.get("/api/auth/me").bearer(token).send().await.data(200);
}

async fn is_over(service: &Service, token: &str) {
    for path in ["/api/auth/me", "/api/patterns", "/api/workspaces"] {
        service
            .get(path)
            .bearer(token)
            .send()
            .await
            .assert_refused(401, "UNAUTHORIZED");
    }
    post(service, token, "/api/auth/refresh")
        .await
        .assert_refused(401, "UNAUTHORIZED");
}

async fn api_key(service: &Service, user: &User) -> String {
    let made = service
        .post("/api/auth/api-keys")
        .bearer(&user.token)
        .json(&json!({"name": "CI"}))
        .send()
        .await;
    made.data(201)["key"].as_str().unwrap().to_owned()
}

async fn change(service: &Service, token: &str, body: Value) -> Reply {
    service
        .put("/api/auth/password")
        .bearer(token)
        .json(&body)
        .send()
        .await
}

each_database! {
    async fn logging_out_ends_a_login_with_all_that_came_of_it_and_no_other(service: Service) {
        let ann = service.user("ann").await;
        let other = token(&login(&service, "correct-horse").await, 200);
        let refreshed = token(&post(&service, &ann.token, "/api/auth/refresh").await, 200);
        let ended = post(&service, &refreshed, "/api/auth/logout").await;
        assert_eq!(ended.data(200), &json!({"status": "ended"}));
        is_over(&service, &refreshed).await;
        is_over(&service, &ann.token).await;
        post(&service, &ann.token, "/api/auth/logout").await.assert_refused(401, "UNAUTHORIZED");
        works(&service, &other).await;
    }

    async fn logging_out_everywhere_ends_all_logins(service: Service) {
        let ann = service.user("ann").await;
        let bob = service.user("bob").await;
        let key = api_key(&service, &ann).await;
        let other = token(&login(&service, "correct-horse").await, 200);
        post(&service, &other, "/api/auth/logout-all").await.data(200);
        is_over(&service, &ann.token).await;
        is_over(&service, &other).await;
        works(&service, &bob.token).await;
        works(&service, &key).await;
        post(&service, &key, "/api/auth/logout-all").await.assert_refused(403, "FORBIDDEN");
        works(&service, &token(&login(&service, "correct-horse").await, 200)).await;
    }

    async fn a_new_password_needs_the_old_one_and_ends_all_other_logins(service: Service) {
        let ann = service.user("ann").await;
        let stolen = token(&login(&service, "correct-horse").await, 200);
        for body in [
            json!({"newPassword": "battery-staple"}),
            json!({"currentPassword": "wrong-horse", "newPassword": "battery-staple"}),
        ] {
            change(&service, &ann.token, body).await.assert_refused(401, "INVALID_CREDENTIALS");
        }
        for body in [json!({"currentPassword": "correct-horse", "newPassword": "short"}), json!({})] {
            assert_eq!(change(&service, &ann.token, body).await.wrong_fields(), ["newPassword"]);
        }
        works(&service, &stolen).await;
        let body = json!({"currentPassword": "correct-horse", "newPassword": "battery-staple"});
        let changed = change(&service, &ann.token, body).await;
        works(&service, &token(&changed, 200)).await;
        assert_eq!(claims(&token(&changed, 200))["workspaceId"], claims(&ann.token)["workspaceId"]);
        is_over(&service, &ann.token).await;
        is_over(&service, &stolen).await;
        login(&service, "correct-horse").await.assert_refused(401, "INVALID_CREDENTIALS");
        works(&service, &token(&login(&service, "battery-staple").await, 200)).await;
    }

    async fn a_disabled_user_is_let_in_by_nothing(service: Service) {
        let ann = service.user("ann").await;
        let key = api_key(&service, &ann).await;
        let set = |is_disabled| service.app.store.write(move |db| Box::pin(async move {
            credentials::set_disabled(db, "ANN@example.com", is_disabled).await
        }));
        assert!(set(true).await.unwrap());
        is_over(&service, &ann.token).await;
        service.get("/api/auth/me").bearer(&key).send().await.assert_refused(401, "UNAUTHORIZED");
        login(&service, "correct-horse").await.assert_refused(401, "INVALID_CREDENTIALS");
        assert!(set(false).await.unwrap());
        is_over(&service, &ann.token).await;
        works(&service, &key).await;
        works(&service, &token(&login(&service, "correct-horse").await, 200)).await;
    }

    async fn a_login_ends_however_often_its_token_is_renewed(service: Service) {
        let ann = service.user("ann").await;
        let began = claims(&ann.token)["auth_time"].as_i64().unwrap();
        let mut held = ann.token.clone();
        for _ in 0..29 {
            service.app.clock.advance(Duration::from_secs(24 * 60 * 60 - 1));
            held = token(&post(&service, &held, "/api/auth/refresh").await, 200);
            assert_eq!(claims(&held)["auth_time"], began);
        }
        service.app.clock.advance(Duration::from_secs(24 * 60 * 60 - 1));
        held = token(&post(&service, &held, "/api/auth/refresh").await, 200);
        assert_eq!(claims(&held)["exp"], began + 30 * 24 * 60 * 60);
        service.app.clock.advance(Duration::from_secs(30));
        for path in ["/api/auth/refresh", "/api/auth/logout"] {
            post(&service, &held, path).await.assert_refused(401, "TOKEN_EXPIRED");
        }
    }
}

/// Strangers try an email; its owner logs in from where they have been before.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn strangers_who_try_do_not_keep_the_owner_out() {
    let service = Service::with(Database::Sqlite, |config| {
        config.auth_rate_limit = AuthRateLimit {
            per_email: 3,
            per_ip: 0,
        };
        config.trusted_proxies = vec!["127.0.0.0/8".parse().unwrap()];
    })
    .await;
    let from = async |ip: &str, password: &str| {
        let body = json!({"email": "ann@example.com", "password": password});
        let request = service.post("/api/auth/login").header("x-forwarded-for", ip);
        request.json(&body).send().await
    };
    let register = service
        .post("/api/auth/register")
        .header("x-forwarded-for", "192.0.2.1");
    register.json(&account("ann@example.com")).send().await.data(201);
    for ip in ["203.0.113.1", "203.0.113.2"] {
        from(ip, "wrong-password")
            .await
            .assert_refused(401, "INVALID_CREDENTIALS");
    }
    for password in ["wrong-password", "correct-horse"] {
        from("203.0.113.3", password)
            .await
            .assert_refused(429, "RATE_LIMITED");
    }
    from("192.0.2.1", "correct-horse").await.data(200);
    // An address that is known has the same limit, for itself.
    for _ in 0..2 {
        from("192.0.2.1", "wrong-password")
            .await
            .assert_refused(401, "INVALID_CREDENTIALS");
    }
    from("192.0.2.1", "correct-horse")
        .await
        .assert_refused(429, "RATE_LIMITED");
    // Where they have logged in once they are known.
    service.app.clock.advance(Duration::from_secs(60));
    from("198.51.100.7", "correct-horse").await.data(200);
    for ip in ["203.0.113.1", "203.0.113.2"] {
        from(ip, "wrong-password")
            .await
            .assert_refused(401, "INVALID_CREDENTIALS");
    }
    from("203.0.113.1", "wrong-password")
        .await
        .assert_refused(429, "RATE_LIMITED");
    from("198.51.100.7", "correct-horse").await.data(200);
}
