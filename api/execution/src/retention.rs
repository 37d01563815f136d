//! Old runs, idempotency keys, journals without a run, modules and imports that nobody goes on with are cleared away: a little at
//! a time, so that nobody's writes wait long. What nobody waits for any more is cancelled.

use crate::batches;
use crate::cancel::Canceller;
use crate::erasure::Erasure;
use crate::kept_journals::KeptJournals;
use crate::steps::Steps;
use crate::stop::Stop;
use heddle_files::Files;
use heddle_model::clock::{Clock, Timestamp};
use heddle_model::error::ServiceError;
use heddle_model::ids::{DeploymentId, UserId, WorkspaceId};
use heddle_model::quota::common_share;
use heddle_model::tenant::Tenant;
use heddle_store::panics::unless_it_panics;
use heddle_store::runs::{journal, keys, replays, responses, upkeep};
use heddle_store::{Store, StoreError, deployments, hosting, key_values, large_texts, quota};
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
/// Pieces of a text are left over if they have no row and their id is at least this old. Ids of runs that come with files are made
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
                let clearing = async {
                    let mut steps = Steps::default();
                    let tenants = this.clear_away_by_number(&mut steps).await;
                    if round.is_multiple_of(ROUNDS_BETWEEN_MEASURES) {
                        this.clear_away_by_size(&tenants, &mut steps).await;
                    }
                };
                // What failed was told, step by step; a panic between them is not to be the last round.
                unless_it_panics(clearing).await;
                tokio::select! {
                    _ = stopping.changed() => {}
                    () = tokio::time::sleep(ROUND) => {}
                }
            }
        });
    }

    /// Clears away once what is too old or too much. The first failure, after which it went on.
    pub async fn clear_away(&self) -> Result<(), ServiceError> {
        let mut steps = Steps::default();
        let tenants = self.clear_away_by_number(&mut steps).await;
        self.clear_away_by_size(&tenants, &mut steps).await;
        steps.result()
    }

    /// Clears away what is too large.
    async fn clear_away_by_size(&self, tenants: &BTreeSet<Tenant>, steps: &mut Steps) {
        for tenant in tenants {
            let name = format!("the bytes of the runs of {tenant}");
            steps.take(name, self.too_large(*tenant)).await;
        }
        self.too_large_together(tenants, steps).await;
    }

    /// Clears away what is too old or too many, without looking at sizes. Gives all tenants with deployments, as far as they could be read.
    async fn clear_away_by_number(&self, steps: &mut Steps) -> BTreeSet<Tenant> {
        let now = self.clock.now();
        let before = now.minus(self.policy.age_max);
        // Where a shorter time is not known, runs are kept for longer.
        let shorter = steps.take("the settings of workspaces", self.shorter(now, before));
        let shorter = shorter.await.unwrap_or_default();
        let mut tenants = BTreeSet::new();
        let mut after = None;
        loop {
            let page = steps.take("the list of deployments", self.deployments_after(after));
            let page = page.await.unwrap_or_default();
            let Some((last, ..)) = page.last() else { break };
            after = Some(*last);
            for (deployment, user, workspace) in page {
                tenants.insert(Tenant::of(user, workspace));
                let own = workspace.and_then(|workspace| shorter.get(&workspace));
                let name = format!("old runs of deployment {deployment}");
                let removing = self.too_old(deployment, *own.unwrap_or(&before));
                steps.take(name, removing).await;
            }
        }
        for tenant in &tenants {
            let name = format!("the number of runs of {tenant}");
            steps.take(name, self.too_many(*tenant)).await;
        }
        self.orphans(steps).await;
        steps.take("runs that nobody waits for", self.unwaited()).await;
        steps.take("texts of no row", self.texts_of_no_row(now)).await;
        self.rows(now, before, steps).await;
        self.journals.clear_away(steps).await;
        self.erasure.remove_abandoned_imports(now, steps).await;
        let modules = self.replaced_modules(now);
        steps.take("replaced modules", modules).await;
        // What it has removed may have held files.
        steps.take("files", self.files.sweep()).await;
        tenants
    }

    async fn deployments_after(
        &self,
        after: Option<DeploymentId>,
    ) -> Result<Vec<(DeploymentId, UserId, Option<WorkspaceId>)>, StoreError> {
        let mut reader = self.store.reader().await?;
        upkeep::deployments_after(&mut reader.db(), after, PAGE_MAX).await
    }

    /// Removes rows that say themselves until when they are needed.
    async fn rows(&self, now: Timestamp, before: Timestamp, steps: &mut Steps) {
        let journals = batches::remove(&self.store, move |db, rows| Box::pin(journal::sweep(db, rows)));
        steps.take("journals without a run", journals).await;
        let unasked_since = now.minus(RESPONSE_AGE_MAX);
        let responses = batches::remove(&self.store, move |db, rows| {
            Box::pin(responses::sweep(db, unasked_since, rows))
        });
        steps.take("responses", responses).await;
        let keys = batches::remove(&self.store, move |db, rows| {
            Box::pin(keys::remove_expired(db, now, rows))
        });
        steps.take("idempotency keys", keys).await;
        let values = batches::remove(&self.store, move |db, rows| {
            Box::pin(key_values::delete_expired(db, now, rows))
        });
        steps.take("expired values", values).await;
        let replays = batches::remove(&self.store, move |db, rows| {
            Box::pin(replays::forget_past(db, before, rows))
        });
        steps.take("past replays", replays).await;
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
    async fn orphans(&self, steps: &mut Steps) {
        loop {
            let orphaned = steps.take("the list of deployments that are gone", self.orphaned());
            let orphaned = orphaned.await.unwrap_or_default();
            let is_full = i64::try_from(orphaned.len()).unwrap_or(i64::MAX) >= PAGE_MAX;
            let mut is_any_gone = false;
            for (deployment,) in orphaned {
                let removing = batches::remove(&self.store, move |db, rows| {
                    Box::pin(upkeep::remove_orphans(db, deployment, rows))
                });
                let name = format!("runs of the deleted deployment {deployment}");
                is_any_gone |= steps.take(name, removing).await.is_some();
            }
            // What can't be removed is not to be looked for for ever.
            if !is_full || !is_any_gone {
                return;
            }
        }
    }

    async fn orphaned(&self) -> Result<Vec<(DeploymentId,)>, StoreError> {
        let mut reader = self.store.reader().await?;
        upkeep::orphaned(&mut reader.db(), PAGE_MAX).await
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

    /// Removes what a crash has left of large events, graphs and definitions whose rows were not stored.
    async fn texts_of_no_row(&self, now: Timestamp) -> Result<(), ServiceError> {
        if self.store.is_shared() {
            return Ok(());
        }
        let before = now.minus(UNSTORED_AGE_MIN);
        loop {
            let mut reader = self.store.reader().await?;
            let unstored = large_texts::unstored(&mut reader.db(), before, PAGE_MAX).await?;
            drop(reader);
            let is_full = i64::try_from(unstored.len()).unwrap_or(i64::MAX) >= PAGE_MAX;
            for (row,) in unstored {
                large_texts::remove_of_unstored(&self.store, &row.into()).await?;
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
        drop(reader);
        if count <= bytes_max / RUN_BYTES_MAX {
            return Ok(());
        }
        self.beyond_bytes(tenant, bytes_max).await
    }

    /// Removes the oldest runs beyond the bytes of all workspaces of a user, since a user can make any number of these. The largest come down
    /// until all fit.
    async fn too_large_together(&self, tenants: &BTreeSet<Tenant>, steps: &mut Steps) {
        let Some(bytes_max) = self.policy.user_bytes_max else {
            return;
        };
        let mut by_user: BTreeMap<UserId, Vec<Tenant>> = BTreeMap::new();
        for tenant in tenants {
            let user = steps.take(format!("the user of {tenant}"), self.user_of(*tenant));
            if let Some(Some(user)) = user.await {
                by_user.entry(user).or_default().push(*tenant);
            }
        }
        for (user, tenants) in by_user {
            let name = format!("the bytes of the runs of user {user}");
            let beyond = steps.take(name, self.beyond_share(&tenants, bytes_max));
            let Some((share, larger)) = beyond.await else {
                continue;
            };
            for tenant in larger {
                let name = format!("the bytes of the runs of {tenant} beyond its share");
                steps.take(name, self.beyond_bytes(tenant, share)).await;
            }
        }
    }

    async fn user_of(&self, tenant: Tenant) -> Result<Option<UserId>, StoreError> {
        let mut reader = self.store.reader().await?;
        quota::user_of(&mut reader.db(), tenant).await
    }

    /// How many bytes each of a user's tenants may have, and which have more; none if all fit.
    async fn beyond_share(
        &self,
        tenants: &[Tenant],
        bytes_max: i64,
    ) -> Result<(i64, Vec<Tenant>), ServiceError> {
        let mut count: i64 = 0;
        for tenant in tenants {
            let mut reader = self.store.reader().await?;
            let more = upkeep::count_of_tenant(&mut reader.db(), *tenant).await?;
            count = count.saturating_add(more);
        }
        if count <= bytes_max / RUN_BYTES_MAX {
            return Ok((bytes_max, Vec::new()));
        }
        let mut sizes = Vec::with_capacity(tenants.len());
        for tenant in tenants {
            let mut reader = self.store.reader().await?;
            sizes.push(upkeep::bytes_of_tenant(&mut reader.db(), *tenant).await?);
        }
        let Some(share) = common_share(&sizes, bytes_max) else {
            return Ok((bytes_max, Vec::new()));
        };
        let sized = tenants.iter().zip(sizes);
        let larger = sized.filter(|(_, bytes)| *bytes > share);
        Ok((share, larger.map(|(tenant, _)| *tenant).collect()))
    }

    /// Removes the oldest runs of a tenant beyond so many bytes.
    async fn beyond_bytes(&self, tenant: Tenant, bytes_max: i64) -> Result<(), ServiceError> {
        let mut reader = self.store.reader().await?;
        let place = upkeep::beyond_bytes(&mut reader.db(), tenant, bytes_max).await?;
        drop(reader);
        self.remove_from(tenant, place).await
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
