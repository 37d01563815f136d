//! Accepting: events that come at the same time are stored by one statement, and only then acknowledged. A run that
//! nobody outside can notice may have begun, or ended, by then.

use super::Inner;
use super::active::ActiveDeployment;
use super::early::{self, Early};
use super::lease::Lease;
use super::live::{self, Ended, Live};
use super::queue::{Class, Full, Place, Queue, Reservation};
use super::recorder::{self, Figures};
use super::recover;
use super::run_metrics;
use super::worker::Job;
use heddle_model::clock::{Clock, Timestamp};
use heddle_model::error::{Code, ServiceError};
use heddle_model::ids::RunId;
use heddle_model::status::{Phase, TriggeredBy};
use heddle_store::notices::{self, Notice};
use heddle_store::runs::{self, AcceptedRow, KeyRow};
use heddle_store::{Store, StoreError};
use metrics::counter;
use serde_json::value::RawValue;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

/// Acceptances in one statement.
const GROUP_MAX: usize = 256;
/// For how long a key makes no second run.
const KEY_TTL: Duration = Duration::from_secs(24 * 60 * 60);
/// Why nothing is accepted for now.
const LEASELESS: &str = "this server's lease is over and not renewed yet";
/// How long whoever sends an event waits until it is stored. It may be stored later all the same, as when a connection
/// breaks in the midst of a commit.
const ANSWER_MAX: Duration = Duration::from_secs(10);
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
    /// The run.
    pub run_id: RunId,
    end: recover::End,
}

impl Ticket {
    /// Waits for the run's end, which is stored by then. Dropping this stops nothing.
    pub async fn ended(self) -> Result<Arc<Ended>, ServiceError> {
        let ended = live::wait(self.end).await;
        ended.ok_or_else(|| {
            let message = format!(
                "The run {} is accepted, but its end can't be told here: the service stops, or could not store it. The run \
                 goes on; ask for it by its id.",
                self.run_id
            );
            Code::Unavailable.with(message)
        })
    }
}

impl Ticket {
    /// How the run's end is waited for.
    pub(super) fn into_end(self) -> recover::End {
        self.end
    }
}

/// What is to be accepted.
pub(super) struct Request {
    pub deployment: Arc<ActiveDeployment>,
    pub triggered_by: TriggeredBy,
    pub node_id: Option<String>,
    pub event: Box<RawValue>,
    pub key: Option<(String, String)>,
    pub wait: bool,
    /// The run whose CallPattern waits for it, and which of its effects that is.
    pub parent: Option<(RunId, String)>,
    pub depth: u32,
}

struct Waiting {
    /// Until it is on its way to the database.
    row: Option<AcceptedRow>,
    key: Option<(String, String)>,
    job: Job,
    stage: Stage,
    reservation: Option<Reservation>,
    answer: oneshot::Sender<Result<Accepted, ServiceError>>,
}

/// How far a run has come before it is stored.
enum Stage {
    /// It executes afterwards.
    Due,
    /// It has begun, and is told its owner.
    Begun(oneshot::Sender<Arc<str>>),
    /// It has ended.
    Ended(Ended, Figures),
}

/// Hands events to the task that stores them. What waits for it is bounded by the queue's reservations. Whoever holds
/// the lock sends next, so that runs have ids in the order in which they are accepted and executed.
#[derive(Debug)]
pub(super) struct Acceptor(Mutex<mpsc::UnboundedSender<Waiting>>);

impl Acceptor {
    pub fn start(store: Store, clock: Clock, lease: Arc<Lease>, executions: Weak<Inner>) -> Self {
        let (sender, waiting) = mpsc::unbounded_channel();
        tokio::spawn(work(store, clock, lease, executions, waiting));
        Acceptor(Mutex::new(sender))
    }

    fn next(&self) -> MutexGuard<'_, mpsc::UnboundedSender<Waiting>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn send_next(&self, make: impl FnOnce(RunId) -> Waiting) -> Result<(), ServiceError> {
        let sender = self.next();
        send_to(&sender, make(RunId::new()))
    }

    /// A place for a run that may begin before it is stored, and its id: in the same order as those that may not.
    fn pass(&self, queue: &Queue, request: &Request) -> Option<(RunId, Place, Reservation)> {
        let _next = self.next();
        let bytes = request.event.get().len();
        let (place, reservation) = queue.pass(request.deployment.share(), Class::of(request.wait), bytes)?;
        Some((RunId::new(), place, reservation))
    }
}

fn send_to(sender: &mpsc::UnboundedSender<Waiting>, waiting: Waiting) -> Result<(), ServiceError> {
    // Closed: the task that stores events is gone.
    sender.send(waiting).map_err(|_| StoreError::Closed.into())
}

