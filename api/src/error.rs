//! Errors of the service: the code is what clients match on, the message is for a person, the source is for the
//! operator's log and never leaves the process.

use crate::clock::{Clock, Timestamp};
use crate::store::StoreError;
use axum::http::header::{RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use std::borrow::Cow;
use utoipa::ToSchema;

macro_rules! codes {
    ($($(#[$doc:meta])* $variant:ident = $status:literal $name:literal $message:literal,)*) => {
        /// Every code that an error body can have.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Code { $($(#[$doc])* $variant),* }

        impl Code {
            /// All of them.
            pub const ALL: &'static [Code] = &[$(Code::$variant),*];

            /// Status, name, and the message unless a better one is known.
            pub const fn parts(self) -> (u16, &'static str, &'static str) {
                match self { $(Code::$variant => ($status, $name, $message)),* }
            }
        }
    };
}

codes! {
    /// The request can't be understood.
    Validation = 400 "VALIDATION" "The request is not valid.",
    /// A run of a paused deployment was asked for.
    Paused = 400 "PAUSED" "The deployment is paused: resume it first.",
    /// Pause of what is paused.
    AlreadyPaused = 400 "ALREADY_PAUSED" "The deployment is already paused.",
    /// Resume of what is not paused.
    NotPaused = 400 "NOT_PAUSED" "The deployment is not paused.",
    /// The deployment is undeployed or failed.
    NotActive = 400 "NOT_ACTIVE" "The deployment is not active: deploy or redeploy the pattern first.",
    /// A schedule for a pattern without OnSchedule.
    NoSchedule = 400 "NO_SCHEDULE" "The deployment has no schedule trigger: add an OnSchedule node and deploy again.",
    /// The run's status rules the operation out.
    InvalidStatus = 400 "INVALID_STATUS" "The run's status does not allow this.",
    /// Replay needs an active deployment.
    DeploymentNotActive = 400 "DEPLOYMENT_NOT_ACTIVE" "The deployment is not active: deploy or resume it first.",
    /// Replay of a run without event.
    NoEventData = 400 "NO_EVENT_DATA" "The original run has no event data.",
    /// No token, or one that is malformed or badly signed.
    Unauthorized = 401 "UNAUTHORIZED" "A valid token is needed: send `Authorization: Bearer <token>`.",
    /// The token's time is over.
    TokenExpired = 401 "TOKEN_EXPIRED" "The token has expired: log in again.",
    /// Wrong email or password.
    InvalidCredentials = 401 "INVALID_CREDENTIALS" "The email or the password is wrong.",
    /// The webhook's signature is missing or wrong.
    SignatureInvalid = 401 "SIGNATURE_INVALID" "The signature is missing or wrong.",
    /// The caller's role does not allow it.
    Forbidden = 403 "FORBIDDEN" "Your role does not allow this.",
    /// There would be more than there may be.
    QuotaExceeded = 403 "QUOTA_EXCEEDED" "This would be more than there may be.",
    /// Email and password are switched off.
    LocalAuthDisabled = 403 "LOCAL_AUTH_DISABLED" "Registration and login by password are switched off here.",
    /// No external login is configured.
    ExtAuthDisabled = 403 "EXT_AUTH_DISABLED" "No external login is configured here.",
    /// There is no such thing, or it is somebody else's.
    NotFound = 404 "NOT_FOUND" "There is no such thing here.",
    /// The workspace is missing or somebody else's.
    WorkspaceNotFound = 404 "WORKSPACE_NOT_FOUND" "There is no such workspace, or you are not a member of it.",
    /// The pattern has no such version.
    VersionNotFound = 404 "VERSION_NOT_FOUND" "The pattern has no such version.",
    /// The path has other methods.
    MethodNotAllowed = 405 "METHOD_NOT_ALLOWED" "This path does not have that method.",
    /// The headers or the body came too slowly.
    RequestTimeout = 408 "REQUEST_TIMEOUT" "The request took too long to arrive.",
    /// The state has changed, or the name is taken.
    Conflict = 409 "CONFLICT" "This conflicts with the present state.",
    /// The email is registered.
    EmailAlreadyExists = 409 "EMAIL_ALREADY_EXISTS" "This email is already registered.",
    /// It was there, and is over.
    Gone = 410 "GONE" "This is over.",
    /// The body is too large.
    PayloadTooLarge = 413 "PAYLOAD_TOO_LARGE" "The body is too large.",
    /// The body is not JSON.
    UnsupportedMediaType = 415 "UNSUPPORTED_MEDIA_TYPE" "The body must have the content type application/json.",
    /// Too many requests.
    RateLimited = 429 "RATE_LIMITED" "Too many requests: try again later.",
    /// A bug, or a broken database.
    Internal = 500 "INTERNAL" "Something went wrong here. The request id finds it in the server's log.",
    /// The database or the queue can't take it now.
    Unavailable = 503 "UNAVAILABLE" "The service can't take this now: try again shortly.",
    /// A test run took too long.
    ExecutionTimeout = 504 "EXECUTION_TIMEOUT" "The execution took longer than allowed.",
}

impl Code {
    /// The error with a message that knows more.
    pub fn with(self, message: impl Into<Cow<'static, str>>) -> ApiError {
        ApiError {
            code: self,
            message: message.into(),
            details: Vec::new(),
            retry_after_s: None,
            source: None,
        }
    }
}

/// What is wrong with one field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Detail {
    /// The field, as in `inputs[0].name`; empty for the body as a whole.
    pub path: String,
    /// What is wrong with it.
    pub message: String,
}

/// An error answer.
#[derive(Debug)]
pub struct ApiError {
    code: Code,
    message: Cow<'static, str>,
    details: Vec<Detail>,
    retry_after_s: Option<u64>,
    source: Option<anyhow::Error>,
}

impl ApiError {
    /// One field is wrong.
    pub fn field(path: impl Into<String>, message: impl Into<String>) -> Self {
        ApiError::fields(vec![Detail {
            path: path.into(),
            message: message.into(),
        }])
    }

    /// Several fields are wrong.
    pub fn fields(details: Vec<Detail>) -> Self {
        let told: Vec<String> = details
            .iter()
            .map(|detail| match detail.path.as_str() {
                "" => detail.message.clone(),
                path => format!("`{path}` {}", detail.message),
            })
            .collect();
        let mut error = Code::Validation.with(told.join("; "));
        error.details = details;
        error
    }

    /// Something is broken; the reason goes to the log only.
    pub fn internal(source: impl Into<anyhow::Error>) -> Self {
        let mut error = ApiError::from(Code::Internal);
        error.source = Some(source.into());
        error
    }

    /// The same, with the seconds after which to try again.
    pub fn retry_after_s(mut self, seconds: u64) -> Self {
        self.retry_after_s = Some(seconds.max(1));
        self
    }

    /// The code.
    pub const fn code(&self) -> Code {
        self.code
    }

    /// The message.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl From<Code> for ApiError {
    fn from(code: Code) -> Self {
        code.with(code.parts().2)
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Unique => Code::Conflict.into(),
            StoreError::Quota(exceeded) => Code::QuotaExceeded.with(exceeded.to_string()),
            StoreError::Unavailable(_) | StoreError::Closed => {
                let mut unavailable = ApiError::from(Code::Unavailable).retry_after_s(1);
                unavailable.source = Some(error.into());
                unavailable
            }
            other => ApiError::internal(other),
        }
    }
}

/// The body of every error.
#[derive(Debug, Serialize, ToSchema)]
pub struct ErrorBody {
    /// Always false.
    pub success: bool,
    /// What happened.
    pub error: ErrorInfo,
    /// When.
    pub timestamp: Timestamp,
}

/// What happened.
#[derive(Debug, Serialize, ToSchema)]
pub struct ErrorInfo {
    /// For programs.
    #[schema(example = "VALIDATION")]
    pub code: String,
    /// For people.
    #[schema(example = "`name` is missing")]
    pub message: String,
    /// Fields that are wrong.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub details: Vec<Detail>,
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let (status, name, _) = self.code.parts();
        if let Some(source) = &self.source {
            tracing::error!(
                code = name,
                error = format!("{source:#}"),
                "A request failed: {source:#}"
            );
        }
        let body = ErrorBody {
            success: false,
            error: ErrorInfo {
                code: name.to_owned(),
                message: self.message.into_owned(),
                details: self.details,
            },
            timestamp: Clock::System.now(),
        };
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = (status, axum::Json(body)).into_response();
        let headers = response.headers_mut();
        if matches!(self.code, Code::Unauthorized | Code::TokenExpired) {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if let Some(seconds) = self.retry_after_s {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}
