//! `/api/auth/me/remove`: a user removes their own account.

use super::account::proved;
use super::auth::BODY_BYTES_MAX;
use super::client_ip::ClientIp;
use super::extract::{Json, LoggedIn};
use super::reply::{Deleted, Enveloped};
use crate::app::App;
use crate::http::error::{ApiError, ErrorBody};
use axum::extract::{DefaultBodyLimit, State};
use axum::http::header::{HeaderName, SET_COOKIE};
use heddle_execution::ToTheEnd;
use heddle_service::auth::second_factor;
use heddle_service::removing;
use serde::Deserialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(remove_account))
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
}

/// The caller's password, and a code if they have an authenticator.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct RemoveRequest {
    /// May be left out by users who have none, within ten minutes of their login.
    #[schema(example = "correct-horse", max_length = 1024)]
    current_password: Option<String>,
    /// What the caller's authenticator shows, or a recovery code.
    #[schema(max_length = 64)]
    code: Option<String>,
}

/// Removes the caller's account for good: with it go workspaces that have no other member, with all that is in them, API keys
/// and sessions. What the caller made in workspaces with others stays, and counts as made by the owner of longest standing.
///
/// Refused while the caller is the only owner of a workspace with other members, or of one that is suspended.
#[utoipa::path(
    post, path = "/api/auth/me/remove", tag = "Authentication", security(("bearer" = [])),
    request_body = RemoveRequest,
    responses(
        (status = 200, description = "Removed", body = Enveloped<Deleted>,
         headers(("Set-Cookie" = String, description = "Clears the session"))),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED, TOKEN_EXPIRED, INVALID_CREDENTIALS, SECOND_FACTOR_REQUIRED or SECOND_FACTOR_INVALID", body = ErrorBody),
        (status = 403, description = "FORBIDDEN: with an API key, or too long after the login", body = ErrorBody),
        (status = 409, description = "CONFLICT: workspaces with other members, or suspended ones, have no other owner", body = ErrorBody),
        (status = 429, description = "RATE_LIMITED", body = ErrorBody),
    )
)]
async fn remove_account(
    State(app): State<App>,
    ip: ClientIp,
    LoggedIn { caller, login }: LoggedIn,
    Json(request): Json<RemoveRequest>,
) -> Result<([(HeaderName, String); 1], Enveloped<Deleted>), ApiError> {
    let scope = caller.scope;
    proved(&app, ip, (&caller, &login), request.current_password).await?;
    let code = request.code.as_deref();
    second_factor::check(&app, scope.user(), code, scope.origin()).await?;
    let service = app.clone();
    ToTheEnd::new(async move { removing::remove(&service, scope.user(), scope.origin()).await }).await?;
    Ok(([(SET_COOKIE, app.cookies.taken())], Deleted::new(scope.user())))
}
