//! Accepting: events that come at the same time are stored by one statement, and only then acknowledged. A run that
//! nobody outside can notice may have begun, or ended, by then. Small ones don't wait for others' large ones, which are stored
//! beside them.

mod rows;

use self::rows::{Keys, holder};
use crate::answer_stream::{Beginning, Begun};
use crate::attempt::{PlainEnd, Signal};
use crate::backlog::Backlog;
use crate::dispatcher::Dispatcher;
use crate::early::{self, Early};
use crate::end_notifier::EndNotifier;
use crate::held_runs::HeldRuns;
use crate::journal;
use crate::lease::Lease;
use crate::live::{self, End, Ended};
use crate::patience::Patience;
use crate::queue::{Class, Full, Place, Queue, Reservation};
use crate::run::{NewRun, Run};
use crate::run_metrics::{self, Figures};
use crate::side_task::SideTask;
use crate::tenants::TenantState;
use heddle_model::clock::{Clock, Timestamp};
use heddle_model::error::{Code, ServiceError};
use heddle_model::ids::RunId;
use heddle_model::status::Phase;
use heddle_model::workspace_quota::WorkspaceQuota;
use heddle_store::panics::unless_it_panics;
use heddle_store::runs::AcceptedRow;
use heddle_store::turns::Turns;
use heddle_store::{Failed, Load, Store, StoreError};
use metrics::counter;
use std::collections::HashSet;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

/// Acceptances in one statement.
const GROUP_MAX: usize = 256;
/// How long whoever sends an event waits until it is stored. It may be stored later all the same, as when a connection
/// breaks in the midst of a commit.
const ANSWER_MAX: Duration = Duration::from_secs(10);
/// How much longer for each MiB of it: an embedded database stores that in eight pieces, for each of which a slow disk takes a tenth of a
/// second, and rests as long.
const ANSWER_MAX_PER_MIB: Duration = Duration::from_secs(2);
/// After how many seconds the sender of a refused event shall try again.
const RETRY_AFTER_S: u64 = 1;

/// What became of an event.
#[derive(Debug)]
pub enum Accepted {
    /// It has a run of its own.
    New(Ticket),
    /// Its key was taken by this run.
    Duplicate(RunId),
}

/// An accepted run.
#[derive(Debug)]
pub struct Ticket {
    pub run_id: RunId,
    end: End,
    beginning: Option<Beginning>,
}

impl Ticket {
    /// Waits for the run's answer: its end, or what it streams before.
    pub async fn answer(mut self) -> Result<Answer, ServiceError> {
        if let Some(beginning) = self.beginning.take() {
            // What has begun comes first: a run that streams may have ended by now.
            tokio::select! {
                biased;
                Ok(begun) = beginning => return Ok(Answer::Begun(begun, self)),
                _ = live::wait(self.end.clone()) => {}
            }
        }
        self.ended().await.map(Answer::Whole)
    }

    /// Waits for the run's end, which is stored by then. Dropping this stops nothing.
    pub async fn ended(self) -> Result<Arc<Ended>, ServiceError> {
        let Ticket {
            run_id,
            end,
            beginning,
        } = self;
        // Nobody reads what it streams, which would wait for room otherwise.
        drop(beginning);
        let ended = live::wait(end).await;
        ended.ok_or_else(|| {
            let message = format!(
                "The run {run_id} was accepted, but its end can't be reported here: the service is stopping, or \
                    could not store it. The run continues; look it up by its id."
            );
            Code::Unavailable.with(message)
        })
    }

    /// How the run's end is waited for.
    pub(crate) fn into_end(self) -> End {
        self.end
    }
}

/// How a run answers whoever waits for it.
#[derive(Debug)]
pub enum Answer {
    /// By its end.
    Whole(Arc<Ended>),
    /// Piece by piece, until it ends.
    Begun(Begun, Ticket),
}

