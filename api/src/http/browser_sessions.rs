//! `/api/session` and `/api/sessions`: signing in for browsers. The secret of a session is in a cookie, out of reach of
//! scripts; its token of other clients is never given to a page.

use super::auth::{LoginRequest, Me, RegisterRequest, Way, admit, end_login, recognized, registered};
use super::client_ip::ClientIp;
use super::console::{BUILD, BUILD_HEADER};
use super::extract::{Json, LoggedIn, OptionalJson, Path, name_workspace};
use super::reply::{Deleted, Enveloped};
use super::session::{ExtRequest, Identified, identified, named_provider};
use super::workspaces::Workspace;
use crate::app::App;
use crate::http::error::{ApiError, ErrorBody};
use axum::extract::{DefaultBodyLimit, FromRef, FromRequestParts, State};
use axum::http::HeaderMap;
use axum::http::header::{AUTHORIZATION, HeaderName, SET_COOKIE, USER_AGENT};
use axum::http::request::Parts;
use axum::response::AppendHeaders;
use heddle_model::Code;
use heddle_model::access::WorkspaceRole;
use heddle_model::audit::{Action, Object};
use heddle_model::clock::Timestamp;
use heddle_model::ids::{SessionId, WorkspaceId};
use heddle_service::auth::caller::{self, Credential};
use heddle_service::auth::cookie;
use heddle_service::auth::external::Attempt;
use heddle_store::accounts::{self, UserRow};
use heddle_store::audit::{self, Log};
use heddle_store::sessions::{self, SessionRow};
use heddle_store::{StoreError, workspaces};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Characters of a browser's name that are kept.
const USER_AGENT_CHARS_MAX: usize = 300;

pub fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(sign_in, current_session, sign_out))
        .routes(routes!(sign_up))
        .routes(routes!(sign_in_ext))
        .routes(routes!(begin_sign_in_ext))
        .routes(routes!(list_sessions))
        .routes(routes!(end_session))
        .layer(DefaultBodyLimit::max(super::auth::BODY_BYTES_MAX))
}

/// What is known of the browser that sends a request.
pub(super) struct Browser {
    ip: ClientIp,
    user_agent: String,
    /// Whether another site's page sends the request.
    is_from_elsewhere: bool,
    /// The hash of the secret that it has already.
    secret_hash: Option<String>,
    /// The attempt to sign in elsewhere that it has begun.
    attempt: Option<Attempt>,
}

impl<S> FromRequestParts<S> for Browser
where
    App: FromRef<S>,
    S: Send + Sync,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let app = App::from_ref(state);
        let ip = ClientIp::from_request_parts(parts, state).await?;
        let name = parts.headers.get(USER_AGENT).map(|name| name.as_bytes());
        let name = String::from_utf8_lossy(name.unwrap_or_default());
        let shown = name.chars().filter(|c| !c.is_control());
        Ok(Browser {
            ip,
            user_agent: shown.take(USER_AGENT_CHARS_MAX).collect(),
            is_from_elsewhere: app.cookies.is_from_elsewhere(&parts.headers),
            secret_hash: app.cookies.secret(&parts.headers).map(cookie::hash),
            attempt: app.cookies.attempt(&parts.headers).and_then(Attempt::of_cookie),
        })
    }
}

impl Browser {
    /// Refuses other sites' pages, which could sign somebody in as somebody else.
    fn own_page(&self) -> Result<(), ApiError> {
        match self.is_from_elsewhere {
            false => Ok(()),
            true => Err(Code::Forbidden
                .with("Only heddle's own pages may sign in here: use POST /api/auth/login.")
                .into()),
        }
    }
}

/// A header that sets or clears the cookie.
pub(super) type SetCookie = [(HeaderName, String); 1];

