//! Cancelling runs, wherever they are: waiting for their turn, held, between two attempts, executing, at another server,
//! or left by one that stopped.

use crate::attempt::cancelled;
use crate::call_result;
use crate::dispatcher::Dispatcher;
use crate::held_runs::HeldRuns;
use crate::kept_journals::JournalPolicy;
use crate::live::{self, Live};
use crate::live_runs::LiveRuns;
use crate::poller::Wakeup;
use crate::queue::Queue;
use crate::record;
use crate::run::Run;
use crate::run_error::cancellation;
use crate::waiting_runs::WaitingRuns;
use futures_util::future::BoxFuture;
use heddle_model::access::Runner;
use heddle_model::clock::Clock;
use heddle_model::error::{Code, ServiceError, chain};
use heddle_model::ids::{DeploymentId, RunId};
use heddle_model::status::RunStatus;
use heddle_store::runs::{journal, replays, upkeep};
use heddle_store::{Db, Store, StoreError, deployments};
use std::sync::Arc;

/// Cancels runs.
pub(crate) struct Canceller {
    pub store: Store,
    pub clock: Clock,
    pub queue: Queue,
    pub live: Arc<LiveRuns>,
    pub held: Arc<HeldRuns>,
    pub dispatcher: Arc<Dispatcher>,
    pub parked: Wakeup,
    pub waiting: Arc<WaitingRuns>,
    pub journals: JournalPolicy,
}

impl Canceller {
    /// Ends a run as cancelled, and gives the status that it has then. The caller was found to see the run.
    pub async fn cancel(
        &self,
        runner: &Runner,
        deployment: DeploymentId,
        run: RunId,
    ) -> Result<RunStatus, ServiceError> {
        let owned = deployments::visible(&mut self.store.reader().await?.db(), runner, deployment).await?;
        owned.ok_or(Code::NotFound)?;
        match self.live.get(run) {
            Some(found) if !found.is_parked() => {
                let ended = found.watch();
                self.cancel_here(run, &found);
                let ended = live::wait(ended).await.ok_or(Code::Unavailable)?;
                Ok(ended.status)
            }
            _ => self.cancel_unowned(runner, run).await,
        }
    }

    /// Ends a run that does not execute here: one that is parked, that another server has, or nobody. Whoever executes it
    /// hears of it, and could record nothing more.
    async fn cancel_unowned(&self, runner: &Runner, run: RunId) -> Result<RunStatus, ServiceError> {
        let (runner, now) = (*runner, self.clock.now());
        let error = record::error(&cancellation());
        let payload = journal::Payload::new(call_result::signal_payload(run, &cancelled()));
        let policy = self.journals;
        let has_ended = self.store.write(move |db| {
            Box::pin(async move {
                if !upkeep::end_unowned(db, &runner, run, RunStatus::Failure, &error, now).await? {
                    return Ok::<_, ServiceError>(false);
                }
                close(db, policy, run).await?;
                if let Some((parent, key)) = journal::parent_of(db, run).await? {
                    journal::signal(db, parent, &key, &payload).await?;
                }
                Ok(true)
            })
        });
        if !has_ended.await? {
            return Err(Code::InvalidStatus.with("The run has already ended."));
        }
        self.parked.wake();
        // One that executes here was woken just now.
        self.cancelled_elsewhere(run);
        self.cancel_children(run).await;
        Ok(RunStatus::Failure)
    }

    /// Does here what follows from a run's end as cancelled that is stored.
    pub fn cancelled_elsewhere(&self, run: RunId) {
        self.waiting.cancelled();
        let Some(found) = self.live.get(run) else { return };
        if found.is_parked() {
            self.live.remove(run);
            found.end(cancelled());
        } else {
            self.cancel_here(run, &found);
        }
    }

    /// Cancels the runs that a failed run has waited for.
    pub async fn cancel_called(&self, run: &Run) {
        let effects = &run.deployment.manifest().rights.effects;
        if effects.iter().any(|kind| kind == "call") {
            self.cancel_children(run.id).await;
        }
    }

    /// With what they wait for themselves.
    fn cancel_children(&self, parent: RunId) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let children = async { journal::children(&mut self.store.reader().await?.db(), parent).await };
            let children = match children.await {
                Ok(children) => children,
                Err(error) => {
                    return tracing::error!(run = %parent, error = %chain(&error), "The runs that it has called go on");
                }
            };
            for (child,) in children {
                self.cancel_by_service(child).await;
            }
        })
    }

    /// Cancels a run that nobody waits for any more.
    pub async fn cancel_by_service(&self, run: RunId) {
        if let Some(found) = self.live.get(run).filter(|found| !found.is_parked()) {
            return self.cancel_here(run, &found);
        }
        let (error, now, policy) = (record::error(&cancellation()), self.clock.now(), self.journals);
        let ended = self.store.write(move |db| {
            Box::pin(async move {
                upkeep::end_by_service(db, run, &error, now).await?;
                close(db, policy, run).await
            })
        });
        if let Err(error) = ended.await {
            tracing::error!(%run, error = %chain(&error), "The run goes on although nobody waits for it");
        }
        self.waiting.cancelled();
        self.cancel_children(run).await;
    }

    /// Cancels a run that is in this server's memory: it ends as soon as it can.
    pub fn cancel_here(&self, run: RunId, found: &Live) {
        found.cancel();
        if self.queue.expel(found.share, run) {
            return;
        }
        self.dispatcher.release(self.held.take(|held| held.id == run));
    }

    /// Cancels all runs of a deployment that is deleted, and waits until they have ended.
    pub async fn cancel_all(&self, deployment: DeploymentId) {
        let found = self.live.of_deployment(deployment);
        let (parked, found): (Vec<_>, Vec<_>) = found.into_iter().partition(|(_, live)| live.is_parked());
        for (run, live) in parked {
            self.live.remove(run);
            live.end(cancelled());
        }
        let ends: Vec<_> = found.iter().map(|(_, live)| live.watch()).collect();
        for (run, live) in &found {
            self.cancel_here(*run, live);
        }
        for end in ends {
            live::wait(end).await;
        }
        self.held.unpause(deployment);
        self.waiting.cancelled();
    }
}

/// Keeps or removes the journal of a run that was cancelled.
async fn close(db: &mut Db<'_>, policy: JournalPolicy, run: RunId) -> Result<(), StoreError> {
    match policy.keeps(RunStatus::Failure) {
        true => replays::close(db, &[run]).await,
        false => journal::clear(db, &[run]).await,
    }
}
