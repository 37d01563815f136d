//! `/api/workspaces/{id}/members` and `…/invitations`: members of a workspace, invitations and roles. Nobody can grant,
//! change or revoke a role above their own, and a workspace always has an owner.

use super::extract::{Json, Member, Path};
use super::reply::{Deleted, Enveloped};
use crate::app::App;
use crate::http::error::{ApiError, ErrorBody};
use axum::extract::State;
use axum::http::StatusCode;
use heddle_model::Code;
use heddle_model::access::{KeyScope, Scope, WorkspaceRole};
use heddle_model::audit::{Action, Object};
use heddle_model::clock::Timestamp;
use heddle_model::ids::{InvitationId, UserId, WorkspaceId};
use heddle_model::quota::Quota;
use heddle_service::auth::{cookie, email};
use heddle_service::one_time_links::{self, JOIN_PAGE};
use heddle_service::outbox;
use heddle_store::Db;
use heddle_store::accounts;
use heddle_store::audit;
use heddle_store::connections;
use heddle_store::invitation_links::{self, NewLink};
use heddle_store::invitations::{self, InvitationRow};
use heddle_store::quota::{self, Payer};
use heddle_store::workspaces::{self, MemberRow};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(list_members, add_member))
        .routes(routes!(set_member_role, remove_member))
        .routes(routes!(list_invitations))
        .routes(routes!(withdraw_invitation))
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
    /// When they joined.
    created_at: Timestamp,
    /// Whether the email has been verified.
    email_verified: bool,
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
            email_verified: row.email_verified,
        }
    }
}

/// Lists a workspace's members, in the order they joined.
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

/// An invitation to a workspace.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Invitation {
    id: InvitationId,
    #[schema(example = "bob@example.com")]
    email: String,
    role: WorkspaceRole,
    /// Always `invited`.
    #[schema(example = "invited")]
    status: &'static str,
    created_at: Timestamp,
    /// When it expires, unless it is answered before.
    expires_at: Timestamp,
    /// A link for the invited person, who can register with it or join; only in the answer to inviting, and only if it was
    /// not sent to them by mail. Give it to nobody else.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "https://heddle.example.com/join#3fQz81hO…")]
    url: Option<String>,
}

impl From<InvitationRow> for Invitation {
    fn from(row: InvitationRow) -> Self {
        Invitation {
            id: row.id,
            email: row.email,
            role: row.role,
            status: "invited",
            created_at: row.created_at,
            expires_at: row.expires_at,
            url: None,
        }
    }
}

/// An email address to invite, and the role to offer.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct AddMemberRequest {
    #[schema(example = "bob@example.com", max_length = 254)]
    email: String,
    role: WorkspaceRole,
}

/// Invites somebody to a workspace. Requires the role admin; only owners can invite owners.
///
/// They become a member by accepting it (`POST /api/auth/invitations/{id}/accept`), or by a link, with which they can also
/// register: it is sent to them if the server sends mail and the caller's own address is verified, and else in the response.
/// The response is the same whether or not a user has this email. Inviting the same email again replaces the earlier
/// invitation and its link.
#[utoipa::path(
    post, path = "/api/workspaces/{id}/members", tag = "Workspaces", security(("bearer" = [])),
    params(("id" = WorkspaceId, Path, description = "Workspace")), request_body = AddMemberRequest,
    responses(
        (status = 201, description = "Invited", body = Enveloped<Invitation>),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN or QUOTA_EXCEEDED", body = ErrorBody),
        (status = 404, description = "WORKSPACE_NOT_FOUND", body = ErrorBody),
        (status = 409, description = "CONFLICT: they are already a member", body = ErrorBody),
        (status = 429, description = "RATE_LIMITED", body = ErrorBody),
    )
)]
async fn add_member(
    State(app): State<App>,
    Member(scope): Member,
    Json(request): Json<AddMemberRequest>,
) -> Result<(StatusCode, Enveloped<Invitation>), ApiError> {
    let (manager, now) = (scope.manager()?, app.clock.now());
    not_above(&scope, request.role)?;
    let email = email::read(&request.email)?;
    app.auth_limits.check_invitation(scope.user(), now)?;
    let inviter = accounts::by_id(&mut app.store.reader().await?.db(), scope.user()).await?;
    let inviter = inviter.ok_or(Code::Unauthorized)?;
    // Nobody gets mail in the name of an address that may be somebody else's.
    let outbox = app.outbox.as_ref().filter(|_| inviter.email_verified);
    if outbox.is_some() {
        app.auth_limits.check_letter_by(scope.user(), &email, now)?;
    }
    let (quotas, is_mailed, secret) = (app.quotas, outbox.is_some(), cookie::generate());
    let url = one_time_links::link(&app.base_url, JOIN_PAGE, &secret);
    let invited = app.store.write(move |db| {
        Box::pin(async move {
            if invitations::is_member(db, &scope, &email).await? {
                return Err(Code::Conflict.with("This user is already a member."));
            }
            let invited = invitations::invite(db, &manager, &email, request.role, now).await?;
            let link = NewLink {
                hash: cookie::hash(&secret),
                role: request.role,
                is_single_use: true,
                expires_at: invited.expires_at,
            };
            let of = (invited.id, is_mailed);
            invitation_links::create_for_invitation(db, &manager, of, &link, now).await?;
            let entry = Action::MemberInvited.of(Object::Invitation(invited.id));
            audit::note(db, &manager, entry.with("role", request.role.name())).await?;
            if let Some(workspace) = manager.workspace() {
                let payer = Payer::Workspace(workspace);
                quota::check(db, &quotas, &[(payer, &[Quota::Members])]).await?;
            }
            let workspace = workspaces::name(db, &scope).await?;
            Ok((invited, workspace))
        })
    });
    let (invited, workspace) = invited.await?;
    let mut answer = Invitation::from(invited);
    match outbox {
        Some(outbox) => outbox.leave(outbox::invitation(
            &answer.email,
            &inviter.email,
            &workspace,
            &url,
        ))?,
        None => answer.url = Some(url),
    }
    Ok((StatusCode::CREATED, Enveloped::new(answer)))
}

