//! `/api/workspaces/{id}/invitation-links` and `/api/invitations`: links by which people join a workspace, and what happens
//! to whoever opens one. The secret of a link is in no path, so that no log has it.

use super::auth::BODY_BYTES_MAX;
use super::client_ip::ClientIp;
use super::extract::{Json, LoggedIn, Member, Path};
use super::reply::{Deleted, Enveloped};
use crate::app::App;
use crate::http::error::{ApiError, ErrorBody};
use axum::extract::{DefaultBodyLimit, State};
use axum::http::StatusCode;
use heddle_model::Code;
use heddle_model::access::WorkspaceRole;
use heddle_model::audit::{Action, Object, Origin};
use heddle_model::clock::Timestamp;
use heddle_model::error::ServiceError;
use heddle_model::ids::{InvitationLinkId, WorkspaceId};
use heddle_model::quota::Quota;
use heddle_service::auth::cookie;
use heddle_service::joining;
use heddle_service::one_time_links::{self, JOIN_PAGE};
use heddle_store::invitation_links::{self, LinkRow, NewLink, OfferRow};
use heddle_store::quota::{self, Payer};
use heddle_store::{accounts, audit};
use serde::{Deserialize, Serialize};
use std::time::Duration;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// How long a link holds that names no time.
const LIFETIME: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// How long a link holds at most.
const LIFETIME_MAX: Duration = Duration::from_secs(90 * 24 * 60 * 60);

pub fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(list_links, create_link))
        .routes(routes!(revoke_link))
        .merge(of_strangers())
}

/// Of whoever has a link, who need not have an account.
fn of_strangers() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(look_at_invitation))
        .routes(routes!(join_by_link))
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
}

/// A link by which people join a workspace.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct InvitationLink {
    id: InvitationLinkId,
    /// The role of those who join by it.
    role: WorkspaceRole,
    /// Whether it ends with its first use.
    single_use: bool,
    /// How many have joined by it.
    uses: i64,
    /// Email of the user who made it. It holds as long as they may invite to this role.
    #[schema(example = "ann@example.com")]
    created_by: String,
    created_at: Timestamp,
    expires_at: Timestamp,
}

impl From<LinkRow> for InvitationLink {
    fn from(row: LinkRow) -> Self {
        InvitationLink {
            id: row.id,
            role: row.role,
            single_use: row.is_single_use,
            uses: row.uses,
            created_by: row.inviter_email,
            created_at: row.created_at,
            expires_at: row.expires_at,
        }
    }
}

/// A new link.
#[derive(Serialize, ToSchema)]
struct NewInvitationLink {
    #[serde(flatten)]
    info: InvitationLink,
    /// The link: whoever has it can join. It is shown only once.
    #[schema(example = "https://heddle.example.com/join#3fQz81hO…")]
    url: String,
}

/// What a new link is for.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct LinkRequest {
    /// The role of those who join by it: at most the caller's own, and not owner, whom only an invitation of an address makes.
    role: WorkspaceRole,
    /// Whether it ends with its first use, as it does unless this is false.
    single_use: Option<bool>,
    /// When it ends: within 90 days. Without it, after seven days.
    expires_at: Option<Timestamp>,
}

impl LinkRequest {
    fn read(&self, secret: &str, now: Timestamp) -> Result<NewLink, ApiError> {
        if self.role == WorkspaceRole::Owner {
            let why = "must be viewer, editor or admin: invite owners by their address";
            return Err(ApiError::field("role", why));
        }
        let expires_at = self.expires_at.unwrap_or_else(|| now.plus(LIFETIME));
        if expires_at <= now || expires_at > now.plus(LIFETIME_MAX) {
            return Err(ApiError::field(
                "expiresAt",
                "must be in the future, within 90 days",
            ));
        }
        Ok(NewLink {
            hash: cookie::hash(secret),
            role: self.role,
            is_single_use: self.single_use.unwrap_or(true),
            expires_at,
        })
    }
}

