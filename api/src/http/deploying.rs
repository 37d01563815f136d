//! Deploying: a version of a pattern to an environment, what is in one environment to another one, and the end of it.

use super::deploy_gate::{self, Confirmations, Refused};
use super::deploy_plan::DeployPlan;
use super::deployments::{Trigger, triggers};
use super::drawn::NodeDefinition;
use super::extract::{self, Caller, CodeJson, Json, Others, Path, Query};
use super::in_environment::{InEnvironment, environment};
use super::invalid_graph::InvalidGraph;
use super::reply::Enveloped;
use crate::app::App;
use crate::http::error::{ApiError, ErrorBody};
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use heddle_execution::compile::Finding;
use heddle_execution::deploy::{DeployRequest, DeployVersion, Done, Gate, Missing, Target};
use heddle_model::Code;
use heddle_model::access::Editor;
use heddle_model::deploy_rules::DeployRules;
use heddle_model::ids::{DeploymentId, PatternId};
use heddle_model::status::DeploymentStatus;
use heddle_service::test_cases::{self, Subject};
use heddle_store::StoreError;
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
    /// Whether only to report what would happen, and change nothing; default: no.
    dry_run: Option<bool>,
    /// Whether runs record what each node did.
    trace: Option<bool>,
    /// Whether 422 also says `diagnostics`.
    diagnostics: Option<bool>,
    /// Whether all tests of the pattern have to pass first; default: no.
    require_tests: Option<bool>,
    /// Whether the newest 100 events of the deployment whose place this takes are replayed first, as `/api/patterns/{id}/replay`
    /// does; default: no.
    require_replay: Option<bool>,
    /// Where a replay is required, by this request or by the environment: whether to deploy although the version does something else
    /// with recorded events. The audit log tells that and how many they were. Default: no.
    acknowledge_differences: Option<bool>,
    /// Where the environment requires an approval: whether the version may reach what the deployed one may not. Needs the role
    /// admin. The audit log tells it. Default: no.
    approve_rights: Option<bool>,
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
    "requireReplay",
    "acknowledgeDifferences",
    "approveRights",
];

