//! Extractors for handlers: the caller, and bodies, queries and paths whose errors are reported by field.

use super::server;
use crate::app::App;
use crate::http::error::ApiError;
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{DefaultBodyLimit, FromRef, FromRequest, FromRequestParts, RawPathParams, Request};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use heddle_execution::budget::Owner;
use heddle_model::Code;
use heddle_model::access::{Role, Scope};
use heddle_model::ids::{UserId, WorkspaceId};
use heddle_service::auth::caller;
use heddle_store::accounts;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use std::ops::Deref;
use utoipa::IntoParams;

/// A caller with a valid token, whose request has been counted against the rate limit for changes.
#[derive(Clone, Debug)]
pub struct Caller(caller::Caller);

impl Deref for Caller {
    type Target = caller::Caller;

    fn deref(&self) -> &caller::Caller {
        &self.0
    }
}

impl<S> FromRequestParts<S> for Caller
where
    App: FromRef<S>,
    S: Send + Sync,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let app = App::from_ref(state);
        let caller = caller::check(&app, &parts.headers).await?;
        if !parts.method.is_safe() {
            app.auth_limits
                .check_write(caller.scope.user(), app.clock.now())?;
        }
        // For what is read after this, the body.
        parts.extensions.insert(caller.scope.user());
        Ok(Caller(caller))
    }
}

/// A caller with a token from a login. API keys can't change credentials.
#[derive(Clone, Debug)]
pub struct LoggedIn(pub Caller);

impl<S> FromRequestParts<S> for LoggedIn
where
    App: FromRef<S>,
    S: Send + Sync,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let caller = Caller::from_request_parts(parts, state).await?;
        if caller.by_api_key {
            return Err(Code::Forbidden
                .with("API keys can't be used here: log in and send that token.")
                .into());
        }
        Ok(LoggedIn(caller))
    }
}

/// The caller's rights in the workspace whose id is the path's first parameter; 404 for those who aren't members.
#[derive(Clone, Copy, Debug)]
pub struct Member(pub Scope);

impl<S> FromRequestParts<S> for Member
where
    App: FromRef<S>,
    S: Send + Sync,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let caller = Caller::from_request_parts(parts, state).await?;
        let app = App::from_ref(state);
        let path = RawPathParams::from_request_parts(parts, state).await;
        let workspace: Option<WorkspaceId> = path
            .ok()
            .and_then(|path| path.iter().next().and_then(|(_, id)| id.parse().ok()));
        let workspace = workspace.ok_or(Code::WorkspaceNotFound)?;
        if caller.by_api_key && caller.scope.workspace() != Some(workspace) {
            return Err(Code::WorkspaceNotFound.into());
        }
        let user = caller.scope.user();
        let standing =
            accounts::standing(&mut app.store.reader().await?.db(), user, Some(workspace), None).await?;
        let role = standing.and_then(|standing| standing.workspace_role);
        let role = role.ok_or(Code::WorkspaceNotFound)?;
        Ok(Member(Scope::checked(user, Some((workspace, role)))))
    }
}

/// A caller with the role admin in the service.
#[derive(Clone, Debug)]
pub struct Admin(pub Caller);

impl<S> FromRequestParts<S> for Admin
where
    App: FromRef<S>,
    S: Send + Sync,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let caller = Caller::from_request_parts(parts, state).await?;
        if caller.role != Role::Admin {
            return Err(Code::Forbidden
                .with("This requires the role admin in the service.")
                .into());
        }
        Ok(Admin(caller))
    }
}

/// A JSON body.
#[derive(Clone, Copy, Debug)]
pub struct Json<T>(pub T);

impl<T, S> FromRequest<S> for Json<T>
where
    T: DeserializeOwned + Send + 'static,
    App: FromRef<S>,
    S: Send + Sync,
{
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        let (is_json, owner) = (is_json(&request), owner(&request));
        let body = read(request, state).await?;
        let size = (body.len(), READ_FACTOR);
        let budget = &App::from_ref(state).budget;
        budget
            .read(owner, size, move || decode(is_json, &body))
            .await?
            .map(Json)
    }
}

/// Factor between the size of a body and the memory it may take once parsed. Graphs and events stay text.
const READ_FACTOR: usize = 8;

/// The user of a request, once it is authenticated.
fn owner(request: &Request) -> Owner {
    request.extensions().get::<UserId>().copied()
}

