//! Responses that a run reads while they arrive.

use crate::harness::code;
use crate::journal::{Kept, again, runtime};
use crate::patterns::{SECRET, node, output, pattern, run};
use crate::server::{Server, ok, response};
use heddle_runtime::{Outcome, Status};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";

/// A server that begins to answer and goes on when it is told to.
struct Slow {
    address: SocketAddr,
    /// A permit for each response that its reader has left.
    left: Arc<Semaphore>,
}

impl Slow {
    /// `/events` sends the first piece at once, and goes on after each request of `/next`: with another piece, and then with the
    /// end. Anything else is a response that begins and never ends.
    async fn start(pieces: &'static [&'static str]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (next, left) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
        let gone = left.clone();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let (next, left) = (next.clone(), gone.clone());
                tokio::spawn(async move {
                    match path(&mut stream).await.as_str() {
                        "/next" => {
                            next.add_permits(1);
                            let _ = stream.write_all(&ok("next")).await;
                        }
                        "/events" => {
                            let _ = stream.write_all(HEAD).await;
                            for piece in pieces {
                                let _ = stream.write_all(piece.as_bytes()).await;
                                next.acquire().await.unwrap().forget();
                            }
                        }
                        _ => {
                            let _ = stream.write_all(HEAD).await;
                            while stream.read(&mut [0; 64]).await.is_ok_and(|read| read > 0) {}
                            left.add_permits(1);
                        }
                    }
                });
            }
        });
        Slow { address, left }
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }
}

async fn path(stream: &mut TcpStream) -> String {
    let (mut request, mut buffer) = (String::new(), [0; 4096]);
    while !request.contains("\r\n\r\n") {
        let count = stream.read(&mut buffer).await.unwrap();
        assert!(count > 0, "the request ended early: {request}");
        request.push_str(&String::from_utf8_lossy(&buffer[..count]));
    }
    request.split(' ').nth(1).unwrap().to_owned()
}

/// Opens a response as a stream.
fn open(url: &str, entries: &str) -> Value {
    let parameters = json!({"url": url, "responseType": entries, "bodyOnly": true});
    node("get", "HttpRequest", parameters)
}

/// Reads what `get` has opened.
fn read(id: &str, parameters: Value) -> Value {
    let mut node = node(id, "ReadStream", parameters);
    node["data"]["parameters"]["stream"] = json!("{{ $nodes.get }}");
    node
}

/// The nodes one after the other, and what they have given.
fn chain(nodes: &[Value], value: &str) -> Value {
    let ids: Vec<&str> = nodes.iter().map(|node| node["id"].as_str().unwrap()).collect();
    let ids = [&["start"], &ids[..], &["end"]].concat();
    let edges: Vec<String> = ids.windows(2).map(|ends| ends.join(" -> ")).collect();
    let edges: Vec<&str> = edges.iter().map(String::as_str).collect();
    let nodes = [nodes, &[node("end", "Return", json!({ "value": value }))]].concat();
    pattern(&nodes, &edges)
}

/// What a chain of reads gives of a response that is there as a whole.
async fn reads(body: impl Into<Vec<u8>>, entries: &str, wanted: &[Value]) -> Outcome {
    let body = body.into();
    let server = Server::start(move |_| body.clone()).await;
    let names: Vec<String> = (0..wanted.len()).map(|number| format!("r{number}")).collect();
    let mut nodes = vec![open(&server.url("/"), entries)];
    nodes.extend(
        names
            .iter()
            .zip(wanted)
            .map(|(name, wanted)| read(name, wanted.clone())),
    );
    let values: Vec<String> = names.iter().map(|name| format!("$nodes.{name}")).collect();
    let value = format!("{{{{ [{}] }}}}", values.join(", "));
    run(&chain(&nodes, &value), &Value::Null).await
}

fn failed_at(outcome: &Outcome) -> (&str, Option<&str>) {
    let node_id = outcome.error.as_ref().and_then(|error| error.node_id.as_deref());
    (code(outcome), node_id)
}

/// The server sends each event only once the run has seen the one before.
#[tokio::test]
async fn events_are_read_while_they_arrive() {
    let server = Slow::start(&[
        ": hello\n\ndata: 1\n\n",
        "event: two\nid: x\nda",
        "ta: 2\n\n",
        "data: 3\r\n\r\n",
    ])
    .await;
    let all = "{{ ($item.all ?? []).concat($nodes.read.items) }}";
    let graph = pattern(
        &[
            open(&server.url("/events"), "events"),
            node(
                "loop",
                "Loop",
                json!({"condition": "{{ !$item.done }}", "maxIterations": 20}),
            ),
            // The second event comes in two pieces, between which nothing can be read.
            read(
                "read",
                json!({"waitMs": "{{ $index === 1 ? 0 : 60000 }}", "gatherMs": 0}),
            ),
            node("next", "HttpRequest", json!({"url": server.url("/next")})),
            node(
                "on",
                "Transform",
                json!({"value": {"done": "{{ $nodes.read.done }}", "all": all}}),
            ),
            node("end", "Return", json!({"value": "{{ $input.all }}"})),
        ],
        &[
            "start -> get",
            "get -> loop",
            "loop.item -> read",
            "read -> next",
            "next -> on",
            "on -> loop.next",
            "loop.done -> end",
        ],
    );
    let expected = json!([
        {"event": "message", "data": "1"},
        {"event": "two", "data": "2", "id": "x"},
        {"event": "message", "data": "3", "id": "x"},
    ]);
    assert_eq!(output(&run(&graph, &Value::Null).await), expected);
}

