//! Runs over time: how many, how many failed and why, how long they took. All that is read for one answer is bounded,
//! whatever a workspace has.

mod sample;

use crate::Service;
use heddle_model::access::Scope;
use heddle_model::clock::Timestamp;
use heddle_model::error::ServiceError;
use heddle_model::ids::{DeploymentId, PatternId};
use heddle_model::status::Phase;
use heddle_store::runs::series::{self, Counted, Ran, Range};
use sample::{TimeAndFuel, Weighted};
use serde::Deserialize;
use std::collections::{BTreeMap, HashMap};

/// Deployments that are looked at, those that ran last.
const DEPLOYMENTS_MAX: i64 = 100;
/// Runs of a deployment that are counted in an index.
const COUNTED_MAX: i64 = 200_000;
/// Runs of a deployment whose rows are read to be counted, as it takes for those of one version.
const COUNTED_ROWS_MAX: i64 = 20_000;
/// Runs whose durations are read, roughly.
const SAMPLES: usize = 5_000;
/// Runs whose durations are read of each deployment in each stretch of time.
const SAMPLES_EACH_MAX: usize = 500;
const SAMPLES_EACH_MIN: usize = 2;
/// Failed runs whose errors are read, roughly.
const ERRORS: usize = 1_000;
/// Runs that have not ended which are looked at, of all in the service.
const UNENDED_MAX: i64 = 10_000;

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub struct SeriesQuery {
    /// Accepted then or later.
    pub since: Timestamp,
    /// Accepted by then.
    pub until: Timestamp,
    /// Length of a stretch, in milliseconds.
    pub size_ms: i64,
    /// Only runs of this pattern.
    pub pattern: Option<PatternId>,
    /// Only runs of this deployment.
    pub deployment: Option<DeploymentId>,
    /// Only runs of this version.
    pub version: Option<i64>,
}

/// Runs over time.
#[derive(Debug)]
pub struct Series {
    /// All runs of the period.
    pub whole: Stretch,
    /// One for each stretch, in order; the first may begin before the period.
    pub stretches: Vec<Stretch>,
    /// One for each deployment, that with the most runs first.
    pub deployments: Vec<OfDeployment>,
    /// How often what failed, the most frequent first.
    pub failures: Vec<Failures>,
    /// Runs that wait for their turn now.
    pub queued: i64,
    /// Runs that execute now.
    pub executing: i64,
    /// Runs that wait for something now.
    pub waiting: i64,
    /// Whether there was more than is counted.
    pub is_partial: bool,
    /// Whether durations and fuel are those of a sample.
    pub is_sampled: bool,
}

/// Runs of a stretch of time.
#[derive(Clone, Debug, PartialEq)]
pub struct Stretch {
    pub begins_at: Timestamp,
    /// Runs accepted in it.
    pub runs: i64,
    /// Of these, failed or given up.
    pub failures: i64,
    /// What they took.
    pub took: TimeAndFuel,
}

/// Runs of a deployment.
#[derive(Clone, Debug)]
pub struct OfDeployment {
    pub ran: Ran,
    pub runs: i64,
    /// Of these, failed or given up.
    pub failures: i64,
    /// What they took.
    pub took: TimeAndFuel,
}

/// How often a deployment failed by an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failures {
    pub deployment_id: DeploymentId,
    /// Code of the error.
    pub code: String,
    /// How often, among the newest failed runs.
    pub count: i64,
}