/// Begins a session of a user who has just authenticated.
pub(super) async fn begin(
    app: &App,
    browser: Browser,
    user: &UserRow,
) -> Result<(SetCookie, SessionRow), ApiError> {
    let (secret, now) = (cookie::generate(), app.clock.now());
    let row = SessionRow {
        id: SessionId::new(),
        user_id: user.id,
        generation: user.generation,
        began_at: now,
        used_at: now,
        ip_address: browser.ip.0.to_string(),
        user_agent: browser.user_agent,
    };
    let (new, hash, before) = (row.clone(), cookie::hash(&secret), browser.secret_hash);
    let ended = app.tokens.expired();
    let begun = app.store.write(move |db| {
        Box::pin(async move { sessions::begin(db, &new, &hash, before.as_deref(), ended).await })
    });
    let begun: Result<(), StoreError> = begun.await;
    begun?;
    let given = app.cookies.given(&secret, app.tokens.session_lifetime());
    Ok(([(SET_COOKIE, given)], row))
}

/// Who is signed in.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct CurrentSession {
    user: Me,
    /// The workspaces that the user is a member of; the first one is where requests are that name none.
    workspaces: Vec<Workspace>,
    /// The workspace of this request.
    workspace_id: Option<WorkspaceId>,
    /// The user's role in it.
    workspace_role: Option<WorkspaceRole>,
    /// When the session ends unless it is used again; null for API keys.
    expires_at: Option<Timestamp>,
    /// A notice to show to the user about this login.
    #[serde(skip_serializing_if = "Option::is_none")]
    notice: Option<String>,
}

async fn signed_in(
    app: &App,
    browser: Browser,
    user: UserRow,
    way: Way,
    notice: Option<String>,
) -> Result<(SetCookie, Enveloped<CurrentSession>), ApiError> {
    admit(app, &user, browser.ip, way).await?;
    let (cookie, row) = begin(app, browser, &user).await?;
    let mut reader = app.store.reader().await?;
    let membership = accounts::first_membership(&mut reader.db(), user.id).await?;
    let all = workspaces::of_user(&mut reader.db(), user.id, None).await?;
    let session = CurrentSession {
        user: user.into(),
        workspaces: all.into_iter().map(Workspace::from).collect(),
        workspace_id: membership.map(|(workspace, _)| workspace),
        workspace_role: membership.map(|(_, role)| role),
        expires_at: Some(app.tokens.end_of_use(row.began_at, row.used_at)),
        notice,
    };
    Ok((cookie, Enveloped::new(session)))
}

/// Signs a browser in with email and password: the response sets a cookie that scripts can't read.
///
/// Requests with the cookie may name their workspace in the header `X-Heddle-Workspace`, or where they can't have headers
/// in the query as `workspace`. The session ends when it was not used for as long as a token lasts.
#[utoipa::path(
    post, path = "/api/session", tag = "Authentication", request_body = LoginRequest,
    responses(
        (status = 200, description = "Signed in", body = Enveloped<CurrentSession>,
         headers(("Set-Cookie" = String, description = "The session"))),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 401, description = "INVALID_CREDENTIALS; SECOND_FACTOR_REQUIRED or SECOND_FACTOR_INVALID: the password is right, the code is missing or wrong", body = ErrorBody),
        (status = 403, description = "LOCAL_AUTH_DISABLED; EMAIL_NOT_VERIFIED: another link was sent; FORBIDDEN: another site's page asks", body = ErrorBody),
        (status = 410, description = "GONE: the link to verify the address is no longer valid", body = ErrorBody),
        (status = 429, description = "RATE_LIMITED", body = ErrorBody),
    )
)]
async fn sign_in(
    State(app): State<App>,
    browser: Browser,
    Json(request): Json<LoginRequest>,
) -> Result<(SetCookie, Enveloped<CurrentSession>), ApiError> {
    browser.own_page()?;
    let user = recognized(&app, browser.ip, request).await?;
    signed_in(&app, browser, user, Way::Password, None).await
}

