//! Responses that leave in pieces while their runs go on.

use super::fixture::{Hook, graph, responds, returns};
use crate::harness::{Database, Events, Service, each_database};
use heddle_runtime::EgressPolicy;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

fn streams(id: &str, parameters: Value) -> Value {
    json!({"id": id, "type": "StreamResponse", "data": {"parameters": parameters}})
}

fn throws() -> Value {
    json!({"id": "throw", "type": "Throw", "data": {"parameters": {"message": "no luck"}}})
}

/// A graph that streams as many pieces as the event says, and returns what became of each.
fn several(parameters: Value) -> Value {
    let node = |id: &str, kind: &str, parameters: Value| json!({"id": id, "type": kind, "data": {"parameters": parameters}});
    json!({
        "nodes": [
            node("hook", "OnWebhook", json!({})),
            node("each", "ForEach", json!({"items": "{{ Array.from({ length: $input.body.count }, (_, i) => i) }}"})),
            node("piece", "StreamResponse", parameters),
            node("return", "Return", json!({"value": "{{ $input }}"})),
        ],
        "edges": [
            {"source": "hook", "target": "each"},
            {"source": "each", "sourceHandle": "item", "target": "piece"},
            {"source": "piece", "target": "each", "targetHandle": "next"},
            {"source": "each", "sourceHandle": "done", "target": "return"},
        ],
    })
}

/// A service whose runs may ask this server, which answers when the test wants it to.
async fn asking(database: Database) -> (Service, TcpListener, Value) {
    let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = server.local_addr().unwrap().to_string();
    let egress = EgressPolicy::parse([address.as_str()]).unwrap();
    let service = Service::with(database, |config| config.egress = egress).await;
    let ask = json!({"id": "ask", "type": "HttpRequest", "data": {"parameters": {"url": format!("http://{address}/")}}});
    (service, server, ask)
}

async fn answer(mut asked: TcpStream) {
    assert_ne!(asked.read(&mut [0; 4096]).await.unwrap(), 0);
    let answer = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 4\r\n\r\ndone";
    asked.write_all(answer).await.unwrap();
}