#[tokio::test]
async fn lines_are_texts_or_values() {
    let body = ok("{\"a\": 1}\n\n[2]");
    // To the end of the response, which is what comes next.
    let all = json!({"gatherMs": 60_000});
    let lines = reads(body.clone(), "lines", &[all.clone(), json!({})]).await;
    let expected = json!([
        {"items": ["{\"a\": 1}", "", "[2]"], "done": true},
        {"items": [], "done": true},
    ]);
    assert_eq!(output(&lines), expected);
    let values = reads(body.clone(), "jsonLines", &[json!({"limit": 1}), all.clone()]).await;
    let expected = json!([{"items": [{"a": 1}], "done": false}, {"items": [[2]], "done": true}]);
    assert_eq!(output(&values), expected);
    let closed = reads(body, "lines", &[json!({"operation": "close"}), all.clone()]).await;
    assert_eq!(
        output(&closed),
        json!([{"items": [], "done": true}, {"items": [], "done": true}])
    );
    let wrong = reads(ok("1\n{x"), "jsonLines", &[all]).await;
    assert_eq!(failed_at(&wrong), ("PARSE", Some("r0")));
}

/// Whichever of the two comes first.
#[tokio::test]
async fn a_stream_is_closed_while_it_is_read() {
    let server = Slow::start(&[]).await;
    let nodes = [
        open(&server.url("/hold"), "lines"),
        read("read", json!({"waitMs": 3_600_000})),
        read("close", json!({"operation": "close"})),
        node("all", "Merge", json!({"mode": "combine"})),
        node("end", "Return", json!({"value": "{{ $nodes.read }}"})),
    ];
    let edges = [
        "start -> get",
        "get -> read",
        "get -> close",
        "read -> all",
        "close -> all",
        "all -> end",
    ];
    let outcome = run(&pattern(&nodes, &edges), &Value::Null).await;
    assert_eq!(output(&outcome), json!({"items": [], "done": true}));
}

#[tokio::test]
async fn a_read_waits_no_longer_than_its_node_may() {
    let server = Slow::start(&[]).await;
    let mut reading = read("read", json!({"waitMs": 3_600_000}));
    reading["data"]["timeoutMs"] = json!(1);
    let graph = chain(
        &[open(&server.url("/hold"), "lines"), reading],
        "{{ $nodes.read }}",
    );
    let outcome = run(&graph, &Value::Null).await;
    assert_eq!(output(&outcome), json!({"items": [], "done": false}));
}

/// A service that sends nothing but comments, for as long as anybody reads them.
#[tokio::test]
async fn a_read_ends_though_only_comments_come() {
    let comments = format!(": {}\n", "x".repeat(65_534)).repeat(1_100);
    let outcome = reads(
        ok(&comments),
        "events",
        &[json!({"waitMs": 3_600_000}), json!({})],
    )
    .await;
    let expected = json!([{"items": [], "done": false}, {"items": [], "done": true}]);
    assert_eq!(output(&outcome), expected);
}

#[tokio::test]
async fn a_stream_ends_with_its_run() {
    let server = Slow::start(&[]).await;
    let nothing = chain(
        &[
            open(&server.url("/hold"), "lines"),
            read("read", json!({"waitMs": 0})),
        ],
        "{{ $nodes.read }}",
    );
    let outcome = run(&nothing, &Value::Null).await;
    assert_eq!(output(&outcome), json!({"items": [], "done": false}));
    server.left.acquire().await.unwrap().forget();
}

#[tokio::test]
async fn a_run_has_few_streams_open() {
    let server = Slow::start(&[]).await;
    let nine = |body: &[Value], edges: &[&str]| {
        let nodes = [
            &[
                node(
                    "each",
                    "ForEach",
                    json!({"items": [1, 2, 3, 4, 5, 6, 7, 8, 9], "concurrency": 1}),
                ),
                open(&server.url("/hold"), "events"),
            ],
            body,
            &[node("end", "Return", json!({"value": "{{ $input.length }}"}))],
        ]
        .concat();
        let around = ["start -> each", "each.item -> get", "each.done -> end"];
        pattern(&nodes, &[&around, edges].concat())
    };
    let kept = run(&nine(&[], &["get -> each.next"]), &Value::Null).await;
    assert_eq!(failed_at(&kept), ("STREAM_LIMIT", Some("get")));
    let closed = nine(
        &[read("close", json!({"operation": "close"}))],
        &["get -> close", "close -> each.next"],
    );
    assert_eq!(output(&run(&closed, &Value::Null).await), json!(9));
}

