//! Connections as runs use them.

use crate::harness::{Database, Service, User, chain};
use heddle_runtime::EgressPolicy;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// Answers every request with `{}` and keeps its head.
async fn listen() -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let heads = Arc::new(Mutex::new(Vec::new()));
    let kept = heads.clone();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(stream.read_u8().await.unwrap());
            }
            kept.lock().unwrap().push(String::from_utf8(head).unwrap());
            let answer = b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{}";
            stream.write_all(answer).await.unwrap();
        }
    });
    (url, heads)
}

async fn connect(service: &Service, user: &User, key: &str) -> String {
    let body = json!({"provider": "shop", "apiKey": key, "displayName": "Shop EU", "hosts": ["127.0.0.1"]});
    let made = service
        .post("/api/connections/api-key")
        .bearer(&user.token)
        .json(&body)
        .send()
        .await;
    assert_eq!(made.status, 201, "{made}");
    made.body["id"].as_str().unwrap().to_owned()
}

/// A deployment that calls the URL with the connection.
async fn calling(service: &Service, user: &User, url: &str, connection: &str) -> String {
    let call = json!({"url": url, "connection": connection, "bodyOnly": true});
    let graph = chain(&[
        ("start", "OnManual", json!({})),
        ("call", "HttpRequest", call),
        ("end", "Return", json!({})),
    ]);
    service.deployed(user, &graph).await
}

async fn waited(service: &Service, user: &User, deployment: &str) -> Value {
    let reply = service
        .execute(user, deployment, "?wait=true", &Value::Null)
        .await;
    reply.data(200).clone()
}

async fn test(database: Database) {
    let open = |config: &mut heddle_api::config::Config| {
        config.egress = EgressPolicy::parse(["127.0.0.0/8"]).unwrap();
    };
    let service = Service::with(database, open).await;
    let (ann, eve) = (service.user("ann").await, service.user("eve").await);
    let (url, heads) = listen().await;
    let last = || heads.lock().unwrap().pop().unwrap_or_default();
    let first = connect(&service, &ann, "the-first-key").await;
    let detail = service
        .get(&format!("/api/connections/{first}"))
        .bearer(&ann.token)
        .send()
        .await;
    assert_eq!(detail.body["hosts"], json!(["127.0.0.1"]));

    // By label, by provider and by id.
    for reference in ["Shop EU", "shop", first.as_str()] {
        let deployment = calling(&service, &ann, &url, reference).await;
        assert_eq!(
            waited(&service, &ann, &deployment).await["status"],
            "completed",
            "{reference}"
        );
        assert!(
            last().contains("authorization: Bearer the-first-key\r\n"),
            "{reference}"
        );
    }

    // The newest of a name counts; a deleted one is missing from the next run on.
    let second = connect(&service, &ann, "the-second-key").await;
    let deployment = calling(&service, &ann, &url, "Shop EU").await;
    waited(&service, &ann, &deployment).await;
    assert!(last().contains("the-second-key"));
    for id in [&second, &first] {
        let deleted = service
            .delete(&format!("/api/connections/{id}"))
            .bearer(&ann.token)
            .send()
            .await;
        assert_eq!(deleted.status, 204, "{deleted}");
    }
    let failed = waited(&service, &ann, &deployment).await;
    assert_eq!(
        (
            &failed["status"],
            &failed["error"]["code"],
            &failed["error"]["nodeId"]
        ),
        (&json!("failed"), &json!("CONNECTION_MISSING"), &json!("call")),
        "{failed}"
    );
    connect(&service, &ann, "the-third-key").await;
    waited(&service, &ann, &deployment).await;
    assert!(last().contains("the-third-key"));

    // Somebody else's is not there.
    let deployment = calling(&service, &eve, &url, "Shop EU").await;
    assert_eq!(
        waited(&service, &eve, &deployment).await["error"]["code"],
        "CONNECTION_MISSING"
    );

    // Not beyond its hosts.
    let elsewhere = calling(&service, &ann, &url.replace("127.0.0.1", "localhost"), "Shop EU").await;
    assert_eq!(
        waited(&service, &ann, &elsewhere).await["error"]["code"],
        "NOT_PERMITTED"
    );
    assert_eq!(last(), "");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn runs_open_the_connections_of_their_workspace_sqlite() {
    test(Database::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn runs_open_the_connections_of_their_workspace_postgres() {
    test(Database::Postgres).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hosts_are_checked_when_a_connection_is_made() {
    let service = Service::start(Database::Sqlite).await;
    let ann = service.user("ann").await;
    for (hosts, field) in [
        (json!(["https://api.example.com"]), "hosts[0]"),
        (json!(["a.example", "b.example/path"]), "hosts[1]"),
        (json!([""]), "hosts[0]"),
        (json!(vec!["a"; 51]), "hosts"),
    ] {
        let body = json!({"provider": "shop", "credentials": {"token": "x"}, "hosts": hosts});
        let refused = service
            .post("/api/connections/credentials")
            .bearer(&ann.token)
            .json(&body)
            .send()
            .await;
        assert_eq!(refused.wrong_fields(), [field]);
    }
}
