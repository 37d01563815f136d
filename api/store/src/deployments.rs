//! Deployments: which are there, and their states.

mod artifacts;
mod listing;
mod seals;

pub use artifacts::{artifact, keep_artifact, remove_artifacts, replaced_artifact_bytes, replaced_artifacts};
pub use listing::{
    ListedRow, RecentRow, StateRow, count, count_by_status, list, list_in_pattern, list_of_patterns,
    recent_runs, states,
};
pub use seals::{begin_sealing, seal_module, sealed_rights, sealing_begun, without_seals};

use super::notices::{self, Notice};
use super::runs::suspects::STRIKES_MAX;
use super::{Db, StoreError, key_values, locks, rights, sql};
use heddle_model::access::{Editor, Manager, Scope};
use heddle_model::clock::Timestamp;
use heddle_model::ids::{DeploymentId, EnvironmentId, PatternId, UserId, WorkspaceId};
use heddle_model::slot::Slot;
use heddle_model::status::DeploymentStatus;
use sqlx_macros::FromRow;

#[derive(Clone, Debug, FromRow)]
pub struct DeploymentRow {
    /// UUIDv7, so that ids sort by time of creation.
    pub id: DeploymentId,
    /// What is deployed.
    pub pattern_id: PatternId,
    /// The environment of its slot; `None`: it is the main one.
    pub slot_environment_id: Option<EnvironmentId>,
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
    /// Whether its runs are held because its workspace is suspended.
    pub suspended: bool,
    /// When its module was last put in place.
    pub confirmed_at: Timestamp,
    /// When first deployed.
    pub created_at: Timestamp,
    /// When its state last changed.
    pub updated_at: Timestamp,
}

impl DeploymentRow {
    /// Which of the pattern's deployments it is.
    pub const fn slot(&self) -> Slot {
        Slot {
            pattern: self.pattern_id,
            environment: self.slot_environment_id,
        }
    }

    /// Whether the deployed version has this trigger.
    pub fn has_trigger(&self, node_type: &str, node_id: &str) -> bool {
        let triggers: Vec<serde_json::Value> = serde_json::from_str(&self.triggers).unwrap_or_default();
        triggers
            .iter()
            .any(|trigger| trigger["type"] == node_type && trigger["nodeId"] == node_id)
    }

    /// Whether the deployed version has a trigger of this type.
    pub fn has_trigger_of(&self, node_type: &str) -> bool {
        let triggers: Vec<serde_json::Value> = serde_json::from_str(&self.triggers).unwrap_or_default();
        triggers.iter().any(|trigger| trigger["type"] == node_type)
    }

