//! Secrets and variables of environments. Secrets are encrypted by the vault and decrypted only for runs.

use super::connections::Hosts;
use super::notices::{self, Notice};
use super::workspaces::EnvironmentRow;
use super::{Db, StoreError, locks, sql};
use crate::vault::{Sealed, Vault, VaultError};
use heddle_model::access::{Manager, Scope};
use heddle_model::clock::Timestamp;
use heddle_model::ids::{ConnectionId, DataKeyId, EnvironmentId, UserId, WorkspaceId};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value};
use sqlx_macros::FromRow;
use std::collections::BTreeMap;
use zeroize::Zeroizing;

/// Changes of an environment's variables of which it is known what they were before.
const PAST_VARIABLES_MAX: i64 = 100;
/// Bytes of all that is known of them: the latest.
const PAST_VARIABLES_BYTES_MAX: i64 = 1 << 20;

/// What may be seen of a secret.
#[derive(Clone, Debug, FromRow)]
pub struct SecretRow {
    /// Name, unique in the environment.
    pub name: String,
    /// When first set.
    pub created_at: Timestamp,
    /// When last set.
    pub updated_at: Timestamp,
    /// Hosts that it may be sent to; none: any.
    pub hosts: Hosts,
}

/// A secret in clear. It is wiped from memory when it is dropped, and never printed.
#[derive(Debug)]
pub struct OpenedSecret {
    pub value: SecretString,
    /// Hosts that it may be sent to; none: any.
    pub hosts: Vec<String>,
}

impl OpenedSecret {
    /// Its value, for where it is used.
    pub fn expose(&self) -> &str {
        self.value.expose_secret()
    }
}

