//! Replays of runs that have ended, as server-sent events.

use super::extract::{Caller, Path};
use super::test_streams::{Follower, TestEvent, stream};
use crate::app::App;
use crate::http::error::{ApiError, ErrorBody};
use axum::extract::State;
use axum::response::Response;
use heddle_execution::ReplayRequest;
use heddle_model::ids::{DeploymentId, RunId};
use heddle_runtime::watch;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(trace_run))
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
        (status = 200, description = "Events", body = TestEvent, content_type = "text/event-stream"),
        (status = 400, description = "INVALID_STATUS: the run has not ended", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN", body = ErrorBody),
        (status = 404, description = "NOT_FOUND", body = ErrorBody),
        (status = 409, description = "CONFLICT: the run never began, or brought down what executed it", body = ErrorBody),
        (status = 410, description = "GONE: its journal or its module is not kept any more", body = ErrorBody),
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
    let seat = app.onlookers.seat(caller.scope.user())?;
    let (watcher, watched) = watch();
    let request = ReplayRequest {
        deployment,
        run,
        watcher,
    };
    let prepared = app.executions.prepare_replay(&editor, request).await?;
    let follower = Follower {
        watched,
        seat,
        // Events are shown without the credentials that they came with.
        covers_events: true,
    };
    let running = async {
        let (outcome, replayed) = prepared.run().await?;
        Ok((outcome, true, Some(replayed)))
    };
    Ok(stream(&app, follower, running))
}
