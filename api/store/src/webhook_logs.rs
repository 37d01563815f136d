//! What came to webhooks: a line for every request, and the newest events of each endpoint (the tap).

use super::large_texts::{self, is_large};
use super::runs::event_text::event_sql;
use super::{Arg, Db, Sql, Start, StoreError, inserts, rights, sql};
use heddle_model::access::{Editor, Scope};
use heddle_model::clock::Timestamp;
use heddle_model::ids::{EndpointId, PatternId, RunId, UserId, WebhookLogId};
use heddle_model::status::WebhookStatus;
use sqlx_macros::FromRow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// Events that the tap keeps for an endpoint.
pub const TAP_EVENTS_MAX: i64 = 20;
/// How long it keeps them.
pub const TAP_AGE_MAX: Duration = Duration::from_secs(30 * 60);

/// A line of the log.
#[derive(Clone, Debug, FromRow)]
pub struct LogRow {
    /// UUIDv7, so that ids sort by time of creation.
    pub id: WebhookLogId,
    /// The id in the request's URL.
    pub webhook_id: String,
    /// The pattern of the webhook, if the webhook exists.
    pub pattern_id: Option<PatternId>,
    /// The outcome of the request.
    pub status: WebhookStatus,
    /// HTTP status of the answer.
    pub status_code: i64,
    /// Why it was not accepted.
    pub rejection_reason: Option<String>,
    /// Who sent it.
    pub ip_address: String,
    pub user_agent: Option<String>,
    /// Bytes of the body.
    pub content_length: i64,
    /// `X-Request-Id` of the answer.
    pub request_id: String,
    /// The run, if there is one.
    pub run_id: Option<RunId>,
    /// When it came.
    pub created_at: Timestamp,
}

/// An event for the tap.
#[derive(Clone, Debug)]
pub struct TapRow {
    /// Sorts events of one millisecond by their coming.
    pub id: WebhookLogId,
    /// The endpoint that received the event.
    pub endpoint_id: EndpointId,
    /// When it came.
    pub received_at: Timestamp,
    /// `{headers, body, method, query}` as JSON.
    pub event: Arc<str>,
}

/// Adds lines to the log, for the ingestion.
pub fn append_for_ingestion(rows: &[LogRow]) -> Vec<Sql> {
    let table = "webhook_logs (id, webhook_id, pattern_id, status, status_code, rejection_reason, ip_address,
         user_agent, content_length, request_id, run_id, created_at)";
    let rows = rows.iter().map(|row| -> [Arg; 12] {
        [
            row.id.into(),
            (&row.webhook_id).into(),
            row.pattern_id.into(),
            row.status.into(),
            row.status_code.into(),
            row.rejection_reason.as_deref().into(),
            (&row.ip_address).into(),
            row.user_agent.as_deref().into(),
            row.content_length.into(),
            (&row.request_id).into(),
            row.run_id.into(),
            row.created_at.into(),
        ]
    });
    inserts(table, rows, None)
}

/// Leaves marks in place of large events, and gives these with the ids of their rows: in an embedded database they are stored in
/// pieces, before the rows.
pub fn set_apart_for_ingestion(rows: &mut [TapRow]) -> Vec<(WebhookLogId, Arc<str>)> {
    let large = rows.iter_mut().filter(|row| is_large(&row.event));
    let large = large.map(|row| {
        let mark: Arc<str> = large_texts::mark(&row.event).into();
        (row.id, std::mem::replace(&mut row.event, mark))
    });
    large.collect()
}

/// Adds events to the tap, oldest first, for the ingestion. Of each endpoint only the newest are kept, so only those
/// need to be given.
pub fn tap_for_ingestion(rows: &[TapRow]) -> Vec<Sql> {
    let endpoints: BTreeSet<EndpointId> = rows.iter().map(|row| row.endpoint_id).collect();
    if endpoints.is_empty() {
        return Vec::new();
    }
    let rows = rows.iter().map(|row| -> [Arg; 4] {
        [
            row.id.into(),
            row.endpoint_id.into(),
            row.received_at.into(),
            (&row.event).into(),
        ]
    });
    let inserts = inserts("tap_events (id, endpoint_id, received_at, event)", rows, None).into_iter();
    // What is tried again may have been stored all the same.
    let inserts = inserts.map(|insert| insert.push(" on conflict do nothing"));
    let mut statements: Vec<Sql> = inserts.collect();
    statements.push(
        sql(
            "delete from tap_events where id in (select id from (select id, row_number() over
             (partition by endpoint_id order by received_at desc, id desc) as place
             from tap_events where endpoint_id in ",
        )
        .list_of_few_sizes(endpoints)
        .push(") placed where place > ?)")
        .bind(TAP_EVENTS_MAX),
    );
    statements
}

