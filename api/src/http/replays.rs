//! Replays of runs that have ended: one of them as server-sent events, and many of them with another version.

use super::cursor;
use super::deploy_gate::Refused;
use super::drawn::{CompleteGraph, NodeDefinition};
use super::extract::{self, Caller, CodeJson, Path};
use super::in_environment::environment;
use super::invalid_graph::InvalidGraph;
use super::test_streams::{Follower, TestEvent, stream};
use crate::app::App;
use crate::http::error::{ApiError, ErrorBody};
use axum::Json as Answer;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use heddle_execution::ReplayRequest;
use heddle_model::ids::{DeploymentId, PatternId, RunId};
use heddle_runtime::watch;
use heddle_service::replays::{self, Deployed, RUNS_MAX, ReplayReport, Request, Tried};
use heddle_service::test_cases::Subject;
use serde::Deserialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(trace_run))
        .routes(routes!(replay_against))
}

/// Executes an ended run once more to show what each node did.
///
/// The run has its module, event, seed, time and variables of then, and its journal answers all effects: nothing leaves, nothing
/// is waited for, and nothing of it is stored. The events are those of `/api/execute/stream`; the last one, `end`, also says in
/// `replay` whether the replay ended as the run did. Times are the replay's own. Closing the connection ends it. Counts as a test
/// run.
#[utoipa::path(
    post, path = "/api/deployments/{id}/runs/{runId}/trace", tag = "Executions", security(("bearer" = [])),
    params(("id" = DeploymentId, Path, description = "Deployment"), ("runId" = RunId, Path, description = "Run")),
    responses(
        (status = 200, description = "Events; the schema is that of their data", body = TestEvent, content_type = "text/event-stream"),
        (status = 400, description = "INVALID_STATUS: the run has not ended", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN", body = ErrorBody),
        (status = 404, description = "NOT_FOUND", body = ErrorBody),
        (status = 409, description = "CONFLICT: the run never began, or brought down what executed it", body = ErrorBody),
        (status = 410, description = "GONE: its journal or its module is no longer kept", body = ErrorBody),
        (status = 429, description = "RATE_LIMITED: the user has too many live tails open", body = ErrorBody),
        (status = 503, description = "UNAVAILABLE: too many runs are executing", body = ErrorBody),
    )
)]
async fn trace_run(
    State(app): State<App>,
    caller: Caller,
    Path((deployment, run)): Path<(DeploymentId, RunId)>,
) -> Result<Response, ApiError> {
    let editor = caller.scope.editor()?;
    let permit = app.onlookers.permit(caller.scope.user())?;
    let (watcher, watched) = watch();
    let request = ReplayRequest {
        deployment,
        run,
        watcher,
    };
    let prepared = app.executions.prepare_replay(&editor, request).await?;
    let follower = Follower {
        watched,
        permit,
        owner: editor.user(),
        // Events are shown without the credentials that they came with.
        covers_events: true,
    };
    let running = async {
        let (outcome, replayed) = prepared.run().await?;
        Ok((outcome, true, Some(replayed)))
    };
    Ok(stream(&app, follower, running))
}

/// Which version is tried with whose events.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schema(example = json!({"versionNumber": 2, "limit": 100}))]
struct ReplayBody {
    /// The deployment in this environment; default: the pattern's main one.
    environment_id: Option<String>,
    /// The version that is tried; default: the newest.
    #[schema(minimum = 1, example = 2)]
    version_number: Option<i64>,
    /// A graph in its place.
    #[schema(value_type = Option<CompleteGraph>)]
    graph_data: Option<Box<RawValue>>,
    /// Definitions of custom node types, by name; with `{}` or without any, the version's own.
    #[schema(value_type = Option<HashMap<String, NodeDefinition>>, example = json!({}))]
    node_definitions: Option<Box<RawValue>>,
    /// How many events, the newest first; at most 1,000.
    #[schema(minimum = 1, default = 100, example = 100)]
    limit: Option<i64>,
    /// The `nextCursor` of the answer before.
    #[schema(max_length = 100)]
    cursor: Option<String>,
}

/// Tries a version with the newest events of what is deployed.
///
/// For each of them, the version that is deployed executes once more, and then the one that is tried, with the event, seed, time and
/// variables of the run. Nothing leaves: effects are answered from the run's journal. An effect of the tried version is answered if
/// its node asked for exactly the same in the run; otherwise it is told in `unanswered`, and the version's run ends where it waits
/// for it. `runs` has those that are not the same, with what differs by node and field. Nothing is stored. Both executions count as
/// test runs. 45 s are given to an answer; `nextCursor` goes on.
#[utoipa::path(
    post, path = "/api/patterns/{id}/replay", tag = "Deployments", security(("bearer" = [])), request_body = ReplayBody,
    params(("id" = PatternId, Path, description = "The pattern")),
    responses(
        (status = 200, description = "What the version did", body = ReplayReport),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN: the caller is a viewer", body = ErrorBody),
        (status = 404, description = "NOT_FOUND: no such pattern, or it was never deployed there; VERSION_NOT_FOUND", body = ErrorBody),
        (status = 422, description = "The graph is not valid", body = InvalidGraph),
        (status = 429, description = "WORKSPACE_QUOTA_EXCEEDED", body = ErrorBody),
        (status = 503, description = "UNAVAILABLE: too many runs are executing", body = ErrorBody),
    )
)]
async fn replay_against(
    State(app): State<App>,
    caller: Caller,
    Path(pattern): Path<PatternId>,
    CodeJson(body): CodeJson<ReplayBody>,
) -> Result<Response, ApiError> {
    let editor = caller.scope.editor()?;
    if body.version_number.is_some_and(|version| version < 1) {
        return Err(ApiError::field("versionNumber", "must be at least 1"));
    }
    if body.version_number.is_some() && body.graph_data.is_some() {
        return Err(ApiError::field(
            "graphData",
            "can't be given together with versionNumber",
        ));
    }
    let object =
        |path: &str, given: Option<Box<RawValue>>| given.map(|it| extract::object(path, it)).transpose();
    let request = Request {
        of: Deployed::In(body.environment_id.as_deref().map(environment).transpose()?),
        tried: Tried::Version(Box::new(Subject {
            version: body.version_number,
            graph: object("graphData", body.graph_data)?,
            definitions: object("nodeDefinitions", body.node_definitions)?,
            is_kept: false,
        })),
        before: cursor::after(body.cursor.as_deref(), cursor::by_time)?,
        limit: extract::limit(body.limit, 100, RUNS_MAX)?,
    };
    match replays::against(&app, &editor, pattern, request).await {
        Ok(report) => Ok(Answer(report).into_response()),
        Err(error) => Refused::from(error).answer(),
    }
}
