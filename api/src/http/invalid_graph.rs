//! The answer for a graph that can't be compiled.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use heddle_execution::compile::Finding;
use heddle_execution::compile::validation::Diagnostic;
use serde::Serialize;
use utoipa::ToSchema;

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
