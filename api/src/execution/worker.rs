//! One attempt of a run: from its place among the executing to what is to be recorded of it, and whether there is
//! another attempt.

use super::active::ActiveDeployment;
use super::environments::Given;
use super::insist::insist;
use super::journal::{self, Continued};
use super::live::{Ended, Live};
use super::queue::{Class, Place, Reservation};
use super::record::{self, Record};
use super::recorder::Finished;
use super::status::{Phase, RunStatus, TriggeredBy};
use super::{Inner, error_pattern};
use crate::clock::Timestamp;
use crate::error::{ApiError, Code};
use crate::ids::RunId;
use crate::store::StoreError;
use crate::store::runs::{self, ResultRow, suspects};
use heddle_contract::abi::code;
use heddle_contract::manifest::Retry;
use heddle_runtime::{Outcome, RunError, RunRequest, Status, TRACE_TARGET};
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};
use std::sync::{Arc, PoisonError};
use std::time::Duration;
use tracing::field::Empty;
use tracing::{Instrument, Span};

/// Longest wait between two attempts.
const BACKOFF_MAX: Duration = Duration::from_secs(24 * 60 * 60);
/// How long to wait before asking a database again that does not answer.
const DATABASE_RETRY: Duration = Duration::from_millis(500);

/// A run on its way through the service.
#[derive(Debug)]
pub struct Job {
    pub(super) run: RunId,
    /// What the run is owned by; what the job leads to counts only for as long as it is.
    pub(super) owner: Arc<str>,
    pub(super) deployment: Arc<ActiveDeployment>,
    pub(super) triggered_by: TriggeredBy,
    pub(super) node_id: Option<String>,
    pub(super) event: Box<RawValue>,
    pub(super) attempt: u32,
    pub(super) wait: bool,
    pub(super) accepted_at: Timestamp,
    /// The run whose CallPattern waits for it, and which of its effects that is.
    pub(super) parent: Option<(RunId, String)>,
    /// How many runs called each other above it.
    pub(super) depth: u32,
    /// Whether it may have a journal from before.
    pub(super) has_history: bool,
    /// Whether it was taken up or woken here, so that another server may have had it before.
    pub(super) was_taken: bool,
    /// Whether only the database has its event for now.
    pub(super) is_event_left: bool,
    /// Whether it may have brought a server down.
    pub(super) is_suspect: bool,
    pub(super) live: Arc<Live>,
}

impl Job {
    /// Leaves the event to the database until the run begins.
    pub(super) fn leave_event(&mut self) {
        if self.event.get() != "null" {
            self.event = RawValue::NULL.to_owned();
            self.is_event_left = true;
        }
    }

    /// What others see of it.
    pub(super) fn without_event(&self) -> Job {
        Job {
            owner: self.owner.clone(),
            deployment: self.deployment.clone(),
            node_id: self.node_id.clone(),
            event: RawValue::NULL.to_owned(),
            parent: self.parent.clone(),
            live: self.live.clone(),
            ..*self
        }
    }

    /// Puts the run in its tenant's lane.
    pub(super) fn queue(self, inner: &Arc<Inner>, reservation: Option<Reservation>) {
        let class = Class::of(self.wait);
        let (share, run) = (self.deployment.share(), self.run);
        let this = inner.clone();
        let start = Box::new(move |place| {
            tokio::spawn(begin(this, self, place));
        });
        inner.queue.push(share, class, Some(run), reservation, start);
    }

    /// Queues the run when its next attempt is due, or at once when it is cancelled or lost before.
    pub(super) fn queue_after(self, inner: &Arc<Inner>, wait: Duration) {
        let inner = inner.clone();
        tokio::spawn(async move {
            let live = self.live.clone();
            tokio::select! {
                () = live.interrupted() => {}
                () = tokio::time::sleep(wait) => {}
            }
            self.queue(&inner, None);
        });
    }
}

