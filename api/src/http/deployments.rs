//! What is deployed: lists, and single deployments.

use super::cursor;
use super::extract::{self, Caller, Path, Query, given};
use super::in_environment::InEnvironment;
use super::inbound::{self, EmailEndpoint};
use super::reply::{Enveloped, Listed, PageMeta};
use super::webhook_endpoints::{self, ShownSecrets, WebhookEndpoint};
use crate::app::App;
use crate::http::error::{ApiError, ErrorBody};
use axum::extract::State;
use heddle_catalogue::Start;
use heddle_model::Code;
use heddle_model::clock::Timestamp;
use heddle_model::ids::{DeploymentId, EnvironmentId, PatternId};
use heddle_model::slot::Slot;
use heddle_model::status::{DeploymentStatus, RunStatus};
use heddle_store::deployments::{self, ListedRow};
use heddle_store::{StoreError, patterns};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(get_pattern_deployment))
        .routes(routes!(list_of_pattern))
        .routes(routes!(list_deployments))
        .routes(routes!(get_deployment, delete_deployment))
}

/// A trigger of a deployment.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Trigger {
    /// Node type.
    #[serde(rename = "type")]
    #[schema(example = "OnWebhook")]
    trigger_type: String,
    /// Node.
    #[schema(example = "hook")]
    node_id: String,
}

impl Trigger {
    /// Whether it is of the node type that starts runs this way.
    pub fn is(&self, start: Start) -> bool {
        self.trigger_type == start.type_name()
    }

    /// The node's id in the graph.
    pub fn node_id(&self) -> &str {
        &self.node_id
    }
}

/// Reads the stored list of triggers.
pub(super) fn triggers(deployment: DeploymentId, stored: &str) -> Result<Vec<Trigger>, StoreError> {
    serde_json::from_str(stored).map_err(|_| StoreError::Corrupt {
        table: "deployments",
        column: "triggers",
        row: deployment.to_string(),
    })
}

/// A pattern's deployment.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct OfPattern {
    deployment_id: DeploymentId,
    status: DeploymentStatus,
    version_number: i64,
    confirmed_at: Timestamp,
    created_at: Timestamp,
    error_message: Option<String>,
}

/// The main deployment of a pattern, or the one in an environment.
#[utoipa::path(
    get, path = "/api/patterns/{id}/deployment", tag = "Deployments", security(("bearer" = [])),
    params(("id" = PatternId, Path, description = "Pattern"), InEnvironment),
    responses(
        (status = 200, description = "The deployment", body = Enveloped<OfPattern>),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 404, description = "NOT_FOUND: no such pattern, or it was never deployed there", body = ErrorBody),
    )
)]
async fn get_pattern_deployment(
    State(app): State<App>,
    caller: Caller,
    Path(pattern): Path<PatternId>,
    Query(query): Query<InEnvironment>,
) -> Result<Enveloped<OfPattern>, ApiError> {
    let mut reader = app.store.reader().await?;
    let (db, scope) = (&mut reader.db(), &caller.scope);
    let row = match query.environment_id {
        Some(environment) => deployments::visible_in_environment(db, scope, pattern, environment).await?,
        None => deployments::visible_in_slot(db, scope, Slot::main(pattern)).await?,
    };
    let row = row.ok_or(Code::NotFound)?;
    Ok(Enveloped::new(OfPattern {
        deployment_id: row.id,
        status: row.status,
        version_number: row.version_number,
        confirmed_at: row.confirmed_at,
        created_at: row.created_at,
        error_message: row.error_message,
    }))
}

/// Lists all deployments of a pattern, the main one first.
#[utoipa::path(
    get, path = "/api/patterns/{id}/deployments", operation_id = "list_pattern_deployments", tag = "Deployments", security(("bearer" = [])),
    params(("id" = PatternId, Path, description = "Pattern")),
    responses(
        (status = 200, description = "The deployments, undeployed ones as well", body = Enveloped<Vec<ListedDeployment>>),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 404, description = "NOT_FOUND", body = ErrorBody),
    )
)]
async fn list_of_pattern(
    State(app): State<App>,
    caller: Caller,
    Path(pattern): Path<PatternId>,
) -> Result<Enveloped<Vec<ListedDeployment>>, ApiError> {
    let mut reader = app.store.reader().await?;
    let (db, scope) = (&mut reader.db(), &caller.scope);
    patterns::visible(db, scope, pattern)
        .await?
        .ok_or(Code::NotFound)?;
    let rows = deployments::list_in_pattern(db, scope, pattern).await?;
    let rows: Result<Vec<ListedDeployment>, StoreError> = rows.into_iter().map(TryFrom::try_from).collect();
    Ok(Enveloped::new(rows?))
}

