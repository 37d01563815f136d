//! Replays of runs that have ended: what is shown of them, and that nothing leaves.

mod against;
mod kept;
mod refused;

use crate::flow::waits::{HOUR, parked};
use crate::harness::{Database, Reply, Service, User, chain, doubling, each_database};
use crate::runs::tails::events;
use axum::Router;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::routing::any;
use heddle_runtime::EgressPolicy;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Deploys a pattern without traces; the deployment's id.
pub async fn untraced(service: &Service, user: &User, pattern: &str, more: Value) -> String {
    let mut body = json!({"nodeDefinitions": {}});
    body.as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    let path = format!("/api/patterns/{pattern}/deploy");
    let deployed = service.post(&path).bearer(&user.token).json(&body).send().await;
    deployed.data(200)["deploymentId"].as_str().unwrap().to_owned()
}

/// The same of a new pattern.
pub async fn deployed(service: &Service, user: &User, graph: &Value) -> String {
    let pattern = service.drawn(user, graph).await;
    untraced(service, user, &pattern, json!({})).await
}

/// A replay's answer.
pub async fn replayed(service: &Service, user: &User, deployment: &str, run: &str) -> Reply {
    service
        .operate(user, deployment, &format!("runs/{run}/trace"))
        .await
}

/// The events of a replay, and the last one, after a stream was answered.
pub async fn told(service: &Service, user: &User, deployment: &str, run: &str) -> (Vec<Value>, Value) {
    let reply = replayed(service, user, deployment, run).await;
    assert_eq!(
        (reply.status, reply.headers["content-type"].to_str().unwrap()),
        (200, "text/event-stream"),
        "{reply}"
    );
    let events = events(&reply.text);
    let path = "/api/deployments/{id}/runs/{runId}/trace";
    service.assert_events_described("post", path, &events).await;
    let mut events: Vec<Value> = events.into_iter().map(|(_, data)| data).collect();
    let end = events.pop().unwrap();
    assert_eq!(end["type"], "end", "{reply}");
    (events, end)
}

/// Nodes by their order in the trace of a replay.
pub fn order(end: &Value) -> Vec<&str> {
    let trace = end["result"]["trace"].as_array().unwrap();
    trace
        .iter()
        .map(|entry| entry["nodeId"].as_str().unwrap())
        .collect()
}

/// In the answer at `/large`, of two bytes each: what is packed elsewhere before it is stored.
const LARGE_WORDS: usize = 100_000;

/// A service whose patterns may ask a server here, that server's URL, and how often it was asked. It fails at `/bad`.
pub async fn asking(database: Database) -> (Service, String, Arc<AtomicUsize>) {
    let asked = Arc::<AtomicUsize>::default();
    let counted = asked.clone();
    let answer = move |Path(path): Path<String>| async move {
        let number = counted.fetch_add(1, Ordering::SeqCst) + 1;
        match path.as_str() {
            "bad" => (StatusCode::BAD_GATEWAY, "no".to_owned()),
            "large" => (StatusCode::OK, format!("{number} ").repeat(LARGE_WORDS)),
            _ => (StatusCode::OK, format!("{path} {number}")),
        }
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, Router::new().route("/{path}", any(answer))).await });
    let service = Service::with(database, |config| {
        config.egress = EgressPolicy::parse(["127.0.0.0/8"]).unwrap();
    })
    .await;
    (service, url, asked)
}

fn request(url: &str, path: &str) -> Value {
    json!({"url": format!("{url}/{path}"), "bodyOnly": true})
}

