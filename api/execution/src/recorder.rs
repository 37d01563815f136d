//! Recording: conclusions of attempts are stored in groups, small ones before others' large ones, and only then does anybody hear
//! of them. While the database is away they are kept and tried again, so that no end is lost while the server lives. Nobody hears
//! of what the database refuses.

use crate::attempt::{Conclusion, Next, Signal};
use crate::call_result;
use crate::dispatcher::Dispatcher;
use crate::end_notifier::EndNotifier;
use crate::kept_journals::JournalPolicy;
use crate::live::Ended;
use crate::record;
use crate::retry::retry_while_unavailable;
use crate::run::Run;
use crate::run_error::internal;
use crate::run_metrics::Figures;
use crate::side_task::SideTask;
use heddle_contract::plan::found_by;
use heddle_model::clock::{Clock, Timestamp};
use heddle_model::error::chain;
use heddle_model::ids::RunId;
use heddle_model::status::{Phase, RunStatus};
use heddle_runtime::RunError;
use heddle_store::large_texts::bytes_in_row;
use heddle_store::notices::{self, Notice};
use heddle_store::panics::unless_it_panics;
use heddle_store::runs::journal::{EntryRow, Payload};
use heddle_store::runs::{self, ResultRow, journal, replays, responses};
use heddle_store::turns::Turns;
use heddle_store::{Db, Load, Store, StoreError};
use metrics::counter;
use serde_json::value::RawValue;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::{mpsc, oneshot};

/// Conclusions in one statement.
const GROUP_MAX: usize = 256;
/// Conclusions that wait for their turn to be stored; more hold their places among the executing.
const WAITING_MAX: usize = 1_024;
/// Conclusions that wait to be looked at.
const SENT_MAX: usize = 64;
/// Bytes of entries in one statement, unless a single one has more.
const STATEMENT_BYTES_MAX: usize = 4 << 20;

#[expect(
    clippy::large_enum_variant,
    reason = "a box would be an allocation for each run"
)]
enum Message {
    Record(Conclusion),
    /// Its sender hears when everything before it is stored.
    Flush(oneshot::Sender<()>),
}

/// What one conclusion changes in the database.
#[derive(Clone)]
struct Change {
    row: Arc<ResultRow>,
    /// Results of effects that the journal lacks.
    unsaved: Arc<[EntryRow]>,
    /// What becomes of the run's journal.
    journal: JournalEnd,
    /// A node's execution that is to be done again.
    forget: Option<String>,
    /// What the run that waits for this one is sent.
    signal: Option<Signal>,
    /// How the run parks, if it does.
    parking: Option<ParkingMark>,
    /// A server that accepted the run for another one may wait for its end, or for its response.
    notice: Option<RemoteNotice>,
}

/// What becomes of a journal.
#[derive(Clone, Copy, PartialEq, Eq)]
enum JournalEnd {
    /// There is none, or the run goes on.
    None,
    /// It is kept, so that the run can be replayed.
    Kept,
    Removed,
}

/// Shows whether a parking is stored already.
#[derive(Clone, Copy)]
struct ParkingMark {
    /// What the run has used by then; `None`: its last execution has used nothing.
    fuel: Option<i64>,
}

/// For whoever waits at another server.
#[derive(Clone)]
struct RemoteNotice {
    /// What RespondToWebhook gave.
    response: Option<Box<RawValue>>,
    at: Timestamp,
}

impl Change {
    fn of(conclusion: &Conclusion, policy: &JournalPolicy, now: Timestamp) -> Self {
        let mut change = Change {
            row: conclusion.row.clone(),
            unsaved: Arc::default(),
            journal: JournalEnd::None,
            forget: None,
            signal: None,
            parking: None,
            notice: None,
        };
        let run = &conclusion.run;
        match &conclusion.next {
            Next::End(ended) => {
                let keeps = policy.keeps(conclusion.row.status);
                if keeps {
                    change.unsaved = conclusion.unsaved.clone();
                }
                change.journal = match (run.has_history || !change.unsaved.is_empty(), keeps) {
                    (false, _) => JournalEnd::None,
                    (true, true) => JournalEnd::Kept,
                    (true, false) => JournalEnd::Removed,
                };
                change.notice = remote_notice(run, ended.response.as_deref(), now);
                change.signal.clone_from(&conclusion.signal);
            }
            Next::Retry { forget, .. } => change.forget.clone_from(forget),
            Next::Park { response } => {
                let used = conclusion.row.fuel_used;
                let fuel = (used > 0).then(|| run.fuel_before.saturating_add(used));
                change.parking = Some(ParkingMark { fuel });
                if response.is_some() {
                    change.notice = remote_notice(run, response.as_deref(), now);
                }
            }
        }
        change
    }

