//! Runs of deployments: listing, reading, retrying, replaying and cancelling them.

use super::cursor;
use super::extract::{self, Caller, Path, Query, given};
use super::reply::{Enveloped, Listed, PageMeta};
use crate::app::App;
use crate::http::error::{ApiError, ErrorBody};
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use heddle_execution::blocking::computing_if_large;
use heddle_execution::{Accepted, NewRun, OwnedRight};
use heddle_model::Code;
use heddle_model::access::Scope;
use heddle_model::audit::{Action, Object};
use heddle_model::clock::Timestamp;
use heddle_model::file::Holder;
use heddle_model::ids::{DeploymentId, RunId};
use heddle_model::shown::{shown, shown_within};
use heddle_model::slot::Slot;
use heddle_model::status::{DeploymentStatus, Phase, RunStatus, TriggeredBy};
use heddle_runtime::{FailedInput, RunError, TraceEntry};
use heddle_service::audit;
use heddle_store::deployments::{self, DeploymentRow};
use heddle_store::runs::listing::{self, Filter, RunRow};
use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(list_runs))
        .routes(routes!(get_run))
        .routes(routes!(retry_run))
        .routes(routes!(replay_run))
        .routes(routes!(cancel_run))
}

/// Which runs to list.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
struct ListQuery {
    /// Only runs in this state; `completed` means `success`.
    #[param(inline)]
    status: Option<RunFilter>,
    /// Only runs started by this.
    #[param(inline)]
    triggered_by: Option<TriggeredBy>,
    /// Only runs accepted at or after this time.
    #[param(value_type = Option<String>, format = DateTime)]
    #[serde(default, deserialize_with = "given")]
    from: Option<Timestamp>,
    /// Only runs accepted before this time.
    #[param(value_type = Option<String>, format = DateTime)]
    #[serde(default, deserialize_with = "given")]
    to: Option<Timestamp>,
    /// Page, from 1.
    #[param(minimum = 1, default = 1)]
    #[serde(default, deserialize_with = "given")]
    page: Option<i64>,
    /// The `nextCursor` of the page before, in place of `page`; nothing (`cursor=`) for the first one.
    #[param(max_length = 100)]
    cursor: Option<String>,
    /// Runs per page, at most 100.
    #[param(minimum = 1, default = 20)]
    #[serde(default, deserialize_with = "given")]
    limit: Option<i64>,
}

/// A state to filter by.
#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum RunFilter {
    Success,
    Completed,
    Failure,
    Running,
    DeadLetter,
}

impl From<RunFilter> for RunStatus {
    fn from(status: RunFilter) -> Self {
        match status {
            RunFilter::Success | RunFilter::Completed => RunStatus::Success,
            RunFilter::Failure => RunStatus::Failure,
            RunFilter::Running => RunStatus::Running,
            RunFilter::DeadLetter => RunStatus::DeadLetter,
        }
    }
}

/// A run.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Run {
    id: RunId,
    deployment_id: DeploymentId,
    triggered_by: TriggeredBy,
    status: RunStatus,
    phase: Phase,
    /// When execution began; before that, when the run was accepted.
    started_at: Timestamp,
    /// Null until it has ended.
    completed_at: Option<Timestamp>,
    /// How long it took, from `startedAt` on, with all waits; null until it has ended.
    duration_ms: Option<i64>,
    /// The event; in lists a large one is replaced by `{"$truncated": true, "chars": …}`.
    #[schema(value_type = Value)]
    event_data: Box<RawValue>,
    #[schema(value_type = Vec<StoredLogLine>)]
    log_output: Box<RawValue>,
    /// Begins with the node's id if a node failed.
    error_message: Option<String>,
    attempt: i64,
    version_number: i64,
    accepted_at: Timestamp,
}

/// A run with everything that is stored about it.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct WholeRun {
    #[serde(flatten)]
    run: Run,
    /// Id of the trigger at which the run started; null for the first one.
    node_id: Option<String>,
    /// The run's output, as given to Return; a large one is replaced by `{"$truncated": true, "bytes": …, "excerpt":
    /// …}`.
    #[schema(value_type = Value)]
    output: Box<RawValue>,
    /// Why it failed.
    error: Option<RunError>,
    /// What the node that failed had been given (`$input`), with secrets masked; null if no node failed, or if it is not
    /// known: the run was stopped by a limit. Of a large input it is the beginning.
    failed_input: Option<FailedInput>,
    /// Fuel used, roughly instructions.
    fuel_used: Option<i64>,
    /// Peak memory in bytes.
    memory_bytes_peak: Option<i64>,
    /// What each node did, if the deployment records traces.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<StoredTraceEntry>>)]
    trace: Option<Box<RawValue>>,
}

