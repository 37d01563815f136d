//! Errors of the service: the code is what clients match on, the message is for a person, the source is for the
//! operator's log and never leaves the process.

use crate::clock::Timestamp;
use crate::quota::Exceeded;
use crate::workspace_quota::WorkspaceExceeded;
use serde::Serialize;
use std::borrow::Cow;
use std::error::Error;
use std::fmt::{self, Display, Formatter};
use utoipa::ToSchema;

macro_rules! codes {
    ($($(#[$doc:meta])* $variant:ident = $name:literal $message:literal,)*) => {
        /// The kind of an error. The HTTP interface maps it to a status.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Code { $($(#[$doc])* $variant),* }

        impl Code {
            /// All variants, in the order of declaration.
            pub const ALL: &'static [Code] = &[$(Code::$variant),*];

            /// The stable name that clients match on.
            pub const fn name(self) -> &'static str {
                match self { $(Code::$variant => $name),* }
            }

            /// The default message.
            pub const fn message(self) -> &'static str {
                match self { $(Code::$variant => $message),* }
            }
        }
    };
}

codes! {
    /// The request can't be understood.
    Validation = "VALIDATION" "The request is invalid.",
    /// A run of a paused deployment was asked for.
    Paused = "PAUSED" "The deployment is paused: resume it first.",
    /// The deployment to pause is already paused.
    AlreadyPaused = "ALREADY_PAUSED" "The deployment is already paused.",
    /// The deployment to resume is not paused.
    NotPaused = "NOT_PAUSED" "The deployment is not paused.",
    /// The deployment is undeployed or failed.
    NotActive = "NOT_ACTIVE" "The deployment is not active: deploy or redeploy the pattern first.",
    /// What is stored is not what was deployed.
    ModuleChanged = "MODULE_CHANGED" "The stored module is not the one that was deployed: deploy the pattern again.",
    /// A schedule for a pattern without OnSchedule.
    NoSchedule = "NO_SCHEDULE" "The deployment has no schedule trigger: add an OnSchedule or OnPoll node and deploy again.",
    /// The run's status rules the operation out.
    InvalidStatus = "INVALID_STATUS" "The run's status does not allow this.",
    /// Replay needs an active deployment.
    DeploymentNotActive = "DEPLOYMENT_NOT_ACTIVE" "The deployment is not active: deploy or resume it first.",
    /// Replay of a run without event.
    NoEventData = "NO_EVENT_DATA" "The original run has no event data.",
    /// No token, or one that is malformed or badly signed.
    Unauthorized = "UNAUTHORIZED" "A valid token is needed: send `Authorization: Bearer <token>`.",
    /// The token has expired.
    TokenExpired = "TOKEN_EXPIRED" "The token has expired: log in again.",
    /// Wrong email or password.
    InvalidCredentials = "INVALID_CREDENTIALS" "The email or the password is wrong.",
    /// The webhook's signature is missing or wrong.
    SignatureInvalid = "SIGNATURE_INVALID" "The signature is missing or does not match.",
    /// The caller's role does not allow it.
    Forbidden = "FORBIDDEN" "Your role does not allow this.",
    /// An environment gives its secrets and variables to approved versions only.
    EnvironmentProtected = "ENVIRONMENT_PROTECTED" "The environment gives its secrets and variables to approved versions only.",
    /// The operator has suspended the workspace.
    WorkspaceSuspended = "WORKSPACE_SUSPENDED" "The workspace is suspended: ask the operator of the service.",
    /// A limit would be exceeded.
    QuotaExceeded = "QUOTA_EXCEEDED" "This would exceed a limit.",
    /// Email and password are switched off.
    LocalAuthDisabled = "LOCAL_AUTH_DISABLED" "Registration and login with a password are disabled on this server.",
    /// Nobody may register.
    RegistrationClosed = "REGISTRATION_CLOSED" "This server does not accept new accounts: ask its operator for one.",
    /// Only those who have an invitation may register.
    InvitationRequired = "INVITATION_REQUIRED" "You need an invitation to register here: ask somebody who has an account for a link.",
    /// Only addresses of certain domains may register.
    EmailDomainNotAllowed = "EMAIL_DOMAIN_NOT_ALLOWED" "Addresses of this domain can't register here: use your organisation's, or ask for an invitation.",
    /// The address must be verified first.
    EmailNotVerified = "EMAIL_NOT_VERIFIED" "Your email address is not verified yet: open the link in the email that we sent to it.",
    /// The service sends no mail.
    MailDisabled = "MAIL_DISABLED" "This server sends no mail: ask its operator.",
    /// The password is right, and a code is needed as well.
    SecondFactorRequired = "SECOND_FACTOR_REQUIRED" "Enter the code from your authenticator, or one of your recovery codes.",
    /// The code is wrong.
    SecondFactorInvalid = "SECOND_FACTOR_INVALID" "The code is wrong or has already been used: wait for the next one.",
    /// No external login is configured.
    ExtAuthDisabled = "EXT_AUTH_DISABLED" "No external login is configured on this server.",
    /// The object does not exist, or belongs to somebody else.
    NotFound = "NOT_FOUND" "Not found.",
    /// The workspace is missing or somebody else's.
    WorkspaceNotFound = "WORKSPACE_NOT_FOUND" "The workspace does not exist, or you are not a member of it.",
    /// The pattern has no such version.
    VersionNotFound = "VERSION_NOT_FOUND" "The pattern does not have this version.",
    /// The path has other methods.
    MethodNotAllowed = "METHOD_NOT_ALLOWED" "This path does not support this method.",
    /// The headers or the body came too slowly.
    RequestTimeout = "REQUEST_TIMEOUT" "The request took too long to arrive.",
    /// The state has changed, or the name is taken.
    Conflict = "CONFLICT" "This conflicts with the current state.",
    /// The email is registered.
    EmailAlreadyExists = "EMAIL_ALREADY_EXISTS" "This email is already registered.",
    /// A pattern's tests don't pass.
    TestsFailed = "TESTS_FAILED" "Tests of the pattern don't pass.",
    /// A version treats recorded events differently.
    ReplayDiffers = "REPLAY_DIFFERS" "The version treats recorded events differently.",
    /// A version needs rights that nobody has approved.
    RightsNotApproved = "RIGHTS_NOT_APPROVED" "The version may reach more than what is deployed.",
    /// An environment lacks what a deployment needs.
    EnvironmentIncomplete = "ENVIRONMENT_INCOMPLETE" "The environment lacks what the deployment needs.",
    /// The object existed, but has ended or expired.
    Gone = "GONE" "This has ended or expired.",
    /// The body is too large.
    PayloadTooLarge = "PAYLOAD_TOO_LARGE" "The body is too large.",
    /// The body is not JSON.
    UnsupportedMediaType = "UNSUPPORTED_MEDIA_TYPE" "The body must have the content type application/json.",
    /// A workspace has used all that it may for now.
    WorkspaceQuotaExceeded = "WORKSPACE_QUOTA_EXCEEDED" "The workspace has reached a limit.",
    /// Too many requests.
    RateLimited = "RATE_LIMITED" "Too many requests: try again later.",
    /// A bug, or a broken database.
    Internal = "INTERNAL" "Something went wrong on the server. Look for the request id in its log.",
    /// The database or the queue can't take it now.
    Unavailable = "UNAVAILABLE" "The service can't handle this request right now: try again shortly.",
    /// A test run took too long.
    ExecutionTimeout = "EXECUTION_TIMEOUT" "The execution took longer than allowed.",
}

