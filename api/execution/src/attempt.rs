//! What becomes of one attempt of a run: whether the run has ended, parks or is tried again, and the row that is stored
//! of it. Executes nothing and stores nothing.

use crate::call_result;
use crate::journal;
use crate::live::Ended;
use crate::record::{self, Record};
use crate::run::Run;
use crate::run_error::cancellation;
use heddle_contract::abi::code;
use heddle_contract::manifest::Retry;
use heddle_model::clock::Timestamp;
use heddle_model::ids::RunId;
use heddle_model::status::RunStatus;
use heddle_model::usage::memory_kib_ms;
use heddle_runtime::{Outcome, RunError, Status, is_small};
use heddle_store::runs::ResultRow;
use heddle_store::runs::journal::{EntryRow, Payload};
use serde_json::value::RawValue;
use std::sync::Arc;
use std::time::Duration;

/// Longest wait between two attempts.
const BACKOFF_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// An attempt that is over.
pub(crate) struct FinishedAttempt {
    pub run: Run,
    /// Which executions of the run count from, if it has a journal.
    pub started_at: Timestamp,
    pub result: Attempted,
}

/// How an attempt came to its end.
#[expect(
    clippy::large_enum_variant,
    reason = "a box would be an allocation for each run"
)]
pub(crate) enum Attempted {
    Outcome(Outcome),
    /// The run was cancelled or lost.
    Cancelled,
    /// It has ended the processes that executed it, the last time alone.
    Deadly,
}

impl Attempted {
    /// Its outcome, if it has one.
    pub fn outcome(&self) -> Option<&Outcome> {
        match self {
            Attempted::Outcome(outcome) => Some(outcome),
            Attempted::Cancelled | Attempted::Deadly => None,
        }
    }
}

/// What is to be recorded of an attempt, and what follows.
pub(crate) struct Conclusion {
    pub run: Run,
    pub row: Arc<ResultRow>,
    /// Results of effects that are not in the journal yet of a run that has ended.
    pub unsaved: Arc<[EntryRow]>,
    /// What the run that waits for this one's end is sent.
    pub signal: Option<Signal>,
    pub next: Next,
}

/// For the run that waits for another one's end: it finds `payload` under the key of its effect.
#[derive(Clone)]
pub(crate) struct Signal {
    pub parent: RunId,
    pub key: String,
    pub payload: Payload,
}

impl Signal {
    /// The signal of a run's end, if another run waits for it.
    fn of(run: &Run, ended: &Ended) -> Option<Self> {
        let (parent, key) = run.parent.as_ref()?;
        Some(Signal {
            parent: *parent,
            key: key.clone(),
            payload: Payload::new(call_result::signal_payload(run.id, ended)),
        })
    }
}

/// What follows from an attempt.
pub(crate) enum Next {
    /// The run has ended.
    End(Ended),
    /// Another attempt, after this time. The effects of `forget`, an execution of a node, are done anew in it.
    Retry { wait: Duration, forget: Option<String> },
    /// The run waits for so long that only its row is kept; `response` is what RespondToWebhook gave.
    Park { response: Option<Box<RawValue>> },
}

/// What an attempt decides by itself.
#[expect(
    clippy::large_enum_variant,
    reason = "a box would be an allocation for each run"
)]
pub(crate) enum Decision {
    Concluded(Conclusion),
    /// The run ends, of which others have to hear before it is recorded.
    Ends(EndingRun),
    /// The run is given up, which counts against its deployment.
    IsDeadly(Run),
}

/// A run whose last attempt is over.
pub(crate) struct EndingRun {
    pub run: Run,
    pub ended: Ended,
    /// When the attempt started, and its outcome; `None`: it has none.
    pub outcome: Option<(Timestamp, Outcome)>,
}

impl EndingRun {
    /// A run that does not execute any more.
    pub fn without_executing(run: Run, ended: Ended) -> Self {
        EndingRun {
            run,
            ended,
            outcome: None,
        }
    }

    /// Whether the run was cancelled, wherever it was: it has no outcome of its own then.
    pub fn was_cancelled(&self) -> bool {
        let error = self.ended.error.as_ref();
        self.outcome.is_none() && error.is_some_and(|error| error.code == code::CANCELLED)
    }

