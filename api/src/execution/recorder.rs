//! Recording: the ends of runs are stored in groups, and only then told to those who wait for them. What the
//! database does not take now is kept and tried again, so that no end is lost while the server lives. What it refuses is
//! told to nobody.

use super::insist::insist;
use super::live::Ended;
use super::status::{Phase, RunStatus, TriggeredBy};
use super::worker::{self, Job};
use super::{Inner, calls, record, run_metrics};
use crate::clock::{Clock, Timestamp};
use crate::ids::RunId;
use crate::store::notices::{self, Notice};
use crate::store::runs::{self, ResultRow, journal, responses};
use crate::store::{Db, Store, StoreError};
use heddle_contract::abi::code;
use heddle_runtime::RunError;
use metrics::counter;
use serde_json::value::RawValue;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

/// Ends in one statement.
const GROUP_MAX: usize = 256;
/// Ends that wait to be stored; more hold their places among the executing.
const WAITING_MAX: usize = 1_024;

/// What became of an attempt.
pub(super) enum Finished {
    /// The run has ended.
    End {
        row: Arc<ResultRow>,
        job: Job,
        ended: Ended,
    },
    /// Another attempt follows after this time, for which the effects of this execution of a node are forgotten.
    Attempt {
        row: Arc<ResultRow>,
        job: Job,
        wait: Duration,
        forget: Option<String>,
    },
    /// The run waits for so long that only its row is kept; what RespondToWebhook gave is told.
    Park {
        row: Arc<ResultRow>,
        job: Job,
        response: Option<Box<RawValue>>,
    },
    /// Nothing: whoever sends it is told when everything before it is stored.
    Flush(oneshot::Sender<()>),
}

impl Finished {
    const fn job(&self) -> Option<&Job> {
        match self {
            Finished::End { job, .. } | Finished::Attempt { job, .. } | Finished::Park { job, .. } => {
                Some(job)
            }
            Finished::Flush(_) => None,
        }
    }

    /// The same as it is stored without what the run has made.
    fn without_result(self) -> Self {
        match self {
            Finished::End { row, job, .. } => Finished::End {
                ended: worker::failed(RunStatus::Failure, refused()),
                row,
                job,
            },
            Finished::Park { row, job, .. } => Finished::Park {
                response: None,
                row,
                job,
            },
            other => other,
        }
    }

    const fn row(&self) -> Option<&Arc<ResultRow>> {
        match self {
            Finished::End { row, .. } | Finished::Attempt { row, .. } | Finished::Park { row, .. } => {
                Some(row)
            }
            Finished::Flush(_) => None,
        }
    }
}

/// What is stored of an end.
#[derive(Clone)]
struct Change {
    row: Arc<ResultRow>,
    /// The run's journal is of no more use.
    clear: bool,
    /// A node's execution that is to be done again.
    forget: Option<String>,
    /// The run that waits for this one, its effect, and what it is told.
    tell: Option<(RunId, String, String)>,
    /// Somebody may wait at another server for the end, or for this response of RespondToWebhook.
    elsewhere: Option<Elsewhere>,
}

/// For whoever waits at another server.
#[derive(Clone)]
struct Elsewhere {
    response: Option<Box<RawValue>>,
    at: Timestamp,
}

impl Change {
    /// The same without anything that a run has made.
    fn without_result(&self) -> Self {
        let row = &self.row;
        let mut bare = ResultRow::running(row.id, row.owner.clone(), row.attempt);
        (bare.status, bare.completed_at, bare.resumes_at, bare.wake_at) =
            (row.status, row.completed_at, row.resumes_at, row.wake_at);
        let has_ended = bare.status != RunStatus::Running;
        if has_ended {
            bare.status = RunStatus::Failure;
            bare.error = Some(record::error(&refused()));
        }
        let told = |run| calls::told(run, &worker::failed(RunStatus::Failure, refused()));
        Change {
            tell: self
                .tell
                .clone()
                .map(|(parent, key, _)| (parent, key, told(row.id))),
            elsewhere: self.elsewhere.clone().map(|elsewhere| Elsewhere {
                response: None,
                ..elsewhere
            }),
            row: Arc::new(bare),
            ..self.clone()
        }
    }

