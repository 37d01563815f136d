//! KeyValue, kept by the service.

use crate::harness::{Service, User, each_database};
use serde_json::{Value, json};
use std::time::Duration;

/// A deployment of one KeyValue node whose parameters come with the event.
async fn keeping(service: &Service, user: &User) -> String {
    let parameters = json!({
        "operation": "{{ $input.operation }}", "key": "{{ $input.key }}", "value": "{{ $input.value }}",
        "ttlMs": "{{ $input.ttlMs }}", "scope": "{{ $input.scope ?? 'pattern' }}",
    });
    let graph = crate::harness::chain(&[
        ("start", "OnManual", json!({})),
        ("keep", "KeyValue", parameters),
        ("end", "Return", json!({})),
    ]);
    service.deployed(user, &graph).await
}

async fn access(service: &Service, user: &User, deployment: &str, event: Value) -> Value {
    let reply = service.execute(user, deployment, "?wait=true", &event).await;
    let ended = reply.data(200).clone();
    match ended["error"].is_null() {
        true => ended["output"].clone(),
        false => ended["error"]["code"].clone(),
    }
}

each_database! {
    async fn values_stay_from_run_to_run_where_they_belong(service: Service) {
        let (ann, eve) = (service.user("ann").await, service.user("eve").await);
        let (first, second) = (keeping(&service, &ann).await, keeping(&service, &ann).await);
        let others = keeping(&service, &eve).await;
        let set = |scope: &str| json!({"operation": "set", "key": "k", "value": {"of": scope}, "scope": scope});
        let get = |scope: &str| json!({"operation": "get", "key": "k", "scope": scope});
        for scope in ["pattern", "workspace"] {
            assert_eq!(access(&service, &ann, &first, set(scope)).await, json!({"of": scope}));
            assert_eq!(access(&service, &ann, &first, get(scope)).await, json!({"of": scope}));
            assert_eq!(access(&service, &eve, &others, get(scope)).await, Value::Null);
        }
        assert_eq!(access(&service, &ann, &second, get("pattern")).await, Value::Null);
        assert_eq!(access(&service, &ann, &second, get("workspace")).await, json!({"of": "workspace"}));
        let append = json!({"operation": "append", "key": "k", "value": 1});
        assert_eq!(access(&service, &ann, &first, append).await, "KEY_VALUE_TYPE");
        assert_eq!(access(&service, &ann, &first, get("pattern")).await, json!({"of": "pattern"}), "a failure changes nothing");
        let delete = json!({"operation": "delete", "key": "k"});
        assert_eq!(access(&service, &ann, &first, delete.clone()).await, json!({"of": "pattern"}));
        assert_eq!(access(&service, &ann, &first, delete).await, Value::Null);
    }

    async fn a_counter_counts_every_run(service: Service) {
        let ann = service.user("ann").await;
        let deployment = keeping(&service, &ann).await;
        let event = json!({"operation": "increment", "key": "runs", "scope": "workspace"});
        let runs = (0..40).map(|_| access(&service, &ann, &deployment, event.clone()));
        let mut counts: Vec<i64> = futures_util::future::join_all(runs).await.iter().map(|count| count.as_i64().unwrap()).collect();
        counts.sort_unstable();
        assert_eq!(counts, (1..=40).collect::<Vec<_>>());
    }

    async fn values_expire_and_are_cleared_away(service: Service) {
        let ann = service.user("ann").await;
        let deployment = keeping(&service, &ann).await;
        let event = |operation: &str, ttl_ms: Value| json!({"operation": operation, "key": "k", "value": 5, "ttlMs": ttl_ms});
        assert_eq!(access(&service, &ann, &deployment, event("set", json!(60_000))).await, 5);
        service.app.clock.advance(Duration::from_secs(59));
        assert_eq!(access(&service, &ann, &deployment, event("increment", Value::Null)).await, 10, "keeps its time");
        service.app.clock.advance(Duration::from_secs(1));
        assert_eq!(access(&service, &ann, &deployment, event("get", Value::Null)).await, Value::Null);
        service.app.executions.clear_away().await.unwrap();
        assert_eq!(access(&service, &ann, &deployment, event("increment", json!(1))).await, 5, "begins anew");
    }
}
