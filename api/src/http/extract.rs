//! Extractors for handlers: the caller, and bodies, queries and paths whose errors are reported by field.

mod arriving;
mod mistakes;
mod scalars;

pub use mistakes::{Misnamed, Others, refuse_misnamed};
pub use scalars::{Scalars, Unfit};

use self::arriving::Sender;
use super::client_ip::ClientIp;
use super::server;
use crate::app::App;
use crate::http::error::ApiError;
use axum::RequestExt;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, FromRef, FromRequest, FromRequestParts, RawPathParams, Request};
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue};
use bytes::Buf;
use heddle_execution::blocking::computing;
use heddle_execution::budget::Owner;
use heddle_model::Code;
use heddle_model::access::Scope;
use heddle_model::ids::{UserId, WorkspaceId};
use heddle_runtime::is_small;
use heddle_service::auth::caller::{self, Credential};
use heddle_service::auth::token::Session;
use heddle_store::asking;
use http_body_util::{BodyExt, LengthLimitError};
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::fmt::Display;
use std::ops::Deref;
use std::str::FromStr;
use subtle::ConstantTimeEq;

/// An authenticated caller, whose request has been counted against the rate limit for changes.
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
        name_workspace(parts);
        let mut caller = caller::check(&app, &parts.headers).await?;
        asking::asked_by(caller.scope.user());
        let ClientIp(address) = ClientIp::from_request_parts(parts, state).await?;
        caller.scope = caller.scope.from_address(address);
        if !parts.method.is_safe() {
            if caller.credential == Credential::Cookie && !app.cookies.is_from_own_page(&parts.headers) {
                return Err(Code::Forbidden
                    .with("With a cookie, only heddle's own pages may change something: send a token or an API key.")
                    .into());
            }
            app.auth_limits
                .check_write(caller.scope.user(), app.clock.now())?;
            let sender = Sender::new(&parts.headers, caller.scope);
            parts.extensions.insert(sender);
        }
        // For what is read after this, the body.
        parts.extensions.insert(caller.scope.user());
        Ok(Caller(caller))
    }
}

/// Takes the workspace from the query if a request with a cookie names none: live tails and downloads can't have headers
/// of their own.
pub(super) fn name_workspace(parts: &mut Parts) {
    if parts.headers.contains_key(AUTHORIZATION) || parts.headers.contains_key(caller::WORKSPACE) {
        return;
    }
    let mut pairs = form_urlencoded::parse(parts.uri.query().unwrap_or_default().as_bytes());
    let Some((_, named)) = pairs.find(|(name, _)| name == "workspace") else {
        return;
    };
    if let Ok(named) = HeaderValue::from_str(&named) {
        parts.headers.insert(caller::WORKSPACE, named);
    }
}

/// A caller who has logged in. API keys can't change credentials.
#[derive(Clone, Debug)]
pub struct LoggedIn {
    /// Who it is.
    pub caller: Caller,
    /// What their token or cookie derives from.
    pub login: Session,
}

impl<S> FromRequestParts<S> for LoggedIn
where
    App: FromRef<S>,
    S: Send + Sync,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let caller = Caller::from_request_parts(parts, state).await?;
        let login = caller.session.clone().ok_or_else(|| {
            Code::Forbidden.with("API keys can't be used here: log in and send that token.")
        })?;
        Ok(LoggedIn { caller, login })
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
        let scope = arriving::member(&app, &caller, workspace).await?;
        if let Some(sender) = parts.extensions.get_mut::<Sender>() {
            sender.set_member(scope);
        }
        Ok(Member(scope))
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
        caller.service_admin()?;
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
        let body = arrived(request, state).await?;
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
        let body = arrived(request, state).await?;
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
    // serde would take an array for an object, field by field.
    if body.trim_ascii_start().starts_with(b"[") {
        return Err(ApiError::field("", "the body must be a JSON object"));
    }
    from_json(body)
}

/// Parses an element of a list that a body holds as text; errors name the path from the body on.
pub fn element<T: DeserializeOwned>(path: &str, element: &RawValue) -> Result<T, ApiError> {
    let mut reader = serde_json::Deserializer::from_str(element.get());
    serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let inner = error.path().to_string();
        let path = match inner.as_str() {
            "." => path.to_owned(),
            inner if inner.starts_with('[') => format!("{path}{inner}"),
            inner => format!("{path}.{inner}"),
        };
        mistakes::of_json(&path, error.inner())
    })
}

