//! What nothing refers to is removed, and what a crash has left: a little at a time, so that nobody's writes wait long. Any number
//! of servers may sweep at once.

use crate::error::FileError;
use crate::files::Files;
use crate::objects::{Key, Objects};
use futures_util::{StreamExt, stream};
use heddle_model::clock::Timestamp;
use heddle_model::error::chain;
use heddle_model::ids::BlobId;
use heddle_model::tenant::Tenant;
use heddle_store::StoreError;
use heddle_store::files::ABANDONED_AFTER;
use heddle_store::files::sweep::{self, DeadRow};
use std::sync::Arc;
use std::time::Duration;

/// Rows that are looked at by one statement.
const PAGE: i64 = 500;
/// Objects that are removed at a time.
const REMOVED_AT_ONCE: usize = 8;
/// References are kept for so long whose holder is not there: it may be about to be stored.
const HOLDER_COMES_WITHIN: Duration = Duration::from_secs(60 * 60);
/// Bytes that are dead stay for so long, so that a backup which began before has them.
const DEAD_FOR: Duration = Duration::from_secs(60 * 60);

/// What a sweep has removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// References of what is gone.
    pub references: u64,
    pub files: u64,
    /// Contents that are removed later, when no backup needs them.
    pub given_up: u64,
    /// Contents whose bytes are gone.
    pub removed: u64,
}

impl Files {
    /// Sweeps once.
    pub async fn sweep(&self) -> Result<Swept, FileError> {
        let now = self.now();
        let mut swept = Swept {
            references: self.references(now).await?,
            files: self.unheld(now).await?,
            ..Swept::default()
        };
        swept.given_up = self.unused(now).await?;
        swept.removed = self.remove_dead(None, now.minus(DEAD_FOR)).await?;
        if swept != Swept::default() {
            tracing::debug!(?swept, "Swept files");
        }
        metrics::counter!("heddle_file_contents_removed_total").increment(swept.removed);
        Ok(swept)
    }

    async fn references(&self, now: Timestamp) -> Result<u64, FileError> {
        let before = now.minus(HOLDER_COMES_WITHIN);
        let (mut after, mut count) = (None, 0);
        loop {
            let mut reader = self.store().reader().await?;
            let (gone, next) = sweep::dangling(&mut reader.db(), after.as_ref(), before, PAGE).await?;
            drop(reader);
            if !gone.is_empty() {
                count += gone.len() as u64;
                let release = self
                    .store()
                    .write(move |db| Box::pin(async move { sweep::release(db, &gone).await }));
                let released: Result<(), StoreError> = release.await;
                released?;
            }
            match next {
                Some(next) => after = Some(next),
                None => return Ok(count),
            }
        }
    }

    async fn unheld(&self, now: Timestamp) -> Result<u64, FileError> {
        let (mut after, mut count) = (None, 0);
        loop {
            let mut reader = self.store().reader().await?;
            let (unheld, next) = sweep::unheld(&mut reader.db(), after, now, PAGE).await?;
            drop(reader);
            if !unheld.is_empty() {
                let remove = self
                    .store()
                    .write(move |db| Box::pin(async move { sweep::remove(db, &unheld, now).await }));
                let removed: Result<u64, StoreError> = remove.await;
                count += removed?;
            }
            match next {
                Some(next) => after = Some(next),
                None => return Ok(count),
            }
        }
    }

    async fn unused(&self, now: Timestamp) -> Result<u64, FileError> {
        let before = now.minus(ABANDONED_AFTER);
        let (mut after, mut count) = (None, 0);
        loop {
            let mut reader = self.store().reader().await?;
            let (unused, next) = sweep::unused(&mut reader.db(), after, before, PAGE).await?;
            drop(reader);
            if !unused.is_empty() {
                let bury = self
                    .store()
                    .write(move |db| Box::pin(async move { sweep::bury(db, &unused, before, now).await }));
                let buried: Result<u64, StoreError> = bury.await;
                count += buried?;
            }
            match next {
                Some(next) => after = Some(next),
                None => return Ok(count),
            }
        }
    }

    /// Removes bytes that have been dead since before a time, then their rows.
    async fn remove_dead(&self, tenant: Option<Tenant>, before: Timestamp) -> Result<u64, FileError> {
        let mut count = 0;
        loop {
            let mut reader = self.store().reader().await?;
            let dead = sweep::dead(&mut reader.db(), tenant, before, PAGE).await?;
            drop(reader);
            let is_full = i64::try_from(dead.len()).unwrap_or(i64::MAX) >= PAGE;
            let gone: Vec<BlobId> = stream::iter(dead)
                .map(|row| removed(self.shared().objects.clone(), row))
                .buffer_unordered(REMOVED_AT_ONCE)
                .filter_map(std::future::ready)
                .collect()
                .await;
            // What could not be removed would come again at once.
            let stops = !is_full || gone.is_empty();
            count += gone.len() as u64;
            if !gone.is_empty() {
                let forget = self
                    .store()
                    .write(move |db| Box::pin(async move { sweep::forget(db, &gone).await }));
                let forgotten: Result<(), StoreError> = forget.await;
                forgotten?;
            }
            if stops {
                return Ok(count);
            }
        }
    }

    /// Removes all files of a tenant that is removed, with their bytes.
    pub async fn erase(&self, tenant: Tenant) -> Result<(), FileError> {
        let now = self.now();
        loop {
            let remove = self
                .store()
                .write(move |db| Box::pin(async move { sweep::remove_of(db, tenant, PAGE).await }));
            let removed: Result<u64, StoreError> = remove.await;
            if removed? < PAGE.unsigned_abs() {
                break;
            }
        }
        let bury = self
            .store()
            .write(move |db| Box::pin(async move { sweep::bury_all_of(db, tenant).await }));
        let buried: Result<(), StoreError> = bury.await;
        buried?;
        self.remove_dead(Some(tenant), now).await.map(drop)
    }
}

/// Removes the bytes of a row; its id, if they are gone.
async fn removed(objects: Arc<dyn Objects>, row: DeadRow) -> Option<BlobId> {
    let key = Key {
        tenant: row.tenant_id,
        blob: row.id,
    };
    match objects.remove(&key, row.upload.as_deref()).await {
        Ok(()) => Some(row.id),
        Err(error) => {
            let why = chain(&error);
            tracing::warn!(blob = %row.id, "The bytes of a file can't be removed now: {why}");
            None
        }
    }
}
