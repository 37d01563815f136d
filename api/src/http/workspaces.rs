//! `/api/workspaces`: workspaces, which teams share.

use super::extract::{Caller, Json, LoggedIn, Member, text};
use super::reply::{Deleted, Enveloped};
use crate::app::App;
use crate::http::error::{ApiError, ErrorBody};
use axum::extract::State;
use axum::http::StatusCode;
use heddle_execution::ToTheEnd;
use heddle_model::access::WorkspaceRole;
use heddle_model::audit::{Action, Object};
use heddle_model::clock::Timestamp;
use heddle_model::error::chain;
use heddle_model::ids::WorkspaceId;
use heddle_model::quota::Quota;
use heddle_model::tenant::Tenant;
use heddle_model::{Code, ServiceError};
use heddle_service::auth::caller::Credential;
use heddle_store::StoreError;
use heddle_store::audit::{self, Log};
use heddle_store::quota::{self, Payer};
use heddle_store::workspaces::{self, WorkspaceRow};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(list_workspaces, create_workspace))
        .routes(routes!(get_workspace, rename_workspace, delete_workspace))
}

/// A workspace.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Workspace {
    id: WorkspaceId,
    #[schema(example = "Ann's workspace")]
    name: String,
    /// The caller's role in it.
    role: WorkspaceRole,
    created_at: Timestamp,
    updated_at: Timestamp,
}

impl From<WorkspaceRow> for Workspace {
    fn from(row: WorkspaceRow) -> Self {
        Workspace {
            id: row.id,
            name: row.name,
            role: row.role,
            created_at: row.created_at,
            updated_at: row.updated_at,
        }
    }
}

/// A name for a workspace.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct WorkspaceRequest {
    #[schema(example = "Accounting", min_length = 1, max_length = 100)]
    name: String,
}

/// Lists the workspaces that the caller is a member of; with an API key, only the key's.
#[utoipa::path(
    get, path = "/api/workspaces", tag = "Workspaces", security(("bearer" = [])),
    responses(
        (status = 200, description = "The workspaces", body = Enveloped<Vec<Workspace>>),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
    )
)]
async fn list_workspaces(
    State(app): State<App>,
    caller: Caller,
) -> Result<Enveloped<Vec<Workspace>>, ApiError> {
    let (user, active) = (caller.scope.user(), caller.scope.workspace());
    let found = match (caller.credential == Credential::ApiKey, active) {
        (true, None) => Vec::new(),
        (true, only) => workspaces::of_user(&mut app.store.reader().await?.db(), user, only).await?,
        (false, _) => workspaces::of_user(&mut app.store.reader().await?.db(), user, None).await?,
    };
    Ok(Enveloped::new(found.into_iter().map(Workspace::from).collect()))
}

/// Creates a workspace with one environment, `production`, owned by the caller.
#[utoipa::path(
    post, path = "/api/workspaces", tag = "Workspaces", security(("bearer" = [])),
    request_body = WorkspaceRequest,
    responses(
        (status = 201, description = "The workspace", body = Enveloped<Workspace>),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN: with an API key; QUOTA_EXCEEDED", body = ErrorBody),
    )
)]
async fn create_workspace(
    State(app): State<App>,
    LoggedIn { caller, .. }: LoggedIn,
    Json(request): Json<WorkspaceRequest>,
) -> Result<(StatusCode, Enveloped<Workspace>), ApiError> {
    let name = text("name", &request.name, 100)?;
    let (owner, now) = (caller.scope.user(), app.clock.now());
    let quotas = app.quotas;
    let created = app.store.write(move |db| {
        Box::pin(async move {
            let created = workspaces::create(db, owner, &name, now).await?;
            let counted = [Quota::Workspaces, Quota::Environments, Quota::Members];
            quota::check(db, &quotas, &[(Payer::User(owner), &counted)]).await?;
            let (log, made) = (Log::Workspace(created.id), Object::Workspace(created.id));
            audit::note_in(db, log, &caller.scope, Action::WorkspaceCreated.of(made)).await?;
            Ok::<WorkspaceRow, StoreError>(created)
        })
    });
    let created = created.await?;
    Ok((StatusCode::CREATED, Enveloped::new(created.into())))
}

