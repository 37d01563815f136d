//! `/api/auth/password/…` and `/api/auth/verification`: another password by a link, and verifying an address. Nothing here tells
//! whether somebody has an account.

use super::auth::BODY_BYTES_MAX;
use super::client_ip::ClientIp;
use super::extract::{Json, LoggedIn};
use super::reply::Enveloped;
use crate::app::App;
use crate::http::error::{ApiError, ErrorBody};
use axum::extract::{DefaultBodyLimit, State};
use heddle_execution::ToTheEnd;
use heddle_model::audit::Origin;
use heddle_model::{Code, ServiceError};
use heddle_service::auth::{email, password};
use heddle_service::{notices, one_time_links};
use heddle_store::accounts;
use heddle_store::credentials::Cleared;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(forgot_password))
        .routes(routes!(reset_password))
        .routes(routes!(send_verification))
        .routes(routes!(verify_address))
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
}

/// Whose password is to be another one.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct ForgotRequest {
    #[schema(example = "ann@example.com", max_length = 254)]
    email: String,
}

/// A letter that is sent, if there is somebody to send it to.
#[derive(Debug, Serialize, ToSchema)]
struct LetterSent {
    /// Always `sent`.
    #[schema(example = "sent")]
    status: &'static str,
}

/// Has a link for another password sent to an address, if a user has it.
///
/// The answer is the same whether anybody has it or not. The link works once, within an hour; a letter goes to an address at
/// most five times an hour.
#[utoipa::path(
    post, path = "/api/auth/password/forgot", tag = "Authentication", request_body = ForgotRequest,
    responses(
        (status = 200, description = "Sent, if there is such a user", body = Enveloped<LetterSent>),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 403, description = "LOCAL_AUTH_DISABLED or MAIL_DISABLED", body = ErrorBody),
        (status = 429, description = "RATE_LIMITED", body = ErrorBody),
    )
)]
async fn forgot_password(
    State(app): State<App>,
    ip: ClientIp,
    Json(request): Json<ForgotRequest>,
) -> Result<Enveloped<LetterSent>, ApiError> {
    if !app.config.local_auth {
        return Err(Code::LocalAuthDisabled.into());
    }
    if app.outbox.is_none() {
        return Err(Code::MailDisabled
            .with("This server sends no mail: ask its operator for a link to reset your password.")
            .into());
    }
    let (email, now) = (email::read(&request.email)?, app.clock.now());
    app.auth_limits.check_ip(ip.limit_key(), now)?;
    app.auth_limits.check_letter_from(ip.limit_key(), &email, now)?;
    one_time_links::send_reset(&app, email, Origin::from_address(now, ip.0));
    Ok(Enveloped::new(LetterSent { status: "sent" }))
}

/// A link for another password, and the password.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct ResetRequest {
    /// What stands after the `#` of the link.
    #[schema(example = "3fQz81hO")]
    token: String,
    /// At least 8 characters, including one special character.
    #[schema(example = "battery-staple", min_length = 8, max_length = 1024)]
    new_password: String,
}

/// Another password was set.
#[derive(Debug, Serialize, ToSchema)]
struct PasswordReset {
    /// Always `changed`.
    #[schema(example = "changed")]
    status: &'static str,
    /// What the user should know of the account now.
    #[serde(skip_serializing_if = "Option::is_none")]
    notice: Option<String>,
}

