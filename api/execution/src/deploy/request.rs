//! What is asked for when something is to be deployed, and why it was not.

use super::missing::Missing;
use crate::compile::validation::Diagnostic;
use crate::compile::{Finding, LoadFailure};
use heddle_model::deploy_rules::DeployRules;
use heddle_model::error::ServiceError;
use heddle_model::ids::{DeploymentId, EnvironmentId};
use heddle_model::status::DeploymentStatus;
use heddle_runtime::ProgramError;
use heddle_store::StoreError;
use heddle_store::deployments::DeploymentRow;
use serde_json::value::RawValue;

/// What to deploy a pattern with.
#[derive(Clone, Debug)]
pub struct DeployRequest {
    /// Definitions of node types that are not standard, by name; if empty, the version's own.
    pub node_definitions: Box<RawValue>,
    /// Where to.
    pub target: Target,
    /// Whether its runs record what each node did.
    pub trace: bool,
    pub version: DeployVersion,
    pub gate: Gate,
}

/// What was looked at before something is deployed; the audit log tells what people have said to it.
#[derive(Clone, Debug, Default)]
pub struct Gate {
    pub kept: DeployRules,
    /// What was compared for them; nothing else is stored. `None`: nothing was.
    pub compared: Option<Compared>,
    /// How many recorded events the version treats differently, if somebody wants that.
    pub acknowledged: Option<usize>,
    /// Whether somebody has approved that it may reach more.
    pub is_approved: bool,
}

/// What was to be deployed, and what was deployed there, when both were compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compared {
    artifact: String,
    replaced: Option<Replaced>,
}

/// What was deployed there, and whether it still was.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Replaced {
    id: DeploymentId,
    environment: Option<EnvironmentId>,
    artifact: String,
    is_deployed: bool,
}

impl Compared {
    /// Compares a deployment as it would be stored with the one that it replaces.
    pub fn of(new: &DeploymentRow, replaced: Option<&DeploymentRow>) -> Self {
        Compared {
            artifact: new.artifact.clone(),
            replaced: replaced.map(|row| Replaced {
                id: row.id,
                environment: row.environment_id,
                artifact: row.artifact.clone(),
                is_deployed: row.status != DeploymentStatus::Undeployed,
            }),
        }
    }
}

/// Where a deployment goes.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Where secrets and variables come from; `None`: the workspace's default.
    pub environment: Option<EnvironmentId>,
    /// Whether a deployment in another environment moves to this one; `None`: if it is the pattern's only one.
    pub moves: Option<bool>,
}

/// Which version of a pattern to deploy.
#[derive(Clone, Copy, Debug)]
pub enum DeployVersion {
    Newest,
    /// This one, if it is the newest still.
    StillNewest(i64),
    /// This one.
    Exactly(i64),
}

/// What was deployed.
#[derive(Debug)]
pub struct Done {
    /// As it is stored.
    pub row: DeploymentRow,
    /// What looks wrong in the graph.
    pub warnings: Vec<Finding>,
    /// What it names and is not there: nodes that need it fail.
    pub missing: Missing,
}

/// Why a pattern was not deployed.
#[derive(Debug)]
pub enum DeployError {
    /// Its graph is not valid.
    Invalid {
        /// What is wrong.
        errors: Vec<Finding>,
        /// What looks wrong.
        warnings: Vec<Finding>,
        /// All of it with its places.
        diagnostics: Vec<Diagnostic>,
    },
    /// Anything else.
    Other(ServiceError),
}

impl From<ServiceError> for DeployError {
    fn from(error: ServiceError) -> Self {
        DeployError::Other(error)
    }
}

impl From<LoadFailure> for DeployError {
    fn from(failure: LoadFailure) -> Self {
        match failure {
            // The pattern's author can do something about these.
            LoadFailure::Program(
                error @ (ProgramError::Component { .. }
                | ProgramError::TooComplex(_)
                | ProgramError::TooCostly(_)
                | ProgramError::TooLarge { .. }),
            ) => {
                let message = error.to_string();
                DeployError::Invalid {
                    diagnostics: vec![Diagnostic::of_graph("module", message.clone())],
                    errors: vec![Finding {
                        node_id: None,
                        message,
                    }],
                    warnings: Vec::new(),
                }
            }
            LoadFailure::Program(error) => DeployError::Other(ServiceError::internal(error)),
            LoadFailure::Other(error) => DeployError::Other(error),
        }
    }
}

impl From<StoreError> for DeployError {
    fn from(error: StoreError) -> Self {
        DeployError::Other(error.into())
    }
}
