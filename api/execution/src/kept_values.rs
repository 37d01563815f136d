//! Values that patterns keep, for people and programs outside of any run: put and removed by the same rules and within the same
//! limits. Knows nothing of how they are shown.

use crate::blocking::computing_if_large;
use crate::key_values::{Accessing, Payer, Undone, bytes_of, change};
use crate::tenants::Tenants;
use heddle_model::access::Editor;
use heddle_model::audit::{Action, Note, Object};
use heddle_model::clock::Timestamp;
use heddle_model::error::{Code, ServiceError};
use heddle_model::quota::Quotas;
use heddle_model::tenant::Tenant;
use heddle_runtime::key_values::{
    KeyValueError, KeyValueOperation, KeyValueRequest, KeyValueScope, to_keep_from_outside,
};
use heddle_store::key_values::{self, ValueOwner};
use heddle_store::{Load, Store, audit};
use serde_json::Value;
use serde_json::value::RawValue;
use std::time::Duration;

/// What changes values.
pub(crate) struct KeptValues<'a> {
    pub store: &'a Store,
    pub tenants: &'a Tenants,
    pub quotas: Quotas,
    pub now: Timestamp,
}

/// A value to be kept.
#[derive(Clone, Debug)]
pub struct PutValue {
    /// Whose it is.
    pub owner: ValueOwner,
    /// The key, 1 to 512 bytes, without U+0000 and without what looks like a reference to a secret.
    pub key: String,
    /// JSON as it was sent. Texts that look like references to secrets stay texts.
    pub value: Box<RawValue>,
    /// How long it lives; `None`: for ever.
    pub time_to_live: Option<Duration>,
}

impl KeptValues<'_> {
    /// Puts a value in the place of what is there.
    pub async fn put(&self, editor: Editor, put: PutValue) -> Result<(), ServiceError> {
        let PutValue { owner, key, .. } = &put;
        let entry = note(Action::KeyValueSet, *owner, key);
        let text = put.value;
        let read = computing_if_large(Some(editor.user()), text.get().len(), move || set(&text));
        let (operation, bytes) = read.await??;
        let bytes = bytes.map_err(|refused| self.service_error(Undone::Refused(refused)))?;
        let request = request(put.key, operation, put.time_to_live);
        self.change(editor, put.owner, (request, bytes), entry).await
    }

    /// Removes a value; an error if there is none.
    pub async fn delete(&self, editor: Editor, owner: ValueOwner, key: String) -> Result<(), ServiceError> {
        let entry = note(Action::KeyValueDeleted, owner, &key);
        let request = request(key, KeyValueOperation::Delete, None);
        self.change(editor, owner, (request, 0), entry).await
    }

    async fn change(
        &self,
        editor: Editor,
        owner: ValueOwner,
        (request, bytes): (KeyValueRequest, usize),
        entry: Note,
    ) -> Result<(), ServiceError> {
        let (quotas, now) = (self.quotas, self.now);
        let tenant = Tenant::of(editor.user(), editor.workspace());
        let state = self.tenants.of(tenant).await?;
        let load = Load::of(Some(editor.user()), bytes);
        let changed = self.store.write_sized(load, move |db| {
            Box::pin(async move {
                if request.operation == KeyValueOperation::Delete
                    && key_values::find(db, owner, &request.key, now).await?.is_none()
                {
                    return Ok(false);
                }
                let payer = Payer {
                    user: key_values::payer(db, &editor).await?,
                    quotas,
                    state,
                };
                let accessing = Accessing { run: None, tenant };
                change(db, (owner, accessing), &payer, request, now).await?;
                audit::note(db, &editor, entry).await?;
                Ok(true)
            })
        });
        match changed.await {
            Ok(true) => Ok(()),
            Ok(false) => Err(Code::NotFound.with("No value is stored under this key.")),
            Err(undone) => Err(self.service_error(undone)),
        }
    }

    fn service_error(&self, undone: Undone) -> ServiceError {
        match undone {
            Undone::Refused(error @ KeyValueError::TooManyKeys) => {
                Code::QuotaExceeded.with(error.to_string())
            }
            Undone::Refused(error @ KeyValueError::TooLarge { .. }) => {
                Code::PayloadTooLarge.with(error.to_string())
            }
            Undone::Refused(error) => ServiceError::internal(error),
            Undone::Exceeded(exceeded) => exceeded.into(),
            Undone::WorkspaceExceeded(exceeded) => ServiceError::exceeded(&exceeded, self.now),
            Undone::Failed(error) => error.into(),
        }
    }
}

/// What puts a value there, and how much that stores.
fn set(text: &RawValue) -> Result<(KeyValueOperation, Result<usize, KeyValueError>), ServiceError> {
    let value: Value = serde_json::from_str(text.get())
        .map_err(|error| ServiceError::field("value", format!("is wrong: {error}")))?;
    let operation = KeyValueOperation::Set(to_keep_from_outside(value));
    let bytes = bytes_of(&operation);
    Ok((operation, bytes))
}

/// The owner is told apart from this: what the scope says here does not count.
fn request(key: String, operation: KeyValueOperation, time_to_live: Option<Duration>) -> KeyValueRequest {
    KeyValueRequest {
        scope: KeyValueScope::Workspace,
        key,
        operation,
        time_to_live,
    }
}

fn note(action: Action, owner: ValueOwner, key: &str) -> Note {
    let object = match owner {
        ValueOwner::Pattern(slot) => Object::Pattern(slot.pattern),
        ValueOwner::Workspace(workspace) => Object::Workspace(workspace),
        ValueOwner::User(user) => Object::User(user),
    };
    action.of(object).with("key", key)
}
