//! What a server that only accepts knows of the runs that wait to be claimed: enough to refuse more of them in time. It
//! counts what it accepts, and asks the database now and then for what all have accepted and nobody has claimed.

use super::Inner;
use super::queue::{Full, Limits, fits};
use heddle_model::ids::UserId;
use heddle_store::StoreError;
use heddle_store::runs::upkeep;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

const LOOK_EVERY: Duration = Duration::from_millis(500);

/// Runs that wait to be claimed, by owner.
#[derive(Debug)]
pub(super) struct Backlog {
    limits: Limits,
    waiting: Mutex<HashMap<UserId, usize>>,
}

impl Backlog {
    /// Empty.
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
}

/// Begins to look, in the background.
pub(super) fn start(inner: &Arc<Inner>) {
    let inner = inner.clone();
    tokio::spawn(async move {
        let mut stopping = inner.stopping.subscribe();
        while !*stopping.borrow() {
            if let Err(error) = look(&inner).await {
                tracing::warn!("How many runs wait to be claimed is not known for now: {error}");
            }
            tokio::select! {
                _ = stopping.changed() => {}
                () = tokio::time::sleep(LOOK_EVERY) => {}
            }
        }
    });
}

async fn look(inner: &Inner) -> Result<(), StoreError> {
    let limit = i64::try_from(inner.backlog.limits.waiting_max).unwrap_or(i64::MAX);
    let rows = upkeep::unclaimed(&mut inner.store.reader().await?.db(), limit).await?;
    let mut found = HashMap::new();
    for (owner, runs) in rows {
        *found.entry(owner).or_default() += usize::try_from(runs).unwrap_or(0);
    }
    metrics::gauge!("heddle_runs_unclaimed").set(found.values().sum::<usize>() as f64);
    *inner.backlog.waiting() = found;
    Ok(())
}
