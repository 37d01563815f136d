//! SQLite's one writer. It takes whatever writes wait, does them in one transaction, and answers when that is on
//! disk: under load many commits cost one sync, without any lingering when there is no load.

use super::StoreError;
use super::db::Db;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use sqlx::{Connection, SqliteConnection};
use std::panic::AssertUnwindSafe;
use tokio::sync::mpsc;

/// Writes that wait; more have to wait to wait.
const QUEUE_MAX: usize = 4096;
/// Writes in one transaction, so that the first of them is not answered too late.
const GROUP_MAX: usize = 256;

/// A write: does its work, says whether it is to be kept, and answers once that is settled.
pub(super) type Job = Box<dyn for<'c> FnOnce(Db<'c>) -> BoxFuture<'c, Done> + Send>;
/// What a write left behind.
pub(super) struct Done {
    pub keep: bool,
    pub answer: Box<dyn FnOnce(Result<(), StoreError>) + Send>,
}

/// Hands writes to the writer. Dropping the last one ends it, after what waits is done.
#[derive(Clone, Debug)]
pub(super) struct Writer(mpsc::Sender<Job>);

impl Writer {
    /// Starts the writer on this connection.
    pub fn start(connection: SqliteConnection) -> Self {
        let (sender, jobs) = mpsc::channel(QUEUE_MAX);
        tokio::spawn(work(connection, jobs));
        Writer(sender)
    }

    /// Queues a write.
    pub async fn send(&self, job: Job) -> Result<(), StoreError> {
        self.0.send(job).await.map_err(|_| StoreError::Closed)
    }
}

async fn work(mut connection: SqliteConnection, mut jobs: mpsc::Receiver<Job>) {
    while let Some(first) = jobs.recv().await {
        group(&mut connection, first, &mut jobs).await;
    }
    if let Err(error) = connection.close().await {
        tracing::warn!(%error, "the database was not closed properly");
    }
}

/// One transaction with all that waits.
async fn group(connection: &mut SqliteConnection, first: Job, jobs: &mut mpsc::Receiver<Job>) {
    let mut answers = Vec::new();
    let begun = sqlx::raw_sql("begin immediate").execute(&mut *connection).await;
    let mut settled = begun.map(drop).map_err(StoreError::from);
    let mut next = Some(first);
    while let Some(job) = next {
        if settled.is_ok() {
            match one(connection, job).await {
                Ok(Some(answer)) => answers.push(answer),
                Ok(None) => {}
                // The connection itself fails: nothing of this group is kept.
                Err(error) => settled = Err(error),
            }
        }
        next = (settled.is_ok() && answers.len() < GROUP_MAX)
            .then(|| jobs.try_recv().ok())
            .flatten();
    }
    if settled.is_ok() {
        let committed = sqlx::raw_sql("commit").execute(&mut *connection).await;
        settled = committed.map(drop).map_err(StoreError::from);
    }
    if settled.is_err() {
        // Fails when no transaction is open any more, which is as good.
        let _ = sqlx::raw_sql("rollback").execute(&mut *connection).await;
    }
    for answer in answers {
        answer(settled.as_ref().copied().map_err(StoreError::again));
    }
}

/// One write, undone by itself when it fails. `None`: it panicked, and nobody waits for it any more.
async fn one(
    connection: &mut SqliteConnection,
    job: Job,
) -> Result<Option<Box<dyn FnOnce(Result<(), StoreError>) + Send>>, StoreError> {
    sqlx::raw_sql("savepoint job").execute(&mut *connection).await?;
    let done = AssertUnwindSafe(job(Db::Sqlite(connection))).catch_unwind().await;
    let keep = done.as_ref().is_ok_and(|done| done.keep);
    let end = if keep {
        "release job"
    } else {
        "rollback to job; release job"
    };
    sqlx::raw_sql(end).execute(&mut *connection).await?;
    if done.is_err() {
        tracing::error!("a write panicked and was undone");
    }
    Ok(done.ok().map(|done| done.answer))
}
