//! Drafts: what a user has drawn and not saved yet.

use super::{get, node, pattern, save};
use crate::harness::{Database, Reply, Service, User, each_database};
use heddle_model::access::WorkspaceRole;
use heddle_model::quota::Quota;
use serde_json::{Value, json};

const NOW: &str = super::NOW;

fn drawn(id: &str) -> Value {
    json!({"nodes": [node(id)], "edges": []})
}

async fn put(service: &Service, user: &User, path: &str, body: Value) -> Reply {
    service.put(path).bearer(&user.token).json(&body).send().await
}

async fn versions(service: &Service, user: &User, id: &str) -> usize {
    let listed = get(service, user, &format!("/api/patterns/{id}/versions")).await;
    listed.body.as_array().unwrap().len()
}

each_database! {
    async fn a_draft_is_kept_beside_the_versions(service: Service) {
        let ann = service.user("ann").await;
        let id = pattern(&service, &ann, json!({"name": "Orders"})).await;
        let path = format!("/api/patterns/{id}/draft");
        get(&service, &ann, &path).await.assert_refused(404, "NOT_FOUND");
        let optional = format!("{path}?optional=true");
        assert_eq!(get(&service, &ann, &optional).await.status, 204);
        let definitions = json!({"Own": {"kind": "javascript", "code": "unfinished"}});
        let body = json!({"baseVersion": 1, "graphData": drawn("a"), "nodeDefinitions": definitions});
        let stored = put(&service, &ann, &path, body).await;
        assert_eq!((stored.status, &stored.body), (200, &json!({"baseVersion": 1, "updatedAt": NOW})), "{stored}");
        let read = get(&service, &ann, &path).await;
        assert_eq!(read.body, json!({
            "baseVersion": 1, "updatedAt": NOW, "graphData": drawn("a"), "nodeDefinitions": definitions,
        }));
        assert_eq!(read.headers["etag"], stored.headers["etag"]);
        assert_eq!(get(&service, &ann, &optional).await.body, read.body);
        put(&service, &ann, &path, json!({"baseVersion": 1, "graphData": drawn("b")})).await;
        let read = get(&service, &ann, &path).await;
        assert_eq!((&read.body["graphData"], &read.body["nodeDefinitions"]), (&drawn("b"), &json!({})));
        assert_eq!(versions(&service, &ann, &id).await, 1);
        assert_eq!(service.delete(&path).bearer(&ann.token).send().await.status, 204);
        service.delete(&path).bearer(&ann.token).send().await.assert_refused(404, "NOT_FOUND");
    }

    async fn a_draft_ends_when_its_user_saves(service: Service) {
        let ann = service.user("ann").await;
        let bob = service.member(&ann, "bob", WorkspaceRole::Editor).await;
        let id = pattern(&service, &ann, json!({"name": "Orders"})).await;
        let path = format!("/api/patterns/{id}/draft");
        for (user, name) in [(&ann, "a"), (&bob, "b")] {
            let stored = put(&service, user, &path, json!({"baseVersion": 1, "graphData": drawn(name)})).await;
            assert_eq!(stored.status, 200, "{stored}");
        }
        // A new name is no version of what was drawn.
        save(&service, &ann, &id, json!({"name": "Bills"})).await;
        assert_eq!(get(&service, &ann, &path).await.body["graphData"], drawn("a"));
        save(&service, &ann, &id, json!({"graphData": drawn("a")})).await;
        get(&service, &ann, &path).await.assert_refused(404, "NOT_FOUND");
        assert_eq!(get(&service, &bob, &path).await.body["graphData"], drawn("b"), "somebody else's stays");
        save(&service, &bob, &id, json!({"nodeDefinitions": {}})).await;
        get(&service, &bob, &path).await.assert_refused(404, "NOT_FOUND");
    }

    async fn a_draft_is_not_overwritten_unseen(service: Service) {
        let ann = service.user("ann").await;
        let id = pattern(&service, &ann, json!({"name": "Orders"})).await;
        let path = format!("/api/patterns/{id}/draft");
        let body = |name: &str| json!({"baseVersion": 1, "graphData": drawn(name)});
        let alone = async |name: &str| {
            let request = service.put(&path).bearer(&ann.token).header("if-none-match", "*").json(&body(name));
            request.send().await
        };
        let first = alone("a").await.headers["etag"].to_str().unwrap().to_owned();
        alone("z").await.assert_refused(409, "CONFLICT");
        assert_eq!(get(&service, &ann, &path).await.body["graphData"], drawn("a"));
        let second = put(&service, &ann, &path, body("b")).await.headers["etag"].to_str().unwrap().to_owned();
        let with = async |tag: &str, name: &str| {
            let request = service.put(&path).bearer(&ann.token).header("if-match", tag).json(&body(name));
            request.send().await
        };
        with(&first, "c").await.assert_refused(409, "CONFLICT");
        assert_eq!(get(&service, &ann, &path).await.body["graphData"], drawn("b"));
        assert_eq!(with(&second, "c").await.status, 200);
        service.delete(&path).bearer(&ann.token).send().await;
        with(&second, "d").await.assert_refused(409, "CONFLICT");
        assert_eq!(with("*", "d").await.status, 200);
    }

    async fn only_who_may_change_a_pattern_drafts_it(service: Service) {
        let ann = service.user("ann").await;
        let (eve, vic) = (service.user("eve").await, service.member(&ann, "vic", WorkspaceRole::Viewer).await);
        let id = pattern(&service, &ann, json!({"name": "Orders", "isPublic": true})).await;
        let path = format!("/api/patterns/{id}/draft");
        let body = json!({"baseVersion": 1, "graphData": drawn("a")});
        put(&service, &ann, &path, body.clone()).await;
        for user in [&eve, &vic] {
            put(&service, user, &path, body.clone()).await.assert_refused(403, "FORBIDDEN");
            get(&service, user, &path).await.assert_refused(404, "NOT_FOUND");
        }
        for (wrong, field) in [
            (json!({"graphData": drawn("a")}), "baseVersion"),
            (json!({"baseVersion": 2, "graphData": drawn("a")}), "baseVersion"),
            (json!({"baseVersion": 0, "graphData": drawn("a")}), "baseVersion"),
            (json!({"baseVersion": 1}), "graphData"),
            (json!({"baseVersion": 1, "graphData": 1}), "graphData"),
            (json!({"baseVersion": 1, "graphData": drawn("a"), "nodeDefinitions": []}), "nodeDefinitions"),
        ] {
            let refused = put(&service, &ann, &path, wrong).await;
            refused.assert_refused(400, "VALIDATION");
            assert_eq!(refused.body["error"]["details"][0]["path"], field, "{refused}");
        }
    }
}

