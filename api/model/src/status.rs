//! The states of deployments and runs, and their transitions. Knows nothing about what causes them.

use crate::error::Code;
use crate::{column, names};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// State of a deployment. A deleted one is not there any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum DeploymentStatus {
    /// Its triggers start runs.
    Active,
    /// Its triggers are suspended until it is resumed.
    Paused,
    /// Its module can't be loaded, or its runs have brought servers down.
    Failed,
    /// Its triggers are gone; its runs are kept.
    Undeployed,
}
names!(DeploymentStatus: Active = "active", Paused = "paused", Failed = "failed", Undeployed = "undeployed");
column!(DeploymentStatus: String, DeploymentStatus::try_from);

/// What can happen to a deployment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// The newest version is compiled and put in place.
    Deploy,
    /// The stored module is put in place again.
    Redeploy,
    /// The triggers are suspended.
    Pause,
    /// The triggers are active again.
    Resume,
    /// The triggers are removed.
    Undeploy,
    /// The module could not be loaded.
    Fail,
}

impl DeploymentStatus {
    /// The state after an operation, or why it can't be done.
    pub const fn apply(self, operation: Operation) -> Result<DeploymentStatus, Code> {
        use DeploymentStatus::{Active, Failed, Paused, Undeployed};
        match (operation, self) {
            (Operation::Deploy | Operation::Redeploy, _) => Ok(Active),
            (Operation::Undeploy, _) => Ok(Undeployed),
            (Operation::Pause, Active) => Ok(Paused),
            (Operation::Pause, Paused) => Err(Code::AlreadyPaused),
            (Operation::Pause, Failed | Undeployed) => Err(Code::NotActive),
            (Operation::Resume, Paused) => Ok(Active),
            (Operation::Resume, Active | Failed | Undeployed) => Err(Code::NotPaused),
            (Operation::Fail, Active | Paused) => Ok(Failed),
            (Operation::Fail, Failed | Undeployed) => Err(Code::NotActive),
        }
    }

    /// Whether a run may be started manually.
    pub const fn may_run(self) -> Result<(), Code> {
        match self {
            DeploymentStatus::Active => Ok(()),
            DeploymentStatus::Paused => Err(Code::Paused),
            DeploymentStatus::Failed | DeploymentStatus::Undeployed => Err(Code::NotActive),
        }
    }
}

/// State of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// Accepted and not ended.
    Running,
    /// Ended well.
    Success,
    /// Ended with an error.
    Failure,
    /// Every attempt that was allowed has failed.
    DeadLetter,
}
names!(RunStatus: Running = "running", Success = "success", Failure = "failure", DeadLetter = "dead_letter");
column!(RunStatus: String, RunStatus::try_from);

impl RunStatus {
    /// Whether it can be retried.
    pub const fn has_failed(self) -> bool {
        matches!(self, RunStatus::Failure | RunStatus::DeadLetter)
    }
}

/// What a run is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// It waits for its turn.
    Queued,
    /// It executes.
    Executing,
    /// It waits: for its next attempt, a time, a callback, or a run that it has called.
    Waiting,
    /// It has ended.
    Ended,
}
names!(Phase: Queued = "queued", Executing = "executing", Waiting = "waiting", Ended = "ended");
column!(Phase: String, Phase::try_from);

/// What started a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum TriggeredBy {
    /// A person or a program, by the API.
    Manual,
    /// A webhook.
    Webhook,
    /// A schedule.
    Schedule,
    /// An email.
    Email,
    /// A failed run of a pattern that names this one as its error pattern.
    Error,
    /// A run of another pattern, by CallPattern.
    Call,
}
names!(
    TriggeredBy: Manual = "manual",
    Webhook = "webhook",
    Schedule = "schedule",
    Email = "email",
    Error = "error",
    Call = "call"
);
column!(TriggeredBy: String, TriggeredBy::try_from);

/// The outcome of a webhook request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum WebhookStatus {
    /// A run was started, or had already been started for the same idempotency key.
    Accepted,
    /// The request itself was refused: its signature, type, size or JSON.
    SignatureInvalid,
    /// Too many requests from its address, or more than the service takes.
    RateLimited,
    /// There is no such endpoint.
    NotFound,
    /// Captured for the tap only: no deployment is active.
    Inactive,
}
names!(
    WebhookStatus: Accepted = "accepted",
    SignatureInvalid = "signature_invalid",
    RateLimited = "rate_limited",
    NotFound = "not_found",
    Inactive = "inactive",
);
column!(WebhookStatus: String, WebhookStatus::try_from);
