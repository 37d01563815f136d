//! Places of each owner: as many at a time as an owner has, for as long as somebody has or wants one. Knows nothing of what takes them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use tokio::sync::Semaphore;

/// Owners from which on those of whom nobody has or wants a place are forgotten.
pub(crate) const REMEMBERED_MAX: usize = 1_024;

/// As many places for each owner. `None` is an owner as well.
pub struct PerOwner {
    places: usize,
    by_owner: Mutex<HashMap<Option<u128>, Weak<Semaphore>>>,
}

impl PerOwner {
    pub fn new(places: usize) -> Self {
        PerOwner {
            places,
            by_owner: Mutex::default(),
        }
    }

    /// The places of an owner, which are never closed.
    pub fn of(&self, owner: Option<u128>) -> Arc<Semaphore> {
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
    #[cfg(test)]
    pub fn remembered(&self) -> usize {
        self.by_owner.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}
