//! Nothing is left of a workspace that is deleted, and all of the others.

use super::{BOTH, ask, number, operated};
use crate::harness::{Database, Service, User, chain, doubling};
use crate::webhooks::fixture::{Hook, graph, returns};
use heddle_store::sql;
use serde_json::json;
use std::collections::BTreeMap;
use std::path::Path;

/// All columns of all tables: a table's name, and a column's.
async fn columns(service: &Service) -> Vec<(String, String)> {
    let query = match service.database() {
        Database::Sqlite => {
            "select t.name, c.name from sqlite_schema t join pragma_table_info(t.name) c
             where t.type = 'table' and t.name not like '%sqlx%' and t.name not like 'sqlite_%'"
        }
        Database::Postgres => {
            "select cast(table_name as text), cast(column_name as text) from information_schema.columns
             where table_schema = 'public' and table_name not like '%sqlx%'"
        }
    };
    service
        .app
        .store
        .reader()
        .await
        .unwrap()
        .db()
        .all(sql(query))
        .await
        .unwrap()
}

/// In how many rows of each column a text is.
pub(super) async fn places(service: &Service, mark: &str) -> BTreeMap<String, i64> {
    let mut found = BTreeMap::new();
    for (table, column) in columns(service).await {
        let query = match service.database() {
            Database::Sqlite => format!(
                "select count(*) from {table} where instr(cast({column} as blob), cast(? as blob)) > 0"
            ),
            Database::Postgres => format!(
                "select count(*) from {table} where position(encode(convert_to(?, 'UTF8'), 'hex') in
                 case when pg_typeof({column}) = cast('bytea' as regtype) then substr(cast({column} as text), 3)
                 else encode(convert_to(cast({column} as text), 'UTF8'), 'hex') end) > 0"
            ),
        };
        let rows = number(service, query, mark).await;
        if rows > 0 {
            found.insert(format!("{table}.{column}"), rows);
        }
    }
    found
}

