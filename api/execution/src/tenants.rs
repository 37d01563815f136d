//! What workspaces may use, and what they have used, as far as that is kept in memory: whoever is about to use more asks
//! here, and no database. What is kept is measured again every few seconds; in between it grows by what this server does.
//! So a quota is exceeded by no more than what is under way, and what other servers do meanwhile.

mod stored;

use crate::queue::Queue;
use crate::stop::Stop;
use heddle_model::audit::{Action, Object, Origin};
use heddle_model::clock::{Clock, Timestamp};
use heddle_model::error::{ServiceError, chain};
use heddle_model::ids::WorkspaceId;
use heddle_model::status::TriggeredBy;
use heddle_model::tenant::Tenant;
use heddle_model::usage::{Used, month_of};
use heddle_model::workspace_quota::{WorkspaceExceeded, WorkspaceQuota, WorkspaceQuotas};
use heddle_store::{Store, StoreError, audit, hosting, usage};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use stored::bytes_below;

/// How often what was used is measured again.
const MEASURE_EVERY: Duration = Duration::from_secs(10);
/// How often storage is measured again: all runs of a workspace are read for it.
const STORAGE_AGE_MAX: Duration = Duration::from_secs(10 * 60);
/// Of so many rounds, in one the storage of all workspaces is measured, for their reports.
const ROUNDS_BETWEEN_REPORTS: u64 = 360;
/// Workspaces that are remembered; past it those are forgotten whose deployments are.
const KEPT_MAX: usize = 10_000;
/// Workspaces that are read at a time.
const PAGE: i64 = 500;
/// How often, at most, what is there is counted again before more of it is refused.
const RECOUNT_EVERY_MS: i64 = 1_000;
/// Failures that are logged of one round.
const TOLD_MAX: usize = 10;
const UNLIMITED: i64 = i64::MAX;

/// What counts when a run is accepted.
const OF_RUNS: [WorkspaceQuota; 4] = [
    WorkspaceQuota::RunsPerMonth,
    WorkspaceQuota::FuelPerMonth,
    WorkspaceQuota::EgressBytesPerMonth,
    WorkspaceQuota::StorageBytes,
];

/// A quota of a workspace, and how much of it is used.
#[derive(Clone, Copy, Debug)]
pub struct Standing {
    pub quota: WorkspaceQuota,
    /// Its limit; `None`: there is none.
    pub limit: Option<i64>,
    /// How much is used; `None`: that is not measured where there is no limit.
    pub used: Option<i64>,
}

impl Standing {
    /// Whether four fifths are used.
    pub fn is_nearly_used(&self) -> bool {
        let (Some(limit), Some(used)) = (self.limit, self.used) else {
            return false;
        };
        used.saturating_mul(5) >= limit.saturating_mul(4)
    }
}

/// What a tenant may use and has used. Without limits it costs whoever asks no more than a look.
#[derive(Debug)]
pub(crate) struct TenantState {
    tenant: Tenant,
    is_limited: AtomicBool,
    limits: [AtomicI64; WorkspaceQuota::ALL.len()],
    used: [AtomicI64; WorkspaceQuota::ALL.len()],
    /// The month that is counted, and the minute of webhooks, by when they began.
    month: AtomicI64,
    minute: AtomicI64,
    storage_measured_at: AtomicI64,
    recounted_at: [AtomicI64; WorkspaceQuota::ALL.len()],
}

impl TenantState {
    fn new(tenant: Tenant) -> Arc<Self> {
        Arc::new(TenantState {
            tenant,
            is_limited: AtomicBool::new(false),
            limits: [const { AtomicI64::new(UNLIMITED) }; WorkspaceQuota::ALL.len()],
            used: [const { AtomicI64::new(0) }; WorkspaceQuota::ALL.len()],
            month: AtomicI64::new(i64::MIN),
            minute: AtomicI64::new(i64::MIN),
            storage_measured_at: AtomicI64::new(i64::MIN),
            recounted_at: [const { AtomicI64::new(i64::MIN) }; WorkspaceQuota::ALL.len()],
        })
    }

