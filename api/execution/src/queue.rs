//! Who may execute next. Runs wait in memory in lanes, one for each tenant; owners take turns, and the tenants of each
//! among themselves, each within its own limit, so that no backlog is another's waiting time. A share of all places, and
//! of each lane's, is kept for what somebody waits for. Of everything that can run out an owner gets no more than what is
//! free. Knows nothing of what runs are.

mod limits;
mod shares;
mod state;

use heddle_model::ids::{RunId, UserId};
use heddle_model::tenant::Tenant;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// Runs of one tenant that wait here: with as many there is enough to go on with, however fast these are.
const LONG_LANE: usize = 1_000;

/// What changes.
type State = state::State<Entry>;
type Lane = state::Lane<Entry>;

pub use limits::{Class, Limits, Share};
pub(crate) use shares::fits;

/// What waits for its turn: started with the place that it got, or with none when it is not to execute any more.
pub type Start = Box<dyn FnOnce(Option<Place>) + Send>;

struct Entry {
    run: Option<RunId>,
    start: Start,
    _reservation: Option<Reservation>,
}

/// The queue. Cheap to clone.
#[derive(Clone)]
pub struct Queue(Arc<Shared>);

struct Shared {
    limits: Limits,
    /// How many servers share each tenant's limit.
    servers: AtomicUsize,
    state: Mutex<State>,
    room: Notify,
}

/// What there is room for.
#[derive(Clone, Debug)]
pub struct Room {
    /// Runs in all.
    pub runs: usize,
    pub tenant_runs_max: usize,
    /// Tenants of which enough runs wait here already.
    pub full: Vec<Tenant>,
    /// Owners of which enough runs wait here already.
    pub full_owners: Vec<UserId>,
}

/// The queue is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// Where an event waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Held {
    Here(usize),
    /// In the database only.
    Stored(usize),
}

/// Room in the queue, given back when dropped.
pub struct Reservation {
    queue: Queue,
    share: Share,
    event: Held,
    is_due: bool,
}

impl Reservation {
    /// Whether the event has to wait in the database only.
    pub fn is_stored(&self) -> bool {
        matches!(self.event, Held::Stored(_))
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let mut state = self.queue.state();
        let (here, stored) = match self.event {
            Held::Here(bytes) => (bytes, 0),
            Held::Stored(bytes) => (0, bytes),
        };
        state.waiting = state.waiting.saturating_sub(1);
        state.waiting_bytes = state.waiting_bytes.saturating_sub(here);
        state.stored_bytes = state.stored_bytes.saturating_sub(stored);
        if let Some(owner) = state.owners.get_mut(&self.share.owner) {
            owner.waiting = owner.waiting.saturating_sub(1);
            owner.waiting_bytes = owner.waiting_bytes.saturating_sub(here);
            owner.stored_bytes = owner.stored_bytes.saturating_sub(stored);
        }
        if let Some(lane) = state.lanes.get_mut(&self.share) {
            lane.reserved = lane.reserved.saturating_sub(1);
            lane.due = lane.due.saturating_sub(usize::from(self.is_due));
        }
        state.forget_if_idle(self.share);
        drop(state);
        self.queue.0.room.notify_waiters();
    }
}

/// A place among the executing, given to the next when dropped.
pub struct Place {
    queue: Queue,
    share: Share,
    class: Class,
}

impl Drop for Place {
    fn drop(&mut self) {
        let limits = self.queue.limits();
        let mut state = self.queue.state();
        state.leave(self.share, self.class, &limits);
        let may_start = state.has_turns();
        drop(state);
        if may_start {
            self.queue.start_next();
        }
    }
}

/// For as long as it lives nothing starts.
pub struct Hold(Queue);

impl Drop for Hold {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.holds = state.holds.saturating_sub(1);
        drop(state);
        self.0.start_next();
    }
}

/// A caller that starts runs. If it panics, others can.
struct Starting<'a>(&'a Queue);

impl Drop for Starting<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.state().is_starting = false;
        }
    }
}

impl Queue {
    /// An empty queue.
    pub fn new(limits: Limits) -> Self {
        Queue(Arc::new(Shared {
            limits,
            servers: AtomicUsize::new(1),
            state: Mutex::default(),
            room: Notify::new(),
        }))
    }

    /// From now on so many servers share each tenant's limit, in equal parts of one run at least.
    pub fn share_among(&self, servers: usize) {
        self.0.servers.store(servers.max(1), Ordering::Relaxed);
        self.start_next();
    }

    /// From now on a tenant has a limit of its own, on all servers together; `None`: the usual one.
    pub fn limit_tenant(&self, tenant: Tenant, executing_max: Option<usize>) {
        self.state().limit_tenant(tenant, executing_max);
        self.start_next();
    }

