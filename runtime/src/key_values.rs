//! Values that patterns keep between runs: the semantics of the operations, and an in-memory store. Durable stores are
//! provided by the host.

pub use crate::secrets::{kept_for_people, looks_like_a_reference, to_keep_from_outside};
use heddle_sandbox::EffectCode;
use heddle_sandbox::clock::monotonic;
use serde_json::Value;
use std::collections::HashMap;
use std::error::Error;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Longest key, in bytes.
pub const KEY_BYTES_MAX: usize = 512;
/// Largest value, in bytes of JSON.
pub const VALUE_BYTES_MAX: usize = 256 << 10;
/// Keys of a pattern, or of a workspace, at most.
pub const KEYS_MAX: usize = 10_000;

/// The owner of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyValueScope {
    /// The pattern's own.
    Pattern,
    /// Shared by all patterns of a workspace.
    Workspace,
}

/// What is to be done with a value.
#[derive(Clone, Debug, PartialEq)]
pub enum KeyValueOperation {
    /// Gives the value, or null.
    Get,
    /// Puts another in its place.
    Set(Value),
    /// Removes it; gives what was there.
    Delete,
    /// Adds to a number; one that is not there counts as 0.
    Increment(f64),
    /// Adds to the end of an array; one that is not there counts as empty.
    Append(Value),
}

/// One access to a value.
#[derive(Clone, Debug)]
pub struct KeyValueRequest {
    /// Whose values to access.
    pub scope: KeyValueScope,
    /// The key, 1 to 512 bytes.
    pub key: String,
    /// The operation to perform.
    pub operation: KeyValueOperation,
    /// How long what is written lives. Without it a `Set` lives for ever, and other changes leave it as it is.
    pub time_to_live: Option<Duration>,
}

/// Why an access failed.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyValueError {
    /// The operation does not fit the value.
    #[error("The value under this key is {found}, not {takes}.")]
    Type {
        /// What the value is, with its article.
        found: &'static str,
        /// What the operation takes, with its article.
        takes: &'static str,
    },
    #[error("The value would be {} KiB; a key can hold at most {} KiB.", .bytes >> 10, VALUE_BYTES_MAX >> 10)]
    TooLarge {
        /// How large it would be.
        bytes: usize,
    },
    /// There are too many keys.
    #[error("There are {} keys already: delete some, or give them a `ttlMs`.", KEYS_MAX)]
    TooManyKeys,
    /// More than whoever keeps the values allows.
    #[error(transparent)]
    Refused(Arc<dyn Error + Send + Sync>),
    /// Whatever keeps the values does not answer.
    #[error("The service can't store values now.")]
    Unavailable(#[source] Arc<dyn Error + Send + Sync>),
}

impl KeyValueError {
    /// The code of the node's failure.
    pub fn code(&self) -> EffectCode {
        match self {
            KeyValueError::Type { .. } => EffectCode::KeyValueType,
            KeyValueError::TooLarge { .. } | KeyValueError::TooManyKeys | KeyValueError::Refused(_) => {
                EffectCode::KeyValueLimit
            }
            KeyValueError::Unavailable(_) => EffectCode::Internal,
        }
    }
}

/// An access at work.
pub type KeyValueFuture = Pin<Box<dyn Future<Output = Result<Value, KeyValueError>> + Send>>;

/// Keeps the values of one tenant. Accesses to one key come one after the other.
pub trait KeyValues: fmt::Debug + Send + Sync + 'static {
    /// Does it; gives what the node emits.
    fn access(&self, request: KeyValueRequest) -> KeyValueFuture;
}

/// What an operation does to a value: the JSON of what is kept then (`None`: nothing), and what the node emits, which is what is kept,
/// if anything is.
pub fn applied(
    current: Option<Value>,
    operation: KeyValueOperation,
) -> Result<(Option<String>, Value), KeyValueError> {
    let mismatch = |takes: &'static str, found: &Value| {
        let found = match found {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::String(_) => "a text",
            Value::Array(_) => "an array",
            Value::Object(_) => "an object",
        };
        Err(KeyValueError::Type { found, takes })
    };
    let kept = match operation {
        KeyValueOperation::Get => {
            let text = current.as_ref().map(Value::to_string);
            return Ok((text, current.unwrap_or_default()));
        }
        KeyValueOperation::Delete => return Ok((None, current.unwrap_or_default())),
        KeyValueOperation::Set(value) => value,
        KeyValueOperation::Increment(by) => {
            let number = match &current {
                None => 0.0,
                Some(Value::Number(number)) => number.as_f64().unwrap_or_default(),
                Some(other) => return mismatch("a number", other),
            };
            number_value(number + by)
        }
        KeyValueOperation::Append(value) => match current {
            None => Value::Array(vec![value]),
            Some(Value::Array(mut items)) => {
                items.push(value);
                Value::Array(items)
            }
            Some(other) => return mismatch("an array", &other),
        },
    };
    let text = kept.to_string();
    if text.len() > VALUE_BYTES_MAX {
        return Err(KeyValueError::TooLarge { bytes: text.len() });
    }
    Ok((Some(text), kept))
}

/// A number as JSON writes it: whole ones without a fraction.
fn number_value(number: f64) -> Value {
    const EXACT_MAX: f64 = 9_007_199_254_740_992.0;
    if number.fract() == 0.0 && number.abs() <= EXACT_MAX {
        (number as i64).into()
    } else {
        number.into()
    }
}

/// Values for as long as this is there.
#[derive(Debug, Default)]
pub struct MemoryValues(Mutex<HashMap<(KeyValueScope, String), Kept>>);

#[derive(Debug)]
struct Kept {
    value: Value,
    expires_at: Option<Instant>,
}

impl MemoryValues {
    fn access_now(&self, request: KeyValueRequest) -> Result<Value, KeyValueError> {
        let now = monotonic();
        let mut values = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        values.retain(|_, kept| kept.expires_at.is_none_or(|at| at > now));
        let place = (request.scope, request.key);
        let current = values.get(&place);
        if current.is_none() && values.len() >= KEYS_MAX {
            return Err(KeyValueError::TooManyKeys);
        }
        let old_expiry = current.and_then(|kept| kept.expires_at);
        let is_set = matches!(request.operation, KeyValueOperation::Set(_));
        let current = current.map(|kept| kept.value.clone());
        let (kept, output) = applied(current, request.operation)?;
        let expires_at = match request.time_to_live {
            Some(time) => now.checked_add(time),
            None if is_set => None,
            None => old_expiry,
        };
        match kept {
            Some(_) => {
                let value = output.clone();
                drop(values.insert(place, Kept { value, expires_at }));
            }
            None => drop(values.remove(&place)),
        }
        Ok(output)
    }
}

impl KeyValues for MemoryValues {
    fn access(&self, request: KeyValueRequest) -> KeyValueFuture {
        let result = self.access_now(request);
        Box::pin(async move { result })
    }
}
