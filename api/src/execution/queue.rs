//! Who may execute next. Runs wait in memory in lanes, one for each tenant; lanes take turns, each within its own
//! limit, so that no tenant's backlog is another's waiting time. A share of all places, and of each lane's, is
//! kept for what somebody waits for. Knows nothing of what runs are.

use super::Tenant;
use crate::ids::RunId;
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// How much may wait, and how much may execute.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Runs that wait, all together.
    pub waiting_max: usize,
    /// Bytes of their events, all together.
    pub waiting_bytes_max: usize,
    /// Runs that execute, all together.
    pub executing_max: usize,
    /// Runs of one tenant that execute.
    pub tenant_executing_max: usize,
}

impl Limits {
    /// What one tenant's waiting runs may take of the queue.
    pub const fn tenant_waiting_max(&self) -> usize {
        self.waiting_max.div_ceil(2)
    }
}

/// Places that runs nobody waits for leave free.
const fn without_reserve(places: usize) -> usize {
    places - places / 4
}

/// What waits for its turn: started with the place that it got, or with none when it is not to execute any more.
pub type Start = Box<dyn FnOnce(Option<Place>) + Send>;

/// Whether somebody waits for the run's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Somebody does.
    Awaited,
    /// Nobody does.
    Background,
}

impl Class {
    /// Of a run.
    pub const fn of(is_awaited: bool) -> Self {
        if is_awaited {
            Class::Awaited
        } else {
            Class::Background
        }
    }
}

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

#[derive(Default)]
struct State {
    lanes: HashMap<Tenant, Lane>,
    /// Tenants with something that waits and a free place in their lane, in the order of their turns.
    turns: [VecDeque<Tenant>; 2],
    waiting: usize,
    waiting_bytes: usize,
    executing: usize,
    executing_background: usize,
    closed: bool,
    stopped: bool,
}

#[derive(Default)]
struct Lane {
    entries: [VecDeque<Entry>; 2],
    has_turn: [bool; 2],
    reserved: usize,
    /// Those of the reserved that still have to execute.
    due: usize,
    executing: usize,
    executing_background: usize,
}

/// What there is room for.
#[derive(Clone, Debug)]
pub struct Room {
    /// Runs in all.
    pub runs: usize,
    /// Runs of a tenant.
    pub tenant_runs_max: usize,
    /// Tenants of which enough runs wait here already.
    pub full: Vec<Tenant>,
}

/// The queue is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// Room in the queue, given back when dropped.
pub struct Reservation {
    queue: Queue,
    tenant: Tenant,
    bytes: usize,
    is_due: bool,
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let mut state = self.queue.state();
        state.waiting = state.waiting.saturating_sub(1);
        state.waiting_bytes = state.waiting_bytes.saturating_sub(self.bytes);
        if let Some(lane) = state.lanes.get_mut(&self.tenant) {
            lane.reserved = lane.reserved.saturating_sub(1);
            lane.due = lane.due.saturating_sub(usize::from(self.is_due));
        }
        state.forget_if_idle(self.tenant);
        drop(state);
        self.queue.0.room.notify_waiters();
    }
}

/// A place among the executing, given to the next when dropped.
pub struct Place {
    queue: Queue,
    tenant: Tenant,
    class: Class,
}

