//! Removing an account: what goes with it, and who gets what it shared. Knows nothing of who may ask for it.

use super::notices::{self, Notice};
use super::{Db, StoreError, audit, data_keys, locks, sql};
use heddle_model::audit::{Action, Object, Origin};
use heddle_model::ids::{DeploymentId, UserId, WorkspaceId};
use sqlx_macros::FromRow;

/// A workspace that nobody else owns.
#[derive(Clone, Debug, FromRow)]
pub struct OwnedAlone {
    pub id: WorkspaceId,
    pub name: String,
    /// How many other members it has.
    pub others: i64,
    /// How many patterns are in it.
    pub patterns: i64,
    /// Whether the operator has suspended it.
    pub is_suspended: bool,
}

/// What becomes of what an account has.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Workspaces that nobody else is a member of: they go.
    pub go: Vec<OwnedAlone>,
    /// Workspaces with members, of whom none is an owner, and those that are suspended: they are in the way.
    pub in_the_way: Vec<OwnedAlone>,
    /// Patterns that go: those of these workspaces, and those outside of workspaces.
    pub patterns: i64,
    /// Active deployments that go.
    pub deployments: i64,
    /// All deployments that go, whatever their status: even one that is undeployed may have runs under way.
    pub ended: Vec<DeploymentId>,
}

/// What would become of what a user has.
pub async fn plan(db: &mut Db<'_>, user: UserId) -> Result<Plan, StoreError> {
    let owned = sql("select w.id, w.name,
             (select count(*) from memberships m where m.workspace_id = w.id and m.user_id <> ?) as others,
             (select count(*) from patterns p where p.workspace_id = w.id) as patterns,
             (w.suspended_at is not null) as is_suspended
         from workspaces w join memberships o on o.workspace_id = w.id and o.user_id = ? and o.role = 'owner'
         where not exists (select 1 from memberships x
             where x.workspace_id = w.id and x.role = 'owner' and x.user_id <> ?)
         order by w.created_at, w.id");
    let owned: Vec<OwnedAlone> = db.all(owned.bind(user).bind(user).bind(user)).await?;
    let (in_the_way, go): (Vec<_>, Vec<_>) = owned
        .into_iter()
        .partition(|workspace| workspace.others > 0 || workspace.is_suspended);
    let outside = sql("select count(*) from patterns where workspace_id is null and owner_id = ?");
    let (outside,): (i64,) = db.one(outside.bind(user)).await?;
    let (active, ended) = (
        "select count(*) from deployments where status = 'active' and ((workspace_id is null and user_id = ?)
         or workspace_id in ",
        "select id from deployments where ((workspace_id is null and user_id = ?) or workspace_id in ",
    );
    let of_those = |text| {
        let those = sql(text).bind(user).list(go.iter().map(|workspace| workspace.id));
        those.push(")")
    };
    let (deployments,): (i64,) = db.one(of_those(active)).await?;
    let ended: Vec<(DeploymentId,)> = db.all(of_those(ended)).await?;
    Ok(Plan {
        patterns: outside + go.iter().map(|workspace| workspace.patterns).sum::<i64>(),
        deployments,
        ended: ended.into_iter().map(|(deployment,)| deployment).collect(),
        go,
        in_the_way,
    })
}

/// Removes a user with what is theirs alone. What is in workspaces that stay goes to the owner of longest standing there. An
/// error is a [`Plan`] with workspaces that are in the way, and nothing is removed.
pub async fn remove(
    db: &mut Db<'_>,
    user: UserId,
    by: (Option<UserId>, Origin),
) -> Result<Result<Plan, Plan>, StoreError> {
    lock(db, user).await?;
    let plan = plan(db, user).await?;
    if !plan.in_the_way.is_empty() {
        return Ok(Err(plan));
    }
    for workspace in &plan.go {
        remove_workspace(db, workspace.id).await?;
    }
    remove_outside(db, user).await?;
    hand_over(db, user).await?;
    tell(db, user, by).await?;
    for statement in [
        "delete from pattern_stars where user_id = ?",
        "delete from pattern_drafts where user_id = ?",
        "delete from pattern_presence where user_id = ?",
        "delete from users where id = ?",
        "delete from key_value_usage where owner_id = ?",
    ] {
        db.execute(sql(statement).bind(user)).await?;
    }
    // What is in flight of them is cancelled.
    for deployment in &plan.ended {
        notices::tell(db, Notice::Deployment(*deployment)).await?;
    }
    notices::tell(db, Notice::Everything).await?;
    Ok(Ok(plan))
}

/// Has nobody join or leave the user's workspaces until the transaction ends; SQLite has one writer and needs no lock.
async fn lock(db: &mut Db<'_>, user: UserId) -> Result<(), StoreError> {
    if db.is_postgres() {
        let lock = sql(
            "select id from workspaces where id in (select workspace_id from memberships where user_id = ?)
             order by id for update",
        );
        let _: Vec<(String,)> = db.all(lock.bind(user)).await?;
    }
    Ok(())
}

async fn remove_workspace(db: &mut Db<'_>, workspace: WorkspaceId) -> Result<(), StoreError> {
    locks::deployments(db, sql("workspace_id = ?").bind(workspace)).await?;
    for statement in [
        "delete from tap_events where endpoint_id in (select e.id from webhook_endpoints e
         join patterns p on p.id = e.pattern_id where p.workspace_id = ?)",
        "delete from webhook_logs where pattern_id in (select id from patterns where workspace_id = ?)",
        "delete from webhook_endpoints where pattern_id in (select id from patterns where workspace_id = ?)",
        "delete from email_endpoints where pattern_id in (select id from patterns where workspace_id = ?)",
        "delete from schedules where deployment_id in (select id from deployments where workspace_id = ?)",
        "delete from deployments where workspace_id = ?",
        "delete from patterns where workspace_id = ?",
    ] {
        db.execute(sql(statement).bind(workspace)).await?;
    }
    data_keys::forget(db, workspace).await?;
    let delete = sql("delete from workspaces where id = ?").bind(workspace);
    db.execute(delete).await.map(drop)
}

