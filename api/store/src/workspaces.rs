//! Workspaces, their members and environments.

use super::notices::{self, Notice};
use super::{Db, StoreError, locks, sql};
use heddle_model::access::{Manager, Scope, WorkspaceRole};
use heddle_model::clock::Timestamp;
use heddle_model::deploy_rules::DeployRules;
use heddle_model::ids::{EnvironmentId, UserId, WorkspaceId};
use sqlx_macros::FromRow;

/// Name of the environment that a workspace begins with.
pub const FIRST_ENVIRONMENT: &str = "production";

/// A workspace, as one of its members sees it.
#[derive(Clone, Debug, FromRow)]
pub struct WorkspaceRow {
    /// UUIDv7, so that ids sort by time of creation.
    pub id: WorkspaceId,
    pub name: String,
    /// The member's role.
    pub role: WorkspaceRole,
    /// When made.
    pub created_at: Timestamp,
    /// When renamed.
    pub updated_at: Timestamp,
}

#[derive(Clone, Debug, FromRow)]
pub struct EnvironmentRow {
    /// UUIDv7, so that ids sort by time of creation.
    pub id: EnvironmentId,
    pub workspace_id: WorkspaceId,
    /// Name, unique in the workspace.
    pub name: String,
    /// When made.
    pub created_at: Timestamp,
}

#[derive(Clone, Debug, FromRow)]
pub struct MemberRow {
    pub user_id: UserId,
    /// Email address, as registered.
    pub email: String,
    pub first_name: String,
    pub last_name: String,
    pub role: WorkspaceRole,
    /// Since when.
    pub created_at: Timestamp,
    /// Whether it is proven that the email is theirs.
    pub email_verified: bool,
}

const WORKSPACE: &str = "select w.id, w.name, m.role, w.created_at, w.updated_at
    from workspaces w join memberships m on m.workspace_id = w.id ";

/// The workspaces that a user is a member of, in the order in which they joined; with `only`, that one alone.
pub async fn of_user(
    db: &mut Db<'_>,
    user: UserId,
    only: Option<WorkspaceId>,
) -> Result<Vec<WorkspaceRow>, StoreError> {
    let mut select = sql(WORKSPACE).push("where m.user_id = ? ").bind(user);
    if let Some(workspace) = only {
        select = select.push("and w.id = ? ").bind(workspace);
    }
    db.all(select.push("order by m.created_at, w.id")).await
}

/// A new workspace of one environment, `production`.
pub async fn create(
    db: &mut Db<'_>,
    owner: UserId,
    name: &str,
    now: Timestamp,
) -> Result<WorkspaceRow, StoreError> {
    let id = WorkspaceId::new();
    db.execute(
        sql("insert into workspaces (id, name, created_by, created_at, updated_at) values (?, ?, ?, ?, ?)")
            .bind(id)
            .bind(name)
            .bind(owner)
            .bind(now)
            .bind(now),
    )
    .await?;
    insert_member(db, id, owner, WorkspaceRole::Owner, now).await?;
    insert_environment(db, id, FIRST_ENVIRONMENT, now).await?;
    Ok(WorkspaceRow {
        id,
        name: name.to_owned(),
        role: WorkspaceRole::Owner,
        created_at: now,
        updated_at: now,
    })
}

/// Who has owned a workspace for longest.
pub async fn owner(db: &mut Db<'_>, workspace: WorkspaceId) -> Result<Option<UserId>, StoreError> {
    let query = sql(
        "select user_id from memberships where workspace_id = ? and role = 'owner'
         order by created_at, user_id limit 1",
    );
    let owner: Option<(UserId,)> = db.optional(query.bind(workspace)).await?;
    Ok(owner.map(|(owner,)| owner))
}

/// The name of the scope's workspace.
pub async fn name(db: &mut Db<'_>, scope: &Scope) -> Result<String, StoreError> {
    let select = sql("select name from workspaces where id = ?").bind(scope.workspace());
    db.one(select).await.map(|(name,): (String,)| name)
}

/// Renames the manager's workspace.
pub async fn rename(
    db: &mut Db<'_>,
    manager: &Manager,
    name: &str,
    now: Timestamp,
) -> Result<(), StoreError> {
    db.execute(
        sql("update workspaces set name = ?, updated_at = ? where id = ?")
            .bind(name)
            .bind(now)
            .bind(manager.workspace()),
    )
    .await
    .map(drop)
}

/// Whether the scope's workspace has patterns.
pub async fn has_patterns(db: &mut Db<'_>, scope: &Scope) -> Result<bool, StoreError> {
    let select = sql("select id from patterns where workspace_id = ? limit 1");
    let found: Option<(String,)> = db.optional(select.bind(scope.workspace())).await?;
    Ok(found.is_some())
}