/// A line of a run's log as it is stored.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[expect(dead_code, reason = "only describes what is kept as text")]
struct StoredLogLine {
    /// `debug`, `info`, `warn` or `error`.
    #[schema(example = "info")]
    level: String,
    message: String,
    /// Node that wrote it.
    node_id: Option<String>,
    /// True in a line that stands for those that were left out.
    truncated: Option<bool>,
}

/// What a node did, as it is stored.
#[derive(ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only describes what is kept as text")]
enum StoredTraceEntry {
    Executed(TraceEntry),
    Omitted(OmittedEntries),
}

/// Stands at the end of a trace for the entries that were left out.
#[derive(ToSchema)]
#[expect(dead_code, reason = "only describes what is kept as text")]
struct OmittedEntries {
    /// Always true.
    truncated: bool,
    /// How many.
    omitted: u64,
}

/// Stored JSON, or a note that it can't be read.
fn stored(text: Option<String>) -> Option<Box<RawValue>> {
    text.map(|text| RawValue::from_string(text).unwrap_or_else(|_| raw(&json!({ "$unreadable": true }))))
}

fn raw(value: &serde_json::Value) -> Box<RawValue> {
    to_raw_value(value).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

impl Run {
    fn new(app: &App, row: &mut RunRow) -> Run {
        let error = read_error(row.error.as_deref());
        let event = match row.event.take() {
            Some(event) => stored(Some(event)).map(shown),
            None if row.event_chars > 0 => {
                Some(raw(&json!({ "$truncated": true, "chars": row.event_chars })))
            }
            None => None,
        };
        let phase = match row.status {
            RunStatus::Running => app.executions.phase_of(row.id).unwrap_or(row.phase),
            _ => Phase::Ended,
        };
        let ended_with_error = row.status.has_failed().then_some(error).flatten();
        Run {
            id: row.id,
            deployment_id: row.deployment_id,
            triggered_by: row.triggered_by,
            status: row.status,
            phase,
            started_at: row.started_at.map_or(row.accepted_at, Timestamp::from_millis),
            completed_at: row.completed_at.map(Timestamp::from_millis),
            duration_ms: row.duration_ms,
            event_data: event.unwrap_or_else(|| RawValue::NULL.to_owned()),
            log_output: stored(row.logs.take()).unwrap_or_else(|| raw(&json!([]))),
            error_message: ended_with_error.map(|error| error_message(&error)),
            attempt: row.attempt,
            version_number: row.version_number,
            accepted_at: row.accepted_at,
        }
    }
}

impl WholeRun {
    /// From the row and what this server knows of the run.
    pub fn new(app: &App, mut row: RunRow) -> WholeRun {
        WholeRun {
            run: Run::new(app, &mut row),
            node_id: row.node_id,
            output: stored(row.output).unwrap_or_else(|| RawValue::NULL.to_owned()),
            error: read_error(row.error.as_deref()),
            failed_input: row.failed_input.and_then(|text| serde_json::from_str(&text).ok()),
            fuel_used: row.fuel_used,
            memory_bytes_peak: row.memory_bytes_peak,
            trace: stored(row.trace).map(shown_within),
        }
    }
}

pub(super) fn read_error(error: Option<&str>) -> Option<RunError> {
    serde_json::from_str(error?).ok()
}

/// An error with the node that failed.
fn error_message(error: &RunError) -> String {
    match &error.node_id {
        Some(node_id) => format!("{node_id}: {}", error.message),
        None => error.message.clone(),
    }
}

/// The deployment, if the caller may see it.
pub async fn deployment(app: &App, scope: &Scope, id: DeploymentId) -> Result<DeploymentRow, ApiError> {
    let row = deployments::visible(&mut app.store.reader().await?.db(), scope, id).await?;
    row.ok_or_else(|| Code::NotFound.into())
}

/// The run, if the caller may see it.
pub async fn visible(
    app: &App,
    scope: &Scope,
    (deployment, run): (DeploymentId, RunId),
) -> Result<RunRow, ApiError> {
    let row = listing::visible(&mut app.store.reader().await?.db(), scope, deployment, run).await?;
    row.ok_or_else(|| Code::NotFound.into())
}

/// Bytes of the texts with which a run is shown: to read, mask and write them takes as long as there are many.
pub(super) fn shown_bytes(row: &RunRow) -> usize {
    let texts = [&row.event, &row.output, &row.logs, &row.trace, &row.failed_input];
    texts.into_iter().flatten().map(String::len).sum()
}

/// Lists a deployment's runs, newest first.
#[utoipa::path(
    get, path = "/api/deployments/{id}/runs", tag = "Executions", security(("bearer" = [])),
    params(("id" = DeploymentId, Path, description = "Deployment"), ListQuery),
    responses(
        (status = 200, description = "A page", body = Listed<Run, PageMeta>),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 404, description = "NOT_FOUND", body = ErrorBody),
    )
)]
async fn list_runs(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<DeploymentId>,
    Query(query): Query<ListQuery>,
) -> Result<Response, ApiError> {
    let (limit, page) = (extract::limit(query.limit, 20, 100)?, extract::page(query.page)?);
    deployment(&app, &caller.scope, id).await?;
    let filter = Filter {
        status: query.status.map(RunStatus::from),
        triggered_by: query.triggered_by,
        from: query.from,
        to: query.to,
    };
    let cursor = query.cursor.as_deref();
    let paged = ("page", query.page.is_some(), limit.saturating_mul(page - 1));
    let start = cursor::start(cursor, paged, cursor::by_time)?;
    let mut reader = app.store.reader().await?;
    let total = listing::count(&mut reader.db(), &caller.scope, id, filter).await?;
    let mut rows = listing::page(&mut reader.db(), &caller.scope, id, filter, limit + 1, start).await?;
    drop(reader);
    let next = cursor::next(&mut rows, limit, |row| cursor::of_time(row.accepted_at, row.id));
    let meta = PageMeta::new(page, limit, total).with_next(cursor.map(|_| next));
    let (owner, bytes) = (Some(caller.scope.user()), rows.iter().map(shown_bytes).sum());
    let write = move || {
        let runs = rows.into_iter().map(|mut row| Run::new(&app, &mut row)).collect();
        Listed::<Run, _>::new(runs, meta).into_response()
    };
    Ok(computing_if_large(owner, bytes, write).await?)
}