/// Whatever a workspace can have, with a mark in it.
pub(super) async fn filled(service: &Service, user: User, mark: &str, sqlite_dir: &Path) -> Vec<String> {
    let workspace = service.workspace_of(&user).await.to_string();
    let put = async |path: &str, body| {
        let path = format!("/api/workspaces/{workspace}{path}");
        let done = service.put(&path).bearer(&user.token).json(&body).send().await;
        assert_eq!(done.status, 200, "{done}");
    };
    let environments = format!("/api/workspaces/{workspace}/environments");
    let environments = service.get(&environments).bearer(&user.token).send().await;
    let environment = environments.data(200)[0]["id"].as_str().unwrap().to_owned();
    put(
        &format!("/environments/{environment}/variables"),
        json!({"MARK": mark}),
    )
    .await;
    put(
        &format!("/environments/{environment}/secrets/SECRET"),
        json!({"value": mark}),
    )
    .await;
    let connection = json!({"provider": mark, "apiKey": mark});
    let connection = service
        .post("/api/connections/api-key")
        .bearer(&user.token)
        .json(&connection);
    assert_eq!(connection.send().await.status, 201);
    let keeps = chain(&[
        ("start", "OnManual", json!({})),
        ("note", "Log", json!({"message": mark})),
        (
            "keep",
            "KeyValue",
            json!({"operation": "set", "key": mark, "value": mark}),
        ),
        ("ask", "WaitForCallback", json!({})),
    ]);
    let keeps = service.deployed(&user, &keeps).await;
    let waiting = service.started(&user, &keeps, &json!({"mark": mark})).await;
    loop {
        let found = service.get("/api/callbacks").bearer(&user.token).send().await;
        if found.text.contains(&waiting) {
            break;
        }
        tokio::task::yield_now().await;
    }
    let file = service
        .post(&format!("/api/files?name={mark}"))
        .bearer(&user.token);
    assert_eq!(file.body(mark.to_owned()).send().await.status, 201);
    let doubles = service.deployed(&user, &doubling()).await;
    service.ran(&user, &doubles, &json!({"mark": mark})).await;
    let clock = chain(&[
        ("clock", "OnSchedule", json!({"cron": "0 9 * * *"})),
        ("note", "Log", json!({"message": mark})),
    ]);
    service.deployed(&user, &clock).await;
    let told = json!({"connection": mark, "owner": "acme", "repository": "shop"});
    let told = chain(&[
        (mark, "OnGitHubEvent", told),
        ("note", "Log", json!({"message": mark})),
    ]);
    service.deployed(&user, &told).await;
    // SQLite has its graph in pieces.
    let large = json!({"nodes": [], "edges": [], "note": mark.repeat(30_000)});
    service.drawn(&user, &large).await;
    let hook = Hook::saved_by(service, user, graph(json!({}), &[returns(mark)])).await;
    hook.deploy().await;
    let sent = hook.signed(&json!({"mark": mark}).to_string());
    assert_eq!(sent.header("x-idempotency-key", mark).send().await.status, 202);
    service.app.webhooks.journal.flush().await;
    let files = sqlite_dir.join(&workspace);
    std::fs::create_dir_all(files.join("deep")).unwrap();
    std::fs::write(files.join("deep").join("file"), mark).unwrap();
    let hashes = "select distinct artifact from deployments where workspace_id = ?";
    let mut reader = service.app.store.reader().await.unwrap();
    let hashes: Vec<(String,)> = reader.db().all(sql(hashes).bind(&workspace)).await.unwrap();
    hashes.into_iter().map(|(hash,)| hash).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_left_of_a_deleted_workspace() {
    for database in BOTH {
        let files = tempfile::tempdir().unwrap();
        let sqlite_dir = files.path().to_owned();
        let service = Service::with(database, |config| {
            operated(config);
            config.sqlite_dir = Some(sqlite_dir.clone());
        });
        let service = service.await;
        let (ann, bob) = (service.user("ann").await, service.user("bob").await);
        let (anns, bobs) = (service.workspace_of(&ann).await, service.workspace_of(&bob).await);
        let (mark, other) = ("mark-of-the-one", "mark-of-the-other");
        let hashes = filled(&service, ann.clone(), mark, &sqlite_dir).await;
        filled(&service, bob.clone(), other, &sqlite_dir).await;
        let kept = (
            places(&service, other).await,
            places(&service, &bobs.to_string()).await,
        );
        assert!(places(&service, mark).await.len() > 12);

        let path = format!("/workspaces/{anns}");
        ask(&service, "DELETE", &path).send().await.data(200);
        assert_eq!(places(&service, mark).await, BTreeMap::new());
        // That it was there is told in the log of who owned it.
        let left = places(&service, &anns.to_string()).await;
        assert_eq!(left, BTreeMap::from([("audit_entries.object_id".to_owned(), 1)]));
        let now = (
            places(&service, other).await,
            places(&service, &bobs.to_string()).await,
        );
        assert_eq!(now, kept);
        assert!(!sqlite_dir.join(anns.to_string()).exists());
        assert!(
            sqlite_dir
                .join(bobs.to_string())
                .join("deep")
                .join("file")
                .exists()
        );
        let shared = "select count(*) from artifacts where hash = ?";
        for cached in std::fs::read_dir(&service.app.config.cache_dir).unwrap() {
            let name = cached.unwrap().file_name().into_string().unwrap();
            for hash in hashes.iter().filter(|hash| name.starts_with(hash.as_str())) {
                // The other one has the same module.
                assert_eq!(number(&service, shared.to_owned(), hash).await, 1, "{name}");
            }
        }
        ask(&service, "DELETE", &path)
            .send()
            .await
            .assert_refused(404, "WORKSPACE_NOT_FOUND");
        let account = service
            .get("/api/audit?of=account")
            .bearer(&bob.token)
            .send()
            .await;
        assert_eq!(account.status, 200, "{account}");
    }
}
