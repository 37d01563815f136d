//! Another version with the events of what is deployed: exactly those are told that it treats differently, and nothing leaves.

use super::{asking, untraced};
use crate::harness::{Database, Reply, Service, User};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

/// How many events there are; `HEDDLE_TEST_EVENTS` says another number.
fn events() -> usize {
    let wanted = std::env::var("HEDDLE_TEST_EVENTS").ok();
    wanted.map_or(60, |wanted| wanted.parse().unwrap())
}

/// Asks for each event, and multiplies one of ten by a factor.
fn graph(url: &str, factor: u32) -> Value {
    json!({
        "nodes": [
            {"id": "start", "type": "OnManual"},
            {"id": "ask", "type": "HttpRequest", "data": {"parameters": {"url": format!("{url}/{{{{ $input.n }}}}"), "bodyOnly": true}}},
            {"id": "check", "type": "If", "data": {"parameters": {"condition": "{{ $trigger.n % 10 === 3 }}"}}},
            {"id": "raise", "type": "Transform", "data": {"parameters": {"value": format!("{{{{ {{ n: $trigger.n * {factor}, answer: $nodes.ask }} }}}}")}}},
            {"id": "keep", "type": "Transform", "data": {"parameters": {"value": "{{ $nodes.ask }}"}}},
            {"id": "raised", "type": "Return", "data": {"parameters": {"value": "{{ $input }}"}}},
            {"id": "kept", "type": "Return", "data": {"parameters": {"value": "{{ $input }}"}}},
        ],
        "edges": [
            {"source": "start", "target": "ask"},
            {"source": "ask", "target": "check"},
            {"source": "check", "sourceHandle": "true", "target": "raise"},
            {"source": "check", "sourceHandle": "false", "target": "keep"},
            {"source": "raise", "target": "raised"},
            {"source": "keep", "target": "kept"},
        ],
    })
}

async fn replayed(service: &Service, user: &User, pattern: &str, body: Value) -> Reply {
    let path = format!("/api/patterns/{pattern}/replay");
    service.post(&path).bearer(&user.token).json(&body).send().await
}

async fn deployed(service: &Service, user: &User, pattern: &str, more: Value) -> Reply {
    let mut body = json!({"nodeDefinitions": {}, "requireReplay": true});
    body.as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    let path = format!("/api/patterns/{pattern}/deploy");
    service.post(&path).bearer(&user.token).json(&body).send().await
}

fn counts(report: &Value) -> [u64; 4] {
    ["same", "different", "unanswered", "skipped"].map(|name| report[name].as_u64().unwrap())
}

async fn exactly_the_events_concerned_are_found(database: Database) {
    let (service, url, asked) = asking(database).await;
    let ann = service.user("ann").await;
    let pattern = service.drawn(&ann, &graph(&url, 2)).await;
    let id = untraced(&service, &ann, &pattern, json!({})).await;
    let all = events();
    let mut concerned = BTreeSet::new();
    for n in 0..all {
        let run = service.ran(&ann, &id, &json!({"n": n})).await;
        if n % 10 == 3 {
            concerned.insert(run);
        }
    }
    let sent = asked.load(Ordering::SeqCst);
    assert_eq!(sent, all);
    service.redrawn(&ann, &pattern, &graph(&url, 3)).await;

    // A page after the other, as whoever has many events does.
    let mut told = Vec::new();
    let mut sums = [0; 4];
    let mut cursor = Value::Null;
    loop {
        let reply = replayed(&service, &ann, &pattern, json!({"limit": 25, "cursor": cursor})).await;
        assert_eq!(reply.status, 200, "{reply}");
        let report = &reply.body;
        assert_eq!(
            (&report["deploymentId"], &report["deployedVersionNumber"]),
            (&json!(id), &json!(2)),
            "{reply}"
        );
        assert_eq!(report["versionNumber"], 3, "{reply}");
        assert_eq!(report["rightsAdded"]["hosts"], json!([]), "{reply}");
        for (sum, count) in sums.iter_mut().zip(counts(report)) {
            *sum += count;
        }
        assert!(report["before"]["fuelUsed"].as_u64().unwrap() > 0, "{reply}");
        told.extend(report["runs"].as_array().unwrap().iter().cloned());
        cursor = report["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    let differing = concerned.len() as u64;
    assert_eq!(sums, [all as u64 - differing, differing, 0, 0]);
    let found: BTreeSet<String> = told
        .iter()
        .map(|run| run["runId"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(found, concerned);
    let oldest = told.last().unwrap();
    assert_eq!(
        (&oldest["status"], &oldest["differences"]),
        (
            &json!("different"),
            &json!([{"path": "output.n", "kind": "changed", "expected": 6, "actual": 9}])
        ),
        "{oldest}"
    );
    assert_eq!(
        (&oldest["nodes"][0]["nodeId"], &oldest["nodes"][0]["differences"]),
        (&json!("raise"), &oldest["differences"]),
        "{oldest}"
    );

    // What changes a request can't be answered.
    let other = graph(&format!("{url}/v2"), 2);
    let reply = replayed(&service, &ann, &pattern, json!({"graphData": other, "limit": 2})).await;
    assert_eq!(counts(&reply.body), [0, 0, 2, 0], "{reply}");
    assert_eq!(reply.body["versionNumber"], Value::Null, "{reply}");
    assert_eq!(
        (
            &reply.body["runs"][0]["unanswered"],
            &reply.body["runs"][0]["after"]["error"]["code"]
        ),
        (
            &json!([{"nodeId": "ask", "kind": "http", "reason": "changed"}]),
            &json!("NOT_RECORDED")
        ),
        "{reply}"
    );
    let listed = service
        .get(&format!("/api/deployments/{id}/runs"))
        .bearer(&ann.token)
        .send()
        .await;
    assert_eq!(listed.body["meta"]["total"], all, "{listed}");
    gate(&service, &ann, &pattern).await;
    assert_eq!(asked.load(Ordering::SeqCst), sent, "a request left");
}

/// The version is refused until somebody has said that its differences are wanted, which the audit log tells.
async fn gate(service: &Service, user: &User, pattern: &str) {
    let refused = deployed(service, user, pattern, json!({})).await;
    refused.assert_refused(409, "REPLAY_DIFFERS");
    let details = refused.body["error"]["details"].as_array().unwrap();
    assert_eq!(
        details.last().unwrap()["message"],
        "the node `raise` differs, first at output.n",
        "{refused}"
    );
    let wanted = deployed(service, user, pattern, json!({"acknowledgeDifferences": true})).await;
    assert_eq!(wanted.data(200)["versionNumber"], 3);
    let log = service.get("/api/audit?limit=1").bearer(&user.token).send().await;
    let newest = &log.body["data"][0];
    assert_eq!(newest["action"], "pattern.deployed", "{log}");
    assert_eq!(
        newest["details"]["acknowledgedDifferences"].as_u64().unwrap() as usize,
        details.len(),
        "{log}"
    );
    // What is deployed now has no runs yet, so the same version again is not refused.
    let again = deployed(service, user, pattern, json!({})).await;
    assert_eq!(again.data(200)["versionNumber"], 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn exactly_the_events_concerned_are_found_on_sqlite() {
    exactly_the_events_concerned_are_found(Database::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn exactly_the_events_concerned_are_found_on_postgres() {
    exactly_the_events_concerned_are_found(Database::Postgres).await;
}
