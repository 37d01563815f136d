//! Connections: which are opened, where they may go, and that what they hold stays outside.

use crate::server::{Server, ok, redirect};
use crate::services::{Given, open_runtime, run};
use serde_json::json;

#[tokio::test]
async fn a_connection_that_is_not_there_is_named() {
    let request = json!({"url": "http://127.0.0.1:9/", "connection": "shop"});
    let ran = run(&open_runtime(), "HttpRequest", request, &Given::default()).await;
    let failure = ran.failure();
    assert!(
        failure.starts_with("CONNECTION_MISSING: ") && failure.contains("no connection `shop`"),
        "{failure}"
    );
    assert_eq!(ran.outcome.error.unwrap().node_id.as_deref(), Some("it"));
}

#[tokio::test]
async fn the_name_may_be_computed() {
    let server = Server::start(ok).await;
    let given = Given::one("shop-eu", json!({"apiKey": "k3y-of-eu"}));
    let request = json!({"url": server.url("/"), "connection": "shop-{{ 'eu' }}", "bodyOnly": true});
    run(&open_runtime(), "HttpRequest", request, &given)
        .await
        .output();
    assert!(server.requests()[0].contains("authorization: Bearer k3y-of-eu\r\n"));
}

#[tokio::test]
async fn secrets_go_to_named_hosts_only() {
    let server = Server::start(ok).await;
    let port = server.address.port();
    let runtime = open_runtime();
    for (hosts, allowed) in [
        (json!([]), true),
        (json!(["127.0.0.1"]), true),
        (json!(["api.example.com", format!("127.0.0.1:{port}")]), true),
        (json!(["127.0.0.1:1"]), false),
        (json!(["*.0.0.1"]), true),
        (json!(["*.example.com", "api.example.com"]), false),
    ] {
        let given = Given::one("shop", json!({"token": "k3y", "hosts": hosts}));
        let request = json!({"url": server.url("/"), "connection": "shop"});
        let ran = run(&runtime, "HttpRequest", request, &given).await;
        match allowed {
            true => assert_eq!(ran.output()["status"], 200, "{hosts}"),
            false => {
                let failure = ran.failure();
                assert!(
                    failure.starts_with("NOT_PERMITTED: The connection `shop` may only be sent to"),
                    "{failure}"
                );
            }
        }
    }
    assert_eq!(server.requests().len(), 4);
}

#[tokio::test]
async fn what_a_service_gives_back_of_a_connection_is_masked() {
    let server = Server::start(|request| ok(&format!("{request} and once more hush-hush"))).await;
    let given = Given::one(
        "shop",
        json!({"auth": "basic", "user": "annette", "password": "hush-hush"}),
    );
    let request = json!({"url": server.url("/"), "connection": "shop", "bodyOnly": true});
    let output = run(&open_runtime(), "HttpRequest", request, &given)
        .await
        .output();
    let text = output.as_str().unwrap();
    assert!(
        text.contains("authorization: Basic ***") && text.ends_with("and once more ***"),
        "{text}"
    );
}

#[tokio::test]
async fn what_was_secret_of_a_connection_is_masked_as_well() {
    let server = Server::start(|_| ok("hush-hush-1 and hush-hush-2")).await;
    let given = Given::one("shop", json!({"token": "hush-hush-2", "former": ["hush-hush-1"]}));
    let request = json!({"url": server.url("/"), "connection": "shop", "bodyOnly": true});
    let outcome = run(&open_runtime(), "HttpRequest", request, &given).await;
    assert_eq!(outcome.output(), json!("*** and ***"));
    assert!(server.requests()[0].contains("Bearer hush-hush-2"));
}

#[tokio::test]
async fn a_redirect_to_another_host_carries_no_credentials() {
    let other = Server::start(ok).await;
    let target = other.url("/");
    let server = Server::start(move |_| redirect("302 Found", &target)).await;
    let runtime = open_runtime();
    for fields in [
        json!({"token": "k3y-k3y"}),
        json!({"auth": "basic", "user": "ann", "password": "k3y-k3y"}),
        json!({"apiKey": "k3y-k3y", "headerName": "X-Key"}),
        json!({"apiKey": "k3y-k3y", "queryName": "key"}),
    ] {
        let request = json!({"url": server.url("/"), "connection": "shop"});
        run(&runtime, "HttpRequest", request, &Given::one("shop", fields))
            .await
            .output();
    }
    for sent in other.requests() {
        assert!(!sent.contains("k3y") && !sent.contains("authorization"), "{sent}");
    }
    assert_eq!((server.requests().len(), other.requests().len()), (4, 4));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_no_connection_has_is_told() {
    let statement = json!({"connection": "a\u{0}b", "query": "select 1"});
    let ran = run(&open_runtime(), "SqlQuery", statement, &Given::default()).await;
    assert!(
        ran.failure()
            .starts_with("PARAMETER: `connection` contains the character U+0000"),
        "{}",
        ran.failure()
    );
}
