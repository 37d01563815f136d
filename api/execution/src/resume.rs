//! Going on with runs that this server has taken from the database: those that were left, woken or claimed. Knows nothing
//! of which ones to take.

use crate::active_deployments::ActiveDeployments;
use crate::cancel::Canceller;
use crate::deployment::{ActiveDeployment, tenant_of};
use crate::dispatcher::Dispatcher;
use crate::live::{End, Ended, Live};
use crate::live_runs::LiveRuns;
use crate::modules::{LoadError, Modules, Unusable};
use crate::queue::{Queue, Reservation};
use crate::run::{Event, Run};
use crate::run_error::run_error;
use crate::tenants::Tenants;
use heddle_model::clock::{Clock, monotonic};
use heddle_model::error::ServiceError;
use heddle_model::ids::UserId;
use heddle_model::status::RunStatus;
use heddle_model::workspace_quota::WorkspaceQuota;
use heddle_store::runs::left::LeftRow;
use heddle_store::{Store, deployments};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a run waits for room in the queue. Whoever takes runs up does so one after the other, and those of others are not to wait until
/// the owner of this one has room: it goes without then, and without its event, as runs do that are tried again.
const ROOM_PATIENCE: Duration = Duration::from_millis(100);
/// For how long no other run of that owner waits: there may be many.
const FULL_FOR: Duration = Duration::from_secs(1);

/// Owners for whose room a run has waited in vain, and when.
#[derive(Debug, Default)]
pub(crate) struct FullOwners(Mutex<HashMap<UserId, Instant>>);

impl FullOwners {
    fn known(&self) -> MutexGuard<'_, HashMap<UserId, Instant>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How long a run of this owner waits for room.
    fn patience(&self, owner: UserId, now: Instant) -> Duration {
        let found = self.known().get(&owner).copied();
        match found.is_some_and(|at| now.saturating_duration_since(at) < FULL_FOR) {
            true => Duration::ZERO,
            false => ROOM_PATIENCE,
        }
    }

    /// One has waited as long.
    fn note(&self, owner: UserId, now: Instant) {
        let mut known = self.known();
        known.retain(|_, at| now.saturating_duration_since(*at) < FULL_FOR);
        known.insert(owner, now);
    }
}

/// Goes on with runs. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Resumer {
    pub store: Store,
    pub clock: Clock,
    pub queue: Queue,
    pub live: Arc<LiveRuns>,
    pub modules: Arc<Modules>,
    pub active: Arc<ActiveDeployments>,
    pub tenants: Tenants,
    pub dispatcher: Arc<Dispatcher>,
    pub canceller: Arc<Canceller>,
    pub full: Arc<FullOwners>,
}

impl Resumer {
    /// Queues a run that has waited, as [`Resumer::resume`] does: its workspace has one less that waits.
    pub async fn wake(&self, row: LeftRow, owner: &Arc<str>) -> Result<Option<End>, ServiceError> {
        if let Some(slot) = row.slot()
            && let Some(active) = self.active.in_slot(slot).await?
        {
            active.state.remove_one(WorkspaceQuota::WaitingRuns);
        }
        self.go_on(row, owner, true).await
    }

    /// Queues a run that this server has taken; gives its end to wait for, unless it starts later.
    pub async fn resume(&self, row: LeftRow, owner: &Arc<str>) -> Result<Option<End>, ServiceError> {
        self.go_on(row, owner, false).await
    }

    async fn go_on(
        &self,
        row: LeftRow,
        owner: &Arc<str>,
        has_parked: bool,
    ) -> Result<Option<End>, ServiceError> {
        let wait = self.until_due(&row);
        let Some(mut run) = self.in_memory(row, owner, has_parked).await? else {
            return Ok(None);
        };
        if let Some(wait) = wait {
            run.event.leave();
            self.dispatcher.queue_after(run, wait);
            return Ok(None);
        }
        let end = run.live.watch();
        let (share, bytes) = (run.deployment.share(), run.event.bytes());
        let reserving = self.queue.reserve_patiently(share, bytes);
        let patience = self.full.patience(share.owner, monotonic());
        // Room that is there is given at once, also to one that does not wait.
        let reservation = tokio::time::timeout(patience, reserving).await.ok();
        if reservation.is_none() && !patience.is_zero() {
            self.full.note(share.owner, monotonic());
        }
        if reservation.as_ref().is_none_or(Reservation::is_stored) {
            run.event.leave();
        }
        self.dispatcher.queue(run, reservation);
        Ok(Some(end))
    }

