//! Makes definitions of nodes of OpenAPI documents.

use super::bodies::within;
use super::n8n::{IMPORT_FACTOR, in_time};
use crate::app::App;
use crate::http::error::{ApiError, ErrorBody};
use crate::http::extract::{Caller, CodeJson};
use axum::Json as Answer;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use heddle_execution::blocking::{computing, computing_if_large};
use heddle_execution::budget;
use heddle_execution::compile::Sources;
use heddle_execution::compile::validation::DiagnosticSeverity;
use heddle_import::Refused;
use heddle_import::openapi::{
    Api, ApiReport, IMPORTED_MAX, Selection, VALUES_MAX, around, few_values, is_json, parse, read,
    values_at_most,
};
use heddle_model::Code;
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Each round refuses what was found; a hundred findings are told at a time.
const ROUNDS_MAX: usize = 20;
/// Memory for each byte of YAML, besides its values: what aliases repeat, and the definitions.
const YAML_FACTOR: usize = 3 * IMPORT_FACTOR;
/// Memory for each value of a document.
const VALUE_BYTES: usize = 112;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(import_openapi))
}

/// A document, in one of two forms, and which of its operations to import.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct OpenApiRequest {
    /// The document, of OpenAPI 3.0 or 3.1; or else `text`.
    #[schema(value_type = Option<HashMap<String, Value>>, example = json!({
        "openapi": "3.1.0",
        "info": {"title": "Pets", "version": "1"},
        "servers": [{"url": "https://api.example.com"}],
        "paths": {"/pets/{id}": {"get": {
            "operationId": "getPet", "summary": "Gets a pet",
            "parameters": [{"name": "id", "in": "path", "required": true, "schema": {"type": "string"}}],
            "responses": {"200": {"description": "The pet", "content": {"application/json": {}}}}
        }}}
    }))]
    document: Option<Box<RawValue>>,
    /// The document as text, in JSON or YAML, in place of `document`.
    #[schema(max_length = 16777216, example = "openapi: 3.1.0\npaths: {}\n")]
    text: Option<String>,
    /// Ids of the operations to import. Default, without `tags`: all.
    #[schema(max_items = 500, example = json!(["getPet"]))]
    operations: Option<Vec<String>>,
    /// Tags of the operations to import.
    #[schema(max_items = 500, example = json!([]))]
    tags: Option<Vec<String>>,
    /// What the names of definitions begin with: letters and digits, the first of them small.
    #[schema(max_length = 60, example = "shop")]
    prefix: Option<String>,
    /// Address that paths are below, in place of the document's server.
    #[schema(max_length = 2000, example = "https://api.example.com")]
    base_url: Option<String>,
}

/// Definitions of operations.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct OpenApiAnswer {
    /// The document's title.
    #[schema(example = "Pets")]
    title: String,
    /// A definition for each operation, by name, as patterns have them.
    #[schema(value_type = HashMap<String, Value>)]
    node_definitions: Map<String, Value>,
    #[schema(value_type = OpenApiReport)]
    report: ApiReport,
}

/// What became of a document.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[expect(dead_code, reason = "only describes the importer's report")]
struct OpenApiReport {
    /// Connections that the definitions name.
    connections: Vec<OpenApiConnection>,
    /// The operations that were asked for.
    operations: Vec<OpenApiOperation>,
    /// What could not be taken over.
    items: Vec<OpenApiItem>,
}

/// A connection that has to be made before the definitions can be used.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[expect(dead_code, reason = "only describes the importer's report")]
struct OpenApiConnection {
    name: String,
    /// The document's name of the security scheme; null if only an address is needed.
    #[schema(required = true)]
    scheme: Option<String>,
    /// Fields of the connection: the values that the document gives, null for those to fill in.
    #[schema(value_type = HashMap<String, Value>)]
    fields: (),
}

/// An operation of the document.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[expect(dead_code, reason = "only describes the importer's report")]
struct OpenApiOperation {
    id: String,
    #[schema(example = "GET")]
    method: String,
    #[schema(example = "/pets/{id}")]
    path: String,
    title: String,
    tags: Vec<String>,
    /// The name of its definition; null if it could not be taken over.
    #[schema(required = true)]
    definition: Option<String>,
    /// Fields of the node's input.
    fields: Vec<OpenApiField>,
}

/// A field of the input of an operation's node.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[expect(dead_code, reason = "only describes the importer's report")]
struct OpenApiField {
    name: String,
    /// `path`, `query`, `header` or `body`.
    #[schema(example = "path")]
    place: String,
    #[schema(example = "string")]
    r#type: String,
    required: bool,
    description: String,
}

/// What could not be taken over.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[expect(dead_code, reason = "only describes the importer's report")]
struct OpenApiItem {
    /// The operation; null for the document.
    #[schema(required = true)]
    operation_id: Option<String>,
    /// Whether the operation has no definition because of it.
    is_left_out: bool,
    message: String,
}

