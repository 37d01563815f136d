//! Imports n8n's workflows as patterns.

use super::bodies::{bounded, few_values, within};
use crate::app::App;
use crate::http::error::{ApiError, ErrorBody};
use crate::http::extract::{Caller, CodeJson};
use axum::Json as Answer;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use heddle_execution::blocking::computing;
use heddle_execution::budget;
use heddle_execution::compile::Sources;
use heddle_execution::compile::validation::{Diagnostic, DiagnosticSeverity};
use heddle_import::{Calls, Finding, Imported, Importing, Report, Workflow, find, find_fragments};
use heddle_model::Code;
use heddle_model::access::Editor;
use heddle_model::ids::PatternId;
use heddle_service::patterns::{self, Definitions, Graph, NAME_CHARS_MAX, NewPattern};
use heddle_service::test_cases::{self, Case};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::HashSet;
use std::time::Duration;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Workflows of a request.
const WORKFLOWS_MAX: usize = 50;
/// Memory for each byte of the workflows' text, roughly: their copies and the patterns'.
pub(super) const IMPORT_FACTOR: usize = 12;
/// Memory for each value of the workflows besides.
const VALUE_BYTES: usize = 256;
/// Time for an import.
const TIME_MAX: Duration = Duration::from_secs(120);
/// Bytes of all patterns that become of a request.
pub(super) const MADE_BYTES_MAX: usize = 64 << 20;

/// What patterns are made of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Origin {
    /// The field of the request.
    pub field: &'static str,
    /// What a pattern's first version says of itself.
    pub summary: &'static str,
}

const N8N: Origin = Origin {
    field: "workflows",
    summary: "imported from n8n",
};

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(import_n8n))
}

/// Workflows as n8n exports them.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct N8nRequest {
    /// The workflows, at most 50. Those that call each other find each other by their `id`.
    #[schema(value_type = Vec<HashMap<String, Value>>, max_items = 50, example = json!([{
        "name": "Greeting",
        "nodes": [
            {"name": "Start", "type": "n8n-nodes-base.manualTrigger", "typeVersion": 1, "position": [0, 0], "parameters": {}},
            {"name": "Greet", "type": "n8n-nodes-base.set", "typeVersion": 3.4, "position": [200, 0], "parameters": {
                "assignments": {"assignments": [{"name": "text", "type": "string", "value": "=Hello {{ $json.name }}"}]}
            }}
        ],
        "connections": {"Start": {"main": [[{"node": "Greet", "type": "main", "index": 0}]]}}
    }]))]
    workflows: Box<RawValue>,
    /// Whether to make nothing, and only report what would be made. Default: false.
    #[schema(example = false)]
    dry_run: Option<bool>,
    /// Whether they are parts of workflows, as n8n's editor copies them: nodes that they read may be outside of them, and workflows
    /// that are written within their nodes stay there. Default: false.
    #[schema(example = false)]
    fragment: Option<bool>,
}

/// What became of the workflows, in the order of the request. Those that are written within nodes follow.
#[derive(Debug, Serialize, ToSchema)]
struct N8nAnswer {
    patterns: Vec<N8nPattern>,
}

/// A workflow or a flow that became a pattern.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct N8nPattern {
    /// The pattern; left out when nothing was to be made.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<PatternId>,
    #[schema(example = "Greeting")]
    name: String,
    #[schema(value_type = N8nReport)]
    report: Report,
    /// The pattern's graph; left out when the pattern was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<HashMap<String, Value>>)]
    graph_data: Option<Value>,
    /// The definitions that its nodes use; left out when the pattern was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<HashMap<String, Value>>)]
    node_definitions: Option<Value>,
}

impl N8nPattern {
    /// What a workflow would become.
    pub fn proposed(imported: Imported) -> Self {
        N8nPattern {
            id: None,
            name: imported.name,
            report: imported.report,
            graph_data: Some(imported.graph_data),
            node_definitions: Some(imported.node_definitions),
        }
    }
}

