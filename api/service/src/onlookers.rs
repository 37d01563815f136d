//! Limits the number of live tails, in total and per user: each one holds a connection and receives every change. Knows
//! nothing about their contents.

use heddle_model::error::{Code, ServiceError};
use heddle_model::ids::UserId;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How many may.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Maximum number of live tails in total.
    pub in_all: usize,
    /// Maximum number of live tails per user.
    pub per_user: usize,
}

/// The live tails of this server. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Onlookers(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    all_max: usize,
    of_user_max: usize,
    counts: Mutex<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    all: usize,
    by_user: HashMap<UserId, usize>,
}

/// A permit for one live tail, released when it is dropped.
#[derive(Debug)]
pub struct TailPermit {
    onlookers: Onlookers,
    user: UserId,
}

impl Onlookers {
    /// Within these limits.
    pub fn new(limits: Limits) -> Self {
        Onlookers(Arc::new(Shared {
            all_max: limits.in_all,
            of_user_max: limits.per_user,
            counts: Mutex::default(),
        }))
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.0.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Admits another live tail of a user, or reports which limit is reached.
    pub fn permit(&self, user: UserId) -> Result<TailPermit, ServiceError> {
        let counts = &mut *self.counts();
        if counts.all >= self.0.all_max {
            let message = "The server has too many open live tails: try again shortly.";
            return Err(Code::Unavailable.with(message).retry_after_s(5));
        }
        let of_user = counts.by_user.entry(user).or_default();
        if *of_user >= self.0.of_user_max {
            let message =
                format!("You have {of_user} open live tails, the most that one user may have: close some.");
            return Err(Code::RateLimited.with(message).retry_after_s(5));
        }
        *of_user += 1;
        counts.all += 1;
        Ok(TailPermit {
            onlookers: self.clone(),
            user,
        })
    }
}

impl Drop for TailPermit {
    fn drop(&mut self) {
        let mut counts = self.onlookers.counts();
        counts.all -= 1;
        if let Some(of_user) = counts.by_user.get_mut(&self.user) {
            *of_user -= 1;
            if *of_user == 0 {
                counts.by_user.remove(&self.user);
            }
        }
    }
}
