//! Copies of patterns: clones, exports and imports.

use super::bodies::{Created, GraphSchema, definitions, description, graph};
use crate::app::App;
use crate::http::drawn::NodeDefinition;
use crate::http::error::{ApiError, ErrorBody};
use crate::http::extract::{Caller, CodeJson, OptionalJson, Path, Query, element, given, list, text};
use crate::http::reply;
use axum::Json as Answer;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_DISPOSITION;
use axum::response::Response;
use heddle_execution::blocking::computing;
use heddle_model::access::Editor;
use heddle_model::clock::Timestamp;
use heddle_model::ids::PatternId;
use heddle_model::objects::Object;
use heddle_service::patterns::{self, Graph, NAME_CHARS_MAX, NewPattern};
use heddle_service::test_cases::{self, Case};
use heddle_store::test_cases::NewTest;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// All but the attr-char of RFC 5987.
const NOT_ATTR_CHAR: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'!')
    .remove(b'#')
    .remove(b'$')
    .remove(b'&')
    .remove(b'+')
    .remove(b'-')
    .remove(b'.')
    .remove(b'^')
    .remove(b'_')
    .remove(b'`')
    .remove(b'|')
    .remove(b'~');

/// Maximum length of a file name in characters, without its extension; many file systems allow 255 bytes.
const FILE_NAME_CHARS_MAX: usize = 60;

/// Bytes for each byte of the tests' text, roughly: what is kept of it, and the values of one test at a time.
const TEST_FACTOR: usize = 2;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(clone))
        .routes(routes!(import))
        .routes(routes!(export))
}

/// The name of the clone.
#[derive(Debug, Default, Deserialize, ToSchema)]
struct CloneRequest {
    /// Default: `Copy of` and the original's name.
    #[schema(example = "My order alerts", min_length = 1, max_length = 200)]
    name: Option<String>,
    /// Whether the clone gets the original's tests as well; default: no. Those of somebody else's public pattern are not to be
    /// had.
    tests: Option<bool>,
}

/// Clones a pattern into the caller's workspace.
///
/// Version 1 of the clone is the newest version of the original: its graph, definitions, description, tags and call
/// interface.
/// Stars, history, secrets and webhook secrets are not copied, tests only on request, and the clone is private.
#[utoipa::path(
    post, path = "/api/patterns/{id}/clone", operation_id = "clone_pattern", tag = "Patterns", request_body = Option<CloneRequest>,
    security(("bearer" = [])),
    params(("id" = PatternId, Path, description = "The original: the caller's, their workspace's, or a public one")),
    responses(
        (status = 201, description = "Cloned", body = Created),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN: viewers can't create patterns; QUOTA_EXCEEDED", body = ErrorBody),
        (status = 404, description = "NOT_FOUND", body = ErrorBody),
    )
)]
async fn clone(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<PatternId>,
    OptionalJson(request): OptionalJson<CloneRequest>,
) -> Result<(StatusCode, Answer<Created>), ApiError> {
    let editor = caller.scope.editor()?;
    let name = request
        .name
        .map(|name| text("name", &name, NAME_CHARS_MAX))
        .transpose()?;
    let mut reader = app.store.reader().await?;
    let original = patterns::readable(&mut reader.db(), &caller.scope, id).await?;
    drop(reader);
    let found = patterns::newest(&app, editor.user(), &original).await?;
    drop(found.share);
    let graph = Graph::read(&app, editor.user(), "graphData", found.graph).await?;
    let definitions = definitions(&app, &editor, found.definitions)
        .await?
        .unwrap_or_default();
    let tests = match request.tests {
        Some(true) => {
            let cases = test_cases::all(&app, &caller.scope, id).await?;
            let now = app.clock.now();
            let copies = move || test_cases::copies(cases.into_iter().map(Ok::<_, ApiError>), now);
            computing(Some(editor.user()), copies).await??
        }
        _ => Vec::new(),
    };
    let default_name = || {
        format!("Copy of {}", original.name)
            .chars()
            .take(NAME_CHARS_MAX)
            .collect()
    };
    let new = NewPattern {
        name: name.unwrap_or_else(default_name),
        description: original.description,
        is_public: false,
        is_template: false,
        tags: original.tags.0,
        graph,
        definitions,
        call_interface: original.call_interface,
        summary: format!(
            "cloned from version {} of {}",
            original.version_number, original.name
        ),
        tests,
    };
    let row = patterns::create(&app, editor, new).await?;
    Ok((StatusCode::CREATED, Answer(row.into())))
}

/// An exported pattern.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Export {
    #[schema(example = "Order alerts")]
    name: String,
    #[schema(example = "Tells the team about large orders.")]
    description: String,
    #[schema(value_type = GraphSchema)]
    graph_data: Box<RawValue>,
    /// Definitions of custom node types, by name, if the pattern has any.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<HashMap<String, NodeDefinition>>)]
    node_definitions: Option<Box<RawValue>>,
    /// Its tests, on request.
    #[serde(skip_serializing_if = "Option::is_none")]
    tests: Option<Vec<Case>>,
    exported_at: Timestamp,
}

/// What an export has besides.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
struct ExportQuery {
    /// Whether it has the pattern's tests, with their events; default: no. Those of somebody else's public pattern are not to be
    /// had.
    #[serde(default, deserialize_with = "given")]
    tests: Option<bool>,
}