/// Begins the run, or reserves room for it, and waits until the event is stored.
pub(super) async fn accept(inner: &Arc<Inner>, request: Request) -> Result<Accepted, ServiceError> {
    let stored = tokio::time::timeout(ANSWER_MAX, begin_or_send(inner, request)).await;
    let overdue = || StoreError::Unavailable("it has not stored an event in time".to_owned());
    stored.unwrap_or_else(|_| Err(overdue().into()))
}

async fn begin_or_send(inner: &Arc<Inner>, request: Request) -> Result<Accepted, ServiceError> {
    if inner.may_begin_early(&request)
        && let Some(passed) = inner.acceptor.pass(&inner.queue, &request)
    {
        return begin(inner, request, passed).await;
    }
    let reservation = reserve(inner, &request).map_err(|Full| {
        counter!("heddle_runs_refused_total").increment(1);
        Code::Unavailable
            .with("Too many runs are waiting: try again shortly.")
            .retry_after_s(RETRY_AFTER_S)
    })?;
    send(inner, request, reservation).await
}

/// Room where the run is going to wait: in this server's queue, or among all that wait to be claimed.
fn reserve(inner: &Inner, request: &Request) -> Result<Option<Reservation>, Full> {
    let share = request.deployment.share();
    if !inner.lease.executes() {
        return inner.backlog.add(share.owner).map(|()| None);
    }
    let bytes = request.event.get().len();
    inner.queue.reserve(share, bytes).map(Some)
}

/// The same where waiting for room could be waiting for oneself.
pub(super) async fn accept_without_room(inner: &Inner, request: Request) -> Result<Accepted, ServiceError> {
    send(inner, request, None).await
}

async fn send(
    inner: &Inner,
    mut request: Request,
    reservation: Option<Reservation>,
) -> Result<Accepted, ServiceError> {
    check_lease(inner).await?;
    let (answer, answered) = oneshot::channel();
    let key = request.key.take();
    let is_held_here = reservation.as_ref().is_some_and(|it| !it.is_stored());
    inner.acceptor.send_next(|id| {
        let mut job = job(inner, id, request);
        if !inner.lease.executes() && job.wait {
            // As of one that has parked, only what is told of its end will be here: maybe before this server knows that
            // it is stored.
            job.live.set_parked(true);
            inner.live().insert(id, job.live.clone());
        }
        let row = row(&job, key.clone());
        if !is_held_here {
            job.leave_event();
        }
        Waiting {
            row: Some(row),
            key,
            job,
            stage: Stage::Due,
            reservation,
            answer,
        }
    })?;
    stored(answered).await
}

/// Begins the run, then waits until it is stored.
async fn begin(
    inner: &Arc<Inner>,
    mut request: Request,
    (id, place, reservation): (RunId, Place, Reservation),
) -> Result<Accepted, ServiceError> {
    check_lease(inner).await?;
    let key = request.key.take();
    let job = job(inner, id, request);
    let (mut row, told) = (row(&job, key.clone()), job.without_event());
    let stage = match early::begin(inner, job, place).await {
        Early::Begun(stored) => Stage::Begun(stored),
        Early::Ended(end, ended) => {
            let figures = Figures::of(&end);
            row.end = Some(end);
            Stage::Ended(ended, figures)
        }
    };
    let (answer, answered) = oneshot::channel();
    let waiting = Waiting {
        row: Some(row),
        key,
        job: told,
        stage,
        reservation: Some(reservation),
        answer,
    };
    send_to(&inner.acceptor.next(), waiting)?;
    stored(answered).await
}

async fn stored(
    answered: oneshot::Receiver<Result<Accepted, ServiceError>>,
) -> Result<Accepted, ServiceError> {
    answered.await.unwrap_or_else(|_| Err(StoreError::Closed.into()))
}

async fn check_lease(inner: &Inner) -> Result<(), ServiceError> {
    match inner.lease.is_valid().await {
        true => Ok(()),
        false => Err(StoreError::Unavailable(LEASELESS.to_owned()).into()),
    }
}

fn job(inner: &Inner, run: RunId, request: Request) -> Job {
    Job {
        run,
        owner: inner.lease.owner(),
        live: Live::new(request.deployment.id, request.deployment.share()),
        deployment: request.deployment,
        triggered_by: request.triggered_by,
        node_id: request.node_id,
        event: request.event,
        attempt: 1,
        wait: request.wait,
        accepted_at: inner.clock.now(),
        parent: request.parent,
        depth: request.depth,
        has_history: false,
        was_taken: false,
        is_event_left: false,
        is_suspect: false,
    }
}

fn row(job: &Job, key: Option<(String, String)>) -> AcceptedRow {
    AcceptedRow {
        id: job.run,
        deployment_id: job.deployment.id,
        triggered_by: job.triggered_by,
        node_id: job.node_id.clone(),
        event: (job.event.get() != "null").then(|| job.event.get().to_owned()),
        artifact: job.deployment.artifact.clone(),
        version_number: job.deployment.version_number,
        accepted_at: job.accepted_at,
        parent: job.parent.clone(),
        depth: job.depth,
        key,
        awaited: job.wait,
        end: None,
    }
}