/// Makes a link by which whoever has it joins a workspace, and can register for that. Requires the role admin in the
/// workspace.
#[utoipa::path(
    post, path = "/api/workspaces/{id}/invitation-links", tag = "Workspaces", security(("bearer" = [])),
    params(("id" = WorkspaceId, Path, description = "Workspace")), request_body = LinkRequest,
    responses(
        (status = 201, description = "The link, shown this once", body = Enveloped<NewInvitationLink>),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN or QUOTA_EXCEEDED", body = ErrorBody),
        (status = 404, description = "WORKSPACE_NOT_FOUND", body = ErrorBody),
        (status = 429, description = "RATE_LIMITED", body = ErrorBody),
    )
)]
async fn create_link(
    State(app): State<App>,
    Member(scope): Member,
    Json(request): Json<LinkRequest>,
) -> Result<(StatusCode, Enveloped<NewInvitationLink>), ApiError> {
    let (manager, now) = (scope.manager()?, app.clock.now());
    let secret = cookie::generate();
    let new = request.read(&secret, now)?;
    app.auth_limits.check_invitation(scope.user(), now)?;
    let quotas = app.quotas;
    let created = app.store.write(move |db| {
        Box::pin(async move {
            let created = invitation_links::create(db, &manager, &new, now).await?;
            let entry = Action::InvitationLinkCreated
                .of(Object::InvitationLink(created.id))
                .with("role", new.role.name())
                .with("singleUse", new.is_single_use);
            audit::note(db, &manager, entry).await?;
            if let Some(workspace) = manager.workspace() {
                let payer = Payer::Workspace(workspace);
                quota::check(db, &quotas, &[(payer, &[Quota::Members])]).await?;
            }
            Ok::<LinkRow, ServiceError>(created)
        })
    });
    let info = created.await?.into();
    let url = one_time_links::link(&app.base_url, JOIN_PAGE, &secret);
    Ok((
        StatusCode::CREATED,
        Enveloped::new(NewInvitationLink { info, url }),
    ))
}

/// Lists the links by which people can join a workspace. Requires the role admin in the workspace.
#[utoipa::path(
    get, path = "/api/workspaces/{id}/invitation-links", tag = "Workspaces", security(("bearer" = [])),
    params(("id" = WorkspaceId, Path, description = "Workspace")),
    responses(
        (status = 200, description = "The links", body = Enveloped<Vec<InvitationLink>>),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN", body = ErrorBody),
        (status = 404, description = "WORKSPACE_NOT_FOUND", body = ErrorBody),
    )
)]
async fn list_links(
    State(app): State<App>,
    Member(scope): Member,
) -> Result<Enveloped<Vec<InvitationLink>>, ApiError> {
    let (administrator, now) = (scope.administrator()?, app.clock.now());
    let rows = invitation_links::list(&mut app.store.reader().await?.db(), &administrator, now).await?;
    Ok(Enveloped::new(
        rows.into_iter().map(InvitationLink::from).collect(),
    ))
}

/// Revokes a link: nobody can join by it any longer. Members who have joined by it stay. Requires the role admin in the
/// workspace.
#[utoipa::path(
    delete, path = "/api/workspaces/{id}/invitation-links/{linkId}", tag = "Workspaces", security(("bearer" = [])),
    params(
        ("id" = WorkspaceId, Path, description = "Workspace"),
        ("linkId" = InvitationLinkId, Path, description = "Link"),
    ),
    responses(
        (status = 200, description = "Revoked", body = Enveloped<Deleted>),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN", body = ErrorBody),
        (status = 404, description = "WORKSPACE_NOT_FOUND or NOT_FOUND", body = ErrorBody),
    )
)]
async fn revoke_link(
    State(app): State<App>,
    Member(scope): Member,
    Path(path): Path<(WorkspaceId, InvitationLinkId)>,
) -> Result<Enveloped<Deleted>, ApiError> {
    let (manager, (_, link)) = (scope.manager()?, path);
    let revoked = app.store.write(move |db| {
        Box::pin(async move {
            if !invitation_links::revoke(db, &manager, link).await? {
                return Err(Code::NotFound.with("This workspace has no such link."));
            }
            let gone = Action::InvitationLinkRevoked.of(Object::InvitationLink(link));
            audit::note(db, &manager, gone).await?;
            Ok(())
        })
    });
    revoked.await?;
    Ok(Deleted::new(link))
}

