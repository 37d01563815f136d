//! Schedules of deployments: one row for each OnSchedule, OnPoll and OnMailbox node, with its next due time.

use super::{Db, StoreError, rights, sql};
use heddle_model::access::{Editor, Scope};
use heddle_model::clock::Timestamp;
use heddle_model::ids::{DeploymentId, EndpointId, EnvironmentId, PatternId};
use heddle_model::slot::Slot;
use sqlx_macros::FromRow;

#[derive(Clone, Debug, FromRow)]
pub struct ScheduleRow {
    /// Id; keys of its runs are unique within it.
    pub id: EndpointId,
    /// Whose it is.
    pub deployment_id: DeploymentId,
    /// The OnSchedule, OnPoll or OnMailbox node.
    pub node_id: String,
    /// As the deployed version has it.
    pub cron: String,
    /// As the deployed version has it.
    pub timezone: String,
    /// As the deployed version has it.
    pub catch_up: String,
    /// As it was set for the deployment.
    pub set_cron: Option<String>,
    /// As it was set for the deployment.
    pub set_timezone: Option<String>,
    /// When it is due next; `None`: never, or not while the deployment is not active.
    pub next_due_at: Option<i64>,
}

impl ScheduleRow {
    /// The expression and the zone that hold.
    pub fn effective(&self) -> (&str, &str) {
        match (&self.set_cron, &self.set_timezone) {
            (Some(cron), Some(timezone)) => (cron, timezone),
            _ => (&self.cron, &self.timezone),
        }
    }
}

const SCHEDULE: &str = "select s.id, s.deployment_id, s.node_id, s.cron, s.timezone, s.catch_up, s.set_cron,
    s.set_timezone, s.next_due_at from schedules s ";

/// The schedules of a deployment that the caller may see, by node.
pub async fn of_deployment(
    db: &mut Db<'_>,
    scope: &Scope,
    deployment: DeploymentId,
) -> Result<Vec<ScheduleRow>, StoreError> {
    let query = sql(SCHEDULE)
        .push("where s.deployment_id = ? and ")
        .bind(deployment);
    let query = rights::deployment(query, scope, deployment);
    db.all(query.push(" order by s.node_id")).await
}

/// A schedule of a workspace that is due some time, and what it is of.
#[derive(Clone, Debug, FromRow)]
pub struct NextRow {
    pub deployment_id: DeploymentId,
    /// The OnSchedule, OnPoll or OnMailbox node.
    pub node_id: String,
    pub next_due_at: Timestamp,
    /// Of the deployment.
    pub pattern_id: PatternId,
    /// The pattern's name now, or when it was deployed if it is gone.
    pub pattern_name: String,
    /// Why the last poll has failed, if it has.
    pub error_code: Option<String>,
    pub error: Option<String>,
}