    /// The change with the run's state only, without anything that the run has made. An end becomes a failure.
    fn without_result(&self) -> Self {
        let row = &self.row;
        let mut bare = ResultRow::running(row.id, row.owner.clone(), row.attempt);
        (bare.status, bare.completed_at, bare.resumes_at, bare.wake_at) =
            (row.status, row.completed_at, row.resumes_at, row.wake_at);
        if bare.status != RunStatus::Running {
            bare.status = RunStatus::Failure;
            bare.error = Some(record::error(&refused()));
        }
        bare.tenant = row.tenant;
        let failed = || Ended::failed(RunStatus::Failure, refused());
        Change {
            signal: self.signal.clone().map(|signal| Signal {
                payload: Payload::new(call_result::signal_payload(row.id, &failed())),
                ..signal
            }),
            notice: self.notice.clone().map(|notice| RemoteNotice {
                response: None,
                ..notice
            }),
            row: Arc::new(bare),
            unsaved: Arc::default(),
            ..self.clone()
        }
    }
}

/// Nobody waits elsewhere for a run that was accepted here.
fn remote_notice(run: &Run, response: Option<&RawValue>, at: Timestamp) -> Option<RemoteNotice> {
    (run.was_taken && run.wait).then(|| RemoteNotice {
        response: response.map(ToOwned::to_owned),
        at,
    })
}

/// Hands conclusions to the task that stores them. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Recorder(mpsc::Sender<Message>);

impl Recorder {
    /// Starts that task.
    pub fn start(
        (store, clock): (Store, Clock),
        notifier: EndNotifier,
        dispatcher: Arc<Dispatcher>,
        journals: JournalPolicy,
    ) -> Self {
        let (sender, messages) = mpsc::channel(SENT_MAX);
        let recording = Recording {
            store,
            clock,
            notifier,
            dispatcher,
            journals,
        };
        tokio::spawn(Arc::new(recording).work(messages));
        Recorder(sender)
    }

    /// Records a conclusion, in the background. Waits while too many are not stored yet.
    pub async fn record(&self, conclusion: Conclusion) {
        self.send(Message::Record(conclusion)).await;
    }

    /// Waits until everything that was sent before is stored.
    pub async fn flush(&self) {
        let (sender, flushed) = oneshot::channel();
        self.send(Message::Flush(sender)).await;
        // An error means that the recorder is gone, and has said so.
        let _ = flushed.await;
    }

    async fn send(&self, message: Message) {
        if self.0.send(message).await.is_err() {
            tracing::error!("The end of a run was not stored: the recorder is gone");
        }
    }
}

/// The task that stores conclusions.
struct Recording {
    store: Store,
    clock: Clock,
    notifier: EndNotifier,
    dispatcher: Arc<Dispatcher>,
    journals: JournalPolicy,
}

