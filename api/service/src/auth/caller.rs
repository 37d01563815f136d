//! Authenticates a request: checks its token or key, then reads the user and membership from the database, so that
//! revoked rights stop working at once, whatever the token says.

use super::api_key;
use super::token::Session;
use crate::Service;
use heddle_model::access::{Role, Scope};
use heddle_model::error::{Code, ServiceError};
use heddle_model::ids::{UserId, WorkspaceId};
use heddle_store::{StoreError, accounts, api_keys};
use http::HeaderMap;
use http::header::AUTHORIZATION;

/// A caller with a valid token.
#[derive(Clone, Debug)]
pub struct Caller {
    /// Rights on tenants' objects.
    pub scope: Scope,
    /// Role in the service.
    pub role: Role,
    /// Email, as registered.
    pub email: String,
    /// Whether the caller used an API key, which is limited to its workspace and can't create credentials.
    pub by_api_key: bool,
    /// The login that the token derives from; `None` for API keys.
    pub session: Option<Session>,
}

/// The caller that the `Authorization` header names.
pub async fn check(service: &Service, headers: &HeaderMap) -> Result<Caller, ServiceError> {
    let token = bearer(headers).ok_or(Code::Unauthorized)?;
    let (user, workspace, session) = if api_key::is_key(token) {
        let (user, workspace) = holder(service, token).await?;
        (user, workspace, None)
    } else {
        let claims = service.tokens.check(token)?;
        (claims.sub, claims.workspace_id, Some(claims.session()))
    };
    let by_api_key = session.is_none();
    let mut reader = service.store.reader().await?;
    let session_id = session.as_ref().map(|session| session.id.as_str());
    let standing = accounts::standing(&mut reader.db(), user, workspace, session_id)
        .await?
        .ok_or(Code::Unauthorized)?;
    if standing.is_disabled {
        return Err(Code::Unauthorized.with("This account is disabled: contact the operator of the service."));
    }
    let has_ended = |session: &Session| standing.has_ended || session.generation != standing.generation;
    if session.as_ref().is_some_and(has_ended) {
        return Err(Code::Unauthorized.with("This session was ended: log in again."));
    }
    let membership = match workspace {
        None => None,
        Some(workspace) => {
            let role = standing.workspace_role.ok_or_else(|| {
                Code::Unauthorized.with("You are no longer a member of the token's workspace.")
            })?;
            Some((workspace, role))
        }
    };
    Ok(Caller {
        scope: Scope::checked(user, membership),
        role: standing.role,
        email: standing.email,
        by_api_key,
        session,
    })
}

/// The user and workspace of an API key.
async fn holder(service: &Service, key: &str) -> Result<(UserId, Option<WorkspaceId>), ServiceError> {
    let now = service.clock.now();
    let holder = api_keys::holder(&mut service.store.reader().await?.db(), &api_key::hash(key), now).await?;
    let holder =
        holder.ok_or_else(|| Code::Unauthorized.with("The API key does not exist or was deleted."))?;
    if holder.is_use_news {
        let noted = service
            .store
            .write(move |db| Box::pin(async move { api_keys::note_use(db, holder.id, now).await }));
        let noted: Result<(), StoreError> = noted.await;
        noted?;
    }
    Ok((holder.user, holder.workspace))
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}
