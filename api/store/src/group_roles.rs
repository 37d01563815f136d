//! Which roles the groups of login providers have given members of workspaces, beside the roles that they have themselves.
//! Knows nothing of groups, nor of which roles somebody is to have.

use super::{Db, StoreError, sql};
use heddle_model::access::{Scope, WorkspaceRole};
use heddle_model::clock::Timestamp;
use heddle_model::ids::{UserId, WorkspaceId};
use sqlx_macros::FromRow;

/// What a membership was made of when groups last decided on it.
#[derive(Clone, Copy, Debug)]
pub struct GroupDecision {
    /// The role that the member has without any group; `None`: they would be no member.
    pub own: Option<WorkspaceRole>,
    /// The role that they got then.
    pub given: WorkspaceRole,
}

#[derive(FromRow)]
struct DecisionRow {
    own_role: Option<String>,
    role: WorkspaceRole,
}

/// The workspaces in which groups have decided on a user's membership.
pub async fn workspaces(db: &mut Db<'_>, user: UserId) -> Result<Vec<WorkspaceId>, StoreError> {
    let select = sql("select workspace_id from group_memberships where user_id = ?").bind(user);
    let rows: Vec<(WorkspaceId,)> = db.all(select).await?;
    Ok(rows.into_iter().map(|(workspace,)| workspace).collect())
}

/// What a user's membership was made of; `None`: groups have not decided on it.
pub async fn decision(
    db: &mut Db<'_>,
    user: UserId,
    workspace: WorkspaceId,
) -> Result<Option<GroupDecision>, StoreError> {
    let select = sql("select own_role, role from group_memberships where user_id = ? and workspace_id = ?");
    let row: Option<DecisionRow> = db.optional(select.bind(user).bind(workspace)).await?;
    Ok(row.map(|row| GroupDecision {
        own: row.own_role.and_then(|role| WorkspaceRole::try_from(role).ok()),
        given: row.role,
    }))
}

/// Keeps what a user's membership is made of; `None`: groups decide on it no more.
pub async fn keep_decision(
    db: &mut Db<'_>,
    user: UserId,
    workspace: WorkspaceId,
    decision: Option<GroupDecision>,
) -> Result<(), StoreError> {
    let query = match decision {
        Some(decision) => sql(
            "insert into group_memberships (user_id, workspace_id, own_role, role) values (?, ?, ?, ?)
             on conflict (user_id, workspace_id) do update set own_role = excluded.own_role, role = excluded.role",
        )
        .bind(user)
        .bind(workspace)
        .bind(decision.own.map(|role| role.name()))
        .bind(decision.given),
        None => sql("delete from group_memberships where user_id = ? and workspace_id = ?")
            .bind(user)
            .bind(workspace),
    };
    db.execute(query).await.map(drop)
}

/// The providers whose groups have given a user a role in a workspace.
pub async fn grants(
    db: &mut Db<'_>,
    user: UserId,
    workspace: WorkspaceId,
) -> Result<Vec<(String, WorkspaceRole)>, StoreError> {
    let select = sql("select provider, role from group_grants where user_id = ? and workspace_id = ?");
    let rows: Vec<(String, String)> = db.all(select.bind(user).bind(workspace)).await?;
    let read = |(provider, role)| Some((provider, WorkspaceRole::try_from(role).ok()?));
    Ok(rows.into_iter().filter_map(read).collect())
}

/// Replaces what the groups of a provider give a user in a workspace.
pub async fn set_grant(
    db: &mut Db<'_>,
    user: UserId,
    workspace: WorkspaceId,
    provider: &str,
    role: Option<WorkspaceRole>,
) -> Result<(), StoreError> {
    let query = match role {
        Some(role) => sql(
            "insert into group_grants (user_id, workspace_id, provider, role) values (?, ?, ?, ?)
             on conflict (user_id, workspace_id, provider) do update set role = excluded.role",
        )
        .bind(user)
        .bind(workspace)
        .bind(provider)
        .bind(role),
        None => sql("delete from group_grants where user_id = ? and workspace_id = ? and provider = ?")
            .bind(user)
            .bind(workspace)
            .bind(provider),
    };
    db.execute(query).await.map(drop)
}

/// Makes a user a member with this role, or gives them another one; `None`: they are no member any more.
pub async fn set_membership(
    db: &mut Db<'_>,
    user: UserId,
    workspace: WorkspaceId,
    role: Option<WorkspaceRole>,
    now: Timestamp,
) -> Result<(), StoreError> {
    let query = match role {
        Some(role) => sql(
            "insert into memberships (workspace_id, user_id, role, created_at) values (?, ?, ?, ?)
             on conflict (workspace_id, user_id) do update set role = excluded.role",
        )
        .bind(workspace)
        .bind(user)
        .bind(role)
        .bind(now),
        None => sql("delete from memberships where workspace_id = ? and user_id = ?")
            .bind(workspace)
            .bind(user),
    };
    db.execute(query).await.map(drop)
}

/// How many owners a workspace has, which nobody changes until the transaction ends; `None`: there is no such workspace.
pub async fn lock_owners(db: &mut Db<'_>, scope: &Scope) -> Result<Option<i64>, StoreError> {
    let there = sql("select id from workspaces where id = ?").bind(scope.workspace());
    let there: Option<(String,)> = db.optional(there).await?;
    match there {
        Some(_) => super::workspaces::lock_owners(db, scope).await.map(Some),
        None => Ok(None),
    }
}