async fn work(
    store: Store,
    clock: Clock,
    lease: Arc<Lease>,
    executions: Weak<Inner>,
    mut waiting: mpsc::UnboundedReceiver<Waiting>,
) {
    let mut group = Vec::with_capacity(GROUP_MAX);
    // A key that is there twice in a group would be refused by the statement: the second waits for the next group.
    let mut held_back: Vec<Waiting> = Vec::new();
    loop {
        group.append(&mut held_back);
        if group.is_empty() && waiting.recv_many(&mut group, GROUP_MAX).await == 0 {
            return;
        }
        while group.len() < GROUP_MAX {
            let Ok(next) = waiting.try_recv() else { break };
            group.push(next);
        }
        let mut keys = HashSet::new();
        held_back = group
            .extract_if(.., |it| it.key.clone().is_some_and(|key| !keys.insert(key)))
            .collect();
        let owner = lease.owner();
        let stored = store_group(&store, clock.now(), (&owner, lease.executes()), &mut group).await;
        let Some(inner) = executions.upgrade() else { return };
        if stored.is_err() {
            lease.look();
        }
        for mut it in group.drain(..) {
            it.job.owner = owner.clone();
            settle(&inner, it, &stored);
        }
    }
}

/// Which run each key of the group belongs to.
type Keys = HashMap<(String, String), RunId>;

async fn store_group(
    store: &Store,
    now: Timestamp,
    (server, executes): (&Arc<str>, bool),
    group: &mut [Waiting],
) -> Result<Keys, StoreError> {
    let rows: Vec<AcceptedRow> = group.iter_mut().filter_map(|it| it.row.take()).collect();
    if !store.is_shared() && executes && rows.iter().all(|row| row.key.is_none()) {
        runs::accept_alone(store, server, rows).await?;
        return Ok(Keys::new());
    }
    let server = server.clone();
    store
        .write(move |db| {
            Box::pin(async move {
                let keys: Vec<KeyRow> = rows
                    .iter()
                    .filter_map(|row| {
                        let (scope, key) = row.key.clone()?;
                        Some(KeyRow {
                            scope,
                            key,
                            run_id: row.id,
                            expires_at: now.plus(KEY_TTL).millis(),
                        })
                    })
                    .collect();
                let mut taken = Keys::new();
                if !keys.is_empty() {
                    taken.extend(runs::take_keys(db, keys, now).await?);
                }
                let is_new = |row: &AcceptedRow| holder(&taken, row.key.as_ref(), row.id) == row.id;
                let new: Vec<AcceptedRow> = rows.into_iter().filter(is_new).collect();
                let owner = if executes { &server } else { runs::NOBODY };
                if !runs::accept(db, &server, owner, new).await? {
                    return Err(StoreError::Unavailable(LEASELESS.to_owned()));
                }
                if !executes {
                    notices::tell(db, Notice::Accepted).await?;
                }
                Ok(taken)
            })
        })
        .await
}

/// The run that an event belongs to: its own, unless its key was taken.
fn holder(keys: &Keys, key: Option<&(String, String)>, run: RunId) -> RunId {
    key.and_then(|key| keys.get(key)).copied().unwrap_or(run)
}

fn settle(inner: &Arc<Inner>, it: Waiting, stored: &Result<Keys, StoreError>) {
    let Waiting {
        key,
        job,
        stage,
        reservation,
        answer,
        ..
    } = it;
    let refused = match stored {
        Ok(keys) => {
            let held = holder(keys, key.as_ref(), job.run);
            (held != job.run).then(|| Ok(Accepted::Duplicate(held)))
        }
        Err(error) => Some(Err(error.again().into())),
    };
    // Whoever is gone by now is not told; the run goes on.
    if let Some(refused) = refused {
        inner.live().remove(&job.run);
        return drop(answer.send(refused));
    }
    run_metrics::accepted(job.triggered_by);
    let ticket = Ticket {
        run_id: job.run,
        end: job.live.watch(),
    };
    inner.tail.accepted(&job);
    if !matches!(stage, Stage::Due) {
        inner.tail.phase(&job, Phase::Executing);
    }
    match stage {
        Stage::Due if inner.lease.executes() => {
            inner.live().insert(job.run, job.live.clone());
            job.queue(inner, reservation);
        }
        Stage::Due => {}
        Stage::Begun(told) => {
            inner.live().insert(job.run, job.live.clone());
            // It waits for this.
            drop(told.send(job.owner));
        }
        Stage::Ended(ended, figures) => recorder::tell_end(inner, &job, figures, ended),
    }
    drop(answer.send(Ok(Accepted::New(ticket))));
}
