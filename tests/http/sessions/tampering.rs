//! Tokens that must not work.

use super::{claims, switched, workspace};
use crate::harness::{Service, each_database};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use heddle_model::clock::Clock;
use heddle_service::auth::token::{Lifetimes, Tokens};
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use std::time::Duration;

const HOUR: Lifetimes = Lifetimes {
    token: Duration::from_secs(3600),
    session: Duration::from_secs(3600),
};

fn part(value: &Value) -> String {
    URL_SAFE_NO_PAD.encode(value.to_string())
}

async fn refused(service: &Service, token: &str, code: &str) {
    let reply = service.get("/api/auth/me").bearer(token).send().await;
    reply.assert_refused(401, code);
}

each_database! {
    async fn forged_tokens_are_refused(service: Service) {
        let ann = service.user("ann").await;
        let (payload, signature) = ann.token.rsplit_once('.').unwrap();
        let (header, body) = payload.split_once('.').unwrap();
        refused(&service, "", "UNAUTHORIZED").await;
        refused(&service, "nonsense", "UNAUTHORIZED").await;
        refused(&service, "a.b.c", "UNAUTHORIZED").await;
        refused(&service, payload, "UNAUTHORIZED").await;
        refused(&service, &format!("{payload}."), "UNAUTHORIZED").await;
        for algorithm in ["none", "None", "HS384", "HS512", "RS256", "ES256"] {
            let header = part(&json!({"alg": algorithm, "typ": "JWT"}));
            refused(&service, &format!("{header}.{body}."), "UNAUTHORIZED").await;
            refused(&service, &format!("{header}.{body}.{signature}"), "UNAUTHORIZED").await;
        }
        for (claim, value) in [
            ("role", json!("admin")),
            ("workspaceRole", json!("owner")),
            ("sub", json!(heddle_model::ids::UserId::new())),
            ("exp", json!(i64::MAX)),
        ] {
            let mut claims = claims(&ann.token);
            claims[claim] = if claims[claim] == value { json!("viewer") } else { value };
            refused(&service, &format!("{header}.{}.{signature}", part(&claims)), "UNAUTHORIZED").await;
        }
        let mut flipped = ann.token.clone().into_bytes();
        let middle = payload.len() + signature.len() / 2;
        flipped[middle] = if flipped[middle] == b'A' { b'B' } else { b'A' };
        refused(&service, &String::from_utf8(flipped).unwrap(), "UNAUTHORIZED").await;
    }

    async fn a_token_signed_with_another_key_is_refused(service: Service) {
        let ann = service.user("ann").await;
        let forge = |secret: &str| {
            let tokens = Tokens::new(secret, HOUR, service.app.clock.clone());
            let user = ann.id.parse().unwrap();
            tokens.issue(user, "ann@example.com", heddle_model::access::Role::Admin, None, &tokens.begin(0)).unwrap()
        };
        refused(&service, &forge("another secret of thirty-two characters"), "UNAUTHORIZED").await;
        refused(&service, &forge(""), "UNAUTHORIZED").await;
    }

    async fn a_token_ends_with_its_time(service: Service) {
        let ann = service.user("ann").await;
        service.app.clock.advance(Duration::from_secs(24 * 60 * 60 - 1));
        service.get("/api/auth/me").bearer(&ann.token).send().await.data(200);
        service.app.clock.advance(Duration::from_secs(1));
        refused(&service, &ann.token, "TOKEN_EXPIRED").await;
        let reply = service.post("/api/auth/refresh").bearer(&ann.token).send().await;
        reply.assert_refused(401, "TOKEN_EXPIRED");
    }

    async fn a_token_of_somebody_who_is_not_there_is_refused(service: Service) {
        let tokens = Tokens::new(service.app.config.jwt_secret.expose_secret(), HOUR, Clock::System);
        let user = heddle_model::ids::UserId::new();
        let role = heddle_model::access::Role::User;
        refused(&service, &tokens.issue(user, "x@example.com", role, None, &tokens.begin(0)).unwrap(), "UNAUTHORIZED").await;
    }

    async fn other_schemes_and_no_header_are_refused(service: Service) {
        let ann = service.user("ann").await;
        service.get("/api/auth/me").send().await.assert_refused(401, "UNAUTHORIZED");
        for value in [ann.token.clone(), format!("Basic {}", ann.token), "Bearer".to_owned()] {
            let reply = service.get("/api/auth/me").header("authorization", &value).send().await;
            reply.assert_refused(401, "UNAUTHORIZED");
        }
        let reply = service.get("/api/auth/me").header("authorization", &format!("bearer  {}", ann.token)).send().await;
        reply.data(200);
    }

    async fn a_withdrawn_membership_ends_the_token_at_once(service: Service) {
        let (ann, bob) = (service.user("ann").await, service.user("bob").await);
        let shared = workspace(&service, &ann, "Shared").await;
        let members = format!("/api/workspaces/{shared}/members");
        service.join(&ann, &bob, "bob", &shared, "editor").await;
        let inside = switched(&service, &bob, &shared).await;
        service.get("/api/auth/me").bearer(&inside.token).send().await.data(200);

        let path = format!("{members}/{}", bob.id);
        service.delete(&path).bearer(&ann.token).send().await.data(200);
        refused(&service, &inside.token, "UNAUTHORIZED").await;
        let reply = service.post("/api/auth/refresh").bearer(&inside.token).send().await;
        reply.assert_refused(401, "UNAUTHORIZED");
        // Their own workspace is still theirs.
        service.get("/api/auth/me").bearer(&bob.token).send().await.data(200);
    }

    async fn a_changed_role_counts_at_once(service: Service) {
        let (ann, bob) = (service.user("ann").await, service.user("bob").await);
        let shared = workspace(&service, &ann, "Shared").await;
        let members = format!("/api/workspaces/{shared}/members");
        service.join(&ann, &bob, "bob", &shared, "admin").await;
        let inside = switched(&service, &bob, &shared).await;
        let path = format!("{members}/{}", bob.id);
        let body = json!({"role": "viewer"});
        service.request("PATCH", &path).bearer(&ann.token).json(&body).send().await.data(200);
        let environments = format!("/api/workspaces/{shared}/environments");
        let reply = service.post(&environments).bearer(&inside.token).json(&json!({"name": "x"})).send().await;
        reply.assert_refused(403, "FORBIDDEN");
    }
}
