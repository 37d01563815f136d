//! Called services that mean harm: malformed and endless answers of every protocol against the effects that read them. The
//! process lives, its memory stays within bounds, and only the node that asked fails.

mod mysql;
mod outside_runs;
mod postgres;
mod read_by_runs;
mod server;

use crate::services::{Given, closed_runtime, open_runtime, open_runtime_with_connectors, run_data};
use crate::spoiler::{Spoiler, cases};
use crate::tried::{Memory, tried};
use heddle_runtime::{Limits, Runtime};
use postgres::{INT4, INT4_ARRAY, Says};
use serde_json::{Value, json};
use server::{Server, endless, read, say, serve};
use std::io::Write;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Drivers in this process, and in processes of their own.
fn runtimes() -> [(&'static str, Runtime); 2] {
    [
        ("in this process", open_runtime()),
        ("in connectors", open_runtime_with_connectors()),
    ]
}

/// That a connector's process has met its limit of memory, which is the system's.
const OUT_OF_MEMORY: &str = "more memory than a connection may use";

/// What a node does with a server at this port: its output, or `CODE: message`.
async fn outcome(runtime: &Runtime, node: &str, port: u16) -> Result<Value, String> {
    let at = |path: &str| format!("http://127.0.0.1:{port}{path}");
    let database = |kind: &str| json!({"kind": kind, "host": "127.0.0.1", "port": port, "tls": "none", "password": "pw"});
    let query = json!({"connection": "it", "query": "select 7 as v"});
    let (node_type, parameters, fields) = match node {
        "postgres" | "mysql" => ("SqlQuery", query, database(node)),
        "mail" | "starttls" => {
            let mail = json!({
                "connection": "it", "from": "a@example.com", "to": "b@example.com", "subject": "Hi", "text": "Hi",
            });
            let tls = if node == "mail" { "none" } else { "starttls" };
            let fields =
                json!({"host": "127.0.0.1", "port": port, "tls": tls, "user": "a", "password": "pw"});
            ("SendEmail", mail, fields)
        }
        "http" => ("HttpRequest", json!({"url": at("/")}), json!({"auth": "none"})),
        "pages" => {
            let pagination = json!({"type": "link", "items": "choices", "maxPages": 3});
            let request = json!({"url": at("/"), "pagination": pagination});
            ("HttpRequest", request, json!({"auth": "none"}))
        }
        "oauth" => {
            let fields = json!({"tokenUrl": at("/token"), "clientId": "a", "clientSecret": "s3cret"});
            ("HttpRequest", json!({"url": at("/"), "connection": "it"}), fields)
        }
        "chat" => {
            let chat = json!({
                "connection": "it", "model": "m", "messages": [{"role": "user", "content": "Hi"}],
            });
            (
                "ChatCompletion",
                chat,
                json!({"apiKey": "sk-s3cret", "baseUrl": at("/v1")}),
            )
        }
        _ => panic!("{node}"),
    };
    // Conversations of these protocols end by themselves, and a busy machine takes its time to start processes for them.
    let timeout_ms = match node {
        "postgres" | "mysql" | "mail" | "starttls" => 60_000,
        _ => 10_000,
    };
    let data = json!({ "parameters": parameters, "timeoutMs": timeout_ms });
    let ran = run_data(
        runtime,
        node_type,
        data,
        &Given::one("it", fields),
        Limits::default(),
    )
    .await;
    match ran.outcome.error {
        None => Ok(ran.output()),
        Some(_) => Err(ran.failure()),
    }
}

async fn failure(runtime: &Runtime, node: &str, port: u16) -> String {
    outcome(runtime, node, port).await.unwrap_err()
}

/// A PostgreSQL server that says this.
fn database(says: Says) -> u16 {
    serve(move |stream| {
        postgres::talk(stream, &says, |said| said);
    })
}

/// Another server is asked as ever.
async fn others_go_on(runtime: &Runtime) {
    let honest = database(Says::value(INT4, vec![0, 0, 0, 7]));
    assert_eq!(outcome(runtime, "postgres", honest).await, Ok(json!([{"v": 7}])));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_claims_endless_columns_harms_its_own_process_only() {
    let runtime = open_runtime_with_connectors();
    let port = serve(|stream| {
        mysql::talk(stream, |_| mysql::endless_columns());
    });
    let failure = failure(&runtime, "mysql", port).await;
    assert!(
        failure.starts_with("SQL_FAILED: The database 127.0.0.1:"),
        "{failure}"
    );
    assert!(failure.contains("sent an unreadable answer"), "{failure}");
    others_go_on(&runtime).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn types_that_are_based_on_each_other_overflow_no_stack() {
    for (mode, runtime) in runtimes() {
        for (first, count) in [(100_000, 300_000), (100_000, 2_000)] {
            let says = Says {
                oid: first + count - 1,
                value: vec![0, 0, 0, 7],
                types: postgres::domains(first, count),
            };
            let failure = failure(&runtime, "postgres", database(says)).await;
            assert!(failure.starts_with("SQL_"), "{mode}: {failure}");
        }
        others_go_on(&runtime).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn arrays_are_no_larger_than_their_bytes() {
    let array = |dimensions: i32, lengths: &[i32], elements: &[u8]| {
        let mut bytes = [dimensions.to_be_bytes(), [0; 4], INT4.to_be_bytes()].concat();
        for length in lengths {
            bytes.extend(length.to_be_bytes());
            bytes.extend(1_i32.to_be_bytes());
        }
        bytes.extend(elements);
        bytes
    };
    let million = vec![1; 1_000_000];
    let cases = [
        (
            array(1_000_000, &million, &[0xff; 4]),
            Err("1000000 dimensions, more than 6"),
        ),
        (array(i32::MAX, &[], &[]), Err("dimensions, more than 6")),
        (array(-1, &[], &[]), Err("a negative number of dimensions")),
        (array(7, &[1; 7], &[0xff; 4]), Err("7 dimensions, more than 6")),
        (array(2, &[i32::MAX, 0], &[]), Ok(json!([]))),
        (array(1, &[i32::MAX], &[0xff; 64]), Err("it ends early")),
        (array(6, &[i32::MAX; 6], &[0xff; 64]), Err("it ends early")),
        (array(1, &[-1], &[]), Err("it has a negative length")),
        (array(2, &[1, 2], &[0xff; 8]), Ok(json!([[null, null]]))),
        (array(6, &[1; 6], &[0xff; 4]), Ok(json!([[[[[[null]]]]]]))),
    ];
    for (mode, runtime) in runtimes() {
        for (value, expected) in cases.clone() {
            let port = database(Says::value(INT4_ARRAY, value));
            let got = outcome(&runtime, "postgres", port).await;
            match expected {
                Ok(expected) => assert_eq!(got, Ok(json!([{ "v": expected }])), "{mode}"),
                Err(expected) => {
                    let failure = got.unwrap_err();
                    let begins = failure.starts_with("SQL_FAILED: Can't read the column `v`: ");
                    assert!(begins && failure.contains(expected), "{mode}: {failure}");
                }
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn few_bytes_become_no_long_numbers() {
    // A number of 32,768 groups of four digits, in ten bytes; a thousand times.
    let number = [0, 1, 0x7f, 0xff, 0, 0, 0, 0, 0, 1];
    let mut array = [1_i32.to_be_bytes(), [0; 4], 1700_u32.to_be_bytes()].concat();
    array.extend([1_000_i32.to_be_bytes(), 1_i32.to_be_bytes()].concat());
    for _ in 0..1_000 {
        array.extend(10_i32.to_be_bytes());
        array.extend(number);
    }
    for (mode, runtime) in runtimes() {
        let port = database(Says::value(1231, array.clone()));
        let failure = failure(&runtime, "postgres", port).await;
        assert!(
            failure.starts_with("SQL_ROW_LIMIT: The first 1 rows are larger than"),
            "{mode}: {failure}"
        );
    }
}

/// What a server says first.
type Begin = fn(&mut TcpStream) -> Option<Vec<u8>>;

/// Begins as `begin` and goes on with this for ever.
fn endless_after(begin: Begin, piece: Vec<u8>) -> u16 {
    serve(move |mut stream| {
        let Some(first) = begin(&mut stream) else { return };
        if stream.write_all(&first).is_ok() {
            endless(&mut stream, &piece);
        }
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn endless_answers_of_databases_are_cut_off() {
    let huge = |tag: u8| [&[tag], [0xff, 0xff, 0xff, 0xf0].as_slice()].concat();
    let status = (0..1_000).flat_map(|number| {
        postgres::message(b'S', format!("name{number}\0{}\0", "x".repeat(1_000)).as_bytes())
    });
    let notice = postgres::message(
        b'N',
        &[b"SNOTICE\0M".as_slice(), &[b'x'; 1_000], b"\0\0"].concat(),
    );
    let cases: [(Begin, Vec<u8>); 4] = [
        (postgres::welcome, status.collect()),
        (postgres::welcome, notice),
        (postgres::welcome, huge(b'D')),
        (|stream| read(stream, 8).map(|_| Vec::new()), huge(b'R')),
    ];
    for (mode, runtime) in runtimes() {
        let memory = Memory::measured().await;
        for (begin, piece) in cases.clone() {
            let failure = failure(&runtime, "postgres", endless_after(begin, piece)).await;
            assert!(failure.starts_with("SQL_"), "{mode}: {failure}");
        }
        let failure = failure(
            &runtime,
            "mysql",
            endless_after(|_| Some(Vec::new()), vec![0xff; 1_000]),
        )
        .await;
        assert!(failure.starts_with("SQL_"), "{mode}: {failure}");
        memory.assert_bounded(mode);
        others_go_on(&runtime).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_that_never_ends_its_line_is_cut_off() {
    for (mode, runtime) in runtimes() {
        let memory = Memory::measured().await;
        for piece in ["x", "220-x\r\n"] {
            let port = endless_after(|_| Some(b"220".to_vec()), piece.as_bytes().to_vec());
            let failure = failure(&runtime, "mail", port).await;
            // Cut off at the limit, or where a reply that came in pieces makes no sense.
            let begins = failure.starts_with("MAIL_FAILED: The mail server 127.0.0.1:");
            assert!(begins && !failure.contains(OUT_OF_MEMORY), "{mode}: {failure}");
        }
        memory.assert_bounded(mode);
    }
}

/// So many zeros, compressed.
fn bomb(encoding: &str) -> Vec<u8> {
    let zeros = vec![0; 1 << 20];
    let mut packed = Vec::new();
    match encoding {
        "br" => {
            let mut writer = brotli::CompressorWriter::new(&mut packed, 1 << 16, 5, 22);
            (0..256).for_each(|_| writer.write_all(&zeros).unwrap());
        }
        "deflate" => {
            let mut writer = flate2::write::ZlibEncoder::new(&mut packed, flate2::Compression::best());
            (0..256).for_each(|_| writer.write_all(&zeros).unwrap());
        }
        _ => {
            let mut writer = flate2::write::GzEncoder::new(&mut packed, flate2::Compression::best());
            (0..256).for_each(|_| writer.write_all(&zeros).unwrap());
        }
    }
    packed
}

fn head(status: &str, headers: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status}\r\n{headers}\r\n\r\n").into_bytes()
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_by_http_are_bounded_whatever_they_claim() {
    let runtime = open_runtime();
    let memory = Memory::measured().await;
    let packed = |encoding: &str| {
        [
            head("200 OK", &format!("content-encoding: {encoding}")),
            bomb(encoding),
        ]
        .concat()
    };
    let (gzip, brotli, deflate) = (packed("gzip"), packed("br"), packed("deflate"));
    for node in ["http", "oauth", "chat"] {
        for (begin, piece) in [
            (gzip.clone(), Vec::new()),
            (brotli.clone(), Vec::new()),
            (deflate.clone(), Vec::new()),
            (
                head("200 OK", "transfer-encoding: chunked"),
                b"4\r\naaaa\r\n".to_vec(),
            ),
            (head("200 OK", "content-type: application/json"), b"[".to_vec()),
            (
                head("200 OK", "content-length: 18446744073709551615"),
                b"x".to_vec(),
            ),
            (b"HTTP/1.1 200 OK\r\n".to_vec(), b"a: b\r\n".to_vec()),
            (b"HTTP/1.1 200 OK\r\na: ".to_vec(), b"b".to_vec()),
            (head("200 OK", "transfer-encoding: chunked"), b"f".to_vec()),
            (
                b"HTTP/1.1 100 Continue\r\n\r\n".to_vec(),
                b"HTTP/1.1 100 Continue\r\n\r\n".to_vec(),
            ),
        ] {
            let port = serve(move |mut stream| {
                let mut asked = [0; 1 << 16];
                let _ = std::io::Read::read(&mut stream, &mut asked);
                if stream.write_all(&begin).is_ok() && !piece.is_empty() {
                    endless(&mut stream, &piece);
                }
            });
            let failure = failure(&runtime, node, port).await;
            let known = ["HTTP_FAILED: ", "OAUTH_FAILED: ", "TIMEOUT: ", "CHAT_"];
            assert!(
                known.iter().any(|code| failure.starts_with(code)),
                "{node}: {failure}"
            );
        }
    }
    memory.assert_bounded("HTTP");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_sends_on_for_ever_is_left() {
    let runtime = open_runtime();
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = asked.clone();
    let server = Server::start(move |mut stream| {
        let mut read = [0; 1 << 16];
        let _ = std::io::Read::read(&mut stream, &mut read);
        let number = counted.fetch_add(1, Ordering::AcqRel);
        let location = format!("location: /{number}/{}", "x".repeat(1_000));
        let _ = stream.write_all(&head("302 Found", &location));
    });
    let failure = failure(&runtime, "http", server.port).await;
    assert!(failure.starts_with("HTTP_FAILED: "), "{failure}");
    // The request, and ten that follow it.
    assert_eq!(asked.load(Ordering::Acquire), 11);
}

#[tokio::test(flavor = "multi_thread")]
async fn strange_times_to_wait_come_with_an_answer_as_any_other() {
    let runtime = open_runtime();
    for wait in [
        "18446744073709551616",
        "-1",
        "1e9",
        "",
        "Fri, 31 Dec 9999 23:59:59 GMT",
        "Fri, 99 Foo 99999999999 99:99:99 GMT",
        "0x10",
    ] {
        let server = Server::start(move |mut stream| {
            let mut read = [0; 1 << 16];
            let _ = std::io::Read::read(&mut stream, &mut read);
            let headers = format!("retry-after: {wait}\r\ncontent-length: 0");
            let _ = stream.write_all(&head("503 Service Unavailable", &headers));
        });
        let failure = failure(&runtime, "http", server.port).await;
        assert!(failure.starts_with("HTTP_503: "), "{wait}: {failure}");
    }
}

/// Types of PostgreSQL, and a value of each in binary.
const PG_VALUES: &[(u32, &[u8])] = &[
    (INT4_ARRAY, &[0; 12]),
    (16, &[1]),
    (20, &[0, 0, 0, 0, 0, 0, 0, 7]),
    (25, b"text"),
    (17, b"bytes"),
    (701, &[0x3f, 0xf0, 0, 0, 0, 0, 0, 0]),
    (1_700, &[0, 2, 0, 0, 0, 0, 0, 2, 0, 7, 0x13, 0x88]),
    (114, b"{\"a\": [1, {\"b\": null}]}"),
    (3_802, b"\x01{\"a\": [1, {\"b\": null}]}"),
    (1_082, &[0, 0, 0x20, 0]),
    (1_083, &[0, 0, 0, 1, 0, 0, 0, 0]),
    (1_184, &[0, 2, 0, 0, 0, 0, 0, 0]),
    (1_186, &[0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 3]),
    (2_950, &[7; 16]),
];

/// Serves answers that follow from a seed; the second says later whether any was spoilt.
fn generated(node: &str, seed: u64) -> (Server, Spoiler) {
    let said = match node {
        "postgres" => 5,
        "mysql" => 4,
        "mail" => 7,
        "starttls" => 4,
        _ => 1,
    };
    let spoiler = Spoiler::new(seed, said);
    let mut of_server = spoiler.clone();
    let server = match node {
        "postgres" => {
            let (oid, value) = PG_VALUES[usize::try_from(seed).unwrap() % PG_VALUES.len()];
            let says = Says::value(oid, value.to_vec());
            Server::start(move |stream| {
                let mut spoiler = of_server.clone();
                postgres::talk(stream, &says, |said| spoiler.spoil(said));
            })
        }
        "mysql" => Server::start(move |stream| {
            let mut spoiler = of_server.clone();
            mysql::talk(stream, |said| spoiler.spoil(said));
        }),
        "mail" | "starttls" => {
            let replies: &'static [&'static [u8]] = match node {
                "mail" => &[
                    b"220 here\r\n",
                    b"250-here\r\n250 AUTH PLAIN LOGIN\r\n",
                    b"235 in\r\n",
                    b"250 ok\r\n",
                    b"250 ok\r\n",
                    b"354 go on\r\n",
                    b"250 taken\r\n",
                ],
                _ => &[
                    b"220 here\r\n",
                    b"250-here\r\n250 STARTTLS\r\n",
                    b"220 go on\r\n",
                    // A ServerHello of TLS 1.2 that ends early.
                    b"\x16\x03\x03\x00\x2a\x02\x00\x00\x26\x03\x03serverserverserverserverserverse\x00\xc0\x2b\x00",
                ],
            };
            Server::start(move |mut stream| {
                let mut spoiler = of_server.clone();
                let mut spoil = |said| spoiler.spoil(said);
                for (number, reply) in replies.iter().enumerate() {
                    let mut asked = [0; 4096];
                    if say(&mut stream, reply.to_vec(), &mut spoil).is_none()
                        || number + 1 == replies.len()
                        || !matches!(std::io::Read::read(&mut stream, &mut asked), Ok(1..))
                    {
                        return;
                    }
                }
            })
        }
        _ => {
            let body = json!({
                "access_token": "t", "token_type": "Bearer", "expires_in": 60,
                "choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}], "usage": {"total_tokens": 7},
            });
            let body = body.to_string();
            let headers = format!(
                "content-type: application/json\r\nlink: </2>; rel=\"next\"\r\ncontent-length: {}",
                body.len()
            );
            let answer = of_server.spoil([head("200 OK", &headers), body.into_bytes()].concat());
            Server::start(move |mut stream| {
                let mut asked = [0; 4096];
                let _ = std::io::Read::read(&mut stream, &mut asked);
                let _ = stream.write_all(&answer);
            })
        }
    };
    (server, spoiler)
}

/// Every case ends with what the node may end with.
async fn all_end_well(runtime: Runtime, node: &'static str, codes: &'static [&'static str], count: u64) {
    tried(node, count, move |seed| {
        let runtime = runtime.clone();
        async move {
            let (server, spoiler) = generated(node, seed);
            if let Err(failure) = outcome(&runtime, node, server.port).await {
                let code = failure.split(':').next().unwrap_or_default();
                let is_status = code
                    .strip_prefix("HTTP_")
                    .is_some_and(|status| status.parse::<u16>().is_ok());
                assert!(
                    is_status || codes.contains(&code),
                    "{node}, seed {seed}: {failure}"
                );
                // Drivers of databases take room for what a message claims to have, which the system refuses beyond the limit.
                let may_run_out = matches!(node, "postgres" | "mysql");
                assert!(
                    may_run_out || !failure.contains(OUT_OF_MEMORY),
                    "{node}, seed {seed}: {failure}"
                );
            }
            spoiler.has_spoilt()
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn generated_answers_of_databases_end_well() {
    let codes = &["SQL_FAILED", "SQL_ROW_LIMIT", "TIMEOUT", "PARAMETER"];
    for node in ["postgres", "mysql"] {
        all_end_well(open_runtime_with_connectors(), node, codes, cases(150)).await;
    }
    // MySQL's driver can end the process that it is in: see docs/security.md.
    all_end_well(open_runtime(), "postgres", codes, cases(100)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn generated_answers_of_mail_servers_end_well() {
    let codes = &["MAIL_FAILED", "TIMEOUT"];
    for node in ["mail", "starttls"] {
        all_end_well(open_runtime(), node, codes, cases(150)).await;
        all_end_well(open_runtime_with_connectors(), node, codes, cases(75)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn generated_answers_by_http_end_well() {
    let codes = &[
        "HTTP_FAILED",
        "OAUTH_FAILED",
        "CHAT_REFUSED",
        "CHAT_JSON",
        "TIMEOUT",
        "PARSE",
        "DEPTH_LIMIT",
    ];
    for node in ["http", "oauth", "chat"] {
        all_end_well(open_runtime(), node, codes, cases(150)).await;
    }
    all_end_well(open_runtime(), "pages", codes, cases(75)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_does_not_say_where_a_name_is() {
    let runtime = closed_runtime();
    let fields = |kind: &str| json!({"kind": kind, "host": "localhost", "port": 9, "tls": "none"});
    let query = json!({"connection": "it", "query": "select 1"});
    let mail = json!({
        "connection": "it", "from": "a@example.com", "to": "b@example.com", "subject": "Hi", "text": "Hi",
    });
    for (node_type, parameters, fields) in [
        ("SqlQuery", query.clone(), fields("postgres")),
        ("SqlQuery", query, fields("mysql")),
        ("SendEmail", mail, fields("none")),
        ("HttpRequest", json!({"url": "http://localhost:9/"}), json!({})),
    ] {
        let data = json!({ "parameters": parameters });
        let given = Given::one("it", fields);
        let failure = run_data(&runtime, node_type, data, &given, Limits::default())
            .await
            .failure();
        assert_eq!(
            failure,
            "EGRESS_DENIED: localhost is not at a public address. Requests may only go there if the operator \
             lists it in HEDDLE_EGRESS_ALLOW."
        );
    }
    let data = json!({ "parameters": {"url": "http://127.0.0.1:9/"} });
    let failure = run_data(
        &runtime,
        "HttpRequest",
        data,
        &Given::default(),
        Limits::default(),
    )
    .await
    .failure();
    assert!(
        failure.starts_with("EGRESS_DENIED: 127.0.0.1 is not a public address."),
        "{failure}"
    );
}
