//! `/api/patterns`: listing, reading and changing patterns.

mod bodies;
mod copies;
mod drafts;
mod history;
mod interface;
mod lists;
mod n8n;
mod node_red;
mod openapi;
mod presence;

use super::drawn::NodeDefinition;
use super::extract::{Admin, Caller, CodeJson, Misnamed, Path, refuse_misnamed, text};
use super::reply;
use crate::app::App;
use crate::http::error::{ApiError, ErrorBody};
use axum::Json as Answer;
use axum::extract::State;
use axum::http::header::{ETAG, IF_MATCH};
use axum::http::{HeaderMap, HeaderName, StatusCode};
use axum::response::Response;
use bodies::{GraphSchema, TAGS_MAX, definitions, description, graph};
use heddle_execution::ToTheEnd;
use heddle_model::Code;
use heddle_model::access::KeyScope;
use heddle_model::clock::Timestamp;
use heddle_model::ids::PatternId;
use heddle_service::patterns::{self, Changes, Graph, NAME_CHARS_MAX, NewPattern};
use heddle_store::patterns::{self as rows, PatternRow};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

const SUMMARY_CHARS_MAX: usize = 500;
const TAG_CHARS_MAX: usize = 50;

pub fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(lists::list, create))
        .routes(routes!(stats))
        .routes(routes!(get, update, delete))
        .routes(routes!(star))
        .merge(copies::routes())
        .merge(drafts::routes())
        .merge(history::routes())
        .merge(interface::routes())
        .merge(n8n::routes())
        .merge(node_red::routes())
        .merge(openapi::routes())
        .merge(presence::routes())
}

/// A pattern with its newest graph.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Pattern {
    id: PatternId,
    #[schema(example = "Order alerts")]
    name: String,
    #[schema(example = "Tells the team about large orders.")]
    description: String,
    is_public: bool,
    is_template: bool,
    #[schema(example = json!(["orders", "chat"]))]
    tags: Vec<String>,
    #[schema(value_type = GraphSchema)]
    graph_data: Box<RawValue>,
    /// Definitions of custom node types, by name, if the pattern has any.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<HashMap<String, NodeDefinition>>)]
    node_definitions: Option<Box<RawValue>>,
    /// The newest version.
    #[schema(minimum = 1)]
    version_number: i64,
    created_at: Timestamp,
    updated_at: Timestamp,
    /// Whether the caller starred it.
    starred: bool,
}

impl Pattern {
    fn new(
        row: PatternRow,
        graph_data: Box<RawValue>,
        node_definitions: Option<Box<RawValue>>,
        starred: bool,
    ) -> Self {
        Pattern {
            id: row.id,
            name: row.name,
            description: row.description,
            is_public: row.is_public,
            is_template: row.is_template,
            tags: row.tags.0,
            graph_data,
            node_definitions,
            version_number: row.version_number,
            created_at: row.created_at,
            updated_at: row.updated_at,
            starred,
        }
    }
}

/// A new pattern.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct CreateRequest {
    #[schema(example = "Order alerts", min_length = 1, max_length = 200)]
    name: String,
    #[schema(example = "Tells the team about large orders.", max_length = 10_000)]
    description: Option<String>,
    /// Whether everybody may read, star and clone it; default: false.
    is_public: Option<bool>,
    /// Whether it is listed as a template; default: false.
    is_template: Option<bool>,
    #[schema(example = json!(["orders", "chat"]), max_items = 50)]
    tags: Option<Vec<String>>,
    /// The graph of version 1; default: an empty one.
    #[schema(value_type = Option<GraphSchema>)]
    graph_data: Option<Box<RawValue>>,
    /// Definitions of custom node types, by name; default: none.
    #[schema(value_type = Option<HashMap<String, NodeDefinition>>, example = json!({}))]
    node_definitions: Option<Box<RawValue>>,
    #[schema(ignore)]
    graph: Misnamed,
    #[schema(ignore)]
    nodes: Misnamed,
    #[schema(ignore)]
    definitions: Misnamed,
}

/// Creates a pattern, with an empty graph unless the request has one.
#[utoipa::path(
    post, path = "/api/patterns", operation_id = "create_pattern", tag = "Patterns", request_body = CreateRequest, security(("bearer" = [])),
    responses(
        (status = 201, description = "Made, as version 1", body = Pattern),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN: viewers can't create patterns; QUOTA_EXCEEDED", body = ErrorBody),
    )
)]
async fn create(
    State(app): State<App>,
    caller: Caller,
    CodeJson(request): CodeJson<CreateRequest>,
) -> Result<(StatusCode, Answer<Pattern>), ApiError> {
    let editor = caller.scope.editor()?;
    refuse_misnamed(&[
        ("graph", &request.graph, "graphData"),
        ("nodes", &request.nodes, "graphData.nodes"),
        ("definitions", &request.definitions, "nodeDefinitions"),
    ])?;
    let definitions = definitions(&app, &editor, request.node_definitions)
        .await?
        .unwrap_or_default();
    let graph = match request.graph_data {
        Some(given) => graph(&app, &editor, given).await?,
        None => Graph::empty(),
    };
    let new = NewPattern {
        name: text("name", &request.name, NAME_CHARS_MAX)?,
        description: request
            .description
            .map(description)
            .transpose()?
            .unwrap_or_default(),
        is_public: request.is_public.unwrap_or(false),
        is_template: request.is_template.unwrap_or(false),
        tags: request.tags.map(tags).transpose()?.unwrap_or_default(),
        graph: graph.clone(),
        definitions: definitions.clone(),
        call_interface: None,
        summary: "created".to_owned(),
        tests: Vec::new(),
    };
    let row = patterns::create(&app, editor, new).await?;
    let (graph, definitions) = (graph.into_json()?, definitions.into_json()?);
    Ok((
        StatusCode::CREATED,
        Answer(Pattern::new(row, graph, definitions, false)),
    ))
}