    fn limit(&self, quota: WorkspaceQuota) -> i64 {
        let limit = self.limits.get(quota as usize);
        limit.map_or(UNLIMITED, |limit| limit.load(Ordering::Relaxed))
    }

    fn counter(&self, quota: WorkspaceQuota) -> Option<&AtomicI64> {
        self.used.get(quota as usize)
    }

    fn used(&self, quota: WorkspaceQuota) -> i64 {
        self.counter(quota).map_or(0, |used| used.load(Ordering::Relaxed))
    }

    pub fn set_used(&self, quota: WorkspaceQuota, used: i64) {
        if let Some(counter) = self.counter(quota) {
            counter.store(used, Ordering::Relaxed);
        }
    }

    fn add(&self, quota: WorkspaceQuota, more: i64) {
        if let Some(counter) = self.counter(quota) {
            counter.fetch_add(more, Ordering::Relaxed);
        }
    }

    fn check(&self, quota: WorkspaceQuota, now: Timestamp) -> Result<(), WorkspaceExceeded> {
        let limit = self.limit(quota);
        match self.used(quota) < limit {
            true => Ok(()),
            false => Err(WorkspaceExceeded::at(quota, limit, now)),
        }
    }

    /// Begins to count anew what was used in an earlier month or minute.
    fn roll(&self, now: Timestamp) {
        let month = month_of(now).0.millis();
        if self.month.swap(month, Ordering::Relaxed) != month {
            for quota in OF_RUNS {
                if quota != WorkspaceQuota::StorageBytes {
                    self.set_used(quota, 0);
                }
            }
        }
        let minute = now.millis().div_euclid(60_000);
        if self.minute.swap(minute, Ordering::Relaxed) != minute {
            self.set_used(WorkspaceQuota::WebhooksPerMinute, 0);
        }
    }

    /// Counts a run that is about to be accepted, unless that would be too much.
    pub fn admit(&self, by: TriggeredBy, now: Timestamp) -> Result<(), WorkspaceExceeded> {
        if !self.is_limited.load(Ordering::Relaxed) {
            return Ok(());
        }
        self.roll(now);
        for quota in OF_RUNS {
            self.check(quota, now)?;
        }
        if by == TriggeredBy::Webhook {
            self.check(WorkspaceQuota::WebhooksPerMinute, now)?;
            self.add(WorkspaceQuota::WebhooksPerMinute, 1);
        }
        self.add(WorkspaceQuota::RunsPerMonth, 1);
        Ok(())
    }

    /// Checks that a test run or a replay may begin: they count as what they use, and not as runs.
    pub fn admit_test(&self, now: Timestamp) -> Result<(), WorkspaceExceeded> {
        if !self.is_limited.load(Ordering::Relaxed) {
            return Ok(());
        }
        self.roll(now);
        self.check(WorkspaceQuota::FuelPerMonth, now)?;
        self.check(WorkspaceQuota::EgressBytesPerMonth, now)
    }

    /// Counts one more of what is there, unless that would be too many.
    pub fn admit_one(&self, quota: WorkspaceQuota, now: Timestamp) -> Result<(), WorkspaceExceeded> {
        if !self.is_limited.load(Ordering::Relaxed) {
            return Ok(());
        }
        self.check(quota, now)?;
        self.add(quota, 1);
        Ok(())
    }

    /// Counts more of what is there, unless that would be too much.
    pub fn take(&self, quota: WorkspaceQuota, more: i64, now: Timestamp) -> Result<(), WorkspaceExceeded> {
        if !self.is_limited.load(Ordering::Relaxed) {
            return Ok(());
        }
        let limit = self.limit(quota);
        if self.used(quota).saturating_add(more) > limit {
            return Err(WorkspaceExceeded::at(quota, limit, now));
        }
        self.add(quota, more);
        Ok(())
    }