    /// How many of a tenant's runs execute, on all servers if the others execute as many as this one.
    pub fn executing_of(&self, tenant: Tenant) -> usize {
        let servers = self.0.servers.load(Ordering::Relaxed);
        self.state().executing_of(tenant).saturating_mul(servers)
    }

    /// The limits as they are for this server.
    fn limits(&self) -> Limits {
        let servers = self.0.servers.load(Ordering::Relaxed);
        Limits {
            tenant_executing_max: self.0.limits.tenant_executing_max.div_ceil(servers),
            servers,
            ..self.0.limits
        }
    }

    /// What there is room for of runs that other servers have accepted.
    pub fn room(&self) -> Room {
        let limits = self.limits();
        let state = self.state();
        let has_many = |lane: &Lane| lane.reserved >= limits.tenant_executing_max;
        Room {
            runs: limits
                .executing_max
                .saturating_mul(2)
                .saturating_sub(state.waiting + state.executing),
            tenant_runs_max: limits.tenant_executing_max,
            full: state
                .lanes
                .iter()
                .filter(|(_, lane)| has_many(lane))
                .map(|(share, _)| share.tenant)
                .collect(),
            full_owners: state
                .owners
                .iter()
                .filter(|(_, owner)| owner.waiting >= limits.executing_max / 2)
                .map(|(owner, _)| *owner)
                .collect(),
        }
    }

