//! KeyValue, kept by the service.

use crate::harness::{Database, Service, User, each_database};
use heddle_model::quota::Quota;
use heddle_runtime::key_values::KEYS_MAX;
use heddle_store::{Sql, StoreError, sql};
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

/// The message of an access that exceeds this quota.
async fn assert_exceeded(service: &Service, user: &User, deployment: &str, event: Value, quota: Quota) {
    let reply = service.execute(user, deployment, "?wait=true", &event).await;
    let error = &reply.data(200)["error"];
    assert_eq!(error["code"], "KEY_VALUE_LIMIT", "{reply}");
    assert!(
        error["message"].as_str().unwrap().contains(quota.setting()),
        "{reply}"
    );
}

/// Changes rows as no run could do it in a reasonable time.
async fn change(service: &Service, statement: Sql) {
    let changed = service
        .app
        .store
        .write(|db| Box::pin(async move { db.execute(statement).await }));
    let changed: Result<u64, StoreError> = changed.await;
    assert!(changed.unwrap() > 0);
}

fn set(scope: &str, key: &str, value: Value) -> Value {
    json!({"operation": "set", "key": key, "value": value, "scope": scope})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_user_keeps_is_counted_wherever_it_is() {
    for database in [Database::Sqlite, Database::Postgres] {
        let service = Service::with(database, |config| config.quotas.set(Quota::KeyValues, 3)).await;
        let (ann, eve) = (service.user("ann").await, service.user("eve").await);
        let (first, second) = (keeping(&service, &ann).await, keeping(&service, &ann).await);
        let others = keeping(&service, &eve).await;
        for (deployment, scope) in [(&first, "pattern"), (&second, "pattern"), (&second, "workspace")] {
            assert_eq!(
                access(&service, &ann, deployment, set(scope, "k", json!(1))).await,
                1
            );
        }
        let fourth = set("pattern", "l", json!(1));
        assert_exceeded(&service, &ann, &first, fourth.clone(), Quota::KeyValues).await;
        // What is there may change, others have their own, and what was refused is not there.
        assert_eq!(
            access(&service, &ann, &first, set("pattern", "k", json!("longer"))).await,
            "longer"
        );
        assert_eq!(access(&service, &eve, &others, fourth.clone()).await, 1);
        let get = json!({"operation": "get", "key": "l"});
        assert_eq!(access(&service, &ann, &first, get).await, Value::Null);
        let delete = json!({"operation": "delete", "key": "k", "scope": "workspace"});
        access(&service, &ann, &second, delete).await;
        assert_eq!(access(&service, &ann, &first, fourth.clone()).await, 1);
        let fifth = set("pattern", "m", json!(1));
        assert_exceeded(&service, &ann, &first, fifth.clone(), Quota::KeyValues).await;
        // What goes with its pattern counts no more.
        let deployment = service
            .get(&format!("/api/deployments/{second}"))
            .bearer(&ann.token)
            .send()
            .await;
        let pattern = deployment.data(200)["patternId"].as_str().unwrap().to_owned();
        service
            .delete(&format!("/api/deployments/{second}"))
            .bearer(&ann.token)
            .send()
            .await
            .data(200);
        let deleted = service
            .delete(&format!("/api/patterns/{pattern}"))
            .bearer(&ann.token)
            .send()
            .await;
        assert_eq!(deleted.status, 204, "{deleted}");
        assert_eq!(access(&service, &ann, &first, fifth).await, 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bytes_that_a_user_keeps_are_counted() {
    for database in [Database::Sqlite, Database::Postgres] {
        let service = Service::with(database, |config| config.quotas.set(Quota::KeyValueBytes, 1_000)).await;
        let ann = service.user("ann").await;
        let deployment = keeping(&service, &ann).await;
        let text = |bytes: usize| json!("x".repeat(bytes));
        assert_eq!(
            access(&service, &ann, &deployment, set("pattern", "a", text(900))).await,
            text(900)
        );
        let second = set("pattern", "b", text(200));
        assert_exceeded(&service, &ann, &deployment, second.clone(), Quota::KeyValueBytes).await;
        let larger = set("pattern", "a", text(999));
        assert_exceeded(&service, &ann, &deployment, larger, Quota::KeyValueBytes).await;
        assert_eq!(
            access(&service, &ann, &deployment, set("pattern", "a", text(100))).await,
            text(100)
        );
        assert_eq!(access(&service, &ann, &deployment, second).await, text(200));
        // What has expired counts until it is cleared away.
        let short = json!({"operation": "set", "key": "c", "value": text(600), "ttlMs": 1_000});
        assert_eq!(access(&service, &ann, &deployment, short).await, text(600));
        let fourth = set("pattern", "d", text(500));
        service.app.clock.advance(Duration::from_secs(1));
        assert_exceeded(&service, &ann, &deployment, fourth.clone(), Quota::KeyValueBytes).await;
        service.app.executions.clear_away().await.unwrap();
        assert_eq!(access(&service, &ann, &deployment, fourth).await, text(500));
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

    async fn a_pattern_has_so_many_keys_of_which_expired_ones_are_none(service: Service) {
        let ann = service.user("ann").await;
        let deployment = keeping(&service, &ann).await;
        let set = |key: &str| set("pattern", key, json!(1));
        assert_eq!(access(&service, &ann, &deployment, set("first")).await, 1);
        let others = sql("insert into key_values (scope, key, value)
             with recursive n (i) as (select 1 union all select i + 1 from n where i < ?)
             select f.scope, 'k' || n.i, '1' from n, key_values f where f.key = 'first'");
        let others = others.bind(i64::try_from(KEYS_MAX - 1).unwrap());
        change(&service, others).await;
        assert_eq!(access(&service, &ann, &deployment, set("more")).await, "KEY_VALUE_LIMIT");
        assert_eq!(access(&service, &ann, &deployment, set("k7")).await, 1, "it is there");
        change(&service, sql("update key_values set expires_at = 1 where key = 'k1'")).await;
        assert_eq!(access(&service, &ann, &deployment, set("more")).await, 1);
        assert_eq!(access(&service, &ann, &deployment, set("yet another")).await, "KEY_VALUE_LIMIT");
    }

    async fn what_is_there_is_replaced_whatever_it_was(service: Service) {
        let ann = service.user("ann").await;
        let deployment = keeping(&service, &ann).await;
        let get = json!({"operation": "get", "key": "k"});
        for value in [json!("x".repeat(100_000)), json!(1), json!(["y".repeat(100_000)]), json!("end")] {
            assert_eq!(access(&service, &ann, &deployment, set("pattern", "k", value.clone())).await, value);
            assert_eq!(access(&service, &ann, &deployment, get.clone()).await, value);
        }
    }

    async fn a_key_without_a_meaning_is_told(service: Service) {
        let ann = service.user("ann").await;
        let deployment = keeping(&service, &ann).await;
        for operation in ["get", "set", "delete"] {
            let event = json!({"operation": operation, "key": "a\u{0}b", "value": 1});
            assert_eq!(access(&service, &ann, &deployment, event).await, "PARAMETER");
        }
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
