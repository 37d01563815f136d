//! `/api/auth`: the available ways to log in, the external login, and refreshing tokens.

use super::auth::{BODY_BYTES_MAX, Session, Way, logged_in, session};
use super::client_ip::ClientIp;
use super::extract::{Caller, Json, LoggedIn, printable};
use super::reply::Enveloped;
use crate::app::App;
use crate::http::error::{ApiError, ErrorBody};
use axum::extract::{DefaultBodyLimit, State};
use heddle_execution::ToTheEnd;
use heddle_model::Code;
use heddle_model::access::Role;
use heddle_model::audit::{Action, Object, Origin};
use heddle_model::ids::{UserId, WorkspaceId};
use heddle_model::quota::Quotas;
use heddle_service::auth::caller::Credential;
use heddle_service::auth::cookie;
use heddle_service::auth::external::{
    Attempt, ExternalLogin, ExternalProvider, Identity, Login, SINGLE_LOGIN,
};
use heddle_service::auth::registration::{Mode, Registration};
use heddle_service::group_roles::{self, ProviderRoles};
use heddle_service::{joining, notices};
use heddle_store::accounts::{self, UserRow, email_key};
use heddle_store::audit;
use heddle_store::credentials::{self, Cleared};
use heddle_store::{Db, StoreError};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(list_providers))
        .routes(routes!(ext))
        .routes(routes!(refresh))
        .routes(routes!(switch_workspace))
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
}

/// The available ways to log in.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Providers {
    /// Whether users can register and log in with email and password.
    local: bool,
    /// Whether the external login is available.
    ext: bool,
    /// The client id with which to request an authorization code.
    #[serde(skip_serializing_if = "Option::is_none")]
    ext_client_id: Option<String>,
    /// What to call the external login; only if the console can begin it, with `POST /api/session/ext/begin`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "login.example.com")]
    ext_name: Option<String>,
    /// All login providers, of which the fields above have the first; left out where there is one, without `login_providers`.
    #[serde(skip_serializing_if = "Option::is_none")]
    ext_providers: Option<Vec<ExtProvider>>,
    /// Who may register; left out where anybody may.
    #[serde(skip_serializing_if = "Option::is_none")]
    registration: Option<Mode>,
    /// True if the server sends mail, by which passwords can be reset and addresses be verified; otherwise left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    mail: Option<bool>,
    /// The account to try; only in a demo.
    #[serde(skip_serializing_if = "Option::is_none")]
    demo: Option<DemoAccount>,
}

/// A login provider.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct ExtProvider {
    /// What requests name it by, as `provider`.
    #[schema(example = "google")]
    id: String,
    /// What people know it as.
    #[schema(example = "Google")]
    name: String,
    /// The client id with which to request an authorization code.
    client_id: String,
    /// Whether `POST /api/session/ext/begin` begins it.
    is_for_console: bool,
}

impl From<&ExternalLogin> for ExtProvider {
    fn from(login: &ExternalLogin) -> Self {
        ExtProvider {
            id: login.id.clone(),
            name: login.shown_name(),
            client_id: login.client_id.clone(),
            is_for_console: login.is_for_console(),
        }
    }
}

/// An account that everybody may use.
#[derive(Debug, Serialize, ToSchema)]
struct DemoAccount {
    #[schema(example = "demo@heddle.example")]
    email: &'static str,
    password: &'static str,
}

/// Lists the available ways to log in.
#[utoipa::path(
    get, path = "/api/auth/providers", operation_id = "list_login_providers", tag = "Authentication",
    responses((status = 200, description = "The logins", body = Enveloped<Providers>))
)]
async fn list_providers(State(app): State<App>) -> Enveloped<Providers> {
    let first = app.external_logins.named(None);
    let external = first.map(ExternalProvider::settings);
    let all = || app.external_logins.settings().map(ExtProvider::from).collect();
    let is_alone = app
        .external_logins
        .settings()
        .all(|login| login.id == SINGLE_LOGIN);
    Enveloped::new(Providers {
        local: app.config.local_auth,
        ext: external.is_some(),
        ext_client_id: external.map(|external| external.client_id.clone()),
        ext_name: external
            .filter(|external| external.is_for_console())
            .map(ExternalLogin::shown_name),
        ext_providers: (!is_alone).then(all),
        registration: Some(app.registration.mode).filter(|mode| *mode != Mode::Open),
        mail: app.outbox.is_some().then_some(true),
        demo: app.config.demo.map(|login| DemoAccount {
            email: login.email,
            password: login.password,
        }),
    })
}

