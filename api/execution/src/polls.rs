//! Asks for the lists of OnPoll nodes. A poll that is due is claimed in the database, so that one server at a time asks; each
//! thing that is new is accepted as a run under a key of its own, and counts as seen only afterwards. So whenever a server
//! stops, no thing is lost, and none has two runs.

mod picked;

use crate::acceptor::Accepted;
use crate::deployment::ActiveDeployment;
use crate::executions::Executions;
use crate::queue::{Class, Place};
use crate::run::{IdempotencyKey, NewRun};
use crate::schedule::Schedule;
use chrono::DateTime;
use heddle_model::clock::Timestamp;
use heddle_model::entropy;
use heddle_model::error::{Code, ServiceError, chain};
use heddle_model::poll::{Poll, Seen};
use heddle_model::status::TriggeredBy;
use heddle_runtime::{EffectError, Fetch};
use heddle_store::polls::{self, PollRow};
use heddle_store::schedules::ScheduleRow;
use heddle_store::{Load, StoreError};
use metrics::counter;
use picked::Picked;
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

/// For how long a poll is claimed: if its server stops, another one asks after that.
const CLAIM: Duration = Duration::from_secs(10);
/// How often a claim is renewed.
const RENEW: Duration = Duration::from_secs(3);
/// How long it waits for a place among the runs of its workspace, and then for one among all polls.
const PATIENCE: Duration = Duration::from_secs(30);
/// Time for a request beyond what its node allows, within which that says what was wrong.
const GRACE: Duration = Duration::from_secs(2);
const TIME_MAX: Duration = Duration::from_secs(60);
/// Rests after failures: at least, at most, and at most where the service says when to come back.
const REST_MIN: Duration = Duration::from_secs(30);
const REST_MAX: Duration = Duration::from_secs(60 * 60);
const REST_TOLD_MAX: Duration = Duration::from_secs(24 * 60 * 60);
/// Characters of a failure's message that are kept.
const MESSAGE_CHARS_MAX: usize = 1_000;
/// Characters of a list's fingerprint that its runs' keys have.
const SOURCE_CHARS: usize = 16;

/// Why a poll has started no runs, or not all.
struct Failure {
    code: String,
    message: String,
    /// Whether it is this service that has no room or no quota left, of which the other one knows nothing.
    is_ours: bool,
    /// When the service, or this one, wants to be asked again.
    rest: Option<Duration>,
}

impl From<ServiceError> for Failure {
    fn from(error: ServiceError) -> Self {
        Failure {
            code: error.code().name().to_owned(),
            message: error.message().to_owned(),
            is_ours: matches!(error.code(), Code::Unavailable | Code::WorkspaceQuotaExceeded),
            // A quota may have been raised before its month is over.
            rest: error
                .retry_after()
                .map(|seconds| Duration::from_secs(seconds).min(REST_MAX)),
        }
    }
}

impl From<EffectError> for Failure {
    fn from(error: EffectError) -> Self {
        Failure {
            code: error.code.as_str().to_owned(),
            message: error.message,
            is_ours: false,
            rest: None,
        }
    }
}

/// Claims a poll that is due, and has it done in the background.
pub(crate) async fn begin(
    executions: &Executions,
    read: &ScheduleRow,
    (active, poll): (Arc<ActiveDeployment>, Poll),
    times: Schedule,
) -> Result<(), ServiceError> {
    let until = executions.clock().now().plus(CLAIM);
    let due = read.clone();
    let claimed = executions
        .store()
        .write(move |db| Box::pin(async move { polls::claim_for_system(db, &due, until).await }))
        .await
        .map_err(|error: StoreError| -> ServiceError { error.into() })?;
    let Some(known) = claimed else { return Ok(()) };
    let turn = Turn {
        executions: executions.clone(),
        node: read.node_id.clone(),
        active,
        source: poll.fingerprint(),
        poll,
        times,
        known,
        claimed: AtomicI64::new(until.millis()),
        attempted: AtomicI64::new(until.millis()),
        is_lost: AtomicBool::new(false),
    };
    tokio::spawn(turn.take());
    Ok(())
}

/// A poll that is this server's.
struct Turn {
    executions: Executions,
    node: String,
    active: Arc<ActiveDeployment>,
    poll: Poll,
    /// Which list that is.
    source: String,
    times: Schedule,
    /// What was known when it was claimed.
    known: PollRow,
    /// Until when it is claimed.
    claimed: AtomicI64,
    /// The same once the renewal is stored that is on its way.
    attempted: AtomicI64,
    /// Whether somebody has paused it, taken it away or given it other times since.
    is_lost: AtomicBool,
}

