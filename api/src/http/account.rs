//! `/api/auth`: ending logins and changing passwords.

use super::auth::{Session, may_try, session};
use super::client_ip::ClientIp;
use super::extract::{Json, LoggedIn};
use super::reply::Enveloped;
use crate::app::App;
use crate::http::error::{ApiError, ErrorBody};
use axum::extract::State;
use heddle_model::Code;
use heddle_model::clock::Timestamp;
use heddle_service::auth::password;
use heddle_service::auth::token;
use heddle_store::{StoreError, accounts, credentials};
use serde::{Deserialize, Serialize};
use std::time::Duration;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// How long after a login a user without a password may set one, so that a token stolen later can't be used for it.
const RECENT: Duration = Duration::from_secs(10 * 60);

/// The routes.
pub fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(logout))
        .routes(routes!(logout_all))
        .routes(routes!(set_password))
}

/// The result of ending logins.
#[derive(Debug, Serialize, ToSchema)]
struct LoggedOut {
    /// Always `ended`.
    #[schema(example = "ended")]
    status: &'static str,
}

/// Ends the caller's login: revokes this token, and all tokens that were derived from the same login by refreshing or
/// switching workspaces.
#[utoipa::path(
    post, path = "/api/auth/logout", tag = "Authentication", security(("bearer" = [])),
    responses(
        (status = 200, description = "Ended", body = Enveloped<LoggedOut>),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN: with an API key", body = ErrorBody),
    )
)]
async fn logout(
    State(app): State<App>,
    LoggedIn(caller): LoggedIn,
) -> Result<Enveloped<LoggedOut>, ApiError> {
    let login = caller.session.clone().ok_or(Code::Unauthorized)?;
    let (now, until) = (app.clock.now(), app.tokens.end_of(&login));
    let ended = app
        .store
        .write(move |db| Box::pin(async move { credentials::end_session(db, &login.id, until, now).await }));
    let ended: Result<(), StoreError> = ended.await;
    ended?;
    Ok(Enveloped::new(LoggedOut { status: "ended" }))
}

/// Ends all of the caller's logins. API keys remain valid.
#[utoipa::path(
    post, path = "/api/auth/logout-all", tag = "Authentication", security(("bearer" = [])),
    responses(
        (status = 200, description = "Ended", body = Enveloped<LoggedOut>),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN: with an API key", body = ErrorBody),
    )
)]
async fn logout_all(
    State(app): State<App>,
    LoggedIn(caller): LoggedIn,
) -> Result<Enveloped<LoggedOut>, ApiError> {
    let user = caller.scope.user();
    let ended = app
        .store
        .write(move |db| Box::pin(async move { credentials::end_all_sessions(db, user).await }));
    let ended: Result<i64, StoreError> = ended.await;
    ended?;
    Ok(Enveloped::new(LoggedOut { status: "ended" }))
}

/// The current password and the new one.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct PasswordRequest {
    /// May be left out by users who have none, within ten minutes of their login.
    #[schema(example = "correct-horse", max_length = 1024)]
    current_password: Option<String>,
    /// At least 8 characters, including one special character.
    #[schema(example = "battery-staple", min_length = 8, max_length = 1024)]
    new_password: String,
}

/// Changes the caller's password and ends all of their logins, including this one: the response contains a new token.
/// API keys remain valid.
#[utoipa::path(
    put, path = "/api/auth/password", tag = "Authentication", security(("bearer" = [])),
    request_body = PasswordRequest,
    responses(
        (status = 200, description = "Changed, with a new token", body = Enveloped<Session>),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED, TOKEN_EXPIRED, or INVALID_CREDENTIALS: the current password is wrong", body = ErrorBody),
        (status = 403, description = "FORBIDDEN: with an API key, or too long after the login; LOCAL_AUTH_DISABLED", body = ErrorBody),
        (status = 409, description = "CONFLICT: another request changed it at the same time", body = ErrorBody),
        (status = 429, description = "RATE_LIMITED", body = ErrorBody),
    )
)]
async fn set_password(
    State(app): State<App>,
    ip: ClientIp,
    LoggedIn(caller): LoggedIn,
    Json(request): Json<PasswordRequest>,
) -> Result<Enveloped<Session>, ApiError> {
    if !app.config.local_auth {
        return Err(Code::LocalAuthDisabled.into());
    }
    let now = app.clock.now();
    app.auth_limits.check_ip(ip.limit_key(), now)?;
    may_try(&app, &caller.email, ip).await?;
    if let Err(error) = password::acceptable(&request.new_password) {
        return Err(ApiError::field(
            "newPassword",
            error.message().trim_start_matches("`password` ").to_owned(),
        ));
    }
    let user = accounts::by_id(&mut app.store.reader().await?.db(), caller.scope.user()).await?;
    let user = user.ok_or(Code::Unauthorized)?;
    let login = caller.session.clone().ok_or(Code::Unauthorized)?;
    match &user.password_hash {
        None => recent(&login, now)?,
        Some(hash) => {
            let given = request.current_password.unwrap_or_default();
            let is_right =
                given.len() <= password::BYTES_MAX && app.passwords.verify(given, Some(hash.clone())).await?;
            if !is_right {
                return Err(Code::InvalidCredentials
                    .with("The current password is wrong.")
                    .into());
            }
        }
    }
    let hash = password::hash(request.new_password).await?;
    let (id, before) = (user.id, user.password_hash.clone());
    let generation = app.store.write(move |db| {
        Box::pin(async move { credentials::set_password(db, id, before.as_deref(), &hash).await })
    });
    let generation: Result<Option<i64>, StoreError> = generation.await;
    let generation = generation?
        .ok_or_else(|| Code::Conflict.with("The password was changed by another request: log in again."))?;
    let scope = caller.scope;
    let membership = scope.workspace().map(|workspace| (workspace, scope.role()));
    let login = app.tokens.begin(generation);
    Ok(Enveloped::new(session(&app, user, membership, &login)?))
}

fn recent(login: &token::Session, now: Timestamp) -> Result<(), ApiError> {
    let began_at = Timestamp::from_millis(login.began_at.saturating_mul(1000));
    if began_at.plus(RECENT) > now {
        return Ok(());
    }
    Err(Code::Forbidden
        .with("You have no password yet: log in again, and set one within ten minutes.")
        .into())
}