/// What the user has outside of workspaces.
async fn remove_outside(db: &mut Db<'_>, user: UserId) -> Result<(), StoreError> {
    locks::deployments(db, sql("workspace_id is null and user_id = ?").bind(user)).await?;
    for statement in [
        "delete from tap_events where endpoint_id in (select e.id from webhook_endpoints e
         join patterns p on p.id = e.pattern_id where p.workspace_id is null and p.owner_id = ?)",
        "delete from webhook_logs where pattern_id in
         (select id from patterns where workspace_id is null and owner_id = ?)",
        "delete from webhook_endpoints where pattern_id in
         (select id from patterns where workspace_id is null and owner_id = ?)",
        "delete from email_endpoints where pattern_id in
         (select id from patterns where workspace_id is null and owner_id = ?)",
        "delete from schedules where deployment_id in
         (select id from deployments where workspace_id is null and user_id = ?)",
        "delete from deployments where workspace_id is null and user_id = ?",
        "delete from module_seals where tenant = ?",
        "delete from patterns where workspace_id is null and owner_id = ?",
        "delete from connections where workspace_id is null and user_id = ?",
    ] {
        db.execute(sql(statement).bind(user)).await?;
    }
    Ok(())
}

/// Gives what the user has made in workspaces that stay to the owner of longest standing there.
async fn hand_over(db: &mut Db<'_>, user: UserId) -> Result<(), StoreError> {
    for statement in [
        "update patterns set owner_id = coalesce((select m.user_id from memberships m
             where m.workspace_id = patterns.workspace_id and m.role = 'owner' and m.user_id <> ?
             order by m.created_at, m.user_id limit 1), owner_id)
         where owner_id = ? and workspace_id is not null",
        "update deployments set user_id = coalesce((select m.user_id from memberships m
             where m.workspace_id = deployments.workspace_id and m.role = 'owner' and m.user_id <> ?
             order by m.created_at, m.user_id limit 1), user_id)
         where user_id = ? and workspace_id is not null",
        "update connections set user_id = coalesce((select m.user_id from memberships m
             where m.workspace_id = connections.workspace_id and m.role = 'owner' and m.user_id <> ?
             order by m.created_at, m.user_id limit 1), user_id)
         where user_id = ? and workspace_id is not null",
        "update workspaces set created_by = (select m.user_id from memberships m
             where m.workspace_id = workspaces.id and m.role = 'owner' and m.user_id <> ?
             order by m.created_at, m.user_id limit 1)
         where created_by = ?",
    ] {
        db.execute(sql(statement).bind(user).bind(user)).await?;
    }
    // Values of workspaces count toward whoever pays for these now; those of patterns are in workspaces as well.
    let values = sql(
        "update key_values set owner_id = (select w.created_by from workspaces w where w.id = coalesce(
             key_values.workspace_id, (select p.workspace_id from patterns p where p.id = key_values.pattern_id)))
         where owner_id = ? and user_id is null",
    );
    db.execute(values.bind(user)).await?;
    Ok(())
}

/// Tells the logs of the workspaces that stay.
async fn tell(db: &mut Db<'_>, user: UserId, by: (Option<UserId>, Origin)) -> Result<(), StoreError> {
    let of = sql("select workspace_id from memberships where user_id = ? order by workspace_id");
    let workspaces: Vec<(WorkspaceId,)> = db.all(of.bind(user)).await?;
    for (workspace,) in workspaces {
        let gone = Action::MemberAccountRemoved.of(Object::User(user));
        audit::note_in_workspace(db, workspace, by, gone).await?;
    }
    Ok(())
}
