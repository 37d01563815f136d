//! API keys: made once, looked up by their hash, and no more able than their user.

use crate::harness::{Service, User, doubling, each_database};
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

async fn limited(service: &Service, user: &User, body: Value) -> Value {
    let reply = service
        .post("/api/auth/api-keys")
        .bearer(&user.token)
        .json(&body)
        .send()
        .await;
    reply.data(201).clone()
}

/// The path of the workspace's first environment.
async fn environment(service: &Service, user: &User, workspace: &str) -> String {
    let path = format!("/api/workspaces/{workspace}/environments");
    let listed = service.get(&path).bearer(&user.token).send().await;
    format!("{path}/{}", listed.data(200)[0]["id"].as_str().unwrap())
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
            "workspaceId": claims(&ann.token)["workspaceId"], "scopes": null, "createdAt": NOW, "expiresAt": null,
            "lastUsedAt": null
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

    async fn a_key_with_scopes_can_do_no_more_than_they_say(service: Service) {
        let ann = service.user("ann").await;
        let workspace = claims(&ann.token)["workspaceId"].as_str().unwrap().to_owned();
        let pattern = service.drawn(&ann, &doubling()).await;
        let deployment = service.deploy(&ann, &pattern).await;

        let see = ("GET", format!("/api/patterns/{pattern}"), json!({}));
        let compute = ("POST", "/api/execute/validate".to_owned(), json!({"graphData": doubling(), "nodeDefinitions": {}}));
        let run = ("POST", format!("/api/deployments/{deployment}/execute?wait=true"), json!({"eventData": {}}));
        let star = ("POST", format!("/api/patterns/{pattern}/star"), json!({}));
        let save = ("PUT", format!("/api/patterns/{pattern}"), json!({"description": "New"}));
        let deploy = ("POST", format!("/api/patterns/{pattern}/deploy"), json!({"nodeDefinitions": {}}));
        let variables = ("PUT", environment(&service, &ann, &workspace).await + "/variables", json!({}));
        let rename = ("PATCH", format!("/api/workspaces/{workspace}"), json!({"name": "Renamed"}));
        let requests = [&see, &compute, &run, &star, &save, &deploy, &variables, &rename];
        for (scopes, allowed) in [
            (json!(["read"]), 2), (json!(["run"]), 3), (json!(["read", "run"]), 3), (json!(["edit"]), 6),
            (json!(["run", "admin"]), 8), (json!(null), 8),
        ] {
            let made = limited(&service, &ann, json!({"name": "CI", "scopes": scopes})).await;
            for (number, (method, path, body)) in requests.iter().enumerate() {
                let request = service.request(method, path).bearer(key(&made));
                let reply = if *method == "GET" { request.send().await } else { request.json(body).send().await };
                match number < allowed {
                    true => assert_eq!(reply.status, 200, "{scopes} {method} {path}: {reply}"),
                    false => reply.assert_refused(403, "FORBIDDEN"),
                }
            }
        }
        let made = limited(&service, &ann, json!({"name": "CI", "scopes": ["read", "run"]})).await;
        assert_eq!(made["scopes"], json!(["run"]));
        let (method, path, body) = &save;
        let refused = service.request(method, path).bearer(key(&made)).json(body).send().await;
        let message = refused.body["error"].to_string();
        assert!(message.contains("requires an API key with the scope edit; this key's is run"), "{message}");
        // No member is made, and nobody leaves, without the scope for it.
        let members = format!("/api/workspaces/{workspace}/members");
        let body = json!({"email": "eve@example.com", "role": "admin"});
        let reply = service.post(&members).bearer(key(&made)).json(&body).send().await;
        reply.assert_refused(403, "FORBIDDEN");
        let reply = service.delete(&format!("{members}/{}", ann.id)).bearer(key(&made)).send().await;
        reply.assert_refused(403, "FORBIDDEN");
    }

    async fn scopes_do_not_exceed_the_users_role(service: Service) {
        let (ann, bob) = (service.user("ann").await, service.user("bob").await);
        let shared = workspace(&service, &ann, "Shared").await;
        service.join(&ann, &bob, "bob", &shared, "viewer").await;
        let inside = switched(&service, &bob, &shared).await;
        let made = limited(&service, &inside, json!({"name": "CI", "scopes": ["admin"]})).await;
        let reply = service.post("/api/patterns").bearer(key(&made)).json(&json!({"name": "x"})).send().await;
        reply.assert_refused(403, "FORBIDDEN");
    }

    async fn a_key_ends_when_it_expires(service: Service) {
        let ann = service.user("ann").await;
        let made = limited(&service, &ann, json!({"name": "CI", "expiresAt": "2026-11-21T10:00:00.000Z"})).await;
        assert_eq!(made["expiresAt"], "2026-11-21T10:00:00.000Z");
        service.app.clock.advance(Duration::from_secs(60 * 60 - 1));
        service.get("/api/auth/me").bearer(key(&made)).send().await.data(200);
        service.app.clock.advance(Duration::from_secs(1));
        service.get("/api/auth/me").bearer(key(&made)).send().await.assert_refused(401, "TOKEN_EXPIRED");
    }

    async fn limits_of_a_key_that_mean_nothing_are_refused(service: Service) {
        let ann = service.user("ann").await;
        for (body, field) in [
            (json!({"name": "x", "scopes": []}), "scopes"),
            (json!({"name": "x", "scopes": ["write"]}), "scopes[0]"),
            (json!({"name": "x", "scopes": ["read", "read", "read", "read", "read"]}), "scopes"),
            (json!({"name": "x", "expiresAt": NOW}), "expiresAt"),
            (json!({"name": "x", "expiresAt": "tomorrow"}), "expiresAt"),
            (json!({"name": "x", "scope": ["read"]}), "scope"),
            (json!({"name": "x", "expires_at": NOW}), "expires_at"),
        ] {
            let reply = service.post("/api/auth/api-keys").bearer(&ann.token).json(&body).send().await;
            assert_eq!(reply.wrong_fields(), [field]);
        }
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