/// Exports a pattern as a file.
#[utoipa::path(
    get, path = "/api/patterns/{id}/export", operation_id = "export_pattern", tag = "Patterns", security(("bearer" = [])),
    params(
        ("id" = PatternId, Path, description = "The pattern: the caller's, their workspace's, or a public one"),
        ExportQuery,
    ),
    responses(
        (
            status = 200, description = "The file, for import", body = Export,
            headers(("Content-Disposition" = String, description = "`attachment` with the pattern's name as the file's"))
        ),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 404, description = "NOT_FOUND", body = ErrorBody),
    )
)]
async fn export(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<PatternId>,
    Query(query): Query<ExportQuery>,
) -> Result<Response, ApiError> {
    let mut reader = app.store.reader().await?;
    let row = patterns::readable(&mut reader.db(), &caller.scope, id).await?;
    drop(reader);
    let found = patterns::newest(&app, caller.scope.user(), &row).await?;
    let tests = match query.tests {
        Some(true) => Some(test_cases::all(&app, &caller.scope, id).await?),
        _ => None,
    };
    let header = (CONTENT_DISPOSITION, attachment(&row.name));
    let export = Export {
        name: row.name,
        description: row.description,
        graph_data: found.graph,
        node_definitions: found.definitions,
        tests,
        exported_at: app.clock.now(),
    };
    Ok(reply::built(caller.scope.user(), ([header], Answer(export)), found.share).await?)
}

/// A `Content-Disposition` (RFC 6266) with a file name that can't be mistaken for a path, in ASCII and in full.
fn attachment(name: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || " -_.()".contains(c);
    let safe: String = name
        .chars()
        .take(FILE_NAME_CHARS_MAX)
        .map(|c| if is_plain(c) { c } else { '_' })
        .collect();
    let safe = match safe.trim_matches([' ', '.']) {
        "" => "pattern",
        safe => safe,
    };
    let ascii: String = safe.chars().map(|c| if c.is_ascii() { c } else { '_' }).collect();
    let full = utf8_percent_encode(safe, NOT_ATTR_CHAR);
    format!("attachment; filename=\"{ascii}.json\"; filename*=UTF-8''{full}.json")
}

/// An exported pattern. Other fields are ignored.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct ImportRequest {
    #[schema(example = "Order alerts", min_length = 1, max_length = 200)]
    name: String,
    #[schema(example = "Tells the team about large orders.", max_length = 10_000)]
    description: Option<String>,
    /// A graph with both lists, `nodes` and `edges`.
    #[schema(value_type = GraphSchema)]
    graph_data: Box<RawValue>,
    /// Definitions of custom node types, by name; default: none.
    #[schema(value_type = Option<HashMap<String, NodeDefinition>>, example = json!({}))]
    node_definitions: Option<Box<RawValue>>,
    /// Its tests; default: none. Environments that they name are not taken over.
    #[schema(value_type = Option<Vec<Case>>, example = json!([]))]
    tests: Option<Box<RawValue>>,
}

/// Imports an exported pattern.
///
/// It gets a new id and starts at version 1.
#[utoipa::path(
    post, path = "/api/patterns/import", operation_id = "import_pattern", tag = "Patterns", request_body = ImportRequest, security(("bearer" = [])),
    responses(
        (status = 201, description = "Imported", body = Created),
        (status = 400, description = "VALIDATION: the body is not an export", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN: viewers can't create patterns; QUOTA_EXCEEDED", body = ErrorBody),
    )
)]
async fn import(
    State(app): State<App>,
    caller: Caller,
    CodeJson(request): CodeJson<ImportRequest>,
) -> Result<(StatusCode, Answer<Created>), ApiError> {
    let editor = caller.scope.editor()?;
    let graph = graph(&app, &editor, request.graph_data).await?;
    let definitions = definitions(&app, &editor, request.node_definitions)
        .await?
        .unwrap_or_default();
    if !graph.has_both_lists() {
        return Err(ApiError::field(
            "graphData",
            "must have the arrays nodes and edges, as an export has",
        ));
    }
    let tests = match request.tests {
        Some(given) => tests(&app, &editor, list("tests", given)?).await?,
        None => Vec::new(),
    };
    let new = NewPattern {
        name: text("name", &request.name, NAME_CHARS_MAX)?,
        description: request
            .description
            .map(description)
            .transpose()?
            .unwrap_or_default(),
        is_public: false,
        is_template: false,
        tags: Vec::new(),
        graph,
        definitions,
        call_interface: None,
        summary: "imported".to_owned(),
        tests,
    };
    let row = patterns::create(&app, editor, new).await?;
    Ok((StatusCode::CREATED, Answer(row.into())))
}

/// Tests of an import, ready to be stored.
async fn tests(app: &App, editor: &Editor, given: Box<RawValue>) -> Result<Vec<NewTest>, ApiError> {
    let size = (given.get().len(), TEST_FACTOR);
    let now = app.clock.now();
    let work = move || {
        let unread = test_cases::unread(&given)?;
        let cases = unread.into_iter().enumerate().map(|(index, case)| {
            let path = format!("tests[{index}]");
            let Object(mut case): Object<Case> = element(&path, case)?;
            case.name = text(&format!("{path}.name"), &case.name, NAME_CHARS_MAX)?;
            Ok(case)
        });
        test_cases::copies(cases, now)
    };
    app.budget.read(Some(editor.user()), size, work).await?
}