/// A run that waits to be stored. Boxed on its way: it is large.
struct Waiting {
    /// Until it is on its way to the database.
    row: Option<AcceptedRow>,
    /// The end of the run for another one that waits for it, which finds it in the database if this server is gone by then, or if it has no
    /// place for it yet. Here until it is on its way there.
    signal: Option<Signal>,
    load: Load,
    key: Option<(String, String)>,
    run: Run,
    stage: Stage,
    reservation: Option<Reservation>,
    answer: oneshot::Sender<Result<Accepted, ServiceError>>,
}

/// How far a run has come before it is stored.
enum Stage {
    /// It executes afterwards.
    Due,
    /// It has begun, and waits to hear its owner.
    Begun(oneshot::Sender<Arc<str>>),
    /// It has ended.
    Ended(Ended, Figures),
}

/// What accepting and storing need. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Parts {
    pub store: Store,
    pub clock: Clock,
    pub lease: Arc<Lease>,
    pub queue: Queue,
    pub backlog: Arc<Backlog>,
    pub held: Arc<HeldRuns>,
    pub notifier: EndNotifier,
    pub dispatcher: Arc<Dispatcher>,
}

/// Accepts runs. What waits for the task that stores them is bounded by the queue's reservations.
pub(crate) struct Acceptor {
    /// Whoever holds the lock sends next, so that runs have ids in the order in which they are accepted and executed.
    next: Mutex<mpsc::UnboundedSender<Box<Waiting>>>,
    parts: Parts,
    patience: Patience,
}

impl Acceptor {
    /// Starts the task that stores.
    pub fn start(parts: Parts) -> Arc<Self> {
        let (sender, waiting) = mpsc::unbounded_channel();
        tokio::spawn(store_all(parts.clone(), waiting));
        Arc::new(Acceptor {
            next: Mutex::new(sender),
            parts,
            patience: Patience::new(),
        })
    }

    /// Begins the run, or reserves room for it, and waits until the event is stored.
    pub async fn accept(&self, new: NewRun) -> Result<Accepted, ServiceError> {
        self.admit(&new)?;
        let state = new.deployment.state.clone();
        let answer_max = answer_max(new.event.get().len());
        let stored = {
            // Where it stays: handed to the timer, it would be copied several times, and is two kilobytes.
            let storing = pin!(self.begin_or_send(new));
            tokio::time::timeout(answer_max, storing).await
        };
        let stored = stored.unwrap_or_else(|_| Err(StoreError::Unavailable(Failed::Overdue).into()));
        counted(&state, stored)
    }

    /// Accepts a run as [`accept`](Self::accept) does, but waits for as long as storing it takes: the caller would not know of a run that
    /// is stored after it gave up.
    pub async fn accept_patiently(&self, new: NewRun) -> Result<Accepted, ServiceError> {
        self.admit(&new)?;
        let state = new.deployment.state.clone();
        let storing = pin!(self.begin_or_send(new));
        counted(&state, storing.await)
    }

    /// Accepts a run without waiting for room, for callers whose own work may be what takes it.
    pub async fn accept_without_room(&self, new: NewRun) -> Result<Accepted, ServiceError> {
        self.admit(&new)?;
        let state = new.deployment.state.clone();
        counted(&state, self.send(new, None).await)
    }

    /// Counts the run against its workspace's quotas, as they are in memory.
    fn admit(&self, new: &NewRun) -> Result<(), ServiceError> {
        if !new.deployment.state.is_limited() {
            return Ok(());
        }
        let now = self.parts.clock.now();
        let admitted = new.deployment.state.admit(new.triggered_by, now);
        admitted.map_err(|exceeded| {
            counter!("heddle_runs_over_quota_total", "quota" => exceeded.quota.name()).increment(1);
            ServiceError::exceeded(&exceeded, now)
        })
    }

    async fn begin_or_send(&self, new: NewRun) -> Result<Accepted, ServiceError> {
        if self.may_begin_early(&new)
            && let Some(passed) = self.pass(&new)
        {
            return self.begin(new, passed).await;
        }
        let reservation = self.reserve(&new).map_err(|Full| {
            counter!("heddle_runs_refused_total").increment(1);
            Code::Unavailable
                .with("Too many runs are waiting: try again shortly.")
                .retry_after_s(RETRY_AFTER_S)
        })?;
        self.send(new, reservation).await
    }

