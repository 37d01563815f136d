//! Drafts: what the caller has drawn and not saved yet.

use super::bodies::{GraphSchema, definitions, graph};
use crate::app::App;
use crate::http::drawn::NodeDefinition;
use crate::http::error::{ApiError, ErrorBody};
use crate::http::extract::{Caller, CodeJson, Path, Query, given};
use crate::http::reply;
use axum::Json as Answer;
use axum::extract::State;
use axum::http::header::{ETAG, IF_MATCH, IF_NONE_MATCH};
use axum::http::{HeaderMap, HeaderName, StatusCode};
use axum::response::{IntoResponse, Response};
use heddle_model::clock::Timestamp;
use heddle_model::ids::PatternId;
use heddle_service::patterns::drafts::{self, InPlaceOf, NewDraft};
use heddle_service::patterns::no_definitions;
use heddle_store::drafts::DraftRow;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(get_draft, put_draft, delete_draft))
}

/// The caller's draft of a pattern.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Draft {
    /// The version that it began with.
    #[schema(example = 3, minimum = 1)]
    base_version: i64,
    updated_at: Timestamp,
    #[schema(value_type = GraphSchema)]
    graph_data: Box<RawValue>,
    /// Definitions of custom node types, by name.
    #[schema(value_type = HashMap<String, NodeDefinition>, example = json!({}))]
    node_definitions: Box<RawValue>,
}

/// A draft that was stored.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct StoredDraft {
    /// The version that it began with.
    #[schema(example = 3, minimum = 1)]
    base_version: i64,
    updated_at: Timestamp,
}

/// A draft.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct DraftRequest {
    /// The version that it began with.
    #[schema(example = 1, minimum = 1)]
    base_version: i64,
    #[schema(value_type = GraphSchema)]
    graph_data: Box<RawValue>,
    /// Definitions of custom node types, by name; default: none.
    #[schema(value_type = Option<HashMap<String, NodeDefinition>>, example = json!({}))]
    node_definitions: Option<Box<RawValue>>,
}

/// How to answer if there is no draft.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
struct DraftQuery {
    /// Whether no draft is an answer like any other, 204, rather than the error 404; default: no.
    #[serde(default, deserialize_with = "given")]
    optional: Option<bool>,
}

/// Gets the caller's draft of a pattern.
#[utoipa::path(
    get, path = "/api/patterns/{id}/draft", tag = "Patterns", security(("bearer" = [])),
    params(("id" = PatternId, Path, description = "The pattern"), DraftQuery),
    responses(
        (status = 200, description = "The draft", body = Draft, headers(("ETag" = String, description = "For the If-Match of a later change"))),
        (status = 204, description = "With `optional=true`: the caller has no draft"),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 404, description = "NOT_FOUND: no such pattern, or no draft of the caller's", body = ErrorBody),
        (status = 409, description = "CONFLICT: the draft was changed while it was read", body = ErrorBody),
    )
)]
async fn get_draft(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<PatternId>,
    Query(query): Query<DraftQuery>,
) -> Result<Response, ApiError> {
    let Some((row, found)) = drafts::find(&app, &caller.scope, id).await? else {
        return match query.optional {
            Some(true) => Ok(StatusCode::NO_CONTENT.into_response()),
            _ => Err(drafts::none().into()),
        };
    };
    let tag = tag(&row);
    let draft = Draft {
        base_version: row.base_version,
        updated_at: row.updated_at,
        graph_data: found.graph,
        node_definitions: found.definitions.unwrap_or_else(no_definitions),
    };
    Ok(reply::built(caller.scope.user(), ([tag], Answer(draft)), found.share).await?)
}

/// Stores the caller's draft of a pattern.
///
/// Each user has one draft of a pattern, which nobody else sees. It makes no version, and is removed when its user saves
/// the graph or the definitions. With `If-Match`, it is stored only if the draft is still the one with that `ETag`; with
/// `If-None-Match: *`, only if there is none.
#[utoipa::path(
    put, path = "/api/patterns/{id}/draft", tag = "Patterns", request_body = DraftRequest,
    security(("bearer" = [])),
    params(
        ("id" = PatternId, Path, description = "The pattern"),
        ("If-Match" = Option<String>, Header, description = "The ETag of the draft that the change is based on"),
        ("If-None-Match" = Option<String>, Header, description = "`*`: there is no draft yet"),
    ),
    responses(
        (status = 200, description = "Stored", body = StoredDraft, headers(("ETag" = String, description = "For the If-Match of a later change"))),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN: the caller is a viewer, or the pattern is somebody else's public one; QUOTA_EXCEEDED", body = ErrorBody),
        (status = 404, description = "NOT_FOUND", body = ErrorBody),
        (status = 409, description = "CONFLICT: the draft has been changed, or there is one already", body = ErrorBody),
    )
)]
async fn put_draft(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<PatternId>,
    headers: HeaderMap,
    CodeJson(request): CodeJson<DraftRequest>,
) -> Result<([(HeaderName, String); 1], Answer<StoredDraft>), ApiError> {
    let editor = caller.scope.editor()?;
    let new = NewDraft {
        graph: graph(&app, &editor, request.graph_data).await?,
        definitions: definitions(&app, &editor, request.node_definitions)
            .await?
            .unwrap_or_default(),
        base_version: request.base_version,
        in_place_of: in_place_of(&headers),
    };
    let row = drafts::put(&app, editor, id, new).await?;
    let tag = tag(&row);
    let stored = StoredDraft {
        base_version: row.base_version,
        updated_at: row.updated_at,
    };
    Ok(([tag], Answer(stored)))
}

/// Removes the caller's draft of a pattern.
#[utoipa::path(
    delete, path = "/api/patterns/{id}/draft", tag = "Patterns", security(("bearer" = [])),
    params(("id" = PatternId, Path, description = "The pattern")),
    responses(
        (status = 204, description = "Removed"),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN: the caller is a viewer, or the pattern is somebody else's public one", body = ErrorBody),
        (status = 404, description = "NOT_FOUND: no such pattern, or no draft of the caller's", body = ErrorBody),
    )
)]
async fn delete_draft(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<PatternId>,
) -> Result<StatusCode, ApiError> {
    drafts::remove(&app, caller.scope.editor()?, id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// What the request says of the draft before.
fn in_place_of(headers: &HeaderMap) -> InPlaceOf {
    let header = |name| {
        headers
            .get(name)
            .map(|value| value.to_str().unwrap_or_default().trim())
    };
    match (header(IF_MATCH), header(IF_NONE_MATCH)) {
        (Some(tag), _) if tag != "*" => InPlaceOf::Tag(tag.trim_matches('"').to_owned()),
        (None, Some("*")) => InPlaceOf::Nothing,
        _ => InPlaceOf::Anything,
    }
}

fn tag(row: &DraftRow) -> (HeaderName, String) {
    (ETAG, format!("\"{}\"", row.etag))
}
