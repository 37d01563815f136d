//! The runs that this server has, by id: so that they can be cancelled, waited for, and given up.

use crate::live::{Live, Parking};
use crate::run::Run;
use heddle_model::ids::{DeploymentId, IdMap, RunId};
use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Runs that this server has accepted or taken up and not yet ended, and parked ones that somebody waits for here.
#[derive(Debug, Default)]
pub(crate) struct LiveRuns {
    runs: Mutex<IdMap<RunId, Arc<Live>>>,
    /// Taken in the database, and not here yet.
    taken: Mutex<HashSet<RunId>>,
}

/// Runs that this server has taken in the database, and that are here as soon as there is room for them, which may be long. Until this
/// is dropped they don't count as lost.
#[derive(Debug)]
pub(crate) struct Taken {
    live: Arc<LiveRuns>,
    runs: Vec<RunId>,
}

impl Drop for Taken {
    fn drop(&mut self) {
        let mut taken = self.live.taken();
        for run in &self.runs {
            taken.remove(run);
        }
    }
}

/// Held by the task that has a run. If that panics, which is told, the run is given up: so those who wait for it hear that it goes on
/// elsewhere, and it is taken up again as one that got lost.
#[derive(Debug)]
pub(crate) struct GivenUpOnPanic {
    runs: Arc<LiveRuns>,
    run: RunId,
    live: Arc<Live>,
}

impl Drop for GivenUpOnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            remove(&mut self.runs.runs(), self.run, &self.live);
        }
    }
}

impl LiveRuns {
    fn runs(&self) -> MutexGuard<'_, IdMap<RunId, Arc<Live>>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn taken(&self) -> MutexGuard<'_, HashSet<RunId>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// To be called right after these were taken in the database.
    pub fn take(self: &Arc<Self>, runs: impl Iterator<Item = RunId>) -> Taken {
        let runs: Vec<RunId> = runs.collect();
        self.taken().extend(runs.iter().copied());
        Taken {
            live: self.clone(),
            runs,
        }
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

    /// What a run that is taken up is reached by from now on: what was kept of it here, or else something `new`. `has_parked`: it was
    /// parked in the database, which may not be known here yet.
    pub fn take_up(&self, run: RunId, has_parked: bool, new: impl FnOnce() -> Arc<Live>) -> Arc<Live> {
        let mut runs = self.runs();
        if let Some(kept) = runs.get(&run).filter(|kept| kept.take_up(has_parked)) {
            return kept.clone();
        }
        let live = new();
        runs.insert(run, live.clone());
        live
    }

    /// Parks a run, which is stored. It is kept here only for those who wait for its end; if it `is_answered`, nobody does.
    pub fn park(&self, run: &Run, is_answered: bool) -> Parking {
        let mut runs = self.runs();
        let parking = run.live.park();
        let is_kept = match parking {
            Parking::Parked => !is_answered && run.live.is_watched(),
            Parking::TakenUp | Parking::Cancelled => true,
            Parking::Lost => false,
        };
        if !is_kept {
            remove(&mut runs, run.id, &run.live);
        }
        parking
    }

    /// To be held while a task has the run.
    pub fn give_up_on_panic(self: &Arc<Self>, run: &Run) -> GivenUpOnPanic {
        self.guard(run.id, &run.live)
    }

    fn guard(self: &Arc<Self>, run: RunId, live: &Arc<Live>) -> GivenUpOnPanic {
        GivenUpOnPanic {
            runs: self.clone(),
            run,
            live: live.clone(),
        }
    }

    /// Gives up a run that is not this server's any more, unless it has been taken up here again.
    pub fn forget(&self, run: &Run) {
        remove(&mut self.runs(), run.id, &run.live);
    }

    /// Those of `runs` that are neither in memory nor about to be. This server owns `runs`, and none of them is parked.
    pub fn missing(&self, runs: impl Iterator<Item = RunId>) -> HashSet<RunId> {
        let (here, taken) = (self.runs(), self.taken());
        let is_here = |run: &RunId| here.get(run).is_some_and(|live| !live.is_parked());
        runs.filter(|run| !is_here(run) && !taken.contains(run)).collect()
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

/// Unless it is another one's by now.
fn remove(runs: &mut IdMap<RunId, Arc<Live>>, run: RunId, live: &Arc<Live>) {
    if runs.get(&run).is_some_and(|found| Arc::ptr_eq(found, live)) {
        runs.remove(&run);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::tests::live;

    #[test]
    fn what_is_neither_here_nor_about_to_be_is_missing() {
        let runs = Arc::<LiveRuns>::default();
        let [here, parked, taken, lost] = [(); 4].map(|()| RunId::new());
        runs.insert(here, live());
        let kept = live();
        kept.park();
        runs.insert(parked, kept.clone());
        let taking = runs.take([taken].into_iter());
        let missing = || runs.missing([here, parked, taken, lost].into_iter());
        assert_eq!(missing(), HashSet::from([parked, lost]));
        let again = runs.take_up(parked, true, live);
        assert!(Arc::ptr_eq(&again, &kept), "those who wait for it go on waiting");
        drop(taking);
        assert_eq!(missing(), HashSet::from([taken, lost]));
    }

    #[test]
    fn a_run_whose_task_panics_is_missing() {
        let runs = Arc::<LiveRuns>::default();
        let (run, its) = (RunId::new(), live());
        runs.insert(run, its.clone());
        drop(runs.guard(run, &its));
        assert!(runs.missing([run].into_iter()).is_empty());
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _given_up = runs.guard(run, &its);
            panic!("as by a mistake");
        }));
        assert!(panicked.is_err());
        assert_eq!(runs.missing([run].into_iter()), HashSet::from([run]));
    }

    #[test]
    fn a_run_that_this_server_had_before_it_lost_its_lease_is_another_one() {
        let runs = LiveRuns::default();
        let (run, former) = (RunId::new(), live());
        runs.insert(run, former.clone());
        former.lose();
        let taken = runs.take_up(run, false, live);
        assert!(!Arc::ptr_eq(&taken, &former) && !taken.is_lost());
    }
}