    /// Tenants of whom so many runs wait here that others of theirs may as well wait elsewhere.
    pub fn long_lanes(&self) -> Vec<Tenant> {
        let state = self.state();
        let waiting = |lane: &Lane| lane.entries.iter().map(VecDeque::len).sum::<usize>();
        let lanes = state.lanes.iter();
        lanes
            .filter(|(_, lane)| waiting(lane) >= LONG_LANE)
            .map(|(share, _)| share.tenant)
            .collect()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Room for one more run, unless the queue or the owner's part of it is full. What memory has no room for waits in the
    /// database.
    pub fn reserve(&self, share: Share, bytes: usize) -> Result<Reservation, Full> {
        let mut state = self.state();
        let event = match self.fits_here(&state, share, bytes) {
            true => Held::Here(bytes),
            false => Held::Stored(bytes),
        };
        self.reserve_in(&mut state, share, event, true)
    }

    fn fits_here(&self, state: &State, share: Share, bytes: usize) -> bool {
        let own = state
            .owners
            .get(&share.owner)
            .map_or(0, |owner| owner.waiting_bytes);
        fits(own, state.waiting_bytes, bytes, self.0.limits.waiting_bytes_max)
    }

    fn reserve_in(
        &self,
        state: &mut State,
        share: Share,
        event: Held,
        is_due: bool,
    ) -> Result<Reservation, Full> {
        let limits = &self.0.limits;
        let (waiting, stored) = state
            .owners
            .get(&share.owner)
            .map_or((0, 0), |owner| (owner.waiting, owner.stored_bytes));
        let (here_more, stored_more) = match event {
            Held::Here(bytes) => (bytes, 0),
            Held::Stored(bytes) => (0, bytes),
        };
        let is_full = state.closed
            || state.stopped
            || !fits(waiting, state.waiting, 1, limits.waiting_max)
            || (stored_more > 0 && !fits(stored, state.stored_bytes, stored_more, limits.stored_bytes_max));
        if is_full {
            return Err(Full);
        }
        state.waiting += 1;
        state.waiting_bytes += here_more;
        state.stored_bytes += stored_more;
        let lane = state.lane(share);
        lane.reserved += 1;
        lane.due += usize::from(is_due);
        if let Some(owner) = state.owners.get_mut(&share.owner) {
            owner.waiting += 1;
            owner.waiting_bytes += here_more;
            owner.stored_bytes += stored_more;
        }
        Ok(Reservation {
            queue: self.clone(),
            share,
            event,
            is_due,
        })
    }

    /// A place for a run that passes by the queue, with room to keep it afterwards: only if there is a place for all
    /// of the tenant's runs that came before it as well, so that it overtakes none.
    pub fn pass(&self, share: Share, class: Class, bytes: usize) -> Option<(Place, Reservation)> {
        let limits = self.limits();
        let mut state = self.state();
        if !state.may_pass(share, class, &limits) || !self.fits_here(&state, share, bytes) {
            return None;
        }
        let reservation = self
            .reserve_in(&mut state, share, Held::Here(bytes), false)
            .ok()?;
        state.enter(share, class);
        let queue = self.clone();
        Some((Place { queue, share, class }, reservation))
    }

    /// A place for a run that is tried while nothing else starts.
    pub fn admit(&self, share: Share, class: Class) -> Place {
        self.state().enter(share, class);
        let queue = self.clone();
        Place { queue, share, class }
    }

    /// From now on nothing starts, until what is given is dropped.
    pub fn hold(&self) -> Hold {
        self.state().holds += 1;
        Hold(self.clone())
    }

    /// Waits for room rather than fail: for runs that were accepted before.
    pub async fn reserve_patiently(&self, share: Share, bytes: usize) -> Reservation {
        loop {
            let room = self.0.room.notified();
            tokio::pin!(room);
            room.as_mut().enable();
            match self.reserve(share, bytes) {
                Ok(reservation) => return reservation,
                Err(Full) => room.await,
            }
        }
    }

    /// Queues a run, or something else when `run` is `None`, and starts it if there is a free place.
    pub fn push(
        &self,
        share: Share,
        class: Class,
        run: Option<RunId>,
        reservation: Option<Reservation>,
        start: Start,
    ) {
        let entry = Entry {
            run,
            start,
            _reservation: reservation,
        };
        let mut state = self.state();
        state.lane(share).entries[class as usize].push_back(entry);
        state.give_turn(share, class, &self.limits());
        drop(state);
        self.start_next();
    }

    /// Takes a run out of its lane and starts it without a place. `false`: it doesn't wait here.
    pub fn expel(&self, share: Share, run: RunId) -> bool {
        let mut state = self.state();
        let entry = state.lanes.get_mut(&share).and_then(|lane| {
            lane.entries.iter_mut().find_map(|entries| {
                let index = entries.iter().position(|entry| entry.run == Some(run))?;
                entries.remove(index)
            })
        });
        drop(state);
        match entry {
            Some(entry) => {
                (entry.start)(None);
                true
            }
            None => false,
        }
    }

    /// Has no more room; what waits is started.
    pub fn close(&self) {
        self.state().closed = true;
    }

    /// Starts nothing more; what executes goes on.
    pub fn stop(&self) {
        self.state().stopped = true;
    }

    /// Runs that wait, and runs that execute.
    pub fn counts(&self) -> (usize, usize) {
        let state = self.state();
        (state.waiting, state.executing)
    }

    /// Starts all that can start. By one caller at a time, who also starts what others make room for meanwhile: a run may
    /// end while it is started, as when the server's threads are being stopped, and would start the next one within its own
    /// start, and so on until the stack is full.
    fn start_next(&self) {
        let mut state = self.state();
        if state.is_starting {
            return;
        }
        let Some(mut next) = state.next(&self.limits()) else {
            return;
        };
        state.is_starting = true;
        drop(state);
        // Not before the state is free: it looks at it when a panic ends it.
        let _starting = Starting(self);
        loop {
            let (share, class, entry) = next;
            let queue = self.clone();
            let Entry {
                start, _reservation, ..
            } = entry;
            drop(_reservation);
            start(Some(Place { queue, share, class }));
            let mut state = self.state();
            let Some(another) = state.next(&self.limits()) else {
                state.is_starting = false;
                return;
            };
            next = another;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    /// A queue in which one run executes at a time.
    fn small() -> Queue {
        Queue::new(Limits {
            waiting_max: 8,
            waiting_bytes_max: 8,
            stored_bytes_max: 8,
            executing_max: 1,
            tenant_executing_max: 1,
            servers: 1,
        })
    }

    #[test]
    fn of_whom_many_wait_is_known() {
        let queue = small();
        let _nothing_starts = queue.hold();
        let share = |owner: UserId| Share {
            owner,
            tenant: Tenant::User(owner),
        };
        let (many, few) = (share(UserId::new()), share(UserId::new()));
        let push = |share: Share, class: Class| queue.push(share, class, None, None, Box::new(|_| {}));
        for _ in 1..LONG_LANE {
            push(many, Class::Background);
            push(few, Class::Background);
        }
        assert!(queue.long_lanes().is_empty());
        push(many, Class::Awaited);
        assert_eq!(queue.long_lanes(), [many.tenant]);
    }

    #[test]
    fn a_run_that_panics_leaves_its_place_to_the_next() {
        let queue = small();
        let owner = UserId::new();
        let share = Share {
            owner,
            tenant: Tenant::User(owner),
        };
        let (sender, places) = mpsc::channel();
        for _ in 0..3 {
            let sender = sender.clone();
            let start: Start = Box::new(move |place| drop(sender.send(place)));
            queue.push(share, Class::Awaited, None, None, start);
        }
        for _ in 0..3 {
            let place = places.try_recv().unwrap();
            assert!(places.try_recv().is_err(), "one executes at a time");
            let run = std::thread::spawn(move || {
                let _place = place;
                panic!("a bug");
            });
            assert!(run.join().is_err());
        }
        assert_eq!(queue.counts(), (0, 0));
        assert!(places.try_recv().is_err());
    }
}
