//! Which entries of the audit log are kept, and how the others are removed.

use heddle_model::clock::Timestamp;
use heddle_store::{Store, StoreError, audit};
use std::time::Duration;

/// Entries that one statement removes.
const SWEPT_TOGETHER: i64 = 1_000;

/// Which entries are kept.
#[derive(Clone, Copy, Debug)]
pub struct Policy {
    /// For so long.
    pub age_max: Duration,
    /// In each log at most so many; 0: no limit.
    pub entries_max: u64,
}

impl Policy {
    /// Removes entries that are too old.
    pub async fn sweep(self, store: &Store, now: Timestamp) -> Result<(), StoreError> {
        let before = now.minus(self.age_max);
        loop {
            let remove = store.write(move |db| {
                Box::pin(async move { audit::remove_before_for_system(db, before, SWEPT_TOGETHER).await })
            });
            let removed: u64 = remove.await?;
            if removed < SWEPT_TOGETHER.unsigned_abs() {
                return Ok(());
            }
        }
    }

    /// Removes the oldest entries of logs that have too many.
    pub async fn sweep_surplus(self, store: &Store) -> Result<(), StoreError> {
        let entries_max = i64::try_from(self.entries_max).unwrap_or(i64::MAX);
        if entries_max == 0 {
            return Ok(());
        }
        let mut reader = store.reader().await?;
        let surplus = audit::surplus_for_system(&mut reader.db(), entries_max).await?;
        drop(reader);
        for (log, entries) in surplus {
            let mut left = entries.saturating_sub(entries_max);
            while left > 0 {
                let batch = left.min(SWEPT_TOGETHER);
                let remove = store.write(move |db| {
                    Box::pin(async move { audit::remove_oldest_for_system(db, log, batch).await })
                });
                let removed: u64 = remove.await?;
                if removed == 0 {
                    break;
                }
                left -= batch;
            }
        }
        Ok(())
    }
}
