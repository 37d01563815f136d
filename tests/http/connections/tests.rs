//! Connections that are tried, against servers that are really there.

use super::{api_key, post};
use crate::harness::{Database, Reply, Service, User};
use crate::port;
use heddle_api::config::Config;
use heddle_model::access::WorkspaceRole;
use heddle_runtime::EgressPolicy;
use serde_json::{Value, json};
use std::net::SocketAddr;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// A server that takes each connection by `serve`.
async fn listen<F: Future<Output = ()> + Send + 'static>(
    serve: impl Fn(BufReader<TcpStream>) -> F + Send + 'static,
) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(BufReader::new(stream)));
        }
    });
    address
}

/// Lets in whoever sends the right key; `/open` and `/broken` answer anybody.
async fn http(mut stream: BufReader<TcpStream>) {
    let (mut head, mut line) = (String::new(), String::new());
    while stream.read_line(&mut line).await.is_ok_and(|read| read > 2) {
        head.push_str(&std::mem::take(&mut line));
    }
    let status = match head.split(' ').nth(1).unwrap_or_default() {
        "/broken" => "503 Unavailable",
        "/missing" => "404 Not Found",
        _ if head.contains("Bearer the-right-key") => "200 OK",
        _ => "401 Unauthorized",
    };
    let answer = format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
    let _ = stream.write_all(answer.as_bytes()).await;
}

/// A mail server that takes the password `right` and no message.
async fn smtp(mut stream: BufReader<TcpStream>) {
    let mut answer = "220 mail.example\r\n".to_owned();
    loop {
        if stream.write_all(answer.as_bytes()).await.is_err() || answer.starts_with("221") {
            return;
        }
        let mut line = String::new();
        if stream.read_line(&mut line).await.unwrap_or(0) == 0 {
            return;
        }
        // "\0ann\0right" in base64.
        answer = match line.trim() {
            "AUTH PLAIN AGFubgByaWdodA==" => "235 welcome\r\n".to_owned(),
            line if line.starts_with("AUTH") => "535 no such user\r\n".to_owned(),
            line if line.starts_with("EHLO") => "250-mail.example\r\n250 AUTH PLAIN\r\n".to_owned(),
            "QUIT" => "221 bye\r\n".to_owned(),
            _ => "500 only logins here\r\n".to_owned(),
        };
    }
}

fn open(config: &mut Config) {
    config.egress = EgressPolicy::parse(["127.0.0.0/8"]).unwrap();
    let databases = config.data_dir.join("databases");
    std::fs::create_dir_all(&databases).unwrap();
    config.sqlite_dir = Some(databases);
}

async fn tried(service: &Service, user: &User, body: Value) -> (bool, String, Value) {
    told(&post(service, user, "/api/connections/test", body).await)
}

fn told(reply: &Reply) -> (bool, String, Value) {
    assert_eq!(reply.status, 200, "{reply}");
    assert!(reply.body["durationMs"].is_u64(), "{reply}");
    let code = reply.body.get("code").cloned().unwrap_or_default();
    (
        reply.body["ok"] == true,
        reply.body["message"].as_str().unwrap().to_owned(),
        code,
    )
}

