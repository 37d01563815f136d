//! The tenant of a run: whose limits it counts against, and whose connections and values it may use.

use crate::ids::{UserId, WorkspaceId};

/// A workspace, or a user outside of workspaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tenant {
    Workspace(WorkspaceId),
    /// A user, outside of workspaces.
    User(UserId),
}

impl Tenant {
    /// The workspace if there is one.
    pub fn of(user: UserId, workspace: Option<WorkspaceId>) -> Self {
        workspace.map_or(Tenant::User(user), Tenant::Workspace)
    }

    /// The id as a number, for those who only tell one tenant from another.
    pub const fn as_u128(self) -> u128 {
        match self {
            Tenant::Workspace(workspace) => workspace.as_u128(),
            Tenant::User(user) => user.as_u128(),
        }
    }
}

impl std::fmt::Display for Tenant {
    /// The id.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Tenant::Workspace(workspace) => workspace.fmt(f),
            Tenant::User(user) => user.fmt(f),
        }
    }
}
