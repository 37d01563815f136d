//! Whose turn it is to be stored. What waits for one writer is stored in groups, which are bounded by bytes: what is small
//! comes first, and what is large a little at a time, its owners by turns. So whoever stores little waits for one group of
//! others' at most, however much they store. Who hands groups on hands on what is large beside what is small, which would
//! wait for it otherwise. Knows nothing of what it orders.

use heddle_model::ids::UserId;
use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::Hash;

/// Bytes of a group, unless a single one has more: a millisecond or two of SQLite's writer.
pub const GROUP_BYTES_MAX: usize = 256 << 10;
/// Bytes of a group of what is large: what is small waits for as long as it takes.
const LARGE_GROUP_BYTES_MAX: usize = 128 << 10;
/// Bytes of what comes first.
const SMALL_BYTES_MAX: usize = 32 << 10;

/// How much is to be stored, and for whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// `None`: the service, or several.
    pub owner: Option<UserId>,
    pub bytes: usize,
    is_large: bool,
}

impl Load {
    /// The load of what has no size that its sender could choose.
    pub const LITTLE: Load = Load {
        owner: None,
        bytes: 0,
        is_large: false,
    };

    /// Something of one owner; `None`: the service's, or of several.
    pub const fn of(owner: Option<UserId>, bytes: usize) -> Self {
        Load {
            owner,
            bytes,
            is_large: bytes > SMALL_BYTES_MAX,
        }
    }

    /// Several, none of which is large.
    const fn group(bytes: usize) -> Self {
        Load {
            owner: None,
            bytes,
            is_large: false,
        }
    }

    /// Whether others' small ones go first.
    pub const fn is_large(&self) -> bool {
        self.is_large
    }
}

/// A group that is being made.
#[derive(Debug)]
pub struct Group {
    count: usize,
    load: Load,
}

impl Group {
    pub const fn is_large(&self) -> bool {
        self.load.is_large
    }

    fn admits(&self, count_max: usize, next: &Load) -> bool {
        let bytes = self.load.bytes.saturating_add(next.bytes);
        let bytes_max = match self.load.is_large {
            true => LARGE_GROUP_BYTES_MAX,
            false => GROUP_BYTES_MAX,
        };
        self.count == 0 || (self.count < count_max && bytes <= bytes_max)
    }

    fn add(&mut self, next: &Load) {
        let is_of_one = self.count == 0 || self.load.owner == next.owner;
        self.load.owner = next.owner.filter(|_| is_of_one);
        self.load.bytes = self.load.bytes.saturating_add(next.bytes);
        self.count += 1;
    }
}

/// Owners by turns, and of each what is at the front of their sequences.
#[derive(Debug)]
struct Lane<K> {
    owners: VecDeque<Option<UserId>>,
    sequences: HashMap<Option<UserId>, VecDeque<K>>,
}

impl<K: Clone> Lane<K> {
    fn new() -> Self {
        Lane {
            owners: VecDeque::new(),
            sequences: HashMap::new(),
        }
    }

    fn push(&mut self, owner: Option<UserId>, sequence: K) {
        let those = self.sequences.entry(owner).or_default();
        if those.is_empty() {
            self.owners.push_back(owner);
        }
        those.push_back(sequence);
    }

    fn front(&self) -> Option<K> {
        self.sequences.get(self.owners.front()?)?.front().cloned()
    }

    /// Removes what is at the front; its owner's next one comes after everybody else's.
    fn pop(&mut self) {
        let Some(owner) = self.owners.pop_front() else {
            return;
        };
        let Some(those) = self.sequences.get_mut(&owner) else {
            return;
        };
        those.pop_front();
        match those.is_empty() {
            true => drop(self.sequences.remove(&owner)),
            false => self.owners.push_back(owner),
        }
    }
}

/// What waits, in sequences: what has the same key is stored in the order in which it came.
#[derive(Debug)]
pub struct Turns<K, T> {
    count_max: usize,
    sequences: HashMap<K, VecDeque<(Load, T)>>,
    small: Lane<K>,
    large: Lane<K>,
    /// Sequences of the group of what is large that is being stored.
    held: HashSet<K>,
    /// Those of them whose next one has come to the front of its lane, and has left it.
    parked: Vec<K>,
    is_storing_large: bool,
    len: usize,
    was_large: bool,
}

impl<K: Clone + Eq + Hash, T> Turns<K, T> {
    /// Groups have no more than `count_max`.
    pub fn new(count_max: usize) -> Self {
        Turns {
            count_max,
            sequences: HashMap::new(),
            small: Lane::new(),
            large: Lane::new(),
            held: HashSet::new(),
            parked: Vec::new(),
            is_storing_large: false,
            len: 0,
            was_large: false,
        }
    }

    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How many wait.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Has something wait after all of its sequence.
    pub fn push(&mut self, sequence: K, load: Load, item: T) {
        self.len += 1;
        let those = self.sequences.entry(sequence.clone()).or_default();
        those.push_back((load, item));
        if those.len() == 1 {
            self.lane(load.is_large).push(load.owner, sequence);
        }
    }

