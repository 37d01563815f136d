//! `/api/nodes`: the catalogue of node types, for editors. It is documentation, and therefore public.

use super::extract::Path;
use crate::catalogue;
use crate::http::error::{ApiError, ErrorBody};
use axum::Json as Answer;
use heddle_catalogue::node_type;
use heddle_model::Code;
use serde_json::Value;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// The routes.
pub fn routes<S: Clone + Send + Sync + 'static>() -> OpenApiRouter<S> {
    OpenApiRouter::new()
        .routes(routes!(list_node_types))
        .routes(routes!(get_node_type))
}

/// A node type.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[expect(dead_code, reason = "only describes what the catalogue gives")]
struct NodeType {
    #[schema(example = "Filter")]
    r#type: String,
    #[schema(example = "data")]
    category: String,
    description: String,
    inputs: Vec<Port>,
    outputs: Vec<Port>,
    /// Whether the node also has one output per case.
    outputs_per_case: bool,
    /// JSON Schema of `data.parameters`.
    parameters: serde_json::Map<String, Value>,
    /// The effects the node has on the outside world, such as `http`.
    effects: Vec<String>,
    examples: Vec<NodeExample>,
}

/// An input or output of a node.
#[derive(ToSchema)]
#[expect(dead_code, reason = "only describes what the catalogue gives")]
struct Port {
    #[schema(example = "input")]
    name: String,
    #[schema(example = "array")]
    r#type: String,
    required: bool,
    description: String,
}

/// An example of a node's output for an input.
#[derive(ToSchema)]
#[expect(dead_code, reason = "only describes what the catalogue gives")]
struct NodeExample {
    title: String,
    parameters: Value,
    input: Value,
    output: Value,
}

/// Lists the standard node types.
#[utoipa::path(
    get, path = "/api/nodes", tag = "Node types", security(()),
    responses((status = 200, description = "All node types", body = Vec<NodeType>))
)]
async fn list_node_types() -> Answer<Value> {
    Answer(catalogue::all())
}

/// Describes a node type.
#[utoipa::path(
    get, path = "/api/nodes/{type}", tag = "Node types", security(()),
    params(("type" = String, Path, description = "The type, as in a node's `type`", example = "Filter")),
    responses(
        (status = 200, description = "The node type", body = NodeType),
        (status = 404, description = "NOT_FOUND", body = ErrorBody),
    )
)]
async fn get_node_type(Path(name): Path<String>) -> Result<Answer<Value>, ApiError> {
    let found = node_type(&name).ok_or_else(|| Code::NotFound.with("This node type does not exist."))?;
    Ok(Answer(catalogue::describe(found)))
}
