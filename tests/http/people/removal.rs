//! Removing one's own account: what goes, what stays, and what is in the way.

use super::{PASSWORD, get, login, send};
use crate::harness::{Database, Reply, Service, User, each_database};
use heddle_model::access::WorkspaceRole;
use heddle_store::hosting;
use serde_json::{Value, json};

async fn remove(service: &Service, by: &User, password: &str) -> Reply {
    send(
        service,
        by,
        "POST",
        "/api/auth/me/remove",
        json!({"currentPassword": password}),
    )
    .await
}

async fn made(service: &Service, by: &User, path: &str, body: Value) -> Value {
    let made = send(service, by, "POST", path, body).await;
    assert!(matches!(made.status, 200 | 201), "{path}: {made}");
    made.body
}

each_database! {
    async fn an_account_goes_with_what_nobody_else_has(service: Service) {
        let ann = service.user("ann").await;
        let deployment = service.deployed(&ann, &crate::harness::doubling()).await;
        service.ran(&ann, &deployment, &json!({"n": 1})).await;
        let key = made(&service, &ann, "/api/auth/api-keys", json!({"name": "CI"})).await;
        let key = User { id: ann.id.clone(), token: key["data"]["key"].as_str().unwrap().to_owned() };
        made(&service, &ann, "/api/connections/api-key", json!({"provider": "github", "apiKey": "x"})).await;
        remove(&service, &ann, "wrong-horse").await.assert_refused(401, "INVALID_CREDENTIALS");
        remove(&service, &key, PASSWORD).await.assert_refused(403, "FORBIDDEN");
        let removed = remove(&service, &ann, PASSWORD).await;
        assert_eq!(removed.data(200), &json!({"id": ann.id, "status": "deleted"}));
        assert!(removed.headers["set-cookie"].to_str().unwrap().contains("Max-Age=0"), "{removed}");
        for gone in [&ann, &key] {
            get(&service, gone, "/api/auth/me").await.assert_refused(401, "UNAUTHORIZED");
        }
        login(&service, "ann@example.com", json!({})).await.assert_refused(401, "INVALID_CREDENTIALS");
        // The address is free, and what is new is empty.
        let again = service.user("ann").await;
        assert_ne!(again.id, ann.id);
        let listed = get(&service, &again, "/api/patterns").await;
        assert_eq!(listed.body["meta"]["total"], 0, "{listed}");
        let admin = service.admin("root").await;
        let stats = get(&service, &admin, "/api/patterns/stats").await;
        assert_eq!(stats.body["totalPatterns"], 0, "{stats}");
    }

    async fn an_account_stays_while_a_workspace_of_it_is_suspended(service: Service) {
        let ann = service.user("ann").await;
        let (workspace, now) = (service.workspace_of(&ann).await, service.app.clock.now());
        let suspended = service.app.store.write(move |db| Box::pin(async move {
            hosting::suspend(db, workspace, None, now).await
        }));
        assert!(suspended.await.unwrap());
        let refused = remove(&service, &ann, PASSWORD).await;
        refused.assert_refused(409, "CONFLICT");
        assert!(refused.text.contains("are suspended: ann's workspace"), "{refused}");
        get(&service, &ann, "/api/auth/me").await.data(200);
    }

    async fn an_account_stays_while_others_depend_on_it(service: Service) {
        let ann = service.user("ann").await;
        let bob = service.member(&ann, "bob", WorkspaceRole::Editor).await;
        let refused = remove(&service, &ann, PASSWORD).await;
        refused.assert_refused(409, "CONFLICT");
        assert!(refused.text.contains("ann's workspace"), "{refused}");
        get(&service, &ann, "/api/auth/me").await.data(200);
        // With another owner what she has made stays, and works.
        let deployment = service.deployed(&ann, &crate::harness::doubling()).await;
        let connection = made(&service, &ann, "/api/connections/api-key", json!({"provider": "github", "apiKey": "x"})).await;
        let members = format!("/api/workspaces/{}/members", service.workspace_of(&ann).await);
        let owner = json!({"role": "owner"});
        send(&service, &ann, "PATCH", &format!("{members}/{}", bob.id), owner).await.data(200);
        remove(&service, &ann, PASSWORD).await.data(200);
        let members = get(&service, &bob, &members).await;
        assert_eq!(members.data(200).as_array().unwrap().len(), 1, "{members}");
        service.ran(&bob, &deployment, &json!({"n": 1})).await;
        let connection = format!("/api/connections/{}", connection["id"].as_str().unwrap());
        assert_eq!(get(&service, &bob, &connection).await.status, 200);
        let log = get(&service, &bob, "/api/audit?action=member.account_removed").await;
        let entry = &log.body["data"][0];
        assert_eq!((&entry["object"]["id"], &entry["actor"]["email"]), (&json!(ann.id), &json!("ann@example.com")), "{log}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_of_connections_go_with_an_account() {
    for database in [Database::Sqlite, Database::Postgres] {
        let files = tempfile::tempdir().unwrap();
        let sqlite_dir = files.path().to_owned();
        let service = Service::with(database, |config| config.sqlite_dir = Some(sqlite_dir)).await;
        let ann = service.user("ann").await;
        let workspace = service.workspace_of(&ann).await.to_string();
        // Her own are of runs outside of workspaces.
        for tenant in [&workspace, &ann.id] {
            let dir = files.path().join(tenant);
            std::fs::create_dir_all(&dir).unwrap();
            std::fs::write(dir.join("shop.db"), "shop").unwrap();
        }
        remove(&service, &ann, PASSWORD).await.data(200);
        assert_eq!(std::fs::read_dir(files.path()).unwrap().count(), 0);
    }
}
