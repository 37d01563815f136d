//! Deploying: a version of a pattern to an environment, what is in one environment to another one, and the end of it.

use super::deploy_plan::DeployPlan;
use super::deployments::{Trigger, triggers};
use super::drawn::NodeDefinition;
use super::extract::{self, Caller, CodeJson, Json, Others, Path, Query};
use super::in_environment::{InEnvironment, environment};
use super::reply::Enveloped;
use crate::app::App;
use crate::http::error::{ApiError, ErrorBody};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use heddle_execution::compile::Finding;
use heddle_execution::compile::validation::Diagnostic;
use heddle_execution::deploy::{DeployError, DeployRequest, DeployVersion, Target};
use heddle_model::access::Editor;
use heddle_model::ids::{DeploymentId, PatternId};
use heddle_model::status::DeploymentStatus;
use heddle_service::test_cases::{self, Subject};
use heddle_store::StoreError;
use heddle_store::deployments::DeploymentRow;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(deploy_pattern, undeploy_pattern))
        .routes(routes!(promote_deployment))
}

/// How to deploy a pattern.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct DeployBody {
    /// Definitions of custom node types, by name; with `{}`, the version's own are used.
    #[schema(value_type = HashMap<String, NodeDefinition>, example = json!({}))]
    node_definitions: Box<RawValue>,
    /// The environment that secrets and variables come from; by default the workspace's `production`.
    environment_id: Option<String>,
    /// The version; default: the newest.
    #[schema(minimum = 1, example = 2)]
    version_number: Option<i64>,
    /// Whether a deployment that the pattern has in another environment moves to this one. With `false` it stays, and the
    /// pattern is deployed here as well, with webhook addresses of its own. Default: the pattern's only deployment moves,
    /// of several none.
    #[serde(rename = "move")]
    moves: Option<bool>,
    /// Whether to tell what would happen, and to change nothing; default: no.
    dry_run: Option<bool>,
    /// Whether runs record what each node did.
    trace: Option<bool>,
    /// Whether 422 also says `diagnostics`.
    diagnostics: Option<bool>,
    /// Whether all tests of the pattern have to pass first; default: no.
    require_tests: Option<bool>,
    #[serde(flatten)]
    #[schema(ignore)]
    others: Others,
}

/// The fields of a request to deploy: what is almost one of them is a mistake, such as `dryrun` or `version`.
const DEPLOY_FIELDS: &[&str] = &[
    "nodeDefinitions",
    "environmentId",
    "versionNumber",
    "move",
    "dryRun",
    "trace",
    "diagnostics",
    "requireTests",
];

impl DeployBody {
    /// What is asked for, once the tests have passed if they have to.
    async fn request(
        self,
        app: &App,
        editor: &Editor,
        pattern: PatternId,
    ) -> Result<DeployRequest, ApiError> {
        self.others.are_no_mistakes(DEPLOY_FIELDS)?;
        let environment = self.environment_id.as_deref().map(environment).transpose()?;
        if self.version_number.is_some_and(|version| version < 1) {
            return Err(ApiError::field("versionNumber", "must be at least 1"));
        }
        let node_definitions = extract::object("nodeDefinitions", self.node_definitions)?;
        let tested = match self.require_tests {
            Some(true) => {
                let subject = Subject {
                    version: self.version_number,
                    graph: None,
                    definitions: Some(node_definitions.clone()),
                    is_kept: !self.dry_run.unwrap_or(false),
                };
                Some(test_cases::require(app, editor, pattern, subject).await?)
            }
            _ => None,
        };
        Ok(DeployRequest {
            node_definitions,
            target: Target {
                environment,
                moves: self.moves,
            },
            trace: self.trace.unwrap_or(false),
            version: match (self.version_number, tested) {
                (Some(version), _) => DeployVersion::Exactly(version),
                (None, Some(version)) => DeployVersion::StillNewest(version),
                (None, None) => DeployVersion::Newest,
            },
        })
    }
}

/// A deployment that was just made.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Deployed {
    deployment_id: DeploymentId,
    status: DeploymentStatus,
    triggers: Vec<Trigger>,
    version_number: i64,
    warnings: Vec<Finding>,
}

impl Deployed {
    fn new(row: DeploymentRow, warnings: Vec<Finding>) -> Result<Self, StoreError> {
        Ok(Deployed {
            deployment_id: row.id,
            status: row.status,
            triggers: triggers(row.id, &row.triggers)?,
            version_number: row.version_number,
            warnings,
        })
    }
}

/// What was deployed, or would be.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
enum DeployOutcome {
    /// It was deployed.
    Deployed(Deployed),
    /// With `dryRun`: what would happen.
    Planned(Box<DeployPlan>),
}

/// Why a graph was not compiled.
#[derive(Debug, Serialize, ToSchema)]
pub struct InvalidGraph {
    /// Always false.
    success: bool,
    /// What is wrong.
    errors: Vec<Finding>,
    /// What looks wrong.
    warnings: Vec<Finding>,
    /// If the request asks for them: all of it with places, as `/api/execute/validate` has them.
    #[serde(skip_serializing_if = "Option::is_none")]
    diagnostics: Option<Vec<Diagnostic>>,
}

impl InvalidGraph {
    /// The answer with status 422.
    pub fn answer(
        errors: Vec<Finding>,
        warnings: Vec<Finding>,
        diagnostics: Option<Vec<Diagnostic>>,
    ) -> Response {
        let body = InvalidGraph {
            success: false,
            errors,
            warnings,
            diagnostics,
        };
        (StatusCode::UNPROCESSABLE_ENTITY, axum::Json(body)).into_response()
    }
}