async fn requests_are_not_sent_again(database: Database) {
    let (service, url, asked) = asking(database).await;
    let ann = service.user("ann").await;
    let graph = chain(&[
        ("start", "OnManual", json!({})),
        ("one", "HttpRequest", request(&url, "one")),
        ("id", "Uuid", json!({})),
        ("two", "HttpRequest", request(&url, "two")),
        ("sum", "Hash", json!({"value": "{{ $nodes.one }}"})),
        (
            "end",
            "Return",
            json!({"value": "{{ [$nodes.one, $nodes.two, $nodes.id, $input, $run.startedAt, $run.id] }}"}),
        ),
    ]);
    let id = deployed(&service, &ann, &graph).await;
    let run = service.ran(&ann, &id, &json!({"n": 1})).await;
    let ended = service.run(&ann, &id, &run).await;
    assert_eq!(
        (ended["status"].as_str(), &ended["output"][1], ended.get("trace")),
        (Some("success"), &json!("two 2"), None),
        "{ended}"
    );
    service.app.clock.advance(HOUR);
    for _ in 0..2 {
        let (events, end) = told(&service, &ann, &id, &run).await;
        assert_eq!(
            (&end["replay"]["end"], &end["replay"]["variables"]),
            (&json!("same"), &json!("same")),
            "{end}"
        );
        assert_eq!(end["result"]["output"], ended["output"], "{end}");
        assert_eq!(order(&end), ["start", "one", "id", "two", "sum", "end"]);
        assert_eq!(end["result"]["trace"][1]["output"], "one 1");
        let effects: Vec<&Value> = events
            .iter()
            .filter(|event| event["type"] == "effect")
            .map(|event| &event["kind"])
            .collect();
        assert_eq!(effects, ["http", "http"]);
    }
    assert_eq!(asked.load(Ordering::SeqCst), 2);
    // It left no run of its own.
    let listed = service
        .get(&format!("/api/deployments/{id}/runs"))
        .bearer(&ann.token)
        .send()
        .await;
    assert_eq!(listed.body["meta"]["total"], 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_are_not_sent_again_on_sqlite() {
    requests_are_not_sent_again(Database::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_are_not_sent_again_on_postgres() {
    requests_are_not_sent_again(Database::Postgres).await;
}

async fn large_results_are_recorded_in_their_order(database: Database) {
    let (service, url, asked) = asking(database).await;
    let ann = service.user("ann").await;
    let post = |path: &str| json!({"url": format!("{url}/{path}"), "bodyOnly": true, "method": "POST"});
    let graph = chain(&[
        ("start", "OnManual", json!({})),
        // Stored before the run goes on.
        ("posted", "HttpRequest", post("large")),
        ("small", "HttpRequest", post("small")),
        // Stored with the run's end.
        ("read", "HttpRequest", request(&url, "large")),
        (
            "end",
            "Return",
            json!({"value": "{{ [$nodes.posted.length, $nodes.small, $nodes.read.length] }}"}),
        ),
    ]);
    let id = deployed(&service, &ann, &graph).await;
    let run = service.ran(&ann, &id, &json!({})).await;
    let ended = service.run(&ann, &id, &run).await;
    let bytes = 2 * LARGE_WORDS;
    assert_eq!(ended["output"], json!([bytes, "small 2", bytes]), "{ended}");
    let (_, end) = told(&service, &ann, &id, &run).await;
    assert_eq!(end["replay"]["end"], "same", "{end}");
    assert_eq!(end["result"]["output"], ended["output"], "{end}");
    assert_eq!(asked.load(Ordering::SeqCst), 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_results_are_recorded_in_their_order_on_sqlite() {
    large_results_are_recorded_in_their_order(Database::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_results_are_recorded_in_their_order_on_postgres() {
    large_results_are_recorded_in_their_order(Database::Postgres).await;
}

async fn failures_and_loops(database: Database) {
    let (service, url, asked) = asking(database).await;
    let ann = service.user("ann").await;
    let bad = chain(&[
        ("start", "OnManual", json!({})),
        ("steady", "HttpRequest", request(&url, "steady")),
        ("ask", "HttpRequest", request(&url, "bad")),
        ("end", "Return", json!({})),
    ]);
    let id = deployed(&service, &ann, &bad).await;
    let run = service.ran(&ann, &id, &json!({})).await;
    let failed = service.run(&ann, &id, &run).await;
    assert_eq!(
        (&failed["status"], &failed["error"]["nodeId"]),
        (&json!("failure"), &json!("ask")),
        "{failed}"
    );
    let (_, end) = told(&service, &ann, &id, &run).await;
    assert_eq!(
        (&end["replay"]["end"], &end["result"]["error"]["code"]),
        (&json!("same"), &failed["error"]["code"]),
        "{end}"
    );
    assert_eq!(
        end["result"]["trace"][2]["error"]["code"], failed["error"]["code"],
        "{end}"
    );
    let looped = json!({
        "nodes": [
            {"id": "start", "type": "OnManual"},
            {"id": "each", "type": "ForEach", "data": {"parameters": {"items": "{{ $input.items }}"}}},
            {"id": "ask", "type": "HttpRequest", "data": {"parameters": {"url": format!("{url}/{{{{ $item }}}}"), "bodyOnly": true}}},
            {"id": "end", "type": "Return", "data": {"parameters": {"value": "{{ $input }}"}}},
        ],
        "edges": [
            {"source": "start", "target": "each"},
            {"source": "each", "sourceHandle": "item", "target": "ask"},
            {"source": "ask", "target": "each", "targetHandle": "next"},
            {"source": "each", "sourceHandle": "done", "target": "end"},
        ],
    });
    let id = deployed(&service, &ann, &looped).await;
    let run = service.ran(&ann, &id, &json!({"items": ["a", "b", "c"]})).await;
    let ended = service.run(&ann, &id, &run).await;
    assert_eq!(ended["status"], "success", "{ended}");
    let sent = asked.load(Ordering::SeqCst);
    let (_, end) = told(&service, &ann, &id, &run).await;
    assert_eq!(
        (&end["replay"]["end"], &end["result"]["output"]),
        (&json!("same"), &ended["output"]),
        "{end}"
    );
    let trace = end["result"]["trace"].as_array().unwrap();
    let iterations: Vec<&Value> = trace
        .iter()
        .filter(|entry| entry["nodeId"] == "ask")
        .map(|entry| &entry["path"])
        .collect();
    assert_eq!(iterations, ["each[0]", "each[1]", "each[2]"]);
    assert_eq!(asked.load(Ordering::SeqCst), sent);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failures_and_loops_are_replayed_on_sqlite() {
    failures_and_loops(Database::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failures_and_loops_are_replayed_on_postgres() {
    failures_and_loops(Database::Postgres).await;
}

fn waiting() -> Value {
    chain(&[
        ("start", "OnManual", json!({})),
        ("long", "Wait", json!({"durationMs": 7_200_000})),
        ("short", "Wait", json!({"durationMs": 20})),
        (
            "end",
            "Return",
            json!({"value": "{{ [$input.n, $vars.TONE, $random()] }}"}),
        ),
    ])
}

each_database! {
    async fn a_run_without_effects_shows_its_event_without_credentials(service: Service) {
        let ann = service.user("ann").await;
        let id = deployed(&service, &ann, &doubling()).await;
        let event = json!({"n": 4, "headers": {"authorization": "Bearer secret-of-a-sender", "x-other": "1"}});
        let run = service.ran(&ann, &id, &event).await;
        let (events, end) = told(&service, &ann, &id, &run).await;
        assert_eq!((&end["replay"]["end"], &end["result"]["output"]), (&json!("same"), &json!({"double": 8})), "{end}");
        assert_eq!(order(&end), ["start", "note", "check", "done"]);
        let nodes: Vec<&Value> = events.iter().filter(|event| event["type"] == "node" && event["phase"] == "ended").collect();
        assert_eq!(nodes[0]["output"]["headers"], json!({"authorization": "***", "x-other": "1"}));
        assert_eq!(events.iter().find(|event| event["type"] == "log").unwrap()["message"], "got 4");
        let all = format!("{events:?} {end}");
        assert!(!all.contains("secret-of-a-sender"), "{all}");
        let failed = service.ran(&ann, &id, &json!({"fail": true})).await;
        let (_, end) = told(&service, &ann, &id, &failed).await;
        assert_eq!((&end["replay"]["end"], &end["result"]["error"]["code"]), (&json!("same"), &json!("UNLUCKY")), "{end}");
    }

    async fn nothing_is_waited_for_again(service: Service) {
        service.app.executions.start().await.unwrap();
        let ann = service.user("ann").await;
        let id = deployed(&service, &ann, &waiting()).await;
        let (run, other) = (
            service.started(&ann, &id, &json!({"n": 7})).await,
            service.started(&ann, &id, &json!({"n": 8})).await,
        );
        parked(&service, &ann, &id, &run).await;
        parked(&service, &ann, &id, &other).await;
        replayed(&service, &ann, &id, &run).await.assert_refused(400, "INVALID_STATUS");
        let cancelled = service.operate(&ann, &id, &format!("runs/{other}/cancel")).await;
        assert_eq!(cancelled.status, 200, "{cancelled}");
        service.app.clock.advance(HOUR * 2);
        let ended = service.ended(&ann, &id, &run).await;
        let (events, end) = told(&service, &ann, &id, &run).await;
        assert_eq!((&end["replay"]["end"], &end["result"]["output"]), (&json!("same"), &ended["output"]), "{end}");
        assert_eq!(events.iter().filter(|event| event["type"] == "effect" && event["kind"] == "wait").count(), 2);
        let (_, end) = told(&service, &ann, &id, &other).await;
        assert_eq!((&end["replay"]["end"], &end["result"]["error"]["code"]), (&json!("stopped"), &json!("NOT_RECORDED")), "{end}");
        assert!(end["replay"]["message"].as_str().unwrap().contains("CANCELLED"), "{end}");
        assert_eq!(order(&end), ["start", "long"]);
    }

    async fn variables_are_those_of_then(service: Service) {
        let ann = service.user("ann").await;
        let workspace = service.workspace_of(&ann).await;
        let environments = format!("/api/workspaces/{workspace}/environments");
        let listed = service.get(&environments).bearer(&ann.token).send().await;
        let environment = listed.body["data"][0]["id"].as_str().unwrap().to_owned();
        let path = format!("{environments}/{environment}/variables");
        let set = async |tone: &str| {
            service.app.clock.advance(HOUR);
            let body = json!({"TONE": tone});
            service.put(&path).bearer(&ann.token).json(&body).send().await.data(200);
            service.app.clock.advance(HOUR);
        };
        let graph = chain(&[("start", "OnManual", json!({})), ("end", "Return", json!({"value": "{{ $vars.TONE }}"}))]);
        let pattern = service.drawn(&ann, &graph).await;
        let id = untraced(&service, &ann, &pattern, json!({"environmentId": environment})).await;
        let mut runs = Vec::new();
        for tone in ["first", "second", "third"] {
            set(tone).await;
            runs.push((tone, service.ran(&ann, &id, &json!({})).await));
        }
        service.app.clock.advance(HOUR);
        let staging = service.post(&environments).bearer(&ann.token).json(&json!({"name": "staging"})).send().await;
        let staging = staging.body["data"]["id"].as_str().unwrap().to_owned();
        untraced(&service, &ann, &pattern, json!({"environmentId": staging})).await;
        service.app.clock.advance(HOUR);
        let without = service.ran(&ann, &id, &json!({})).await;
        for (tone, run) in &runs {
            let (_, end) = told(&service, &ann, &id, run).await;
            assert_eq!((&end["result"]["output"], &end["replay"]["end"]), (&json!(tone), &json!("same")), "{end}");
            assert_eq!(end["replay"]["variables"], "same", "{end}");
        }
        let (_, end) = told(&service, &ann, &id, &without).await;
        assert_eq!((&end["result"]["output"], &end["replay"]["end"]), (&Value::Null, &json!("same")), "{end}");
        // About when the run read them.
        let body = json!({"TONE": "fourth"});
        service.put(&path).bearer(&ann.token).json(&body).send().await.data(200);
        untraced(&service, &ann, &pattern, json!({"environmentId": environment})).await;
        // When it read them is known to the millisecond at best.
        service.app.clock.advance(Duration::from_secs(1));
        let unsure = service.ran(&ann, &id, &json!({})).await;
        let (_, end) = told(&service, &ann, &id, &unsure).await;
        assert_eq!(end["replay"]["variables"], "unsure", "{end}");
    }
}
