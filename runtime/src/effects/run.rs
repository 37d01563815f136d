//! The effects of one run: those in progress, those that have ended, those that ended in an earlier execution, and
//! those that are parked.

use super::effect::{AnyEffect, Reveals};
use super::handles::Egress;
use super::large::{room, values_if_many};
use super::prepared::Prepared;
use super::progress::{EffectResult, OnWait, Park, Progress, result_to_json, weight};
use super::reopened::Reopened;
use super::requests::revealed;
use super::result_place::{ResultPlace, Untaken};
use crate::aside::{SMALL_BYTES_MAX, aside_if_large};
use crate::egress::names_for;
use crate::journal::{Entry, Record};
use crate::replay::{Replay, ReplayedEffect};
use crate::secrets::Vault;
use heddle_contract::abi::code;
use heddle_sandbox::{EffectCode, EffectError};
use heddle_sandbox::{REQUEST_BYTES_MAX, Stop, Waited};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::task::{JoinError, JoinSet};
use tracing::field::Empty;
use tracing::{Instrument, Span};

/// Target of the `tracing` span of each effect, a child of the span in which its run was started.
pub const TRACE_TARGET: &str = "heddle::trace";

/// Effects of one run that hold a request or an untaken result at the same time; others wait.
const IN_FLIGHT_MAX: usize = 32;

/// Entries that are held back; with more they are recorded although nothing of them needs it: neither their number in memory nor
/// that of the rows that one transaction writes grows with the run.
const UNSAVED_MAX: usize = 1_000;

/// What the journal has of an effect that is done again, and has not failed.
const AGAIN: &str = r#"{"again":true}"#;

/// Entries that need not be safe before what follows them is.
pub type Unsaved = Arc<Mutex<Vec<Entry>>>;

/// The effects of one run. Dropping it cancels those that are at work.
pub struct RunEffects {
    io: Handle,
    /// Made for the first effect, as is all that only effects share: most runs have none.
    tasks: Option<JoinSet<Worked>>,
    at_work: HashMap<tokio::task::Id, Started>,
    /// How many of these do more than wait.
    busy: usize,
    on_wait: Option<OnWait>,
    in_flight: Option<Arc<Semaphore>>,
    /// Ended and recorded, in the order in which the run sees them.
    ready: VecDeque<(Started, Done)>,
    /// Ended in a former execution, by their place among those that had.
    known: BTreeMap<u64, (Started, Known)>,
    /// Places and room of those whose results the sandbox has not taken yet.
    untaken: HashMap<u32, Untaken>,
    /// Bytes of requests that wait or are at work.
    request_bytes: Option<Arc<AtomicUsize>>,
    started: u32,
    /// How many of them the run has seen the end of.
    seen: u32,
    /// Those that were not known, and the bytes of the requests among them that are sent.
    begun: (u32, u64),
    /// Bytes of files among them.
    egress: OnceLock<Egress>,
    record: Option<Record>,
    unsaved: Unsaved,
    reopened: Reopened,
    /// Of a replay, whose effects never begin.
    replay: Option<Replay>,
    /// The run's.
    span: Span,
    /// How many have parked, and when the first of them is to be started again.
    parked: usize,
    wake_at_ms: Option<i64>,
    /// Node and key of the one that the run has seen last.
    last_seen: Option<(u32, String)>,
}

/// An effect that was started.
struct Started {
    id: u32,
    node: u32,
    key: String,
    is_repeatable: bool,
    only_waits: bool,
    is_done_again: bool,
}

/// What a former execution had of an effect.
enum Known {
    Result(Done),
    /// Its place, and what is done once more when its turn comes: in the order of then, so that only one result is in memory,
    /// and none waits for a place that another holds.
    Place(Box<(Prepared, Span)>),
}

/// Counts a request for as long as it is held.
struct Held {
    total: Arc<AtomicUsize>,
    bytes: usize,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.total.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// A result, and the place in the queue that it holds until the sandbox has taken it.
struct Done {
    json: Vec<u8>,
    permit: Option<Untaken>,
}

impl Done {
    fn of(json: Vec<u8>) -> Self {
        Done { json, permit: None }
    }

