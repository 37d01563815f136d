//! The queue's state: what waits where, whose turn it is, and how much of everything is taken. Starts nothing.

use super::limits::{Class, Limits, Share, without_reserve};
use super::shares::fits;
use heddle_model::ids::{IdMap, UserId};
use heddle_model::tenant::Tenant;
use std::collections::VecDeque;

/// Everything that changes. `E` is what waits.
pub(super) struct State<E> {
    pub lanes: IdMap<Share, Lane<E>>,
    pub owners: IdMap<UserId, Owner>,
    /// How many runs tenants may execute that have a limit of their own.
    own_max: IdMap<Tenant, usize>,
    /// Owners with something that waits and a free place in one of their lanes, in the order of their turns.
    turns: [VecDeque<UserId>; 2],
    /// Those whose turn has come while they had all the places that they may have.
    barred: [Vec<UserId>; 2],
    pub waiting: usize,
    pub waiting_bytes: usize,
    pub stored_bytes: usize,
    pub executing: usize,
    executing_background: usize,
    pub closed: bool,
    pub stopped: bool,
    /// Somebody is starting what can start, and goes on until there is nothing left.
    pub is_starting: bool,
    /// How many want nothing to start now.
    pub holds: usize,
}

/// What waits and executes of a tenant.
pub(super) struct Lane<E> {
    pub entries: [VecDeque<E>; 2],
    has_turn: [bool; 2],
    pub reserved: usize,
    /// Those of the reserved that still have to execute.
    pub due: usize,
    executing: usize,
    executing_background: usize,
    /// Its own limit of runs that execute, if it has one.
    own_max: Option<usize>,
}

/// What waits and executes of all the tenants that one user owns.
#[derive(Default)]
pub(super) struct Owner {
    /// Tenants with something that waits and a free place in their lane, in the order of their turns.
    turns: [VecDeque<Tenant>; 2],
    has_turn: [bool; 2],
    pub waiting: usize,
    pub waiting_bytes: usize,
    pub stored_bytes: usize,
    executing: usize,
    lanes: usize,
}

impl<E> Default for State<E> {
    fn default() -> Self {
        State {
            lanes: IdMap::default(),
            owners: IdMap::default(),
            own_max: IdMap::default(),
            turns: Default::default(),
            barred: Default::default(),
            waiting: 0,
            waiting_bytes: 0,
            stored_bytes: 0,
            executing: 0,
            executing_background: 0,
            closed: false,
            stopped: false,
            is_starting: false,
            holds: 0,
        }
    }
}

impl<E> Default for Lane<E> {
    fn default() -> Self {
        Lane {
            entries: [VecDeque::new(), VecDeque::new()],
            has_turn: [false; 2],
            reserved: 0,
            due: 0,
            executing: 0,
            executing_background: 0,
            own_max: None,
        }
    }
}

impl<E> State<E> {
    /// The lane, which is made if it is not there.
    pub fn lane(&mut self, share: Share) -> &mut Lane<E> {
        let (owners, own_max) = (&mut self.owners, &self.own_max);
        self.lanes.entry(share).or_insert_with(|| {
            owners.entry(share.owner).or_default().lanes += 1;
            Lane {
                own_max: own_max.get(&share.tenant).copied(),
                ..Lane::default()
            }
        })
    }

    /// Gives a tenant a limit of its own, or takes it away.
    pub fn limit_tenant(&mut self, tenant: Tenant, executing_max: Option<usize>) {
        match executing_max {
            Some(max) => self.own_max.insert(tenant, max),
            None => self.own_max.remove(&tenant),
        };
        for (_, lane) in self.lanes.iter_mut().filter(|(share, _)| share.tenant == tenant) {
            lane.own_max = executing_max;
        }
    }

    /// How many of a tenant's runs execute here.
    pub fn executing_of(&self, tenant: Tenant) -> usize {
        let lanes = self.lanes.iter().filter(|(share, _)| share.tenant == tenant);
        lanes.map(|(_, lane)| lane.executing).sum()
    }

    /// Puts a tenant in the order of turns if it has something to start and may.
    pub fn give_turn(&mut self, share: Share, class: Class, limits: &Limits) {
        let (Some(lane), Some(owner)) = (self.lanes.get_mut(&share), self.owners.get_mut(&share.owner))
        else {
            return;
        };
        if lane.has_turn[class as usize] || !lane.may_start(class, limits) {
            return;
        }
        lane.has_turn[class as usize] = true;
        owner.turns[class as usize].push_back(share.tenant);
        if !owner.has_turn[class as usize] {
            owner.has_turn[class as usize] = true;
            self.turns[class as usize].push_back(share.owner);
        }
    }

    /// Whether it is anybody's turn, so that something may start.
    pub fn has_turns(&self) -> bool {
        self.turns.iter().any(|turns| !turns.is_empty())
    }

    /// What starts next, which counts as executing from now on.
    pub fn next(&mut self, limits: &Limits) -> Option<(Share, Class, E)> {
        if self.stopped || self.holds > 0 {
            return None;
        }
        [Class::Awaited, Class::Background]
            .into_iter()
            .find_map(|class| self.next_of(class, limits))
    }