/// The schedules that the caller may see, the one that is due first first; but for mailboxes that a server is connected to, which are
/// due at any time. It reads those of the caller's own deployments
/// only, whatever others have.
pub async fn next_of(db: &mut Db<'_>, scope: &Scope, limit: i64) -> Result<Vec<NextRow>, StoreError> {
    let query = sql("select s.deployment_id, s.node_id, s.next_due_at, d.pattern_id,
         coalesce(p.name, d.pattern_name) as pattern_name, o.error_code, o.error
         from deployments d join schedules s on s.deployment_id = d.id left join polls o on o.schedule_id = s.id
         left join patterns p on p.id = d.pattern_id where s.next_due_at is not null
         and o.connected_since is null and ");
    let query = rights::deployments(query, scope);
    // An order that the index of all tenants' schedules does not have.
    let query = query
        .push(" order by s.next_due_at + 0, s.id limit ?")
        .bind(limit);
    db.all(query).await
}

/// A deployment with schedules, and what was set in their place.
#[derive(Clone, Debug, FromRow)]
pub struct SetRow {
    pub deployment_id: DeploymentId,
    /// Of the deployment.
    pub pattern_id: PatternId,
    /// Where the deployment is.
    pub environment_id: Option<EnvironmentId>,
    /// `None`: each node's own holds.
    pub set_cron: Option<String>,
    pub set_timezone: Option<String>,
}

/// The deployments with schedules that the caller may see, the oldest first, from the one after `after`.
pub async fn set_of(
    db: &mut Db<'_>,
    scope: &Scope,
    after: Option<DeploymentId>,
    limit: i64,
) -> Result<Vec<SetRow>, StoreError> {
    let query = sql("select d.id as deployment_id, d.pattern_id, d.environment_id,
         min(s.set_cron) as set_cron, min(s.set_timezone) as set_timezone
         from deployments d join schedules s on s.deployment_id = d.id where ");
    let mut query = rights::deployments(query, scope);
    if let Some(after) = after {
        query = query.push(" and d.id > ?").bind(after);
    }
    let query = query.push(" group by d.id, d.pattern_id, d.environment_id order by d.id limit ?");
    db.all(query.bind(limit)).await
}

/// Makes these the schedules of a deployment. What polls know is kept with those that stay.
pub async fn replace(
    db: &mut Db<'_>,
    editor: &Editor,
    deployment: DeploymentId,
    rows: &[ScheduleRow],
) -> Result<(), StoreError> {
    for former in of_deployment(db, editor, deployment).await? {
        if !rows.iter().any(|row| row.id == former.id) {
            db.execute(sql("delete from schedules where id = ?").bind(former.id))
                .await?;
        }
    }
    for row in rows {
        let insert = rights::deployment(
            sql(
                "insert into schedules (id, deployment_id, node_id, cron, timezone, catch_up, set_cron,
                     set_timezone, next_due_at) select ?, ?, ?, ?, ?, ?, ?, ?, ? where ",
            )
            .bind(row.id)
            .bind(deployment)
            .bind(&row.node_id)
            .bind(&row.cron)
            .bind(&row.timezone)
            .bind(&row.catch_up)
            .bind(row.set_cron.clone())
            .bind(row.set_timezone.clone())
            .bind(row.next_due_at),
            editor,
            deployment,
        );
        let instead = " on conflict (id) do update set cron = excluded.cron, timezone = excluded.timezone,
             catch_up = excluded.catch_up, set_cron = excluded.set_cron, set_timezone = excluded.set_timezone,
             next_due_at = excluded.next_due_at, held_due_at = null";
        db.execute(insert.push(instead)).await?;
    }
    Ok(())
}

/// Keeps the schedules of a deployment from being due, until they are registered again.
pub async fn hold(db: &mut Db<'_>, editor: &Editor, deployment: DeploymentId) -> Result<(), StoreError> {
    let hold = sql("update schedules set next_due_at = null where deployment_id = ? and ").bind(deployment);
    let hold = rights::deployment(hold, editor, deployment);
    db.execute(hold).await.map(drop)
}

/// Deletes the schedules of a deployment.
pub async fn remove(db: &mut Db<'_>, editor: &Editor, deployment: DeploymentId) -> Result<(), StoreError> {
    let delete = sql("delete from schedules where deployment_id = ? and ").bind(deployment);
    let delete = rights::deployment(delete, editor, deployment);
    db.execute(delete).await.map(drop)
}

/// A due schedule, and its deployed pattern.
#[derive(Clone, Debug, FromRow)]
pub struct DueRow {
    #[sqlx(flatten)]
    pub schedule: ScheduleRow,
    /// The deployment's pattern.
    pub pattern_id: PatternId,
    /// The environment of the deployment's slot; `None`: it is the main one.
    pub slot_environment_id: Option<EnvironmentId>,
}

impl DueRow {
    /// What it starts runs of.
    pub const fn slot(&self) -> Slot {
        Slot {
            pattern: self.pattern_id,
            environment: self.slot_environment_id,
        }
    }
}

/// Due schedules, the longest overdue first, as far as they come after this one; for the scheduler.
pub async fn due_for_system(
    db: &mut Db<'_>,
    now: Timestamp,
    after: Option<&ScheduleRow>,
    limit: i64,
) -> Result<Vec<DueRow>, StoreError> {
    let due = sql("select s.id, s.deployment_id, s.node_id, s.cron, s.timezone, s.catch_up, s.set_cron, s.set_timezone,
         s.next_due_at, d.pattern_id, nullif(d.slot, '') as slot_environment_id from schedules s join deployments d on d.id = s.deployment_id
         where s.next_due_at <= ?");
    let due = due.bind(now);
    let due = match after {
        Some(after) => due
            .push(" and s.next_due_at >= ? and (s.next_due_at, s.id) > (?, ?)")
            .bind(after.next_due_at)
            .bind(after.next_due_at)
            .bind(after.id),
        None => due,
    };
    db.all(due.push(" order by s.next_due_at, s.id limit ?").bind(limit))
        .await
}

/// When a schedule is due next after this time, for the scheduler.
pub async fn next_due_for_system(db: &mut Db<'_>, after: Timestamp) -> Result<Option<Timestamp>, StoreError> {
    let next = sql("select min(next_due_at) from schedules where next_due_at > ?");
    let (next,): (Option<i64>,) = db.one(next.bind(after)).await?;
    Ok(next.map(Timestamp::from_millis))
}

/// Sets when a schedule is due next, unless it has been changed since it was read; for the scheduler.
pub async fn advance_for_system(
    db: &mut Db<'_>,
    read: &ScheduleRow,
    next: Option<Timestamp>,
) -> Result<(), StoreError> {
    db.execute(
        sql("update schedules set next_due_at = ? where id = ? and next_due_at = ?")
            .bind(next)
            .bind(read.id)
            .bind(read.next_due_at),
    )
    .await?;
    Ok(())
}
