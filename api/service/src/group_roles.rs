//! Gives people the roles that their groups at a login provider give them, when they sign in there, and takes back what groups
//! no longer give. Roles that somebody has without groups stay. Knows nothing of claims.

use heddle_model::access::{Scope, WorkspaceRole};
use heddle_model::audit::{Action, Object, Origin};
use heddle_model::error::ServiceError;
use heddle_model::ids::{UserId, WorkspaceId};
use heddle_model::quota::{Quota, Quotas};
use heddle_store::audit;
use heddle_store::connections;
use heddle_store::group_roles::{self, GroupDecision};
use heddle_store::quota::{self, Payer};
use heddle_store::{Db, StoreError};
use std::collections::{BTreeMap, BTreeSet};

/// What a provider says of somebody who has just signed in there.
#[derive(Clone, Debug)]
pub struct ProviderRoles<'a> {
    /// The provider's id.
    pub provider: &'a str,
    /// The roles that their groups give them.
    pub roles: &'a BTreeMap<WorkspaceId, WorkspaceRole>,
    /// The ids of all providers that there are: what one that is gone has given is taken back.
    pub providers: &'a [String],
}

/// One decision on one membership.
struct Change<'a> {
    provided: &'a ProviderRoles<'a>,
    user: UserId,
    workspace: WorkspaceId,
    origin: Origin,
    quotas: &'a Quotas,
}

/// Brings a user's memberships up to date with their groups, in the transaction of their signing in.
pub async fn apply(
    db: &mut Db<'_>,
    quotas: &Quotas,
    user: UserId,
    provided: &ProviderRoles<'_>,
    origin: Origin,
) -> Result<(), ServiceError> {
    // In one order, so that no two transactions wait for each other.
    let mut workspaces: BTreeSet<WorkspaceId> = provided.roles.keys().copied().collect();
    workspaces.extend(group_roles::workspaces(db, user).await?);
    for workspace in workspaces {
        let change = Change {
            provided,
            user,
            workspace,
            origin,
            quotas,
        };
        change.decide(db).await?;
    }
    Ok(())
}

impl Change<'_> {
    async fn decide(&self, db: &mut Db<'_>) -> Result<(), ServiceError> {
        let (user, workspace) = (self.user, self.workspace);
        let scope = Scope::checked(user, Some((workspace, WorkspaceRole::Viewer)), self.origin);
        let Some(owners) = group_roles::lock_owners(db, &scope).await? else {
            tracing::warn!(%workspace, "group_roles names a workspace that does not exist");
            return Ok(());
        };
        let standing = heddle_store::accounts::standing(db, user, Some(workspace), None).await?;
        let present = standing.and_then(|standing| standing.workspace_role);
        let before = group_roles::decision(db, user, workspace).await?;
        let own = match before {
            // What is still as groups left it is not the user's own.
            Some(before) if present == Some(before.given) => before.own,
            _ => present,
        };
        let granted = self.granted(db).await?;
        let mut wanted = own.max(granted);
        if present == Some(WorkspaceRole::Owner) && wanted != present && owners <= 1 {
            tracing::warn!(
                %workspace, %user,
                "Groups no longer make this user an owner, but the workspace has no other: they stay one for now"
            );
            wanted = present;
        }
        if present.is_none() && wanted.is_some() && !self.has_room(db).await? {
            group_roles::set_grant(db, user, workspace, self.provided.provider, None).await?;
            return Ok(());
        }
        if wanted != present {
            self.set(db, present, wanted).await?;
        }
        let decision = match wanted {
            // Until the last owner may go, it is tried again at each login.
            Some(given) if granted.is_some() || wanted != own => Some(GroupDecision { own, given }),
            _ => None,
        };
        Ok(group_roles::keep_decision(db, user, workspace, decision).await?)
    }

    /// The highest role that groups give in the workspace, now that this provider has told what it gives.
    async fn granted(&self, db: &mut Db<'_>) -> Result<Option<WorkspaceRole>, StoreError> {
        let (user, workspace, provided) = (self.user, self.workspace, self.provided);
        let given = provided.roles.get(&workspace).copied();
        let mut granted = given;
        for (provider, role) in group_roles::grants(db, user, workspace).await? {
            if provider == provided.provider {
                continue;
            }
            match provided.providers.contains(&provider) {
                true => granted = granted.max(Some(role)),
                false => group_roles::set_grant(db, user, workspace, &provider, None).await?,
            }
        }
        group_roles::set_grant(db, user, workspace, provided.provider, given).await?;
        Ok(granted)
    }

    /// Whether the workspace may have one more member. People sign in even if it may not.
    async fn has_room(&self, db: &mut Db<'_>) -> Result<bool, StoreError> {
        let payer = Payer::Workspace(self.workspace);
        group_roles::set_membership(
            db,
            self.user,
            self.workspace,
            Some(WorkspaceRole::Viewer),
            self.origin.at,
        )
        .await?;
        let checked = quota::check(db, self.quotas, &[(payer, &[Quota::Members])]).await;
        group_roles::set_membership(db, self.user, self.workspace, None, self.origin.at).await?;
        match checked {
            Err(StoreError::Quota(exceeded)) => {
                tracing::warn!(
                    workspace = %self.workspace, user = %self.user,
                    "Groups make this user a member of a workspace that has as many as it may: {exceeded}"
                );
                Ok(false)
            }
            checked => checked.map(|()| true),
        }
    }

    async fn set(
        &self,
        db: &mut Db<'_>,
        present: Option<WorkspaceRole>,
        wanted: Option<WorkspaceRole>,
    ) -> Result<(), StoreError> {
        let action = match (present, wanted) {
            (None, _) => Action::MemberAdded,
            (Some(_), Some(_)) => Action::MemberRoleChanged,
            (Some(_), None) => Action::MemberRemoved,
        };
        let mut entry = action
            .of(Object::User(self.user))
            .with("provider", self.provided.provider);
        if let Some(from) = present {
            entry = entry.with("from", from.name());
        }
        if let Some(to) = wanted {
            entry = entry.with("to", to.name());
        }
        group_roles::set_membership(db, self.user, self.workspace, wanted, self.origin.at).await?;
        if wanted.is_none() {
            let connections = connections::hand_over(db, self.workspace, self.user).await?;
            if connections > 0 {
                entry = entry.with("connections", connections);
            }
        }
        let by = (Some(self.user), self.origin);
        audit::note_in_workspace(db, self.workspace, by, entry).await
    }
}
