//! Servers that mean harm to runs that read responses while they arrive, store them as files, ask for them in JavaScript, or read
//! page after page.

use super::server::{Server, endless};
use super::{bomb, head};
use crate::patterns::{node, pattern};
use crate::services::{Given, open_runtime, run_pattern, runtime_that_may_reach};
use crate::spoiler::{Spoiler, cases};
use crate::tried::{Memory, tried};
use heddle_runtime::{Limits, Runtime};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::mpsc;
use std::time::Duration;
use tokio::task::JoinSet;

/// How a run reads, what type and text an honest server sends it, and what becomes of that.
type Way = (&'static str, &'static str, &'static str, fn() -> Value);

const WAYS: [Way; 5] = [
    ("lines", "text/plain", "one\ntwo\r\n\nthree", || {
        json!(["one", "two", "", "three"])
    }),
    (
        "jsonLines",
        "application/jsonl",
        "{\"a\": 1}\n\n[2]\n\"x\"\n",
        || json!([{"a": 1}, [2], "x"]),
    ),
    (
        "events",
        "text/event-stream",
        ": hello\n\nevent: add\nid: 1\ndata: 1\ndata: 2\n\nretry: 10\ndata: 3\r\n\r\n",
        || json!([{"event": "add", "data": "1\n2", "id": "1"}, {"event": "message", "data": "3", "id": "1"}]),
    ),
    ("file", "text/csv", "a;b\n1;2\n", || {
        json!(["a b.csv", 8, "text/csv"])
    }),
    ("fetch", "application/json", "{\"a\": [1, 2]}", || {
        json!([200, 13, 13, "application/json"])
    }),
];
/// How a run may end because of what such a server has sent.
const CODES: &[&str] = &[
    "HTTP_FAILED",
    "STREAM_LIMIT",
    "FILE_LIMIT",
    "TIMEOUT",
    "PARSE",
    "DEPTH_LIMIT",
];
/// Milliseconds for which a run waits for what is sure to come or to be over, and for what is not.
const PATIENCE_MS: u32 = 30_000;
const IMPATIENCE_MS: u32 = 500;

/// A pattern that reads what is at this address, and waits for so many milliseconds.
fn reading(way: &str, url: &str, wait_ms: u32) -> Value {
    match way {
        "file" => {
            let get = json!({"url": url, "responseType": "file", "bodyOnly": true});
            let value = "{{ [$input.name, $input.size, $input.type] }}";
            pattern(
                &[
                    node("get", "HttpRequest", get),
                    node("end", "Return", json!({ "value": value })),
                ],
                &["start -> get", "get -> end"],
            )
        }
        "fetch" => {
            let url = json!(url);
            let source = format!(
                "export default async () => {{
                    const answer = await fetch({url}, {{signal: AbortSignal.timeout({wait_ms})}});
                    const text = await answer.clone().text();
                    const names = [...answer.headers].map(([name]) => name);
                    if (names.length !== new Set(names).size) throw new Error('a header is there twice');
                    return [answer.status, text.length, (await answer.bytes()).length, answer.headers.get('content-type')];
                }}"
            );
            pattern(
                &[
                    node("code", "JavaScript", json!({ "code": source })),
                    node("end", "Return", json!({})),
                ],
                &["start -> code", "code -> end"],
            )
        }
        _ => {
            let get = json!({"url": url, "responseType": way, "bodyOnly": true});
            let read = |id: &str| {
                let parameters = json!({
                    "stream": "{{ $nodes.get }}", "limit": 1_000, "waitMs": wait_ms, "gatherMs": wait_ms,
                });
                node(id, "ReadStream", parameters)
            };
            let value = "{{ $nodes.first.items.concat($nodes.second.items) }}";
            pattern(
                &[
                    node("get", "HttpRequest", get),
                    read("first"),
                    read("second"),
                    node("end", "Return", json!({ "value": value })),
                ],
                &["start -> get", "get -> first", "first -> second", "second -> end"],
            )
        }
    }
}

/// What a run gives that reads from the server at this port, or `CODE: message`.
async fn outcome(runtime: &Runtime, way: &str, port: u16, wait_ms: u32) -> Result<Value, String> {
    let pattern = reading(way, &format!("http://127.0.0.1:{port}/a%20b.csv"), wait_ms);
    let ran = run_pattern(runtime, &pattern, &Given::default(), Limits::default()).await;
    match ran.outcome.error {
        None => Ok(ran.output()),
        Some(_) => Err(ran.failure()),
    }
}

/// Reads a request, as far as it comes at once.
fn asked(stream: &mut TcpStream) {
    let _ = stream.read(&mut [0; 1 << 12]);
}

