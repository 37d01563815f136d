//! Test runs as server-sent events.

use crate::harness::{Service, User, chain, doubling, each_database, endless};
use crate::runs::tails::events;
use heddle_model::access::WorkspaceRole;
use serde_json::{Value, json};
use std::time::Duration;

async fn code(service: &Service, user: &User, graph: &Value) -> Value {
    let body = json!({"graphData": graph, "nodeDefinitions": {}, "trace": true});
    let request = service
        .post("/api/execute/transpile")
        .bearer(&user.token)
        .json(&body);
    let transpiled = request.send().await;
    assert_eq!(transpiled.status, 200, "{transpiled}");
    transpiled.body["code"].clone()
}

each_database! {
    async fn a_run_tells_what_it_does(service: Service) {
        let ann = service.user("ann").await;
        let body = json!({"code": code(&service, &ann, &doubling()).await, "eventData": {"n": 4}});
        let stream = service.post("/api/execute/stream").bearer(&ann.token).json(&body).send().await;
        assert_eq!((stream.status, stream.headers["content-type"].to_str().unwrap()), (200, "text/event-stream"), "{stream}");
        let events = events(&stream.text);
        for (number, (name, data)) in events.iter().enumerate() {
            assert_eq!((&data["seq"], data["type"].as_str()), (&json!(number), Some(name.as_str())), "{stream}");
        }
        let nodes: Vec<(&Value, &Value)> = events.iter().filter(|(name, _)| name == "node")
            .map(|(_, data)| (&data["nodeId"], &data["phase"])).collect();
        let expected = ["start", "note", "check", "done"].map(|node| [(json!(node), json!("started")), (json!(node), json!("ended"))]);
        assert_eq!(nodes, expected.iter().flatten().map(|(node, phase)| (node, phase)).collect::<Vec<_>>(), "{stream}");
        let done = events.iter().rev().find(|(_, data)| data["nodeId"] == "check").unwrap();
        assert_eq!((&done.1["port"], &done.1["output"], &done.1["pinned"]), (&json!("false"), &json!({"n": 4}), &json!(false)));
        let log = events.iter().find(|(name, _)| name == "log").unwrap();
        assert_eq!((&log.1["message"], &log.1["nodeId"], &log.1["level"]), (&json!("got 4"), &json!("note"), &json!("info")));
        let (name, end) = events.last().unwrap();
        assert_eq!((name.as_str(), &end["error"]), ("end", &Value::Null));
        assert_eq!((&end["result"]["status"], &end["result"]["output"]), (&json!("completed"), &json!({"double": 8})));
        assert_eq!(end["result"]["trace"].as_array().unwrap().len(), 4);
        let begun = events.iter().find(|(_, data)| data["phase"] == "started").unwrap();
        assert_eq!(begun.1.get("durationUs"), None, "how it ended is told of what has ended only: {stream}");
        service.assert_events_described("post", "/api/execute/stream", &events).await;
    }

    async fn effects_and_failures_are_told(service: Service) {
        let ann = service.user("ann").await;
        let request = json!({"url": "http://127.0.0.1:9/secret?key=1"});
        let graph = chain(&[("go", "OnManual", json!({})), ("ask", "HttpRequest", request), ("end", "Return", json!({}))]);
        let body = json!({"code": code(&service, &ann, &graph).await});
        let stream = service.post("/api/execute/stream").bearer(&ann.token).json(&body).send().await;
        let events = events(&stream.text);
        let phases: Vec<&Value> = events.iter().filter(|(_, data)| data["nodeId"] == "ask" && data["type"] == "node")
            .map(|(_, data)| &data["phase"]).collect();
        assert_eq!(phases, ["started", "waiting", "resumed", "ended"], "{stream}");
        let (_, effect) = events.iter().find(|(name, _)| name == "effect").unwrap();
        assert_eq!((&effect["kind"], &effect["host"], &effect["nodeId"]), (&json!("http"), &json!("127.0.0.1:9"), &json!("ask")), "{stream}");
        assert!(effect["error"].is_string() && effect["status"].is_null(), "{stream}");
        let (_, failed) = events.iter().rev().find(|(name, data)| name == "node" && data["nodeId"] == "ask").unwrap();
        assert_eq!(failed["error"]["nodeId"], "ask", "{stream}");
        assert_eq!(events.last().unwrap().1["result"]["status"], "failed");
        service.assert_events_described("post", "/api/execute/stream", &events).await;
    }

    async fn closing_the_stream_cancels_the_run(service: Service) {
        let ann = service.user("ann").await;
        let body = json!({"code": code(&service, &ann, &endless()).await});
        let request = service.post("/api/execute/stream").bearer(&ann.token).json(&body);
        let mut stream = request.begin().await;
        let first = stream.chunk().await.unwrap().unwrap();
        assert!(first.starts_with(b"event: node"), "{first:?}");
        assert_eq!(service.app.executions.counts().1, 1);
        drop(stream);
        let idle = async {
            while service.app.executions.counts().1 > 0 {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), idle).await.expect("the run is cancelled");
    }

    async fn what_can_not_begin_is_an_error_and_no_stream(service: Service) {
        let ann = service.user("ann").await;
        let viewer = service.member(&ann, "vic", WorkspaceRole::Viewer).await;
        let code = code(&service, &ann, &doubling()).await;
        for (user, body, status) in [
            (&ann, json!({"code": "***"}), 400),
            (&ann, json!({"code": code, "triggerNodeId": "ghost"}), 400),
            (&viewer, json!({"code": code}), 403),
        ] {
            let refused = service.post("/api/execute/stream").bearer(&user.token).json(&body).send().await;
            assert_eq!(refused.status, status, "{refused}");
            assert_eq!(refused.headers["content-type"], "application/json");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_takes_too_long_ends_the_stream_with_an_error() {
    let service = Service::with(crate::harness::Database::Sqlite, |config| {
        config.test_timeout = Duration::from_millis(300)
    })
    .await;
    let ann = service.user("ann").await;
    let body = json!({"code": code(&service, &ann, &endless()).await});
    let stream = service
        .post("/api/execute/stream")
        .bearer(&ann.token)
        .json(&body)
        .send()
        .await;
    let events = events(&stream.text);
    let (name, end) = events.last().unwrap();
    assert_eq!(
        (name.as_str(), &end["error"]["code"], &end["result"]),
        ("end", &json!("EXECUTION_TIMEOUT"), &Value::Null),
        "{stream}"
    );
    service
        .assert_events_described("post", "/api/execute/stream", &events)
        .await;
}
