//! How many runs of each user wait, and how large what is kept of them is, so that nobody fills the database with them. Counted
//! once in a while, and not for every run: it does no harm that a limit may be exceeded by what happens within a minute on other servers.
//! Who has as many as may be is counted again after a second, or at once after a waiting run was cancelled; whose runs were measured
//! to be as large as they may be, after ten.

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
/// How long measured bytes that leave no room are good for: to measure them, all that is kept of each run is looked at.
const FULL_BYTES_AGE_MAX: Duration = Duration::from_secs(10);
/// Users whose counts are remembered; past it, old counts are forgotten.
const USERS_MAX: usize = 10_000;

/// Runs that wait, by the users who own their workspaces.
pub(crate) struct WaitingRuns {
    store: Store,
    limit: Option<i64>,
    bytes_limit: Option<i64>,
    counts: Mutex<HashMap<UserId, Known>>,
    /// How often waiting runs were cancelled.
    cancellations: AtomicU64,
}

/// What is known of a user. Held while it is counted, so that those who come meanwhile wait for the result rather than count
/// too.
type Known = Arc<tokio::sync::Mutex<Counts>>;

#[derive(Default)]
struct Counts {
    runs: Option<Count>,
    bytes: Option<Bytes>,
}

impl Counts {
    fn is_old(&self) -> bool {
        let is_old = |at: Instant| since(at) >= COUNT_AGE_MAX;
        self.runs.is_none_or(|runs| is_old(runs.at)) && self.bytes.is_none_or(|bytes| is_old(bytes.at))
    }
}

#[derive(Clone, Copy)]
struct Count {
    runs: i64,
    at: Instant,
    /// Cancellations before it was counted.
    cancellations: u64,
}

#[derive(Clone, Copy)]
struct Bytes {
    measured: i64,
    /// Bytes of runs that have begun to wait since then. It is more than is stored, which is compressed, and some of them wait no more.
    added: i64,
    at: Instant,
}

impl WaitingRuns {
    pub fn new(store: Store, quotas: &Quotas) -> Self {
        WaitingRuns {
            store,
            limit: quotas.limit(Quota::WaitingRuns),
            bytes_limit: quotas.limit(Quota::WaitingRunBytes),
            counts: Mutex::default(),
            cancellations: AtomicU64::new(0),
        }
    }

    /// Counts a run of this user that begins to wait, or does so again, of which so many bytes are kept. The error says that
    /// there are too many.
    pub async fn add(
        &self,
        owner: UserId,
        is_new: bool,
        bytes: usize,
    ) -> Result<Result<(), Exceeded>, StoreError> {
        if self.limit.is_none() && self.bytes_limit.is_none() {
            return Ok(Ok(()));
        }
        let known = self.known(owner);
        let mut known = known.lock().await;
        // What a run has that has waited before is there already, but for what has come since it was measured.
        let bytes = if is_new {
            i64::try_from(bytes).unwrap_or(i64::MAX)
        } else {
            0
        };
        if let Some(limit) = self.bytes_limit {
            let measured = match known.bytes.filter(|measured| measured.is_good(bytes, limit)) {
                Some(measured) => measured,
                None => self.measure(owner).await?,
            };
            known.bytes = Some(measured);
            if measured.with(bytes) > limit {
                let quota = Quota::WaitingRunBytes;
                return Ok(Err(Exceeded { quota, limit }));
            }
        }
        if is_new && let Some(limit) = self.limit {
            let count = match known.runs.filter(|count| self.is_good(count, limit)) {
                Some(count) => count,
                None => self.count(owner).await?,
            };
            let fits = count.runs < limit;
            known.runs = Some(Count {
                runs: count.runs + i64::from(fits),
                ..count
            });
            if !fits {
                let quota = Quota::WaitingRuns;
                return Ok(Err(Exceeded { quota, limit }));
            }
        }
        if let Some(measured) = &mut known.bytes {
            measured.added = measured.added.saturating_add(bytes);
        }
        Ok(Ok(()))
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

    async fn measure(&self, owner: UserId) -> Result<Bytes, StoreError> {
        let at = monotonic();
        let mut reader = self.store.reader().await?;
        let measured = quota::count(&mut reader.db(), Quota::WaitingRunBytes, owner).await?;
        Ok(Bytes {
            measured,
            added: 0,
            at,
        })
    }

    fn known(&self, owner: UserId) -> Known {
        let mut counts = self.counts();
        if counts.len() >= USERS_MAX && !counts.contains_key(&owner) {
            // One that is locked is being counted.
            counts.retain(|_, known| known.try_lock().map_or(true, |known| !known.is_old()));
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

impl Bytes {
    /// With those of one more.
    const fn with(self, bytes: i64) -> i64 {
        self.measured.saturating_add(self.added).saturating_add(bytes)
    }

    /// Whether it need not be measured again to add so many.
    fn is_good(self, bytes: i64, limit: i64) -> bool {
        let age_max = if self.with(bytes) <= limit {
            COUNT_AGE_MAX
        } else if self.measured.saturating_add(bytes) <= limit {
            FULL_AGE_MAX
        } else {
            FULL_BYTES_AGE_MAX
        };
        since(self.at) < age_max
    }
}
