//! Workspaces as their operator sees them: all of them, suspended or not, with quotas of their own, and removed with
//! everything that they have. Nothing here asks for a member's rights: callers have checked that it is the operator.

use super::notices::{self, Notice};
use super::{Db, StoreError, data_keys, locks, sql, workspaces};
use heddle_model::access::{Editor, Scope};
use heddle_model::clock::Timestamp;
use heddle_model::error::{Code, ServiceError};
use heddle_model::ids::{DeploymentId, WorkspaceId};
use heddle_model::slot::Slot;
use heddle_model::workspace_quota::{WorkspaceQuota, WorkspaceQuotas};
use serde::{Deserialize, Serialize};
use sqlx_macros::FromRow;

/// A workspace.
#[derive(Clone, Debug, FromRow)]
pub struct TenantRow {
    /// UUIDv7, so that ids sort by time of creation.
    pub id: WorkspaceId,
    pub name: String,
    /// Email of whoever has owned it for longest; `None`: nobody owns it.
    pub owner_email: Option<String>,
    /// When made.
    pub created_at: Timestamp,
    /// Since when it is suspended, in milliseconds.
    pub suspended_at: Option<i64>,
    /// Why.
    pub suspended_reason: Option<String>,
    /// See [`Hosting`].
    pub hosting: Option<String>,
    /// How many members it has.
    pub members: i64,
    /// How many patterns it has.
    pub patterns: i64,
}

/// What the operator has set for a workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Hosting {
    /// Its own quotas.
    pub quotas: WorkspaceQuotas,
    /// How long its ended runs are kept, in days, if that is shorter than the service keeps them.
    pub retention_days: Option<i64>,
}

impl Hosting {
    /// As it is stored; what can't be read counts as nothing.
    pub fn of(stored: Option<&str>) -> Self {
        let read = stored.map(serde_json::from_str).and_then(Result::ok);
        read.unwrap_or_default()
    }
}

const TENANT: &str = "select w.id, w.name, w.created_at, w.suspended_at, w.suspended_reason, w.hosting,
    (select u.email from memberships m join users u on u.id = m.user_id where m.workspace_id = w.id and m.role = 'owner'
     order by m.created_at, m.user_id limit 1) as owner_email,
    (select count(*) from memberships m where m.workspace_id = w.id) as members,
    (select count(*) from patterns p where p.workspace_id = w.id) as patterns from workspaces w ";

/// A page of all workspaces, the oldest first; with `owner`, of those that the user with this email owns.
pub async fn list(
    db: &mut Db<'_>,
    owner: Option<&str>,
    after: Option<WorkspaceId>,
    limit: i64,
) -> Result<Vec<TenantRow>, StoreError> {
    let mut query = sql(TENANT).push("where w.id > ?");
    query = query.bind(after.map(|id| id.to_string()).unwrap_or_default());
    if let Some(owner) = owner {
        query = query
            .push(
                " and exists (select 1 from memberships m join users u on u.id = m.user_id
                 where m.workspace_id = w.id and m.role = 'owner' and u.email_key = ?)",
            )
            .bind(super::accounts::email_key(owner));
    }
    db.all(query.push(" order by w.id limit ?").bind(limit)).await
}

/// A workspace.
pub async fn find(db: &mut Db<'_>, workspace: WorkspaceId) -> Result<Option<TenantRow>, StoreError> {
    db.optional(sql(TENANT).push("where w.id = ?").bind(workspace))
        .await
}

/// What the operator has set for a workspace, and whether it is suspended; `None`: there is no such workspace.
pub async fn settings(
    db: &mut Db<'_>,
    workspace: WorkspaceId,
) -> Result<Option<(Hosting, bool)>, StoreError> {
    let query = sql("select hosting, suspended_at from workspaces where id = ?").bind(workspace);
    let found: Option<(Option<String>, Option<i64>)> = db.optional(query).await?;
    Ok(found.map(|(hosting, suspended_at)| (Hosting::of(hosting.as_deref()), suspended_at.is_some())))
}

