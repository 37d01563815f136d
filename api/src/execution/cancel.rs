//! Cancelling runs, wherever they are: waiting for their turn, held, between two attempts, executing, or left by a
//! server that stopped.

use super::live::{self, Live};
use super::record;
use super::status::{Phase, RunStatus};
use super::worker::{Job, cancellation};
use super::{Executions, Inner};
use crate::access::Editor;
use crate::error::{ApiError, Code};
use crate::ids::{DeploymentId, RunId};
use crate::store::deployments;
use crate::store::runs::upkeep;
use std::sync::{Arc, PoisonError};

impl Executions {
    /// Ends a run as cancelled, and gives the status that it has then. The caller was found to see the run.
    pub async fn cancel(
        &self,
        editor: &Editor,
        deployment: DeploymentId,
        run: RunId,
    ) -> Result<RunStatus, ApiError> {
        let owned = deployments::visible(&mut self.0.store.reader().await?.db(), editor, deployment).await?;
        owned.ok_or(Code::NotFound)?;
        let found = self.0.live().get(&run).cloned();
        let Some(found) = found else {
            return self.cancel_unowned(editor, run).await;
        };
        let ended = found.watch();
        self.0.cancel(run, &found);
        let ended = live::wait(ended).await.ok_or(Code::Unavailable)?;
        Ok(ended.status)
    }

    /// What a run is doing, if this server has it.
    pub fn phase_of(&self, run: RunId) -> Option<Phase> {
        self.0.live().get(&run).map(|live| live.phase())
    }

    async fn cancel_unowned(&self, editor: &Editor, run: RunId) -> Result<RunStatus, ApiError> {
        let (editor, now) = (*editor, self.0.clock.now());
        let error = record::error(&cancellation());
        let ended = self.0.store.write(move |db| {
            Box::pin(
                async move { upkeep::end_unowned(db, &editor, run, RunStatus::Failure, &error, now).await },
            )
        });
        match ended.await? {
            true => Ok(RunStatus::Failure),
            false => Err(Code::InvalidStatus.with("The run has ended already.")),
        }
    }
}

impl Inner {
    fn cancel(self: &Arc<Self>, run: RunId, found: &Live) {
        found.cancel();
        if self.queue.expel(found.tenant, run) {
            return;
        }
        for job in self.take_parked(|job| job.run == run) {
            job.queue(self, None);
        }
    }

    /// Cancels all runs of a deployment that is deleted, and waits until they have ended.
    pub(super) async fn cancel_all(self: &Arc<Self>, deployment: DeploymentId) {
        let found: Vec<(RunId, Arc<Live>)> = {
            let live = self.live();
            let of = live.iter().filter(|(_, live)| live.deployment == deployment);
            of.map(|(run, live)| (*run, live.clone())).collect()
        };
        let ends: Vec<_> = found.iter().map(|(_, live)| live.watch()).collect();
        for (run, live) in &found {
            self.cancel(*run, live);
        }
        for end in ends {
            live::wait(end).await;
        }
        self.paused
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&deployment);
    }

    /// Takes held runs out.
    pub(super) fn take_parked(&self, wanted: impl Fn(&Job) -> bool) -> Vec<Job> {
        let mut parked = self.parked.lock().unwrap_or_else(PoisonError::into_inner);
        parked.extract_if(.., |job| wanted(job)).collect()
    }
}