    fn failed(error: EffectError) -> Self {
        Done::of(to_json(Err(error)))
    }

    fn is_ok(&self) -> bool {
        self.json.starts_with(br#"{"ok":"#)
    }
}

impl Known {
    /// `has_outcome`: the journal has what came of what the effect's node was writing.
    fn of(json: String, prepared: Option<Prepared>, span: Span, has_outcome: bool) -> Self {
        let is_again = json == AGAIN;
        match prepared {
            Some(Prepared::Work { effect, request, .. })
                if is_again && has_outcome && effect.only_writes(&request) =>
            {
                Known::Result(Done::of(to_json(Ok(Value::Null))))
            }
            Some(Prepared::Work {
                effect,
                request,
                mut handles,
            }) if is_again => {
                handles.sinks = handles.sinks.again();
                let prepared = Prepared::Work {
                    effect,
                    request,
                    handles,
                };
                Known::Place(Box::new((prepared, span)))
            }
            Some(Prepared::Work {
                effect,
                request,
                handles,
            }) => {
                effect.is_known(&request, &handles);
                if effect.may_reveal() {
                    handles.vault.note_revealed(&request);
                }
                Known::Result(Done::of(json.into_bytes()))
            }
            Some(refused) if is_again => Known::Place(Box::new((refused, span))),
            _ => Known::Result(Done::of(json.into_bytes())),
        }
    }

    async fn done(self, io: &Handle) -> Done {
        let (prepared, span) = match self {
            Known::Result(done) => return done,
            Known::Place(again) => *again,
        };
        let mut tasks = JoinSet::new();
        let work = perform(prepared, None);
        tasks.spawn_on(work.instrument(span), io);
        let ended = tasks.join_next().await;
        match ended.map(|ended| ended.unwrap_or_else(|error| panicked(&error))) {
            Some(Worked::Done(done)) => done,
            Some(Worked::Parked(_)) | None => Done::failed(interrupted()),
        }
    }
}

/// For what panicked.
pub(super) fn interrupted() -> EffectError {
    EffectError::new(EffectCode::Internal, "The effect was interrupted.")
}

/// How the work of an effect ended.
enum Worked {
    Done(Done),
    Parked(Park),
}

impl RunEffects {
    pub fn new(io: Handle, record: Option<Record>) -> Self {
        let reopened = Reopened::of(record.as_ref());
        RunEffects {
            io,
            tasks: None,
            at_work: HashMap::new(),
            busy: 0,
            on_wait: None,
            in_flight: None,
            ready: VecDeque::new(),
            known: BTreeMap::new(),
            untaken: HashMap::new(),
            request_bytes: None,
            started: 0,
            seen: 0,
            begun: (0, 0),
            egress: OnceLock::new(),
            record,
            unsaved: Unsaved::default(),
            reopened,
            replay: None,
            span: Span::current(),
            parked: 0,
            wake_at_ms: None,
            last_seen: None,
        }
    }

    /// Sets what is told when the run does nothing but wait.
    pub fn telling(self, on_wait: Option<OnWait>) -> Self {
        RunEffects { on_wait, ..self }
    }

    /// Those of a run that is replayed.
    pub fn replaying(io: Handle, replay: Replay) -> Self {
        RunEffects {
            replay: Some(replay),
            ..RunEffects::new(io, None)
        }
    }

    /// Whether all effects are answered from what is recorded of them.
    pub fn is_replay(&self) -> bool {
        self.replay.is_some()
    }

    /// What is not in the journal at the run's end.
    pub fn unsaved(&self) -> Unsaved {
        self.unsaved.clone()
    }

