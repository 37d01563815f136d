//! How many runs of each user wait, so that nobody fills the database with them. Counted once in a while, and not for every
//! run: that the limit may be exceeded by what happens within a minute on other servers is no harm. Who has as many as may
//! be is counted again after a second, or at once after a waiting run was cancelled.

use heddle_model::clock::{monotonic, since};
use heddle_model::ids::UserId;
use heddle_model::quota::{Exceeded, Quota, Quotas};
use heddle_store::{Store, StoreError, quota};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a count is good for that leaves room.
const COUNT_AGE_MAX: Duration = Duration::from_secs(60);
/// How long one is good for that leaves none: whatever has ended since is not seen.
const FULL_AGE_MAX: Duration = Duration::from_secs(1);
/// Users whose counts are remembered; past it, old counts are forgotten.
const USERS_MAX: usize = 10_000;

/// Runs that wait, by the users who own their workspaces.
pub(crate) struct WaitingRuns {
    store: Store,
    limit: Option<i64>,
    counts: Mutex<HashMap<UserId, Known>>,
    /// How often waiting runs were cancelled.
    cancellations: AtomicU64,
}

/// What is known of a user. Held while it is counted, so that those who come meanwhile wait for the result rather than count
/// too.
type Known = Arc<tokio::sync::Mutex<Option<Count>>>;

#[derive(Clone, Copy)]
struct Count {
    runs: i64,
    at: Instant,
    /// Cancellations before it was counted.
    cancellations: u64,
}

impl WaitingRuns {
    pub fn new(store: Store, quotas: &Quotas) -> Self {
        WaitingRuns {
            store,
            limit: quotas.limit(Quota::WaitingRuns),
            counts: Mutex::default(),
            cancellations: AtomicU64::new(0),
        }
    }

    /// Counts one more run of this user that begins to wait. The error says that there are too many.
    pub async fn add(&self, owner: UserId) -> Result<Result<(), Exceeded>, StoreError> {
        let Some(limit) = self.limit else {
            return Ok(Ok(()));
        };
        let known = self.known(owner);
        let mut known = known.lock().await;
        let count = match known.take().filter(|count| self.is_good(count, limit)) {
            Some(count) => count,
            None => self.count(owner).await?,
        };
        let fits = count.runs < limit;
        *known = Some(Count {
            runs: count.runs + i64::from(fits),
            ..count
        });
        let quota = Quota::WaitingRuns;
        Ok(fits.then_some(()).ok_or(Exceeded { quota, limit }))
    }

    /// Says that runs which may have waited do so no more: whoever had too many may have room.
    pub fn cancelled(&self) {
        self.cancellations.fetch_add(1, Ordering::Relaxed);
    }

    fn is_good(&self, count: &Count, limit: i64) -> bool {
        let age = since(count.at);
        match count.runs < limit {
            true => age < COUNT_AGE_MAX,
            false => age < FULL_AGE_MAX && count.cancellations == self.cancellations.load(Ordering::Relaxed),
        }
    }

    async fn count(&self, owner: UserId) -> Result<Count, StoreError> {
        let (at, cancellations) = (monotonic(), self.cancellations.load(Ordering::Relaxed));
        let mut reader = self.store.reader().await?;
        let runs = quota::count(&mut reader.db(), Quota::WaitingRuns, owner).await?;
        Ok(Count {
            runs,
            at,
            cancellations,
        })
    }

    fn known(&self, owner: UserId) -> Known {
        let mut counts = self.counts();
        if counts.len() >= USERS_MAX && !counts.contains_key(&owner) {
            counts.retain(|_, known| {
                let count = known.try_lock();
                count.map_or(true, |count| {
                    count.is_some_and(|count| since(count.at) < COUNT_AGE_MAX)
                })
            });
        }
        match counts.len() < USERS_MAX {
            true => counts.entry(owner).or_default().clone(),
            false => counts.get(&owner).cloned().unwrap_or_default(),
        }
    }

    fn counts(&self) -> MutexGuard<'_, HashMap<UserId, Known>> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