/// Gets a run.
#[utoipa::path(
    get, path = "/api/deployments/{id}/runs/{runId}", tag = "Executions", security(("bearer" = [])),
    params(("id" = DeploymentId, Path, description = "Deployment"), ("runId" = RunId, Path, description = "Run")),
    responses(
        (status = 200, description = "The run", body = Enveloped<WholeRun>),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 404, description = "NOT_FOUND", body = ErrorBody),
    )
)]
async fn get_run(
    State(app): State<App>,
    caller: Caller,
    Path(ids): Path<(DeploymentId, RunId)>,
) -> Result<Response, ApiError> {
    let row = visible(&app, &caller.scope, ids).await?;
    let (owner, bytes) = (Some(caller.scope.user()), shown_bytes(&row));
    let write = move || Enveloped::new(WholeRun::new(&app, row)).into_response();
    Ok(computing_if_large(owner, bytes, write).await?)
}

/// A run that was started.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Started {
    run_id: RunId,
    status: RunStatus,
}

/// Retries a failed run with the same event.
#[utoipa::path(
    post, path = "/api/deployments/{id}/runs/{runId}/retry", tag = "Executions", security(("bearer" = [])),
    params(("id" = DeploymentId, Path, description = "Deployment"), ("runId" = RunId, Path, description = "Run")),
    responses(
        (status = 200, description = "The new run", body = Enveloped<Started>),
        (status = 400, description = "INVALID_STATUS or DEPLOYMENT_NOT_ACTIVE", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN", body = ErrorBody),
        (status = 404, description = "NOT_FOUND", body = ErrorBody),
        (status = 503, description = "UNAVAILABLE: too many runs are waiting", body = ErrorBody),
    )
)]
async fn retry_run(
    State(app): State<App>,
    caller: Caller,
    Path(ids): Path<(DeploymentId, RunId)>,
) -> Result<Enveloped<Started>, ApiError> {
    let runner = caller.scope.runner()?;
    let row = visible(&app, &runner, ids).await?;
    if !row.status.has_failed() {
        return Err(Code::InvalidStatus
            .with("Only failed runs can be retried.")
            .into());
    }
    let deployment = deployment(&app, &runner, row.deployment_id).await?;
    start_again(&app, &runner, (deployment.slot(), Action::RunRetried), row).await
}

