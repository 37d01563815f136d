//! What this server does about changes that others have made.

use crate::active_deployments::ActiveDeployments;
use crate::attempt::cancelled;
use crate::cancel::Canceller;
use crate::deploy::Deployer;
use crate::environments::Environments;
use crate::held_runs::HeldRuns;
use crate::lease::Lease;
use crate::live::Ended;
use crate::live_runs::LiveRuns;
use crate::poller::Wakeups;
use crate::tenants::Tenants;
use heddle_model::error::ServiceError;
use heddle_model::ids::{DeploymentId, PatternId, RunId, WorkspaceId};
use heddle_model::status::RunStatus;
use heddle_store::notices::Notice;
use heddle_store::runs::{responses, upkeep};
use heddle_store::{Store, deployments};
use serde_json::value::RawValue;
use std::collections::HashSet;
use std::sync::Arc;

/// Runs asked for by one statement.
const GROUP_MAX: usize = 256;

/// Follows changes that others have made.
pub(crate) struct NoticeFollower {
    pub store: Store,
    pub lease: Arc<Lease>,
    pub live: Arc<LiveRuns>,
    pub held: Arc<HeldRuns>,
    pub active: Arc<ActiveDeployments>,
    pub environments: Arc<Environments>,
    pub canceller: Arc<Canceller>,
    pub deployer: Arc<Deployer>,
    pub wakeups: Wakeups,
    pub tenants: Tenants,
}

impl NoticeFollower {
    /// Brings memory in line with a change.
    pub async fn follow(&self, notice: Notice) -> Result<(), ServiceError> {
        match notice {
            Notice::Deployment(deployment) => self.deployment_changed(deployment).await?,
            Notice::Deployed(pattern) => self.deployed(pattern).await?,
            Notice::Workspace(workspace) => self.workspace_changed(workspace).await?,
            Notice::Environments => self.environments.changed(),
            Notice::Cancelled(run) => self.canceller.cancelled_elsewhere(run),
            Notice::Ended(run) => self.ended_elsewhere(run).await?,
            Notice::Woken => self.wakeups.parked.wake(),
            Notice::Left => self.wakeups.left.wake(),
            Notice::Accepted => self.wakeups.accepted.wake(),
            Notice::Everything => self.everything_changed().await?,
            Notice::Endpoints(_) => {}
        }
        Ok(())
    }

    async fn deployment_changed(&self, deployment: DeploymentId) -> Result<(), ServiceError> {
        let row = deployments::by_id_for_system(&mut self.store.reader().await?.db(), deployment).await?;
        match row {
            Some(row) => self.deployer.changed(&row).await,
            None => {
                self.active.forget_deployment(deployment);
                let canceller = self.canceller.clone();
                // Other changes need not wait until all of its runs have ended.
                tokio::spawn(async move { canceller.cancel_all(deployment).await });
            }
        }
        Ok(())
    }

    /// Reads quotas again, and which deployments are held: those of a workspace that is suspended are.
    async fn workspace_changed(&self, workspace: WorkspaceId) -> Result<(), ServiceError> {
        // First what is held: measuring takes time, and may fail.
        self.deployments_changed().await?;
        self.wakeups.parked.wake();
        self.wakeups.left.wake();
        self.tenants.changed(workspace).await?;
        Ok(())
    }

    async fn deployments_changed(&self) -> Result<(), ServiceError> {
        self.active.forget_all();
        let _order = self.held.in_order().await;
        let paused = deployments::paused(&mut self.store.reader().await?.db()).await?;
        let paused: HashSet<DeploymentId> = paused.into_iter().map(|(deployment,)| deployment).collect();
        for deployment in self.held.set_paused(paused) {
            self.deployer.release(deployment);
        }
        Ok(())
    }

    async fn deployed(&self, pattern: PatternId) -> Result<(), ServiceError> {
        self.active.forget_pattern(pattern);
        let rows = deployments::of_pattern_for_system(&mut self.store.reader().await?.db(), pattern).await?;
        for row in &rows {
            self.deployer.changed(row).await;
        }
        Ok(())
    }

    /// Tells those who wait here for the end of a run that another server executes, or for its response.
    async fn ended_elsewhere(&self, run: RunId) -> Result<(), ServiceError> {
        let Some(found) = self.live.get(run).filter(|found| found.is_parked()) else {
            return Ok(());
        };
        let mut reader = self.store.reader().await?;
        let row = upkeep::end_of(&mut reader.db(), run).await?;
        let response = responses::of(&mut reader.db(), run).await?;
        drop(reader);
        let ended = match row {
            Some(row) if row.status == RunStatus::Running && response.is_none() => return Ok(()),
            Some(row) => Ended {
                status: row.status,
                output: row.output.and_then(|output| RawValue::from_string(output).ok()),
                error: row
                    .error
                    .as_deref()
                    .and_then(|error| serde_json::from_str(error).ok()),
                response: response.and_then(|response| RawValue::from_string(response).ok()),
            },
            // It may be about to be stored.
            None if !self.lease.executes() => return Ok(()),
            None => cancelled(),
        };
        self.live.remove(run);
        found.end(ended);
        Ok(())
    }

    /// After changes that this server has not heard of.
    async fn everything_changed(&self) -> Result<(), ServiceError> {
        self.active.forget_all();
        self.environments.changed();
        self.deployments_changed().await?;
        self.wakeups.parked.wake();
        self.wakeups.left.wake();
        self.wakeups.accepted.wake();
        self.tenants.all_changed().await;
        let live = self.live.all();
        for group in live.chunks(GROUP_MAX) {
            let runs: Vec<RunId> = group.iter().map(|(run, _)| *run).collect();
            let running = upkeep::running_of(&mut self.store.reader().await?.db(), &runs).await?;
            let running: HashSet<RunId> = running.into_iter().map(|(run,)| run).collect();
            for (run, live) in group.iter().filter(|(run, _)| !running.contains(run)) {
                if !self.canceller.cancel_here(*run, live) {
                    self.ended_elsewhere(*run).await?;
                }
            }
        }
        Ok(())
    }
}
