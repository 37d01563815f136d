//! Attempts and journals: what an attempt has completed is not done again, and of runs that have ended nothing is kept but for replays.

use super::waits::parked;
use crate::harness::{Database, Service, chain, doubling};
use axum::Router;
use axum::extract::Path;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::get;
use heddle_runtime::EgressPolicy;
use heddle_store::{StoreError, sql};
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// Entries and signals in the database, but for the journals that are kept for replays.
pub async fn kept(service: &Service) -> i64 {
    let query = "select (select count(*) from journal_entries j where not exists
         (select 1 from run_journals k where k.run_id = j.run_id)) + (select count(*) from signals)";
    let found: Result<(i64,), StoreError> = service
        .app
        .store
        .reader()
        .await
        .unwrap()
        .db()
        .one(sql(query))
        .await;
    found.unwrap().0
}

/// Requests by path, with their keys.
type Asked = Arc<Mutex<BTreeMap<String, Vec<String>>>>;

/// A server that fails the first two requests for `/flaky`.
async fn server() -> (String, Asked) {
    let asked = Asked::default();
    let seen = asked.clone();
    let answer = move |Path(path): Path<String>, headers: HeaderMap| async move {
        let key = headers["idempotency-key"].to_str().unwrap().to_owned();
        let mut seen = seen.lock().unwrap();
        let keys = seen.entry(path.clone()).or_default();
        keys.push(key);
        match path == "flaky" && keys.len() < 3 {
            true => (StatusCode::BAD_GATEWAY, "no"),
            false => (StatusCode::OK, "yes"),
        }
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, Router::new().route("/{path}", get(answer))).await });
    (format!("http://{address}"), asked)
}

async fn attempts(database: Database) {
    let (url, asked) = server().await;
    let service = Service::with(database, |config| {
        config.egress = EgressPolicy::parse(["127.0.0.0/8"]).unwrap();
    })
    .await;
    let ann = service.user("ann").await;
    let mut graph = chain(&[
        ("start", "OnManual", json!({})),
        (
            "one",
            "HttpRequest",
            json!({"url": format!("{url}/steady"), "bodyOnly": true}),
        ),
        (
            "two",
            "HttpRequest",
            json!({"url": format!("{url}/flaky"), "bodyOnly": true}),
        ),
        (
            "end",
            "Return",
            json!({"value": "{{ [$nodes.one, $nodes.two, $run.attempt] }}"}),
        ),
    ]);
    graph["settings"] = json!({"retry": {"maxAttempts": 5, "backoffMs": 1, "factor": 1}});
    let id = service.deployed(&ann, &graph).await;
    let run = service.ran(&ann, &id, &json!({})).await;
    let ended = service.run(&ann, &id, &run).await;
    assert_eq!(ended["output"], json!(["yes", "yes", 3]), "{ended}");
    let asked = asked.lock().unwrap().clone();
    assert_eq!((asked["steady"].len(), asked["flaky"].len()), (1, 3), "{asked:?}");
    assert!(
        asked["flaky"].iter().all(|key| *key == asked["flaky"][0]),
        "the key stays: {asked:?}"
    );
    assert_eq!(kept(&service).await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_attempt_repeats_only_what_has_failed_on_sqlite() {
    attempts(Database::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_attempt_repeats_only_what_has_failed_on_postgres() {
    attempts(Database::Postgres).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_further_attempt_calls_again_what_has_failed() {
    let (url, asked) = server().await;
    let service = Service::with(Database::Sqlite, |config| {
        config.egress = EgressPolicy::parse(["127.0.0.0/8"]).unwrap();
    })
    .await;
    service.app.executions.start().await.unwrap();
    let ann = service.user("ann").await;
    let flaky = json!({"url": format!("{url}/flaky"), "bodyOnly": true});
    let callee = chain(&[
        ("on", "OnCall", json!({})),
        ("ask", "HttpRequest", flaky),
        ("end", "Return", json!({})),
    ]);
    let callee = service.drawn(&ann, &callee).await;
    service.deploy(&ann, &callee).await;
    let mut graph = chain(&[
        ("start", "OnManual", json!({})),
        ("call", "CallPattern", json!({"patternId": callee})),
        ("end", "Return", json!({"value": "{{ [$input, $run.attempt] }}"})),
    ]);
    graph["settings"] = json!({"retry": {"maxAttempts": 5, "backoffMs": 1, "factor": 1}});
    let id = service.deployed(&ann, &graph).await;
    let run = service.ran(&ann, &id, &json!({})).await;
    let ended = service.run(&ann, &id, &run).await;
    assert_eq!(ended["output"], json!(["yes", 3]), "{ended}");
    assert_eq!(asked.lock().unwrap()["flaky"].len(), 3);
    assert_eq!(kept(&service).await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn patterns_without_effects_leave_no_entries_and_waiting_ones_few() {
    let service = Service::start(Database::Sqlite).await;
    service.app.executions.start().await.unwrap();
    let ann = service.user("ann").await;
    let id = service.deployed(&ann, &doubling()).await;
    service.ran(&ann, &id, &json!({"n": 2})).await;
    assert_eq!(kept(&service).await, 0);
    let graph = chain(&[
        ("start", "OnManual", json!({})),
        ("wait", "Wait", json!({"durationMs": 100_000})),
        ("end", "Return", json!({})),
    ]);
    let waiting = service.deployed(&ann, &graph).await;
    let run = service.started(&ann, &waiting, &json!({})).await;
    parked(&service, &ann, &waiting, &run).await;
    assert_eq!(kept(&service).await, 2, "when it began, and until when it waits");
    service.app.clock.advance(super::waits::HOUR);
    service.ended(&ann, &waiting, &run).await;
    assert_eq!(kept(&service).await, 0);
}
