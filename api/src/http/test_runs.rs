//! Test runs: compiling a graph, and running the module.

use super::drawn::{CompleteGraph, NodeDefinition};
use super::extract::{Caller, CodeJson};
use super::in_environment::environment;
use super::invalid_graph::InvalidGraph;
use super::sources::Sent;
use crate::app::App;
use crate::http::error::{ApiError, ErrorBody};
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use heddle_compiler::Options;
use heddle_execution::blocking::computing_if_large;
use heddle_execution::compile::Finding;
use heddle_execution::{TestOptions, TestRun, TestRunError};
use heddle_model::clock::Timestamp;
use heddle_model::ids::UserId;
use heddle_runtime::{LogLine, Outcome, RunError, Status, TraceEntry, Watcher};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(transpile))
        .routes(routes!(run_code))
}

/// A graph to compile.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct TranspileBody {
    #[schema(value_type = CompleteGraph)]
    graph_data: Box<RawValue>,
    /// Definitions of custom node types, by name; `{}` if there are none.
    #[schema(value_type = HashMap<String, NodeDefinition>, example = json!({}))]
    node_definitions: Box<RawValue>,
    /// Whether the run records what each node did.
    trace: Option<bool>,
    /// Ids of nodes to pause before.
    #[schema(example = json!([]))]
    breakpoints: Option<Vec<String>>,
    /// Pinned outputs by node id: these nodes don't execute.
    #[schema(value_type = Option<HashMap<String, Value>>, example = json!({}))]
    pinned_nodes: Option<Box<RawValue>>,
    /// The pattern whose definitions are used if `nodeDefinitions` is `{}`.
    pattern_id: Option<String>,
    /// Whether 422 also says `diagnostics`.
    diagnostics: Option<bool>,
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
    post, path = "/api/execute/transpile", operation_id = "transpile_graph", tag = "Executions", security(("bearer" = [])),
    request_body = TranspileBody,
    responses(
        (status = 200, description = "The module", body = Transpiled),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 404, description = "NOT_FOUND: no such pattern", body = ErrorBody),
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
    let sent = Sent {
        graph_data: body.graph_data,
        node_definitions: body.node_definitions,
        pinned_nodes: body.pinned_nodes,
        pattern_id: body.pattern_id,
    };
    let sources = sent.sources(&app, &caller.scope).await?;
    let wants_diagnostics = body.diagnostics.unwrap_or(false);
    let transpiled = app.executions.transpile(&caller.scope, sources, options);
    let compiled = transpiled.await?;
    let Some(artifact) = compiled.artifact else {
        let diagnostics = wants_diagnostics.then_some(compiled.diagnostics);
        return Ok(InvalidGraph::answer(compiled.errors, Vec::new(), diagnostics));
    };
    let (bytes, warnings) = (artifact.wasm.len(), compiled.warnings);
    let write = move || {
        let transpiled = Transpiled {
            success: true,
            code: STANDARD.encode(&artifact.wasm),
            run_id: heddle_model::entropy::new_uuid().to_string(),
            warnings,
        };
        axum::Json(transpiled).into_response()
    };
    Ok(computing_if_large(Some(caller.scope.user()), bytes, write).await?)
}

/// A module to run.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct RunBody {
    /// The `code` from transpile.
    #[schema(example = "AGFzbQEAAAA=")]
    code: String,
    /// The event.
    #[schema(value_type = Option<Value>)]
    event_data: Option<Box<RawValue>>,
    /// Trigger to start at; default: the node OnManual, or else the graph's first trigger.
    #[schema(example = "start")]
    trigger_node_id: Option<String>,
    /// The environment that secrets and variables come from; by default the workspace's `production`.
    environment_id: Option<String>,
    /// Seed of `$random()`, `$uuid()` and the nodes Random and Uuid; default: another one for each run.
    #[schema(format = "uint64")]
    seed: Option<u64>,
    /// "Now" for the whole run, from 1970 to 9999; default: the present.
    started_at: Option<Timestamp>,
    /// Whether the run may reach what it asks for in an environment with the rule `requireApproval`; only somebody with the role
    /// admin can say so.
    #[schema(example = false)]
    approve_rights: Option<bool>,
}

impl RunBody {
    /// Read in the turn of whoever sends it: modules may have megabytes.
    pub(super) async fn test_run(self, owner: UserId, watcher: Option<Watcher>) -> Result<TestRun, ApiError> {
        let bytes = self.code.len();
        computing_if_large(Some(owner), bytes, move || self.read(watcher)).await?
    }

