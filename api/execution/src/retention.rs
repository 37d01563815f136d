//! Old runs, idempotency keys, journals without a run and modules are cleared away: a little at a time, so that nobody's writes wait long.

use crate::stop::Stop;
use futures_util::future::BoxFuture;
use heddle_model::clock::{Clock, Timestamp};
use heddle_model::error::ServiceError;
use heddle_model::ids::{DeploymentId, WorkspaceId};
use heddle_store::runs::{journal, responses, upkeep};
use heddle_store::{Db, Store, StoreError, deployments, key_values};
use metrics::counter;
use std::collections::BTreeSet;
use std::time::Duration;

/// Rows that one statement removes.
const BATCH_MAX: i64 = 500;
/// Deployments read at a time.
const PAGE_MAX: i64 = 500;
/// Rest between two rounds.
const ROUND: Duration = Duration::from_secs(10 * 60);
/// A response is kept for so long for a sender who waits.
const RESPONSE_AGE_MAX: Duration = Duration::from_secs(60 * 60);
/// A module that nothing refers to is kept for so long.
const ARTIFACT_AGE_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// What is kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Policy {
    /// Ended runs, for so long.
    pub age_max: Duration,
    /// Ended runs of a workspace, at most.
    pub runs_max: i64,
}

/// Clears away. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Retention {
    pub store: Store,
    pub clock: Clock,
    pub policy: Policy,
}

impl Retention {
    /// Begins to clear away, in the background.
    pub fn start(&self, stop: Stop) {
        let this = self.clone();
        tokio::spawn(async move {
            let mut stopping = stop.watch();
            while !stop.has_begun() {
                if let Err(error) = this.clear_away().await {
                    tracing::error!("Old runs could not be cleared away: {}", error.message());
                }
                tokio::select! {
                    _ = stopping.changed() => {}
                    () = tokio::time::sleep(ROUND) => {}
                }
            }
        });
    }

    /// Clears away once what is too old or too much.
    pub async fn clear_away(&self) -> Result<(), ServiceError> {
        let now = self.clock.now();
        let before = now.minus(self.policy.age_max);
        let mut workspaces = BTreeSet::new();
        let mut after = None;
        loop {
            let mut reader = self.store.reader().await?;
            let page = upkeep::deployments_after(&mut reader.db(), after, PAGE_MAX).await?;
            drop(reader);
            let Some((last, _)) = page.last() else { break };
            after = Some(*last);
            for (deployment, workspace) in page {
                workspaces.extend(workspace);
                self.too_old(deployment, before).await?;
            }
        }
        for workspace in workspaces {
            self.too_many(workspace).await?;
        }
        self.in_batches(move |db| Box::pin(upkeep::remove_orphans(db, BATCH_MAX)))
            .await?;
        self.in_batches(move |db| Box::pin(journal::sweep(db, BATCH_MAX)))
            .await?;
        let unasked_since = now.minus(RESPONSE_AGE_MAX);
        self.in_batches(move |db| Box::pin(responses::sweep(db, unasked_since, BATCH_MAX)))
            .await?;
        self.in_batches(move |db| Box::pin(upkeep::remove_keys(db, now, BATCH_MAX)))
            .await?;
        self.in_batches(move |db| Box::pin(key_values::delete_expired(db, now, BATCH_MAX)))
            .await?;
        let unused_before: Timestamp = now.minus(ARTIFACT_AGE_MAX);
        let sweep = self
            .store
            .write(move |db| Box::pin(async move { deployments::sweep_artifacts(db, unused_before).await }));
        sweep.await?;
        Ok(())
    }

    async fn too_old(&self, deployment: DeploymentId, before: Timestamp) -> Result<(), ServiceError> {
        let removed =
            self.in_batches(move |db| Box::pin(upkeep::remove_before(db, deployment, before, BATCH_MAX)));
        counter!("heddle_runs_removed_total").increment(removed.await?);
        Ok(())
    }

    async fn too_many(&self, workspace: WorkspaceId) -> Result<(), ServiceError> {
        let mut reader = self.store.reader().await?;
        let count = upkeep::count_of_workspace(&mut reader.db(), workspace).await?;
        drop(reader);
        let mut surplus = count.saturating_sub(self.policy.runs_max);
        while surplus > 0 {
            let limit = surplus.min(BATCH_MAX);
            let removed = self
                .store
                .write(move |db| Box::pin(async move { upkeep::remove_oldest(db, workspace, limit).await }))
                .await?;
            counter!("heddle_runs_removed_total").increment(removed);
            if removed == 0 {
                // The rest is still running.
                return Ok(());
            }
            surplus = surplus.saturating_sub(i64::try_from(removed).unwrap_or(i64::MAX));
        }
        Ok(())
    }

    /// Removes until a batch is not full any more; how many rows there were.
    async fn in_batches<F>(&self, remove: F) -> Result<u64, ServiceError>
    where
        F: for<'c> Fn(&'c mut Db<'_>) -> BoxFuture<'c, Result<u64, StoreError>> + Clone + Send + 'static,
    {
        let mut total: u64 = 0;
        loop {
            let removed: u64 = self.store.write(remove.clone()).await?;
            total = total.saturating_add(removed);
            if removed < BATCH_MAX.unsigned_abs() {
                return Ok(total);
            }
        }
    }
}
