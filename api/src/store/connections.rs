//! Connections: credentials for other services, each of one user.

use super::{Db, StoreError, sql};
use crate::access::{Editor, Scope};
use crate::clock::Timestamp;
use crate::ids::{ConnectionId, UserId, WorkspaceId};
use crate::vault::{Vault, VaultError};
use serde_json::{Map, Value};
use sqlx::FromRow;

/// What may be seen of a connection.
#[derive(Clone, Debug, FromRow)]
pub struct ConnectionRow {
    /// Id.
    #[sqlx(try_from = "String")]
    pub id: ConnectionId,
    /// Service.
    pub provider: String,
    /// Label.
    pub display_name: String,
    /// `oauth`, `api_key` or `credentials`.
    #[sqlx(rename = "type")]
    pub kind: String,
    /// `active`.
    pub status: String,
    /// When made.
    #[sqlx(try_from = "i64")]
    pub created_at: Timestamp,
    /// When changed.
    #[sqlx(try_from = "i64")]
    pub updated_at: Timestamp,
}

const CONNECTION: &str =
    "select id, provider, display_name, type, status, created_at, updated_at from connections
    where user_id = ? and (workspace_id = ? or workspace_id is null) ";

/// The user's own connections of the active workspace and of none, the newest first.
pub async fn list(db: &mut Db<'_>, scope: &Scope) -> Result<Vec<ConnectionRow>, StoreError> {
    let select = sql(CONNECTION).bind(scope.user()).bind(scope.workspace());
    db.all(select.push("order by id desc")).await
}

/// One of them.
pub async fn find(
    db: &mut Db<'_>,
    scope: &Scope,
    connection: ConnectionId,
) -> Result<Option<ConnectionRow>, StoreError> {
    let select = sql(CONNECTION).bind(scope.user()).bind(scope.workspace());
    db.optional(select.push("and id = ?").bind(connection)).await
}

/// Stores a connection with its credentials, encrypted.
pub async fn create(
    db: &mut Db<'_>,
    vault: &Vault,
    editor: &Editor,
    row: &ConnectionRow,
    credentials: &Map<String, Value>,
) -> Result<(), VaultError> {
    let credentials = Value::Object(credentials.clone()).to_string();
    let aad = format!("connections/{}", row.id);
    let sealed = vault
        .seal(db, editor.workspace(), &aad, credentials.as_bytes())
        .await?;
    let (user, workspace): (UserId, Option<WorkspaceId>) = (editor.user(), editor.workspace());
    db.execute(
        sql("insert into connections (id, user_id, workspace_id, provider, display_name, type, status, data_key,
                 ciphertext, created_at, updated_at) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
        .bind(row.id)
        .bind(user)
        .bind(workspace)
        .bind(&row.provider)
        .bind(&row.display_name)
        .bind(&row.kind)
        .bind(&row.status)
        .bind(sealed.data_key)
        .bind(sealed.bytes)
        .bind(row.created_at)
        .bind(row.updated_at),
    )
    .await?;
    Ok(())
}

/// Deletes one of the user's connections and the secrets that still have the values that it seeded; whether there
/// was one.
pub async fn delete(db: &mut Db<'_>, editor: &Editor, connection: ConnectionId) -> Result<bool, StoreError> {
    if find(db, editor, connection).await?.is_none() {
        return Ok(false);
    }
    db.execute(sql("delete from secrets where connection_id = ?").bind(connection))
        .await?;
    db.execute(sql("delete from connections where id = ?").bind(connection))
        .await?;
    Ok(true)
}
