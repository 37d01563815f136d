//! What workspaces may use, and what they have used, as far as that is kept in memory: whoever is about to use more asks
//! here, and no database. What is kept is measured again every few seconds; in between it grows by what this server does.
//! So a quota is exceeded by no more than what is under way, and what other servers do meanwhile.

mod state;
mod stored;

use crate::queue::Queue;
use crate::stop::Stop;
use heddle_model::audit::{Action, Object, Origin};
use heddle_model::clock::{Clock, Timestamp};
use heddle_model::error::{ServiceError, chain};
use heddle_model::ids::WorkspaceId;
use heddle_model::tenant::Tenant;
use heddle_model::usage::month_of;
use heddle_model::workspace_quota::{Period, WorkspaceQuota, WorkspaceQuotas};
use heddle_store::panics::unless_it_panics;
use heddle_store::{Store, StoreError, audit, hosting, usage};
use state::{OF_RUNS, UNLIMITED};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use stored::bytes_below;

pub(crate) use state::TenantState;

/// How often what was used is measured again.
const MEASURE_EVERY: Duration = Duration::from_secs(10);
/// How often storage is measured again: all runs of a workspace are read for it.
const STORAGE_AGE_MAX: Duration = Duration::from_secs(10 * 60);
/// In one of so many rounds the storage of all workspaces is measured, for their reports.
const ROUNDS_BETWEEN_REPORTS: u64 = 360;
/// Workspaces that are remembered; past it those are forgotten whose deployments are.
const KEPT_MAX: usize = 10_000;
/// Workspaces that are read at a time.
const PAGE: i64 = 500;
/// Failures that are logged of one round.
const LOGGED_MAX: usize = 10;

/// A quota of a workspace, and how much of it is used.
#[derive(Clone, Copy, Debug)]
pub struct QuotaUsage {
    pub quota: WorkspaceQuota,
    /// Its limit; `None`: there is none.
    pub limit: Option<i64>,
    /// How much is used; `None`: that is not measured where there is no limit.
    pub used: Option<i64>,
}

impl QuotaUsage {
    /// Whether four fifths are used.
    pub fn is_nearly_used(&self) -> bool {
        let (Some(limit), Some(used)) = (self.limit, self.used) else {
            return false;
        };
        used.saturating_mul(5) >= limit.saturating_mul(4)
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
        for of_quota in quota_usage(state) {
            if of_quota.is_nearly_used() {
                self.warn(workspace, of_quota, now).await?;
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
        self.0.store.meter().await?;
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
        of_quota: QuotaUsage,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let month = month_of(now).0;
        let warned = self.0.store.write(move |db| {
            Box::pin(async move {
                if !hosting::warn(db, workspace, of_quota.quota, month, now).await? {
                    return Ok(false);
                }
                let entry = Action::WorkspaceQuotaWarned
                    .of(Object::Workspace(workspace))
                    .with("quota", of_quota.quota.name())
                    .with("limit", of_quota.limit)
                    .with("used", of_quota.used);
                let origin = Origin {
                    at: now,
                    address: None,
                    api_key: None,
                };
                audit::note_in_workspace(db, workspace, (None, origin), entry).await?;
                Ok::<_, StoreError>(true)
            })
        });
        if warned.await? {
            let (quota, limit, used) = (of_quota.quota.name(), of_quota.limit, of_quota.used);
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
    pub async fn quota_usage(&self, workspace: WorkspaceId) -> Result<Vec<QuotaUsage>, ServiceError> {
        let state = self.of(Tenant::Workspace(workspace)).await?;
        self.refresh(&state, false).await?;
        let now = self.0.clock.now();
        state.roll(now);
        self.measure_runs(&state, workspace, now).await?;
        let mut reader = self.0.store.reader().await?;
        let since = now.minus(STORAGE_AGE_MAX * 12);
        let stored = usage::last_stored(&mut reader.db(), workspace, since).await?;
        let mut found = quota_usage(&state);
        for of_quota in &mut found {
            if of_quota.quota == WorkspaceQuota::StorageBytes {
                of_quota.used = stored;
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
                let measuring = async {
                    match round % ROUNDS_BETWEEN_REPORTS {
                        0 => this.measure_all_storage().await,
                        _ => this.measure().await,
                    }
                };
                // A panic was told, and is not to be the last round.
                if let Some(Err(error)) = unless_it_panics(measuring).await {
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
        if self.count <= LOGGED_MAX {
            tracing::warn!(%tenant, "What a workspace uses can't be measured now: {}", chain(&error));
        }
    }
}

fn quota_usage(state: &TenantState) -> Vec<QuotaUsage> {
    let of_quota = |quota: &WorkspaceQuota| {
        let limit = state.limit(*quota);
        let limit = (limit != UNLIMITED).then_some(limit);
        let is_counted = (limit.is_some() && quota.period() != Period::Run) || OF_RUNS.contains(quota);
        QuotaUsage {
            quota: *quota,
            limit,
            used: is_counted.then(|| state.used(*quota)),
        }
    };
    WorkspaceQuota::ALL.iter().map(of_quota).collect()
}
