//! Runs of deployments that are paused or stopped: they are held instead of executing, until the deployment goes on.

use crate::run::Run;
use heddle_model::ids::DeploymentId;
use heddle_model::status::Phase;
use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Which deployments are paused, and their runs that have had their turn.
#[derive(Debug, Default)]
pub(crate) struct HeldRuns {
    paused: Mutex<HashSet<DeploymentId>>,
    runs: Mutex<Vec<Run>>,
    order: tokio::sync::Mutex<()>,
}

impl HeldRuns {
    fn paused(&self) -> MutexGuard<'_, HashSet<DeploymentId>> {
        self.paused.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// To be held from reading what is paused until that is said here, so that who has read later is not overruled.
    pub async fn in_order(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.order.lock().await
    }

    pub fn is_paused(&self, deployment: DeploymentId) -> bool {
        self.paused().contains(&deployment)
    }

    pub fn pause(&self, deployment: DeploymentId) {
        self.paused().insert(deployment);
    }

    /// From now on its runs are not held. Those that are have to be taken.
    pub fn unpause(&self, deployment: DeploymentId) {
        self.paused().remove(&deployment);
    }

    /// Makes these the paused deployments; gives those that were paused before and are not any more.
    pub fn set_paused(&self, paused: HashSet<DeploymentId>) -> Vec<DeploymentId> {
        let mut kept = self.paused();
        let resumed = kept.difference(&paused).copied().collect();
        *kept = paused;
        resumed
    }

    /// Holds the run if its deployment is paused; else gives it back.
    pub fn hold_if_paused(&self, mut run: Run) -> Option<Run> {
        // Locked until the run is among the held ones, so that whoever unpauses finds it there.
        let paused = self.paused();
        if !paused.contains(&run.deployment.id) {
            return Some(run);
        }
        let mut runs = self.runs();
        // Whoever cancels it looks for it here after that: either finds the other.
        if run.live.is_cancelled() {
            return Some(run);
        }
        run.live.set_phase(Phase::Queued);
        run.event.leave();
        runs.push(run);
        None
    }

    /// Takes held runs out.
    pub fn take(&self, wanted: impl Fn(&Run) -> bool) -> Vec<Run> {
        self.runs().extract_if(.., |run| wanted(run)).collect()
    }

    fn runs(&self) -> MutexGuard<'_, Vec<Run>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