impl DeployBody {
    /// What is asked for, once the tests have passed if they have to, and by which rules.
    async fn request(
        self,
        app: &App,
        editor: &Editor,
        pattern: PatternId,
    ) -> Result<(DeployRequest, DeployRules), ApiError> {
        self.others.are_no_mistakes(DEPLOY_FIELDS)?;
        let environment = self.environment_id.as_deref().map(environment).transpose()?;
        if self.version_number.is_some_and(|version| version < 1) {
            return Err(ApiError::field("versionNumber", "must be at least 1"));
        }
        let node_definitions = extract::object("nodeDefinitions", self.node_definitions)?;
        let mut rules = DeployRules {
            require_tests: self.require_tests.unwrap_or(false),
            require_replay: self.require_replay.unwrap_or(false),
            require_approval: false,
        };
        if !self.dry_run.unwrap_or(false) {
            let of_environment = app.executions.deploy_rules(editor, pattern, environment).await?;
            rules = rules.and(of_environment);
        }
        let tested = match rules.require_tests {
            true => {
                let subject = Subject {
                    version: self.version_number,
                    graph: None,
                    definitions: Some(node_definitions.clone()),
                    is_kept: !self.dry_run.unwrap_or(false),
                };
                Some(test_cases::require(app, editor, pattern, subject).await?)
            }
            false => None,
        };
        let request = DeployRequest {
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
            gate: Gate::default(),
        };
        Ok((request, rules))
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
    /// What it names but does not exist there: nodes that need it will fail. Left out if nothing is missing.
    #[serde(skip_serializing_if = "Missing::is_empty")]
    missing: Missing,
}

impl Deployed {
    fn new(done: Done) -> Result<Self, StoreError> {
        let row = done.row;
        Ok(Deployed {
            deployment_id: row.id,
            status: row.status,
            triggers: triggers(row.id, &row.triggers)?,
            version_number: row.version_number,
            warnings: done.warnings,
            missing: done.missing,
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
        (status = 409, description = "With `requireTests`: TESTS_FAILED, with `details` for each test that does not pass; REPLAY_DIFFERS, with `details` for the first runs whose events the version treats differently; RIGHTS_NOT_APPROVED, with `details` for what it may reach besides; CONFLICT: the pattern was saved meanwhile, or is to move although it is deployed in several environments", body = ErrorBody),
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
    let confirmed = Confirmations {
        acknowledges: body.acknowledge_differences.unwrap_or(false),
        approves: body.approve_rights.unwrap_or(false),
    };
    let (request, rules) = body.request(&app, &editor, pattern).await?;
    let looking = deploy_gate::deployable(
        &app,
        &editor,
        (pattern, request),
        (rules, confirmed),
        wants_diagnostics,
    );
    let (request, planned) = match Box::pin(looking).await {
        Ok(looked_at) => looked_at,
        Err(refused) => return refused.answer(),
    };
    let done = match (is_dry, planned) {
        (false, _) => match app.executions.deploy(&editor, pattern, request).await {
            Ok(done) => Ok(DeployOutcome::Deployed(Deployed::new(done)?)),
            Err(error) => Err(error),
        },
        (true, planned) => {
            let plan = match planned {
                Some(plan) => Ok(plan),
                None => app.executions.plan(&editor, pattern, request).await,
            };
            match plan {
                Ok(plan) => Ok(DeployOutcome::Planned(Box::new(
                    DeployPlan::new(&app, &editor, plan).await?,
                ))),
                Err(error) => Err(error),
            }
        }
    };
    match done {
        Ok(outcome) => Ok(Enveloped::new(outcome).into_response()),
        Err(error) => Refused::of_plan(error, wants_diagnostics).answer(),
    }
}

/// Where to promote a deployment to.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct PromoteBody {
    /// The environment to deploy to.
    #[schema(example = "01932c07-209e-7f64-b0a3-5c1f1b0e6f3a")]
    environment_id: String,
    /// Whether only to report what would happen and what is missing, and change nothing; default: no.
    dry_run: Option<bool>,
    /// As when deploying a version.
    acknowledge_differences: Option<bool>,
    /// As when deploying a version.
    approve_rights: Option<bool>,
}

/// Deploys to another environment exactly what this deployment has: the same module, without compiling it again. Nothing is
/// deployed if the environment lacks a secret or a variable, or the workspace a connection, that the pattern names.
#[utoipa::path(
    post, path = "/api/deployments/{id}/promote", tag = "Deployments", security(("bearer" = [])),
    params(("id" = DeploymentId, Path, description = "Deployment")), request_body = PromoteBody,
    responses(
        (status = 200, description = "The deployment in the other environment; with `dryRun`: what would happen, and nothing has changed", body = Enveloped<DeployOutcome>),
        (status = 400, description = "VALIDATION; NOT_ACTIVE or MODULE_CHANGED: nothing is deployed here, or its module can't be loaded, or is not the one that was deployed", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN; QUOTA_EXCEEDED", body = ErrorBody),
        (status = 404, description = "NOT_FOUND", body = ErrorBody),
        (status = 409, description = "TESTS_FAILED, REPLAY_DIFFERS, RIGHTS_NOT_APPROVED: the environment's rules, as when deploying a version; ENVIRONMENT_INCOMPLETE, with `details` for each secret, variable and connection that is missing", body = ErrorBody),
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
            let confirmed = Confirmations {
                acknowledges: body.acknowledge_differences.unwrap_or(false),
                approves: body.approve_rights.unwrap_or(false),
            };
            let looking = deploy_gate::promotable(&app, &editor, (id, environment), confirmed);
            let gate = match Box::pin(looking).await {
                Ok(gate) => gate,
                // Nothing is compiled that could be invalid.
                Err(Refused::Invalid(_)) => {
                    return Err(Code::Conflict.with("The module can't be executed here.").into());
                }
                Err(Refused::Error(error)) => return Err(error),
            };
            let row = app.executions.promote(&editor, id, environment, gate).await?;
            DeployOutcome::Deployed(Deployed::new(Done {
                row,
                warnings: Vec::new(),
                missing: Missing::default(),
            })?)
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