/// Registers a user with a workspace of their own, and signs the browser in.
#[utoipa::path(
    post, path = "/api/session/register", tag = "Authentication", request_body = RegisterRequest,
    responses(
        (status = 200, description = "Registered and signed in", body = Enveloped<CurrentSession>,
         headers(("Set-Cookie" = String, description = "The session"))),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 403, description = "LOCAL_AUTH_DISABLED, REGISTRATION_CLOSED, INVITATION_REQUIRED, EMAIL_DOMAIN_NOT_ALLOWED; EMAIL_NOT_VERIFIED: registered, but not signed in yet; FORBIDDEN: another site's page asks, or the invitation is for another address", body = ErrorBody),
        (status = 404, description = "NOT_FOUND: the invitation is no longer valid", body = ErrorBody),
        (status = 409, description = "EMAIL_ALREADY_EXISTS", body = ErrorBody),
        (status = 429, description = "RATE_LIMITED", body = ErrorBody),
    )
)]
async fn sign_up(
    State(app): State<App>,
    browser: Browser,
    Json(request): Json<RegisterRequest>,
) -> Result<(SetCookie, Enveloped<CurrentSession>), ApiError> {
    browser.own_page()?;
    let (user, _) = registered(&app, browser.ip, request).await?;
    signed_in(&app, browser, user, Way::Password, None).await
}

/// Where to sign in.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct BegunSignIn {
    /// The provider's page to go to. It leads back to the console's `/sign-in/return` with `code` and `state`.
    #[schema(example = "https://login.example.com/authorize?response_type=code&…")]
    authorize_url: String,
}

/// At which provider to sign in.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct BeginSignIn {
    /// The provider's id, of `extProviders`; the first one by default.
    #[schema(example = "google", max_length = 32)]
    provider: Option<String>,
}

/// Begins to sign a browser in at a login provider.
///
/// What the provider answers counts for this browser only, and for ten minutes: a cookie holds what `state`, the proof key
/// (PKCE) and the ID token's nonce derive from.
#[utoipa::path(
    post, path = "/api/session/ext/begin", tag = "Authentication", request_body = Option<BeginSignIn>,
    responses(
        (status = 200, description = "Where to go", body = Enveloped<BegunSignIn>,
         headers(("Set-Cookie" = String, description = "The attempt"))),
        (status = 400, description = "VALIDATION: there is no such provider", body = ErrorBody),
        (status = 403, description = "EXT_AUTH_DISABLED; FORBIDDEN: another site's page asks", body = ErrorBody),
        (status = 429, description = "RATE_LIMITED", body = ErrorBody),
        (status = 503, description = "UNAVAILABLE: the provider does not answer", body = ErrorBody),
    )
)]
async fn begin_sign_in_ext(
    State(app): State<App>,
    browser: Browser,
    OptionalJson(request): OptionalJson<BeginSignIn>,
) -> Result<(SetCookie, Enveloped<BegunSignIn>), ApiError> {
    browser.own_page()?;
    let external = named_provider(&app, request.provider.as_deref())?;
    if !external.settings().is_for_console() {
        return Err(Code::ExtAuthDisabled.into());
    }
    let now = app.clock.now();
    app.auth_limits.check_ip(browser.ip.limit_key(), now)?;
    let attempt = Attempt::begin(&external.settings().id);
    let authorize_url = external.authorize(&attempt, now).await?;
    let given = app.cookies.attempt_given(&attempt.cookie());
    Ok((
        [(SET_COOKIE, given)],
        Enveloped::new(BegunSignIn { authorize_url }),
    ))
}

