//! What an environment asks of a version before it is deployed there.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Conditions for deploying to an environment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct DeployRules {
    /// All tests of the pattern pass.
    pub require_tests: bool,
    /// The version does with the newest recorded events what the deployed one does, or somebody has acknowledged the differences.
    pub require_replay: bool,
    /// Somebody with the role admin has approved what the version may reach and the deployed one may not.
    pub require_approval: bool,
}

impl DeployRules {
    /// All of them.
    pub const ALL: DeployRules = DeployRules {
        require_tests: true,
        require_replay: true,
        require_approval: true,
    };

    /// These rules and others.
    pub const fn and(self, others: DeployRules) -> DeployRules {
        DeployRules {
            require_tests: self.require_tests || others.require_tests,
            require_replay: self.require_replay || others.require_replay,
            require_approval: self.require_approval || others.require_approval,
        }
    }

    /// What of these rules is not among those that were kept.
    pub const fn without(self, kept: DeployRules) -> DeployRules {
        DeployRules {
            require_tests: self.require_tests && !kept.require_tests,
            require_replay: self.require_replay && !kept.require_replay,
            require_approval: self.require_approval && !kept.require_approval,
        }
    }

    /// Whether nothing is asked.
    pub fn is_empty(self) -> bool {
        self == DeployRules::default()
    }
}