/// How well a workflow is imported.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[expect(dead_code, reason = "only describes the importer's report")]
struct N8nReport {
    summary: N8nSummary,
    /// Whether the pattern compiles.
    valid: bool,
    /// Connections that have to be made.
    connections: Vec<N8nConnection>,
    items: Vec<N8nItem>,
    /// Why it does not compile, if it doesn't.
    #[schema(value_type = Option<Vec<HashMap<String, Value>>>, required = false)]
    errors: Option<()>,
}

/// Nodes by how well they are imported; sticky notes are not counted.
#[derive(ToSchema)]
#[expect(dead_code, reason = "only describes the importer's report")]
struct N8nSummary {
    nodes: usize,
    exact: usize,
    approximate: usize,
    stub: usize,
    /// Expressions that can't be compiled and are undefined now.
    repaired: usize,
}

/// A connection that has to be made before the pattern can run.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[expect(dead_code, reason = "only describes the importer's report")]
struct N8nConnection {
    name: String,
    /// n8n's type of the credentials.
    n8n_type: String,
    fields: Vec<String>,
    node_ids: Vec<String>,
}

/// What differs from n8n.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[expect(dead_code, reason = "only describes the importer's report")]
struct N8nItem {
    /// The node; null for the whole workflow.
    #[schema(required = true)]
    node_id: Option<String>,
    n8n_type: Option<String>,
    /// `exact`, `approximate` or `stub`.
    #[schema(example = "approximate")]
    level: String,
    #[schema(example = "expression")]
    code: String,
    message: String,
    parameter: Option<String>,
    /// What n8n has there.
    original: Option<String>,
}

/// Imports n8n's workflows.
///
/// Each becomes a pattern with a report. Whatever has no equivalent becomes a node that fails with `NOT_IMPORTED`.
#[utoipa::path(
    post, path = "/api/patterns/import/n8n", operation_id = "import_n8n", tag = "Patterns", request_body = N8nRequest, security(("bearer" = [])),
    responses(
        (status = 200, description = "What would become of them: `dryRun`", body = N8nAnswer),
        (status = 201, description = "Imported", body = N8nAnswer),
        (status = 400, description = "VALIDATION: there is no workflow, or there are too many", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN: viewers can't create patterns; QUOTA_EXCEEDED", body = ErrorBody),
    )
)]
async fn import_n8n(
    State(app): State<App>,
    caller: Caller,
    CodeJson(request): CodeJson<N8nRequest>,
) -> Result<Response, ApiError> {
    let editor = caller.scope.editor()?;
    within(&app, "workflows", &request.workflows)?;
    let (workflows, values) = few_values(&editor, "workflows", request.workflows).await?;
    let request = N8nRequest { workflows, ..request };
    let bytes = request.workflows.get().len();
    let imports = in_time(Box::pin(imports(&app, &caller, editor, request)));
    let size = (bytes, memory(bytes, values));
    app.budget.hold(Some(editor.user()), size, imports).await?
}

/// An import, if it does not take too long: others wait for the memory that it has.
pub(super) async fn in_time<T>(import: impl Future<Output = Result<T, ApiError>>) -> Result<T, ApiError> {
    let late = |_| {
        let message = format!(
            "The import took longer than {} s: import less at a time. The patterns that it had created by then are kept.",
            TIME_MAX.as_secs()
        );
        Err(Code::Unavailable.with(message).into())
    };
    tokio::time::timeout(TIME_MAX, import).await.unwrap_or_else(late)
}

/// Memory that an import takes in all, roughly.
pub(super) const fn memory(bytes: usize, values: usize) -> usize {
    budget::memory((bytes, IMPORT_FACTOR), (values, VALUE_BYTES))
}

