//! Ends that the database refuses: nobody is told of them.

use crate::harness::{Database, Service, chain};
use heddle_store::{Store, StoreError, sql};
use serde_json::json;

/// Has the database refuse every end of a run, or take it again.
async fn refuse(store: &Store, is_refused: bool) {
    let written: Result<(), StoreError> = store
        .write(move |db| {
            Box::pin(async move {
                let statements: &[&str] = match (is_refused, db.is_postgres()) {
                    (true, true) => &[
                        "create function refuse() returns trigger language plpgsql as
                         $$ begin if new.status <> 'running' then raise exception 'refused'; end if; return new; end $$",
                        "create trigger refuse before update on runs for each row execute function refuse()",
                    ],
                    (true, false) => &["create trigger refuse before update on runs when new.status <> 'running'
                         begin select raise(abort, 'refused'); end"],
                    (false, true) => &["drop trigger refuse on runs"],
                    (false, false) => &["drop trigger refuse"],
                };
                for statement in statements.iter().copied() {
                    db.execute(sql(statement)).await?;
                }
                Ok(())
            })
        })
        .await;
    written.unwrap();
}

async fn nobody_is_told_of_an_end_that_is_not_stored(database: Database) {
    let service = Service::with(database, |config| {
        config.lease = std::time::Duration::from_secs(1);
    })
    .await;
    service.app.executions.start().await.unwrap();
    let ann = service.user("ann").await;
    // An effect, so that it does not end while it is accepted.
    let id = service
        .deployed(
            &ann,
            &chain(&[
                ("start", "OnManual", json!({})),
                ("wait", "Wait", json!({"durationMs": 1})),
                ("end", "Return", json!({"value": "done"})),
            ]),
        )
        .await;
    refuse(&service.app.store, true).await;
    let told = service.execute(&ann, &id, "?wait=true", &json!({})).await;
    assert_eq!((told.status, told.code()), (503, "UNAVAILABLE"), "{told}");
    let path = format!("/api/deployments/{id}/runs");
    let listed = service.get(&path).bearer(&ann.token).send().await;
    let run = listed.body["data"][0].clone();
    assert_eq!(run["status"], "running", "{run}");
    let run = run["id"].as_str().unwrap();
    assert!(
        told.to_string().contains(run),
        "the id of the run is told: {told}"
    );
    refuse(&service.app.store, false).await;
    let ended = service.ended(&ann, &id, run).await;
    assert_eq!(
        (&ended["status"], &ended["output"]),
        (&json!("success"), &json!("done")),
        "{ended}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_is_told_of_an_end_that_is_not_stored_on_sqlite() {
    nobody_is_told_of_an_end_that_is_not_stored(Database::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_is_told_of_an_end_that_is_not_stored_on_postgres() {
    nobody_is_told_of_an_end_that_is_not_stored(Database::Postgres).await;
}
