//! Runs that a server left running are taken up again, oldest first and a few at a time. What may have brought the server
//! down is tried first (`trials`).
//!
//! A server has left its runs when its lease is over and its row is removed, which any other one does.

use crate::lease::Lease;
use crate::live;
use crate::live_runs::LiveRuns;
use crate::poller::{self, Wakeup};
use crate::queue::Queue;
use crate::resume::Resumer;
use crate::stop::Stop;
use crate::trials::Trials;
use heddle_model::error::ServiceError;
use heddle_model::ids::RunId;
use heddle_store::runs::upkeep;
use heddle_store::{Store, StoreError, servers};
use metrics::{counter, gauge};
use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Runs taken up at once.
const GROUP_MAX: usize = 64;
/// How long a group's runs may take before the next group follows.
const GROUP_PATIENCE: Duration = Duration::from_secs(1);

/// Takes up the runs that servers have left.
pub(crate) struct Recovery {
    pub store: Store,
    pub lease: Arc<Lease>,
    pub queue: Queue,
    pub live: Arc<LiveRuns>,
    pub resumer: Resumer,
    pub trials: Trials,
    pub left: Wakeup,
    pub stop: Stop,
    /// Runs that were strays at the last look.
    pub strays: Mutex<HashSet<RunId>>,
}

impl Recovery {
    /// Tries what is to be tried before this server does anything else.
    pub async fn try_suspects(&self) {
        self.trials.before_all().await;
    }

    /// Looks in the background, again and again, for servers that have gone and for runs that nobody has.
    pub fn start(self) {
        let (stop, left) = (self.stop.clone(), self.left.clone());
        let this = Arc::new(self);
        poller::start(
            &stop,
            &left,
            "Runs that were left could not be taken up",
            move || {
                let this = this.clone();
                async move { this.look().await }
            },
        );
    }

    /// Takes up what there is; how long to rest then.
    async fn look(&self) -> Result<Duration, ServiceError> {
        let period = self.lease.period();
        if !self.lease.is_valid().await {
            return Ok(period);
        }
        if self.store.is_shared() && self.lease.may_judge() {
            self.remove_expired().await?;
        }
        let (servers, executing) = servers::count(&mut self.store.reader().await?.db()).await?;
        gauge!("heddle_servers").set(servers as f64);
        self.queue.share_among(usize::try_from(executing).unwrap_or(1));
        self.hand_back_strays().await?;
        while !self.stop.has_begun() && self.take_up_group().await? > 0 {}
        self.trials.look().await?;
        Ok(period)
    }

    async fn remove_expired(&self) -> Result<(), ServiceError> {
        let removed = self.store.write(|db| {
            Box::pin(async move {
                let now = servers::now(db).await?;
                servers::remove_expired(db, now).await
            })
        });
        let removed: Result<u64, StoreError> = removed.await;
        match removed? {
            0 => {}
            servers => tracing::warn!(
                servers,
                "Servers did not renew their leases: their runs are taken up"
            ),
        }
        Ok(())
    }

    /// Gives up runs that are this server's in the database and not in memory, seen so twice: the answer of the database
    /// was lost, or something failed after it.
    async fn hand_back_strays(&self) -> Result<(), ServiceError> {
        let owner = self.lease.owner();
        let owned = upkeep::owned(&mut self.store.reader().await?.db(), &owner).await?;
        let strays = self.live.missing(owned.into_iter().map(|(run,)| run));
        let certain: Vec<RunId> = {
            let mut before = self.strays.lock().unwrap_or_else(PoisonError::into_inner);
            let certain = strays.intersection(&before).copied().collect();
            *before = strays;
            certain
        };
        for runs in certain.chunks(GROUP_MAX).map(<[RunId]>::to_vec) {
            tracing::warn!(
                runs = runs.len(),
                "Runs of this server got lost in between: they are taken up again"
            );
            let owner = owner.clone();
            let handed = self
                .store
                .write(move |db| Box::pin(async move { upkeep::hand_back(db, &owner, &runs).await }));
            handed.await?;
        }
        Ok(())
    }

    /// Takes up some runs that nobody has; how many there were.
    async fn take_up_group(&self) -> Result<usize, ServiceError> {
        let owner = self.lease.owner();
        let taking = owner.clone();
        let limit = i64::try_from(GROUP_MAX).unwrap_or(i64::MAX);
        let left = self
            .store
            .write(move |db| Box::pin(async move { upkeep::take_up(db, &taking, limit).await }))
            .await?;
        let count = left.len();
        let mut ends = Vec::with_capacity(count);
        for row in left {
            counter!("heddle_runs_taken_up_total").increment(1);
            ends.extend(self.resumer.resume(row, &owner).await?);
        }
        let all_ended = async {
            for end in ends {
                live::wait(end).await;
            }
        };
        // Slow ones go on while the next group begins.
        let _ = tokio::time::timeout(GROUP_PATIENCE, all_ended).await;
        Ok(count)
    }
}
