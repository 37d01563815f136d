//! So many of something at a time for each user, so that whoever wants more of it waits for their own and for nobody else's.

use heddle_model::ids::UserId;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use tokio::sync::Semaphore;

/// Users from which on those that have nothing any more are forgotten.
const REMEMBERED_MAX: usize = 1_024;

/// The permits of all users.
#[derive(Debug)]
pub struct PerUser {
    per_user: usize,
    by_user: Mutex<HashMap<UserId, Weak<Semaphore>>>,
}

impl PerUser {
    /// So many for each.
    pub fn new(per_user: usize) -> Self {
        PerUser {
            per_user,
            by_user: Mutex::default(),
        }
    }

    /// The permits of one, to be acquired as owned ones: they are the same for as long as somebody has or wants one. Never closed.
    pub fn of(&self, user: UserId) -> Arc<Semaphore> {
        let mut by_user = self.by_user.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(permits) = by_user.get(&user).and_then(Weak::upgrade) {
            return permits;
        }
        if by_user.len() >= REMEMBERED_MAX {
            by_user.retain(|_, permits| permits.strong_count() > 0);
        }
        let permits = Arc::new(Semaphore::new(self.per_user));
        by_user.insert(user, Arc::downgrade(&permits));
        permits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_waits_for_their_own_and_is_forgotten_afterwards() {
        let (all, ann, bob) = (PerUser::new(1), UserId::new(), UserId::new());
        let held = all.of(ann).try_acquire_owned().unwrap();
        assert!(all.of(ann).try_acquire_owned().is_err());
        assert!(all.of(bob).try_acquire_owned().is_ok());
        for _ in 0..3 * REMEMBERED_MAX {
            drop(all.of(UserId::new()));
        }
        assert!(all.by_user.lock().unwrap().len() <= REMEMBERED_MAX);
        assert!(all.of(ann).try_acquire_owned().is_err());
        drop(held);
        assert!(all.of(ann).try_acquire_owned().is_ok());
    }
}
