//! `/api/auth`: registration, login and the caller's profile.

use super::client_ip::ClientIp;
use super::extract::{Caller, Json, LoggedIn, at_most, printable, text};
use super::reply::Enveloped;
use crate::app::App;
use crate::http::error::{ApiError, ErrorBody};
use axum::extract::{DefaultBodyLimit, State};
use axum::http::StatusCode;
use heddle_model::Code;
use heddle_model::access::{Role, WorkspaceRole};
use heddle_model::audit::{Action, Note, Object, Origin};
use heddle_model::clock::Timestamp;
use heddle_model::error::ServiceError;
use heddle_model::ids::{UserId, WorkspaceId};
use heddle_service::audit as service_audit;
use heddle_service::auth::{cookie, email, password, second_factor, token};
use heddle_service::{joining, one_time_links};
use heddle_store::accounts::{self, UserRow};
use heddle_store::audit::{self, Log};
use heddle_store::{StoreError, credentials};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Bytes of a body here, where nobody has to be known: names, an address, a password.
pub(super) const BODY_BYTES_MAX: usize = 16 << 10;
/// Characters of an authenticator's code or a recovery code; no code is as long.
const CODE_CHARS_MAX: usize = 64;
/// Characters of the secret in a link that verifies an address.
const VERIFICATION_CHARS_MAX: usize = 100;

pub fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(register))
        .routes(routes!(login))
        .routes(routes!(me, change_me))
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
}

/// A user.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct User {
    id: UserId,
    #[schema(example = "ann@example.com")]
    email: String,
    first_name: String,
    last_name: String,
    role: Role,
    /// URL of the user's picture, for users of the external login.
    #[serde(skip_serializing_if = "Option::is_none")]
    avatar_url: Option<String>,
}

impl From<UserRow> for User {
    fn from(row: UserRow) -> Self {
        User {
            id: row.id,
            email: row.email,
            first_name: row.first_name,
            last_name: row.last_name,
            role: row.role,
            avatar_url: row.avatar_url,
        }
    }
}

/// A token and its user.
#[derive(Serialize, ToSchema)]
pub struct Session {
    /// Send it as `Authorization: Bearer <token>`.
    token: String,
    user: User,
    /// A notice to show to the user about this login.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) notice: Option<String>,
}

/// A new account.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct RegisterRequest {
    #[schema(example = "ann@example.com", max_length = 254)]
    email: String,
    #[schema(example = "Ann", min_length = 1, max_length = 100)]
    first_name: String,
    #[schema(example = "Lee", min_length = 1, max_length = 100)]
    last_name: String,
    /// At least 8 characters, including one special character.
    #[schema(example = "correct-horse", min_length = 8, max_length = 1024)]
    password: String,
    /// What stands after the `#` of an invitation's link: the user becomes a member of that workspace as well.
    #[schema(max_length = 100)]
    invitation: Option<String>,
}

/// Registers a user with a workspace of their own, as far as the server's `registration` allows it.
///
/// A link to verify the address is sent if the server sends mail. With `registration = domains` nobody is signed in before
/// that: the answer is 403 `EMAIL_NOT_VERIFIED` although the account is made.
#[utoipa::path(
    post, path = "/api/auth/register", tag = "Authentication", request_body = RegisterRequest,
    responses(
        (status = 201, description = "Registered", body = Enveloped<Session>),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 403, description = "LOCAL_AUTH_DISABLED, REGISTRATION_CLOSED, INVITATION_REQUIRED, EMAIL_DOMAIN_NOT_ALLOWED; EMAIL_NOT_VERIFIED: registered, but not signed in yet; FORBIDDEN: the invitation is for another address", body = ErrorBody),
        (status = 404, description = "NOT_FOUND: the invitation is no longer valid", body = ErrorBody),
        (status = 409, description = "EMAIL_ALREADY_EXISTS", body = ErrorBody),
        (status = 429, description = "RATE_LIMITED", body = ErrorBody),
    )
)]
async fn register(
    State(app): State<App>,
    ip: ClientIp,
    Json(request): Json<RegisterRequest>,
) -> Result<(StatusCode, Enveloped<Session>), ApiError> {
    let (user, workspace) = registered(&app, ip, request).await?;
    let login = app.tokens.begin(user.generation);
    let session = session(&app, user, Some((workspace, WorkspaceRole::Owner)), &login)?;
    Ok((StatusCode::CREATED, Enveloped::new(session)))
}

