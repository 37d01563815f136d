//! What is known of the lists that OnPoll nodes ask for, by their schedules. A server that asks has claimed that: it is due again
//! a little later, in case the server stops, unless the claim is renewed.

use super::schedules::ScheduleRow;
use super::{Db, StoreError, rights, sql};
use heddle_model::access::Scope;
use heddle_model::clock::Timestamp;
use heddle_model::ids::{DeploymentId, EndpointId};
use sqlx::FromRow;

/// What is known of a list.
#[derive(Clone, Debug, FromRow)]
pub struct PollRow {
    pub schedule_id: EndpointId,
    /// Which list it was; empty: it has never answered.
    pub source: String,
    /// What the next request says.
    pub cursor: Option<String>,
    /// Its things for which runs were started.
    pub seen: String,
    /// How it went.
    #[sqlx(flatten)]
    pub last: LastPoll,
    /// Goes up with every change, so that none is made by who has been overtaken.
    pub version: i64,
}

/// How it went when it was asked last.
#[derive(Clone, Debug, Default, FromRow)]
pub struct LastPoll {
    /// When; `None`: never yet.
    pub polled_at: Option<i64>,
    /// Things in the last answer that could be read.
    pub things: i64,
    /// Failures since.
    pub failures: i64,
    /// Of the last failure.
    pub error_code: Option<String>,
    pub error: Option<String>,
}

/// Claims a schedule that is due until that time; `None`: another server has, or it was changed since it was read.
pub async fn claim_for_system(
    db: &mut Db<'_>,
    read: &ScheduleRow,
    until: Timestamp,
) -> Result<Option<PollRow>, StoreError> {
    if !renew_for_system(db, read.id, read.next_due_at, Some(until)).await? {
        return Ok(None);
    }
    db.execute(
        sql("insert into polls (schedule_id, source, seen, things, failures, version) values (?, '', '', 0, 0, 0)
             on conflict (schedule_id) do nothing")
        .bind(read.id),
    )
    .await?;
    let select = sql(
        "select schedule_id, source, cursor, seen, polled_at, things, failures, error_code, error, version
         from polls where schedule_id = ?",
    );
    db.optional(select.bind(read.id)).await
}

/// Sets when a schedule is due, if nobody has since that was said.
pub async fn renew_for_system(
    db: &mut Db<'_>,
    schedule: EndpointId,
    said: Option<i64>,
    due: Option<Timestamp>,
) -> Result<bool, StoreError> {
    let renew = sql("update schedules set next_due_at = ? where id = ? and next_due_at = ?")
        .bind(due)
        .bind(schedule)
        .bind(said);
    Ok(db.execute(renew).await? > 0)
}

/// Stores what is known now, and gives the claim back: it is due at that time. What was changed meanwhile stays as it is.
pub async fn finish_for_system(
    db: &mut Db<'_>,
    (row, former): (&PollRow, &PollRow),
    (claimed, due): (i64, Option<Timestamp>),
) -> Result<(), StoreError> {
    let last = &row.last;
    // Mostly nothing is new.
    let seen = (row.seen != former.seen).then(|| row.seen.clone());
    let update = sql(
        "update polls set source = ?, cursor = ?, seen = coalesce(?, seen), polled_at = ?, things = ?, failures = ?,
         error_code = ?, error = ?, version = version + 1 where schedule_id = ? and version = ?",
    )
    .bind(&row.source)
    .bind(row.cursor.clone())
    .bind(seen)
    .bind(last.polled_at)
    .bind(last.things)
    .bind(last.failures)
    .bind(last.error_code.clone())
    .bind(last.error.clone())
    .bind(row.schedule_id)
    .bind(row.version);
    db.execute(update).await?;
    renew_for_system(db, row.schedule_id, Some(claimed), due)
        .await
        .map(drop)
}

/// How it went, by node.
#[derive(Clone, Debug, FromRow)]
pub struct ShownPoll {
    pub node_id: String,
    #[sqlx(flatten)]
    pub last: LastPoll,
}

/// How it went with a deployment's lists, of those that were asked for.
pub async fn of_deployment(
    db: &mut Db<'_>,
    scope: &Scope,
    deployment: DeploymentId,
) -> Result<Vec<ShownPoll>, StoreError> {
    let query = sql("select s.node_id, p.polled_at, p.things, p.failures, p.error_code, p.error
         from schedules s join polls p on p.schedule_id = s.id where p.polled_at is not null and s.deployment_id = ? and ")
    .bind(deployment);
    db.all(rights::deployment(query, scope, deployment)).await
}
