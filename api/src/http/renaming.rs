//! Another label for a node while a graph is being edited.

use super::drawn::{CompleteGraph, NodeDefinition};
use super::extract::{Caller, CodeJson};
use super::sources::Sent;
use crate::app::App;
use crate::http::error::{ApiError, ErrorBody};
use axum::Json as Answer;
use axum::extract::State;
use heddle_execution::compile::validation::TextSpan;
use heddle_execution::compile::{Edit, RenameRequest, Renamed};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Characters of a label.
const LABEL_CHARS_MAX: usize = 1_000;

pub fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(rename))
}

/// A graph, and a node of it that gets another label.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct RenameBody {
    #[schema(value_type = CompleteGraph)]
    graph_data: Box<RawValue>,
    /// Definitions of custom node types, by name.
    #[schema(value_type = HashMap<String, NodeDefinition>, example = json!({}))]
    node_definitions: Box<RawValue>,
    /// The definition whose inner graph the node is in; by default the node is one of `graphData`.
    definition: Option<String>,
    /// The node.
    #[schema(example = "start")]
    node_id: String,
    /// Its label from now on; with an empty text it has none, and expressions name it by its id.
    #[schema(example = "Order", max_length = 1000)]
    label: String,
}

/// What else changes with a label.
#[derive(Debug, Serialize, ToSchema)]
struct RenameEdits {
    /// In graph order; several of one text in the order of their spans, none of which overlap.
    edits: Vec<RenameEdit>,
}

/// Text to replace in a parameter.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct RenameEdit {
    /// The node; of the same graph as the one that is renamed.
    #[schema(example = "price")]
    node_id: String,
    /// Path of the parameter.
    #[schema(example = "cases[0].when")]
    parameter: String,
    /// What is replaced.
    span: TextSpan,
    /// By what.
    #[schema(example = "\"Order\"")]
    text: String,
}

impl From<Edit> for RenameEdit {
    fn from(edit: Edit) -> Self {
        RenameEdit {
            node_id: edit.node_id,
            parameter: edit.parameter,
            span: edit.span,
            text: edit.text,
        }
    }
}

/// Finds what changes with the label of a node: each place where an expression names it. Nothing is stored.
///
/// Places are found by JavaScript's grammar, so that texts in strings, comments and names of an expression's own stay. If
/// several nodes have the label before, there are none: it is not known which of them an expression means.
#[utoipa::path(
    post, path = "/api/execute/rename", operation_id = "rename_node", tag = "Executions", security(("bearer" = [])), request_body = RenameBody,
    responses(
        (status = 200, description = "The places", body = RenameEdits),
        (status = 400, description = "VALIDATION; of `label`, if expressions would mean another node by it, or by the id that is left without it", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
    )
)]
async fn rename(
    State(app): State<App>,
    caller: Caller,
    CodeJson(body): CodeJson<RenameBody>,
) -> Result<Answer<RenameEdits>, ApiError> {
    if body.label.chars().count() > LABEL_CHARS_MAX {
        let message = format!("must have at most {LABEL_CHARS_MAX} characters");
        return Err(ApiError::field("label", message));
    }
    let sent = Sent {
        graph_data: body.graph_data,
        node_definitions: body.node_definitions,
        pinned_nodes: None,
        pattern_id: None,
    };
    let sources = sent.sources(&app, &caller.scope).await?;
    let wanted = RenameRequest {
        definition: body.definition,
        node_id: body.node_id,
        label: body.label,
    };
    let is_removal = wanted.label.is_empty();
    let id = wanted.node_id.clone();
    match app.executions.rename(&caller.scope, sources, wanted).await? {
        Renamed::Edits(edits) => Ok(Answer(RenameEdits {
            edits: edits.into_iter().map(RenameEdit::from).collect(),
        })),
        Renamed::Missing => Err(ApiError::field("nodeId", "is not a node of this graph")),
        Renamed::Taken(node) if is_removal => Err(ApiError::field(
            "label",
            format!(
                "can't be removed: without it the node would be known by its id `{id}`, which expressions take to mean \
                 the node `{node}`. Give it another label."
            ),
        )),
        Renamed::Taken(node) => Err(ApiError::field(
            "label",
            format!("is taken: expressions take it to mean the node `{node}`"),
        )),
        Renamed::TooLarge(message) => Err(ApiError::field("graphData", message)),
    }
}
