//! Retry, replay and cancel; attempts; error patterns; a full queue; a restart.

use crate::harness::{Database, Service, chain, doubling, each_database, endless};
use heddle_api::app::App;
use heddle_model::status::Phase;
use heddle_store::{StoreError, sql};
use serde_json::{Value, json};

/// Fails with a retry setting of three attempts without a wait to speak of.
fn hopeless() -> Value {
    let mut graph = doubling();
    graph["settings"] = json!({"retry": {"maxAttempts": 3, "backoffMs": 1, "factor": 1}});
    graph
}

each_database! {
    async fn a_failed_run_is_retried_and_an_ended_one_replayed(service: Service) {
        let ann = service.user("ann").await;
        let pattern = service.drawn(&ann, &doubling()).await;
        let id = service.deploy(&ann, &pattern).await;
        let bad = service.ran(&ann, &id, &json!({"fail": true, "n": 5})).await;
        let good = service.ran(&ann, &id, &json!({"n": 5})).await;
        let run = async |run: &str, operation: &str| service.operate(&ann, &id, &format!("runs/{run}/{operation}")).await;

        let refused = run(&good, "retry").await;
        assert_eq!((refused.status, refused.code()), (400, "INVALID_STATUS"));
        let retried = run(&bad, "retry").await;
        assert_eq!((retried.status, &retried.body["data"]["status"]), (200, &json!("running")), "{retried}");
        let again = service.ended(&ann, &id, retried.body["data"]["runId"].as_str().unwrap()).await;
        assert_eq!((&again["eventData"], &again["status"]), (&json!({"fail": true, "n": 5}), &json!("failure")));
        assert_eq!(again["triggeredBy"], "manual");
        for ended in [&bad, &good] {
            assert_eq!(run(ended, "replay").await.status, 200);
            let cancelled = run(ended, "cancel").await;
            assert_eq!((cancelled.status, cancelled.code()), (400, "INVALID_STATUS"));
        }
        let missing = "01932c07-209e-7f64-b0a3-5c1f1b0e6f3a";
        for operation in ["retry", "replay", "cancel"] {
            assert_eq!(run(missing, operation).await.code(), "NOT_FOUND");
            assert_eq!(run("nonsense", operation).await.code(), "NOT_FOUND");
        }
        service.operate(&ann, &id, "pause").await;
        for operation in ["retry", "replay"] {
            assert_eq!(run(&bad, operation).await.code(), "DEPLOYMENT_NOT_ACTIVE");
        }
    }

    async fn a_run_under_way_is_cancelled(service: Service) {
        let ann = service.user("ann").await;
        let id = service.deployed(&ann, &endless()).await;
        let run = service.started(&ann, &id, &json!({})).await;
        for operation in ["retry", "replay"] {
            let refused = service.operate(&ann, &id, &format!("runs/{run}/{operation}")).await;
            assert_eq!(refused.code(), "INVALID_STATUS");
        }
        let cancelled = service.operate(&ann, &id, &format!("runs/{run}/cancel")).await;
        assert_eq!((cancelled.status, &cancelled.body["data"]), (200, &json!({"runId": run, "status": "failure"})));
        let ended = service.run(&ann, &id, &run).await;
        assert_eq!((&ended["status"], &ended["errorMessage"]), (&json!("failure"), &json!("cancelled")));
    }

    async fn attempts_end_in_the_dead_letters(service: Service) {
        let ann = service.user("ann").await;
        let id = service.deployed(&ann, &hopeless()).await;
        let run = service.ran(&ann, &id, &json!({"fail": true})).await;
        let ended = service.run(&ann, &id, &run).await;
        assert_eq!((&ended["status"], &ended["attempt"]), (&json!("dead_letter"), &json!(3)), "{ended}");
        assert_eq!(ended["errorMessage"], "boom: no luck");
        assert_eq!(service.run(&ann, &id, &service.ran(&ann, &id, &json!({})).await).await["attempt"], 1);
        let retried = service.operate(&ann, &id, &format!("runs/{run}/retry")).await;
        assert_eq!(retried.status, 200, "{retried}");
    }

    async fn the_error_pattern_hears_of_a_failure_once(service: Service) {
        let ann = service.user("ann").await;
        let handler = service.drawn(&ann, &chain(&[("on", "OnError", json!({})), ("end", "Return", json!({}))])).await;
        let handling = service.deploy(&ann, &handler).await;
        let mut graph = hopeless();
        graph["settings"]["errorPatternId"] = json!(handler);
        let pattern = service.drawn(&ann, &graph).await;
        let id = service.deploy(&ann, &pattern).await;
        let run = service.ran(&ann, &id, &json!({"fail": true})).await;
        let listed = service.get(&format!("/api/deployments/{handling}/runs")).bearer(&ann.token).send().await;
        assert_eq!(listed.body["meta"]["total"], 1, "{listed}");
        assert_eq!(listed.body["data"][0]["triggeredBy"], "error");
        assert_eq!(listed.body["data"][0]["eventData"], json!({
            "runId": run, "patternId": pattern, "nodeId": "boom",
            "error": {"message": "no luck", "code": "UNLUCKY", "nodeId": "boom"}, "eventData": {"fail": true},
        }));
    }

    async fn a_run_that_is_cancelled_starts_no_error_pattern(service: Service) {
        let ann = service.user("ann").await;
        let handler = service.drawn(&ann, &chain(&[("on", "OnError", json!({})), ("end", "Return", json!({}))])).await;
        let handling = service.deploy(&ann, &handler).await;
        let mut graph = endless();
        graph["settings"] = json!({"errorPatternId": handler});
        let id = service.deployed(&ann, &graph).await;
        let run = service.started(&ann, &id, &json!({})).await;
        let cancelled = service.operate(&ann, &id, &format!("runs/{run}/cancel")).await;
        assert_eq!(cancelled.body["data"]["status"], "failure", "{cancelled}");
        let listed = service.get(&format!("/api/deployments/{handling}/runs")).bearer(&ann.token).send().await;
        assert_eq!(listed.body["meta"]["total"], 0, "{listed}");
    }

    async fn a_time_limit_of_the_pattern_ends_its_runs(service: Service) {
        let ann = service.user("ann").await;
        let mut graph = endless();
        graph["settings"] = json!({"timeoutMs": 50});
        let id = service.deployed(&ann, &graph).await;
        let answer = service.execute(&ann, &id, "?wait=true", &json!({})).await;
        assert_eq!(answer.body["data"]["error"]["code"], "TIMEOUT", "{answer}");
    }

    async fn secrets_and_variables_of_the_environment_reach_the_run(service: Service) {
        let ann = service.user("ann").await;
        let workspace = service.workspace_of(&ann).await;
        let list = service.get(&format!("/api/workspaces/{workspace}/environments")).bearer(&ann.token).send().await;
        let environment = list.body["data"][0]["id"].as_str().unwrap().to_owned();
        let base = format!("/api/workspaces/{workspace}/environments/{environment}");
        let id = service.deployed(&ann, &chain(&[
            ("start", "OnManual", json!({})),
            ("sign", "Hmac", json!({"value": "text", "secret": "{{ $secrets.SIGNING_KEY }}"})),
            ("end", "Return", json!({"value": "{{ { greeting: $vars.greeting, signed: $input } }}"})),
        ])).await;
        let missing = service.execute(&ann, &id, "?wait=true", &json!({})).await;
        assert_eq!(missing.body["data"]["error"]["code"], "CONNECTION_MISSING", "{missing}");
        assert_eq!(missing.body["data"]["error"]["nodeId"], "sign");
        for greeting in ["hello", "goodbye"] {
            let set = service.put(&format!("{base}/variables")).bearer(&ann.token).json(&json!({"greeting": greeting}));
            assert_eq!(set.send().await.status, 200);
            let set = service.put(&format!("{base}/secrets/SIGNING_KEY")).bearer(&ann.token).json(&json!({"value": "key"}));
            assert_eq!(set.send().await.status, 200);
            let found = service.execute(&ann, &id, "?wait=true", &json!({})).await;
            assert_eq!(found.body["data"]["output"]["greeting"], greeting, "{found}");
        }
    }

    async fn runs_left_by_a_stopped_server_are_taken_up(service: Service) {
        let ann = service.user("ann").await;
        let id = service.deployed(&ann, &doubling()).await;
        let held = service.deployed(&ann, &doubling()).await;
        let mut runs = Vec::new();
        for n in 0..5 {
            runs.push(service.ran(&ann, &id, &json!({"n": n})).await);
        }
        let parked = service.ran(&ann, &held, &json!({"n": 7})).await;
        service.operate(&ann, &held, "pause").await;
        let doomed = runs[4].clone();
        let rewound: Result<(), StoreError> = service.app.store.write(move |db| Box::pin(async move {
            db.execute(sql("update runs set status = 'running', phase = 'queued', owner = 'gone', output = null,
                 completed_at = null")).await?;
            db.execute(sql("update runs set suspicion = -2 where id = ?").bind(doomed)).await?;
            Ok(())
        })).await;
        rewound.unwrap();

        let restarted = App::new(service.app.config.clone(), service.app.store.clone(), service.app.clock.clone());
        restarted.executions.start().await.unwrap();
        let mut changes = restarted.executions.tail().watch(id.parse().unwrap());
        while restarted.executions.counts() != (0, 0) || unended(&service, &id).await > 0 {
            // Each end is told; one that was before this began to watch is counted above.
            let _ = tokio::time::timeout(std::time::Duration::from_millis(100), changes.next()).await;
        }
        for (n, run) in runs.iter().enumerate().take(4) {
            let run = service.run(&ann, &id, run).await;
            assert_eq!((&run["status"], &run["output"]), (&json!("success"), &json!({"double": n * 2})), "{run}");
        }
        let given_up = service.run(&ann, &id, &runs[4]).await;
        assert_eq!((&given_up["status"], &given_up["error"]["code"]), (&json!("dead_letter"), &json!("INTERRUPTED")));
        assert_eq!(service.run(&ann, &held, &parked).await["status"], "running");
    }

    async fn cancelling_what_no_server_has_ends_it(service: Service) {
        let ann = service.user("ann").await;
        let id = service.deployed(&ann, &doubling()).await;
        let run = service.ran(&ann, &id, &json!({})).await;
        let rewound: Result<u64, StoreError> = service.app.store.write(|db| Box::pin(async move {
            db.execute(sql("update runs set status = 'running', phase = 'queued', owner = 'gone'")).await
        })).await;
        rewound.unwrap();
        let cancelled = service.operate(&ann, &id, &format!("runs/{run}/cancel")).await;
        assert_eq!(cancelled.body["data"]["status"], "failure", "{cancelled}");
        assert_eq!(service.run(&ann, &id, &run).await["errorMessage"], "cancelled");
    }
}

async fn unended(service: &Service, deployment: &str) -> i64 {
    let mut reader = service.app.store.reader().await.unwrap();
    let query =
        sql("select count(*) from runs where deployment_id = ? and status = 'running'").bind(deployment);
    let (count,): (i64,) = reader.db().one(query).await.unwrap();
    count
}

async fn a_full_queue_refuses_and_says_when_to_come_again(database: Database) {
    let service = Service::with(database, |config| {
        (config.workspace_concurrency_max, config.queue_runs_max) = (1, 2);
    })
    .await;
    let ann = service.user("ann").await;
    let id = service.deployed(&ann, &endless()).await;
    let executing = service.started(&ann, &id, &json!({})).await;
    service.started(&ann, &id, &json!({})).await;
    // The queue has room for two, but one tenant may take half of it.
    let refused = service.execute(&ann, &id, "", &json!({})).await;
    assert_eq!(
        (refused.status, refused.code()),
        (503, "UNAVAILABLE"),
        "{refused}"
    );
    assert_eq!(refused.headers["retry-after"], "1");
    let bob = service.user("bob").await;
    let other = service.deployed(&bob, &doubling()).await;
    service.ran(&bob, &other, &json!({})).await;
    let cancelled = service
        .operate(&ann, &id, &format!("runs/{executing}/cancel"))
        .await;
    assert_eq!(cancelled.status, 200, "{cancelled}");
    service.started(&ann, &id, &json!({})).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_queue_refuses_on_sqlite() {
    a_full_queue_refuses_and_says_when_to_come_again(Database::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_queue_refuses_on_postgres() {
    a_full_queue_refuses_and_says_when_to_come_again(Database::Postgres).await;
}

async fn one_at_a_time_is_in_the_order_of_acceptance(database: Database) {
    let service = Service::with(database, |config| config.workspace_concurrency_max = 1).await;
    let ann = service.user("ann").await;
    let id = service.deployed(&ann, &doubling()).await;
    let mut changes = service.app.executions.tail().watch(id.parse().unwrap());
    let mut accepted = Vec::new();
    for n in 0..20 {
        accepted.push(service.started(&ann, &id, &json!({"n": n})).await);
    }
    let mut executed = Vec::new();
    while executed.len() < accepted.len() {
        let change = changes.next().await.unwrap();
        if change.phase == Phase::Executing {
            executed.push(change.run_id.to_string());
        }
    }
    assert_eq!(executed, accepted);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_at_a_time_is_in_order_on_sqlite() {
    one_at_a_time_is_in_the_order_of_acceptance(Database::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_at_a_time_is_in_order_on_postgres() {
    one_at_a_time_is_in_the_order_of_acceptance(Database::Postgres).await;
}
