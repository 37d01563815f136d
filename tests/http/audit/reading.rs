//! Who reads the log, how it is filtered, how long entries stay, and that nothing changes them.

use crate::harness::{Database, Reply, Service, User, each_database};
use heddle_model::access::WorkspaceRole;
use heddle_store::{StoreError, sql};
use serde_json::{Value, json};
use std::time::Duration;

async fn log(service: &Service, user: &User, query: &str) -> Reply {
    let path = format!("/api/audit{query}");
    service.get(&path).bearer(&user.token).send().await
}

/// Actions of a page, the newest first.
async fn actions(service: &Service, user: &User, query: &str) -> Vec<String> {
    let page = log(service, user, query).await;
    assert_eq!(page.status, 200, "{query}: {page}");
    let entries = page.body["data"].as_array().unwrap();
    let action = |entry: &Value| entry["action"].as_str().unwrap().to_owned();
    entries.iter().map(action).collect()
}

async fn rename(service: &Service, user: &User, name: &str) {
    let path = format!("/api/workspaces/{}", service.workspace_of(user).await);
    let renamed = service.request("PATCH", &path).bearer(&user.token);
    let renamed = renamed.json(&json!({"name": name})).send().await;
    assert_eq!(renamed.status, 200, "{renamed}");
}

async fn key(service: &Service, user: &User) -> User {
    limited_key(service, user, json!(null)).await
}

async fn limited_key(service: &Service, user: &User, scopes: Value) -> User {
    let made = service.post("/api/auth/api-keys").bearer(&user.token);
    let made = made
        .json(&json!({"name": "of CI", "scopes": scopes}))
        .send()
        .await;
    User {
        id: user.id.clone(),
        token: made.data(201)["key"].as_str().unwrap().to_owned(),
    }
}

