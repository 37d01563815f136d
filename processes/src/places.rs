//! Places of each owner: as many at a time as an owner has, for as long as somebody has or wants one. Whoever has much to be done waits
//! for their own, and for nobody else's. Knows nothing of who owners are and what takes their places.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use tokio::sync::Semaphore;

/// Beyond so many owners, those who neither have nor want a place are forgotten.
pub const REMEMBERED_MAX: usize = 1_024;

/// As many places for each owner.
#[derive(Debug)]
pub struct PerOwner<K> {
    places: usize,
    by_owner: Mutex<HashMap<K, Weak<Semaphore>>>,
}

impl<K: Eq + Hash> PerOwner<K> {
    /// So many for each.
    pub fn new(places: usize) -> Self {
        PerOwner {
            places,
            by_owner: Mutex::default(),
        }
    }

    /// The places of an owner, to be acquired as owned ones: they are the same for as long as somebody has or wants one. Never
    /// closed.
    pub fn of(&self, owner: K) -> Arc<Semaphore> {
        let mut by_owner = self.by_owner.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(places) = by_owner.get(&owner).and_then(Weak::upgrade) {
            return places;
        }
        if by_owner.len() >= REMEMBERED_MAX {
            by_owner.retain(|_, places| places.strong_count() > 0);
        }
        let places = Arc::new(Semaphore::new(self.places));
        by_owner.insert(owner, Arc::downgrade(&places));
        places
    }

    /// How many owners it has places for, forgotten ones left out.
    pub fn remembered(&self) -> usize {
        self.by_owner.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}