/// Gets a pattern with its graph.
///
/// The `ETag` is the version, for the `If-Match` of a later change.
#[utoipa::path(
    get, path = "/api/patterns/{id}", operation_id = "get_pattern", tag = "Patterns", security(("bearer" = [])),
    params(("id" = PatternId, Path, description = "The pattern: the caller's, their workspace's, or a public one")),
    responses(
        (status = 200, description = "The pattern", body = Pattern, headers(("ETag" = String, description = "The version, quoted"))),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 404, description = "NOT_FOUND", body = ErrorBody),
    )
)]
async fn get(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<PatternId>,
) -> Result<Response, ApiError> {
    let mut reader = app.store.reader().await?;
    let row = patterns::readable(&mut reader.db(), &caller.scope, id).await?;
    let starred = rows::is_starred(&mut reader.db(), &caller.scope, id).await?;
    drop(reader);
    let found = patterns::newest(&app, caller.scope.user(), &row).await?;
    let tag = (ETAG, format!("\"{}\"", row.version_number));
    let pattern = Answer(Pattern::new(row, found.graph, found.definitions, starred));
    Ok(reply::built(caller.scope.user(), ([tag], pattern), found.share).await?)
}

/// The fields to change. Omitted fields stay as they are.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct UpdateRequest {
    #[schema(example = "Order alerts", min_length = 1, max_length = 200)]
    name: Option<String>,
    #[schema(max_length = 10_000)]
    description: Option<String>,
    /// The whole graph.
    #[schema(value_type = Option<GraphSchema>)]
    graph_data: Option<Box<RawValue>>,
    /// All definitions of custom node types, by name; `{}` removes them.
    #[schema(value_type = Option<HashMap<String, NodeDefinition>>, example = json!({}))]
    node_definitions: Option<Box<RawValue>>,
    is_public: Option<bool>,
    is_template: Option<bool>,
    #[schema(max_items = 50)]
    tags: Option<Vec<String>>,
    /// A summary of the change for the list of versions; generated if omitted.
    #[schema(max_length = 500)]
    summary: Option<String>,
    /// The version that this change is based on; if there is a newer one, the response is 409.
    version_number: Option<i64>,
    #[schema(ignore)]
    graph: Misnamed,
    #[schema(ignore)]
    nodes: Misnamed,
    #[schema(ignore)]
    definitions: Misnamed,
    #[schema(ignore)]
    version: Misnamed,
}

/// The new version.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Updated {
    id: PatternId,
    #[schema(example = "Order alerts")]
    name: String,
    /// The new version.
    #[schema(example = 2)]
    version_number: i64,
    updated_at: Timestamp,
}

/// Changes a pattern and creates a new version.
///
/// Versions are numbered without gaps, even if several users save at the same time. State the version that the change
/// is based on in `If-Match` or `versionNumber` so that nobody's work is overwritten by accident.
#[utoipa::path(
    put, path = "/api/patterns/{id}", operation_id = "update_pattern", tag = "Patterns", request_body = UpdateRequest, security(("bearer" = [])),
    params(
        ("id" = PatternId, Path, description = "The pattern"),
        ("If-Match" = Option<String>, Header, description = "The ETag that the change is based on", example = "\"3\""),
    ),
    responses(
        (status = 200, description = "Saved", body = Updated, headers(("ETag" = String, description = "The new version, quoted"))),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN: the caller is a viewer, or the pattern is somebody else's public one; QUOTA_EXCEEDED", body = ErrorBody),
        (status = 404, description = "NOT_FOUND", body = ErrorBody),
        (status = 409, description = "CONFLICT: there is a newer version", body = ErrorBody),
    )
)]
async fn update(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<PatternId>,
    headers: HeaderMap,
    CodeJson(request): CodeJson<UpdateRequest>,
) -> Result<([(HeaderName, String); 1], Answer<Updated>), ApiError> {
    let editor = caller.scope.editor()?;
    refuse_misnamed(&[
        ("graph", &request.graph, "graphData"),
        ("nodes", &request.nodes, "graphData.nodes"),
        ("definitions", &request.definitions, "nodeDefinitions"),
        ("version", &request.version, "versionNumber"),
    ])?;
    let graph = match request.graph_data {
        Some(given) => Some(graph(&app, &editor, given).await?),
        None => None,
    };
    let definitions = definitions(&app, &editor, request.node_definitions).await?;
    let name = request.name.map(|name| text("name", &name, NAME_CHARS_MAX));
    let summary = request
        .summary
        .map(|summary| text("summary", &summary, SUMMARY_CHARS_MAX));
    let changes = Changes {
        name: name.transpose()?,
        description: request.description.map(description).transpose()?,
        is_public: request.is_public,
        is_template: request.is_template,
        tags: request.tags.map(tags).transpose()?,
        graph,
        definitions,
        summary: summary.transpose()?,
        based_on: based_on(&headers, request.version_number)?,
    };
    let row = patterns::save(&app, editor, id, changes).await?;
    let tag = (ETAG, format!("\"{}\"", row.version_number));
    let updated = Updated {
        id: row.id,
        name: row.name,
        version_number: row.version_number,
        updated_at: row.updated_at,
    };
    Ok(([tag], Answer(updated)))
}