    /// Counts off again what was taken.
    pub fn give_back(&self, quota: WorkspaceQuota, less: i64) {
        if self.is_limited.load(Ordering::Relaxed) {
            self.add(quota, less.saturating_neg());
        }
    }

    /// Counts one less of what is there, or of runs: one that was not accepted after all.
    pub fn remove_one(&self, quota: WorkspaceQuota) {
        if self.is_limited.load(Ordering::Relaxed) && self.used(quota) > 0 {
            self.add(quota, -1);
        }
    }

    /// The workspace whose things are to be counted again, with [`TenantState::set_used`], before more are refused: others may
    /// have removed some. `None`: that was done just now.
    pub fn recounts(&self, quota: WorkspaceQuota, now: Timestamp) -> Option<WorkspaceId> {
        let Tenant::Workspace(workspace) = self.tenant else {
            return None;
        };
        let recounted_at = self.recounted_at.get(quota as usize)?;
        let last = recounted_at.load(Ordering::Relaxed);
        if last.saturating_add(RECOUNT_EVERY_MS) > now.millis() {
            return None;
        }
        // Whoever is first counts.
        let noted = recounted_at.compare_exchange(last, now.millis(), Ordering::Relaxed, Ordering::Relaxed);
        noted.is_ok().then_some(workspace)
    }

    /// Counts what an execution has used.
    pub fn count(&self, used: &Used) {
        if self.is_limited.load(Ordering::Relaxed) {
            self.add(WorkspaceQuota::FuelPerMonth, used.fuel);
            self.add(WorkspaceQuota::EgressBytesPerMonth, used.egress_bytes);
        }
    }

    fn set_limits(&self, limits: &WorkspaceQuotas) {
        let mut is_limited = false;
        for quota in WorkspaceQuota::ALL.iter().copied() {
            let limit = limits.limit(quota).unwrap_or(UNLIMITED);
            is_limited |= limit != UNLIMITED && quota != WorkspaceQuota::RunsAtOnce;
            if let Some(kept) = self.limits.get(quota as usize) {
                kept.store(limit, Ordering::Relaxed);
            }
        }
        self.is_limited.store(is_limited, Ordering::Relaxed);
    }
}

/// What is measured where.
#[derive(Clone, Debug)]
pub(crate) struct TenantSettings {
    /// Limits of workspaces that have none of their own.
    pub defaults: WorkspaceQuotas,
    /// Where files of SQLite connections are, which count as storage.
    pub sqlite_dir: Option<PathBuf>,
}

/// The tenants in memory. Cheap to clone.
#[derive(Clone)]
pub struct Tenants(Arc<Shared>);

impl std::fmt::Debug for Tenants {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tenants")
    }
}

struct Shared {
    store: Store,
    clock: Clock,
    queue: Queue,
    settings: TenantSettings,
    states: Mutex<HashMap<Tenant, Arc<TenantState>>>,
}

impl Tenants {
    pub(crate) fn new(store: Store, clock: Clock, queue: Queue, settings: TenantSettings) -> Self {
        Tenants(Arc::new(Shared {
            store,
            clock,
            queue,
            settings,
            states: Mutex::default(),
        }))
    }

    fn states(&self) -> MutexGuard<'_, HashMap<Tenant, Arc<TenantState>>> {
        self.0.states.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is kept of a tenant, measured if nothing is.
    pub(crate) async fn of(&self, tenant: Tenant) -> Result<Arc<TenantState>, StoreError> {
        let found = self.states().get(&tenant).cloned();
        if let Some(found) = found {
            return Ok(found);
        }
        let state = TenantState::new(tenant);
        self.refresh(&state, true).await?;
        let mut states = self.states();
        if states.len() >= KEPT_MAX {
            // Whoever has a deployment in memory keeps its tenant's.
            states.retain(|_, state| Arc::strong_count(state) > 1);
        }
        Ok(states.entry(tenant).or_insert(state).clone())
    }

