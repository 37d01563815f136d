//! Which journals are kept: by age, number and bytes.

use super::{asking, deployed, replayed, told, untraced};
use crate::harness::{Database, Service, User, chain, doubling, each_database};
use heddle_store::{StoreError, sql};
use serde_json::{Value, json};
use std::time::Duration;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Stores something, which is an effect, then fails if the event says so.
fn storing() -> Value {
    chain(&[
        ("start", "OnManual", json!({})),
        (
            "keep",
            "KeyValue",
            json!({"operation": "set", "key": "k", "value": "v"}),
        ),
        (
            "check",
            "Filter",
            json!({"items": "{{ [1] }}", "condition": "{{ $trigger.fail ? $item.a.b : true }}"}),
        ),
        ("end", "Return", json!({"value": "{{ $nodes.keep }}"})),
    ])
}

/// A user with an API key in place of a token, which these tests outlast.
async fn lasting(service: &Service, name: &str) -> User {
    let user = service.user(name).await;
    let body = json!({"name": "test"});
    let made = service
        .post("/api/auth/api-keys")
        .bearer(&user.token)
        .json(&body)
        .send()
        .await;
    User {
        token: made.data(201)["key"].as_str().unwrap().to_owned(),
        ..user
    }
}

async fn ran(service: &Service, user: &User, id: &str, event: Value) -> String {
    service.app.clock.advance(Duration::from_secs(60));
    service.ran(user, id, &event).await
}

async fn rows(service: &Service, table: &'static str) -> i64 {
    let found: Result<(i64,), StoreError> = service
        .app
        .store
        .reader()
        .await
        .unwrap()
        .db()
        .one(sql(table))
        .await;
    found.unwrap().0
}

async fn is_kept(service: &Service, user: &User, id: &str, run: &str) -> bool {
    let reply = replayed(service, user, id, run).await;
    if reply.status == 200 {
        return true;
    }
    reply.assert_refused(410, "GONE");
    assert!(reply.text.contains("can still be seen"), "{reply}");
    false
}

