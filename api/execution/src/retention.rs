//! Old runs, idempotency keys, journals without a run, modules and imports that nobody goes on with are cleared away: a little at
//! a time, so that nobody's writes wait long. What nobody waits for any more is cancelled.

use crate::batches;
use crate::cancel::Canceller;
use crate::erasure::Erasure;
use crate::kept_journals::KeptJournals;
use crate::stop::Stop;
use heddle_files::Files;
use heddle_model::clock::{Clock, Timestamp};
use heddle_model::error::{ServiceError, chain};
use heddle_model::ids::{DeploymentId, UserId, WorkspaceId};
use heddle_model::quota::common_share;
use heddle_model::tenant::Tenant;
use heddle_store::runs::{journal, keys, large_events, replays, responses, upkeep};
use heddle_store::{Store, StoreError, deployments, hosting, key_values, quota};
use metrics::counter;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

/// Deployments read at a time.
const PAGE_MAX: i64 = 500;
/// What one run takes at most, roughly: an event of 8 MiB, of which each byte may take six as JSON. Whoever has so few that they can't be
/// too large is not measured.
const RUN_BYTES_MAX: i64 = 64 << 20;
/// In one of so many rounds the bytes of the runs are measured, which reads all of them.
const ROUNDS_BETWEEN_MEASURES: u64 = 6;
/// Rest between two rounds.
const ROUND: Duration = Duration::from_secs(10 * 60);
/// Pieces of an event are left over if they have no row and the row's id is at least this old. Ids of runs that come with files are made
/// before the files are sent, which may take long.
const UNSTORED_AGE_MIN: Duration = Duration::from_secs(24 * 60 * 60);
/// A response is kept for so long for a sender who waits.
const RESPONSE_AGE_MAX: Duration = Duration::from_secs(60 * 60);
/// A module that has been replaced is kept for so long at least, and for as long as journals, so that its runs can be replayed.
const ARTIFACT_AGE_MIN: Duration = Duration::from_secs(24 * 60 * 60);
/// Bytes of replaced modules that are kept for longer than that.
const ARTIFACT_BYTES_MAX: i64 = 1 << 30;
/// Replaced modules that are removed at a time.
const ARTIFACTS_MAX: usize = 20;

/// What is kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Policy {
    /// Ended runs, for so long.
    pub age_max: Duration,
    /// Ended runs of a workspace, at most.
    pub runs_max: i64,
    /// Bytes of a workspace's runs, roughly, as far as they have ended; `None`: as many as there are.
    pub bytes_max: Option<i64>,
    /// Bytes of the ended runs in all workspaces that a user has made; `None`: as many as there are.
    pub user_bytes_max: Option<i64>,
}

/// Clears away. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Retention {
    pub store: Store,
    pub clock: Clock,
    pub files: Files,
    pub policy: Policy,
    pub journals: KeptJournals,
    pub erasure: Arc<Erasure>,
    pub canceller: Arc<Canceller>,
}

