//! What clients may take of the server's time, places and memory, over real TCP. The database has no part in it, so SQLite
//! stands for both.

use crate::harness::{Database, Service, doubling, until};
use heddle_api::config::Config;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

/// A time that is over soon; every client that keeps within it is done long before.
const SOON: Duration = Duration::from_millis(200);

async fn service(change: impl FnOnce(&mut Config)) -> Service {
    Service::with(Database::Sqlite, change).await
}

/// A connection from this address of the loopback network.
async fn connect_from(from: &str, to: SocketAddr) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(SocketAddr::new(from.parse().unwrap(), 0)).unwrap();
    socket.connect(to).await.unwrap()
}

/// All that comes until the server closes.
async fn rest(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    // A reset is an end too; what came before it counts.
    let _ = stream.read_to_end(&mut bytes).await;
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Sends this, and gives what comes until the server closes.
async fn told(service: &Service, sent: &[u8]) -> String {
    let mut stream = TcpStream::connect(service.address).await.unwrap();
    stream.write_all(sent).await.unwrap();
    rest(&mut stream).await
}

/// Status, headers in lower case, and the body as JSON.
fn read(answer: &str) -> (u16, String, Value) {
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_default();
    let status = head.split(' ').nth(1).unwrap_or_default().parse().unwrap_or(0);
    let body = serde_json::from_str(body).unwrap_or(Value::Null);
    (status, head.to_ascii_lowercase(), body)
}

fn assert_last_word(answer: &str, status: u16, code: &str) {
    let (found, head, body) = read(answer);
    assert_eq!(
        (found, &body["error"]["code"]),
        (status, &json!(code)),
        "{answer}"
    );
    assert_eq!(body["success"], false, "{answer}");
    assert!(head.contains("connection: close"), "{answer}");
}

/// A request of this length of body, of which only so much is sent.
fn half_sent(path: &str, token: &str, length: usize, sent: usize) -> String {
    let body = "x".repeat(sent);
    format!(
        "POST {path} HTTP/1.1\r\nhost: heddle\r\nauthorization: Bearer {token}\r\n\
         content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    )
}

/// The answer to a request on a new connection from this address.
async fn asked_from(from: &str, service: &Service, path: &str) -> String {
    let mut stream = connect_from(from, service.address).await;
    let request = format!("GET {path} HTTP/1.1\r\nhost: heddle\r\nconnection: close\r\n\r\n");
    // Refused before it is read, it can't be sent to its end.
    let _ = stream.write_all(request.as_bytes()).await;
    rest(&mut stream).await
}

async fn metric(service: &Service, name: &str) -> f64 {
    let metrics = service.get("/metrics").send().await.text;
    let line = metrics
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.map_or(0.0, |number| number.parse().unwrap())
}

#[tokio::test]
async fn headers_that_take_too_long_are_answered_and_the_connection_is_closed() {
    let service = service(|config| config.http.header_timeout = SOON).await;
    let answer = told(&service, b"GET /healthz HTTP/1.1\r\nhost: hed").await;
    assert_last_word(&answer, 408, "REQUEST_TIMEOUT");
    assert_eq!(told(&service, b"").await, "", "who says nothing is told nothing");
    assert_eq!(service.get("/healthz").send().await.status, 200);
}

#[tokio::test]
async fn a_body_that_takes_too_long_is_answered_and_the_connection_is_closed() {
    let service = service(|config| config.http.body_timeout = SOON).await;
    let answer = told(&service, half_sent("/api/auth/login", "", 1000, 10).as_bytes()).await;
    assert_last_word(&answer, 408, "REQUEST_TIMEOUT");
}

#[tokio::test]
async fn a_body_of_which_nothing_more_comes_is_answered_before_its_time_is_over() {
    let service = service(|config| config.http.stall_timeout = SOON).await;
    let chunked = "POST /api/auth/login HTTP/1.1\r\nhost: heddle\r\ncontent-type: application/json\r\n\
                   transfer-encoding: chunked\r\n\r\n1\r\n{\r\n";
    assert_last_word(&told(&service, chunked.as_bytes()).await, 408, "REQUEST_TIMEOUT");
}

#[tokio::test]
async fn an_idle_connection_is_closed_and_one_in_use_is_kept() {
    let service = service(|config| config.http.idle_timeout = SOON).await;
    let mut stream = TcpStream::connect(service.address).await.unwrap();
    let request = b"GET /healthz HTTP/1.1\r\nhost: heddle\r\n\r\n";
    stream.write_all(&[&request[..], request].concat()).await.unwrap();
    let answers = rest(&mut stream).await;
    assert_eq!(answers.matches("HTTP/1.1 200").count(), 2, "{answers}");
}

#[tokio::test]
async fn a_client_that_does_not_take_its_answers_is_closed() {
    let service = service(|config| config.http.stall_timeout = SOON).await;
    let mut greedy = TcpStream::connect(service.address).await.unwrap();
    let request = "GET /api/openapi.json HTTP/1.1\r\nhost: heddle\r\n\r\n".repeat(200);
    greedy.write_all(request.as_bytes()).await.unwrap();
    // Another service of this process may count as well, which only makes this end earlier than it should.
    while metric(&service, "heddle_http_closed_total{reason=\"stalled\"}").await == 0.0 {
        tokio::task::yield_now().await;
    }
    let answers = rest(&mut greedy).await;
    assert!(answers.matches("HTTP/1.1 200").count() < 200);
}

#[tokio::test]
async fn http_2_without_tls_is_not_spoken() {
    let service = service(|_| {}).await;
    let mut sent = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0".to_vec();
    // POST /api/auth/login by HPACK's static table, as 200 streams that all have bodies to come.
    for stream in 0..200_u32 {
        let headers = b"\x83\x86\x44\x0f/api/auth/login\x41\x06heddle";
        sent.extend_from_slice(&[0, 0, headers.len() as u8, 1, 4]);
        sent.extend_from_slice(&(2 * stream + 1).to_be_bytes());
        sent.extend_from_slice(headers);
    }
    let mut stream = TcpStream::connect(service.address).await.unwrap();
    // Closed at the first line, it takes no more.
    let _ = stream.write_all(&sent).await;
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    assert!(
        answer.is_empty() || answer.starts_with(b"HTTP/1.1 4"),
        "{:?}",
        String::from_utf8_lossy(&answer)
    );
}

#[tokio::test]
async fn headers_that_are_too_long_are_refused() {
    let service = service(|_| {}).await;
    let long = format!(
        "GET /healthz HTTP/1.1\r\nhost: heddle\r\nx-long: {}\r\n\r\n",
        "x".repeat(40_000)
    );
    assert_eq!(read(&told(&service, long.as_bytes()).await).0, 431);
    let many = "x-one: a\r\n".repeat(101);
    let many = format!("GET /healthz HTTP/1.1\r\nhost: heddle\r\n{many}\r\n");
    assert_eq!(read(&told(&service, many.as_bytes()).await).0, 431);
}

#[tokio::test]
async fn what_proxies_may_read_in_another_way_is_refused_with_all_that_follows() {
    let service = service(|_| {}).await;
    for header in [
        "content-length: 5\r\ncontent-length: 6",
        "content-length: 5, 6",
        "content-length: +5",
        "content-length: -1",
        "content-length: 0x5",
        "content-length: 99999999999999999999",
        "content-length : 5",
        "transfer-encoding: xchunked",
        "transfer-encoding: identity",
        "transfer-encoding: chunked, identity",
        "transfer-encoding : chunked",
        "x-folded: a\r\n b",
        "x-bare: a\rb",
        "x-nul: a\0b",
        "x name: a",
    ] {
        let request = format!(
            "POST /api/auth/login HTTP/1.1\r\nhost: heddle\r\n{header}\r\n\r\n0\r\n\r\n\
             GET /healthz HTTP/1.1\r\nhost: heddle\r\nx-request-id: hidden\r\n\r\n"
        );
        let answer = told(&service, request.as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 400 "), "{header:?}: {answer}");
        assert!(!answer.contains("hidden"), "{header:?}: {answer}");
    }
}

#[tokio::test]
async fn one_address_gets_so_many_connections_and_others_are_served() {
    let service = service(|config| config.http.connections_per_address_max = Some(20)).await;
    let mut flood = Vec::new();
    for _ in 0..20 {
        flood.push(connect_from("127.0.0.2", service.address).await);
    }
    for _ in 0..20 {
        let mut one_more = connect_from("127.0.0.2", service.address).await;
        assert_last_word(&rest(&mut one_more).await, 429, "RATE_LIMITED");
    }
    for other in ["127.0.0.1", "127.0.0.3"] {
        let answer = asked_from(other, &service, "/healthz").await;
        assert_eq!(read(&answer).0, 200, "{answer}");
    }
    // A place is free again as soon as its connection has ended.
    drop(flood);
    while read(&asked_from("127.0.0.2", &service, "/healthz").await).0 != 200 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_trusted_proxy_has_as_many_connections_as_there_are() {
    let service = service(|config| {
        config.http.connections_per_address_max = Some(2);
        config.trusted_proxies = vec!["127.0.0.2/32".parse().unwrap()];
    })
    .await;
    let mut open = Vec::new();
    for _ in 0..20 {
        open.push(connect_from("127.0.0.2", service.address).await);
    }
    assert_eq!(read(&asked_from("127.0.0.2", &service, "/healthz").await).0, 200);
}

#[tokio::test]
async fn idle_connections_give_way_to_new_ones_when_all_places_are_taken() {
    let service = service(|config| {
        config.http.connections_max = 16;
        config.http.connections_per_address_max = Some(16);
    })
    .await;
    let mut idle = Vec::new();
    for number in 0..200 {
        let from = format!("127.0.1.{}", number / 10 + 1);
        idle.push(connect_from(&from, service.address).await);
        if number % 20 == 0 {
            let answer = asked_from("127.0.0.3", &service, "/api/auth/providers").await;
            assert_eq!(read(&answer).0, 200, "after {number}: {answer}");
        }
    }
}

#[tokio::test]
async fn health_is_told_when_every_place_is_at_work() {
    let service = service(|config| {
        config.http.connections_max = 16;
        config.http.connections_per_address_max = Some(16);
    })
    .await;
    let mut at_work = Vec::new();
    for _ in 0..16 {
        let mut stream = connect_from("127.0.0.2", service.address).await;
        let request = half_sent("/api/auth/login", "", 1000, 10);
        stream.write_all(request.as_bytes()).await.unwrap();
        at_work.push(stream);
    }
    // Until the bodies are being read, their connections could still give way.
    loop {
        let answer = asked_from("127.0.0.3", &service, "/api/auth/providers").await;
        if read(&answer).0 == 503 {
            assert_last_word(&answer, 503, "UNAVAILABLE");
            break;
        }
        let mut stream = connect_from("127.0.0.2", service.address).await;
        let request = half_sent("/api/auth/login", "", 1000, 10);
        // It may be one too many for its address.
        let _ = stream.write_all(request.as_bytes()).await;
        at_work.push(stream);
    }
    for path in ["/healthz", "/readyz"] {
        let answer = asked_from("127.0.0.3", &service, path).await;
        assert_eq!(read(&answer).0, 200, "{answer}");
    }
}

#[tokio::test]
async fn bodies_that_arrive_in_part_are_bounded_together_and_small_ones_always_come_in() {
    let service = service(|config| config.http.unfinished_bytes_max = 1 << 20).await;
    let ann = service.user("ann").await;
    let mut held = Vec::new();
    for _ in 0..8 {
        let mut stream = TcpStream::connect(service.address).await.unwrap();
        let request = half_sent("/api/patterns", &ann.token, 1 << 20, 300 << 10);
        // It may be refused in the middle.
        let _ = stream.write_all(request.as_bytes()).await;
        held.push(stream);
    }
    // Those that found room are silent until their time is over, long after the others.
    let answers = held.iter_mut().map(|stream| Box::pin(rest(stream)));
    let (first, _, _) = futures_util::future::select_all(answers).await;
    assert_last_word(&first, 503, "UNAVAILABLE");
    let login = json!({"email": "ann@example.com", "password": "correct-horse"});
    let login = service.post("/api/auth/login").json(&login).send().await;
    assert_eq!(login.status, 200, "{login}");
}

/// A connection of a proxy, by which a client has sent so much of a body of this length.
async fn sent_for(client: &str, service: &Service, token: &str, length: usize) -> TcpStream {
    let mut stream = connect_from("127.0.0.2", service.address).await;
    let headers = format!("host: heddle\r\nconnection: close\r\nx-forwarded-for: {client}");
    let request = half_sent("/api/patterns", token, length, 200 << 10).replacen("host: heddle", &headers, 1);
    // It may be refused in the middle.
    let _ = stream.write_all(request.as_bytes()).await;
    stream
}

#[tokio::test]
async fn a_client_behind_a_trusted_proxy_has_so_many_requests_at_a_time() {
    let service = service(|config| {
        config.http.connections_per_address_max = Some(2);
        config.trusted_proxies = vec!["127.0.0.2/32".parse().unwrap()];
    })
    .await;
    let token = service.user("ann").await.token;
    let mut held = Vec::new();
    for _ in 0..2 {
        held.push(sent_for("192.0.2.1", &service, &token, 1 << 20).await);
    }
    let ask = async |client: &str| {
        let mut stream = connect_from("127.0.0.2", service.address).await;
        let headers = format!("host: heddle\r\nconnection: close\r\nx-forwarded-for: {client}");
        let request = format!("GET /api/auth/providers HTTP/1.1\r\n{headers}\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        read(&rest(&mut stream).await)
    };
    // Once both have come.
    let (_, _, told) = loop {
        let answer = ask("192.0.2.1").await;
        if answer.0 != 200 {
            break answer;
        }
    };
    assert_eq!(told["error"]["code"], "RATE_LIMITED", "{told}");
    assert_eq!(ask("192.0.2.2").await.0, 200);
    drop(held);
    until(async || ask("192.0.2.1").await.0 == 200).await;
}

#[tokio::test]
async fn each_client_behind_a_trusted_proxy_has_a_share_of_what_arrives_in_part() {
    let service = service(|config| {
        config.http.unfinished_bytes_max = 1 << 20;
        config.trusted_proxies = vec!["127.0.0.2/32".parse().unwrap()];
    })
    .await;
    let ann = service.user("ann").await;
    let mut greedy = Vec::new();
    for _ in 0..2 {
        greedy.push(sent_for("192.0.2.1", &service, &ann.token, 1 << 20).await);
    }
    // Together they are more than a quarter.
    let answers = greedy.iter_mut().map(|stream| Box::pin(rest(stream)));
    let (first, _, _) = futures_util::future::select_all(answers).await;
    assert_last_word(&first, 503, "UNAVAILABLE");
    let mut other = sent_for("192.0.2.2", &service, &ann.token, 200 << 10).await;
    let (status, _, body) = read(&rest(&mut other).await);
    assert_eq!((status, &body["error"]["code"]), (400, &json!("VALIDATION")));
}

#[tokio::test]
async fn large_answers_that_nobody_takes_are_bounded_together() {
    let service = service(|config| config.http.unsent_bytes_max = 8 << 20).await;
    let ann = service.user("ann").await;
    let start = json!({"id": "start", "type": "OnManual", "note": "x".repeat(6 << 20)});
    let pattern = json!({"name": "large", "graphData": {"nodes": [start], "edges": []}});
    let made = service
        .post("/api/patterns")
        .bearer(&ann.token)
        .json(&pattern)
        .send()
        .await;
    assert_eq!(made.status, 201);
    let path = format!("/api/patterns/{}", made.body["id"].as_str().unwrap());
    let get = async || service.get(&path).bearer(&ann.token).send().await;
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4 << 10).unwrap();
    let mut idle = socket.connect(service.address).await.unwrap();
    let token = &ann.token;
    let request = format!("GET {path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {token}\r\n\r\n");
    idle.write_all(request.as_bytes()).await.unwrap();
    let mut begun = [0; 12];
    idle.read_exact(&mut begun).await.unwrap();
    assert_eq!(&begun, b"HTTP/1.1 200");
    get().await.assert_refused(503, "UNAVAILABLE");
    // What all answers share takes no memory for each.
    for path in ["/healthz", "/api/nodes"] {
        let shared = service.get(path).bearer(&ann.token).send().await;
        assert_eq!(shared.status, 200, "{path}");
    }
    drop(idle);
    // As soon as the server has noticed.
    while get().await.status != 200 {}
}

#[tokio::test]
async fn whole_runs_in_live_tails_that_nobody_takes_are_bounded_as_answers_are() {
    let service = service(|config| config.http.unsent_bytes_max = 8 << 20).await;
    let ann = service.user("ann").await;
    let deployment = service.deployed(&ann, &doubling()).await;
    let event = json!({"n": 1, "text": "x".repeat(6 << 20)});
    let run = service.ran(&ann, &deployment, &event).await;
    let path = format!("/api/deployments/{deployment}/runs/{run}");
    let get = async || service.get(&path).bearer(&ann.token).send().await;
    let tail = format!(
        "GET {path}/stream HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAuthorization: Bearer {}\r\n\r\n",
        ann.token
    );
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4 << 10).unwrap();
    let mut idle = socket.connect(service.address).await.unwrap();
    idle.write_all(tail.as_bytes()).await.unwrap();
    let mut begun = [0; 12];
    idle.read_exact(&mut begun).await.unwrap();
    assert_eq!(&begun, b"HTTP/1.1 200");
    get().await.assert_refused(503, "UNAVAILABLE");
    // There is no room for another one either, which ends before its event.
    let other = told(&service, tail.as_bytes()).await;
    assert!(other.len() < 1 << 20, "{} bytes", other.len());
    drop(idle);
    // As soon as the server has noticed.
    while told(&service, tail.as_bytes()).await.len() < 6 << 20 {}
}

#[tokio::test]
async fn who_is_not_known_yet_sends_small_bodies_only() {
    let service = service(|_| {}).await;
    for path in ["login", "register", "ext"] {
        let body = format!("{{\"email\": \"{}\"}}", "x".repeat(17 << 10));
        let path = format!("/api/auth/{path}");
        let reply = service
            .post(&path)
            .header("content-type", "application/json")
            .body(body);
        reply.send().await.assert_refused(413, "PAYLOAD_TOO_LARGE");
    }
}

#[tokio::test]
async fn a_user_has_so_many_live_tails_and_others_have_theirs() {
    let service = service(|config| {
        config.http.streams_per_user_max = 2;
        config.http.streams_max = 3;
    })
    .await;
    let open = async |token: &str, id: &str| {
        let mut stream = TcpStream::connect(service.address).await.unwrap();
        let request = format!(
            "GET /api/deployments/{id}/runs/stream HTTP/1.1\r\nhost: heddle\r\nauthorization: Bearer {token}\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut head = [0; 4096];
        let count = stream.read(&mut head).await.unwrap();
        let status = read(&format!("{}\r\n\r\n", String::from_utf8_lossy(&head[..count]))).0;
        (status, stream)
    };
    let (ann, bob) = (service.user("ann").await, service.user("bob").await);
    let (anns, bobs) = (
        service.deployed(&ann, &doubling()).await,
        service.deployed(&bob, &doubling()).await,
    );
    let first = open(&ann.token, &anns).await;
    let second = open(&ann.token, &anns).await;
    assert_eq!((first.0, second.0), (200, 200));
    assert_eq!(open(&ann.token, &anns).await.0, 429);
    let third = open(&bob.token, &bobs).await;
    assert_eq!(third.0, 200);
    assert_eq!(open(&bob.token, &bobs).await.0, 503, "in all there are no more");
    drop(first);
    while open(&bob.token, &bobs).await.0 != 200 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn answers_are_neither_kept_nor_taken_for_something_else() {
    let service = service(|_| {}).await;
    let header = |reply: &crate::harness::Reply, name: &str| {
        reply
            .headers
            .get(name)
            .map(|value| value.to_str().unwrap().to_owned())
    };
    let login = json!({"email": "nobody@example.com", "password": "correct-horse"});
    let replies = [
        service.post("/api/auth/login").json(&login).send().await,
        service.get("/api/auth/providers").send().await,
        service.get("/nothing").send().await,
        service.get("/healthz").send().await,
    ];
    for reply in replies {
        assert_eq!(
            header(&reply, "cache-control").as_deref(),
            Some("no-store"),
            "{reply}"
        );
        assert_eq!(
            header(&reply, "x-content-type-options").as_deref(),
            Some("nosniff"),
            "{reply}"
        );
    }
    let page = service.get("/docs").send().await;
    assert_eq!(header(&page, "cache-control").as_deref(), Some("no-cache"));
    assert_eq!(
        header(&page, "x-content-type-options").as_deref(),
        Some("nosniff")
    );
}

#[tokio::test]
async fn metrics_are_for_near_peers_that_ask_directly() {
    let beside = service(|_| {}).await;
    assert_eq!(beside.get("/metrics").send().await.status, 200);
    for proxy in ["x-forwarded-for", "forwarded", "via"] {
        let reply = beside.get("/metrics").header(proxy, "192.0.2.1").send().await;
        reply.assert_refused(403, "FORBIDDEN");
    }
    let by_token = service(|config| config.metrics_token = Some("a-token".into())).await;
    let ask = async |token: &str| {
        let request = by_token
            .get("/metrics")
            .bearer(token)
            .header("x-forwarded-for", "192.0.2.1");
        request.send().await
    };
    assert_eq!(ask("a-token").await.status, 200);
    ask("another").await.assert_refused(401, "UNAUTHORIZED");
    let reply = by_token.get("/metrics").send().await;
    reply.assert_refused(401, "UNAUTHORIZED");
    let apart = service(|config| config.http.metrics_listen = Some(([127, 0, 0, 1], 1).into())).await;
    apart
        .get("/metrics")
        .send()
        .await
        .assert_refused(404, "NOT_FOUND");
}

#[tokio::test]
async fn every_metric_says_what_it_counts() {
    let service = service(|_| {}).await;
    let user = service.user("ann").await;
    service.deployed(&user, &doubling()).await;
    let metrics = service.get("/metrics").send().await.text;
    let mut types = metrics.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    let name = |line: &str| line.split(' ').next().unwrap().to_owned();
    let first = types.next().map(name).unwrap();
    for metric in types.map(name).chain([first]) {
        let help = metrics
            .lines()
            .find(|line| line.starts_with(&format!("# HELP {metric} ")));
        assert!(
            help.is_some_and(|help| help.len() > metric.len() + 12),
            "{metric}"
        );
    }
}

#[tokio::test]
async fn as_many_tenants_have_metrics_of_their_own_as_operators_ask_for() {
    let service = service(|config| config.metrics_tenants_max = 1).await;
    for name in ["ann", "bob"] {
        let user = service.user(name).await;
        let deployment = service.deployed(&user, &doubling()).await;
        let path = format!("/api/deployments/{deployment}/execute?wait=true");
        let reply = service
            .post(&path)
            .bearer(&user.token)
            .json(&json!({}))
            .send()
            .await;
        assert_eq!(reply.status, 200, "{reply}");
    }
    // The process has one place for all metrics, but no other test has them by tenant.
    let metrics = service.get("/metrics").send().await.text;
    let tenants: BTreeSet<&str> = metrics
        .lines()
        .filter(|line| !line.ends_with(" 0"))
        .filter_map(|line| {
            line.strip_prefix("heddle_tenant_runs_ended_total{tenant=\"")?
                .split('"')
                .next()
        })
        .collect();
    assert_eq!(tenants.len(), 2, "{metrics}");
    assert!(tenants.contains("(others)"), "{tenants:?}");
}
