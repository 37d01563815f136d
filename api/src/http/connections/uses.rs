//! `GET /api/connections/:id/uses`: what would fail without a connection, and which fields it has.

use crate::app::App;
use crate::http::error::{ApiError, ErrorBody};
use crate::http::extract::{Caller, Path};
use axum::extract::State;
use heddle_model::Code;
use heddle_model::ids::{ConnectionId, PatternId};
use heddle_service::connection_uses::{UsingNode, UsingVersion, uses};
use heddle_store::connections;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(list_uses))
        .routes(routes!(list_fields))
}

/// Where a connection is used.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Uses {
    /// By pattern and version.
    uses: Vec<Use>,
    /// Whether there was more to look through than one answer takes.
    is_partial: bool,
}

/// A version of a pattern that uses a connection.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Use {
    pattern_id: PatternId,
    #[schema(example = "Order alerts")]
    pattern_name: String,
    #[schema(example = 3)]
    version_number: i64,
    /// Whether it is the newest version.
    is_newest: bool,
    /// Whether it is the version that is deployed.
    is_deployed: bool,
    nodes: Vec<UseNode>,
}

/// A node that uses a connection.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct UseNode {
    /// The definition that it is in.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "Checkout")]
    definition: Option<String>,
    #[schema(example = "ask")]
    node_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "Ask the shop")]
    label: Option<String>,
    #[serde(rename = "type")]
    #[schema(example = "HttpRequest")]
    node_type: String,
    /// As the node calls it: its id, its label or its provider.
    #[schema(example = "Shop EU")]
    reference: String,
}

impl From<UsingNode> for UseNode {
    fn from(node: UsingNode) -> Self {
        UseNode {
            definition: node.definition,
            node_id: node.node_id,
            label: node.label,
            node_type: node.node_type,
            reference: node.reference,
        }
    }
}

impl From<UsingVersion> for Use {
    fn from(version: UsingVersion) -> Self {
        Use {
            pattern_id: version.pattern_id,
            pattern_name: version.pattern_name,
            version_number: version.version_number,
            is_newest: version.is_newest,
            is_deployed: version.is_deployed,
            nodes: version.nodes.into_iter().map(UseNode::from).collect(),
        }
    }
}

/// Lists the nodes that refer to one of the caller's connections, in the newest and the deployed versions of the workspace's
/// patterns. Names that an expression gives are only known in a run.
#[utoipa::path(
    get, path = "/api/connections/{id}/uses", operation_id = "list_connection_uses", tag = "Connections", security(("bearer" = [])),
    params(("id" = ConnectionId, Path, description = "Connection")),
    responses(
        (status = 200, description = "The uses", body = Uses),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 404, description = "NOT_FOUND", body = ErrorBody),
    )
)]
async fn list_uses(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<ConnectionId>,
) -> Result<axum::Json<Uses>, ApiError> {
    let row = connections::find(&mut app.store.reader().await?.db(), &caller.scope, id).await?;
    let found = uses(&app, &caller.scope, &row.ok_or(Code::NotFound)?).await?;
    Ok(axum::Json(Uses {
        uses: found.versions.into_iter().map(Use::from).collect(),
        is_partial: found.is_partial,
    }))
}

/// Which fields a connection has.
#[derive(Debug, Serialize, ToSchema)]
struct FieldNames {
    /// Names in alphabetical order, without values.
    #[schema(example = json!(["apiKey", "baseUrl"]))]
    fields: Vec<String>,
}

/// Lists the names of the fields that are stored of one of the caller's connections; values are never shown.
#[utoipa::path(
    get, path = "/api/connections/{id}/fields", operation_id = "list_connection_fields", tag = "Connections", security(("bearer" = [])),
    params(("id" = ConnectionId, Path, description = "Connection")),
    responses(
        (status = 200, description = "The names", body = FieldNames),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 404, description = "NOT_FOUND", body = ErrorBody),
    )
)]
async fn list_fields(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<ConnectionId>,
) -> Result<axum::Json<FieldNames>, ApiError> {
    let mut reader = app.store.reader().await?;
    let opened = connections::opened_own(&mut reader.db(), &app.vault, &caller.scope, id).await?;
    let mut fields: Vec<String> = opened.ok_or(Code::NotFound)?.fields.keys().cloned().collect();
    fields.sort_unstable();
    Ok(axum::Json(FieldNames { fields }))
}
