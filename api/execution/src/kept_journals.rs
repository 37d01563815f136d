//! The journals of runs that have ended: which are kept, so that the runs can be replayed, and clearing away the others, a few
//! at a time.

use crate::steps::Steps;
use heddle_model::clock::{Clock, Timestamp};
use heddle_model::error::ServiceError;
use heddle_model::ids::RunId;
use heddle_model::status::RunStatus;
use heddle_store::runs::replays::{self, JournalsOfTenant, KeptJournal};
use heddle_store::{Store, StoreError};
use std::time::Duration;

/// Journals that one transaction removes; each may have thousands of entries.
const BATCH_MAX: i64 = 25;
/// Journals whose runs are gone that one transaction removes.
const GONE_MAX: usize = 25;
/// Bytes of those, unless a single one has more: a run may have begun a hundred thousand effects, whose results are small.
const BATCH_BYTES_MAX: i64 = 256 << 10;
/// Runs that are looked at together.
const PAGE_MAX: i64 = 500;

/// Which journals are kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JournalPolicy {
    /// How long journals of failed runs are kept.
    pub failed_age_max: Duration,
    /// Of how many of a tenant's newest successful runs journals are kept.
    pub succeeded_max: i64,
    /// Bytes of a tenant's journals that are kept; `None`: as many as there are.
    pub bytes_max: Option<i64>,
}

impl JournalPolicy {
    /// Whether the journal of a run that ends like this is kept at all.
    pub fn keeps(&self, status: RunStatus) -> bool {
        match status.has_failed() {
            true => !self.failed_age_max.is_zero(),
            false => self.succeeded_max > 0,
        }
    }
}

/// Clears journals away. Cheap to clone.
#[derive(Clone)]
pub(crate) struct KeptJournals {
    pub store: Store,
    pub clock: Clock,
    pub policy: JournalPolicy,
}

impl KeptJournals {
    /// Removes once what is too old or too much.
    pub async fn clear_away(&self, steps: &mut Steps) {
        steps
            .take("journals that others closed", self.close_others())
            .await;
        let failed_before = self.clock.now().minus(self.policy.failed_age_max);
        let too_old = self.too_old(failed_before);
        steps.take("old journals", too_old).await;
        let bytes_max = self.policy.bytes_max.unwrap_or(i64::MAX);
        let beyond = steps.take("the sizes of journals", self.beyond(bytes_max));
        for tenant in beyond.await.unwrap_or_default() {
            let name = format!("journals of {}", tenant.tenant_id);
            steps.take(name, self.too_much(&tenant, bytes_max)).await;
        }
    }

    async fn beyond(&self, bytes_max: i64) -> Result<Vec<JournalsOfTenant>, StoreError> {
        let mut reader = self.store.reader().await?;
        replays::beyond(&mut reader.db(), self.policy.succeeded_max, bytes_max).await
    }

    async fn too_much(&self, tenant: &JournalsOfTenant, bytes_max: i64) -> Result<(), ServiceError> {
        let freed = self.too_many(tenant).await?;
        let bytes = tenant.bytes.saturating_sub(freed);
        self.too_large(&tenant.tenant_id, bytes.saturating_sub(bytes_max))
            .await
    }

    async fn too_old(&self, before: Timestamp) -> Result<(), ServiceError> {
        loop {
            let mut reader = self.store.reader().await?;
            let found = replays::failed_before(&mut reader.db(), before, BATCH_MAX).await?;
            drop(reader);
            let found = first_of(found);
            if found.is_empty() {
                return Ok(());
            }
            self.remove(&found).await?;
        }
    }

    /// Removes those of successful runs beyond the number; how many bytes they had.
    async fn too_many(&self, tenant: &JournalsOfTenant) -> Result<i64, ServiceError> {
        let mut surplus = tenant.succeeded.saturating_sub(self.policy.succeeded_max);
        let mut freed: i64 = 0;
        while surplus > 0 {
            let mut reader = self.store.reader().await?;
            let limit = surplus.min(BATCH_MAX);
            let found = replays::oldest(&mut reader.db(), &tenant.tenant_id, true, limit).await?;
            drop(reader);
            let found = first_of(found);
            if found.is_empty() {
                break;
            }
            self.remove(&found).await?;
            surplus = surplus.saturating_sub(i64::try_from(found.len()).unwrap_or(i64::MAX));
            freed = freed.saturating_add(found.iter().map(|journal| journal.bytes).sum());
        }
        Ok(freed)
    }

    /// Removes the oldest until so many bytes are free.
    async fn too_large(&self, tenant: &str, mut surplus: i64) -> Result<(), ServiceError> {
        while surplus > 0 {
            let mut reader = self.store.reader().await?;
            let found = replays::oldest(&mut reader.db(), tenant, false, BATCH_MAX).await?;
            drop(reader);
            let mut found = first_of(found);
            if found.is_empty() {
                return Ok(());
            }
            let enough = found.iter().position(|journal| {
                surplus = surplus.saturating_sub(journal.bytes);
                surplus <= 0
            });
            if let Some(last) = enough {
                found.truncate(last.saturating_add(1));
            }
            self.remove(&found).await?;
        }
        Ok(())
    }

    async fn remove(&self, journals: &[KeptJournal]) -> Result<(), ServiceError> {
        let runs: Vec<RunId> = journals.iter().map(|journal| journal.run_id).collect();
        let removed = self
            .store
            .write(move |db| Box::pin(async move { replays::remove(db, &runs).await }));
        Ok(removed.await?)
    }

    /// Counts the journals of runs that something else has ended than their execution, and removes what is left of runs that
    /// are gone.
    async fn close_others(&self) -> Result<(), ServiceError> {
        let mut after = None;
        loop {
            let mut reader = self.store.reader().await?;
            let page = replays::unclosed_after(&mut reader.db(), after, PAGE_MAX).await?;
            drop(reader);
            let Some((last,)) = page.last() else {
                return Ok(());
            };
            after = Some(*last);
            let runs: Vec<RunId> = page.into_iter().map(|(run,)| run).collect();
            for few in runs.chunks(GONE_MAX) {
                let few = few.to_vec();
                let closed = self.store.write(move |db| {
                    Box::pin(async move {
                        replays::remove_of_gone(db, &few).await?;
                        replays::close(db, &few).await
                    })
                });
                closed.await?;
            }
        }
    }
}

/// The first journals, as many as one transaction removes: at least one.
fn first_of(mut journals: Vec<KeptJournal>) -> Vec<KeptJournal> {
    let mut bytes: i64 = 0;
    let beyond = journals.iter().position(|journal| {
        bytes = bytes.saturating_add(journal.bytes);
        bytes > BATCH_BYTES_MAX
    });
    if let Some(beyond) = beyond {
        journals.truncate(beyond.max(1));
    }
    journals
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(bytes: &[i64]) -> Vec<i64> {
        let journals = bytes.iter().map(|bytes| KeptJournal {
            run_id: RunId::new(),
            bytes: *bytes,
        });
        let first = first_of(journals.collect());
        first.iter().map(|journal| journal.bytes).collect()
    }

    #[test]
    fn large_journals_are_removed_a_few_at_a_time() {
        assert_eq!(of(&[]), [0; 0]);
        assert_eq!(of(&[1, 2, 3]), [1, 2, 3]);
        assert_eq!(of(&[100 << 10, 100 << 10, 100 << 10]), [100 << 10; 2]);
        assert_eq!(of(&[i64::MAX, 1]), [i64::MAX]);
    }
}