pub(super) async fn begin(inner: Arc<Inner>, job: Job, place: Option<Place>) {
    if !inner.lease.is_held(&job.owner).await {
        return inner.forget(&job);
    }
    if job.live.is_cancelled() || place.is_none() {
        return end(&inner, job, cancelled(), None).await;
    }
    let Some(job) = inner.hold_if_paused(job) else {
        return;
    };
    if (job.is_suspect || job.deployment.is_struck) && !inner.announce(&job).await {
        return inner.forget(&job);
    }
    inner.tail.phase(&job, Phase::Executing);
    let attempted = perform(&inner, job).await;
    finish(&inner, attempted).await;
    drop(place);
}

/// An attempt that is over.
pub(super) struct Attempted {
    job: Job,
    started_at: Timestamp,
    /// `None`: the run was cancelled or lost.
    outcome: Option<Outcome>,
}

impl Attempted {
    /// Of the run as it is stored.
    pub(super) fn owned_by(mut self, owner: Arc<str>) -> Self {
        self.job.owner = owner;
        self
    }

    /// The run's end, if nothing follows from it but that it is stored.
    pub(super) fn plain_end(self, now: Timestamp) -> Result<(Box<ResultRow>, Ended), Box<Self>> {
        let Some(outcome) = &self.outcome else {
            return Err(Box::new(self));
        };
        let ended = job_end(&self.job, outcome);
        let settings = &self.job.deployment.manifest().settings;
        let tells_another = ended.status.has_failed() && settings.error_pattern_id.is_some();
        let is_retried = retry_wait(&self.job, &ended).is_some();
        if outcome.status == Status::Parked || tells_another || is_retried {
            return Err(Box::new(self));
        }
        let outcome = self.outcome.map(|outcome| (self.started_at, outcome));
        Ok((Box::new(end_row(&self.job, &ended, outcome, now)), ended))
    }
}

/// Makes one attempt.
pub(super) async fn perform(inner: &Arc<Inner>, mut job: Job) -> Attempted {
    let span = span(&job);
    let (started_at, outcome) = attempt(inner, &mut job).instrument(span.clone()).await;
    note_end(&span, outcome.as_ref());
    Attempted {
        job,
        started_at,
        outcome,
    }
}

/// Hands on what became of an attempt.
pub(super) async fn finish(inner: &Arc<Inner>, attempted: Attempted) {
    let Attempted {
        job,
        started_at,
        outcome,
    } = attempted;
    if job.live.is_lost() || !inner.lease.is_held(&job.owner).await {
        return inner.forget(&job);
    }
    let (end_of, outcome) = match outcome {
        Some(outcome) if outcome.status == Status::Parked => {
            return inner.recorder.send(park(job, started_at, outcome)).await;
        }
        Some(outcome) => (job_end(&job, &outcome), Some((started_at, outcome))),
        None => (cancelled(), None),
    };
    let Some(wait) = outcome.as_ref().and_then(|_| retry_wait(&job, &end_of)) else {
        return end(inner, job, end_of, outcome).await;
    };
    let forget = outcome
        .as_ref()
        .and_then(|(_, outcome)| outcome.failed_execution.clone());
    let row = attempt_row(inner, &job, wait, outcome);
    let attempt = Finished::Attempt {
        row: Arc::new(row),
        job,
        wait,
        forget,
    };
    inner.recorder.send(attempt).await;
}

/// A run of which nothing but its row shall be kept until it is woken.
fn park(job: Job, started_at: Timestamp, outcome: Outcome) -> Finished {
    let response = outcome.response.clone();
    let wake_at = Timestamp::from_millis(outcome.wake_at_ms.unwrap_or(i64::MAX));
    let mut row = row(&job, Some((started_at, outcome)));
    row.wake_at = Some(wake_at);
    // Figures are of runs that have ended.
    row.duration_ms = None;
    Finished::Park {
        row: Arc::new(row),
        job,
        response,
    }
}

