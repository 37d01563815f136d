//! API keys: made once, looked up by their hash, and no more able than their user.

use crate::harness::{Service, User, each_database};
use crate::sessions::{claims, switched, workspace};
use serde_json::{Value, json};
use std::time::Duration;

const NOW: &str = "2026-11-21T09:00:00.000Z";

async fn create(service: &Service, user: &User, name: &str) -> Value {
    let reply = service
        .post("/api/auth/api-keys")
        .bearer(&user.token)
        .json(&json!({"name": name}))
        .send()
        .await;
    reply.data(201).clone()
}

fn key(made: &Value) -> &str {
    made["key"].as_str().unwrap()
}

each_database! {
    async fn a_key_is_shown_once_and_works(service: Service) {
        let ann = service.user("ann").await;
        let made = create(&service, &ann, " CI ").await;
        let secret = key(&made);
        assert!(secret.starts_with("hdl_") && secret.len() == 47, "{secret}");
        let mut told = json!({
            "id": made["id"], "name": "CI", "prefix": secret[..10],
            "workspaceId": claims(&ann.token)["workspaceId"], "createdAt": NOW, "lastUsedAt": null
        });
        let mut whole = told.clone();
        whole["key"] = json!(secret);
        assert_eq!(made, whole);

        service.app.clock.advance(Duration::from_secs(60));
        let me = service.get("/api/auth/me").bearer(secret).send().await;
        assert_eq!(me.data(200)["id"], ann.id.as_str());
        let listed = service.get("/api/auth/api-keys").bearer(&ann.token).send().await;
        told["lastUsedAt"] = json!("2026-11-21T09:01:00.000Z");
        assert_eq!(listed.data(200), &json!([told]));
        // Within the same minute no other write happens.
        service.app.clock.advance(Duration::from_secs(59));
        service.get("/api/auth/me").bearer(secret).send().await.data(200);
        let listed = service.get("/api/auth/api-keys").bearer(&ann.token).send().await;
        assert_eq!(listed.data(200), &json!([told]));
        // It does not end with the lifetime of tokens.
        service.app.clock.advance(Duration::from_secs(400 * 24 * 60 * 60));
        service.get("/api/auth/me").bearer(secret).send().await.data(200);
    }

    async fn a_deleted_key_works_no_longer(service: Service) {
        let (ann, eve) = (service.user("ann").await, service.user("eve").await);
        let made = create(&service, &ann, "CI").await;
        let path = format!("/api/auth/api-keys/{}", made["id"].as_str().unwrap());
        service.delete(&path).bearer(&eve.token).send().await.assert_refused(404, "NOT_FOUND");
        assert_eq!(service.get("/api/auth/api-keys").bearer(&eve.token).send().await.data(200), &json!([]));
        let deleted = service.delete(&path).bearer(&ann.token).send().await;
        assert_eq!(deleted.data(200), &json!({"id": made["id"], "status": "deleted"}));
        service.delete(&path).bearer(&ann.token).send().await.assert_refused(404, "NOT_FOUND");
        service.get("/api/auth/me").bearer(key(&made)).send().await.assert_refused(401, "UNAUTHORIZED");
        for wrong in ["hdl_", "hdl_nonsense"] {
            service.get("/api/auth/me").bearer(wrong).send().await.assert_refused(401, "UNAUTHORIZED");
        }
        for body in [json!({}), json!({"name": " "}), json!({"name": 1})] {
            let reply = service.post("/api/auth/api-keys").bearer(&ann.token).json(&body).send().await;
            assert_eq!(reply.wrong_fields(), ["name"]);
        }
    }

    async fn a_key_has_its_users_rights_in_its_workspace_alone(service: Service) {
        let (ann, bob) = (service.user("ann").await, service.user("bob").await);
        let shared = workspace(&service, &ann, "Shared").await;
        let members = format!("/api/workspaces/{shared}/members");
        service.join(&ann, &bob, "bob", &shared, "admin").await;
        let inside = switched(&service, &bob, &shared).await;
        let made = create(&service, &inside, "CI").await;
        let secret = key(&made);
        let own = claims(&bob.token)["workspaceId"].as_str().unwrap().to_owned();

        let seen = service.get("/api/workspaces").bearer(secret).send().await;
        assert_eq!(seen.data(200).as_array().unwrap().len(), 1);
        assert_eq!(seen.data(200)[0]["id"], shared.as_str());
        let path = format!("/api/workspaces/{own}/environments");
        service.get(&path).bearer(secret).send().await.assert_refused(404, "WORKSPACE_NOT_FOUND");
        let path = format!("/api/workspaces/{shared}/environments");
        service.post(&path).bearer(secret).json(&json!({"name": "x"})).send().await.data(201);

        let bob_inside = format!("{members}/{}", bob.id);
        let body = json!({"role": "viewer"});
        service.request("PATCH", &bob_inside).bearer(&ann.token).json(&body).send().await.data(200);
        let reply = service.post(&path).bearer(secret).json(&json!({"name": "y"})).send().await;
        reply.assert_refused(403, "FORBIDDEN");
        service.delete(&bob_inside).bearer(&ann.token).send().await.data(200);
        service.get("/api/auth/me").bearer(secret).send().await.assert_refused(401, "UNAUTHORIZED");
    }

    async fn a_key_makes_no_other_credentials(service: Service) {
        let ann = service.user("ann").await;
        let made = create(&service, &ann, "CI").await;
        let workspace = claims(&ann.token)["workspaceId"].clone();
        let id = made["id"].as_str().unwrap();
        for (method, path, body) in [
            ("POST", "/api/auth/refresh", json!({})),
            ("POST", "/api/auth/switch-workspace", json!({"workspaceId": workspace})),
            ("GET", "/api/auth/api-keys", json!({})),
            ("POST", "/api/auth/api-keys", json!({"name": "x"})),
            ("DELETE", &format!("/api/auth/api-keys/{id}"), json!({})),
            ("POST", "/api/workspaces", json!({"name": "x"})),
        ] {
            let reply = service.request(method, path).bearer(key(&made)).json(&body).send().await;
            reply.assert_refused(403, "FORBIDDEN");
        }
    }
}
