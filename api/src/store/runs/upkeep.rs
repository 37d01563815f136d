//! Runs as the service itself looks after them: those whose server stopped, and those that are old.

use crate::access::Editor;
use crate::clock::Timestamp;
use crate::execution::status::{RunStatus, TriggeredBy};
use crate::ids::{DeploymentId, RunId, WorkspaceId};
use crate::store::{Db, StoreError, sql};
use sqlx::FromRow;

/// A run that goes on: another start of the server left it behind, or it was parked.
#[derive(Clone, Debug, FromRow)]
pub struct LeftRow {
    /// Id.
    pub id: RunId,
    /// Whose run it is.
    pub deployment_id: DeploymentId,
    /// What started it.
    #[sqlx(try_from = "String")]
    pub triggered_by: TriggeredBy,
    /// Where it starts.
    pub node_id: Option<String>,
    /// eventData as JSON.
    pub event: Option<String>,
    /// SHA-256 of its module, in hex.
    pub artifact: String,
    /// The pattern's version.
    pub version_number: i64,
    /// Attempt, from 1.
    pub attempt: i64,
    /// How often it was taken up, this time included.
    pub takeovers: i64,
    /// When accepted.
    #[sqlx(try_from = "i64")]
    pub accepted_at: Timestamp,
    /// When its next attempt is due, in milliseconds.
    pub resumes_at: Option<i64>,
    /// The run whose CallPattern waits for it.
    pub parent_id: Option<RunId>,
    /// Which of its parent's effects that is.
    pub parent_key: Option<String>,
    /// How many runs called each other above it.
    pub depth: i64,
}

const LEFT: &str =
    ") returning id, deployment_id, triggered_by, node_id, event, artifact, version_number, attempt,
    takeovers, accepted_at, resumes_at, parent_id, parent_key, depth";

/// Takes up to `limit` runs that other starts of the server left running, oldest first; those of paused
/// deployments are left until these are resumed.
pub async fn take_up(
    db: &mut Db<'_>,
    owner: &str,
    of: Option<DeploymentId>,
    limit: i64,
) -> Result<Vec<LeftRow>, StoreError> {
    let mut query = sql(
        "update runs set owner = ?, takeovers = takeovers + 1 where id in (
         select r.id from runs r join deployments d on d.id = r.deployment_id
         where r.status = 'running' and r.wake_at is null and r.owner <> ? and d.status <> 'paused'",
    )
    .bind(owner)
    .bind(owner);
    if let Some(deployment) = of {
        query = query.push(" and d.id = ?").bind(deployment);
    }
    let lock = if db.is_postgres() {
        " for update of r skip locked"
    } else {
        ""
    };
    let query = query
        .push(" order by r.id limit ?")
        .bind(limit)
        .push(lock)
        .push(LEFT);
    let mut rows: Vec<LeftRow> = db.all(query).await?;
    rows.sort_by_key(|row| row.id);
    Ok(rows)
}

