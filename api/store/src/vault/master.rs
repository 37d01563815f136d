//! Master keys: which one the database uses, and how it is exchanged while servers run.
//!
//! [`Vault::rotate`] rewraps every data key in one transaction, and leaves the new master key behind, wrapped under
//! the old one. A server that was started with the old key meets the new one's name, fetches it from there and
//! goes on; it needs the new key at its next start, or any time within [`HANDOVER`].

use super::key::{Key, MASTER_KEY_BYTES, MasterKeyId};
use super::{Vault, VaultError, wrapped_for};
use crate::{Db, Store, StoreError, sql};
use heddle_model::clock::{Clock, Timestamp};
use heddle_model::ids::DataKeyId;
use sqlx::FromRow;
use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;
use zeroize::Zeroizing;

/// How long servers have to be started anew with the new key.
pub const HANDOVER: Duration = Duration::from_secs(24 * 60 * 60);

/// The master keys that this server knows.
pub(super) struct MasterKeys {
    given: MasterKeyId,
    given_bytes: Zeroizing<[u8; MASTER_KEY_BYTES]>,
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
        claim(db, &self.given).await?;
        let id = in_use(db, Lock::Share).await?.ok_or(StoreError::Missing)?;
        let key = self.named(db, &id).await?;
        Ok((id, key))
    }

    fn get(&self, id: &str) -> Option<Arc<Key>> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.get(id).cloned()
    }

    /// Follows the handovers from the keys that are known.
    async fn learn(&self, db: &mut Db<'_>) -> Result<(), VaultError> {
        let mut rest: Vec<Handover> = db
            .all(sql("select from_id, to_id, wrapped from master_key_handovers"))
            .await?;
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

#[derive(FromRow)]
struct Handover {
    from_id: String,
    to_id: String,
    wrapped: Vec<u8>,
}

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
            "The master key was rotated: give the new one, {needed}, at the next start; {} is accepted for {} hours \
             after the rotation only",
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

/// Makes `given` the database's master key if it has none in use, and tells which one is.
async fn adopt(db: &mut Db<'_>, given: MasterKeyId, now: Timestamp) -> Result<String, VaultError> {
    forget_handovers(db, now).await?;
    claim(db, &given).await?;
    let in_use = in_use(db, Lock::Update).await?.ok_or(StoreError::Missing)?;
    let any: Option<(String,)> = db.optional(sql("select id from data_keys limit 1")).await?;
    if any.is_some() || in_use == given.as_str() {
        return Ok(in_use);
    }
    db.execute(sql("update vault set master_key_id = ? where id = 1").bind(given.clone()))
        .await?;
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
    forget_handovers(db, now).await?;
    claim(db, &old_id).await?;
    // Nobody makes a data key under the old master key from here on.
    let in_use = in_use(db, Lock::Update).await?.ok_or(StoreError::Missing)?;
    if in_use != old_id.as_str() {
        return Err(VaultError::WrongMasterKey {
            held: old_id,
            needed: in_use,
        });
    }
    db.execute(sql("update vault set master_key_id = ? where id = 1").bind(new_id.clone()))
        .await?;
    let rows: Vec<Wrapped> = db.all(sql("select id, owner, wrapped from data_keys")).await?;
    for row in &rows {
        let aad = wrapped_for(row.id, &row.owner);
        let data_key = old_key.open(&aad, &row.wrapped).ok_or(VaultError::Unopenable)?;
        let update = sql("update data_keys set wrapped = ?, master_key_id = ? where id = ?");
        let update = update
            .bind(new_key.seal(&aad, &data_key))
            .bind(new_id.clone())
            .bind(row.id);
        db.execute(update).await?;
    }
    // A rotation back to an earlier key makes that key's own handover meaningless.
    db.execute(sql("delete from master_key_handovers where from_id = ?").bind(new_id.clone()))
        .await?;
    let wrapped = old_key.seal(&handed_over(old_id.as_str(), new_id.as_str()), new);
    db.execute(
        sql("insert into master_key_handovers (from_id, to_id, wrapped, created_at) values (?, ?, ?, ?)")
            .bind(old_id)
            .bind(new_id)
            .bind(wrapped)
            .bind(now),
    )
    .await?;
    Ok(rows.len())
}

#[derive(FromRow)]
struct Wrapped {
    #[sqlx(try_from = "String")]
    id: DataKeyId,
    owner: String,
    wrapped: Vec<u8>,
}

/// SQLite has one writer and needs none.
#[derive(Clone, Copy)]
enum Lock {
    Share,
    Update,
}

/// Makes this the master key of a database that never had one.
async fn claim(db: &mut Db<'_>, id: &MasterKeyId) -> Result<(), StoreError> {
    let insert = sql("insert into vault (id, master_key_id) values (1, ?) on conflict (id) do nothing");
    db.execute(insert.bind(id.clone())).await.map(drop)
}

/// Name of the master key that wraps the data keys.
async fn in_use(db: &mut Db<'_>, lock: Lock) -> Result<Option<String>, StoreError> {
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

async fn forget_handovers(db: &mut Db<'_>, now: Timestamp) -> Result<(), StoreError> {
    let delete = sql("delete from master_key_handovers where created_at <= ?").bind(now.minus(HANDOVER));
    db.execute(delete).await.map(drop)
}

fn handed_over(from: &str, to: &str) -> Vec<u8> {
    format!("master key\n{from}\n{to}").into_bytes()
}
