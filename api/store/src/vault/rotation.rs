//! The database's current master key, and its rotation while servers run.
//!
//! [`Vault::rotate`] rewraps every data key in one transaction, and leaves the new master key behind, wrapped under the
//! old one. A server that was started with the old key notices the new key's id, fetches the key from there and
//! continues; only a start after [`HANDOVER`] needs the new key.

use super::Vault;
use super::error::VaultError;
use super::key::{Key, MASTER_KEY_BYTES, MasterKeyId, handed_over, wrapped_for};
use crate::data_keys::{self, Lock};
use crate::database::Store;
use crate::db::Db;
use crate::error::StoreError;
use heddle_model::clock::{Clock, Timestamp};
use std::time::Duration;
use zeroize::Zeroizing;

/// How long servers can still be started with the old key.
pub const HANDOVER: Duration = Duration::from_secs(24 * 60 * 60);

impl Vault {
    /// Compares the master key with the one that the database uses, and refuses one that can't open what is
    /// there. If the database uses `previous`, everything is rewrapped. A database without data keys takes any key.
    pub async fn start(
        &self,
        store: &Store,
        previous: Option<&[u8; MASTER_KEY_BYTES]>,
    ) -> Result<(), VaultError> {
        let (given, now) = (self.masters.given.clone(), self.clock.now());
        let needed = store.write(move |db| Box::pin(async move { adopt(db, given, now).await }));
        let needed: String = needed.await?;
        if needed == self.masters.given.as_str() {
            return Ok(());
        }
        if let Some(previous) = previous.filter(|previous| MasterKeyId::of(previous).as_str() == needed) {
            let count = Vault::rotate(store, previous, &self.masters.given_bytes, &self.clock).await?;
            tracing::info!(
                count,
                "The master key was rotated: {count} data keys are wrapped under the new one"
            );
            return Ok(());
        }
        self.masters
            .named(&mut store.reader().await?.db(), &needed)
            .await?;
        tracing::warn!(
            given = %self.masters.given, needed,
            "The master key was rotated: give the new one, {needed}, at the next start; {} is accepted only \
             for {} hours after the rotation",
            self.masters.given, HANDOVER.as_secs() / 3600
        );
        Ok(())
    }

    /// Wraps every data key under a new master key, in one transaction, while servers run. Gives how many. Those
    /// servers learn the new key from the database; after [`HANDOVER`] it is no longer there.
    pub async fn rotate(
        store: &Store,
        old: &[u8; MASTER_KEY_BYTES],
        new: &[u8; MASTER_KEY_BYTES],
        clock: &Clock,
    ) -> Result<usize, VaultError> {
        if old == new {
            return Err(VaultError::SameMasterKey);
        }
        let (old, new, now) = (*old, *new, clock.now());
        let rotated = store.write(move |db| Box::pin(async move { rewrap_all(db, &old, &new, now).await }));
        rotated.await
    }
}

/// Makes `given` the database's master key if it has none yet, and returns the id of the current one.
async fn adopt(db: &mut Db<'_>, given: MasterKeyId, now: Timestamp) -> Result<String, VaultError> {
    data_keys::forget_handovers(db, now.minus(HANDOVER)).await?;
    data_keys::claim_master(db, &given).await?;
    let in_use = data_keys::master(db, Lock::Update)
        .await?
        .ok_or(StoreError::Missing)?;
    if data_keys::any(db).await? || in_use == given.as_str() {
        return Ok(in_use);
    }
    data_keys::set_master(db, &given).await?;
    Ok(given.as_str().to_owned())
}

async fn rewrap_all(
    db: &mut Db<'_>,
    old: &[u8; MASTER_KEY_BYTES],
    new: &[u8; MASTER_KEY_BYTES],
    now: Timestamp,
) -> Result<usize, VaultError> {
    let (old_id, new_id) = (MasterKeyId::of(old), MasterKeyId::of(new));
    let (old_key, new_key) = (Key::new(old), Key::new(new));
    data_keys::forget_handovers(db, now.minus(HANDOVER)).await?;
    data_keys::claim_master(db, &old_id).await?;
    // Nobody makes a data key under the old master key from here on.
    let in_use = data_keys::master(db, Lock::Update)
        .await?
        .ok_or(StoreError::Missing)?;
    if in_use != old_id.as_str() {
        return Err(VaultError::WrongMasterKey {
            held: old_id,
            needed: in_use,
        });
    }
    data_keys::set_master(db, &new_id).await?;
    let rows = data_keys::all(db).await?;
    for row in &rows {
        let aad = wrapped_for(row.id, &row.owner);
        let data_key = old_key.open(&aad, &row.wrapped).ok_or(VaultError::Unopenable)?;
        let data_key = Zeroizing::new(data_key);
        data_keys::rewrap(db, row.id, new_key.seal(&aad, &data_key), &new_id).await?;
    }
    let wrapped = old_key.seal(&handed_over(old_id.as_str(), new_id.as_str()), new);
    data_keys::hand_over(db, old_id, new_id, wrapped, now).await?;
    Ok(rows.len())
}