/// The new user, and their workspace.
pub(super) async fn registered(
    app: &App,
    ip: ClientIp,
    request: RegisterRequest,
) -> Result<(UserRow, WorkspaceId), ApiError> {
    if !app.config.local_auth {
        return Err(Code::LocalAuthDisabled.into());
    }
    app.auth_limits.check_ip(ip.limit_key(), app.clock.now())?;
    let email = email::read(&request.email)?;
    app.auth_limits.check_email(&email, app.clock.now())?;
    app.registration.admits(&email, request.invitation.is_some())?;
    let first_name = text("firstName", &request.first_name, 100)?;
    let last_name = text("lastName", &request.last_name, 100)?;
    password::acceptable(&request.password)?;
    let origin = Origin::from_address(app.clock.now(), ip.0);
    let invitation = request.invitation.as_deref().map(cookie::hash);
    if let Some(hash) = &invitation {
        joining::offered(&mut app.store.reader().await?.db(), hash, origin).await?;
    }
    app.auth_limits
        .check_registration(ip.limit_key(), app.clock.now())?;
    let user = UserRow {
        id: UserId::new(),
        email,
        first_name,
        last_name,
        role: Role::User,
        password_hash: Some(password::hash(request.password).await?),
        avatar_url: None,
        created_at: origin.at,
        email_verified: false,
        generation: 0,
        is_disabled: false,
    };
    let (address, quotas) = (ip.limit_key().to_string(), app.quotas);
    let created = app.store.write(move |db| {
        Box::pin(async move {
            let workspace = match accounts::create(db, &user).await {
                Err(StoreError::Unique) => return Err(ServiceError::from(Code::EmailAlreadyExists)),
                created => created?,
            };
            credentials::note_address(db, user.id, &address, user.created_at).await?;
            let entry = Way::Password.of(Action::AccountRegistered, user.id);
            audit::note_account(db, user.id, origin, entry).await?;
            if let Some(hash) = invitation {
                joining::join(db, &quotas, &user, &hash, origin).await?;
            }
            let user = accounts::by_id(db, user.id).await?.ok_or(Code::Unauthorized)?;
            Ok((user, workspace))
        })
    });
    let (user, workspace) = created.await?;
    greet(app, &user).await?;
    Ok((user, workspace))
}

/// Sends a new user a link to verify their address, and lets nobody in who must have followed it first.
async fn greet(app: &App, user: &UserRow) -> Result<(), ApiError> {
    if user.email_verified {
        return Ok(());
    }
    if app.outbox.is_some()
        && let Err(error) = one_time_links::send_verification(app, user).await
    {
        tracing::warn!(user = %user.id, "No link to verify the address was sent: {error}");
    }
    match app.registration.needs_verified() {
        true => Err(Code::EmailNotVerified.into()),
        false => Ok(()),
    }
}

/// An email and a password.
#[derive(Deserialize, ToSchema)]
pub(super) struct LoginRequest {
    #[schema(example = "ann@example.com")]
    email: String,
    #[schema(example = "correct-horse")]
    password: String,
    /// The code of the user's authenticator, or one of their recovery codes; only for accounts that have one.
    #[schema(max_length = 64)]
    code: Option<String>,
    /// What stands after the `#` of a link that was sent to verify the address: it is verified by signing in.
    #[schema(max_length = 100)]
    verification: Option<String>,
}

/// Logs in with email and password.
///
/// For an account with an authenticator the answer is 401 `SECOND_FACTOR_REQUIRED` if the password is right: send the same again
/// with `code`. Each code counts once.
#[utoipa::path(
    post, path = "/api/auth/login", tag = "Authentication", request_body = LoginRequest,
    responses(
        (status = 200, description = "Logged in", body = Enveloped<Session>),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 401, description = "INVALID_CREDENTIALS; SECOND_FACTOR_REQUIRED or SECOND_FACTOR_INVALID: the password is right, the code is missing or wrong", body = ErrorBody),
        (status = 403, description = "LOCAL_AUTH_DISABLED; EMAIL_NOT_VERIFIED: another link was sent", body = ErrorBody),
        (status = 410, description = "GONE: the link to verify the address is no longer valid", body = ErrorBody),
        (status = 429, description = "RATE_LIMITED", body = ErrorBody),
    )
)]
async fn login(
    State(app): State<App>,
    ip: ClientIp,
    Json(request): Json<LoginRequest>,
) -> Result<Enveloped<Session>, ApiError> {
    let user = recognized(&app, ip, request).await?;
    Ok(Enveloped::new(logged_in(&app, user, ip, Way::Password).await?))
}

