//! Authenticates a request: checks its token, key or cookie, then reads the user and membership from the database, so that
//! revoked rights stop working at once, whatever the token says.

use super::token::Session;
use super::{api_key, cookie};
use crate::Service;
use heddle_model::access::{KeyScope, Role, Scope};
use heddle_model::audit::Origin;
use heddle_model::clock::Timestamp;
use heddle_model::error::{Code, ServiceError};
use heddle_model::ids::{ApiKeyId, UserId, WorkspaceId};
use heddle_store::api_keys::{self, ApiKeyHolder};
use heddle_store::{StoreError, accounts, sessions};
use http::HeaderMap;
use http::header::AUTHORIZATION;

/// The header by which a request with a cookie names its workspace, so that two tabs can be in two workspaces.
pub const WORKSPACE: &str = "x-heddle-workspace";

/// An authenticated caller.
#[derive(Clone, Debug)]
pub struct Caller {
    /// Rights on tenants' objects.
    pub scope: Scope,
    /// Role in the service.
    pub role: Role,
    /// Email, as registered.
    pub email: String,
    /// How the caller was authenticated.
    pub credential: Credential,
    /// The login that the token or cookie derives from; `None` for API keys.
    pub session: Option<Session>,
    /// When the token or API key expires, or the cookie's session unless it is used again; `None`: never.
    pub expires_at: Option<Timestamp>,
}

impl Caller {
    /// Checks for the role admin in the service, and that an API key, if the caller has one, may do all that its user may.
    pub fn service_admin(&self) -> Result<(), ServiceError> {
        self.scope.key_allows(KeyScope::Admin)?;
        match self.role {
            Role::Admin => Ok(()),
            Role::User => Err(Code::Forbidden.with("This requires the role admin in the service.")),
        }
    }
}

/// How a caller is authenticated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Credential {
    /// By a token from a login.
    Token,
    /// By an API key, which is limited to its workspace and can't create credentials.
    ApiKey,
    /// By a cookie, which browsers send whoever has made the request: changes need a proof that it was our page.
    Cookie,
}

/// What a token, key or cookie says.
struct Claimed {
    user: UserId,
    workspace: Option<WorkspaceId>,
    session: Option<Session>,
    expires_at: Option<Timestamp>,
    credential: Credential,
    limit: Option<KeyScope>,
    api_key: Option<ApiKeyId>,
}

/// The caller that the `Authorization` header names, or without one the cookie.
pub async fn check(service: &Service, headers: &HeaderMap) -> Result<Caller, ServiceError> {
    let claimed = match headers.contains_key(AUTHORIZATION) {
        true => by_header(service, headers).await?,
        false => by_cookie(service, headers).await?,
    };
    let Claimed {
        user,
        workspace,
        session,
        expires_at,
        credential,
        limit,
        api_key,
    } = claimed;
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
        return Err(session_ended());
    }
    let membership = match (workspace, standing.workspace_role) {
        (None, _) => None,
        (Some(workspace), Some(role)) => Some((workspace, role)),
        (Some(_), None) if credential == Credential::Cookie => return Err(Code::WorkspaceNotFound.into()),
        (Some(_), None) => {
            let message = "You are no longer a member of the token's workspace.";
            return Err(Code::Unauthorized.with(message));
        }
    };
    let origin = Origin {
        at: service.clock.now(),
        address: None,
        api_key,
    };
    Ok(Caller {
        scope: Scope::checked(user, membership, origin)
            .limited(limit)
            .suspended_if(standing.is_suspended),
        role: standing.role,
        email: standing.email,
        credential,
        session,
        expires_at,
    })
}

fn session_ended() -> ServiceError {
    Code::Unauthorized.with("This session was ended: log in again.")
}

async fn by_header(service: &Service, headers: &HeaderMap) -> Result<Claimed, ServiceError> {
    let token = bearer(headers).ok_or(Code::Unauthorized)?;
    if api_key::is_key(token) {
        let holder = holder(service, token).await?;
        return Ok(Claimed {
            user: holder.user,
            workspace: holder.workspace,
            session: None,
            expires_at: holder.expires_at,
            credential: Credential::ApiKey,
            limit: holder.scope,
            api_key: Some(holder.id),
        });
    }
    let claims = service.tokens.check(token)?;
    Ok(Claimed {
        user: claims.sub,
        workspace: claims.workspace_id,
        session: Some(claims.session()),
        expires_at: Some(Timestamp::from_millis(claims.exp.saturating_mul(1000))),
        credential: Credential::Token,
        limit: None,
        api_key: None,
    })
}

async fn by_cookie(service: &Service, headers: &HeaderMap) -> Result<Claimed, ServiceError> {
    let secret = service.cookies.secret(headers).ok_or(Code::Unauthorized)?;
    let now = service.clock.now();
    let mut reader = service.store.reader().await?;
    let row = sessions::by_hash(&mut reader.db(), &cookie::hash(secret)).await?;
    let row = row.ok_or_else(session_ended)?;
    if service.tokens.end_of_use(row.began_at, row.used_at) <= now {
        return Err(Code::TokenExpired.into());
    }
    let workspace = match headers.get(WORKSPACE) {
        Some(named) => {
            let named = named.to_str().ok().and_then(|named| named.parse().ok());
            Some(named.ok_or(Code::WorkspaceNotFound)?)
        }
        None => accounts::first_membership(&mut reader.db(), row.user_id)
            .await?
            .map(|(workspace, _)| workspace),
    };
    drop(reader);
    if row.is_use_news(now) {
        let id = row.id;
        let noted = service
            .store
            .write(move |db| Box::pin(async move { sessions::note_use(db, id, now).await }));
        let noted: Result<(), StoreError> = noted.await;
        noted?;
    }
    Ok(Claimed {
        user: row.user_id,
        workspace,
        session: Some(Session {
            id: row.id.to_string(),
            began_at: row.began_at.millis().div_euclid(1000),
            generation: row.generation,
        }),
        expires_at: Some(service.tokens.end_of_use(row.began_at, now)),
        credential: Credential::Cookie,
        limit: None,
        api_key: None,
    })
}

/// Whose key it is.
async fn holder(service: &Service, key: &str) -> Result<ApiKeyHolder, ServiceError> {
    let now = service.clock.now();
    let holder = api_keys::holder(&mut service.store.reader().await?.db(), &api_key::hash(key), now).await?;
    let holder =
        holder.ok_or_else(|| Code::Unauthorized.with("The API key does not exist or was deleted."))?;
    if holder.expires_at.is_some_and(|expires_at| expires_at <= now) {
        return Err(Code::TokenExpired.with("The API key has expired: create a new one."));
    }
    if holder.is_use_news {
        let noted = service
            .store
            .write(move |db| Box::pin(async move { api_keys::note_use(db, holder.id, now).await }));
        let noted: Result<(), StoreError> = noted.await;
        noted?;
    }
    Ok(holder)
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}