/// Users whose patterns' tapped events have more bytes than these together, for the service's housekeeping.
pub async fn tapped_beyond_for_system(db: &mut Db<'_>, bytes_max: i64) -> Result<Vec<UserId>, StoreError> {
    let select = sql(concat!(
        "select p.owner_id from tap_events t join webhook_endpoints e on e.id = t.endpoint_id
         join patterns p on p.id = e.pattern_id group by p.owner_id having sum(",
        event_sql!(bytes "t"),
        ") > ?"
    ));
    let users: Vec<(UserId,)> = db.all(select.bind(bytes_max)).await?;
    Ok(users.into_iter().map(|(user,)| user).collect())
}

/// Deletes up to `limit` tapped events of a user that are not among the newest of so many bytes, for the service's housekeeping; how
/// many there were.
pub async fn delete_tapped_beyond_for_system(
    db: &mut Db<'_>,
    user: UserId,
    bytes_max: i64,
    limit: i64,
) -> Result<u64, StoreError> {
    let delete = sql(concat!(
        "delete from tap_events where id in (select counted.id from (
             select t.id, sum(",
        event_sql!(bytes "t"),
        ") over (order by t.received_at desc, t.id desc) as bytes
             from tap_events t join webhook_endpoints e on e.id = t.endpoint_id join patterns p on p.id = e.pattern_id
             where p.owner_id = ?) counted where counted.bytes > ? limit ?)"
    ));
    db.execute(delete.bind(user).bind(bytes_max).bind(limit)).await
}

/// Deletes expired rows, for the service's housekeeping.
pub async fn sweep_for_system(
    db: &mut Db<'_>,
    now: Timestamp,
    log_age_max: Duration,
) -> Result<(), StoreError> {
    let tapped = sql("delete from tap_events where received_at <= ?").bind(now.minus(TAP_AGE_MAX));
    db.execute(tapped).await?;
    let logged = sql("delete from webhook_logs where created_at <= ?").bind(now.minus(log_age_max));
    db.execute(logged).await?;
    Ok(())
}

/// Patterns whose log has more lines than these; `None`: requests to no webhook. For the service's housekeeping.
pub async fn surplus_for_system(
    db: &mut Db<'_>,
    lines_max: i64,
) -> Result<Vec<Option<PatternId>>, StoreError> {
    let select = sql("select pattern_id from webhook_logs group by pattern_id having count(*) > ?");
    let rows: Vec<(Option<PatternId>,)> = db.all(select.bind(lines_max)).await?;
    Ok(rows.into_iter().map(|(pattern,)| pattern).collect())
}

/// Users whose patterns' logs have more lines than these together, with how many each of the patterns has. For the service's
/// housekeeping.
pub async fn surplus_of_users_for_system(
    db: &mut Db<'_>,
    lines_max: i64,
) -> Result<BTreeMap<UserId, Vec<(PatternId, i64)>>, StoreError> {
    let select = sql(
        "select p.owner_id, l.pattern_id, count(*) from webhook_logs l join patterns p on p.id = l.pattern_id
         where p.owner_id in (select q.owner_id from webhook_logs m join patterns q on q.id = m.pattern_id
                              group by q.owner_id having count(*) > ?)
         group by p.owner_id, l.pattern_id",
    );
    let rows: Vec<(UserId, PatternId, i64)> = db.all(select.bind(lines_max)).await?;
    let mut users: BTreeMap<UserId, Vec<(PatternId, i64)>> = BTreeMap::new();
    for (user, pattern, lines) in rows {
        users.entry(user).or_default().push((pattern, lines));
    }
    Ok(users)
}

/// Deletes up to `limit` lines of a pattern's log that are not among its newest, for the service's housekeeping; how many
/// there were. Several servers that do so at the same time delete the same lines, and not each as many.
pub async fn delete_surplus_for_system(
    db: &mut Db<'_>,
    pattern: Option<PatternId>,
    lines_max: i64,
    limit: i64,
) -> Result<u64, StoreError> {
    let of = |query: Sql| match pattern {
        Some(pattern) => query.push("pattern_id = ?").bind(pattern),
        None => query.push("pattern_id is null"),
    };
    let delete = of(sql(
        "delete from webhook_logs where id in (select id from webhook_logs where ",
    ))
    .push(" and (created_at, id) <= (select created_at, id from webhook_logs where ");
    let delete = of(delete)
        .push(" order by created_at desc, id desc limit 1 offset ?) limit ?")
        .bind(lines_max)
        .bind(limit);
    // What another server is deleting at this moment is not waited for.
    let skip = if db.is_postgres() {
        " for update skip locked"
    } else {
        ""
    };
    db.execute(delete.push(skip).push(")")).await
}

/// Selects lines of the log by owner.
#[derive(Clone, Copy, Debug)]
pub enum LogScope {
    /// A pattern's, which the caller has been shown to see.
    Pattern(PatternId),
    /// Those of all patterns that the caller sees.
    All,
}

/// Which lines are meant.
#[derive(Clone, Copy, Debug, Default)]
pub struct Filter {
    pub status: Option<WebhookStatus>,
    /// Not before.
    pub since: Option<Timestamp>,
    /// Not after.
    pub until: Option<Timestamp>,
    pub before: Option<Timestamp>,
}