/// What becomes of the workflows.
async fn imports(
    app: &App,
    caller: &Caller,
    editor: Editor,
    request: N8nRequest,
) -> Result<Response, ApiError> {
    let size = (request.workflows.get().len(), IMPORT_FACTOR);
    let is_dry = request.dry_run.unwrap_or(false);
    let is_fragment = request.fragment.unwrap_or(false);
    let read = app.budget.read(Some(editor.user()), size, move || {
        workflows(&request.workflows, is_fragment)
    });
    let mut left: Vec<(usize, Workflow)> = read.await??.into_iter().enumerate().collect();
    let mut calls = Calls::new();
    let mut made: Vec<(usize, N8nPattern)> = Vec::new();
    let mut room = MADE_BYTES_MAX;
    loop {
        // Each may have a hundred thousand nodes.
        let choose = move || (next(&mut left), left);
        let (chosen, rest) = computing(Some(editor.user()), choose).await?;
        left = rest;
        let Some((place, workflow)) = chosen else { break };
        let id = workflow.id.clone();
        let imported = imported(app, caller, (workflow, calls.clone()), &mut room).await?;
        let pattern = match is_dry {
            true => N8nPattern::proposed(imported),
            false => made_of(app, editor, imported, N8N).await?,
        };
        if let (Some(n8n), Some(pattern)) = (id, pattern.id) {
            calls.insert(n8n, pattern.to_string());
        }
        made.push((place, pattern));
    }
    made.sort_by_key(|(place, _)| *place);
    let patterns: Vec<N8nPattern> = made.into_iter().map(|(_, pattern)| pattern).collect();
    let status = if is_dry {
        StatusCode::OK
    } else {
        StatusCode::CREATED
    };
    let answer = move || (status, Answer(N8nAnswer { patterns })).into_response();
    Ok(computing(Some(editor.user()), answer).await?)
}

/// The workflows of a request.
fn workflows(given: &RawValue, is_fragment: bool) -> Result<Vec<Workflow>, ApiError> {
    let value: Value = serde_json::from_str(given.get())
        .map_err(|_| ApiError::field("workflows", "is nested too deeply"))?;
    if !value.is_array() {
        return Err(ApiError::field("workflows", "must be an array of workflows"));
    }
    let found = match is_fragment {
        true => find_fragments(&value, "Workflow"),
        false => find(&value, "Workflow"),
    };
    let found = found.map_err(|refused| ApiError::field("workflows", refused.0))?;
    if found.is_empty() {
        return Err(ApiError::field(
            "workflows",
            "has no workflow: each has `nodes` and `connections`",
        ));
    }
    if found.len() > WORKFLOWS_MAX {
        return Err(ApiError::field(
            "workflows",
            format!("can be at most {WORKFLOWS_MAX}"),
        ));
    }
    for (number, workflow) in found.iter().enumerate() {
        bounded(
            &format!("workflows[{number}].name"),
            &workflow.name,
            NAME_CHARS_MAX,
        )?;
    }
    Ok(found)
}

/// One that calls none of the others, if there is one, so that its pattern is known to those that call it.
fn next(left: &mut Vec<(usize, Workflow)>) -> Option<(usize, Workflow)> {
    let place = {
        let ids: HashSet<&str> = left
            .iter()
            .filter_map(|(_, workflow)| workflow.id.as_deref())
            .collect();
        let calls = |workflow: &Workflow| {
            let own = workflow.id.as_deref();
            workflow.calls_one(|id| Some(id) != own && ids.contains(id))
        };
        let first = left.iter().position(|(_, workflow)| !calls(workflow));
        first.unwrap_or(0)
    };
    (place < left.len()).then(|| left.remove(place))
}

/// The workflow as a pattern.
async fn imported(
    app: &App,
    caller: &Caller,
    (workflow, calls): (Workflow, Calls),
    left: &mut usize,
) -> Result<Imported, ApiError> {
    let owner = Some(caller.scope.user());
    let importing = computing(owner, move || Importing::new(&workflow, &calls)).await?;
    repaired(app, caller, importing, (N8N, left)).await
}

