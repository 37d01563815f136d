//! Callers and their rights. A query of a tenant's object takes a [`Scope`], a change takes a [`Runner`],
//! [`Editor`] or [`Manager`]; these can only be obtained from an authenticated caller, so the check can't be forgotten.

use crate::audit::Origin;
use crate::error::{Code, ServiceError};
use crate::ids::{UserId, WorkspaceId};
use crate::{column, names};
use serde::{Deserialize, Serialize};
use std::net::IpAddr;
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
column!(Role: String, Role::try_from);
column!(WorkspaceRole: String, WorkspaceRole::try_from);

impl WorkspaceRole {
    /// Whether a member with this role may invite others with that one.
    pub fn may_invite(self, invited: WorkspaceRole) -> bool {
        self >= WorkspaceRole::Admin && self >= invited
    }
}

/// What an API key may do at most, whatever its user may; each includes the rights of those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum KeyScope {
    /// Sees what a viewer sees.
    Read,
    /// Runs what is deployed: executes, retries, replays and cancels.
    Run,
    /// Changes patterns and connections, deploys and tests.
    Edit,
    /// Changes members, environments, secrets and variables, and the workspace.
    Admin,
}

names!(KeyScope: Read = "read", Run = "run", Edit = "edit", Admin = "admin");

impl KeyScope {
    /// The highest role in a workspace whose rights a key with this scope can have.
    const fn role(self) -> WorkspaceRole {
        match self {
            KeyScope::Read | KeyScope::Run => WorkspaceRole::Viewer,
            KeyScope::Edit => WorkspaceRole::Editor,
            KeyScope::Admin => WorkspaceRole::Owner,
        }
    }
}

/// The rights of a checked caller, or of the service itself on behalf of an object's owner.
#[derive(Clone, Copy, Debug)]
pub struct Scope {
    user: UserId,
    workspace: Option<WorkspaceId>,
    role: WorkspaceRole,
    limit: Option<KeyScope>,
    is_suspended: bool,
    origin: Origin,
}

impl Scope {
    /// The scope of a user in a workspace, whose membership has been read from the database. Without a workspace, the
    /// user only sees their own objects that belong to no workspace.
    pub const fn checked(
        user: UserId,
        membership: Option<(WorkspaceId, WorkspaceRole)>,
        origin: Origin,
    ) -> Self {
        match membership {
            Some((workspace, role)) => Scope {
                user,
                workspace: Some(workspace),
                role,
                limit: None,
                is_suspended: false,
                origin,
            },
            None => Scope {
                user,
                workspace: None,
                role: WorkspaceRole::Owner,
                limit: None,
                is_suspended: false,
                origin,
            },
        }
    }

    /// These rights as far as an API key's scope goes; `None`: all of them.
    #[must_use]
    pub const fn limited(self, limit: Option<KeyScope>) -> Self {
        Scope { limit, ..self }
    }

    /// These rights in a workspace that the operator may have suspended: nothing is changed or run in it then.
    #[must_use]
    pub const fn suspended_if(self, is_suspended: bool) -> Self {
        Scope { is_suspended, ..self }
    }

    /// What the caller's API key is limited to.
    pub const fn limit(&self) -> Option<KeyScope> {
        self.limit
    }

    /// These rights, of a request from this address.
    pub const fn from_address(mut self, address: IpAddr) -> Self {
        self.origin.address = Some(address);
        self
    }

    /// Whether these are the same rights, however the requests came that have them.
    pub fn has_rights_of(&self, other: &Scope) -> bool {
        let rights = |scope: &Scope| {
            let Scope {
                user,
                workspace,
                role,
                limit,
                is_suspended,
                origin: _,
            } = *scope;
            (user, workspace, role, limit, is_suspended)
        };
        rights(self) == rights(other)
    }

    /// How the request came that has these rights, for the audit log.
    pub const fn origin(&self) -> Origin {
        self.origin
    }

    pub const fn user(&self) -> UserId {
        self.user
    }

    /// The active workspace.
    pub const fn workspace(&self) -> Option<WorkspaceId> {
        self.workspace
    }

    /// The role in it, or the highest that an API key's scope leaves.
    pub fn role(&self) -> WorkspaceRole {
        self.limit.map_or(self.role, |limit| self.role.min(limit.role()))
    }

    /// Checks that the caller may see what senders of webhooks sign with, also while the workspace is suspended.
    pub fn sees_secrets(&self) -> Result<(), ServiceError> {
        self.has_role(WorkspaceRole::Editor)?;
        self.key_allows(KeyScope::Edit)
    }

    /// For running what is deployed, and for cancelling it.
    pub fn runner(&self) -> Result<Runner, ServiceError> {
        self.at_least(WorkspaceRole::Editor, KeyScope::Run).map(Runner)
    }

    /// For changes of patterns, deployments and runs.
    pub fn editor(&self) -> Result<Editor, ServiceError> {
        self.at_least(WorkspaceRole::Editor, KeyScope::Edit).map(Editor)
    }

    /// For changes of members, environments, secrets and variables.
    pub fn manager(&self) -> Result<Manager, ServiceError> {
        self.at_least(WorkspaceRole::Admin, KeyScope::Admin).map(Manager)
    }

    /// Checks for the role owner, which includes a manager's rights.
    pub fn owner(&self) -> Result<Manager, ServiceError> {
        self.at_least(WorkspaceRole::Owner, KeyScope::Admin).map(Manager)
    }

    /// For reading what only those see who manage the workspace, also while it is suspended.
    pub fn administrator(&self) -> Result<Administrator, ServiceError> {
        self.has_role(WorkspaceRole::Admin)?;
        self.key_allows(KeyScope::Admin)?;
        Ok(Administrator(*self))
    }

    /// Checks that an API key, if the caller has one, may do what this scope allows.
    pub fn key_allows(&self, scope: KeyScope) -> Result<(), ServiceError> {
        match self.limit {
            Some(limit) if limit < scope => Err(Code::Forbidden.with(format!(
                "This requires an API key with the scope {}; this key's is {}.",
                scope.name(),
                limit.name()
            ))),
            _ => Ok(()),
        }
    }

    fn at_least(&self, role: WorkspaceRole, scope: KeyScope) -> Result<Scope, ServiceError> {
        self.has_role(role)?;
        self.key_allows(scope)?;
        match self.is_suspended {
            true => Err(Code::WorkspaceSuspended.into()),
            false => Ok(*self),
        }
    }

    fn has_role(&self, role: WorkspaceRole) -> Result<(), ServiceError> {
        if self.role < role {
            return Err(Code::Forbidden.with(format!(
                "This requires the role {} in the workspace; yours is {}.",
                role.name(),
                self.role.name()
            )));
        }
        Ok(())
    }
}

/// A scope that may run what is deployed.
#[derive(Clone, Copy, Debug)]
pub struct Runner(Scope);

/// A scope that may change patterns, deployments and runs.
#[derive(Clone, Copy, Debug)]
pub struct Editor(Scope);

/// A scope that may change members, environments, secrets and variables.
#[derive(Clone, Copy, Debug)]
pub struct Manager(Scope);

/// A scope that may read what only those see who manage the workspace.
#[derive(Clone, Copy, Debug)]
pub struct Administrator(Scope);

impl std::ops::Deref for Runner {
    type Target = Scope;

    fn deref(&self) -> &Scope {
        &self.0
    }
}

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

impl std::ops::Deref for Administrator {
    type Target = Scope;

    fn deref(&self) -> &Scope {
        &self.0
    }
}
