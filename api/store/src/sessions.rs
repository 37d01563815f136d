//! Sessions of browsers, each found by the hash of the secret in its cookie. Knows nothing of cookies, nor of how long a
//! session lasts.

use super::{Db, StoreError, sql};
use heddle_model::clock::Timestamp;
use heddle_model::ids::{SessionId, UserId};
use sqlx_macros::FromRow;
use std::time::Duration;

/// Sessions that a user may have at once; the one that was used longest ago makes room for another.
const OF_USER_MAX: i64 = 50;
/// A session's last use is noted once in so long, so that reading does not become writing.
const USE_NOTED_EVERY: Duration = Duration::from_secs(60);

#[derive(Clone, Debug, FromRow)]
pub struct SessionRow {
    /// The login's id.
    pub id: SessionId,
    /// Who has signed in.
    pub user_id: UserId,
    /// The user's generation of tokens then.
    pub generation: i64,
    /// When they signed in.
    pub began_at: Timestamp,
    /// When last used, to the minute.
    pub used_at: Timestamp,
    /// From where they signed in.
    pub ip_address: String,
    /// What the browser called itself then.
    pub user_agent: String,
}

impl SessionRow {
    /// Whether this use is to be noted with [`note_use`].
    pub fn is_use_news(&self, now: Timestamp) -> bool {
        self.used_at.plus(USE_NOTED_EVERY) <= now
    }
}

/// Which sessions have ended by themselves.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    /// Those that were not used since.
    pub unused_since: Timestamp,
    /// Those that began before.
    pub begun_before: Timestamp,
}

const SESSION: &str =
    "select id, user_id, generation, began_at, used_at, ip_address, user_agent from sessions ";

/// Adds a session in place of the one whose secret has the hash `instead_of`, and forgets those of all users that have
/// ended, and the oldest of too many.
pub async fn begin(
    db: &mut Db<'_>,
    row: &SessionRow,
    hash: &str,
    instead_of: Option<&str>,
    ended: Ended,
) -> Result<(), StoreError> {
    if let Some(before) = instead_of {
        db.execute(sql("delete from sessions where secret_hash = ?").bind(before))
            .await?;
    }
    db.execute(
        sql("delete from sessions where used_at <= ? or began_at <= ?")
            .bind(ended.unused_since)
            .bind(ended.begun_before),
    )
    .await?;
    db.execute(
        sql("delete from sessions where user_id = ? and id not in
             (select id from sessions where user_id = ? order by used_at desc, id desc limit ?)")
        .bind(row.user_id)
        .bind(row.user_id)
        .bind(OF_USER_MAX - 1),
    )
    .await?;
    db.execute(
        sql("insert into sessions (id, user_id, secret_hash, generation, began_at, used_at, ip_address, user_agent)
             values (?, ?, ?, ?, ?, ?, ?, ?)")
        .bind(row.id)
        .bind(row.user_id)
        .bind(hash)
        .bind(row.generation)
        .bind(row.began_at)
        .bind(row.used_at)
        .bind(&row.ip_address)
        .bind(&row.user_agent),
    )
    .await
    .map(drop)
}

/// The session whose secret has this hash.
pub async fn by_hash(db: &mut Db<'_>, hash: &str) -> Result<Option<SessionRow>, StoreError> {
    db.optional(sql(SESSION).push("where secret_hash = ?").bind(hash))
        .await
}

/// Notes when a session was used.
pub async fn note_use(db: &mut Db<'_>, session: SessionId, now: Timestamp) -> Result<(), StoreError> {
    let update = sql("update sessions set used_at = ? where id = ?");
    db.execute(update.bind(now).bind(session)).await.map(drop)
}

/// A user's sessions that have not ended, the one used last first.
pub async fn list(db: &mut Db<'_>, user: UserId, ended: Ended) -> Result<Vec<SessionRow>, StoreError> {
    let query = sql(SESSION)
        .push("where user_id = ? and used_at > ? and began_at > ?")
        .bind(user)
        .bind(ended.unused_since)
        .bind(ended.begun_before)
        .push(" and generation = (select u.generation from users u where u.id = sessions.user_id)");
    db.all(query.push(" order by used_at desc, id desc")).await
}

/// Ends one of a user's sessions; whether there was one.
pub async fn end(db: &mut Db<'_>, user: UserId, session: SessionId) -> Result<bool, StoreError> {
    let delete = sql("delete from sessions where user_id = ? and id = ?");
    Ok(db.execute(delete.bind(user).bind(session)).await? > 0)
}
