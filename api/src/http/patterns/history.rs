//! Versions of patterns: listed, compared, restored.

use super::bodies::GraphSchema;
use crate::app::App;
use crate::http::drawn::NodeDefinition;
use crate::http::error::{ApiError, ErrorBody};
use crate::http::extract::{Caller, Json, Path, Query};
use crate::http::reply;
use axum::Json as Answer;
use axum::extract::State;
use axum::response::Response;
use heddle_compiler::compare::{Change, Comparison, Difference, Part};
use heddle_model::Code;
use heddle_model::clock::Timestamp;
use heddle_model::ids::PatternId;
use heddle_service::patterns;
use heddle_store::versions::{self, VersionRow};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(list_versions))
        .routes(routes!(compare_versions))
        .routes(routes!(get_version))
        .routes(routes!(rollback))
}

/// A version.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Version {
    #[schema(example = 2, minimum = 1)]
    version_number: i64,
    created_at: Timestamp,
    #[schema(example = "2 nodes added, 1 edge removed")]
    summary: String,
}

impl From<VersionRow> for Version {
    fn from(row: VersionRow) -> Self {
        Version {
            version_number: row.version_number,
            created_at: row.created_at,
            summary: row.summary,
        }
    }
}

/// Lists a pattern's versions, newest first.
///
/// For somebody else's public pattern, only the versions saved since it was last made public.
#[utoipa::path(
    get, path = "/api/patterns/{id}/versions", tag = "Pattern versions", security(("bearer" = [])),
    params(("id" = PatternId, Path, description = "The pattern: the caller's, their workspace's, or a public one")),
    responses(
        (status = 200, description = "All versions", body = Vec<Version>),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 404, description = "NOT_FOUND", body = ErrorBody),
    )
)]
async fn list_versions(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<PatternId>,
) -> Result<Answer<Vec<Version>>, ApiError> {
    let mut reader = app.store.reader().await?;
    let hidden = patterns::hidden_until(&mut reader.db(), &caller.scope, id).await?;
    let versions = versions::list(&mut reader.db(), id, hidden).await?;
    Ok(Answer(versions.into_iter().map(Version::from).collect()))
}

/// A version with its graph and definitions.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct WholeVersion {
    #[schema(example = 2, minimum = 1)]
    version_number: i64,
    created_at: Timestamp,
    #[schema(example = "2 nodes added, 1 edge removed")]
    summary: String,
    #[schema(value_type = GraphSchema)]
    graph_data: Box<RawValue>,
    /// Definitions of custom node types, by name.
    #[schema(value_type = HashMap<String, NodeDefinition>, example = json!({}))]
    node_definitions: Box<RawValue>,
}

/// Gets a version that the caller can list.
#[utoipa::path(
    get, path = "/api/patterns/{id}/versions/{n}", tag = "Pattern versions", security(("bearer" = [])),
    params(
        ("id" = PatternId, Path, description = "The pattern: the caller's, their workspace's, or a public one"),
        ("n" = i64, Path, description = "The version", minimum = 1, example = 1),
    ),
    responses(
        (status = 200, description = "The version", body = WholeVersion),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 404, description = "NOT_FOUND or VERSION_NOT_FOUND", body = ErrorBody),
    )
)]
async fn get_version(
    State(app): State<App>,
    caller: Caller,
    Path((id, number)): Path<(PatternId, i64)>,
) -> Result<Response, ApiError> {
    let mut reader = app.store.reader().await?;
    let hidden = patterns::hidden_until(&mut reader.db(), &caller.scope, id).await?;
    let row = versions::get(&mut reader.db(), id, number, hidden).await?;
    let row = row.ok_or(Code::VersionNotFound)?;
    drop(reader);
    let found = patterns::of_version(&app, caller.scope.user(), (id, number)).await?;
    let version = WholeVersion {
        version_number: row.version_number,
        created_at: row.created_at,
        summary: row.summary,
        graph_data: found.graph,
        node_definitions: found.definitions.unwrap_or_else(patterns::no_definitions),
    };
    Ok(reply::built(caller.scope.user(), Answer(version), found.share).await?)
}

/// Which versions to compare.
#[derive(Clone, Copy, Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
struct CompareQuery {
    /// The earlier version.
    #[param(minimum = 1)]
    v1: i64,
    /// The later version.
    #[param(minimum = 1)]
    v2: i64,
}

/// What changed from one version to another.
#[derive(Debug, Serialize, ToSchema)]
struct Compared {
    #[schema(example = 1)]
    v1: i64,
    #[schema(example = 2)]
    v2: i64,
    changes: Counts,
    /// The individual changes, at most 1,000.
    details: Vec<VersionDifference>,
}

/// Numbers of changes. Nodes are identified by id, edges by the ports that they connect.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Counts {
    nodes_added: usize,
    nodes_removed: usize,
    /// Nodes that differ in more than their position and layout.
    nodes_changed: usize,
    edges_added: usize,
    edges_removed: usize,
}

