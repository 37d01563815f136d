//! The master keys that this server knows: the configured one, and those received through handovers.

use super::error::VaultError;
use super::key::{Key, MASTER_KEY_BYTES, MasterKeyId, handed_over};
use crate::data_keys::{self, Lock};
use crate::db::Db;
use crate::error::StoreError;
use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
use zeroize::Zeroizing;

/// The master keys that this server knows.
pub(super) struct MasterKeys {
    pub given: MasterKeyId,
    pub given_bytes: Zeroizing<[u8; MASTER_KEY_BYTES]>,
    known: RwLock<HashMap<String, Arc<Key>>>,
}

impl MasterKeys {
    pub fn new(master_key: &[u8; MASTER_KEY_BYTES]) -> Self {
        let given = MasterKeyId::of(master_key);
        let known = HashMap::from([(given.as_str().to_owned(), Arc::new(Key::new(master_key)))]);
        MasterKeys {
            given,
            given_bytes: Zeroizing::new(*master_key),
            known: RwLock::new(known),
        }
    }

    /// The key with this name, handed over if need be.
    pub async fn named(&self, db: &mut Db<'_>, id: &str) -> Result<Arc<Key>, VaultError> {
        if let Some(key) = self.get(id) {
            return Ok(key);
        }
        self.learn(db).await?;
        self.get(id).ok_or_else(|| VaultError::WrongMasterKey {
            held: self.given.clone(),
            needed: id.to_owned(),
        })
    }

    /// The key for new data keys. Until the transaction ends no rotation can take place.
    pub async fn current(&self, db: &mut Db<'_>) -> Result<(String, Arc<Key>), VaultError> {
        data_keys::claim_master(db, &self.given).await?;
        let id = data_keys::master(db, Lock::Share)
            .await?
            .ok_or(StoreError::Missing)?;
        let key = self.named(db, &id).await?;
        Ok((id, key))
    }

    fn get(&self, id: &str) -> Option<Arc<Key>> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.get(id).cloned()
    }

    /// Follows the handovers from the keys that are known.
    async fn learn(&self, db: &mut Db<'_>) -> Result<(), VaultError> {
        let mut rest = data_keys::handovers(db).await?;
        while let Some(next) = rest
            .iter()
            .position(|handover| self.get(&handover.from_id).is_some())
        {
            let handover = rest.swap_remove(next);
            let Some(from) = self.get(&handover.from_id) else {
                continue;
            };
            let aad = handed_over(&handover.from_id, &handover.to_id);
            let key = Key::unwrapped(&from, &aad, &handover.wrapped).ok_or(VaultError::Unopenable)?;
            let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
            known.insert(handover.to_id, Arc::new(key));
        }
        Ok(())
    }
}
