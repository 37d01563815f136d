//! Old runs go, by age and by number; those under way stay.

use crate::harness::{Database, Service, doubling, endless};
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

#[tokio::test(flavor = "multi_thread")]
async fn old_runs_go_on_sqlite() {
    old_runs_go(Database::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn old_runs_go_on_postgres() {
    old_runs_go(Database::Postgres).await;
}

async fn the_newest_runs_stay(database: Database) {
    let service = Service::with(database, |config| config.retention_runs_max = 2).await;
    let ann = service.user("ann").await;
    let id = service.deployed(&ann, &doubling()).await;
    let mut runs = Vec::new();
    for _ in 0..5 {
        service.app.clock.advance(Duration::from_secs(1));
        runs.push(service.ran(&ann, &id, &json!({})).await);
    }
    service.app.executions.clear_away().await.unwrap();
    assert_eq!(total(&service, &ann.token, &id).await, 2);
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
