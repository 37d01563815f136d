//! `/operator`: the operator's API, for whoever hosts the service for others: all workspaces, by a token of its own. It is off
//! without `operator_token`, and with `operator_listen` it is served at that address only.

mod archives;
mod caller;

use super::cursor;
use super::extract::{Json, OptionalJson, Path, Query, given, limit, text};
use super::reply::{CursorMeta, Deleted, Enveloped, Listed};
use super::usage::{self, QuotaStanding, UsageQuery, UsageSpan};
use crate::app::App;
use crate::http::error::{ApiError, ErrorBody};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use axum::{Extension, Router};
use caller::{AtOwnAddress, Operator};
use heddle_execution::ToTheEnd;
use heddle_model::clock::Timestamp;
use heddle_model::ids::WorkspaceId;
use heddle_model::objects;
use heddle_model::tenant::Tenant;
use heddle_model::workspace_quota::{WorkspaceQuota, WorkspaceQuotas};
use heddle_service::hosting;
use heddle_store::hosting::{Hosting, TenantRow};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Characters of a reason.
const REASON_CHARS_MAX: usize = 300;
/// Longest retention, in days.
const RETENTION_DAYS_MAX: i64 = 36_500;

pub fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(list_tenants, create_tenant))
        .routes(routes!(get_tenant, delete_tenant))
        .routes(routes!(suspend_tenant))
        .routes(routes!(resume_tenant))
        .routes(routes!(get_tenant_quotas, set_tenant_quotas))
        .routes(routes!(get_tenant_usage))
        .routes(routes!(get_usage))
        .merge(archives::routes())
}

/// These routes by themselves, for a listener of their own.
pub fn alone(app: &App) -> Router {
    let (routes, _document) = routes().split_for_parts();
    routes.layer(Extension(AtOwnAddress)).with_state(app.clone())
}

/// A workspace, as the operator sees it.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct OperatedWorkspace {
    id: WorkspaceId,
    #[schema(example = "Accounting")]
    name: String,
    /// Email of whoever has owned it for longest; null: nobody owns it.
    #[schema(example = "ann@example.com")]
    owner: Option<String>,
    /// How many members it has.
    members: i64,
    /// How many patterns it has.
    patterns: i64,
    created_at: Timestamp,
    /// Null: it is not suspended.
    suspended_at: Option<Timestamp>,
    #[schema(example = "unpaid")]
    suspended_reason: Option<String>,
    /// Its own quotas; for the others the settings hold.
    quotas: OwnQuotas,
    /// How long its ended runs are kept, in days; null: as the settings say.
    retention_days: Option<i64>,
}

impl From<TenantRow> for OperatedWorkspace {
    fn from(row: TenantRow) -> Self {
        let hosting = Hosting::of(row.hosting.as_deref());
        OperatedWorkspace {
            id: row.id,
            name: row.name,
            owner: row.owner_email,
            members: row.members,
            patterns: row.patterns,
            created_at: row.created_at,
            suspended_at: row.suspended_at.map(Timestamp::from_millis),
            suspended_reason: row.suspended_reason,
            quotas: OwnQuotas::from(&hosting.quotas),
            retention_days: hosting.retention_days,
        }
    }
}

