//! Checking a graph while it is being edited.

use super::drawn::{CompleteGraph, NodeDefinition};
use super::extract::{Caller, CodeJson};
use super::sources::Sent;
use crate::app::App;
use crate::http::error::{ApiError, ErrorBody};
use axum::Json as Answer;
use axum::extract::State;
use heddle_execution::compile::Validation;
use serde::Deserialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(validate))
}

/// A graph to check.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct ValidateBody {
    #[schema(value_type = CompleteGraph)]
    graph_data: Box<RawValue>,
    /// Definitions of custom node types, by name.
    #[schema(value_type = HashMap<String, NodeDefinition>, example = json!({}))]
    node_definitions: Box<RawValue>,
    /// Pinned outputs by node id, which are checked as well.
    #[schema(value_type = Option<HashMap<String, Value>>, example = json!({}))]
    pinned_nodes: Option<Box<RawValue>>,
    /// The pattern whose definitions are used if `nodeDefinitions` is `{}`.
    pattern_id: Option<String>,
    /// Whether to report what the pattern could do; this takes about twice as long.
    #[serde(default)]
    #[schema(required = false)]
    rights: bool,
}

/// Checks a graph without compiling it.
///
/// The errors and warnings are those of deploy and transpile, with their places for editors; a graph with errors is
/// answered with 200 as well. For each expression it says whether it is compiled or evaluated by the JavaScript engine. With `rights` it reports what the pattern could do:
/// its hosts, secrets, connections and effects.
#[utoipa::path(
    post, path = "/api/execute/validate", operation_id = "validate_graph", tag = "Executions", security(("bearer" = [])),
    request_body = ValidateBody,
    responses(
        (status = 200, description = "What was found", body = Validation),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 404, description = "NOT_FOUND: no such pattern", body = ErrorBody),
    )
)]
async fn validate(
    State(app): State<App>,
    caller: Caller,
    CodeJson(body): CodeJson<ValidateBody>,
) -> Result<Answer<Validation>, ApiError> {
    let sent = Sent {
        graph_data: body.graph_data,
        node_definitions: body.node_definitions,
        pinned_nodes: body.pinned_nodes,
        pattern_id: body.pattern_id,
    };
    let sources = sent.sources(&app, &caller.scope).await?;
    let validation = app
        .executions
        .validate(&caller.scope, sources, body.rights)
        .await?;
    Ok(Answer(validation))
}