/// Factor by which bodies with components or a module may be larger than others.
const CODE_FACTOR: usize = 6;

/// A JSON body that may hold components or a module.
#[derive(Clone, Copy, Debug)]
pub struct CodeJson<T>(pub T);

impl<T, S> FromRequest<S> for CodeJson<T>
where
    T: DeserializeOwned + Send + 'static,
    App: FromRef<S>,
    S: Send + Sync,
{
    type Rejection = ApiError;

    async fn from_request(mut request: Request, state: &S) -> Result<Self, ApiError> {
        let bytes_max = App::from_ref(state).config.api_body_bytes_max;
        DefaultBodyLimit::max(bytes_max.saturating_mul(CODE_FACTOR)).apply(&mut request);
        let Json(body) = Json::from_request(request, state).await?;
        Ok(CodeJson(body))
    }
}

/// An optional JSON body: without one, every field has its default.
#[derive(Clone, Copy, Debug)]
pub struct OptionalJson<T>(pub T);

impl<T, S> FromRequest<S> for OptionalJson<T>
where
    T: DeserializeOwned + Default + Send + 'static,
    App: FromRef<S>,
    S: Send + Sync,
{
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        let (is_json, owner) = (is_json(&request), owner(&request));
        let body = read(request, state).await?;
        if body.is_empty() {
            return Ok(OptionalJson(T::default()));
        }
        let size = (body.len(), READ_FACTOR);
        let budget = &App::from_ref(state).budget;
        let read = budget.read(owner, size, move || decode(is_json, &body)).await?;
        read.map(OptionalJson)
    }
}

fn decode<T: DeserializeOwned>(is_json: bool, body: &[u8]) -> Result<T, ApiError> {
    if !is_json {
        return Err(Code::UnsupportedMediaType.into());
    }
    from_json(body)
}

fn is_json(request: &Request) -> bool {
    let Some(Ok(content_type)) = request.headers().get(CONTENT_TYPE).map(|value| value.to_str()) else {
        return false;
    };
    let essence = content_type.split(';').next().unwrap_or_default().trim();
    essence.eq_ignore_ascii_case("application/json")
        || (essence.starts_with("application/") && essence.ends_with("+json"))
}

/// The body's bytes, up to the limit that the router sets.
pub async fn read<S: Send + Sync>(request: Request, state: &S) -> Result<Bytes, ApiError> {
    let body = Bytes::from_request(request, state).await;
    body.map_err(|rejection: BytesRejection| match rejection.status() {
        StatusCode::PAYLOAD_TOO_LARGE => Code::PayloadTooLarge.into(),
        _ => unread(&rejection),
    })
}

/// The error for a body that could not be read completely.
pub fn unread(error: &(dyn std::error::Error + 'static)) -> ApiError {
    let unreadable = || {
        Code::Validation
            .with("The connection broke before the whole body had arrived.")
            .into()
    };
    server::trouble(error).unwrap_or_else(unreadable)
}

/// Parses JSON; errors name the path to the invalid field.
pub fn from_json<T: DeserializeOwned>(body: &[u8]) -> Result<T, ApiError> {
    let mut reader = serde_json::Deserializer::from_slice(body);
    let value = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let path = error.path().to_string();
        json_error(&path, error.inner())
    })?;
    reader.end().map_err(|error| {
        ApiError::field("", format!("the body contains more than one JSON value: {error}"))
    })?;
    Ok(value)
}

fn json_error(path: &str, error: &serde_json::Error) -> ApiError {
    if error.is_syntax() || error.is_eof() {
        return ApiError::field("", format!("the body is not valid JSON: {error}"));
    }
    let text = error.to_string();
    let told = text
        .rsplit_once(" at line ")
        .map_or(text.as_str(), |(told, _)| told);
    let parent = if path == "." { "" } else { path };
    // serde names a missing or unknown field in the message, with the path of the object around it.
    for (opening, said) in [
        ("missing field `", "is missing"),
        ("unknown field `", "is not known"),
    ] {
        if let Some(name) = told.strip_prefix(opening).and_then(|rest| rest.split('`').next()) {
            let path = match parent {
                "" => name.to_owned(),
                _ if parent.ends_with(name) => parent.to_owned(),
                _ => format!("{parent}.{name}"),
            };
            return ApiError::field(path, said);
        }
    }
    ApiError::field(parent, format!("is wrong: {}", without_value(told)))
}

