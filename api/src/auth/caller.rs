//! From a request's headers to a caller with rights: the token is checked, then its user and membership are read,
//! so that what was withdrawn works no longer, whatever the token says.

use crate::access::Scope;
use crate::app::App;
use crate::error::{ApiError, Code};
use crate::http::extract::Caller;
use crate::store::accounts;
use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;

/// The caller that the `Authorization` header names.
pub async fn check(app: &App, headers: &HeaderMap) -> Result<Caller, ApiError> {
    let token = bearer(headers).ok_or(Code::Unauthorized)?;
    let claims = app.tokens.check(token)?;
    let mut reader = app.store.reader().await?;
    let standing = accounts::standing(&mut reader.db(), claims.sub, claims.workspace_id)
        .await?
        .ok_or(Code::Unauthorized)?;
    let membership = match claims.workspace_id {
        None => None,
        Some(workspace) => {
            let role = standing.workspace_role.ok_or_else(|| {
                Code::Unauthorized.with("You are no longer a member of the token's workspace.")
            })?;
            Some((workspace, role))
        }
    };
    Ok(Caller {
        scope: Scope::checked(claims.sub, membership),
        role: standing.role,
        email: standing.email,
    })
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}
