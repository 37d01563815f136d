//! Long waits: a row and nothing else, until the time has come.

use crate::harness::{Database, Service, User, chain, each_database, endless};
use heddle_model::quota::Quota;
use heddle_store::quota;
use serde_json::{Value, json};
use std::time::Duration;

pub const HOUR: Duration = Duration::from_secs(3_600);

/// The run, once it waits without anything of it being in memory.
pub async fn parked(service: &Service, user: &User, deployment: &str, run: &str) -> Value {
    loop {
        // Asked before the run is read: what is read while it is in memory has no log yet.
        let is_in_memory = service.app.executions.phase_of(run.parse().unwrap()).is_some();
        let found = service.run(user, deployment, run).await;
        assert_eq!(found["status"], "running", "{found}");
        if found["phase"] == "waiting" && !is_in_memory {
            return found;
        }
        tokio::task::yield_now().await;
    }
}

fn waiting(ms: i64) -> Value {
    chain(&[
        ("start", "OnManual", json!({})),
        ("note", "Log", json!({"message": "before"})),
        ("wait", "Wait", json!({"durationMs": ms})),
        (
            "end",
            "Return",
            json!({"value": "{{ [$input.n, $run.startedAt, $uuid()] }}"}),
        ),
    ])
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_too_many_does_not_wait_but_fails() {
    for database in [Database::Sqlite, Database::Postgres] {
        let service = Service::with(database, |config| config.quotas.set(Quota::WaitingRuns, 2)).await;
        service.app.executions.start().await.unwrap();
        let (ann, eve) = (service.user("ann").await, service.user("eve").await);
        let (first, second) = (
            service.deployed(&ann, &waiting(100_000)).await,
            service.deployed(&ann, &waiting(100_000)).await,
        );
        let one = service.started(&ann, &first, &json!({"n": 1})).await;
        parked(&service, &ann, &first, &one).await;
        let two = service.started(&ann, &second, &json!({"n": 2})).await;
        parked(&service, &ann, &second, &two).await;
        let refused = service.started(&ann, &first, &json!({"n": 3})).await;
        let refused = service.ended(&ann, &first, &refused).await;
        let message = refused["errorMessage"].as_str().unwrap();
        assert_eq!(refused["status"], "failure", "{refused}");
        assert!(
            message.contains("limit of 2 waiting runs") && message.contains("quota_waiting_runs"),
            "{message}"
        );
        assert_eq!(refused["logOutput"][0]["message"], "before", "{refused}");
        // Others wait as ever; and who has waited may do so again.
        let others = service.deployed(&eve, &waiting(100_000)).await;
        let run = service.started(&eve, &others, &json!({"n": 1})).await;
        parked(&service, &eve, &others, &run).await;
        service.operate(&ann, &first, &format!("runs/{one}/cancel")).await;
        let next = service.started(&ann, &first, &json!({"n": 4})).await;
        parked(&service, &ann, &first, &next).await;
        service.app.clock.advance(HOUR);
        assert_eq!(service.ended(&ann, &first, &next).await["output"][0], 4);
        assert_eq!(service.ended(&ann, &second, &two).await["output"][0], 2);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waiting_runs_have_so_many_bytes_together() {
    for database in [Database::Sqlite, Database::Postgres] {
        let service = Service::with(database, |config| {
            config.quotas.set(Quota::WaitingRunBytes, 30_000)
        })
        .await;
        service.app.executions.start().await.unwrap();
        let (ann, eve) = (service.user("ann").await, service.user("eve").await);
        let id = service.deployed(&ann, &waiting(100_000)).await;
        let large = json!({"n": 1, "text": "x".repeat(20_000)});
        let one = service.started(&ann, &id, &large).await;
        parked(&service, &ann, &id, &one).await;
        let refused = service.started(&ann, &id, &large).await;
        let refused = service.ended(&ann, &id, &refused).await;
        let message = refused["errorMessage"].as_str().unwrap();
        assert_eq!(refused["status"], "failure", "{refused}");
        assert!(
            message.contains("limit of 30000 bytes") && message.contains("quota_waiting_run_bytes"),
            "{message}"
        );
        // What is small still fits, and others have their own.
        let small = service.started(&ann, &id, &json!({"n": 2})).await;
        parked(&service, &ann, &id, &small).await;
        let others = service.deployed(&eve, &waiting(100_000)).await;
        let run = service.started(&eve, &others, &large).await;
        parked(&service, &eve, &others, &run).await;
        let mut reader = service.app.store.reader().await.unwrap();
        let user = ann.id.parse().unwrap();
        let used = quota::count(&mut reader.db(), Quota::WaitingRunBytes, user)
            .await
            .unwrap();
        assert!((20_000..25_000).contains(&used), "{used}");
        drop(reader);
        // One that goes on is there already.
        service.app.clock.advance(HOUR);
        assert_eq!(service.ended(&ann, &id, &one).await["output"][0], 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_goes_on_in_time_although_anothers_has_no_room_in_the_queue() {
    for database in [Database::Sqlite, Database::Postgres] {
        let service = Service::with(database, |config| {
            (config.workspace_concurrency_max, config.queue_runs_max) = (1, 4);
        })
        .await;
        service.app.executions.start().await.unwrap();
        let (ann, bob) = (service.user("ann").await, service.user("bob").await);
        let (hers, his) = (
            service.deployed(&ann, &waiting(100_000)).await,
            service.deployed(&bob, &waiting(100_000)).await,
        );
        // Hers is due first.
        let first = service.started(&ann, &hers, &json!({"n": 1})).await;
        parked(&service, &ann, &hers, &first).await;
        service.app.clock.advance(Duration::from_secs(1));
        let second = service.started(&bob, &his, &json!({"n": 2})).await;
        parked(&service, &bob, &his, &second).await;
        let blocking = service.deployed(&ann, &endless()).await;
        while service.execute(&ann, &blocking, "", &json!({})).await.status == 200 {}
        service.app.clock.advance(HOUR);
        assert_eq!(service.ended(&bob, &his, &second).await["output"][0], 2);
        let deleted = service.delete(&format!("/api/deployments/{blocking}"));
        assert_eq!(deleted.bearer(&ann.token).send().await.status, 200);
        assert_eq!(service.ended(&ann, &hers, &first).await["output"][0], 1);
    }
}

each_database! {
    async fn a_long_wait_is_a_row_until_its_time(service: Service) {
        service.app.executions.start().await.unwrap();
        let ann = service.user("ann").await;
        let id = service.deployed(&ann, &waiting(7_200_000)).await;
        let run = service.started(&ann, &id, &json!({"n": 7})).await;
        let found = parked(&service, &ann, &id, &run).await;
        assert_eq!(found["logOutput"][0]["message"], "before");
        assert_eq!((&found["completedAt"], &found["attempt"]), (&Value::Null, &json!(1)));
        let listed = service.get(&format!("/api/deployments/{id}/runs?status=running")).bearer(&ann.token).send().await;
        assert_eq!((&listed.body["meta"]["total"], &listed.body["data"][0]["phase"]), (&json!(1), &json!("waiting")));
        assert_eq!(service.app.executions.counts(), (0, 0));
        service.app.clock.advance(HOUR);
        service.app.clock.advance(HOUR);
        let ended = service.ended(&ann, &id, &run).await;
        assert_eq!((&ended["status"], &ended["output"][0]), (&json!("success"), &json!(7)), "{ended}");
        assert_eq!(ended["output"][1], found["startedAt"], "now is what it was");
        assert_eq!(ended["startedAt"], found["startedAt"]);
        assert_eq!(ended["completedAt"], "2026-11-21T11:00:00.000Z");
        assert_eq!(ended["durationMs"], 7_200_000, "waits are part of it");
        assert_eq!(ended["logOutput"].as_array().unwrap().len(), 1);
        let stats = service.get(&format!("/api/deployments/{id}/runs/stats")).bearer(&ann.token).send().await;
        assert_eq!((&stats.body["data"]["totalRuns"], &stats.body["data"]["successCount"]), (&json!(1), &json!(1)));
    }

    async fn whoever_waits_for_a_run_that_parks_is_told_its_end(service: Service) {
        service.app.executions.start().await.unwrap();
        let ann = service.user("ann").await;
        let id = service.deployed(&ann, &waiting(100_000)).await;
        let event = json!({"n": 1});
        let waits = service.execute(&ann, &id, "?wait=true", &event);
        let clock = async {
            while service.app.executions.counts() != (0, 0) || runs(&service, &ann, &id).await.is_empty() {
                tokio::task::yield_now().await;
            }
            let run = runs(&service, &ann, &id).await[0]["id"].as_str().unwrap().to_owned();
            while service.run(&ann, &id, &run).await["phase"] != "waiting" {
                tokio::task::yield_now().await;
            }
            service.app.clock.advance(HOUR);
        };
        let (answer, ()) = tokio::join!(waits, clock);
        assert_eq!(answer.body["data"]["status"], "completed", "{answer}");
        assert_eq!(answer.body["data"]["output"][0], 1);
    }

    async fn a_waiting_run_is_cancelled_and_a_paused_one_waits_on(service: Service) {
        service.app.executions.start().await.unwrap();
        let ann = service.user("ann").await;
        let id = service.deployed(&ann, &waiting(100_000)).await;
        let (one, other) = (
            service.started(&ann, &id, &json!({"n": 1})).await,
            service.started(&ann, &id, &json!({"n": 2})).await,
        );
        parked(&service, &ann, &id, &one).await;
        parked(&service, &ann, &id, &other).await;
        let cancelled = service.operate(&ann, &id, &format!("runs/{one}/cancel")).await;
        assert_eq!((cancelled.status, &cancelled.body["data"]["status"]), (200, &json!("failure")), "{cancelled}");
        let again = service.operate(&ann, &id, &format!("runs/{one}/cancel")).await;
        assert_eq!(again.code(), "INVALID_STATUS");
        assert_eq!(service.run(&ann, &id, &one).await["errorMessage"], "cancelled");
        service.operate(&ann, &id, "pause").await;
        service.app.clock.advance(HOUR);
        // What comes later has its turn, so the waker has looked.
        let second = service.deployed(&ann, &waiting(70_000)).await;
        let run = service.started(&ann, &second, &json!({"n": 3})).await;
        parked(&service, &ann, &second, &run).await;
        service.app.clock.advance(HOUR);
        service.ended(&ann, &second, &run).await;
        assert_eq!(service.run(&ann, &id, &other).await["phase"], "waiting");
        service.operate(&ann, &id, "resume").await;
        assert_eq!(service.ended(&ann, &id, &other).await["output"][0], 2);
    }

    async fn a_deployment_is_deleted_with_its_waiting_runs(service: Service) {
        service.app.executions.start().await.unwrap();
        let ann = service.user("ann").await;
        let id = service.deployed(&ann, &waiting(100_000)).await;
        let run = service.started(&ann, &id, &json!({"n": 1})).await;
        parked(&service, &ann, &id, &run).await;
        let deleted = service.delete(&format!("/api/deployments/{id}")).bearer(&ann.token).send().await;
        assert_eq!(deleted.status, 200, "{deleted}");
        service.app.clock.advance(HOUR);
        service.app.executions.clear_away().await.unwrap();
        assert_eq!(crate::flow::journal::kept(&service).await, 0);
    }
}

async fn runs(service: &Service, user: &User, deployment: &str) -> Vec<Value> {
    let path = format!("/api/deployments/{deployment}/runs");
    let listed = service.get(&path).bearer(&user.token).send().await;
    listed.body["data"].as_array().unwrap().clone()
}