macro_rules! own_quotas {
    ($($(#[$doc:meta])* $field:ident = $quota:ident $example:literal,)*) => {
        /// Quotas that a workspace has of its own. What is left out or null is as the settings say.
        #[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, ToSchema)]
        #[serde(rename_all = "camelCase", deny_unknown_fields, default)]
        struct OwnQuotas { $($(#[$doc])* #[schema(minimum = 0, example = $example)] $field: Option<i64>,)* }

        impl From<&WorkspaceQuotas> for OwnQuotas {
            fn from(quotas: &WorkspaceQuotas) -> Self {
                OwnQuotas { $($field: quotas.limit(WorkspaceQuota::$quota),)* }
            }
        }

        impl OwnQuotas {
            fn each(&self) -> [(WorkspaceQuota, Option<i64>); WorkspaceQuota::ALL.len()] {
                [$((WorkspaceQuota::$quota, self.$field)),*]
            }
        }
    };
}

own_quotas! {
    /// Runs that execute at a time; more wait.
    runs_at_once = RunsAtOnce 10,
    /// Runs that are accepted in a month; more are refused.
    runs_per_month = RunsPerMonth 100_000,
    /// Fuel of a month's runs; then further ones are refused.
    fuel_per_month = FuelPerMonth 1_000_000_000_000_i64,
    /// Bytes that a month's runs send; then further ones are refused.
    egress_bytes_per_month = EgressBytesPerMonth 10_737_418_240_i64,
    /// Events of webhooks that start runs in a minute; more are refused.
    webhooks_per_minute = WebhooksPerMinute 600,
    /// Patterns.
    patterns = Patterns 500,
    /// Runs that wait for a time or a callback; a run that would be one more fails.
    waiting_runs = WaitingRuns 1_000,
    /// Values that KeyValue keeps.
    key_values = KeyValues 10_000,
    /// Memory that one run may have, in MiB; patterns that ask for more are not deployed.
    memory_mb_per_run = MemoryMbPerRun 512,
    /// What one run may compute, in compute seconds; patterns that ask for more are not deployed.
    compute_seconds_per_run = ComputeSecondsPerRun 30,
    /// Effects that one run may start; patterns that ask for more are not deployed.
    effects_per_run = EffectsPerRun 5_000,
    /// Bytes of all that is stored; then further runs and versions are refused.
    storage_bytes = StorageBytes 1_073_741_824,
}

/// Quotas to set, in place of all that were set before.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct SetQuotasRequest {
    #[serde(deserialize_with = "objects::one")]
    quotas: OwnQuotas,
    /// How long ended runs are kept, in days, if that is shorter than the service keeps them.
    #[schema(minimum = 1, maximum = 36_500, example = 7)]
    #[serde(default)]
    retention_days: Option<i64>,
}

impl SetQuotasRequest {
    fn hosting(&self) -> Result<Hosting, ApiError> {
        let mut quotas = WorkspaceQuotas::default();
        for (quota, limit) in self.quotas.each() {
            let least = quota.least();
            if limit.is_some_and(|limit| limit < least) {
                let path = format!("quotas.{}", quota.name());
                return Err(ApiError::field(path, format!("must be at least {least}")));
            }
            quotas.set(quota, limit);
        }
        if self
            .retention_days
            .is_some_and(|days| !(1..=RETENTION_DAYS_MAX).contains(&days))
        {
            let problem = format!("must be 1 to {RETENTION_DAYS_MAX}");
            return Err(ApiError::field("retentionDays", problem));
        }
        Ok(Hosting {
            quotas,
            retention_days: self.retention_days,
        })
    }
}

/// A workspace to make.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct CreateTenantRequest {
    #[schema(example = "Accounting", min_length = 1, max_length = 100)]
    name: String,
    /// Email of the registered user who is to own it.
    #[schema(example = "ann@example.com", min_length = 1, max_length = 300)]
    owner: String,
}

/// Why a workspace is suspended.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
struct SuspendRequest {
    /// For the operator and the workspace's audit log.
    #[schema(example = "unpaid", max_length = 300)]
    reason: Option<String>,
}

/// Which workspaces to list.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
struct TenantQuery {
    /// Only those that the user with this email owns.
    #[param(max_length = 300, example = "ann@example.com")]
    owner: Option<String>,
    /// The `nextCursor` of the page before.
    #[param(max_length = 100)]
    cursor: Option<String>,
    /// Workspaces per page, at most 100.
    #[param(minimum = 1, default = 50)]
    #[serde(default, deserialize_with = "given")]
    limit: Option<i64>,
}

/// Lists all workspaces, the oldest first.
#[utoipa::path(
    get, path = "/operator/workspaces", tag = "Operator", security(("operator" = [])), params(TenantQuery),
    responses(
        (status = 200, description = "A page", body = Listed<OperatedWorkspace, CursorMeta>),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED: not the operator's token", body = ErrorBody),
        (status = 404, description = "NOT_FOUND: the operator's API is off, or served elsewhere", body = ErrorBody),
    )
)]
async fn list_tenants(
    State(app): State<App>,
    _: Operator,
    Query(query): Query<TenantQuery>,
) -> Result<Listed<OperatedWorkspace, CursorMeta>, ApiError> {
    let limit = limit(query.limit, 50, 100)?;
    let owner = query.owner.map(|owner| text("owner", &owner, 300));
    let owner = owner.transpose()?;
    let after = cursor::after(query.cursor.as_deref(), |cursor| cursor.parse().ok())?;
    let mut reader = app.store.reader().await?;
    // One more tells whether there is a next page.
    let mut rows = heddle_store::hosting::list(&mut reader.db(), owner.as_deref(), after, limit + 1).await?;
    let next_cursor = cursor::next(&mut rows, limit, |row| row.id.to_string());
    let found = rows.into_iter().map(OperatedWorkspace::from).collect();
    Ok(Listed::new(found, CursorMeta { limit, next_cursor }))
}

/// Creates a workspace with one environment, `production`, for a registered user.
#[utoipa::path(
    post, path = "/operator/workspaces", tag = "Operator", security(("operator" = [])),
    request_body = CreateTenantRequest,
    responses(
        (status = 201, description = "The workspace", body = Enveloped<OperatedWorkspace>),
        (status = 400, description = "VALIDATION: also if nobody has that email", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED: not the operator's token", body = ErrorBody),
        (status = 404, description = "NOT_FOUND: the operator's API is off, or served elsewhere", body = ErrorBody),
    )
)]
async fn create_tenant(
    State(app): State<App>,
    Operator(origin): Operator,
    Json(request): Json<CreateTenantRequest>,
) -> Result<(StatusCode, Enveloped<OperatedWorkspace>), ApiError> {
    let name = text("name", &request.name, 100)?;
    let owner = text("owner", &request.owner, 300)?;
    let made = hosting::create(&app, origin, name, owner).await?;
    Ok((StatusCode::CREATED, Enveloped::new(made.into())))
}

