//! Composites with `each`, `retry` and `onError` on the real standard library: requests, code and limits inside.

use crate::harness::code;
use crate::patterns::{node, output, pattern, run_limited};
use crate::server::{Server, ok, response};
use heddle_runtime::{Limits, Outcome, Status};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::Mutex;

/// A definition `Whole`: OnCall, these nodes, and the Return `end`.
pub fn whole(nodes: &[Value], edges: &[&str]) -> Value {
    let ends = [
        json!({"id": "call", "type": "OnCall"}),
        node("end", "Return", json!({})),
    ];
    let mut graph = pattern(&[&ends, nodes].concat(), edges);
    graph["nodes"].as_array_mut().unwrap().remove(0);
    json!({"Whole": {"kind": "graph", "graphData": graph}})
}

/// start -> whole -> Return, with these options on the composite.
pub fn around(options: Value) -> Value {
    let whole = json!({"id": "whole", "type": "Whole", "data": options});
    pattern(
        &[whole, node("result", "Return", json!({}))],
        &["start -> whole", "whole -> result"],
    )
}

async fn run(options: Value, definitions: &Value, event: Value) -> Outcome {
    run_limited(&around(options), definitions, &event, Limits::default()).await
}

/// Answers each path with 500 the first `times` times, then with its number of requests.
async fn failing_at_first(times: usize) -> Server {
    let counts: Mutex<HashMap<String, usize>> = Mutex::default();
    let answer = move |request: &str| {
        let path = request.split(' ').nth(1).unwrap().to_owned();
        let mut counts = counts.lock().unwrap();
        let count = counts.entry(path).or_default();
        *count += 1;
        match *count <= times {
            true => response("500 Internal Server Error", "content-type: text/plain", b"no"),
            false => ok(&count.to_string()),
        }
    };
    Server::start(answer).await
}

/// A request for each `$input` of a loop, after one for all.
fn requests_in_a_loop(server: &Server) -> Value {
    let get = |id: &str, path: &str| {
        let url = format!("{}{path}", server.url("/"));
        node(id, "HttpRequest", json!({"url": url, "bodyOnly": true}))
    };
    whole(
        &[
            node("rows", "ForEach", json!({"concurrency": 2})),
            get("get", "{{ $item }}"),
        ],
        &[
            "call -> rows",
            "rows.item -> get",
            "get -> rows.next",
            "rows.done -> end",
        ],
    )
}

fn keys(server: &Server) -> Vec<String> {
    let mut keys: Vec<String> = server
        .requests()
        .iter()
        .map(|request| {
            let line = request.lines().find(|line| line.starts_with("idempotency-key:"));
            line.unwrap().to_owned()
        })
        .collect();
    keys.sort();
    keys.dedup();
    keys
}

#[tokio::test]
async fn a_composite_is_executed_again_until_nothing_in_it_fails() {
    let server = failing_at_first(1).await;
    let options = json!({"retry": {"maxAttempts": 3, "backoffMs": 1}});
    let outcome = run(options, &requests_in_a_loop(&server), json!(["a", "b"])).await;
    let answers: Vec<String> = serde_json::from_value(output(&outcome)).unwrap();
    assert_eq!(answers.len(), 2);
    assert!(
        outcome
            .logs
            .iter()
            .any(|line| line.message.starts_with("Attempt 1 of 3")),
        "{:?}",
        outcome.logs
    );
    assert!(
        outcome
            .logs
            .iter()
            .all(|line| line.node_id.as_deref() == Some("whole"))
    );
    assert!(server.requests().len() > 2);
    assert_eq!(
        keys(&server).len(),
        2,
        "what is sent again has the key that it had"
    );
}

#[tokio::test]
async fn each_element_has_its_attempts_and_its_error() {
    let server = failing_at_first(1).await;
    let definitions = requests_in_a_loop(&server);
    let options = json!({"each": true, "concurrency": 3, "onError": "continue", "retry": {"maxAttempts": 2}});
    let outcome = run(options, &definitions, json!([["a"], ["b"], [], ["c", "d", "e"]])).await;
    let results = output(&outcome);
    assert_eq!(
        (&results[0], &results[1], &results[2]),
        (&json!(["2"]), &json!(["2"]), &json!([]))
    );
    assert_eq!(results[3]["error"]["nodeId"], "whole/get", "{results}");
    assert_eq!(results[3]["error"]["code"], "HTTP_500");
}