    /// Whether a run may begin before it is stored.
    fn may_begin_early(&self, new: &NewRun) -> bool {
        let deployment = &new.deployment;
        self.parts.lease.executes()
            && !deployment.is_struck
            && !journal::is_needed(&deployment.manifest().rights)
            && !self.parts.held.is_paused(deployment.id)
    }

    fn next(&self) -> MutexGuard<'_, mpsc::UnboundedSender<Box<Waiting>>> {
        self.next.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for a run that may begin before it is stored, and its id: in the same order as those that may not.
    fn pass(&self, new: &NewRun) -> Option<(RunId, Place, Reservation)> {
        let _next = self.next();
        let bytes = new.event.get().len();
        let class = Class::of(new.wait);
        let (place, reservation) = self.parts.queue.pass(new.deployment.share(), class, bytes)?;
        Some((new.id.unwrap_or_else(RunId::new), place, reservation))
    }

    /// Room where the run is going to wait: in this server's queue, or among all that wait to be claimed.
    fn reserve(&self, new: &NewRun) -> Result<Option<Reservation>, Full> {
        let share = new.deployment.share();
        if !self.parts.lease.executes() {
            return self.parts.backlog.add(share.owner).map(|()| None);
        }
        let bytes = new.event.get().len();
        self.parts.queue.reserve(share, bytes).map(Some)
    }

    /// Sends the run to be stored and executed afterwards, and waits until it is stored.
    async fn send(&self, new: NewRun, reservation: Option<Reservation>) -> Result<Accepted, ServiceError> {
        self.check_lease().await?;
        let (answer, answered) = oneshot::channel();
        {
            let next = self.next();
            let id = new.id.unwrap_or_else(RunId::new);
            let waiting = self.waiting(id, new, reservation, answer);
            send_to(&next, Box::new(waiting))?;
        }
        stored(answered).await
    }

    fn waiting(
        &self,
        id: RunId,
        mut new: NewRun,
        reservation: Option<Reservation>,
        answer: oneshot::Sender<Result<Accepted, ServiceError>>,
    ) -> Waiting {
        let text = new.text.take();
        let (mut run, key) = Run::accepted(id, self.parts.lease.owner(), self.parts.clock.now(), new);
        if !self.parts.lease.executes() && run.wait {
            // As with a run that has parked, only those who wait for its end have something of it here: maybe before this
            // server hears that it is stored.
            run.live.park();
            self.parts.notifier.live.insert(id, run.live.clone());
        }
        let row = row(&run, text, key.clone());
        if reservation.as_ref().is_none_or(|it| it.is_stored()) {
            run.event.leave();
        }
        Waiting {
            load: load(&row, &run),
            row: Some(row),
            signal: None,
            key,
            run,
            stage: Stage::Due,
            reservation,
            answer,
        }
    }

    /// Begins the run, then waits until it is stored.
    async fn begin(
        &self,
        mut new: NewRun,
        (id, place, reservation): (RunId, Place, Reservation),
    ) -> Result<Accepted, ServiceError> {
        self.check_lease().await?;
        let executor = self.parts.dispatcher.executor().ok_or(StoreError::Closed)?;
        let text = new.text.take();
        let (executing, key) = Run::accepted(id, self.parts.lease.owner(), self.parts.clock.now(), new);
        let (mut row, run) = (row(&executing, text, key.clone()), executing.without_event());
        let by = (&self.parts.clock, &self.patience);
        let (stage, signal) = match early::begin(executor, by, executing, place).await {
            Early::Begun(stored) => (Stage::Begun(stored), None),
            Early::Ended(PlainEnd {
                row: end,
                signal,
                ended,
            }) => {
                let figures = Figures::of(&end);
                run.deployment.state.count(&end.used());
                row.end = Some(end);
                (Stage::Ended(ended, figures), signal)
            }
        };
        let (answer, answered) = oneshot::channel();
        let waiting = Box::new(Waiting {
            load: load(&row, &run),
            row: Some(row),
            signal,
            key,
            run,
            stage,
            reservation: Some(reservation),
            answer,
        });
        send_to(&self.next(), waiting)?;
        stored(answered).await
    }

