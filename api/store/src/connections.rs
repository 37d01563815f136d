//! Connections: credentials for other services, each of one user. Runs of a workspace may use all of its connections.

use super::notices::{self, Notice};
use super::{Db, Sql, StoreError, locks, sql};
use crate::vault::{Sealed, Vault, VaultError};
use heddle_model::access::{Editor, Scope};
use heddle_model::clock::Timestamp;
use heddle_model::column;
use heddle_model::ids::{ConnectionId, DataKeyId, UserId, WorkspaceId};
use heddle_model::tenant::Tenant;
use serde_json::{Map, Value};
use sqlx_macros::FromRow;

/// What may be seen of a connection.
#[derive(Clone, Debug, FromRow)]
pub struct ConnectionRow {
    /// UUIDv7, so that ids sort by time of creation.
    pub id: ConnectionId,
    /// Service.
    pub provider: String,
    /// Label.
    pub display_name: String,
    /// `oauth`, `api_key` or `credentials`.
    #[sqlx(rename = "type")]
    pub kind: String,
    /// `active` or `consent_needed`.
    pub status: String,
    /// When made.
    pub created_at: Timestamp,
    /// When changed.
    pub updated_at: Timestamp,
    /// Hosts that it may be sent to; none: any.
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
column!(Hosts: String, Hosts::try_from);

/// A connection with its credentials in clear, for a run.
pub struct Opened {
    /// What may be seen of it.
    pub row: ConnectionRow,
    /// Its credentials.
    pub fields: Map<String, Value>,
    /// Whose it is; none: its user's outside of workspaces.
    pub workspace: Option<WorkspaceId>,
}

/// A connection as it is stored.
#[derive(FromRow)]
struct Found {
    #[sqlx(flatten)]
    row: ConnectionRow,
    workspace_id: Option<String>,
    data_key: DataKeyId,
    ciphertext: Vec<u8>,
}

impl Found {
    async fn opened(self, db: &mut Db<'_>, vault: &Vault) -> Result<Opened, VaultError> {
        let sealed = Sealed {
            data_key: self.data_key,
            bytes: self.ciphertext,
        };
        let workspace = match self.workspace_id {
            Some(id) => Some(id.parse().map_err(|_| VaultError::Unopenable)?),
            None => None,
        };
        let opened = vault.open(db, workspace, &aad(self.row.id), &sealed).await?;
        Ok(Opened {
            fields: serde_json::from_slice(&opened).map_err(|_| VaultError::Unopenable)?,
            row: self.row,
            workspace,
        })
    }
}

/// What of a connection may be seen. Without tokens that can be used, one by consent needs consent.
macro_rules! seen {
    () => {
        "id, provider, display_name, type, case when type = 'oauth' and not exists (select 1 from connection_tokens t
            where t.connection_id = connections.id and t.refused is null) then 'consent_needed' else status end as status,
        created_at, updated_at, hosts"
    };
}

const FOUND: &str = concat!(
    "select ",
    seen!(),
    ", workspace_id, data_key, ciphertext from connections where "
);

/// The tenant's connection with this id, or else the newest active one that has the reference as its label or, if
/// none has, as its provider.
pub async fn open(
    db: &mut Db<'_>,
    vault: &Vault,
    tenant: Tenant,
    reference: &str,
) -> Result<Option<Opened>, VaultError> {
    match db
        .optional::<Found>(referred(sql(FOUND), tenant, reference))
        .await?
    {
        Some(found) => found.opened(db, vault).await.map(Some),
        None => Ok(None),
    }
}

/// Which connection [`open`] would open.
pub async fn resolved(
    db: &mut Db<'_>,
    tenant: Tenant,
    reference: &str,
) -> Result<Option<ConnectionId>, StoreError> {
    let found: Option<(ConnectionId,)> = db
        .optional(referred(
            sql("select id from connections where "),
            tenant,
            reference,
        ))
        .await?;
    Ok(found.map(|(id,)| id))
}

fn referred(select: Sql, tenant: Tenant, reference: &str) -> Sql {
    let select = select.push("status = 'active' and ");
    let select = match tenant {
        Tenant::Workspace(workspace) => select.push("workspace_id = ?").bind(workspace),
        Tenant::User(user) => select.push("workspace_id is null and user_id = ?").bind(user),
    };
    select
        .push(" and (id = ? or display_name = ? or provider = ?)")
        .bind(reference)
        .bind(reference)
        .bind(reference)
        .push(" order by case when id = ? then 0 when display_name = ? then 1 else 2 end, id desc limit 1")
        .bind(reference)
        .bind(reference)
}

/// One of the user's own connections with its credentials in clear, for its user.
pub async fn opened_own(
    db: &mut Db<'_>,
    vault: &Vault,
    scope: &Scope,
    connection: ConnectionId,
) -> Result<Option<Opened>, VaultError> {
    opened(db, vault, own(scope, connection)).await
}