    /// Whether there is so much to be recorded that making it takes long.
    pub fn is_large(&self) -> bool {
        let outcome = self.outcome.as_ref();
        let unsaved = outcome.map_or(0, |(_, outcome)| journal::bytes_of(&outcome.unsaved));
        !is_small(unsaved.saturating_add(bytes_sent(&self.run, &self.ended)))
    }

    /// Its end, as it is recorded.
    pub fn conclude(mut self, now: Timestamp) -> Conclusion {
        let outcome = self.outcome.as_mut();
        let unsaved = outcome.map_or_else(Vec::new, |(_, outcome)| std::mem::take(&mut outcome.unsaved));
        let unsaved = journal::rows(&self.run, unsaved);
        let signal = Signal::of(&self.run, &self.ended);
        let row = end_row(&self.run, &self.ended, self.outcome, now);
        Conclusion {
            run: self.run,
            row: Arc::new(row),
            unsaved: unsaved.into(),
            signal,
            next: Next::End(self.ended),
        }
    }
}

/// The end of a run from which nothing follows but that it is stored.
pub(crate) struct PlainEnd {
    pub row: Box<ResultRow>,
    /// For the run that waits for this one's end.
    pub signal: Option<Signal>,
    pub ended: Ended,
}

impl FinishedAttempt {
    /// The run's end, if nothing follows from it but that it is stored, with what is sent to a run that waits for it: where there is so
    /// much of that that making it takes long, something follows.
    pub fn plain_end(self, now: Timestamp) -> Result<PlainEnd, Box<Self>> {
        let Some(outcome) = self.result.outcome() else {
            return Err(Box::new(self));
        };
        let ended = end_of(&self.run, outcome);
        let settings = &self.run.deployment.manifest().settings;
        let starts_another = ended.status.has_failed() && settings.error_pattern_id.is_some();
        let is_retried = retry_wait(&self.run, &ended).is_some();
        let has_journal = !outcome.unsaved.is_empty();
        let sends_much = !is_small(bytes_sent(&self.run, &ended));
        if outcome.status == Status::Parked || starts_another || is_retried || has_journal || sends_much {
            return Err(Box::new(self));
        }
        let outcome = match self.result {
            Attempted::Outcome(outcome) => Some((self.started_at, outcome)),
            Attempted::Cancelled | Attempted::Deadly => None,
        };
        Ok(PlainEnd {
            row: Box::new(end_row(&self.run, &ended, outcome, now)),
            signal: Signal::of(&self.run, &ended),
            ended,
        })
    }

    /// Whether the run parks.
    pub fn parks(&self) -> bool {
        let parks = |outcome: &Outcome| outcome.status == Status::Parked;
        self.result.outcome().is_some_and(parks)
    }

    /// The run may not wait, and fails with this.
    pub fn refuse_to_wait(&mut self, error: RunError) {
        if let Attempted::Outcome(outcome) = &mut self.result {
            outcome.status = Status::Failed;
            outcome.error = Some(error);
            outcome.wake_at_ms = None;
        }
    }

    /// What follows.
    pub fn decide(self, now: Timestamp) -> Decision {
        let FinishedAttempt {
            run,
            started_at,
            result,
        } = self;
        let outcome = match result {
            Attempted::Outcome(outcome) => outcome,
            Attempted::Cancelled => {
                return Decision::Ends(EndingRun::without_executing(run, cancelled()));
            }
            Attempted::Deadly => return Decision::IsDeadly(run),
        };
        if outcome.status == Status::Parked {
            return Decision::Concluded(park(run, started_at, outcome));
        }
        let ended = end_of(&run, &outcome);
        match retry_wait(&run, &ended) {
            Some(wait) => Decision::Concluded(retry(run, wait, (started_at, outcome), now)),
            None => Decision::Ends(EndingRun {
                run,
                ended,
                outcome: Some((started_at, outcome)),
            }),
        }
    }
}

/// Bytes that a run sends to the one that waits for it.
fn bytes_sent(run: &Run, ended: &Ended) -> usize {
    let output = ended.output.as_ref().filter(|_| run.parent.is_some());
    output.map_or(0, |output| output.get().len())
}

/// The end of a run that was cancelled.
pub(crate) fn cancelled() -> Ended {
    Ended::failed(RunStatus::Failure, cancellation())
}

