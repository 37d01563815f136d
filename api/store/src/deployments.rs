//! Deployments and the modules that they run.

use super::notices::{self, Notice};
use super::runs::suspects::STRIKES_MAX;
use super::{Db, Sql, StoreError, rights, sql};
use heddle_model::access::{Editor, Manager, Scope};
use heddle_model::clock::Timestamp;
use heddle_model::ids::{DeploymentId, EnvironmentId, PatternId, RunId, UserId, WorkspaceId};
use heddle_model::status::DeploymentStatus;
use sqlx::FromRow;

/// A deployment.
#[derive(Clone, Debug, FromRow)]
pub struct DeploymentRow {
    /// UUIDv7, so that ids sort by time of creation.
    pub id: DeploymentId,
    /// What is deployed.
    pub pattern_id: PatternId,
    /// Its name when it was deployed.
    pub pattern_name: String,
    /// Who deployed it.
    pub user_id: UserId,
    /// Whose it is.
    pub workspace_id: Option<WorkspaceId>,
    /// Who owns the workspace, or the deployment if it is in none.
    pub owner_id: UserId,
    /// Where its secrets and variables come from.
    pub environment_id: Option<EnvironmentId>,
    /// State.
    #[sqlx(try_from = "String")]
    pub status: DeploymentStatus,
    /// The version that it was deployed from.
    pub version_number: i64,
    /// SHA-256 of its module, in hex.
    pub artifact: String,
    /// `[{type, nodeId}]` as JSON.
    pub triggers: String,
    /// Why it failed.
    pub error_message: Option<String>,
    /// How many servers its runs have brought down since it was deployed.
    pub strikes: i64,
    /// When its module was last put in place.
    #[sqlx(try_from = "i64")]
    pub confirmed_at: Timestamp,
    /// When first deployed.
    #[sqlx(try_from = "i64")]
    pub created_at: Timestamp,
    /// When its state last changed.
    #[sqlx(try_from = "i64")]
    pub updated_at: Timestamp,
}

impl DeploymentRow {
    /// Whether the deployed version has this trigger.
    pub fn has_trigger(&self, node_type: &str, node_id: &str) -> bool {
        let triggers: Vec<serde_json::Value> = serde_json::from_str(&self.triggers).unwrap_or_default();
        triggers
            .iter()
            .any(|trigger| trigger["type"] == node_type && trigger["nodeId"] == node_id)
    }

    /// Whether its runs are held: it is paused, or was stopped since they bring servers down.
    pub fn holds_runs(&self) -> bool {
        self.status == DeploymentStatus::Paused || self.strikes >= STRIKES_MAX
    }

    /// Whether it keeps this trigger's address in use: it has the trigger, and was not undeployed.
    pub fn holds(&self, node_type: &str, node_id: &str) -> bool {
        self.status != DeploymentStatus::Undeployed && self.has_trigger(node_type, node_id)
    }
}

/// Who owns the workspace of a deployment `d`, or the deployment if it is in none.
macro_rules! owner_of_deployment {
    () => {
        "coalesce((select m.user_id from memberships m where m.workspace_id = d.workspace_id and m.role = 'owner'
              order by m.created_at, m.user_id limit 1), d.user_id)"
    };
}

pub(crate) use owner_of_deployment;

const DEPLOYMENT: &str = concat!(
    "select d.id, d.pattern_id, d.pattern_name, d.user_id, d.workspace_id, d.environment_id,
    d.status, d.version_number, d.artifact, d.triggers, d.error_message, d.strikes, d.confirmed_at, d.created_at, d.updated_at, ",
    owner_of_deployment!(),
    " as owner_id from deployments d "
);

/// A deployment that the caller may see.
pub async fn visible(
    db: &mut Db<'_>,
    scope: &Scope,
    deployment: DeploymentId,
) -> Result<Option<DeploymentRow>, StoreError> {
    let query = sql(DEPLOYMENT).push("where d.id = ? and ").bind(deployment);
    db.optional(rights::deployments(query, scope)).await
}

