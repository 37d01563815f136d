//! `/api/auth/authenticator`: codes of an authenticator (TOTP) as a second factor of signing in by a password, and the recovery
//! codes that stand in for one that was lost.

use super::account::proved;
use super::auth::BODY_BYTES_MAX;
use super::client_ip::ClientIp;
use super::extract::{Json, LoggedIn};
use super::reply::Enveloped;
use crate::app::App;
use crate::http::error::{ApiError, ErrorBody};
use axum::extract::{DefaultBodyLimit, State};
use heddle_model::Code;
use heddle_model::audit::{Action, Object};
use heddle_model::clock::Timestamp;
use heddle_service::auth::{second_factor, totp};
use heddle_store::audit::{self, Log};
use heddle_store::authenticators;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// What authenticators show as the service's name.
const SERVICE: &str = "heddle";

pub fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(get_authenticator, begin_authenticator))
        .routes(routes!(confirm_authenticator))
        .routes(routes!(make_recovery_codes))
        .routes(routes!(remove_authenticator))
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
}

/// Whether the caller has an authenticator.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Authenticator {
    /// Whether signing in by a password asks for its code.
    active: bool,
    /// Since when; null: it does not.
    since: Option<Timestamp>,
    /// How many recovery codes are left.
    recovery_codes_left: i64,
}

/// Gets whether the caller has an authenticator.
#[utoipa::path(
    get, path = "/api/auth/authenticator", tag = "Authentication", security(("bearer" = [])),
    responses(
        (status = 200, description = "The authenticator", body = Enveloped<Authenticator>),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN: with an API key", body = ErrorBody),
    )
)]
async fn get_authenticator(
    State(app): State<App>,
    LoggedIn { caller, .. }: LoggedIn,
) -> Result<Enveloped<Authenticator>, ApiError> {
    let user = caller.scope.user();
    let mut reader = app.store.reader().await?;
    let found = authenticators::find(&mut reader.db(), user).await?;
    let since = found.and_then(|found| found.confirmed_at);
    Ok(Enveloped::new(Authenticator {
        active: since.is_some(),
        since: since.map(Timestamp::from_millis),
        recovery_codes_left: authenticators::count_recovery_codes(&mut reader.db(), user).await?,
    }))
}

/// The caller's password.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct BeginRequest {
    #[schema(example = "correct-horse", max_length = 1024)]
    current_password: String,
}

/// What an authenticator is to be given.
#[derive(Serialize, ToSchema)]
struct NewAuthenticator {
    /// The secret in base32, to be typed.
    #[schema(example = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP")]
    secret: String,
    /// The secret as an address that authenticators read, also from a QR code.
    #[schema(example = "otpauth://totp/heddle:ann%40example.com?secret=…")]
    url: String,
    /// The address as a QR code, as SVG.
    #[schema(example = "<svg …>")]
    qr: String,
}

/// Makes a secret for an authenticator, which counts once `confirm` has shown a first code. Making another one replaces it.
#[utoipa::path(
    post, path = "/api/auth/authenticator", tag = "Authentication", security(("bearer" = [])),
    request_body = BeginRequest,
    responses(
        (status = 200, description = "The secret, shown this once", body = Enveloped<NewAuthenticator>),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED, TOKEN_EXPIRED, or INVALID_CREDENTIALS: the current password is wrong", body = ErrorBody),
        (status = 403, description = "FORBIDDEN: with an API key", body = ErrorBody),
        (status = 409, description = "CONFLICT: the caller has an authenticator, no password, or, where mail is sent, no verified address", body = ErrorBody),
        (status = 429, description = "RATE_LIMITED", body = ErrorBody),
    )
)]
async fn begin_authenticator(
    State(app): State<App>,
    ip: ClientIp,
    LoggedIn { caller, login }: LoggedIn,
    Json(request): Json<BeginRequest>,
) -> Result<Enveloped<NewAuthenticator>, ApiError> {
    let user = proved(&app, ip, (&caller, &login), Some(request.current_password)).await?;
    if user.password_hash.is_none() {
        return Err(Code::Conflict
            .with("Codes are only used with a password, and you have none: set one first.")
            .into());
    }
    // Whoever reads the mail of an address that is not verified gets the account without a code.
    if app.outbox.is_some() && !user.email_verified {
        return Err(Code::Conflict
            .with("Your email address is not verified: a message to it could be used to remove the authenticator. Verify it first.")
            .into());
    }
    let (id, now, vault) = (user.id, app.clock.now(), app.vault.clone());
    let secret = totp::generate();
    let stored = secret.clone();
    let begun = app
        .store
        .write(move |db| Box::pin(async move { authenticators::begin(db, &vault, id, &stored, now).await }));
    if !begun.await? {
        return Err(Code::Conflict
            .with("You already have an authenticator: remove it first.")
            .into());
    }
    let url = totp::url(&secret, &user.email, SERVICE);
    Ok(Enveloped::new(NewAuthenticator {
        secret: totp::base32(&secret),
        qr: totp::qr(&url)?,
        url,
    }))
}

