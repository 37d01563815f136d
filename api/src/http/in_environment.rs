//! Environments that requests name.

use super::extract::given;
use crate::http::error::ApiError;
use heddle_model::ids::EnvironmentId;
use serde::Deserialize;

/// Which of a pattern's deployments is meant.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(rename_all = "camelCase")]
pub struct InEnvironment {
    /// The deployment in this environment; default: the pattern's main one.
    #[serde(default, deserialize_with = "given")]
    pub environment_id: Option<EnvironmentId>,
}

/// An environment that a body names.
pub fn environment(id: &str) -> Result<EnvironmentId, ApiError> {
    id.parse()
        .map_err(|_| ApiError::field("environmentId", "is not an environment of this workspace"))
}