/// Bytes of a message, of a field's path, and of all that is said in detail. Requests may be larger than that, and errors name what is
/// in them: a field that nobody knows has any name, and as JSON each of its characters may take six bytes.
const MESSAGE_BYTES_MAX: usize = 64 << 10;
const PATH_BYTES_MAX: usize = 2 << 10;
const DETAILS_BYTES_MAX: usize = 256 << 10;

fn cut(mut text: String, bytes_max: usize) -> String {
    if text.len() > bytes_max {
        text.truncate(text.floor_char_boundary(bytes_max));
        text.push('…');
    }
    text
}

/// As many details as an answer may have, the first at any rate.
fn bounded(details: Vec<Detail>) -> Vec<Detail> {
    let mut bytes = 0;
    let details = details.into_iter().map(|detail| Detail {
        path: cut(detail.path, PATH_BYTES_MAX),
        message: cut(detail.message, MESSAGE_BYTES_MAX),
    });
    let fits = |detail: &Detail| {
        bytes += detail.path.len() + detail.message.len();
        bytes <= DETAILS_BYTES_MAX
    };
    details.take_while(fits).collect()
}

impl Code {
    /// Creates an error with a more specific message.
    pub fn with(self, message: impl Into<Cow<'static, str>>) -> ServiceError {
        let message: Cow<'static, str> = message.into();
        let message = match message {
            Cow::Owned(message) => Cow::Owned(cut(message, MESSAGE_BYTES_MAX)),
            ours => ours,
        };
        ServiceError {
            code: self,
            message,
            details: Vec::new(),
            retry_after_s: None,
            source: None,
        }
    }
}

/// An error in one field of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Detail {
    /// The field, as in `inputs[0].name`; empty for the body as a whole.
    pub path: String,
    /// What is wrong with it.
    pub message: String,
}

