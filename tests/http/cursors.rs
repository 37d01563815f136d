//! Lists go on by cursor, all in one way: also those that have pages or offsets from before, for whoever asks.

use crate::document::operations;
use crate::harness::{Reply, Service, User, chain, doubling, each_database};
use crate::webhooks::fixture::{Hook, graph};
use heddle_api::http::routes::document;
use serde_json::{Value, json};
use std::time::Duration;

/// Lists that come whole, with what bounds them.
const WHOLE: &[(&str, &str)] = &[
    ("/api/auth/api-keys", "a quota"),
    ("/api/auth/invitations", "a quota"),
    ("/api/sessions", "a user has at most 50"),
    ("/api/workspaces", "a quota"),
    ("/api/workspaces/{id}/members", "a quota"),
    ("/api/workspaces/{id}/invitations", "a quota"),
    ("/api/workspaces/{id}/invitation-links", "a quota"),
    ("/api/workspaces/{id}/environments", "a quota"),
    ("/api/workspaces/{id}/environments/{envId}/secrets", "a quota"),
    ("/api/workspaces/{id}/quotas", "there are so many kinds"),
    ("/operator/workspaces/{id}/quotas", "there are so many kinds"),
    ("/api/connections", "a quota"),
    ("/api/connections/kinds", "there are so many kinds"),
    ("/api/connections/{id}/fields", "a connection's fields"),
    ("/api/connections/{id}/uses", "the workspace's patterns"),
    (
        "/api/patterns/{id}/versions",
        "the contract has a bare list; a quota",
    ),
    ("/api/patterns/{id}/deployments", "one for each environment"),
    ("/api/patterns/{id}/tests", "a pattern has at most 100"),
    ("/api/patterns/{id}/webhooks", "a pattern's nodes"),
    ("/api/patterns/{id}/tap-events", "an endpoint has at most 20"),
    ("/api/deployments/{id}/webhook", "a pattern's nodes"),
    ("/api/deployments/{id}/schedules", "a pattern's nodes"),
    ("/api/deployments/{id}/subscriptions", "a pattern's nodes"),
    (
        "/api/deployments/{id}/runs/{runId}/files",
        "a run has at most 1,000",
    ),
    ("/api/schedules", "what is due next, as many as are asked for"),
    ("/api/nodes", "there are so many types"),
    ("/api/expressions", "there are so many names"),
    ("/api/figures", "a period's"),
    ("/api/auth/providers", "the settings"),
];

/// Whether an answer has a list at its top, as far as its schema tells.
fn is_list(document: &Value, schema: &Value, depth: u8) -> bool {
    let schema = match schema["$ref"].as_str() {
        Some(reference) => &document["components"]["schemas"][reference.rsplit('/').next().unwrap()],
        None => schema,
    };
    let is_array = |kind: &Value| {
        *kind == "array"
            || kind
                .as_array()
                .is_some_and(|kinds| kinds.contains(&json!("array")))
    };
    if is_array(&schema["type"]) {
        return true;
    }
    let properties = schema["properties"].as_object().into_iter().flatten();
    depth > 0
        && properties
            .into_iter()
            .any(|(_, schema)| is_list(document, schema, depth - 1))
}