each_database! {
    async fn a_failure_is_told_at_the_end_of_the_events(service: Service) {
        let hook = Hook::deployed(&service, graph(json!({}), &[streams("piece", json!({"data": "one\ntwo"})), throws()])).await;
        let reply = hook.signed("{}").send().await;
        let run = reply.headers["x-run-id"].to_str().unwrap();
        let end = reply.text.strip_prefix("data: one\ndata: two\n\nevent: end\ndata: ").unwrap();
        let end: Value = serde_json::from_str(end.trim_end()).unwrap();
        let error = json!({"code": "THROWN", "message": "no luck", "nodeId": "throw"});
        assert_eq!(end, json!({"status": "failed", "runId": run, "error": error}));
        // What the pattern did not say itself stays inside.
        let ask = json!({"id": "ask", "type": "HttpRequest", "data": {"parameters": {"url": "http://127.0.0.1:9/inner"}}});
        hook.save(graph(json!({}), &[streams("piece", json!({"data": "one"})), ask])).await;
        hook.deploy().await;
        let reply = hook.signed("{}").send().await;
        assert!(reply.text.contains("\"status\":\"failed\"") && !reply.text.contains("127.0.0.1"), "{reply}");
    }

    async fn an_attempt_sends_nothing_again(service: Service) {
        let mut hopeless = graph(json!({}), &[streams("piece", json!({"data": "one"})), throws()]);
        hopeless["settings"] = json!({"retry": {"maxAttempts": 3, "backoffMs": 1, "factor": 1}});
        let hook = Hook::saved(&service, hopeless).await;
        let deployment = hook.deploy().await;
        let reply = hook.signed("{}").send().await;
        assert_eq!((reply.text.matches("one").count(), reply.text.matches("event: end").count()), (1, 1), "{reply}");
        let run = reply.headers["x-run-id"].to_str().unwrap();
        let run = service.ended(&hook.user, &deployment, run).await;
        assert_eq!((&run["status"], &run["attempt"]), (&json!("dead_letter"), &json!(3)), "{run}");
    }

    async fn lines_and_texts_follow_each_other(service: Service) {
        let lines = several(json!({"format": "json-lines", "data": {"number": "{{ $input }}", "text": "a\nb"}}));
        let hook = Hook::deployed(&service, lines).await;
        let reply = hook.signed(r#"{"count": 3}"#).send().await;
        assert_eq!(reply.headers["content-type"], "application/x-ndjson");
        let line = |number: u32| format!("{{\"number\":{number},\"text\":\"a\\nb\"}}\n");
        assert_eq!(reply.text, line(0) + &line(1) + &line(2));
        let csv = json!({"format": "text", "data": "{{ $input }};", "status": 203, "headers": {
            "Content-Type": "text/csv", "X-Kind": "numbers", "Set-Cookie": "session=stolen", "X-Accel-Buffering": "yes",
        }});
        hook.save(several(csv)).await;
        let deployment = hook.deploy().await;
        let reply = hook.signed(r#"{"count": 3}"#).send().await;
        assert_eq!((reply.status, reply.text.as_str()), (203, "0;1;2;"));
        assert_eq!(reply.headers["content-type"], "text/csv");
        assert_eq!(reply.headers["x-kind"], "numbers");
        assert_eq!(reply.headers["x-accel-buffering"], "no");
        assert_eq!(reply.headers.get("set-cookie"), None);
        assert!(reply.headers["content-security-policy"].to_str().unwrap().starts_with("sandbox"));
        assert_eq!(reply.headers["x-content-type-options"], "nosniff");
        assert_eq!(hook.log_statuses().await[0], ("accepted".to_owned(), 203));
        assert_eq!(hook.runs(&deployment).await[0]["status"], "success");
    }

    async fn what_is_cut_off_is_no_whole_response(service: Service) {
        let broken = |format: &str| graph(json!({}), &[streams("piece", json!({"format": format, "data": "one"})), throws()]);
        let hook = Hook::saved(&service, broken("text")).await;
        for format in ["text", "json-lines"] {
            hook.save(broken(format)).await;
            hook.deploy().await;
            let mut response = hook.signed("{}").begin().await;
            assert_eq!(response.status(), 200);
            let whole = loop {
                match response.chunk().await {
                    Ok(Some(_)) => {}
                    Ok(None) => break true,
                    Err(_) => break false,
                }
            };
            assert!(!whole, "{format}");
        }
    }

    async fn a_run_that_nobody_waits_for_goes_on(service: Service) {
        let pieces = [streams("piece", json!({})), returns("{{ $input.sent }}")];
        let hook = Hook::saved(&service, graph(json!({"responseMode": "async"}), &pieces)).await;
        let deployment = hook.deploy().await;
        let sent = hook.signed("{}").send().await;
        assert_eq!((sent.status, &sent.body["status"]), (202, &json!("accepted")));
        let run = service.ended(&hook.user, &deployment, sent.body["runId"].as_str().unwrap()).await;
        assert_eq!((&run["status"], &run["output"]), (&json!("success"), &json!(false)));
        let by_hand = service.ran(&hook.user, &deployment, &json!({})).await;
        assert_eq!(service.ended(&hook.user, &deployment, &by_hand).await["output"], json!(false));
    }

    async fn what_has_begun_is_the_response(service: Service) {
        let two = [streams("piece", json!({"format": "text", "data": "piece"})), responds(json!({"body": "whole"}))];
        let hook = Hook::deployed(&service, graph(json!({}), &two)).await;
        assert_eq!(hook.signed("{}").send().await.text, "piece");
        // A format that is another one than the response's fails the node that has it.
        let two = [streams("one", json!({"format": "text", "data": "a"})), streams("two", json!({"data": "b"}))];
        hook.save(graph(json!({}), &two)).await;
        let deployment = hook.deploy().await;
        assert_eq!(hook.signed("[1]").begin().await.status(), 200);
        let run = hook.runs(&deployment).await[0]["id"].as_str().unwrap().to_owned();
        let run = service.ended(&hook.user, &deployment, &run).await;
        assert_eq!(run["status"], "failure", "{run}");
        assert!(run["errorMessage"].as_str().unwrap().contains("has begun as `text`"), "{run}");
    }

    async fn a_slow_reader_holds_the_run_up(service: Service) {
        let large = several(json!({"format": "text", "data": "{{ 'x'.repeat(200000) }}"}));
        let hook = Hook::saved(&service, large).await;
        let deployment = hook.deploy().await;
        let mut response = hook.signed(r#"{"count": 200}"#).begin().await;
        assert_eq!(response.status(), 200);
        let run = response.headers()["x-run-id"].to_str().unwrap().to_owned();
        // 40 MB are more than all buffers on the way. Another one that nothing holds up begins later and ends meanwhile.
        let other = hook.signed(r#"{"count": 201}"#).send().await;
        assert_eq!(other.text.len(), 201 * 200_000);
        assert_eq!(service.run(&hook.user, &deployment, &run).await["status"], "running");
        let mut bytes = 0;
        while let Some(piece) = response.chunk().await.unwrap() {
            bytes += piece.len();
        }
        assert_eq!(bytes, 200 * 200_000);
        assert_eq!(service.ended(&hook.user, &deployment, &run).await["status"], "success");
    }
}

/// Each piece arrives before the run does what follows.
async fn events_come_while_the_run_goes_on(database: Database) {
    let (service, server, ask) = asking(database).await;
    let nodes = [
        streams(
            "first",
            json!({"event": "progress", "id": "7", "data": {"done": 1}}),
        ),
        ask,
        streams(
            "second",
            json!({"event": "progress", "data": {"done": "{{ $input.body }}"}}),
        ),
        returns("{{ $input }}"),
    ];
    let hook = Hook::deployed(&service, graph(json!({}), &nodes)).await;
    let mut events: Events = hook.signed("{}").events().await;
    assert_eq!(
        events.next().await,
        ("progress".to_owned(), "7".to_owned(), json!({"done": 1}))
    );
    assert_eq!(hook.log_statuses().await, [("accepted".to_owned(), 200)]);
    let (asked, _) = server.accept().await.unwrap();
    answer(asked).await;
    assert_eq!(
        events.next().await,
        ("progress".to_owned(), String::new(), json!({"done": "done"}))
    );
    let (name, _, end) = events.next().await;
    assert_eq!(
        (name.as_str(), &end["status"], &end["output"]),
        ("end", &json!("completed"), &json!({"sent": true}))
    );
    assert_eq!(events.next_or_end().await, None);
}

/// What a service sends piece by piece is passed on while it arrives.
async fn a_stream_is_passed_on(database: Database) {
    let (service, server, mut ask) = asking(database).await;
    ask["data"]["parameters"]["responseType"] = json!("events");
    ask["data"]["parameters"]["bodyOnly"] = json!(true);
    let node = |id: &str, kind: &str, parameters: Value| json!({"id": id, "type": kind, "data": {"parameters": parameters}});
    let text = "{{ $input.items.map(event => JSON.parse(event.data).text).join('') }}";
    let graph = json!({
        "nodes": [
            node("hook", "OnWebhook", json!({})),
            ask,
            node("loop", "Loop", json!({"condition": "{{ !$item.done }}", "maxIterations": 100})),
            node("read", "ReadStream", json!({"stream": "{{ $nodes.ask }}", "gatherMs": 0})),
            streams("piece", json!({"format": "text", "data": text})),
            node("on", "Transform", json!({"value": {"done": "{{ $nodes.read.done }}"}})),
        ],
        "edges": [
            {"source": "hook", "target": "ask"},
            {"source": "ask", "target": "loop"},
            {"source": "loop", "sourceHandle": "item", "target": "read"},
            {"source": "read", "target": "piece"},
            {"source": "piece", "target": "on"},
            {"source": "on", "target": "loop", "targetHandle": "next"},
        ],
    });
    let hook = Hook::deployed(&service, graph).await;
    let request = hook.signed("{}");
    let answering = async {
        let (mut asked, _) = server.accept().await.unwrap();
        assert_ne!(asked.read(&mut [0; 4096]).await.unwrap(), 0);
        let head = b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\ndata: {\"text\": \"Hel\"}\n\n";
        asked.write_all(head).await.unwrap();
        asked
    };
    let (mut response, mut asked) = tokio::join!(request.begin(), answering);
    assert_eq!(response.chunk().await.unwrap().unwrap(), "Hel");
    asked.write_all(b"data: {\"text\": \"lo\"}\n\n").await.unwrap();
    assert_eq!(response.chunk().await.unwrap().unwrap(), "lo");
    drop(asked);
    assert_eq!(response.chunk().await.unwrap(), None);
}

/// The run hears that nobody reads any more, and goes on.
async fn a_reader_goes(database: Database) {
    let (service, server, ask) = asking(database).await;
    let nodes = [
        streams("first", json!({"data": "one"})),
        ask,
        // Until the connection's end has come through.
        json!({"id": "wait", "type": "Wait", "data": {"parameters": {"durationMs": 500}}}),
        streams("second", json!({"data": "two"})),
        returns("{{ $input.sent }}"),
    ];
    let hook = Hook::saved(&service, graph(json!({}), &nodes)).await;
    let deployment = hook.deploy().await;
    let mut response = hook.signed("{}").begin().await;
    assert_eq!(response.chunk().await.unwrap().unwrap(), "data: one\n\n");
    let run = response.headers()["x-run-id"].to_str().unwrap().to_owned();
    let (asked, _) = server.accept().await.unwrap();
    drop(response);
    answer(asked).await;
    let run = service.ended(&hook.user, &deployment, &run).await;
    assert_eq!(
        (&run["status"], &run["output"]),
        (&json!("success"), &json!(false)),
        "{run}"
    );
}

/// A sender waits no longer for a piece than for a whole response.
async fn a_silent_run_goes_on_alone(database: Database) {
    let (service, server, ask) = asking(database).await;
    let nodes = [streams("first", json!({"data": "1"})), ask];
    let hook = Hook::saved(&service, graph(json!({"timeoutMs": 300}), &nodes)).await;
    let deployment = hook.deploy().await;
    let reply = hook.signed("{}").send().await;
    let run = reply.headers["x-run-id"].to_str().unwrap();
    let end = json!({"status": "running", "runId": run});
    assert_eq!(reply.text, format!("data: 1\n\nevent: end\ndata: {end}\n\n"));
    let (asked, _) = server.accept().await.unwrap();
    answer(asked).await;
    assert_eq!(
        service.ended(&hook.user, &deployment, run).await["status"],
        "success"
    );
}

macro_rules! on_both {
    ($($name:ident),+) => {$(
        mod $name {
            use crate::harness::Database;

            #[tokio::test(flavor = "multi_thread")]
            async fn sqlite() {
                super::$name(Database::Sqlite).await;
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn postgres() {
                super::$name(Database::Postgres).await;
            }
        }
    )+};
}
on_both!(
    events_come_while_the_run_goes_on,
    a_stream_is_passed_on,
    a_reader_goes,
    a_silent_run_goes_on_alone
);