impl Retention {
    /// Begins to clear away, in the background.
    pub fn start(&self, stop: Stop) {
        let this = self.clone();
        tokio::spawn(async move {
            let mut stopping = stop.watch();
            for round in 0_u64.. {
                if stop.has_begun() {
                    return;
                }
                let cleared = match round % ROUNDS_BETWEEN_MEASURES {
                    0 => this.clear_away().await,
                    _ => this.clear_away_by_number().await.map(drop),
                };
                if let Err(error) = cleared {
                    tracing::error!("Old runs could not be removed: {}", chain(&error));
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
        let tenants = self.clear_away_by_number().await?;
        for tenant in &tenants {
            self.too_large(*tenant).await?;
        }
        self.too_large_together(&tenants).await
    }

    /// Clears away what is too old or too many, without looking at sizes. Gives all tenants with deployments.
    async fn clear_away_by_number(&self) -> Result<BTreeSet<Tenant>, ServiceError> {
        let now = self.clock.now();
        let before = now.minus(self.policy.age_max);
        let shorter = self.shorter(now, before).await?;
        let mut tenants = BTreeSet::new();
        let mut after = None;
        loop {
            let mut reader = self.store.reader().await?;
            let page = upkeep::deployments_after(&mut reader.db(), after, PAGE_MAX).await?;
            drop(reader);
            let Some((last, ..)) = page.last() else { break };
            after = Some(*last);
            for (deployment, user, workspace) in page {
                tenants.insert(Tenant::of(user, workspace));
                let own = workspace.and_then(|workspace| shorter.get(&workspace));
                self.too_old(deployment, *own.unwrap_or(&before)).await?;
            }
        }
        for tenant in &tenants {
            self.too_many(*tenant).await?;
        }
        self.orphans().await?;
        self.unwaited().await?;
        self.events_of_no_row(now).await?;
        batches::remove(&self.store, move |db, rows| Box::pin(journal::sweep(db, rows))).await?;
        let unasked_since = now.minus(RESPONSE_AGE_MAX);
        batches::remove(&self.store, move |db, rows| {
            Box::pin(responses::sweep(db, unasked_since, rows))
        })
        .await?;
        batches::remove(&self.store, move |db, rows| {
            Box::pin(keys::remove_expired(db, now, rows))
        })
        .await?;
        batches::remove(&self.store, move |db, rows| {
            Box::pin(key_values::delete_expired(db, now, rows))
        })
        .await?;
        batches::remove(&self.store, move |db, rows| {
            Box::pin(replays::forget_past(db, before, rows))
        })
        .await?;
        self.journals.clear_away().await?;
        self.erasure.remove_abandoned_imports(now).await?;
        self.replaced_modules(now).await?;
        // What it has removed may have held files.
        self.files.sweep().await?;
        Ok(tenants)
    }

    /// Before when the runs of those workspaces are removed for which the operator has set a shorter time.
    async fn shorter(
        &self,
        now: Timestamp,
        before: Timestamp,
    ) -> Result<HashMap<WorkspaceId, Timestamp>, ServiceError> {
        let settings = hosting::all_settings(&mut self.store.reader().await?.db()).await?;
        let own = settings.into_iter().filter_map(|(workspace, hosting)| {
            let days = u64::try_from(hosting.retention_days?).ok()?;
            let own = now.minus(Duration::from_secs(days.saturating_mul(24 * 60 * 60)));
            Some((workspace, own.max(before)))
        });
        Ok(own.collect())
    }

    /// Removes the runs of deployments that are gone.
    async fn orphans(&self) -> Result<(), ServiceError> {
        loop {
            let mut reader = self.store.reader().await?;
            let orphaned = upkeep::orphaned(&mut reader.db(), PAGE_MAX).await?;
            drop(reader);
            let is_full = i64::try_from(orphaned.len()).unwrap_or(i64::MAX) >= PAGE_MAX;
            for (deployment,) in orphaned {
                batches::remove(&self.store, move |db, rows| {
                    Box::pin(upkeep::remove_orphans(db, deployment, rows))
                })
                .await?;
            }
            if !is_full {
                return Ok(());
            }
        }
    }

    /// Cancels what has been called by runs that have ended since: a crash came after that was stored, their deployments were deleted, or a
    /// further attempt did without it.
    async fn unwaited(&self) -> Result<(), ServiceError> {
        let mut reader = self.store.reader().await?;
        let unwaited = upkeep::unwaited(&mut reader.db(), PAGE_MAX).await?;
        drop(reader);
        let unwaited = unwaited.into_iter().map(|(run,)| run).collect();
        self.canceller.cancel_each(unwaited).await;
        Ok(())
    }

    /// Removes what a crash has left of large events whose rows were not stored.
    async fn events_of_no_row(&self, now: Timestamp) -> Result<(), ServiceError> {
        if self.store.is_shared() {
            return Ok(());
        }
        let before = now.minus(UNSTORED_AGE_MIN);
        loop {
            let mut reader = self.store.reader().await?;
            let unstored = large_events::unstored(&mut reader.db(), before, PAGE_MAX).await?;
            drop(reader);
            let is_full = i64::try_from(unstored.len()).unwrap_or(i64::MAX) >= PAGE_MAX;
            for (row,) in unstored {
                large_events::remove_of_unstored(&self.store, &row.into()).await?;
            }
            if !is_full {
                return Ok(());
            }
        }
    }

    /// Removes modules that have been replaced for too long, and the oldest if they are too large together.
    async fn replaced_modules(&self, now: Timestamp) -> Result<(), ServiceError> {
        let age_max = self.journals.policy.failed_age_max.max(ARTIFACT_AGE_MIN);
        let (too_old, removable) = (now.minus(age_max), now.minus(ARTIFACT_AGE_MIN));
        self.remove_modules(too_old, i64::MAX).await?;
        let mut reader = self.store.reader().await?;
        let bytes = deployments::replaced_artifact_bytes(&mut reader.db(), removable).await?;
        drop(reader);
        self.remove_modules(removable, bytes.saturating_sub(ARTIFACT_BYTES_MAX))
            .await
    }

    /// Removes modules that were replaced before a time, those first that were replaced first, until so many bytes are free. They are
    /// looked for without keeping others from writing.
    async fn remove_modules(&self, before: Timestamp, mut bytes: i64) -> Result<(), ServiceError> {
        while bytes > 0 {
            let mut reader = self.store.reader().await?;
            let found = deployments::replaced_artifacts(&mut reader.db(), before, PAGE_MAX).await?;
            drop(reader);
            let is_full = i64::try_from(found.len()).unwrap_or(i64::MAX) >= PAGE_MAX;
            let mut is_any_gone = false;
            for hashes in found.chunks(ARTIFACTS_MAX).map(<[String]>::to_vec) {
                if bytes <= 0 {
                    return Ok(());
                }
                let remove = self.store.write(move |db| {
                    Box::pin(async move { deployments::remove_artifacts(db, &hashes, before).await })
                });
                let removed: Result<Vec<(i64,)>, StoreError> = remove.await;
                for (freed,) in removed? {
                    bytes = bytes.saturating_sub(freed);
                    is_any_gone = true;
                }
            }
            // What is in use again is not to be looked for for ever.
            if !is_full || !is_any_gone {
                return Ok(());
            }
        }
        Ok(())
    }

    async fn too_old(&self, deployment: DeploymentId, before: Timestamp) -> Result<(), ServiceError> {
        let mut reader = self.store.reader().await?;
        // Most have none, and there may be many: nobody's writes are to wait for each.
        if !upkeep::has_before(&mut reader.db(), deployment, before).await? {
            return Ok(());
        }
        drop(reader);
        let removed = batches::remove(&self.store, move |db, rows| {
            Box::pin(upkeep::remove_before(db, deployment, before, rows))
        });
        counter!("heddle_runs_removed_total").increment(removed.await?);
        Ok(())
    }

    async fn too_many(&self, tenant: Tenant) -> Result<(), ServiceError> {
        let mut reader = self.store.reader().await?;
        // To find the place, all of them are put in order.
        if !upkeep::has_more_than(&mut reader.db(), tenant, self.policy.runs_max).await? {
            return Ok(());
        }
        let place = upkeep::beyond_number(&mut reader.db(), tenant, self.policy.runs_max).await?;
        drop(reader);
        self.remove_from(tenant, place).await
    }

    async fn too_large(&self, tenant: Tenant) -> Result<(), ServiceError> {
        let Some(bytes_max) = self.policy.bytes_max else {
            return Ok(());
        };
        let mut reader = self.store.reader().await?;
        let count = upkeep::count_of_tenant(&mut reader.db(), tenant).await?;
        if count <= bytes_max / RUN_BYTES_MAX {
            return Ok(());
        }
        let place = upkeep::beyond_bytes(&mut reader.db(), tenant, bytes_max).await?;
        drop(reader);
        self.remove_from(tenant, place).await
    }

    /// Removes the oldest runs beyond the bytes of all workspaces of a user, since a user can make any number of these. The largest come down
    /// until all fit.
    async fn too_large_together(&self, tenants: &BTreeSet<Tenant>) -> Result<(), ServiceError> {
        let Some(bytes_max) = self.policy.user_bytes_max else {
            return Ok(());
        };
        let mut by_user: BTreeMap<UserId, Vec<Tenant>> = BTreeMap::new();
        for tenant in tenants {
            let mut reader = self.store.reader().await?;
            let user = quota::user_of(&mut reader.db(), *tenant).await?;
            if let Some(user) = user {
                by_user.entry(user).or_default().push(*tenant);
            }
        }
        for tenants in by_user.into_values() {
            self.too_large_of_user(tenants, bytes_max).await?;
        }
        Ok(())
    }

    async fn too_large_of_user(&self, tenants: Vec<Tenant>, bytes_max: i64) -> Result<(), ServiceError> {
        let mut count: i64 = 0;
        for tenant in &tenants {
            let mut reader = self.store.reader().await?;
            let more = upkeep::count_of_tenant(&mut reader.db(), *tenant).await?;
            count = count.saturating_add(more);
        }
        if count <= bytes_max / RUN_BYTES_MAX {
            return Ok(());
        }
        let mut sizes = Vec::with_capacity(tenants.len());
        for tenant in &tenants {
            let mut reader = self.store.reader().await?;
            sizes.push(upkeep::bytes_of_tenant(&mut reader.db(), *tenant).await?);
        }
        let Some(share) = common_share(&sizes, bytes_max) else {
            return Ok(());
        };
        for (tenant, bytes) in tenants.into_iter().zip(sizes) {
            if bytes > share {
                let mut reader = self.store.reader().await?;
                let place = upkeep::beyond_bytes(&mut reader.db(), tenant, share).await?;
                drop(reader);
                self.remove_from(tenant, place).await?;
            }
        }
        Ok(())
    }

    /// Removes a tenant's ended runs from this place on, if there is one.
    async fn remove_from(&self, tenant: Tenant, place: Option<upkeep::Place>) -> Result<(), ServiceError> {
        let Some(place) = place else { return Ok(()) };
        let removed = batches::remove(&self.store, move |db, rows| {
            Box::pin(upkeep::remove_from(db, tenant, place, rows))
        });
        counter!("heddle_runs_removed_total").increment(removed.await?);
        Ok(())
    }
}
