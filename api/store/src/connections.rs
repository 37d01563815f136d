//! Connections: credentials for other services, each of one user. Runs of a workspace may use all of its connections.

use super::notices::{self, Notice};
use super::{Db, StoreError, sql};
use crate::vault::{Sealed, Vault, VaultError};
use heddle_model::access::{Editor, Scope};
use heddle_model::clock::Timestamp;
use heddle_model::ids::{ConnectionId, DataKeyId, UserId, WorkspaceId};
use heddle_model::tenant::Tenant;
use serde_json::{Map, Value};
use sqlx::FromRow;

/// What may be seen of a connection.
#[derive(Clone, Debug, FromRow)]
pub struct ConnectionRow {
    /// UUIDv7, so that ids sort by time of creation.
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
    /// Hosts that it may be sent to; none: any.
    #[sqlx(try_from = "String")]
    pub hosts: Hosts,
}

/// A list of hosts, stored as a JSON array.
#[derive(Clone, Debug, Default)]
pub struct Hosts(pub Vec<String>);

impl TryFrom<String> for Hosts {
    type Error = serde_json::Error;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        serde_json::from_str(&text).map(Hosts)
    }
}

/// A connection with its credentials in clear, for a run.
pub struct Opened {
    /// What may be seen of it.
    pub row: ConnectionRow,
    /// Its credentials.
    pub fields: Map<String, Value>,
}

/// The tenant's connection with this id, or else the newest active one that has the reference as its label or, if
/// none has, as its provider.
pub async fn open(
    db: &mut Db<'_>,
    vault: &Vault,
    tenant: Tenant,
    reference: &str,
) -> Result<Option<Opened>, VaultError> {
    #[derive(FromRow)]
    struct Found {
        #[sqlx(flatten)]
        row: ConnectionRow,
        #[sqlx(try_from = "String")]
        data_key: DataKeyId,
        ciphertext: Vec<u8>,
    }
    let select = sql(
        "select id, provider, display_name, type, status, created_at, updated_at, hosts, data_key, ciphertext
         from connections where status = 'active' and ",
    );
    let (select, workspace) = match tenant {
        Tenant::Workspace(workspace) => (select.push("workspace_id = ?").bind(workspace), Some(workspace)),
        Tenant::User(user) => (
            select.push("workspace_id is null and user_id = ?").bind(user),
            None,
        ),
    };
    let select = select
        .push(" and (id = ? or display_name = ? or provider = ?)")
        .bind(reference)
        .bind(reference)
        .bind(reference)
        .push(" order by case when id = ? then 0 when display_name = ? then 1 else 2 end, id desc limit 1")
        .bind(reference)
        .bind(reference);
    let Some(found) = db.optional::<Found>(select).await? else {
        return Ok(None);
    };
    let sealed = Sealed {
        data_key: found.data_key,
        bytes: found.ciphertext,
    };
    let opened = vault.open(db, workspace, &aad(found.row.id), &sealed).await?;
    let fields = serde_json::from_slice(&opened).map_err(|_| VaultError::Unopenable)?;
    Ok(Some(Opened {
        row: found.row,
        fields,
    }))
}

fn aad(connection: ConnectionId) -> String {
    format!("connections/{connection}")
}

const CONNECTION: &str =
    "select id, provider, display_name, type, status, created_at, updated_at, hosts from connections
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
    let sealed = vault
        .seal(db, editor.workspace(), &aad(row.id), credentials.as_bytes())
        .await?;
    let (user, workspace): (UserId, Option<WorkspaceId>) = (editor.user(), editor.workspace());
    db.execute(
        sql("insert into connections (id, user_id, workspace_id, provider, display_name, type, status, data_key,
                 ciphertext, created_at, updated_at, hosts) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
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
        .bind(row.updated_at)
        .bind(serde_json::to_string(&row.hosts.0).unwrap_or_default()),
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
    notices::tell(db, Notice::Environments).await?;
    db.execute(sql("delete from connections where id = ?").bind(connection))
        .await?;
    Ok(true)
}