/// The secret of a link.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct TokenRequest {
    /// What stands after the `#` of the link.
    #[schema(example = "3fQz81hO")]
    token: String,
}

/// What a link offers.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Offer {
    #[schema(example = "Accounting")]
    workspace_name: String,
    /// The role of those who join by it.
    role: WorkspaceRole,
    /// Email of the user who invites.
    #[schema(example = "ann@example.com")]
    invited_by: String,
    /// The only address that may use it; null: any.
    #[schema(example = "bob@example.com")]
    email: Option<String>,
    expires_at: Timestamp,
}

/// Looks at what an invitation's link offers, before one signs in or registers.
#[utoipa::path(
    post, path = "/api/invitations/look", tag = "Authentication", request_body = TokenRequest,
    responses(
        (status = 200, description = "The offer", body = Enveloped<Offer>),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 404, description = "NOT_FOUND: the link is no longer valid", body = ErrorBody),
        (status = 429, description = "RATE_LIMITED", body = ErrorBody),
    )
)]
async fn look_at_invitation(
    State(app): State<App>,
    ip: ClientIp,
    Json(request): Json<TokenRequest>,
) -> Result<Enveloped<Offer>, ApiError> {
    let now = app.clock.now();
    app.auth_limits.check_ip(ip.limit_key(), now)?;
    let origin = Origin::from_address(now, ip.0);
    let hash = cookie::hash(&request.token);
    let offer: OfferRow = joining::offered(&mut app.store.reader().await?.db(), &hash, origin).await?;
    Ok(Enveloped::new(Offer {
        workspace_name: offer.workspace_name,
        role: offer.role,
        invited_by: offer.inviter_email,
        email: offer.email_key,
        expires_at: offer.expires_at,
    }))
}

/// A workspace that the caller has joined.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct JoinedByLink {
    /// For `POST /api/auth/switch-workspace`.
    workspace_id: WorkspaceId,
    #[schema(example = "Accounting")]
    workspace_name: String,
    role: WorkspaceRole,
}

/// Joins a workspace by an invitation's link.
#[utoipa::path(
    post, path = "/api/auth/invitations/join", tag = "Authentication", security(("bearer" = [])),
    request_body = TokenRequest,
    responses(
        (status = 200, description = "The workspace", body = Enveloped<JoinedByLink>),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN: with an API key, or the link is for another address; QUOTA_EXCEEDED", body = ErrorBody),
        (status = 404, description = "NOT_FOUND: the link is no longer valid", body = ErrorBody),
        (status = 409, description = "CONFLICT: the caller is a member already", body = ErrorBody),
    )
)]
async fn join_by_link(
    State(app): State<App>,
    LoggedIn { caller, .. }: LoggedIn,
    Json(request): Json<TokenRequest>,
) -> Result<Enveloped<JoinedByLink>, ApiError> {
    let scope = caller.scope;
    let (hash, quotas) = (cookie::hash(&request.token), app.quotas);
    let joined = app.store.write(move |db| {
        Box::pin(async move {
            let user = accounts::by_id(db, scope.user())
                .await?
                .ok_or(Code::Unauthorized)?;
            joining::join(db, &quotas, &user, &hash, scope.origin()).await
        })
    });
    let joined = joined.await?;
    Ok(Enveloped::new(JoinedByLink {
        workspace_id: joined.workspace_id,
        workspace_name: joined.workspace_name,
        role: joined.role,
    }))
}
