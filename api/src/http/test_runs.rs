//! Test runs: compiling a graph, and running the module.

use super::deployments::InvalidGraph;
use super::extract::{self, Caller, CodeJson};
use crate::app::App;
use crate::http::error::{ApiError, ErrorBody};
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use heddle_compiler::Options;
use heddle_execution::compile::{Finding, Sources};
use heddle_execution::{TestRun, TestRunError};
use heddle_runtime::{LogLine, Outcome, RunError, Status, TraceEntry};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// The routes.
pub fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(transpile))
        .routes(routes!(run_code))
}

/// A graph to compile.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct TranspileBody {
    /// `{nodes, edges}`.
    #[schema(value_type = Object, example = json!({"nodes": [{"id": "start", "type": "OnManual"}], "edges": []}))]
    graph_data: Box<RawValue>,
    /// Definitions of custom node types, by name; `{}` if there are none.
    #[schema(value_type = Object, example = json!({}))]
    node_definitions: Box<RawValue>,
    /// Whether the run records what each node did.
    trace: Option<bool>,
    /// Ids of nodes to pause before.
    #[schema(example = json!([]))]
    breakpoints: Option<Vec<String>>,
    /// Pinned outputs by node id: these nodes don't execute.
    #[schema(value_type = Option<Object>, example = json!({}))]
    pinned_nodes: Option<Box<RawValue>>,
}

/// A compiled graph.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Transpiled {
    /// Always true.
    success: bool,
    /// The module in base64, for `/api/execute/run`.
    code: String,
    /// An id for the test.
    #[schema(example = "01932c07-209e-7f64-b0a3-5c1f1b0e6f3a")]
    run_id: String,
    warnings: Vec<Finding>,
}

/// Compiles a graph for a test run.
#[utoipa::path(
    post, path = "/api/execute/transpile", tag = "Executions", security(("bearer" = [])),
    request_body = TranspileBody,
    responses(
        (status = 200, description = "The module", body = Transpiled),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 422, description = "The graph is not valid", body = InvalidGraph),
    )
)]
async fn transpile(
    State(app): State<App>,
    caller: Caller,
    CodeJson(body): CodeJson<TranspileBody>,
) -> Result<Response, ApiError> {
    let options = Options {
        trace: body.trace.unwrap_or(false),
        breakpoints: body.breakpoints.unwrap_or_default(),
        ..Options::default()
    };
    let sources = Sources {
        graph: extract::object("graphData", body.graph_data)?,
        definitions: extract::object("nodeDefinitions", body.node_definitions)?,
        pinned_nodes: match body.pinned_nodes {
            Some(pins) => Some(extract::object("pinnedNodes", pins)?),
            None => None,
        },
    };
    let transpiled = app.executions.transpile(&caller.scope, sources, options);
    let compiled = transpiled.await?;
    let Some(artifact) = compiled.artifact else {
        return Ok(InvalidGraph::answer(compiled.errors, Vec::new()));
    };
    let transpiled = Transpiled {
        success: true,
        code: STANDARD.encode(&artifact.wasm),
        run_id: heddle_model::entropy::new_uuid().to_string(),
        warnings: compiled.warnings,
    };
    Ok(axum::Json(transpiled).into_response())
}

/// A module to run.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct RunBody {
    /// The `code` from transpile.
    #[schema(example = "AGFzbQEAAAA=")]
    code: String,
    /// The event.
    #[schema(value_type = Option<Value>)]
    event_data: Option<Box<RawValue>>,
}

/// What a test run did.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct TestResult {
    /// `completed`, `failed` or `paused`.
    #[schema(example = "completed")]
    status: &'static str,
    /// Lines of the log: `{level, message, nodeId}`.
    #[schema(value_type = Vec<Object>)]
    logs: Vec<LogLine>,
    /// The run's output, as given to Return.
    #[schema(value_type = Value)]
    output: Option<Box<RawValue>>,
    /// `{code, message, nodeId}`.
    #[schema(value_type = Option<Object>)]
    error: Option<RunError>,
    /// The response from RespondToWebhook: `{status, headers, body, bodyType}`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    response: Option<Box<RawValue>>,
    /// Where the run paused: `{nodeId, input}`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    breakpoint: Option<Box<RawValue>>,
    /// Outputs of all nodes that executed before the pause: pins to continue with.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pinned_nodes: Option<Box<RawValue>>,
    duration_ms: u64,
    fuel_used: u64,
    /// What each node did, if compiled with a trace.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<Object>>)]
    trace: Option<Vec<TraceEntry>>,
}

impl TestResult {
    fn new(outcome: Outcome, has_trace: bool) -> Self {
        TestResult {
            status: match outcome.status {
                Status::Completed => "completed",
                Status::Failed => "failed",
                // Without a journal nothing parks.
                Status::Paused | Status::Parked => "paused",
            },
            logs: outcome.logs,
            output: outcome.output,
            error: outcome.error,
            response: outcome.response,
            breakpoint: outcome.breakpoint,
            pinned_nodes: outcome.pinned_nodes,
            duration_ms: outcome.usage.duration_us.saturating_add(500) / 1_000,
            fuel_used: outcome.usage.fuel_used,
            trace: has_trace.then_some(outcome.trace),
        }
    }
}

/// Runs a compiled graph once, in the default environment of the caller's workspace.
#[utoipa::path(
    post, path = "/api/execute/run", tag = "Executions", security(("bearer" = [])), request_body = RunBody,
    responses(
        (status = 200, description = "What the run did", body = TestResult),
        (status = 400, description = "VALIDATION: not a module that can run here", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN", body = ErrorBody),
        (status = 503, description = "UNAVAILABLE: too many runs are executing", body = ErrorBody),
        (status = 504, description = "EXECUTION_TIMEOUT", body = ErrorBody),
    )
)]
async fn run_code(
    State(app): State<App>,
    caller: Caller,
    CodeJson(body): CodeJson<RunBody>,
) -> Result<axum::Json<TestResult>, ApiError> {
    let editor = caller.scope.editor()?;
    let wasm = STANDARD
        .decode(body.code.trim())
        .map_err(|error| ApiError::field("code", format!("is not valid base64: {error}")))?;
    let event = body.event_data.unwrap_or_else(|| RawValue::NULL.to_owned());
    match app.executions.test_run(&editor, TestRun { wasm, event }).await {
        Ok((outcome, has_trace)) => Ok(axum::Json(TestResult::new(outcome, has_trace))),
        Err(TestRunError::Refused(error)) => Err(ApiError::field("code", format!("can't be run: {error}"))),
        Err(TestRunError::Other(error)) => Err(error.into()),
    }
}
