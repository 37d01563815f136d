//! The webhook log and the tap.

use super::fixture::{Hook, graph};
use crate::harness::{Database, Service, each_database};
use heddle_model::ids::UserId;
use serde_json::{Value, json};
use std::time::Duration;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_keeps_its_newest_lines() {
    for database in [Database::Sqlite, Database::Postgres] {
        let service = Service::with(database, |config| config.webhook_log_lines_max = 3).await;
        let hook = Hook::saved(&service, graph(json!({}), &[])).await;
        let eve = service.user("eve").await;
        let other = Hook::saved_by(&service, eve, graph(json!({}), &[])).await;
        for number in 0..5 {
            hook.signed("{}")
                .header("user-agent", format!("tester/{number}").as_str())
                .send()
                .await;
            service.app.clock.advance(Duration::from_secs(1));
        }
        other.signed("{}").send().await;
        assert_eq!((hook.logs().await.len(), other.logs().await.len()), (5, 1));
        // Several servers may do so at the same time.
        let sweep = || service.app.webhooks.sweep_surplus();
        let (first, second) = tokio::join!(sweep(), sweep());
        first.and(second).unwrap();
        let left: Vec<String> = hook
            .logs()
            .await
            .iter()
            .map(|line| line["userAgent"].to_string())
            .collect();
        assert_eq!(left, ["\"tester/4\"", "\"tester/3\"", "\"tester/2\""]);
        assert_eq!(other.logs().await.len(), 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_has_no_longer_logs_by_having_more_patterns() {
    for database in [Database::Sqlite, Database::Postgres] {
        let service = Service::with(database, |config| config.webhook_log_user_lines_max = 5).await;
        let hook = Hook::saved(&service, graph(json!({}), &[])).await;
        let short = Hook::saved_by(&service, hook.user.clone(), graph(json!({}), &[])).await;
        let eve = service.user("eve").await;
        let other = Hook::saved_by(&service, eve, graph(json!({}), &[])).await;
        for _ in 0..5 {
            hook.signed("{}").send().await;
            other.signed("{}").send().await;
            service.app.clock.advance(Duration::from_secs(1));
        }
        short.signed("{}").send().await;
        assert_eq!((hook.logs().await.len(), short.logs().await.len()), (5, 1));
        service.app.webhooks.sweep_surplus().await.unwrap();
        assert_eq!((hook.logs().await.len(), short.logs().await.len()), (4, 1));
        assert_eq!(other.logs().await.len(), 5);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_has_no_more_captured_events_by_having_more_webhooks() {
    for database in [Database::Sqlite, Database::Postgres] {
        let service = Service::with(database, |config| config.tap_user_bytes_max = 50_000).await;
        let hook = Hook::saved(&service, graph(json!({}), &[])).await;
        let second = Hook::saved_by(&service, hook.user.clone(), graph(json!({}), &[])).await;
        let eve = service.user("eve").await;
        let other = Hook::saved_by(&service, eve, graph(json!({}), &[])).await;
        let body = json!({"text": "x".repeat(15_000)}).to_string();
        for hook in [&hook, &hook, &second, &second, &other] {
            hook.signed(&body).send().await;
            service.app.clock.advance(Duration::from_secs(1));
        }
        let captured = async |hook: &Hook<'_>| {
            // Whoever reads the log has all lines written, and the events with them.
            hook.logs().await;
            let events = hook
                .get(&format!("/api/patterns/{}/tap-events", hook.pattern))
                .await;
            assert_eq!(events.status, 200, "{events}");
            events.text.matches("xxxxxxxx\"").count()
        };
        assert_eq!((captured(&hook).await, captured(&second).await), (2, 2));
        let now = service.app.clock.now();
        service.app.webhooks.sweep(now).await.unwrap();
        assert_eq!(
            (captured(&hook).await, captured(&second).await),
            (1, 2),
            "the newest stay"
        );
        assert_eq!(captured(&other).await, 1);
    }
}

each_database! {
    async fn every_request_is_a_line(service: Service) {
        let hook = Hook::saved(&service, graph(json!({}), &[])).await;
        hook.signed("{}").header("user-agent", "tester/1").header("x-request-id", "first").send().await;
        let logs = hook.get(&format!("/api/patterns/{}/webhook-logs", hook.pattern)).await;
        let line = &logs.body["logs"][0];
        assert_eq!(logs.body, json!({
            "logs": [{
                "id": line["id"], "webhookId": hook.webhook, "patternId": hook.pattern, "status": "inactive",
                "statusCode": 202, "rejectionReason": null, "ipAddress": "127.0.0.1", "userAgent": "tester/1",
                "contentLength": 2, "requestId": "first", "runId": null, "createdAt": "2026-11-21T09:00:00.000Z",
            }],
            "meta": {"page": 1, "limit": 50, "total": 1, "totalPages": 1},
        }));
        let all = hook.get("/api/triggers/webhook-logs").await;
        assert_eq!(all.body, json!({
            "logs": [{
                "id": line["id"], "webhookId": hook.webhook, "patternId": hook.pattern, "status": "inactive",
                "statusCode": 202, "ipAddress": "127.0.0.1", "userAgent": "tester/1",
                "createdAt": "2026-11-21T09:00:00.000Z",
            }],
            "meta": {"page": 1, "limit": 50, "total": 1, "totalPages": 1},
        }));
    }

    async fn lines_are_found_by_status_and_time_in_pages(service: Service) {
        let hook = Hook::saved(&service, graph(json!({}), &[])).await;
        for minute in 0..6 {
            let request = if minute % 2 == 0 { hook.signed("{}") } else { hook.post("{}") };
            request.send().await;
            service.app.clock.advance(Duration::from_secs(60));
        }
        let path = format!("/api/patterns/{}/webhook-logs", hook.pattern);
        let times = |logs: &Value| -> Vec<String> {
            let logs = logs["logs"].as_array().unwrap();
            logs.iter().map(|log| log["createdAt"].as_str().unwrap()[11..16].to_owned()).collect()
        };
        for (query, found, total) in [
            ("", vec!["09:05", "09:04", "09:03", "09:02", "09:01", "09:00"], 6),
            ("status=inactive", vec!["09:04", "09:02", "09:00"], 3),
            ("status=signature_invalid&limit=2", vec!["09:05", "09:03"], 3),
            ("status=signature_invalid&limit=2&page=2", vec!["09:01"], 3),
            ("page=9", vec![], 6),
            ("limit=1000", vec!["09:05", "09:04", "09:03", "09:02", "09:01", "09:00"], 6),
            ("status=not_found", vec![], 0),
            ("since=2026-11-21T09:04:00Z", vec!["09:05", "09:04"], 2),
            ("until=2026-11-21T10:01:00%2B01:00", vec!["09:01", "09:00"], 2),
            ("since=2026-11-21T09:02:00Z&until=2026-11-21T09:03:59.999Z", vec!["09:03", "09:02"], 2),
        ] {
            let logs = hook.get(&format!("{path}?{query}")).await;
            assert_eq!(times(&logs.body), found, "{query}");
            assert_eq!(logs.body["meta"]["total"], total, "{query}");
            let all = hook.get(&format!("/api/triggers/webhook-logs?{query}")).await;
            assert_eq!(times(&all.body), found, "{query}");
        }
        for query in ["status=lost", "since=yesterday", "until=", "page=0", "page=x", "limit=0", "limit=-1"] {
            let refused = hook.get(&format!("{path}?{query}")).await;
            assert_eq!((refused.status, refused.code()), (400, "VALIDATION"), "{query}: {refused}");
        }
    }

    async fn the_log_shows_and_forgets_the_callers_own_only(service: Service) {
        let mine = Hook::saved(&service, graph(json!({}), &[])).await;
        let bob = service.user("bob").await;
        let theirs = Hook::saved_by(&service, bob, graph(json!({}), &[])).await;
        mine.signed("{}").send().await;
        theirs.signed("{}").send().await;
        service.post("/webhooks/nobody").send().await;
        assert_eq!(mine.get("/api/triggers/webhook-logs").await.body["meta"]["total"], 1);
        let path = format!("/api/patterns/{}/webhook-logs", theirs.pattern);
        assert_eq!(mine.get(&path).await.status, 404);
        for path in [path.as_str(), &format!("/api/patterns/{}/tap-events", theirs.pattern)] {
            assert_eq!(service.delete(path).bearer(&mine.user.token).send().await.status, 404);
        }
        let cleared = service.delete("/api/triggers/webhook-logs").bearer(&mine.user.token).send().await;
        assert_eq!((cleared.status, cleared.body), (200, json!({"cleared": true})));
        assert_eq!((mine.logs().await.len(), theirs.logs().await.len()), (0, 1));
        let cleared = service.delete(&path).bearer(&theirs.user.token).send().await;
        assert_eq!((cleared.status, cleared.body), (200, json!({"cleared": true})));
        assert_eq!(theirs.logs().await.len(), 0);
    }

    async fn the_tap_keeps_the_newest_twenty_of_each_webhook(service: Service) {
        let graph = json!({"nodes": [
            {"id": "hook", "type": "OnWebhook", "data": {"parameters": {"alias": "orders"}}},
            {"id": "other", "type": "OnWebhook", "data": {}},
        ], "edges": []});
        let hook = Hook::saved(&service, graph).await;
        let mut other = Hook::saved_by(&service, hook.user.clone(), json!({"nodes": [], "edges": []})).await;
        let second = &hook.endpoints().await[1];
        other.webhook = second["webhookId"].as_str().unwrap().to_owned();
        other.secret = second["webhookSecret"].as_str().unwrap().to_owned();
        other.signed("\"other\"").send().await;
        for n in 0..25 {
            hook.signed(&n.to_string()).send().await;
        }
        let tapped = hook.tapped().await;
        let bodies: Vec<&Value> = tapped.iter().map(|event| &event["eventData"]["body"]).collect();
        let expected: Vec<Value> = (5..25).rev().map(Value::from).chain([json!("other")]).collect();
        assert_eq!(bodies, expected.iter().collect::<Vec<_>>());
        let newest = &tapped[0];
        assert_eq!(newest, &json!({
            "nodeId": "hook", "webhookAlias": "orders", "receivedAt": "2026-11-21T09:00:00.000Z",
            "eventData": newest["eventData"],
        }));
        assert_eq!(newest["eventData"]["method"], "POST");
        assert_eq!(newest["eventData"]["query"], json!({}));

        let path = format!("/api/patterns/{}/tap-events", hook.pattern);
        let cleared = service.delete(&path).bearer(&hook.user.token).send().await;
        assert_eq!((cleared.status, cleared.body), (200, json!({"cleared": true})));
        assert_eq!(hook.tapped().await.len(), 0);
    }

    async fn what_one_owner_keeps_for_the_tap_leaves_room_for_others(service: Service) {
        let hook = Hook::deployed(&service, graph(json!({}), &[])).await;
        let bob = service.user("bob").await;
        let other = Hook::saved_by(&service, bob, graph(json!({}), &[])).await;
        other.deploy().await;
        // As for senders to many other webhooks of hers, who wait for the ends of runs.
        let ann: UserId = hook.user.id.parse().unwrap();
        let journal = &service.app.webhooks.journal;
        let held: Vec<_> = std::iter::from_fn(|| journal.tap_room(Some(ann), 4 << 20)).collect();
        assert_eq!(held.len(), 8);
        let large = json!("x".repeat(100_000)).to_string();
        for (hook, kept) in [(&hook, 0), (&other, 1)] {
            let sent = hook.signed(&large).send().await;
            assert_eq!((sent.status, hook.tapped().await.len()), (202, kept), "{sent}");
        }
    }

    async fn tapped_events_expire_after_half_an_hour(service: Service) {
        let hook = Hook::saved(&service, graph(json!({}), &[])).await;
        hook.signed("1").send().await;
        service.app.clock.advance(Duration::from_secs(60));
        hook.signed("2").send().await;
        service.app.clock.advance(Duration::from_millis(29 * 60_000 - 1));
        assert_eq!(hook.tapped().await.len(), 2);
        service.app.clock.advance(Duration::from_millis(1));
        let left = hook.tapped().await;
        assert_eq!((left.len(), &left[0]["eventData"]["body"]), (1, &json!(2)));
        assert_eq!(hook.logs().await.len(), 2, "the log keeps its lines for longer");
        service.app.webhooks.sweep(service.app.clock.now().plus(service.app.config.retention)).await.unwrap();
        assert_eq!(hook.logs().await.len(), 0);
    }
}
