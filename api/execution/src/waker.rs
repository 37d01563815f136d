//! Parked runs: rows and nothing else, until their time has come or something has come for them. Then they are taken
//! up, and come by their journals to the place where they were.

use crate::lease::Lease;
use crate::poller::{self, Wakeup};
use crate::resume::Resumer;
use crate::stop::Stop;
use heddle_model::clock::Clock;
use heddle_model::error::{ServiceError, chain};
use heddle_model::tenant::Tenant;
use heddle_store::Store;
use heddle_store::runs::{journal, upkeep};
use metrics::counter;
use std::sync::Arc;
use std::time::Duration;

/// Runs taken up at once.
const GROUP_MAX: i64 = 64;
/// What another server has woken, or a clock that was set, is seen within this time.
const PAUSE_MAX: Duration = Duration::from_secs(1);
const PAUSE_MIN: Duration = Duration::from_millis(2);
/// Until fewer runs may wait of tenants of whom many did.
const PAUSE_FULL: Duration = Duration::from_millis(100);

/// Wakes parked runs.
pub(crate) struct Waker {
    pub store: Store,
    pub clock: Clock,
    pub lease: Arc<Lease>,
    pub resumer: Resumer,
    pub parked: Wakeup,
    pub stop: Stop,
}

impl Waker {
    /// Begins to wake runs, in the background.
    pub fn start(self) {
        let (stop, parked) = (self.stop.clone(), self.parked.clone());
        let this = Arc::new(self);
        poller::start(&stop, &parked, "Parked runs could not be taken up", move || {
            let this = this.clone();
            async move { this.look().await }
        });
    }

    /// Takes up what is due; how long to rest then.
    async fn look(&self) -> Result<Duration, ServiceError> {
        loop {
            if !self.lease.is_valid().await {
                return Ok(PAUSE_MAX);
            }
            let next = journal::next_wake(&mut self.store.reader().await?.db()).await?;
            let Some(next) = next else {
                return Ok(PAUSE_MAX);
            };
            let wait_ms = next.millis().saturating_sub(self.clock.now().millis());
            if let Ok(wait_ms) = u64::try_from(wait_ms)
                && wait_ms > 0
            {
                return Ok(Duration::from_millis(wait_ms).min(PAUSE_MAX));
            }
            // They would only wait in memory, where there may be a hundred thousand of them.
            let full = self.resumer.queue.long_lanes();
            let full: Vec<String> = full.iter().map(Tenant::to_string).collect();
            let is_partial = !full.is_empty();
            if self.wake_group(full).await? == 0 {
                // None: another server was faster, or they are left for now.
                return Ok(if is_partial { PAUSE_FULL } else { PAUSE_MIN });
            }
            if self.stop.has_begun() {
                return Ok(PAUSE_MIN);
            }
        }
    }

    /// Wakes some runs that are due, but for those of these tenants; how many those were.
    async fn wake_group(&self, full: Vec<String>) -> Result<usize, ServiceError> {
        let (owner, now) = (self.lease.owner(), self.clock.now());
        let waking = owner.clone();
        let due = self
            .store
            .write(move |db| {
                Box::pin(
                    async move { upkeep::wake_up(db, (&*waking, full.as_slice()), now, GROUP_MAX).await },
                )
            })
            .await?;
        let count = due.len();
        let _taken = self.resumer.live.take(due.iter().map(|row| row.id));
        for row in due {
            counter!("heddle_runs_woken_total").increment(1);
            let run = row.id;
            if let Err(error) = self.resumer.wake(row, &owner).await {
                tracing::error!(%run, "A parked run could not be taken up: {}", chain(&error));
                let (owner, again) = (owner.clone(), now.plus(PAUSE_MAX));
                self.store
                    .write(move |db| {
                        Box::pin(async move { upkeep::park_again(db, &owner, run, again).await })
                    })
                    .await?;
            }
        }
        Ok(count)
    }
}