impl Drop for Place {
    fn drop(&mut self) {
        let limits = self.queue.limits();
        self.queue.state().leave(self.tenant, self.class, &limits);
        self.queue.start_next();
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

    /// The limits as they are for this server.
    fn limits(&self) -> Limits {
        let servers = self.0.servers.load(Ordering::Relaxed);
        Limits {
            tenant_executing_max: self.0.limits.tenant_executing_max.div_ceil(servers),
            ..self.0.limits
        }
    }

    /// What there is room for of runs that other servers have accepted.
    pub fn room(&self) -> Room {
        let limits = self.limits();
        let state = self.state();
        let has_many = |lane: &&Lane| lane.reserved >= limits.tenant_executing_max;
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
                .map(|(tenant, _)| *tenant)
                .collect(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Room for one more run, unless the queue or the tenant's part of it is full.
    pub fn reserve(&self, tenant: Tenant, bytes: usize) -> Result<Reservation, Full> {
        self.reserve_in(&mut self.state(), tenant, bytes, true)
    }

    fn reserve_in(
        &self,
        state: &mut State,
        tenant: Tenant,
        bytes: usize,
        is_due: bool,
    ) -> Result<Reservation, Full> {
        let limits = &self.0.limits;
        let full = state.closed
            || state.stopped
            || state.waiting >= limits.waiting_max
            || state.waiting_bytes.saturating_add(bytes) > limits.waiting_bytes_max
            || state
                .lanes
                .get(&tenant)
                .is_some_and(|lane| lane.reserved >= limits.tenant_waiting_max());
        if full {
            return Err(Full);
        }
        state.waiting += 1;
        state.waiting_bytes += bytes;
        let lane = state.lanes.entry(tenant).or_default();
        lane.reserved += 1;
        lane.due += usize::from(is_due);
        Ok(Reservation {
            queue: self.clone(),
            tenant,
            bytes,
            is_due,
        })
    }

    /// A place for a run that passes by the queue, with room to keep it afterwards: only if there is a place for all
    /// of the tenant's runs that came before it as well, so that it overtakes none.
    pub fn pass(&self, tenant: Tenant, class: Class, bytes: usize) -> Option<(Place, Reservation)> {
        let limits = self.limits();
        let mut state = self.state();
        let lane = state.lanes.entry(tenant).or_default();
        let has_place = lane.due < lane.places(class, &limits) && state.has_place(class, &limits);
        let reserved = has_place.then(|| self.reserve_in(&mut state, tenant, bytes, false));
        let Some(Ok(reservation)) = reserved else {
            state.forget_if_idle(tenant);
            return None;
        };
        state.enter(tenant, class);
        let queue = self.clone();
        Some((Place { queue, tenant, class }, reservation))
    }

    /// Waits for room rather than fail: for runs that were accepted before.
    pub async fn reserve_patiently(&self, tenant: Tenant, bytes: usize) -> Reservation {
        // What is larger than the whole queue takes all of it.
        let bytes = bytes.min(self.0.limits.waiting_bytes_max);
        loop {
            let room = self.0.room.notified();
            tokio::pin!(room);
            room.as_mut().enable();
            match self.reserve(tenant, bytes) {
                Ok(reservation) => return reservation,
                Err(Full) => room.await,
            }
        }
    }

    /// Queues a run, or something else when `run` is `None`, and starts it if there is a free place.
    pub fn push(
        &self,
        tenant: Tenant,
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
        state.lanes.entry(tenant).or_default().entries[class as usize].push_back(entry);
        state.give_turn(tenant, class, &self.limits());
        drop(state);
        self.start_next();
    }

    /// Takes a run out of its lane and starts it without a place. `false`: it doesn't wait here.
    pub fn expel(&self, tenant: Tenant, run: RunId) -> bool {
        let mut state = self.state();
        let entry = state.lanes.get_mut(&tenant).and_then(|lane| {
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

    fn start_next(&self) {
        loop {
            let next = self.state().next(&self.limits());
            let Some((tenant, class, entry)) = next else {
                return;
            };
            let queue = self.clone();
            let Entry {
                start, _reservation, ..
            } = entry;
            drop(_reservation);
            start(Some(Place { queue, tenant, class }));
        }
    }
}

impl State {
    /// Puts a tenant in the order of turns if it has something to start and may.
    fn give_turn(&mut self, tenant: Tenant, class: Class, limits: &Limits) {
        let Some(lane) = self.lanes.get_mut(&tenant) else {
            return;
        };
        if !lane.has_turn[class as usize] && lane.may_start(class, limits) {
            lane.has_turn[class as usize] = true;
            self.turns[class as usize].push_back(tenant);
        }
    }

    fn next(&mut self, limits: &Limits) -> Option<(Tenant, Class, Entry)> {
        if self.stopped {
            return None;
        }
        [Class::Awaited, Class::Background]
            .into_iter()
            .find_map(|class| self.next_of(class, limits))
    }

    fn next_of(&mut self, class: Class, limits: &Limits) -> Option<(Tenant, Class, Entry)> {
        loop {
            if !self.has_place(class, limits) {
                return None;
            }
            let tenant = self.turns[class as usize].pop_front()?;
            let Some(lane) = self.lanes.get_mut(&tenant) else {
                continue;
            };
            lane.has_turn[class as usize] = false;
            if !lane.may_start(class, limits) {
                continue;
            }
            let Some(entry) = lane.entries[class as usize].pop_front() else {
                continue;
            };
            self.enter(tenant, class);
            self.give_turn(tenant, class, limits);
            return Some((tenant, class, entry));
        }
    }

    fn has_place(&self, class: Class, limits: &Limits) -> bool {
        self.executing < limits.executing_max
            && (class == Class::Awaited || self.executing_background < without_reserve(limits.executing_max))
    }

    fn enter(&mut self, tenant: Tenant, class: Class) {
        let background = usize::from(class == Class::Background);
        self.executing += 1;
        self.executing_background += background;
        if let Some(lane) = self.lanes.get_mut(&tenant) {
            lane.executing += 1;
            lane.executing_background += background;
        }
    }

    fn leave(&mut self, tenant: Tenant, class: Class, limits: &Limits) {
        let background = usize::from(class == Class::Background);
        self.executing = self.executing.saturating_sub(1);
        self.executing_background = self.executing_background.saturating_sub(background);
        if let Some(lane) = self.lanes.get_mut(&tenant) {
            lane.executing = lane.executing.saturating_sub(1);
            lane.executing_background = lane.executing_background.saturating_sub(background);
        }
        self.give_turn(tenant, Class::Awaited, limits);
        self.give_turn(tenant, Class::Background, limits);
        self.forget_if_idle(tenant);
    }

    fn forget_if_idle(&mut self, tenant: Tenant) {
        if self.lanes.get(&tenant).is_some_and(Lane::is_idle) {
            self.lanes.remove(&tenant);
        }
    }
}

impl Lane {
    fn may_start(&self, class: Class, limits: &Limits) -> bool {
        !self.entries[class as usize].is_empty() && self.places(class, limits) > 0
    }

    /// Free places.
    fn places(&self, class: Class, limits: &Limits) -> usize {
        let places = limits.tenant_executing_max.saturating_sub(self.executing);
        match class {
            Class::Awaited => places,
            Class::Background => places
                .min(without_reserve(limits.tenant_executing_max).saturating_sub(self.executing_background)),
        }
    }

    fn is_idle(&self) -> bool {
        self.executing == 0
            && self.reserved == 0
            && self.entries.iter().all(VecDeque::is_empty)
            && self.has_turn == [false; 2]
    }
}
