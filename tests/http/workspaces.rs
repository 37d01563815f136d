//! Workspaces, members, environments, secrets and variables.

mod environments;
pub mod invitations;
mod members;

use crate::harness::{Database, Reply, Service, User, each_database};
use crate::sessions::{claims, switched, workspace};
use serde_json::{Value, json};

/// The tests' clock stands still.
const NOW: &str = "2026-11-21T09:00:00.000Z";

/// The workspace of a token.
fn active(user: &User) -> String {
    claims(&user.token)["workspaceId"].as_str().unwrap().to_owned()
}

/// Registers a user and makes them a member of a workspace; with a token for it.
async fn join(service: &Service, owner: &User, name: &str, workspace: &str, role: &str) -> User {
    let user = service.user(name).await;
    service.join(owner, &user, name, workspace, role).await;
    switched(service, &user, workspace).await
}

async fn send(service: &Service, user: &User, method: &str, path: &str, body: Value) -> Reply {
    service
        .request(method, path)
        .bearer(&user.token)
        .json(&body)
        .send()
        .await
}

async fn get(service: &Service, user: &User, path: &str) -> Reply {
    service.get(path).bearer(&user.token).send().await
}

each_database! {
    async fn a_user_begins_with_a_workspace_of_their_own(service: Service) {
        let ann = service.user("ann").await;
        let id = active(&ann);
        let whole = json!({
            "id": id, "name": "ann's workspace", "role": "owner", "createdAt": NOW, "updatedAt": NOW
        });
        assert_eq!(get(&service, &ann, "/api/workspaces").await.data(200), &json!([whole]));
        assert_eq!(get(&service, &ann, &format!("/api/workspaces/{id}")).await.data(200), &whole);
        let environments = get(&service, &ann, &format!("/api/workspaces/{id}/environments")).await;
        let environment = environments.data(200)[0]["id"].clone();
        assert_eq!(environments.data(200), &json!([{"id": environment, "name": "production", "createdAt": NOW}]));
    }

    async fn workspaces_are_made_renamed_and_deleted(service: Service) {
        let ann = service.user("ann").await;
        let made = send(&service, &ann, "POST", "/api/workspaces", json!({"name": " Team "})).await;
        let id = made.data(201)["id"].as_str().unwrap().to_owned();
        assert_eq!(made.data(201), &json!({
            "id": id, "name": "Team", "role": "owner", "createdAt": NOW, "updatedAt": NOW
        }));
        service.app.clock.advance(std::time::Duration::from_secs(60));
        let path = format!("/api/workspaces/{id}");
        let renamed = send(&service, &ann, "PATCH", &path, json!({"name": "Crew"})).await;
        assert_eq!(renamed.data(200), &json!({
            "id": id, "name": "Crew", "role": "owner", "createdAt": NOW, "updatedAt": "2026-11-21T09:01:00.000Z"
        }));
        for body in [json!({}), json!({"name": ""}), json!({"name": 1}), json!({"name": "x".repeat(101)})] {
            assert_eq!(send(&service, &ann, "POST", "/api/workspaces", body.clone()).await.wrong_fields(), ["name"]);
            assert_eq!(send(&service, &ann, "PATCH", &path, body).await.wrong_fields(), ["name"]);
        }
        let inside = switched(&service, &ann, &id).await;
        let deleted = service.delete(&path).bearer(&ann.token).send().await;
        assert_eq!(deleted.data(200), &json!({"id": id, "status": "deleted"}));
        get(&service, &ann, &path).await.assert_refused(404, "WORKSPACE_NOT_FOUND");
        get(&service, &inside, "/api/auth/me").await.assert_refused(401, "UNAUTHORIZED");
        assert_eq!(get(&service, &ann, "/api/workspaces").await.data(200).as_array().unwrap().len(), 1);
    }

    async fn a_deleted_workspace_leaves_no_key_and_no_secret(service: Service) {
        let ann = service.user("ann").await;
        let path = format!("/api/workspaces/{}", active(&ann));
        let body = json!({"provider": "github", "apiKey": "ghp_1"});
        let made = send(&service, &ann, "POST", "/api/connections/api-key", body).await;
        assert_eq!(made.status, 201, "{made}");
        service.delete(&path).bearer(&ann.token).send().await.data(200);
        let mut reader = service.app.store.reader().await.unwrap();
        for table in ["data_keys", "secrets", "connections", "environments", "memberships"] {
            let count = match table {
                "data_keys" => heddle_store::sql("select count(*) from data_keys"),
                "secrets" => heddle_store::sql("select count(*) from secrets"),
                "connections" => heddle_store::sql("select count(*) from connections"),
                "environments" => heddle_store::sql("select count(*) from environments"),
                _ => heddle_store::sql("select count(*) from memberships"),
            };
            let (count,): (i64,) = reader.db().one(count).await.unwrap();
            assert_eq!(count, 0, "{table}");
        }
        // A login without a workspace works, and its connections seed nothing.
        let login = json!({"email": "ann@example.com", "password": "correct-horse"});
        let login = service.post("/api/auth/login").json(&login).send().await;
        let ann = User { token: login.data(200)["token"].as_str().unwrap().to_owned(), ..ann };
        assert_eq!(claims(&ann.token).get("workspaceId"), None);
        let body = json!({"provider": "github", "apiKey": "ghp_1"});
        let made = send(&service, &ann, "POST", "/api/connections/api-key", body).await;
        assert_eq!(made.body["seedResult"], json!({"secretsSeeded": 0, "secretNames": []}), "{made}");
        let listed = get(&service, &ann, "/api/connections").await;
        assert_eq!(listed.body["connections"][0]["id"], made.body["id"], "{listed}");
    }

    async fn a_workspace_with_patterns_is_not_deleted(service: Service) {
        let ann = service.user("ann").await;
        let path = format!("/api/workspaces/{}", active(&ann));
        let pattern = send(&service, &ann, "POST", "/api/patterns", json!({"name": "Orders"})).await;
        let refused = service.delete(&path).bearer(&ann.token).send().await;
        refused.assert_refused(409, "CONFLICT");
        let pattern = format!("/api/patterns/{}", pattern.body["id"].as_str().unwrap());
        assert_eq!(service.delete(&pattern).bearer(&ann.token).send().await.status, 204);
        service.delete(&path).bearer(&ann.token).send().await.data(200);
    }

    async fn strangers_do_not_find_a_workspace(service: Service) {
        let (ann, eve) = (service.user("ann").await, service.user("eve").await);
        let path = format!("/api/workspaces/{}", active(&ann));
        let missing = format!("/api/workspaces/{}", heddle_model::ids::WorkspaceId::new());
        for path in [path.as_str(), missing.as_str(), "/api/workspaces/nonsense"] {
            get(&service, &eve, path).await.assert_refused(404, "WORKSPACE_NOT_FOUND");
            let renamed = send(&service, &eve, "PATCH", path, json!({"name": "Mine"})).await;
            renamed.assert_refused(404, "WORKSPACE_NOT_FOUND");
            service.delete(path).bearer(&eve.token).send().await.assert_refused(404, "WORKSPACE_NOT_FOUND");
            get(&service, &eve, &format!("{path}/members")).await.assert_refused(404, "WORKSPACE_NOT_FOUND");
            get(&service, &eve, &format!("{path}/environments")).await.assert_refused(404, "WORKSPACE_NOT_FOUND");
        }
    }

    async fn only_owners_rename_and_delete(service: Service) {
        let ann = service.user("ann").await;
        let path = format!("/api/workspaces/{}", active(&ann));
        for role in ["viewer", "editor", "admin"] {
            let member = join(&service, &ann, role, &active(&ann), role).await;
            assert_eq!(get(&service, &member, &path).await.data(200)["role"], role);
            send(&service, &member, "PATCH", &path, json!({"name": "x"})).await.assert_refused(403, "FORBIDDEN");
            service.delete(&path).bearer(&member.token).send().await.assert_refused(403, "FORBIDDEN");
        }
        let other = workspace(&service, &ann, "Other").await;
        let owner = join(&service, &ann, "bob", &other, "owner").await;
        let path = format!("/api/workspaces/{other}");
        send(&service, &owner, "PATCH", &path, json!({"name": "Ours"})).await.data(200);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_go_with_their_workspace() {
    for database in [Database::Sqlite, Database::Postgres] {
        let files = tempfile::tempdir().unwrap();
        let sqlite_dir = files.path().to_owned();
        let service = Service::with(database, |config| config.sqlite_dir = Some(sqlite_dir)).await;
        let ann = service.user("ann").await;
        let team = workspace(&service, &ann, "Team").await;
        let inside = switched(&service, &ann, &team).await;
        let upload = service.post("/api/files?name=a.txt").bearer(&inside.token);
        assert_eq!(upload.body("a".to_owned()).send().await.status, 201);
        let of_connections = files.path().join(&team);
        std::fs::create_dir_all(&of_connections).unwrap();
        std::fs::write(of_connections.join("shop.db"), "shop").unwrap();

        let path = format!("/api/workspaces/{team}");
        service.delete(&path).bearer(&ann.token).send().await.data(200);
        assert!(!of_connections.exists());
        let left = heddle_store::sql("select count(*) from file_blobs where tenant_id = ?").bind(&team);
        let mut reader = service.app.store.reader().await.unwrap();
        let (left,): (i64,) = reader.db().one(left).await.unwrap();
        assert_eq!(left, 0);
    }
}
