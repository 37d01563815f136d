//! `GET /api/runs`: the runs of all deployments of a workspace.

use super::cursor;
use super::extract::{self, Caller, Query, given, printable};
use super::reply::{CursorMeta, Listed};
use super::runs::{RunFilter, read_error};
use crate::app::App;
use crate::http::error::{ApiError, ErrorBody};
use axum::extract::State;
use heddle_model::clock::Timestamp;
use heddle_model::ids::{DeploymentId, EnvironmentId, PatternId, RunId};
use heddle_model::status::{Phase, RunStatus, TriggeredBy};
use heddle_runtime::RunError;
use heddle_store::runs::workspace::{self, Filter, ListedRow, Search, Source};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

const SEARCH_CHARS_MAX: usize = 200;

pub fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(list_workspace_runs))
}

/// Which runs to list.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
struct RunsQuery {
    /// Only runs in this state; `completed` means `success`.
    #[param(inline)]
    status: Option<RunFilter>,
    /// Only runs started by this.
    #[param(inline)]
    triggered_by: Option<TriggeredBy>,
    /// Only runs of this pattern.
    #[serde(default, deserialize_with = "given")]
    pattern_id: Option<PatternId>,
    /// Only runs of deployments that are in this environment.
    #[serde(default, deserialize_with = "given")]
    environment_id: Option<EnvironmentId>,
    /// A run's id, or part of the error of a failed run.
    #[param(max_length = 200)]
    q: Option<String>,
    /// Only runs accepted at or after this time.
    #[param(value_type = Option<String>, format = DateTime)]
    #[serde(default, deserialize_with = "given")]
    from: Option<Timestamp>,
    /// Only runs accepted before this time.
    #[param(value_type = Option<String>, format = DateTime)]
    #[serde(default, deserialize_with = "given")]
    to: Option<Timestamp>,
    /// The `nextCursor` of the page before.
    #[param(max_length = 100)]
    cursor: Option<String>,
    /// Runs per page, at most 100.
    #[param(minimum = 1, default = 50)]
    #[serde(default, deserialize_with = "given")]
    limit: Option<i64>,
}

/// A run in the list of a workspace. Its event and log are in the run itself.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct WorkspaceRun {
    id: RunId,
    deployment_id: DeploymentId,
    pattern_id: PatternId,
    #[schema(example = "Order alerts")]
    pattern_name: String,
    /// The environment of its deployment; null outside of workspaces, and if it was deleted.
    environment_id: Option<EnvironmentId>,
    /// The environment's name.
    #[schema(example = "production")]
    environment_name: Option<String>,
    triggered_by: TriggeredBy,
    status: RunStatus,
    phase: Phase,
    /// When execution began; before that, when the run was accepted.
    started_at: Timestamp,
    /// Null until it has ended.
    completed_at: Option<Timestamp>,
    /// How long it took, from `startedAt` on, with all waits; null until it has ended.
    duration_ms: Option<i64>,
    /// Why it failed.
    error: Option<RunError>,
    attempt: i64,
    version_number: i64,
    accepted_at: Timestamp,
}

impl WorkspaceRun {
    fn new(app: &App, (row, source): (ListedRow, Source)) -> WorkspaceRun {
        let error = read_error(row.error.as_deref());
        WorkspaceRun {
            id: row.id,
            deployment_id: row.deployment_id,
            pattern_id: source.pattern_id,
            pattern_name: source.pattern_name,
            environment_id: source.environment_id,
            environment_name: source.environment_name,
            triggered_by: row.triggered_by,
            status: row.status,
            phase: match row.status {
                RunStatus::Running => app.executions.phase_of(row.id).unwrap_or(row.phase),
                _ => Phase::Ended,
            },
            started_at: row.started_at.map_or(row.accepted_at, Timestamp::from_millis),
            completed_at: row.completed_at.map(Timestamp::from_millis),
            duration_ms: row.duration_ms,
            error: error.filter(|_| row.status.has_failed()),
            attempt: row.attempt,
            version_number: row.version_number,
            accepted_at: row.accepted_at,
        }
    }
}

/// Lists the runs of all deployments of the active workspace, newest first.
#[utoipa::path(
    get, path = "/api/runs", tag = "Executions", security(("bearer" = [])), params(RunsQuery),
    responses(
        (status = 200, description = "A page", body = Listed<WorkspaceRun, CursorMeta>),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
    )
)]
async fn list_workspace_runs(
    State(app): State<App>,
    caller: Caller,
    Query(query): Query<RunsQuery>,
) -> Result<Listed<WorkspaceRun, CursorMeta>, ApiError> {
    let limit = extract::limit(query.limit, 50, 100)?;
    let size = usize::try_from(limit).unwrap_or(1);
    let filter = Filter {
        status: query.status.map(RunStatus::from),
        triggered_by: query.triggered_by,
        pattern: query.pattern_id,
        environment: query.environment_id,
        search: query.q.map(search).transpose()?.flatten(),
        from: query.from,
        to: query.to,
        after: cursor::after(query.cursor.as_deref(), cursor::by_time)?,
        // One more tells whether there is a next page.
        limit: size + 1,
    };
    let mut page = workspace::page(&mut app.store.reader().await?.db(), &caller.scope, &filter).await?;
    let next_cursor = cursor::next(&mut page, limit, |(row, _)| {
        cursor::of_time(row.accepted_at, row.id)
    });
    let runs = page.into_iter().map(|run| WorkspaceRun::new(&app, run)).collect();
    Ok(Listed::new(runs, CursorMeta { limit, next_cursor }))
}

/// What a search is for; nothing if it is empty.
fn search(text: String) -> Result<Option<Search>, ApiError> {
    let text = text.trim();
    printable("q", text)?;
    if text.chars().count() > SEARCH_CHARS_MAX {
        let problem = format!("must have at most {SEARCH_CHARS_MAX} characters");
        return Err(ApiError::field("q", problem));
    }
    Ok(match text.parse() {
        Ok(run) => Some(Search::Id(run)),
        Err(_) if text.is_empty() => None,
        Err(_) => Some(Search::Error(text.to_owned())),
    })
}
