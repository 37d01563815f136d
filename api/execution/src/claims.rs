//! Runs that servers of the role `api` have accepted: claimed by those that execute as soon as these have room, and
//! never more than that, so that the others find the rest.

use super::poller::keep_looking;
use super::{Inner, recover};
use heddle_model::error::ServiceError;
use heddle_model::ids::UserId;
use heddle_model::tenant::Tenant;
use heddle_store::runs::upkeep::{self, Claim};
use std::sync::Arc;
use std::time::Duration;

/// Runs claimed by one statement.
const GROUP_MAX: usize = 256;
/// What was accepted while nothing was heard is seen within this time.
const PAUSE_MAX: Duration = Duration::from_secs(1);
/// Until there may be room again.
const PAUSE_FULL: Duration = Duration::from_millis(2);
/// The same for tenants that have as much here as they may.
const PAUSE_PARTLY_FULL: Duration = Duration::from_millis(20);

/// Begins to claim runs, in the background.
pub(super) fn start(inner: &Arc<Inner>) {
    if !inner.store.is_shared() {
        return;
    }
    keep_looking(
        inner,
        |inner| &inner.claims,
        "Accepted runs could not be claimed",
        look,
    );
}

/// Claims while there is something and room for it; how long to rest then.
async fn look(inner: Arc<Inner>) -> Result<Duration, ServiceError> {
    while !*inner.stopping.borrow() && inner.lease.is_valid().await {
        let room = inner.queue.room();
        let runs_max = room.runs.min(GROUP_MAX);
        if runs_max == 0 {
            return Ok(PAUSE_FULL);
        }
        let claim = Claim {
            owner: inner.lease.owner(),
            runs_max: count(runs_max),
            tenant_runs_max: count(room.tenant_runs_max),
            full: room.full.iter().map(Tenant::to_string).collect(),
            full_owners: room.full_owners.iter().map(UserId::to_string).collect(),
        };
        let is_partial = !room.full.is_empty() || !room.full_owners.is_empty();
        let claimed = group(&inner, claim).await?;
        if claimed < runs_max {
            return Ok(if is_partial { PAUSE_PARTLY_FULL } else { PAUSE_MAX });
        }
    }
    Ok(PAUSE_MAX)
}

fn count(runs: usize) -> i64 {
    i64::try_from(runs).unwrap_or(i64::MAX)
}

/// How many were claimed.
async fn group(inner: &Arc<Inner>, claim: Claim) -> Result<usize, ServiceError> {
    let owner = claim.owner.clone();
    let rows = inner
        .store
        .write(move |db| Box::pin(async move { upkeep::claim(db, claim).await }))
        .await?;
    let count = rows.len();
    for row in rows {
        recover::go_on(inner, row, &owner).await?;
    }
    Ok(count)
}
