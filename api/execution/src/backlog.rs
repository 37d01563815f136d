//! What a server that only accepts knows of the runs that wait to be claimed: enough to refuse more of them in time. It
//! counts what it accepts, and asks the database now and then for what all have accepted and nobody has claimed.

use crate::queue::{Full, Limits, fits};
use crate::stop::Stop;
use heddle_model::error::chain;
use heddle_model::ids::UserId;
use heddle_store::panics::unless_it_panics;
use heddle_store::runs::upkeep;
use heddle_store::{Store, StoreError};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

const COUNT_EVERY: Duration = Duration::from_millis(500);

/// Runs that wait to be claimed, by owner.
#[derive(Debug)]
pub(crate) struct Backlog {
    limits: Limits,
    waiting: Mutex<HashMap<UserId, usize>>,
}

impl Backlog {
    pub fn new(limits: Limits) -> Self {
        Backlog {
            limits,
            waiting: Mutex::default(),
        }
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<UserId, usize>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts one more, unless all that waits, or the owner's part of it, is too much already.
    pub fn add(&self, owner: UserId) -> Result<(), Full> {
        let mut waiting = self.waiting();
        let own = waiting.get(&owner).copied().unwrap_or(0);
        let of_all: usize = waiting.values().sum();
        if !fits(own, of_all, 1, self.limits.waiting_max) {
            return Err(Full);
        }
        waiting.insert(owner, own + 1);
        Ok(())
    }

    /// Begins to count, in the background, what all servers have accepted and nobody has claimed.
    pub fn start(self: &Arc<Self>, store: Store, stop: Stop) {
        let this = self.clone();
        tokio::spawn(async move {
            let mut stopping = stop.watch();
            while !stop.has_begun() {
                // A panic was told. Without counts, what has been claimed long since would keep others out.
                if let Some(Err(error)) = unless_it_panics(this.count(&store)).await {
                    tracing::warn!("Can't count the runs that wait to be claimed: {}", chain(&error));
                }
                tokio::select! {
                    _ = stopping.changed() => {}
                    () = tokio::time::sleep(COUNT_EVERY) => {}
                }
            }
        });
    }

    async fn count(&self, store: &Store) -> Result<(), StoreError> {
        let limit = i64::try_from(self.limits.waiting_max).unwrap_or(i64::MAX);
        let rows = upkeep::unclaimed(&mut store.reader().await?.db(), limit).await?;
        let mut found = HashMap::new();
        for (owner, runs) in rows {
            *found.entry(owner).or_default() += usize::try_from(runs).unwrap_or(0);
        }
        metrics::gauge!("heddle_runs_unclaimed").set(found.values().sum::<usize>() as f64);
        *self.waiting() = found;
        Ok(())
    }
}
