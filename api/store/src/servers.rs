//! Servers that share the database. Each has a row (its lease), which it must renew before it expires by the database's
//! clock, so the machines' clocks need not agree. A run belongs to the server whose id is its owner, and to no server
//! once that row is gone.

use super::runs::suspects;
use super::{Db, StoreError, sql};
use heddle_model::clock::Timestamp;
use heddle_model::server_role::ServerRole;

/// The time by the database's clock.
pub async fn now(db: &mut Db<'_>) -> Result<Timestamp, StoreError> {
    let query = match db {
        Db::Sqlite(_) => "select cast(unixepoch('subsec') * 1000 as integer)",
        Db::Postgres(_) => "select cast(extract(epoch from clock_timestamp()) * 1000 as bigint)",
    };
    let (now_ms,): (i64,) = db.one(sql(query)).await?;
    Ok(Timestamp::from_millis(now_ms))
}

/// Adds a server, or renews it if it already exists because the answer to an earlier registration was lost.
pub async fn register(
    db: &mut Db<'_>,
    id: &str,
    role: ServerRole,
    now: Timestamp,
    expires_at: Timestamp,
) -> Result<(), StoreError> {
    db.execute(
        sql(
            "insert into servers (id, role, started_at, expires_at) values (?, ?, ?, ?)
             on conflict (id) do update set expires_at = excluded.expires_at",
        )
        .bind(id)
        .bind(role)
        .bind(now)
        .bind(expires_at),
    )
    .await
    .map(drop)
}

/// Removes all servers but this one, which have died: only one can have a SQLite database.
pub async fn remove_others(db: &mut Db<'_>, id: &str, now: Timestamp) -> Result<(), StoreError> {
    let dead = sql("delete from servers where id <> ? returning id, trying").bind(id);
    let dead: Vec<(String, bool)> = db.all(dead).await?;
    judge_all(db, dead, now).await.map(drop)
}

/// What has brought them down is looked for in the same transaction.
async fn judge_all(db: &mut Db<'_>, dead: Vec<(String, bool)>, now: Timestamp) -> Result<u64, StoreError> {
    for (id, was_trying) in &dead {
        suspects::judge(db, id, *was_trying, now).await?;
    }
    Ok(dead.len() as u64)
}

/// Lengthens a lease. `false`: the server was removed, and its runs may be another's.
pub async fn renew(db: &mut Db<'_>, id: &str, expires_at: Timestamp) -> Result<bool, StoreError> {
    let renew = sql("update servers set expires_at = ? where id = ?");
    Ok(db.execute(renew.bind(expires_at).bind(id)).await? > 0)
}

/// Removes the servers whose leases have expired, and returns their number.
pub async fn remove_expired(db: &mut Db<'_>, now: Timestamp) -> Result<u64, StoreError> {
    let dead = sql("delete from servers where expires_at < ? returning id, trying").bind(now);
    let dead: Vec<(String, bool)> = db.all(dead).await?;
    judge_all(db, dead, now).await
}

/// How many there are, and how many of them execute runs.
pub async fn count(db: &mut Db<'_>) -> Result<(i64, i64), StoreError> {
    let query = sql("select count(*), count(case when role <> ? then 1 end) from servers");
    db.one(query.bind(ServerRole::Api)).await
}

/// Removes a server that stops.
pub async fn remove(db: &mut Db<'_>, id: &str) -> Result<(), StoreError> {
    db.execute(sql("delete from servers where id = ?").bind(id))
        .await
        .map(drop)
}
