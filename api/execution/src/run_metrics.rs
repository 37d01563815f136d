//! What is counted of every run, found once: finding a metric by its name takes longer than counting. By tenant, no more
//! metrics are made than operators have asked for.

use heddle_model::status::{RunStatus, TriggeredBy};
use heddle_model::tenant::Tenant;
use heddle_store::runs::ResultRow;
use metrics::{Counter, Histogram, counter, histogram};
use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};

/// What is counted of a run that has ended.
#[derive(Clone, Copy)]
pub(crate) struct Figures {
    fuel_used: i64,
    /// `None`: it has not executed.
    pub duration_ms: Option<i64>,
    memory_bytes_peak: i64,
}

impl Figures {
    pub const fn of(row: &ResultRow) -> Self {
        Figures {
            fuel_used: row.fuel_used,
            duration_ms: row.duration_ms,
            memory_bytes_peak: row.memory_bytes_peak,
        }
    }
}

struct RunMetrics {
    accepted: Vec<(TriggeredBy, Counter)>,
    ended: Vec<(RunStatus, Counter)>,
    fuel: Counter,
    seconds: Histogram,
    memory_bytes: Histogram,
}

static METRICS: LazyLock<RunMetrics> = LazyLock::new(|| {
    let accepted = |by: &TriggeredBy| {
        let counter = counter!("heddle_runs_accepted_total", "triggered_by" => by.name());
        (*by, counter)
    };
    let ended = |status: &RunStatus| {
        let counter = counter!("heddle_runs_ended_total", "status" => status.name());
        (*status, counter)
    };
    let ends = RunStatus::ALL.iter().filter(|it| **it != RunStatus::Running);
    RunMetrics {
        accepted: TriggeredBy::ALL.iter().map(accepted).collect(),
        ended: ends.map(ended).collect(),
        fuel: counter!("heddle_run_fuel_total"),
        seconds: histogram!("heddle_run_duration_seconds"),
        memory_bytes: histogram!("heddle_run_memory_bytes"),
    }
});

/// Counts a run that was accepted.
pub(crate) fn accepted(by: TriggeredBy) {
    add_one(&METRICS.accepted, by);
}

/// Counts a run that has ended.
pub(crate) fn ended(status: RunStatus, figures: Figures) {
    let metrics = &*METRICS;
    add_one(&metrics.ended, status);
    metrics.fuel.increment(fuel(figures));
    if let Some(duration_ms) = figures.duration_ms {
        metrics.seconds.record(duration_ms as f64 / 1_000.0);
        metrics.memory_bytes.record(figures.memory_bytes_peak as f64);
    }
}

/// The label of all tenants that have no metrics of their own.
const OTHERS: &str = "(others)";

/// What is counted of a tenant's runs.
#[derive(Clone)]
struct OfTenant {
    ended: Vec<(RunStatus, Counter)>,
    fuel: Counter,
}

impl OfTenant {
    fn find(label: &str) -> Self {
        let ends = RunStatus::ALL.iter().filter(|it| **it != RunStatus::Running);
        let ended = |status: &RunStatus| {
            let labels = [("tenant", label.to_owned()), ("status", status.name().to_owned())];
            (*status, counter!("heddle_tenant_runs_ended_total", &labels))
        };
        OfTenant {
            ended: ends.map(ended).collect(),
            fuel: counter!("heddle_tenant_run_fuel_total", "tenant" => label.to_owned()),
        }
    }
}

/// Metrics of the first tenants whose runs end; those that come later are counted together.
pub(crate) struct TenantMetrics {
    tenants_max: usize,
    found: Mutex<HashMap<Tenant, OfTenant>>,
}

impl TenantMetrics {
    pub fn new(tenants_max: usize) -> Self {
        TenantMetrics {
            tenants_max,
            found: Mutex::default(),
        }
    }

    /// Counts a run that has ended.
    pub fn ended(&self, tenant: Tenant, status: RunStatus, figures: Figures) {
        if self.tenants_max == 0 {
            return;
        }
        let counted = self.of(tenant);
        add_one(&counted.ended, status);
        counted.fuel.increment(fuel(figures));
    }

    fn of(&self, tenant: Tenant) -> OfTenant {
        static OF_OTHERS: LazyLock<OfTenant> = LazyLock::new(|| OfTenant::find(OTHERS));
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(counted) = found.get(&tenant) {
            return counted.clone();
        }
        if found.len() >= self.tenants_max {
            return OF_OTHERS.clone();
        }
        found
            .entry(tenant)
            .or_insert_with(|| OfTenant::find(&tenant.to_string()))
            .clone()
    }
}

fn fuel(figures: Figures) -> u64 {
    u64::try_from(figures.fuel_used).unwrap_or(0)
}

fn add_one<T: PartialEq>(counters: &[(T, Counter)], which: T) {
    if let Some((_, counter)) = counters.iter().find(|(it, _)| *it == which) {
        counter.increment(1);
    }
}
