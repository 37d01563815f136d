//! The values that a deployment's runs keep: its own, and those that the tenant's patterns share.

use crate::blocking::computing;
use crate::files::{FileService, OwnedRight};
use crate::tenants::TenantState;
use heddle_model::clock::{Clock, Timestamp};
use heddle_model::error::chain;
use heddle_model::file::{self, Holder, mentioned};
use heddle_model::ids::{RunId, UserId};
use heddle_model::quota::{Exceeded, Quota, Quotas};
use heddle_model::slot::Slot;
use heddle_model::tenant::Tenant;
use heddle_model::workspace_quota::{WorkspaceExceeded, WorkspaceQuota};
use heddle_runtime::is_small;
use heddle_runtime::key_values::{
    KEYS_MAX, KeyValueError, KeyValueFuture, KeyValueOperation, KeyValueRequest, KeyValueScope, KeyValues,
    VALUE_BYTES_MAX, applied,
};
use heddle_store::files::{self, Right};
use heddle_store::key_values::{self, ValueOwner, ValueRow};
use heddle_store::{Db, Load, Store, StoreError, quota, usage};
use serde_json::Value;
use std::fmt;
use std::io::{self, Write};
use std::sync::Arc;

/// What appending counts as at least, since the whole array is stored again, of which nobody knows how large it is before it is read.
const APPENDED_BYTES: usize = 64 << 10;

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
    /// The run that accesses them: values that refer to files carry them from run to run.
    pub run: RunId,
    pub files: FileService,
}

impl fmt::Debug for StoredValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("StoredValues").field(&self.slot).finish()
    }
}

/// Towards whose quotas a value counts.
pub(crate) struct Payer {
    pub user: UserId,
    pub quotas: Quotas,
    pub state: Arc<TenantState>,
}

/// Who accesses a value.
#[derive(Clone, Copy)]
pub(crate) struct Accessing {
    /// The run; `None`: somebody who may see all files of the tenant.
    pub run: Option<RunId>,
    pub tenant: Tenant,
}

/// Why a change is undone.
pub(crate) enum Undone {
    /// The operation does not fit, or the value is too large.
    Refused(KeyValueError),
    /// A user would keep too much.
    Exceeded(Exceeded),
    /// The workspace would keep too much.
    WorkspaceExceeded(WorkspaceExceeded),
    /// The database does not answer.
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
        let files = self.files.clone();
        let accessing = Accessing {
            run: Some(self.run),
            tenant: self.tenant,
        };
        Box::pin(async move {
            let (request, bytes) = measured(payer.user, request).await?;
            let load = Load::of(Some(payer.user), bytes);
            let accessed = match &request.operation {
                KeyValueOperation::Get => read(&store, &files, (owner, accessing), &request.key, now).await,
                _ => {
                    store
                        .write_sized(load, move |db| {
                            Box::pin(
                                async move { change(db, (owner, accessing), &payer, request, now).await },
                            )
                        })
                        .await
                }
            };
            accessed.map_err(|undone| match undone {
                Undone::Refused(error) => error,
                Undone::Exceeded(exceeded) => KeyValueError::Refused(Arc::new(exceeded)),
                Undone::WorkspaceExceeded(exceeded) => KeyValueError::Refused(Arc::new(exceeded)),
                Undone::Failed(error) => {
                    tracing::error!(error = %chain(&error), "A stored value can't be accessed");
                    KeyValueError::Unavailable(Arc::new(error))
                }
            })
        })
    }
}

/// The request, with about how many bytes it stores. A value that is too large is refused before the database's one writer has it, for
/// which others wait.
async fn measured(user: UserId, request: KeyValueRequest) -> Result<(KeyValueRequest, usize), KeyValueError> {
    let is_measured_here = given(&request.operation).is_none_or(is_small_value);
    let measure = move || {
        let bytes = bytes_of(&request.operation)?;
        Ok::<_, KeyValueError>((request, bytes))
    };
    match is_measured_here {
        true => measure(),
        false => {
            let measured = computing(Some(user), measure).await;
            measured.map_err(|error| KeyValueError::Unavailable(Arc::new(error)))?
        }
    }
}

/// What an operation brings.
fn given(operation: &KeyValueOperation) -> Option<&Value> {
    match operation {
        KeyValueOperation::Set(value) | KeyValueOperation::Append(value) => Some(value),
        KeyValueOperation::Get | KeyValueOperation::Delete | KeyValueOperation::Increment(_) => None,
    }
}