async fn counted(database: Database) {
    let service = Service::with(database, |config| config.quotas.set(Quota::PatternBytes, 10_000)).await;
    let ann = service.user("ann").await;
    let id = pattern(&service, &ann, json!({"name": "Orders"})).await;
    let path = format!("/api/patterns/{id}/draft");
    let body = |bytes: usize| json!({"baseVersion": 1, "graphData": {"nodes": [], "edges": [], "note": "x".repeat(bytes)}});
    put(&service, &ann, &path, body(20_000))
        .await
        .assert_refused(403, "QUOTA_EXCEEDED");
    // One takes the place of the other.
    for _ in 0..3 {
        assert_eq!(put(&service, &ann, &path, body(8_000)).await.status, 200);
    }
    let saved = put(
        &service,
        &ann,
        &format!("/api/patterns/{id}"),
        json!({"description": "x".repeat(3_000), "summary": "y"}),
    )
    .await;
    assert_eq!(saved.status, 200, "{saved}");
    let other = pattern(&service, &ann, json!({"name": "Other"})).await;
    let other = format!("/api/patterns/{other}/draft");
    put(&service, &ann, &other, body(8_000))
        .await
        .assert_refused(403, "QUOTA_EXCEEDED");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn drafts_count_towards_the_quota() {
    counted(Database::Sqlite).await;
    counted(Database::Postgres).await;
}
