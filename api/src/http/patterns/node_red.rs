//! Imports Node-RED's flows as patterns.

use super::bodies::{few_values, within};
use super::n8n::{IMPORT_FACTOR, MADE_BYTES_MAX, N8nPattern, Origin, in_time, made_of, memory, repaired};
use crate::app::App;
use crate::http::error::{ApiError, ErrorBody};
use crate::http::extract::{Caller, CodeJson};
use axum::Json as Answer;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use heddle_execution::blocking::computing;
use heddle_import::Importing;
use heddle_import::node_red::{Flow, Size, find_within};
use heddle_model::access::Editor;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Patterns that a request may make.
const FLOWS_MAX: usize = 50;
/// Nodes of a request.
const NODES_MAX: usize = 10_000;
/// Bytes that small flows may have once subflows take the place of their instances.
const EXPANDED_BYTES: usize = 4 << 20;
/// Values, likewise.
const EXPANDED_VALUES: usize = 100_000;

const NODE_RED: Origin = Origin {
    field: "flows",
    summary: "imported from Node-RED",
};

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(import_node_red))
}

/// Flows as Node-RED exports them.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct NodeRedRequest {
    /// The nodes of all flows, at most 10,000. Each tab becomes a pattern, and tabs that links join become one: at most 50.
    #[schema(value_type = Vec<HashMap<String, Value>>, max_items = 10000, example = json!([
        {"id": "1", "type": "tab", "label": "Greeting"},
        {"id": "2", "z": "1", "type": "inject", "name": "Start", "props": [{"p": "payload", "v": "Ann", "vt": "str"}], "x": 100, "y": 100, "wires": [["3"]]},
        {"id": "3", "z": "1", "type": "template", "name": "Greet", "field": "payload", "template": "Hello {{payload}}", "x": 300, "y": 100, "wires": [[]]}
    ]))]
    flows: Box<RawValue>,
    /// Whether to make nothing, and only report what would be made. Default: false.
    #[schema(example = false)]
    dry_run: Option<bool>,
}

/// What became of the flows, in the order of the tabs.
#[derive(Debug, Serialize, ToSchema)]
struct NodeRedAnswer {
    patterns: Vec<N8nPattern>,
}

/// Imports Node-RED's flows.
///
/// Each becomes a pattern with a report. Whatever has no equivalent becomes a node that fails with `NOT_IMPORTED`.
#[utoipa::path(
    post, path = "/api/patterns/import/node-red", operation_id = "import_node_red", tag = "Patterns", request_body = NodeRedRequest,
    security(("bearer" = [])),
    responses(
        (status = 200, description = "What would become of them: `dryRun`", body = NodeRedAnswer),
        (status = 201, description = "Imported", body = NodeRedAnswer),
        (status = 400, description = "VALIDATION: there is no flow, or there are too many", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN: viewers can't create patterns; QUOTA_EXCEEDED", body = ErrorBody),
    )
)]
async fn import_node_red(
    State(app): State<App>,
    caller: Caller,
    CodeJson(request): CodeJson<NodeRedRequest>,
) -> Result<Response, ApiError> {
    let editor = caller.scope.editor()?;
    within(&app, "flows", &request.flows)?;
    let (flows, values) = few_values(&editor, "flows", request.flows).await?;
    let text = flows.get();
    // Only subflows make more of flows than there is.
    let size = match text.contains("subflow") {
        true => Size {
            bytes: text.len().max(EXPANDED_BYTES),
            values: values.max(EXPANDED_VALUES),
        },
        false => Size {
            bytes: text.len(),
            values,
        },
    };
    let request = NodeRedRequest { flows, ..request };
    let imports = in_time(Box::pin(imports(&app, &caller, (editor, size), request)));
    let needed = (size.bytes, memory(size.bytes, size.values));
    app.budget.hold(Some(editor.user()), needed, imports).await?
}

/// What becomes of the flows.
async fn imports(
    app: &App,
    caller: &Caller,
    (editor, size): (Editor, Size),
    request: NodeRedRequest,
) -> Result<Response, ApiError> {
    let is_dry = request.dry_run.unwrap_or(false);
    let owner = Some(editor.user());
    let read = app.budget.read(owner, (size.bytes, IMPORT_FACTOR), move || {
        flows(&request.flows, size)
    });
    let mut patterns = Vec::new();
    let mut room = MADE_BYTES_MAX;
    for flow in read.await?? {
        let importing = computing(owner, move || Importing::of_flow(&flow)).await?;
        let imported = repaired(app, caller, importing, (NODE_RED, &mut room)).await?;
        patterns.push(match is_dry {
            true => N8nPattern::proposed(imported),
            false => made_of(app, editor, imported, NODE_RED).await?,
        });
    }
    let status = if is_dry {
        StatusCode::OK
    } else {
        StatusCode::CREATED
    };
    let answer = move || (status, Answer(NodeRedAnswer { patterns })).into_response();
    Ok(computing(owner, answer).await?)
}

/// The flows of a request. Numbers may be longer than they were written, and what links call is there once more, so that there may
/// be twice as much.
fn flows(given: &RawValue, size: Size) -> Result<Vec<Flow>, ApiError> {
    let value: Value =
        serde_json::from_str(given.get()).map_err(|_| ApiError::field("flows", "is nested too deeply"))?;
    let Some(nodes) = value.as_array() else {
        return Err(ApiError::field("flows", "must be an array of nodes"));
    };
    if nodes.len() > NODES_MAX {
        return Err(ApiError::field(
            "flows",
            format!("can have at most {NODES_MAX} nodes"),
        ));
    }
    let max = Size {
        bytes: size.bytes.saturating_mul(2),
        values: size.values.saturating_mul(2),
    };
    let found = find_within(&value, "Flow", max);
    let found = found.map_err(|refused| ApiError::field("flows", refused.0))?;
    if found.is_empty() {
        return Err(ApiError::field("flows", "has no flow: its nodes have `wires`"));
    }
    if found.len() > FLOWS_MAX {
        return Err(ApiError::field(
            "flows",
            format!("can become at most {FLOWS_MAX} patterns"),
        ));
    }
    Ok(found)
}