/// The provider that a request means: the one that it names, or else the first.
pub(super) fn named_provider<'a>(app: &'a App, id: Option<&str>) -> Result<&'a ExternalProvider, ApiError> {
    if app.external_logins.is_empty() {
        return Err(Code::ExtAuthDisabled.into());
    }
    let ids = || app.external_logins.ids().collect::<Vec<_>>().join(", ");
    let named = app.external_logins.named(id);
    named.ok_or_else(|| ApiError::field("provider", format!("must be one of: {}", ids())))
}

/// The outcome of a login at the provider.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ExtRequest {
    /// The authorization code.
    #[schema(example = "SplxlOBeZQQYbYS6WxSbIA", min_length = 1, max_length = 4096)]
    code: String,
    /// The PKCE verifier, if the code was requested with a challenge.
    #[schema(min_length = 43, max_length = 128)]
    code_verifier: Option<String>,
    /// The `state` that came with the code, if the attempt was begun with `POST /api/session/ext/begin`; the verifier is
    /// known then.
    #[schema(max_length = 200)]
    pub(super) state: Option<String>,
    /// The provider at which the code was requested; the first one by default, and with `state` the one at which the attempt
    /// was begun.
    #[schema(max_length = 32, example = "google")]
    provider: Option<String>,
    /// What came with the code as `iss`, if anything did: the code of another provider is refused.
    #[schema(max_length = 2048)]
    iss: Option<String>,
    /// What stands after the `#` of an invitation's link: a user who is new becomes a member of that workspace as well.
    #[schema(max_length = 100)]
    invitation: Option<String>,
}

/// Logs in with an authorization code of a login provider.
///
/// The first login creates the user. An existing user with the same email is linked if the provider has verified the
/// email. If it had not been verified before, all other access to that account is revoked first, which `notice`
/// explains.
#[utoipa::path(
    post, path = "/api/auth/ext", operation_id = "login_with_provider", tag = "Authentication", request_body = ExtRequest,
    responses(
        (status = 200, description = "Logged in", body = Enveloped<Session>),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 401, description = "INVALID_CREDENTIALS: the provider refused the code", body = ErrorBody),
        (status = 403, description = "EXT_AUTH_DISABLED; for new users as with POST /api/auth/register", body = ErrorBody),
        (status = 404, description = "NOT_FOUND: the invitation is no longer valid", body = ErrorBody),
        (status = 409, description = "EMAIL_ALREADY_EXISTS: an account has the email, and the provider has not verified it", body = ErrorBody),
        (status = 429, description = "RATE_LIMITED", body = ErrorBody),
        (status = 503, description = "UNAVAILABLE: the provider does not answer", body = ErrorBody),
    )
)]
async fn ext(
    State(app): State<App>,
    ip: ClientIp,
    Json(request): Json<ExtRequest>,
) -> Result<Enveloped<Session>, ApiError> {
    let Identified { user, notice, way } = identified(&app, ip, request, None).await?;
    let mut session = logged_in(&app, user, ip, way).await?;
    session.notice = notice;
    Ok(Enveloped::new(session))
}

/// Somebody who has logged in at a provider.
pub(super) struct Identified {
    pub user: UserRow,
    /// For them to read.
    pub notice: Option<String>,
    pub way: Way,
}

/// The user who has logged in at a provider.
pub(super) async fn identified(
    app: &App,
    ip: ClientIp,
    request: ExtRequest,
    attempt: Option<Attempt>,
) -> Result<Identified, ApiError> {
    let begun_at = attempt.as_ref().map(Attempt::provider);
    let external = named_provider(app, begun_at.or(request.provider.as_deref()))?;
    let now = app.clock.now();
    app.auth_limits.check_ip(ip.limit_key(), now)?;
    printable("code", &request.code)?;
    if request.code.is_empty() || request.code.len() > 4096 {
        return Err(ApiError::field("code", "must have 1 to 4096 characters"));
    }
    let code_verifier = request.code_verifier.as_deref();
    if code_verifier.is_some_and(|verifier| !(43..=128).contains(&verifier.len())) {
        return Err(ApiError::field("codeVerifier", "must have 43 to 128 characters"));
    }
    let begun = attempt.map(|attempt| (attempt.verifier(), attempt.nonce()));
    let (verifier, nonce) = begun.unzip();
    let login = Login {
        code: &request.code,
        code_verifier: verifier.as_deref().or(code_verifier),
        nonce: nonce.as_deref(),
        issuer: request.iss.as_deref(),
    };
    let identity = external.identify(login, now).await?;
    let arrival = Arrival {
        identity,
        registration: app.registration.clone(),
        invitation: request.invitation.as_deref().map(cookie::hash),
        quotas: app.quotas,
        providers: app.external_logins.ids().map(str::to_owned).collect(),
        origin: Origin::from_address(now, ip.0),
    };
    let way = arrival.way();
    let app = app.clone();
    // What is stored is followed also if they have gone by then, or deployments would go on that are paused.
    let arriving = ToTheEnd::new(async move {
        let written = app
            .store
            .write(move |db| Box::pin(async move { arrived(db, arrival).await }));
        let (user, cleared) = written.await?;
        let notice = match cleared {
            Some(cleared) => Some(apply_cleared(&app, &user, cleared).await),
            None => None,
        };
        Ok::<_, ApiError>((user, notice))
    });
    let (user, notice) = arriving.await?;
    Ok(Identified { user, notice, way })
}

