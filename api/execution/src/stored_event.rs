//! Reading events back that memory has no room for.

use crate::run::Event;
use heddle_model::error::ServiceError;
use heddle_model::ids::RunId;
use heddle_store::{Store, StoreError, runs};
use serde_json::value::RawValue;

/// The event that the database has of a run. The error is a bug or the database's: what was accepted is there.
pub(crate) async fn stored_event(store: &Store, run: RunId) -> Result<Box<RawValue>, ServiceError> {
    let found = runs::event_of(&mut store.reader().await?.db(), run).await?;
    Ok(Event::of_stored(found.ok_or(StoreError::Missing)?))
}