fn park(run: Run, started_at: Timestamp, outcome: Outcome) -> Conclusion {
    let response = outcome.response.clone();
    let wake_at = Timestamp::from_millis(outcome.wake_at_ms.unwrap_or(i64::MAX));
    let mut row = row(&run, Some((started_at, outcome)));
    row.wake_at = Some(wake_at);
    // Figures are of runs that have ended.
    row.duration_ms = None;
    Conclusion {
        run,
        row: Arc::new(row),
        unsaved: Arc::default(),
        signal: None,
        next: Next::Park { response },
    }
}

fn retry(run: Run, wait: Duration, outcome: (Timestamp, Outcome), now: Timestamp) -> Conclusion {
    let forget = outcome.1.failed_execution.clone();
    let mut row = row(&run, Some(outcome));
    row.attempt = run.attempt.saturating_add(1);
    row.resumes_at = Some(now.plus(wait));
    Conclusion {
        run,
        row: Arc::new(row),
        unsaved: Arc::default(),
        signal: None,
        next: Next::Retry { wait, forget },
    }
}

fn end_of(run: &Run, outcome: &Outcome) -> Ended {
    let retry = run.deployment.manifest().settings.retry.as_ref();
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
fn retry_wait(run: &Run, ended: &Ended) -> Option<Duration> {
    let retry = run.deployment.manifest().settings.retry.as_ref()?;
    if ended.status != RunStatus::DeadLetter || run.attempt >= retry.max_attempts {
        return None;
    }
    Some(backoff(retry, run.attempt))
}

/// The policy's wait, a quarter more or less, so that runs that failed together don't come back together.
fn backoff(retry: &Retry, attempt: u32) -> Duration {
    let exponent = i32::try_from(attempt.saturating_sub(1)).unwrap_or(i32::MAX);
    let wait_ms = retry.backoff_ms as f64 * retry.factor.max(1.0).powi(exponent);
    let wait_ms = wait_ms * heddle_model::entropy::random_in(0.75..=1.25);
    Duration::try_from_secs_f64(wait_ms / 1_000.0).map_or(BACKOFF_MAX, |wait| wait.min(BACKOFF_MAX))
}

fn end_row(run: &Run, ended: &Ended, outcome: Option<(Timestamp, Outcome)>, now: Timestamp) -> ResultRow {
    let mut row = row(run, outcome);
    row.status = ended.status;
    row.completed_at = Some(now);
    count_waits(&mut row, run, now);
    if row.error.is_none() {
        row.error = ended.error.as_ref().map(record::error);
    }
    row
}

/// Adds to how long a run took what passed before its last execution, which alone was measured.
fn count_waits(row: &mut ResultRow, run: &Run, now: Timestamp) {
    let (Some(began_at), Some(executed_ms)) = (row.started_at, row.duration_ms) else {
        return;
    };
    let took_ms = now.millis().saturating_sub(began_at.millis());
    if (run.has_history || run.has_parked) && took_ms > executed_ms {
        row.duration_ms = Some(took_ms);
        row.continued_at = Some(Timestamp::from_millis(now.millis().saturating_sub(executed_ms)));
    }
}

/// What is recorded of an attempt, as of a run that goes on.
fn row(run: &Run, outcome: Option<(Timestamp, Outcome)>) -> ResultRow {
    let mut row = ResultRow::running(run.id, run.owner.clone(), run.attempt);
    row.tenant = Some(run.deployment.tenant);
    let Some((started_at, outcome)) = outcome else {
        return row;
    };
    let record = Record::of(&outcome, run.deployment.manifest().trace);
    let int = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
    row.started_at = Some(started_at);
    row.duration_ms = Some(int(outcome.usage.duration_us.saturating_add(500) / 1_000));
    (row.output, row.error, row.logs, row.trace) = (record.output, record.error, record.logs, record.trace);
    row.failed_input = record.failed_input;
    row.fuel_used = int(outcome.usage.fuel_used);
    row.memory_bytes_peak = int(outcome.usage.memory_bytes_peak as u64);
    row.memory_kib_ms = memory_kib_ms(row.memory_bytes_peak, row.duration_ms.unwrap_or(0));
    row.effects = outcome.usage.effects_begun.into();
    row.egress_bytes = int(outcome.usage.egress_bytes);
    row
}
