//! The end of a write and the sweep, stopped at each moment at which they wait for something: for the disk, the database or the
//! bucket. Whatever is left is found and removed, and what was kept can be read.

use super::bucket::in_bucket_of;
use super::bytes;
use super::protocol::{Store, files_in};
use crate::harness::{Database, Service};
use crate::moto::Moto;
use crate::needs::or_skip;
use bytes::Bytes;
use heddle_model::file::Holder;
use heddle_model::ids::RunId;
use std::task::Poll;
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(60 * 60);

/// Does something until it has waited so often, and stops it there as a kill does; its result, if it has come to its end before.
async fn stopped_after<T>(waits: usize, work: impl Future<Output = T> + Send + 'static) -> Option<T> {
    let mut work = Box::pin(work);
    let mut count = 0;
    let done = std::future::poll_fn(|context| {
        if count > waits {
            return Poll::Ready(None);
        }
        count += 1;
        work.as_mut().poll(context).map(Some)
    });
    let done = done.await;
    // What it does when it is dropped, such as giving back what it has begun, is done where nothing is executed any more.
    let dropped = std::thread::spawn(move || {
        let nowhere = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let entered = nowhere.enter();
        drop(work);
        drop(entered);
    });
    dropped.join().unwrap();
    done
}

/// Numbers that grow faster and faster, so that long work is stopped early and late and not too often.
fn growing() -> impl Iterator<Item = usize> {
    std::iter::successors(Some(0), |waits| Some(waits + 1 + waits / 4))
}

async fn stops_leave_nothing(store: &Store, stored: impl AsyncFn() -> usize) {
    let kept = bytes(300_000);
    let value = store.written(&kept, None).await;
    for waits in growing() {
        let mut writer = store.begun(Some(Holder::Run(RunId::new()))).await;
        let mut content = bytes(200_000);
        content.extend(waits.to_be_bytes());
        writer.write(Bytes::from(content)).await.unwrap();
        if let Some(finished) = stopped_after(waits, writer.finish()).await {
            finished.unwrap();
            break;
        }
    }
    for _ in 0..4 {
        store.service.app.clock.advance(HOUR);
        for waits in growing() {
            let files = store.files.clone();
            let sweep = async move { files.sweep().await };
            if let Some(swept) = stopped_after(waits, sweep).await {
                swept.unwrap();
                break;
            }
        }
    }
    assert_eq!(store.rows().await, (1, 1, 0));
    assert_eq!(stored().await, 1);
    assert_eq!(store.read(&value).await, Some(kept));
}

async fn in_a_directory(database: Database) {
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path().join("files");
    let service = Service::with(database, |config| config.files.dir = Some(place.clone())).await;
    let store = Store::of(service).await;
    stops_leave_nothing(&store, async || files_in(&place).len()).await;
}

async fn in_a_bucket(database: Database) {
    let started = tokio::task::spawn_blocking(Moto::start).await.unwrap();
    let Some(moto) = or_skip("moto", started) else {
        return;
    };
    let store = Store::of(in_bucket_of(&moto, database).await).await;
    stops_leave_nothing(&store, async || moto.objects().len() + moto.uploads()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_at_any_moment_leaves_nothing_in_a_directory_sqlite() {
    in_a_directory(Database::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_at_any_moment_leaves_nothing_in_a_directory_postgres() {
    in_a_directory(Database::Postgres).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_at_any_moment_leaves_nothing_in_a_bucket_sqlite() {
    in_a_bucket(Database::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_at_any_moment_leaves_nothing_in_a_bucket_postgres() {
    in_a_bucket(Database::Postgres).await;
}
