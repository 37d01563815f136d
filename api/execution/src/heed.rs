//! What this server does about changes that others have made.

use super::live::{Ended, Live};
use super::worker::{self, cancellation};
use super::{Executions, Inner};
use heddle_model::error::ServiceError;
use heddle_model::ids::{DeploymentId, PatternId, RunId};
use heddle_model::status::RunStatus;
use heddle_store::deployments;
use heddle_store::notices::Notice;
use heddle_store::runs::{responses, upkeep};
use serde_json::value::RawValue;
use std::collections::HashSet;
use std::sync::Arc;

/// Runs asked for by one statement.
const GROUP_MAX: usize = 256;

impl Executions {
    /// Brings memory in line with a change.
    pub async fn heed(&self, notice: Notice) -> Result<(), ServiceError> {
        let inner = &self.0;
        match notice {
            Notice::Deployment(deployment) => inner.deployment_changed(deployment).await?,
            Notice::Deployed(pattern) => inner.deployed(pattern).await?,
            Notice::Environments => inner.environments.changed(),
            Notice::Cancelled(run) => inner.cancelled_elsewhere(run),
            Notice::Ended(run) => inner.ended_elsewhere(run).await?,
            Notice::Woken => inner.waker.look(),
            Notice::Left => inner.recovery.look(),
            Notice::Accepted => inner.claims.look(),
            Notice::Everything => inner.look_at_everything().await?,
            Notice::Endpoints(_) => {}
        }
        Ok(())
    }
}

impl Inner {
    async fn deployment_changed(self: &Arc<Self>, deployment: DeploymentId) -> Result<(), ServiceError> {
        let row = deployments::by_id_for_system(&mut self.store.reader().await?.db(), deployment).await?;
        match row {
            Some(row) => self.changed(&row),
            None => {
                self.actives.forget_deployment(deployment);
                let this = self.clone();
                // Other changes need not wait until all of its runs have ended.
                tokio::spawn(async move { this.cancel_all(deployment).await });
            }
        }
        Ok(())
    }

    async fn deployed(self: &Arc<Self>, pattern: PatternId) -> Result<(), ServiceError> {
        self.actives.forget(pattern);
        let row = deployments::for_system(&mut self.store.reader().await?.db(), pattern).await?;
        if let Some(row) = row {
            self.changed(&row);
        }
        Ok(())
    }

    fn cancelled_elsewhere(self: &Arc<Self>, run: RunId) {
        let found = self.live().get(&run).cloned();
        let Some(found) = found else { return };
        if found.is_parked() {
            self.live().remove(&run);
            found.end(worker::failed(RunStatus::Failure, cancellation()));
        } else {
            self.cancel(run, &found);
        }
    }

    /// Tells those who wait here for the end of a run that another server executes, or for its response.
    async fn ended_elsewhere(&self, run: RunId) -> Result<(), ServiceError> {
        let found = self.live().get(&run).cloned();
        let Some(found) = found.filter(|found| found.is_parked()) else {
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
            None => worker::failed(RunStatus::Failure, cancellation()),
        };
        self.live().remove(&run);
        found.end(ended);
        Ok(())
    }

    /// After changes that this server has not heard of.
    async fn look_at_everything(self: &Arc<Self>) -> Result<(), ServiceError> {
        self.actives.forget_all();
        self.environments.changed();
        let paused = deployments::paused(&mut self.store.reader().await?.db()).await?;
        let paused: HashSet<DeploymentId> = paused.into_iter().map(|(deployment,)| deployment).collect();
        let before = {
            let mut kept = self.paused();
            std::mem::replace(&mut *kept, paused.clone())
        };
        for deployment in before.difference(&paused) {
            self.let_go(*deployment);
        }
        self.waker.look();
        self.recovery.look();
        self.claims.look();
        let live: Vec<(RunId, Arc<Live>)> = self
            .live()
            .iter()
            .map(|(run, live)| (*run, live.clone()))
            .collect();
        for group in live.chunks(GROUP_MAX) {
            let runs: Vec<RunId> = group.iter().map(|(run, _)| *run).collect();
            let running = upkeep::running_of(&mut self.store.reader().await?.db(), &runs).await?;
            let running: HashSet<RunId> = running.into_iter().map(|(run,)| run).collect();
            for (run, live) in group.iter().filter(|(run, _)| !running.contains(run)) {
                match live.is_parked() {
                    true => self.ended_elsewhere(*run).await?,
                    false => self.cancel(*run, live),
                }
            }
        }
        Ok(())
    }
}