/// Signs a browser in with an authorization code of a login provider.
#[utoipa::path(
    post, path = "/api/session/ext", tag = "Authentication", request_body = ExtRequest,
    responses(
        (status = 200, description = "Signed in", body = Enveloped<CurrentSession>,
         headers(("Set-Cookie" = String, description = "The session"))),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 401, description = "INVALID_CREDENTIALS: the provider refused the code", body = ErrorBody),
        (status = 403, description = "EXT_AUTH_DISABLED; FORBIDDEN: another site's page asks; for new users as with POST /api/session/register", body = ErrorBody),
        (status = 404, description = "NOT_FOUND: the invitation is no longer valid", body = ErrorBody),
        (status = 409, description = "EMAIL_ALREADY_EXISTS: an account has the email, and the provider has not verified it", body = ErrorBody),
        (status = 429, description = "RATE_LIMITED", body = ErrorBody),
        (status = 503, description = "UNAVAILABLE: the provider does not answer", body = ErrorBody),
    )
)]
async fn sign_in_ext(
    State(app): State<App>,
    browser: Browser,
    Json(request): Json<ExtRequest>,
) -> Result<(AppendHeaders<SetCookie>, (SetCookie, Enveloped<CurrentSession>)), ApiError> {
    browser.own_page()?;
    let attempt = match &request.state {
        None => None,
        Some(state) => Some(answered(&browser, state)?),
    };
    let Identified { user, notice, way } = identified(&app, browser.ip, request, attempt).await?;
    let signed_in = signed_in(&app, browser, user, way, notice).await?;
    Ok((
        AppendHeaders([(SET_COOKIE, app.cookies.attempt_taken())]),
        signed_in,
    ))
}

/// The browser's own attempt, if this is the answer to it: somebody else's code would sign a person in as somebody else.
fn answered(browser: &Browser, state: &str) -> Result<Attempt, ApiError> {
    let attempt = browser.attempt.clone();
    let answered = attempt.filter(|attempt| attempt.is_answered_by(state));
    Ok(answered.ok_or_else(|| {
        Code::InvalidCredentials
            .with("This sign-in was not started in this browser, or was started more than ten minutes ago: start again.")
    })?)
}

/// Whether somebody is signed in, and who.
#[derive(Debug, Serialize, ToSchema)]
struct SessionState {
    /// Null if the request has no cookie, or one whose session has ended.
    session: Option<CurrentSession>,
}

/// Gets who is signed in, with their workspaces.
#[utoipa::path(
    get, path = "/api/session", operation_id = "get_session", tag = "Authentication",
    responses(
        (status = 200, description = "Who is signed in, if anybody is", body = Enveloped<SessionState>,
         headers(("X-Heddle-Build" = String, description = "The build of the console that the server has"))),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED: with a token or an API key", body = ErrorBody),
        (status = 404, description = "WORKSPACE_NOT_FOUND: the request names a workspace that is not the user's", body = ErrorBody),
    )
)]
async fn current_session(
    State(app): State<App>,
    RequestHeaders(headers): RequestHeaders,
) -> Result<([(HeaderName, &'static str); 1], Enveloped<SessionState>), ApiError> {
    let build = [(BUILD_HEADER, BUILD.as_str())];
    let is_nobody = |code: Code| matches!(code, Code::Unauthorized | Code::TokenExpired);
    let caller = match caller::check(&app, &headers).await {
        Ok(caller) => caller,
        Err(error) if !headers.contains_key(AUTHORIZATION) && is_nobody(error.code()) => {
            return Ok((build, Enveloped::new(SessionState { session: None })));
        }
        Err(error) => return Err(error.into()),
    };
    let (scope, user) = (caller.scope, caller.scope.user());
    let mut reader = app.store.reader().await?;
    let row = accounts::by_id(&mut reader.db(), user).await?;
    let only = scope
        .workspace()
        .filter(|_| caller.credential == Credential::ApiKey);
    let all = match (caller.credential, only) {
        (Credential::ApiKey, None) => Vec::new(),
        _ => workspaces::of_user(&mut reader.db(), user, only).await?,
    };
    let session = CurrentSession {
        user: row.ok_or(Code::Unauthorized)?.into(),
        workspaces: all.into_iter().map(Workspace::from).collect(),
        workspace_id: scope.workspace(),
        workspace_role: scope.workspace().map(|_| scope.role()),
        expires_at: caller.expires_at,
        notice: None,
    };
    let state = SessionState {
        session: Some(session),
    };
    Ok((build, Enveloped::new(state)))
}

/// Ends the caller's session, and has the browser forget its cookie. Other sessions and API keys remain.
#[utoipa::path(
    delete, path = "/api/session", tag = "Authentication", security(("bearer" = [])),
    responses(
        (status = 200, description = "Signed out", body = Enveloped<Deleted>,
         headers(("Set-Cookie" = String, description = "Clears the session"))),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN: with an API key, or another site's page asks", body = ErrorBody),
    )
)]
async fn sign_out(
    State(app): State<App>,
    LoggedIn { caller, login }: LoggedIn,
) -> Result<(SetCookie, Enveloped<Deleted>), ApiError> {
    let id = login.id.clone();
    end_login(&app, &caller, login).await?;
    Ok(([(SET_COOKIE, app.cookies.taken())], Deleted::new(id)))
}

