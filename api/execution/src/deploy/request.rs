//! What is asked for when something is to be deployed, and why it was not.

use crate::compile::validation::Diagnostic;
use crate::compile::{Finding, LoadFailure};
use heddle_model::error::ServiceError;
use heddle_model::ids::EnvironmentId;
use heddle_runtime::ProgramError;
use heddle_store::StoreError;
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
