//! Why something can't be encrypted or decrypted.

use super::key::MasterKeyId;
use crate::error::StoreError;
use heddle_model::ServiceError;

/// Why something can't be encrypted or decrypted.
#[derive(Debug, thiserror::Error)]
pub enum VaultError {
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The ciphertext was changed, or belongs to another row or workspace.
    #[error("can't decrypt a stored secret: it was changed, or moved from another row")]
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
        needed: String,
    },
    /// A rotation from a key to itself.
    #[error("the new master key is the current one: give a different key")]
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
