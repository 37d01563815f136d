//! Callers and their rights. A query of a tenant's object takes a [`Scope`], a change takes an [`Editor`] or
//! [`Manager`]; these can only be obtained from an authenticated caller, so the check can't be forgotten.

use crate::error::{Code, ServiceError};
use crate::ids::{UserId, WorkspaceId};
use crate::names;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Role in the whole service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// An ordinary user.
    User,
    /// May see statistics about the whole service.
    Admin,
}

/// Role in a workspace; each includes the rights of those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum WorkspaceRole {
    /// Can see everything except secrets.
    Viewer,
    /// Changes patterns, deploys them and runs them.
    Editor,
    /// Changes members, environments, secrets and variables.
    Admin,
    /// Renames and deletes the workspace, and makes other owners.
    Owner,
}

names!(Role: User = "user", Admin = "admin");
names!(WorkspaceRole: Viewer = "viewer", Editor = "editor", Admin = "admin", Owner = "owner");

/// The rights of a checked caller, or of the service itself on behalf of an object's owner.
#[derive(Clone, Copy, Debug)]
pub struct Scope {
    user: UserId,
    workspace: Option<WorkspaceId>,
    role: WorkspaceRole,
}

impl Scope {
    /// The scope of a user in a workspace, whose membership has been read from the database. Without a workspace, the
    /// user only sees their own objects that belong to no workspace.
    pub const fn checked(user: UserId, membership: Option<(WorkspaceId, WorkspaceRole)>) -> Self {
        match membership {
            Some((workspace, role)) => Scope {
                user,
                workspace: Some(workspace),
                role,
            },
            None => Scope {
                user,
                workspace: None,
                role: WorkspaceRole::Owner,
            },
        }
    }

    /// The user.
    pub const fn user(&self) -> UserId {
        self.user
    }

    /// The active workspace.
    pub const fn workspace(&self) -> Option<WorkspaceId> {
        self.workspace
    }

    /// The role in it.
    pub const fn role(&self) -> WorkspaceRole {
        self.role
    }

    /// For changes of patterns, deployments and runs.
    pub fn editor(&self) -> Result<Editor, ServiceError> {
        self.at_least(WorkspaceRole::Editor).map(Editor)
    }

    /// For changes of members, environments, secrets and variables.
    pub fn manager(&self) -> Result<Manager, ServiceError> {
        self.at_least(WorkspaceRole::Admin).map(Manager)
    }

    /// Checks for the role owner, which includes a manager's rights.
    pub fn owner(&self) -> Result<Manager, ServiceError> {
        self.at_least(WorkspaceRole::Owner).map(Manager)
    }

    fn at_least(&self, role: WorkspaceRole) -> Result<Scope, ServiceError> {
        if self.role >= role {
            return Ok(*self);
        }
        Err(Code::Forbidden.with(format!(
            "This requires the role {} in the workspace; yours is {}.",
            role.name(),
            self.role.name()
        )))
    }
}

/// A scope that may change patterns, deployments and runs.
#[derive(Clone, Copy, Debug)]
pub struct Editor(Scope);

/// A scope that may change members, environments, secrets and variables.
#[derive(Clone, Copy, Debug)]
pub struct Manager(Scope);

impl std::ops::Deref for Editor {
    type Target = Scope;

    fn deref(&self) -> &Scope {
        &self.0
    }
}

impl std::ops::Deref for Manager {
    type Target = Scope;

    fn deref(&self) -> &Scope {
        &self.0
    }
}
