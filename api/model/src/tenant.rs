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

    /// `None`: a user outside of workspaces.
    pub const fn workspace(self) -> Option<WorkspaceId> {
        match self {
            Tenant::Workspace(workspace) => Some(workspace),
            Tenant::User(_) => None,
        }
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

#[cfg(test)]
mod tests {
    use super::Tenant;
    use crate::ids::{IdHasher, UserId, WorkspaceId};
    use std::hash::{BuildHasher, BuildHasherDefault};

    #[test]
    fn tenants_of_either_kind_differ_in_maps_by_ids() {
        let hasher = BuildHasherDefault::<IdHasher>::default();
        let user = UserId::new();
        let workspace: WorkspaceId = user.to_string().parse().unwrap();
        let of = |tenant: Tenant| hasher.hash_one(tenant);
        assert_ne!(of(Tenant::User(user)), of(Tenant::Workspace(workspace)));
        assert_eq!(of(Tenant::User(user)), of(Tenant::User(user)));
    }
}
