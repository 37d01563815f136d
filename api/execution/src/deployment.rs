//! A deployment as runs need it, with its module in machine code.

use crate::queue::Share;
use crate::tenants::TenantState;
use heddle_catalogue::Start;
use heddle_contract::manifest::{Manifest, Trigger};
use heddle_model::ids::{DeploymentId, EnvironmentId, PatternId, UserId};
use heddle_model::mailbox::Mailbox;
use heddle_model::poll::Poll;
use heddle_model::slot::Slot;
use heddle_model::status::DeploymentStatus;
use heddle_model::tenant::Tenant;
use heddle_model::webhook::Webhook;
use heddle_runtime::{Program, Services};
use heddle_store::deployments::DeploymentRow;
use std::sync::Arc;

/// Whose deployments a run starts: those of its own environment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin {
    /// Where the run's secrets and variables come from.
    pub environment: Option<EnvironmentId>,
    /// Whether the run is of a pattern's main deployment, or of none.
    pub is_main: bool,
}

/// A deployment with its module, as a run needs it.
#[derive(Clone, Debug)]
pub struct ActiveDeployment {
    pub id: DeploymentId,
    /// Which of a pattern's deployments it is.
    pub slot: Slot,
    /// Whose limits its runs count against.
    pub tenant: Tenant,
    /// Who owns the tenant.
    pub owner: UserId,
    /// Whether its runs have brought a server down, so that each is announced.
    pub is_struck: bool,
    /// Where its secrets and variables come from.
    pub environment: Option<EnvironmentId>,
    /// The pattern's version.
    pub version_number: i64,
    /// SHA-256 of its module, in hex.
    pub artifact: Arc<str>,
    /// The module, compiled.
    pub program: Program,
    /// What its tenant may use, and has used.
    pub(crate) state: Arc<TenantState>,
    /// Whether its runs wait until it is resumed.
    pub is_paused: bool,
    /// What its OnWebhook, OnForm and OnChat nodes say of their requests, by node.
    pub(crate) webhooks: Vec<(String, Webhook)>,
    /// What its runs are given if they may have no effects, by which alone they could reach it.
    pub(crate) unused_services: Services,
}

/// Whose a deployment is.
pub(crate) fn tenant_of(row: &DeploymentRow) -> Tenant {
    Tenant::of(row.user_id, row.workspace_id)
}

/// Read once, not for each request.
fn webhooks(manifest: &Manifest) -> Vec<(String, Webhook)> {
    let webhook = |trigger: &Trigger| {
        let mut webhook = match Start::of_type(&trigger.node_type)? {
            Start::Webhook => Webhook::of(&trigger.parameters),
            Start::Form => Webhook::of_form(&trigger.parameters),
            Start::Chat => Webhook::of_chat(&trigger.parameters),
            _ => return None,
        };
        webhook.is_sync.get_or_insert(trigger.responds);
        Some((trigger.node_id.clone(), webhook))
    };
    manifest.triggers.iter().filter_map(webhook).collect()
}

impl ActiveDeployment {
    pub(crate) fn new(row: &DeploymentRow, program: Program, state: Arc<TenantState>) -> Self {
        let webhooks = webhooks(program.manifest());
        ActiveDeployment {
            id: row.id,
            slot: row.slot(),
            tenant: tenant_of(row),
            owner: row.owner_id,
            is_struck: row.strikes > 0,
            environment: row.environment_id,
            version_number: row.version_number,
            artifact: row.artifact.as_str().into(),
            program,
            state,
            is_paused: row.status == DeploymentStatus::Paused,
            webhooks,
            unused_services: Services::default(),
        }
    }

    /// Whether this is what the row says.
    pub(crate) fn is_of(&self, row: &DeploymentRow) -> bool {
        self.id == row.id
            && self.is_paused == (row.status == DeploymentStatus::Paused)
            && self.is_struck == (row.strikes > 0)
            && *self.artifact == *row.artifact
            && self.version_number == row.version_number
            && self.environment == row.environment_id
            && self.owner == row.owner_id
            && self.tenant == tenant_of(row)
    }

    /// Whose part of the queue its runs take.
    pub fn share(&self) -> Share {
        Share {
            owner: self.owner,
            tenant: self.tenant,
        }
    }

    /// What is deployed.
    pub const fn pattern_id(&self) -> PatternId {
        self.slot.pattern
    }

    /// Whose deployments its runs start.
    pub(crate) const fn origin(&self) -> Origin {
        Origin {
            environment: self.environment,
            is_main: self.slot.is_main(),
        }
    }

    /// What the module says of itself.
    pub fn manifest(&self) -> &Manifest {
        self.program.manifest()
    }

    /// What a deployed OnWebhook, OnForm or OnChat node says of its requests. Whether the sender waits is decided.
    pub fn webhook(&self, node_id: &str) -> Option<&Webhook> {
        self.webhook_at(self.place_of_webhook(node_id)?)
    }

    /// By which whoever asks several times finds it at once.
    pub fn place_of_webhook(&self, node_id: &str) -> Option<usize> {
        self.webhooks.iter().position(|(node, _)| node == node_id)
    }

    /// What [`ActiveDeployment::webhook`] gives for the node with this place.
    pub fn webhook_at(&self, place: usize) -> Option<&Webhook> {
        self.webhooks.get(place).map(|(_, webhook)| webhook)
    }

    /// Whether what starts a run by hand, for which no trigger is named, is a schedule.
    pub fn starts_by_schedule(&self) -> bool {
        let first = self.manifest().triggers.first();
        self.trigger(Start::Manual).is_none()
            && first.is_some_and(|first| first.node_type == Start::Schedule.type_name())
    }

    /// What an OnMailbox node watches; none of others.
    pub(crate) fn mailbox(&self, node_id: &str) -> Option<Mailbox> {
        let watches = |trigger: &&Trigger| {
            trigger.node_id == node_id && trigger.node_type == Start::Mailbox.type_name()
        };
        let trigger = self.manifest().triggers.iter().find(watches)?;
        Some(Mailbox::of(&trigger.parameters))
    }

    /// What an OnPoll node asks; none of others.
    pub(crate) fn poll(&self, node_id: &str) -> Option<Poll> {
        let polls =
            |trigger: &&Trigger| trigger.node_id == node_id && trigger.node_type == Start::Poll.type_name();
        let trigger = self.manifest().triggers.iter().find(polls)?;
        Some(Poll::of(&trigger.parameters))
    }

    /// The first trigger whose runs are started by this.
    pub fn trigger(&self, start: Start) -> Option<&Trigger> {
        self.manifest()
            .triggers
            .iter()
            .find(|trigger| trigger.node_type == start.type_name())
    }
}