/// An error with the message that the caller gets.
#[derive(Debug)]
pub struct ServiceError {
    code: Code,
    message: Cow<'static, str>,
    details: Vec<Detail>,
    retry_after_s: Option<u64>,
    source: Option<anyhow::Error>,
}

impl ServiceError {
    /// One field is wrong.
    pub fn field(path: impl Into<String>, message: impl Into<String>) -> Self {
        ServiceError::fields(vec![Detail {
            path: path.into(),
            message: message.into(),
        }])
    }

    /// Several fields are wrong.
    pub fn fields(details: Vec<Detail>) -> Self {
        let details = bounded(details);
        let messages: Vec<String> = details
            .iter()
            .map(|detail| match detail.path.as_str() {
                "" => detail.message.clone(),
                path => format!("`{path}` {}", detail.message),
            })
            .collect();
        let mut error = Code::Validation.with(messages.join("; "));
        error.details = details;
        error
    }

    /// An internal error; its cause is logged, but not sent to the client.
    pub fn internal(source: impl Into<anyhow::Error>) -> Self {
        ServiceError::from(Code::Internal).caused_by(source)
    }

    /// Adds the number of seconds after which to try again.
    pub fn retry_after_s(mut self, seconds: u64) -> Self {
        self.retry_after_s = Some(seconds.max(1));
        self
    }

    /// Adds what is wrong in detail.
    pub fn with_details(mut self, details: Vec<Detail>) -> Self {
        self.details = bounded(details);
        self
    }

    /// Adds the cause, which is only logged.
    pub fn caused_by(mut self, source: impl Into<anyhow::Error>) -> Self {
        self.source = Some(source.into());
        self
    }

    pub const fn code(&self) -> Code {
        self.code
    }

    pub fn message(&self) -> &str {
        &self.message
    }

    /// Fields that are wrong.
    pub fn details(&self) -> &[Detail] {
        &self.details
    }

    /// Seconds after which to try again, if that is known.
    pub const fn retry_after(&self) -> Option<u64> {
        self.retry_after_s
    }
}

/// The message. What caused it is its source: for the operator's log, never for clients.
impl Display for ServiceError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for ServiceError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_ref().map(AsRef::as_ref)
    }
}

impl From<Code> for ServiceError {
    fn from(code: Code) -> Self {
        code.with(code.message())
    }
}

impl From<Exceeded> for ServiceError {
    fn from(exceeded: Exceeded) -> Self {
        Code::QuotaExceeded.with(exceeded.to_string())
    }
}

impl ServiceError {
    /// A workspace has reached one of its limits; when to try again, if that helps.
    pub fn exceeded(exceeded: &WorkspaceExceeded, now: Timestamp) -> Self {
        let error = Code::WorkspaceQuotaExceeded.with(exceeded.to_string());
        match exceeded.until {
            Some(until) => {
                let wait_ms = until.millis().saturating_sub(now.millis());
                error.retry_after_s(u64::try_from(wait_ms).unwrap_or(0).div_ceil(1_000))
            }
            None => error,
        }
    }
}

/// An error with everything that caused it, for the log and for people at a terminal: `what: why: why`.
pub fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let why = cause.to_string();
        // Some errors of libraries end with their cause's text.
        if !text.ends_with(&why) {
            text.truncate(text.trim_end_matches('.').len());
            text.push_str(": ");
            text.push_str(&why);
        }
        next = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("can't read: {0}")]
    struct Unread(#[source] std::io::Error);

    #[test]
    fn every_cause_is_told_once() {
        let read = Unread(std::io::Error::other("no disk"));
        let error = ServiceError::internal(anyhow::Error::new(read).context("at the start"));
        let text = chain(&error);
        assert_eq!(
            text,
            "Something went wrong on the server. Look for the request id in its log: at the start: can't read: no disk"
        );
    }

    #[test]
    fn what_is_told_is_bounded_whatever_was_sent() {
        let name = "é".repeat(1 << 20);
        let error = ServiceError::field(name.clone(), format!("is not {name}"));
        let [detail] = error.details() else {
            panic!("{}", error.details().len())
        };
        assert_eq!(detail.path, format!("{}…", "é".repeat(PATH_BYTES_MAX / 2)));
        let bytes_max = MESSAGE_BYTES_MAX + '…'.len_utf8();
        assert!(detail.message.starts_with("is not é") && detail.message.len() <= bytes_max);
        assert!(error.message().ends_with('…') && error.message().len() <= bytes_max);

        let many = (0..100_000).map(|place| Detail {
            path: format!("items[{place}]"),
            message: "must be a number".to_owned(),
        });
        let error = ServiceError::fields(many.collect());
        assert!((1_000..50_000).contains(&error.details().len()));
        assert!(
            error
                .message()
                .starts_with("`items[0]` must be a number; `items[1]`")
        );
    }
}
