//! What is shown of runs.

use crate::harness::{Service, chain, doubling, each_database};
use heddle_model::access::WorkspaceRole;
use serde_json::{Value, json};

const NOW: &str = "2026-11-21T09:00:00.000Z";

each_database! {
    async fn a_run_is_kept_with_all_that_people_debug_with(service: Service) {
        let ann = service.user("ann").await;
        let id = service.deployed(&ann, &doubling()).await;
        let answer = service.execute(&ann, &id, "?wait=true", &json!({"n": 21})).await;
        let run = answer.body["data"]["runId"].as_str().unwrap().to_owned();
        assert_eq!(answer.body["data"], json!({
            "runId": run, "status": "completed", "output": {"double": 42}, "error": null,
        }));
        let listed = service.get(&format!("/api/deployments/{id}/runs")).bearer(&ann.token).send().await;
        assert_eq!(listed.body["meta"], json!({"page": 1, "limit": 20, "total": 1, "totalPages": 1}));
        let shown = &listed.body["data"][0];
        assert_eq!(shown, &json!({
            "id": run, "deploymentId": id, "triggeredBy": "manual", "status": "success", "phase": "ended",
            "startedAt": NOW, "completedAt": NOW, "acceptedAt": NOW, "durationMs": shown["durationMs"],
            "eventData": {"n": 21}, "logOutput": [{"level": "info", "message": "got 21", "nodeId": "note"}],
            "errorMessage": null, "attempt": 1, "versionNumber": 2,
        }));
        assert!(shown["durationMs"].is_u64());
        let whole = service.run(&ann, &id, &run).await;
        assert_eq!(whole["output"], json!({"double": 42}));
        assert_eq!(whole["error"], Value::Null);
        assert!(whole["fuelUsed"].as_i64().unwrap() > 0 && whole["memoryBytesPeak"].as_i64().unwrap() > 0, "{whole}");
        let traced: Vec<&Value> = whole["trace"].as_array().unwrap().iter().map(|entry| &entry["nodeId"]).collect();
        assert_eq!(traced, ["start", "note", "check", "done"]);
    }

    async fn a_failure_names_its_node(service: Service) {
        let ann = service.user("ann").await;
        let id = service.deployed(&ann, &doubling()).await;
        let answer = service.execute(&ann, &id, "?wait=true", &json!({"fail": true})).await;
        let error = json!({"message": "no luck", "code": "UNLUCKY", "nodeId": "boom"});
        assert_eq!(answer.body["data"]["status"], "failed", "{answer}");
        assert_eq!(answer.body["data"]["error"], error);
        let whole = service.run(&ann, &id, answer.body["data"]["runId"].as_str().unwrap()).await;
        assert_eq!((&whole["status"], &whole["errorMessage"]), (&json!("failure"), &json!("boom: no luck")));
        assert_eq!((&whole["error"], &whole["output"]), (&error, &Value::Null));
    }

    async fn lists_are_narrowed_paged_and_checked(service: Service) {
        let ann = service.user("ann").await;
        let id = service.deployed(&ann, &doubling()).await;
        let good = service.ran(&ann, &id, &json!({"n": 1})).await;
        let bad = service.ran(&ann, &id, &json!({"fail": true})).await;
        let list = async |query: &str| {
            service.get(&format!("/api/deployments/{id}/runs{query}")).bearer(&ann.token).send().await
        };
        for (query, expected) in [
            ("", vec![&bad, &good]),
            ("?status=success", vec![&good]),
            ("?status=completed", vec![&good]),
            ("?status=failure&triggeredBy=manual", vec![&bad]),
            ("?status=running", vec![]),
            ("?status=dead_letter", vec![]),
            ("?triggeredBy=webhook", vec![]),
            ("?limit=1&page=2", vec![&good]),
            ("?page=7", vec![]),
        ] {
            let listed = list(query).await;
            let ids: Vec<&str> = listed.body["data"].as_array().unwrap().iter().map(|it| it["id"].as_str().unwrap()).collect();
            assert_eq!(ids, expected, "{query}");
        }
        for query in ["?status=ended", "?triggeredBy=nobody", "?limit=0", "?page=-1"] {
            assert_eq!(list(query).await.code(), "VALIDATION", "{query}");
        }
    }

    async fn an_event_must_be_an_object_or_nothing(service: Service) {
        let ann = service.user("ann").await;
        let id = service.deployed(&ann, &doubling()).await;
        for event in [json!([]), json!("text"), json!(1)] {
            let refused = service.execute(&ann, &id, "", &event).await;
            assert_eq!((refused.status, &refused.body["error"]["details"][0]["path"]), (400, &json!("eventData")));
        }
        let none = service.operate(&ann, &id, "execute?wait=true").await;
        assert_eq!(none.body["data"]["output"], json!({"double": 0}), "{none}");
        let run = none.body["data"]["runId"].as_str().unwrap();
        assert_eq!(service.run(&ann, &id, run).await["eventData"], Value::Null);
        let replay = service.operate(&ann, &id, &format!("runs/{run}/replay")).await;
        assert_eq!((replay.status, replay.code()), (400, "NO_EVENT_DATA"));
    }

    async fn large_values_are_cut_with_a_mark(service: Service) {
        let ann = service.user("ann").await;
        let id = service.deployed(&ann, &chain(&[
            ("start", "OnManual", json!({})),
            ("note", "Log", json!({"message": "{{ $input.text }}"})),
            ("end", "Return", json!({"value": "{{ $input.text.repeat(3) }}"})),
        ])).await;
        let text = "x".repeat(100_000);
        let answer = service.execute(&ann, &id, "?wait=true", &json!({"text": text})).await;
        assert_eq!(answer.body["data"]["output"].as_str().unwrap().len(), 300_000);
        let run = answer.body["data"]["runId"].as_str().unwrap();
        let whole = service.run(&ann, &id, run).await;
        assert_eq!(whole["eventData"]["text"], text.as_str());
        assert_eq!((&whole["output"]["$truncated"], &whole["output"]["bytes"]), (&json!(true), &json!(300_002)));
        let listed = service.get(&format!("/api/deployments/{id}/runs")).bearer(&ann.token).send().await;
        assert_eq!(listed.body["data"][0]["eventData"], json!({"$truncated": true, "chars": 100_011}));
        let replayed = service.operate(&ann, &id, &format!("runs/{run}/replay")).await;
        let again = service.ended(&ann, &id, replayed.body["data"]["runId"].as_str().unwrap()).await;
        assert_eq!(again["eventData"]["text"], text.as_str());
    }

    async fn others_see_and_do_nothing(service: Service) {
        let ann = service.user("ann").await;
        let id = service.deployed(&ann, &doubling()).await;
        let run = service.ran(&ann, &id, &json!({"fail": true})).await;
        let bob = service.user("bob").await;
        let other = service.deployed(&bob, &doubling()).await;
        for path in [format!("{id}/runs"), format!("{id}/runs/stats"), format!("{id}/runs/{run}"), format!("{other}/runs/{run}"), format!("{id}/runs/stream")] {
            let reply = service.get(&format!("/api/deployments/{path}")).bearer(&bob.token).send().await;
            assert_eq!((reply.status, reply.code()), (404, "NOT_FOUND"), "{path}");
        }
        for operation in ["retry", "replay", "cancel"] {
            let reply = service.operate(&bob, &id, &format!("runs/{run}/{operation}")).await;
            assert_eq!((reply.status, reply.code()), (404, "NOT_FOUND"), "{operation}");
        }
        let viewer = service.member(&ann, "vic", WorkspaceRole::Viewer).await;
        assert_eq!(service.run(&viewer, &id, &run).await["id"], run.as_str());
        for operation in [format!("runs/{run}/retry"), format!("runs/{run}/replay"), format!("runs/{run}/cancel"), "execute".to_owned()] {
            let reply = service.operate(&viewer, &id, &operation).await;
            assert_eq!((reply.status, reply.code()), (403, "FORBIDDEN"), "{operation}");
        }
    }
}