/// The deployment of a pattern, if the caller may see it.
pub async fn visible_of_pattern(
    db: &mut Db<'_>,
    scope: &Scope,
    pattern: PatternId,
) -> Result<Option<DeploymentRow>, StoreError> {
    let query = sql(DEPLOYMENT).push("where d.pattern_id = ? and ").bind(pattern);
    db.optional(rights::deployments(query, scope)).await
}

/// A deployment that the caller may change. In a transaction nobody else changes it before that one's end.
pub async fn owned(
    db: &mut Db<'_>,
    editor: &Editor,
    deployment: DeploymentId,
) -> Result<Option<DeploymentRow>, StoreError> {
    let query = rights::deployments(
        sql(DEPLOYMENT).push("where d.id = ? and ").bind(deployment),
        editor,
    );
    let lock = if db.is_postgres() { " for update" } else { "" };
    db.optional(query.push(lock)).await
}

/// The deployment of a pattern, for work that the service does by itself.
pub async fn for_system(db: &mut Db<'_>, pattern: PatternId) -> Result<Option<DeploymentRow>, StoreError> {
    db.optional(sql(DEPLOYMENT).push("where d.pattern_id = ?").bind(pattern))
        .await
}

/// A deployment by its id, for work that the service does by itself.
pub async fn by_id_for_system(
    db: &mut Db<'_>,
    deployment: DeploymentId,
) -> Result<Option<DeploymentRow>, StoreError> {
    db.optional(sql(DEPLOYMENT).push("where d.id = ?").bind(deployment))
        .await
}

/// All deployments whose triggers work, for work that the service does by itself.
pub async fn all_active(db: &mut Db<'_>) -> Result<Vec<DeploymentRow>, StoreError> {
    db.all(sql(DEPLOYMENT).push("where d.status = 'active' order by d.id"))
        .await
}

/// How many of a workspace's deployments take their secrets and variables from this environment.
pub async fn count_in_environment(
    db: &mut Db<'_>,
    scope: &Scope,
    environment: EnvironmentId,
) -> Result<i64, StoreError> {
    let count = sql("select count(*) from deployments where workspace_id = ? and environment_id = ?")
        .bind(scope.workspace())
        .bind(environment)
        .push(" and status <> 'undeployed'");
    db.one(count).await.map(|(count,): (i64,)| count)
}

/// Deployments that are paused or stopped.
pub async fn paused(db: &mut Db<'_>) -> Result<Vec<(DeploymentId,)>, StoreError> {
    let query = sql("select id from deployments where status = 'paused' or strikes >= ?");
    db.all(query.bind(STRIKES_MAX)).await
}