/// The user whose email and password these are.
pub(super) async fn recognized(app: &App, ip: ClientIp, request: LoginRequest) -> Result<UserRow, ApiError> {
    if !app.config.local_auth {
        return Err(Code::LocalAuthDisabled.into());
    }
    app.auth_limits.check_ip(ip.limit_key(), app.clock.now())?;
    printable("email", &request.email)?;
    at_most("code", request.code.as_deref(), CODE_CHARS_MAX)?;
    at_most(
        "verification",
        request.verification.as_deref(),
        VERIFICATION_CHARS_MAX,
    )?;
    may_try(app, &request.email, ip).await?;
    let user = accounts::by_email(&mut app.store.reader().await?.db(), &request.email).await?;
    let hash = user.as_ref().and_then(|user| user.password_hash.clone());
    let origin = Origin::from_address(app.clock.now(), ip.0);
    if request.password.len() > password::BYTES_MAX || !app.passwords.verify(request.password, hash).await? {
        service_audit::note_refused(app, request.email, origin);
        return Err(Code::InvalidCredentials.into());
    }
    let user = user.ok_or(Code::InvalidCredentials)?;
    let checked = second_factor::check(app, user.id, request.code.as_deref(), origin).await;
    if let Err(error) = checked {
        if error.code() == Code::SecondFactorInvalid {
            service_audit::note_refused(app, request.email, origin);
        }
        return Err(error.into());
    }
    at_their_address(app, user, request.verification, origin).await
}

/// Verifies the address of somebody who has the link that was sent there, and lets nobody in who must have it.
async fn at_their_address(
    app: &App,
    user: UserRow,
    verification: Option<String>,
    origin: Origin,
) -> Result<UserRow, ApiError> {
    if user.email_verified || user.is_disabled {
        return Ok(user);
    }
    if let Some(secret) = verification {
        one_time_links::verify(app, user.id, &secret, origin).await?;
        return Ok(UserRow {
            email_verified: true,
            ..user
        });
    }
    greet_again(app, &user).await?;
    Ok(user)
}

/// Sends another link to somebody who can't sign in without.
async fn greet_again(app: &App, user: &UserRow) -> Result<(), ApiError> {
    match app.registration.needs_verified() {
        true => greet(app, user).await,
        false => Ok(()),
    }
}

/// Counts a login attempt for this email, or rejects it. Addresses from which the user has logged in before are counted
/// separately, so that strangers' attempts can't lock the user out.
pub(super) async fn may_try(app: &App, email: &str, ip: ClientIp) -> Result<(), ApiError> {
    let now = app.clock.now();
    let Err(refused) = app.auth_limits.check_email(email, now) else {
        return Ok(());
    };
    let address = ip.limit_key().to_string();
    let mut reader = app.store.reader().await?;
    if credentials::is_known(&mut reader.db(), email, &address, now).await? {
        return Ok(app.auth_limits.check_known(email, ip.limit_key(), now)?);
    }
    Err(refused.into())
}

/// The session of a user who has just authenticated from this address.
pub(super) async fn logged_in(app: &App, user: UserRow, ip: ClientIp, way: Way) -> Result<Session, ApiError> {
    admit(app, &user, ip, way).await?;
    let membership = accounts::first_membership(&mut app.store.reader().await?.db(), user.id).await?;
    let login = app.tokens.begin(user.generation);
    session(app, user, membership, &login)
}

/// How somebody proves who they are.
#[derive(Clone, Debug)]
pub(super) enum Way {
    Password,
    /// By the login provider with this id.
    External(String),
}

impl Way {
    /// What the audit log tells of it.
    pub(super) fn of(&self, action: Action, user: UserId) -> Note {
        let entry = action.of(Object::User(user));
        match self {
            Way::Password => entry.with("way", "password"),
            Way::External(provider) => entry.with("way", "external").with("provider", provider.as_str()),
        }
    }
}

