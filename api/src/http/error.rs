//! Errors as HTTP responses: the status and headers of each kind, and one body format for all of them.

use axum::http::header::{RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use heddle_model::clock::{Clock, Timestamp};
use heddle_model::error::{Code, Detail, ServiceError, chain};
use heddle_model::quota::Exceeded;
use heddle_store::StoreError;
use heddle_store::vault::VaultError;
use serde::Serialize;
use std::error::Error;
use utoipa::ToSchema;

/// An error that is sent as the response to a request.
#[derive(Debug)]
pub struct ApiError(ServiceError);

impl ApiError {
    /// A validation error in one field.
    pub fn field(path: impl Into<String>, message: impl Into<String>) -> Self {
        ApiError(ServiceError::field(path, message))
    }

    /// Validation errors in several fields.
    pub fn fields(details: Vec<Detail>) -> Self {
        ApiError(ServiceError::fields(details))
    }

    /// An internal error; its cause is logged, but not sent.
    pub fn internal(source: impl Into<anyhow::Error>) -> Self {
        ApiError(ServiceError::internal(source))
    }

    /// The kind of error.
    pub const fn code(&self) -> Code {
        self.0.code()
    }

    /// The message for people.
    pub fn message(&self) -> &str {
        self.0.message()
    }
}

macro_rules! from {
    ($($type:ty),*) => {$(
        impl From<$type> for ApiError {
            fn from(error: $type) -> Self {
                ApiError(error.into())
            }
        }
    )*};
}
from!(ServiceError, Code, StoreError, VaultError, Exceeded);

/// The status of each kind.
const fn status(code: Code) -> StatusCode {
    match code {
        Code::Validation
        | Code::Paused
        | Code::AlreadyPaused
        | Code::NotPaused
        | Code::NotActive
        | Code::ModuleChanged
        | Code::NoSchedule
        | Code::InvalidStatus
        | Code::DeploymentNotActive
        | Code::NoEventData => StatusCode::BAD_REQUEST,
        Code::Unauthorized
        | Code::TokenExpired
        | Code::InvalidCredentials
        | Code::SecondFactorRequired
        | Code::SecondFactorInvalid
        | Code::SignatureInvalid => StatusCode::UNAUTHORIZED,
        Code::Forbidden
        | Code::EnvironmentProtected
        | Code::WorkspaceSuspended
        | Code::QuotaExceeded
        | Code::LocalAuthDisabled
        | Code::ExtAuthDisabled
        | Code::RegistrationClosed
        | Code::InvitationRequired
        | Code::EmailDomainNotAllowed
        | Code::EmailNotVerified
        | Code::MailDisabled => StatusCode::FORBIDDEN,
        Code::NotFound | Code::WorkspaceNotFound | Code::VersionNotFound => StatusCode::NOT_FOUND,
        Code::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
        Code::RequestTimeout => StatusCode::REQUEST_TIMEOUT,
        Code::Conflict
        | Code::EmailAlreadyExists
        | Code::TestsFailed
        | Code::ReplayDiffers
        | Code::RightsNotApproved
        | Code::EnvironmentIncomplete => StatusCode::CONFLICT,
        Code::Gone => StatusCode::GONE,
        Code::PayloadTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        Code::UnsupportedMediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        Code::RateLimited | Code::WorkspaceQuotaExceeded => StatusCode::TOO_MANY_REQUESTS,
        Code::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        Code::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        Code::ExecutionTimeout => StatusCode::GATEWAY_TIMEOUT,
    }
}

/// The body of every error.
#[derive(Debug, Serialize, ToSchema)]
pub struct ErrorBody {
    /// Always false.
    pub success: bool,
    /// What happened.
    pub error: ErrorInfo,
    /// When the error occurred.
    pub timestamp: Timestamp,
}

/// What happened.
#[derive(Debug, Serialize, ToSchema)]
pub struct ErrorInfo {
    /// A stable code for programs.
    #[schema(example = "VALIDATION")]
    pub code: String,
    /// A message for people.
    #[schema(example = "`name` is missing")]
    pub message: String,
    /// The invalid fields.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub details: Vec<Detail>,
}

/// With the service's own answers that something is too much for it, for this user or at the moment, which a pattern's response
/// may look like.
#[derive(Clone, Copy, Debug)]
pub struct TooMany;

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let error = self.0;
        let code = error.code();
        if let Some(source) = error.source() {
            let source = chain(source);
            tracing::error!(code = code.name(), error = source, "A request failed: {source}");
        }
        let body = ErrorBody {
            success: false,
            error: ErrorInfo {
                code: code.name().to_owned(),
                message: error.message().to_owned(),
                details: error.details().to_vec(),
            },
            timestamp: Clock::System.now(),
        };
        let mut response = (status(code), axum::Json(body)).into_response();
        let headers = response.headers_mut();
        if matches!(code, Code::Unauthorized | Code::TokenExpired) {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if let Some(seconds) = error.retry_after() {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        if matches!(
            response.status(),
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE
        ) {
            response.extensions_mut().insert(TooMany);
        }
        response
    }
}
