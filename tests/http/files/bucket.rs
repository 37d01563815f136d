//! A bucket of a service that speaks S3's protocol: moto.

use super::bytes;
use super::protocol::{Store, stops_leave_nothing};
use crate::harness::{Database, Service};
use crate::moto::Moto;
use crate::needs::or_skip;
use heddle_files::S3Settings;

/// A service whose files are in a bucket of this server.
pub async fn in_bucket_of(moto: &Moto, database: Database) -> Service {
    Service::with(database, |config| {
        config.files.s3 = Some(S3Settings {
            bucket: "files".to_owned(),
            prefix: "of/heddle".to_owned(),
            region: "us-east-1".to_owned(),
            endpoint: Some(moto.url()),
            keys: Some(("id".to_owned(), "secret".into())),
        });
    })
    .await
}

async fn in_a_bucket(database: Database) {
    let started = tokio::task::spawn_blocking(Moto::start).await.unwrap();
    let Some(moto) = or_skip("moto", started) else {
        return;
    };
    let store = Store::of(in_bucket_of(&moto, database).await).await;
    store.files.check().await.unwrap();
    // Of one part, and of several.
    for size in [0, 100_000, 17_000_000] {
        let content = bytes(size);
        let value = store.written(&content, None).await;
        assert!(store.read(&value).await.unwrap() == content, "{size}");
    }
    store
        .swept_after(std::time::Duration::from_secs(25 * 60 * 60))
        .await;
    store
        .swept_after(std::time::Duration::from_secs(2 * 60 * 60))
        .await;
    assert_eq!((moto.objects().len(), moto.uploads()), (0, 0));
    stops_leave_nothing(&store, async || moto.objects().len() + moto.uploads()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_leaves_nothing_in_a_bucket_sqlite() {
    in_a_bucket(Database::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_leaves_nothing_in_a_bucket_postgres() {
    in_a_bucket(Database::Postgres).await;
}