    fn next_of(&mut self, class: Class, limits: &Limits) -> Option<(Share, Class, E)> {
        let turn = class as usize;
        loop {
            if !self.has_place(class, limits) {
                return None;
            }
            let id = self.turns[turn].pop_front()?;
            let executing = self.executing;
            let Some(owner) = self.owners.get_mut(&id) else {
                continue;
            };
            if !owner.may_start(executing, limits) {
                self.barred[turn].push(id);
                continue;
            }
            let tenant = owner.turns[turn].pop_front();
            owner.has_turn[turn] = !owner.turns[turn].is_empty();
            if owner.has_turn[turn] {
                self.turns[turn].push_back(id);
            }
            let share = tenant.map(|tenant| Share { owner: id, tenant });
            let Some((share, lane)) = share.and_then(|share| Some((share, self.lanes.get_mut(&share)?)))
            else {
                continue;
            };
            lane.has_turn[turn] = false;
            if !lane.may_start(class, limits) {
                self.forget_if_idle(share);
                continue;
            }
            let Some(entry) = lane.entries[turn].pop_front() else {
                continue;
            };
            self.enter(share, class);
            self.give_turn(share, class, limits);
            return Some((share, class, entry));
        }
    }

    /// Whether a run may pass by all that wait, overtaking none of its tenant's.
    pub fn may_pass(&self, share: Share, class: Class, limits: &Limits) -> bool {
        let lane = self.lanes.get(&share);
        let owner = self.owners.get(&share.owner);
        self.holds == 0
            && self.has_place(class, limits)
            && lane.is_none_or(|lane| lane.due < lane.places(class, limits))
            && owner.is_none_or(|owner| owner.may_start(self.executing, limits))
    }

    fn has_place(&self, class: Class, limits: &Limits) -> bool {
        self.executing < limits.executing_max
            && (class == Class::Awaited || self.executing_background < without_reserve(limits.executing_max))
    }

    /// Takes a place.
    pub fn enter(&mut self, share: Share, class: Class) {
        let background = usize::from(class == Class::Background);
        self.executing += 1;
        self.executing_background += background;
        let lane = self.lane(share);
        lane.executing += 1;
        lane.executing_background += background;
        if let Some(owner) = self.owners.get_mut(&share.owner) {
            owner.executing += 1;
        }
    }

    /// Gives a place back.
    pub fn leave(&mut self, share: Share, class: Class, limits: &Limits) {
        let background = usize::from(class == Class::Background);
        self.executing = self.executing.saturating_sub(1);
        self.executing_background = self.executing_background.saturating_sub(background);
        let mut has_entries = false;
        if let Some(lane) = self.lanes.get_mut(&share) {
            lane.executing = lane.executing.saturating_sub(1);
            lane.executing_background = lane.executing_background.saturating_sub(background);
            has_entries = lane.entries.iter().any(|entries| !entries.is_empty());
        }
        if let Some(owner) = self.owners.get_mut(&share.owner) {
            owner.executing = owner.executing.saturating_sub(1);
        }
        for (turns, barred) in self.turns.iter_mut().zip(&mut self.barred) {
            turns.extend(barred.drain(..));
        }
        // As a rule nothing waits.
        if has_entries {
            self.give_turn(share, Class::Awaited, limits);
            self.give_turn(share, Class::Background, limits);
        }
        self.forget_if_idle(share);
    }

    /// Forgets a lane, and its owner, of which nothing is there.
    pub fn forget_if_idle(&mut self, share: Share) {
        if !self.lanes.get(&share).is_some_and(Lane::is_idle) {
            return;
        }
        self.lanes.remove(&share);
        if let Some(owner) = self.owners.get_mut(&share.owner) {
            owner.lanes = owner.lanes.saturating_sub(1);
            if owner.lanes == 0 {
                self.owners.remove(&share.owner);
            }
        }
    }
}

impl<E> Lane<E> {
    fn may_start(&self, class: Class, limits: &Limits) -> bool {
        !self.entries[class as usize].is_empty() && self.places(class, limits) > 0
    }

    /// Free places.
    fn places(&self, class: Class, limits: &Limits) -> usize {
        let own = self.own_max.map(|max| max.div_ceil(limits.servers.max(1)));
        let executing_max = own.unwrap_or(limits.tenant_executing_max);
        let places = executing_max.saturating_sub(self.executing);
        match class {
            Class::Awaited => places,
            Class::Background => {
                places.min(without_reserve(executing_max).saturating_sub(self.executing_background))
            }
        }
    }

    fn is_idle(&self) -> bool {
        self.executing == 0
            && self.reserved == 0
            && self.entries.iter().all(VecDeque::is_empty)
            && self.has_turn == [false; 2]
    }
}

impl Owner {
    /// Whether one more of its runs may execute. Who lets one tenant have more than half of all places has said that it
    /// need not be left to others.
    fn may_start(&self, executing: usize, limits: &Limits) -> bool {
        let granted = match limits.tenant_executing_max > limits.executing_max / 2 {
            true => limits.tenant_executing_max,
            false => 0,
        };
        self.executing < granted || fits(self.executing, executing, 1, limits.executing_max)
    }
}
