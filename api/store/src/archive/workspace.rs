//! What is asked of a workspace before it is exported.

use crate::db::{Db, sql};
use crate::error::StoreError;
use heddle_model::ids::{RunId, WorkspaceId};

/// Emails of those who own a workspace, those first who have for longest.
pub async fn owners(db: &mut Db<'_>, workspace: WorkspaceId, limit: i64) -> Result<Vec<String>, StoreError> {
    let query = sql(
        "select u.email from memberships m join users u on u.id = m.user_id
         where m.workspace_id = ? and m.role = 'owner' order by m.created_at, m.user_id limit ?",
    );
    let found: Vec<(String,)> = db.all(query.bind(workspace).bind(limit)).await?;
    Ok(found.into_iter().map(|(email,)| email).collect())
}

/// Runs of a workspace that some server has in memory, as far as the database knows.
pub async fn in_memory(
    db: &mut Db<'_>,
    workspace: WorkspaceId,
    limit: i64,
) -> Result<Vec<RunId>, StoreError> {
    let query = sql(
        "select r.id from runs r join deployments d on d.id = r.deployment_id where r.status = 'running'
         and r.wake_at is null and d.workspace_id = ? and r.owner in (select s.id from servers s) limit ?",
    );
    let found: Vec<(RunId,)> = db.all(query.bind(workspace).bind(limit)).await?;
    Ok(found.into_iter().map(|(run,)| run).collect())
}

/// Runs of a workspace that have not ended, after one of them.
pub async fn unfinished(
    db: &mut Db<'_>,
    workspace: WorkspaceId,
    after: Option<RunId>,
    limit: i64,
) -> Result<Vec<RunId>, StoreError> {
    let query = sql(
        "select r.id from runs r join deployments d on d.id = r.deployment_id where r.status = 'running'
         and d.workspace_id = ? and r.id > ? order by r.id limit ?",
    )
    .bind(workspace)
    .bind(after.map(|run| run.to_string()).unwrap_or_default())
    .bind(limit);
    let found: Vec<(RunId,)> = db.all(query).await?;
    Ok(found.into_iter().map(|(run,)| run).collect())
}
