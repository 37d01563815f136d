//! Deployment slots: a pattern may be deployed several times, once in each environment.

use crate::ids::{EnvironmentId, PatternId};

/// One of a pattern's deployments, whether it is there or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Slot {
    /// What is deployed.
    pub pattern: PatternId,
    /// `None`: the main deployment, which can move to another environment, and whose addresses are there before it is.
    /// Otherwise a further one, in this environment for good.
    pub environment: Option<EnvironmentId>,
}

impl Slot {
    /// The main deployment of a pattern.
    pub const fn main(pattern: PatternId) -> Slot {
        Slot {
            pattern,
            environment: None,
        }
    }

    /// A further deployment of a pattern.
    pub const fn further(pattern: PatternId, environment: EnvironmentId) -> Slot {
        Slot {
            pattern,
            environment: Some(environment),
        }
    }

    /// Whether it is the main one.
    pub const fn is_main(self) -> bool {
        self.environment.is_none()
    }

    /// What tells it from the pattern's others: the environment's id, or nothing.
    pub fn name(self) -> String {
        self.environment.map(|id| id.to_string()).unwrap_or_default()
    }
}