/// When the run began, and what came of it; `None`: it was cancelled or lost.
async fn attempt(inner: &Arc<Inner>, job: &mut Job) -> (Timestamp, Option<Outcome>) {
    let now = inner.clock.now();
    if job.is_event_left {
        match event(inner, job).await {
            Some(Ok(event)) => (job.event, job.is_event_left) = (event, false),
            Some(Err(error)) => return (now, Some(Outcome::refused(error))),
            None => return (now, None),
        }
    }
    let continued = match continued(inner, job, now).await {
        Some(Ok(continued)) => continued,
        Some(Err(error)) => return (now, Some(Outcome::refused(error))),
        None => return (now, None),
    };
    let began_at = continued
        .as_ref()
        .map_or(now, |it| Timestamp::from_millis(it.started_at_ms));
    let outcome = execute(inner, job, began_at, continued.as_ref()).await;
    job.has_history |= continued.is_some_and(|it| it.is_used());
    (began_at, outcome)
}

/// Of this attempt.
fn span(job: &Job) -> Span {
    tracing::info_span!(
        target: TRACE_TARGET, parent: None, "run",
        otel.name = "run", otel.kind = "consumer", otel.status_code = Empty,
        heddle.run_id = %job.run, heddle.pattern_id = %job.deployment.pattern_id,
        heddle.deployment_id = %job.deployment.id, heddle.attempt = job.attempt,
        heddle.triggered_by = job.triggered_by.name(), heddle.fuel_used = Empty, error.type = Empty,
    )
}

/// Codes only: messages may hold what the run was about.
fn note_end(span: &Span, outcome: Option<&Outcome>) {
    let error = match outcome {
        Some(outcome) => {
            span.record("heddle.fuel_used", outcome.usage.fuel_used);
            outcome.error.as_ref().map(|error| error.code.as_str())
        }
        None => Some(code::CANCELLED),
    };
    if let Some(code) = error {
        span.record("error.type", code);
        span.record("otel.status_code", "ERROR");
    }
}

/// `None`: the run was cancelled or lost.
async fn execute(
    inner: &Arc<Inner>,
    job: &Job,
    began_at: Timestamp,
    continued: Option<&Continued>,
) -> Option<Outcome> {
    let given = match given(inner, job).await? {
        Ok(given) => given,
        Err(error) => return Some(Outcome::refused(error)),
    };
    let runtime = match inner.runtime().await {
        Ok(runtime) => runtime,
        Err(error) => return Some(Outcome::refused(internal(error.message()))),
    };
    let rights = &job.deployment.manifest().rights;
    let may = |kind: &str| rights.effects.iter().any(|right| right == kind);
    let granted = |name: &&String| given.secrets.contains_key(*name);
    let secrets = rights.secrets.iter().filter(granted);
    let request = RunRequest {
        run_id: job.run.to_string(),
        pattern_id: job.deployment.pattern_id.to_string(),
        attempt: job.attempt,
        triggered_by: job.triggered_by.name().to_owned(),
        started_at_ms: began_at.millis(),
        seed: seed(job.run),
        trigger_node_id: job.node_id.clone(),
        event: job.event.clone(),
        variables: given.variables.clone(),
        secrets: secrets
            .filter_map(|name| Some((name.clone(), given.secrets.get(name)?.clone())))
            .collect(),
        journal: continued.map(|it| it.journal.clone()),
        calls: may("call").then(|| inner.calls_of(job)),
        callbacks: may("callback").then(|| inner.callbacks.of(job.run)),
        services: inner.services(job.deployment.tenant, job.deployment.pattern_id),
        limits: inner.limits.clone(),
    };
    tokio::select! {
        biased;
        () = job.live.interrupted() => None,
        outcome = runtime.run(&job.deployment.program, request) => Some(outcome),
    }
}

/// Seed of a run's random numbers: the same for all of its executions.
fn seed(run: RunId) -> u64 {
    let digest = Sha256::digest(run.to_string().as_bytes());
    digest.first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes))
}