impl Recording {
    async fn work(self: Arc<Self>, mut messages: mpsc::Receiver<Message>) {
        let mut group: Vec<Conclusion> = Vec::with_capacity(GROUP_MAX);
        let mut turns = Turns::new(GROUP_MAX);
        let mut side_task = SideTask::default();
        // SQLite writes a changed row as a whole, PostgreSQL without what is large in it and stays.
        let is_written_anew = !self.store.is_shared();
        let load_of = |it: &Conclusion| (load(it, is_written_anew), it.run.id);
        // Until all that came before it is stored, nothing else is received.
        let mut flush: Option<oneshot::Sender<()>> = None;
        loop {
            if side_task.has_ended() {
                turns.large_is_stored();
            }
            if turns.is_empty()
                && !side_task.is_under_way()
                && let Some(flushed) = flush.take()
            {
                // Nobody listens any more when the stop was given up.
                let _ = flushed.send(());
            }
            if !turns.has_small() && !turns.may_store_large() {
                let may_receive = flush.is_none() && turns.len() < WAITING_MAX;
                tokio::select! {
                    message = messages.recv(), if may_receive => match message {
                        Some(Message::Record(conclusion)) => group.push(conclusion),
                        Some(Message::Flush(flushed)) => {
                            flush = Some(flushed);
                            continue;
                        }
                        None if side_task.is_under_way() => {
                            side_task.ended().await;
                            continue;
                        }
                        None => return,
                    },
                    () = side_task.ended() => continue,
                }
            }
            while flush.is_none() && turns.len() + group.len() < WAITING_MAX {
                match messages.try_recv() {
                    Ok(Message::Record(conclusion)) => group.push(conclusion),
                    Ok(Message::Flush(flushed)) => flush = Some(flushed),
                    Err(_) => break,
                }
            }
            let load = turns.small_group(&mut group, load_of);
            if let Some((load, mut large)) = turns.large_group() {
                let recording = self.clone();
                side_task.begin(async move { recording.store_or_give_up(load, &mut large).await });
            }
            if !group.is_empty() {
                self.store_or_give_up(load, &mut group).await;
            }
        }
    }

    /// Stores a group. If that panics, which is logged, its runs are forgotten: so whoever waits for them hears that, and they are taken
    /// up again as those that got lost.
    async fn store_or_give_up(&self, load: Load, group: &mut Vec<Conclusion>) {
        if unless_it_panics(self.store(load, group)).await.is_none() {
            for conclusion in group.drain(..) {
                self.notifier.live.forget(&conclusion.run);
            }
        }
    }

    async fn store(&self, load: Load, group: &mut Vec<Conclusion>) {
        let now = self.clock.now();
        let changes = group.iter().map(|it| Change::of(it, &self.journals, now));
        let stored = store_group((&self.store, load), &self.clock, changes.collect()).await;
        // Each is taken out on its turn: those that a panic keeps from it are given up.
        group.reverse();
        while let Some(conclusion) = group.pop() {
            let stored = stored.get(&conclusion.run.id).copied();
            self.settle(conclusion, stored);
        }
    }

    fn settle(&self, conclusion: Conclusion, stored: Option<Stored>) {
        let Conclusion {
            mut run, row, next, ..
        } = conclusion;
        if stored.is_some() {
            run.deployment.state.count(&row.used());
        }
        let Some(stored) = stored else {
            let ended = match next {
                Next::End(ended) => Some(ended),
                Next::Retry { .. } | Next::Park { .. } => None,
            };
            return self.notifier.withdrawn(&run, ended);
        };
        match next {
            Next::End(ended) => {
                let ended = match stored {
                    Stored::Whole => ended,
                    Stored::WithoutResult => Ended::failed(RunStatus::Failure, refused()),
                };
                self.notifier.ended(&run, Figures::of(&row), ended);
            }
            Next::Retry { wait, .. } => {
                counter!("heddle_run_retries_total").increment(1);
                if matches!(stored, Stored::Whole) {
                    run.fuel_before = run.fuel_before.saturating_add(row.fuel_used);
                }
                run.attempt = run.attempt.saturating_add(1);
                self.notifier.tail.phase(&run, Phase::Waiting);
                // It has ended once.
                run.is_suspect = false;
                // Waits may be long, and no room in memory is reserved for it.
                run.event.leave();
                self.dispatcher.queue_after(run, wait);
            }
            Next::Park { response } => {
                counter!("heddle_runs_parked_total").increment(1);
                let response = response.filter(|_| matches!(stored, Stored::Whole));
                if !self.notifier.parked(&run, response) {
                    self.dispatcher.end_cancelled(run);
                }
            }
        }
    }
}

