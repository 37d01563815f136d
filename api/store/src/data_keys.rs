//! Stored data keys, wrapped under a master key; the id of that master key; and the master keys that a rotation has
//! left for servers that don't have them yet. Knows nothing about encryption.

use crate::db::{Db, sql};
use crate::error::StoreError;
use crate::vault::MasterKeyId;
use heddle_model::clock::Timestamp;
use heddle_model::ids::{DataKeyId, WorkspaceId};
use sqlx_macros::FromRow;

#[derive(FromRow)]
pub(crate) struct DataKeyRow {
    pub id: DataKeyId,
    /// What [`owner`] gives.
    pub owner: String,
    pub master_key_id: String,
    pub wrapped: Vec<u8>,
}

/// A master key, wrapped under its predecessor.
#[derive(FromRow)]
pub(crate) struct HandoverRow {
    pub from_id: String,
    pub to_id: String,
    pub wrapped: Vec<u8>,
}

/// Whether the name of the master key may change before the transaction ends. SQLite has one writer and needs no lock.
#[derive(Clone, Copy)]
pub(crate) enum Lock {
    Share,
    Update,
}

/// The owner of a data key: a workspace's id, or an empty string for everything outside of workspaces.
pub(crate) fn owner(workspace: Option<WorkspaceId>) -> String {
    workspace
        .map(|workspace| workspace.to_string())
        .unwrap_or_default()
}

const DATA_KEY: &str = "select id, owner, master_key_id, wrapped from data_keys ";

/// The owner's data key.
pub(crate) async fn of_owner(db: &mut Db<'_>, owner: &str) -> Result<Option<DataKeyRow>, StoreError> {
    db.optional(sql(DATA_KEY).push("where owner = ?").bind(owner))
        .await
}

/// The data key with this id.
pub(crate) async fn find(db: &mut Db<'_>, id: DataKeyId) -> Result<Option<DataKeyRow>, StoreError> {
    db.optional(sql(DATA_KEY).push("where id = ?").bind(id)).await
}

/// All data keys.
pub(crate) async fn all(db: &mut Db<'_>) -> Result<Vec<DataKeyRow>, StoreError> {
    db.all(sql(DATA_KEY)).await
}

/// Whether there are any.
pub(crate) async fn any(db: &mut Db<'_>) -> Result<bool, StoreError> {
    let any: Option<(String,)> = db.optional(sql("select id from data_keys limit 1")).await?;
    Ok(any.is_some())
}

/// Stores a data key, unless the owner has one.
pub(crate) async fn add(db: &mut Db<'_>, row: DataKeyRow, now: Timestamp) -> Result<(), StoreError> {
    let insert = sql(
        "insert into data_keys (id, owner, master_key_id, wrapped, created_at) values (?, ?, ?, ?, ?)
         on conflict (owner) do nothing",
    )
    .bind(row.id)
    .bind(row.owner)
    .bind(row.master_key_id)
    .bind(row.wrapped)
    .bind(now);
    db.execute(insert).await.map(drop)
}

/// Stores a data key as another master key wraps it.
pub(crate) async fn rewrap(
    db: &mut Db<'_>,
    id: DataKeyId,
    wrapped: Vec<u8>,
    master: &MasterKeyId,
) -> Result<(), StoreError> {
    let update = sql("update data_keys set wrapped = ?, master_key_id = ? where id = ?")
        .bind(wrapped)
        .bind(master.clone())
        .bind(id);
    db.execute(update).await.map(drop)
}

/// Deletes a workspace's data key: what is encrypted under it can never be read again, not even in a backup of the rows. Seals
/// that were made with it are worth nothing then.
pub(crate) async fn forget(db: &mut Db<'_>, workspace: WorkspaceId) -> Result<(), StoreError> {
    let seals = sql("delete from module_seals where tenant = ?").bind(workspace);
    db.execute(seals).await?;
    let delete = sql("delete from data_keys where owner = ?").bind(owner(Some(workspace)));
    db.execute(delete).await.map(drop)
}

/// Makes this the master key of a database that never had one.
pub(crate) async fn claim_master(db: &mut Db<'_>, id: &MasterKeyId) -> Result<(), StoreError> {
    let insert = sql("insert into vault (id, master_key_id) values (1, ?) on conflict (id) do nothing");
    db.execute(insert.bind(id.clone())).await.map(drop)
}

/// Name of the master key that wraps the data keys.
pub(crate) async fn master(db: &mut Db<'_>, lock: Lock) -> Result<Option<String>, StoreError> {
    let mut select = sql("select master_key_id from vault where id = 1");
    if db.is_postgres() {
        select = select.push(match lock {
            Lock::Share => " for share",
            Lock::Update => " for update",
        });
    }
    let found: Option<(String,)> = db.optional(select).await?;
    Ok(found.map(|(id,)| id))
}

/// Makes this the master key.
pub(crate) async fn set_master(db: &mut Db<'_>, id: &MasterKeyId) -> Result<(), StoreError> {
    let update = sql("update vault set master_key_id = ? where id = 1").bind(id.clone());
    db.execute(update).await.map(drop)
}

/// The master keys that rotations have left.
pub(crate) async fn handovers(db: &mut Db<'_>) -> Result<Vec<HandoverRow>, StoreError> {
    db.all(sql("select from_id, to_id, wrapped from master_key_handovers"))
        .await
}

/// Leaves a master key for servers that have the one before it. What was left from that key's own rotation goes: a rotation
/// back to an earlier key makes it meaningless.
pub(crate) async fn hand_over(
    db: &mut Db<'_>,
    from: MasterKeyId,
    to: MasterKeyId,
    wrapped: Vec<u8>,
    now: Timestamp,
) -> Result<(), StoreError> {
    db.execute(sql("delete from master_key_handovers where from_id = ?").bind(to.clone()))
        .await?;
    let insert =
        sql("insert into master_key_handovers (from_id, to_id, wrapped, created_at) values (?, ?, ?, ?)")
            .bind(from)
            .bind(to)
            .bind(wrapped)
            .bind(now);
    db.execute(insert).await.map(drop)
}

/// Removes those that were left up to this time.
pub(crate) async fn forget_handovers(db: &mut Db<'_>, until: Timestamp) -> Result<(), StoreError> {
    let delete = sql("delete from master_key_handovers where created_at <= ?").bind(until);
    db.execute(delete).await.map(drop)
}
