//! Connections and the secrets that they seed.

mod changes;
mod consent;
mod tests;

use crate::harness::{Reply, Service, User, each_database};
use crate::sessions::{claims, switched, workspace};
use heddle_model::access::WorkspaceRole;
use heddle_store::secrets;
use serde_json::{Value, json};
use std::collections::BTreeMap;

const NOW: &str = "2026-11-21T09:00:00.000Z";

async fn post(service: &Service, user: &User, path: &str, body: Value) -> Reply {
    service.post(path).bearer(&user.token).json(&body).send().await
}

async fn api_key(service: &Service, user: &User, provider: &str, key: &str) -> Value {
    let body = json!({"provider": provider, "apiKey": key});
    let reply = post(service, user, "/api/connections/api-key", body).await;
    assert_eq!(reply.status, 201, "{reply}");
    reply.body
}

async fn listed(service: &Service, user: &User) -> Value {
    let reply = service.get("/api/connections").bearer(&user.token).send().await;
    assert_eq!(reply.status, 200, "{reply}");
    reply.body["connections"].clone()
}

/// The environments of the user's active workspace, the oldest first.
async fn environments(service: &Service, user: &User) -> Vec<String> {
    let workspace = claims(&user.token)["workspaceId"].as_str().unwrap().to_owned();
    let path = format!("/api/workspaces/{workspace}/environments");
    let reply = service.get(&path).bearer(&user.token).send().await;
    let all = reply.data(200).as_array().unwrap().clone();
    all.iter()
        .map(|environment| environment["id"].as_str().unwrap().to_owned())
        .collect()
}

/// Another environment in the user's active workspace.
async fn environment(service: &Service, user: &User, name: &str) -> String {
    let workspace = claims(&user.token)["workspaceId"].as_str().unwrap().to_owned();
    let path = format!("/api/workspaces/{workspace}/environments");
    let reply = post(service, user, &path, json!({"name": name})).await;
    reply.data(201)["id"].as_str().unwrap().to_owned()
}

/// All secrets of an environment, as a run would get them.
async fn opened(service: &Service, environment: &str) -> BTreeMap<String, String> {
    let mut reader = service.app.store.reader().await.unwrap();
    let environment = environment.parse().unwrap();
    let opened = secrets::open_all(&mut reader.db(), &service.app.vault, environment)
        .await
        .unwrap();
    let exposed = opened
        .into_iter()
        .map(|(name, secret)| (name, secret.expose().to_owned()));
    exposed.collect()
}

fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

