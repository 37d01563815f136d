//! Names of few that columns hold, as this version knows them.

use heddle_model::access::WorkspaceRole;
use heddle_model::audit::Outcome;
use heddle_model::status::{DeploymentStatus, Phase, RunStatus, TriggeredBy, WebhookStatus};

pub(super) fn is_role(name: &str) -> bool {
    WorkspaceRole::try_from(name.to_owned()).is_ok()
}

pub(super) fn is_outcome(name: &str) -> bool {
    Outcome::try_from(name.to_owned()).is_ok()
}

pub(super) fn is_webhook_status(name: &str) -> bool {
    WebhookStatus::try_from(name.to_owned()).is_ok()
}

pub(super) fn is_deployment_status(name: &str) -> bool {
    DeploymentStatus::try_from(name.to_owned()).is_ok()
}

pub(super) fn is_run_status(name: &str) -> bool {
    RunStatus::try_from(name.to_owned()).is_ok()
}

pub(super) fn is_phase(name: &str) -> bool {
    Phase::try_from(name.to_owned()).is_ok()
}

pub(super) fn is_trigger(name: &str) -> bool {
    TriggeredBy::try_from(name.to_owned()).is_ok()
}