    /// Whether its runs are held: it is paused, its workspace is suspended, or it was stopped since they bring servers down.
    pub fn holds_runs(&self) -> bool {
        self.status == DeploymentStatus::Paused || self.suspended || self.strikes >= STRIKES_MAX
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

/// What is in no workspace has no environment: it was possible to give it one, of a workspace that its user may have left.
const DEPLOYMENT: &str = concat!(
    "select d.id, d.pattern_id, nullif(d.slot, '') as slot_environment_id, d.pattern_name, d.user_id, d.workspace_id,
    case when d.workspace_id is not null then d.environment_id end as environment_id, d.status, d.version_number, d.artifact, d.triggers, d.error_message, d.strikes, d.suspended, d.confirmed_at, d.created_at, d.updated_at, ",
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

/// The deployment in a slot, if the caller may see it.
pub async fn visible_in_slot(
    db: &mut Db<'_>,
    scope: &Scope,
    slot: Slot,
) -> Result<Option<DeploymentRow>, StoreError> {
    let query = sql(DEPLOYMENT).push("where d.pattern_id = ? and d.slot = ? and ");
    let query = query.bind(slot.pattern).bind(slot.name());
    db.optional(rights::deployments(query, scope)).await
}

/// The deployment of a pattern in an environment, if the caller may see it.
pub async fn visible_in_environment(
    db: &mut Db<'_>,
    scope: &Scope,
    pattern: PatternId,
    environment: EnvironmentId,
) -> Result<Option<DeploymentRow>, StoreError> {
    let query = sql(DEPLOYMENT).push("where d.pattern_id = ? and d.environment_id = ? and ");
    let query = query.bind(pattern).bind(environment);
    db.optional(rights::deployments(query, scope)).await
}

/// A deployment that the caller may change. In a transaction nobody else changes it before that one's end.
pub async fn owned(
    db: &mut Db<'_>,
    editor: &Editor,
    deployment: DeploymentId,
) -> Result<Option<DeploymentRow>, StoreError> {
    locks::keep_workspace(db, editor).await?;
    let query = rights::deployments(
        sql(DEPLOYMENT).push("where d.id = ? and ").bind(deployment),
        editor,
    );
    let lock = if db.is_postgres() { " for update" } else { "" };
    db.optional(query.push(lock)).await
}

/// The deployment in a slot, for work that the service does by itself.
pub async fn in_slot_for_system(db: &mut Db<'_>, slot: Slot) -> Result<Option<DeploymentRow>, StoreError> {
    let query = sql(DEPLOYMENT).push("where d.pattern_id = ? and d.slot = ?");
    db.optional(query.bind(slot.pattern).bind(slot.name())).await
}

/// All deployments of a pattern, the main one first, for work that the service does by itself.
pub async fn of_pattern_for_system(
    db: &mut Db<'_>,
    pattern: PatternId,
) -> Result<Vec<DeploymentRow>, StoreError> {
    let query = sql(DEPLOYMENT).push("where d.pattern_id = ? order by d.slot");
    db.all(query.bind(pattern)).await
}

/// The slot of a pattern's deployment in an environment unless it is undeployed, for work that the service does by itself.
pub async fn slot_for_system(
    db: &mut Db<'_>,
    pattern: PatternId,
    environment: EnvironmentId,
) -> Result<Option<Slot>, StoreError> {
    let query = sql("select nullif(slot, '') from deployments
         where pattern_id = ? and environment_id = ? and status <> 'undeployed'");
    let found: Option<(Option<EnvironmentId>,)> = db.optional(query.bind(pattern).bind(environment)).await?;
    Ok(found.map(|(environment,)| Slot { pattern, environment }))
}

/// The environment that a pattern's main deployment has, or had last, unless it is gone.
pub async fn main_environment(
    db: &mut Db<'_>,
    pattern: PatternId,
) -> Result<Option<EnvironmentId>, StoreError> {
    let query = sql(
        "select e.id from patterns p join environments e on e.id = p.main_environment_id
         where p.id = ?",
    );
    let found: Option<(EnvironmentId,)> = db.optional(query.bind(pattern)).await?;
    Ok(found.map(|(environment,)| environment))
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

/// Deployments whose runs are held: they are paused or stopped, or their workspaces suspended.
pub async fn paused(db: &mut Db<'_>) -> Result<Vec<(DeploymentId,)>, StoreError> {
    let query = sql("select id from deployments where status = 'paused' or suspended or strikes >= ?");
    db.all(query.bind(STRIKES_MAX)).await
}

/// Adds a deployment, or puts it in the place of the one in its slot, which keeps its id and its time of creation.
pub async fn put(db: &mut Db<'_>, editor: &Editor, row: &DeploymentRow) -> Result<(), StoreError> {
    let slot = row.slot();
    let insert = sql(
        "insert into deployments as d (id, pattern_id, slot, pattern_name, user_id, workspace_id, environment_id, status,
             version_number, artifact, triggers, error_message, confirmed_at, created_at, updated_at)
             select ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ? where ",
    )
    .bind(row.id)
    .bind(row.pattern_id)
    .bind(slot.name())
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
        " on conflict (pattern_id, slot) do update set pattern_name = excluded.pattern_name,
             environment_id = excluded.environment_id, status = excluded.status,
             version_number = excluded.version_number, artifact = excluded.artifact, triggers = excluded.triggers,
             error_message = excluded.error_message, strikes = 0, confirmed_at = excluded.confirmed_at,
             updated_at = excluded.updated_at where ",
    );
    remember(db, row).await?;
    if db.execute(rights::deployments(insert, editor)).await? == 0 {
        return Err(StoreError::Missing);
    }
    if slot.is_main() {
        let last = sql("update patterns set main_environment_id = ? where id = ?");
        db.execute(last.bind(row.environment_id).bind(row.pattern_id))
            .await?;
    }
    notices::tell(db, Notice::Deployed(row.pattern_id)).await
}

/// Keeps of a deployment that gets another form what its former runs are replayed with.
async fn remember(db: &mut Db<'_>, row: &DeploymentRow) -> Result<(), StoreError> {
    let slot = row.slot().name();
    let environment = sql(
        "insert into past_environments (deployment_id, until, environment_id)
         select d.id, ?, d.environment_id from deployments d
         where d.pattern_id = ? and d.slot = ? and coalesce(d.environment_id, '') <> ? on conflict do nothing",
    )
    .bind(row.updated_at)
    .bind(row.pattern_id)
    .bind(&slot)
    .bind(row.environment_id.map(|id| id.to_string()).unwrap_or_default());
    db.execute(environment).await?;
    let module = sql("update artifacts set created_at = ?
         where hash = (select d.artifact from deployments d where d.pattern_id = ? and d.slot = ?)");
    db.execute(module.bind(row.updated_at).bind(row.pattern_id).bind(&slot))
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

/// Removes an environment's further deployments, when the environment itself is deleted, with what they kept between
/// runs. Their runs are removed in time, as nothing has them any more.
pub async fn remove_of_environment(
    db: &mut Db<'_>,
    manager: &Manager,
    environment: EnvironmentId,
) -> Result<(), StoreError> {
    let of_it = sql("workspace_id = ? and slot = ?").bind(manager.workspace());
    locks::deployments(db, of_it.bind(environment)).await?;
    for statement in [
        "delete from schedules where deployment_id in
         (select id from deployments where workspace_id = ? and slot = ?)",
        "delete from deployments where workspace_id = ? and slot = ?",
    ] {
        let delete = sql(statement).bind(manager.workspace()).bind(environment);
        db.execute(delete).await?;
    }
    key_values::remove_of_environment(db, manager, environment).await?;
    notices::tell(db, Notice::Everything).await
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
    locks::deployments(db, sql("pattern_id = ?").bind(pattern)).await?;
    let update = sql("update deployments as d set status = ?, updated_at = ? where d.pattern_id = ? and ")
        .bind(DeploymentStatus::Undeployed)
        .bind(now)
        .bind(pattern);
    db.execute(rights::deployments(update, editor)).await?;
    notices::tell(db, Notice::Deployed(pattern)).await
}