/// Sets another password by a link, which is used up, and ends all of the user's logins. API keys remain valid, and so does an
/// authenticator.
///
/// A link that was sent to an address which was not verified before proves that the address is its reader's: then all other
/// access to the account is revoked first, as with the external login, which `notice` explains.
#[utoipa::path(
    post, path = "/api/auth/password/reset", tag = "Authentication", request_body = ResetRequest,
    responses(
        (status = 200, description = "Changed: log in with it", body = Enveloped<PasswordReset>),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 403, description = "LOCAL_AUTH_DISABLED", body = ErrorBody),
        (status = 410, description = "GONE: the link is no longer valid", body = ErrorBody),
        (status = 429, description = "RATE_LIMITED", body = ErrorBody),
    )
)]
async fn reset_password(
    State(app): State<App>,
    ip: ClientIp,
    Json(request): Json<ResetRequest>,
) -> Result<Enveloped<PasswordReset>, ApiError> {
    if !app.config.local_auth {
        return Err(Code::LocalAuthDisabled.into());
    }
    let now = app.clock.now();
    app.auth_limits.check_ip(ip.limit_key(), now)?;
    if let Err(error) = password::acceptable(&request.new_password) {
        let why = error.message().trim_start_matches("`password` ").to_owned();
        return Err(ApiError::field("newPassword", why));
    }
    let ResetRequest { token, new_password } = request;
    one_time_links::check_reset(&app, &token).await?;
    let hash = password::hash(new_password).await?;
    let origin = Origin::from_address(now, ip.0);
    // What is stored is followed also if the sender has gone by then, or deployments would go on that are paused.
    let resetting = ToTheEnd::new(async move {
        let cleared = one_time_links::reset(&app, &token, hash, origin).await?;
        if cleared.is_some() {
            notices::everything_changed(&app).await;
        }
        Ok::<_, ServiceError>(cleared)
    });
    let cleared = resetting.await?;
    Ok(Enveloped::new(PasswordReset {
        status: "changed",
        notice: cleared.map(notice),
    }))
}

fn notice(cleared: Cleared) -> String {
    format!(
        "Your email address had not been verified before, so that somebody else may have made this account. It is yours now: \
         {} API keys no longer work, {} other members were removed from its workspaces, and {} deployments are paused. Look \
         through its patterns, connections and secrets before you resume anything.",
        cleared.api_keys, cleared.members, cleared.deployments
    )
}

/// Has a link sent to the caller's address, by which it is verified.
#[utoipa::path(
    post, path = "/api/auth/verification", tag = "Authentication", security(("bearer" = [])),
    responses(
        (status = 200, description = "Sent", body = Enveloped<LetterSent>),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN: with an API key; MAIL_DISABLED", body = ErrorBody),
        (status = 409, description = "CONFLICT: it is verified already", body = ErrorBody),
        (status = 429, description = "RATE_LIMITED", body = ErrorBody),
    )
)]
async fn send_verification(
    State(app): State<App>,
    LoggedIn { caller, .. }: LoggedIn,
) -> Result<Enveloped<LetterSent>, ApiError> {
    let user = accounts::by_id(&mut app.store.reader().await?.db(), caller.scope.user()).await?;
    let user = user.ok_or(Code::Unauthorized)?;
    if user.email_verified {
        return Err(Code::Conflict
            .with("Your email address is already verified.")
            .into());
    }
    one_time_links::send_verification(&app, &user).await?;
    Ok(Enveloped::new(LetterSent { status: "sent" }))
}

/// A link to verify an address.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct VerifyRequest {
    /// What stands after the `#` of the link.
    #[schema(example = "3fQz81hO")]
    token: String,
}

/// The address is verified.
#[derive(Debug, Serialize, ToSchema)]
struct AddressVerified {
    /// Always `verified`.
    #[schema(example = "verified")]
    status: &'static str,
}

/// Verifies the caller's address by the link that was sent there.
#[utoipa::path(
    post, path = "/api/auth/verification/confirm", tag = "Authentication", security(("bearer" = [])),
    request_body = VerifyRequest,
    responses(
        (status = 200, description = "Verified", body = Enveloped<AddressVerified>),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN: with an API key", body = ErrorBody),
        (status = 410, description = "GONE: the link is no longer valid, or belongs to another account", body = ErrorBody),
    )
)]
async fn verify_address(
    State(app): State<App>,
    LoggedIn { caller, .. }: LoggedIn,
    Json(request): Json<VerifyRequest>,
) -> Result<Enveloped<AddressVerified>, ApiError> {
    let scope = caller.scope;
    one_time_links::verify(&app, scope.user(), &request.token, scope.origin()).await?;
    Ok(Enveloped::new(AddressVerified { status: "verified" }))
}