    async fn check_lease(&self) -> Result<(), ServiceError> {
        match self.parts.lease.is_valid().await {
            true => Ok(()),
            false => Err(StoreError::Unavailable(Failed::NoLease).into()),
        }
    }
}

/// How long whoever sends an event of so many bytes waits until it is stored.
fn answer_max(event_bytes: usize) -> Duration {
    let mib = u32::try_from(event_bytes >> 20).unwrap_or(u32::MAX);
    ANSWER_MAX.saturating_add(ANSWER_MAX_PER_MIB.saturating_mul(mib))
}

/// Takes back the count of a run that was not accepted.
fn counted(state: &TenantState, accepted: Result<Accepted, ServiceError>) -> Result<Accepted, ServiceError> {
    if !matches!(accepted, Ok(Accepted::New(_))) {
        state.remove_one(WorkspaceQuota::RunsPerMonth);
    }
    accepted
}

fn send_to(sender: &mpsc::UnboundedSender<Box<Waiting>>, waiting: Box<Waiting>) -> Result<(), ServiceError> {
    // Closed: the task that stores events is gone.
    sender.send(waiting).map_err(|_| StoreError::Closed.into())
}

async fn stored(
    answered: oneshot::Receiver<Result<Accepted, ServiceError>>,
) -> Result<Accepted, ServiceError> {
    answered.await.unwrap_or_else(|_| Err(StoreError::Closed.into()))
}

/// What is stored of a run before it is acknowledged: a copy, since the run goes on with what it has. Of the event, `text`, if
/// there is one.
fn row(run: &Run, text: Option<Arc<str>>, key: Option<(String, String)>) -> AcceptedRow {
    AcceptedRow {
        id: run.id,
        deployment_id: run.deployment.id,
        tenant: run.deployment.tenant,
        triggered_by: run.triggered_by,
        node_id: run.node_id.clone(),
        event: run.event.text().map(|own| text.unwrap_or_else(|| own.into())),
        artifact: run.deployment.artifact.clone(),
        version_number: run.deployment.version_number,
        accepted_at: run.accepted_at,
        parent: run.parent.clone(),
        depth: run.depth,
        key,
        awaited: run.wait,
        end: None,
    }
}

fn load(row: &AcceptedRow, run: &Run) -> Load {
    Load::of(Some(run.deployment.owner), row.bytes())
}

/// Stores what is accepted, a group of what is small and one of what is large at a time, until the acceptor has gone.
async fn store_all(parts: Parts, mut waiting: mpsc::UnboundedReceiver<Box<Waiting>>) {
    let mut group: Vec<Box<Waiting>> = Vec::with_capacity(GROUP_MAX);
    // What a deployment's senders have sent is stored in that order.
    let mut turns = Turns::new(GROUP_MAX);
    let mut side_task = SideTask::default();
    loop {
        let has_some = !group.is_empty() || turns.has_small() || turns.may_store_large();
        if !has_some && !side_task.more(&mut waiting, &mut group, GROUP_MAX).await {
            return;
        }
        if side_task.has_ended() {
            turns.large_is_stored();
        }
        while let Ok(next) = waiting.try_recv() {
            group.push(next);
        }
        let load = turns.small_group(&mut group, |it| (it.load, it.run.deployment.id));
        let mut held_back = extract_repeated(&mut group);
        if let Some((load, mut large)) = turns.large_group() {
            held_back.append(&mut extract_repeated(&mut large));
            let parts = parts.clone();
            side_task.begin(async move { store(&parts, load, &mut large).await });
        }
        if !group.is_empty() {
            store(&parts, load, &mut group).await;
        }
        group.append(&mut held_back);
    }
}

