//! Cancelling runs, wherever they are: waiting for their turn, held, between two attempts, executing, at another server,
//! or left by one that stopped.

use super::live::{self, Live};
use super::record;
use super::worker::{self, Job, cancellation};
use super::{Executions, Inner, calls};
use futures_util::future::BoxFuture;
use heddle_model::access::Editor;
use heddle_model::error::{Code, ServiceError};
use heddle_model::ids::{DeploymentId, RunId};
use heddle_model::status::{Phase, RunStatus};
use heddle_store::deployments;
use heddle_store::runs::{journal, upkeep};
use std::sync::{Arc, PoisonError};

impl Executions {
    /// Ends a run as cancelled, and gives the status that it has then. The caller was found to see the run.
    pub async fn cancel(
        &self,
        editor: &Editor,
        deployment: DeploymentId,
        run: RunId,
    ) -> Result<RunStatus, ServiceError> {
        let owned = deployments::visible(&mut self.0.store.reader().await?.db(), editor, deployment).await?;
        owned.ok_or(Code::NotFound)?;
        let found = self.0.live().get(&run).cloned();
        match found {
            Some(found) if !found.is_parked() => {
                let ended = found.watch();
                self.0.cancel(run, &found);
                let ended = live::wait(ended).await.ok_or(Code::Unavailable)?;
                Ok(ended.status)
            }
            _ => self.0.cancel_unowned(editor, run).await,
        }
    }

    /// What a run is doing, if it executes here, or waits for that.
    pub fn phase_of(&self, run: RunId) -> Option<Phase> {
        let live = self.0.live().get(&run).cloned()?;
        (!live.is_parked()).then(|| live.phase())
    }
}

impl Inner {
    /// Ends a run that does not execute here: one that is parked, that another server has, or nobody. Whoever executes it
    /// hears of it, and could record nothing more.
    async fn cancel_unowned(
        self: &Arc<Self>,
        editor: &Editor,
        run: RunId,
    ) -> Result<RunStatus, ServiceError> {
        let (editor, now) = (*editor, self.clock.now());
        let ended = worker::failed(RunStatus::Failure, cancellation());
        let (error, told) = (record::error(&cancellation()), calls::told(run, &ended));
        let has_ended = self.store.write(move |db| {
            Box::pin(async move {
                if !upkeep::end_unowned(db, &editor, run, RunStatus::Failure, &error, now).await? {
                    return Ok::<_, ServiceError>(false);
                }
                journal::clear(db, &[run]).await?;
                if let Some((parent, key)) = journal::parent_of(db, run).await? {
                    journal::signal(db, parent, &key, &told).await?;
                }
                Ok(true)
            })
        });
        if !has_ended.await? {
            return Err(Code::InvalidStatus.with("The run has ended already."));
        }
        self.waker.look();
        let kept = self.live().get(&run).cloned();
        match kept {
            Some(kept) if kept.is_parked() => {
                self.live().remove(&run);
                kept.end(ended);
            }
            // It was woken just now.
            Some(kept) => self.cancel(run, &kept),
            None => {}
        }
        self.cancel_children(run).await;
        Ok(RunStatus::Failure)
    }

    /// Cancels the runs that a failed run has waited for.
    pub(super) async fn cancel_called(self: &Arc<Self>, job: &Job) {
        let calls = &job.deployment.manifest().rights.effects;
        if calls.iter().any(|kind| kind == "call") {
            self.cancel_children(job.run).await;
        }
    }

    /// With what they wait for themselves.
    pub(super) fn cancel_children(self: &Arc<Self>, parent: RunId) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let children = async { journal::children(&mut self.store.reader().await?.db(), parent).await };
            let children = match children.await {
                Ok(children) => children,
                Err(error) => {
                    return tracing::error!(run = %parent, %error, "The runs that it has called go on");
                }
            };
            for (child,) in children {
                self.cancel_by_service(child).await;
            }
        })
    }

    /// Cancels a run that nobody waits for any more.
    pub(super) async fn cancel_by_service(self: &Arc<Self>, run: RunId) {
        let found = self.live().get(&run).cloned();
        if let Some(found) = found.filter(|found| !found.is_parked()) {
            return self.cancel(run, &found);
        }
        let (error, now) = (record::error(&cancellation()), self.clock.now());
        let ended = self.store.write(move |db| {
            Box::pin(async move {
                upkeep::end_by_service(db, run, &error, now).await?;
                journal::clear(db, &[run]).await
            })
        });
        if let Err(error) = ended.await {
            tracing::error!(%run, %error, "The run goes on although nobody waits for it");
        }
        self.cancel_children(run).await;
    }

    pub(super) fn cancel(self: &Arc<Self>, run: RunId, found: &Live) {
        found.cancel();
        if self.queue.expel(found.share, run) {
            return;
        }
        for job in self.take_held(|job| job.run == run) {
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
        let (parked, found): (Vec<_>, Vec<_>) = found.into_iter().partition(|(_, live)| live.is_parked());
        for (run, live) in parked {
            self.live().remove(&run);
            live.end(worker::failed(RunStatus::Failure, cancellation()));
        }
        let ends: Vec<_> = found.iter().map(|(_, live)| live.watch()).collect();
        for (run, live) in &found {
            self.cancel(*run, live);
        }
        for end in ends {
            live::wait(end).await;
        }
        self.paused().remove(&deployment);
    }

    /// Takes held runs out.
    pub(super) fn take_held(&self, wanted: impl Fn(&Job) -> bool) -> Vec<Job> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.extract_if(.., |job| wanted(job)).collect()
    }
}