/// A first code.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct ConfirmRequest {
    /// What the authenticator shows now.
    #[schema(example = "123456", max_length = 64)]
    code: String,
}

/// Codes that stand in for the authenticator, each once.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct RecoveryCodes {
    #[schema(example = json!(["abcd-efgh-ijkl-mnop"]))]
    recovery_codes: Vec<String>,
}

/// Takes the authenticator into use, whose code this is: signing in by a password asks for one from now on.
#[utoipa::path(
    post, path = "/api/auth/authenticator/confirm", tag = "Authentication", security(("bearer" = [])),
    request_body = ConfirmRequest,
    responses(
        (status = 200, description = "Recovery codes, shown this once", body = Enveloped<RecoveryCodes>),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED, TOKEN_EXPIRED, or SECOND_FACTOR_INVALID", body = ErrorBody),
        (status = 403, description = "FORBIDDEN: with an API key", body = ErrorBody),
        (status = 409, description = "CONFLICT: no authenticator is waiting for a first code", body = ErrorBody),
        (status = 429, description = "RATE_LIMITED", body = ErrorBody),
    )
)]
async fn confirm_authenticator(
    State(app): State<App>,
    LoggedIn { caller, .. }: LoggedIn,
    Json(request): Json<ConfirmRequest>,
) -> Result<Enveloped<RecoveryCodes>, ApiError> {
    let (scope, user, now) = (caller.scope, caller.scope.user(), app.clock.now());
    let nothing = || Code::Conflict.with("No authenticator is waiting for its first code: start again.");
    app.auth_limits.check_code(user, now)?;
    let mut reader = app.store.reader().await?;
    let found = authenticators::find(&mut reader.db(), user).await?;
    let found = found.filter(|found| found.confirmed_at.is_none());
    let found = found.ok_or_else(nothing)?;
    let secret = found.secret(&mut reader.db(), &app.vault, user).await?;
    drop(reader);
    let step = totp::step_of(&secret, &request.code, now).ok_or(Code::SecondFactorInvalid)?;
    let recovery_codes = second_factor::recovery_codes();
    let hashes = second_factor::hashes(&recovery_codes);
    let confirmed = app.store.write(move |db| {
        Box::pin(async move {
            if !authenticators::confirm(db, user, &found, step, now).await? {
                return Err(ApiError::from(nothing()));
            }
            authenticators::set_recovery_codes(db, user, &hashes).await?;
            let added = Action::AuthenticatorAdded.of(Object::User(user));
            audit::note_in(db, Log::Account(user), &scope, added).await?;
            Ok(())
        })
    });
    confirmed.await?;
    Ok(Enveloped::new(RecoveryCodes { recovery_codes }))
}

/// The caller's password, and a code.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct ProofRequest {
    /// May be left out by users who have none, within ten minutes of their login.
    #[schema(example = "correct-horse", max_length = 1024)]
    current_password: Option<String>,
    /// What the authenticator shows, or a recovery code.
    #[schema(example = "123456", max_length = 64)]
    code: String,
}

