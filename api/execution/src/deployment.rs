//! A deployment as runs need it, with its module in machine code.

use crate::queue::Share;
use crate::tenants::TenantState;
use heddle_catalogue::Start;
use heddle_contract::manifest::{Manifest, Trigger};
use heddle_model::ids::{DeploymentId, EnvironmentId, PatternId, UserId};
use heddle_model::slot::Slot;
use heddle_model::tenant::Tenant;
use heddle_runtime::Program;
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
    /// Id.
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
    pub artifact: String,
    /// The module, compiled.
    pub program: Program,
    /// What its tenant may use, and has used.
    pub(crate) state: Arc<TenantState>,
}

/// Whose a deployment is.
pub(crate) fn tenant_of(row: &DeploymentRow) -> Tenant {
    Tenant::of(row.user_id, row.workspace_id)
}

impl ActiveDeployment {
    pub(crate) fn new(row: &DeploymentRow, program: Program, state: Arc<TenantState>) -> Self {
        ActiveDeployment {
            id: row.id,
            slot: row.slot(),
            tenant: tenant_of(row),
            owner: row.owner_id,
            is_struck: row.strikes > 0,
            environment: row.environment_id,
            version_number: row.version_number,
            artifact: row.artifact.clone(),
            program,
            state,
        }
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

    /// The first trigger whose runs are started by this.
    pub fn trigger(&self, start: Start) -> Option<&Trigger> {
        self.manifest()
            .triggers
            .iter()
            .find(|trigger| trigger.node_type == start.type_name())
    }
}