/// Lets a user in who has just authenticated from this address, which is remembered.
pub(super) async fn admit(app: &App, user: &UserRow, ip: ClientIp, way: Way) -> Result<(), ApiError> {
    if user.is_disabled {
        let origin = Origin::from_address(app.clock.now(), ip.0);
        service_audit::note_refused(app, user.email.clone(), origin);
        return Err(Code::InvalidCredentials
            .with("This account is disabled: contact the operator of the service.")
            .into());
    }
    let (now, address) = (app.clock.now(), ip.limit_key().to_string());
    let mut reader = app.store.reader().await?;
    let is_news = credentials::is_address_news(&mut reader.db(), &user.email, &address, now).await?;
    drop(reader);
    let (id, origin) = (user.id, Origin::from_address(now, ip.0));
    let noted = app.store.write(move |db| {
        Box::pin(async move {
            if is_news {
                credentials::note_address(db, id, &address, now).await?;
            }
            audit::note_account(db, id, origin, way.of(Action::SignedIn, id)).await
        })
    });
    let noted: Result<(), StoreError> = noted.await;
    Ok(noted?)
}

/// The caller's profile.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Me {
    id: UserId,
    email: String,
    first_name: String,
    last_name: String,
    role: Role,
    avatar_url: Option<String>,
    created_at: Timestamp,
    /// Whether the email has been verified, by the external login or by the operator.
    email_verified: bool,
}

impl From<UserRow> for Me {
    fn from(user: UserRow) -> Self {
        Me {
            id: user.id,
            email: user.email,
            first_name: user.first_name,
            last_name: user.last_name,
            role: user.role,
            avatar_url: user.avatar_url,
            created_at: user.created_at,
            email_verified: user.email_verified,
        }
    }
}

/// Gets the caller's profile.
#[utoipa::path(
    get, path = "/api/auth/me", operation_id = "get_me", tag = "Authentication", security(("bearer" = [])),
    responses(
        (status = 200, description = "The caller", body = Enveloped<Me>),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
    )
)]
async fn me(State(app): State<App>, caller: Caller) -> Result<Enveloped<Me>, ApiError> {
    let user = accounts::by_id(&mut app.store.reader().await?.db(), caller.scope.user()).await?;
    let user = user.ok_or(Code::Unauthorized)?;
    Ok(Enveloped::new(user.into()))
}

/// Changes of the caller's profile; what is left out stays.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct ProfileChanges {
    #[schema(example = "Ann", min_length = 1, max_length = 100)]
    first_name: Option<String>,
    #[schema(example = "Lee", min_length = 1, max_length = 100)]
    last_name: Option<String>,
}

/// Changes the caller's name.
#[utoipa::path(
    patch, path = "/api/auth/me", tag = "Authentication", security(("bearer" = [])),
    request_body = ProfileChanges,
    responses(
        (status = 200, description = "The caller", body = Enveloped<Me>),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN: with an API key", body = ErrorBody),
    )
)]
async fn change_me(
    State(app): State<App>,
    LoggedIn { caller, .. }: LoggedIn,
    Json(changes): Json<ProfileChanges>,
) -> Result<Enveloped<Me>, ApiError> {
    let name = |field, name: Option<String>| name.map(|name| text(field, &name, 100)).transpose();
    let first_name = name("firstName", changes.first_name)?;
    let last_name = name("lastName", changes.last_name)?;
    let (user, scope) = (caller.scope.user(), caller.scope);
    let changed = app.store.write(move |db| {
        Box::pin(async move {
            accounts::rename(db, user, first_name.as_deref(), last_name.as_deref()).await?;
            let entry = Action::ProfileChanged.of(Object::User(user));
            audit::note_in(db, Log::Account(user), &scope, entry).await?;
            accounts::by_id(db, user).await
        })
    });
    let changed: Result<Option<UserRow>, StoreError> = changed.await;
    Ok(Enveloped::new(changed?.ok_or(Code::Unauthorized)?.into()))
}

/// Ends the caller's login.
pub(super) async fn end_login(app: &App, caller: &Caller, login: token::Session) -> Result<(), StoreError> {
    let (scope, now, until) = (caller.scope, app.clock.now(), app.tokens.end_of(&login));
    let ended = app.store.write(move |db| {
        Box::pin(async move {
            let (log, ended) = (Log::Account(scope.user()), Object::User(scope.user()));
            audit::note_in(db, log, &scope, Action::SignedOut.of(ended)).await?;
            credentials::end_session(db, &login.id, until, now).await
        })
    });
    ended.await
}

/// Issues a token for this user in this workspace.
pub(super) fn session(
    app: &App,
    user: UserRow,
    membership: Option<(WorkspaceId, WorkspaceRole)>,
    login: &token::Session,
) -> Result<Session, ApiError> {
    let token = app
        .tokens
        .issue(user.id, &user.email, user.role, membership, login)?;
    Ok(Session {
        token,
        user: user.into(),
        notice: None,
    })
}
