//! `key-value`: `{operation, key, value?, ttlMs?, scope}` gives what the node emits, see [`crate::key_values`].

use super::effect::Effect;
use super::handles::References;
use super::progress::EffectResult;
use super::requests::read;
use crate::key_values::{KEY_BYTES_MAX, KeyValueOperation, KeyValueRequest, KeyValueScope, KeyValues};
use heddle_sandbox::{EffectCode, EffectError};
use serde::Deserialize;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;

/// Reads and changes values that patterns keep.
pub struct KeyValue;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Request {
    operation: String,
    key: String,
    #[serde(default)]
    value: Value,
    #[serde(default)]
    ttl_ms: Option<f64>,
    #[serde(default)]
    scope: Option<String>,
}

impl Effect for KeyValue {
    const KIND: &'static str = "key-value";

    type Needs = (References, Arc<dyn KeyValues>);
    type Output = Value;

    fn start(
        &self,
        request: Value,
        needs: Self::Needs,
    ) -> impl Future<Output = Result<Value, EffectError>> + Send + 'static {
        access(request, needs)
    }
}

async fn access(request: Value, (references, key_values): <KeyValue as Effect>::Needs) -> EffectResult {
    let request: Request = read(request)?;
    if request.key.is_empty() || request.key.len() > KEY_BYTES_MAX {
        let message = format!("A key must have 1 to {KEY_BYTES_MAX} bytes.");
        return Err(EffectError::new(EffectCode::KeyValueLimit, message));
    }
    if request.key.contains('\0') {
        return Err(EffectError::parameter(
            "A key can't contain the character U+0000.",
        ));
    }
    // What is kept names secrets and never holds them.
    let key = match references.to_keep(request.key.into()) {
        Value::String(key) => key,
        _ => String::new(),
    };
    let operation = match request.operation.as_str() {
        "get" => KeyValueOperation::Get,
        "set" => KeyValueOperation::Set(references.to_keep(request.value)),
        "delete" => KeyValueOperation::Delete,
        "increment" => KeyValueOperation::Increment(match &request.value {
            Value::Null => 1.0,
            Value::Number(number) => number.as_f64().unwrap_or_default(),
            _ => {
                return Err(EffectError::parameter(
                    "`value` of an increment must be a number.",
                ));
            }
        }),
        "append" => KeyValueOperation::Append(references.to_keep(request.value)),
        other => {
            return Err(EffectError::parameter(format!(
                "The operation `{other}` does not exist."
            )));
        }
    };
    let scope = match request.scope.as_deref() {
        None | Some("pattern") => KeyValueScope::Pattern,
        Some("workspace") => KeyValueScope::Workspace,
        Some(other) => {
            return Err(EffectError::parameter(format!(
                "The scope `{other}` does not exist."
            )));
        }
    };
    let request = KeyValueRequest {
        scope,
        key,
        operation,
        time_to_live: request
            .ttl_ms
            .map(|ms| Duration::from_millis(ms.clamp(1.0, 1e14) as u64)),
    };
    let accessed = key_values.access(request).await;
    accessed
        .map(|value| references.kept(value))
        .map_err(|error| EffectError::new(error.code(), error.to_string()))
}