#[tokio::test]
async fn what_is_no_stream_is_said() {
    let broken = b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\none\ntwo";
    let all = json!({"gatherMs": 60_000});
    // What has come before is given first.
    let cut = reads(broken, "lines", &[all.clone(), all.clone()]).await;
    assert_eq!(failed_at(&cut), ("HTTP_FAILED", Some("r1")));
    let long = reads(ok(&"x".repeat((1 << 20) + 1)), "lines", &[all]).await;
    assert_eq!(failed_at(&long), ("STREAM_LIMIT", Some("r0")));
    let refused = response("404 Not Found", "x: y", b"no\n");
    let refused = reads(refused, "lines", &[json!({})]).await;
    assert_eq!(failed_at(&refused), ("HTTP_404", Some("get")));
    // A 2xx that the node does not take is read as an answer, and keeps no stream open.
    let server = Server::start(|_| response("202 Accepted", "x: y", b"not yet")).await;
    let mut get = open(&server.url("/"), "lines");
    get["data"]["parameters"]["acceptStatuses"] = json!([200]);
    let early = run(&chain(&[get], ""), &Value::Null).await;
    assert_eq!(failed_at(&early), ("HTTP_202", Some("get")));
    assert!(early.error.unwrap().message.contains("not yet"));
    let large = format!(
        "event: {}\ndata: {}\n\n",
        "x".repeat(600_000),
        "y".repeat(600_000)
    );
    let large = reads(ok(&large), "events", &[json!({})]).await;
    assert_eq!(failed_at(&large), ("STREAM_LIMIT", Some("r0")));
    for (stream, expected) in [
        (json!({"$stream": "other", "format": "lines"}), "STREAM_GONE"),
        (json!("other"), "PARAMETER"),
    ] {
        let alone = chain(&[node("read", "ReadStream", json!({ "stream": stream }))], "");
        assert_eq!(code(&run(&alone, &Value::Null).await), expected);
    }
}

/// A service that sends the secret back as its event.
#[tokio::test]
async fn secrets_in_entries_are_masked() {
    let server = Server::start(|_| ok(&format!("data: <{SECRET}>\n\n"))).await;
    let mut get = open(&server.url("/"), "events");
    get["data"]["parameters"]["headers"] = json!({"x-key": "{{ $secrets.KEY }}"});
    let graph = chain(
        &[get, read("read", json!({}))],
        "{{ $nodes.read.items[0].data.length }}",
    );
    assert_eq!(output(&run(&graph, &Value::Null).await), json!("<***>".len()));
    assert!(server.requests()[0].contains(SECRET));
}

#[tokio::test]
async fn what_was_read_is_in_the_journal_and_the_rest_is_gone() {
    let server = Server::start(|_| ok("one\ntwo\n")).await;
    let (runtime, whole) = (runtime(), Arc::new(Kept::default()));
    let one = json!({"limit": 1});
    let graph = chain(
        &[
            open(&server.url("/"), "lines"),
            read("first", one.clone()),
            read("second", one),
        ],
        "{{ $nodes.first.items.concat($nodes.second.items) }}",
    );
    for _ in 0..2 {
        let outcome = again(&runtime, &graph, &whole).await;
        assert_eq!(output(&outcome), json!(["one", "two"]));
        assert_eq!((whole.entries().len(), server.requests().len()), (3, 1));
    }
    let cut = Arc::new(Kept::default());
    *cut.entries.lock().unwrap() = whole.entries().into_iter().take(2).collect();
    let outcome = again(&runtime, &graph, &cut).await;
    assert_eq!(failed_at(&outcome), ("STREAM_GONE", Some("second")));
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn a_run_that_parks_leaves_its_streams() {
    let server = Slow::start(&[]).await;
    let (runtime, kept) = (runtime(), Arc::new(Kept::default()));
    let graph = chain(
        &[
            open(&server.url("/hold"), "lines"),
            node("wait", "Wait", json!({"durationMs": 7_200_000})),
            read("read", json!({})),
        ],
        "{{ $nodes.read }}",
    );
    assert_eq!(again(&runtime, &graph, &kept).await.status, Status::Parked);
    server.left.acquire().await.unwrap().forget();
    *kept.now_ms.lock().unwrap() = 7_200_000;
    let outcome = again(&runtime, &graph, &kept).await;
    assert_eq!(failed_at(&outcome), ("STREAM_GONE", Some("read")));
}
