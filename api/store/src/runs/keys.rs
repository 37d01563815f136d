//! Keys under which runs are started once: which run has each of them, and for how long.

use crate::{Db, Sql, StoreError, sql};
use heddle_model::clock::Timestamp;
use heddle_model::ids::RunId;
use serde::Serialize;
use sqlx_macros::FromRow;
use std::time::Duration;

/// For how long a key makes no second run, at least.
pub const KEY_TTL: Duration = Duration::from_secs(24 * 60 * 60);

/// A key that a run wants to take.
#[derive(Clone, Debug, Serialize)]
pub struct KeyRow {
    /// What the key is unique within.
    pub scope: String,
    pub key: String,
    pub run_id: RunId,
    /// Until when it is taken.
    expires_at: i64,
}

impl KeyRow {
    /// Of a run that is accepted now.
    pub fn new((scope, key): (String, String), run: RunId, now: Timestamp) -> Self {
        KeyRow {
            scope,
            key,
            run_id: run,
            expires_at: now.plus(KEY_TTL).millis(),
        }
    }
}

#[derive(FromRow)]
struct HeldKey {
    scope: String,
    key: String,
    run_id: RunId,
}

/// The elements of a JSON array as rows `r`, of which each has its JSON in `value`.
const fn elements(db: &Db<'_>) -> &'static str {
    match db {
        Db::Sqlite(_) => " from json_each(?) r",
        Db::Postgres(_) => " from json_array_elements(cast(? as json)) r",
    }
}

/// Ends a condition of keys `k`, of which those that have expired are not all free: what was started under them is to be known until
/// its beginning is noted elsewhere, also after servers were away for long.
///
/// - A run that is under way may begin again, and start others again. A parked run has in its journal what it has started.
/// - A schedule that has not moved on starts the runs of its times again.
/// - A list or a mailbox of which nothing was stored since is asked again, and has the same things.
fn unless_needed(query: Sql) -> Sql {
    let ttl_ms = i64::try_from(KEY_TTL.as_millis()).unwrap_or(i64::MAX);
    query
        .push(
            " and not exists (
             select 1 from runs x where x.id = k.scope and x.status = 'running' and x.wake_at is null)
         and not exists (
             select 1 from schedules s where s.id = k.scope and k.key not like 'poll:%'
             and k.expires_at - ? >= coalesce(s.next_due_at, s.held_due_at))
         and not exists (
             select 1 from polls p where p.schedule_id = k.scope and k.key like 'poll:%'
             and k.expires_at - ? > coalesce(p.polled_at, 0))",
        )
        .bind(ttl_ms)
        .bind(ttl_ms)
}

/// Takes keys that are free or have expired and are not needed any more, and says which run each belongs to afterwards. No key may be
/// there twice.
pub async fn take(
    db: &mut Db<'_>,
    mut keys: Vec<KeyRow>,
    now: Timestamp,
) -> Result<Vec<((String, String), RunId)>, StoreError> {
    // In one order, so that two servers can't wait for each other.
    keys.sort_by(|a, b| (&a.scope, &a.key).cmp(&(&b.scope, &b.key)));
    let keys = serde_json::to_string(&keys)?;
    let query = sql("insert into idempotency_keys as k (scope, key, run_id, expires_at)
         select r.value->>'scope', r.value->>'key', r.value->>'run_id', cast(r.value->>'expires_at' as bigint)")
    .push(elements(db))
    .bind(&keys)
    .push(
        " where true on conflict (scope, key) do update set run_id = excluded.run_id,
         expires_at = excluded.expires_at where k.expires_at <= ?",
    )
    .bind(now);
    let held = sql("select k.scope, k.key, k.run_id")
        .push(elements(db))
        .bind(&keys)
        .push(" join idempotency_keys k on k.scope = r.value->>'scope' and k.key = r.value->>'key'");
    let held: Vec<HeldKey> = db.all_after(unless_needed(query), held).await?;
    Ok(held
        .into_iter()
        .map(|held| ((held.scope, held.key), held.run_id))
        .collect())
}

/// Whether a key is taken now, as far as its time says. It may be free again when a run takes it, or may not be free.
pub async fn is_taken(
    db: &mut Db<'_>,
    (scope, key): &(String, String),
    now: Timestamp,
) -> Result<bool, StoreError> {
    let query = sql("select run_id from idempotency_keys where scope = ? and key = ? and expires_at > ?");
    let found: Option<(RunId,)> = db.optional(query.bind(scope).bind(key).bind(now)).await?;
    Ok(found.is_some())
}

/// The run that another one has started under a key.
pub async fn started_by(db: &mut Db<'_>, run: RunId, key: &str) -> Result<Option<RunId>, StoreError> {
    let query = sql("select run_id from idempotency_keys where scope = ? and key = ?");
    let found: Option<(RunId,)> = db.optional(query.bind(run).bind(key)).await?;
    Ok(found.map(|(run,)| run))
}

/// Removes up to `limit` keys that [`take`] would give to others.
pub async fn remove_expired(db: &mut Db<'_>, now: Timestamp, limit: i64) -> Result<u64, StoreError> {
    let expired = sql("delete from idempotency_keys where (scope, key) in
         (select k.scope, k.key from idempotency_keys k where k.expires_at <= ?");
    let expired = unless_needed(expired.bind(now));
    db.execute(expired.push(" limit ?)").bind(limit)).await
}
