//! Statistics: of a deployment's runs over a period, and of all of the caller's deployments now.

use super::extract::{Caller, Path, Query};
use super::reply::Enveloped;
use super::runs::deployment;
use crate::app::App;
use crate::http::error::{ApiError, ErrorBody};
use axum::extract::State;
use heddle_model::clock::Timestamp;
use heddle_model::ids::DeploymentId;
use heddle_model::status::{DeploymentStatus, TriggeredBy};
use heddle_store::deployments;
use heddle_store::runs::stats::{self, Bucket};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::time::Duration;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(get_run_stats))
        .routes(routes!(get_health_summary))
}

const MINUTE_MS: i64 = 60_000;
const HOUR_MS: i64 = 60 * MINUTE_MS;

/// A period of time that ends now.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, ToSchema)]
pub(super) enum Period {
    #[serde(rename = "15m")]
    Minutes15,
    #[default]
    #[serde(rename = "24h")]
    Hours24,
    #[serde(rename = "7d")]
    Days7,
    #[serde(rename = "30d")]
    Days30,
}

impl Period {
    /// How long it is, and how long its buckets are, in milliseconds.
    pub(super) const fn lengths_ms(self) -> (i64, i64) {
        match self {
            Period::Minutes15 => (15 * MINUTE_MS, MINUTE_MS),
            Period::Hours24 => (24 * HOUR_MS, HOUR_MS),
            Period::Days7 => (7 * 24 * HOUR_MS, 6 * HOUR_MS),
            Period::Days30 => (30 * 24 * HOUR_MS, 24 * HOUR_MS),
        }
    }
}

#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
struct PeriodQuery {
    /// The period, which ends now.
    #[param(inline)]
    period: Option<Period>,
}

/// Runs by what started them.
#[derive(Debug, Default, Serialize, ToSchema)]
struct ByTrigger {
    webhook: i64,
    schedule: i64,
    manual: i64,
    email: i64,
    error: i64,
    call: i64,
}

/// Runs of a bucket.
#[derive(Debug, Serialize, ToSchema)]
struct InBucket {
    /// When it begins: a multiple of its size, in UTC.
    bucket: Timestamp,
    count: i64,
    success: i64,
    failure: i64,
}

/// Statistics of the runs that were accepted in a period.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct RunStats {
    total_runs: i64,
    success_count: i64,
    /// Dead letters included.
    failure_count: i64,
    /// Percentage of ended runs; 0 if none has ended.
    success_rate: f64,
    /// 0 if none has ended.
    avg_duration_ms: f64,
    /// By the nearest-rank method; 0 if none has ended.
    p95_duration_ms: i64,
    runs_by_trigger: ByTrigger,
    /// All buckets of the period, in order; the first one may begin before it.
    runs_by_period: Vec<InBucket>,
    last_run_at: Option<Timestamp>,
    last_success_at: Option<Timestamp>,
    last_failure_at: Option<Timestamp>,
    period: Period,
}

/// Gets statistics of a deployment's runs.
#[utoipa::path(
    get, path = "/api/deployments/{id}/runs/stats", tag = "Executions", security(("bearer" = [])),
    params(("id" = DeploymentId, Path, description = "Deployment"), PeriodQuery),
    responses(
        (status = 200, description = "The figures", body = Enveloped<RunStats>),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 404, description = "NOT_FOUND", body = ErrorBody),
    )
)]
async fn get_run_stats(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<DeploymentId>,
    Query(query): Query<PeriodQuery>,
) -> Result<Enveloped<RunStats>, ApiError> {
    let scope = &caller.scope;
    deployment(&app, scope, id).await?;
    let period = query.period.unwrap_or_default();
    let (length_ms, size_ms) = period.lengths_ms();
    let now = app.clock.now();
    let since = Timestamp::from_millis(now.millis().saturating_sub(length_ms));
    let mut reader = app.store.reader().await?;
    let totals = stats::totals(&mut reader.db(), scope, id, since).await?;
    let p95 = match nearest_rank(95, totals.timed) {
        Some(rank) => stats::duration_ms_at(&mut reader.db(), scope, id, since, rank).await?,
        None => None,
    };
    let mut runs_by_trigger = ByTrigger::default();
    for (triggered_by, count) in stats::by_trigger(&mut reader.db(), scope, id, since).await? {
        *match triggered_by {
            TriggeredBy::Webhook => &mut runs_by_trigger.webhook,
            TriggeredBy::Schedule => &mut runs_by_trigger.schedule,
            TriggeredBy::Manual => &mut runs_by_trigger.manual,
            TriggeredBy::Email => &mut runs_by_trigger.email,
            TriggeredBy::Error => &mut runs_by_trigger.error,
            TriggeredBy::Call => &mut runs_by_trigger.call,
        } = count;
    }
    let found = stats::buckets(&mut reader.db(), scope, id, since, size_ms).await?;
    Ok(Enveloped::new(RunStats {
        total_runs: totals.total,
        success_count: totals.success,
        failure_count: totals.failure,
        success_rate: percent(totals.success, totals.success + totals.failure),
        avg_duration_ms: totals.duration_ms_mean.unwrap_or(0.0),
        p95_duration_ms: p95.unwrap_or(0),
        runs_by_trigger,
        runs_by_period: with_empty(found, since, now, size_ms),
        last_run_at: totals.last_at.map(Timestamp::from_millis),
        last_success_at: totals.last_success_at.map(Timestamp::from_millis),
        last_failure_at: totals.last_failure_at.map(Timestamp::from_millis),
        period,
    }))
}