    fn pending(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.unsaved.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A span for the effect that starts next.
    pub fn span(&self, kind: &str, node_id: impl FnOnce() -> String) -> Span {
        tracing::info_span!(
            target: TRACE_TARGET, parent: &self.span, "effect",
            otel.name = kind, otel.kind = "client", otel.status_code = Empty,
            heddle.node_id = node_id(), error.type = Empty,
        )
    }

    /// How many have been started.
    pub fn started(&self) -> u32 {
        self.started
    }

    /// How many of these the run has not seen the end of.
    pub fn under_way(&self) -> u32 {
        self.started.saturating_sub(self.seen)
    }

    /// How many of them no former execution had recorded, and the bytes of those requests that leave for another host.
    pub fn begun(&self) -> (u32, u64) {
        let (begun, bytes) = self.begun;
        let of_files = self.egress.get().map_or(0, Egress::bytes);
        (begun, bytes.saturating_add(of_files))
    }

    /// Counts files that leave.
    pub fn egress(&self) -> Egress {
        self.egress.get_or_init(Egress::default).clone()
    }

    /// What former executions have recorded, if there is a journal.
    pub fn record(&self) -> Option<&Record> {
        self.record.as_ref()
    }

    /// When the first of those that have parked wants to be started again.
    pub fn wake_at_ms(&self) -> Option<i64> {
        self.wake_at_ms
    }

    /// Node and key of the effect whose result the run has seen last.
    pub fn last_seen(&self) -> Option<(u32, &str)> {
        self.last_seen.as_ref().map(|(node, key)| (*node, key.as_str()))
    }

    /// Starts an effect on the I/O threads, unless it had ended before.
    pub fn start(&mut self, node: u32, key: String, prepared: Prepared, span: Span) -> Result<(), Stop> {
        let id = self.started;
        self.started = self.started.saturating_add(1);
        let (is_repeatable, only_waits, is_done_again) = match &prepared {
            Prepared::Work { effect, .. } => (
                effect.is_repeatable(),
                effect.only_waits(),
                effect.is_done_again(),
            ),
            Prepared::Refused(_) => (true, false, false),
        };
        let known = self.record.as_mut().and_then(|record| record.take(&key));
        let started = Started {
            id,
            node,
            key,
            is_repeatable,
            only_waits,
            is_done_again,
        };
        self.reopened.hide(&self.io, &prepared, known.is_some());
        if let Some((number, json)) = known {
            let record = self.record.as_ref();
            let has_outcome = record.is_some_and(|record| record.has_later_outcome(&started.key));
            let known = Known::of(json, Some(prepared), span, has_outcome);
            self.known.insert(number, (started, known));
            return Ok(());
        }
        let bytes = match &prepared {
            Prepared::Work { request, .. } => request.len(),
            Prepared::Refused(_) => 0,
        };
        if let Prepared::Work { effect, request, .. } = &prepared {
            self.begun.0 = self.begun.0.saturating_add(1);
            if effect.reveals() == Reveals::ToHost {
                self.begun.1 = self.begun.1.saturating_add(request.len() as u64);
            }
        }
        let request_bytes = self.request_bytes.get_or_insert_default().clone();
        let before = request_bytes.fetch_add(bytes, Ordering::Relaxed);
        let held = Held {
            total: request_bytes,
            bytes,
        };
        if before.saturating_add(bytes) > REQUEST_BYTES_MAX {
            return Err(Stop::too_many_request_bytes());
        }
        let new = || Arc::new(Semaphore::new(IN_FLIGHT_MAX));
        let in_flight = self.in_flight.get_or_insert_with(new).clone();
        let journal = self.record.as_ref().map(Record::journal);
        let reopening = self.reopened.before_new();
        let work = async move {
            reopening.await;
            if let Some(journal) = journal {
                journal.permission().await;
            }
            let worked = perform(prepared, Some(in_flight)).await;
            drop(held);
            worked
        };
        self.busy += usize::from(!only_waits);
        let tasks = self.tasks.get_or_insert_default();
        let task = tasks.spawn_on(work.instrument(span), &self.io);
        self.at_work.insert(task.id(), started);
        Ok(())
    }

    /// Answers an effect of a replay, as far as it is known; `prepared`: what is to be done if its result is not kept.
    pub fn answer(&mut self, node: u32, wanted: ReplayedEffect, prepared: Option<Prepared>) {
        let id = self.started;
        self.started = self.started.saturating_add(1);
        let Some(replay) = &mut self.replay else { return };
        let Some(answer) = replay.take(&wanted) else {
            return;
        };
        let has_outcome = replay.has_later_outcome(&answer.key);
        let started = Started {
            id,
            node,
            key: wanted.key,
            is_repeatable: true,
            only_waits: false,
            is_done_again: false,
        };
        let known = Known::of(answer.json, prepared, Span::none(), has_outcome);
        self.known.insert(answer.number, (started, known));
    }

    /// Waits until one has ended and its result is safe, or only parked ones are left. Those that a former execution
    /// had ended come first, in the order of that execution.
    pub async fn wait(&mut self) -> Result<Waited, Stop> {
        loop {
            let first = match self.known.first_entry().map(|entry| entry.remove()) {
                Some((started, known)) => {
                    self.reopened.all().await;
                    Some((started, known.done(&self.io).await))
                }
                None => {
                    self.reopened.caught_up().await;
                    self.ready.pop_front()
                }
            };
            if let Some((started, done)) = first {
                let id = started.id;
                self.seen = self.seen.saturating_add(1);
                self.last_seen = Some((started.node, started.key));
                self.untaken.extend(done.permit.map(|permit| (id, permit)));
                return Ok(Waited::Ended(id, done.json));
            }
            if let Some(replay) = &self.replay {
                return Err(replay.stop());
            }
            let on_wait = self
                .on_wait
                .clone()
                .filter(|_| self.busy == 0 && self.tasks.as_ref().is_some_and(|tasks| !tasks.is_empty()));
            if let Some(on_wait) = &on_wait {
                on_wait.report(true);
            }
            let ended = match &mut self.tasks {
                Some(tasks) => tasks.join_next_with_id().await,
                None => None,
            };
            if let Some(on_wait) = &on_wait {
                on_wait.report(false);
            }
            let Some(ended) = ended else {
                if self.parked == 0 {
                    return Err(Stop::broken_guest(
                        "The run waited for an effect, but none was started",
                    ));
                }
                let is_pending = !self.pending().is_empty();
                if is_pending {
                    self.save(Vec::new(), false).await?;
                }
                return Ok(Waited::Parked);
            };
            let mut group = vec![ended];
            while let Some(ended) = self.tasks.as_mut().and_then(JoinSet::try_join_next_with_id) {
                group.push(ended);
            }
            self.keep(group).await?;
        }
    }

    /// Records effects that have ended together.
    async fn keep(&mut self, group: Vec<Result<(tokio::task::Id, Worked), JoinError>>) -> Result<(), Stop> {
        let mut entries = Vec::new();
        let mut is_repeatable = true;
        for ended in group {
            let (task, worked) = ended.unwrap_or_else(|error| (error.id(), panicked(&error)));
            let Some(started) = self.at_work.remove(&task) else {
                return Err(Stop::broken_guest("An effect without an id ended"));
            };
            self.busy = self.busy.saturating_sub(usize::from(!started.only_waits));
            if let Some(record) = &mut self.record {
                entries.push(match &worked {
                    Worked::Parked(park) => record.parks(started.key.clone(), &park.state)?,
                    Worked::Done(done) if started.is_done_again && done.is_ok() => {
                        record.ended(started.key.clone(), AGAIN.as_bytes())?
                    }
                    Worked::Done(done) => record.ended(started.key.clone(), &done.json)?,
                });
            }
            match worked {
                Worked::Parked(park) => {
                    is_repeatable = false;
                    self.parked += 1;
                    self.wake_at_ms = match (self.wake_at_ms, park.wake_at_ms) {
                        (Some(one), Some(other)) => Some(one.min(other)),
                        (one, other) => one.or(other),
                    };
                }
                Worked::Done(done) => {
                    is_repeatable &= started.is_repeatable;
                    self.ready.push_back((started, done));
                }
            }
        }
        self.save(entries, is_repeatable).await
    }

    /// Hands entries to the journal and waits for it, unless nothing of them could be done twice: then they go with the
    /// next ones that could, if there are any, or once there are many.
    async fn save(&mut self, entries: Vec<Entry>, is_repeatable: bool) -> Result<(), Stop> {
        let held = {
            let mut pending = self.pending();
            pending.extend(entries);
            pending.len()
        };
        let is_due = !is_repeatable || held >= UNSAVED_MAX;
        let Some(record) = self.record.as_ref().filter(|_| is_due) else {
            return Ok(());
        };
        let pending = std::mem::take(&mut *self.pending());
        let recorded = record.journal().record(pending);
        recorded.await.map_err(|reason| {
            Stop::new(
                code::INTERNAL,
                format!("The result of an effect could not be stored ({reason})"),
                "Try again later.",
            )
        })
    }

    /// The sandbox has taken this one's result.
    pub fn taken(&mut self, id: u32) {
        self.untaken.remove(&id);
    }
}

fn panicked(error: &JoinError) -> Worked {
    tracing::error!(%error, "An effect panicked");
    let failed = EffectError::new(
        EffectCode::Internal,
        "The effect failed because of a bug in heddle.",
    );
    Worked::Done(Done::failed(failed))
}

/// `in_flight`: where its result takes a place; `None`: its run waits for this one only.
async fn perform(prepared: Prepared, in_flight: Option<Arc<Semaphore>>) -> Worked {
    let (effect, request, mut handles) = match prepared {
        Prepared::Work {
            effect,
            request,
            handles,
        } => (effect, request, handles),
        Prepared::Refused(error) => {
            note_failure(&error);
            return Worked::Done(Done::failed(error));
        }
    };
    let vault = handles.vault.clone();
    let owner = handles.connections.owner();
    let place = ResultPlace::among(in_flight, owner);
    if !effect.only_waits() {
        place.take().await;
    }
    handles.place = Some(place.clone());
    let bytes = request.len();
    let counting = aside_if_large(owner, bytes, move || (values_if_many(&request), request));
    let Some((values, request)) = counting.await else {
        return Worked::Done(Done::failed(interrupted()));
    };
    let room = room(owner, values).await;
    let (reveals, revealing) = (effect.reveals(), vault.clone());
    let reading = aside_if_large(owner, bytes, move || revealed(&request, reveals, &revealing));
    let result = match reading.await.unwrap_or_else(|| Err(interrupted())) {
        Ok(request) => {
            // What only waits, for hours perhaps, keeps no values meanwhile.
            let room = room.filter(|_| !effect.only_waits());
            let work = names_for(owner, effect.start(request, &handles));
            drop(handles);
            let result = work.await;
            drop(room);
            result
        }
        Err(error) => Err(error),
    };
    let result = match result {
        Ok(Progress::Parked(park)) => return Worked::Parked(park),
        Ok(Progress::Done(value)) => Ok(value),
        Err(error) => {
            note_failure(&error);
            Err(error)
        }
    };
    let spelled = vault.spelling_bytes(result.as_ref().err().map(|error| error.message.as_str()));
    let bytes = result.as_ref().map_or(0, |value| weight(value, SMALL_BYTES_MAX)) + spelled;
    let written = aside_if_large(owner, bytes, move || to_json(masked(&*effect, result, &vault))).await;
    let json = written.unwrap_or_else(|| to_json(Err(interrupted())));
    let permit = place.given(json.len());
    Worked::Done(Done { json, permit })
}

/// A result without the secrets that the run has used.
fn masked(effect: &dyn AnyEffect, result: EffectResult, vault: &Vault) -> EffectResult {
    result
        .map(|value| effect.masked(value, vault))
        .map_err(|error| EffectError {
            message: vault.mask_message(&error.message).into_owned(),
            ..error
        })
}

/// Codes only: messages may hold what the service said.
fn note_failure(error: &EffectError) {
    let span = Span::current();
    span.record("error.type", error.code.as_str());
    span.record("otel.status_code", "ERROR");
}

fn to_json(result: EffectResult) -> Vec<u8> {
    result_to_json(result).to_string().into_bytes()
}