    /// Reads a workspace's limits, and measures what they are of.
    async fn refresh(&self, state: &TenantState, reads_limits: bool) -> Result<(), StoreError> {
        let Tenant::Workspace(workspace) = state.tenant else {
            return Ok(());
        };
        if reads_limits {
            let mut reader = self.0.store.reader().await?;
            let found = hosting::settings(&mut reader.db(), workspace).await?;
            let Some((own, _)) = found else {
                // It is gone.
                self.forget(workspace);
                return Ok(());
            };
            let limits = own.quotas.or(&self.0.settings.defaults);
            state.set_limits(&limits);
            let at_once = own.quotas.limit(WorkspaceQuota::RunsAtOnce);
            let at_once = at_once.and_then(|limit| usize::try_from(limit).ok());
            self.0.queue.limit_tenant(state.tenant, at_once);
        }
        let now = self.0.clock.now();
        state.roll(now);
        if state.is_limited.load(Ordering::Relaxed) {
            self.measure_limited(state, workspace, now, reads_limits).await?;
        }
        if state.limit(WorkspaceQuota::RunsAtOnce) != UNLIMITED {
            let executing = self.0.queue.executing_of(state.tenant);
            let executing = i64::try_from(executing).unwrap_or(i64::MAX);
            state.set_used(WorkspaceQuota::RunsAtOnce, executing);
        }
        for standing in standings(state) {
            if standing.is_nearly_used() {
                self.warn(workspace, standing, now).await?;
            }
        }
        Ok(())
    }

    /// Measures what is limited, besides what this server counts itself.
    async fn measure_limited(
        &self,
        state: &TenantState,
        workspace: WorkspaceId,
        now: Timestamp,
        reads_limits: bool,
    ) -> Result<(), StoreError> {
        self.measure_runs(state, workspace, now).await?;
        if state.limit(WorkspaceQuota::StorageBytes) != UNLIMITED {
            let measured_at = Timestamp::from_millis(state.storage_measured_at.load(Ordering::Relaxed));
            if measured_at.plus(STORAGE_AGE_MAX) <= now {
                let bytes = match reads_limits {
                    true => self.last_storage(workspace, now).await?,
                    false => self.measure_storage(workspace, now).await?,
                };
                state.set_used(WorkspaceQuota::StorageBytes, bytes);
                state.storage_measured_at.store(now.millis(), Ordering::Relaxed);
            }
        }
        Ok(())
    }

    async fn measure_runs(
        &self,
        state: &TenantState,
        workspace: WorkspaceId,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let mut reader = self.0.store.reader().await?;
        let db = &mut reader.db();
        let month = month_of(now).0;
        let used = usage::since(db, state.tenant, month).await?;
        // Those that have not ended yet are counted here only.
        if state.month.load(Ordering::Relaxed) == month.millis()
            && let Some(runs) = state.counter(WorkspaceQuota::RunsPerMonth)
        {
            runs.fetch_max(used.runs, Ordering::Relaxed);
        }
        let tests = usage::of_tests_since(db, state.tenant, month).await?;
        state.set_used(WorkspaceQuota::FuelPerMonth, used.fuel.saturating_add(tests.fuel));
        let egress_bytes = used.egress_bytes.saturating_add(tests.egress_bytes);
        state.set_used(WorkspaceQuota::EgressBytesPerMonth, egress_bytes);
        let is_limited = |quota| state.limit(quota) != UNLIMITED;
        if is_limited(WorkspaceQuota::WaitingRuns) {
            let waiting = usage::count_waiting_runs(db, workspace).await?;
            state.set_used(WorkspaceQuota::WaitingRuns, waiting);
        }
        if is_limited(WorkspaceQuota::KeyValues) {
            let values = usage::count_key_values(db, workspace).await?;
            state.set_used(WorkspaceQuota::KeyValues, values);
        }
        if is_limited(WorkspaceQuota::Patterns) {
            let patterns = usage::count_patterns(db, workspace).await?;
            state.set_used(WorkspaceQuota::Patterns, patterns);
        }
        Ok(())
    }