/// Deletes the manager's workspace with its members, environments, secrets, connections, API keys and deployments.
pub async fn delete(db: &mut Db<'_>, manager: &Manager) -> Result<(), StoreError> {
    let Some(workspace) = manager.workspace() else {
        return Ok(());
    };
    crate::data_keys::forget(db, workspace).await?;
    super::deployments::remove_of_workspace(db, manager).await?;
    let delete = sql("delete from workspaces where id = ?").bind(workspace);
    db.execute(delete).await.map(drop)
}

const MEMBER: &str = "select m.user_id, u.email, u.first_name, u.last_name, m.role, m.created_at,
    u.email_verified from memberships m join users u on u.id = m.user_id where m.workspace_id = ? ";

/// The members of the scope's workspace, in the order in which they joined.
pub async fn members(db: &mut Db<'_>, scope: &Scope) -> Result<Vec<MemberRow>, StoreError> {
    let select = sql(MEMBER).bind(scope.workspace());
    db.all(select.push("order by m.created_at, m.user_id")).await
}

/// A member of the scope's workspace.
pub async fn member(db: &mut Db<'_>, scope: &Scope, user: UserId) -> Result<Option<MemberRow>, StoreError> {
    let select = sql(MEMBER).bind(scope.workspace());
    db.optional(select.push("and m.user_id = ?").bind(user)).await
}

/// Gives a member of the manager's workspace another role.
pub async fn set_role(
    db: &mut Db<'_>,
    manager: &Manager,
    user: UserId,
    role: WorkspaceRole,
) -> Result<(), StoreError> {
    db.execute(
        sql("update memberships set role = ? where workspace_id = ? and user_id = ?")
            .bind(role)
            .bind(manager.workspace())
            .bind(user),
    )
    .await
    .map(drop)
}

/// Removes a member from the scope's workspace: the caller themself, or somebody below a manager.
pub async fn remove_member(db: &mut Db<'_>, scope: &Scope, user: UserId) -> Result<(), StoreError> {
    let delete = sql("delete from memberships where workspace_id = ? and user_id = ?");
    db.execute(delete.bind(scope.workspace()).bind(user))
        .await
        .map(drop)
}

/// How many owners the scope's workspace has. It can't be changed by others until the transaction ends.
pub async fn lock_owners(db: &mut Db<'_>, scope: &Scope) -> Result<i64, StoreError> {
    lock(db, scope).await?;
    let count = sql("select count(*) from memberships where workspace_id = ? and role = ?");
    let (owners,): (i64,) = db
        .one(count.bind(scope.workspace()).bind(WorkspaceRole::Owner))
        .await?;
    Ok(owners)
}

/// Locks the scope's workspace until the transaction ends; SQLite needs no lock, because it has a single writer. Rows that
/// refer to the workspace may be added meanwhile.
pub async fn lock(db: &mut Db<'_>, scope: &Scope) -> Result<(), StoreError> {
    locked(db, scope, "for no key update").await
}

/// Locks the scope's workspace to delete it: waits for whoever adds or changes what goes with it, before any of that is locked.
pub async fn lock_to_delete(db: &mut Db<'_>, scope: &Scope) -> Result<(), StoreError> {
    locked(db, scope, "for update").await
}

async fn locked(db: &mut Db<'_>, scope: &Scope, lock: &'static str) -> Result<(), StoreError> {
    if db.is_postgres() {
        let row = sql("select id from workspaces where id = ? ").bind(scope.workspace());
        let _: Option<(String,)> = db.optional(row.push(lock)).await?;
    }
    Ok(())
}

const ENVIRONMENT: &str = "select id, workspace_id, name, created_at from environments ";

/// The environments of the scope's workspace, the oldest first.
pub async fn environments(db: &mut Db<'_>, scope: &Scope) -> Result<Vec<EnvironmentRow>, StoreError> {
    let select = sql(ENVIRONMENT).push("where workspace_id = ? order by created_at, id");
    db.all(select.bind(scope.workspace())).await
}

/// An environment of the scope's workspace.
pub async fn environment(
    db: &mut Db<'_>,
    scope: &Scope,
    environment: EnvironmentId,
) -> Result<Option<EnvironmentRow>, StoreError> {
    let select = sql(ENVIRONMENT).push("where workspace_id = ? and id = ?");
    db.optional(select.bind(scope.workspace()).bind(environment))
        .await
}