/// Updates the in-memory state after an account was cleared, and describes what was removed.
async fn apply_cleared(app: &App, user: &UserRow, cleared: Cleared) -> String {
    notices::everything_changed(app).await;
    tracing::warn!(
        user = %user.id,
        api_keys = cleared.api_keys,
        members = cleared.members,
        deployments = cleared.deployments,
        "An account with an unverified email now belongs to the user whom the login provider confirmed: its \
         password and tokens were revoked"
    );
    format!(
        "An account with your email address existed before this login, but the address had not been \
         verified. The account is yours now. Its password, tokens and {} API keys no longer work; {} other \
         members were removed from its workspaces, and {} deployments are paused. If you did not make this \
         account yourself, look through its patterns, connections and secrets, and give its webhooks new \
         secrets, before you resume anything.",
        cleared.api_keys, cleared.members, cleared.deployments
    )
}

/// Somebody who comes from the provider.
struct Arrival {
    identity: Identity,
    registration: Registration,
    /// The hash of an invitation's secret.
    invitation: Option<String>,
    quotas: Quotas,
    /// The ids of all providers.
    providers: Vec<String>,
    origin: Origin,
}

impl Arrival {
    fn way(&self) -> Way {
        Way::External(self.identity.provider_id.clone())
    }
}

/// The user that an identity belongs to, with the roles that their groups give them, and what was removed from the account.
async fn arrived(db: &mut Db<'_>, arrival: Arrival) -> Result<(UserRow, Option<Cleared>), ApiError> {
    let (quotas, origin) = (arrival.quotas, arrival.origin);
    let providers = arrival.providers.clone();
    let (provider, roles) = (
        arrival.identity.provider_id.clone(),
        arrival.identity.group_roles.clone(),
    );
    let (user, cleared) = known_or_new(db, arrival).await?;
    if let Some(roles) = roles.filter(|_| !user.is_disabled) {
        let provided = ProviderRoles {
            provider: &provider,
            roles: &roles,
            providers: &providers,
        };
        group_roles::apply(db, &quotas, user.id, &provided, origin).await?;
    }
    Ok((user, cleared))
}

/// The user that an identity belongs to: found by its subject, or else by its verified email, or else created. Also
/// returns what was removed from the account if others may have had access to it.
async fn known_or_new(db: &mut Db<'_>, arrival: Arrival) -> Result<(UserRow, Option<Cleared>), ApiError> {
    let (identity, origin) = (&arrival.identity, arrival.origin);
    let avatar_url = identity.avatar_url.as_deref();
    let vouched =
        |user: &UserRow| identity.email_verified && email_key(&identity.email) == email_key(&user.email);
    if let Some(user) = accounts::by_subject(db, &identity.subject).await? {
        accounts::set_avatar(db, user.id, avatar_url).await?;
        if user.email_verified || !vouched(&user) {
            return Ok((reread(db, user.id).await?, None));
        }
        // Nobody but this subject could have logged in without a password.
        if user.password_hash.is_none() {
            credentials::verify(db, user.id).await?;
            return Ok((reread(db, user.id).await?, None));
        }
        return proven(db, user, identity, origin).await;
    }
    if let Some(user) = accounts::by_email(db, &identity.email).await? {
        if !identity.email_verified {
            return Err(Code::EmailAlreadyExists
                .with("This email is already registered, and the provider has not verified that it is yours.")
                .into());
        }
        if !user.email_verified {
            return proven(db, user, identity, origin).await;
        }
        if !credentials::link(db, user.id, &identity.provider, &identity.subject).await? {
            return Err(Code::EmailAlreadyExists
                .with("This email is already registered, with a different account at the provider.")
                .into());
        }
        accounts::set_avatar(db, user.id, avatar_url).await?;
        return Ok((reread(db, user.id).await?, None));
    }
    Ok((newcomer(db, arrival).await?, None))
}