/// All secrets of an environment in clear, for a run in it.
pub async fn open_all(
    db: &mut Db<'_>,
    vault: &Vault,
    environment: EnvironmentId,
) -> Result<BTreeMap<String, OpenedSecret>, VaultError> {
    #[derive(FromRow)]
    struct Found {
        workspace_id: WorkspaceId,
        name: String,
        data_key: DataKeyId,
        ciphertext: Vec<u8>,
        hosts: Hosts,
    }
    let found: Vec<Found> = db
        .all(
            sql("select e.workspace_id, s.name, s.data_key, s.ciphertext, s.hosts
                 from secrets s join environments e on e.id = s.environment_id where e.id = ?")
            .bind(environment),
        )
        .await?;
    let mut values = BTreeMap::new();
    for row in found {
        let sealed = Sealed {
            data_key: row.data_key,
            bytes: row.ciphertext,
        };
        let aad = aad(environment, &row.name);
        let value = vault.open(db, Some(row.workspace_id), &aad, &sealed).await?;
        let opened = OpenedSecret {
            value: text(value)?,
            hosts: row.hosts.0,
        };
        values.insert(row.name, opened);
    }
    Ok(values)
}

/// A decrypted text.
pub(crate) fn text(bytes: Zeroizing<Vec<u8>>) -> Result<SecretString, VaultError> {
    let text = std::str::from_utf8(&bytes).map_err(|_| VaultError::Unopenable)?;
    Ok(text.into())
}

/// Names and times of an environment's secrets, by name.
pub async fn list(
    db: &mut Db<'_>,
    scope: &Scope,
    environment: EnvironmentId,
) -> Result<Vec<SecretRow>, StoreError> {
    db.all(
        sql("select s.name, s.created_at, s.updated_at, s.hosts
             from secrets s join environments e on e.id = s.environment_id
             where e.workspace_id = ? and e.id = ? order by s.name")
        .bind(scope.workspace())
        .bind(environment),
    )
    .await
}

/// One of an environment's secrets.
pub async fn find(
    db: &mut Db<'_>,
    scope: &Scope,
    environment: EnvironmentId,
    name: &str,
) -> Result<Option<SecretRow>, StoreError> {
    db.optional(
        sql("select s.name, s.created_at, s.updated_at, s.hosts
             from secrets s join environments e on e.id = s.environment_id
             where e.workspace_id = ? and e.id = ? and s.name = ?")
        .bind(scope.workspace())
        .bind(environment)
        .bind(name),
    )
    .await
}

/// A value to store under a name.
#[derive(Clone, Copy)]
pub struct NewSecret<'a> {
    pub name: &'a str,
    /// Value in clear.
    pub value: &'a str,
    /// The connection that seeds it.
    pub connection: Option<ConnectionId>,
    /// Hosts that it may be sent to; none: any.
    pub hosts: &'a [String],
}

/// Sets a secret. The caller holds the environment's row, so the right to it is proven: an editor seeds it from a
/// connection, a manager sets it.
pub async fn set(
    db: &mut Db<'_>,
    vault: &Vault,
    environment: &EnvironmentRow,
    secret: NewSecret<'_>,
    now: Timestamp,
) -> Result<(), VaultError> {
    locks::keep(db, environment.workspace_id).await?;
    let aad = aad(environment.id, secret.name);
    let workspace = Some(environment.workspace_id);
    let sealed = vault.seal(db, workspace, &aad, secret.value.as_bytes()).await?;
    db.execute(
        sql("insert into secrets
                 (environment_id, name, data_key, ciphertext, connection_id, created_at, updated_at, hosts)
             values (?, ?, ?, ?, ?, ?, ?, ?)
             on conflict (environment_id, name) do update set data_key = excluded.data_key,
                 ciphertext = excluded.ciphertext, connection_id = excluded.connection_id,
                 updated_at = excluded.updated_at, hosts = excluded.hosts")
        .bind(environment.id)
        .bind(secret.name)
        .bind(sealed.data_key)
        .bind(sealed.bytes)
        .bind(secret.connection)
        .bind(now)
        .bind(now)
        .bind(serde_json::to_string(secret.hosts).unwrap_or_default()),
    )
    .await?;
    Ok(notices::tell(db, Notice::Environments).await?)
}

/// The first of these secrets of an environment that is there and not seeded by a connection of this user.
pub async fn not_seeded_by(
    db: &mut Db<'_>,
    user: UserId,
    environment: &EnvironmentRow,
    names: &[String],
) -> Result<Option<String>, StoreError> {
    let found: Option<(String,)> = db
        .optional(
            sql(
                "select s.name from secrets s left join connections c on c.id = s.connection_id
                 where s.environment_id = ? and (c.user_id is null or c.user_id <> ?) and s.name in ",
            )
            .bind(environment.id)
            .bind(user)
            .list(names)
            .push(" order by s.name limit 1"),
        )
        .await?;
    Ok(found.map(|(name,)| name))
}

/// Names of the secrets in an environment that still have the values that this connection seeded. The caller holds the
/// environment's row.
pub async fn seeded_by(
    db: &mut Db<'_>,
    environment: &EnvironmentRow,
    connection: ConnectionId,
) -> Result<Vec<String>, StoreError> {
    let select = sql("select name from secrets where environment_id = ? and connection_id = ? order by name");
    let found: Vec<(String,)> = db.all(select.bind(environment.id).bind(connection)).await?;
    Ok(found.into_iter().map(|(name,)| name).collect())
}

/// Names of all secrets in an environment. The caller holds the environment's row.
pub async fn names(db: &mut Db<'_>, environment: &EnvironmentRow) -> Result<Vec<String>, StoreError> {
    let select = sql("select name from secrets where environment_id = ?");
    let found: Vec<(String,)> = db.all(select.bind(environment.id)).await?;
    Ok(found.into_iter().map(|(name,)| name).collect())
}

/// Deletes a secret that still has the value that this connection seeded. The caller holds the environment's row.
pub async fn delete_seeded(
    db: &mut Db<'_>,
    environment: &EnvironmentRow,
    connection: ConnectionId,
    name: &str,
) -> Result<(), StoreError> {
    let delete = sql("delete from secrets where environment_id = ? and connection_id = ? and name = ?");
    db.execute(delete.bind(environment.id).bind(connection).bind(name))
        .await?;
    notices::tell(db, Notice::Environments).await
}

/// Deletes a secret of an environment of the manager's workspace; whether there was one.
pub async fn delete(
    db: &mut Db<'_>,
    manager: &Manager,
    environment: EnvironmentId,
    name: &str,
) -> Result<bool, StoreError> {
    locks::keep_workspace(db, manager).await?;
    let deleted = db
        .execute(
            sql("delete from secrets where name = ? and environment_id in
                 (select id from environments where workspace_id = ? and id = ?)")
            .bind(name)
            .bind(manager.workspace())
            .bind(environment),
        )
        .await?;
    notices::tell(db, Notice::Environments).await?;
    Ok(deleted > 0)
}

/// `$vars` of an environment, for a run in it or for a member who has its row.
pub async fn variables(
    db: &mut Db<'_>,
    environment: EnvironmentId,
) -> Result<Map<String, Value>, StoreError> {
    let select = sql("select variables from environments where id = ?").bind(environment);
    let found: Option<(String,)> = db.optional(select).await?;
    let Some((text,)) = found else {
        return Ok(Map::new());
    };
    serde_json::from_str(&text).map_err(|_| StoreError::Corrupt {
        table: "environments",
        column: "variables",
        row: environment.to_string(),
    })
}

/// Replaces `$vars` of an environment of the manager's workspace from now on.
pub async fn set_variables(
    db: &mut Db<'_>,
    manager: &Manager,
    environment: EnvironmentId,
    (variables, now): (&Map<String, Value>, Timestamp),
) -> Result<(), StoreError> {
    let text = Value::Object(variables.clone()).to_string();
    remember(db, (manager, environment), &text, now).await?;
    db.execute(
        sql("update environments set variables = ? where workspace_id = ? and id = ?")
            .bind(text)
            .bind(manager.workspace())
            .bind(environment),
    )
    .await?;
    notices::tell(db, Notice::Environments).await
}

/// Keeps what the variables were, if they change now, for runs that are replayed.
async fn remember(
    db: &mut Db<'_>,
    (manager, environment): (&Manager, EnvironmentId),
    changed: &str,
    now: Timestamp,
) -> Result<(), StoreError> {
    let insert = sql("insert into past_variables (environment_id, since, until, variables)
         select e.id, coalesce((select max(p.until) from past_variables p where p.environment_id = e.id), 0), ?,
         e.variables from environments e where e.workspace_id = ? and e.id = ? and e.variables <> ?
         on conflict do nothing")
    .bind(now)
    .bind(manager.workspace())
    .bind(environment)
    .bind(changed);
    if db.execute(insert).await? == 0 {
        return Ok(());
    }
    let trim = sql("delete from past_variables where environment_id = ? and until <= (
         select p.until from past_variables p where p.environment_id = ? order by p.until desc limit 1 offset ?)");
    let trim = trim.bind(environment).bind(environment).bind(PAST_VARIABLES_MAX);
    db.execute(trim).await?;
    let trim = sql("delete from past_variables where environment_id = ? and until <= (
         select max(p.until) from (select q.until, sum(octet_length(q.variables)) over (order by q.until desc) as bytes
                                   from past_variables q where q.environment_id = ?) p where p.bytes > ?)");
    let trim = trim.bind(environment).bind(environment);
    db.execute(trim.bind(PAST_VARIABLES_BYTES_MAX)).await?;
    Ok(())
}

/// Names the row: a name has no slash, an id a fixed length.
fn aad(environment: EnvironmentId, name: &str) -> String {
    format!("secrets/{environment}/{name}")
}