/// Rank from 0 of a percentile by the nearest-rank method; `None` for no values.
fn nearest_rank(percentile: i64, count: i64) -> Option<i64> {
    (count > 0).then(|| (count * percentile + 99) / 100 - 1)
}

fn percent(part: i64, whole: i64) -> f64 {
    if whole == 0 {
        0.0
    } else {
        part as f64 * 100.0 / whole as f64
    }
}

fn with_empty(found: Vec<Bucket>, since: Timestamp, now: Timestamp, size_ms: i64) -> Vec<InBucket> {
    let found: HashMap<i64, Bucket> = found.into_iter().map(|bucket| (bucket.number, bucket)).collect();
    let numbers = since.millis() / size_ms..=now.millis() / size_ms;
    numbers
        .map(|number| {
            let bucket = found.get(&number);
            InBucket {
                bucket: Timestamp::from_millis(number * size_ms),
                count: bucket.map_or(0, |bucket| bucket.total),
                success: bucket.map_or(0, |bucket| bucket.success),
                failure: bucket.map_or(0, |bucket| bucket.failure),
            }
        })
        .collect()
}

/// Deployments by state.
#[derive(Debug, Default, Serialize, ToSchema)]
struct ByStatus {
    active: i64,
    paused: i64,
    failed: i64,
}

/// Health of the caller's deployments.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct HealthSummary {
    deployments: ByStatus,
    runs_last_hour: i64,
    failures_last_hour: i64,
    /// Percentage of the last hour's ended runs; 0 if none has ended.
    error_rate: f64,
    /// `running`, or `stopping` if the service no longer accepts runs.
    #[schema(example = "running")]
    engine_status: &'static str,
}

/// Gets the health of the caller's deployments.
#[utoipa::path(
    get, path = "/api/deployments/health/summary", tag = "Deployments", security(("bearer" = [])),
    responses(
        (status = 200, description = "The summary", body = Enveloped<HealthSummary>),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
    )
)]
async fn get_health_summary(
    State(app): State<App>,
    caller: Caller,
) -> Result<Enveloped<HealthSummary>, ApiError> {
    let since = app.clock.now().minus(Duration::from_secs(60 * 60));
    let mut reader = app.store.reader().await?;
    let mut by_status = ByStatus::default();
    for (status, count) in deployments::count_by_status(&mut reader.db(), &caller.scope).await? {
        match status {
            DeploymentStatus::Active => by_status.active = count,
            DeploymentStatus::Paused => by_status.paused = count,
            DeploymentStatus::Failed => by_status.failed = count,
            DeploymentStatus::Undeployed => {}
        }
    }
    let (runs, ended, failures) = stats::recent(&mut reader.db(), &caller.scope, since).await?;
    Ok(Enveloped::new(HealthSummary {
        deployments: by_status,
        runs_last_hour: runs,
        failures_last_hour: failures,
        error_rate: percent(failures, ended),
        engine_status: if app.executions.is_stopping() {
            "stopping"
        } else {
            "running"
        },
    }))
}
