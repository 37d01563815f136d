//! Called services that mean harm: malformed and endless answers of every protocol against the effects that read them. The
//! process lives, its memory stays within bounds, and only the node that asked fails.

mod mysql;
mod postgres;
mod server;

use crate::services::{Given, closed_runtime, open_runtime, open_runtime_with_connectors, run_data};
use heddle_runtime::{Limits, Runtime};
use postgres::{INT4, INT4_ARRAY, Says};
use serde_json::{Value, json};
use server::{endless, read, serve, spoilt};
use std::io::Write;
use std::net::TcpStream;
use tokio::task::JoinSet;

/// By which memory may grow while something endless is answered, other tests included; it was several times as much.
const GROWTH_KIB_MAX: u64 = 1 << 20;
/// Cases of a protocol at a time.
const TOGETHER: usize = 4;

/// Drivers in this process, and in processes of their own.
fn runtimes() -> [(&'static str, Runtime); 2] {
    [
        ("in this process", open_runtime()),
        ("in connectors", open_runtime_with_connectors()),
    ]
}

/// The most memory that this process has had, in KiB.
fn memory_peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.map_or(0, |line| line.trim().trim_end_matches(" kB").parse().unwrap())
}

/// How much more it has had since then, in KiB. The kernel sums up what its processors count from time to time, so that a
/// peak may be read as a little less than before.
fn grown_since(before: u64) -> u64 {
    memory_peak().saturating_sub(before)
}

/// What a node does with a server at this port: its output, or `CODE: message`.
async fn outcome(runtime: &Runtime, node: &str, port: u16) -> Result<Value, String> {
    let at = |path: &str| format!("http://127.0.0.1:{port}{path}");
    let database = |kind: &str| json!({"kind": kind, "host": "127.0.0.1", "port": port, "tls": "none", "password": "pw"});
    let query = json!({"connection": "it", "query": "select 7 as v"});
    let (node_type, parameters, fields) = match node {
        "postgres" | "mysql" => ("SqlQuery", query, database(node)),
        "mail" => {
            let mail = json!({
                "connection": "it", "from": "a@example.com", "to": "b@example.com", "subject": "Hi", "text": "Hi",
            });
            let fields =
                json!({"host": "127.0.0.1", "port": port, "tls": "none", "user": "a", "password": "pw"});
            ("SendEmail", mail, fields)
        }
        "http" => ("HttpRequest", json!({"url": at("/")}), json!({"auth": "none"})),
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
    let data = json!({ "parameters": parameters, "timeoutMs": 10_000 });
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
        let before = memory_peak();
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
        assert!(grown_since(before) < GROWTH_KIB_MAX, "{mode}");
        others_go_on(&runtime).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_that_never_ends_its_line_is_cut_off() {
    for (mode, runtime) in runtimes() {
        let before = memory_peak();
        for piece in ["x", "220-x\r\n"] {
            let port = endless_after(|_| Some(b"220".to_vec()), piece.as_bytes().to_vec());
            let failure = failure(&runtime, "mail", port).await;
            // Cut off at the limit, or where a reply that came in pieces makes no sense.
            let begins = failure.starts_with("MAIL_FAILED: The mail server 127.0.0.1:");
            assert!(begins, "{mode}: {failure}");
        }
        assert!(grown_since(before) < GROWTH_KIB_MAX, "{mode}");
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
    let before = memory_peak();
    let packed = |encoding: &str| {
        [
            head("200 OK", &format!("content-encoding: {encoding}")),
            bomb(encoding),
        ]
        .concat()
    };
    let (gzip, brotli) = (packed("gzip"), packed("br"));
    for node in ["http", "oauth", "chat"] {
        for (begin, piece) in [
            (gzip.clone(), Vec::new()),
            (brotli.clone(), Vec::new()),
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
    assert!(grown_since(before) < GROWTH_KIB_MAX);
}

/// How many cases of each protocol; CONTRIBUTING.md says how to have more.
fn cases(default: u64) -> u64 {
    let wanted = std::env::var("HEDDLE_HOSTILE_CASES").ok();
    wanted.map_or(default, |wanted| wanted.parse().unwrap())
}

/// Serves answers that follow from a seed.
fn generated(node: &str, seed: u64) -> u16 {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut often = move |said: Vec<u8>| match random.u8(0..3) {
        0 => spoilt(&mut random, said),
        _ => said,
    };
    match node {
        "postgres" => {
            let says = Says::value(INT4_ARRAY, vec![0; 12]);
            serve(move |stream| {
                postgres::talk(stream, &says, often.clone());
            })
        }
        "mysql" => serve(move |stream| {
            mysql::talk(stream, often.clone());
        }),
        "mail" => serve(move |mut stream| {
            let mut often = often.clone();
            let replies = [
                "220 here\r\n",
                "250-here\r\n250 AUTH PLAIN LOGIN\r\n",
                "235 in\r\n",
                "250 ok\r\n",
                "250 ok\r\n",
                "354 go on\r\n",
                "250 taken\r\n",
            ];
            for reply in replies {
                let mut asked = [0; 4096];
                if stream.write_all(&often(reply.into())).is_err()
                    || !matches!(std::io::Read::read(&mut stream, &mut asked), Ok(1..))
                {
                    return;
                }
            }
        }),
        _ => {
            let body = json!({
                "access_token": "t", "token_type": "Bearer", "expires_in": 60,
                "choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}], "usage": {"total_tokens": 7},
            });
            let body = body.to_string();
            let headers = format!("content-type: application/json\r\ncontent-length: {}", body.len());
            let answer = often([head("200 OK", &headers), body.into_bytes()].concat());
            serve(move |mut stream| {
                let mut asked = [0; 4096];
                let _ = std::io::Read::read(&mut stream, &mut asked);
                let _ = stream.write_all(&answer);
            })
        }
    }
}

/// Every case ends with what the node may end with.
async fn all_end_well(runtime: Runtime, node: &'static str, codes: &'static [&'static str], count: u64) {
    let mut together = JoinSet::new();
    for seed in 0..count {
        if together.len() >= TOGETHER {
            together.join_next().await.unwrap().unwrap();
        }
        let runtime = runtime.clone();
        together.spawn(async move {
            if let Err(failure) = outcome(&runtime, node, generated(node, seed)).await {
                let code = failure.split(':').next().unwrap_or_default();
                let is_status = code
                    .strip_prefix("HTTP_")
                    .is_some_and(|status| status.parse::<u16>().is_ok());
                assert!(
                    is_status || codes.contains(&code),
                    "{node}, seed {seed}: {failure}"
                );
            }
        });
    }
    while let Some(ended) = together.join_next().await {
        ended.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn generated_answers_of_databases_end_well() {
    let codes = &["SQL_FAILED", "SQL_ROW_LIMIT", "TIMEOUT", "PARAMETER"];
    for node in ["postgres", "mysql"] {
        all_end_well(open_runtime_with_connectors(), node, codes, cases(150)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn generated_answers_of_mail_servers_end_well() {
    let codes = &["MAIL_FAILED", "TIMEOUT"];
    all_end_well(open_runtime(), "mail", codes, cases(300)).await;
    all_end_well(open_runtime_with_connectors(), "mail", codes, cases(100)).await;
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