/// Gets a workspace.
#[utoipa::path(
    get, path = "/operator/workspaces/{id}", tag = "Operator", security(("operator" = [])),
    params(("id" = WorkspaceId, Path, description = "Workspace")),
    responses(
        (status = 200, description = "The workspace", body = Enveloped<OperatedWorkspace>),
        (status = 401, description = "UNAUTHORIZED: not the operator's token", body = ErrorBody),
        (status = 404, description = "WORKSPACE_NOT_FOUND; NOT_FOUND: the operator's API is off, or served elsewhere", body = ErrorBody),
    )
)]
async fn get_tenant(
    State(app): State<App>,
    _: Operator,
    Path(id): Path<WorkspaceId>,
) -> Result<Enveloped<OperatedWorkspace>, ApiError> {
    Ok(Enveloped::new(hosting::find(&app, id).await?.into()))
}

/// Deletes a workspace with everything that it has: patterns, runs, secrets, kept values, files, members, its audit log and
/// its metering. It is suspended first. The answer comes when all of it is gone; after an interruption, send the request again.
#[utoipa::path(
    delete, path = "/operator/workspaces/{id}", tag = "Operator", security(("operator" = [])),
    params(("id" = WorkspaceId, Path, description = "Workspace")),
    responses(
        (status = 200, description = "Deleted", body = Enveloped<Deleted>),
        (status = 401, description = "UNAUTHORIZED: not the operator's token", body = ErrorBody),
        (status = 404, description = "WORKSPACE_NOT_FOUND; NOT_FOUND: the operator's API is off, or served elsewhere", body = ErrorBody),
    )
)]
async fn delete_tenant(
    State(app): State<App>,
    Operator(origin): Operator,
    Path(id): Path<WorkspaceId>,
) -> Result<Enveloped<Deleted>, ApiError> {
    ToTheEnd::new(async move { hosting::delete(&app, origin, id).await }).await?;
    Ok(Deleted::new(id))
}

/// Suspends a workspace: its webhooks are refused, its schedules are not due, what waits is kept, and its members change
/// and run nothing. What executes goes on to its end.
#[utoipa::path(
    post, path = "/operator/workspaces/{id}/suspend", tag = "Operator", security(("operator" = [])),
    params(("id" = WorkspaceId, Path, description = "Workspace")), request_body = Option<SuspendRequest>,
    responses(
        (status = 200, description = "The workspace", body = Enveloped<OperatedWorkspace>),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED: not the operator's token", body = ErrorBody),
        (status = 404, description = "WORKSPACE_NOT_FOUND; NOT_FOUND: the operator's API is off, or served elsewhere", body = ErrorBody),
    )
)]
async fn suspend_tenant(
    State(app): State<App>,
    Operator(origin): Operator,
    Path(id): Path<WorkspaceId>,
    OptionalJson(request): OptionalJson<SuspendRequest>,
) -> Result<Enveloped<OperatedWorkspace>, ApiError> {
    let reason = request.reason.as_deref();
    let reason = reason.map(|reason| text("reason", reason, REASON_CHARS_MAX));
    let reason = reason.transpose()?;
    let suspending = ToTheEnd::new(async move { hosting::suspend(&app, origin, id, reason).await });
    let suspended = suspending.await?;
    Ok(Enveloped::new(suspended.into()))
}

