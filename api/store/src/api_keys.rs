//! API keys: long-lived credentials for machines, stored as hashes.

use super::{Db, StoreError, sql};
use heddle_model::access::Scope;
use heddle_model::clock::Timestamp;
use heddle_model::ids::{ApiKeyId, UserId, WorkspaceId};
use sqlx::FromRow;
use std::time::Duration;

/// A key's last use is noted once in so long, so that reading does not become writing.
const USE_NOTED_EVERY: Duration = Duration::from_secs(60);

/// What may be seen of a key.
#[derive(Clone, Debug, FromRow)]
pub struct ApiKeyRow {
    /// UUIDv7, so that ids sort by time of creation.
    #[sqlx(try_from = "String")]
    pub id: ApiKeyId,
    /// Name.
    pub name: String,
    /// The first characters of the key, to identify it.
    pub prefix: String,
    /// Workspace in which it counts; `None`: outside of all.
    pub workspace_id: Option<String>,
    /// When made.
    #[sqlx(try_from = "i64")]
    pub created_at: Timestamp,
    /// When last used, to the minute, in milliseconds since 1970 UTC.
    pub last_used_at: Option<i64>,
}

/// Whose key it is.
#[derive(Clone, Copy, Debug)]
pub struct ApiKeyHolder {
    /// Key.
    pub id: ApiKeyId,
    /// User.
    pub user: UserId,
    /// Workspace in which it counts.
    pub workspace: Option<WorkspaceId>,
    /// Whether this use is to be noted with [`note_use`].
    pub is_use_news: bool,
}

/// A new key of the scope's user, for the scope's workspace.
pub async fn create(
    db: &mut Db<'_>,
    scope: &Scope,
    name: &str,
    prefix: &str,
    hash: &str,
    now: Timestamp,
) -> Result<ApiKeyRow, StoreError> {
    let id = ApiKeyId::new();
    db.execute(
        sql(
            "insert into api_keys (id, user_id, workspace_id, name, prefix, hash, created_at)
             values (?, ?, ?, ?, ?, ?, ?)",
        )
        .bind(id)
        .bind(scope.user())
        .bind(scope.workspace())
        .bind(name)
        .bind(prefix)
        .bind(hash)
        .bind(now),
    )
    .await?;
    Ok(ApiKeyRow {
        id,
        name: name.to_owned(),
        prefix: prefix.to_owned(),
        workspace_id: scope.workspace().map(|workspace| workspace.to_string()),
        created_at: now,
        last_used_at: None,
    })
}

/// The user's keys, of all workspaces, the newest first.
pub async fn list(db: &mut Db<'_>, scope: &Scope) -> Result<Vec<ApiKeyRow>, StoreError> {
    db.all(
        sql(
            "select id, name, prefix, workspace_id, created_at, last_used_at from api_keys
             where user_id = ? order by id desc",
        )
        .bind(scope.user()),
    )
    .await
}

/// Deletes one of the user's keys; whether there was one.
pub async fn delete(db: &mut Db<'_>, scope: &Scope, key: ApiKeyId) -> Result<bool, StoreError> {
    let delete = sql("delete from api_keys where user_id = ? and id = ?");
    Ok(db.execute(delete.bind(scope.user()).bind(key)).await? > 0)
}

/// The holder of the key with this hash.
pub async fn holder(db: &mut Db<'_>, hash: &str, now: Timestamp) -> Result<Option<ApiKeyHolder>, StoreError> {
    #[derive(FromRow)]
    struct Found {
        #[sqlx(try_from = "String")]
        id: ApiKeyId,
        #[sqlx(try_from = "String")]
        user_id: UserId,
        workspace_id: Option<String>,
        last_used_at: Option<i64>,
    }
    let select =
        sql("select id, user_id, workspace_id, last_used_at from api_keys where hash = ?").bind(hash);
    let found: Option<Found> = db.optional(select).await?;
    let Some(found) = found else { return Ok(None) };
    let workspace = found.workspace_id.map(WorkspaceId::try_from).transpose();
    Ok(Some(ApiKeyHolder {
        id: found.id,
        user: found.user_id,
        workspace: workspace.map_err(|_| StoreError::Corrupt {
            table: "api_keys",
            column: "workspace_id",
            row: found.id.to_string(),
        })?,
        is_use_news: found
            .last_used_at
            .is_none_or(|last| Timestamp::from_millis(last).plus(USE_NOTED_EVERY) <= now),
    }))
}

/// Notes when a key was used.
pub async fn note_use(db: &mut Db<'_>, key: ApiKeyId, now: Timestamp) -> Result<(), StoreError> {
    let update = sql("update api_keys set last_used_at = ? where id = ?");
    db.execute(update.bind(now).bind(key)).await.map(drop)
}