/// Reads runs over time.
pub async fn series(service: &Service, scope: &Scope, query: SeriesQuery) -> Result<Series, ServiceError> {
    let range = Range {
        since: query.since,
        size_ms: query.size_ms,
        version: query.version,
        rows_max: if query.version.is_some() {
            COUNTED_ROWS_MAX
        } else {
            COUNTED_MAX
        },
    };
    let mut reader = service.store.reader().await?;
    let db = &mut reader.db();
    let only = (query.pattern, query.deployment);
    let ran = series::ran(db, scope, only, query.since, DEPLOYMENTS_MAX).await?;
    let ids: Vec<DeploymentId> = ran.iter().map(|ran| ran.id).collect();
    let totals = series::counts(db, scope, &ids, &range, false).await?;
    let failed = series::counts(db, scope, &ids, &range, true).await?;
    let wanted: Vec<(DeploymentId, i64)> = totals.iter().map(|it| (it.deployment_id, it.number)).collect();
    let each = (SAMPLES / wanted.len().max(1)).clamp(SAMPLES_EACH_MIN, SAMPLES_EACH_MAX);
    let sampled = series::samples(db, scope, &wanted, &range, count(each)).await?;
    let each_error = (ERRORS / ids.len().max(1)).max(SAMPLES_EACH_MIN);
    let errors = series::failures(db, scope, &ids, &range, count(each_error)).await?;
    let unended = series::unended(db, scope, UNENDED_MAX).await?;
    drop(reader);

    let is_wanted = |deployment: DeploymentId| only == (None, None) || ids.contains(&deployment);
    let phases = unended.iter().filter(|run| is_wanted(run.deployment_id));
    let phases: Vec<Phase> = phases
        .map(|run| service.executions.phase_of(run.id).unwrap_or(run.phase))
        .collect();
    let in_phase = |wanted: Phase| count(phases.iter().filter(|phase| **phase == wanted).count());
    let weighted = Weighted::new(&totals, &sampled, query.size_ms);
    Ok(Series {
        whole: Stretch {
            begins_at: query.since,
            runs: sum(&totals),
            failures: sum(&failed),
            took: weighted.took(|_, _| true),
        },
        stretches: stretches(&query, &totals, &failed, &weighted),
        failures: by_code(errors),
        queued: in_phase(Phase::Queued),
        executing: in_phase(Phase::Executing),
        waiting: in_phase(Phase::Waiting),
        is_partial: count(ran.len()) >= DEPLOYMENTS_MAX || is_cut(&totals, range.rows_max),
        is_sampled: totals.iter().any(|it| it.total > count(each)),
        deployments: of_deployments(ran, &totals, &failed, &weighted),
    })
}

fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn sum(counted: &[Counted]) -> i64 {
    counted.iter().map(|it| it.total).sum()
}

/// Whether a deployment may have more runs than were counted.
fn is_cut(totals: &[Counted], rows_max: i64) -> bool {
    let mut runs: HashMap<DeploymentId, i64> = HashMap::new();
    for counted in totals {
        *runs.entry(counted.deployment_id).or_default() += counted.total;
    }
    runs.values().any(|runs| *runs >= rows_max)
}

fn stretches(
    query: &SeriesQuery,
    totals: &[Counted],
    failed: &[Counted],
    weighted: &Weighted,
) -> Vec<Stretch> {
    let of = |counted: &[Counted], number: i64| -> i64 {
        let of_it = counted.iter().filter(|it| it.number == number);
        of_it.map(|it| it.total).sum()
    };
    let numbers = query.since.millis() / query.size_ms..=query.until.millis() / query.size_ms;
    numbers
        .map(|number| Stretch {
            begins_at: Timestamp::from_millis(number.saturating_mul(query.size_ms)),
            runs: of(totals, number),
            failures: of(failed, number),
            took: weighted.took(|_, of| of == number),
        })
        .collect()
}

fn of_deployments(
    ran: Vec<Ran>,
    totals: &[Counted],
    failed: &[Counted],
    weighted: &Weighted,
) -> Vec<OfDeployment> {
    let of = |counted: &[Counted], id: DeploymentId| -> i64 {
        let of_it = counted.iter().filter(|it| it.deployment_id == id);
        of_it.map(|it| it.total).sum()
    };
    let mut all: Vec<OfDeployment> = ran
        .into_iter()
        .map(|ran| OfDeployment {
            runs: of(totals, ran.id),
            failures: of(failed, ran.id),
            took: weighted.took(|deployment, _| deployment == ran.id),
            ran,
        })
        .filter(|it| it.runs > 0)
        .collect();
    all.sort_by_key(|it| std::cmp::Reverse(it.runs));
    all
}

/// An error of a run, as far as it is counted.
#[derive(Deserialize)]
struct Failed {
    code: String,
}

fn by_code(errors: Vec<series::FailedRow>) -> Vec<Failures> {
    let mut counted: BTreeMap<(DeploymentId, String), i64> = BTreeMap::new();
    for row in errors {
        let error: Option<Failed> = row.error.and_then(|error| serde_json::from_str(&error).ok());
        let code = error.map_or_else(|| "UNKNOWN".to_owned(), |error| error.code);
        *counted.entry((row.deployment_id, code)).or_default() += 1;
    }
    let mut all: Vec<Failures> = counted
        .into_iter()
        .map(|((deployment_id, code), count)| Failures {
            deployment_id,
            code,
            count,
        })
        .collect();
    all.sort_by_key(|it| std::cmp::Reverse(it.count));
    all
}