/// Compiles a version of a pattern and deploys it to an environment.
#[utoipa::path(
    post, path = "/api/patterns/{id}/deploy", tag = "Deployments", security(("bearer" = [])),
    params(("id" = PatternId, Path, description = "Pattern")), request_body = DeployBody,
    responses(
        (status = 200, description = "Deployed; with `dryRun`: what would happen, and nothing has changed", body = Enveloped<DeployOutcome>),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN; QUOTA_EXCEEDED", body = ErrorBody),
        (status = 404, description = "NOT_FOUND; VERSION_NOT_FOUND: the pattern has no such version", body = ErrorBody),
        (status = 409, description = "With `requireTests`: TESTS_FAILED, with `details` for each test that does not pass; CONFLICT: the pattern was saved meanwhile, or is to move although it is deployed in several environments", body = ErrorBody),
        (status = 422, description = "The graph is not valid; nothing has changed", body = InvalidGraph),
    )
)]
async fn deploy_pattern(
    State(app): State<App>,
    caller: Caller,
    Path(pattern): Path<PatternId>,
    CodeJson(body): CodeJson<DeployBody>,
) -> Result<Response, ApiError> {
    let editor = caller.scope.editor()?;
    let is_dry = body.dry_run.unwrap_or(false);
    let wants_diagnostics = body.diagnostics.unwrap_or(false);
    let request = body.request(&app, &editor, pattern).await?;
    let done = match is_dry {
        true => match app.executions.plan(&editor, pattern, request).await {
            Ok(plan) => Ok(DeployOutcome::Planned(Box::new(
                DeployPlan::new(&app, &editor, plan).await?,
            ))),
            Err(error) => Err(error),
        },
        false => match app.executions.deploy(&editor, pattern, request).await {
            Ok((row, warnings)) => Ok(DeployOutcome::Deployed(Deployed::new(row, warnings)?)),
            Err(error) => Err(error),
        },
    };
    match done {
        Ok(outcome) => Ok(Enveloped::new(outcome).into_response()),
        Err(DeployError::Invalid {
            errors,
            warnings,
            diagnostics,
        }) => {
            let diagnostics = wants_diagnostics.then_some(diagnostics);
            Ok(InvalidGraph::answer(errors, warnings, diagnostics))
        }
        Err(DeployError::Other(error)) => Err(error.into()),
    }
}

/// Where to promote a deployment to.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct PromoteBody {
    /// The environment to deploy to.
    #[schema(example = "01932c07-209e-7f64-b0a3-5c1f1b0e6f3a")]
    environment_id: String,
    /// Whether to tell what would happen, with what is missing, and to change nothing; default: no.
    dry_run: Option<bool>,
}

/// Deploys to another environment exactly what this deployment has: the same module, without compiling it again. Nothing is
/// deployed if the environment lacks a secret or a variable, or the workspace a connection, that the pattern names.
#[utoipa::path(
    post, path = "/api/deployments/{id}/promote", tag = "Deployments", security(("bearer" = [])),
    params(("id" = DeploymentId, Path, description = "Deployment")), request_body = PromoteBody,
    responses(
        (status = 200, description = "The deployment in the other environment; with `dryRun`: what would happen, and nothing has changed", body = Enveloped<DeployOutcome>),
        (status = 400, description = "VALIDATION, or NOT_ACTIVE: nothing is deployed here, or its module can't be loaded", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN; QUOTA_EXCEEDED", body = ErrorBody),
        (status = 404, description = "NOT_FOUND", body = ErrorBody),
        (status = 409, description = "ENVIRONMENT_INCOMPLETE, with `details` for each secret, variable and connection that is missing", body = ErrorBody),
    )
)]
async fn promote_deployment(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<DeploymentId>,
    Json(body): Json<PromoteBody>,
) -> Result<Enveloped<DeployOutcome>, ApiError> {
    let editor = caller.scope.editor()?;
    let environment = environment(&body.environment_id)?;
    Ok(Enveloped::new(match body.dry_run.unwrap_or(false) {
        true => {
            let plan = app.executions.plan_promotion(&editor, id, environment).await?;
            DeployOutcome::Planned(Box::new(DeployPlan::new(&app, &editor, plan).await?))
        }
        false => {
            let row = app.executions.promote(&editor, id, environment).await?;
            DeployOutcome::Deployed(Deployed::new(row, Vec::new())?)
        }
    }))
}

/// A deployment's new state.
#[derive(Debug, Serialize, ToSchema)]
pub struct NewStatus {
    /// The state.
    pub status: DeploymentStatus,
}

/// Ends the main deployment of a pattern, or the one in an environment: its triggers stop, and its runs are kept.
#[utoipa::path(
    delete, path = "/api/patterns/{id}/deploy", tag = "Deployments", security(("bearer" = [])),
    params(("id" = PatternId, Path, description = "Pattern"), InEnvironment),
    responses(
        (status = 200, description = "Undeployed", body = Enveloped<NewStatus>),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN", body = ErrorBody),
        (status = 404, description = "NOT_FOUND", body = ErrorBody),
    )
)]
async fn undeploy_pattern(
    State(app): State<App>,
    caller: Caller,
    Path(pattern): Path<PatternId>,
    Query(query): Query<InEnvironment>,
) -> Result<Enveloped<NewStatus>, ApiError> {
    let editor = caller.scope.editor()?;
    let row = app
        .executions
        .undeploy(&editor, pattern, query.environment_id)
        .await?;
    Ok(Enveloped::new(NewStatus { status: row.status }))
}