#[tokio::test]
async fn code_that_waits_is_forgotten_with_its_attempt() {
    // Answers to the three attempts come only with the one that is still waited for.
    let (slow, quick) = (Server::meeting(4).await, Server::start(|_| ok("fine")).await);
    let fetching = |id: &str, server: &Server| {
        let code = format!(
            "export default async () => {{ const answer = await fetch('{}'); return answer.text(); }}",
            server.url("/")
        );
        node(id, "JavaScript", json!({"code": code}))
    };
    let definitions = whole(
        &[
            fetching("slow", &slow),
            fetching("quick", &quick),
            node("boom", "Throw", json!({"message": "no"})),
        ],
        &["call -> slow", "slow -> end", "call -> quick", "quick -> boom"],
    );
    let mut graph = around(json!({"onError": "continue", "retry": {"maxAttempts": 3}}));
    let nodes = graph["nodes"].as_array_mut().unwrap();
    nodes.push(fetching("after", &slow));
    nodes.push(node("both", "Merge", json!({"mode": "append"})));
    let edges = json!([
        {"source": "start", "target": "whole"}, {"source": "whole", "target": "after"},
        {"source": "whole", "target": "both"}, {"source": "after", "target": "both"},
        {"source": "both", "target": "result"},
    ]);
    graph["edges"] = edges;
    let outcome = run_limited(&graph, &definitions, &Value::Null, Limits::default()).await;
    let result = output(&outcome);
    assert_eq!(result[0]["error"]["nodeId"], "whole/boom", "{result}");
    assert_eq!(result[1], "together");
}

#[tokio::test]
async fn limits_of_the_run_are_not_caught() {
    let definitions = whole(
        &[
            node(
                "again",
                "Loop",
                json!({"condition": "{{ true }}", "maxIterations": 1_000_000}),
            ),
            node("body", "NoOp", json!({})),
        ],
        &[
            "call -> again",
            "again.item -> body",
            "body -> again.next",
            "again.done -> end",
        ],
    );
    let limits = Limits {
        fuel_max: 50_000_000,
        ..Limits::default()
    };
    let options = json!({"onError": "continue", "retry": {"maxAttempts": 3}});
    let outcome = run_limited(&around(options), &definitions, &json!(1), limits).await;
    assert_eq!((outcome.status, code(&outcome)), (Status::Failed, "OUT_OF_FUEL"));
}

#[tokio::test]
async fn composites_within_composites_catch_what_is_theirs() {
    let mut definitions = whole(
        &[
            node("check", "If", json!({"condition": "{{ $input > 2 }}"})),
            node("boom", "Throw", json!({"message": "no"})),
        ],
        &["call -> check", "check.true -> boom", "check.false -> end"],
    );
    let inner = json!({"id": "each", "type": "Whole", "data": {"each": true, "onError": "branch"}});
    let outer = [
        json!({"id": "call", "type": "OnCall"}),
        inner,
        node("good", "Transform", json!({"value": {"good": "{{ $input }}"}})),
        node(
            "bad",
            "Transform",
            json!({"value": {"bad": "{{ $input.length }}"}}),
        ),
        node("both", "Merge", json!({"mode": "combine"})),
        node("end", "Return", json!({})),
    ];
    let edges = [
        "call -> each",
        "each -> good",
        "each.error -> bad",
        "good -> both",
        "bad -> both",
        "both -> end",
    ];
    let mut graph = pattern(&outer, &edges);
    graph["nodes"].as_array_mut().unwrap().remove(0);
    definitions["Outer"] = json!({"kind": "graph", "graphData": graph});
    let mut graph = around(json!({"each": true, "concurrency": 2}));
    graph["nodes"][1]["type"] = json!("Outer");
    let outcome = run_limited(
        &graph,
        &definitions,
        &json!([[1, 2, 3, 4], [1], 5]),
        Limits::default(),
    )
    .await;
    let wanted = json!([{"good": [1, 2], "bad": 2}, {"good": [1]}, {}]);
    assert_eq!(output(&outcome), wanted);
}