/// Takes out of a group what has a key that is there already: it would be refused by the statement, and waits for the next group.
#[expect(
    clippy::vec_box,
    reason = "the channel hands over boxes, which are moved several times"
)]
fn extract_repeated(group: &mut Vec<Box<Waiting>>) -> Vec<Box<Waiting>> {
    // Looked at first and taken out after that, so that no key is copied.
    let repeated: Vec<bool> = {
        let mut keys = HashSet::new();
        let given = group.iter().map(|it| it.key.as_ref());
        given
            .map(|key| key.is_some_and(|key| !keys.insert(key)))
            .collect()
    };
    let mut repeated = repeated.into_iter();
    group
        .extract_if(.., |_| repeated.next().unwrap_or_default())
        .collect()
}

/// Stores a group, and informs everybody in it. If that panics, which is logged, those who are left hear that theirs is not stored: what is
/// stored all the same is taken up as runs that got lost.
#[expect(
    clippy::vec_box,
    reason = "the channel hands over boxes, which are moved several times"
)]
async fn store(parts: &Parts, load: Load, group: &mut Vec<Box<Waiting>>) {
    let storing = async {
        let owner = parts.lease.owner();
        let server = (&owner, parts.lease.executes());
        let stored = store_group(
            &parts.store,
            parts.clock.now(),
            server,
            (load, group.as_mut_slice()),
        )
        .await;
        if stored.is_err() {
            parts.lease.look();
        }
        group.reverse();
        while let Some(mut it) = group.pop() {
            it.run.owner = owner.clone();
            settle(parts, it, &stored);
        }
    };
    if unless_it_panics(storing).await.is_none() {
        for it in group.drain(..) {
            parts.notifier.live.forget(&it.run);
        }
    }
}

/// Answers whoever sent the event, and lets the run go on.
fn settle(parts: &Parts, it: Box<Waiting>, stored: &Result<Keys, StoreError>) {
    let Waiting {
        key,
        run,
        stage,
        reservation,
        answer,
        ..
    } = *it;
    let (live, tail) = (&parts.notifier.live, &parts.notifier.tail);
    let refused = match stored {
        Ok(keys) => {
            let holder = holder(keys, key.as_ref(), run.id);
            (holder != run.id).then(|| Ok(Accepted::Duplicate(holder)))
        }
        Err(error) => Some(Err(error.clone().into())),
    };
    // Whoever is gone by now gets no answer; the run goes on.
    if let Some(refused) = refused {
        live.remove(run.id);
        return drop(answer.send(refused));
    }
    run_metrics::accepted(run.triggered_by);
    let (run_id, beginning) = (run.id, run.offer_stream());
    tail.accepted(&run);
    if !matches!(stage, Stage::Due) {
        tail.phase(&run, Phase::Executing);
    }
    let end = match stage {
        Stage::Due if parts.lease.executes() => {
            let end = run.live.watch();
            live.insert(run.id, run.live.clone());
            parts.dispatcher.queue(run, reservation);
            end
        }
        Stage::Due => run.live.watch(),
        Stage::Begun(waits) => {
            let end = run.live.watch();
            live.insert(run.id, run.live.clone());
            // Its task has panicked, which was logged: it is taken up again as one that got lost.
            if waits.send(run.owner.clone()).is_err() {
                live.forget(&run);
            }
            end
        }
        Stage::Ended(ended, figures) => {
            parts.notifier.ended(&run, figures, ended);
            run.live.watch()
        }
    };
    let ticket = Ticket {
        run_id,
        end,
        beginning,
    };
    drop(answer.send(Ok(Accepted::New(ticket))));
}

async fn store_group(
    store: &Store,
    now: Timestamp,
    server: (&Arc<str>, bool),
    (load, group): (Load, &mut [Box<Waiting>]),
) -> Result<Keys, StoreError> {
    let rows: Vec<AcceptedRow> = group.iter_mut().filter_map(|it| it.row.take()).collect();
    let signal_of = |it: &mut Box<Waiting>| Some((it.run.id, it.signal.take()?));
    let signals: Vec<(RunId, Signal)> = group.iter_mut().filter_map(signal_of).collect();
    match load.is_large() && !store.is_shared() {
        true => Box::pin(rows::store_large(store, now, server, (load, rows), signals)).await,
        false => rows::store(store, now, server, (load, rows), signals).await,
    }
}
