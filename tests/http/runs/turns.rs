//! Who waits for whom until a run is stored.

use crate::harness::{Database, Service, chain, doubling};
use futures_util::future::join_all;
use heddle_store::{Store, StoreError, sql};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::sync::oneshot;

/// Runs at a time.
const LARGE: usize = 24;
/// Those of them that one transaction may store: 100 KB each.
const TOGETHER_MAX: i64 = 2;

/// A pattern whose runs log nearly as much as is kept of them.
fn logging() -> Value {
    chain(&[
        ("start", "OnManual", json!({})),
        ("log", "Log", json!({"message": "{{ 'x'.repeat(100000) }}"})),
        ("end", "Return", json!({"value": 1})),
    ])
}

/// Has all writes wait until what it gives is dropped.
async fn hold(store: &Store) -> oneshot::Sender<()> {
    let (sender, begun) = oneshot::channel();
    let (release, released) = oneshot::channel::<()>();
    let store = store.clone();
    tokio::spawn(async move {
        let write = store.write(move |_| {
            Box::pin(async move {
                sender.send(()).ok();
                released.await.ok();
                Ok::<(), StoreError>(())
            })
        });
        write.await
    });
    begun.await.unwrap();
    release
}

/// How many of a deployment's runs were stored with their end before this one was: rows of SQLite are numbered as they come.
async fn stored_before(service: &Service, deployment: &str, run: &str) -> (i64, i64) {
    let count = sql(
        "select count(*), coalesce(sum(r.rowid < (select rowid from runs where id = ?)), 0) from runs r
         where r.deployment_id = ? and r.fuel_used is not null and r.total_fuel is null",
    );
    let mut reader = service.app.store.reader().await.unwrap();
    reader.db().one(count.bind(run).bind(deployment)).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_small_run_does_not_wait_for_all_large_ones_of_others() {
    let service = Service::with(Database::Sqlite, |_| {}).await;
    service.app.executions.start().await.unwrap();
    let (ann, bob) = (service.user("ann").await, service.user("bob").await);
    let large = service.deployed(&ann, &logging()).await;
    let small = service.deployed(&bob, &doubling()).await;
    let event = json!({"n": 1});
    let release = hold(&service.app.store).await;
    let others = join_all((0..LARGE).map(|_| service.ran(&ann, &large, &event)));
    let one = async {
        // Until those have ended, and wait to be stored.
        tokio::time::sleep(Duration::from_secs(1)).await;
        let released = async {
            tokio::time::sleep(Duration::from_millis(500)).await;
            drop(release);
        };
        tokio::join!(service.ran(&bob, &small, &event), released).0
    };
    let (_, run) = tokio::join!(others, one);
    let (large, before) = stored_before(&service, &large, &run).await;
    assert!(large > TOGETHER_MAX, "{large} were stored with their end");
    assert!(
        before <= TOGETHER_MAX,
        "{before} of {large} were stored before it"
    );
}