/// Holds the editor's workspace as it is until the transaction ends. Rights were checked when the request came: it may have been
/// suspended or deleted since then, and the editor removed from it. What is suspended takes nothing more, neither does any workspace
/// of who is no editor of it any longer.
pub async fn hold_running(db: &mut Db<'_>, editor: &Editor) -> Result<(), ServiceError> {
    let Some(workspace) = editor.workspace() else {
        return Ok(());
    };
    let lock = if db.is_postgres() { " for share" } else { "" };
    let query = sql("select suspended_at from workspaces where id = ?").bind(workspace);
    let found: Option<(Option<i64>,)> = db.optional(query.push(lock)).await?;
    let (suspended_at,) = found.ok_or(Code::WorkspaceNotFound)?;
    if suspended_at.is_some() {
        return Err(Code::WorkspaceSuspended.into());
    }
    // Members are changed by who has locked the workspace.
    let member = workspaces::member(db, editor, editor.user()).await?;
    let role = member.ok_or(Code::WorkspaceNotFound)?.role;
    Scope::checked(editor.user(), Some((workspace, role)), editor.origin())
        .editor()
        .map(drop)
}

/// Sets quotas and retention of a workspace.
pub async fn set(db: &mut Db<'_>, workspace: WorkspaceId, hosting: &Hosting) -> Result<(), StoreError> {
    let set = sql("update workspaces set hosting = ? where id = ?");
    db.execute(set.bind(serde_json::to_string(hosting)?).bind(workspace))
        .await?;
    notices::tell(db, Notice::Workspace(workspace)).await
}

/// Workspaces whose operator has set something, with what it is.
pub async fn all_settings(db: &mut Db<'_>) -> Result<Vec<(WorkspaceId, Hosting)>, StoreError> {
    let query = sql("select id, hosting from workspaces where hosting is not null");
    let rows: Vec<(WorkspaceId, Option<String>)> = db.all(query).await?;
    let read = |(id, hosting): (WorkspaceId, Option<String>)| (id, Hosting::of(hosting.as_deref()));
    Ok(rows.into_iter().map(read).collect())
}

/// Suspends a workspace: what is active is paused, its schedules are not due, and runs of what was undeployed or has failed are
/// held as well. `false`: it was suspended before.
pub async fn suspend(
    db: &mut Db<'_>,
    workspace: WorkspaceId,
    reason: Option<&str>,
    now: Timestamp,
) -> Result<bool, StoreError> {
    let suspend = sql(
        "update workspaces set suspended_at = ?, suspended_reason = ? where id = ? and suspended_at is null",
    )
    .bind(now)
    .bind(reason)
    .bind(workspace);
    if db.execute(suspend).await? == 0 {
        return Ok(false);
    }
    locks::deployments(db, sql("workspace_id = ?").bind(workspace)).await?;
    let hold =
        "update schedules set held_due_at = next_due_at, next_due_at = null where next_due_at is not null
         and deployment_id in (select id from deployments where workspace_id = ? and status = 'active')";
    db.execute(sql(hold).bind(workspace)).await?;
    let pause = "update deployments set status = case status when 'active' then 'paused' else status end, suspended = true
         where workspace_id = ? and status <> 'paused'";
    db.execute(sql(pause).bind(workspace)).await?;
    notices::tell(db, Notice::Workspace(workspace)).await?;
    Ok(true)
}

/// Lets a workspace go on where it was suspended. `false`: it was not.
pub async fn resume(db: &mut Db<'_>, workspace: WorkspaceId) -> Result<bool, StoreError> {
    let resume = "update workspaces set suspended_at = null, suspended_reason = null
         where id = ? and suspended_at is not null";
    if db.execute(sql(resume).bind(workspace)).await? == 0 {
        return Ok(false);
    }
    locks::deployments(db, sql("workspace_id = ?").bind(workspace)).await?;
    for statement in [
        "update schedules set next_due_at = held_due_at where held_due_at is not null and deployment_id in
         (select id from deployments where workspace_id = ? and suspended and status = 'paused')",
        "update schedules set held_due_at = null where held_due_at is not null and deployment_id in
         (select id from deployments where workspace_id = ?)",
        "update deployments set status = 'active' where workspace_id = ? and suspended and status = 'paused'",
        "update deployments set suspended = false where workspace_id = ? and suspended",
    ] {
        db.execute(sql(statement).bind(workspace)).await?;
    }
    notices::tell(db, Notice::Workspace(workspace)).await?;
    Ok(true)
}

