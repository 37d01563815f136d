//! How much may be stored as files, and how many: by a workspace, and by the user who has made it and others. Kept in memory, since bytes come
//! faster than a database counts them: what is stored is measured again every few seconds, and in between it grows by what this
//! server stores. So a quota is exceeded by no more than what other servers do meanwhile.

use crate::tenants::{TenantState, Tenants};
use heddle_files::Room;
use heddle_model::clock::{Clock, Timestamp};
use heddle_model::error::ServiceError;
use heddle_model::ids::UserId;
use heddle_model::quota::{Exceeded, Quota, Quotas};
use heddle_model::tenant::Tenant;
use heddle_model::workspace_quota::WorkspaceQuota;
use heddle_store::{Store, StoreError, quota};
use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How often what a user stores is measured again.
const MEASURE_EVERY: Duration = Duration::from_secs(10);
/// How often it is measured while there is hardly any room: others may have removed files.
const RECOUNT_EVERY: Duration = Duration::from_secs(1);
/// Users from which on those are forgotten who store nothing at the moment.
const REMEMBERED_MAX: usize = 10_000;

/// The room of all. Cheap to clone.
#[derive(Clone)]
pub struct FileRooms(Arc<Shared>);

struct Shared {
    store: Store,
    clock: Clock,
    quotas: Quotas,
    tenants: Tenants,
    users: Mutex<HashMap<UserId, Arc<UserFiles>>>,
}

impl fmt::Debug for FileRooms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FileRooms")
    }
}

/// What a user stores.
#[derive(Debug)]
struct UserFiles {
    /// In bytes.
    limit: i64,
    stored: AtomicI64,
    /// Bytes of files that are being written.
    under_way: AtomicI64,
    files_limit: i64,
    /// Files, with those that are being written.
    files: AtomicI64,
    measured_at: AtomicI64,
}

/// Nine tenths of a limit: beyond that, what is stored is measured more often.
const fn nearly(limit: i64) -> i64 {
    limit / 10 * 9
}

impl UserFiles {
    fn used(&self) -> i64 {
        let stored = self.stored.load(Ordering::Relaxed);
        stored.saturating_add(self.under_way.load(Ordering::Relaxed))
    }

    /// Whether it is to be measured, which is for whoever asks first.
    fn is_due(&self, now: Timestamp) -> bool {
        let measured_at = self.measured_at.load(Ordering::Relaxed);
        let files = self.files.load(Ordering::Relaxed);
        let is_nearly_full = self.used() > nearly(self.limit) || files > nearly(self.files_limit);
        let every = match is_nearly_full {
            true => RECOUNT_EVERY,
            false => MEASURE_EVERY,
        };
        if Timestamp::from_millis(measured_at).plus(every) > now {
            return false;
        }
        let noted = self.measured_at.compare_exchange(
            measured_at,
            now.millis(),
            Ordering::Relaxed,
            Ordering::Relaxed,
        );
        noted.is_ok()
    }

    /// Counts one more file.
    fn begin(&self) -> Result<(), Exceeded> {
        if self.files.fetch_add(1, Ordering::Relaxed) < self.files_limit {
            return Ok(());
        }
        self.files.fetch_sub(1, Ordering::Relaxed);
        Err(Exceeded {
            quota: Quota::Files,
            limit: self.files_limit,
        })
    }

    fn take(&self, bytes: i64) -> Result<(), Exceeded> {
        let before = self.under_way.fetch_add(bytes, Ordering::Relaxed);
        let stored = self.stored.load(Ordering::Relaxed);
        if stored.saturating_add(before).saturating_add(bytes) <= self.limit {
            return Ok(());
        }
        self.under_way.fetch_sub(bytes, Ordering::Relaxed);
        Err(Exceeded {
            quota: Quota::FileBytes,
            limit: self.limit,
        })
    }
}

impl FileRooms {
    pub(crate) fn new(store: Store, clock: Clock, quotas: Quotas, tenants: Tenants) -> Self {
        FileRooms(Arc::new(Shared {
            store,
            clock,
            quotas,
            tenants,
            users: Mutex::default(),
        }))
    }