/// A session of a browser.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct BrowserSession {
    id: SessionId,
    /// Whether it is the one of this request.
    is_current: bool,
    /// When the user signed in.
    began_at: Timestamp,
    /// When it was last used, to the minute.
    used_at: Timestamp,
    /// When it ends unless it is used again.
    expires_at: Timestamp,
    /// The address from which the user signed in.
    #[schema(example = "192.0.2.7")]
    ip_address: String,
    /// What the browser called itself.
    user_agent: String,
}

/// Lists the browsers in which the caller is signed in, the one used last first.
#[utoipa::path(
    get, path = "/api/sessions", tag = "Authentication", security(("bearer" = [])),
    responses(
        (status = 200, description = "The sessions", body = Enveloped<Vec<BrowserSession>>),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN: with an API key", body = ErrorBody),
    )
)]
async fn list_sessions(
    State(app): State<App>,
    LoggedIn { caller, login }: LoggedIn,
) -> Result<Enveloped<Vec<BrowserSession>>, ApiError> {
    let user = caller.scope.user();
    let rows = sessions::list(&mut app.store.reader().await?.db(), user, app.tokens.expired()).await?;
    let shown = rows.into_iter().map(|row| BrowserSession {
        id: row.id,
        is_current: login.id == row.id.to_string(),
        began_at: row.began_at,
        used_at: row.used_at,
        expires_at: app.tokens.end_of_use(row.began_at, row.used_at),
        ip_address: row.ip_address,
        user_agent: row.user_agent,
    });
    Ok(Enveloped::new(shown.collect()))
}

/// Ends one of the caller's sessions in browsers.
#[utoipa::path(
    delete, path = "/api/sessions/{id}", tag = "Authentication", security(("bearer" = [])),
    params(("id" = SessionId, Path, description = "Session")),
    responses(
        (status = 200, description = "Ended", body = Enveloped<Deleted>),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN: with an API key", body = ErrorBody),
        (status = 404, description = "NOT_FOUND", body = ErrorBody),
    )
)]
async fn end_session(
    State(app): State<App>,
    LoggedIn { caller, .. }: LoggedIn,
    Path(id): Path<SessionId>,
) -> Result<Enveloped<Deleted>, ApiError> {
    let user = caller.scope.user();
    let ended = app.store.write(move |db| {
        Box::pin(async move {
            if !sessions::end(db, user, id).await? {
                return Err(ApiError::from(Code::NotFound));
            }
            let ended = Action::SessionEnded.of(Object::Session(id));
            audit::note_in(db, Log::Account(user), &caller.scope, ended).await?;
            Ok(())
        })
    });
    ended.await?;
    Ok(Deleted::new(id))
}

/// The headers of a request that anybody may send.
struct RequestHeaders(HeaderMap);

impl<S: Send + Sync> FromRequestParts<S> for RequestHeaders {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        name_workspace(parts);
        Ok(RequestHeaders(parts.headers.clone()))
    }
}
