//! What a request must be, in the order in which it is checked, and what is logged of it.

use super::fixture::{Hook, graph, returns, sign};
use crate::harness::{Service, each_database};
use serde_json::json;
use std::time::Duration;

const GUESS: &str = "/webhooks/0123456789abcdef0123456789abcdef";

each_database! {
    async fn a_signed_event_of_a_deployed_pattern_makes_a_run(service: Service) {
        let hook = Hook::saved(&service, graph(json!({}), &[returns("{{ $input.body.n }}")])).await;
        let deployment = hook.deploy().await;
        let body = r#"{"n": 12345678901234567890}"#;
        let sent = hook.post_with("?a=1&a=2&b=x", body)
            .header("x-webhook-signature", &sign(&hook.secret, body)).send().await;
        assert_eq!(sent.status, 202, "{sent}");
        let run = sent.body["runId"].as_str().unwrap();
        assert_eq!(sent.body, json!({"status": "accepted", "runId": run}));

        let runs = hook.runs(&deployment).await;
        assert_eq!(runs.len(), 1);
        assert_eq!(runs[0]["id"], run);
        assert_eq!(runs[0]["triggeredBy"], "webhook");
        let event = &runs[0]["eventData"];
        assert_eq!(event["method"], "POST");
        assert_eq!(event["query"], json!({"a": ["1", "2"], "b": "x"}));
        assert_eq!(event["body"].to_string(), r#"{"n":12345678901234567890}"#);
        assert_eq!(event["headers"]["content-type"], "application/json");
        assert_eq!(hook.log_statuses().await, [("accepted".into(), 202)]);
        assert_eq!(hook.logs().await[0]["runId"], run);
    }

    async fn checks_come_in_their_order(service: Service) {
        let hook = Hook::deployed(&service, graph(json!({}), &[])).await;
        // Each request has this mistake and all later ones.
        let unknown = service.post(GUESS).header("content-type", "text/plain").body("{").send().await;
        assert_eq!((unknown.status, unknown.code()), (404, "NOT_FOUND"));

        let path = format!("/webhooks/{}", hook.webhook);
        let large = "{".repeat((8 << 20) + 1);
        let other_type = service.post(&path).header("content-type", "text/plain").body("{").send().await;
        assert_eq!((other_type.status, other_type.code()), (415, "UNSUPPORTED_MEDIA_TYPE"));
        let no_type = service.post(&path).body("{").send().await;
        assert_eq!((no_type.status, no_type.code()), (415, "UNSUPPORTED_MEDIA_TYPE"));
        let too_large = hook.post(&large).send().await;
        assert_eq!((too_large.status, too_large.code()), (413, "PAYLOAD_TOO_LARGE"));
        let unsigned = hook.post("{").send().await;
        assert_eq!((unsigned.status, unsigned.code()), (401, "SIGNATURE_INVALID"));
        assert_eq!(unsigned.headers.get("www-authenticate"), None);
        let badly_signed = hook.post("{").header("x-webhook-signature", &sign("wrong", "{")).send().await;
        assert_eq!((badly_signed.status, badly_signed.code()), (401, "SIGNATURE_INVALID"));
        let no_json = hook.signed("{").send().await;
        assert_eq!((no_json.status, no_json.code()), (400, "VALIDATION"));
        let right = hook.signed("{}").send().await;
        assert_eq!(right.status, 202, "{right}");

        let expected = [
            ("accepted", 202), ("signature_invalid", 400), ("signature_invalid", 401), ("signature_invalid", 401),
            ("signature_invalid", 413), ("signature_invalid", 415), ("signature_invalid", 415),
        ];
        assert_eq!(hook.log_statuses().await, expected.map(|(status, code)| (status.to_owned(), code)));
        assert_eq!(hook.tapped().await.len(), 1, "refused requests are not tapped");
        let logs = hook.logs().await;
        assert_eq!(logs[0]["rejectionReason"], json!(null));
        let reason = "The request's signature was rejected: the header X-Webhook-Signature is missing.";
        assert_eq!(logs[3]["rejectionReason"], reason);
    }

    async fn any_json_is_an_event(service: Service) {
        let hook = Hook::deployed(&service, graph(json!({}), &[])).await;
        for body in ["null", "7", "\"text\"", "[1, [2]]", " {\"a\": {}} "] {
            let sent = hook.signed(body).send().await;
            assert_eq!(sent.status, 202, "{body}: {sent}");
        }
        let prefixed = hook.post("1").header("x-webhook-signature", &format!("sha256={}", sign(&hook.secret, "1")));
        assert_eq!(prefixed.send().await.status, 202);
    }

    async fn a_body_of_exactly_the_limit_is_taken(service: Service) {
        let hook = Hook::saved(&service, graph(json!({}), &[])).await;
        let body = format!("\"{}\"", "x".repeat((8 << 20) - 2));
        assert_eq!(hook.signed(&body).send().await.status, 202);
        // Without a declared length, as with chunks, it is counted.
        let chunks = (0..3).map(|_| Ok::<_, std::io::Error>("x".repeat(4 << 20)));
        let path = format!("/webhooks/{}", hook.webhook);
        let chunked = service.post(&path).header("content-type", "application/json")
            .body(reqwest::Body::wrap_stream(futures_util::stream::iter(chunks))).send().await;
        assert_eq!(chunked.status, 413, "{chunked}");
    }

    async fn an_address_may_send_a_hundred_requests_a_minute(service: Service) {
        let hook = Hook::saved(&service, graph(json!({}), &[])).await;
        for _ in 0..60 {
            assert_eq!(hook.signed("{}").send().await.status, 202);
        }
        for _ in 60..100 {
            assert_eq!(service.post(GUESS).send().await.status, 404);
        }
        for path in [format!("/webhooks/{}", hook.webhook), GUESS.to_owned()] {
            let refused = service.post(&path).send().await;
            assert_eq!((refused.status, refused.code()), (429, "RATE_LIMITED"));
            assert_eq!(refused.headers["retry-after"], "60");
        }
        assert_eq!(hook.log_statuses().await[0], ("rate_limited".to_owned(), 429));
        service.app.clock.advance(Duration::from_secs(60));
        assert_eq!(hook.signed("{}").send().await.status, 202);
    }

    async fn whoever_guesses_addresses_is_counted_whatever_they_ask(service: Service) {
        let preflight = || {
            let asks = service.request("OPTIONS", GUESS).header("origin", "https://evil.example.com");
            asks.header("access-control-request-method", "POST")
        };
        for _ in 0..50 {
            assert_eq!(service.get(GUESS).send().await.status, 404);
            assert_eq!(preflight().send().await.status, 204);
        }
        for guess in [service.get(GUESS), preflight(), service.post(GUESS)] {
            let refused = guess.send().await;
            assert_eq!((refused.status, refused.code()), (429, "RATE_LIMITED"));
        }
        service.app.clock.advance(Duration::from_secs(60));
        assert_eq!(service.get(GUESS).send().await.status, 404);
    }

    async fn each_scheme_signs_in_its_own_way(service: Service) {
        let hook = Hook::saved(&service, graph(json!({"scheme": "github"}), &[])).await;
        assert_eq!(hook.endpoints().await[0]["scheme"], "github");
        assert_eq!(hook.signed("{}").send().await.status, 401);
        let github = |secret: &str| format!("sha256={}", sign(secret, "{}"));
        let sent = hook.post("{}").header("x-hub-signature-256", &github(&hook.secret)).send().await;
        assert_eq!(sent.status, 202, "{sent}");

        // The scheme of the newest version counts until one is deployed, then that of the deployed one.
        hook.save(graph(json!({"scheme": "slack"}), &[])).await;
        let at = |seconds: i64| {
            let signature = sign(&hook.secret, &format!("v0:{seconds}:{{}}"));
            hook.post("{}").header("x-slack-signature", &format!("v0={signature}"))
                .header("x-slack-request-timestamp", &seconds.to_string())
        };
        let now = service.app.clock.now().millis() / 1000;
        assert_eq!(at(now).send().await.status, 202);
        assert_eq!(at(now - 301).send().await.status, 401, "too old");
        hook.deploy().await;
        hook.save(graph(json!({"scheme": "github"}), &[])).await;
        assert_eq!(at(now).send().await.status, 202);
        assert_eq!(hook.post("{}").header("x-hub-signature-256", &github(&hook.secret)).send().await.status, 401);
    }

    async fn signatures_and_credentials_are_for_the_pattern_only(service: Service) {
        let after = [returns("{{ $input.headers.authorization.length + $input.headers.cookie.length }}")];
        let hook = Hook::saved(&service, graph(json!({}), &after)).await;
        let deployment = hook.deploy().await;
        let signature = sign(&hook.secret, "{}");
        let sent = hook.post("{}").header("x-webhook-signature", &signature).header("authorization", "Bearer t0ken")
            .header("cookie", "session=s3cret").header("x-stays", "shown").send().await;
        let run = sent.body["runId"].as_str().unwrap_or_else(|| panic!("{sent}")).to_owned();
        let path = format!("/api/deployments/{deployment}/runs");
        let replayed = service.post(&format!("{path}/{run}/replay")).bearer(&hook.user.token).send().await;
        assert_eq!(replayed.status, 200, "{replayed}");
        let again = replayed.body["data"]["runId"].as_str().unwrap_or_else(|| panic!("{replayed}")).to_owned();
        let shown = |name: &str| if name == "x-stays" { "shown" } else { "***" };
        for run in [&run, &again] {
            service.ended(&hook.user, &deployment, run).await;
            let one = hook.get(&format!("{path}/{run}")).await;
            assert_eq!(one.body["data"]["output"], 26, "the pattern has them, and so has its replay: {one}");
            for name in ["authorization", "cookie", "x-webhook-signature", "x-stays"] {
                assert_eq!(one.body["data"]["eventData"]["headers"][name], shown(name));
            }
        }
        let (runs, taps) = (hook.runs(&deployment).await, hook.tapped().await);
        for event in [&runs[0]["eventData"], &runs[1]["eventData"], &taps[0]["eventData"]] {
            for name in ["authorization", "cookie", "x-webhook-signature", "x-stays"] {
                assert_eq!(event["headers"][name], shown(name), "{event}");
            }
        }
        let mut reader = service.app.store.reader().await.unwrap();
        for query in ["select event from runs", "select event from tap_events"] {
            let events: Vec<(String,)> = reader.db().all(heddle_store::sql(query)).await.unwrap();
            assert!(!events.is_empty() && !events.iter().any(|(event,)| event.contains(&signature)), "{query}");
        }
    }

    async fn traces_show_events_without_signatures_and_credentials(service: Service) {
        let wrap = json!({"id": "wrap", "type": "Transform", "data": {"parameters": {"value": "{{ { event: $input } }}"}}});
        let hook = Hook::saved(&service, graph(json!({}), &[wrap, returns("1")])).await;
        let deployment = service.deploy(&hook.user, &hook.pattern).await;
        // Of a large value a trace has the beginning of its text.
        for text in ["x", &"x".repeat(20_000)] {
            let sent = hook.signed(&json!({"text": text}).to_string()).header("authorization", "Bearer t0ken")
                .header("cookie", "sid=s3cret").send().await;
            let run = sent.body["runId"].as_str().unwrap_or_else(|| panic!("{sent}"));
            let run = service.ended(&hook.user, &deployment, run).await;
            let nodes: Vec<&str> = run["trace"].as_array().unwrap().iter().map(|entry| entry["nodeId"].as_str().unwrap()).collect();
            assert_eq!(nodes, ["hook", "wrap", "return"], "{run}");
            for entry in [&run["trace"][0], &run["trace"][1]] {
                let told = entry.to_string();
                assert!(told.contains("***") && !told.contains("t0ken") && !told.contains("s3cret"), "{told}");
                assert_eq!(entry["output"]["truncated"].is_boolean(), text.len() > 1, "{told}");
            }
        }
    }

    async fn what_was_overheard_is_a_duplicate_under_any_key(service: Service) {
        let now = service.app.clock.now().millis() / 1000;
        let hook = Hook::saved(&service, graph(json!({"scheme": "slack"}), &[])).await;
        hook.deploy().await;
        let slack = |seconds: i64, key: &str| {
            let signature = sign(&hook.secret, &format!("v0:{seconds}:{{}}"));
            hook.post_with(&format!("?with={key}"), "{}").header("x-slack-signature", &format!("v0={signature}"))
                .header("x-slack-request-timestamp", &seconds.to_string()).header("x-idempotency-key", key)
        };
        let stripe = |seconds: i64, body: &str, key: &str| {
            let signature = sign(&hook.secret, &format!("{seconds}.{body}"));
            hook.post_with(&format!("?with={key}"), body)
                .header("stripe-signature", &format!("t={seconds},v1={signature}")).header("x-idempotency-key", key)
        };
        let standard = |seconds: i64, id: &str, key: &str| {
            use base64::Engine as _;
            let signature = hex::decode(sign(&hook.secret, &format!("{id}.{seconds}.{{}}"))).unwrap();
            let signature = base64::engine::general_purpose::STANDARD.encode(signature);
            hook.post_with(&format!("?with={key}"), "{}").header("webhook-signature", &format!("v1,{signature}"))
                .header("webhook-id", id).header("webhook-timestamp", &seconds.to_string()).header("x-idempotency-key", key)
        };
        let mut told = Vec::new();
        for request in [slack(now, "a"), slack(now, "b"), slack(now + 1, "b")] {
            told.push(request.send().await.body["status"].clone());
        }
        hook.save(graph(json!({"scheme": "stripe"}), &[])).await;
        hook.deploy().await;
        for request in [
            stripe(now, r#"{"id":"evt_1"}"#, "a"), stripe(now, r#"{"id":"evt_1"}"#, "b"), stripe(now + 9, r#"{"id":"evt_1"}"#, "c"),
            stripe(now, r#"{"id":"evt_2"}"#, "a"), stripe(now, "[]", "a"), stripe(now, "[]", "b"), stripe(now + 1, "[]", "b"),
        ] {
            told.push(request.send().await.body["status"].clone());
        }
        hook.save(graph(json!({"scheme": "standard-webhooks"}), &[])).await;
        hook.deploy().await;
        for request in [standard(now, "m1", "a"), standard(now + 1, "m1", "b"), standard(now, "m2", "a")] {
            told.push(request.send().await.body["status"].clone());
        }
        // Svix has other names for the headers, which are masked as well.
        let signature = |id: &str| {
            use base64::Engine as _;
            let signature = hex::decode(sign(&hook.secret, &format!("{id}.{now}.{{}}"))).unwrap();
            format!("v1,{}", base64::engine::general_purpose::STANDARD.encode(signature))
        };
        for id in ["m2", "m3"] {
            let sent = hook.post("{}").header("svix-id", id).header("svix-timestamp", &now.to_string())
                .header("svix-signature", &signature(id)).send().await;
            told.push(sent.body["status"].clone());
        }
        assert_eq!(hook.tapped().await[0]["eventData"]["headers"]["svix-signature"], "***");
        let (accepted, duplicate) = ("accepted", "duplicate");
        assert_eq!(told, [
            accepted, duplicate, accepted,
            accepted, duplicate, duplicate, accepted, accepted, duplicate, accepted,
            accepted, duplicate, accepted,
            duplicate, accepted,
        ]);
    }
}