/// Gets a workspace.
#[utoipa::path(
    get, path = "/api/workspaces/{id}", tag = "Workspaces", security(("bearer" = [])),
    params(("id" = WorkspaceId, Path, description = "Workspace")),
    responses(
        (status = 200, description = "The workspace", body = Enveloped<Workspace>),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 404, description = "WORKSPACE_NOT_FOUND", body = ErrorBody),
    )
)]
async fn get_workspace(State(app): State<App>, member: Member) -> Result<Enveloped<Workspace>, ApiError> {
    workspace(&app, &member).await.map(Enveloped::new)
}

/// Renames a workspace. Requires the role owner.
#[utoipa::path(
    patch, path = "/api/workspaces/{id}", tag = "Workspaces", security(("bearer" = [])),
    params(("id" = WorkspaceId, Path, description = "Workspace")), request_body = WorkspaceRequest,
    responses(
        (status = 200, description = "The workspace", body = Enveloped<Workspace>),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN", body = ErrorBody),
        (status = 404, description = "WORKSPACE_NOT_FOUND", body = ErrorBody),
    )
)]
async fn rename_workspace(
    State(app): State<App>,
    member: Member,
    Json(request): Json<WorkspaceRequest>,
) -> Result<Enveloped<Workspace>, ApiError> {
    let (owner, now) = (member.0.owner()?, app.clock.now());
    let name = text("name", &request.name, 100)?;
    let id = owner.workspace().ok_or(Code::WorkspaceNotFound)?;
    let renamed = app.store.write(move |db| {
        Box::pin(async move {
            let entry = Action::WorkspaceRenamed
                .of(Object::Workspace(id))
                .with("to", &*name);
            audit::note(db, &owner, entry).await?;
            workspaces::rename(db, &owner, &name, now).await
        })
    });
    let renamed: Result<(), StoreError> = renamed.await;
    renamed?;
    workspace(&app, &member).await.map(Enveloped::new)
}

/// Deletes a workspace with its environments, secrets, connections and API keys. It must not have any patterns.
/// Requires the role owner.
#[utoipa::path(
    delete, path = "/api/workspaces/{id}", tag = "Workspaces", security(("bearer" = [])),
    params(("id" = WorkspaceId, Path, description = "Workspace")),
    responses(
        (status = 200, description = "Deleted", body = Enveloped<Deleted>),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN", body = ErrorBody),
        (status = 404, description = "WORKSPACE_NOT_FOUND", body = ErrorBody),
        (status = 409, description = "CONFLICT: it has patterns", body = ErrorBody),
    )
)]
async fn delete_workspace(State(app): State<App>, member: Member) -> Result<Enveloped<Deleted>, ApiError> {
    let owner = member.0.owner()?;
    let workspace = owner.workspace().ok_or(Code::WorkspaceNotFound)?;
    let deleting = ToTheEnd::new(async move {
        let tenant = Tenant::Workspace(workspace);
        let revocations = app.executions.consents().revocations(&[tenant]).await;
        let deleted = app.store.write(move |db| {
            Box::pin(async move {
                workspaces::lock_to_delete(db, &owner).await?;
                if workspaces::has_patterns(db, &owner).await? {
                    return Err(Code::Conflict.with("The workspace has patterns: delete them first."));
                }
                // Not in its own log, which goes with it.
                let (log, gone) = (Log::Account(owner.user()), Object::Workspace(workspace));
                audit::note_in(db, log, &owner, Action::WorkspaceDeleted.of(gone)).await?;
                Ok::<(), ServiceError>(workspaces::delete(db, &owner).await?)
            })
        });
        let deleted: Result<(), ServiceError> = deleted.await;
        if deleted.is_ok() {
            app.executions.workspace_deleted();
            revocations.begin(&[tenant]);
            // Nobody could count them any longer, nor find them.
            if let Err(error) = app.executions.remove_files(tenant).await {
                tracing::error!(%workspace, "Files of a deleted workspace stay: {}", chain(&error));
            }
        }
        deleted
    });
    deleting.await?;
    Ok(Deleted::new(workspace))
}

async fn workspace(app: &App, Member(scope): &Member) -> Result<Workspace, ApiError> {
    let found = workspaces::of_user(
        &mut app.store.reader().await?.db(),
        scope.user(),
        scope.workspace(),
    )
    .await?;
    let found = found.into_iter().next().ok_or(Code::WorkspaceNotFound)?;
    Ok(found.into())
}
