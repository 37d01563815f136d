//! What the audit log tells: who did what, to which object, when and from where. Values only; a secret's value is never
//! among them.

use crate::clock::Timestamp;
use crate::ids::{
    ApiKeyId, ConnectionId, DeploymentId, EndpointId, EnvironmentId, InvitationId, InvitationLinkId,
    PatternId, RunId, SessionId, TestId, UserId, WorkspaceId,
};
use crate::names;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::net::IpAddr;
use utoipa::ToSchema;

/// Characters of a text in an entry's details; the rest is cut off.
const DETAIL_CHARS_MAX: usize = 300;

/// How a request reached the service.
#[derive(Clone, Copy, Debug)]
pub struct Origin {
    /// When its sender was authenticated.
    pub at: Timestamp,
    /// The client's address; `None` if no request from outside is behind it.
    pub address: Option<IpAddr>,
    /// The API key that it was sent with.
    pub api_key: Option<ApiKeyId>,
}

impl Origin {
    /// A request without an API key.
    pub const fn from_address(at: Timestamp, address: IpAddr) -> Self {
        Origin {
            at,
            address: Some(address),
            api_key: None,
        }
    }
}

macro_rules! actions {
    ($($(#[$doc:meta])* $variant:ident = $name:literal),* $(,)?) => {
        /// What was done.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
        pub enum Action {
            $($(#[$doc])* #[serde(rename = $name)] $variant,)*
        }

        names!(Action: $($variant = $name),*);
    };
}

actions! {
    /// Somebody registered, or came for the first time by the external login.
    AccountRegistered = "account.registered",
    /// Signed in.
    SignedIn = "account.signed_in",
    /// Somebody tried to sign in as this user, and was refused.
    SignInRefused = "account.sign_in_refused",
    /// Signed out.
    SignedOut = "account.signed_out",
    /// Ended all logins.
    SignedOutEverywhere = "account.signed_out_everywhere",
    /// Ended one of the browsers' sessions.
    SessionEnded = "account.session_ended",
    /// Set a password.
    PasswordChanged = "account.password_changed",
    /// Changed the own name.
    ProfileChanged = "account.profile_changed",
    /// Proved by the external login to own the account's email, by which all other access ended.
    AccountProven = "account.proven",
    /// The operator let a user in again.
    AccountEnabled = "account.enabled",
    /// The operator shut a user out.
    AccountDisabled = "account.disabled",
    /// The operator declared an account's email to be its user's.
    AccountVerified = "account.verified",
    /// Proved to read the mail of the account's address.
    AddressVerified = "account.address_verified",
    /// The operator set another password.
    PasswordReset = "account.password_reset",
    /// Somebody asked for a link for another password, which was sent to the account's address.
    PasswordResetAsked = "account.password_reset_asked",
    /// The operator made a link for another password.
    PasswordLinkMade = "account.password_link_made",
    /// Set another password by such a link.
    PasswordRecovered = "account.password_recovered",
    /// Took an authenticator into use.
    AuthenticatorAdded = "account.authenticator_added",
    /// Took the authenticator out of use, or the operator did.
    AuthenticatorRemoved = "account.authenticator_removed",
    /// Made new recovery codes.
    RecoveryCodesMade = "account.recovery_codes_made",
    /// Signed in by a recovery code, which is used up.
    RecoveryCodeUsed = "account.recovery_code_used",
    /// The operator made a user an admin of the service.
    AccountPromoted = "account.promoted",
    /// Made an API key.
    ApiKeyCreated = "api_key.created",
    /// Deleted an API key.
    ApiKeyDeleted = "api_key.deleted",
    /// Made a workspace.
    WorkspaceCreated = "workspace.created",
    /// Renamed a workspace.
    WorkspaceRenamed = "workspace.renamed",
    /// Deleted a workspace; in the log of whoever did it, since the workspace's own is gone.
    WorkspaceDeleted = "workspace.deleted",
    /// The operator suspended a workspace.
    WorkspaceSuspended = "workspace.suspended",
    /// The operator let a workspace go on.
    WorkspaceResumed = "workspace.resumed",
    /// The operator exported a workspace with everything that it has, secrets included.
    WorkspaceExported = "workspace.exported",
    /// The operator imported a workspace.
    WorkspaceImported = "workspace.imported",
    /// The operator set a workspace's quotas.
    WorkspaceQuotasSet = "workspace.quotas_set",
    /// A workspace has used four fifths of a quota.
    WorkspaceQuotaWarned = "workspace.quota_warned",
    /// Invited somebody.
    MemberInvited = "member.invited",
    /// Became a member by a group of a login provider.
    MemberAdded = "member.added",
    /// Gave a member another role.
    MemberRoleChanged = "member.role_changed",
    /// Removed a member, or left.
    MemberRemoved = "member.removed",
    /// Removed the account of a member.
    MemberAccountRemoved = "member.account_removed",
    /// Made a link by which others join.
    InvitationLinkCreated = "invitation_link.created",
    /// Took such a link back.
    InvitationLinkRevoked = "invitation_link.revoked",
    /// Took an invitation back.
    InvitationWithdrawn = "invitation.withdrawn",
    /// Became a member.
    InvitationAccepted = "invitation.accepted",
    /// Declined an invitation.
    InvitationDeclined = "invitation.declined",
    /// Made an environment.
    EnvironmentCreated = "environment.created",
    /// Set what an environment asks of what is deployed to it.
    RulesSet = "environment.rules_set",
    /// Let a test run reach what it asks for with an environment's secrets, although its rules keep them from it.
    TestRunApproved = "environment.test_run_approved",
    /// Deleted an environment.
    EnvironmentDeleted = "environment.deleted",
    /// Set a secret.
    SecretSet = "secret.set",
    /// Deleted a secret.
    SecretDeleted = "secret.deleted",
    /// Replaced an environment's variables.
    VariablesSet = "variables.set",
    /// Put a value that patterns keep.
    KeyValueSet = "key_value.set",
    /// Deleted a value that patterns keep.
    KeyValueDeleted = "key_value.deleted",
    /// Stored a connection.
    ConnectionCreated = "connection.created",
    /// Changed a connection.
    ConnectionChanged = "connection.changed",
    /// Deleted a connection.
    ConnectionDeleted = "connection.deleted",
    /// Tried a connection, by which its credentials were used.
    ConnectionTested = "connection.tested",
    /// Consented to a connection at its provider.
    ConnectionConnected = "connection.connected",
    /// Took that consent back.
    ConnectionDisconnected = "connection.disconnected",
    /// Made, imported or copied a pattern.
    PatternCreated = "pattern.created",
    /// Saved a version of a pattern.
    PatternSaved = "pattern.saved",
    /// Restored a version of a pattern.
    PatternRolledBack = "pattern.rolled_back",
    /// Deleted a pattern.
    PatternDeleted = "pattern.deleted",
    /// Set a pattern's call interface.
    CallInterfaceSet = "pattern.call_interface_set",
    /// Removed a pattern's call interface.
    CallInterfaceRemoved = "pattern.call_interface_removed",
    /// Deployed a pattern.
    PatternDeployed = "pattern.deployed",
    /// Put what is deployed in one environment in place in another.
    DeploymentPromoted = "deployment.promoted",
    /// Undeployed a pattern.
    PatternUndeployed = "pattern.undeployed",
    /// Added a test.
    TestAdded = "test.added",
    /// Changed a test.
    TestChanged = "test.changed",
    /// Deleted a test.
    TestDeleted = "test.deleted",
    /// Paused a deployment.
    DeploymentPaused = "deployment.paused",
    /// Resumed a deployment.
    DeploymentResumed = "deployment.resumed",
    /// Put a deployment's stored module in place again.
    DeploymentRedeployed = "deployment.redeployed",
    /// Wanted a deployment's module, which could not be loaded: the deployment has failed.
    DeploymentFailed = "deployment.failed",
    /// Deleted a deployment with its runs.
    DeploymentDeleted = "deployment.deleted",
    /// Changed a schedule.
    ScheduleChanged = "deployment.schedule_changed",
    /// Replaced a webhook's secret.
    WebhookSecretReplaced = "webhook.secret_replaced",
    /// Read the secrets of a pattern's webhooks.
    WebhookSecretRead = "webhook.secret_read",
    /// Cleared a log of webhook requests.
    WebhookLogCleared = "webhook_log.cleared",
    /// Cleared a pattern's tapped events.
    TapEventsCleared = "tap_events.cleared",
    /// Cancelled a run.
    RunCancelled = "run.cancelled",
    /// Had a failed run tried once more.
    RunRetried = "run.retried",
    /// Had a run's event run again.
    RunReplayed = "run.replayed",
    /// Answered a callback that a run waited for.
    CallbackAnswered = "run.callback_answered",
}

/// How it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// It was done.
    Done,
    /// It was not allowed.
    Refused,
    /// It was tried, and failed.
    Failed,
}

names!(Outcome: Done = "done", Refused = "refused", Failed = "failed");

/// What an action was done to. Its name is added when the entry is written.
#[derive(Clone, Debug)]
pub enum Object {
    /// An account, by its user.
    User(UserId),
    /// A browser's session.
    Session(SessionId),
    ApiKey(ApiKeyId),
    Workspace(WorkspaceId),
    Invitation(InvitationId),
    /// A link by which others join.
    InvitationLink(InvitationLinkId),
    Environment(EnvironmentId),
    /// A secret of an environment, by its name.
    Secret(EnvironmentId, String),
    Connection(ConnectionId),
    Pattern(PatternId),
    /// A test of a pattern.
    Test(TestId),
    Deployment(DeploymentId),
    /// A webhook of a pattern.
    Endpoint(EndpointId),
    /// A run of a deployment.
    Run(DeploymentId, RunId),
}

impl Object {
    /// The name of its kind.
    pub const fn kind(&self) -> &'static str {
        match self {
            Object::User(_) => "user",
            Object::Session(_) => "session",
            Object::ApiKey(_) => "api_key",
            Object::Workspace(_) => "workspace",
            Object::Invitation(_) => "invitation",
            Object::InvitationLink(_) => "invitation_link",
            Object::Environment(_) => "environment",
            Object::Secret(..) => "secret",
            Object::Connection(_) => "connection",
            Object::Pattern(_) => "pattern",
            Object::Test(_) => "test",
            Object::Deployment(_) => "deployment",
            Object::Endpoint(_) => "webhook",
            Object::Run(..) => "run",
        }
    }

    /// Its id; of a secret, which has none, that of its environment.
    pub fn id(&self) -> String {
        match self {
            Object::User(id) => id.to_string(),
            Object::Session(id) => id.to_string(),
            Object::ApiKey(id) => id.to_string(),
            Object::Workspace(id) => id.to_string(),
            Object::Invitation(id) => id.to_string(),
            Object::InvitationLink(id) => id.to_string(),
            Object::Environment(id) | Object::Secret(id, _) => id.to_string(),
            Object::Connection(id) => id.to_string(),
            Object::Pattern(id) => id.to_string(),
            Object::Test(id) => id.to_string(),
            Object::Deployment(id) => id.to_string(),
            Object::Endpoint(id) => id.to_string(),
            Object::Run(_, id) => id.to_string(),
        }
    }
}

/// What is written down.
#[derive(Clone, Debug)]
pub struct Note {
    /// What was done.
    pub action: Action,
    pub object: Object,
    /// How it ended.
    pub outcome: Outcome,
    /// More of it, as far as it is short and no secret.
    pub details: Map<String, Value>,
}

impl Action {
    /// That this was done to an object.
    pub fn of(self, object: Object) -> Note {
        Note {
            action: self,
            object,
            outcome: Outcome::Done,
            details: Map::new(),
        }
    }
}

impl Note {
    /// With a detail; never a secret's value.
    pub fn with(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        let value = match value.into() {
            Value::String(text) => Value::String(text.chars().take(DETAIL_CHARS_MAX).collect()),
            value => value,
        };
        self.details.insert(name.to_owned(), value);
        self
    }

    /// With another outcome.
    pub fn ended(mut self, outcome: Outcome) -> Self {
        self.outcome = outcome;
        self
    }
}