async fn requests(database: Database) {
    let service = Service::with(database, open).await;
    let ann = service.user("ann").await;
    let base = format!("http://{}", listen(http).await);
    let with = |key: &str, url: Value| {
        json!({
            "provider": "shop", "credentials": {"apiKey": key, "baseUrl": base}, "url": url,
        })
    };
    let (is_ok, message, code) = tried(&service, &ann, with("the-right-key", Value::Null)).await;
    assert_eq!(
        (is_ok, message.as_str(), code),
        (true, "The service answered 200.", Value::Null)
    );
    let (is_ok, message, code) = tried(&service, &ann, with("the-wrong-key", Value::Null)).await;
    assert_eq!((is_ok, code), (false, json!("HTTP_401")));
    assert!(message.contains("does not accept the credentials"), "{message}");
    let (is_ok, message, _) = tried(&service, &ann, with("x", json!("/missing"))).await;
    assert!(is_ok && message.contains("404"), "{message}");
    let (is_ok, _, code) = tried(&service, &ann, with("x", json!("/broken"))).await;
    assert_eq!((is_ok, code), (false, json!("HTTP_503")));

    // A stored one, with a field that is not stored yet; what is not sent is the stored one's.
    let body = json!({"provider": "shop", "credentials": {"apiKey": "the-wrong-key", "baseUrl": base}});
    let stored = post(&service, &ann, "/api/connections/credentials", body)
        .await
        .body;
    let path = format!("/api/connections/{}/test", stored["id"].as_str().unwrap());
    assert!(!told(&service.post(&path).bearer(&ann.token).send().await).0);
    let body = json!({"credentials": {"apiKey": "the-right-key"}});
    assert!(told(&post(&service, &ann, &path, body).await).0);
    assert!(
        !told(&service.post(&path).bearer(&ann.token).send().await).0,
        "nothing was stored"
    );
    let body = json!({"credentials": {"apiKey": "the-right-key"}, "hosts": ["elsewhere.example"]});
    let (is_ok, message, code) = told(&post(&service, &ann, &path, body).await);
    assert_eq!((is_ok, code), (false, json!("NOT_PERMITTED")), "{message}");

    // Without an address there is nothing to ask.
    let reply = post(
        &service,
        &ann,
        "/api/connections/test",
        json!({"provider": "x", "credentials": {"apiKey": "k"}}),
    )
    .await;
    assert_eq!(reply.wrong_fields(), ["url"]);
    let (viewer, eve) = (
        service.member(&ann, "viewer", WorkspaceRole::Viewer).await,
        service.user("eve").await,
    );
    post(&service, &viewer, &path, json!({}))
        .await
        .assert_refused(403, "FORBIDDEN");
    post(&service, &eve, &path, json!({}))
        .await
        .assert_refused(404, "NOT_FOUND");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_for_requests_is_tried_sqlite() {
    requests(Database::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_for_requests_is_tried_postgres() {
    requests(Database::Postgres).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mail_server_is_asked_for_no_more_than_to_be_let_in() {
    let service = Service::with(Database::Sqlite, open).await;
    let ann = service.user("ann").await;
    let server = listen(smtp).await;
    let with = |password: &str| {
        json!({"provider": "smtp", "credentials": {
            "host": "127.0.0.1", "port": server.port(), "tls": "none", "user": "ann", "password": password,
        }})
    };
    let (is_ok, message, _) = tried(&service, &ann, with("right")).await;
    assert_eq!(
        (is_ok, message.as_str()),
        (true, "The mail server accepted the login.")
    );
    let (is_ok, message, code) = tried(&service, &ann, with("the-wrong-password")).await;
    assert_eq!((is_ok, code), (false, json!("MAIL_FAILED")));
    assert!(
        message.contains("did not accept the login") && message.contains("535"),
        "{message}"
    );
    assert!(!message.contains("the-wrong-password"), "{message}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_is_asked_whether_it_answers() {
    let service = Service::with(Database::Sqlite, open).await;
    let ann = service.user("ann").await;
    let body = json!({"provider": "sqlite", "credentials": {"file": "shop.db"}});
    let (is_ok, message, _) = tried(&service, &ann, body).await;
    assert!(is_ok, "{message}");
    // Nobody listens there.
    let port = port::free();
    let body = json!({"provider": "postgres", "credentials": {
        "host": "127.0.0.1", "port": port, "user": "ann", "password": "never-told", "database": "shop",
    }});
    let (is_ok, message, code) = tried(&service, &ann, body).await;
    assert_eq!((is_ok, code), (false, json!("SQL_FAILED")), "{message}");
    assert!(!message.contains("never-told"), "{message}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_test_reaches_no_further_than_runs() {
    // As servers are by default: not into networks of their own.
    let service = Service::start(Database::Sqlite).await;
    let ann = service.user("ann").await;
    let address = listen(http).await;
    for body in [
        json!({"provider": "shop", "credentials": {"apiKey": "k", "baseUrl": format!("http://{address}")}}),
        json!({"provider": "smtp", "credentials": {"host": "127.0.0.1", "port": address.port(), "tls": "none"}}),
        json!({"provider": "postgres", "credentials": {"host": "127.0.0.1", "port": address.port(), "user": "a"}}),
    ] {
        let (is_ok, message, code) = tried(&service, &ann, body).await;
        assert_eq!((is_ok, code), (false, json!("EGRESS_DENIED")), "{message}");
    }
    let key = api_key(&service, &ann, "shop", "k").await;
    let path = format!("/api/connections/{}/test", key["id"].as_str().unwrap());
    let body = json!({"url": format!("http://{address}/")});
    assert_eq!(told(&post(&service, &ann, &path, body).await).2, "EGRESS_DENIED");
}