/// Lists a workspace's pending invitations. Requires the role admin in the workspace.
#[utoipa::path(
    get, path = "/api/workspaces/{id}/invitations", tag = "Workspaces", security(("bearer" = [])),
    params(("id" = WorkspaceId, Path, description = "Workspace")),
    responses(
        (status = 200, description = "The invitations", body = Enveloped<Vec<Invitation>>),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN", body = ErrorBody),
        (status = 404, description = "WORKSPACE_NOT_FOUND", body = ErrorBody),
    )
)]
async fn list_invitations(
    State(app): State<App>,
    Member(scope): Member,
) -> Result<Enveloped<Vec<Invitation>>, ApiError> {
    let (administrator, now) = (scope.administrator()?, app.clock.now());
    let rows = invitations::list(&mut app.store.reader().await?.db(), &administrator, now).await?;
    Ok(Enveloped::new(rows.into_iter().map(Invitation::from).collect()))
}

/// Withdraws an invitation. Requires the role admin in the workspace.
#[utoipa::path(
    delete, path = "/api/workspaces/{id}/invitations/{invitationId}", tag = "Workspaces", security(("bearer" = [])),
    params(
        ("id" = WorkspaceId, Path, description = "Workspace"),
        ("invitationId" = InvitationId, Path, description = "Invitation"),
    ),
    responses(
        (status = 200, description = "Withdrawn", body = Enveloped<Deleted>),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN", body = ErrorBody),
        (status = 404, description = "WORKSPACE_NOT_FOUND or NOT_FOUND", body = ErrorBody),
    )
)]
async fn withdraw_invitation(
    State(app): State<App>,
    Member(scope): Member,
    Path(path): Path<(WorkspaceId, InvitationId)>,
) -> Result<Enveloped<Deleted>, ApiError> {
    let (manager, (_, invitation)) = (scope.manager()?, path);
    let withdrawn = app.store.write(move |db| {
        Box::pin(async move {
            let gone = Action::InvitationWithdrawn.of(Object::Invitation(invitation));
            audit::note(db, &manager, gone).await?;
            match invitations::withdraw(db, &manager, invitation).await? {
                true => Ok::<(), ApiError>(()),
                false => Err(Code::NotFound
                    .with("This workspace has no such invitation.")
                    .into()),
            }
        })
    });
    withdrawn.await?;
    Ok(Deleted::new(invitation))
}

/// A member's new role.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct RoleRequest {
    role: WorkspaceRole,
}

/// Changes a member's role. Admins of the workspace can grant roles up to their own.
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
            let entry = Action::MemberRoleChanged
                .of(Object::User(user))
                .with("from", present.role.name())
                .with("to", request.role.name());
            audit::note(db, &manager, entry).await?;
            member(db, &scope, user).await
        })
    });
    Ok(Enveloped::new(changed.await?.into()))
}

/// Removes a member. Requires the role admin in the workspace, but every member can leave. Their tokens for the
/// workspace stop working at once.
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
    if user == scope.user() {
        scope.key_allows(KeyScope::Admin)?;
    } else {
        scope.manager()?;
    }
    let removed = app.store.write(move |db| {
        Box::pin(async move {
            let owners = workspaces::lock_owners(db, &scope).await?;
            let present = member(db, &scope, user).await?;
            not_above(&scope, present.role)?;
            keeps_an_owner(&present, owners)?;
            workspaces::remove_member(db, &scope, user).await?;
            let mut entry = Action::MemberRemoved.of(Object::User(user));
            if let Some(workspace) = scope.workspace() {
                let connections = connections::hand_over(db, workspace, user).await?;
                if connections > 0 {
                    entry = entry.with("connections", connections);
                }
            }
            audit::note(db, &scope, entry).await?;
            Ok::<(), ApiError>(())
        })
    });
    removed.await?;
    Ok(Deleted::new(user))
}

async fn member(db: &mut Db<'_>, scope: &Scope, user: UserId) -> Result<MemberRow, ApiError> {
    let member = workspaces::member(db, scope, user).await?;
    Ok(member.ok_or_else(|| Code::NotFound.with("This workspace has no such member."))?)
}

fn not_above(scope: &Scope, role: WorkspaceRole) -> Result<(), ApiError> {
    if role > scope.role() {
        return Err(Code::Forbidden
            .with("Only owners of the workspace can appoint, change or remove owners.")
            .into());
    }
    Ok(())
}

fn keeps_an_owner(leaving: &MemberRow, owners: i64) -> Result<(), ApiError> {
    if leaving.role == WorkspaceRole::Owner && owners <= 1 {
        return Err(Code::Conflict
            .with("This is the workspace's last owner: make another member an owner first.")
            .into());
    }
    Ok(())
}