/// Replays an ended run with the same event.
#[utoipa::path(
    post, path = "/api/deployments/{id}/runs/{runId}/replay", tag = "Executions", security(("bearer" = [])),
    params(("id" = DeploymentId, Path, description = "Deployment"), ("runId" = RunId, Path, description = "Run")),
    responses(
        (status = 200, description = "The new run", body = Enveloped<Started>),
        (status = 400, description = "INVALID_STATUS, DEPLOYMENT_NOT_ACTIVE or NO_EVENT_DATA", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN", body = ErrorBody),
        (status = 404, description = "NOT_FOUND", body = ErrorBody),
        (status = 503, description = "UNAVAILABLE: too many runs are waiting", body = ErrorBody),
    )
)]
async fn replay_run(
    State(app): State<App>,
    caller: Caller,
    Path(ids): Path<(DeploymentId, RunId)>,
) -> Result<Enveloped<Started>, ApiError> {
    let runner = caller.scope.runner()?;
    let row = visible(&app, &runner, ids).await?;
    if row.status == RunStatus::Running {
        return Err(Code::InvalidStatus
            .with("Only ended runs can be replayed.")
            .into());
    }
    let deployment = deployment(&app, &runner, row.deployment_id).await?;
    if deployment.status != DeploymentStatus::Active {
        return Err(Code::DeploymentNotActive.into());
    }
    if row.event.is_none() {
        return Err(Code::NoEventData.into());
    }
    start_again(&app, &runner, (deployment.slot(), Action::RunReplayed), row).await
}

/// A new run of the same event, on what is deployed now.
async fn start_again(
    app: &App,
    scope: &Scope,
    (slot, action): (Slot, Action),
    row: RunRow,
) -> Result<Enveloped<Started>, ApiError> {
    let before = Object::Run(row.deployment_id, row.id);
    let active = app.executions.active_for(slot).await?;
    let deployment = active.ok_or(Code::DeploymentNotActive)?;
    let event = stored(row.event).unwrap_or_else(|| RawValue::NULL.to_owned());
    // Of what the event says only those files that the run before had from it.
    let right = OwnedRight::Holder(Holder::Run(row.id));
    let files = app.executions.files();
    let id = files.run_with(deployment.tenant, event.get(), right).await?;
    let run = NewRun {
        id,
        deployment,
        triggered_by: row.triggered_by,
        node_id: row.node_id,
        event,
        text: None,
        idempotency: None,
        wait: false,
        caller: None,
    };
    let run_id = match app.executions.accept(run).await? {
        Accepted::New(ticket) => ticket.run_id,
        Accepted::Duplicate(run_id) => run_id,
    };
    let entry = action.of(before).with("newRun", run_id.to_string());
    audit::note(app, scope, entry).await?;
    Ok(Enveloped::new(Started {
        run_id,
        status: RunStatus::Running,
    }))
}

/// Cancels a run.
#[utoipa::path(
    post, path = "/api/deployments/{id}/runs/{runId}/cancel", tag = "Executions", security(("bearer" = [])),
    params(("id" = DeploymentId, Path, description = "Deployment"), ("runId" = RunId, Path, description = "Run")),
    responses(
        (status = 200, description = "The run has ended as `failure`, unless it had just ended by itself",
         body = Enveloped<Started>),
        (status = 400, description = "INVALID_STATUS: the run had already ended", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN", body = ErrorBody),
        (status = 404, description = "NOT_FOUND", body = ErrorBody),
    )
)]
async fn cancel_run(
    State(app): State<App>,
    caller: Caller,
    Path(ids): Path<(DeploymentId, RunId)>,
) -> Result<Enveloped<Started>, ApiError> {
    let runner = caller.scope.runner()?;
    let row = visible(&app, &runner, ids).await?;
    if row.status != RunStatus::Running {
        return Err(Code::InvalidStatus.with("The run has already ended.").into());
    }
    let status = app.executions.cancel(&runner, row.deployment_id, row.id).await?;
    let cancelled = Action::RunCancelled.of(Object::Run(row.deployment_id, row.id));
    audit::note(&app, &runner, cancelled).await?;
    Ok(Enveloped::new(Started {
        run_id: row.id,
        status,
    }))
}
