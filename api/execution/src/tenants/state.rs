//! What a workspace may use and has used, as counters that many runs change at once.

use heddle_contract::manifest::{FUEL_PER_COMPUTE_SECOND, Settings};
use heddle_model::clock::Timestamp;
use heddle_model::error::{Detail, ServiceError};
use heddle_model::ids::WorkspaceId;
use heddle_model::status::TriggeredBy;
use heddle_model::tenant::Tenant;
use heddle_model::usage::{Used, month_of};
use heddle_model::workspace_quota::{Period, WorkspaceExceeded, WorkspaceQuota, WorkspaceQuotas};
use heddle_runtime::Limits;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

/// How often, at most, what is there is counted again before more of it is refused.
const RECOUNT_EVERY_MS: i64 = 1_000;
/// What a limit is where there is none.
pub(super) const UNLIMITED: i64 = i64::MAX;

/// What counts when a run is accepted.
pub(super) const OF_RUNS: [WorkspaceQuota; 4] = [
    WorkspaceQuota::RunsPerMonth,
    WorkspaceQuota::FuelPerMonth,
    WorkspaceQuota::EgressBytesPerMonth,
    WorkspaceQuota::StorageBytes,
];

/// What a tenant may use and has used. Without limits it costs whoever asks no more than a look.
#[derive(Debug)]
pub(crate) struct TenantState {
    pub(super) tenant: Tenant,
    pub(super) is_limited: AtomicBool,
    limits: [AtomicI64; WorkspaceQuota::ALL.len()],
    used: [AtomicI64; WorkspaceQuota::ALL.len()],
    /// The month that is counted, and the minute of webhooks, by when they began.
    pub(super) month: AtomicI64,
    minute: AtomicI64,
    /// When storage was measured last.
    pub(super) storage_measured_at: AtomicI64,
    recounted_at: [AtomicI64; WorkspaceQuota::ALL.len()],
}

impl TenantState {
    pub(super) fn new(tenant: Tenant) -> Arc<Self> {
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

    pub(super) fn limit(&self, quota: WorkspaceQuota) -> i64 {
        let limit = self.limits.get(quota as usize);
        limit.map_or(UNLIMITED, |limit| limit.load(Ordering::Relaxed))
    }

    pub(super) fn counter(&self, quota: WorkspaceQuota) -> Option<&AtomicI64> {
        self.used.get(quota as usize)
    }

    pub(super) fn used(&self, quota: WorkspaceQuota) -> i64 {
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

    pub(super) fn check(&self, quota: WorkspaceQuota, now: Timestamp) -> Result<(), WorkspaceExceeded> {
        let limit = self.limit(quota);
        match self.used(quota) < limit {
            true => Ok(()),
            false => Err(WorkspaceExceeded::at(quota, limit, now)),
        }
    }

    /// Begins to count anew what was used in an earlier month or minute.
    pub(super) fn roll(&self, now: Timestamp) {
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

    /// Whether anything is limited that is counted here: without, whoever asks need not even know the time.
    pub fn is_limited(&self) -> bool {
        self.is_limited.load(Ordering::Relaxed)
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

    /// The limits of a run of the tenant's.
    pub fn of_a_run(&self, limits: &Limits) -> Limits {
        let limit = |quota| self.limit(quota).unsigned_abs();
        limits.clone().within(
            limit(WorkspaceQuota::MemoryMbPerRun),
            limit(WorkspaceQuota::ComputeSecondsPerRun),
            limit(WorkspaceQuota::EffectsPerRun),
        )
    }

    /// Refuses settings of a pattern that ask for more than its runs can have.
    pub fn check_settings(&self, settings: &Settings, limits: &Limits) -> Result<(), ServiceError> {
        let ceilings = self.of_a_run(limits).ceilings;
        let memory_mb = (ceilings.memory_bytes >> 20) as u64;
        let seconds = ceilings.fuel / FUEL_PER_COMPUTE_SECOND;
        let mut details = Vec::new();
        for (field, wanted, most, quota, setting) in [
            (
                "memoryMb",
                settings.memory_mb,
                memory_mb,
                WorkspaceQuota::MemoryMbPerRun,
                "run_memory_ceiling",
            ),
            (
                "computeSeconds",
                settings.compute_seconds,
                seconds,
                WorkspaceQuota::ComputeSecondsPerRun,
                "run_fuel_ceiling",
            ),
            (
                "maxEffects",
                settings.max_effects,
                u64::from(ceilings.effects),
                WorkspaceQuota::EffectsPerRun,
                "run_effects_ceiling",
            ),
        ] {
            if wanted.is_some_and(|wanted| wanted > most) {
                let quota = quota.name();
                details.push(Detail {
                    path: format!("settings.{field}"),
                    message: format!(
                        "must be at most {most} here: lower it, or ask the operator of the service to raise the quota {quota} \
                         of the workspace or the server's {setting}"
                    ),
                });
            }
        }
        match details.is_empty() {
            true => Ok(()),
            false => Err(ServiceError::fields(details)),
        }
    }

    pub(super) fn set_limits(&self, limits: &WorkspaceQuotas) {
        let mut is_limited = false;
        for quota in WorkspaceQuota::ALL.iter().copied() {
            let limit = limits.limit(quota).unwrap_or(UNLIMITED);
            // What counts nothing here needs no measuring.
            let is_counted = quota != WorkspaceQuota::RunsAtOnce && quota.period() != Period::Run;
            is_limited |= limit != UNLIMITED && is_counted;
            if let Some(kept) = self.limits.get(quota as usize) {
                kept.store(limit, Ordering::Relaxed);
            }
        }
        self.is_limited.store(is_limited, Ordering::Relaxed);
    }
}
