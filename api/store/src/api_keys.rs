//! API keys: long-lived credentials for machines, stored as hashes.

use super::audit::Log;
use super::{Db, StoreError, locks, sql};
use heddle_model::access::{KeyScope, Scope};
use heddle_model::clock::Timestamp;
use heddle_model::ids::{ApiKeyId, UserId, WorkspaceId};
use sqlx_macros::FromRow;
use std::time::Duration;

/// A key's last use is noted once in so long, so that reading does not become writing.
const USE_NOTED_EVERY: Duration = Duration::from_secs(60);

/// What may be seen of a key.
#[derive(Clone, Debug)]
pub struct ApiKeyRow {
    /// UUIDv7, so that ids sort by time of creation.
    pub id: ApiKeyId,
    pub name: String,
    /// The first characters of the key, to identify it.
    pub prefix: String,
    /// Workspace in which it counts; `None`: outside of all.
    pub workspace_id: Option<String>,
    /// What it may do at most; `None`: all that its user may.
    pub scope: Option<KeyScope>,
    /// When made.
    pub created_at: Timestamp,
    /// When it ends; `None`: when it is deleted.
    pub expires_at: Option<Timestamp>,
    /// When last used, to the minute, in milliseconds since 1970 UTC.
    pub last_used_at: Option<i64>,
}

/// Whose key it is.
#[derive(Clone, Copy, Debug)]
pub struct ApiKeyHolder {
    pub id: ApiKeyId,
    pub user: UserId,
    /// Workspace in which it counts.
    pub workspace: Option<WorkspaceId>,
    /// What the key may do at most.
    pub scope: Option<KeyScope>,
    /// When the key ends.
    pub expires_at: Option<Timestamp>,
    /// Whether this use is to be noted with [`note_use`].
    pub is_use_news: bool,
}

/// A key that is to be made.
#[derive(Clone, Debug)]
pub struct NewApiKey {
    pub name: String,
    /// The first characters of the key, to identify it.
    pub prefix: String,
    pub hash: String,
    /// What it may do at most; `None`: all that its user may.
    pub scope: Option<KeyScope>,
    /// When it ends; `None`: when it is deleted.
    pub expires_at: Option<Timestamp>,
}

/// A new key of the scope's user, for the scope's workspace.
pub async fn create(
    db: &mut Db<'_>,
    scope: &Scope,
    new: NewApiKey,
    now: Timestamp,
) -> Result<ApiKeyRow, StoreError> {
    locks::keep_workspace(db, scope).await?;
    let id = ApiKeyId::new();
    db.execute(
        sql(
            "insert into api_keys (id, user_id, workspace_id, name, prefix, hash, scope, expires_at, created_at)
             values (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        )
        .bind(id)
        .bind(scope.user())
        .bind(scope.workspace())
        .bind(&new.name)
        .bind(&new.prefix)
        .bind(&new.hash)
        .bind(new.scope.map(KeyScope::name))
        .bind(new.expires_at)
        .bind(now),
    )
    .await?;
    Ok(ApiKeyRow {
        id,
        name: new.name,
        prefix: new.prefix,
        workspace_id: scope.workspace().map(|workspace| workspace.to_string()),
        scope: new.scope,
        created_at: now,
        expires_at: new.expires_at,
        last_used_at: None,
    })
}

/// The user's keys, of all workspaces, the newest first.
pub async fn list(db: &mut Db<'_>, scope: &Scope) -> Result<Vec<ApiKeyRow>, StoreError> {
    #[derive(FromRow)]
    struct Listed {
        id: ApiKeyId,
        name: String,
        prefix: String,
        workspace_id: Option<String>,
        scope: Option<String>,
        created_at: Timestamp,
        expires_at: Option<i64>,
        last_used_at: Option<i64>,
    }
    let listed: Vec<Listed> = db
        .all(
            sql(
                "select id, name, prefix, workspace_id, scope, created_at, expires_at, last_used_at
                 from api_keys where user_id = ? order by id desc",
            )
            .bind(scope.user()),
        )
        .await?;
    let row = |listed: Listed| {
        Ok(ApiKeyRow {
            scope: stored_scope(listed.id, listed.scope)?,
            id: listed.id,
            name: listed.name,
            prefix: listed.prefix,
            workspace_id: listed.workspace_id,
            created_at: listed.created_at,
            expires_at: listed.expires_at.map(Timestamp::from_millis),
            last_used_at: listed.last_used_at,
        })
    };
    listed.into_iter().map(row).collect()
}

/// A key that can't be read is refused: without its limit it could do too much.
fn stored_scope(key: ApiKeyId, name: Option<String>) -> Result<Option<KeyScope>, StoreError> {
    let scope = name.map(KeyScope::try_from).transpose();
    scope.map_err(|_| corrupt(key, "scope"))
}

fn corrupt(key: ApiKeyId, column: &'static str) -> StoreError {
    StoreError::Corrupt {
        table: "api_keys",
        column,
        row: key.to_string(),
    }
}

/// The audit log that tells of one of the user's keys: its workspace's, or the user's own.
pub async fn log_of(db: &mut Db<'_>, scope: &Scope, key: ApiKeyId) -> Result<Option<Log>, StoreError> {
    let select = sql("select workspace_id from api_keys where user_id = ? and id = ?");
    let found: Option<(Option<WorkspaceId>,)> = db.optional(select.bind(scope.user()).bind(key)).await?;
    Ok(found.map(|(workspace,)| workspace.map_or(Log::Account(scope.user()), Log::Workspace)))
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
        id: ApiKeyId,
        user_id: UserId,
        workspace_id: Option<String>,
        scope: Option<String>,
        expires_at: Option<i64>,
        last_used_at: Option<i64>,
    }
    let select =
        sql("select id, user_id, workspace_id, scope, expires_at, last_used_at from api_keys where hash = ?")
            .bind(hash);
    let found: Option<Found> = db.optional(select).await?;
    let Some(found) = found else { return Ok(None) };
    let workspace = found.workspace_id.map(WorkspaceId::try_from).transpose();
    Ok(Some(ApiKeyHolder {
        id: found.id,
        user: found.user_id,
        workspace: workspace.map_err(|_| corrupt(found.id, "workspace_id"))?,
        scope: stored_scope(found.id, found.scope)?,
        expires_at: found.expires_at.map(Timestamp::from_millis),
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
