//! Conditions for deploying, by the rules of the environment or the request: tests pass, recorded events are treated as the deployed
//! version treats them, and the new version may reach nothing more, unless somebody says that this is wanted.

use super::invalid_graph::InvalidGraph;
use crate::app::App;
use crate::http::error::ApiError;
use axum::response::Response;
use heddle_execution::deploy::{Compared, DeployError, DeployRequest, DeployVersion, Gate, Plan, Target};
use heddle_model::access::Editor;
use heddle_model::deploy_rules::DeployRules;
use heddle_model::error::{Code, Detail, ServiceError};
use heddle_model::ids::{DeploymentId, EnvironmentId, PatternId};
use heddle_model::status::DeploymentStatus;
use heddle_service::patterns::no_definitions;
use heddle_service::replays::{self, Deployed, ReplayError, Request, Tried};
use heddle_service::test_cases::{self, Subject};
use heddle_store::{StoreError, deployments};

/// Events that a version is replayed with before it is deployed: the newest ones.
const EVENTS: i64 = 100;
/// Rights that a refusal names.
const NAMED_MAX: usize = 20;

/// Why a version was not deployed, or not replayed.
pub enum Refused {
    /// Its graph can't be compiled.
    Invalid(Box<Response>),
    /// Anything else.
    Error(ApiError),
}

impl From<ServiceError> for Refused {
    fn from(error: ServiceError) -> Self {
        Refused::Error(error.into())
    }
}

impl From<StoreError> for Refused {
    fn from(error: StoreError) -> Self {
        ServiceError::from(error).into()
    }
}

impl From<ReplayError> for Refused {
    fn from(error: ReplayError) -> Self {
        match error {
            ReplayError::Invalid(compiled) => {
                let answer = InvalidGraph::answer(compiled.errors, compiled.warnings, None);
                Refused::Invalid(Box::new(answer))
            }
            ReplayError::Other(error) => error.into(),
        }
    }
}

impl Refused {
    /// The answer to whoever deploys.
    pub fn answer(self) -> Result<Response, ApiError> {
        match self {
            Refused::Invalid(answer) => Ok(*answer),
            Refused::Error(error) => Err(error),
        }
    }

    pub fn of_plan(error: DeployError, wants_diagnostics: bool) -> Refused {
        match error {
            DeployError::Invalid {
                errors,
                warnings,
                diagnostics,
            } => {
                let diagnostics = wants_diagnostics.then_some(diagnostics);
                Refused::Invalid(Box::new(InvalidGraph::answer(errors, warnings, diagnostics)))
            }
            DeployError::Other(error) => error.into(),
        }
    }
}

/// What the user confirms of the findings.
#[derive(Clone, Copy, Debug, Default)]
pub struct Confirmations {
    /// The differences are wanted.
    pub acknowledges: bool,
    /// The version may reach more; only somebody with the role admin can say so.
    pub approves: bool,
}

/// Looks at what would be deployed, as far as the rules ask for that. Tests are looked at before.
pub async fn passed(
    app: &App,
    editor: &Editor,
    (plan, tried): (&Plan, Tried),
    (rules, confirmed): (DeployRules, Confirmations),
) -> Result<Gate, Refused> {
    let mut gate = Gate {
        kept: rules,
        compared: Some(Compared::of(&plan.row, plan.replaces.as_ref())),
        ..Gate::default()
    };
    // What moves here from another environment was deployed by that one's rules: nobody has approved here what it may reach. What
    // is not deployed any more may reach nothing.
    let is_here = plan.replaces.as_ref().is_some_and(|replaced| {
        replaced.environment_id == plan.row.environment_id && replaced.status != DeploymentStatus::Undeployed
    });
    let former = plan.former_rights.clone().filter(|_| is_here);
    let added = plan.rights.without(&former.unwrap_or_default());
    let added = added.listed();
    if rules.require_approval && !added.is_empty() {
        if !confirmed.approves {
            return Err(not_approved(&added).into());
        }
        editor.manager()?;
        gate.is_approved = true;
    }
    let Some(deployed) = plan.replaces.as_ref().filter(|_| rules.require_replay) else {
        return Ok(gate);
    };
    let replay = Request {
        of: Deployed::Exactly(deployed.id),
        tried,
        before: None,
        limit: EVENTS,
    };
    let report = replays::against(app, editor, plan.row.pattern_id, replay).await?;
    match confirmed.acknowledges {
        true => {
            gate.acknowledged = Some(report.differing()).filter(|count| *count > 0);
        }
        false => replays::refuse(&report)?,
    }
    Ok(gate)
}

