//! The store's protocol, stopped between every two steps and in the midst of them: whatever is left is found and removed, and
//! what was finished can be read. In a directory; [`super::bucket`] does the same in a bucket.

use super::bytes;
use crate::harness::{Database, Service, chain};
use bytes::Bytes;
use heddle_files::{Files, NewFile, Reader, Swept, Unlimited, Writer};
use heddle_model::file::{FileValue, Holder};
use heddle_model::ids::RunId;
use heddle_model::tenant::Tenant;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(60 * 60);

/// Where a writer is stopped, as a crash would.
#[derive(Clone, Copy, Debug)]
pub enum Stop {
    /// Its row is there, and nothing else.
    Begun,
    /// Some of its bytes are.
    Midway,
    /// It is a file of a run that was never stored.
    Finished,
}

pub struct Store {
    pub service: Service,
    pub files: Files,
    pub tenant: Tenant,
}

impl Store {
    pub async fn of(service: Service) -> Store {
        let ann = service.user("ann").await;
        let files = service.app.executions.files().files().clone();
        let tenant = Tenant::Workspace(service.workspace_of(&ann).await);
        Store {
            service,
            files,
            tenant,
        }
    }

    pub async fn begun(&self, holder: Option<Holder>) -> Writer {
        let new = NewFile {
            tenant: self.tenant,
            name: "a.bin".to_owned(),
            media_type: "text/plain".to_owned(),
            kept_for: match holder {
                Some(_) => Duration::from_secs(60),
                None => 24 * HOUR,
            },
            holder,
        };
        self.files.create(new, Arc::new(Unlimited)).await.unwrap()
    }

    pub async fn written(&self, content: &[u8], holder: Option<Holder>) -> FileValue {
        let mut writer = self.begun(holder).await;
        for piece in content.chunks(100_000) {
            writer.write(Bytes::copy_from_slice(piece)).await.unwrap();
        }
        writer.finish().await.unwrap()
    }

    /// Writes as far as that, and stops as a server does that is killed: nothing is said any more.
    pub async fn stopped(&self, content: &[u8], stop: Stop) {
        let holder = Some(Holder::Run(RunId::new()));
        match stop {
            Stop::Begun => std::mem::forget(self.begun(holder).await),
            Stop::Midway => {
                let mut writer = self.begun(holder).await;
                writer.write(Bytes::copy_from_slice(content)).await.unwrap();
                std::mem::forget(writer);
            }
            Stop::Finished => drop(self.written(content, holder).await),
        }
    }

    pub async fn read(&self, value: &FileValue) -> Option<Vec<u8>> {
        use futures_util::TryStreamExt;
        let row = self
            .files
            .find(self.tenant, &Reader::Tenant, value.id)
            .await
            .ok()?;
        let content = self.files.read(self.tenant, &row, 0..u64::MAX).await.unwrap();
        let pieces: Vec<Bytes> = content.try_collect().await.unwrap();
        Some(pieces.concat())
    }

    /// Sweeps once, after this time.
    pub async fn swept_after(&self, time: Duration) -> Swept {
        self.service.app.clock.advance(time);
        self.files.sweep().await.unwrap()
    }

    /// All rows of files, of contents, and of references.
    pub async fn rows(&self) -> (i64, i64, i64) {
        let mut reader = self.service.app.store.reader().await.unwrap();
        let count = heddle_store::sql(
            "select (select count(*) from files), (select count(*) from file_blobs), (select count(*) from file_references)",
        );
        reader.db().one(count).await.unwrap()
    }
}

/// Files below a directory.
pub fn files_in(dir: &Path) -> Vec<PathBuf> {
    let (mut found, mut dirs) = (Vec::new(), vec![dir.to_owned()]);
    while let Some(dir) = dirs.pop() {
        for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
            match entry.file_type().unwrap().is_dir() {
                true => dirs.push(entry.path()),
                false => found.push(entry.path()),
            }
        }
    }
    found
}

/// Stops everywhere; `stored` counts what the store of bytes has.
pub async fn stops_leave_nothing(store: &Store, stored: impl AsyncFn() -> usize) {
    let kept = bytes(300_000);
    let value = store.written(&kept, None).await;
    for stop in [Stop::Begun, Stop::Midway, Stop::Finished] {
        // Larger than what is encrypted, and than what is sent, at a time.
        for size in [10, 700_000, 20_000_000] {
            let mut content = bytes(size);
            content.push(stop as u8);
            store.stopped(&content, stop).await;
        }
    }
    // Nothing is removed that may still be on its way.
    assert_eq!(store.swept_after(Duration::from_secs(60)).await, Swept::default());
    store.swept_after(HOUR).await;
    store.swept_after(HOUR).await;
    store.swept_after(HOUR).await;
    assert_eq!(store.rows().await, (1, 1, 0));
    assert_eq!(stored().await, 1);
    assert_eq!(store.read(&value).await, Some(kept));
    // What was only uploaded goes after its time.
    store.swept_after(24 * HOUR).await;
    store.swept_after(2 * HOUR).await;
    assert_eq!(store.rows().await, (0, 0, 0));
    assert_eq!(stored().await, 0);
    assert_eq!(store.read(&value).await, None);
}

