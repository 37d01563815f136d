//! `/api/auth`: registration, login and the caller's profile.

use super::client_ip::ClientIp;
use super::extract::{Caller, Json, LoggedIn, printable, text};
use super::reply::Enveloped;
use crate::app::App;
use crate::http::error::{ApiError, ErrorBody};
use axum::extract::{DefaultBodyLimit, State};
use axum::http::StatusCode;
use heddle_model::Code;
use heddle_model::access::{Role, WorkspaceRole};
use heddle_model::audit::{Action, Note, Object, Origin};
use heddle_model::clock::Timestamp;
use heddle_model::ids::{UserId, WorkspaceId};
use heddle_service::audit as service_audit;
use heddle_service::auth::{email, password, token};
use heddle_store::accounts::{self, UserRow};
use heddle_store::audit::{self, Log};
use heddle_store::{StoreError, credentials};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Bytes of a body here, where nobody has to be known: names, an address, a password.
pub(super) const BODY_BYTES_MAX: usize = 16 << 10;

/// The routes.
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
}

/// Registers a user with a workspace of their own.
#[utoipa::path(
    post, path = "/api/auth/register", tag = "Authentication", request_body = RegisterRequest,
    responses(
        (status = 201, description = "Registered", body = Enveloped<Session>),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 403, description = "LOCAL_AUTH_DISABLED", body = ErrorBody),
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
    let first_name = text("firstName", &request.first_name, 100)?;
    let last_name = text("lastName", &request.last_name, 100)?;
    password::acceptable(&request.password)?;
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
        created_at: app.clock.now(),
        email_verified: false,
        generation: 0,
        is_disabled: false,
    };
    let row = user.clone();
    let origin = Origin::from_address(user.created_at, ip.0);
    let address = ip.limit_key().to_string();
    let created = app.store.write(move |db| {
        Box::pin(async move {
            let workspace = accounts::create(db, &row).await?;
            credentials::note_address(db, row.id, &address, row.created_at).await?;
            let told = Way::Password.of(Action::AccountRegistered, row.id);
            audit::note_account(db, row.id, origin, told).await?;
            Ok(workspace)
        })
    });
    match created.await {
        Err(StoreError::Unique) => Err(Code::EmailAlreadyExists.into()),
        created => Ok((user, created?)),
    }
}

/// An email and a password.
#[derive(Deserialize, ToSchema)]
pub(super) struct LoginRequest {
    #[schema(example = "ann@example.com")]
    email: String,
    #[schema(example = "correct-horse")]
    password: String,
}

/// Logs in with email and password.
#[utoipa::path(
    post, path = "/api/auth/login", tag = "Authentication", request_body = LoginRequest,
    responses(
        (status = 200, description = "Logged in", body = Enveloped<Session>),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 401, description = "INVALID_CREDENTIALS", body = ErrorBody),
        (status = 403, description = "LOCAL_AUTH_DISABLED", body = ErrorBody),
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
    may_try(app, &request.email, ip).await?;
    let user = accounts::by_email(&mut app.store.reader().await?.db(), &request.email).await?;
    let hash = user.as_ref().and_then(|user| user.password_hash.clone());
    if request.password.len() > password::BYTES_MAX || !app.passwords.verify(request.password, hash).await? {
        let origin = Origin::from_address(app.clock.now(), ip.0);
        service_audit::note_refused(app, request.email, origin);
        return Err(Code::InvalidCredentials.into());
    }
    Ok(user.ok_or(Code::InvalidCredentials)?)
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
#[derive(Clone, Copy, Debug)]
pub(super) enum Way {
    /// By a password.
    Password,
    /// By the external login.
    External,
}

impl Way {
    /// What the audit log tells of it.
    pub(super) fn of(self, action: Action, user: UserId) -> Note {
        let way = match self {
            Way::Password => "password",
            Way::External => "external",
        };
        action.of(Object::User(user)).with("way", way)
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
#[serde(rename_all = "camelCase")]
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
            let told = Action::ProfileChanged.of(Object::User(user));
            audit::note_in(db, Log::Account(user), &scope, told).await?;
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