    fn lane(&mut self, is_large: bool) -> &mut Lane<K> {
        match is_large {
            true => &mut self.large,
            false => &mut self.small,
        }
    }

    /// The sequence at the front of a lane. Those that are held leave it.
    fn front(&mut self, is_large: bool) -> Option<K> {
        loop {
            let sequence = self.lane(is_large).front()?;
            if !self.held.contains(&sequence) {
                return Some(sequence);
            }
            self.lane(is_large).pop();
            self.parked.push(sequence);
        }
    }

    /// Whether something small waits that may be stored.
    pub fn has_small(&mut self) -> bool {
        self.front(false).is_some()
    }

    /// Whether a group of what is large can be made: there is some, and none is being stored.
    pub fn may_store_large(&mut self) -> bool {
        !self.is_storing_large && self.front(true).is_some()
    }

    /// Begins a group: of what is small, and after each of these of what is large, if there is any and it may be.
    pub fn begin(&mut self, may_be_large: bool) -> Group {
        let (has_small, has_large) = (self.front(false).is_some(), self.front(true).is_some());
        let is_large = has_large && may_be_large && !(has_small && self.was_large);
        self.begin_of(is_large)
    }

    fn begin_of(&mut self, is_large: bool) -> Group {
        self.was_large = is_large;
        let load = Load {
            is_large,
            ..Load::LITTLE
        };
        Group { count: 0, load }
    }

    /// The next one of a group, as long as there is room in it.
    pub fn take(&mut self, group: &mut Group) -> Option<T> {
        self.take_next(group).map(|(_, item)| item)
    }

    fn take_next(&mut self, group: &mut Group) -> Option<(K, T)> {
        let (is_large, count_max) = (group.load.is_large, self.count_max);
        let sequence = self.front(is_large)?;
        let those = self.sequences.get_mut(&sequence)?;
        if !group.admits(count_max, &those.front()?.0) {
            return None;
        }
        let (load, item) = those.pop_front()?;
        let next = those.front().map(|(load, _)| *load);
        self.lane(is_large).pop();
        match next {
            Some(next) => self.lane(next.is_large).push(next.owner, sequence.clone()),
            None => drop(self.sequences.remove(&sequence)),
        }
        self.len = self.len.saturating_sub(1);
        group.add(&load);
        Some((sequence, item))
    }

    /// Makes the next group of what is small, of what waits and of what has come, and leaves it in `come`. `of` tells of each
    /// its load, and what it must not overtake.
    pub fn small_group(&mut self, come: &mut Vec<T>, of: impl Fn(&T) -> (Load, K)) -> Load {
        let mut bytes: usize = 0;
        let are_small = come.iter().all(|item| {
            let (load, _) = of(item);
            bytes = bytes.saturating_add(load.bytes);
            !load.is_large
        });
        let is_simple = self.is_empty() && !self.is_storing_large;
        // As nearly always.
        if is_simple && are_small && come.len() <= self.count_max && bytes <= GROUP_BYTES_MAX {
            return Load::group(bytes);
        }
        for item in come.drain(..) {
            let (load, sequence) = of(&item);
            self.push(sequence, load, item);
        }
        let mut group = self.begin_of(false);
        come.extend(std::iter::from_fn(|| self.take(&mut group)));
        group.load
    }

    /// Makes a group of what is large and waits, if none is being stored. What must not overtake any of it waits until
    /// [`Turns::large_is_stored`].
    pub fn large_group(&mut self) -> Option<(Load, Vec<T>)> {
        if !self.may_store_large() {
            return None;
        }
        let mut group = self.begin_of(true);
        let (mut sequences, mut items) = (Vec::new(), Vec::new());
        while let Some((sequence, item)) = self.take_next(&mut group) {
            sequences.push(sequence);
            items.push(item);
        }
        self.held.extend(sequences);
        self.is_storing_large = true;
        Some((group.load, items))
    }

    /// What was made by [`Turns::large_group`] is stored.
    pub fn large_is_stored(&mut self) {
        self.is_storing_large = false;
        self.held.clear();
        for sequence in std::mem::take(&mut self.parked) {
            let those = self.sequences.get(&sequence);
            if let Some(load) = those.and_then(|those| those.front()).map(|(load, _)| *load) {
                self.lane(load.is_large).push(load.owner, sequence);
            }
        }
    }
}

#[cfg(test)]
mod tests;