async fn in_a_directory(database: Database) {
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path().join("files");
    let service = Service::with(database, |config| config.files.dir = Some(place.clone())).await;
    let store = Store::of(service).await;
    stops_leave_nothing(&store, async || files_in(&place).len()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_leaves_nothing_in_a_directory_sqlite() {
    in_a_directory(Database::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_leaves_nothing_in_a_directory_postgres() {
    in_a_directory(Database::Postgres).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_stored_says_nothing_without_its_key() {
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path().join("files");
    let service = Service::with(Database::Sqlite, |config| config.files.dir = Some(place.clone())).await;
    let store = Store::of(service).await;
    let content = b"Nobody but its workspace may read this.\n".repeat(5_000);
    let value = store.written(&content, None).await;
    let paths = files_in(&place);
    assert_eq!(paths.len(), 1, "{paths:?}");
    let stored = std::fs::read(&paths[0]).unwrap();
    assert!(stored.len() >= content.len());
    assert!(!stored.windows(10).any(|bytes| content.starts_with(bytes)));
    assert_eq!(store.read(&value).await, Some(content));
}

async fn equal_files(database: Database) {
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path().join("files");
    let service = Service::with(database, |config| config.files.dir = Some(place.clone())).await;
    let store = Store::of(service).await;
    let content = bytes(200_000);
    // At the same time, and one after the other.
    let all: Vec<FileValue> =
        futures_util::future::join_all((0..8).map(|_| store.written(&content, None))).await;
    let last = store.written(&content, None).await;
    assert_eq!(store.rows().await.0, 9);
    store.swept_after(HOUR + HOUR).await;
    assert_eq!(store.rows().await, (9, 1, 0));
    assert_eq!(files_in(&place).len(), 1);
    // Neither the content nor its hash can be seen in the store.
    let stored = std::fs::read(&files_in(&place)[0]).unwrap();
    assert_eq!(stored.len(), content.len() + 4 * 16);
    assert!(!stored.windows(32).any(|window| window == &content[..32]));
    for value in all.iter().chain([&last]) {
        assert_eq!(store.read(value).await.as_deref(), Some(&content[..]));
    }
    // Another tenant's are others, though they are equal.
    let eve = store.service.user("eve").await;
    store.service.uploaded(&eve, "a", &content).await;
    assert_eq!(files_in(&place).len(), 2);
    // A content that is about to go is not taken up again: the next has its own.
    store.swept_after(24 * HOUR).await;
    store.swept_after(Duration::from_secs(16 * 60)).await;
    let again = store.written(&content, None).await;
    store.swept_after(2 * HOUR).await;
    assert_eq!(store.read(&again).await.as_deref(), Some(&content[..]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn equal_files_are_stored_once_sqlite() {
    equal_files(Database::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn equal_files_are_stored_once_postgres() {
    equal_files(Database::Postgres).await;
}

async fn with_their_run(database: Database) {
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path().join("files");
    let service = Service::with(database, |config| config.files.dir = Some(place.clone())).await;
    let ann = service.user("ann").await;
    let graph = chain(&[
        ("start", "OnManual", json!({})),
        (
            "make",
            "File",
            json!({"operation": "make", "content": "{{ $input.n }}"}),
        ),
        ("end", "Return", json!({})),
    ]);
    let deployment = service.deployed(&ann, &graph).await;
    let run = service.ran(&ann, &deployment, &json!({"n": 1})).await;
    let file = service.run(&ann, &deployment, &run).await["output"].clone();
    let store = Store {
        files: service.app.executions.files().files().clone(),
        tenant: Tenant::Workspace(service.workspace_of(&ann).await),
        service,
    };
    store.swept_after(20 * HOUR).await;
    assert_eq!(store.service.content(&ann, &file).await, (200, b"1".to_vec()));
    let path = format!("/api/deployments/{deployment}");
    assert_eq!(
        store.service.delete(&path).bearer(&ann.token).send().await.status,
        200
    );
    store.service.app.executions.clear_away().await.unwrap();
    store.swept_after(2 * HOUR).await;
    store.swept_after(2 * HOUR).await;
    assert_eq!(store.rows().await, (0, 0, 0));
    assert_eq!(files_in(&place).len(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_go_with_their_run_sqlite() {
    with_their_run(Database::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_go_with_their_run_postgres() {
    with_their_run(Database::Postgres).await;
}