/// Whether a request shows this secret as its bearer token, compared in constant time.
pub fn shows_secret(headers: &HeaderMap, secret: &str) -> bool {
    let shown = headers.get(AUTHORIZATION).map(|value| value.as_bytes());
    let Some((scheme, shown)) = shown.and_then(|shown| shown.split_at_checked(7)) else {
        return false;
    };
    // Hashes are of one length, whatever the secrets are.
    let is_right = Sha256::digest(shown).ct_eq(&Sha256::digest(secret));
    scheme.eq_ignore_ascii_case(b"bearer ") && bool::from(is_right)
}

/// The content type without its parameters; empty: none, or not text.
pub fn media_type(headers: &HeaderMap) -> &str {
    let content_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let essence = content_type.and_then(|text| text.split(';').next());
    essence.unwrap_or_default().trim()
}

fn is_json(request: &Request) -> bool {
    let media_type = media_type(request.headers());
    media_type.eq_ignore_ascii_case("application/json")
        || (media_type.starts_with("application/") && media_type.ends_with("+json"))
}

/// The same as [`read`], from a sender who may still do what they could do when the request began.
async fn arrived<S>(mut request: Request, state: &S) -> Result<Bytes, ApiError>
where
    App: FromRef<S>,
    S: Send + Sync,
{
    // Boxed, as what follows: the future of each request would have to carry it.
    let sender = request.extensions_mut().remove::<Sender>().map(Box::new);
    let body = read(request).await?;
    if let Some(sender) = sender {
        let app = App::from_ref(state);
        if sender.is_long_ago(app.clock.now()) {
            Box::pin(sender.look_again(&app)).await?;
        }
    }
    Ok(body)
}

/// The body's bytes, up to the limit that the router sets.
pub async fn read(request: Request) -> Result<Bytes, ApiError> {
    let owner = owner(&request);
    let collected = request.into_limited_body().collect().await;
    let mut pieces = collected.map_err(|error| cut_off(&error))?.aggregate();
    let bytes = pieces.remaining();
    // What came in one piece is not copied.
    if is_small(bytes) || pieces.chunk().len() == bytes {
        return Ok(pieces.copy_to_bytes(bytes));
    }
    // Others wait for this thread.
    let join = computing(owner, move || pieces.copy_to_bytes(bytes));
    Ok(Box::pin(join).await?)
}

/// The error for a body that is larger than the limit, or could not be read.
fn cut_off(error: &axum::Error) -> ApiError {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if error.is::<LengthLimitError>() {
            return Code::PayloadTooLarge.into();
        }
        cause = error.source();
    }
    unread(error)
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
        mistakes::of_json(&path, error.inner())
    })?;
    reader.end().map_err(|error| {
        ApiError::field("", format!("the body contains more than one JSON value: {error}"))
    })?;
    Ok(value)
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
                let (path, message) = (error.path().to_string(), error.inner().to_string());
                let missing = message.strip_prefix("missing field `");
                if let Some(name) = missing.and_then(|rest| rest.split('`').next()) {
                    return ApiError::field(name, "is missing");
                }
                let is_empty = pairs
                    .into_iter()
                    .any(|(name, value)| name == path && value.is_empty());
                let said = match is_empty {
                    true => "is empty: give it a value, or leave it out".to_owned(),
                    false => mistakes::in_words(&message),
                };
                ApiError::field(path, said)
            })
    }
}

/// Reads a number or a truth value of a query, as its field's `deserialize_with`. By itself, the form's reader takes an
/// empty one for one that is not there, and `on` for true, as of a page's form.
pub fn given<'de, D, T>(value: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err: Display>,
{
    let text = Cow::<str>::deserialize(value)?;
    text.parse().map(Some).map_err(D::Error::custom)
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
    match kind(&raw) {
        "an object" => Ok(raw),
        found => Err(ApiError::field(path, format!("must be an object, not {found}"))),
    }
}

/// Checks that a part of a body is a list, and keeps it as text.
pub fn list(path: &str, raw: Box<RawValue>) -> Result<Box<RawValue>, ApiError> {
    match kind(&raw) {
        "an array" => Ok(raw),
        found => Err(ApiError::field(path, format!("must be an array, not {found}"))),
    }
}

/// What JSON calls it.
fn kind(raw: &RawValue) -> &'static str {
    match raw.get().bytes().next() {
        Some(b'{') => "an object",
        Some(b'[') => "an array",
        Some(b'"') => "a string",
        Some(b't' | b'f') => "a boolean",
        Some(b'n') => "null",
        _ => "a number",
    }
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

/// Checks that a text is not longer than what it can be compared with, if there is one.
pub fn at_most(path: &str, value: Option<&str>, chars_max: usize) -> Result<(), ApiError> {
    match value {
        Some(value) if value.chars().count() > chars_max => {
            let message = format!("must have at most {chars_max} characters");
            Err(ApiError::field(path, message))
        }
        _ => Ok(()),
    }
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
