//! Percentiles of a sample in which each run stands for as many as there were beside it.

use heddle_model::ids::DeploymentId;
use heddle_store::runs::series::{Counted, Sampled};
use std::collections::HashMap;

/// What runs took.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TimeAndFuel {
    /// The median of durations by the nearest rank, in milliseconds; `None`: none has ended.
    pub p50_ms: Option<i64>,
    /// The 95th percentile.
    pub p95_ms: Option<i64>,
    /// The 99th percentile.
    pub p99_ms: Option<i64>,
    /// Fuel of all of them together.
    pub fuel: f64,
}

/// A run of the sample.
struct Run {
    deployment: DeploymentId,
    /// Number of its stretch of time.
    number: i64,
    /// How many runs it stands for.
    weight: f64,
    duration_ms: Option<i64>,
    fuel: i64,
}

/// A sample, the shortest run first.
pub(super) struct Weighted(Vec<Run>);

impl Weighted {
    /// Weights runs that were sampled from those that were counted.
    pub fn new(totals: &[Counted], sampled: &[Sampled], size_ms: i64) -> Weighted {
        let key = |run: &Sampled| (run.deployment_id, run.accepted_at / size_ms);
        let mut taken: HashMap<(DeploymentId, i64), f64> = HashMap::new();
        for run in sampled {
            *taken.entry(key(run)).or_default() += 1.0;
        }
        let totals: HashMap<(DeploymentId, i64), f64> = totals
            .iter()
            .map(|it| ((it.deployment_id, it.number), it.total as f64))
            .collect();
        let run = |run: &Sampled| {
            let key = key(run);
            let taken = taken.get(&key).copied().unwrap_or(1.0);
            Run {
                deployment: key.0,
                number: key.1,
                weight: (totals.get(&key).copied().unwrap_or(taken) / taken).max(1.0),
                duration_ms: run.duration_ms,
                fuel: run.fuel_used.unwrap_or(0),
            }
        };
        let mut runs: Vec<Run> = sampled.iter().map(run).collect();
        runs.sort_by_key(|run| run.duration_ms);
        Weighted(runs)
    }

    /// What the runs took of which `is_of` says so, by deployment and number of the stretch.
    pub fn took(&self, is_of: impl Fn(DeploymentId, i64) -> bool) -> TimeAndFuel {
        let of = || self.0.iter().filter(|run| is_of(run.deployment, run.number));
        let ended: Vec<(i64, f64)> = of()
            .filter_map(|run| Some((run.duration_ms?, run.weight)))
            .collect();
        let whole: f64 = ended.iter().map(|(_, weight)| weight).sum();
        let percentile = |percent: f64| {
            // A hair less, so that sums of fractions don't miss the rank that they mean.
            let rank = whole * percent / 100.0 - 1e-6;
            let mut before = 0.0;
            let found = ended.iter().find(|(_, weight)| {
                before += weight;
                before >= rank
            });
            found.map(|(duration, _)| *duration)
        };
        TimeAndFuel {
            p50_ms: percentile(50.0),
            p95_ms: percentile(95.0),
            p99_ms: percentile(99.0),
            fuel: of().map(|run| run.fuel as f64 * run.weight).sum(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Weighted;
    use heddle_model::ids::DeploymentId;
    use heddle_store::runs::series::{Counted, Sampled};

    #[test]
    fn a_busy_deployment_weighs_more_than_its_part_of_the_sample() {
        let (busy, quiet) = (DeploymentId::new(), DeploymentId::new());
        let counted = |deployment_id, total| Counted {
            deployment_id,
            number: 0,
            total,
        };
        let sampled = |deployment_id, duration_ms| Sampled {
            deployment_id,
            accepted_at: 0,
            duration_ms: Some(duration_ms),
            fuel_used: Some(10),
        };
        let sample = [
            sampled(busy, 1),
            sampled(busy, 2),
            sampled(quiet, 500),
            sampled(quiet, 600),
        ];
        let weighted = Weighted::new(&[counted(busy, 98), counted(quiet, 2)], &sample, 60_000);
        let all = weighted.took(|_, _| true);
        assert_eq!(
            (all.p50_ms, all.p95_ms, all.p99_ms),
            (Some(2), Some(2), Some(500))
        );
        assert!((all.fuel - 1_000.0).abs() < 1e-6);
        let of_quiet = weighted.took(|deployment, _| deployment == quiet);
        assert_eq!((of_quiet.p50_ms, of_quiet.p99_ms), (Some(500), Some(600)));
        let nothing = weighted.took(|_, number| number == 7);
        assert_eq!((nothing.p50_ms, nothing.fuel), (None, 0.0));
    }
}