/// A connection with its credentials in clear, for a transaction that changes it: until that ends, nobody else changes it.
pub async fn opened_to_change(
    db: &mut Db<'_>,
    vault: &Vault,
    editor: &Editor,
    connection: ConnectionId,
) -> Result<Option<Opened>, VaultError> {
    locks::keep_workspace(db, editor).await?;
    let lock = if db.is_postgres() { " for update" } else { "" };
    opened(db, vault, own(editor, connection).push(lock)).await
}

fn own(scope: &Scope, connection: ConnectionId) -> Sql {
    sql(FOUND)
        .push("user_id = ? and (workspace_id = ? or workspace_id is null) and id = ?")
        .bind(scope.user())
        .bind(scope.workspace())
        .bind(connection)
}

async fn opened(db: &mut Db<'_>, vault: &Vault, select: Sql) -> Result<Option<Opened>, VaultError> {
    match db.optional::<Found>(select).await? {
        Some(found) => found.opened(db, vault).await.map(Some),
        None => Ok(None),
    }
}

/// Replaces what is stored of one of the user's own connections: label, hosts and credentials.
pub async fn update(
    db: &mut Db<'_>,
    vault: &Vault,
    editor: &Editor,
    changed: &Opened,
) -> Result<(), VaultError> {
    let (row, credentials) = (&changed.row, Value::Object(changed.fields.clone()).to_string());
    let sealed = vault
        .seal(db, changed.workspace, &aad(row.id), credentials.as_bytes())
        .await?;
    db.execute(
        sql(
            "update connections set display_name = ?, hosts = ?, data_key = ?, ciphertext = ?, updated_at = ?
             where id = ? and user_id = ?",
        )
        .bind(&row.display_name)
        .bind(serde_json::to_string(&row.hosts.0).unwrap_or_default())
        .bind(sealed.data_key)
        .bind(sealed.bytes)
        .bind(row.updated_at)
        .bind(row.id)
        .bind(editor.user()),
    )
    .await?;
    Ok(())
}

fn aad(connection: ConnectionId) -> String {
    format!("connections/{connection}")
}

const CONNECTION: &str = concat!(
    "select ",
    seen!(),
    " from connections where user_id = ? and (workspace_id = ? or workspace_id is null) "
);

/// The user's own connections of the active workspace and of none, the newest first.
pub async fn list(db: &mut Db<'_>, scope: &Scope) -> Result<Vec<ConnectionRow>, StoreError> {
    let select = sql(CONNECTION).bind(scope.user()).bind(scope.workspace());
    db.all(select.push("order by id desc")).await
}

/// A connection of a workspace, and who made it.
#[derive(Clone, Debug, FromRow)]
pub struct SharedRow {
    #[sqlx(flatten)]
    pub row: ConnectionRow,
    /// Who made it.
    pub owner_id: UserId,
    /// Their first name; `None`: they have no account any more.
    pub first_name: Option<String>,
    /// Their last name.
    pub last_name: Option<String>,
}

/// The connections that runs of the active workspace may open, whoever made them, the newest first; for somebody in no workspace
/// their own.
pub async fn of_workspace(db: &mut Db<'_>, scope: &Scope) -> Result<Vec<SharedRow>, StoreError> {
    let select = sql(
        "select c.id, c.provider, c.display_name, c.type, c.status, c.created_at, c.updated_at, c.hosts,
         c.user_id as owner_id, u.first_name, u.last_name
         from connections c left join users u on u.id = c.user_id where ",
    );
    let select = match scope.workspace() {
        Some(workspace) => select.push("c.workspace_id = ?").bind(workspace),
        None => select
            .push("c.workspace_id is null and c.user_id = ?")
            .bind(scope.user()),
    };
    db.all(select.push(" order by c.id desc")).await
}

/// One of the user's own.
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
    locks::keep_workspace(db, editor).await?;
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

/// Gives the connections that a user has made in a workspace, which they are no member of any more, to the owner of longest standing there;
/// how many. Else nobody could change or delete them, while runs may open them.
pub async fn hand_over(db: &mut Db<'_>, workspace: WorkspaceId, user: UserId) -> Result<u64, StoreError> {
    db.execute(
        sql(
            "update connections set user_id = coalesce((select m.user_id from memberships m
                 where m.workspace_id = connections.workspace_id and m.role = 'owner' and m.user_id <> ?
                 order by m.created_at, m.user_id limit 1), user_id)
             where user_id = ? and workspace_id = ?",
        )
        .bind(user)
        .bind(user)
        .bind(workspace),
    )
    .await
}

/// The tenant's connections with tokens, and who made each.
pub async fn with_tokens(db: &mut Db<'_>, tenant: Tenant) -> Result<Vec<(ConnectionId, UserId)>, StoreError> {
    let select = sql(
        "select c.id, c.user_id from connections c join connection_tokens t on t.connection_id = c.id where ",
    );
    let select = match tenant {
        Tenant::Workspace(workspace) => select.push("c.workspace_id = ?").bind(workspace),
        Tenant::User(user) => select.push("c.workspace_id is null and c.user_id = ?").bind(user),
    };
    db.all(select.push(" order by c.id")).await
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