/// Makes the account of somebody who is new, if they may have one.
async fn newcomer(db: &mut Db<'_>, arrival: Arrival) -> Result<UserRow, ApiError> {
    let way = arrival.way();
    let Arrival {
        identity,
        registration,
        invitation,
        quotas,
        origin,
        ..
    } = arrival;
    registration.admits(&identity.email, invitation.is_some())?;
    if registration.needs_verified() && !identity.email_verified {
        return Err(Code::EmailNotVerified
            .with("The login provider has not verified that the email address is yours.")
            .into());
    }
    let user = UserRow {
        id: UserId::new(),
        email: identity.email,
        first_name: identity.first_name,
        last_name: identity.last_name,
        role: Role::User,
        password_hash: None,
        avatar_url: identity.avatar_url,
        created_at: origin.at,
        email_verified: identity.email_verified,
        generation: 0,
        is_disabled: false,
    };
    match accounts::create(db, &user).await {
        Err(StoreError::Unique) => return Err(Code::EmailAlreadyExists.into()),
        created => created?,
    };
    credentials::link(db, user.id, &identity.provider, &identity.subject).await?;
    audit::note_account(db, user.id, origin, way.of(Action::AccountRegistered, user.id)).await?;
    if let Some(hash) = invitation {
        joining::join(db, &quotas, &user, &hash, origin).await?;
    }
    reread(db, user.id).await
}

/// Transfers an account with an unverified email to the user who has now verified it: all other ways to log in to it,
/// or to act on its behalf, are removed.
async fn proven(
    db: &mut Db<'_>,
    user: UserRow,
    identity: &Identity,
    origin: Origin,
) -> Result<(UserRow, Option<Cleared>), ApiError> {
    let cleared = credentials::clear_unproven(db, user.id, origin.at).await?;
    let entry = Action::AccountProven
        .of(Object::User(user.id))
        .with("apiKeys", cleared.api_keys)
        .with("members", cleared.members)
        .with("deployments", cleared.deployments);
    audit::note_account(db, user.id, origin, entry).await?;
    credentials::verify(db, user.id).await?;
    credentials::link(db, user.id, &identity.provider, &identity.subject).await?;
    accounts::set_avatar(db, user.id, identity.avatar_url.as_deref()).await?;
    Ok((reread(db, user.id).await?, Some(cleared)))
}

async fn reread(db: &mut Db<'_>, user: UserId) -> Result<UserRow, ApiError> {
    Ok(accounts::by_id(db, user).await?.ok_or(Code::Unauthorized)?)
}

/// Issues a new token with the current role and membership. It expires no later than the login that it derives from.
#[utoipa::path(
    post, path = "/api/auth/refresh", operation_id = "refresh_token", tag = "Authentication", security(("bearer" = [])),
    responses(
        (status = 200, description = "A new token", body = Enveloped<Session>),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN: with an API key or a cookie", body = ErrorBody),
    )
)]
async fn refresh(
    State(app): State<App>,
    LoggedIn { caller, login }: LoggedIn,
) -> Result<Enveloped<Session>, ApiError> {
    by_token(&caller)?;
    let scope = caller.scope;
    let membership = scope.workspace().map(|workspace| (workspace, scope.role()));
    let user = accounts::by_id(&mut app.store.reader().await?.db(), scope.user()).await?;
    let user = user.ok_or(Code::Unauthorized)?;
    Ok(Enveloped::new(session(&app, user, membership, &login)?))
}

/// Refuses callers with a cookie. Pages have one so that no script can get hold of a token.
fn by_token(caller: &Caller) -> Result<(), ApiError> {
    if caller.credential == Credential::Cookie {
        let message =
            "A token is issued for a token only: with a cookie, name the workspace in X-Heddle-Workspace.";
        return Err(Code::Forbidden.with(message).into());
    }
    Ok(())
}

/// The workspace to work in.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct SwitchWorkspaceRequest {
    workspace_id: WorkspaceId,
}

/// Issues a token for another of the caller's workspaces.
#[utoipa::path(
    post, path = "/api/auth/switch-workspace", tag = "Authentication", security(("bearer" = [])),
    request_body = SwitchWorkspaceRequest,
    responses(
        (status = 200, description = "A token for that workspace", body = Enveloped<Session>),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN: with an API key or a cookie", body = ErrorBody),
        (status = 404, description = "WORKSPACE_NOT_FOUND", body = ErrorBody),
    )
)]
async fn switch_workspace(
    State(app): State<App>,
    LoggedIn { caller, login }: LoggedIn,
    Json(request): Json<SwitchWorkspaceRequest>,
) -> Result<Enveloped<Session>, ApiError> {
    by_token(&caller)?;
    let (user, workspace) = (caller.scope.user(), request.workspace_id);
    let mut reader = app.store.reader().await?;
    let standing = accounts::standing(&mut reader.db(), user, Some(workspace), None).await?;
    let role = standing.and_then(|standing| standing.workspace_role);
    let role = role.ok_or(Code::WorkspaceNotFound)?;
    let user = accounts::by_id(&mut reader.db(), user)
        .await?
        .ok_or(Code::Unauthorized)?;
    Ok(Enveloped::new(session(
        &app,
        user,
        Some((workspace, role)),
        &login,
    )?))
}