each_database! {
    async fn members_see_what_patterns_of_their_workspace_may_use(service: Service) {
        let ann = service.user("ann").await;
        let made = api_key(&service, &ann, "open-ai", "sk-1").await;
        let vic = service.member(&ann, "vic", WorkspaceRole::Viewer).await;
        let eve = service.user("eve").await;
        let list = async |user: &User, query: &str| {
            let reply = service.get(&format!("/api/connections{query}")).bearer(&user.token).send().await;
            assert_eq!(reply.status, 200, "{reply}");
            assert!(!reply.text.contains("sk-1"), "{reply}");
            reply.body["connections"].clone()
        };
        let mut whole = listed(&service, &ann).await[0].clone();
        assert_eq!(list(&ann, "?owner=me").await, json!([whole]));
        whole["owner"] = json!({"id": ann.id, "firstName": "ann", "lastName": "Lee"});
        for user in [&ann, &vic] {
            let mut shared = list(user, "?owner=workspace").await;
            for name in ["firstName", "lastName"] {
                assert!(shared[0]["owner"][name].is_string(), "{shared}");
                shared[0]["owner"][name] = whole["owner"][name].clone();
            }
            assert_eq!(shared, json!([whole]));
        }
        assert_eq!(list(&vic, "").await, json!([]), "the contract's list is of one's own");
        assert_eq!(list(&eve, "?owner=workspace").await, json!([]));
        let refused = service.get("/api/connections?owner=all").bearer(&ann.token).send().await;
        assert_eq!(refused.wrong_fields(), ["owner"], "{refused}");
        // Seeing that it is there gives nobody else its fields.
        let path = format!("/api/connections/{}", made["id"].as_str().unwrap());
        service.get(&path).bearer(&vic.token).send().await.assert_refused(404, "NOT_FOUND");
    }

    async fn a_key_is_stored_and_seeded_into_every_environment(service: Service) {
        let ann = service.user("ann").await;
        environment(&service, &ann, "staging").await;
        let body = json!({"provider": "open-ai", "apiKey": "sk-123", "displayName": "Team key"});
        let made = post(&service, &ann, "/api/connections/api-key", body).await;
        assert_eq!(made.status, 201, "{made}");
        let id = made.body["id"].as_str().unwrap().to_owned();
        let mut whole = json!({
            "id": id, "provider": "open-ai", "displayName": "Team key", "type": "api_key", "status": "active",
            "createdAt": NOW, "updatedAt": NOW
        });
        let summary = whole.clone();
        whole["seedResult"] = json!({"secretsSeeded": 1, "secretNames": ["OPEN_AI_API_KEY"]});
        assert_eq!(made.body, whole);
        for environment in environments(&service, &ann).await {
            assert_eq!(opened(&service, &environment).await, map(&[("OPEN_AI_API_KEY", "sk-123")]));
        }
        let all = service.get("/api/connections").bearer(&ann.token).send().await;
        assert_eq!((all.status, &all.body), (200, &json!({"connections": [summary]})));
        let one = service.get(&format!("/api/connections/{id}")).bearer(&ann.token).send().await;
        let mut detail = summary;
        detail["scopes"] = json!([]);
        detail["hosts"] = json!([]);
        assert_eq!((one.status, &one.body), (200, &detail));
    }

    async fn credentials_seed_one_secret_a_field(service: Service) {
        let ann = service.user("ann").await;
        let body = json!({
            "provider": "HTTPServer", "credentials": {"userID": "ann", "password": "p w", "port": 8080, "tls": true}
        });
        let made = post(&service, &ann, "/api/connections/credentials", body).await;
        assert_eq!(made.status, 201, "{made}");
        assert_eq!(made.body["type"], "credentials");
        assert_eq!(made.body["displayName"], "HTTPServer");
        assert_eq!(made.body["seedResult"], json!({"secretsSeeded": 4, "secretNames": [
            "HTTP_SERVER_PASSWORD", "HTTP_SERVER_PORT", "HTTP_SERVER_TLS", "HTTP_SERVER_USER_ID"
        ]}));
        let environment = environments(&service, &ann).await.remove(0);
        assert_eq!(opened(&service, &environment).await, map(&[
            ("HTTP_SERVER_PASSWORD", "p w"), ("HTTP_SERVER_PORT", "8080"), ("HTTP_SERVER_TLS", "true"),
            ("HTTP_SERVER_USER_ID", "ann"),
        ]));
        let body = json!({"provider": "x", "credentials": {"api-key": "1", "api_key": "2"}});
        let made = post(&service, &ann, "/api/connections/credentials", body).await;
        assert_eq!(made.body["seedResult"], json!({"secretsSeeded": 1, "secretNames": ["X_API_KEY"]}));
    }

    async fn with_an_environment_only_that_one_is_seeded(service: Service) {
        let (ann, eve) = (service.user("ann").await, service.user("eve").await);
        let staging = environment(&service, &ann, "staging").await;
        let production = environments(&service, &ann).await.remove(0);
        let mut body = json!({"provider": "github", "apiKey": "ghp_1", "environmentId": staging});
        let made = post(&service, &ann, "/api/connections/api-key", body.clone()).await;
        assert_eq!(made.body["seedResult"]["secretsSeeded"], 1, "{made}");
        assert_eq!(opened(&service, &staging).await, map(&[("GITHUB_API_KEY", "ghp_1")]));
        assert_eq!(opened(&service, &production).await, map(&[]));

        post(&service, &eve, "/api/connections/api-key", body.clone()).await.assert_refused(404, "NOT_FOUND");
        assert_eq!(listed(&service, &eve).await, json!([]), "what fails leaves nothing behind");
        body["environmentId"] = json!("nonsense");
        let wrong = post(&service, &ann, "/api/connections/api-key", body).await;
        assert_eq!(wrong.wrong_fields(), ["environmentId"]);
    }

    async fn what_is_wrong_with_a_connection_is_named(service: Service) {
        let ann = service.user("ann").await;
        for (body, field) in [
            (json!({"apiKey": "x"}), "provider"),
            (json!({"provider": "", "apiKey": "x"}), "provider"),
            (json!({"provider": "---", "apiKey": "x"}), "provider"),
            (json!({"provider": "x".repeat(101), "apiKey": "x"}), "provider"),
            (json!({"provider": "x"}), "apiKey"),
            (json!({"provider": "x", "apiKey": ""}), "apiKey"),
            (json!({"provider": "x", "apiKey": null}), "apiKey"),
            (json!({"provider": "x", "apiKey": "x".repeat(65_537)}), "apiKey"),
            (json!({"provider": "x", "apiKey": "x", "displayName": " "}), "displayName"),
        ] {
            let reply = post(&service, &ann, "/api/connections/api-key", body).await;
            assert_eq!(reply.wrong_fields(), [field]);
        }
        let many: Value = (0..51).map(|number| (format!("f{number}"), json!("x"))).collect::<serde_json::Map<_, _>>().into();
        for (body, field) in [
            (json!({"credentials": {"a": "x"}}), "provider"),
            (json!({"provider": "x"}), "credentials"),
            (json!({"provider": "x", "credentials": {}}), "credentials"),
            (json!({"provider": "x", "credentials": []}), "credentials"),
            (json!({"provider": "x", "credentials": "a"}), "credentials"),
            (json!({"provider": "x", "credentials": null}), "credentials"),
            (json!({"provider": "x", "credentials": many}), "credentials"),
            (json!({"provider": "x", "credentials": {"a": {}}}), "credentials.a"),
            (json!({"provider": "x", "credentials": {"b": 1, "a": vec![1; 50_000]}}), "credentials.a"),
            (json!({"provider": "x", "credentials": {"a": null}}), "credentials.a"),
            (json!({"provider": "x", "credentials": {"a": ""}}), "credentials.a"),
            (json!({"provider": "x", "credentials": {"!": "x"}}), "provider"),
        ] {
            let reply = post(&service, &ann, "/api/connections/credentials", body).await;
            assert_eq!(reply.wrong_fields(), [field]);
        }
        assert_eq!(listed(&service, &ann).await, json!([]));
    }

    async fn deleting_takes_the_secrets_along_that_are_still_the_connections(service: Service) {
        let ann = service.user("ann").await;
        let staging = environment(&service, &ann, "staging").await;
        let production = environments(&service, &ann).await.remove(0);
        let first = api_key(&service, &ann, "github", "first").await;
        let body = json!({"provider": "db", "credentials": {"user": "u", "password": "p"}});
        let other = post(&service, &ann, "/api/connections/credentials", body).await.body;
        // Overwritten by hand here, by another connection there.
        let workspace = claims(&ann.token)["workspaceId"].as_str().unwrap().to_owned();
        let path = format!("/api/workspaces/{workspace}/environments/{production}/secrets/DB_USER");
        let set = service.put(&path).bearer(&ann.token).json(&json!({"value": "by hand"})).send().await;
        set.data(200);
        let body = json!({"provider": "github", "apiKey": "second", "environmentId": staging});
        let second = post(&service, &ann, "/api/connections/api-key", body).await;
        assert_eq!(second.status, 201, "{second}");

        for connection in [&first, &other] {
            let path = format!("/api/connections/{}", connection["id"].as_str().unwrap());
            let deleted = service.delete(&path).bearer(&ann.token).send().await;
            assert_eq!((deleted.status, deleted.text.as_str()), (204, ""));
            service.delete(&path).bearer(&ann.token).send().await.assert_refused(404, "NOT_FOUND");
            service.get(&path).bearer(&ann.token).send().await.assert_refused(404, "NOT_FOUND");
        }
        assert_eq!(opened(&service, &production).await, map(&[("DB_USER", "by hand")]));
        assert_eq!(opened(&service, &staging).await, map(&[("GITHUB_API_KEY", "second")]));
    }

    async fn connections_are_their_users_own(service: Service) {
        let (ann, bob) = (service.user("ann").await, service.user("bob").await);
        let workspace = claims(&ann.token)["workspaceId"].as_str().unwrap().to_owned();
        service.join(&ann, &bob, "bob", &workspace, "admin").await;
        let inside = switched(&service, &bob, &workspace).await;
        let anns = api_key(&service, &ann, "github", "a").await;
        let bobs = api_key(&service, &inside, "gitlab", "b").await;
        let path = |connection: &Value| format!("/api/connections/{}", connection["id"].as_str().unwrap());
        for (user, own, others) in [(&ann, &anns, &bobs), (&inside, &bobs, &anns)] {
            let all = listed(&service, user).await;
            assert_eq!((all.as_array().unwrap().len(), &all[0]["id"]), (1, &own["id"]));
            service.get(&path(others)).bearer(&user.token).send().await.assert_refused(404, "NOT_FOUND");
            service.delete(&path(others)).bearer(&user.token).send().await.assert_refused(404, "NOT_FOUND");
        }
        // Another of one's own workspaces is another place.
        assert_eq!(listed(&service, &bob).await, json!([]));
        service.get(&path(&bobs)).bearer(&bob.token).send().await.assert_refused(404, "NOT_FOUND");
        service.get("/api/connections/nonsense").bearer(&bob.token).send().await.assert_refused(404, "NOT_FOUND");
        service.get("/api/connections").send().await.assert_refused(401, "UNAUTHORIZED");
    }

    async fn the_newest_connection_is_listed_first(service: Service) {
        let ann = service.user("ann").await;
        let first = api_key(&service, &ann, "a", "x").await;
        let second = api_key(&service, &ann, "b", "x").await;
        let all = listed(&service, &ann).await;
        assert_eq!((&all[0]["id"], &all[1]["id"]), (&second["id"], &first["id"]));
    }

    async fn editors_seed_but_replace_only_what_is_theirs(service: Service) {
        let (ann, bob) = (service.user("ann").await, service.user("bob").await);
        let shared = workspace(&service, &ann, "Shared").await;
        let ann = switched(&service, &ann, &shared).await;
        let members = format!("/api/workspaces/{shared}/members");
        service.join(&ann, &bob, "bob", &shared, "editor").await;
        let bob = switched(&service, &bob, &shared).await;
        let environment = environments(&service, &ann).await.remove(0);
        api_key(&service, &ann, "github", "ann's").await;
        api_key(&service, &bob, "gitlab", "bob's").await;
        api_key(&service, &bob, "gitlab", "bob's newer").await;
        let body = json!({"provider": "github", "apiKey": "bob's"});
        post(&service, &bob, "/api/connections/api-key", body).await.assert_refused(403, "FORBIDDEN");
        assert_eq!(opened(&service, &environment).await, map(&[
            ("GITHUB_API_KEY", "ann's"), ("GITLAB_API_KEY", "bob's newer"),
        ]));
        api_key(&service, &ann, "gitlab", "ann's").await;
        assert_eq!(opened(&service, &environment).await["GITLAB_API_KEY"], "ann's");

        // A viewer changes nothing, not even what was theirs.
        let path = format!("{members}/{}", bob.id);
        let body = json!({"role": "viewer"});
        service.request("PATCH", &path).bearer(&ann.token).json(&body).send().await.data(200);
        let body = json!({"provider": "x", "apiKey": "x"});
        post(&service, &bob, "/api/connections/api-key", body).await.assert_refused(403, "FORBIDDEN");
        let body = json!({"provider": "x", "credentials": {"a": "x"}});
        post(&service, &bob, "/api/connections/credentials", body).await.assert_refused(403, "FORBIDDEN");
        let own = listed(&service, &bob).await[0]["id"].as_str().unwrap().to_owned();
        let path = format!("/api/connections/{own}");
        service.delete(&path).bearer(&bob.token).send().await.assert_refused(403, "FORBIDDEN");
    }
}