/// How much a change stores, roughly; an error if it brings more than a key can hold. Takes time by that.
pub(crate) fn bytes_of(operation: &KeyValueOperation) -> Result<usize, KeyValueError> {
    let Some(value) = given(operation) else {
        return Ok(0);
    };
    let mut count = Count::default();
    // Nothing fails: all keys are strings.
    let _ = serde_json::to_writer(&mut count, value);
    let Count { bytes, .. } = count;
    match operation {
        _ if bytes > VALUE_BYTES_MAX => Err(KeyValueError::TooLarge { bytes }),
        KeyValueOperation::Append(_) => Ok(bytes.max(APPENDED_BYTES)),
        _ => Ok(bytes),
    }
}

/// Whether a value is small, for which no more of it is looked at than that.
fn is_small_value(value: &Value) -> bool {
    let mut count = Count {
        ends_when_large: true,
        ..Count::default()
    };
    serde_json::to_writer(&mut count, value).is_ok()
}

/// Counts bytes, all of them or until they are not few any more.
#[derive(Default)]
struct Count {
    bytes: usize,
    ends_when_large: bool,
}

impl Write for Count {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes = self.bytes.saturating_add(bytes.len());
        match self.ends_when_large && !is_small(self.bytes) {
            true => Err(io::ErrorKind::FileTooLarge.into()),
            false => Ok(bytes.len()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

async fn read(
    store: &Store,
    files: &FileService,
    (owner, accessing): (ValueOwner, Accessing),
    key: &str,
    now: Timestamp,
) -> Result<Value, Undone> {
    let mut reader = store.reader().await?;
    let row = key_values::find(&mut reader.db(), owner, key, now).await?;
    drop(reader);
    if let Some(row) = &row {
        let value = Holder::Value(owner.scope(), key.to_owned());
        if let Some(run) = accessing.run {
            let by = (Holder::Run(run), OwnedRight::Holder(value));
            files.hold(accessing.tenant, &row.value, by).await?;
        }
    }
    Ok(row.map(|row| parsed(&row)).unwrap_or_default())
}

/// Changes a value; gives what the node emits.
pub(crate) async fn change(
    db: &mut Db<'_>,
    (owner, accessing): (ValueOwner, Accessing),
    payer: &Payer,
    request: KeyValueRequest,
    now: Timestamp,
) -> Result<Value, Undone> {
    let key = &request.key;
    let Payer {
        user: payer,
        quotas,
        state,
    } = payer;
    let payer = *payer;
    let current = key_values::hold(db, owner, payer, key, now).await?;
    if current.is_none()
        && request.operation != KeyValueOperation::Delete
        && key_values::are_as_many(db, owner, now, KEYS_MAX).await?
    {
        return Err(Undone::Refused(KeyValueError::TooManyKeys));
    }
    let had_files = current.as_ref().is_some_and(|row| row.value.contains(file::MARK));
    let value = Holder::Value(owner.scope(), key.clone());
    let run = accessing.run.map(Holder::Run);
    if had_files
        && let Some(row) = &current
        && let Some(run) = &run
    {
        // What is given out may be what was there before.
        let ids: Vec<_> = mentioned(&row.value).into_iter().collect();
        files::hold(db, accessing.tenant, &ids, (run, Right::Holder(&value)), now).await?;
    }
    let is_set = matches!(request.operation, KeyValueOperation::Set(_));
    // What is replaced need not be read.
    let before = current.as_ref().filter(|_| !is_set).map(parsed);
    let (kept, output) = applied(before, request.operation).map_err(Undone::Refused)?;
    let Some(kept) = kept else {
        key_values::remove(db, owner, key).await?;
        if had_files {
            files::release_others(db, &value, &[]).await?;
        }
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
            // The row that holds the key is not a value yet.
            let others = usage::count_key_values(db, workspace).await?.saturating_sub(1);
            state.set_used(WorkspaceQuota::KeyValues, others);
            admitted = state.admit_one(WorkspaceQuota::KeyValues, now);
        }
        admitted.map_err(Undone::WorkspaceExceeded)?;
    }
    let expires_at = match request.time_to_live {
        Some(time) => Some(now.plus(time).millis()),
        None if is_set => None,
        None => current.as_ref().and_then(|row| row.expires_at),
    };
    let row = ValueRow {
        value: kept,
        expires_at,
    };
    key_values::put(db, owner, payer, key, &row).await?;
    if had_files || row.value.contains(file::MARK) {
        let ids: Vec<_> = mentioned(&row.value).into_iter().collect();
        let right = run.as_ref().map_or(Right::Tenant, Right::Holder);
        files::hold(db, accessing.tenant, &ids, (&value, right), now).await?;
        files::release_others(db, &value, &ids).await?;
    }
    let grows = current.is_none_or(|before| before.value.len() < row.value.len());
    if grows && let Some(exceeded) = exceeded(db, payer, quotas).await? {
        return Err(Undone::Exceeded(exceeded));
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
