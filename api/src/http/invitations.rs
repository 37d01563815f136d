//! `/api/auth/invitations`: the caller's invitations to workspaces, to accept or decline.

use super::extract::{LoggedIn, Path};
use super::reply::{Deleted, Enveloped};
use crate::app::App;
use crate::http::error::{ApiError, ErrorBody};
use axum::extract::State;
use heddle_model::Code;
use heddle_model::access::WorkspaceRole;
use heddle_model::audit::{Action, Object};
use heddle_model::clock::Timestamp;
use heddle_model::ids::{InvitationId, UserId, WorkspaceId};
use heddle_store::accounts::{self, UserRow};
use heddle_store::audit::{self, Log};
use heddle_store::invitations::{self, ReceivedRow};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Maximum number of invitations in the list.
const LISTED_MAX: i64 = 100;

pub fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(list_received))
        .routes(routes!(accept))
        .routes(routes!(decline))
}

/// An invitation for the caller.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct ReceivedInvitation {
    id: InvitationId,
    workspace_id: WorkspaceId,
    #[schema(example = "Accounting")]
    workspace_name: String,
    /// The role that the caller is offered.
    role: WorkspaceRole,
    /// Email of the user who sent the invitation.
    #[schema(example = "ann@example.com")]
    invited_by: String,
    created_at: Timestamp,
    /// When it expires, unless it is answered before.
    expires_at: Timestamp,
}

impl From<ReceivedRow> for ReceivedInvitation {
    fn from(row: ReceivedRow) -> Self {
        ReceivedInvitation {
            id: row.id,
            workspace_id: row.workspace_id,
            workspace_name: row.workspace_name,
            role: row.role,
            invited_by: row.inviter_email,
            created_at: row.created_at,
            expires_at: row.expires_at,
        }
    }
}

/// Lists the caller's pending invitations, newest first, at most 100.
#[utoipa::path(
    get, path = "/api/auth/invitations", operation_id = "list_my_invitations", tag = "Authentication", security(("bearer" = [])),
    responses(
        (status = 200, description = "The invitations", body = Enveloped<Vec<ReceivedInvitation>>),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN: with an API key, or the caller's email could be verified but is not", body = ErrorBody),
    )
)]
async fn list_received(
    State(app): State<App>,
    LoggedIn { caller, .. }: LoggedIn,
) -> Result<Enveloped<Vec<ReceivedInvitation>>, ApiError> {
    let user = invited(&app, caller.scope.user()).await?;
    let now = app.clock.now();
    let mut reader = app.store.reader().await?;
    let rows = invitations::received(&mut reader.db(), &user.email, now, LISTED_MAX).await?;
    let rows = rows.into_iter().filter(ReceivedRow::holds);
    Ok(Enveloped::new(rows.map(ReceivedInvitation::from).collect()))
}

/// A workspace that the caller has joined.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Joined {
    /// For `POST /api/auth/switch-workspace`.
    workspace_id: WorkspaceId,
    #[schema(example = "Accounting")]
    workspace_name: String,
    role: WorkspaceRole,
}

/// Accepts an invitation to the caller's address: the caller becomes a member of the workspace.
#[utoipa::path(
    post, path = "/api/auth/invitations/{id}/accept", operation_id = "accept_invitation", tag = "Authentication", security(("bearer" = [])),
    params(("id" = InvitationId, Path, description = "Invitation")),
    responses(
        (status = 200, description = "The workspace", body = Enveloped<Joined>),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN: with an API key, or the caller's email could be verified but is not", body = ErrorBody),
        (status = 404, description = "NOT_FOUND: the invitation does not exist, has expired, or was withdrawn", body = ErrorBody),
    )
)]
async fn accept(
    State(app): State<App>,
    LoggedIn { caller, .. }: LoggedIn,
    Path(id): Path<InvitationId>,
) -> Result<Enveloped<Joined>, ApiError> {
    let user = invited(&app, caller.scope.user()).await?;
    let (now, scope) = (app.clock.now(), caller.scope);
    let joined = app.store.write(move |db| {
        Box::pin(async move {
            let found = invitations::take(db, &user.email, id, now).await?;
            // Whoever invited may have lost the right to it since.
            let mut found = found.filter(ReceivedRow::holds).ok_or_else(gone)?;
            if !invitations::join(db, user.id, &found, now).await? {
                // They have joined in another way since, and stay what they are.
                let standing = accounts::standing(db, user.id, Some(found.workspace_id), None).await?;
                let role = standing.and_then(|standing| standing.workspace_role);
                found.role = role.unwrap_or(found.role);
            }
            let joined = Action::InvitationAccepted.of(Object::User(user.id));
            let joined = joined.with("role", found.role.name());
            audit::note_in(db, Log::Workspace(found.workspace_id), &scope, joined).await?;
            Ok::<_, ApiError>(found)
        })
    });
    let joined = joined.await?;
    Ok(Enveloped::new(Joined {
        workspace_id: joined.workspace_id,
        workspace_name: joined.workspace_name,
        role: joined.role,
    }))
}

/// Declines an invitation. Its sender is not notified, but may send another one.
#[utoipa::path(
    post, path = "/api/auth/invitations/{id}/decline", operation_id = "decline_invitation", tag = "Authentication", security(("bearer" = [])),
    params(("id" = InvitationId, Path, description = "Invitation")),
    responses(
        (status = 200, description = "Declined", body = Enveloped<Deleted>),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN: with an API key, or the caller's email could be verified but is not", body = ErrorBody),
        (status = 404, description = "NOT_FOUND", body = ErrorBody),
    )
)]
async fn decline(
    State(app): State<App>,
    LoggedIn { caller, .. }: LoggedIn,
    Path(id): Path<InvitationId>,
) -> Result<Enveloped<Deleted>, ApiError> {
    let user = invited(&app, caller.scope.user()).await?;
    let (now, scope) = (app.clock.now(), caller.scope);
    let declined = app.store.write(move |db| {
        Box::pin(async move {
            let found = invitations::take(db, &user.email, id, now).await?;
            let found = found.ok_or_else(gone)?;
            let declined = Action::InvitationDeclined.of(Object::User(user.id));
            audit::note_in(db, Log::Workspace(found.workspace_id), &scope, declined).await?;
            Ok::<(), ApiError>(())
        })
    });
    declined.await?;
    Ok(Deleted::new(id))
}

/// The caller, as an invited user. Where emails can be verified, only users with a verified email may answer
/// invitations to it, because anybody can register with somebody else's address.
async fn invited(app: &App, user: UserId) -> Result<UserRow, ApiError> {
    let user = accounts::by_id(&mut app.store.reader().await?.db(), user).await?;
    let user = user.ok_or(Code::Unauthorized)?;
    if app.verifies_addresses() && !user.email_verified {
        return Err(Code::Forbidden.with(
            "Your email address is not verified: open the link in the invitation's email or have one sent from your \
             profile, log in through the login provider, or ask the operator of the service to verify it.",
        ).into());
    }
    Ok(user)
}

fn gone() -> ApiError {
    Code::NotFound
        .with("You have no such invitation: it may have been withdrawn or have expired.")
        .into()
}