/// The journal of a run that may have effects. `None`: the run was cancelled or lost.
async fn continued(inner: &Inner, job: &Job, now: Timestamp) -> Option<Result<Option<Continued>, RunError>> {
    if !journal::is_needed(&job.deployment.manifest().rights) {
        return Some(Ok(None));
    }
    let read = || inner.continued(job, now.millis());
    let read = patiently(job, read, "What the run has done before can't be read.").await?;
    Some(read.map(Some))
}

/// The event that the database has. `None`: the run was cancelled or lost.
async fn event(inner: &Inner, job: &Job) -> Option<Result<Box<RawValue>, RunError>> {
    patiently(job, || inner.event_of(job.run), "The run's event can't be read.").await
}

/// What the run's environment gives it. `None`: the run was cancelled or lost.
async fn given(inner: &Inner, job: &Job) -> Option<Result<Arc<Given>, RunError>> {
    let read = || inner.environments.given(job.deployment.environment);
    patiently(job, read, "The run's secrets and variables can't be read.").await
}

/// Reads what a run needs. A database that is away is waited for; `None`: the run was cancelled or lost.
async fn patiently<T, F: Future<Output = Result<T, ApiError>>>(
    job: &Job,
    read: impl Fn() -> F,
    failed: &str,
) -> Option<Result<T, RunError>> {
    loop {
        match read().await {
            Ok(found) => return Some(Ok(found)),
            Err(error) if error.code() == Code::Unavailable => tokio::select! {
                () = job.live.interrupted() => return None,
                () = tokio::time::sleep(DATABASE_RETRY) => {}
            },
            Err(error) => {
                tracing::error!(run = %job.run, "{failed} {}", error.message());
                return Some(Err(internal(failed)));
            }
        }
    }
}

fn internal(message: &str) -> RunError {
    RunError {
        code: code::INTERNAL.to_owned(),
        message: message.to_owned(),
        node_id: None,
    }
}

pub(super) fn failed(status: RunStatus, error: RunError) -> Ended {
    Ended {
        status,
        output: None,
        error: Some(error),
        response: None,
    }
}

fn cancelled() -> Ended {
    failed(RunStatus::Failure, cancellation())
}

/// Why a cancelled run has failed.
pub(super) fn cancellation() -> RunError {
    RunError {
        code: code::CANCELLED.to_owned(),
        message: "cancelled".to_owned(),
        node_id: None,
    }
}

fn job_end(job: &Job, outcome: &Outcome) -> Ended {
    let retry = job.deployment.manifest().settings.retry.as_ref();
    let status = match (outcome.status, retry) {
        (Status::Completed | Status::Paused | Status::Parked, _) => RunStatus::Success,
        (Status::Failed, Some(retry)) if retry.max_attempts > 1 => RunStatus::DeadLetter,
        (Status::Failed, _) => RunStatus::Failure,
    };
    Ended {
        status,
        output: outcome.output.clone(),
        error: outcome.error.clone(),
        response: outcome.response.clone(),
    }
}

/// How long to wait for the next attempt; `None`: there is none.
fn retry_wait(job: &Job, ended: &Ended) -> Option<Duration> {
    let retry = job.deployment.manifest().settings.retry.as_ref()?;
    if ended.status != RunStatus::DeadLetter || job.attempt >= retry.max_attempts {
        return None;
    }
    Some(backoff(retry, job.attempt))
}

/// The policy's wait, a quarter more or less, so that runs that failed together don't come back together.
fn backoff(retry: &Retry, attempt: u32) -> Duration {
    let exponent = i32::try_from(attempt.saturating_sub(1)).unwrap_or(i32::MAX);
    let wait_ms = retry.backoff_ms as f64 * retry.factor.max(1.0).powi(exponent);
    let wait_ms = wait_ms * rand::random_range(0.75..=1.25);
    Duration::try_from_secs_f64(wait_ms / 1_000.0).map_or(BACKOFF_MAX, |wait| wait.min(BACKOFF_MAX))
}

