//! Recording: the ends of runs are stored in groups, and only then told to those who wait for them. What the
//! database does not take now is kept and tried again, so that no end is lost while the server lives.

use super::Inner;
use super::live::Ended;
use super::status::RunStatus;
use super::worker::Job;
use crate::store::runs::{self, ResultRow};
use crate::store::{Store, StoreError};
use metrics::{counter, histogram};
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

/// Ends in one statement.
const GROUP_MAX: usize = 256;
/// Ends that wait to be stored; more hold their places among the executing.
const WAITING_MAX: usize = 1_024;
/// Wait before trying a database again that does not answer.
const RETRY: Duration = Duration::from_millis(200);

/// What became of an attempt.
pub(super) enum Finished {
    /// The run has ended.
    End { row: ResultRow, job: Job, ended: Ended },
    /// Another attempt follows after this time.
    Attempt {
        row: ResultRow,
        job: Job,
        wait: Duration,
    },
    /// Nothing: whoever sends it is told when everything before it is stored.
    Flush(oneshot::Sender<()>),
}

impl Finished {
    const fn row(&self) -> Option<&ResultRow> {
        match self {
            Finished::End { row, .. } | Finished::Attempt { row, .. } => Some(row),
            Finished::Flush(_) => None,
        }
    }
}

/// Hands ends to the task that stores them.
pub(super) struct Recorder(mpsc::Sender<Finished>);

impl Recorder {
    pub fn start(store: Store, owner: String, executions: Weak<Inner>) -> Self {
        let (sender, finished) = mpsc::channel(WAITING_MAX);
        tokio::spawn(work(store, owner.into(), executions, finished));
        Recorder(sender)
    }

    pub async fn send(&self, finished: Finished) {
        if self.0.send(finished).await.is_err() {
            tracing::error!("The end of a run was not stored: the recorder is gone");
        }
    }

    /// Waits until everything that was sent before is stored.
    pub async fn flush(&self) {
        let (sender, flushed) = oneshot::channel();
        self.send(Finished::Flush(sender)).await;
        // An error means that the recorder is gone, and has said so.
        let _ = flushed.await;
    }
}

async fn work(
    store: Store,
    owner: Arc<str>,
    executions: Weak<Inner>,
    mut finished: mpsc::Receiver<Finished>,
) {
    let mut group = Vec::with_capacity(GROUP_MAX);
    while finished.recv_many(&mut group, GROUP_MAX).await > 0 {
        let rows: Vec<ResultRow> = group.iter().filter_map(|it| it.row().cloned()).collect();
        store_group(&store, &owner, rows).await;
        let Some(inner) = executions.upgrade() else { return };
        for it in group.drain(..) {
            settle(&inner, it);
        }
    }
}

async fn store_group(store: &Store, owner: &Arc<str>, rows: Vec<ResultRow>) {
    if rows.is_empty() {
        return;
    }
    loop {
        match write(store, owner, rows.clone()).await {
            Ok(()) => return,
            Err(StoreError::Unavailable(reason)) => {
                tracing::warn!(
                    runs = rows.len(),
                    "The ends of runs can't be stored yet: {reason}"
                );
                tokio::time::sleep(RETRY).await;
            }
            Err(error) => {
                tracing::error!(runs = rows.len(), %error, "The ends of runs could not be stored together");
                break;
            }
        }
    }
    // Something in one of them is refused: each by itself, so that the others don't suffer.
    for row in rows {
        if let Err(error) = write(store, owner, vec![row.clone()]).await {
            tracing::error!(run = %row.id, %error, "The end of a run could not be stored as it is");
            let mut bare = ResultRow::running(row.id, row.attempt);
            (bare.status, bare.completed_at, bare.resumes_at) =
                (row.status, row.completed_at, row.resumes_at);
            if let Err(error) = write(store, owner, vec![bare]).await {
                tracing::error!(run = %row.id, %error, "The end of a run could not be stored");
            }
        }
    }
}

async fn write(store: &Store, owner: &Arc<str>, rows: Vec<ResultRow>) -> Result<(), StoreError> {
    let owner = owner.clone();
    store
        .write(move |db| Box::pin(async move { runs::record(db, &owner, &rows).await }))
        .await
}

fn settle(inner: &Arc<Inner>, finished: Finished) {
    match finished {
        Finished::End { row, job, ended } => {
            count(&row, ended.status);
            inner.live().remove(&job.run);
            inner.tail.ended(&job, &ended);
            job.live.end(ended);
        }
        Finished::Attempt { mut job, wait, .. } => {
            counter!("heddle_run_retries_total").increment(1);
            job.attempt = job.attempt.saturating_add(1);
            inner.tail.phase(&job, super::status::Phase::Waiting);
            job.queue_after(inner, wait);
        }
        // Nobody listens any more when the stop was given up.
        Finished::Flush(flushed) => drop(flushed.send(())),
    }
}

fn count(row: &ResultRow, status: RunStatus) {
    counter!("heddle_runs_ended_total", "status" => status.name()).increment(1);
    counter!("heddle_run_fuel_total").increment(u64::try_from(row.fuel_used).unwrap_or(0));
    if let Some(duration_ms) = row.duration_ms {
        histogram!("heddle_run_duration_seconds").record(duration_ms as f64 / 1_000.0);
        histogram!("heddle_run_memory_bytes").record(row.memory_bytes_peak as f64);
    }
}
