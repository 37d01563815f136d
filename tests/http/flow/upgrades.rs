//! Runs that an older heddle has begun.

use super::waits::{HOUR, parked};
use crate::harness::{Service, chain, each_database};
use heddle_model::ids::RunId;
use heddle_store::runs::journal;
use heddle_store::{StoreError, sql};
use serde_json::json;

each_database! {
    async fn what_a_further_attempt_has_called_leaves_its_end_under_the_key_of_then(service: Service) {
        service.app.executions.start().await.unwrap();
        let ann = service.user("ann").await;
        let callee = service.drawn(&ann, &chain(&[
            ("on", "OnCall", json!({})), ("wait", "Wait", json!({"durationMs": 100_000})), ("end", "Return", json!({})),
        ])).await;
        service.deploy(&ann, &callee).await;
        let id = service.deployed(&ann, &json!({
            "settings": {"retry": {"maxAttempts": 2, "backoffMs": 1, "factor": 1}},
            "nodes": [
                {"id": "start", "type": "OnManual"},
                {"id": "first", "type": "If", "data": {"parameters": {"condition": "{{ $run.attempt === 1 }}"}}},
                {"id": "boom", "type": "Throw", "data": {"parameters": {"message": "once more", "code": "AGAIN"}}},
                {"id": "call", "type": "CallPattern", "data": {"parameters": {"patternId": callee}}},
                {"id": "end", "type": "Return"},
            ],
            "edges": [
                {"source": "start", "target": "first"},
                {"source": "first", "sourceHandle": "true", "target": "boom"},
                {"source": "first", "sourceHandle": "false", "target": "call"},
                {"source": "call", "target": "end"},
            ],
        })).await;
        let run = service.started(&ann, &id, &json!({"n": 3})).await;
        parked(&service, &ann, &id, &run).await;
        service.operate(&ann, &id, "pause").await;
        // As if it had been stopped after the call was stored, and before the run had parked. All attempts had the same key.
        let caller: RunId = run.parse().unwrap();
        let rewound: Result<u64, StoreError> = service.app.store.write(move |db| Box::pin(async move {
            journal::clear(db, &[caller]).await?;
            let begun = sql("update runs set phase = 'queued', owner = 'gone', wake_at = null where id = ?");
            db.execute(begun.bind(caller)).await?;
            let called = sql("update runs set parent_key = replace(parent_key, '@2', '') where parent_id = ?");
            db.execute(called.bind(caller)).await
        })).await;
        assert_eq!(rewound.unwrap(), 1);
        service.operate(&ann, &id, "resume").await;
        parked(&service, &ann, &id, &run).await;
        service.app.clock.advance(HOUR);
        let ended = service.ended(&ann, &id, &run).await;
        assert_eq!((&ended["attempt"], &ended["output"]), (&json!(2), &json!({"n": 3})), "{ended}");
        assert_eq!(crate::flow::journal::kept(&service).await, 0);
    }
}