#[test]
fn every_list_goes_on_by_cursor_or_is_bounded() {
    let document = document();
    let mut whole: Vec<&str> = WHOLE.iter().map(|(path, _)| *path).collect();
    for operation in operations(&document) {
        if operation.method != "GET"
            || !operation.told["operationId"]
                .as_str()
                .unwrap()
                .starts_with("list_")
        {
            continue;
        }
        let answer = &operation.told["responses"]["200"]["content"]["application/json"]["schema"];
        assert!(
            answer.is_null() || is_list(&document, answer, 2),
            "{operation} lists nothing"
        );
        let parameters = operation.told["parameters"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let has_cursor = parameters.iter().any(|parameter| parameter["name"] == "cursor");
        let is_whole = WHOLE.iter().any(|(path, _)| *path == operation.path);
        assert!(
            has_cursor != is_whole,
            "{operation}: a list has a cursor, or stands in WHOLE with what bounds it; has a cursor: {has_cursor}"
        );
        whole.retain(|path| *path != operation.path);
    }
    // Those have no operation id that begins with list_.
    whole.retain(|path| !document["paths"][*path]["get"].is_object());
    assert!(whole.is_empty(), "no such paths: {whole:?}");
}

async fn listed(service: &Service, by: &User, path: &str) -> Reply {
    service.get(path).bearer(&by.token).send().await
}

/// The elements of all pages, read by cursor.
async fn all(service: &Service, by: &User, path: &str, list: &str) -> Vec<Value> {
    let (mut all, mut cursor) = (Vec::new(), String::new());
    for _ in 0..20 {
        let page = listed(service, by, &format!("{path}limit=2&cursor={cursor}")).await;
        assert_eq!(page.status, 200, "{page}");
        let elements = page.body[list].as_array().unwrap();
        assert!(elements.len() <= 2, "{page}");
        all.extend(elements.iter().map(|element| element["id"].clone()));
        match &page.body["meta"]["nextCursor"] {
            Value::String(next) => cursor.clone_from(next),
            Value::Null => return all,
            other => panic!("{path}: {other}"),
        }
    }
    panic!("{path} never ends");
}

/// The elements as they come without a cursor.
async fn at_once(service: &Service, by: &User, path: &str, list: &str) -> Vec<Value> {
    let page = listed(service, by, &format!("{path}limit=100")).await;
    assert!(page.body["meta"].get("nextCursor").is_none(), "{page}");
    page.body[list]
        .as_array()
        .unwrap()
        .iter()
        .map(|element| element["id"].clone())
        .collect()
}

async fn assert_goes_on(service: &Service, by: &User, path: &str, list: &str, elements: usize) {
    let expected = at_once(service, by, path, list).await;
    assert_eq!(expected.len(), elements, "{path}");
    assert_eq!(all(service, by, path, list).await, expected, "{path}");
    let other = if path.starts_with("/api/patterns?") {
        "offset"
    } else {
        "page"
    };
    for (query, field) in [
        (format!("{other}=1&cursor="), other),
        ("cursor=nonsense".to_owned(), "cursor"),
        ("cursor=1.x".to_owned(), "cursor"),
    ] {
        let refused = listed(service, by, &format!("{path}{query}")).await;
        assert_eq!(refused.wrong_fields(), [field], "{path}{query}");
    }
}

each_database! {
    async fn older_lists_go_on_by_cursor_for_whoever_asks(service: Service) {
        let ann = service.user("ann").await;
        let mut patterns = Vec::new();
        for name in ["b", "B", "ä", "a", "C"] {
            let made = service.post("/api/patterns").bearer(&ann.token);
            let made = made.json(&json!({"name": name})).send().await;
            patterns.push(made.body["id"].as_str().unwrap().to_owned());
            service.redrawn(&ann, patterns.last().unwrap(), &doubling()).await;
            service.deploy(&ann, patterns.last().unwrap()).await;
            service.app.clock.advance(Duration::from_secs(1));
        }
        // In an order of its own, two of them at the same time.
        for pattern in [&patterns[2], &patterns[0]] {
            service.redrawn(&ann, pattern, &doubling()).await;
        }
        for sort in ["", "sortBy=name&", "sortBy=name&sortOrder=desc&", "sortBy=createdAt&sortOrder=asc&", "sortBy=updatedAt&"] {
            for owner in ["", "owner=workspace&"] {
                assert_goes_on(&service, &ann, &format!("/api/patterns?{sort}{owner}"), "data", 5).await;
            }
        }
        assert_goes_on(&service, &ann, "/api/deployments?", "data", 5).await;
        // A cursor is of one order.
        let page = listed(&service, &ann, "/api/patterns?sortBy=name&limit=2&cursor=").await;
        let cursor = page.body["meta"]["nextCursor"].as_str().unwrap();
        let refused = listed(&service, &ann, &format!("/api/patterns?cursor={cursor}")).await;
        assert_eq!(refused.wrong_fields(), ["cursor"]);
    }

    async fn runs_of_a_deployment_go_on_whatever_has_come_since(service: Service) {
        let ann = service.user("ann").await;
        let graph = chain(&[("start", "OnManual", json!({})), ("end", "Return", json!({}))]);
        let deployment = service.deployed(&ann, &graph).await;
        for number in 0..5 {
            service.ran(&ann, &deployment, &json!({"number": number})).await;
            service.app.clock.advance(Duration::from_secs(1));
        }
        let path = format!("/api/deployments/{deployment}/runs?");
        assert_goes_on(&service, &ann, &path, "data", 5).await;
        let expected = at_once(&service, &ann, &path, "data").await;
        let first = listed(&service, &ann, &format!("{path}limit=2&cursor=")).await;
        service.ran(&ann, &deployment, &json!({})).await;
        let cursor = first.body["meta"]["nextCursor"].as_str().unwrap();
        let second = listed(&service, &ann, &format!("{path}limit=2&cursor={cursor}")).await;
        let ids: Vec<&Value> = second.body["data"].as_array().unwrap().iter().map(|run| &run["id"]).collect();
        assert_eq!(ids, [&expected[2], &expected[3]]);
        // The first of these times counts, the last does not.
        let query = "from=2026-11-21T09:00:01Z&to=2026-11-21T09:00:03Z&";
        assert_eq!(at_once(&service, &ann, &format!("{path}{query}"), "data").await, expected[2..4]);
        assert_eq!(listed(&service, &ann, &format!("{path}from=x")).await.wrong_fields(), ["from"]);
    }

    async fn logs_of_webhooks_go_on_by_cursor(service: Service) {
        let ann = service.user("ann").await;
        let hook = Hook::saved_by(&service, ann.clone(), graph(json!({}), &[])).await;
        let (pattern, webhook) = (&hook.pattern, &hook.webhook);
        for _ in 0..5 {
            service.post(&format!("/webhooks/{webhook}")).json(&json!({})).send().await;
            service.app.clock.advance(Duration::from_secs(1));
        }
        for path in [format!("/api/patterns/{pattern}/webhook-logs?"), "/api/triggers/webhook-logs?".to_owned()] {
            assert_goes_on(&service, &ann, &path, "logs", 5).await;
            let lines = at_once(&service, &ann, &path, "logs").await;
            let query = "from=2026-11-21T09:00:01Z&to=2026-11-21T09:00:03Z&";
            assert_eq!(at_once(&service, &ann, &format!("{path}{query}"), "logs").await, lines[2..4]);
        }
    }

    async fn an_empty_cursor_is_the_beginning_of_every_list(service: Service) {
        let ann = service.user("ann").await;
        let workspace = service.workspace_of(&ann).await;
        for path in [
            "/api/runs".to_owned(), "/api/files".to_owned(), "/api/callbacks".to_owned(), "/api/audit".to_owned(),
            format!("/api/workspaces/{workspace}/usage"), format!("/api/workspaces/{workspace}/key-values"),
        ] {
            let page = listed(&service, &ann, &format!("{path}?cursor=")).await;
            assert_eq!(page.status, 200, "{path}: {page}");
            assert_eq!(page.body["meta"]["nextCursor"], Value::Null, "{path}");
        }
    }
}
