//! `/api/nodes`: the catalogue of node types, for editors. It is documentation, and therefore public.

use super::extract::Path;
use super::reply::Kept;
use crate::catalogue;
use crate::http::error::{ApiError, ErrorBody};
use axum::http::HeaderMap;
use axum::response::Response;
use heddle_catalogue::node_types;
use heddle_model::Code;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

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
    /// The name that people see.
    #[schema(example = "Filter")]
    title: String,
    /// Name of the icon.
    #[schema(example = "funnel")]
    icon: String,
    /// Other words by which the type is found.
    keywords: Vec<String>,
    /// Where the type stands in a palette.
    #[schema(example = "lists")]
    group: String,
    #[schema(example = "data")]
    category: String,
    /// What a node does in the graph besides taking values and giving others.
    #[schema(example = "plain")]
    role: String,
    description: String,
    inputs: Vec<Port>,
    outputs: Vec<Port>,
    /// Whether the node also has one output per case.
    outputs_per_case: bool,
    /// Where lists of items travel (`settings.items`): whether a node executes for each `item`, or once for the `list`, unless its
    /// `each` says otherwise.
    #[schema(example = "item")]
    executes_per: String,
    /// By how many of its outputs a node sends at a time: `one` or `several`.
    #[schema(example = "one")]
    sends: String,
    /// The parameter by which it sends by several as well, unless it is `false`. Absent if there is none.
    #[schema(required = false, example = "all")]
    sends_several_if: String,
    /// What a node emits: a value of its `own`, the `input` or elements of it, unchanged, or the value of a `parameter`.
    #[schema(example = "own")]
    emits: String,
    /// The parameter whose value it emits. Absent if there is none.
    #[schema(required = false, example = "value")]
    emits_parameter: String,
    parameters: ParametersSchema,
    /// The effects the node has on the outside world, such as `http`.
    effects: Vec<String>,
    examples: Vec<NodeExample>,
}

/// JSON Schema of `data.parameters`. Objects within it are described in the same way.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[expect(dead_code, reason = "only describes what the catalogue gives")]
struct ParametersSchema {
    #[schema(example = "object")]
    r#type: String,
    properties: BTreeMap<String, ParameterSchema>,
    /// Names of the parameters that must be given; absent if there are none.
    #[schema(required = false)]
    required: Vec<String>,
    additional_properties: bool,
}

/// JSON Schema of a parameter's value. Unless the parameter is literal, a string with `{{` may stand for any value.
#[derive(ToSchema)]
#[expect(dead_code, reason = "only describes what the catalogue gives")]
struct ParameterSchema {
    description: String,
    /// The value if the parameter is left out.
    #[schema(required = false)]
    default: Value,
    #[schema(rename = "x-heddle")]
    x_heddle: EditorFacts,
}

/// What an editor must know of a parameter besides its schema.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[expect(dead_code, reason = "only describes what the catalogue gives")]
struct EditorFacts {
    /// Whether the value itself can't be an expression.
    literal: bool,
    /// Which names an expression may use besides those of the node: `node` (no others), `item` (`$item`, `$index`), `pair`
    /// (`$a`, `$b`), or `deferred` (no others, and evaluated each time that the node asks).
    #[schema(example = "item")]
    scope: String,
    /// The input that takes the value.
    #[schema(example = "expression")]
    widget: String,
    /// `main`, or `advanced` for what is shown on demand.
    #[schema(example = "main")]
    group: String,
    /// Of the widget `code`: the language.
    #[schema(required = false, example = "sql")]
    language: String,
    /// Of the widget `duration`: `milliseconds` or `seconds`.
    #[schema(required = false, example = "milliseconds")]
    unit: String,
    /// Of the widget `connection`: what the connection must lead to.
    #[schema(required = false)]
    connection_kinds: Vec<String>,
    /// Of the widget `zone`: whether an offset such as `+02:00` will do as well.
    #[schema(required = false)]
    offsets: bool,
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

/// The catalogue as it is sent.
struct Catalogue {
    all: Kept,
    each: HashMap<&'static str, Kept>,
}

static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(|| Catalogue {
    all: Kept::new(catalogue::all().to_string()),
    each: node_types()
        .iter()
        .map(|it| (it.name, Kept::new(catalogue::describe(it).to_string())))
        .collect(),
});

/// Lists the standard node types.
///
/// They change with the version of heddle only: keep them, and ask with `If-None-Match` whether they still hold.
#[utoipa::path(
    get, path = "/api/nodes", tag = "Node types", security(()),
    params(("If-None-Match" = Option<String>, Header, description = "The ETag of what the client has", example = "\"3f5a\"")),
    responses(
        (status = 200, description = "All node types", body = Vec<NodeType>, headers(("ETag" = String, description = "Of this answer"))),
        (status = 304, description = "Not modified: the client has the current ones"),
    )
)]
async fn list_node_types(headers: HeaderMap) -> Response {
    CATALOGUE.all.answer(&headers)
}

/// Describes a node type.
#[utoipa::path(
    get, path = "/api/nodes/{type}", tag = "Node types", security(()),
    params(
        ("type" = String, Path, description = "The type, as in a node's `type`", example = "Filter"),
        ("If-None-Match" = Option<String>, Header, description = "The ETag of what the client has", example = "\"3f5a\""),
    ),
    responses(
        (status = 200, description = "The node type", body = NodeType, headers(("ETag" = String, description = "Of this answer"))),
        (status = 304, description = "Not modified: the client has the current one"),
        (status = 404, description = "NOT_FOUND", body = ErrorBody),
    )
)]
async fn get_node_type(Path(name): Path<String>, headers: HeaderMap) -> Result<Response, ApiError> {
    let found = CATALOGUE.each.get(name.as_str());
    let found = found.ok_or_else(|| Code::NotFound.with("This node type does not exist."))?;
    Ok(found.answer(&headers))
}