fn not_approved(added: &[String]) -> ServiceError {
    let details = added.iter().take(NAMED_MAX).map(|right| Detail {
        path: "rights".to_owned(),
        message: right.clone(),
    });
    let message = format!(
        "The version may reach more than what is deployed ({}), and this environment asks for an approval. Nothing was deployed. \
         Somebody with the role admin can deploy it with `approveRights`.",
        added
            .iter()
            .take(NAMED_MAX)
            .cloned()
            .collect::<Vec<_>>()
            .join(", ")
    );
    Code::RightsNotApproved
        .with(message)
        .with_details(details.collect())
}

/// Looks at a version that is to be deployed, as far as the rules ask for that, and gives the request that tells it, with the plan
/// if one was needed.
pub async fn deployable(
    app: &App,
    editor: &Editor,
    (pattern, mut request): (PatternId, DeployRequest),
    (rules, confirmed): (DeployRules, Confirmations),
    wants_diagnostics: bool,
) -> Result<(DeployRequest, Option<Plan>), Refused> {
    request.gate.kept = rules;
    if !rules.require_replay && !rules.require_approval {
        return Ok((request, None));
    }
    let plan = app.executions.plan(editor, pattern, request.clone()).await;
    let plan = plan.map_err(|error| Refused::of_plan(error, wants_diagnostics))?;
    let version = plan.row.version_number;
    // What is deployed is what was looked at.
    if matches!(request.version, DeployVersion::Newest) {
        request.version = DeployVersion::StillNewest(version);
    }
    let tried = Tried::Version(Box::new(Subject {
        version: Some(version),
        graph: None,
        definitions: Some(request.node_definitions.clone()),
        is_kept: false,
    }));
    request.gate = passed(app, editor, (&plan, tried), (rules, confirmed)).await?;
    Ok((request, Some(plan)))
}

/// Looks at a deployment that is to be promoted to another environment, as far as that one's rules ask for it.
pub async fn promotable(
    app: &App,
    editor: &Editor,
    (deployment, environment): (DeploymentId, EnvironmentId),
    confirmed: Confirmations,
) -> Result<Gate, Refused> {
    let found = deployments::visible(&mut app.store.reader().await?.db(), editor, deployment).await?;
    let pattern = found
        .ok_or_else(|| ServiceError::from(Code::NotFound))?
        .pattern_id;
    let rules = app
        .executions
        .deploy_rules(editor, pattern, Some(environment))
        .await?;
    if rules.is_empty() {
        return Ok(Gate::default());
    }
    let plan = app
        .executions
        .plan_promotion(editor, deployment, environment)
        .await?;
    if rules.require_tests {
        tested(app, editor, &plan).await?;
    }
    let tried = Tried::Module(plan.row.version_number, plan.row.artifact.clone());
    passed(app, editor, (&plan, tried), (rules, confirmed)).await
}

/// Runs the pattern's tests on the version that a plan promotes. What they are run on has to be what is promoted: definitions that
/// came with a request are kept in no version.
async fn tested(app: &App, editor: &Editor, plan: &Plan) -> Result<(), Refused> {
    let (pattern, version) = (plan.row.pattern_id, plan.row.version_number);
    if test_cases::list(app, editor, pattern).await?.is_empty() {
        return Ok(());
    }
    let request = DeployRequest {
        node_definitions: no_definitions(),
        target: Target {
            environment: plan.row.environment_id,
            moves: Some(false),
        },
        trace: plan.trace,
        version: DeployVersion::Exactly(version),
        gate: Gate::default(),
    };
    match app.executions.plan(editor, pattern, request).await {
        Ok(own) if own.row.artifact == plan.row.artifact => {}
        Ok(_) | Err(DeployError::Invalid { .. }) => {
            let message = format!(
                "The tests of version {version} can't be run on what is deployed: it was deployed with definitions of its own, or \
                 by another heddle, and this environment asks for tests. Nothing was deployed. Deploy the version to this \
                 environment, or deploy it again where it is, and promote that."
            );
            return Err(Code::TestsFailed.with(message).into());
        }
        Err(DeployError::Other(error)) => return Err(error.into()),
    }
    let subject = Subject {
        version: Some(version),
        graph: None,
        definitions: None,
        is_kept: true,
    };
    test_cases::require(app, editor, pattern, subject).await?;
    Ok(())
}
