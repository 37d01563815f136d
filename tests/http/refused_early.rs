//! Requests that are refused before their body was read, byte by byte: the connection takes the next request, or the answer says
//! that it does not.

use crate::harness::{Database, Service};
use crate::webhooks::fixture::{Hook, graph, returns};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

/// A client that keeps its connection.
struct Client(BufReader<TcpStream>);

/// An answer: its status, its headers in lower case, and its body.
struct Answer {
    status: u16,
    head: String,
    body: Value,
}

impl Answer {
    fn says_close(&self) -> bool {
        self.head.contains("connection: close")
    }
}

impl Client {
    async fn of(service: &Service) -> Client {
        Client(BufReader::new(TcpStream::connect(service.address).await.unwrap()))
    }

    /// Sends as much as the server takes.
    async fn send(&mut self, text: &str) {
        let _ = self.0.get_mut().write_all(text.as_bytes()).await;
    }

    /// The next answer; `None`: the server has closed.
    async fn answer(&mut self) -> Option<Answer> {
        let mut head = String::new();
        loop {
            let mut line = String::new();
            if self.0.read_line(&mut line).await.ok()? == 0 {
                return None;
            }
            if line == "\r\n" {
                break;
            }
            head.push_str(&line.to_ascii_lowercase());
        }
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "));
        let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
        self.0.read_exact(&mut body).await.unwrap();
        Some(Answer {
            status: head.split(' ').nth(1).unwrap().parse().unwrap(),
            body: serde_json::from_slice(&body).unwrap_or_default(),
            head,
        })
    }
}

fn head(path: &str, content_type: &str, length: usize) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nhost: heddle\r\ncontent-type: {content_type}\r\ncontent-length: {length}\r\n\r\n"
    )
}

const HEALTH: &str = "GET /healthz HTTP/1.1\r\nhost: heddle\r\n\r\n";
const JSON: &str = "application/json";

/// A service that takes so many requests to webhooks in a minute, and the path of one.
async fn service(limit: u32) -> (Service, String) {
    let service = Service::with(Database::Sqlite, |config| config.webhook_rate_limit = limit).await;
    let hook = Hook::saved(&service, graph(json!({}), &[returns("1")])).await;
    let path = format!("/webhooks/{}", hook.webhook);
    (service, path)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_small_body_that_nobody_wants_does_not_end_the_connection() {
    let (service, webhook) = service(3).await;
    for (path, content_type, length, status, code) in [
        ("/api/patterns", JSON, 20, 401, "UNAUTHORIZED"),
        ("/webhooks/nothing", JSON, 20, 404, "NOT_FOUND"),
        ("/api/nothing", JSON, 20, 404, "NOT_FOUND"),
        ("/api/auth/login", JSON, 20 << 10, 413, "PAYLOAD_TOO_LARGE"),
        (webhook.as_str(), "text/html", 20, 415, "UNSUPPORTED_MEDIA_TYPE"),
        (webhook.as_str(), JSON, 20, 429, "RATE_LIMITED"),
    ] {
        let mut client = Client::of(&service).await;
        client.send(&head(path, content_type, length)).await;
        if status == 429 {
            // The last of the three in this minute.
            client.send(&"x".repeat(length)).await;
            client.answer().await.unwrap();
            client.send(&head(path, content_type, length)).await;
        }
        let body = "x".repeat(length);
        // That it is too large is seen when it comes; all others are answered before.
        if status == 413 {
            client.send(&body).await;
        }
        let answer = client.answer().await.unwrap();
        assert_eq!(
            (answer.status, &answer.body["error"]["code"]),
            (status, &json!(code)),
            "{path}"
        );
        assert!(!answer.says_close(), "{path}: {}", answer.head);
        if status != 413 {
            client.send(&body).await;
        }
        client.send(HEALTH).await;
        let next = client.answer().await;
        let next = next.unwrap_or_else(|| panic!("{path}: {status} has ended the connection"));
        assert_eq!(next.status, 200, "{path}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_large_body_that_nobody_wants_ends_the_connection_and_the_answer_says_so() {
    let (service, webhook) = service(0).await;
    for (path, content_type, length, status) in [
        ("/api/patterns", JSON, 1 << 20, 401),
        ("/webhooks/nothing", JSON, 1 << 20, 404),
        ("/api/auth/login", JSON, 4 << 20, 413),
        (webhook.as_str(), "text/html", 1 << 20, 415),
        (webhook.as_str(), JSON, 16 << 20, 413),
    ] {
        let mut client = Client::of(&service).await;
        client.send(&head(path, content_type, length)).await;
        if status == 413 {
            // As much as is too large for either.
            client.send(&"x".repeat((8 << 20) + 1)).await;
        }
        let answer = client.answer().await.unwrap();
        assert_eq!(answer.status, status, "{path}");
        assert!(answer.says_close(), "{path}: {}", answer.head);
        assert!(client.answer().await.is_none(), "{path}");
    }
    // How much is to come of this one is not said.
    let mut client = Client::of(&service).await;
    let chunked = "POST /api/patterns HTTP/1.1\r\nhost: heddle\r\ncontent-type: application/json\r\n\
                   transfer-encoding: chunked\r\n\r\n";
    client.send(chunked).await;
    let answer = client.answer().await.unwrap();
    assert_eq!(answer.status, 401);
    assert!(answer.says_close(), "{}", answer.head);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_read_of_a_strangers_body_where_the_head_would_tell_who_they_are() {
    let service = Service::with(Database::Sqlite, |_| {}).await;
    for (name, parameters) in [
        ("ann", json!({"scheme": "bearer"})),
        ("bob", json!({"scheme": "basic", "user": "shop"})),
        ("cid", json!({"scheme": "header", "tokenHeader": "X-Token"})),
        ("dan", json!({"scheme": "gitlab"})),
        ("eve", json!({"scheme": "jwt"})),
    ] {
        let user = service.user(name).await;
        let hook = Hook::saved_by(&service, user, graph(parameters.clone(), &[returns("1")])).await;
        let path = format!("/webhooks/{}", hook.webhook);
        for (length, closes) in [(20, false), (1 << 20, true)] {
            let mut client = Client::of(&service).await;
            client.send(&head(&path, JSON, length)).await;
            let answer = client.answer().await.unwrap();
            assert_eq!(
                (answer.status, &answer.body["error"]["code"]),
                (401, &json!("SIGNATURE_INVALID")),
                "{parameters}"
            );
            assert_eq!(answer.says_close(), closes, "{parameters}: {}", answer.head);
        }
        let refused = ("signature_invalid".to_owned(), 401);
        assert_eq!(
            hook.log_statuses().await,
            [refused.clone(), refused],
            "{parameters}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_that_does_not_come_ends_the_connection() {
    let (service, _) = service(0).await;
    let mut client = Client::of(&service).await;
    client.send(&head("/api/patterns", JSON, 20)).await;
    assert_eq!(client.answer().await.unwrap().status, 401);
    assert!(
        client.answer().await.is_none(),
        "nothing is taken for a request that may be a body"
    );
}
