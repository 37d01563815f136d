//! `/api/auth`: ending logins and changing passwords.

use super::auth::{User, end_login, may_try};
use super::browser_sessions::{Browser, begin};
use super::client_ip::ClientIp;
use super::extract::{Caller, Json, LoggedIn};
use super::reply::Enveloped;
use crate::app::App;
use crate::http::error::{ApiError, ErrorBody};
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use heddle_model::Code;
use heddle_model::audit::{Action, Object};
use heddle_model::clock::Timestamp;
use heddle_service::auth::caller::Credential;
use heddle_service::auth::{password, token};
use heddle_store::accounts::{self, UserRow};
use heddle_store::audit::{self, Log};
use heddle_store::{StoreError, credentials};
use serde::{Deserialize, Serialize};
use std::time::Duration;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// How long after a login a user without a password may set one or remove the account, so that a token stolen later can't be used for it.
const RECENT: Duration = Duration::from_secs(10 * 60);

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
    LoggedIn { caller, login }: LoggedIn,
) -> Result<Enveloped<LoggedOut>, ApiError> {
    logged_out(end_login(&app, &caller, login).await)
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
    LoggedIn { caller, .. }: LoggedIn,
) -> Result<Enveloped<LoggedOut>, ApiError> {
    let user = caller.scope.user();
    let ended = app.store.write(move |db| {
        Box::pin(async move {
            let ended = Action::SignedOutEverywhere.of(Object::User(user));
            audit::note_in(db, Log::Account(user), &caller.scope, ended).await?;
            credentials::end_all_sessions(db, user).await
        })
    });
    logged_out(ended.await)
}

fn logged_out<T>(ended: Result<T, StoreError>) -> Result<Enveloped<LoggedOut>, ApiError> {
    ended?;
    Ok(Enveloped::new(LoggedOut { status: "ended" }))
}

/// The current password and the new one.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct PasswordRequest {
    /// May be left out by users who have none, within ten minutes of their login.
    #[schema(example = "correct-horse", max_length = 1024)]
    current_password: Option<String>,
    /// At least 8 characters, including one special character.
    #[schema(example = "battery-staple", min_length = 8, max_length = 1024)]
    new_password: String,
}

/// What continues after a change of the password.
#[derive(Serialize, ToSchema)]
struct PasswordChanged {
    /// A new token; not for browsers, which get a new cookie.
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<String>,
    user: User,
}

/// Changes the caller's password and ends all of their logins, including this one: the response contains a new token.
/// API keys remain valid.
#[utoipa::path(
    put, path = "/api/auth/password", tag = "Authentication", security(("bearer" = [])),
    request_body = PasswordRequest,
    responses(
        (status = 200, description = "Changed, with a new token or cookie", body = Enveloped<PasswordChanged>),
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
    LoggedIn { caller, login }: LoggedIn,
    browser: Browser,
    Json(request): Json<PasswordRequest>,
) -> Result<Response, ApiError> {
    if !app.config.local_auth {
        return Err(Code::LocalAuthDisabled.into());
    }
    if let Err(error) = password::acceptable(&request.new_password) {
        return Err(ApiError::field(
            "newPassword",
            error.message().trim_start_matches("`password` ").to_owned(),
        ));
    }
    let user = proved(&app, ip, (&caller, &login), request.current_password).await?;
    let hash = password::hash(request.new_password).await?;
    let (id, before) = (user.id, user.password_hash.clone());
    let scope = caller.scope;
    let generation = app.store.write(move |db| {
        Box::pin(async move {
            let generation = credentials::set_password(db, id, before.as_deref(), &hash).await?;
            if generation.is_some() {
                let changed = Action::PasswordChanged.of(Object::User(id));
                audit::note_in(db, Log::Account(id), &scope, changed).await?;
            }
            Ok(generation)
        })
    });
    let generation: Result<Option<i64>, StoreError> = generation.await;
    let generation = generation?
        .ok_or_else(|| Code::Conflict.with("The password was changed by another request: log in again."))?;
    let user = UserRow { generation, ..user };
    renewed(&app, &caller, browser, user).await
}

/// The caller, who has shown once more that it is they: by their password, or, if they have none, by a login just now.
pub(super) async fn proved(
    app: &App,
    ip: ClientIp,
    (caller, login): (&Caller, &token::Session),
    given: Option<String>,
) -> Result<UserRow, ApiError> {
    let now = app.clock.now();
    app.auth_limits.check_ip(ip.limit_key(), now)?;
    may_try(app, &caller.email, ip).await?;
    let user = accounts::by_id(&mut app.store.reader().await?.db(), caller.scope.user()).await?;
    let user = user.ok_or(Code::Unauthorized)?;
    match &user.password_hash {
        None => recent(login, now)?,
        Some(hash) => {
            let given = given.unwrap_or_default();
            let is_right =
                given.len() <= password::BYTES_MAX && app.passwords.verify(given, Some(hash.clone())).await?;
            if !is_right {
                return Err(Code::InvalidCredentials
                    .with("The current password is wrong.")
                    .into());
            }
        }
    }
    Ok(user)
}

/// A new token or cookie in place of the caller's, which has ended.
async fn renewed(app: &App, caller: &Caller, browser: Browser, user: UserRow) -> Result<Response, ApiError> {
    if caller.credential == Credential::Cookie {
        let (cookie, _) = begin(app, browser, &user).await?;
        let changed = PasswordChanged {
            token: None,
            user: user.into(),
        };
        return Ok((cookie, Enveloped::new(changed)).into_response());
    }
    let scope = caller.scope;
    let membership = scope.workspace().map(|workspace| (workspace, scope.role()));
    let login = app.tokens.begin(user.generation);
    let token = app
        .tokens
        .issue(user.id, &user.email, user.role, membership, &login)?;
    let changed = PasswordChanged {
        token: Some(token),
        user: user.into(),
    };
    Ok(Enveloped::new(changed).into_response())
}

fn recent(login: &token::Session, now: Timestamp) -> Result<(), ApiError> {
    let began_at = Timestamp::from_millis(login.began_at.saturating_mul(1000));
    if began_at.plus(RECENT) > now {
        return Ok(());
    }
    Err(Code::Forbidden
        .with("You have no password: log in again, and do this within ten minutes.")
        .into())
}
