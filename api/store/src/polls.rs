//! What is known of the lists that OnPoll nodes ask for, and of the mailboxes of OnMailbox nodes, by their schedules. A server that asks has claimed that: it is due again
//! a little later, in case the server stops, unless the claim is renewed.

use super::schedules::ScheduleRow;
use super::{Db, Sql, StoreError, rights, sql};
use heddle_model::access::{Editor, Scope};
use heddle_model::clock::Timestamp;
use heddle_model::entropy;
use heddle_model::ids::{DeploymentId, EndpointId};
use sqlx_macros::FromRow;

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
    /// A run for several things that is about to be stored, or is by now.
    pub pending: Option<String>,
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
    /// The code of the last failure.
    pub error_code: Option<String>,
    pub error: Option<String>,
    /// Since when a server is connected to the mailbox; `None`: none is.
    pub connected_since: Option<i64>,
    /// When the last message came for which a run was started.
    pub last_new_at: Option<i64>,
}

/// Claims a schedule that is due until that time; `None`: another server has, or it was changed since it was read.
pub async fn claim_for_system(
    db: &mut Db<'_>,
    read: &ScheduleRow,
    until: Timestamp,
) -> Result<Option<PollRow>, StoreError> {
    let Some(due) = read.next_due_at else {
        return Ok(None);
    };
    if !renew_for_system(db, read.id, [due; 2], Some(until)).await? {
        return Ok(None);
    }
    // Whoever had it before has been overtaken from here on, also by a claim of what was forgotten meanwhile.
    let first: u32 = entropy::random();
    db.execute(
        sql("insert into polls (schedule_id, source, seen, things, failures, version) values (?, '', '', 0, 0, ?)
             on conflict (schedule_id) do update set version = polls.version + 1, connected_since = null")
        .bind(read.id)
        .bind(first),
    )
    .await?;
    let select = sql(
        "select schedule_id, source, cursor, seen, pending, polled_at, things, failures, error_code, error,
         connected_since, last_new_at, version from polls where schedule_id = ?",
    );
    db.optional(select.bind(read.id)).await
}

/// Sets when a schedule is due, if nobody has since one of these was said: the time that is known to be stored, and the one that
/// may be stored by now.
pub async fn renew_for_system(
    db: &mut Db<'_>,
    schedule: EndpointId,
    said: [i64; 2],
    due: Option<Timestamp>,
) -> Result<bool, StoreError> {
    let renew = sql("update schedules set next_due_at = ? where id = ? and next_due_at in ")
        .bind(due)
        .bind(schedule)
        .list(said);
    Ok(db.execute(renew).await? > 0)
}

/// The change from what was known to what is known now, unless others have made one.
fn known(row: &PollRow, former: &PollRow) -> Sql {
    let last = &row.last;
    // Mostly nothing is new.
    let seen = (row.seen != former.seen).then(|| row.seen.clone());
    sql(
        "update polls set source = ?, cursor = ?, seen = coalesce(?, seen), pending = ?, polled_at = ?, things = ?,
         failures = ?, error_code = ?, error = ?, connected_since = ?, last_new_at = ?, version = version + 1
         where schedule_id = ? and version = ?",
    )
    .bind(&row.source)
    .bind(row.cursor.clone())
    .bind(seen)
    .bind(row.pending.clone())
    .bind(last.polled_at)
    .bind(last.things)
    .bind(last.failures)
    .bind(last.error_code.clone())
    .bind(last.error.clone())
    .bind(last.connected_since)
    .bind(last.last_new_at)
    .bind(row.schedule_id)
    .bind(row.version)
}

/// Stores what is known now, while the claim is kept; `false`: others have overtaken it. After that the version is one more.
pub async fn keep_for_system(db: &mut Db<'_>, row: &PollRow, former: &PollRow) -> Result<bool, StoreError> {
    Ok(db.execute(known(row, former)).await? > 0)
}

/// Stores what is known now, and gives the claim back: it is due at that time. What was changed meanwhile stays as it is.
pub async fn finish_for_system(
    db: &mut Db<'_>,
    (row, former): (&PollRow, &PollRow),
    (said, due): ([i64; 2], Option<Timestamp>),
) -> Result<(), StoreError> {
    let update = known(row, former);
    // The schedule first, as by those who claim it: else both could wait for each other.
    renew_for_system(db, row.schedule_id, said, due).await?;
    db.execute(update).await.map(drop)
}

/// Forgets what is known of a deployment's lists, as if they had never been asked for: the keys of their runs as well, or a thing
/// that is new again would have no run while these are kept.
pub async fn forget(db: &mut Db<'_>, editor: &Editor, deployment: DeploymentId) -> Result<(), StoreError> {
    for delete in [
        "delete from polls where schedule_id in (select id from schedules where deployment_id = ?) and ",
        "delete from idempotency_keys where scope in (select id from schedules where deployment_id = ?)
         and key like 'poll:%' and ",
    ] {
        let delete = sql(delete).bind(deployment);
        db.execute(rights::deployment(delete, editor, deployment)).await?;
    }
    Ok(())
}

/// How it went, by node.
#[derive(Clone, Debug, FromRow)]
pub struct ShownPoll {
    pub node_id: String,
    /// Which list has answered last; empty: none has.
    pub source: String,
    #[sqlx(flatten)]
    pub last: LastPoll,
}

/// How it went with a deployment's lists, of those that were asked for.
pub async fn of_deployment(
    db: &mut Db<'_>,
    scope: &Scope,
    deployment: DeploymentId,
) -> Result<Vec<ShownPoll>, StoreError> {
    let query = sql("select s.node_id, p.source, p.polled_at, p.things, p.failures, p.error_code, p.error, p.connected_since,
         p.last_new_at from schedules s join polls p on p.schedule_id = s.id where p.polled_at is not null and s.deployment_id = ? and ")
    .bind(deployment);
    db.all(rights::deployment(query, scope, deployment)).await
}