/// Notes that much of a quota is used; `false`: that was noted before in the same month.
pub async fn warn(
    db: &mut Db<'_>,
    workspace: WorkspaceId,
    quota: WorkspaceQuota,
    month: Timestamp,
    now: Timestamp,
) -> Result<bool, StoreError> {
    let note = sql(
        "insert into quota_warnings (workspace_id, quota, month, warned_at)
         select id, ?, ?, ? from workspaces where id = ? on conflict do nothing",
    )
    .bind(quota.name())
    .bind(month)
    .bind(now)
    .bind(workspace);
    Ok(db.execute(note).await? > 0)
}

/// A workspace's deployments, and the slots that they are in.
pub async fn deployments(
    db: &mut Db<'_>,
    workspace: WorkspaceId,
) -> Result<Vec<(DeploymentId, Slot)>, StoreError> {
    #[derive(FromRow)]
    struct Found {
        id: DeploymentId,
        pattern_id: heddle_model::ids::PatternId,
        environment_id: Option<heddle_model::ids::EnvironmentId>,
    }
    let query = sql(
        "select id, pattern_id, nullif(slot, '') as environment_id from deployments where workspace_id = ?",
    );
    let rows: Vec<Found> = db.all(query.bind(workspace)).await?;
    let slot = |row: Found| {
        let slot = Slot {
            pattern: row.pattern_id,
            environment: row.environment_id,
        };
        (row.id, slot)
    };
    Ok(rows.into_iter().map(slot).collect())
}

/// Removes a deployment of a workspace that is being removed, not its runs; gives the SHA-256 of its module.
pub async fn remove_deployment(
    db: &mut Db<'_>,
    deployment: DeploymentId,
) -> Result<Option<String>, StoreError> {
    locks::deployments(db, sql("id = ?").bind(deployment)).await?;
    for statement in [
        "delete from idempotency_keys where scope in (select id from schedules where deployment_id = ?)",
        "delete from schedules where deployment_id = ?",
    ] {
        db.execute(sql(statement).bind(deployment)).await?;
    }
    let delete = sql("delete from deployments where id = ? returning artifact").bind(deployment);
    let removed: Option<(String,)> = db.optional(delete).await?;
    notices::tell(db, Notice::Deployment(deployment)).await?;
    Ok(removed.map(|(artifact,)| artifact))
}

/// Removes up to `limit` runs of a deployment that is gone, with all that is kept of them; gives the SHA-256 of the module
/// of each.
pub async fn remove_runs(
    db: &mut Db<'_>,
    deployment: DeploymentId,
    limit: i64,
) -> Result<Vec<(String,)>, StoreError> {
    let some = "(select id from runs where deployment_id = ? order by id limit ?)";
    for delete in [
        "delete from idempotency_keys where scope in ",
        "delete from responses where run_id in ",
    ] {
        let delete = sql(delete).push(some).bind(deployment).bind(limit);
        db.execute(delete).await?;
    }
    let delete = sql("delete from runs where id in ").push(some);
    db.all(delete.bind(deployment).bind(limit).push(" returning artifact"))
        .await
}

