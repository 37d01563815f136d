//! Values that patterns keep between runs. What an operation does to a value is decided by the caller.

use super::{Db, Sql, StoreError, sql};
use heddle_model::access::{Manager, Scope};
use heddle_model::clock::Timestamp;
use heddle_model::ids::{EnvironmentId, UserId, WorkspaceId};
use heddle_model::slot::Slot;
use sqlx_macros::FromRow;

/// Whose values.
#[derive(Clone, Copy, Debug)]
pub enum ValueOwner {
    /// Of one of a pattern's deployments.
    Pattern(Slot),
    /// A workspace's.
    Workspace(WorkspaceId),
    /// A user's, outside of workspaces.
    User(UserId),
}

impl ValueOwner {
    /// As it is stored.
    pub fn scope(self) -> String {
        match self {
            ValueOwner::Pattern(slot) => match slot.environment {
                None => format!("pattern/{}", slot.pattern),
                Some(environment) => format!("pattern/{}/{environment}", slot.pattern),
            },
            ValueOwner::Workspace(id) => format!("workspace/{id}"),
            ValueOwner::User(id) => format!("user/{id}"),
        }
    }
}

/// A value as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct ValueRow {
    /// JSON.
    pub value: String,
    /// In milliseconds; `None`: never.
    pub expires_at: Option<i64>,
}

impl ValueRow {
    fn is_there(&self, now: Timestamp) -> bool {
        self.expires_at.is_none_or(|at| at > now.millis())
    }
}

/// A value in a list.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct ListedValueRow {
    pub key: String,
    /// The length of its JSON.
    pub bytes: i64,
    /// In milliseconds; `None`: never.
    pub expires_at: Option<i64>,
}

/// Which values to list.
#[derive(Clone, Debug)]
pub struct ValueFilter {
    /// What their keys begin with.
    pub prefix: String,
    /// Only those after this key.
    pub after: Option<String>,
    /// At most so many.
    pub limit: i64,
}

/// An owner's values that have not expired, by key.
pub async fn list(
    db: &mut Db<'_>,
    owner: ValueOwner,
    filter: &ValueFilter,
    now: Timestamp,
) -> Result<Vec<ListedValueRow>, StoreError> {
    // Both databases compare bytes, so that a page goes on where the last one ended.
    let key = if db.is_postgres() {
        "key collate \"C\""
    } else {
        "key"
    };
    let mut select = sql(
        "select key, cast(octet_length(value) as bigint) as bytes, expires_at from key_values
         where scope = ? and (expires_at is null or expires_at > ?)",
    )
    .bind(owner.scope())
    .bind(now);
    if !filter.prefix.is_empty() {
        let chars = i64::try_from(filter.prefix.chars().count()).unwrap_or(i64::MAX);
        // PostgreSQL takes a length of 32 bits only.
        let begins = select.push(" and substr(key, 1, cast(? as integer)) = ?");
        select = begins.bind(chars).bind(&filter.prefix);
    }
    if let Some(after) = &filter.after {
        select = select.push(" and ").push(key).push(" > ?").bind(after);
    }
    let select = select.push(" order by ").push(key).push(" limit ?");
    db.all(select.bind(filter.limit)).await
}

/// Towards whose quotas values of the scope's workspace count: who has made it.
pub async fn payer(db: &mut Db<'_>, scope: &Scope) -> Result<UserId, StoreError> {
    let made = sql("select created_by from workspaces where id = ?").bind(scope.workspace());
    let found: Option<(Option<UserId>,)> = db.optional(made).await?;
    Ok(found.and_then(|(maker,)| maker).unwrap_or(scope.user()))
}

/// The value, unless it has expired.
pub async fn find(
    db: &mut Db<'_>,
    owner: ValueOwner,
    key: &str,
    now: Timestamp,
) -> Result<Option<ValueRow>, StoreError> {
    let row: Option<ValueRow> = db.optional(named(owner, key)).await?;
    Ok(row.filter(|row| row.is_there(now)))
}

