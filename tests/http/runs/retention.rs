//! Old runs go, by age and by number; those under way stay.

use crate::flow::waits::parked;
use crate::harness::{Database, Service, chain, doubling, endless};
use crate::sessions::{switched, workspace};
use heddle_api::app::App;
use heddle_model::tenant::Tenant;
use heddle_store::runs::upkeep;
use heddle_store::{StoreError, sql};
use serde_json::json;
use std::time::Duration;

async fn total(service: &Service, token: &str, deployment: &str) -> i64 {
    let listed = service
        .get(&format!("/api/deployments/{deployment}/runs"))
        .bearer(token)
        .send()
        .await;
    listed.body["meta"]["total"].as_i64().unwrap()
}

async fn old_runs_go(database: Database) {
    let hour = Duration::from_secs(60 * 60);
    let service = Service::with(database, |config| config.retention = hour).await;
    let ann = service.user("ann").await;
    let id = service.deployed(&ann, &doubling()).await;
    let waiting = service.deployed(&ann, &endless()).await;
    for _ in 0..3 {
        service.ran(&ann, &id, &json!({})).await;
    }
    let under_way = service.started(&ann, &waiting, &json!({})).await;
    service.app.clock.advance(hour + Duration::from_secs(1));
    let kept = service.ran(&ann, &id, &json!({})).await;
    service.app.executions.clear_away().await.unwrap();
    assert_eq!(total(&service, &ann.token, &id).await, 1);
    service.run(&ann, &id, &kept).await;
    assert_eq!(service.run(&ann, &waiting, &under_way).await["status"], "running");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_end_of_a_run_that_has_waited_for_long_is_kept() {
    for database in [Database::Sqlite, Database::Postgres] {
        let hour = Duration::from_secs(60 * 60);
        let service = Service::with(database, |config| config.retention = hour).await;
        service.app.executions.start().await.unwrap();
        let ann = service.user("ann").await;
        let waiting = chain(&[
            ("start", "OnManual", json!({})),
            ("wait", "Wait", json!({"durationMs": 7_200_000})),
            ("end", "Return", json!({"value": 7})),
        ]);
        let id = service.deployed(&ann, &waiting).await;
        let run = service.started(&ann, &id, &json!({})).await;
        parked(&service, &ann, &id, &run).await;
        service.app.clock.advance(2 * hour);
        let ended = service.ended(&ann, &id, &run).await;
        assert_eq!(ended["output"], 7, "{ended}");
        service.app.executions.clear_away().await.unwrap();
        assert_eq!(total(&service, &ann.token, &id).await, 1);
        service.app.clock.advance(hour + Duration::from_secs(1));
        service.app.executions.clear_away().await.unwrap();
        assert_eq!(total(&service, &ann.token, &id).await, 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn old_runs_go_on_sqlite() {
    old_runs_go(Database::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn old_runs_go_on_postgres() {
    old_runs_go(Database::Postgres).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_removed_of_one_deployment_keeps_nothing_of_others() {
    let hour = Duration::from_secs(60 * 60);
    let service = Service::with(Database::Sqlite, |config| config.retention = hour).await;
    let ann = service.user("ann").await;
    let first = service.deployed(&ann, &doubling()).await;
    let second = service.deployed(&ann, &doubling()).await;
    let third = service.deployed(&ann, &doubling()).await;
    for id in [&first, &second, &third] {
        service.ran(&ann, id, &json!({})).await;
    }
    let refuse = format!(
        "create trigger refuse before delete on runs when old.deployment_id = '{second}'
         begin select raise(abort, 'refused'); end"
    );
    change(&service, refuse.leak()).await;
    service.app.clock.advance(hour + Duration::from_secs(1));
    assert!(service.app.executions.clear_away().await.is_err());
    for (id, left) in [(&first, 0), (&second, 1), (&third, 0)] {
        assert_eq!(total(&service, &ann.token, id).await, left);
    }
    change(&service, "drop trigger refuse").await;
    service.app.executions.clear_away().await.unwrap();
    assert_eq!(total(&service, &ann.token, &second).await, 0);
}

async fn change(service: &Service, statement: &'static str) {
    let changed: Result<u64, StoreError> = service
        .app
        .store
        .write(move |db| Box::pin(async move { db.execute(sql(statement)).await }))
        .await;
    changed.unwrap();
}

async fn the_newest_runs_stay(database: Database) {
    let service = Service::with(database, |config| config.retention_runs_max = 2).await;
    let ann = service.user("ann").await;
    let id = service.deployed(&ann, &doubling()).await;
    let waiting = service.deployed(&ann, &endless()).await;
    let mut runs = Vec::new();
    for _ in 0..5 {
        service.app.clock.advance(Duration::from_secs(1));
        runs.push(service.ran(&ann, &id, &json!({})).await);
    }
    // Those under way take nobody's place.
    for _ in 0..3 {
        service.started(&ann, &waiting, &json!({})).await;
    }
    for _ in 0..2 {
        service.app.executions.clear_away().await.unwrap();
        assert_eq!(total(&service, &ann.token, &id).await, 2);
        assert_eq!(total(&service, &ann.token, &waiting).await, 3);
    }
    service.run(&ann, &id, &runs[3]).await;
    service.run(&ann, &id, &runs[4]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_newest_runs_stay_on_sqlite() {
    the_newest_runs_stay(Database::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_newest_runs_stay_on_postgres() {
    the_newest_runs_stay(Database::Postgres).await;
}

/// Their keys would stay for a day, and there are as many as there were runs.
async fn what_runs_have_started_is_forgotten_with_them(database: Database) {
    let hour = Duration::from_secs(60 * 60);
    let service = Service::with(database, |config| config.retention = hour).await;
    service.app.executions.start().await.unwrap();
    let ann = service.user("ann").await;
    let callee = chain(&[
        ("called", "OnCall", json!({})),
        ("end", "Return", json!({"value": 7})),
    ]);
    let callee = service.drawn(&ann, &callee).await;
    service.deploy(&ann, &callee).await;
    let id = chain(&[
        ("start", "OnManual", json!({})),
        ("call", "CallPattern", json!({"patternId": callee})),
        ("end", "Return", json!({})),
    ]);
    let id = service.deployed(&ann, &id).await;
    service.ran(&ann, &id, &json!({})).await;
    let keys = async || {
        let mut reader = service.app.store.reader().await.unwrap();
        let found = reader
            .db()
            .one(sql("select count(*) from idempotency_keys"))
            .await;
        let (count,): (i64,) = found.unwrap();
        count
    };
    assert_eq!(keys().await, 1);
    service.app.clock.advance(hour + Duration::from_secs(1));
    service.app.executions.clear_away().await.unwrap();
    assert_eq!(total(&service, &ann.token, &id).await, 0);
    assert_eq!(keys().await, 0);
    // They may also go with their deployment.
    service.ran(&ann, &id, &json!({})).await;
    assert_eq!(keys().await, 1);
    let deployment = service.delete(&format!("/api/deployments/{id}"));
    let deleted = deployment.bearer(&ann.token).send().await;
    assert_eq!((deleted.status, keys().await), (200, 0), "{deleted}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_runs_have_started_is_forgotten_with_them_on_sqlite() {
    what_runs_have_started_is_forgotten_with_them(Database::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_runs_have_started_is_forgotten_with_them_on_postgres() {
    what_runs_have_started_is_forgotten_with_them(Database::Postgres).await;
}

/// Runs of a deployment that is gone, and modules that neither a deployment nor a run has that goes on.
async fn what_belongs_to_nothing_goes(database: Database) {
    let service = Service::start(database).await;
    let ann = service.user("ann").await;
    let count = async |query: &'static str| {
        let mut reader = service.app.store.reader().await.unwrap();
        let (count,): (i64,) = reader.db().one(sql(query)).await.unwrap();
        count
    };
    let change = async |statement: &'static str| {
        let changed = service
            .app
            .store
            .write(move |db| Box::pin(async move { db.execute(sql(statement)).await }));
        changed.await.unwrap()
    };
    let (runs, modules) = ("select count(*) from runs", "select count(*) from artifacts");
    let pattern = service.drawn(&ann, &doubling()).await;
    let id = service.deploy(&ann, &pattern).await;
    service.ran(&ann, &id, &json!({})).await;
    change("update runs set deployment_id = '01932c07-209e-7f64-b0a3-5c1f1b0e6f3a'").await;
    service.redrawn(&ann, &pattern, &endless()).await;
    service.deploy(&ann, &pattern).await;
    service.started(&ann, &id, &json!({})).await;
    service.redrawn(&ann, &pattern, &large(1)).await;
    service.deploy(&ann, &pattern).await;
    assert_eq!((count(runs).await, count(modules).await), (2, 3));
    let years = Duration::from_secs(10 * 365 * 24 * 60 * 60);
    service.app.clock.advance(years);
    service.app.executions.clear_away().await.unwrap();
    assert_eq!((count(runs).await, count(modules).await), (1, 2), "one goes on");
    change("update runs set owner = '', phase = 'waiting', wake_at = 9000000000000").await;
    service.app.executions.clear_away().await.unwrap();
    assert_eq!((count(runs).await, count(modules).await), (1, 2), "it waits");
    change("update runs set status = 'failure', phase = 'ended', wake_at = null").await;
    service.app.executions.clear_away().await.unwrap();
    assert_eq!((count(runs).await, count(modules).await), (0, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_belongs_to_nothing_goes_on_sqlite() {
    what_belongs_to_nothing_goes(Database::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_belongs_to_nothing_goes_on_postgres() {
    what_belongs_to_nothing_goes(Database::Postgres).await;
}

/// A pattern that gives back a text of so many bytes.
fn large(bytes: usize) -> serde_json::Value {
    chain(&[
        ("start", "OnManual", json!({})),
        ("end", "Return", json!({"value": "x".repeat(bytes)})),
    ])
}

async fn the_largest_part_of_what_is_old_goes(database: Database) {
    let service = Service::with(database, |config| config.retention_bytes_max = 45_000).await;
    let (ann, eve) = (service.user("ann").await, service.user("eve").await);
    let id = service.deployed(&ann, &large(10_000)).await;
    let others = service.deployed(&eve, &large(10_000)).await;
    let mut runs = Vec::new();
    for _ in 0..5 {
        service.app.clock.advance(Duration::from_secs(1));
        runs.push(service.ran(&ann, &id, &json!({})).await);
    }
    for _ in 0..2 {
        service.ran(&eve, &others, &json!({})).await;
    }
    service.app.executions.clear_away().await.unwrap();
    let left = total(&service, &ann.token, &id).await;
    assert!((1..5).contains(&left), "{left}");
    service.run(&ann, &id, &runs[4]).await;
    assert_eq!(total(&service, &eve.token, &others).await, 2);
    // Nothing more goes than has to.
    service.app.executions.clear_away().await.unwrap();
    assert_eq!(total(&service, &ann.token, &id).await, left);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_largest_part_of_what_is_old_goes_on_sqlite() {
    the_largest_part_of_what_is_old_goes(Database::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_largest_part_of_what_is_old_goes_on_postgres() {
    the_largest_part_of_what_is_old_goes(Database::Postgres).await;
}

async fn a_user_has_no_more_by_having_more_workspaces(database: Database) {
    let service = Service::with(database, |config| config.retention_user_bytes_max = 60_000).await;
    let (ann, eve) = (service.user("ann").await, service.user("eve").await);
    let elsewhere = workspace(&service, &ann, "Elsewhere").await;
    let elsewhere = switched(&service, &ann, &elsewhere).await;
    let id = service.deployed(&ann, &large(10_000)).await;
    let small = service.deployed(&elsewhere, &large(10_000)).await;
    let others = service.deployed(&eve, &large(10_000)).await;
    let mut runs = Vec::new();
    service.ran(&elsewhere, &small, &json!({})).await;
    for _ in 0..7 {
        service.app.clock.advance(Duration::from_secs(1));
        runs.push(service.ran(&ann, &id, &json!({})).await);
    }
    for _ in 0..2 {
        service.ran(&eve, &others, &json!({})).await;
    }
    service.app.executions.clear_away().await.unwrap();
    let left = total(&service, &ann.token, &id).await;
    assert!((1..7).contains(&left), "{left}");
    service.run(&ann, &id, &runs[6]).await;
    assert_eq!(
        total(&service, &elsewhere.token, &small).await,
        1,
        "it is the oldest, and has its share"
    );
    assert_eq!(total(&service, &eve.token, &others).await, 2);
    // Nothing more goes than has to.
    service.app.executions.clear_away().await.unwrap();
    assert_eq!(total(&service, &ann.token, &id).await, left);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_has_no_more_by_having_more_workspaces_on_sqlite() {
    a_user_has_no_more_by_having_more_workspaces(Database::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_has_no_more_by_having_more_workspaces_on_postgres() {
    a_user_has_no_more_by_having_more_workspaces(Database::Postgres).await;
}

/// Both have looked before either has removed anything, and then at the same time.
async fn servers_that_clear_away_at_the_same_time_remove_the_same_runs(database: Database) {
    const KEPT: i64 = 3;
    let one = Service::with(database, |config| config.retention_runs_max = 3).await;
    let ann = one.user("ann").await;
    let id = one.deployed(&ann, &doubling()).await;
    let tenant = Tenant::of(ann.id.parse().unwrap(), Some(one.workspace_of(&ann).await));
    let store = &one.app.store;
    let beyond = async || {
        let mut reader = store.reader().await.unwrap();
        upkeep::beyond_number(&mut reader.db(), tenant, KEPT)
            .await
            .unwrap()
    };
    let remove = async |place: upkeep::Place| {
        let remove = store.write(move |db| Box::pin(upkeep::remove_from(db, tenant, place, 500)));
        remove.await.unwrap()
    };
    let mut newest = String::new();
    for _ in 0..8 {
        one.app.clock.advance(Duration::from_secs(1));
        newest = one.ran(&ann, &id, &json!({})).await;
    }
    let (first, second) = (beyond().await.unwrap(), beyond().await.unwrap());
    assert_eq!((remove(first).await, remove(second).await), (5, 0));
    assert!(beyond().await.is_none());
    for _ in 0..8 {
        one.app.clock.advance(Duration::from_secs(1));
        newest = one.ran(&ann, &id, &json!({})).await;
    }
    let other = App::new(one.app.config.clone(), store.clone(), one.app.clock.clone());
    let (first, second) = tokio::join!(one.app.executions.clear_away(), other.executions.clear_away());
    first.and(second).unwrap();
    assert_eq!(total(&one, &ann.token, &id).await, KEPT);
    one.run(&ann, &id, &newest).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_that_clear_away_at_the_same_time_remove_the_same_runs_on_sqlite() {
    servers_that_clear_away_at_the_same_time_remove_the_same_runs(Database::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_that_clear_away_at_the_same_time_remove_the_same_runs_on_postgres() {
    servers_that_clear_away_at_the_same_time_remove_the_same_runs(Database::Postgres).await;
}