impl Turn {
    async fn take(self) {
        let mut stopping = self.executions.stopping();
        let (row, due) = tokio::select! {
            done = self.done() => done,
            // Whoever asks next finds what is new; those that have a run by now get no other.
            _ = stopping.wait_for(|stops| *stops) => (None, Some(self.now())),
            () = self.hold() => return,
        };
        let said = self.said();
        let (schedule, former) = (self.known.schedule_id, self.known.clone());
        let bytes = row.as_ref().map_or(0, |row| row.seen.len());
        let load = Load::of(Some(self.active.owner), bytes);
        let stored = self.executions.store().write_sized(load, move |db| {
            Box::pin(async move {
                match row {
                    Some(row) => polls::finish_for_system(db, (&row, &former), (said, due)).await,
                    None => polls::renew_for_system(db, schedule, said, due).await.map(drop),
                }
            })
        });
        let stored: Result<(), StoreError> = stored.await;
        if let Err(error) = stored {
            tracing::warn!(
                deployment = %self.active.id,
                node = self.node,
                "What a poll has found can't be stored, so it is repeated: {}",
                chain(&error)
            );
        }
    }

    fn now(&self) -> Timestamp {
        self.executions.clock().now()
    }

    /// What the database says of its claim: one of these.
    fn said(&self) -> [i64; 2] {
        [&self.claimed, &self.attempted].map(|until| until.load(Ordering::Relaxed))
    }

    fn is_lost(&self) -> bool {
        self.is_lost.load(Ordering::Relaxed)
    }

    /// Keeps the claim for as long as nobody changes it. Never ends.
    async fn hold(&self) {
        let schedule = self.known.schedule_id;
        loop {
            tokio::time::sleep(RENEW).await;
            let (said, until) = (self.said(), self.now().plus(CLAIM));
            // Before it is written: what ends the turn meanwhile doesn't stop that.
            self.attempted.store(until.millis(), Ordering::Relaxed);
            let renewed = self.executions.store().write(move |db| {
                Box::pin(async move { polls::renew_for_system(db, schedule, said, Some(until)).await })
            });
            let renewed: Result<bool, StoreError> = renewed.await;
            match renewed {
                Ok(true) => self.claimed.store(until.millis(), Ordering::Relaxed),
                // It was paused, or has other times now: that stays. No more runs are started, and what is found is stored
                // unless others have overtaken it.
                Ok(false) => {
                    self.is_lost.store(true, Ordering::Relaxed);
                    return std::future::pending().await;
                }
                Err(error) => tracing::warn!("A poll's claim can't be renewed now: {}", chain(&error)),
            }
        }
    }

    /// Asks and starts runs: what is known now, and when it is due.
    async fn done(&self) -> (Option<PollRow>, Option<Timestamp>) {
        let mut row = self.known.clone();
        let went = match self.asked(&mut row).await {
            // There is nothing to say of it.
            Ok(false) => return (None, Some(self.now())),
            Ok(true) => Ok(()),
            Err(failure) => Err(failure),
        };
        let now = self.now();
        let regular = self.times.next_after(now);
        row.last.polled_at = Some(now.millis());
        let result = match &went {
            Ok(()) => "success",
            Err(failure) if failure.is_ours => "refused",
            Err(_) => "failure",
        };
        counter!("heddle_polls_total", "result" => result).increment(1);
        let due = match went {
            Ok(()) => {
                (row.last.failures, row.last.error, row.last.error_code) = (0, None, None);
                regular
            }
            Err(failure) => {
                let Failure {
                    code,
                    message,
                    is_ours,
                    rest,
                } = failure;
                tracing::info!(deployment = %self.active.id, node = self.node, code, "A poll has failed");
                let rest = match is_ours {
                    true => rest_after(1, rest),
                    false => {
                        row.last.failures = row.last.failures.saturating_add(1);
                        rest_after(row.last.failures, rest)
                    }
                };
                let rested = now.plus(rest);
                row.last.error_code = Some(code);
                row.last.error = Some(message.chars().take(MESSAGE_CHARS_MAX).collect());
                Some(regular.map_or(rested, |regular| regular.max(rested)))
            }
        };
        (Some(row), due)
    }

    /// Asks and starts runs when it is its turn; `false`: it was lost before anybody was asked.
    async fn asked(&self, row: &mut PollRow) -> Result<bool, Failure> {
        // Whoever has many lists waits for their own first, then for runs of their own, and only then for others: so few lists
        // wait there, and none that waits for its owner's keeps others from asking. Neither of these is ever closed.
        let _of_owner = self.executions.polls_of(self.active.owner).acquire_owned().await;
        let place = self
            .executions
            .test_runs()
            .place_of(Class::Background, self.active.share(), PATIENCE)
            .await?;
        // Until all runs are started: answers may be large.
        let one = self.executions.polls_at_once().acquire();
        let _one = tokio::time::timeout(PATIENCE, one).await.map_err(|_| {
            Code::Unavailable
                .with("Too many lists are being polled right now: this one will be polled later.")
        })?;
        if self.is_lost() {
            return Ok(false);
        }
        let answer = self.ask(place).await?;
        self.start(answer, row).await?;
        Ok(true)
    }