/// Makes node definitions of an OpenAPI document.
///
/// Stores nothing: the definitions become part of a pattern when it is saved with them.
#[utoipa::path(
    post, path = "/api/patterns/import/openapi", operation_id = "import_openapi", tag = "Patterns", request_body = OpenApiRequest,
    security(("bearer" = [])),
    responses(
        (status = 200, description = "The definitions", body = OpenApiAnswer),
        (status = 400, description = "VALIDATION: the document cannot be imported, or lacks the operations that were asked for", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN: viewers can't create patterns", body = ErrorBody),
    )
)]
async fn import_openapi(
    State(app): State<App>,
    caller: Caller,
    CodeJson(request): CodeJson<OpenApiRequest>,
) -> Result<Response, ApiError> {
    let editor = caller.scope.editor()?;
    let (bytes, factor) = match (&request.document, &request.text) {
        (Some(document), None) => {
            within(&app, "document", document)?;
            (document.get().len(), IMPORT_FACTOR)
        }
        (None, Some(text)) => {
            let bytes_max = app.config.api_body_bytes_max;
            if text.len() > bytes_max {
                let message = format!("text is larger than {bytes_max} bytes.");
                return Err(Code::PayloadTooLarge.with(message).into());
            }
            let factor = if is_json(text) { IMPORT_FACTOR } else { YAML_FACTOR };
            (text.len(), factor)
        }
        (Some(_), Some(_)) => return Err(ApiError::field("text", "can't be given together with document")),
        (None, None) => return Err(ApiError::field("document", "must be given, or text")),
    };
    let owner = Some(editor.user());
    let count = move || {
        let values = values_at_most(written(&request)).min(VALUES_MAX);
        (request, values)
    };
    let (request, values) = computing_if_large(owner, bytes, count).await?;
    let memory = budget::memory((bytes, factor), (values, VALUE_BYTES));
    let answer = in_time(Box::pin(answer(&app, &caller, (bytes, factor), request)));
    app.budget.hold(owner, (bytes, memory), answer).await?
}

/// The document as it is written.
fn written(request: &OpenApiRequest) -> &str {
    let text = request.text.as_deref().unwrap_or_default();
    request.document.as_deref().map_or(text, RawValue::get)
}

async fn answer(
    app: &App,
    caller: &Caller,
    size: (usize, usize),
    request: OpenApiRequest,
) -> Result<Response, ApiError> {
    let read = app
        .budget
        .read(Some(caller.scope.user()), size, move || api_of(request));
    let api = checked(app, caller, read.await??).await?;
    let answer = move || {
        let answer = OpenApiAnswer {
            title: api.title,
            node_definitions: api.node_definitions,
            report: api.report,
        };
        Answer(answer).into_response()
    };
    Ok(computing(Some(caller.scope.user()), answer).await?)
}

/// The definitions of a request.
fn api_of(request: OpenApiRequest) -> Result<Api, ApiError> {
    let (field, document) = match (&request.document, &request.text) {
        (Some(document), _) => {
            few_values(document.get()).map_err(|refused| refusal("document", &refused))?;
            let document: Value = serde_json::from_str(document.get())
                .map_err(|_| ApiError::field("document", "is nested too deeply"))?;
            ("document", document)
        }
        (None, text) => {
            let document = parse(text.as_deref().unwrap_or_default());
            ("text", document.map_err(|refused| refusal("text", &refused))?)
        }
    };
    let selection = Selection {
        operations: listed("operations", request.operations)?,
        tags: listed("tags", request.tags)?,
        prefix: request.prefix.unwrap_or_default(),
        base_url: request.base_url,
    };
    read(&document, &selection).map_err(|refused| refusal(field, &refused))
}

fn refusal(field: &str, refused: &Refused) -> ApiError {
    ApiError::field(field, format!("can't be imported: {}", refused.0))
}

fn listed(name: &str, given: Option<Vec<String>>) -> Result<Vec<String>, ApiError> {
    match given.unwrap_or_default() {
        names if names.len() > IMPORTED_MAX => {
            Err(ApiError::field(name, format!("can be at most {IMPORTED_MAX}")))
        }
        names => Ok(names),
    }
}

/// Without what does not compile. That is checked where graphs of users are compiled, which is not in this process.
async fn checked(app: &App, caller: &Caller, mut api: Api) -> Result<Api, ApiError> {
    let owner = Some(caller.scope.user());
    for _ in 0..ROUNDS_MAX {
        // They may have megabytes.
        let (sources, next) = computing(owner, move || (sources(&api), api)).await?;
        api = next;
        let validation = app.executions.validate(&caller.scope, sources?, false).await?;
        let errors = validation.diagnostics.into_iter();
        let errors = errors.filter(|found| found.severity == DiagnosticSeverity::Error);
        let found = errors.filter_map(|found| Some((found.definition?, found.message)));
        let found: Vec<(String, String)> = found.collect();
        let refuse = move || (api.refuse(found), api);
        let (again, next) = computing(owner, refuse).await?;
        api = next;
        if !again {
            break;
        }
    }
    Ok(api)
}

fn sources(api: &Api) -> Result<Sources, ApiError> {
    Ok(Sources {
        graph: to_raw_value(&around()).map_err(|_| unwritable())?,
        definitions: to_raw_value(&api.node_definitions).map_err(|_| unwritable())?,
        pinned_nodes: None,
    })
}

fn unwritable() -> ApiError {
    ApiError::field("document", "can't be written as definitions")
}