async fn number_and_age(database: Database) {
    let service = Service::with(database, |config| config.retention_journal_runs_max = 2).await;
    let (ann, eve) = (lasting(&service, "ann").await, lasting(&service, "eve").await);
    let (id, others) = (
        deployed(&service, &ann, &storing()).await,
        deployed(&service, &eve, &storing()).await,
    );
    let failed = ran(&service, &ann, &id, json!({"fail": true})).await;
    assert_eq!(service.run(&ann, &id, &failed).await["status"], "failure");
    let mut runs = Vec::new();
    for _ in 0..4 {
        runs.push(ran(&service, &ann, &id, json!({})).await);
    }
    let theirs = ran(&service, &eve, &others, json!({})).await;
    service.app.executions.clear_away().await.unwrap();
    for (run, expected) in runs.iter().zip([false, false, true, true]) {
        assert_eq!(is_kept(&service, &ann, &id, run).await, expected);
    }
    assert!(is_kept(&service, &eve, &others, &theirs).await);
    assert!(is_kept(&service, &ann, &id, &failed).await);
    service.app.clock.advance(DAY * 6);
    service.app.executions.clear_away().await.unwrap();
    assert!(is_kept(&service, &ann, &id, &failed).await);
    service.app.clock.advance(DAY + DAY);
    service.app.executions.clear_away().await.unwrap();
    assert!(!is_kept(&service, &ann, &id, &failed).await);
    assert!(is_kept(&service, &ann, &id, &runs[3]).await);
    // With the deployment, all of its runs go, and with them all that was kept of them.
    for (user, id) in [(&ann, &id), (&eve, &others)] {
        service
            .delete(&format!("/api/deployments/{id}"))
            .bearer(&user.token)
            .send()
            .await
            .data(200);
    }
    service.app.executions.clear_away().await.unwrap();
    assert_eq!(rows(&service, "select count(*) from journal_entries").await, 0);
    assert_eq!(rows(&service, "select count(*) from run_journals").await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn journals_are_kept_by_number_and_age_on_sqlite() {
    number_and_age(Database::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn journals_are_kept_by_number_and_age_on_postgres() {
    number_and_age(Database::Postgres).await;
}

async fn bytes(database: Database) {
    let service = Service::with(database, |config| config.retention_journal_bytes_max = 100).await;
    let ann = service.user("ann").await;
    let id = deployed(&service, &ann, &storing()).await;
    let mut runs = Vec::new();
    for _ in 0..10 {
        runs.push(ran(&service, &ann, &id, json!({})).await);
    }
    service.app.executions.clear_away().await.unwrap();
    let total = rows(&service, "select cast(sum(bytes) as bigint) from run_journals").await;
    assert!(total > 0 && total <= 100, "{total}");
    assert!(!is_kept(&service, &ann, &id, &runs[0]).await);
    assert!(is_kept(&service, &ann, &id, &runs[9]).await);
    // Nothing more goes than has to.
    service.app.executions.clear_away().await.unwrap();
    assert_eq!(
        rows(&service, "select cast(sum(bytes) as bigint) from run_journals").await,
        total
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn journals_are_kept_by_bytes_on_sqlite() {
    bytes(Database::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn journals_are_kept_by_bytes_on_postgres() {
    bytes(Database::Postgres).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_wants_no_journals_has_none() {
    let service = Service::with(Database::Sqlite, |config| {
        config.retention_journal_runs_max = 0;
        config.retention_journals = Duration::ZERO;
    })
    .await;
    let ann = service.user("ann").await;
    let id = deployed(&service, &ann, &storing()).await;
    for event in [json!({}), json!({"fail": true})] {
        let run = ran(&service, &ann, &id, event).await;
        assert_eq!(rows(&service, "select count(*) from journal_entries").await, 0);
        // It gets as far as its first effect.
        let (_, end) = told(&service, &ann, &id, &run).await;
        assert_eq!(
            (&end["replay"]["end"], &end["result"]["error"]["code"]),
            (&json!("incomplete"), &json!("NOT_RECORDED")),
            "{end}"
        );
    }
}

each_database! {
    async fn runs_without_effects_leave_nothing(service: Service) {
        let ann = service.user("ann").await;
        let id = deployed(&service, &ann, &doubling()).await;
        service.ran(&ann, &id, &json!({"n": 2})).await;
        assert_eq!(rows(&service, "select (select count(*) from journal_entries) + (select count(*) from run_journals)").await, 0);
    }

    async fn a_module_stays_for_a_week_after_it_was_replaced(service: Service) {
        let ann = lasting(&service, "ann").await;
        let pattern = service.drawn(&ann, &doubling()).await;
        let id = untraced(&service, &ann, &pattern, json!({})).await;
        service.app.clock.advance(DAY * 10);
        let run = service.ran(&ann, &id, &json!({"n": 2})).await;
        service.redrawn(&ann, &pattern, &storing()).await;
        untraced(&service, &ann, &pattern, json!({})).await;
        service.app.clock.advance(DAY * 6);
        service.app.executions.clear_away().await.unwrap();
        told(&service, &ann, &id, &run).await;
        service.app.clock.advance(DAY + DAY);
        service.app.executions.clear_away().await.unwrap();
        replayed(&service, &ann, &id, &run).await.assert_refused(410, "GONE");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_journal_that_something_else_has_ended_is_counted_later() {
    let (service, url, _) = asking(Database::Sqlite).await;
    let ann = service.user("ann").await;
    let graph = chain(&[
        ("start", "OnManual", json!({})),
        ("ask", "HttpRequest", json!({"url": format!("{url}/x")})),
        ("end", "Return", json!({})),
    ]);
    let id = deployed(&service, &ann, &graph).await;
    let run = service.ran(&ann, &id, &json!({})).await;
    let forget = service
        .app
        .store
        .write(|db| Box::pin(async move { db.execute(sql("delete from run_journals")).await }));
    assert_eq!(forget.await.unwrap(), 1);
    service.app.executions.clear_away().await.unwrap();
    assert_eq!(rows(&service, "select count(*) from run_journals").await, 1);
    told(&service, &ann, &id, &run).await;
}