/// The version that must be the newest, from `If-Match` and the body.
fn based_on(headers: &HeaderMap, version_number: Option<i64>) -> Result<Option<i64>, ApiError> {
    let Some(header) = headers.get(IF_MATCH) else {
        return Ok(version_number);
    };
    let tag = header.to_str().unwrap_or_default().trim();
    if tag == "*" {
        return Ok(version_number);
    }
    // An ETag that we did not issue belongs to no version, so it can't match the newest.
    let version = tag.trim_matches('"').parse().unwrap_or(0);
    match version_number {
        Some(other) if other != version => Err(ApiError::field(
            "versionNumber",
            "differs from the version in If-Match",
        )),
        _ => Ok(Some(version)),
    }
}

/// Deletes a pattern and all its versions.
///
/// It is undeployed first.
#[utoipa::path(
    delete, path = "/api/patterns/{id}", operation_id = "delete_pattern", tag = "Patterns", security(("bearer" = [])),
    params(("id" = PatternId, Path, description = "The pattern")),
    responses(
        (status = 204, description = "Deleted"),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN: the caller is a viewer, or the pattern is somebody else's public one", body = ErrorBody),
        (status = 404, description = "NOT_FOUND", body = ErrorBody),
    )
)]
async fn delete(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<PatternId>,
) -> Result<StatusCode, ApiError> {
    let editor = caller.scope.editor()?;
    ToTheEnd::new(async move { patterns::delete(&app, editor, id).await }).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Statistics across all tenants.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Stats {
    total_patterns: i64,
    public_patterns: i64,
    template_patterns: i64,
    total_versions: i64,
}

/// Counts the service's patterns, for admins.
#[utoipa::path(
    get, path = "/api/patterns/stats", operation_id = "get_pattern_stats", tag = "Patterns", security(("bearer" = [])),
    responses(
        (status = 200, description = "The figures", body = Stats),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN: the caller is not an admin", body = ErrorBody),
    )
)]
async fn stats(State(app): State<App>, _: Admin) -> Result<Answer<Stats>, ApiError> {
    let totals = rows::totals_for_system(&mut app.store.reader().await?.db()).await?;
    Ok(Answer(Stats {
        total_patterns: totals.patterns,
        public_patterns: totals.public,
        template_patterns: totals.templates,
        total_versions: totals.versions,
    }))
}

/// Whether the pattern now has the caller's star.
#[derive(Debug, Serialize, ToSchema)]
struct Starred {
    starred: bool,
}

/// Stars a pattern, or removes the caller's star.
#[utoipa::path(
    post, path = "/api/patterns/{id}/star", operation_id = "star_pattern", tag = "Patterns", security(("bearer" = [])),
    params(("id" = PatternId, Path, description = "The pattern")),
    responses(
        (status = 200, description = "What it is now", body = Starred),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 404, description = "NOT_FOUND", body = ErrorBody),
    )
)]
async fn star(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<PatternId>,
) -> Result<Answer<Starred>, ApiError> {
    caller.scope.key_allows(KeyScope::Edit)?;
    let now = app.clock.now();
    let toggled = app.store.write(move |db| {
        Box::pin(async move {
            rows::toggle_star(db, &caller.scope, id, now)
                .await
                .map_err(ApiError::from)
        })
    });
    let starred = toggled.await?.ok_or(Code::NotFound)?;
    Ok(Answer(Starred { starred }))
}

/// Tags, trimmed and without duplicates.
fn tags(given: Vec<String>) -> Result<Vec<String>, ApiError> {
    if given.len() > TAGS_MAX {
        return Err(ApiError::field("tags", format!("can be at most {TAGS_MAX}")));
    }
    let mut tags = Vec::with_capacity(given.len());
    for (index, tag) in given.iter().enumerate() {
        let tag = text(&format!("tags[{index}]"), tag, TAG_CHARS_MAX)?;
        if !tags.contains(&tag) {
            tags.push(tag);
        }
    }
    Ok(tags)
}
