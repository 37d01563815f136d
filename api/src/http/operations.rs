//! Running, pausing, resuming and redeploying a deployment.

use super::deploying::NewStatus;
use super::extract::{Caller, Misnamed, OptionalJson, Path, Query, given, refuse_misnamed};
use super::reply::Enveloped;
use crate::app::App;
use crate::http::error::{ApiError, ErrorBody};
use axum::extract::State;
use heddle_execution::scheduler::schedule_event;
use heddle_execution::{Accepted, Ended, NewRun, OwnedRight};
use heddle_model::Code;
use heddle_model::ids::{DeploymentId, RunId};
use heddle_model::status::{DeploymentStatus, RunStatus, TriggeredBy};
use heddle_runtime::RunError;
use heddle_store::deployments::{self, DeploymentRow};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(execute_deployment))
        .routes(routes!(pause_deployment))
        .routes(routes!(resume_deployment))
        .routes(routes!(redeploy_deployment))
}

/// The input of a manual run.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct ExecuteBody {
    /// The event. Default: none, and for a pattern that starts by a schedule that of a schedule which is due now.
    #[schema(value_type = Option<HashMap<String, Value>>, example = json!({"body": {"amount": 12}}))]
    event_data: Option<Box<RawValue>>,
    #[schema(ignore)]
    event: Misnamed,
    #[schema(ignore)]
    data: Misnamed,
    #[schema(ignore)]
    input: Misnamed,
    #[schema(ignore)]
    body: Misnamed,
}

impl ExecuteBody {
    /// An event by another name would be one that the run does not get.
    fn check(&self) -> Result<(), ApiError> {
        refuse_misnamed(&[
            ("event", &self.event, "eventData"),
            ("data", &self.data, "eventData"),
            ("input", &self.input, "eventData"),
            ("body", &self.body, "eventData.body"),
        ])
    }
}

/// How to run.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
struct ExecuteQuery {
    /// Wait until the run has ended, and respond with its output.
    #[param(default = false)]
    #[serde(default, deserialize_with = "given")]
    wait: Option<bool>,
}

/// A run that was started, with its outcome if the request waited for it.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
enum Executed {
    /// The run has ended. First, as clients take the first form that fits.
    #[serde(rename_all = "camelCase")]
    Ended {
        run_id: RunId,
        /// `completed` or `failed`.
        #[schema(example = "completed")]
        status: &'static str,
        /// The run's output, as given to Return.
        #[schema(value_type = Value)]
        output: Option<Box<RawValue>>,
        /// Why it failed.
        #[schema(required = true)]
        error: Option<RunError>,
    },
    /// The run is in progress.
    #[serde(rename_all = "camelCase")]
    Started {
        run_id: RunId,
        /// Always `running`.
        status: RunStatus,
    },
}

impl Executed {
    fn ended(run_id: RunId, ended: &Ended) -> Executed {
        Executed::Ended {
            run_id,
            status: match ended.status {
                RunStatus::Success => "completed",
                RunStatus::Failure | RunStatus::DeadLetter | RunStatus::Running => "failed",
            },
            output: ended.output.clone(),
            error: ended.error.clone(),
        }
    }
}