const LINES: &str =
    "select id, webhook_id, pattern_id, status, status_code, rejection_reason, ip_address, user_agent,
     content_length, request_id, run_id, created_at from webhook_logs where ";

/// A page of the log, newest first, and how many lines there are.
pub async fn list(
    db: &mut Db<'_>,
    scope: &Scope,
    whose: LogScope,
    filter: &Filter,
    (limit, start): (i64, Start<(Timestamp, WebhookLogId)>),
) -> Result<(Vec<LogRow>, i64), StoreError> {
    let count = matching(
        sql("select count(*) from webhook_logs where "),
        scope,
        whose,
        filter,
    );
    let (total,): (i64,) = db.one(count).await?;
    let mut page = matching(sql(LINES), scope, whose, filter);
    if let Some((at, id)) = start.after() {
        page = page.push(" and (created_at, id) < (?, ?)").bind(*at).bind(*id);
    }
    let page = page
        .push(" order by created_at desc, id desc limit ? offset ?")
        .bind(limit)
        .bind(start.offset());
    Ok((db.all(page).await?, total))
}

/// Lines of all patterns that the caller may see, written then or later, the oldest first.
pub async fn received_since(
    db: &mut Db<'_>,
    scope: &Scope,
    since: Timestamp,
    limit: i64,
) -> Result<Vec<LogRow>, StoreError> {
    let filter = Filter {
        since: Some(since),
        ..Filter::default()
    };
    let query = matching(sql(LINES), scope, LogScope::All, &filter);
    db.all(query.push(" order by created_at, id limit ?").bind(limit))
        .await
}

/// Deletes lines of the log.
pub async fn clear(db: &mut Db<'_>, editor: &Editor, whose: LogScope) -> Result<(), StoreError> {
    let delete = sql("delete from webhook_logs where ");
    db.execute(matching(delete, editor, whose, &Filter::default()))
        .await?;
    Ok(())
}

fn matching(query: Sql, scope: &Scope, whose: LogScope, filter: &Filter) -> Sql {
    let mut query = match whose {
        LogScope::Pattern(pattern) => query.push("pattern_id = ?").bind(pattern),
        LogScope::All => query
            .push("pattern_id in (select id from patterns where workspace_id = ? or (workspace_id is null and owner_id = ?))")
            .bind(scope.workspace())
            .bind(scope.user()),
    };
    if let Some(status) = filter.status {
        query = query.push(" and status = ?").bind(status);
    }
    if let Some(since) = filter.since {
        query = query.push(" and created_at >= ?").bind(since);
    }
    if let Some(until) = filter.until {
        query = query.push(" and created_at <= ?").bind(until);
    }
    if let Some(before) = filter.before {
        query = query.push(" and created_at < ?").bind(before);
    }
    query
}

/// An event as the tap shows it.
#[derive(Clone, Debug, FromRow)]
pub struct TappedRow {
    /// Node of the endpoint.
    pub node_id: String,
    /// Its name.
    pub alias: String,
    /// When it came.
    pub received_at: Timestamp,
    /// `{headers, body, method, query}` as JSON.
    pub event: String,
}

/// Bytes of the tapped events that are shown together, beyond the first.
const SHOWN_BYTES_MAX: i64 = 32 << 20;

/// The tapped events of a pattern that the caller may see, newest first; not those that are too old to be shown with so many bytes.
pub async fn tapped(
    db: &mut Db<'_>,
    scope: &Scope,
    pattern: PatternId,
    now: Timestamp,
) -> Result<Vec<TappedRow>, StoreError> {
    let query = sql("select s.node_id, s.alias, s.received_at, ")
        .push(event_sql!(whole "s", db))
        .push(concat!(
            " as event from (
         select e.node_id, e.alias, t.id, t.received_at, t.event, sum(",
            event_sql!(bytes "t"),
            ") over (order by t.received_at desc, t.id desc) - (",
            event_sql!(bytes "t"),
            ") as newer_bytes
         from tap_events t
         join webhook_endpoints e on e.id = t.endpoint_id where e.pattern_id = ? and t.received_at > ? and "
        ))
        .bind(pattern)
        .bind(now.minus(TAP_AGE_MAX));
    let query = rights::pattern(query, scope, pattern).push(") s where s.newer_bytes < ?");
    let query = query.bind(SHOWN_BYTES_MAX);
    db.all(query.push(" order by s.received_at desc, s.id desc"))
        .await
}

/// Forgets the tapped events of a pattern that the caller may change.
pub async fn clear_tapped(db: &mut Db<'_>, editor: &Editor, pattern: PatternId) -> Result<(), StoreError> {
    let delete = sql(
        "delete from tap_events where endpoint_id in (select id from webhook_endpoints where pattern_id = ?) and ",
    )
    .bind(pattern);
    db.execute(rights::pattern(delete, editor, pattern))
        .await
        .map(drop)
}
