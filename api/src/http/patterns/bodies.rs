//! Parts that several requests and responses about patterns share.

use crate::app::App;
use crate::http::drawn::{DrawnEdge, DrawnNode, GraphSettings};
use crate::http::error::ApiError;
use crate::http::extract::printable;
use heddle_execution::blocking::computing_if_large;
use heddle_import::VALUES_MAX;
use heddle_model::Code;
use heddle_model::access::Editor;
use heddle_model::clock::Timestamp;
use heddle_model::ids::PatternId;
use heddle_service::patterns::{Definitions, Graph};
use heddle_store::patterns::PatternRow;
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

/// Maximum number of tags of a pattern, and in a search.
pub(super) const TAGS_MAX: usize = 50;
const DESCRIPTION_CHARS_MAX: usize = 10_000;

/// A graph as React Flow draws it. Unknown fields are kept as they are. Saving checks nothing of what is within: an
/// unfinished graph is given back as it was saved, also where that is not as described here. Deploying and transpiling check it.
#[derive(ToSchema)]
#[schema(
    as = Graph,
    example = json!({
        "nodes": [
            {"id": "start", "type": "OnManual", "position": {"x": 0, "y": 0}, "data": {}},
            {"id": "answer", "type": "Return", "position": {"x": 200, "y": 0}, "data": {"parameters": {"value": "{{ $input }}"}}}
        ],
        "edges": [{"id": "e1", "source": "start", "target": "answer"}]
    })
)]
#[expect(dead_code, reason = "only describes what is kept as text")]
pub(super) struct GraphSchema {
    #[schema(required = false)]
    nodes: Vec<DrawnNode>,
    #[schema(required = false)]
    edges: Vec<DrawnEdge>,
    settings: Option<GraphSettings>,
}

/// The new pattern.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Created {
    id: PatternId,
    #[schema(example = "Copy of Order alerts")]
    name: String,
    #[schema(example = 1)]
    version_number: i64,
    created_at: Timestamp,
}

impl From<PatternRow> for Created {
    fn from(row: PatternRow) -> Self {
        Created {
            id: row.id,
            name: row.name,
            version_number: row.version_number,
            created_at: row.created_at,
        }
    }
}

pub(super) fn description(value: String) -> Result<String, ApiError> {
    bounded("description", &value, DESCRIPTION_CHARS_MAX)?;
    Ok(value)
}

pub(super) fn bounded(path: &str, value: &str, chars_max: usize) -> Result<(), ApiError> {
    if value.chars().count() > chars_max {
        return Err(ApiError::field(
            path,
            format!("must have at most {chars_max} characters"),
        ));
    }
    printable(path, value)
}

/// Refuses what is larger than other bodies may be.
pub(super) fn within(app: &App, field: &str, given: &RawValue) -> Result<(), ApiError> {
    let bytes_max = app.config.api_body_bytes_max;
    if given.get().len() > bytes_max {
        let message = format!("{field} is larger than {bytes_max} bytes.");
        return Err(Code::PayloadTooLarge.with(message).into());
    }
    Ok(())
}

/// Workflows or flows that are imported, and how many values they can become at most; refused if that is more than an import may
/// have, before any of them is made.
pub(super) async fn few_values(
    editor: &Editor,
    field: &'static str,
    given: Box<RawValue>,
) -> Result<(Box<RawValue>, usize), ApiError> {
    let bytes = given.get().len();
    let count = move || {
        let values = heddle_import::values_at_most(given.get());
        (given, values)
    };
    let (given, values) = computing_if_large(Some(editor.user()), bytes, count).await?;
    if values > VALUES_MAX {
        let message = format!(
            "has more than {VALUES_MAX} values, which is the limit: import less at a time, and leave out pinned data \
             and large tables"
        );
        return Err(ApiError::field(field, message));
    }
    Ok((given, values))
}

/// A submitted graph. It is no larger than other bodies, although definitions that come with it may be.
pub(super) async fn graph(app: &App, editor: &Editor, given: Box<RawValue>) -> Result<Graph, ApiError> {
    within(app, "graphData", &given)?;
    Ok(Graph::read(app, editor.user(), "graphData", given).await?)
}

/// Submitted definitions, if there are any.
pub(super) async fn definitions(
    app: &App,
    editor: &Editor,
    given: Option<Box<RawValue>>,
) -> Result<Option<Definitions>, ApiError> {
    let Some(given) = given else { return Ok(None) };
    Ok(Some(
        Definitions::read(app, editor.user(), "nodeDefinitions", given).await?,
    ))
}