/// What is removed of a workspace before the workspace itself, in this order. Each takes the workspace and how many rows it
/// removes at most.
const PARTS: &[&str] = &[
    "delete from webhook_logs where id in (select l.id from patterns p join webhook_logs l on l.pattern_id = p.id
     where p.workspace_id = ? limit ?)",
    "delete from tap_events where id in (select t.id from patterns p join webhook_endpoints e on e.pattern_id = p.id
     join tap_events t on t.endpoint_id = e.id where p.workspace_id = ? limit ?)",
    "delete from idempotency_keys where (scope, key) in (select k.scope, k.key from patterns p
     join webhook_endpoints e on e.pattern_id = p.id join idempotency_keys k on k.scope = e.id
     where p.workspace_id = ? limit ?)",
    "delete from idempotency_keys where (scope, key) in (select k.scope, k.key from patterns p
     join email_endpoints e on e.pattern_id = p.id join idempotency_keys k on k.scope = e.id
     where p.workspace_id = ? limit ?)",
    "delete from webhook_endpoints where id in (select e.id from patterns p
     join webhook_endpoints e on e.pattern_id = p.id where p.workspace_id = ? limit ?)",
    "delete from email_endpoints where id in (select e.id from patterns p
     join email_endpoints e on e.pattern_id = p.id where p.workspace_id = ? limit ?)",
    "delete from key_values where (scope, key) in (select scope, key from key_values where workspace_id = ? limit ?)",
    "delete from key_values where (scope, key) in (select k.scope, k.key from patterns p
     join key_values k on k.pattern_id = p.id where p.workspace_id = ? limit ?)",
    "delete from pattern_versions where (pattern_id, version_number) in (select v.pattern_id, v.version_number
     from patterns p join pattern_versions v on v.pattern_id = p.id where p.workspace_id = ? limit ?)",
    "delete from pattern_tests where id in (select t.id from patterns p join pattern_tests t on t.pattern_id = p.id
     where p.workspace_id = ? limit ?)",
    "delete from patterns where id in (select id from patterns where workspace_id = ? limit ?)",
    "delete from run_journals where run_id in
     (select run_id from run_journals where tenant_id = ? and is_kept limit ?)",
    "delete from run_journals where run_id in
     (select run_id from run_journals where tenant_id = ? and not is_kept limit ?)",
    "delete from audit_entries where id in (select id from audit_entries where workspace_id = ? limit ?)",
    "delete from usage_hours where (tenant_id, hour, counter) in
     (select tenant_id, hour, counter from usage_hours where tenant_id = ? limit ?)",
    "delete from test_usage_hours where (tenant_id, hour) in
     (select tenant_id, hour from test_usage_hours where tenant_id = ? limit ?)",
    "delete from storage_hours where (tenant_id, hour) in
     (select tenant_id, hour from storage_hours where tenant_id = ? limit ?)",
];

/// How many parts there are for [`remove_part`].
pub const PARTS_COUNT: usize = PARTS.len();

/// Removes up to `limit` rows of a part of a workspace; how many those were. Deployments and runs are gone by then.
pub async fn remove_part(
    db: &mut Db<'_>,
    workspace: WorkspaceId,
    part: usize,
    limit: i64,
) -> Result<u64, StoreError> {
    let Some(text) = PARTS.get(part) else {
        return Ok(0);
    };
    db.execute(sql(text).bind(workspace).bind(limit)).await
}

/// Removes the workspace itself, with its members, environments, secrets and connections, and the key that encrypted them.
/// `false`: it was gone before.
pub async fn remove(db: &mut Db<'_>, workspace: WorkspaceId) -> Result<bool, StoreError> {
    data_keys::forget(db, workspace).await?;
    let removed = db
        .execute(sql("delete from workspaces where id = ?").bind(workspace))
        .await?;
    notices::tell(db, Notice::Everything).await?;
    Ok(removed > 0)
}

/// Removes those of these modules that no other tenant has deployed, now or before, and that no run under way needs; gives them. Of a
/// module that another tenant has deployed, journals may be kept: it is removed with the modules that nothing refers to any more.
pub async fn remove_artifacts(
    db: &mut Db<'_>,
    workspace: WorkspaceId,
    hashes: &[String],
) -> Result<Vec<(String,)>, StoreError> {
    if db.is_postgres() {
        // Whoever is deploying one has locked it: their deployment is seen by the next statement, not by one that waited.
        let lock = sql("select hash from artifacts where hash in ").list_of_few_sizes(hashes);
        let _locked: Vec<(String,)> = db.all(lock.push(" order by hash for update")).await?;
    }
    let delete = sql("delete from artifacts where hash in ").list_of_few_sizes(hashes);
    let delete = delete.push(
        " and not exists (select 1 from deployments d where d.artifact = artifacts.hash)
         and not exists (select 1 from module_seals s where s.hash = artifacts.hash and s.tenant <> ?)
         and hash not in (select r.artifact from runs r where r.status = 'running' and r.wake_at is null
                          union all
                          select r.artifact from runs r where r.status = 'running' and r.wake_at is not null)
         returning hash",
    );
    db.all(delete.bind(workspace)).await
}
