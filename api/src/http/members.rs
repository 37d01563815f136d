//! `/api/workspaces/{id}/members`: who is in a workspace, and with which role. Nobody gives, changes or takes a
//! role above their own, and a workspace always has an owner.

use super::extract::{Json, Member, Path, printable};
use super::reply::{Deleted, Enveloped};
use crate::access::{Scope, WorkspaceRole};
use crate::app::App;
use crate::clock::Timestamp;
use crate::error::{ApiError, Code, ErrorBody};
use crate::ids::{UserId, WorkspaceId};
use crate::store::workspaces::{self, MemberRow};
use crate::store::{Db, accounts};
use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// The routes.
pub fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(list_members, add_member))
        .routes(routes!(set_member_role, remove_member))
}

/// A member of a workspace.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct MemberReply {
    user_id: UserId,
    #[schema(example = "ann@example.com")]
    email: String,
    first_name: String,
    last_name: String,
    role: WorkspaceRole,
    /// Since when.
    created_at: Timestamp,
}

impl From<MemberRow> for MemberReply {
    fn from(row: MemberRow) -> Self {
        MemberReply {
            user_id: row.user_id,
            email: row.email,
            first_name: row.first_name,
            last_name: row.last_name,
            role: row.role,
            created_at: row.created_at,
        }
    }
}

/// Lists a workspace's members, in the order in which they joined.
#[utoipa::path(
    get, path = "/api/workspaces/{id}/members", tag = "Workspaces", security(("bearer" = [])),
    params(("id" = WorkspaceId, Path, description = "Workspace")),
    responses(
        (status = 200, description = "The members", body = Enveloped<Vec<MemberReply>>),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 404, description = "WORKSPACE_NOT_FOUND", body = ErrorBody),
    )
)]
async fn list_members(
    State(app): State<App>,
    Member(scope): Member,
) -> Result<Enveloped<Vec<MemberReply>>, ApiError> {
    let members = workspaces::members(&mut app.store.reader().await?.db(), &scope).await?;
    Ok(Enveloped::new(
        members.into_iter().map(MemberReply::from).collect(),
    ))
}

/// A registered user and a role for them.
#[derive(Debug, Deserialize, ToSchema)]
struct AddMemberRequest {
    #[schema(example = "bob@example.com")]
    email: String,
    role: WorkspaceRole,
}

/// Adds a registered user to a workspace; its admins may, and only owners make owners.
#[utoipa::path(
    post, path = "/api/workspaces/{id}/members", tag = "Workspaces", security(("bearer" = [])),
    params(("id" = WorkspaceId, Path, description = "Workspace")), request_body = AddMemberRequest,
    responses(
        (status = 201, description = "The member", body = Enveloped<MemberReply>),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN", body = ErrorBody),
        (status = 404, description = "WORKSPACE_NOT_FOUND, or NOT_FOUND: nobody has this email", body = ErrorBody),
        (status = 409, description = "CONFLICT: they are a member", body = ErrorBody),
    )
)]
async fn add_member(
    State(app): State<App>,
    Member(scope): Member,
    Json(request): Json<AddMemberRequest>,
) -> Result<(StatusCode, Enveloped<MemberReply>), ApiError> {
    let (manager, now) = (scope.manager()?, app.clock.now());
    not_above(&scope, request.role)?;
    printable("email", &request.email)?;
    let added = app.store.write(move |db| {
        Box::pin(async move {
            let user = accounts::by_email(db, &request.email).await?;
            let user = user.ok_or_else(|| Code::NotFound.with("No user with this email is registered."))?;
            if workspaces::member(db, &scope, user.id).await?.is_some() {
                return Err(Code::Conflict.with("This user is a member already."));
            }
            workspaces::add_member(db, &manager, user.id, request.role, now).await?;
            member(db, &scope, user.id).await
        })
    });
    Ok((StatusCode::CREATED, Enveloped::new(added.await?.into())))
}

