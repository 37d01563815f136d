//! Cancelling runs, wherever they are: waiting for their turn, held, between two attempts, executing, at another server,
//! or left by one that stopped.

use crate::attempt::cancelled;
use crate::call_result;
use crate::dispatcher::Dispatcher;
use crate::held_runs::HeldRuns;
use crate::kept_journals::JournalPolicy;
use crate::live::{self, End, Ended, Live};
use crate::live_runs::LiveRuns;
use crate::poller::Wakeup;
use crate::queue::Queue;
use crate::record;
use crate::retry::retry_while_unavailable;
use crate::run::Run;
use crate::run_error::cancellation;
use crate::tail::{RunChange, Tail};
use crate::waiting_runs::WaitingRuns;
use futures_util::future::BoxFuture;
use heddle_model::access::Runner;
use heddle_model::clock::Clock;
use heddle_model::error::{Code, ServiceError, chain};
use heddle_model::ids::{DeploymentId, RunId};
use heddle_model::status::{Phase, RunStatus};
use heddle_store::notices::{self, Notice};
use heddle_store::runs::left::LeftRow;
use heddle_store::runs::{self, ResultRow, journal, replays, upkeep};
use heddle_store::{Db, Load, Store, StoreError, deployments};
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
    pub tail: Tail,
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
        match self.end_here(run) {
            Some(ended) => {
                let ended = live::wait(ended).await.ok_or(Code::Unavailable)?;
                Ok(ended.status)
            }
            None => self.cancel_unowned(runner, run).await,
        }
    }

    /// Cancels a run if it executes here, or waits to execute; gives its end to wait for. That does not keep the run itself: if it is
    /// lost, the wait ends.
    fn end_here(&self, run: RunId) -> Option<End> {
        let found = self.live.get(run).filter(|found| !found.is_parked())?;
        let ended = found.watch();
        self.cancel_here(run, &found).then_some(ended)
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
        self.tell_end(run).await;
        self.cancel_children(run).await;
        Ok(RunStatus::Failure)
    }

    /// Does here what follows from a run's end as cancelled that is stored.
    pub fn cancelled_elsewhere(&self, run: RunId) {
        self.waiting.cancelled();
        let Some(found) = self.live.get(run) else { return };
        self.follow_end(run, &found, cancelled);
    }

    /// The runs that a failed run has waited for.
    pub async fn called_by(&self, run: &Run) -> Vec<RunId> {
        let effects = &run.deployment.manifest().rights.effects;
        match effects.iter().any(|kind| kind == "call") {
            true => self.children(run.id).await,
            false => Vec::new(),
        }
    }

    /// The runs that this one waits for. A database that is away is waited for.
    async fn children(&self, parent: RunId) -> Vec<RunId> {
        let read =
            move || async move { journal::children(&mut self.store.reader().await?.db(), parent).await };
        let on_wait = |reason: &str| tracing::warn!(run = %parent, "The runs that it called can't be cancelled yet: {reason}");
        match retry_while_unavailable(read, on_wait).await {
            Ok(children) => children.into_iter().map(|(child,)| child).collect(),
            Err(error) => {
                tracing::error!(run = %parent, error = %chain(&error), "The runs that it called were not cancelled");
                Vec::new()
            }
        }
    }

    /// Cancels runs that nobody waits for any more, with what they wait for themselves.
    pub async fn cancel_each(&self, runs: Vec<RunId>) {
        for run in runs {
            self.cancel_by_service(run).await;
        }
    }

    /// Cancels the runs that this one has waited for.
    fn cancel_children(&self, parent: RunId) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let children = self.children(parent).await;
            self.cancel_each(children).await;
        })
    }

    /// Cancels a run that nobody waits for any more. A database that is away is waited for.
    pub async fn cancel_by_service(&self, run: RunId) {
        if self
            .live
            .get(run)
            .is_some_and(|found| self.cancel_here(run, &found))
        {
            return;
        }
        let (error, now, policy) = (record::error(&cancellation()), self.clock.now(), self.journals);
        let write = || {
            let error = error.clone();
            self.store.write(move |db| {
                Box::pin(async move {
                    upkeep::end_by_service(db, run, &error, now).await?;
                    close(db, policy, run).await
                })
            })
        };
        let on_wait = |reason: &str| tracing::warn!(%run, "A run that nobody waits for can't be cancelled yet: {reason}");
        match retry_while_unavailable(write, on_wait).await {
            // It was parked here, and may have been woken just now.
            Ok(()) => {
                self.cancelled_elsewhere(run);
                self.tell_end(run).await;
            }
            Err(error) => {
                tracing::error!(%run, error = %chain(&error), "A run that nobody waits for was not cancelled");
            }
        }
        self.cancel_children(run).await;
    }

    /// Ends a run that this server has taken and can't execute. Whoever waits for its end hears of it, here, at another server, and the run
    /// that has called it; what it has called itself is cancelled.
    pub async fn end_left(&self, row: &LeftRow, owner: &Arc<str>, ended: Ended) -> Result<(), StoreError> {
        let (run, now, policy) = (row.id, self.clock.now(), self.journals);
        let mut end = ResultRow::running(run, owner.clone(), u32::try_from(row.attempt).unwrap_or(1));
        (end.status, end.completed_at) = (ended.status, Some(now));
        end.error = ended.error.as_ref().map(record::error);
        let parent = row.parent_id.zip(row.parent_key.clone());
        let payload = journal::Payload::new(call_result::signal_payload(run, &ended));
        let write = self.store.write(move |db| {
            Box::pin(async move {
                let stored = runs::record(db, (Load::LITTLE, [&end].as_slice()), now).await?;
                if stored.is_empty() {
                    return Ok::<_, StoreError>(false);
                }
                close(db, policy, run).await?;
                if let Some((parent, key)) = parent {
                    journal::signal(db, parent, &key, &payload).await?;
                }
                notices::tell(db, Notice::Ended(run)).await?;
                Ok(true)
            })
        });
        if !write.await? {
            return Ok(());
        }
        self.parked.wake();
        if let Some(found) = self.live.get(run) {
            self.follow_end(run, &found, || ended);
        }
        self.tell_end(run).await;
        self.cancel_children(run).await;
        Ok(())
    }

    /// Tells those who look on of the end of a run that executes nowhere: nobody else does.
    async fn tell_end(&self, run: RunId) {
        if !self.tail.is_watched() {
            return;
        }
        let read = async {
            let mut reader = self.store.reader().await?;
            upkeep::watched_end(&mut reader.db(), run).await
        };
        match read.await {
            Ok(Some(end)) => self.tail.publish(RunChange {
                run_id: run,
                deployment_id: end.deployment_id,
                status: end.status,
                phase: Phase::Ended,
                triggered_by: end.triggered_by,
                attempt: u32::try_from(end.attempt).unwrap_or(1),
                accepted_at: end.accepted_at,
                error: end.error.and_then(|error| serde_json::from_str(&error).ok()),
            }),
            Ok(None) => {}
            Err(error) => tracing::warn!(%run, "Watchers did not learn of a run's end: {}", chain(&error)),
        }
    }

    /// Cancels a run that is in this server's memory: it ends as soon as it can. `false`: it is parked.
    pub fn cancel_here(&self, run: RunId, found: &Live) -> bool {
        if !found.cancel() {
            return false;
        }
        if !self.queue.expel(found.share, run) {
            self.dispatcher.release(self.held.take(|held| held.id == run));
        }
        true
    }

    /// Does in memory what follows from a run's end that is stored, or is about to be. `false`: it was parked, and those who wait for it
    /// have heard that it `ended`; any other is cancelled, and ends as soon as it can.
    fn follow_end(&self, run: RunId, found: &Live, ended: impl FnOnce() -> Ended) -> bool {
        let is_ending = self.cancel_here(run, found);
        if !is_ending {
            self.live.remove(run);
            found.end(ended());
        }
        is_ending
    }

    /// Cancels all runs of a deployment that is deleted, and waits until they have ended.
    pub async fn cancel_all(&self, deployment: DeploymentId) {
        let mut ends = Vec::new();
        for (run, live) in self.live.of_deployment(deployment) {
            let end = live.watch();
            if self.follow_end(run, &live, cancelled) {
                ends.push(end);
            }
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
