//! Lists of deployments, and how they are.

use crate::harness::{Service, doubling, each_database};
use serde_json::{Value, json};

const NOW: &str = "2026-11-21T09:00:00.000Z";

each_database! {
    async fn a_list_has_the_last_run_and_their_number(service: Service) {
        let ann = service.user("ann").await;
        let pattern = service.drawn(&ann, &doubling()).await;
        let id = service.deploy(&ann, &pattern).await;
        let listed = service.get("/api/deployments").bearer(&ann.token).send().await;
        assert_eq!(listed.body["data"], json!([{
            "id": id, "patternId": pattern, "patternName": "Pattern", "status": "active",
            "triggers": [{"type": "OnManual", "nodeId": "start"}], "versionNumber": 2, "totalRuns": 0,
            "environmentId": listed.body["data"][0]["environmentId"], "environmentName": "production", "isMain": true,
            "lastRun": null, "errorMessage": null, "createdAt": NOW, "updatedAt": NOW,
        }]));
        assert!(listed.body["data"][0]["environmentId"].is_string(), "{listed}");
        assert_eq!(listed.body["meta"], json!({"page": 1, "limit": 20, "total": 1, "totalPages": 1}));
        service.ran(&ann, &id, &json!({"n": 1})).await;
        service.app.clock.advance(std::time::Duration::from_secs(1));
        service.ran(&ann, &id, &json!({"fail": true})).await;
        let listed = service.get("/api/deployments?status=active&page=1&limit=5").bearer(&ann.token).send().await;
        let found = &listed.body["data"][0];
        assert_eq!(found["totalRuns"], 2, "{listed}");
        assert_eq!(found["lastRun"]["status"], "failure");
        assert_eq!(found["lastRun"]["startedAt"], "2026-11-21T09:00:01.000Z");
        assert!(found["lastRun"]["durationMs"].is_i64());
    }

    async fn lists_are_narrowed_paged_and_checked(service: Service) {
        let ann = service.user("ann").await;
        let mut ids = Vec::new();
        for _ in 0..3 {
            service.app.clock.advance(std::time::Duration::from_secs(1));
            ids.push(service.deployed(&ann, &doubling()).await);
        }
        service.operate(&ann, &ids[0], "pause").await;
        let list = async |query: &str| service.get(&format!("/api/deployments{query}")).bearer(&ann.token).send().await;
        let shown = |reply: &crate::harness::Reply| -> Vec<Value> {
            reply.body["data"].as_array().unwrap().iter().map(|it| it["id"].clone()).collect()
        };
        assert_eq!(shown(&list("").await), [ids[2].as_str(), &ids[1], &ids[0]]);
        assert_eq!(shown(&list("?status=paused").await), [ids[0].as_str()]);
        assert_eq!(shown(&list("?status=failed").await), Vec::<Value>::new());
        let page = list("?limit=2&page=2").await;
        assert_eq!(shown(&page), [ids[0].as_str()]);
        assert_eq!(page.body["meta"], json!({"page": 2, "limit": 2, "total": 3, "totalPages": 2}));
        assert_eq!(shown(&list("?page=9").await), Vec::<Value>::new());
        assert_eq!(list("?limit=1000").await.body["meta"]["limit"], 100);
        for query in ["?status=undeployed", "?limit=0", "?page=0", "?page=x", "?limit=-1"] {
            let refused = list(query).await;
            assert_eq!((refused.status, refused.code()), (400, "VALIDATION"), "{query}: {refused}");
        }
        let bob = service.user("bob").await;
        let others = service.get("/api/deployments").bearer(&bob.token).send().await;
        assert_eq!(others.body["meta"]["total"], 0);
    }

    async fn the_summary_counts_states_and_the_last_hour(service: Service) {
        let ann = service.user("ann").await;
        let id = service.deployed(&ann, &doubling()).await;
        let other = service.deployed(&ann, &doubling()).await;
        service.operate(&ann, &other, "pause").await;
        service.ran(&ann, &id, &json!({"fail": true})).await;
        service.app.clock.advance(std::time::Duration::from_secs(2 * 60 * 60));
        for fail in [true, false, false, false] {
            service.ran(&ann, &id, &json!({"fail": fail})).await;
        }
        let summary = service.get("/api/deployments/health/summary").bearer(&ann.token).send().await;
        assert_eq!(summary.body["data"], json!({
            "deployments": {"active": 1, "paused": 1, "failed": 0}, "runsLastHour": 4, "failuresLastHour": 1,
            "errorRate": 25.0, "engineStatus": "running",
        }), "{summary}");
    }
}