/// Starts a run of a deployment.
#[utoipa::path(
    post, path = "/api/deployments/{id}/execute", tag = "Deployments", security(("bearer" = [])),
    params(("id" = DeploymentId, Path, description = "Deployment"), ExecuteQuery), request_body = Option<ExecuteBody>,
    responses(
        (status = 200, description = "The run", body = Enveloped<Executed>),
        (status = 400, description = "VALIDATION, PAUSED or NOT_ACTIVE", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN", body = ErrorBody),
        (status = 404, description = "NOT_FOUND", body = ErrorBody),
        (status = 503, description = "UNAVAILABLE: too many runs are waiting", body = ErrorBody),
    )
)]
async fn execute_deployment(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<DeploymentId>,
    Query(query): Query<ExecuteQuery>,
    OptionalJson(body): OptionalJson<ExecuteBody>,
) -> Result<Enveloped<Executed>, ApiError> {
    let runner = caller.scope.runner()?;
    body.check()?;
    let mut event = body.event_data.unwrap_or_else(|| RawValue::NULL.to_owned());
    if event.get() != "null" && !event.get().starts_with('{') {
        return Err(ApiError::field("eventData", "must be an object"));
    }
    let row = deployments::visible(&mut app.store.reader().await?.db(), &runner, id).await?;
    let row = row.ok_or(Code::NotFound)?;
    row.status.may_run()?;
    let deployment = app
        .executions
        .active_for(row.slot())
        .await?
        .ok_or(Code::NotActive)?;
    if event.get() == "null" && deployment.starts_by_schedule() {
        event = schedule_event(app.clock.now(), app.clock.now()).map_err(ApiError::internal)?;
    }
    let wait = query.wait.unwrap_or(false);
    // The caller may read all files of the tenant, and so may this run read those that they name.
    let files = app.executions.files();
    let id = files
        .run_with(deployment.tenant, event.get(), OwnedRight::Tenant)
        .await?;
    let run = NewRun {
        id,
        deployment,
        triggered_by: TriggeredBy::Manual,
        node_id: None,
        event,
        text: None,
        idempotency: None,
        wait,
        caller: None,
    };
    let ticket = match app.executions.accept(run).await? {
        Accepted::New(ticket) => ticket,
        // Only events with a key can have come before.
        Accepted::Duplicate(_) => return Err(Code::Conflict.into()),
    };
    let run_id = ticket.run_id;
    Ok(Enveloped::new(match wait {
        true => Executed::ended(run_id, &*ticket.ended().await?),
        false => Executed::Started {
            run_id,
            status: RunStatus::Running,
        },
    }))
}

/// Pauses a deployment: its triggers are suspended.
#[utoipa::path(
    post, path = "/api/deployments/{id}/pause", tag = "Deployments", security(("bearer" = [])),
    params(("id" = DeploymentId, Path, description = "Deployment")),
    responses(
        (status = 200, description = "Paused", body = Enveloped<NewStatus>),
        (status = 400, description = "ALREADY_PAUSED or NOT_ACTIVE", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN", body = ErrorBody),
        (status = 404, description = "NOT_FOUND", body = ErrorBody),
    )
)]
async fn pause_deployment(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<DeploymentId>,
) -> Result<Enveloped<NewStatus>, ApiError> {
    let row = app.executions.pause(&caller.scope.editor()?, id).await?;
    Ok(Enveloped::new(NewStatus { status: row.status }))
}

/// Resumes a paused deployment.
#[utoipa::path(
    post, path = "/api/deployments/{id}/resume", tag = "Deployments", security(("bearer" = [])),
    params(("id" = DeploymentId, Path, description = "Deployment")),
    responses(
        (status = 200, description = "Active", body = Enveloped<NewStatus>),
        (status = 400, description = "NOT_PAUSED; NOT_ACTIVE or MODULE_CHANGED: its module can't be loaded, or is not the one that was deployed", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN", body = ErrorBody),
        (status = 404, description = "NOT_FOUND", body = ErrorBody),
        (status = 409, description = "CONFLICT: it was deployed meanwhile", body = ErrorBody),
    )
)]
async fn resume_deployment(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<DeploymentId>,
) -> Result<Enveloped<NewStatus>, ApiError> {
    let row = app.executions.resume(&caller.scope.editor()?, id).await?;
    Ok(Enveloped::new(NewStatus { status: row.status }))
}

/// A deployment that was restored.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Redeployed {
    deployment_id: DeploymentId,
    status: DeploymentStatus,
}

impl From<DeploymentRow> for Redeployed {
    fn from(row: DeploymentRow) -> Self {
        Redeployed {
            deployment_id: row.id,
            status: row.status,
        }
    }
}

/// Redeploys the stored module without compiling it again.
#[utoipa::path(
    post, path = "/api/deployments/{id}/redeploy", tag = "Deployments", security(("bearer" = [])),
    params(("id" = DeploymentId, Path, description = "Deployment")),
    responses(
        (status = 200, description = "Active", body = Enveloped<Redeployed>),
        (status = 400, description = "NOT_ACTIVE or MODULE_CHANGED: its module can't be loaded, or is not the one that was deployed", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN", body = ErrorBody),
        (status = 404, description = "NOT_FOUND", body = ErrorBody),
        (status = 409, description = "CONFLICT: its environment was deleted, or it was deployed meanwhile, or it is undeployed and its environment has rules", body = ErrorBody),
    )
)]
async fn redeploy_deployment(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<DeploymentId>,
) -> Result<Enveloped<Redeployed>, ApiError> {
    let row = app.executions.redeploy(&caller.scope.editor()?, id).await?;
    Ok(Enveloped::new(row.into()))
}
