//! Runs whose callers have ended without them, since their server did.

use super::waits::parked;
use crate::harness::{Service, chain, each_database};
use heddle_model::ids::RunId;
use heddle_store::{StoreError, sql};
use serde_json::{Value, json};
use std::time::Duration;

/// Calls a pattern with its event.
fn calling(trigger: &str, pattern: &str) -> Value {
    chain(&[
        ("start", trigger, json!({})),
        ("call", "CallPattern", json!({"patternId": pattern})),
        ("end", "Return", json!({})),
    ])
}

each_database! {
    async fn what_a_run_has_called_ends_although_only_the_run_was_cancelled_or_removed(service: Service) {
        service.app.executions.start().await.unwrap();
        let ann = service.user("ann").await;
        let callee = service.drawn(&ann, &chain(&[
            ("on", "OnCall", json!({})), ("wait", "Wait", json!({"durationMs": 100_000})), ("end", "Return", json!({})),
        ])).await;
        let called = service.deploy(&ann, &callee).await;
        let middle = service.drawn(&ann, &calling("OnCall", &callee)).await;
        let between = service.deploy(&ann, &middle).await;
        let id = service.deployed(&ann, &calling("OnManual", &middle)).await;
        let removed = service.deployed(&ann, &calling("OnManual", &middle)).await;
        let (first, second, third) = (
            service.started(&ann, &id, &json!({"n": 1})).await,
            service.started(&ann, &id, &json!({"n": 2})).await,
            service.started(&ann, &removed, &json!({"n": 3})).await,
        );
        let run_of = async |deployment: &str, n: i64| {
            let listed = service.get(&format!("/api/deployments/{deployment}/runs")).bearer(&ann.token).send().await;
            let list = listed.body["data"].as_array().unwrap();
            let found = list.iter().find(|run| run["eventData"]["n"] == n);
            found.unwrap()["id"].as_str().unwrap().to_owned()
        };
        for (deployment, run, n) in [(&id, &first, 1), (&id, &second, 2), (&removed, &third, 3)] {
            parked(&service, &ann, deployment, run).await;
            for deployment in [&between, &called] {
                let child = run_of(deployment, n).await;
                parked(&service, &ann, deployment, &child).await;
            }
        }
        // As a server leaves it that is killed after it has stored the end of the first one.
        let caller: RunId = first.parse().unwrap();
        let ended = service.app.store.write(move |db| Box::pin(async move {
            let end = sql("update runs set status = 'failure', phase = 'ended', wake_at = null where id = ?");
            db.execute(end.bind(caller)).await
        }));
        let ended: Result<u64, StoreError> = ended.await;
        assert_eq!(ended.unwrap(), 1);
        service.delete(&format!("/api/deployments/{removed}")).bearer(&ann.token).send().await.data(200);
        service.app.executions.clear_away().await.unwrap();
        for deployment in [&between, &called] {
            for n in [1, 3] {
                let child = service.run(&ann, deployment, &run_of(deployment, n).await).await;
                assert_eq!((&child["status"], &child["errorMessage"]), (&json!("failure"), &json!("cancelled")), "{child}");
                assert_eq!(child["error"]["code"], "CANCELLED");
            }
            let other = service.run(&ann, deployment, &run_of(deployment, 2).await).await;
            assert_eq!(other["phase"], "waiting", "{other}");
        }
        service.app.clock.advance(Duration::from_secs(200));
        assert_eq!(service.ended(&ann, &id, &second).await["output"], json!({"n": 2}));
    }
}