    /// The room for one more file of a tenant's, unless there are too many.
    pub async fn of(&self, tenant: Tenant) -> Result<Arc<dyn Room>, StoreError> {
        Ok(Arc::new(FileRoom {
            tenant: self.0.tenants.of(tenant).await?,
            user: self.user(tenant).await?,
            clock: self.0.clock.clone(),
            taken: AtomicI64::new(0),
        }))
    }

    /// Whose quota a tenant's files count towards; `None`: nobody's, or there is no limit.
    async fn user(&self, tenant: Tenant) -> Result<Option<Arc<UserFiles>>, StoreError> {
        let quotas = &self.0.quotas;
        let limits = (quotas.limit(Quota::FileBytes), quotas.limit(Quota::Files));
        let limits = match limits {
            (None, None) => return Ok(None),
            (bytes, files) => (bytes.unwrap_or(i64::MAX), files.unwrap_or(i64::MAX)),
        };
        let mut reader = self.0.store.reader().await?;
        let Some(user) = quota::user_of(&mut reader.db(), tenant).await? else {
            return Ok(None);
        };
        let files = self.files_of(user, limits);
        if files.is_due(self.0.clock.now()) {
            let stored = quota::count(&mut reader.db(), Quota::FileBytes, user).await?;
            files.stored.store(stored, Ordering::Relaxed);
            let count = quota::count(&mut reader.db(), Quota::Files, user).await?;
            files.files.store(count, Ordering::Relaxed);
        }
        files.begin()?;
        Ok(Some(files))
    }

    fn files_of(&self, user: UserId, (limit, files_limit): (i64, i64)) -> Arc<UserFiles> {
        let mut users = self.0.users.lock().unwrap_or_else(PoisonError::into_inner);
        if users.len() >= REMEMBERED_MAX {
            users.retain(|_, files| Arc::strong_count(files) > 1);
        }
        let new = || {
            Arc::new(UserFiles {
                limit,
                stored: AtomicI64::new(0),
                under_way: AtomicI64::new(0),
                files_limit,
                files: AtomicI64::new(0),
                measured_at: AtomicI64::new(i64::MIN),
            })
        };
        users.entry(user).or_insert_with(new).clone()
    }
}

/// The room for one file: counts what is stored of it towards both quotas.
struct FileRoom {
    tenant: Arc<TenantState>,
    user: Option<Arc<UserFiles>>,
    clock: Clock,
    /// What it has of the user's.
    taken: AtomicI64,
}

impl Room for FileRoom {
    fn take(&self, bytes: u64) -> Result<(), ServiceError> {
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        let now = self.clock.now();
        let taken = self.tenant.take(WorkspaceQuota::StorageBytes, bytes, now);
        taken.map_err(|exceeded| ServiceError::exceeded(&exceeded, now))?;
        if let Some(user) = &self.user {
            user.take(bytes).inspect_err(|_| {
                self.tenant.give_back(WorkspaceQuota::StorageBytes, bytes);
            })?;
            self.taken.fetch_add(bytes, Ordering::Relaxed);
        }
        Ok(())
    }

    fn give_back(&self, bytes: u64) {
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        self.tenant.give_back(WorkspaceQuota::StorageBytes, bytes);
        if let Some(user) = &self.user {
            let given = bytes.min(self.taken.load(Ordering::Relaxed));
            self.taken.fetch_sub(given, Ordering::Relaxed);
            user.under_way.fetch_sub(given, Ordering::Relaxed);
        }
    }
}

impl Drop for FileRoom {
    /// What was not given back is stored.
    fn drop(&mut self) {
        if let Some(user) = &self.user {
            let taken = *self.taken.get_mut();
            user.stored.fetch_add(taken, Ordering::Relaxed);
            user.under_way.fetch_sub(taken, Ordering::Relaxed);
        }
    }
}

impl fmt::Debug for FileRoom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FileRoom")
    }
}