/// Which deployments to list. Undeployed ones are listed only without a status.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
struct ListQuery {
    /// Only deployments in this state.
    #[param(inline)]
    status: Option<DeploymentFilter>,
    /// Page, from 1.
    #[param(minimum = 1, default = 1)]
    #[serde(default, deserialize_with = "given")]
    page: Option<i64>,
    /// The `nextCursor` of the page before, in place of `page`; nothing (`cursor=`) for the first one.
    #[param(max_length = 100)]
    cursor: Option<String>,
    /// Deployments per page, at most 100.
    #[param(minimum = 1, default = 20)]
    #[serde(default, deserialize_with = "given")]
    limit: Option<i64>,
}

/// A state to filter by.
#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum DeploymentFilter {
    Active,
    Paused,
    Failed,
}

impl From<DeploymentFilter> for DeploymentStatus {
    fn from(status: DeploymentFilter) -> Self {
        match status {
            DeploymentFilter::Active => DeploymentStatus::Active,
            DeploymentFilter::Paused => DeploymentStatus::Paused,
            DeploymentFilter::Failed => DeploymentStatus::Failed,
        }
    }
}

/// The last run of a deployment.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct LastRun {
    status: RunStatus,
    started_at: Timestamp,
    duration_ms: Option<i64>,
}

/// A deployment in a list.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct ListedDeployment {
    id: DeploymentId,
    pattern_id: PatternId,
    pattern_name: String,
    status: DeploymentStatus,
    triggers: Vec<Trigger>,
    version_number: i64,
    /// Where its secrets and variables come from.
    environment_id: Option<EnvironmentId>,
    /// The name of that environment.
    #[schema(example = "production")]
    environment_name: Option<String>,
    /// Whether it is the pattern's main deployment, whose webhooks have the addresses that the pattern had before.
    is_main: bool,
    total_runs: i64,
    /// Null before the first run.
    last_run: Option<LastRun>,
    error_message: Option<String>,
    created_at: Timestamp,
    updated_at: Timestamp,
}

impl TryFrom<ListedRow> for ListedDeployment {
    type Error = StoreError;

    fn try_from(row: ListedRow) -> Result<Self, StoreError> {
        let last_status = row
            .last_status
            .and_then(|status| RunStatus::try_from(status).ok());
        let last_run = last_status
            .zip(row.last_started_at)
            .map(|(status, started_at)| LastRun {
                status,
                started_at: Timestamp::from_millis(started_at),
                duration_ms: row.last_duration_ms,
            });
        Ok(ListedDeployment {
            id: row.id,
            pattern_id: row.pattern_id,
            pattern_name: row.pattern_name,
            status: row.status,
            triggers: triggers(row.id, &row.triggers)?,
            version_number: row.version_number,
            environment_id: row.environment_id,
            environment_name: row.environment_name,
            is_main: row.is_main,
            total_runs: row.total_runs,
            last_run,
            error_message: row.error_message,
            created_at: row.created_at,
            updated_at: row.updated_at,
        })
    }
}

/// Lists the caller's deployments, newest first.
#[utoipa::path(
    get, path = "/api/deployments", tag = "Deployments", security(("bearer" = [])), params(ListQuery),
    responses(
        (status = 200, description = "A page", body = Listed<ListedDeployment, PageMeta>),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
    )
)]
async fn list_deployments(
    State(app): State<App>,
    caller: Caller,
    Query(query): Query<ListQuery>,
) -> Result<Listed<ListedDeployment, PageMeta>, ApiError> {
    let (limit, page) = (extract::limit(query.limit, 20, 100)?, extract::page(query.page)?);
    let status = query.status.map(DeploymentStatus::from);
    let cursor = query.cursor.as_deref();
    let paged = ("page", query.page.is_some(), limit.saturating_mul(page - 1));
    let start = cursor::start(cursor, paged, cursor::by_time)?;
    let mut reader = app.store.reader().await?;
    let total = deployments::count(&mut reader.db(), &caller.scope, status).await?;
    let mut rows = deployments::list(&mut reader.db(), &caller.scope, status, limit + 1, start).await?;
    let next = cursor::next(&mut rows, limit, |row| cursor::of_time(row.created_at, row.id));
    let rows: Result<Vec<ListedDeployment>, StoreError> = rows.into_iter().map(TryFrom::try_from).collect();
    let meta = PageMeta::new(page, limit, total).with_next(cursor.map(|_| next));
    Ok(Listed::new(rows?, meta))
}

