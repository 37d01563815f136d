//! What a webhook's node may say of its requests, beyond a signed POST of JSON.

use super::fixture::{Hook, graph, returns, sign};
use crate::harness::{Database, Reply, Request, Service, each_database};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use std::time::Duration;

/// A request below the webhook's address.
fn request(hook: &Hook<'_>, method: &str, below: &str) -> Request {
    hook.service
        .request(method, &format!("/webhooks/{}{below}", hook.webhook))
}

fn json(request: Request, body: &str) -> Request {
    request
        .header("content-type", "application/json")
        .body(body.to_owned())
}

/// Makes another version the newest one, and deploys it.
async fn deploy(hook: &Hook<'_>, parameters: Value) -> Vec<Value> {
    hook.save(graph(parameters, &[returns("{{ $input }}")])).await;
    let path = format!("/api/patterns/{}/deploy", hook.pattern);
    let deploy = hook.service.post(&path).bearer(&hook.user.token);
    let deployed = deploy.json(&json!({"nodeDefinitions": {}})).send().await;
    assert_eq!(deployed.status, 200, "{deployed}");
    deployed.body["data"]["warnings"].as_array().unwrap().clone()
}

fn refused(reply: &Reply) -> (u16, &str) {
    (reply.status, reply.code())
}

each_database! {
    async fn senders_prove_who_they_are_in_other_ways(service: Service) {
        let user = service.user("ann").await;
        let right: [fn(&str) -> String; 4] = [
            str::to_owned,
            |secret| format!("Bearer {secret}"),
            |secret| format!("Basic {}", STANDARD.encode(format!("ann:{secret}"))),
            |secret| format!("v1={}", sign(secret, "{}")),
        ];
        for ((parameters, header), right) in [
            (json!({"scheme": "header", "tokenHeader": "X-Api-Key"}), "x-api-key"),
            (json!({"scheme": "bearer"}), "authorization"),
            (json!({"scheme": "basic", "user": "ann"}), "authorization"),
            (json!({"scheme": "hmac", "hmac": {"header": "X-Signed", "prefix": "v1="}}), "x-signed"),
        ].into_iter().zip(right) {
            // Captured by the newest version's parameters, and accepted by the deployed one's.
            let hook = Hook::saved_by(&service, user.clone(), graph(parameters.clone(), &[])).await;
            let right = right(&hook.secret);
            let captured = hook.post("{}").header(header, &right).send().await;
            assert_eq!(captured.body["status"], "captured", "{parameters}: {captured}");
            assert_eq!(deploy(&hook, parameters.clone()).await, [] as [Value; 0]);
            let sent = hook.post("{}").header(header, &right).send().await;
            assert_eq!(sent.body["status"], "accepted", "{parameters}: {sent}");
            assert_eq!(hook.tapped().await[0]["eventData"]["headers"][header], "***");
            let wrong = hook.post("{}").header(header, &format!("{right}0")).send().await;
            assert_eq!(refused(&wrong), (401, "SIGNATURE_INVALID"), "{parameters}");
            assert_eq!(wrong.headers.get("www-authenticate"), None, "browsers must not keep passwords for this origin");
            assert_eq!(hook.post("{}").send().await.status, 401);
            assert_eq!(hook.endpoints().await[0]["scheme"], parameters["scheme"]);
        }
    }

    async fn tokens_are_checked_and_their_claims_are_in_the_event(service: Service) {
        let parameters = json!({"scheme": "jwt", "jwt": {"issuer": "https://id.example.com", "audience": "orders"}});
        let hook = Hook::deployed(&service, graph(parameters, &[returns("{{ $input.claims }}")])).await;
        let now = service.app.clock.now().millis() / 1000;
        let token = |head: Value, claims: Value| {
            let [head, claims] = [head, claims].map(|part| URL_SAFE_NO_PAD.encode(part.to_string()));
            let signature = hex::decode(sign(&hook.secret, &format!("{head}.{claims}"))).unwrap();
            format!("Bearer {head}.{claims}.{}", URL_SAFE_NO_PAD.encode(signature))
        };
        let head = json!({"alg": "HS256", "typ": "JWT"});
        let right = json!({"iss": "https://id.example.com", "aud": ["orders"], "exp": now + 60, "sub": "ann"});
        let sent = hook.post("{}").header("authorization", &token(head.clone(), right.clone())).send().await;
        assert_eq!(sent.body["status"], "accepted", "{sent}");
        let event = hook.tapped().await[0]["eventData"].clone();
        assert_eq!((&event["claims"], &event["headers"]["authorization"]), (&right, &json!("***")));
        let with = |name: &str, value: Value| {
            let mut claims = right.clone();
            claims[name] = value;
            claims
        };
        let without = |name: &str| {
            let mut claims = right.clone();
            claims.as_object_mut().unwrap().remove(name);
            claims
        };
        for (head, claims) in [
            (head.clone(), with("exp", json!(now - 61))),
            (head.clone(), with("exp", json!("never"))),
            (head.clone(), without("exp")),
            (head.clone(), with("nbf", json!(now + 61))),
            (head.clone(), with("iss", json!("https://evil.example.com"))),
            (head.clone(), without("iss")),
            (head.clone(), with("aud", json!("invoices"))),
            (head.clone(), without("aud")),
            (json!({"alg": "none"}), right.clone()),
            (json!({"alg": "HS512"}), right.clone()),
            (json!({"alg": "RS256"}), right.clone()),
        ] {
            let sent = hook.post("{}").header("authorization", &token(head.clone(), claims.clone())).send().await;
            assert_eq!(refused(&sent), (401, "SIGNATURE_INVALID"), "{head} {claims}: {sent}");
        }
        let mut forged = token(head, right);
        forged.pop();
        assert_eq!(hook.post("{}").header("authorization", &forged).send().await.status, 401);
    }

    async fn methods_start_runs_where_the_node_lists_them(service: Service) {
        let hook = Hook::saved(&service, graph(json!({}), &[])).await;
        for method in ["PUT", "PATCH", "DELETE"] {
            let sent = json(request(&hook, method, ""), "{}").send().await;
            assert_eq!(refused(&sent), (405, "METHOD_NOT_ALLOWED"));
            assert_eq!(sent.headers["allow"], "GET,HEAD,POST");
            let unknown = service.request(method, "/webhooks/0123456789abcdef0123456789abcdef").send().await;
            assert_eq!(unknown.status, 405);
        }
        assert_eq!(hook.logs().await[0]["statusCode"], 405);
        let all = json!({"scheme": "none", "methods": ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"]});
        deploy(&hook, all).await;
        for method in ["POST", "PUT", "PATCH"] {
            let sent = json(request(&hook, method, "?a=1"), "{\"b\": 2}").send().await;
            assert_eq!(sent.body["status"], "accepted", "{method}: {sent}");
            let event = hook.tapped().await[0]["eventData"].clone();
            assert_eq!((&event["method"], &event["body"]), (&json!(method), &json!({"b": 2})));
        }
        for method in ["GET", "DELETE", "HEAD"] {
            let sent = request(&hook, method, "?a=1").send().await;
            assert_eq!(sent.status, 202, "{method}: {sent}");
            let event = hook.tapped().await[0]["eventData"].clone();
            assert_eq!(event["method"], method);
            assert_eq!((&event["body"], &event["query"]), (&json!(null), &json!({"a": "1"})));
        }
        // Many clients send a content type with all of their requests.
        for (method, content_type) in [("GET", "application/json"), ("HEAD", "application/json"), ("DELETE", "text/plain")] {
            let sent = request(&hook, method, "").header("content-type", content_type).send().await;
            assert_eq!(sent.status, 202, "{method}: {sent}");
            assert_eq!(hook.tapped().await[0]["eventData"]["body"], json!(null), "{method}");
        }
        let sent = json(request(&hook, "DELETE", ""), "{\"b\": 2}").send().await;
        assert_eq!(sent.status, 202, "{sent}");
        assert_eq!(hook.tapped().await[0]["eventData"]["body"], json!({"b": 2}));
        let empty = json(request(&hook, "POST", ""), "").send().await;
        assert_eq!(refused(&empty), (400, "VALIDATION"), "an empty body is no JSON");
        let challenged = request(&hook, "GET", "?hub.challenge=x%3Cy").send().await;
        assert_eq!((challenged.status, challenged.text.as_str()), (200, "x<y"));
        let deployment = hook.deploy().await;
        hook.change(&deployment, "pause").await;
        assert_eq!(request(&hook, "GET", "?challenge=x").send().await.status, 404, "it is not active");
        hook.change(&deployment, "resume").await;
        // Only GET: the other methods are refused, and a signature is checked.
        deploy(&hook, json!({"methods": ["GET"]})).await;
        assert_eq!(hook.signed("{}").send().await.status, 405);
        assert_eq!(request(&hook, "GET", "").send().await.status, 401);
        let signed = request(&hook, "GET", "").header("x-webhook-signature", &sign(&hook.secret, "")).send().await;
        assert_eq!(signed.status, 202, "{signed}");
        assert_eq!(request(&hook, "HEAD", "").send().await.status, 200, "a question, as ever");
    }

    async fn paths_have_names(service: Service) {
        let hook = Hook::saved(&service, graph(json!({"scheme": "none", "path": "/orders/:order"}), &[])).await;
        assert_eq!(hook.endpoints().await[0]["path"], "/orders/:order");
        let sent = json(request(&hook, "POST", "/orders/a%2F7?x=1"), "{}").send().await;
        assert_eq!(sent.status, 202, "{sent}");
        let event = hook.tapped().await[0]["eventData"].clone();
        assert_eq!((&event["params"], &event["query"]), (&json!({"order": "a/7"}), &json!({"x": "1"})));
        for below in ["", "/orders", "/invoices/7", "/orders/7/lines"] {
            let sent = json(request(&hook, "POST", below), "{}").send().await;
            assert_eq!(refused(&sent), (404, "NOT_FOUND"), "{below}");
        }
        assert_eq!(hook.log_statuses().await[0], ("not_found".to_owned(), 404));
        deploy(&hook, json!({})).await;
        let below = hook.service.post(&format!("/webhooks/{}/orders/7", hook.webhook));
        let sent = json(below, "{}").header("x-webhook-signature", &sign(&hook.secret, "{}")).send().await;
        assert_eq!(sent.status, 404);
    }

    async fn the_raw_body_and_other_bodies_are_given_as_asked(service: Service) {
        let parameters = json!({"scheme": "none", "accept": ["json", "form", "text", "binary"], "rawBody": true});
        let hook = Hook::saved(&service, graph(parameters, &[])).await;
        let file = json!({"filename": null, "contentType": "image/png", "size": 2, "base64": "AP8="});
        for (content_type, bytes, body, raw) in [
            ("application/json", &b" {\"n\": 1.0} "[..], json!({"n": 1.0}), json!(" {\"n\": 1.0} ")),
            ("application/cloudevents+json", b"[1]", json!([1]), json!("[1]")),
            ("application/x-www-form-urlencoded", b"a=%31", json!({"a": "1"}), json!("a=%31")),
            ("text/xml", b"<a/>", json!("<a/>"), json!("<a/>")),
            ("image/png", b"\x00\xff", file, json!(null)),
        ] {
            let sent = request(&hook, "POST", "").header("content-type", content_type).body(bytes.to_vec()).send().await;
            assert_eq!(sent.status, 202, "{content_type}: {sent}");
            let event = hook.tapped().await[0]["eventData"].clone();
            assert_eq!((&event["body"], &event["rawBody"]), (&body, &raw), "{content_type}");
        }
    }

    async fn a_body_that_no_run_could_begin_with_is_refused(service: Service) {
        let parameters = json!({"scheme": "none", "accept": ["text"], "rawBody": true});
        let hook = Hook::saved(&service, graph(parameters, &[])).await;
        // A control character has six bytes in JSON, in the text and once more in `rawBody`.
        for (bytes, status) in [(1_300_000, 202), (1_500_000, 413), (3_000_000, 413)] {
            let sent = request(&hook, "POST", "").header("content-type", "text/plain").body("\u{1}".repeat(bytes)).send().await;
            assert_eq!(sent.status, status, "{bytes}: {sent}");
        }
        let reason = hook.logs().await[0]["rejectionReason"].as_str().unwrap().to_owned();
        assert!(reason.contains("larger than 16 MiB as JSON"), "{reason}");
    }

    async fn pages_of_named_origins_may_send_from_a_browser(service: Service) {
        let hook = Hook::saved(&service, graph(json!({"scheme": "none", "cors": ["https://shop.example.com"]}), &[])).await;
        let preflight = |origin: &str| {
            request(&hook, "OPTIONS", "").header("origin", origin).header("access-control-request-method", "POST")
                .header("access-control-request-headers", "content-type")
        };
        let allowed = preflight("https://shop.example.com").send().await;
        assert_eq!(allowed.status, 204);
        assert_eq!(allowed.headers["access-control-allow-origin"], "https://shop.example.com");
        assert_eq!(allowed.headers["access-control-allow-headers"], "content-type");
        assert!(allowed.headers["access-control-allow-methods"].to_str().unwrap().contains("POST"));
        assert_eq!(allowed.headers.get("access-control-allow-credentials"), None);
        let other = preflight("https://evil.example.com").send().await;
        assert_eq!(other.headers.get("access-control-allow-origin"), None);
        for (origin, body, status) in [("https://shop.example.com", "{}", 202), ("https://shop.example.com", "{", 400)] {
            let sent = hook.post(body).header("origin", origin).send().await;
            assert_eq!(sent.status, status);
            assert_eq!(sent.headers["access-control-allow-origin"], origin, "errors can be read too");
        }
        let sent = hook.post("{}").header("origin", "https://evil.example.com").send().await;
        assert_eq!(sent.headers.get("access-control-allow-origin"), None);
        assert_eq!(request(&hook, "OPTIONS", "").send().await.status, 405);
    }

    async fn a_node_limits_addresses_bytes_and_requests(service: Service) {
        let parameters = json!({"scheme": "none", "allowIps": ["192.0.2.0/24"]});
        let hook = Hook::saved(&service, graph(parameters, &[])).await;
        assert_eq!(refused(&hook.post("{}").send().await), (403, "FORBIDDEN"));
        let limits = json!({"scheme": "none", "allowIps": ["127.0.0.1"], "maxBytes": 10, "requestsPerMinute": 2});
        hook.save(graph(limits, &[])).await;
        assert_eq!(hook.post("{\"a\": 1}").send().await.status, 202);
        let large = hook.post("{\"abc\": 12}").send().await;
        assert_eq!(refused(&large), (413, "PAYLOAD_TOO_LARGE"));
        assert!(large.text.contains("larger than 10 bytes, as many as `maxBytes` of the trigger allows"), "{large}");
        assert_eq!(hook.post("{}").send().await.status, 202);
        let limited = hook.post("{}").send().await;
        assert_eq!(refused(&limited), (429, "RATE_LIMITED"));
        assert_eq!(limited.headers["retry-after"], "60");
        service.app.clock.advance(Duration::from_secs(60));
        assert_eq!(hook.post("{}").send().await.status, 202);
    }

    async fn senders_who_prove_nothing_use_up_nothing(service: Service) {
        let hook = Hook::saved(&service, graph(json!({"requestsPerMinute": 1}), &[])).await;
        hook.deploy().await;
        for _ in 0..3 {
            assert_eq!(refused(&hook.post("{}").send().await), (401, "SIGNATURE_INVALID"));
        }
        assert_eq!(hook.signed("{}").send().await.status, 202);
        assert_eq!(refused(&hook.signed("{}").send().await), (429, "RATE_LIMITED"));
        assert_eq!(hook.log_statuses().await[0], ("rate_limited".to_owned(), 429));
    }

    async fn events_of_a_paused_deployment_wait_where_the_node_says_so(service: Service) {
        let hook = Hook::saved(&service, graph(json!({}), &[])).await;
        let queued = graph(json!({"whenPaused": "queue", "responseMode": "sync"}), &[returns("{{ $input.body }}")]);
        hook.save(queued).await;
        let deployment = hook.deploy().await;
        hook.change(&deployment, "pause").await;
        // What is saved meanwhile changes nothing for what is deployed.
        hook.save(graph(json!({}), &[])).await;
        let mut runs = Vec::new();
        for body in ["1", "2"] {
            let sent = hook.signed(body).header("x-idempotency-key", body).send().await;
            assert_eq!((sent.status, &sent.body["status"]), (202, &json!("accepted")), "{sent}");
            runs.push(sent.body["runId"].as_str().unwrap().to_owned());
        }
        let again = hook.signed("2").header("x-idempotency-key", "2").send().await;
        assert_eq!((&again.body["status"], &again.body["runId"]), (&json!("duplicate"), &json!(runs[1])));
        let listed = hook.runs(&deployment).await;
        assert_eq!(listed.len(), 2);
        assert!(listed.iter().all(|run| run["status"] == "running" && run["phase"] == "queued"), "{listed:?}");
        assert_eq!(request(&hook, "GET", "").send().await.status, 404, "it is not active");
        hook.change(&deployment, "resume").await;
        for (run, output) in runs.iter().zip([1, 2]) {
            let ended = service.ended(&hook.user, &deployment, run).await;
            assert_eq!(ended["output"], output, "{ended}");
        }
        let sent = hook.signed("3").send().await;
        assert_eq!((sent.status, &sent.body["output"]), (200, &json!(3)), "{sent}");
        // After a restart they wait as well, until the deployment is resumed there.
        hook.change(&deployment, "pause").await;
        let (_restarted, address) = service.restarted().await;
        let path = format!("/webhooks/{}", hook.webhook);
        let sent = json(Request::new(address, "POST", &path), "4");
        let sent = sent.header("x-webhook-signature", &sign(&hook.secret, "4")).send().await;
        assert_eq!((sent.status, &sent.body["status"]), (202, &json!("accepted")), "{sent}");
        let run = sent.body["runId"].as_str().unwrap();
        let path = format!("/api/deployments/{deployment}/runs/{run}");
        let held = Request::new(address, "GET", &path).bearer(&hook.user.token).send().await;
        let held = held.data(200);
        assert_eq!((&held["status"], &held["phase"]), (&json!("running"), &json!("queued")), "{held}");
        let resume = format!("/api/deployments/{deployment}/resume");
        let resumed = Request::new(address, "POST", &resume).bearer(&hook.user.token).send().await;
        assert_eq!(resumed.status, 200, "{resumed}");
        Request::new(address, "GET", &format!("{path}/stream")).bearer(&hook.user.token).send().await;
        let ended = Request::new(address, "GET", &path).bearer(&hook.user.token).send().await;
        assert_eq!(ended.data(200)["output"], 4, "{ended}");
    }

    async fn without_that_they_are_captured(service: Service) {
        let hook = Hook::saved(&service, graph(json!({}), &[])).await;
        let deployment = hook.deploy().await;
        hook.change(&deployment, "pause").await;
        hook.save(graph(json!({"whenPaused": "queue"}), &[])).await;
        let sent = hook.signed("{}").send().await;
        assert_eq!((sent.status, &sent.body["status"]), (202, &json!("captured")), "{sent}");
        hook.change(&deployment, "resume").await;
        assert_eq!(hook.runs(&deployment).await.len(), 0);
    }

    async fn deploying_an_open_webhook_warns(service: Service) {
        let hook = Hook::saved(&service, graph(json!({}), &[])).await;
        let warnings = deploy(&hook, json!({"scheme": "none"})).await;
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert_eq!(warnings[0]["nodeId"], "hook");
        let told = warnings[0]["message"].as_str().unwrap();
        assert!(told.contains("anyone who knows this webhook's address can start runs"), "{told}");
        let warnings = deploy(&hook, json!({"scheme": "none", "allowIps": ["127.0.0.1"], "requestsPerMinute": 9})).await;
        let told = warnings[0]["message"].as_str().unwrap();
        assert!(told.contains("besides `allowIps` and `requestsPerMinute`"), "{told}");
    }
}

#[tokio::test]
async fn an_address_can_be_counted_for_each_webhook() {
    use heddle_service::webhooks::CountedBy;
    let service = Service::with(Database::Sqlite, |config| {
        config.webhook_rate_limit = 2;
        config.webhook_rate_limit_by = CountedBy::Webhook;
    })
    .await;
    let user = service.user("ann").await;
    let one = Hook::saved_by(&service, user.clone(), graph(json!({}), &[])).await;
    let other = Hook::saved_by(&service, user, graph(json!({}), &[])).await;
    for hook in [&one, &other] {
        for _ in 0..2 {
            assert_eq!(hook.signed("{}").send().await.status, 202);
        }
        assert_eq!(hook.signed("{}").send().await.status, 429);
    }
}

#[tokio::test]
async fn a_tenant_is_limited_over_all_its_webhooks() {
    let service = Service::with(Database::Sqlite, |config| config.webhook_tenant_rate_limit = 3).await;
    let user = service.user("ann").await;
    let one = Hook::saved_by(&service, user.clone(), graph(json!({}), &[])).await;
    let other = Hook::saved_by(&service, user, graph(json!({}), &[])).await;
    for hook in [&one, &other] {
        hook.deploy().await;
    }
    let bob = service.user("bob").await;
    let stranger = Hook::saved_by(&service, bob, graph(json!({}), &[])).await;
    stranger.deploy().await;
    for (hook, status) in [
        (&one, 202),
        (&one, 202),
        (&other, 202),
        (&other, 429),
        (&one, 429),
        (&stranger, 202),
    ] {
        assert_eq!(hook.signed("{}").send().await.status, status);
    }
    assert_eq!(one.log_statuses().await[0], ("rate_limited".to_owned(), 429));
}

#[tokio::test]
async fn the_log_says_when_a_proxy_hides_its_clients() {
    let service = Service::with(Database::Sqlite, |config| config.webhook_rate_limit = 1).await;
    let hook = Hook::saved(&service, graph(json!({}), &[])).await;
    for address in ["192.0.2.1", "192.0.2.2"] {
        hook.signed("{}").header("x-forwarded-for", address).send().await;
    }
    let told = hook.logs().await[0]["rejectionReason"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(
        told.contains("127.0.0.1 sends X-Forwarded-For and is not among trusted_proxies"),
        "{told}"
    );
}

#[tokio::test]
async fn a_webhooks_origins_and_the_services_count_both() {
    let service = Service::with(Database::Sqlite, |config| {
        config.cors_origins = vec!["https://app.example.com".to_owned()];
    })
    .await;
    let hook = Hook::saved(
        &service,
        graph(json!({"cors": ["https://shop.example.com"]}), &[]),
    )
    .await;
    for (origin, may) in [
        ("https://app.example.com", true),
        ("https://shop.example.com", true),
        ("https://evil.example.com", false),
    ] {
        let preflight = request(&hook, "OPTIONS", "")
            .header("origin", origin)
            .header("access-control-request-method", "POST");
        for reply in [
            preflight.send().await,
            hook.signed("{}").header("origin", origin).send().await,
        ] {
            let allowed = reply.headers.get("access-control-allow-origin");
            assert_eq!(allowed.is_some(), may, "{origin}: {reply}");
        }
    }
}
