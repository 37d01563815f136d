//! The runs that this server has, by id: so that they can be cancelled, waited for, and given up.

use crate::live::Live;
use crate::run::Run;
use heddle_model::ids::{DeploymentId, IdMap, RunId};
use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Runs that this server has accepted or taken up and not yet ended, and parked ones that somebody waits for here.
#[derive(Debug, Default)]
pub(crate) struct LiveRuns(Mutex<IdMap<RunId, Arc<Live>>>);

impl LiveRuns {
    fn runs(&self) -> MutexGuard<'_, IdMap<RunId, Arc<Live>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn get(&self, run: RunId) -> Option<Arc<Live>> {
        self.runs().get(&run).cloned()
    }

    pub fn insert(&self, run: RunId, live: Arc<Live>) {
        self.runs().insert(run, live);
    }

    pub fn remove(&self, run: RunId) {
        self.runs().remove(&run);
    }

    /// Gives up a run that is not this server's any more, unless it has been taken up here again.
    pub fn forget(&self, run: &Run) {
        let mut runs = self.runs();
        if runs
            .get(&run.id)
            .is_some_and(|found| Arc::ptr_eq(found, &run.live))
        {
            runs.remove(&run.id);
        }
    }

    /// Those of `runs` that are not here.
    pub fn missing(&self, runs: impl Iterator<Item = RunId>) -> HashSet<RunId> {
        let here = self.runs();
        runs.filter(|run| !here.contains_key(run)).collect()
    }

    pub fn all(&self) -> Vec<(RunId, Arc<Live>)> {
        let runs = self.runs();
        runs.iter().map(|(run, live)| (*run, live.clone())).collect()
    }

    pub fn of_deployment(&self, deployment: DeploymentId) -> Vec<(RunId, Arc<Live>)> {
        let runs = self.runs();
        let of = runs.iter().filter(|(_, live)| live.deployment == deployment);
        of.map(|(run, live)| (*run, live.clone())).collect()
    }
}