/// What a conclusion hands over, roughly: with the run's event, if its row is written anew with all that is in it.
fn load(conclusion: &Conclusion, is_written_anew: bool) -> Load {
    let event = match is_written_anew {
        true => bytes_in_row(conclusion.run.event_bytes),
        false => 0,
    };
    let entries: usize = conclusion.unsaved.iter().map(EntryRow::bytes).sum();
    let told = match &conclusion.next {
        Next::End(ended) => {
            let output = ended.output.as_ref().filter(|_| conclusion.run.parent.is_some());
            let values = [output, ended.response.as_ref()].into_iter().flatten();
            values.map(|value| value.get().len()).sum()
        }
        Next::Park { response } => response.as_ref().map_or(0, |response| response.get().len()),
        Next::Retry { .. } => 0,
    };
    let bytes = conclusion
        .row
        .bytes()
        .saturating_add(event)
        .saturating_add(entries)
        .saturating_add(told);
    Load::of(Some(conclusion.run.deployment.owner), bytes)
}

/// How much of a conclusion is stored.
#[derive(Clone, Copy)]
enum Stored {
    /// All of it.
    Whole,
    /// What state the run is in; what it has made was refused.
    WithoutResult,
}

/// Stores changes, and gives the runs of those that are stored. Those that are missing are not this server's any more, have
/// been ended by somebody else, or were refused altogether.
async fn store_group(
    (store, load): (&Store, Load),
    clock: &Clock,
    changes: Vec<Change>,
) -> HashMap<RunId, Stored> {
    if changes.is_empty() {
        return HashMap::new();
    }
    let changes: Arc<[Change]> = changes.into();
    let runs = changes.len();
    let on_wait = |reason: &str| tracing::warn!(runs, "The ends of runs can't be stored yet: {reason}");
    let is_repeated = AtomicBool::new(false);
    let write_group = || {
        let is_again = is_repeated.swap(true, Ordering::Relaxed);
        write((store, load), clock.now(), changes.clone(), is_again)
    };
    match retry_while_unavailable(write_group, on_wait).await {
        Ok(stored) => return stored.into_iter().map(|run| (run, Stored::Whole)).collect(),
        Err(error) => {
            tracing::error!(runs, error = %chain(&error), "The ends of runs could not be stored together")
        }
    }
    // The database refuses something in one of them: each is stored by itself, so that the others don't suffer.
    let mut stored = HashMap::new();
    for change in changes.iter() {
        let run = change.row.id;
        match write_alone((store, load), clock, change).await {
            Ok(alone) => stored.extend(alone),
            // It is still this server's and not in memory any more, so it is found and taken up again.
            Err(error) => {
                tracing::error!(%run, error = %chain(&error), "The end of a run could not be stored: it is taken up again")
            }
        }
    }
    stored
}

/// Stores one change, without what the run has made if that is refused.
async fn write_alone(
    to: (&Store, Load),
    clock: &Clock,
    change: &Change,
) -> Result<Option<(RunId, Stored)>, StoreError> {
    let on_wait = |reason: &str| tracing::warn!("The end of a run can't be stored yet: {reason}");
    // It was tried with its group.
    let whole = || write(to, clock.now(), [change.clone()].into(), true);
    let whole = retry_while_unavailable(whole, on_wait).await;
    let error = match whole {
        Ok(stored) => return Ok(stored.into_iter().next().map(|run| (run, Stored::Whole))),
        Err(error) => error,
    };
    let run = change.row.id;
    tracing::error!(%run, error = %chain(&error), "The end of a run could not be stored as it is");
    let bare = change.without_result();
    let bare = || write(to, clock.now(), [bare.clone()].into(), true);
    let stored = retry_while_unavailable(bare, on_wait).await?;
    Ok(stored.into_iter().next().map(|run| (run, Stored::WithoutResult)))
}

/// The error of a run whose result the database has refused.
fn refused() -> RunError {
    internal("The run has ended, but the database refused to store its result. The server's log says why.")
}

