//! Runs that have ended the processes that executed them, each time the last one alone: they are given up, and count against
//! their deployments. What brings down the server itself is found by `trials`.

use crate::active_deployments::ActiveDeployments;
use crate::held_runs::HeldRuns;
use crate::live::Ended;
use crate::retry::retry_while_unavailable;
use crate::run::Run;
use crate::run_error::run_error;
use heddle_model::clock::Clock;
use heddle_model::ids::DeploymentId;
use heddle_model::status::RunStatus;
use heddle_runtime::INTERRUPTED;
use heddle_store::runs::suspects;
use heddle_store::{Store, StoreError, deployments};
use metrics::counter;
use std::sync::Arc;

/// Counts them.
pub(crate) struct Strikes {
    pub store: Store,
    pub clock: Clock,
    pub active: Arc<ActiveDeployments>,
    pub held: Arc<HeldRuns>,
}

impl Strikes {
    /// Counts a run against its deployment, which is stopped at the second one; gives the run's end.
    pub async fn give_up(&self, run: &Run) -> Ended {
        let deployment = run.deployment.id;
        tracing::error!(
            run = %run.id, %deployment,
            "A run has crashed two executor processes, the second time as the only run there: it is given up"
        );
        counter!("heddle_runs_quarantined_total").increment(1);
        if let Err(error) = self.strike(deployment).await {
            tracing::error!(%deployment, %error, "A deployment whose run crashed executor processes could \
                not be marked");
        }
        self.active.forget(run.deployment.slot);
        let message = "Two executor processes crashed while executing this run, the second one while it had \
            no other run, so the run is not executed again. The server's log says why they crashed. Fix the \
            cause, then retry the run.";
        Ended::failed(RunStatus::DeadLetter, run_error(INTERRUPTED, message))
    }

    async fn strike(&self, deployment: DeploymentId) -> Result<(), StoreError> {
        let write = || {
            let now = self.clock.now();
            self.store
                .write(move |db| Box::pin(async move { suspects::strike(db, deployment, now).await }))
        };
        let on_wait = |reason: &str| tracing::warn!("A deployment waits to be marked: {reason}");
        retry_while_unavailable(write, on_wait).await?;
        let _order = self.held.in_order().await;
        let row = deployments::by_id_for_system(&mut self.store.reader().await?.db(), deployment).await?;
        if row.is_some_and(|row| row.holds_runs()) {
            self.held.pause(deployment);
        }
        Ok(())
    }
}
