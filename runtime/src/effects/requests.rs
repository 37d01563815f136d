//! Code shared by effects: parsing requests, opening the named connection, and applying a time limit.

use super::effect::Reveals;
use super::progress::EffectResult;
use crate::connections::{Connection, Granted};
use crate::secrets::{Destination, Vault};
use heddle_sandbox::{EffectCode, EffectError};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::time::Duration;

/// An effect's request, as its kind reads it.
pub fn read<T: DeserializeOwned>(request: Value) -> Result<T, EffectError> {
    serde_json::from_value(request).map_err(|error| EffectError::parameter(error.to_string()))
}

/// A request with its secrets, as far as it is known where they go.
pub fn revealed(request: &str, reveals: Reveals, vault: &Vault) -> EffectResult {
    let request = serde_json::from_str(request)
        .map_err(|error| EffectError::parameter(format!("The request is not valid JSON: {error}")))?;
    match reveals {
        Reveals::Nothing => Ok(request),
        Reveals::ToHost => vault.reveal(request, Destination::Anywhere),
        Reveals::Digest => vault.reveal(request, Destination::Inside),
    }
}

/// The connection that a request names in `connection`.
pub async fn opened(request: &Value, connections: &Granted) -> Result<Connection, EffectError> {
    match request.get("connection").and_then(Value::as_str) {
        // No name has one, and not every database can be asked for it.
        Some(reference) if reference.contains('\0') => Err(EffectError::parameter(
            "`connection` contains the character U+0000, which no connection's name has.",
        )),
        Some(reference) => connections.open(reference).await,
        None => Err(EffectError::parameter("missing field `connection`")),
    }
}

/// Does the work within this time; `late` says for a person what was not done in how many milliseconds.
pub async fn within<T>(
    time_max: Duration,
    work: impl Future<Output = Result<T, EffectError>>,
    late: impl FnOnce(u128) -> String,
) -> Result<T, EffectError> {
    tokio::time::timeout(time_max, work)
        .await
        .unwrap_or_else(|_| Err(EffectError::new(EffectCode::Timeout, late(time_max.as_millis()))))
}
