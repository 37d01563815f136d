//! The values that a deployment's runs keep: its own, and those that the tenant's patterns share.

use crate::tenants::TenantState;
use heddle_model::clock::{Clock, Timestamp};
use heddle_model::error::chain;
use heddle_model::ids::UserId;
use heddle_model::quota::{Exceeded, Quota, Quotas};
use heddle_model::slot::Slot;
use heddle_model::tenant::Tenant;
use heddle_model::workspace_quota::WorkspaceQuota;
use heddle_runtime::key_values::{
    KEYS_MAX, KeyValueError, KeyValueFuture, KeyValueOperation, KeyValueRequest, KeyValueScope, KeyValues,
    applied,
};
use heddle_store::key_values::{self, ValueOwner, ValueRow};
use heddle_store::{Db, Store, StoreError, quota, usage};
use serde_json::Value;
use std::fmt;
use std::sync::Arc;

/// Values of one deployment of a pattern, and of its tenant.
pub(crate) struct StoredValues {
    pub store: Store,
    pub clock: Clock,
    pub tenant: Tenant,
    pub slot: Slot,
    /// Towards whose quotas they count.
    pub payer: UserId,
    pub quotas: Quotas,
    /// What the tenant may keep.
    pub state: Arc<TenantState>,
}

impl fmt::Debug for StoredValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("StoredValues").field(&self.slot).finish()
    }
}

/// Towards whose quotas a value counts.
struct Payer {
    user: UserId,
    quotas: Quotas,
    state: Arc<TenantState>,
}

/// Why a change is undone.
enum Undone {
    Refused(KeyValueError),
    Failed(StoreError),
}

impl From<StoreError> for Undone {
    fn from(error: StoreError) -> Self {
        Undone::Failed(error)
    }
}

impl KeyValues for StoredValues {
    fn access(&self, request: KeyValueRequest) -> KeyValueFuture {
        let owner = match (request.scope, self.tenant) {
            (KeyValueScope::Pattern, _) => ValueOwner::Pattern(self.slot),
            (KeyValueScope::Workspace, Tenant::Workspace(id)) => ValueOwner::Workspace(id),
            (KeyValueScope::Workspace, Tenant::User(id)) => ValueOwner::User(id),
        };
        let (store, now) = (self.store.clone(), self.clock.now());
        let payer = Payer {
            user: self.payer,
            quotas: self.quotas,
            state: self.state.clone(),
        };
        Box::pin(async move {
            let accessed = match request.operation {
                KeyValueOperation::Get => read(&store, owner, &request.key, now).await,
                _ => {
                    store
                        .write(move |db| Box::pin(change(db, owner, payer, request, now)))
                        .await
                }
            };
            accessed.map_err(|undone| match undone {
                Undone::Refused(error) => error,
                Undone::Failed(error) => {
                    tracing::error!(error = %chain(&error), "A stored value can't be accessed");
                    KeyValueError::Unavailable(Arc::new(error))
                }
            })
        })
    }
}

async fn read(store: &Store, owner: ValueOwner, key: &str, now: Timestamp) -> Result<Value, Undone> {
    let mut reader = store.reader().await?;
    let row = key_values::find(&mut reader.db(), owner, key, now).await?;
    Ok(row.map(|row| parsed(&row)).unwrap_or_default())
}

async fn change(
    db: &mut Db<'_>,
    owner: ValueOwner,
    payer: Payer,
    request: KeyValueRequest,
    now: Timestamp,
) -> Result<Value, Undone> {
    let key = &request.key;
    let Payer {
        user: payer,
        quotas,
        state,
    } = payer;
    let current = key_values::hold(db, owner, payer, key, now).await?;
    if current.is_none()
        && request.operation != KeyValueOperation::Delete
        && key_values::count(db, owner, now, KEYS_MAX).await? >= KEYS_MAX
    {
        return Err(Undone::Refused(KeyValueError::TooManyKeys));
    }
    let is_set = matches!(request.operation, KeyValueOperation::Set(_));
    let (kept, output) = applied(current.as_ref().map(parsed), request.operation).map_err(Undone::Refused)?;
    let Some(kept) = kept else {
        key_values::remove(db, owner, key).await?;
        if current.is_some() {
            state.remove_one(WorkspaceQuota::KeyValues);
        }
        return Ok(output);
    };
    if current.is_none() {
        let mut admitted = state.admit_one(WorkspaceQuota::KeyValues, now);
        if admitted.is_err()
            && let Some(workspace) = state.recounts(WorkspaceQuota::KeyValues, now)
        {
            // The row that holds the key is no value yet.
            let others = usage::count_key_values(db, workspace).await?.saturating_sub(1);
            state.set_used(WorkspaceQuota::KeyValues, others);
            admitted = state.admit_one(WorkspaceQuota::KeyValues, now);
        }
        admitted.map_err(|exceeded| Undone::Refused(KeyValueError::Refused(Arc::new(exceeded))))?;
    }
    let expires_at = match request.time_to_live {
        Some(time) => Some(now.plus(time).millis()),
        None if is_set => None,
        None => current.as_ref().and_then(|row| row.expires_at),
    };
    let row = ValueRow {
        value: kept.to_string(),
        expires_at,
    };
    key_values::put(db, owner, payer, key, &row).await?;
    let grows = current.is_none_or(|before| before.value.len() < row.value.len());
    if grows && let Some(exceeded) = exceeded(db, payer, &quotas).await? {
        return Err(Undone::Refused(KeyValueError::Refused(Arc::new(exceeded))));
    }
    Ok(output)
}

/// The quota that what is kept now exceeds.
async fn exceeded(db: &mut Db<'_>, payer: UserId, quotas: &Quotas) -> Result<Option<Exceeded>, StoreError> {
    for counted in [Quota::KeyValues, Quota::KeyValueBytes] {
        let Some(limit) = quotas.limit(counted) else {
            continue;
        };
        if quota::count(db, counted, payer).await? > limit {
            return Ok(Some(Exceeded {
                quota: counted,
                limit,
            }));
        }
    }
    Ok(None)
}

/// What is stored was written by this file.
fn parsed(row: &ValueRow) -> Value {
    serde_json::from_str(&row.value).unwrap_or_default()
}