/// Lets a suspended workspace go on.
#[utoipa::path(
    post, path = "/operator/workspaces/{id}/resume", tag = "Operator", security(("operator" = [])),
    params(("id" = WorkspaceId, Path, description = "Workspace")),
    responses(
        (status = 200, description = "The workspace", body = Enveloped<OperatedWorkspace>),
        (status = 401, description = "UNAUTHORIZED: not the operator's token", body = ErrorBody),
        (status = 404, description = "WORKSPACE_NOT_FOUND; NOT_FOUND: the operator's API is off, or served elsewhere", body = ErrorBody),
        (status = 409, description = "CONFLICT: it is being imported", body = ErrorBody),
    )
)]
async fn resume_tenant(
    State(app): State<App>,
    Operator(origin): Operator,
    Path(id): Path<WorkspaceId>,
) -> Result<Enveloped<OperatedWorkspace>, ApiError> {
    let resumed = ToTheEnd::new(async move { hosting::resume(&app, origin, id).await }).await?;
    Ok(Enveloped::new(resumed.into()))
}

/// Gets the quotas of a workspace, and how much of each is used.
#[utoipa::path(
    get, path = "/operator/workspaces/{id}/quotas", tag = "Operator", security(("operator" = [])),
    params(("id" = WorkspaceId, Path, description = "Workspace")),
    responses(
        (status = 200, description = "The quotas", body = Enveloped<Vec<QuotaStanding>>),
        (status = 401, description = "UNAUTHORIZED: not the operator's token", body = ErrorBody),
        (status = 404, description = "WORKSPACE_NOT_FOUND; NOT_FOUND: the operator's API is off, or served elsewhere", body = ErrorBody),
    )
)]
async fn get_tenant_quotas(
    State(app): State<App>,
    _: Operator,
    Path(id): Path<WorkspaceId>,
) -> Result<Enveloped<Vec<QuotaStanding>>, ApiError> {
    hosting::find(&app, id).await?;
    usage::standings(&app, id).await.map(Enveloped::new)
}

/// Sets the quotas of a workspace, and how long its runs are kept, in place of all that were set before.
#[utoipa::path(
    put, path = "/operator/workspaces/{id}/quotas", tag = "Operator", security(("operator" = [])),
    params(("id" = WorkspaceId, Path, description = "Workspace")), request_body = SetQuotasRequest,
    responses(
        (status = 200, description = "The quotas", body = Enveloped<Vec<QuotaStanding>>),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED: not the operator's token", body = ErrorBody),
        (status = 404, description = "WORKSPACE_NOT_FOUND; NOT_FOUND: the operator's API is off, or served elsewhere", body = ErrorBody),
    )
)]
async fn set_tenant_quotas(
    State(app): State<App>,
    Operator(origin): Operator,
    Path(id): Path<WorkspaceId>,
    Json(request): Json<SetQuotasRequest>,
) -> Result<Enveloped<Vec<QuotaStanding>>, ApiError> {
    let (service, wanted) = (app.clone(), request.hosting()?);
    ToTheEnd::new(async move { hosting::set(&service, origin, id, wanted).await }).await?;
    usage::standings(&app, id).await.map(Enveloped::new)
}

/// Reports what a workspace has used, by hour or day, as its own admins see it.
#[utoipa::path(
    get, path = "/operator/workspaces/{id}/usage", tag = "Operator", security(("operator" = [])),
    params(("id" = WorkspaceId, Path, description = "Workspace"), UsageQuery),
    responses(
        (status = 200, description = "A page, or all rows as CSV", content(
            (Listed<UsageSpan, CursorMeta> = "application/json"),
            (String = "text/csv"),
        )),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED: not the operator's token", body = ErrorBody),
        (status = 404, description = "WORKSPACE_NOT_FOUND; NOT_FOUND: the operator's API is off, or served elsewhere", body = ErrorBody),
    )
)]
async fn get_tenant_usage(
    State(app): State<App>,
    _: Operator,
    Path(id): Path<WorkspaceId>,
    headers: HeaderMap,
    Query(query): Query<UsageQuery>,
) -> Result<Response, ApiError> {
    hosting::find(&app, id).await?;
    usage::answer(app, Some(Tenant::Workspace(id)), &headers, &query).await
}

/// Reports what all workspaces have used, and users outside of workspaces, by hour or day.
#[utoipa::path(
    get, path = "/operator/usage", tag = "Operator", security(("operator" = [])), params(UsageQuery),
    responses(
        (status = 200, description = "A page, or all rows as CSV", content(
            (Listed<UsageSpan, CursorMeta> = "application/json"),
            (String = "text/csv"),
        )),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED: not the operator's token", body = ErrorBody),
        (status = 404, description = "NOT_FOUND: the operator's API is off, or served elsewhere", body = ErrorBody),
    )
)]
async fn get_usage(
    State(app): State<App>,
    _: Operator,
    headers: HeaderMap,
    Query(query): Query<UsageQuery>,
) -> Result<Response, ApiError> {
    usage::answer(app, None, &headers, &query).await
}
