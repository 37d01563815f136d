//! Checkpoints SQLite's write-ahead log on a connection of its own. Otherwise the writer would checkpoint in the middle
//! of its work, and all writes would wait for the syncs. Source: SQLite, "Write-Ahead Logging", sections 2.3 and 6: the
//! log restarts from its beginning only after a complete checkpoint without concurrent writes, so the writer is asked
//! to checkpoint the little that remains of a long log.

use super::panics::unless_it_panics;
use sqlx::SqliteConnection;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinHandle;

/// Transactions between two checkpoints.
const TRANSACTIONS: u32 = 64;
/// Pages of a long log: 32 MiB.
const LOG_PAGES_MAX: i64 = 8_192;

/// Wakes the task when there is work, and is notified when the log is long.
pub(super) struct Checkpoints {
    shared: Arc<Shared>,
    transactions: u32,
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

#[derive(Default)]
struct Shared {
    due: Notify,
    is_long: AtomicBool,
}

impl Checkpoints {
    /// Starts the task, with a connection of its own.
    pub fn start(connection: SqliteConnection) -> Self {
        let shared = Arc::new(Shared::default());
        let (stop, stopped) = oneshot::channel();
        Checkpoints {
            task: tokio::spawn(work(connection, shared.clone(), stopped)),
            shared,
            transactions: 0,
            stop,
        }
    }

    /// To be called after each transaction of the writer. When the log is long, the writer's connection moves the rest.
    pub async fn committed(&mut self, writer: &mut SqliteConnection) {
        self.transactions += 1;
        if self.transactions >= TRANSACTIONS {
            self.transactions = 0;
            self.shared.due.notify_one();
        }
        if self.shared.is_long.swap(false, Ordering::Relaxed) {
            checkpoint(writer).await;
        }
    }

    /// Waits until the connection is closed, so that the writer's is the last one.
    pub async fn end(self) {
        drop(self.stop);
        // It ends by itself; a panic of it was told.
        let _ = self.task.await;
    }
}

async fn work(mut connection: SqliteConnection, shared: Arc<Shared>, mut stopped: oneshot::Receiver<()>) {
    loop {
        tokio::select! {
            _ = &mut stopped => break,
            () = shared.due.notified() => {}
        }
        // A panic was told. Without this task the log would grow until the next start.
        unless_it_panics(checkpoint_all(&mut connection, &shared)).await;
    }
    if let Err(error) = sqlx::Connection::close(connection).await {
        tracing::warn!(%error, "the connection for checkpoints was not closed properly");
    }
}

/// Moves what it can, and has the writer move the rest of a long log.
async fn checkpoint_all(connection: &mut SqliteConnection, shared: &Shared) {
    let pages = checkpoint(connection).await;
    if pages >= LOG_PAGES_MAX {
        // What has come meanwhile, so that even less is left.
        checkpoint(connection).await;
        shared.is_long.store(true, Ordering::Relaxed);
    }
}

/// Moves what it can without waiting for anybody. How many pages the log has.
async fn checkpoint(connection: &mut SqliteConnection) -> i64 {
    let moved = sqlx::query_as("pragma wal_checkpoint(passive)").fetch_one(connection);
    let moved: Result<(i64, i64, i64), sqlx::Error> = moved.await;
    match moved {
        Ok((_was_busy, pages, _pages_moved)) => pages,
        Err(error) => {
            // As on a full disk. Nothing is lost: it stays in the log.
            tracing::warn!(%error, "the write-ahead log could not be checkpointed");
            0
        }
    }
}