    /// How many bytes a workspace stored when it was measured last, if that is not long ago; else it is measured.
    async fn last_storage(&self, workspace: WorkspaceId, now: Timestamp) -> Result<i64, StoreError> {
        let mut reader = self.0.store.reader().await?;
        let since = now.minus(STORAGE_AGE_MAX * 12);
        let last = usage::last_stored(&mut reader.db(), workspace, since).await?;
        drop(reader);
        match last {
            Some(bytes) => Ok(bytes),
            None => self.measure_storage(workspace, now).await,
        }
    }

    /// How many bytes a workspace stores, in the database and in files of SQLite connections; notes it for reports.
    async fn measure_storage(&self, workspace: WorkspaceId, now: Timestamp) -> Result<i64, StoreError> {
        let mut reader = self.0.store.reader().await?;
        let rows = usage::stored_bytes(&mut reader.db(), workspace).await?;
        drop(reader);
        let dir = self.0.settings.sqlite_dir.as_ref();
        let files = match dir.map(|dir| dir.join(workspace.to_string())) {
            Some(dir) => tokio::task::spawn_blocking(move || bytes_below(&dir)).await,
            None => Ok(0),
        };
        let bytes = rows.saturating_add(files.unwrap_or(0));
        let noted = self
            .0
            .store
            .write(move |db| Box::pin(async move { usage::note_stored(db, workspace, now, bytes).await }));
        let noted: Result<(), StoreError> = noted.await;
        noted?;
        Ok(bytes)
    }

    /// Says once a month that much of a quota is used.
    async fn warn(
        &self,
        workspace: WorkspaceId,
        standing: Standing,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let month = month_of(now).0;
        let warned = self.0.store.write(move |db| {
            Box::pin(async move {
                if !hosting::warn(db, workspace, standing.quota, month, now).await? {
                    return Ok(false);
                }
                let told = Action::WorkspaceQuotaWarned
                    .of(Object::Workspace(workspace))
                    .with("quota", standing.quota.name())
                    .with("limit", standing.limit)
                    .with("used", standing.used);
                let origin = Origin {
                    at: now,
                    address: None,
                    api_key: None,
                };
                audit::note_in_workspace(db, workspace, (None, origin), told).await?;
                Ok::<_, StoreError>(true)
            })
        });
        if warned.await? {
            let (quota, limit, used) = (standing.quota.name(), standing.limit, standing.used);
            tracing::warn!(%workspace, quota, limit, used, "A workspace has used 80 % of a quota");
        }
        Ok(())
    }

    /// Reads the limits of a workspace again, since they have changed.
    pub(crate) async fn changed(&self, workspace: WorkspaceId) -> Result<(), StoreError> {
        let found = self.states().get(&Tenant::Workspace(workspace)).cloned();
        match found {
            Some(state) => self.refresh(&state, true).await,
            None => Ok(()),
        }
    }

    /// Reads the limits of all workspaces again.
    pub(crate) async fn all_changed(&self) {
        self.refresh_all(true).await;
    }

    /// Refreshes all in memory: what fails for one is not to keep the others from it.
    async fn refresh_all(&self, reads_limits: bool) {
        let mut failures = Failures::default();
        for state in self.all() {
            failures.note(state.tenant, self.refresh(&state, reads_limits).await);
        }
    }

    /// Forgets a workspace that is gone.
    pub(crate) fn forget(&self, workspace: WorkspaceId) {
        let tenant = Tenant::Workspace(workspace);
        self.states().remove(&tenant);
        self.0.queue.limit_tenant(tenant, None);
    }

    fn all(&self) -> Vec<Arc<TenantState>> {
        self.states().values().cloned().collect()
    }