/// Takes up to `limit` parked runs whose time has come, those first that have waited longest; those of paused
/// deployments are left until these are resumed.
pub async fn wake_up(
    db: &mut Db<'_>,
    owner: &str,
    now: Timestamp,
    limit: i64,
) -> Result<Vec<LeftRow>, StoreError> {
    let lock = if db.is_postgres() {
        " for update of r skip locked"
    } else {
        ""
    };
    let query = sql("update runs set owner = ?, wake_at = null, woken = false, phase = 'queued' where id in (
         select r.id from runs r join deployments d on d.id = r.deployment_id
         where r.wake_at <= ? and r.status = 'running' and d.status <> 'paused' order by r.wake_at, r.id limit ?")
    .bind(owner)
    .bind(now)
    .bind(limit)
    .push(lock)
    .push(LEFT);
    let mut rows: Vec<LeftRow> = db.all(query).await?;
    rows.sort_by_key(|row| row.id);
    Ok(rows)
}

/// Parks a run that could not be taken up.
pub async fn park_again(db: &mut Db<'_>, run: RunId, until: Timestamp) -> Result<(), StoreError> {
    let query = sql("update runs set wake_at = ?, phase = 'waiting' where id = ? and status = 'running'");
    db.execute(query.bind(until).bind(run)).await?;
    Ok(())
}

/// Ends a run that no server executes. `false`: it had ended before.
pub async fn end_unowned(
    db: &mut Db<'_>,
    _: &Editor,
    run: RunId,
    status: RunStatus,
    error: &str,
    now: Timestamp,
) -> Result<bool, StoreError> {
    let changed = db
        .execute(
            sql(
                "update runs set status = ?, phase = 'ended', error = ?, completed_at = ?, resumes_at = null, wake_at = null
                 where id = ? and status = 'running'",
            )
            .bind(status)
            .bind(error)
            .bind(now)
            .bind(run),
        )
        .await?;
    Ok(changed > 0)
}

/// Ends a parked run as cancelled.
pub async fn end_parked(db: &mut Db<'_>, run: RunId, error: &str, now: Timestamp) -> Result<(), StoreError> {
    db.execute(
        sql(
            "update runs set status = ?, phase = 'ended', error = ?, completed_at = ?, resumes_at = null, wake_at = null
             where id = ? and status = 'running' and wake_at is not null",
        )
        .bind(RunStatus::Failure)
        .bind(error)
        .bind(now)
        .bind(run),
    )
    .await?;
    Ok(())
}

/// Deployments, one after another, with their workspaces.
pub async fn deployments_after(
    db: &mut Db<'_>,
    after: Option<DeploymentId>,
    limit: i64,
) -> Result<Vec<(DeploymentId, Option<WorkspaceId>)>, StoreError> {
    let query = match after {
        Some(after) => sql("select id, workspace_id from deployments where id > ?").bind(after),
        None => sql("select id, workspace_id from deployments"),
    };
    db.all(query.push(" order by id limit ?").bind(limit)).await
}

/// Removes up to `limit` ended runs of a deployment that were accepted before a time, oldest first.
pub async fn remove_before(
    db: &mut Db<'_>,
    deployment: DeploymentId,
    before: Timestamp,
    limit: i64,
) -> Result<u64, StoreError> {
    db.execute(
        sql(
            "delete from runs where id in (select id from runs where deployment_id = ? and accepted_at < ?
             and status <> 'running' order by accepted_at limit ?)",
        )
        .bind(deployment)
        .bind(before)
        .bind(limit),
    )
    .await
}

/// How many runs a workspace has.
pub async fn count_of_workspace(db: &mut Db<'_>, workspace: WorkspaceId) -> Result<i64, StoreError> {
    let (count,): (i64,) = db
        .one(
            sql("select count(*) from deployments d join runs r on r.deployment_id = d.id where d.workspace_id = ?")
                .bind(workspace),
        )
        .await?;
    Ok(count)
}

/// Removes up to `limit` ended runs of a workspace, oldest first.
pub async fn remove_oldest(db: &mut Db<'_>, workspace: WorkspaceId, limit: i64) -> Result<u64, StoreError> {
    db.execute(
        sql("delete from runs where id in (
             select r.id from deployments d join runs r on r.deployment_id = d.id
             where d.workspace_id = ? and r.status <> 'running' order by r.accepted_at limit ?)")
        .bind(workspace)
        .bind(limit),
    )
    .await
}

/// Removes up to `limit` runs of a deployment, whatever their state.
pub async fn remove_of(db: &mut Db<'_>, deployment: DeploymentId, limit: i64) -> Result<u64, StoreError> {
    db.execute(
        sql("delete from runs where id in (select id from runs where deployment_id = ? limit ?)")
            .bind(deployment)
            .bind(limit),
    )
    .await
}

/// Removes up to `limit` runs whose deployment is gone.
pub async fn remove_orphans(db: &mut Db<'_>, limit: i64) -> Result<u64, StoreError> {
    db.execute(
        sql(
            "delete from runs where id in (select r.id from runs r where not exists
             (select 1 from deployments d where d.id = r.deployment_id) limit ?)",
        )
        .bind(limit),
    )
    .await
}

/// Removes idempotency keys over their time.
pub async fn remove_keys(db: &mut Db<'_>, now: Timestamp, limit: i64) -> Result<u64, StoreError> {
    db.execute(
        sql("delete from idempotency_keys where (scope, key) in
             (select scope, key from idempotency_keys where expires_at <= ? limit ?)")
        .bind(now)
        .bind(limit),
    )
    .await
}
