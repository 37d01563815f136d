//! `GET /api/figures`: runs over time, for a workspace, a pattern, a deployment or a version.

use super::extract::{Caller, Query, given};
use super::figures::Period;
use super::reply::Enveloped;
use crate::app::App;
use crate::http::error::{ApiError, ErrorBody};
use axum::extract::State;
use heddle_model::clock::Timestamp;
use heddle_model::ids::{DeploymentId, PatternId};
use heddle_service::series::{Failures, OfDeployment, Series, SeriesQuery, Stretch, series};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(get_figures))
}

#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
struct FiguresQuery {
    /// The period, which ends now.
    #[param(inline)]
    period: Option<Period>,
    /// Only runs of this pattern.
    #[serde(default, deserialize_with = "given")]
    pattern_id: Option<PatternId>,
    /// Only runs of this deployment.
    #[serde(default, deserialize_with = "given")]
    deployment_id: Option<DeploymentId>,
    /// Only runs of this version; with `patternId` or `deploymentId`.
    #[param(minimum = 1)]
    #[serde(default, deserialize_with = "given")]
    version_number: Option<i64>,
}

/// How many runs there were, and what they took.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct RunFigures {
    /// Runs that were accepted.
    #[schema(example = 120)]
    runs: i64,
    /// Of these, failed or given up.
    #[schema(example = 2)]
    failures: i64,
    /// Durations of those that have ended, by the nearest rank; null if none has.
    #[schema(example = 12)]
    p50_duration_ms: Option<i64>,
    #[schema(example = 48)]
    p95_duration_ms: Option<i64>,
    #[schema(example = 95)]
    p99_duration_ms: Option<i64>,
    /// Fuel of all of them together, roughly instructions.
    #[schema(example = 1_250_000.0)]
    fuel: f64,
}

/// Figures of a stretch of time.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct FiguresBucket {
    /// When it begins: a multiple of its size, in UTC.
    bucket: Timestamp,
    #[serde(flatten)]
    figures: RunFigures,
}

impl From<Stretch> for FiguresBucket {
    fn from(stretch: Stretch) -> Self {
        FiguresBucket {
            bucket: stretch.begins_at,
            figures: RunFigures {
                runs: stretch.runs,
                failures: stretch.failures,
                p50_duration_ms: stretch.took.p50_ms,
                p95_duration_ms: stretch.took.p95_ms,
                p99_duration_ms: stretch.took.p99_ms,
                fuel: stretch.took.fuel,
            },
        }
    }
}

/// Figures of a deployment.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct DeploymentFigures {
    deployment_id: DeploymentId,
    pattern_id: PatternId,
    #[schema(example = "Order alerts")]
    pattern_name: String,
    #[serde(flatten)]
    figures: RunFigures,
}

impl From<OfDeployment> for DeploymentFigures {
    fn from(of: OfDeployment) -> Self {
        DeploymentFigures {
            deployment_id: of.ran.id,
            pattern_id: of.ran.pattern_id,
            pattern_name: of.ran.pattern_name,
            figures: RunFigures {
                runs: of.runs,
                failures: of.failures,
                p50_duration_ms: of.took.p50_ms,
                p95_duration_ms: of.took.p95_ms,
                p99_duration_ms: of.took.p99_ms,
                fuel: of.took.fuel,
            },
        }
    }
}

/// How often a deployment failed by an error.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct FailuresByCode {
    deployment_id: DeploymentId,
    /// Code of the error.
    #[schema(example = "HTTP_FAILED")]
    code: String,
    #[schema(example = 2)]
    count: i64,
}

impl From<Failures> for FailuresByCode {
    fn from(failures: Failures) -> Self {
        FailuresByCode {
            deployment_id: failures.deployment_id,
            code: failures.code,
            count: failures.count,
        }
    }
}

/// Runs that have not ended.
#[derive(Debug, Serialize, ToSchema)]
struct Unended {
    /// Those that wait for their turn.
    #[schema(example = 0)]
    queued: i64,
    /// Those that execute.
    #[schema(example = 3)]
    executing: i64,
    /// Those that wait for their next attempt, a time, a callback or another run.
    #[schema(example = 1)]
    waiting: i64,
}

/// Runs over time.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Figures {
    period: Period,
    /// Length of a bucket, in milliseconds.
    #[schema(example = 3_600_000)]
    bucket_ms: i64,
    /// Figures of the whole period.
    total: RunFigures,
    /// All buckets of the period, in order; the first one may begin before it.
    buckets: Vec<FiguresBucket>,
    /// By deployment, that with the most runs first.
    deployments: Vec<DeploymentFigures>,
    /// Why runs failed, the most frequent first, among about the newest thousand that did.
    failures: Vec<FailuresByCode>,
    /// What has not ended now.
    unended: Unended,
    /// Whether there is more than is counted: deployments beyond the 100 that ran last, or runs of one beyond 200,000, and
    /// with `versionNumber` beyond 20,000.
    is_partial: bool,
    /// Whether durations and fuel come from a sample of the runs.
    is_sampled: bool,
}

impl Figures {
    fn new(period: Period, bucket_ms: i64, series: Series) -> Self {
        Figures {
            period,
            bucket_ms,
            total: FiguresBucket::from(series.whole).figures,
            buckets: series.stretches.into_iter().map(Into::into).collect(),
            deployments: series.deployments.into_iter().map(Into::into).collect(),
            failures: series.failures.into_iter().map(Into::into).collect(),
            unended: Unended {
                queued: series.queued,
                executing: series.executing,
                waiting: series.waiting,
            },
            is_partial: series.is_partial,
            is_sampled: series.is_sampled,
        }
    }
}

/// Gets figures of the runs in the active workspace over time: how many, failures by code, durations and fuel.
///
/// Counts are exact, unless `isPartial`; percentiles and fuel come from a sample of about 5,000 runs, in which each stands for
/// as many as there were beside it.
#[utoipa::path(
    get, path = "/api/figures", tag = "Executions", security(("bearer" = [])), params(FiguresQuery),
    responses(
        (status = 200, description = "The figures", body = Enveloped<Figures>),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
    )
)]
async fn get_figures(
    State(app): State<App>,
    caller: Caller,
    Query(query): Query<FiguresQuery>,
) -> Result<Enveloped<Figures>, ApiError> {
    if query.version_number.is_some() && query.pattern_id.is_none() && query.deployment_id.is_none() {
        return Err(ApiError::field(
            "versionNumber",
            "is one of a pattern or a deployment: name it as well",
        ));
    }
    let period = query.period.unwrap_or_default();
    let (length_ms, size_ms) = period.lengths_ms();
    let until = app.clock.now();
    let wanted = SeriesQuery {
        since: Timestamp::from_millis(until.millis().saturating_sub(length_ms)),
        until,
        size_ms,
        pattern: query.pattern_id,
        deployment: query.deployment_id,
        version: query.version_number,
    };
    let found = series(&app, &caller.scope, wanted).await?;
    Ok(Enveloped::new(Figures::new(period, size_ms, found)))
}