each_database! {
    async fn an_entry_tells_who_what_when_and_from_where(service: Service) {
        let ann = service.user("ann").await;
        rename(&service, &ann, "Shop").await;
        let page = log(&service, &ann, "").await;
        assert_eq!(page.status, 200, "{page}");
        let (entry, workspace) = (&page.body["data"][0], service.workspace_of(&ann).await.to_string());
        assert_eq!(entry, &json!({
            "id": entry["id"], "at": "2026-11-21T09:00:00.000Z", "action": "workspace.renamed", "outcome": "done",
            "actor": {"id": ann.id, "email": "ann@example.com", "name": "ann Test"}, "apiKey": null,
            "address": "127.0.0.1",
            "object": {"kind": "workspace", "id": workspace, "name": entry["object"]["name"], "within": null},
            "details": {"to": "Shop"}, "workspaceId": workspace,
        }));
        assert_eq!(page.body["meta"], json!({"limit": 50, "nextCursor": null}));
    }

    async fn what_an_api_key_does_is_told_of_the_key(service: Service) {
        let ann = service.user("ann").await;
        let key = key(&service, &ann).await;
        rename(&service, &key, "Shop").await;
        let page = log(&service, &key, "?action=workspace").await;
        let entry = &page.body["data"][0];
        assert_eq!((&entry["apiKey"]["name"], &entry["actor"]["id"]), (&json!("of CI"), &json!(ann.id)), "{page}");
        let id = entry["apiKey"]["id"].as_str().unwrap();
        assert_eq!(actions(&service, &ann, &format!("?actor={id}")).await, ["workspace.renamed"]);
        log(&service, &key, "?of=account").await.assert_refused(403, "FORBIDDEN");
    }

    async fn owners_and_admins_read_a_workspaces_log(service: Service) {
        let ann = service.user("ann").await;
        rename(&service, &ann, "Shop").await;
        for (role, status) in [(WorkspaceRole::Viewer, 403), (WorkspaceRole::Editor, 403), (WorkspaceRole::Admin, 200)] {
            let member = service.member(&ann, role.name(), role).await;
            let page = log(&service, &member, "").await;
            assert_eq!(page.status, status, "{}: {page}", role.name());
            log(&service, &member, "?of=service").await.assert_refused(403, "FORBIDDEN");
            assert_eq!(actions(&service, &member, "?of=account").await, ["account.registered"]);
        }
        let stranger = service.user("stranger").await;
        assert!(actions(&service, &stranger, "").await.is_empty());
        let admin = service.admin("root").await;
        assert!(actions(&service, &admin, "?of=service").await.contains(&"workspace.renamed".to_owned()));
        for (scopes, status) in [(json!(["edit"]), 403), (json!(["admin"]), 200), (json!(null), 200)] {
            let key = limited_key(&service, &admin, scopes.clone()).await;
            assert_eq!(log(&service, &key, "?of=service").await.status, status, "{scopes}");
        }
    }

    async fn entries_are_found_by_time_actor_action_and_object(service: Service) {
        let ann = service.user("ann").await;
        let bob = service.member(&ann, "bob", WorkspaceRole::Owner).await;
        rename(&service, &ann, "First").await;
        service.app.clock.advance(Duration::from_secs(60));
        key(&service, &ann).await;
        let made = service.post("/api/patterns").bearer(&bob.token).json(&json!({"name": "Orders"})).send().await;
        let pattern = made.body["id"].as_str().unwrap();
        let all = ["pattern.created", "api_key.created", "workspace.renamed"];
        for (query, expected) in [
            ("".to_owned(), &all[..]),
            ("?from=2026-11-21T09:01:00Z".to_owned(), &all[..2]),
            ("?to=2026-11-21T09:01:00Z".to_owned(), &all[2..]),
            ("?actor=BOB@example.com".to_owned(), &all[..1]),
            (format!("?actor={}", ann.id), &all[1..]),
            ("?action=workspace".to_owned(), &all[2..]),
            ("?action=workspace.renamed".to_owned(), &all[2..]),
            ("?action=secret".to_owned(), &[]),
            ("?object=Orders".to_owned(), &all[..1]),
            (format!("?object={pattern}"), &all[..1]),
            ("?object=Orders%25".to_owned(), &[]),
        ] {
            assert_eq!(actions(&service, &ann, &query).await, expected, "{query}");
        }
        for (query, field) in [
            ("?action=work", "action"), ("?action=%25", "action"), ("?from=yesterday", "from"), ("?limit=0", "limit"),
            ("?cursor=x", "cursor"), ("?of=others", "of"), ("?format=xml", "format"), ("?actor=%00", "actor"),
        ] {
            assert_eq!(log(&service, &ann, query).await.wrong_fields(), [field], "{query}");
        }
    }

    async fn pages_and_an_export_have_each_entry_once(service: Service) {
        let ann = service.user("ann").await;
        for number in 0..7 {
            rename(&service, &ann, &format!("name {number}")).await;
            service.app.clock.advance(Duration::from_millis(number % 2));
        }
        let (mut told, mut query) = (Vec::new(), "?limit=3".to_owned());
        loop {
            let page = log(&service, &ann, &query).await;
            told.extend(page.body["data"].as_array().unwrap().clone());
            let Some(next) = page.body["meta"]["nextCursor"].as_str() else { break };
            query = format!("?limit=3&cursor={next}");
        }
        assert_eq!(told.len(), 7);
        for request in [service.get("/api/audit?format=jsonl"), service.get("/api/audit").header("accept", "application/x-ndjson")] {
            let exported = request.bearer(&ann.token).send().await;
            assert_eq!(exported.headers["content-type"], "application/x-ndjson");
            let lines: Vec<Value> = exported.text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            assert_eq!(lines, told);
        }
        let few = log(&service, &ann, "?format=jsonl&limit=2").await;
        assert_eq!(few.text.lines().count(), 2);
    }

    async fn refused_sign_ins_are_in_the_account_s_log(service: Service) {
        let ann = service.user("ann").await;
        for email in ["ann@example.com", "nobody@example.com"] {
            let wrong = json!({"email": email, "password": "wrong"});
            let refused = service.post("/api/auth/login").json(&wrong).send().await;
            refused.assert_refused(401, "INVALID_CREDENTIALS");
        }
        // Written in the background.
        let mut entries = Vec::new();
        for _ in 0..1000 {
            let page = log(&service, &ann, "?of=account&action=account.sign_in_refused").await;
            entries = page.body["data"].as_array().unwrap().clone();
            if !entries.is_empty() {
                break;
            }
            tokio::task::yield_now().await;
        }
        assert_eq!(entries.len(), 1, "{entries:?}");
        assert_eq!((&entries[0]["actor"], &entries[0]["outcome"]), (&Value::Null, &json!("refused")));
        assert_eq!(entries[0]["object"]["name"], "ann@example.com");
        assert!(actions(&service, &ann, "").await.is_empty());
    }

    async fn the_database_refuses_to_change_an_entry(service: Service) {
        let ann = service.user("ann").await;
        let changed: Result<u64, StoreError> = service
            .app
            .store
            .write(|db| Box::pin(async move { db.execute(sql("update audit_entries set action = 'nothing'")).await }))
            .await;
        assert!(changed.is_err());
        assert_eq!(actions(&service, &ann, "?of=account").await, ["account.registered"]);
    }

    async fn what_fails_leaves_no_entry(service: Service) {
        let ann = service.user("ann").await;
        let path = format!("/api/workspaces/{}", service.workspace_of(&ann).await);
        let nothing = "01932c07-209e-7f64-b0a3-5c1f1b0e6f3a";
        for path in [
            format!("{path}/invitations/{nothing}"), format!("{path}/environments/{nothing}"),
            format!("/api/connections/{nothing}"), format!("/api/auth/api-keys/{nothing}"),
            format!("/api/patterns/{nothing}"), format!("/api/deployments/{nothing}"),
        ] {
            let refused = service.delete(&path).bearer(&ann.token).send().await;
            assert_eq!(refused.status, 404, "{path}: {refused}");
        }
        assert!(actions(&service, &ann, "").await.is_empty());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn old_and_surplus_entries_leave() {
    for database in [Database::Sqlite, Database::Postgres] {
        let service = Service::with(database, |config| {
            config.audit_retention = Duration::from_secs(3600);
            config.audit_entries_max = 2;
        })
        .await;
        let (ann, bob) = (service.user("ann").await, service.user("bob").await);
        let policy = service.app.audit;
        for number in 0..4 {
            rename(&service, &ann, &format!("name {number}")).await;
        }
        rename(&service, &bob, "other").await;
        policy.sweep_surplus(&service.app.store).await.unwrap();
        let page = log(&service, &ann, "").await;
        let left: Vec<&Value> = page.body["data"]
            .as_array()
            .unwrap()
            .iter()
            .map(|entry| &entry["details"]["to"])
            .collect();
        assert_eq!(left, ["name 3", "name 2"]);
        assert_eq!(actions(&service, &bob, "").await.len(), 1);
        service.app.clock.advance(Duration::from_secs(3600));
        rename(&service, &ann, "last").await;
        service.app.clock.advance(Duration::from_secs(1));
        policy
            .sweep(&service.app.store, service.app.clock.now())
            .await
            .unwrap();
        assert_eq!(actions(&service, &ann, "").await, ["workspace.renamed"]);
        assert!(actions(&service, &bob, "").await.is_empty());
    }
}