    /// How long until the run's next attempt is due; `None`: it is due.
    pub fn until_due(&self, row: &LeftRow) -> Option<Duration> {
        let wait_ms = row
            .resumes_at
            .unwrap_or(0)
            .saturating_sub(self.clock.now().millis());
        let wait_ms = u64::try_from(wait_ms).ok().filter(|wait_ms| *wait_ms > 0)?;
        Some(Duration::from_millis(wait_ms))
    }

    /// A run that this server has taken, in memory; `None`: nothing is to be done about it.
    pub async fn prepare(&self, row: LeftRow, owner: &Arc<str>) -> Result<Option<Run>, ServiceError> {
        self.in_memory(row, owner, false).await
    }

    /// `has_parked`: it was parked when it was taken, which this server may be about to hear.
    async fn in_memory(
        &self,
        row: LeftRow,
        owner: &Arc<str>,
        has_parked: bool,
    ) -> Result<Option<Run>, ServiceError> {
        let active = match self.deployment_of(&row).await {
            Ok(Some(active)) => active,
            Ok(None) => return Ok(None),
            Err(LoadError::Failed(error)) => return Err(error),
            Err(LoadError::Unusable(reason)) => {
                self.give_up(&row, owner, &reason).await?;
                return Ok(None);
            }
        };
        let new = || Live::new(active.id, active.share());
        let live = self.live.take_up(row.id, has_parked, new);
        Ok(Some(run(row, owner.clone(), active, live)))
    }

    /// The deployment with the module that the run began with; `None`: it was deleted in the meantime, and its runs with
    /// it.
    async fn deployment_of(&self, row: &LeftRow) -> Result<Option<Arc<ActiveDeployment>>, LoadError> {
        let Some(slot) = row.slot() else {
            return Ok(None);
        };
        let is_same = |active: &Arc<ActiveDeployment>| {
            active.id == row.deployment_id
                && *active.artifact == *row.artifact
                && active.version_number == row.version_number
        };
        if let Some(active) = self.active.in_slot(slot).await?.filter(is_same) {
            return Ok(Some(active));
        }
        let found =
            deployments::by_id_for_system(&mut self.store.reader().await?.db(), row.deployment_id).await?;
        let Some(mut deployment) = found else {
            return Ok(None);
        };
        deployment.artifact.clone_from(&row.artifact);
        deployment.version_number = row.version_number;
        let program = self.modules.load(&deployment).await?;
        let state = self.tenants.of(tenant_of(&deployment)).await?;
        Ok(Some(Arc::new(ActiveDeployment::new(&deployment, program, state))))
    }

    /// Ends a run whose module is not there, so that it can't be in memory.
    async fn give_up(&self, row: &LeftRow, owner: &Arc<str>, reason: &Unusable) -> Result<(), ServiceError> {
        let message = format!("The run's module can't be loaded: {reason}");
        let ended = Ended::failed(RunStatus::Failure, run_error(reason.run_code(), message));
        self.canceller.end_left(row, owner, ended).await?;
        Ok(())
    }
}

fn run(row: LeftRow, owner: Arc<str>, deployment: Arc<ActiveDeployment>, live: Arc<Live>) -> Run {
    let event = Event::Here(Event::of_stored(row.event));
    Run {
        id: row.id,
        owner,
        deployment,
        triggered_by: row.triggered_by,
        node_id: row.node_id,
        event_bytes: event.bytes(),
        event,
        attempt: u32::try_from(row.attempt).unwrap_or(1),
        wait: row.awaited,
        accepted_at: row.accepted_at,
        parent: row.parent_id.zip(row.parent_key),
        depth: u32::try_from(row.depth).unwrap_or(u32::MAX),
        has_history: true,
        was_taken: true,
        kept_bytes: 0,
        has_parked: row.started_at.is_some(),
        fuel_before: row.total_fuel.unwrap_or(0),
        is_suspect: row.suspicion > 0,
        live,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_one_owner_one_run_waits_for_room_at_a_time() {
        let (full, eve, ann) = (FullOwners::default(), UserId::new(), UserId::new());
        let now = monotonic();
        assert_eq!(full.patience(eve, now), ROOM_PATIENCE);
        full.note(eve, now);
        assert_eq!(full.patience(eve, now), Duration::ZERO);
        assert_eq!(full.patience(ann, now), ROOM_PATIENCE);
        let later = now + FULL_FOR;
        assert_eq!(full.patience(eve, later), ROOM_PATIENCE);
        full.note(ann, later);
        assert_eq!(full.known().len(), 1);
    }
}