    fn read(self, watcher: Option<Watcher>) -> Result<TestRun, ApiError> {
        let wasm = STANDARD
            .decode(self.code.trim())
            .map_err(|error| ApiError::field("code", format!("is not valid base64: {error}")))?;
        let environment = self.environment_id.as_deref().map(environment);
        if self
            .started_at
            .is_some_and(|at| !(0..=Timestamp::LAST.millis()).contains(&at.millis()))
        {
            return Err(ApiError::field("startedAt", "must be from 1970 to 9999"));
        }
        Ok(TestRun {
            wasm,
            event: self.event_data.unwrap_or_else(|| RawValue::NULL.to_owned()),
            options: TestOptions {
                trigger_node_id: self.trigger_node_id,
                environment: environment.transpose()?,
                seed: self.seed,
                started_at: self.started_at,
                watcher,
                is_contained: false,
                approves_rights: self.approve_rights.unwrap_or(false),
            },
        })
    }
}

/// What keeps a test run from beginning, as an error of the request.
pub(super) fn refusal(error: TestRunError) -> ApiError {
    match error {
        TestRunError::Refused(error) => ApiError::field("code", format!("can't be run: {error}")),
        TestRunError::Other(error) => error.into(),
    }
}

/// What a pattern answers to a webhook.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[expect(dead_code, reason = "only describes what is kept as text")]
struct WebhookResponse {
    #[schema(example = 200)]
    status: u16,
    #[schema(value_type = HashMap<String, String>)]
    headers: (),
    body: Value,
    /// What `body` is: `json`, `text`, or bytes as `base64`.
    #[schema(example = "json")]
    body_type: String,
}

/// A node that a run has paused before.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[expect(dead_code, reason = "only describes what is kept as text")]
struct Breakpoint {
    node_id: String,
    /// What the node was about to receive.
    input: Value,
}

/// What a test run did.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct TestResult {
    /// `completed`, `failed` or `paused`.
    #[schema(example = "completed")]
    status: &'static str,
    /// Lines of the log.
    logs: Vec<LogLine>,
    /// The run's output, as given to Return.
    #[schema(value_type = Value)]
    output: Option<Box<RawValue>>,
    /// Why it failed.
    error: Option<RunError>,
    /// The response from RespondToWebhook.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<WebhookResponse>)]
    response: Option<Box<RawValue>>,
    /// Where the run paused.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Breakpoint>)]
    breakpoint: Option<Box<RawValue>>,
    /// Outputs of all nodes that executed before the pause: pins to continue with.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<HashMap<String, Value>>)]
    pinned_nodes: Option<Box<RawValue>>,
    duration_ms: u64,
    fuel_used: u64,
    /// What each node did, if compiled with a trace.
    #[serde(skip_serializing_if = "Option::is_none")]
    trace: Option<Vec<TraceEntry>>,
    /// How many more entries of the trace there was no room for. Where values were left out, the entry says so:
    /// `{truncated: true, bytes}`.
    #[serde(skip_serializing_if = "Option::is_none")]
    trace_omitted: Option<usize>,
}

impl TestResult {
    pub(super) fn new(outcome: Outcome, has_trace: bool) -> Self {
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
            trace_omitted: (outcome.trace_omitted > 0).then_some(outcome.trace_omitted),
        }
    }
}

/// Bytes of what a test run's result has in it, roughly.
pub(super) fn bytes_of(outcome: &Outcome) -> usize {
    let values = [
        &outcome.output,
        &outcome.response,
        &outcome.breakpoint,
        &outcome.pinned_nodes,
    ];
    let traced = outcome.trace.iter().map(|entry| &entry.output);
    let values = values.into_iter().chain(traced).flatten();
    let lines = outcome.logs.iter().map(|line| line.message.len());
    values.map(|value| value.get().len()).chain(lines).sum()
}

/// Runs a compiled graph once, in an environment of the caller's workspace.
#[utoipa::path(
    post, path = "/api/execute/run", tag = "Executions", security(("bearer" = [])), request_body = RunBody,
    responses(
        (status = 200, description = "What the run did", body = TestResult),
        (status = 400, description = "VALIDATION: not a module that can run here", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN, or ENVIRONMENT_PROTECTED: the environment asks for an approval of what its runs may reach, with `details` for each", body = ErrorBody),
        (status = 503, description = "UNAVAILABLE: too many runs are executing", body = ErrorBody),
        (status = 504, description = "EXECUTION_TIMEOUT", body = ErrorBody),
    )
)]
async fn run_code(
    State(app): State<App>,
    caller: Caller,
    CodeJson(body): CodeJson<RunBody>,
) -> Result<Response, ApiError> {
    let editor = caller.scope.editor()?;
    let run = body.test_run(editor.user(), None).await?;
    let prepared = app.executions.prepare_test(&editor, run).await;
    let (outcome, has_trace) = prepared.map_err(refusal)?.run().await?;
    let bytes = bytes_of(&outcome);
    let write = move || axum::Json(TestResult::new(outcome, has_trace)).into_response();
    Ok(computing_if_large(Some(editor.user()), bytes, write).await?)
}