    /// The answer's text, asked for in a place among the workspace's runs and on its account.
    async fn ask(&self, place: Place) -> Result<String, Failure> {
        let tests = self.executions.test_runs();
        let runtime = tests.modules.runtime().await?.clone();
        let rights = &self.active.manifest().rights;
        let cursor = self.known.cursor.as_deref().filter(|_| !self.is_first());
        let fetched = runtime
            .fetch(Fetch {
                request: self.poll.request(cursor),
                connections: tests.services.connections(self.active.tenant),
                granted: (rights.connections.clone(), rights.hosts.clone()),
                time_max: TIME_MAX + GRACE,
                answer_bytes_max: tests.limits.effect_result_bytes_max,
            })
            .await;
        drop(place);
        tests
            .meter
            .count_request(self.active.tenant, fetched.egress_bytes)
            .await;
        text_of(fetched.result?)
    }

    /// Whether nothing is known of this list.
    fn is_first(&self) -> bool {
        self.known.source != self.source
    }

    /// Starts a run for each thing that is new, unless it is lost meanwhile.
    async fn start(&self, answer: String, row: &mut PollRow) -> Result<(), Failure> {
        let is_first = self.is_first();
        let seen = match is_first {
            true => Seen::default(),
            false => Seen::of_stored(&row.seen),
        };
        let picked = picked::pick(self.poll.clone(), answer, seen.clone(), self.now()).await?;
        let Picked { keys, new, cursor } =
            picked.map_err(|problem| unreadable(format!("The answer {problem}.")))?;
        row.last.things = i64::try_from(keys.len()).unwrap_or(i64::MAX);
        let passes_over = is_first && !self.poll.from_beginning;
        let mut accepted = HashSet::new();
        // Whether these were all.
        let mut began = Ok(true);
        if !passes_over {
            for (key, event) in new {
                if self.is_lost() {
                    began = Ok(false);
                    break;
                }
                match self.accept(&key, event).await {
                    Ok(_) => accepted.insert(key),
                    Err(error) => {
                        began = Err(Failure::from(error));
                        break;
                    }
                };
            }
        }
        if !accepted.is_empty() {
            // Whatever fails now, the service has answered.
            row.last.failures = 0;
        }
        let is_seen = |key: &&str| passes_over || seen.has(key) || accepted.contains(*key);
        row.seen = seen
            .with(keys.iter().map(String::as_str).filter(is_seen))
            .stored();
        // What follows a list of which not all is seen would leave out the rest.
        if matches!(began, Ok(true)) {
            let before = row.cursor.take().filter(|_| !is_first);
            row.cursor = cursor.or(before);
        } else if is_first {
            row.cursor = None;
        }
        row.source.clone_from(&self.source);
        began.map(drop)
    }

    /// Under a key of this list: what has the same id in another one is another thing.
    async fn accept(&self, key: &str, event: Box<RawValue>) -> Result<Accepted, ServiceError> {
        let source = self.source.get(..SOURCE_CHARS).unwrap_or_default();
        let run = NewRun {
            deployment: self.active.clone(),
            triggered_by: TriggeredBy::Schedule,
            node_id: Some(self.node.clone()),
            event,
            idempotency: Some(IdempotencyKey::of_endpoint(
                self.known.schedule_id,
                format!("poll:{source}:{key}"),
            )),
            wait: false,
            caller: None,
            id: None,
        };
        self.executions.accept(run).await
    }
}

fn unreadable(message: String) -> Failure {
    Failure {
        code: "PARSE".to_owned(),
        message,
        is_ours: false,
        rest: None,
    }
}

/// The text of an answer that is one.
fn text_of(mut result: Value) -> Result<String, Failure> {
    let failed = |code: String, message: String| Failure {
        code,
        message,
        is_ours: false,
        rest: told_rest(&result),
    };
    match result["status"].as_u64().unwrap_or_default() {
        200..=299 => {}
        status => {
            let message = format!("The service answered {status}.");
            return Err(failed(format!("HTTP_{status}"), message));
        }
    }
    match result["text"].take() {
        // With nothing to tell, some send nothing, such as by status 204.
        Value::String(text) if text.trim().is_empty() => Ok("[]".to_owned()),
        Value::String(text) => Ok(text),
        _ => Err(unreadable("The answer is not text.".to_owned())),
    }
}

/// What the header Retry-After says: seconds, or a date.
fn told_rest(result: &Value) -> Option<Duration> {
    let told = result["headers"]["retry-after"].as_str()?.trim();
    if let Ok(seconds) = told.parse::<u32>() {
        return Some(Duration::from_secs(seconds.into()));
    }
    let date = DateTime::parse_from_rfc2822(told).ok()?.timestamp_millis();
    let by = result["headers"]["date"].as_str()?;
    let now = DateTime::parse_from_rfc2822(by.trim()).ok()?.timestamp_millis();
    u64::try_from(date.saturating_sub(now))
        .ok()
        .map(Duration::from_millis)
}

/// How long it rests after so many failures: twice as long each time, and never exactly as long as others that failed with it.
fn rest_after(failures: i64, told: Option<Duration>) -> Duration {
    let doublings = u32::try_from(failures.saturating_sub(1)).unwrap_or(0).min(16);
    let rest = REST_MIN.saturating_mul(1 << doublings).min(REST_MAX);
    let rest = rest.mul_f64(entropy::random_in(0.75..1.25));
    rest.max(told.unwrap_or_default().min(REST_TOLD_MAX))
}