/// What an environment of the scope's workspace asks of what is deployed to it: everything, if what is stored can't be read, as
/// it may be in an environment that another heddle has exported.
pub async fn rules(
    db: &mut Db<'_>,
    scope: &Scope,
    environment: EnvironmentId,
) -> Result<DeployRules, StoreError> {
    let select = sql("select rules from environments where workspace_id = ? and id = ?");
    let select = select.bind(scope.workspace()).bind(environment);
    let found: Option<(Option<String>,)> = db.optional(select).await?;
    let Some((Some(text),)) = found else {
        return Ok(DeployRules::default());
    };
    Ok(serde_json::from_str(&text).unwrap_or(DeployRules::ALL))
}

/// The name of an environment that asks something of what is deployed to it, for work that the service does by itself; `None`: it
/// asks nothing.
pub async fn ruled_for_system(
    db: &mut Db<'_>,
    environment: EnvironmentId,
) -> Result<Option<String>, StoreError> {
    let select = sql("select name from environments where id = ? and rules is not null");
    let found: Option<(String,)> = db.optional(select.bind(environment)).await?;
    Ok(found.map(|(name,)| name))
}

/// Sets what an environment of the manager's workspace asks of what is deployed to it.
pub async fn set_rules(
    db: &mut Db<'_>,
    manager: &Manager,
    environment: EnvironmentId,
    rules: DeployRules,
) -> Result<(), StoreError> {
    locks::keep_workspace(db, manager).await?;
    let text = (!rules.is_empty()).then(|| serde_json::json!(rules).to_string());
    let update = sql("update environments set rules = ? where workspace_id = ? and id = ?")
        .bind(text)
        .bind(manager.workspace())
        .bind(environment);
    db.execute(update).await.map(drop)
}

/// What an environment is held for until a transaction ends; SQLite has a single writer and holds nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// So that nobody deletes it.
    ToUse,
    /// So that nobody uses it either.
    ToDelete,
}

/// Holds an environment of the scope's workspace; whether it is there.
pub async fn hold_environment(
    db: &mut Db<'_>,
    scope: &Scope,
    environment: EnvironmentId,
    hold: Hold,
) -> Result<bool, StoreError> {
    locks::keep_workspace(db, scope).await?;
    let mut select = sql(ENVIRONMENT)
        .push("where workspace_id = ? and id = ?")
        .bind(scope.workspace())
        .bind(environment);
    if db.is_postgres() {
        select = select.push(match hold {
            Hold::ToUse => " for share",
            Hold::ToDelete => " for update",
        });
    }
    let found: Option<EnvironmentRow> = db.optional(select).await?;
    Ok(found.is_some())
}

/// The environment that a deployment gets when it names none: `production`, else the oldest.
pub async fn default_environment(
    db: &mut Db<'_>,
    workspace: WorkspaceId,
) -> Result<Option<EnvironmentRow>, StoreError> {
    let select = sql(ENVIRONMENT)
        .push("where workspace_id = ? ")
        .bind(workspace)
        .push("order by case when name = ? then 0 else 1 end, created_at, id limit 1")
        .bind(FIRST_ENVIRONMENT);
    db.optional(select).await
}

/// A new environment in the manager's workspace. `Unique`: the name is taken.
pub async fn create_environment(
    db: &mut Db<'_>,
    manager: &Manager,
    name: &str,
    now: Timestamp,
) -> Result<EnvironmentRow, StoreError> {
    let workspace_id = manager.workspace().ok_or(StoreError::Missing)?;
    let id = insert_environment(db, workspace_id, name, now).await?;
    Ok(EnvironmentRow {
        id,
        workspace_id,
        name: name.to_owned(),
        created_at: now,
    })
}

/// Deletes an environment of the manager's workspace with its secrets and variables.
pub async fn delete_environment(
    db: &mut Db<'_>,
    manager: &Manager,
    environment: EnvironmentId,
) -> Result<(), StoreError> {
    let delete = sql("delete from environments where workspace_id = ? and id = ?");
    db.execute(delete.bind(manager.workspace()).bind(environment))
        .await?;
    notices::tell(db, Notice::Environments).await
}

async fn insert_member(
    db: &mut Db<'_>,
    workspace: WorkspaceId,
    user: UserId,
    role: WorkspaceRole,
    now: Timestamp,
) -> Result<(), StoreError> {
    db.execute(
        sql("insert into memberships (workspace_id, user_id, role, created_at) values (?, ?, ?, ?)")
            .bind(workspace)
            .bind(user)
            .bind(role)
            .bind(now),
    )
    .await
    .map(drop)
}

async fn insert_environment(
    db: &mut Db<'_>,
    workspace: WorkspaceId,
    name: &str,
    now: Timestamp,
) -> Result<EnvironmentId, StoreError> {
    let id = EnvironmentId::new();
    db.execute(
        sql("insert into environments (id, workspace_id, name, created_at) values (?, ?, ?, ?)")
            .bind(id)
            .bind(workspace)
            .bind(name)
            .bind(now),
    )
    .await?;
    Ok(id)
}
