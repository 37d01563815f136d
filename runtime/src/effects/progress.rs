//! The progress of an effect, and the format in which results are stored and passed on.

use heddle_sandbox::{EffectCode, EffectError};
use serde_json::{Map, Value, json};
use std::pin::Pin;
use std::sync::Arc;

/// What an effect gives to its node.
pub type EffectResult = Result<Value, EffectError>;

/// An effect at work. Dropping it cancels it.
pub type EffectFuture = Pin<Box<dyn Future<Output = Result<Progress, EffectError>> + Send>>;

/// How far an effect came that has not failed.
#[derive(Clone, Debug, PartialEq)]
pub enum Progress {
    /// To its end, with this result.
    Done(Value),
    /// To where it waits for longer than its run is kept in memory.
    Parked(Park),
}

impl From<Value> for Progress {
    fn from(value: Value) -> Self {
        Progress::Done(value)
    }
}

/// The wait of an effect that has parked. The run ends when only such effects are left; when it starts again, the effect
/// starts again with its state.
#[derive(Clone, Debug, PartialEq)]
pub struct Park {
    /// When it wants to be started again, in milliseconds since 1970 UTC; `None`: only when something comes for it.
    pub wake_at_ms: Option<i64>,
    /// State that the effect needs when it resumes.
    pub state: Value,
}

/// A result as it is kept and handed on: `{"ok": …}` or `{"error": {code, message}}`.
pub fn result_to_json(result: EffectResult) -> Value {
    match result {
        // `json!` would copy it, and it may be large.
        Ok(value) => Value::Object(Map::from_iter([("ok".to_owned(), value)])),
        Err(error) => json!({ "error": { "code": error.code.as_str(), "message": error.message } }),
    }
}

/// What [`result_to_json`] was given.
pub fn result_from_json(mut json: Value) -> EffectResult {
    match json.get("error") {
        None => Ok(json.get_mut("ok").map(Value::take).unwrap_or_default()),
        Some(error) => {
            let text = |name: &str| error[name].as_str().unwrap_or_default();
            Err(EffectError::new(EffectCode::from(text("code")), text("message")))
        }
    }
}

/// Bytes of a value, roughly; counted only until they are more than `enough`.
pub(super) fn weight(value: &Value, enough: usize) -> usize {
    let (mut bytes, mut values) = (0, vec![value]);
    while let Some(value) = values.pop() {
        bytes += 8;
        match value {
            Value::String(text) => bytes += text.len(),
            Value::Array(items) => values.extend(items),
            Value::Object(members) => {
                bytes += members.keys().map(String::len).sum::<usize>();
                values.extend(members.values());
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
        if bytes > enough {
            break;
        }
    }
    bytes
}

/// Is told `true` when all that is left of a run for now are waits, and `false` when it goes on.
#[derive(Clone)]
pub struct OnWait(Arc<dyn Fn(bool) + Send + Sync>);

impl OnWait {
    /// Calls this, which must not block.
    pub fn new(on_wait: impl Fn(bool) + Send + Sync + 'static) -> Self {
        OnWait(Arc::new(on_wait))
    }

    pub(crate) fn report(&self, is_waiting: bool) {
        (self.0)(is_waiting);
    }
}

impl std::fmt::Debug for OnWait {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("OnWait")
    }
}