/// Another role.
#[derive(Debug, Deserialize, ToSchema)]
struct RoleRequest {
    role: WorkspaceRole,
}

/// Gives a member another role; admins of the workspace may, up to their own.
#[utoipa::path(
    patch, path = "/api/workspaces/{id}/members/{userId}", tag = "Workspaces", security(("bearer" = [])),
    params(
        ("id" = WorkspaceId, Path, description = "Workspace"),
        ("userId" = UserId, Path, description = "Member"),
    ),
    request_body = RoleRequest,
    responses(
        (status = 200, description = "The member", body = Enveloped<MemberReply>),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN", body = ErrorBody),
        (status = 404, description = "WORKSPACE_NOT_FOUND or NOT_FOUND", body = ErrorBody),
        (status = 409, description = "CONFLICT: the last owner", body = ErrorBody),
    )
)]
async fn set_member_role(
    State(app): State<App>,
    Member(scope): Member,
    Path(path): Path<(WorkspaceId, UserId)>,
    Json(request): Json<RoleRequest>,
) -> Result<Enveloped<MemberReply>, ApiError> {
    let (_, user) = path;
    let manager = scope.manager()?;
    not_above(&scope, request.role)?;
    let changed = app.store.write(move |db| {
        Box::pin(async move {
            let owners = workspaces::lock_owners(db, &scope).await?;
            let present = member(db, &scope, user).await?;
            not_above(&scope, present.role)?;
            if request.role != WorkspaceRole::Owner {
                keeps_an_owner(&present, owners)?;
            }
            workspaces::set_role(db, &manager, user, request.role).await?;
            member(db, &scope, user).await
        })
    });
    Ok(Enveloped::new(changed.await?.into()))
}

/// Removes a member; admins of the workspace may, and everybody may leave. Tokens for the workspace stop working
/// at once.
#[utoipa::path(
    delete, path = "/api/workspaces/{id}/members/{userId}", tag = "Workspaces", security(("bearer" = [])),
    params(
        ("id" = WorkspaceId, Path, description = "Workspace"),
        ("userId" = UserId, Path, description = "Member"),
    ),
    responses(
        (status = 200, description = "Removed", body = Enveloped<Deleted>),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN", body = ErrorBody),
        (status = 404, description = "WORKSPACE_NOT_FOUND or NOT_FOUND", body = ErrorBody),
        (status = 409, description = "CONFLICT: the last owner", body = ErrorBody),
    )
)]
async fn remove_member(
    State(app): State<App>,
    Member(scope): Member,
    Path(path): Path<(WorkspaceId, UserId)>,
) -> Result<Enveloped<Deleted>, ApiError> {
    let (_, user) = path;
    if user != scope.user() {
        scope.manager()?;
    }
    let removed = app.store.write(move |db| {
        Box::pin(async move {
            let owners = workspaces::lock_owners(db, &scope).await?;
            let present = member(db, &scope, user).await?;
            not_above(&scope, present.role)?;
            keeps_an_owner(&present, owners)?;
            workspaces::remove_member(db, &scope, user).await?;
            Ok::<(), ApiError>(())
        })
    });
    removed.await?;
    Ok(Deleted::new(user))
}

async fn member(db: &mut Db<'_>, scope: &Scope, user: UserId) -> Result<MemberRow, ApiError> {
    let member = workspaces::member(db, scope, user).await?;
    member.ok_or_else(|| Code::NotFound.with("There is no such member of this workspace."))
}

fn not_above(scope: &Scope, role: WorkspaceRole) -> Result<(), ApiError> {
    if role > scope.role() {
        return Err(Code::Forbidden.with("Only owners of the workspace make, change or remove owners."));
    }
    Ok(())
}

fn keeps_an_owner(leaving: &MemberRow, owners: i64) -> Result<(), ApiError> {
    if leaving.role == WorkspaceRole::Owner && owners <= 1 {
        return Err(Code::Conflict.with("This is the workspace's last owner: make another one first."));
    }
    Ok(())
}
