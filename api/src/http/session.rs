//! `/api/auth`: which logins there are, the external one, and new tokens for old ones.

use super::auth::{Session, session};
use super::client_ip::ClientIp;
use super::extract::{Json, LoggedIn, printable};
use super::reply::Enveloped;
use crate::access::Role;
use crate::app::App;
use crate::auth::external::{Identity, Login};
use crate::clock::Timestamp;
use crate::error::{ApiError, Code, ErrorBody};
use crate::ids::{UserId, WorkspaceId};
use crate::store::accounts::{self, UserRow};
use crate::store::{Db, StoreError};
use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// The routes.
pub fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(list_providers))
        .routes(routes!(ext))
        .routes(routes!(refresh))
        .routes(routes!(switch_workspace))
}

/// Which logins there are.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Providers {
    /// Registration and login by email and password.
    local: bool,
    /// The external login.
    ext: bool,
    /// The client id to get an authorization code with.
    #[serde(skip_serializing_if = "Option::is_none")]
    ext_client_id: Option<String>,
}

/// Tells which logins there are.
#[utoipa::path(
    get, path = "/api/auth/providers", tag = "Authentication",
    responses((status = 200, description = "The logins", body = Enveloped<Providers>))
)]
async fn list_providers(State(app): State<App>) -> Enveloped<Providers> {
    let external = app.config.external_login.as_ref();
    Enveloped::new(Providers {
        local: app.config.local_auth,
        ext: external.is_some(),
        ext_client_id: external.map(|external| external.client_id.clone()),
    })
}

/// The outcome of a login at the provider.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct ExtRequest {
    /// The authorization code.
    #[schema(example = "SplxlOBeZQQYbYS6WxSbIA", min_length = 1, max_length = 4096)]
    code: String,
    /// The PKCE verifier, if the code was asked for with a challenge.
    #[schema(min_length = 43, max_length = 128)]
    code_verifier: Option<String>,
}

/// Logs in by an authorization code of the external provider. The first login makes the user; a user with the same
/// email is taken over if the provider has verified it.
#[utoipa::path(
    post, path = "/api/auth/ext", tag = "Authentication", request_body = ExtRequest,
    responses(
        (status = 200, description = "Logged in", body = Enveloped<Session>),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 401, description = "INVALID_CREDENTIALS: the provider refused the code", body = ErrorBody),
        (status = 403, description = "EXT_AUTH_DISABLED", body = ErrorBody),
        (status = 409, description = "EMAIL_ALREADY_EXISTS: and the provider has not verified it", body = ErrorBody),
        (status = 429, description = "RATE_LIMITED", body = ErrorBody),
        (status = 503, description = "UNAVAILABLE: the provider does not answer", body = ErrorBody),
    )
)]
async fn ext(
    State(app): State<App>,
    ip: ClientIp,
    Json(request): Json<ExtRequest>,
) -> Result<Enveloped<Session>, ApiError> {
    let external = app.external_login.as_ref().ok_or(Code::ExtAuthDisabled)?;
    let now = app.clock.now();
    app.auth_limits.check_ip(ip, now)?;
    printable("code", &request.code)?;
    if request.code.is_empty() || request.code.len() > 4096 {
        return Err(ApiError::field("code", "must have 1 to 4096 characters"));
    }
    let code_verifier = request.code_verifier.as_deref();
    if code_verifier.is_some_and(|verifier| !(43..=128).contains(&verifier.len())) {
        return Err(ApiError::field("codeVerifier", "must have 43 to 128 characters"));
    }
    let login = Login {
        code: &request.code,
        code_verifier,
    };
    let identity = external.identify(login, now).await?;
    let user = app
        .store
        .write(move |db| Box::pin(async move { known_or_new(db, identity, now).await }))
        .await?;
    let membership = accounts::first_membership(&mut app.store.reader().await?.db(), user.id).await?;
    Ok(Enveloped::new(session(&app, user, membership)?))
}

/// The user that an identity belongs to: by its subject, else by its verified email, else a new one.
async fn known_or_new(db: &mut Db<'_>, identity: Identity, now: Timestamp) -> Result<UserRow, ApiError> {
    if let Some(user) = accounts::by_subject(db, &identity.subject).await? {
        accounts::set_avatar(db, user.id, identity.avatar_url.as_deref()).await?;
        return Ok(UserRow {
            avatar_url: identity.avatar_url.or(user.avatar_url),
            ..user
        });
    }
    if let Some(user) = accounts::by_email(db, &identity.email).await? {
        let linked = identity.email_verified
            && accounts::link(db, user.id, &identity.subject, identity.avatar_url.as_deref()).await?;
        if !linked {
            return Err(Code::EmailAlreadyExists.with(
                "A user with this email is registered, and the provider has not verified that it is yours.",
            ));
        }
        return Ok(UserRow {
            avatar_url: identity.avatar_url.or(user.avatar_url),
            ..user
        });
    }
    let user = UserRow {
        id: UserId::new(),
        email: identity.email,
        first_name: identity.first_name,
        last_name: identity.last_name,
        role: Role::User,
        password_hash: None,
        avatar_url: identity.avatar_url,
        created_at: now,
    };
    match accounts::create(db, &user).await {
        Err(StoreError::Unique) => return Err(Code::EmailAlreadyExists.into()),
        created => created?,
    };
    accounts::link(db, user.id, &identity.subject, None).await?;
    Ok(user)
}

/// Gives a new token, with the role and membership of now.
#[utoipa::path(
    post, path = "/api/auth/refresh", tag = "Authentication", security(("bearer" = [])),
    responses(
        (status = 200, description = "A new token", body = Enveloped<Session>),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN: with an API key", body = ErrorBody),
    )
)]
async fn refresh(State(app): State<App>, LoggedIn(caller): LoggedIn) -> Result<Enveloped<Session>, ApiError> {
    let scope = caller.scope;
    let membership = scope.workspace().map(|workspace| (workspace, scope.role()));
    let user = accounts::by_id(&mut app.store.reader().await?.db(), scope.user()).await?;
    let user = user.ok_or(Code::Unauthorized)?;
    Ok(Enveloped::new(session(&app, user, membership)?))
}

/// The workspace to work in.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct SwitchWorkspaceRequest {
    workspace_id: WorkspaceId,
}

/// Gives a token for another of the caller's workspaces.
#[utoipa::path(
    post, path = "/api/auth/switch-workspace", tag = "Authentication", security(("bearer" = [])),
    request_body = SwitchWorkspaceRequest,
    responses(
        (status = 200, description = "A token for that workspace", body = Enveloped<Session>),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN: with an API key", body = ErrorBody),
        (status = 404, description = "WORKSPACE_NOT_FOUND", body = ErrorBody),
    )
)]
async fn switch_workspace(
    State(app): State<App>,
    LoggedIn(caller): LoggedIn,
    Json(request): Json<SwitchWorkspaceRequest>,
) -> Result<Enveloped<Session>, ApiError> {
    let (user, workspace) = (caller.scope.user(), request.workspace_id);
    let mut reader = app.store.reader().await?;
    let standing = accounts::standing(&mut reader.db(), user, Some(workspace)).await?;
    let role = standing.and_then(|standing| standing.workspace_role);
    let role = role.ok_or(Code::WorkspaceNotFound)?;
    let user = accounts::by_id(&mut reader.db(), user)
        .await?
        .ok_or(Code::Unauthorized)?;
    Ok(Enveloped::new(session(&app, user, Some((workspace, role)))?))
}
