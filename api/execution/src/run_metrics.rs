//! What is counted of every run, found once: finding a metric by its name takes longer than counting.

use heddle_model::status::{RunStatus, TriggeredBy};
use heddle_store::runs::ResultRow;
use metrics::{Counter, Histogram, counter, histogram};
use std::sync::LazyLock;

/// What is counted of a run that has ended.
#[derive(Clone, Copy)]
pub(crate) struct Figures {
    fuel_used: i64,
    /// Of a run that has executed.
    duration_ms: Option<i64>,
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
    metrics
        .fuel
        .increment(u64::try_from(figures.fuel_used).unwrap_or(0));
    if let Some(duration_ms) = figures.duration_ms {
        metrics.seconds.record(duration_ms as f64 / 1_000.0);
        metrics.memory_bytes.record(figures.memory_bytes_peak as f64);
    }
}

fn add_one<T: PartialEq>(counters: &[(T, Counter)], which: T) {
    if let Some((_, counter)) = counters.iter().find(|(it, _)| *it == which) {
        counter.increment(1);
    }
}