/// serde quotes the value that it can't take, which may be a secret in the wrong place.
fn without_value(told: &str) -> String {
    let Some((found, expected)) = told.rsplit_once(", expected ") else {
        return told.to_owned();
    };
    match found
        .strip_prefix("invalid type: ")
        .or_else(|| found.strip_prefix("invalid value: "))
    {
        Some(found) => {
            let kind = found.split(['"', '`']).next().unwrap_or_default().trim();
            format!("expected {expected}, found {kind}")
        }
        None => told.to_owned(),
    }
}

/// A query string.
#[derive(Clone, Copy, Debug)]
pub struct Query<T>(pub T);

impl<T, S> FromRequestParts<S> for Query<T>
where
    T: DeserializeOwned,
    S: Send + Sync,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let pairs = form_urlencoded::parse(parts.uri.query().unwrap_or_default().as_bytes());
        let reader = serde_html_form::Deserializer::new(pairs);
        serde_path_to_error::deserialize(reader)
            .map(Query)
            .map_err(|error| {
                let message = error.inner().to_string();
                match message
                    .strip_prefix("missing field `")
                    .and_then(|rest| rest.split('`').next())
                {
                    Some(name) => ApiError::field(name, "is missing"),
                    None => ApiError::field(error.path().to_string(), format!("is wrong: {message}")),
                }
            })
    }
}

/// Path parameters; a malformed one is answered with 404.
#[derive(Clone, Copy, Debug)]
pub struct Path<T>(pub T);

impl<T, S> FromRequestParts<S> for Path<T>
where
    T: DeserializeOwned + Send,
    S: Send + Sync,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let path = axum::extract::Path::<T>::from_request_parts(parts, state).await;
        path.map(|path| Path(path.0)).map_err(|_| Code::NotFound.into())
    }
}

/// Checks that a part of a body is an object, and keeps it as text.
pub fn object(path: &str, raw: Box<RawValue>) -> Result<Box<RawValue>, ApiError> {
    let found = match raw.get().bytes().next() {
        Some(b'{') => return Ok(raw),
        Some(b'[') => "sequence",
        Some(b'"') => "string",
        Some(b't' | b'f') => "boolean",
        Some(b'n') => "null",
        _ => "number",
    };
    Err(ApiError::field(
        path,
        format!("is wrong: expected a map, found {found}"),
    ))
}

/// `limit` and `offset` of a list.
#[derive(Clone, Copy, Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct OffsetQuery {
    /// Elements per page, at most 100.
    #[param(minimum = 1, default = 20)]
    pub limit: Option<i64>,
    /// Number of elements to skip.
    #[param(minimum = 0, default = 0)]
    pub offset: Option<i64>,
}

/// `limit` of a list, capped at its maximum.
pub fn limit(limit: Option<i64>, default: i64, max: i64) -> Result<i64, ApiError> {
    match limit.unwrap_or(default) {
        limit if limit < 1 => Err(ApiError::field("limit", "must be at least 1")),
        limit => Ok(limit.min(max)),
    }
}

/// `offset` of a list.
pub fn offset(offset: Option<i64>) -> Result<i64, ApiError> {
    match offset.unwrap_or(0) {
        offset if offset < 0 => Err(ApiError::field("offset", "must not be negative")),
        offset => Ok(offset),
    }
}

/// `page` of a list, from 1.
pub fn page(page: Option<i64>) -> Result<i64, ApiError> {
    match page.unwrap_or(1) {
        page if page < 1 => Err(ApiError::field("page", "must be at least 1")),
        page => Ok(page.min(1 << 40)),
    }
}

/// Checks a name or another short text: not empty, at most `chars_max` characters, and no control characters. Returns
/// it trimmed.
pub fn text(path: &str, value: &str, chars_max: usize) -> Result<String, ApiError> {
    let value = value.trim();
    if value.is_empty() {
        return Err(ApiError::field(path, "must not be empty"));
    }
    if value.chars().count() > chars_max {
        return Err(ApiError::field(
            path,
            format!("must have at most {chars_max} characters"),
        ));
    }
    printable(path, value)?;
    Ok(value.to_owned())
}

/// Rejects control characters except line ends and tabs: databases can't store all of them.
pub fn printable(path: &str, value: &str) -> Result<(), ApiError> {
    if value
        .chars()
        .any(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t'))
    {
        return Err(ApiError::field(path, "must not have control characters"));
    }
    Ok(())
}
