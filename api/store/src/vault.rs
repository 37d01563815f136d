//! Secrets at rest: envelope encryption with AES-256-GCM (NIST SP 800-38D). Values are encrypted under the data key of
//! their workspace, data keys under the master key, which the database never sees. Knows nothing about the values.
//!
//! **A ciphertext can only be decrypted in its own place.** The additional authenticated data names the
//! workspace and the row, so a ciphertext that is moved to another row or workspace is rejected like a forged one.

mod error;
mod key;
mod master;
mod rotation;

pub use error::VaultError;
pub use key::{ArchiveKey, MASTER_KEY_BYTES, MasterKey, MasterKeyId};
pub use rotation::HANDOVER;

use crate::data_keys::{self, DataKeyRow, owner};
use crate::db::Db;
use crate::error::StoreError;
use crate::read_cache::{Moment, ReadCache};
use heddle_model::clock::Clock;
use heddle_model::ids::{DataKeyId, WorkspaceId};
use key::{Key, wrapped_for};
use master::MasterKeys;
use std::sync::Arc;
use zeroize::Zeroizing;

/// Maximum number of unwrapped data keys in memory.
const CACHED_MAX: usize = 10_000;

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
    /// A key never changes.
    data_keys: ReadCache<DataKeyId, Arc<Key>>,
}

impl Vault {
    /// With this master key, which [`Vault::start`] compares with the database's.
    pub fn new(master_key: &[u8; MASTER_KEY_BYTES], clock: Clock) -> Self {
        Vault {
            masters: MasterKeys::new(master_key),
            clock,
            data_keys: ReadCache::new(CACHED_MAX),
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
    ) -> Result<Zeroizing<Vec<u8>>, VaultError> {
        let owner = owner(workspace);
        let key = match self.data_keys.get(&sealed.data_key) {
            (Some(key), _) => key,
            (None, now) => {
                let row = data_keys::find(db, sealed.data_key).await?;
                self.unwrap(db, row.ok_or(VaultError::Unopenable)?, now).await?
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
        let Some(row) = data_keys::of_owner(db, owner).await? else {
            return Ok(None);
        };
        let id = row.id;
        let key = match self.data_keys.get(&id) {
            (Some(key), _) => key,
            (None, now) => self.unwrap(db, row, now).await?,
        };
        Ok(Some((id, key)))
    }

    async fn unwrap(&self, db: &mut Db<'_>, row: DataKeyRow, now: Moment) -> Result<Arc<Key>, VaultError> {
        let master = self.masters.named(db, &row.master_key_id).await?;
        let wrapped_for = wrapped_for(row.id, &row.owner);
        let key =
            Arc::new(Key::unwrapped(&master, &wrapped_for, &row.wrapped).ok_or(VaultError::Unopenable)?);
        // Not wrong if the transaction that made the key is undone: then nothing names its id.
        self.data_keys.keep(now, row.id, key.clone(), 0);
        Ok(key)
    }

    /// Creates a data key, unless another server does so at the same time.
    async fn create(&self, db: &mut Db<'_>, owner: &str) -> Result<(), VaultError> {
        let (master_id, master) = self.masters.current(db).await?;
        let id = DataKeyId::new();
        let wrapped = master.seal(&wrapped_for(id, owner), &*Key::random_bytes());
        let row = DataKeyRow {
            id,
            owner: owner.to_owned(),
            master_key_id: master_id,
            wrapped,
        };
        Ok(data_keys::add(db, row, self.clock.now()).await?)
    }
}

/// An owner is an id or nothing, so the line break is where it ends.
fn bound(owner: &str, aad: &str) -> Vec<u8> {
    format!("value\n{owner}\n{aad}").into_bytes()
}
