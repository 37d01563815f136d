//! The role of a server, when several share one PostgreSQL database.

use crate::names;

/// What a server does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerRole {
    /// Everything.
    All,
    /// Accepts, answers, tests and deploys; what is accepted executes elsewhere.
    Api,
    /// Executes, keeps schedules and clears away; answers nothing but health and metrics.
    Worker,
}
names!(ServerRole: All = "all", Api = "api", Worker = "worker");

impl ServerRole {
    /// Whether it executes what is deployed.
    pub const fn executes(self) -> bool {
        matches!(self, ServerRole::All | ServerRole::Worker)
    }

    /// Whether it serves the whole HTTP interface.
    pub const fn answers(self) -> bool {
        matches!(self, ServerRole::All | ServerRole::Api)
    }
}