/// A server that sends this in several pieces.
fn answering(answer: Vec<u8>) -> Server {
    Server::start(move |mut stream| {
        let _ = stream.set_nodelay(true);
        asked(&mut stream);
        for piece in answer.chunks(answer.len() / 5 + 1) {
            if stream.write_all(piece).is_err() {
                return;
            }
        }
    })
}

fn honest(media_type: &str, body: &str) -> Vec<u8> {
    let headers = format!(
        "content-type: {media_type}\r\ncontent-length: {}\r\ncontent-disposition: inline",
        body.len()
    );
    [head("200 OK", &headers), body.as_bytes().to_vec()].concat()
}

/// Whether a run may end in this way.
fn is_known(failure: &str, more: &[&str]) -> bool {
    let code = failure.split(':').next().unwrap_or_default();
    let is_status = code
        .strip_prefix("HTTP_")
        .is_some_and(|status| status.parse::<u16>().is_ok());
    is_status || CODES.contains(&code) || more.contains(&code)
}

async fn all_end_well(way: &'static str, count: u64) {
    let (_, media_type, body, expected) = WAYS.iter().find(|(name, ..)| *name == way).copied().unwrap();
    let runtime = open_runtime();
    let other = answering(honest(media_type, body));
    let port = other.port;
    let of_other = outcome(&runtime, way, port, PATIENCE_MS).await;
    assert_eq!(of_other, Ok(expected()), "{way}");
    tried(way, count, move |seed| {
        let runtime = runtime.clone();
        async move {
            let mut spoiler = Spoiler::new(seed, 1);
            let server = answering(spoiler.spoil(honest(media_type, body)));
            if let Err(failure) = outcome(&runtime, way, server.port, PATIENCE_MS).await {
                // Code fails by itself where it is given a header that is none.
                assert!(
                    is_known(&failure, &["JAVASCRIPT"]),
                    "{way}, seed {seed}: {failure}"
                );
            }
            if seed % 16 == 0 {
                let of_other = outcome(&runtime, way, port, PATIENCE_MS).await;
                assert_eq!(of_other, Ok(expected()), "{way}, seed {seed}");
            }
            spoiler.has_spoilt()
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn generated_answers_read_while_they_arrive_end_well() {
    for way in ["lines", "jsonLines", "events"] {
        all_end_well(way, cases(60)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn generated_answers_stored_as_files_end_well() {
    all_end_well("file", cases(100)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn generated_answers_to_code_end_well() {
    all_end_well("fetch", cases(60)).await;
}

/// `{}` by brotli, with windows of 16 MiB, the largest of RFC 7932, and of a gigabyte, which no `Content-Encoding` may have. Whoever
/// decompresses keeps as much as the window holds of what it has read.
const WINDOWS: [&[u8]; 2] = [
    &[0x8f, 0, 0x80, b'{', b'}', 3],
    &[0x11, 0x1e, 2, 0, 2, b'{', b'}', 3],
];

#[tokio::test(flavor = "multi_thread")]
async fn no_answer_keeps_more_of_itself_in_memory_than_the_standard_allows() {
    let runtime = open_runtime();
    let [within, beyond] = WINDOWS.map(|body| {
        let headers = format!(
            "content-type: text/csv\r\ncontent-encoding: br\r\ncontent-length: {}",
            body.len()
        );
        answering([head("200 OK", &headers), body.to_vec()].concat())
    });
    for (way, expected) in [
        ("file", json!(["a b.csv", 2, "text/csv"])),
        ("fetch", json!([200, 2, 2, "text/csv"])),
    ] {
        let of_standard = outcome(&runtime, way, within.port, PATIENCE_MS).await;
        assert_eq!(of_standard, Ok(expected), "{way}");
        let failure = outcome(&runtime, way, beyond.port, PATIENCE_MS)
            .await
            .unwrap_err();
        assert!(is_known(&failure, &["JAVASCRIPT"]), "{way}: {failure}");
    }
}

/// A run may have several of them open, for as long as it likes.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_read_while_it_arrives_keeps_no_window_of_brotli() {
    let runtime = open_runtime();
    for (way, media_type, body, expected) in WAYS {
        let (sender, requests) = mpsc::channel();
        let server = Server::start(move |mut stream| {
            let mut head = [0; 1 << 12];
            let bytes = stream.read(&mut head).unwrap_or(0);
            let _ = sender.send(String::from_utf8_lossy(&head[..bytes]).to_ascii_lowercase());
            let _ = stream.write_all(&honest(media_type, body));
        });
        let of_honest = outcome(&runtime, way, server.port, PATIENCE_MS).await;
        assert_eq!(of_honest, Ok(expected()), "{way}");
        let request = requests.recv().unwrap();
        let offered = request
            .lines()
            .find_map(|line| line.strip_prefix("accept-encoding:"));
        let offered: Vec<&str> = offered.unwrap_or_default().split(',').map(str::trim).collect();
        let is_live = !matches!(way, "file" | "fetch");
        assert!(
            offered.contains(&"gzip") && offered.contains(&"deflate"),
            "{way}: {request}"
        );
        assert_eq!(offered.contains(&"br"), !is_live, "{way}: {request}");
        if is_live {
            let headers = format!("content-type: {media_type}\r\ncontent-encoding: br\r\ncontent-length: 6");
            let server = answering([head("200 OK", &headers), WINDOWS[0].to_vec()].concat());
            let failure = outcome(&runtime, way, server.port, PATIENCE_MS)
                .await
                .unwrap_err();
            assert!(
                failure.starts_with("HTTP_FAILED: ") && failure.contains("brotli"),
                "{way}: {failure}"
            );
        }
    }
}

/// Begins like this and goes on with the piece for ever; without a piece it ends.
fn endless_after(begin: Vec<u8>, piece: &'static str) -> Server {
    Server::start(move |mut stream| {
        asked(&mut stream);
        if stream.write_all(&begin).is_ok() && !piece.is_empty() {
            endless(&mut stream, piece.as_bytes());
        }
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn endless_answers_are_read_within_bounds() {
    let runtime = open_runtime();
    let ok = |headers: &str| head("200 OK", headers);
    let cases = [
        ([ok("content-encoding: gzip"), bomb("gzip")].concat(), ""),
        (ok("x: y"), "x"),
        (ok("x: y"), "\n"),
        (ok("x: y"), ": nothing\n"),
        (ok("x: y"), "data: x\n"),
        (ok("x: y"), "id: 1\ndata\n\n"),
        (ok("x: y"), "["),
        (ok("content-length: 18446744073709551615"), "x\n"),
        (ok("content-length: 4611686018427387904"), "{}\n"),
        (ok("transfer-encoding: chunked"), "5\r\nabcd\n\r\n"),
        (ok("transfer-encoding: chunked"), "f"),
        (b"HTTP/1.1 200 OK\r\na: ".to_vec(), "b"),
        (b"HTTP/1.1 200 OK\r\n".to_vec(), "a: b\r\n"),
    ];
    let memory = Memory::measured().await;
    for (number, (begin, piece)) in cases.into_iter().enumerate() {
        let mut together = JoinSet::new();
        for (way, ..) in WAYS {
            let (runtime, begin) = (runtime.clone(), begin.clone());
            together.spawn(async move {
                let server = endless_after(begin, piece);
                let wait_ms = match way {
                    "fetch" => PATIENCE_MS,
                    _ => IMPATIENCE_MS,
                };
                match outcome(&runtime, way, server.port, wait_ms).await {
                    // Lines and events come for as long as somebody reads them.
                    Ok(_) => assert!(!matches!(way, "file" | "fetch"), "{way}, {number}"),
                    Err(failure) => assert!(is_known(&failure, &[]), "{way}, {number}: {failure}"),
                }
            });
        }
        while let Some(ended) = together.join_next().await {
            ended.unwrap();
        }
    }
    memory.assert_bounded("what runs read");
}

/// A server that says so much and then nothing, which tells when its connection was closed.
fn silent_after(begin: Vec<u8>) -> (Server, mpsc::Receiver<()>) {
    let (sender, closed) = mpsc::channel();
    let server = Server::start(move |mut stream| {
        asked(&mut stream);
        let _ = stream.write_all(&begin);
        let _ = stream.set_read_timeout(None);
        while stream.read(&mut [0; 64]).is_ok_and(|bytes| bytes > 0) {}
        let _ = sender.send(());
    });
    (server, closed)
}

/// Whether a run that may take so long gets to a server that begins like this and falls silent, and leaves it.
async fn leaves(runtime: &Runtime, way: &str, begin: Vec<u8>, deadline: Duration) -> bool {
    let limits = Limits {
        deadline,
        ..Limits::default()
    };
    let (server, closed) = silent_after(begin);
    let url = format!("http://127.0.0.1:{}/", server.port);
    let pattern = reading(way, &url, IMPATIENCE_MS);
    let ran = run_pattern(runtime, &pattern, &Given::default(), limits).await;
    match ran.outcome.error {
        // Whoever reads while it arrives has read nothing.
        None => assert_eq!(ran.output(), json!([]), "{way}"),
        Some(_) => assert!(ran.failure().starts_with("TIMEOUT: "), "{way}: {}", ran.failure()),
    }
    drop(server);
    // Nothing is kept open of a run that has ended. Nobody tells of a connection that was never made.
    let closed = tokio::task::spawn_blocking(move || closed.recv());
    closed.await.unwrap().is_ok()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_falls_silent_is_left() {
    let runtime = open_runtime();
    let mut together = JoinSet::new();
    for (way, ..) in WAYS {
        for begin in [b"HTTP/1.1 200 O".to_vec(), head("200 OK", "content-length: 9")] {
            let runtime = runtime.clone();
            together.spawn(async move {
                let mut deadline = Duration::from_secs(3);
                // On a busy machine its time may be over before a run gets there.
                while !leaves(&runtime, way, begin.clone(), deadline).await {
                    deadline *= 2;
                }
            });
        }
    }
    while let Some(ended) = together.join_next().await {
        ended.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_is_called_what_a_stranger_says_and_no_more() {
    let runtime = open_runtime();
    let long = format!("attachment; filename=\"{}\"", "n".repeat(100_000));
    let pieces = format!("attachment{}", "; a=\"b\\\"".repeat(10_000));
    let quotes = format!("attachment; filename*=UTF-8{}", "'".repeat(50_000));
    let escapes = format!("attachment; filename*=UTF-8''{}", "%ff%".repeat(10_000));
    for name in [
        "attachment; filename=../../../../etc/passwd",
        "attachment; filename*=UTF-8''..%2f..%00%0d%0aset-cookie:%20a=b",
        "attachment; filename*=%%%; filename==;=",
        "; ; ;=;filename",
        "attachment; filename=\"\\",
        "attachment; filename=\"$\u{202e}gpj.exe\"",
        long.as_str(),
        pieces.as_str(),
        quotes.as_str(),
        escapes.as_str(),
    ] {
        let headers = format!("content-length: 2\r\ncontent-type: {name}\r\ncontent-disposition: {name}");
        let server = answering([head("200 OK", &headers), b"ok".to_vec()].concat());
        let shown: String = name.chars().take(50).collect();
        let got = outcome(&runtime, "file", server.port, PATIENCE_MS).await;
        let got = got.unwrap_or_else(|failure| panic!("{shown}: {failure}"));
        // What it becomes is the service's business, which keeps files; nothing of it is read or written here.
        assert!(got[0].as_str().unwrap().len() <= 300_000, "{shown}");
        assert_eq!(got[1], 2, "{shown}");
    }
}

/// A value takes a hundred times the room that it has in a page.
#[tokio::test(flavor = "multi_thread")]
async fn pages_of_too_many_values_are_refused_before_any_is_built() {
    let runtime = open_runtime();
    let memory = Memory::measured().await;
    let pages = async |list: String| {
        let server = answering(honest("application/json", &format!("{{\"all\": [{list}0]}}")));
        let get = json!({
            "url": format!("http://127.0.0.1:{}/", server.port), "bodyOnly": true,
            "pagination": {"type": "link", "items": "all", "maxPages": 3},
        });
        let pattern = pattern(
            &[
                node("get", "HttpRequest", get),
                node("end", "Return", json!({"value": "{{ $input.length }}"})),
            ],
            &["start -> get", "get -> end"],
        );
        let ran = run_pattern(&runtime, &pattern, &Given::default(), Limits::default()).await;
        match ran.outcome.error {
            None => Ok(ran.output()),
            Some(_) => Err(ran.failure()),
        }
    };
    for element in ["0,", "{},", "{\"\":0},"] {
        let failure = pages(element.repeat((6 << 20) / element.len()))
            .await
            .unwrap_err();
        assert!(
            failure.starts_with("HTTP_FAILED: The first 1 pages together have more than 1000000 values"),
            "{element}: {failure}"
        );
    }
    // What stands in texts is none.
    let text = format!("\"{}\",", "\\\",[{".repeat(500_000));
    assert_eq!(pages(text).await, Ok(json!(2)));
    memory.assert_bounded("pages");
}

/// However a run reads, it follows nobody to where it may not go, and is not told where that is.
#[tokio::test(flavor = "multi_thread")]
async fn redirects_lead_no_reader_to_private_addresses() {
    let (sender, asked_there) = mpsc::channel();
    let inside = Server::start(move |_| {
        let _ = sender.send(());
    });
    let location = format!("location: http://localhost:{}/\r\ncontent-length: 0", inside.port);
    for (way, ..) in WAYS {
        let server = answering(head("302 Found", &location));
        let allowed = format!("127.0.0.1:{}", server.port);
        let runtime = runtime_that_may_reach(&allowed);
        let failure = outcome(&runtime, way, server.port, PATIENCE_MS)
            .await
            .unwrap_err();
        assert!(
            failure.starts_with("EGRESS_DENIED: ")
                && failure.contains("localhost is not at a public address"),
            "{way}: {failure}"
        );
        let named = failure.replace(&allowed, "");
        assert!(
            !named.contains("127.0.0.1") && !named.contains("::1"),
            "{way}: {failure}"
        );
    }
    assert!(asked_there.try_recv().is_err());
}
