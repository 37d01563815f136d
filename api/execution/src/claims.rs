//! Runs that servers of the role `api` have accepted: claimed by those that execute as soon as these have room, and
//! never more than that, so that the others find the rest.

use crate::lease::Lease;
use crate::poller::{self, Wakeup};
use crate::queue::Queue;
use crate::resume::Resumer;
use crate::stop::Stop;
use heddle_model::error::ServiceError;
use heddle_model::ids::UserId;
use heddle_model::tenant::Tenant;
use heddle_store::Store;
use heddle_store::runs::upkeep::{self, Claim};
use std::sync::Arc;
use std::time::Duration;

/// Runs claimed by one statement.
const GROUP_MAX: usize = 256;
/// What was accepted while nothing was heard is seen within this time.
const PAUSE_MAX: Duration = Duration::from_secs(1);
/// Until there may be room again.
const PAUSE_FULL: Duration = Duration::from_millis(2);
/// Until tenants that have as much here as they may are looked at again.
const PAUSE_PARTLY_FULL: Duration = Duration::from_millis(20);

/// Claims runs.
pub(crate) struct Claims {
    pub store: Store,
    pub lease: Arc<Lease>,
    pub queue: Queue,
    pub resumer: Resumer,
    pub accepted: Wakeup,
    pub stop: Stop,
}

impl Claims {
    /// Begins to claim runs, in the background, if other servers can have accepted any.
    pub fn start(self) {
        if !self.store.is_shared() {
            return;
        }
        let (stop, accepted) = (self.stop.clone(), self.accepted.clone());
        let this = Arc::new(self);
        poller::start(
            &stop,
            &accepted,
            "Accepted runs could not be claimed",
            move || {
                let this = this.clone();
                async move { this.look().await }
            },
        );
    }

    /// Claims while there is something and room for it; how long to rest then.
    async fn look(&self) -> Result<Duration, ServiceError> {
        while !self.stop.has_begun() && self.lease.is_valid().await {
            let room = self.queue.room();
            let runs_max = room.runs.min(GROUP_MAX);
            if runs_max == 0 {
                return Ok(PAUSE_FULL);
            }
            let claim = Claim {
                owner: self.lease.owner(),
                runs_max: count(runs_max),
                tenant_runs_max: count(room.tenant_runs_max),
                full: room.full.iter().map(Tenant::to_string).collect(),
                full_owners: room.full_owners.iter().map(UserId::to_string).collect(),
            };
            let is_partial = !room.full.is_empty() || !room.full_owners.is_empty();
            let claimed = self.claim(claim).await?;
            if claimed < runs_max {
                return Ok(if is_partial { PAUSE_PARTLY_FULL } else { PAUSE_MAX });
            }
        }
        Ok(PAUSE_MAX)
    }

    /// Claims some; how many those were.
    async fn claim(&self, claim: Claim) -> Result<usize, ServiceError> {
        let owner = claim.owner.clone();
        let rows = self
            .store
            .write(move |db| Box::pin(async move { upkeep::claim(db, claim).await }))
            .await?;
        let count = rows.len();
        let _taken = self.resumer.live.take(rows.iter().map(|row| row.id));
        for row in rows {
            self.resumer.resume(row, &owner).await?;
        }
        Ok(count)
    }
}

fn count(runs: usize) -> i64 {
    i64::try_from(runs).unwrap_or(i64::MAX)
}