/// What was drawn, as a pattern. It is checked where graphs of users are compiled, which is not in this process. `left` is how many bytes
/// the request's patterns may still have.
pub(super) async fn repaired(
    app: &App,
    caller: &Caller,
    mut importing: Importing,
    (origin, left): (Origin, &mut usize),
) -> Result<Imported, ApiError> {
    let owner = Some(caller.scope.user());
    loop {
        let write = move || (written(&importing, origin), importing);
        let (sources, next) = computing(owner, write).await?;
        importing = next;
        let sources = sources?;
        let bytes = sources.graph.get().len() + sources.definitions.get().len();
        let rest = left.checked_sub(bytes).ok_or_else(|| {
            let message = format!(
                "would become patterns of more than {} MiB together, which is the limit: import less at a time",
                MADE_BYTES_MAX >> 20
            );
            ApiError::field(origin.field, message)
        })?;
        let validation = app.executions.validate(&caller.scope, sources, false).await?;
        let found = validation.diagnostics.into_iter().map(finding).collect();
        let repair = move || (importing.repair(found), importing);
        let (again, next) = computing(owner, repair).await?;
        if !again {
            *left = rest;
            return Ok(computing(owner, move || next.finish()).await?);
        }
        importing = next;
    }
}

fn written(importing: &Importing, origin: Origin) -> Result<Sources, ApiError> {
    let (graph, definitions) = importing.pattern();
    Ok(Sources {
        graph: raw(&graph, origin)?,
        definitions: raw(&definitions, origin)?,
        pinned_nodes: None,
    })
}

fn raw(value: &Value, origin: Origin) -> Result<Box<RawValue>, ApiError> {
    serde_json::value::to_raw_value(value)
        .map_err(|_| ApiError::field(origin.field, "can't be written as a pattern"))
}

/// A finding as the importer takes it. Places are in UTF-16 code units of the whole parameter.
fn finding(found: Diagnostic) -> Finding {
    let place = found.excerpt.zip(found.span).map(|(excerpt, span)| {
        let units = span.start.saturating_sub(excerpt.offset);
        let mut before = 0;
        let at = excerpt.text.char_indices().find(|(_, c)| {
            before += c.len_utf16();
            before > units
        });
        let at = at.map_or(excerpt.text.len(), |(at, _)| at);
        (excerpt.text, at)
    });
    Finding {
        is_error: found.severity == DiagnosticSeverity::Error,
        code: found.code,
        node_id: found.node_id,
        parameter: found.parameter,
        message: found.message,
        excerpt: place,
    }
}

/// Makes the pattern.
pub(super) async fn made_of(
    app: &App,
    editor: Editor,
    imported: Imported,
    origin: Origin,
) -> Result<N8nPattern, ApiError> {
    // They may have megabytes.
    let write = move || {
        let graph = raw(&imported.graph_data, origin);
        let definitions = raw(&imported.node_definitions, origin);
        (graph, definitions, imported)
    };
    let (graph, definitions, imported) = computing(Some(editor.user()), write).await?;
    let graph = graph?;
    let graph = Graph::read(app, editor.user(), origin.field, graph).await?;
    let definitions = Definitions::read(app, editor.user(), origin.field, definitions?).await?;
    let (tests, now) = (imported.tests, app.clock.now());
    let copies = move || {
        let cases = tests.into_iter();
        let cases = cases.filter_map(|test| serde_json::from_value::<Case>(test).ok());
        test_cases::copies(cases.map(Ok::<_, ApiError>), now)
    };
    let tests = computing(Some(editor.user()), copies).await??;
    let new = NewPattern {
        name: imported.name,
        description: String::new(),
        is_public: false,
        is_template: false,
        tags: Vec::new(),
        graph,
        definitions,
        call_interface: None,
        summary: origin.summary.to_owned(),
        tests,
    };
    let name = new.name.clone();
    let id = patterns::create(app, editor, new).await?.id;
    Ok(N8nPattern {
        id: Some(id),
        name,
        report: imported.report,
        graph_data: None,
        node_definitions: None,
    })
}
