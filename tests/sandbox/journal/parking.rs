//! What waits long, or for somebody, is parked and goes on by the journal.

use super::{Kept, again, counting, execute, output, runtime};
use crate::harness::{code, request};
use crate::patterns::{node, pattern};
use heddle_compiler::Options;
use heddle_runtime::{Limits, RunRequest, Status, Tier};
use serde_json::{Value, json};
use std::sync::Arc;

#[tokio::test]
async fn a_long_wait_parks_when_nothing_else_is_under_way() {
    let (server, runtime, kept) = (counting().await, runtime(), Arc::new(Kept::default()));
    let graph = pattern(
        &[
            node("wait", "Wait", json!({"durationMs": 7_200_000})),
            node(
                "ask",
                "HttpRequest",
                json!({"url": server.url("/"), "bodyOnly": true}),
            ),
            node("both", "Merge", json!({"mode": "append"})),
            node(
                "end",
                "Return",
                json!({"value": "{{ [$nodes.wait.n, $nodes.ask] }}"}),
            ),
        ],
        &[
            "start -> wait",
            "start -> ask",
            "wait -> both",
            "ask -> both",
            "both -> end",
        ],
    );
    *kept.now_ms.lock().unwrap() = 1_000;
    for _ in 0..2 {
        // Woken too early, it waits for the same time.
        let parked = again(&runtime, &graph, &kept).await;
        assert_eq!(
            (parked.status, parked.wake_at_ms),
            (Status::Parked, Some(7_201_000))
        );
        *kept.now_ms.lock().unwrap() = 5_000;
    }
    assert_eq!(
        server.requests().len(),
        1,
        "what else there was to do was done, once"
    );
    *kept.now_ms.lock().unwrap() = 7_201_000;
    assert_eq!(
        output(&again(&runtime, &graph, &kept).await),
        json!([1, "answer 1"])
    );
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn a_callback_is_a_signal_or_a_timeout() {
    let (runtime, kept) = (runtime(), Arc::new(Kept::default()));
    let graph = pattern(
        &[
            node("loop", "ForEach", json!({"items": ["x", "y"], "concurrency": 2})),
            node("ask", "WaitForCallback", json!({"timeoutMs": 90_000})),
            node("late", "Transform", json!({"value": "late {{ $input }}"})),
            node("end", "Return", json!({})),
        ],
        &[
            "start -> loop",
            "loop.item -> ask",
            "ask.out -> loop.next",
            "ask.timeout -> late",
            "late -> loop.next",
            "loop.done -> end",
        ],
    );
    let parked = again(&runtime, &graph, &kept).await;
    assert_eq!((parked.status, parked.wake_at_ms), (Status::Parked, Some(90_000)));
    let signals = json!({"ask/loop[1]": {"body": "hello"}});
    let parked = execute(&runtime, &graph, &kept, Limits::default(), signals).await;
    assert_eq!(parked.status, Status::Parked, "the other one still waits");
    *kept.now_ms.lock().unwrap() = 90_000;
    let outcome = again(&runtime, &graph, &kept).await;
    assert_eq!(output(&outcome), json!(["late x", {"body": "hello"}]));
}

#[tokio::test]
async fn without_a_journal_short_waits_are_waited_for_and_nobody_calls_back() {
    let runtime = runtime();
    let compile = |graph: &Value| {
        heddle_compiler::compile(graph, &json!({}), &Options::default())
            .artifact
            .unwrap()
    };
    let run = async |graph: Value| {
        let program = runtime.load(&compile(&graph).wasm, Tier::Fast).unwrap();
        let trigger_node_id = Some("start".into());
        runtime
            .run(
                &program,
                RunRequest {
                    trigger_node_id,
                    ..request(0, &json!(3))
                },
            )
            .await
    };
    let one = |kind: &str, parameters: Value| {
        pattern(
            &[node("it", kind, parameters), node("end", "Return", json!({}))],
            &["start -> it", "it.out -> end"],
        )
    };
    assert_eq!(output(&run(one("Wait", json!({"durationMs": 1}))).await), 3);
    assert_eq!(code(&run(one("Wait", json!({}))).await), "PARAMETER");
    assert_eq!(code(&run(one("WaitForCallback", json!({}))).await), "NO_SERVICE");
    let called = run(one("CallPattern", json!({"patternId": "p", "inputs": {}}))).await;
    assert_eq!(code(&called), "NO_SERVICE");
    assert!(called.error.unwrap().message.contains("heddle serve"));
}