    /// Measures again what the workspaces in memory have used, as far as they have quotas.
    pub async fn measure(&self) -> Result<(), ServiceError> {
        self.refresh_all(false).await;
        Ok(())
    }

    /// Measures how much each workspace stores.
    pub async fn measure_all_storage(&self) -> Result<(), ServiceError> {
        let (mut after, mut failures) = (None, Failures::default());
        loop {
            let mut reader = self.0.store.reader().await?;
            let page = hosting::list(&mut reader.db(), None, after, PAGE).await?;
            drop(reader);
            let Some(last) = page.last() else { return Ok(()) };
            after = Some(last.id);
            for row in &page {
                let measured = self.measure_storage(row.id, self.0.clock.now()).await;
                failures.note(Tenant::Workspace(row.id), measured.map(drop));
            }
        }
    }

    /// The quotas of a workspace, measured now but for storage.
    pub async fn standings(&self, workspace: WorkspaceId) -> Result<Vec<Standing>, ServiceError> {
        let state = self.of(Tenant::Workspace(workspace)).await?;
        self.refresh(&state, false).await?;
        let now = self.0.clock.now();
        state.roll(now);
        self.measure_runs(&state, workspace, now).await?;
        let mut reader = self.0.store.reader().await?;
        let since = now.minus(STORAGE_AGE_MAX * 12);
        let stored = usage::last_stored(&mut reader.db(), workspace, since).await?;
        let mut found = standings(&state);
        for standing in &mut found {
            if standing.quota == WorkspaceQuota::StorageBytes {
                standing.used = stored;
            }
        }
        Ok(found)
    }

    /// The limit of a workspace, if it has one.
    pub async fn limit(
        &self,
        workspace: WorkspaceId,
        quota: WorkspaceQuota,
    ) -> Result<Option<i64>, ServiceError> {
        let limit = self.of(Tenant::Workspace(workspace)).await?.limit(quota);
        Ok((limit != UNLIMITED).then_some(limit))
    }

    /// Refuses what would use more of a quota that is used up.
    pub async fn check(&self, workspace: WorkspaceId, quota: WorkspaceQuota) -> Result<(), ServiceError> {
        let state = self.of(Tenant::Workspace(workspace)).await?;
        let now = self.0.clock.now();
        let checked = state.check(quota, now);
        checked.map_err(|exceeded| ServiceError::exceeded(&exceeded, now))
    }

    /// Begins to measure, in the background.
    pub(crate) fn start(&self, stop: Stop) {
        let this = self.clone();
        tokio::spawn(async move {
            let mut stopping = stop.watch();
            for round in 0_u64.. {
                tokio::select! {
                    _ = stopping.changed() => {}
                    () = tokio::time::sleep(MEASURE_EVERY) => {}
                }
                if stop.has_begun() {
                    return;
                }
                let measured = match round % ROUNDS_BETWEEN_REPORTS {
                    0 => this.measure_all_storage().await,
                    _ => this.measure().await,
                };
                if let Err(error) = measured {
                    tracing::warn!("What workspaces use can't be measured now: {}", chain(&error));
                }
            }
        });
    }
}

/// What has failed of a round.
#[derive(Default)]
struct Failures {
    count: usize,
}

impl Failures {
    fn note(&mut self, tenant: Tenant, measured: Result<(), StoreError>) {
        let Err(error) = measured else { return };
        self.count += 1;
        if self.count <= TOLD_MAX {
            tracing::warn!(%tenant, "What a workspace uses can't be measured now: {}", chain(&error));
        }
    }
}

fn standings(state: &TenantState) -> Vec<Standing> {
    let standing = |quota: &WorkspaceQuota| {
        let limit = state.limit(*quota);
        let limit = (limit != UNLIMITED).then_some(limit);
        let is_counted = limit.is_some() || OF_RUNS.contains(quota);
        Standing {
            quota: *quota,
            limit,
            used: is_counted.then(|| state.used(*quota)),
        }
    };
    WorkspaceQuota::ALL.iter().map(standing).collect()
}