    fn of(finished: &Finished, now: Timestamp) -> Option<Self> {
        let mut change = Change {
            row: finished.row()?.clone(),
            clear: false,
            forget: None,
            tell: None,
            elsewhere: None,
        };
        match finished {
            Finished::End { job, ended, .. } => {
                change.clear = job.has_history;
                change.elsewhere = elsewhere(job, ended.response.as_deref(), now);
                if let Some((parent, key)) = &job.parent {
                    change.tell = Some((*parent, key.clone(), calls::told(job.run, ended)));
                }
            }
            Finished::Attempt { forget, .. } => change.forget.clone_from(forget),
            Finished::Park { job, response, .. } => {
                change.elsewhere = response
                    .as_deref()
                    .and_then(|response| elsewhere(job, Some(response), now));
            }
            Finished::Flush(_) => {}
        }
        Some(change)
    }
}

fn elsewhere(job: &Job, response: Option<&RawValue>, at: Timestamp) -> Option<Elsewhere> {
    (job.was_taken && job.wait).then(|| Elsewhere {
        response: response.map(ToOwned::to_owned),
        at,
    })
}

/// Hands ends to the task that stores them.
pub(super) struct Recorder(mpsc::Sender<Finished>);

impl Recorder {
    pub fn start(store: Store, clock: Clock, executions: Weak<Inner>) -> Self {
        let (sender, finished) = mpsc::channel(WAITING_MAX);
        tokio::spawn(work(store, clock, executions, finished));
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

async fn work(store: Store, clock: Clock, executions: Weak<Inner>, mut finished: mpsc::Receiver<Finished>) {
    let mut group = Vec::with_capacity(GROUP_MAX);
    while finished.recv_many(&mut group, GROUP_MAX).await > 0 {
        let now = clock.now();
        let changes: Vec<Change> = group.iter().filter_map(|it| Change::of(it, now)).collect();
        let stored = store_group(&store, changes).await;
        let Some(inner) = executions.upgrade() else { return };
        for it in group.drain(..) {
            match it.job().map(|job| stored.get(&job.run)) {
                Some(None) => withdraw(&inner, it),
                Some(Some(As::WithoutResult)) => settle(&inner, it.without_result()),
                Some(Some(As::Told)) | None => settle(&inner, it),
            }
        }
    }
}

/// What of an end is stored.
#[derive(Clone, Copy)]
enum As {
    /// All of it.
    Told,
    /// That it ended, and that what came of it was refused.
    WithoutResult,
}

/// Stores ends, and gives the runs of those that are stored: the others are not this server's any more, have been ended
/// by somebody else, or were refused altogether.
async fn store_group(store: &Store, changes: Vec<Change>) -> HashMap<RunId, As> {
    if changes.is_empty() {
        return HashMap::new();
    }
    let changes: Arc<[Change]> = changes.into();
    let runs = changes.len();
    let waits = |reason: &str| tracing::warn!(runs, "The ends of runs can't be stored yet: {reason}");
    match insist(|| write(store, changes.clone()), waits).await {
        Ok(stored) => return stored.into_iter().map(|run| (run, As::Told)).collect(),
        Err(error) => tracing::error!(runs, %error, "The ends of runs could not be stored together"),
    }
    // Something in one of them is refused: each by itself, so that the others don't suffer.
    let mut stored = HashMap::new();
    for change in changes.iter() {
        let run = change.row.id;
        match write_alone(store, change).await {
            Ok(alone) => stored.extend(alone),
            // It goes on as a stray.
            Err(error) => {
                tracing::error!(%run, %error, "The end of a run could not be stored: it is taken up again")
            }
        }
    }
    stored
}

async fn write_alone(store: &Store, change: &Change) -> Result<Option<(RunId, As)>, StoreError> {
    let waits = |reason: &str| tracing::warn!("The end of a run can't be stored yet: {reason}");
    let error = match insist(|| write(store, [change.clone()].into()), waits).await {
        Ok(stored) => return Ok(stored.into_iter().next().map(|run| (run, As::Told))),
        Err(error) => error,
    };
    let run = change.row.id;
    tracing::error!(%run, %error, "The end of a run could not be stored as it is");
    let bare = change.without_result();
    let stored = insist(|| write(store, [bare.clone()].into()), waits).await?;
    Ok(stored.into_iter().next().map(|run| (run, As::WithoutResult)))
}

/// What is kept of an end that was refused.
fn refused() -> RunError {
    RunError {
        code: code::INTERNAL.to_owned(),
        message: "The run has ended, but the database refused to store what came of it. The log of the server says why."
            .to_owned(),
        node_id: None,
    }
}

async fn write(store: &Store, changes: Arc<[Change]>) -> Result<HashSet<RunId>, StoreError> {
    store
        .write(move |db| Box::pin(async move { write_all(db, &changes).await }))
        .await
}

async fn write_all(db: &mut Db<'_>, changes: &[Change]) -> Result<HashSet<RunId>, StoreError> {
    let rows: Vec<&ResultRow> = changes.iter().map(|change| change.row.as_ref()).collect();
    let stored: HashSet<RunId> = runs::record(db, &rows).await?.into_iter().collect();
    let changes: Vec<&Change> = changes
        .iter()
        .filter(|change| stored.contains(&change.row.id))
        .collect();
    let cleared: Vec<RunId> = changes
        .iter()
        .filter(|change| change.clear)
        .map(|change| change.row.id)
        .collect();
    if !cleared.is_empty() {
        journal::clear(db, &cleared).await?;
    }
    for change in changes {
        if let Some(execution) = &change.forget {
            journal::forget(db, change.row.id, execution).await?;
        }
        if let Some((parent, key, payload)) = &change.tell {
            journal::signal(db, *parent, key, payload).await?;
        }
        if let Some(elsewhere) = &change.elsewhere {
            if let Some(response) = &elsewhere.response {
                responses::keep(db, change.row.id, response.get(), elsewhere.at).await?;
            }
            notices::tell(db, Notice::Ended(change.row.id)).await?;
        }
    }
    Ok(stored)
}

/// Nothing of it counts. Whoever waits for the end of a run that was cancelled elsewhere is told so; others hear that
/// the run goes on.
fn withdraw(inner: &Inner, finished: Finished) {
    let Some(job) = finished.job() else { return };
    tracing::info!(run = %job.run, "An execution of a run ended that does not count");
    inner.forget(job);
    if let Finished::End { job, ended, .. } = finished
        && job.live.is_cancelled()
    {
        inner.tail.ended(&job, &ended);
        job.live.end(ended);
    }
}

fn settle(inner: &Arc<Inner>, finished: Finished) {
    match finished {
        Finished::End { row, job, ended } => tell_end(inner, &job, Figures::of(&row), ended),
        Finished::Attempt { mut job, wait, .. } => {
            counter!("heddle_run_retries_total").increment(1);
            job.attempt = job.attempt.saturating_add(1);
            inner.tail.phase(&job, Phase::Waiting);
            // It has ended once.
            job.is_suspect = false;
            // Waits may be long, and there is no room taken for it.
            job.leave_event();
            job.queue_after(inner, wait);
        }
        Finished::Park { job, response, .. } => {
            counter!("heddle_runs_parked_total").increment(1);
            park(inner, &job, response);
        }
        // Nobody listens any more when the stop was given up.
        Finished::Flush(flushed) => drop(flushed.send(())),
    }
}

fn park(inner: &Inner, job: &Job, response: Option<Box<RawValue>>) {
    inner.tail.phase(job, Phase::Waiting);
    job.live.set_parked(true);
    let answers_sender = response.is_some() && job.triggered_by == TriggeredBy::Webhook;
    // Only those who wait for the run's end keep something of it in memory.
    if answers_sender || !job.live.is_watched() {
        inner.live().remove(&job.run);
    }
    if answers_sender {
        job.live.end(Ended {
            status: RunStatus::Running,
            output: None,
            error: None,
            response,
        });
    }
    inner.waker.look();
}

/// What is counted of a run that has ended.
#[derive(Clone, Copy)]
pub(super) struct Figures {
    pub(super) fuel_used: i64,
    /// Of a run that has executed.
    pub(super) duration_ms: Option<i64>,
    pub(super) memory_bytes_peak: i64,
}

impl Figures {
    pub(super) const fn of(row: &ResultRow) -> Self {
        Figures {
            fuel_used: row.fuel_used,
            duration_ms: row.duration_ms,
            memory_bytes_peak: row.memory_bytes_peak,
        }
    }
}

/// Tells everybody of an end that is stored.
pub(super) fn tell_end(inner: &Inner, job: &Job, figures: Figures, ended: Ended) {
    run_metrics::ended(ended.status, figures);
    inner.live().remove(&job.run);
    inner.tail.ended(job, &ended);
    if job.parent.is_some() {
        inner.waker.look();
    }
    job.live.end(ended);
}
