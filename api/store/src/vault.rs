//! Secrets at rest: envelope encryption with AES-256-GCM (NIST SP 800-38D). Values are encrypted under the data
//! key of their workspace, data keys under the master key, which the database never sees. Knows nothing of what
//! the values are.
//!
//! **What is encrypted opens only where it was put.** The additional data names the workspace and the row, so a
//! ciphertext that is moved to another row or workspace is refused like a forged one.

mod key;
mod master;

pub use key::{MASTER_KEY_BYTES, MasterKeyId};

use crate::{Db, StoreError, sql};
use heddle_model::clock::Clock;
use heddle_model::error::ServiceError;
use heddle_model::ids::{DataKeyId, WorkspaceId};
use key::Key;
use master::MasterKeys;
use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

/// Data keys kept unwrapped in memory; past it the cache starts anew.
const CACHED_MAX: usize = 10_000;

/// Why something can't be encrypted or decrypted.
#[derive(Debug, thiserror::Error)]
pub enum VaultError {
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The ciphertext was changed, or belongs to another row or workspace.
    #[error("a stored secret can't be decrypted: it was changed, or moved from another row")]
    Unopenable,
    /// The data keys are wrapped by another master key.
    #[error(
        "the database's secrets are encrypted under the master key {needed}, but the key given is {held}. \
         Start with the key that this database was last used with (after `heddle keys rotate`: the new one); \
         without it the stored credentials can't be read"
    )]
    WrongMasterKey {
        /// The key that was given.
        held: MasterKeyId,
        /// The key that is needed.
        needed: String,
    },
    /// A rotation from a key to itself.
    #[error("the new master key is the present one: give another")]
    SameMasterKey,
}

impl From<VaultError> for ServiceError {
    fn from(error: VaultError) -> Self {
        match error {
            VaultError::Store(error) => error.into(),
            other => ServiceError::internal(other),
        }
    }
}

/// An encrypted value, as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sealed {
    /// The key that encrypts it.
    pub data_key: DataKeyId,
    /// Nonce, ciphertext and tag.
    pub bytes: Vec<u8>,
}

/// Encrypts and decrypts.
pub struct Vault {
    masters: MasterKeys,
    clock: Clock,
    data_keys: RwLock<HashMap<DataKeyId, Arc<Key>>>,
}

impl Vault {
    /// With this master key, which [`Vault::start`] compares with the database's.
    pub fn new(master_key: &[u8; MASTER_KEY_BYTES], clock: Clock) -> Self {
        Vault {
            masters: MasterKeys::new(master_key),
            clock,
            data_keys: RwLock::default(),
        }
    }

    /// Encrypts what belongs to a row of a workspace, or of none. `aad` names the row, as in `connections/<id>`.
    /// The workspace's first secret makes its data key.
    pub async fn seal(
        &self,
        db: &mut Db<'_>,
        workspace: Option<WorkspaceId>,
        aad: &str,
        plaintext: &[u8],
    ) -> Result<Sealed, VaultError> {
        let owner = owner(workspace);
        let (data_key, key) = match self.stored_for(db, &owner).await? {
            Some(found) => found,
            None => {
                self.create(db, &owner).await?;
                self.stored_for(db, &owner).await?.ok_or(StoreError::Missing)?
            }
        };
        let bytes = key.seal(&bound(&owner, aad), plaintext);
        Ok(Sealed { data_key, bytes })
    }

    /// Decrypts what [`Vault::seal`] encrypted for the same row and workspace.
    pub async fn open(
        &self,
        db: &mut Db<'_>,
        workspace: Option<WorkspaceId>,
        aad: &str,
        sealed: &Sealed,
    ) -> Result<Vec<u8>, VaultError> {
        let owner = owner(workspace);
        let key = match self.cached(sealed.data_key) {
            Some(key) => key,
            None => {
                let by_id = sql(DATA_KEY).push("where id = ?").bind(sealed.data_key);
                let row: DataKeyRow = db.optional(by_id).await?.ok_or(VaultError::Unopenable)?;
                self.unwrap(db, row).await?
            }
        };
        key.open(&bound(&owner, aad), &sealed.bytes)
            .ok_or(VaultError::Unopenable)
    }

    async fn stored_for(
        &self,
        db: &mut Db<'_>,
        owner: &str,
    ) -> Result<Option<(DataKeyId, Arc<Key>)>, VaultError> {
        let row: Option<DataKeyRow> = db
            .optional(sql(DATA_KEY).push("where owner = ?").bind(owner))
            .await?;
        let Some(row) = row else { return Ok(None) };
        let id = row.id;
        let key = match self.cached(id) {
            Some(key) => key,
            None => self.unwrap(db, row).await?,
        };
        Ok(Some((id, key)))
    }

    async fn unwrap(&self, db: &mut Db<'_>, row: DataKeyRow) -> Result<Arc<Key>, VaultError> {
        let master = self.masters.named(db, &row.master_key_id).await?;
        let wrapped_for = wrapped_for(row.id, &row.owner);
        let key =
            Arc::new(Key::unwrapped(&master, &wrapped_for, &row.wrapped).ok_or(VaultError::Unopenable)?);
        let mut cache = self.data_keys.write().unwrap_or_else(PoisonError::into_inner);
        if cache.len() >= CACHED_MAX {
            cache.clear();
        }
        // Not wrong if the transaction that made the key is undone: then nothing names its id.
        cache.insert(row.id, key.clone());
        Ok(key)
    }

    fn cached(&self, id: DataKeyId) -> Option<Arc<Key>> {
        let cache = self.data_keys.read().unwrap_or_else(PoisonError::into_inner);
        cache.get(&id).cloned()
    }

    /// Makes a data key, unless somebody else does at the same time.
    async fn create(&self, db: &mut Db<'_>, owner: &str) -> Result<(), VaultError> {
        let (master_id, master) = self.masters.current(db).await?;
        let id = DataKeyId::new();
        let wrapped = Key::random_bytes();
        let wrapped = master.seal(&wrapped_for(id, owner), &wrapped);
        db.execute(
            sql(
                "insert into data_keys (id, owner, master_key_id, wrapped, created_at) values (?, ?, ?, ?, ?)
                 on conflict (owner) do nothing",
            )
            .bind(id)
            .bind(owner)
            .bind(master_id)
            .bind(wrapped)
            .bind(self.clock.now()),
        )
        .await?;
        Ok(())
    }
}

/// Deletes a workspace's data key: what is encrypted under it can never be read again, not even in a backup of
/// the rows.
pub async fn forget(db: &mut Db<'_>, workspace: WorkspaceId) -> Result<(), StoreError> {
    let delete = sql("delete from data_keys where owner = ?").bind(owner(Some(workspace)));
    db.execute(delete).await.map(drop)
}

const DATA_KEY: &str = "select id, owner, master_key_id, wrapped from data_keys ";

#[derive(sqlx::FromRow)]
struct DataKeyRow {
    #[sqlx(try_from = "String")]
    id: DataKeyId,
    owner: String,
    master_key_id: String,
    wrapped: Vec<u8>,
}

fn owner(workspace: Option<WorkspaceId>) -> String {
    workspace
        .map(|workspace| workspace.to_string())
        .unwrap_or_default()
}

/// An owner is an id or nothing, so the line break is where it ends.
fn bound(owner: &str, aad: &str) -> Vec<u8> {
    format!("value\n{owner}\n{aad}").into_bytes()
}

fn wrapped_for(id: DataKeyId, owner: &str) -> Vec<u8> {
    format!("data key\n{owner}\n{id}").into_bytes()
}