/// What is deployed.
#[derive(Debug, Serialize, ToSchema)]
struct PatternOf {
    name: String,
    description: String,
}

/// A deployment.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Deployment {
    id: DeploymentId,
    deployment_id: DeploymentId,
    pattern_id: PatternId,
    pattern_name: String,
    status: DeploymentStatus,
    triggers: Vec<Trigger>,
    version_number: i64,
    environment_id: Option<EnvironmentId>,
    /// Why it failed.
    error_message: Option<String>,
    confirmed_at: Timestamp,
    created_at: Timestamp,
    updated_at: Timestamp,
    pattern: PatternOf,
    webhook_endpoints: Vec<WebhookEndpoint>,
    email_endpoints: Vec<EmailEndpoint>,
}

/// Gets a deployment.
#[utoipa::path(
    get, path = "/api/deployments/{id}", tag = "Deployments", security(("bearer" = [])),
    params(("id" = DeploymentId, Path, description = "Deployment"), ShownSecrets),
    responses(
        (status = 200, description = "The deployment", body = Enveloped<Deployment>),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 404, description = "NOT_FOUND", body = ErrorBody),
    )
)]
async fn get_deployment(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<DeploymentId>,
    Query(shown): Query<ShownSecrets>,
) -> Result<Enveloped<Deployment>, ApiError> {
    let mut reader = app.store.reader().await?;
    let row = deployments::visible(&mut reader.db(), &caller.scope, id)
        .await?
        .ok_or(Code::NotFound)?;
    let pattern = patterns::for_system(&mut reader.db(), row.pattern_id).await?;
    let (name, description) = match pattern {
        Some(pattern) => (pattern.name, pattern.description),
        None => (row.pattern_name.clone(), String::new()),
    };
    let db = &mut reader.db();
    let webhook_endpoints =
        webhook_endpoints::of_deployment_row(&app, db, (&caller.scope, shown), &row).await?;
    let email_endpoints = inbound::of_deployment_row(&app, db, &caller.scope, &row).await?;
    drop(reader);
    webhook_endpoints::note_shown(&app, (&caller.scope, shown), &webhook_endpoints).await?;
    Ok(Enveloped::new(Deployment {
        id: row.id,
        deployment_id: row.id,
        pattern_id: row.pattern_id,
        pattern_name: name.clone(),
        status: row.status,
        triggers: triggers(row.id, &row.triggers)?,
        version_number: row.version_number,
        environment_id: row.environment_id,
        error_message: row.error_message,
        confirmed_at: row.confirmed_at,
        created_at: row.created_at,
        updated_at: row.updated_at,
        pattern: PatternOf { name, description },
        webhook_endpoints,
        email_endpoints,
    }))
}

/// What was deleted.
#[derive(Debug, Serialize, ToSchema)]
struct DeletedDeployment {
    id: DeploymentId,
    /// Always `deleted`.
    #[schema(example = "deleted")]
    status: &'static str,
}

/// Deletes a deployment and its runs.
#[utoipa::path(
    delete, path = "/api/deployments/{id}", tag = "Deployments", security(("bearer" = [])),
    params(("id" = DeploymentId, Path, description = "Deployment")),
    responses(
        (status = 200, description = "Deleted", body = Enveloped<DeletedDeployment>),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN", body = ErrorBody),
        (status = 404, description = "NOT_FOUND", body = ErrorBody),
    )
)]
async fn delete_deployment(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<DeploymentId>,
) -> Result<Enveloped<DeletedDeployment>, ApiError> {
    app.executions.delete(&caller.scope.editor()?, id).await?;
    Ok(Enveloped::new(DeletedDeployment {
        id,
        status: "deleted",
    }))
}