/// One change.
#[derive(Debug, Serialize, ToSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum VersionDifference {
    /// The graph's own fields, such as its settings.
    Graph {
        #[schema(inline)]
        change: Kind,
        /// Paths of the fields that differ.
        #[schema(example = json!(["settings.timeoutMs"]))]
        fields: Vec<String>,
    },
    /// A node.
    #[serde(rename_all = "camelCase")]
    Node {
        #[schema(inline)]
        change: Kind,
        /// The node's id, or its JSON if it has none.
        node_id: String,
        #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
        node_type: Option<String>,
        /// For a changed node: paths of the fields that differ, at most 50.
        #[schema(example = json!(["data.parameters.url"]))]
        fields: Vec<String>,
    },
    /// An edge.
    #[serde(rename_all = "camelCase")]
    Edge {
        #[schema(inline)]
        change: Kind,
        source: String,
        source_handle: Option<String>,
        target: String,
        target_handle: Option<String>,
    },
    /// A definition of a custom node type.
    Definition {
        #[schema(inline)]
        change: Kind,
        #[schema(example = "Checkout")]
        name: String,
        /// For a changed definition: paths of the fields that differ, at most 50.
        #[schema(example = json!(["code"]))]
        fields: Vec<String>,
    },
}

/// The kind of change.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Added,
    Removed,
    Changed,
}

impl From<Difference> for VersionDifference {
    fn from(difference: Difference) -> Self {
        let change = match difference.change {
            Change::Added => Kind::Added,
            Change::Removed => Kind::Removed,
            Change::Changed => Kind::Changed,
        };
        let fields = difference.fields;
        match difference.part {
            Part::Graph => VersionDifference::Graph { change, fields },
            Part::Node { id, node_type } => VersionDifference::Node {
                change,
                node_id: id,
                node_type,
                fields,
            },
            Part::Edge(edge) => VersionDifference::Edge {
                change,
                source: edge.source,
                source_handle: edge.source_handle,
                target: edge.target,
                target_handle: edge.target_handle,
            },
            Part::Definition(name) => VersionDifference::Definition { change, name, fields },
        }
    }
}

impl From<Comparison> for Counts {
    fn from(found: Comparison) -> Self {
        Counts {
            nodes_added: found.nodes_added,
            nodes_removed: found.nodes_removed,
            nodes_changed: found.nodes_changed,
            edges_added: found.edges_added,
            edges_removed: found.edges_removed,
        }
    }
}

/// Compares two versions of a pattern that the caller can list.
#[utoipa::path(
    get, path = "/api/patterns/{id}/versions/compare", tag = "Pattern versions", security(("bearer" = [])),
    params(
        ("id" = PatternId, Path, description = "The pattern: the caller's, their workspace's, or a public one"),
        CompareQuery,
    ),
    responses(
        (status = 200, description = "What changed from v1 to v2", body = Compared),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 404, description = "NOT_FOUND or VERSION_NOT_FOUND", body = ErrorBody),
    )
)]
async fn compare_versions(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<PatternId>,
    Query(CompareQuery { v1, v2 }): Query<CompareQuery>,
) -> Result<Answer<Compared>, ApiError> {
    let mut reader = app.store.reader().await?;
    let hidden = patterns::hidden_until(&mut reader.db(), &caller.scope, id).await?;
    if v1.min(v2) <= hidden {
        return Err(Code::VersionNotFound.into());
    }
    drop(reader);
    let compared = patterns::compared(&app, caller.scope.user(), id, (v1, v2)).await?;
    let mut found = compared
        .map_err(|error| Code::Validation.with(format!("The versions are too large to compare: {error}.")))?;
    let details = std::mem::take(&mut found.details);
    Ok(Answer(Compared {
        v1,
        v2,
        changes: found.into(),
        details: details.into_iter().map(VersionDifference::from).collect(),
    }))
}

/// Which version to restore.
#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct RollbackRequest {
    #[schema(example = 1, minimum = 1)]
    version_number: i64,
}

/// The version that was created.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct RolledBack {
    id: PatternId,
    /// The new version.
    #[schema(example = 3)]
    version_number: i64,
    #[schema(example = 1)]
    restored_from: i64,
    updated_at: Timestamp,
}

/// Restores the graph and the definitions of an old version, as a new version.
#[utoipa::path(
    post, path = "/api/patterns/{id}/rollback", operation_id = "rollback_pattern", tag = "Pattern versions", request_body = RollbackRequest,
    security(("bearer" = [])),
    params(("id" = PatternId, Path, description = "The pattern")),
    responses(
        (status = 200, description = "Restored", body = RolledBack),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN: the caller is a viewer, or the pattern is somebody else's public one; QUOTA_EXCEEDED", body = ErrorBody),
        (status = 404, description = "NOT_FOUND or VERSION_NOT_FOUND", body = ErrorBody),
    )
)]
async fn rollback(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<PatternId>,
    Json(request): Json<RollbackRequest>,
) -> Result<Answer<RolledBack>, ApiError> {
    let editor = caller.scope.editor()?;
    let row = patterns::rollback(&app, editor, id, request.version_number).await?;
    Ok(Answer(RolledBack {
        id: row.id,
        version_number: row.version_number,
        restored_from: request.version_number,
        updated_at: row.updated_at,
    }))
}
