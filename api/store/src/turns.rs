//! Whose turn it is to be stored. What waits for one writer is stored in groups, which are bounded by bytes: what is small
//! comes first, and what is large a little at a time, its owners by turns. So whoever stores little waits for one group of
//! others' at most, however much they store. Knows nothing of what it orders.

use heddle_model::ids::UserId;
use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

/// Bytes of a group, unless a single one has more: a millisecond or two of SQLite's writer.
pub const GROUP_BYTES_MAX: usize = 256 << 10;
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
    /// Of what has no size that its sender could choose.
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
    fn admits(&self, count_max: usize, next: &Load) -> bool {
        let bytes = self.load.bytes.saturating_add(next.bytes);
        self.count == 0 || (self.count < count_max && bytes <= GROUP_BYTES_MAX)
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

    /// Begins a group: of what is small, and after each of these of what is large, if there is any.
    pub fn begin(&mut self) -> Group {
        let is_large = match (self.small.front(), self.large.front()) {
            (_, None) => false,
            (None, Some(_)) => true,
            (Some(_), Some(_)) => !self.was_large,
        };
        self.was_large = is_large;
        let load = Load {
            is_large,
            ..Load::LITTLE
        };
        Group { count: 0, load }
    }

    /// The next one of a group, as long as there is room in it.
    pub fn take(&mut self, group: &mut Group) -> Option<T> {
        let (is_large, count_max) = (group.load.is_large, self.count_max);
        let sequence = self.lane(is_large).front()?;
        let those = self.sequences.get_mut(&sequence)?;
        if !group.admits(count_max, &those.front()?.0) {
            return None;
        }
        let (load, item) = those.pop_front()?;
        let next = those.front().map(|(load, _)| *load);
        self.lane(is_large).pop();
        match next {
            Some(next) => self.lane(next.is_large).push(next.owner, sequence),
            None => drop(self.sequences.remove(&sequence)),
        }
        self.len = self.len.saturating_sub(1);
        group.add(&load);
        Some(item)
    }

    /// Makes the next group of what waits and of what has come, and leaves it in `come`. `of` tells of each its load, and what
    /// it must not overtake.
    pub fn group(&mut self, come: &mut Vec<T>, of: impl Fn(&T) -> (Load, K)) -> Load {
        let mut bytes: usize = 0;
        let are_small = come.iter().all(|item| {
            let (load, _) = of(item);
            bytes = bytes.saturating_add(load.bytes);
            !load.is_large
        });
        // As nearly always.
        if self.is_empty() && are_small && come.len() <= self.count_max && bytes <= GROUP_BYTES_MAX {
            self.was_large = false;
            return Load::group(bytes);
        }
        for item in come.drain(..) {
            let (load, sequence) = of(&item);
            self.push(sequence, load, item);
        }
        let mut group = self.begin();
        come.extend(std::iter::from_fn(|| self.take(&mut group)));
        group.load
    }
}

#[cfg(test)]
mod tests;