/// Makes new recovery codes; the ones before no longer count.
#[utoipa::path(
    post, path = "/api/auth/authenticator/recovery-codes", tag = "Authentication", security(("bearer" = [])),
    request_body = ProofRequest,
    responses(
        (status = 200, description = "Recovery codes, shown this once", body = Enveloped<RecoveryCodes>),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED, TOKEN_EXPIRED, INVALID_CREDENTIALS, or SECOND_FACTOR_INVALID", body = ErrorBody),
        (status = 403, description = "FORBIDDEN: with an API key", body = ErrorBody),
        (status = 409, description = "CONFLICT: the caller has no authenticator", body = ErrorBody),
        (status = 429, description = "RATE_LIMITED", body = ErrorBody),
    )
)]
async fn make_recovery_codes(
    State(app): State<App>,
    ip: ClientIp,
    LoggedIn { caller, login }: LoggedIn,
    Json(request): Json<ProofRequest>,
) -> Result<Enveloped<RecoveryCodes>, ApiError> {
    let (scope, user) = (caller.scope, caller.scope.user());
    proved(&app, ip, (&caller, &login), request.current_password).await?;
    has_one(&app, &caller).await?;
    second_factor::check(&app, user, Some(&request.code), scope.origin()).await?;
    let recovery_codes = second_factor::recovery_codes();
    let hashes = second_factor::hashes(&recovery_codes);
    let made = app.store.write(move |db| {
        Box::pin(async move {
            authenticators::set_recovery_codes(db, user, &hashes).await?;
            let made = Action::RecoveryCodesMade.of(Object::User(user));
            audit::note_in(db, Log::Account(user), &scope, made).await?;
            Ok::<(), ApiError>(())
        })
    });
    made.await?;
    Ok(Enveloped::new(RecoveryCodes { recovery_codes }))
}

/// The authenticator is gone.
#[derive(Debug, Serialize, ToSchema)]
struct Removed {
    /// Always `removed`.
    #[schema(example = "removed")]
    status: &'static str,
}

/// Removes the authenticator with its recovery codes: signing in asks for the password alone.
#[utoipa::path(
    post, path = "/api/auth/authenticator/remove", tag = "Authentication", security(("bearer" = [])),
    request_body = ProofRequest,
    responses(
        (status = 200, description = "Removed", body = Enveloped<Removed>),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED, TOKEN_EXPIRED, INVALID_CREDENTIALS, or SECOND_FACTOR_INVALID", body = ErrorBody),
        (status = 403, description = "FORBIDDEN: with an API key", body = ErrorBody),
        (status = 409, description = "CONFLICT: the caller has no authenticator", body = ErrorBody),
        (status = 429, description = "RATE_LIMITED", body = ErrorBody),
    )
)]
async fn remove_authenticator(
    State(app): State<App>,
    ip: ClientIp,
    LoggedIn { caller, login }: LoggedIn,
    Json(request): Json<ProofRequest>,
) -> Result<Enveloped<Removed>, ApiError> {
    let (scope, user) = (caller.scope, caller.scope.user());
    proved(&app, ip, (&caller, &login), request.current_password).await?;
    has_one(&app, &caller).await?;
    second_factor::check(&app, user, Some(&request.code), scope.origin()).await?;
    let removed = app.store.write(move |db| {
        Box::pin(async move {
            authenticators::remove(db, user).await?;
            let removed = Action::AuthenticatorRemoved.of(Object::User(user));
            audit::note_in(db, Log::Account(user), &scope, removed).await?;
            Ok::<(), ApiError>(())
        })
    });
    removed.await?;
    Ok(Enveloped::new(Removed { status: "removed" }))
}

async fn has_one(app: &App, caller: &super::extract::Caller) -> Result<(), ApiError> {
    let mut reader = app.store.reader().await?;
    let found = authenticators::find(&mut reader.db(), caller.scope.user()).await?;
    match found.and_then(|found| found.confirmed_at) {
        Some(_) => Ok(()),
        None => Err(Code::Conflict.with("You have no authenticator.").into()),
    }
}
