//! `key-value`: `{operation, key, value?, ttlMs?, scope}` gives what the node emits, see [`crate::key_values`].

use super::{Effect, EffectContext, EffectError, EffectFuture, EffectResult, read};
use crate::key_values::{KEY_BYTES_MAX, KeyValueOperation, KeyValueRequest, KeyValueScope};
use heddle_contract::abi::code;
use serde::Deserialize;
use serde_json::Value;
use std::time::Duration;

/// The effect.
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
    fn kind(&self) -> &'static str {
        "key-value"
    }

    fn start(&self, request: Value, context: EffectContext) -> EffectFuture {
        Box::pin(async move { access(read(request)?, &context).await })
    }
}

async fn access(request: Request, context: &EffectContext) -> EffectResult {
    if request.key.is_empty() || request.key.len() > KEY_BYTES_MAX {
        let message = format!("A key has 1 to {KEY_BYTES_MAX} bytes.");
        return Err(EffectError::new(code::KEY_VALUE_LIMIT, message));
    }
    // What is kept names secrets and never holds them.
    let vault = &context.vault;
    let key = match vault.to_keep(request.key.into()) {
        Value::String(key) => key,
        _ => String::new(),
    };
    let operation = match request.operation.as_str() {
        "get" => KeyValueOperation::Get,
        "set" => KeyValueOperation::Set(vault.to_keep(request.value)),
        "delete" => KeyValueOperation::Delete,
        "increment" => KeyValueOperation::Increment(match &request.value {
            Value::Null => 1.0,
            Value::Number(number) => number.as_f64().unwrap_or_default(),
            _ => return Err(EffectError::parameter("`value` of an increment is a number.")),
        }),
        "append" => KeyValueOperation::Append(vault.to_keep(request.value)),
        other => {
            return Err(EffectError::parameter(format!(
                "There is no operation `{other}`."
            )));
        }
    };
    let scope = match request.scope.as_deref() {
        None | Some("pattern") => KeyValueScope::Pattern,
        Some("workspace") => KeyValueScope::Workspace,
        Some(other) => return Err(EffectError::parameter(format!("There is no scope `{other}`."))),
    };
    let request = KeyValueRequest {
        scope,
        key,
        operation,
        time_to_live: request
            .ttl_ms
            .map(|ms| Duration::from_millis(ms.clamp(1.0, 1e14) as u64)),
    };
    let accessed = context.key_values.access(request).await;
    accessed
        .map(|value| vault.kept(value))
        .map_err(|error| EffectError::new(error.code(), error.to_string()))
}