async fn write(
    (store, load): (&Store, Load),
    now: Timestamp,
    changes: Arc<[Change]>,
    is_again: bool,
) -> Result<HashSet<RunId>, StoreError> {
    store
        .write_sized(load, move |db| {
            Box::pin(async move {
                if !is_again {
                    return write_all(db, now, (load, &*changes)).await;
                }
                let known = stored_before(db, &changes).await?;
                let is_left = |change: &&Change| !known.contains(&change.row.id);
                let left: Vec<Change> = changes.iter().filter(is_left).cloned().collect();
                if left.is_empty() {
                    return Ok(known);
                }
                let stored = write_all(db, now, (load, left.as_slice())).await?;
                Ok(stored.into_iter().chain(known).collect())
            })
        })
        .await
}

/// The runs whose change is stored already, as when the database's answer to it got lost. Stored once more, a parking would park a run
/// that has gone on since, and nobody might wake it; another attempt would count what the run has used twice; and an end can't
/// be stored again, and those who wait for it are to hear of it.
async fn stored_before(db: &mut Db<'_>, changes: &[Change]) -> Result<HashSet<RunId>, StoreError> {
    let mut stored = HashSet::new();
    for change in changes {
        let found = match (change.parking, change.row.status) {
            (Some(mark), _) => runs::parked_before(db, &change.row, mark.fuel).await?,
            (None, RunStatus::Running) => runs::retried_before(db, &change.row).await?,
            (None, _) => runs::ended_before(db, &change.row).await?,
        };
        stored.extend(found);
    }
    Ok(stored)
}

async fn write_all(
    db: &mut Db<'_>,
    now: Timestamp,
    (load, changes): (Load, &[Change]),
) -> Result<HashSet<RunId>, StoreError> {
    // As long as the runs are under way.
    for rows in portions(changes) {
        journal::keep(db, &rows).await?;
    }
    let rows: Vec<&ResultRow> = changes.iter().map(|change| change.row.as_ref()).collect();
    let stored: HashSet<RunId> = runs::record(db, (load, rows.as_slice()), now)
        .await?
        .into_iter()
        .collect();
    let mut changes: Vec<&Change> = changes
        .iter()
        .filter(|change| stored.contains(&change.row.id))
        .collect();
    // In one order, so that those who wake the same runs at the same time don't wait for each other.
    changes.sort_by_key(|change| change.signal.as_ref().map(|signal| signal.parent));
    let of = |end: JournalEnd| -> Vec<RunId> {
        let those = changes.iter().filter(|change| change.journal == end);
        those.map(|change| change.row.id).collect()
    };
    let (kept, removed) = (of(JournalEnd::Kept), of(JournalEnd::Removed));
    if !kept.is_empty() {
        replays::close(db, &kept).await?;
    }
    if !removed.is_empty() {
        journal::clear(db, &removed).await?;
    }
    for change in changes {
        if let Some(execution) = &change.forget {
            journal::forget(db, change.row.id, execution).await?;
            // It may find something else by now.
            if let Some(first) = found_by(execution) {
                journal::forget(db, change.row.id, &first).await?;
            }
        }
        if let Some(signal) = &change.signal {
            journal::signal(db, signal.parent, &signal.key, &signal.payload).await?;
        }
        if let Some(notice) = &change.notice {
            if let Some(response) = &notice.response {
                responses::keep(db, change.row.id, response.get(), notice.at).await?;
            }
            notices::tell(db, Notice::Ended(change.row.id)).await?;
        }
    }
    Ok(stored)
}

/// All entries that are to be stored, in as many statements as their size asks for.
fn portions(changes: &[Change]) -> Vec<Vec<EntryRow>> {
    let mut portions: Vec<Vec<EntryRow>> = Vec::new();
    let mut bytes = usize::MAX;
    for row in changes.iter().flat_map(|change| change.unsaved.iter()) {
        bytes = bytes.saturating_add(row.bytes());
        match portions.last_mut().filter(|_| bytes <= STATEMENT_BYTES_MAX) {
            Some(portion) => portion.push(row.clone()),
            None => {
                bytes = row.bytes();
                portions.push(vec![row.clone()]);
            }
        }
    }
    portions
}
