//! What test runs, replays and polls use is metered, apart from what runs record, and counts toward the fuel and the bytes of a month.

use crate::tenants::Tenants;
use heddle_model::clock::Clock;
use heddle_model::error::{ServiceError, chain};
use heddle_model::tenant::Tenant;
use heddle_model::usage::{Used, memory_kib_ms};
use heddle_runtime::Outcome;
use heddle_store::{Store, StoreError, usage};

/// Meters test runs. Cheap to clone.
#[derive(Clone)]
pub(crate) struct TestMeter {
    pub store: Store,
    pub clock: Clock,
    pub tenants: Tenants,
}

impl TestMeter {
    /// Checks that a tenant's test run may begin.
    pub async fn admit(&self, tenant: Tenant) -> Result<(), ServiceError> {
        let now = self.clock.now();
        let admitted = self.tenants.of(tenant).await?.admit_test(now);
        admitted.map_err(|exceeded| ServiceError::exceeded(&exceeded, now))
    }

    /// Counts a test run that has ended. Its outcome is told in any case: what fails here is logged only.
    pub async fn count(&self, tenant: Tenant, outcome: &Outcome) {
        let usage = &outcome.usage;
        let int = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
        let duration_ms = int(usage.duration_us.saturating_add(500) / 1_000);
        let used = Used {
            runs: 1,
            failed_runs: 0,
            fuel: int(usage.fuel_used),
            memory_kib_ms: memory_kib_ms(int(usage.memory_bytes_peak as u64), duration_ms),
            effects: usage.effects_begun.into(),
            egress_bytes: int(usage.egress_bytes),
        };
        self.count_used(tenant, used).await;
    }

    /// Counts a request that was sent outside of runs.
    pub async fn count_request(&self, tenant: Tenant, egress_bytes: u64) {
        let used = Used {
            effects: 1,
            egress_bytes: i64::try_from(egress_bytes).unwrap_or(i64::MAX),
            ..Used::default()
        };
        self.count_used(tenant, used).await;
    }

    async fn count_used(&self, tenant: Tenant, used: Used) {
        let now = self.clock.now();
        let counted = self
            .store
            .write(move |db| Box::pin(async move { usage::count_test(db, tenant, now, &used).await }));
        let counted: Result<(), StoreError> = counted.await;
        if let Err(error) = counted {
            tracing::error!(%tenant, "What a test run or a poll has used could not be metered: {}", chain(&error));
        }
        match self.tenants.of(tenant).await {
            Ok(state) => state.count(&used),
            Err(error) => {
                tracing::error!(%tenant, "What a test run or a poll has used could not be counted: {}", chain(&error))
            }
        }
    }
}
