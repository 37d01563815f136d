//! What senders are answered: asynchronously, synchronously, when nothing is deployed, and when they ask first.

use super::fixture::{Hook, graph, responds, returns, sign};
use crate::harness::{Database, Service, each_database};
use heddle_runtime::EgressPolicy;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

fn throws() -> Value {
    json!({"id": "throw", "type": "Throw", "data": {"parameters": {"message": "no luck"}}})
}

each_database! {
    async fn what_is_not_deployed_is_captured(service: Service) {
        let hook = Hook::saved(&service, graph(json!({}), &[])).await;
        let captured = hook.signed("{}").send().await;
        assert_eq!(captured.status, 202);
        let message = captured.body["message"].as_str().unwrap();
        assert_eq!(captured.body, json!({"status": "captured", "message": message}));

        let deployment = hook.deploy().await;
        assert_eq!(hook.signed("{}").send().await.body["status"], "accepted");
        hook.change(&deployment, "pause").await;
        assert_eq!(hook.signed("{}").send().await.body["status"], "captured");
        hook.change(&deployment, "resume").await;
        assert_eq!(hook.signed("{}").send().await.body["status"], "accepted");
        let undeploy = format!("/api/patterns/{}/deploy", hook.pattern);
        assert_eq!(service.delete(&undeploy).bearer(&hook.user.token).send().await.status, 200);
        assert_eq!(hook.signed("{}").send().await.body["status"], "captured");
        // The address is the same after a redeployment.
        hook.change(&deployment, "redeploy").await;
        assert_eq!(hook.signed("{}").send().await.body["status"], "accepted");

        assert_eq!(hook.runs(&deployment).await.len(), 3);
        assert_eq!(hook.tapped().await.len(), 6);
        let statuses: Vec<String> = hook.log_statuses().await.into_iter().map(|(status, _)| status).collect();
        assert_eq!(statuses, ["accepted", "inactive", "accepted", "inactive", "accepted", "inactive"]);
    }

    async fn an_event_that_comes_again_makes_no_second_run(service: Service) {
        let hook = Hook::saved(&service, graph(json!({}), &[])).await;
        // What is captured does not use its key up.
        let send = |name: &'static str, key: &'static str| hook.signed("{}").header(name, key).send();
        assert_eq!(send("x-idempotency-key", "one").await.body["status"], "captured");
        let deployment = hook.deploy().await;
        let first = send("x-idempotency-key", "one").await;
        assert_eq!((first.status, first.body["status"].as_str()), (202, Some("accepted")));
        for name in ["x-idempotency-key", "x-request-id"] {
            let again = send(name, "one").await;
            let message = again.body["message"].as_str().unwrap();
            assert_eq!(again.status, 200);
            assert_eq!(again.body, json!({"status": "duplicate", "message": message, "runId": first.body["runId"]}));
        }
        // The key header comes before the other one.
        let other = hook.signed("{}").header("x-request-id", "one").header("x-idempotency-key", "two").send().await;
        assert_eq!(other.status, 202, "{other}");
        // A duplicate is one whether the deployment is active or not.
        hook.change(&deployment, "pause").await;
        assert_eq!(send("x-idempotency-key", "one").await.body["status"], "duplicate");
        assert_eq!(hook.runs(&deployment).await.len(), 2);
        assert_eq!(hook.log_statuses().await[0], ("accepted".to_owned(), 200));
        assert_eq!(hook.tapped().await.len(), 3, "duplicates are not tapped");
    }

    async fn racing_requests_with_one_key_make_one_run(service: Service) {
        let hook = Hook::saved(&service, graph(json!({}), &[])).await;
        let deployment = hook.deploy().await;
        let key = "k".repeat(1000);
        let requests = (0..20).map(|_| hook.signed("{}").header("x-idempotency-key", &key).send());
        let replies = futures_util::future::join_all(requests).await;
        let accepted: Vec<_> = replies.iter().filter(|reply| reply.status == 202).collect();
        assert_eq!(accepted.len(), 1);
        assert!(replies.iter().all(|reply| reply.body["runId"] == accepted[0].body["runId"]));
        assert_eq!(hook.runs(&deployment).await.len(), 1);
    }

    async fn a_synchronous_webhook_answers_what_the_pattern_responds(service: Service) {
        let respond = responds(json!({
            "status": 418, "headers": {"X-Kind": "teapot", "Connection": "close", "Content-Length": "5"},
            "body": "{{ {\"echo\": $input.body} }}",
        }));
        let hook = Hook::saved(&service, graph(json!({}), &[respond])).await;
        let deployment = hook.deploy().await;
        let reply = hook.signed(r#"{"a":[1,2]}"#).send().await;
        assert_eq!(reply.status, 418, "{reply}");
        assert_eq!(reply.text, r#"{"echo":{"a":[1,2]}}"#);
        assert_eq!(reply.headers["content-type"], "application/json");
        assert_eq!(reply.headers["x-kind"], "teapot");
        assert_eq!(reply.headers.get("connection"), None);
        assert!(reply.headers["content-security-policy"].to_str().unwrap().starts_with("sandbox"));
        let runs = hook.runs(&deployment).await;
        assert_eq!(reply.headers["x-run-id"], runs[0]["id"].as_str().unwrap());
        assert_eq!(runs[0]["status"], "success");
        assert_eq!(hook.log_statuses().await, [("accepted".to_owned(), 418)]);
    }

    async fn a_response_can_not_speak_for_the_whole_service(service: Service) {
        let respond = responds(json!({
            "status": 201, "headers": {
                "Location": "https://example.com/thanks", "X-Kind": "redirect", "Cache-Control": "max-age=60",
                "Set-Cookie": "session=stolen", "Strict-Transport-Security": "max-age=1", "Clear-Site-Data": "\"*\"",
                "Service-Worker-Allowed": "/", "X-Accel-Redirect": "/private", "Alt-Svc": "h3=\":443\"",
                "Secure-Session-Registration": "(ES256);path=\"/webhooks/x\"", "X-LiteSpeed-Location": "/private",
                "Content-Security-Policy": "default-src *",
            },
        }));
        let hook = Hook::saved(&service, graph(json!({}), &[respond])).await;
        let deployment = hook.deploy().await;
        let reply = hook.signed("{}").send().await;
        assert_eq!(reply.status, 201);
        let of = |name: &str| {
            let values = reply.headers.get_all(name).iter().map(|value| value.to_str().unwrap().to_owned());
            values.collect::<Vec<_>>()
        };
        assert_eq!(of("location"), ["https://example.com/thanks"]);
        assert_eq!(of("x-kind"), ["redirect"]);
        assert_eq!(of("cache-control"), ["max-age=60"]);
        let refused = [
            "set-cookie", "strict-transport-security", "clear-site-data", "service-worker-allowed", "x-accel-redirect",
            "alt-svc", "secure-session-registration", "x-litespeed-location",
        ];
        for name in refused {
            assert_eq!(of(name), Vec::<String>::new(), "{name}");
        }
        // Of several policies each holds.
        assert!(of("content-security-policy").iter().any(|policy| policy.starts_with("sandbox ")));
        let run = &hook.runs(&deployment).await[0]["id"];
        let path = format!("/api/deployments/{deployment}/runs/{}", run.as_str().unwrap());
        let run = service.get(&path).bearer(&hook.user.token).send().await;
        let logged = run.body.to_string();
        for name in ["`Set-Cookie`", "`Clear-Site-Data`", "`X-Accel-Redirect`"] {
            assert!(logged.contains(name), "{run}");
        }
        assert!(!logged.contains("`X-Kind`"), "{run}");
    }

    async fn responses_are_json_text_or_bytes(service: Service) {
        let hook = Hook::saved(&service, graph(json!({}), &[])).await;
        for (parameters, content_type, text) in [
            (json!({"body": "<b>", "bodyType": "text"}), Some("text/plain; charset=utf-8"), "<b>"),
            (json!({"body": "aGk=", "bodyType": "base64"}), Some("application/octet-stream"), "hi"),
            (json!({"body": "<b>", "bodyType": "text", "headers": {"Content-Type": "text/html"}}), Some("text/html"), "<b>"),
            (json!({"body": "x"}), Some("application/json"), "\"x\""),
            (json!({"body": "x", "status": 204}), None, ""),
        ] {
            hook.save(graph(json!({}), &[responds(parameters)])).await;
            hook.deploy().await;
            let reply = hook.signed("{}").send().await;
            let given = reply.headers.get("content-type").map(|value| value.to_str().unwrap());
            assert_eq!((given, reply.text.as_str()), (content_type, text));
        }
    }

    async fn the_mode_decides_who_waits(service: Service) {
        let hook = Hook::saved(&service, graph(json!({"responseMode": "sync"}), &[returns("{{ $input.body }}")])).await;
        hook.deploy().await;
        let waited = hook.signed("[1]").send().await;
        let run = waited.headers["x-run-id"].to_str().unwrap();
        assert_eq!(waited.status, 200, "{waited}");
        assert_eq!(waited.body, json!({"status": "completed", "runId": run, "output": [1]}));

        hook.save(graph(json!({"responseMode": "async"}), &[responds(json!({}))])).await;
        hook.deploy().await;
        let sent = hook.signed("[1]").send().await;
        assert_eq!((sent.status, sent.body["status"].as_str()), (202, Some("accepted")));

        hook.save(graph(json!({"responseMode": "sync"}), &[throws()])).await;
        hook.deploy().await;
        let failed = hook.signed("[1]").send().await;
        assert_eq!(failed.status, 500, "{failed}");
        assert_eq!(failed.body["status"], "failed");
        assert_eq!(failed.body["error"]["nodeId"], "throw");
        assert_eq!(failed.body["runId"], failed.headers["x-run-id"].to_str().unwrap());
        assert_eq!(hook.log_statuses().await[0], ("accepted".to_owned(), 500));

        assert_eq!(failed.body["error"]["message"], "no luck", "a Throw's words are meant to be told");

        // Other messages may have addresses and answers of services in them.
        let request = json!({"id": "ask", "type": "HttpRequest", "data": {"parameters": {"url": "http://127.0.0.1:9/inner"}}});
        hook.save(graph(json!({"responseMode": "sync"}), std::slice::from_ref(&request))).await;
        hook.deploy().await;
        let failed = hook.signed("[2]").send().await;
        assert_eq!((failed.status, &failed.body["error"]["nodeId"]), (500, &json!("ask")), "{failed}");
        assert!(failed.body["error"]["code"].is_string() && !failed.text.contains("127.0.0.1"), "{failed}");
        hook.save(graph(json!({"responseMode": "sync", "errorDetails": true}), &[request])).await;
        hook.deploy().await;
        let failed = hook.signed("[3]").send().await;
        assert!(failed.text.contains("127.0.0.1"), "{failed}");

        // What was responded before the failure is what the sender gets.
        hook.save(graph(json!({}), &[responds(json!({"body": "early"})), throws()])).await;
        hook.deploy().await;
        assert_eq!(hook.signed("[1]").send().await.text, "\"early\"");
    }

    async fn a_sender_waits_no_longer_than_the_node_says(service: Service) {
        let wait = json!({"id": "wait", "type": "Throw", "data": {
            "parameters": {"message": "not yet"}, "retry": {"maxAttempts": 2, "backoffMs": 600_000},
        }});
        let parameters = json!({"responseMode": "sync", "timeoutMs": 1});
        let hook = Hook::saved(&service, graph(parameters, &[wait])).await;
        let deployment = hook.deploy().await;
        let late = hook.signed("{}").send().await;
        assert_eq!((late.status, late.code()), (504, "EXECUTION_TIMEOUT"));
        assert_eq!(hook.runs(&deployment).await[0]["status"], "running", "it goes on without the sender");
        assert_eq!(hook.log_statuses().await, [("accepted".to_owned(), 504)]);
    }

    async fn a_sender_may_ask_whether_a_webhook_is_there(service: Service) {
        let hook = Hook::saved(&service, graph(json!({}), &[])).await;
        let path = format!("/webhooks/{}", hook.webhook);
        let inactive = service.get(&path).send().await;
        assert_eq!((inactive.status, inactive.code()), (404, "NOT_FOUND"));
        hook.deploy().await;
        let there = service.get(&path).send().await;
        assert_eq!(there.status, 200);
        assert_eq!(there.body, json!({"status": "ok", "webhookId": hook.webhook}));
        for query in ["challenge=a%3Cb%3E", "hub.mode=subscribe&hub.challenge=a%3Cb%3E"] {
            let challenged = service.get(&format!("{path}?{query}")).send().await;
            assert_eq!((challenged.status, challenged.text.as_str()), (200, "a<b>"));
            assert_eq!(challenged.headers["content-type"], "text/plain; charset=utf-8");
        }
        assert_eq!(service.get("/webhooks/nonsense").send().await.status, 404);
    }
}

/// The run waits for a server that answers only after the sender has gone.
async fn leaves_while_the_run_waits(database: Database) {
    let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = server.local_addr().unwrap().to_string();
    let egress = EgressPolicy::parse([address.as_str()]).unwrap();
    let service = Service::with(database, |config| config.egress = egress).await;
    let call = json!({"id": "call", "type": "HttpRequest", "data": {"parameters": {"url": format!("http://{address}/")}}});
    let hook = Hook::saved(&service, graph(json!({}), &[call, responds(json!({}))])).await;
    let deployment = hook.deploy().await;

    let mut sender = TcpStream::connect(service.address).await.unwrap();
    let request = format!(
        "POST /webhooks/{} HTTP/1.1\r\nhost: heddle\r\ncontent-type: application/json\r\n\
         x-webhook-signature: {}\r\ncontent-length: 2\r\n\r\n{{}}",
        hook.webhook,
        sign(&hook.secret, "{}")
    );
    sender.write_all(request.as_bytes()).await.unwrap();
    let (mut call, _) = server.accept().await.unwrap();
    drop(sender);
    assert_ne!(call.read(&mut [0; 4096]).await.unwrap(), 0);
    call.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 4\r\n\r\ndone")
        .await
        .unwrap();
    let run = loop {
        let run = hook.runs(&deployment).await.remove(0);
        if run["status"] != "running" {
            break run;
        }
        tokio::task::yield_now().await;
    };
    assert_eq!(run["status"], "success", "{run}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sender_that_goes_away_does_not_stop_the_run_on_sqlite() {
    leaves_while_the_run_waits(Database::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sender_that_goes_away_does_not_stop_the_run_on_postgres() {
    leaves_while_the_run_waits(Database::Postgres).await;
}