/// The value, which counts towards this user's quotas if it is new, locked until the transaction ends: others can neither change nor create it meanwhile.
pub async fn hold(
    db: &mut Db<'_>,
    owner: ValueOwner,
    payer: UserId,
    key: &str,
    now: Timestamp,
) -> Result<Option<ValueRow>, StoreError> {
    let (pattern, workspace, user) = match owner {
        ValueOwner::Pattern(slot) => (Some(slot.pattern), None, None),
        ValueOwner::Workspace(id) => (None, Some(id), None),
        ValueOwner::User(id) => (None, None, Some(id)),
    };
    // A row that has expired takes the place of one that is not there.
    let insert = sql(
        "insert into key_values (scope, key, value, expires_at, pattern_id, workspace_id, user_id, owner_id)
         values (?, ?, 'null', 0, ?, ?, ?, ?) on conflict (scope, key) do ",
    )
    .bind(owner.scope())
    .bind(key)
    .bind(pattern)
    .bind(workspace)
    .bind(user)
    .bind(payer);
    let row: Option<ValueRow> = if db.is_postgres() {
        // The update changes nothing, but locks.
        let locked = insert.push("update set key = excluded.key returning value, expires_at");
        db.optional(locked).await?
    } else {
        // Nobody else writes there meanwhile, and an update would write the value once more.
        let found: Vec<ValueRow> = db.all_after(insert.push("nothing"), named(owner, key)).await?;
        found.into_iter().next()
    };
    Ok(row.filter(|row| row.is_there(now)))
}

/// The row, expired or not.
fn named(owner: ValueOwner, key: &str) -> Sql {
    sql("select value, expires_at from key_values where scope = ? and key = ?")
        .bind(owner.scope())
        .bind(key)
}

/// Replaces a value that is held. It counts towards this user's quotas from now on.
pub async fn put(
    db: &mut Db<'_>,
    owner: ValueOwner,
    payer: UserId,
    key: &str,
    row: &ValueRow,
) -> Result<(), StoreError> {
    let update =
        sql("update key_values set value = ?, expires_at = ?, owner_id = ? where scope = ? and key = ?")
            .bind(&row.value)
            .bind(row.expires_at)
            .bind(payer)
            .bind(owner.scope())
            .bind(key);
    db.execute(update).await.map(drop)
}

/// Removes a value; whether one was there, expired or not.
pub async fn remove(db: &mut Db<'_>, owner: ValueOwner, key: &str) -> Result<bool, StoreError> {
    let delete = sql("delete from key_values where scope = ? and key = ?")
        .bind(owner.scope())
        .bind(key);
    Ok(db.execute(delete).await? > 0)
}

/// Removes what further deployments in an environment have kept, when the environment itself is deleted.
pub(super) async fn remove_of_environment(
    db: &mut Db<'_>,
    manager: &Manager,
    environment: EnvironmentId,
) -> Result<(), StoreError> {
    let delete = sql("delete from key_values where scope in
         (select 'pattern/' || p.id || ? from patterns p where p.workspace_id = ?)")
    .bind(format!("/{environment}"))
    .bind(manager.workspace());
    db.execute(delete).await.map(drop)
}

/// Whether an owner has so many values that have not expired.
pub async fn are_as_many(
    db: &mut Db<'_>,
    owner: ValueOwner,
    now: Timestamp,
    many: usize,
) -> Result<bool, StoreError> {
    let many = i64::try_from(many).unwrap_or(i64::MAX);
    // Of the index alone. Whether one has expired is behind its value, which may be large.
    let keys = sql("select count(*) from (select 1 as one from key_values where scope = ? limit ?) counted");
    let (keys,): (i64,) = db.one(keys.bind(owner.scope()).bind(many)).await?;
    if keys < many {
        return Ok(false);
    }
    let values = sql("select count(*) from (select 1 as one from key_values
         where scope = ? and (expires_at is null or expires_at > ?) limit ?) counted");
    let (values,): (i64,) = db.one(values.bind(owner.scope()).bind(now).bind(many)).await?;
    Ok(values >= many)
}

/// Deletes at most `batch` values that have expired; how many there were.
pub async fn delete_expired(db: &mut Db<'_>, now: Timestamp, batch: i64) -> Result<u64, StoreError> {
    let delete = sql("delete from key_values where (scope, key) in
         (select scope, key from key_values where expires_at <= ? limit ?) and expires_at <= ?")
    .bind(now)
    .bind(batch)
    .bind(now);
    db.execute(delete).await
}