/// Records the end of a run, after its error pattern was told.
async fn end(inner: &Arc<Inner>, job: Job, ended: Ended, outcome: Option<(Timestamp, Outcome)>) {
    if ended.status.has_failed() {
        error_pattern::tell(inner, &job, &ended).await;
        inner.cancel_called(&job).await;
    }
    let row = Arc::new(end_row(&job, &ended, outcome, inner.clock.now()));
    inner.recorder.send(Finished::End { row, job, ended }).await;
}

fn end_row(job: &Job, ended: &Ended, outcome: Option<(Timestamp, Outcome)>, now: Timestamp) -> ResultRow {
    let mut row = row(job, outcome);
    row.status = ended.status;
    row.completed_at = Some(now);
    if row.error.is_none() {
        row.error = ended.error.as_ref().map(record::error);
    }
    row
}

fn attempt_row(inner: &Inner, job: &Job, wait: Duration, outcome: Option<(Timestamp, Outcome)>) -> ResultRow {
    let mut row = row(job, outcome);
    row.attempt = job.attempt.saturating_add(1);
    row.resumes_at = Some(inner.clock.now().plus(wait));
    row
}

/// What is recorded of an attempt, as of a run that goes on.
fn row(job: &Job, outcome: Option<(Timestamp, Outcome)>) -> ResultRow {
    let mut row = ResultRow::running(job.run, job.owner.clone(), job.attempt);
    let Some((started_at, outcome)) = outcome else {
        return row;
    };
    let record = Record::of(&outcome, job.deployment.manifest().trace);
    let int = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
    row.started_at = Some(started_at);
    row.duration_ms = Some(int(outcome.usage.duration_us.saturating_add(500) / 1_000));
    (row.output, row.error, row.logs, row.trace) = (record.output, record.error, record.logs, record.trace);
    row.fuel_used = int(outcome.usage.fuel_used);
    row.memory_bytes_peak = int(outcome.usage.memory_bytes_peak as u64);
    row
}

/// Ends a run that does not execute any more.
pub(super) async fn end_without_executing(inner: &Arc<Inner>, job: Job, status: RunStatus, error: RunError) {
    end(inner, job, failed(status, error), None).await;
}

impl Inner {
    /// Nothing more is done for a run that is not this server's any more.
    pub(super) fn forget(&self, job: &Job) {
        let mut live = self.live();
        // It may have come here again.
        if live
            .get(&job.run)
            .is_some_and(|found| Arc::ptr_eq(found, &job.live))
        {
            live.remove(&job.run);
        }
    }

    /// Says durably that the run is about to execute. `false`: it is not this server's any more.
    async fn announce(&self, job: &Job) -> bool {
        let write = || {
            let (owner, run) = (job.owner.clone(), job.run);
            self.store
                .write(move |db| Box::pin(async move { suspects::announce(db, &owner, run).await }))
        };
        let waits = |reason: &str| tracing::warn!("Runs under suspicion have to wait: {reason}");
        insist(write, waits).await.unwrap_or_else(|error: StoreError| {
            tracing::error!(run = %job.run, %error, "A run under suspicion can't begin");
            false
        })
    }

    /// The event that the database has of a run.
    pub(super) async fn event_of(&self, run: RunId) -> Result<Box<RawValue>, ApiError> {
        let found = runs::event_of(&mut self.store.reader().await?.db(), run).await?;
        let event = found.ok_or(StoreError::Missing)?;
        // What was stored as JSON is JSON.
        let event = event.and_then(|event| RawValue::from_string(event).ok());
        Ok(event.unwrap_or_else(|| RawValue::NULL.to_owned()))
    }

    /// Holds the run if its deployment is paused or stopped; else gives it back.
    fn hold_if_paused(&self, mut job: Job) -> Option<Job> {
        let paused = self.paused();
        if !paused.contains(&job.deployment.id) {
            return Some(job);
        }
        job.live.set_phase(Phase::Queued);
        job.leave_event();
        self.held.lock().unwrap_or_else(PoisonError::into_inner).push(job);
        None
    }
}