/// Adds a deployment, or puts it in the place of the pattern's one, which keeps its id and its time of creation.
pub async fn put(db: &mut Db<'_>, editor: &Editor, row: &DeploymentRow) -> Result<(), StoreError> {
    let insert =
        sql("insert into deployments as d (id, pattern_id, pattern_name, user_id, workspace_id, environment_id, status,
             version_number, artifact, triggers, error_message, confirmed_at, created_at, updated_at)
             select ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ? where ")
        .bind(row.id)
        .bind(row.pattern_id)
        .bind(&row.pattern_name)
        .bind(row.user_id)
        .bind(row.workspace_id)
        .bind(row.environment_id)
        .bind(row.status)
        .bind(row.version_number)
        .bind(&row.artifact)
        .bind(&row.triggers)
        .bind(row.error_message.clone())
        .bind(row.confirmed_at)
        .bind(row.created_at)
        .bind(row.updated_at);
    let insert = rights::pattern(insert, editor, row.pattern_id).push(
            " on conflict (pattern_id) do update set pattern_name = excluded.pattern_name,
             environment_id = excluded.environment_id, status = excluded.status,
             version_number = excluded.version_number, artifact = excluded.artifact, triggers = excluded.triggers,
             error_message = excluded.error_message, strikes = 0, confirmed_at = excluded.confirmed_at,
             updated_at = excluded.updated_at where ");
    remember(db, row).await?;
    if db.execute(rights::deployments(insert, editor)).await? == 0 {
        return Err(StoreError::Missing);
    }
    notices::tell(db, Notice::Deployed(row.pattern_id)).await
}

/// Keeps of a pattern's deployment that gets another form what its former runs are replayed with.
async fn remember(db: &mut Db<'_>, row: &DeploymentRow) -> Result<(), StoreError> {
    let environment = sql(
        "insert into past_environments (deployment_id, until, environment_id)
         select d.id, ?, d.environment_id from deployments d
         where d.pattern_id = ? and coalesce(d.environment_id, '') <> ? on conflict do nothing",
    )
    .bind(row.updated_at)
    .bind(row.pattern_id)
    .bind(row.environment_id.map(|id| id.to_string()).unwrap_or_default());
    db.execute(environment).await?;
    let module = sql("update artifacts set created_at = ?
         where hash = (select d.artifact from deployments d where d.pattern_id = ?)");
    db.execute(module.bind(row.updated_at).bind(row.pattern_id))
        .await?;
    Ok(())
}

/// Writes a new state, for a caller who has checked that it may be.
pub async fn set_status(
    db: &mut Db<'_>,
    deployment: DeploymentId,
    status: DeploymentStatus,
    error_message: Option<&str>,
    now: Timestamp,
) -> Result<(), StoreError> {
    db.execute(
        sql("update deployments set status = ?, error_message = ?, updated_at = ? where id = ?")
            .bind(status)
            .bind(error_message)
            .bind(now)
            .bind(deployment),
    )
    .await?;
    notices::tell(db, Notice::Deployment(deployment)).await
}

/// Notes that the module was put in place: what its runs did before does not count any more.
pub async fn confirm(db: &mut Db<'_>, deployment: DeploymentId, now: Timestamp) -> Result<(), StoreError> {
    db.execute(
        sql("update deployments set confirmed_at = ?, strikes = 0 where id = ?")
            .bind(now)
            .bind(deployment),
    )
    .await?;
    Ok(())
}

/// Removes the deployment, not its runs.
pub async fn remove(db: &mut Db<'_>, editor: &Editor, deployment: DeploymentId) -> Result<(), StoreError> {
    let delete = sql("delete from deployments as d where d.id = ? and ").bind(deployment);
    db.execute(rights::deployments(delete, editor)).await?;
    notices::tell(db, Notice::Deployment(deployment)).await
}

/// Removes the deployments of a workspace that is being deleted, not their runs.
pub async fn remove_of_workspace(db: &mut Db<'_>, manager: &Manager) -> Result<(), StoreError> {
    db.execute(sql("delete from deployments where workspace_id = ?").bind(manager.workspace()))
        .await?;
    notices::tell(db, Notice::Everything).await
}

/// A deployment in a list, with what its runs amount to.
#[derive(Clone, Debug, FromRow)]
pub struct ListedRow {
    /// UUIDv7, so that ids sort by time of creation.
    pub id: DeploymentId,
    /// What is deployed.
    pub pattern_id: PatternId,
    /// The pattern's name now, or when it was deployed if it is gone.
    pub pattern_name: String,
    /// State.
    #[sqlx(try_from = "String")]
    pub status: DeploymentStatus,
    /// `[{type, nodeId}]` as JSON.
    pub triggers: String,
    /// The version that it was deployed from.
    pub version_number: i64,
    /// Why it failed.
    pub error_message: Option<String>,
    /// When first deployed.
    #[sqlx(try_from = "i64")]
    pub created_at: Timestamp,
    /// When its state last changed.
    #[sqlx(try_from = "i64")]
    pub updated_at: Timestamp,
    /// Runs that are kept.
    pub total_runs: i64,
    /// The last run; `None`: there is no run.
    pub last_run_id: Option<RunId>,
    /// The last run's status; `None`: there is no run.
    pub last_status: Option<String>,
    /// When it started, in milliseconds.
    pub last_started_at: Option<i64>,
    /// How long it took.
    pub last_duration_ms: Option<i64>,
}

/// Deployments in a list, with this for the number of their runs.
fn listed(total_runs: &'static str) -> Sql {
    let query = sql(
        "select d.id, d.pattern_id, coalesce(p.name, d.pattern_name) as pattern_name, d.status,
         d.triggers, d.version_number, d.error_message, d.created_at, d.updated_at, ",
    );
    query.push(total_runs).push(
        " as total_runs, l.id as last_run_id, l.status as last_status,
         coalesce(l.started_at, l.accepted_at) as last_started_at, l.duration_ms as last_duration_ms
         from deployments d left join patterns p on p.id = d.pattern_id
         left join runs l on l.id = (select r.id from runs r where r.deployment_id = d.id
                                     order by r.accepted_at desc, r.id desc limit 1)
         where ",
    )
}

/// A page of the caller's deployments, newest first.
pub async fn list(
    db: &mut Db<'_>,
    scope: &Scope,
    status: Option<DeploymentStatus>,
    limit: i64,
    offset: i64,
) -> Result<Vec<ListedRow>, StoreError> {
    let query = listed("(select count(*) from runs r where r.deployment_id = d.id)");
    let query = of_status(rights::deployments(query, scope), status);
    let query = query.push(" order by d.created_at desc, d.id desc limit ? offset ?");
    db.all(query.bind(limit).bind(offset)).await
}

/// The state of a deployment.
#[derive(Clone, Debug, FromRow)]
pub struct StateRow {
    /// The deployment.
    pub id: DeploymentId,
    /// What is deployed.
    pub pattern_id: PatternId,
    /// State.
    #[sqlx(try_from = "String")]
    pub status: DeploymentStatus,
    /// The version that it was deployed from.
    pub version_number: i64,
    /// When its state last changed.
    #[sqlx(try_from = "i64")]
    pub updated_at: Timestamp,
}

/// The states of all deployments that the caller may see, the one that changed first before the others.
pub async fn states(db: &mut Db<'_>, scope: &Scope) -> Result<Vec<StateRow>, StoreError> {
    let query =
        sql("select d.id, d.pattern_id, d.status, d.version_number, d.updated_at from deployments d where ");
    db.all(rights::deployments(query, scope).push(" order by d.updated_at, d.id"))
        .await
}

/// The deployments of these patterns that the caller may see, in no order. Their runs are not counted, which takes longer
/// than all else.
pub async fn list_of_patterns(
    db: &mut Db<'_>,
    scope: &Scope,
    patterns: &[PatternId],
) -> Result<Vec<ListedRow>, StoreError> {
    let query = rights::deployments(listed("cast(0 as bigint)"), scope).push(" and d.pattern_id in ");
    db.all(query.list_of_few_sizes(patterns.iter().copied())).await
}

fn of_status(query: Sql, status: Option<DeploymentStatus>) -> Sql {
    match status {
        Some(status) => query.push(" and d.status = ?").bind(status),
        None => query,
    }
}

/// How many deployments the caller has.
pub async fn count(
    db: &mut Db<'_>,
    scope: &Scope,
    status: Option<DeploymentStatus>,
) -> Result<i64, StoreError> {
    let query = rights::deployments(sql("select count(*) from deployments d where "), scope);
    let (count,): (i64,) = db.one(of_status(query, status)).await?;
    Ok(count)
}

/// How many deployments the caller has in each state.
pub async fn count_by_status(
    db: &mut Db<'_>,
    scope: &Scope,
) -> Result<Vec<(DeploymentStatus, i64)>, StoreError> {
    #[derive(FromRow)]
    struct Counted {
        #[sqlx(try_from = "String")]
        status: DeploymentStatus,
        total: i64,
    }
    let query = rights::deployments(
        sql("select d.status, count(*) as total from deployments d where "),
        scope,
    );
    let counted: Vec<Counted> = db.all(query.push(" group by d.status")).await?;
    Ok(counted
        .into_iter()
        .map(|counted| (counted.status, counted.total))
        .collect())
}

/// Stores a module. If it is already stored, its time is renewed, so that [`sweep_artifacts`] keeps it, as it is when another
/// one takes its place.
pub async fn keep_artifact(
    db: &mut Db<'_>,
    hash: &str,
    wasm: &[u8],
    now: Timestamp,
) -> Result<(), StoreError> {
    db.execute(
        sql("insert into artifacts (hash, wasm, created_at) values (?, ?, ?) 
             on conflict (hash) do update set created_at = excluded.created_at")
        .bind(hash)
        .bind(wasm)
        .bind(now),
    )
    .await?;
    Ok(())
}

/// A module, by the SHA-256 of its content in hex.
pub async fn artifact(db: &mut Db<'_>, hash: &str) -> Result<Option<Vec<u8>>, StoreError> {
    let found: Option<(Vec<u8>,)> = db
        .optional(sql("select wasm from artifacts where hash = ?").bind(hash))
        .await?;
    Ok(found.map(|(wasm,)| wasm))
}

/// Modules that nothing which may begin or go on refers to.
const REPLACED: &str = " from artifacts where created_at < ?
     and not exists (select 1 from deployments d where d.artifact = artifacts.hash)
     and not exists (select 1 from runs r where r.status = 'running' and r.artifact = artifacts.hash)";

/// Removes modules that were replaced before a time.
pub async fn sweep_artifacts(db: &mut Db<'_>, before: Timestamp) -> Result<u64, StoreError> {
    db.execute(sql("delete").push(REPLACED).bind(before)).await
}

/// Bytes of the modules that were replaced before a time.
pub async fn replaced_artifact_bytes(db: &mut Db<'_>, before: Timestamp) -> Result<i64, StoreError> {
    let query = sql("select cast(coalesce(sum(octet_length(wasm)), 0) as bigint)").push(REPLACED);
    let (bytes,): (i64,) = db.one(query.bind(before)).await?;
    Ok(bytes)
}

/// Removes up to `limit` modules that were replaced before a time, those first that were replaced first; gives the bytes of
/// each.
pub async fn remove_replaced_artifacts(
    db: &mut Db<'_>,
    before: Timestamp,
    limit: i64,
) -> Result<Vec<(i64,)>, StoreError> {
    let query = sql("delete from artifacts where hash in (select hash")
        .push(REPLACED)
        .bind(before)
        .push(" order by created_at limit ?) returning cast(octet_length(wasm) as bigint)");
    db.all(query.bind(limit)).await
}

/// Notes that a deployment's module can't be loaded, unless it has another one by now.
pub async fn fail_for_system(
    db: &mut Db<'_>,
    deployment: DeploymentId,
    artifact: &str,
    reason: &str,
    now: Timestamp,
) -> Result<(), StoreError> {
    db.execute(
        sql(
            "update deployments set status = ?, error_message = ?, updated_at = ?
             where id = ? and artifact = ? and status = ?",
        )
        .bind(DeploymentStatus::Failed)
        .bind(reason)
        .bind(now)
        .bind(deployment)
        .bind(artifact)
        .bind(DeploymentStatus::Active),
    )
    .await?;
    notices::tell(db, Notice::Deployment(deployment)).await
}

/// Undeploys a pattern that is being deleted.
pub async fn undeploy_deleted(
    db: &mut Db<'_>,
    editor: &Editor,
    pattern: PatternId,
    now: Timestamp,
) -> Result<(), StoreError> {
    let update = sql("update deployments as d set status = ?, updated_at = ? where d.pattern_id = ? and ")
        .bind(DeploymentStatus::Undeployed)
        .bind(now)
        .bind(pattern);
    db.execute(rights::deployments(update, editor)).await?;
    notices::tell(db, Notice::Deployed(pattern)).await
}
