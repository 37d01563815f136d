//! Callback URLs: each works once, for the place that it was made for, and nobody guesses another.

use super::waits::{HOUR, parked};
use crate::harness::{Service, chain, each_database};
use serde_json::{Value, json};

/// The path of the URL that a run has logged.
fn logged(run: &Value, line: usize) -> String {
    let url = run["logOutput"][line]["message"].as_str().unwrap();
    let (_, path) = url.split_once("://").unwrap().1.split_once('/').unwrap();
    format!("/{path}")
}

/// Logs its URL and waits to be called.
fn asking(parameters: Value) -> Value {
    let mut graph = chain(&[
        ("start", "OnManual", json!({})),
        ("tell", "Log", json!({"message": "{{ $run.callbackUrls.ask }}"})),
        ("ask", "WaitForCallback", parameters),
        ("end", "Return", json!({})),
    ]);
    let late = json!({"id": "late", "type": "Return", "data": {"parameters": {"value": "{{ 'late ' + $input.n }}"}}});
    graph["nodes"].as_array_mut().unwrap().push(late);
    let edge = json!({"source": "ask", "sourceHandle": "timeout", "target": "late"});
    graph["edges"].as_array_mut().unwrap().push(edge);
    graph
}

each_database! {
    async fn the_first_call_lets_the_run_go_on_and_no_other(service: Service) {
        service.app.executions.start().await.unwrap();
        let ann = service.user("ann").await;
        let id = service.deployed(&ann, &asking(json!({"respondBody": {"thanks": "{{ $input.n }}"}}))).await;
        let run = service.started(&ann, &id, &json!({"n": 7})).await;
        let path = logged(&parked(&service, &ann, &id, &run).await, 0);
        assert!(path.ends_with("/ask"), "{path}");
        let [_, _, _, token, _] = path.split('/').collect::<Vec<_>>()[..] else { panic!("{path}") };
        let guessed = path.replace(token, &token.chars().rev().collect::<String>());
        for wrong in [&guessed, &path.replace("/ask", "/end"), &path.replace(token, "00"), &path.replace(token, "x")] {
            let refused = service.post(wrong).json(&json!({})).send().await;
            assert_eq!((refused.status, refused.code()), (404, "NOT_FOUND"), "{wrong}");
        }
        let nonsense = service.post(&path).header("content-type", "application/json").body("{").send().await;
        assert_eq!((nonsense.status, nonsense.code()), (400, "VALIDATION"));
        let large = service.post(&path).body(vec![b'x'; (1 << 20) + 1]).send().await;
        assert_eq!((large.status, large.code()), (413, "PAYLOAD_TOO_LARGE"));

        service.operate(&ann, &id, "pause").await;
        let first = service.post(&format!("{path}?by=bob")).json(&json!({"approved": true})).send().await;
        assert_eq!((first.status, &first.body), (200, &json!({"thanks": 7})), "{first}");
        let second = service.post(&path).json(&json!({"approved": false})).send().await;
        assert_eq!((second.status, second.code()), (409, "CONFLICT"));
        service.operate(&ann, &id, "resume").await;
        let ended = service.ended(&ann, &id, &run).await;
        let event = &ended["output"];
        assert_eq!(ended["status"], "success", "{ended}");
        assert_eq!(event["body"], json!({"approved": true}));
        assert_eq!((&event["method"], &event["query"]), (&json!("POST"), &json!({"by": "bob"})));
        let third = service.get(&path).send().await;
        assert_eq!((third.status, third.code()), (410, "GONE"));
    }

    async fn a_link_is_a_call_and_a_look_at_it_is_none(service: Service) {
        service.app.executions.start().await.unwrap();
        let ann = service.user("ann").await;
        let id = service.deployed(&ann, &asking(json!({"respondBody": "Thank you."}))).await;
        let run = service.started(&ann, &id, &json!({"n": 7})).await;
        let path = logged(&parked(&service, &ann, &id, &run).await, 0);
        assert_eq!(service.request("HEAD", &path).send().await.status, 405);
        let called = service.get(&format!("{path}?decision=yes")).send().await;
        assert_eq!((called.status, called.text.as_str()), (200, "Thank you."));
        assert_eq!(called.headers["content-type"], "text/plain; charset=utf-8");
        let ended = service.ended(&ann, &id, &run).await;
        assert_eq!((&ended["output"]["query"], &ended["output"]["body"]), (&json!({"decision": "yes"}), &Value::Null));
    }

    async fn who_calls_too_late_is_told_so(service: Service) {
        service.app.executions.start().await.unwrap();
        let ann = service.user("ann").await;
        let id = service.deployed(&ann, &asking(json!({"timeoutMs": 600_000}))).await;
        let run = service.started(&ann, &id, &json!({"n": 7})).await;
        let path = logged(&parked(&service, &ann, &id, &run).await, 0);
        service.operate(&ann, &id, "pause").await;
        service.app.clock.advance(HOUR);
        let late = service.post(&path).json(&json!({})).send().await;
        assert_eq!((late.status, late.code()), (410, "GONE"));
        service.operate(&ann, &id, "resume").await;
        assert_eq!(service.ended(&ann, &id, &run).await["output"], "late 7");
    }

    async fn a_call_may_come_before_the_run_is_there(service: Service) {
        service.app.executions.start().await.unwrap();
        let ann = service.user("ann").await;
        let id = service.deployed(&ann, &chain(&[
            ("start", "OnManual", json!({})),
            ("tell", "Log", json!({"message": "{{ $run.callbackUrl }}"})),
            ("wait", "Wait", json!({"durationMs": 600_000})),
            ("ask", "WaitForCallback", json!({})),
            ("end", "Return", json!({"value": "{{ $input.body }}"})),
        ])).await;
        let run = service.started(&ann, &id, &json!({})).await;
        let path = logged(&parked(&service, &ann, &id, &run).await, 0);
        let early = service.post(&path).header("content-type", "text/plain").body("soon").send().await;
        assert_eq!((early.status, &early.body), (200, &json!({"status": "accepted"})));
        assert_eq!(service.post(&path).json(&json!({})).send().await.code(), "CONFLICT");
        parked(&service, &ann, &id, &run).await;
        service.app.clock.advance(HOUR);
        assert_eq!(service.ended(&ann, &id, &run).await["output"], "soon");
    }

    async fn every_iteration_has_a_url_of_its_own(service: Service) {
        service.app.executions.start().await.unwrap();
        let ann = service.user("ann").await;
        let node = |id: &str, kind: &str, parameters: Value| json!({"id": id, "type": kind, "data": {"parameters": parameters}});
        let edge = |from: &str, port: &str, to: &str, at: &str| json!({
            "source": from, "sourceHandle": port, "target": to, "targetHandle": at
        });
        let id = service.deployed(&ann, &json!({
            "nodes": [
                node("start", "OnManual", json!({})),
                node("each", "ForEach", json!({"items": ["a", "b"], "concurrency": 2})),
                node("tell", "Log", json!({"message": "{{ $run.callbackUrls.ask }}"})),
                node("ask", "WaitForCallback", json!({})),
                node("pick", "Transform", json!({"value": "{{ $item + $input.body }}"})),
                node("end", "Return", json!({})),
            ],
            "edges": [
                edge("start", "out", "each", "in"), edge("each", "item", "tell", "in"), edge("tell", "out", "ask", "in"),
                edge("ask", "out", "pick", "in"), edge("pick", "out", "each", "next"), edge("each", "done", "end", "in"),
            ],
        })).await;
        let run = service.started(&ann, &id, &json!({})).await;
        let found = parked(&service, &ann, &id, &run).await;
        let (first, second) = (logged(&found, 0), logged(&found, 1));
        assert_ne!(first.split('/').nth(3), second.split('/').nth(3), "a token of its own");
        assert_eq!(service.post(&second).json(&json!(2)).send().await.status, 200);
        assert_eq!(service.post(&first).json(&json!(1)).send().await.status, 200);
        assert_eq!(service.ended(&ann, &id, &run).await["output"], json!(["a1", "b2"]));
    }
}
