//! Effects: what a run does to the world outside. Each kind is one [`Effect`]; a run starts them by kind, they
//! work on the I/O threads, and their results come back to the sandbox as JSON.
//!
//! Knows nothing of wasmtime.

mod call;
mod callback;
mod chat;
mod digest;
mod http;
mod jwt;
mod key_value;
mod mail;
mod run;
mod sleep;
mod sql;
mod wait;

use crate::connections::{Connection, Granted};
use crate::journal::Journal;
use crate::key_values::KeyValues;
use crate::secrets::Vault;
use heddle_contract::abi::code;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

pub use call::{Call, CallPattern, Calls};
pub use callback::Callback;
pub use chat::Chat;
pub use digest::{Hash, Hmac};
pub use http::Http;
pub use jwt::Jwt;
pub use key_value::KeyValue;
pub use mail::Mail;
pub use run::{Prepared, RunEffects, Waited};
pub use sleep::Sleep;
pub use sql::Sql;
pub(crate) use sql::serve as serve_connector;
pub use wait::Wait;

/// Time for requests to services that say nothing of it.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Result of an effect.
pub type EffectResult = Result<Value, EffectError>;
/// An effect at work.
pub type EffectFuture = Pin<Box<dyn Future<Output = EffectResult> + Send>>;

/// One kind of effect.
pub trait Effect: Send + Sync + 'static {
    /// The name by which runs start it and manifests list it.
    fn kind(&self) -> &'static str;

    /// Does the work. Dropping the future cancels it.
    fn start(&self, request: Value, context: EffectContext) -> EffectFuture;

    /// Whether it only waits, so that any number may be in flight.
    fn only_waits(&self) -> bool {
        false
    }

    /// Whether doing it again changes nothing outside, so that nobody has to wait until its result is safe.
    fn is_repeatable(&self) -> bool {
        false
    }

    /// What becomes of references to secrets in its requests. Nothing, unless it is known where they go.
    fn reveals(&self) -> Reveals {
        Reveals::Nothing
    }
}

/// Whether secrets are put in place of their references.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reveals {
    /// They stay references: what is kept, or handed to code and patterns, holds no secret.
    Nothing,
    /// The effect sends to a host. It puts those in that are bound to hosts, when it knows which one it is.
    ToHost,
    /// The effect makes a digest or a signature.
    Digest,
}

/// What an effect is given besides its request.
#[derive(Clone, Debug)]
pub struct EffectContext {
    /// Larger results are refused, in bytes.
    pub result_bytes_max: usize,
    /// The run's deadline.
    pub deadline: Instant,
    /// Which effect of the run it is, see the run loop (`machine`) of `heddle-node-stdlib`.
    pub key: String,
    /// The same for a repetition of the same effect of the same run.
    pub idempotency_key: String,
    /// The run's attempt, from 1.
    pub attempt: u32,
    /// Hosts that the manifest grants; `*` is any.
    pub hosts: Arc<[String]>,
    /// Patterns that the manifest grants; `*` is any.
    pub patterns: Arc<[String]>,
    /// Hides secrets in what is not text, such as a binary body.
    pub vault: Arc<Vault>,
    /// The run's connections.
    pub connections: Arc<Granted>,
    /// Values that the pattern keeps.
    pub key_values: Arc<dyn KeyValues>,
    /// Calls other patterns, where there are any.
    pub calls: Option<Arc<dyn Calls>>,
    /// What has come for effects that had parked.
    pub signals: Arc<HashMap<String, Value>>,
    /// The state that this effect left when it parked in a former execution of the run.
    pub parked: Option<Value>,
    /// Where the run's results are recorded.
    pub journal: Option<Arc<dyn Journal>>,
    /// How it parks, see [`EffectContext::park`].
    pub parks: Arc<Mutex<Option<Park>>>,
}

/// An effect that waits for so long that its run should not be kept in memory. The run ends when only such effects
/// are left; when it starts again, the effect starts again with its state.
#[derive(Clone, Debug, PartialEq)]
pub struct Park {
    /// When it wants to be started again, in milliseconds since 1970 UTC; `None`: only when something comes for it.
    pub wake_at_ms: Option<i64>,
    /// What it needs to know then.
    pub state: Value,
}

impl EffectContext {
    /// Whether the run can continue from a journal, so that the effect may park.
    pub fn can_park(&self) -> bool {
        self.journal.is_some()
    }

    /// How long the effect may take: what its request says, within what is left of the run.
    fn time_max(&self, timeout_ms: Option<f64>) -> Duration {
        timeout_ms
            .map_or(TIMEOUT, |ms| Duration::from_millis(ms.clamp(0.0, 1e12) as u64))
            .min(self.deadline.saturating_duration_since(Instant::now()))
    }

    /// Until when it waits by the state that it left when it parked, in milliseconds since 1970 UTC.
    fn parked_until_ms(&self) -> Option<i64> {
        self.parked.as_ref()?["untilMs"].as_i64()
    }

    /// Parks: what the effect gives then is not seen by the run.
    pub fn park(&self, park: Park) -> EffectResult {
        *self.parks.lock().unwrap_or_else(PoisonError::into_inner) = Some(park);
        Ok(Value::Null)
    }

    /// Milliseconds since 1970 UTC.
    pub fn now_ms(&self) -> i64 {
        match &self.journal {
            Some(journal) => journal.now_ms(),
            None => {
                let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                i64::try_from(now.as_millis()).unwrap_or(i64::MAX)
            }
        }
    }
}

/// An effect's request, as its kind reads it.
fn read<T: DeserializeOwned>(request: Value) -> Result<T, EffectError> {
    serde_json::from_value(request).map_err(|error| EffectError::parameter(error.to_string()))
}

/// The connection that a request names in `connection`.
async fn opened(request: &Value, context: &EffectContext) -> Result<Connection, EffectError> {
    match request.get("connection").and_then(Value::as_str) {
        Some(reference) => context.connections.open(reference).await,
        None => Err(EffectError::parameter("missing field `connection`")),
    }
}

/// Does the work within this time; `late` says for a person what was not done in how many milliseconds.
async fn within<T>(
    time_max: Duration,
    work: impl Future<Output = Result<T, EffectError>>,
    late: impl FnOnce(u128) -> String,
) -> Result<T, EffectError> {
    tokio::time::timeout(time_max, work)
        .await
        .unwrap_or_else(|_| Err(EffectError::new(code::TIMEOUT, late(time_max.as_millis()))))
}

/// A result as it is kept and handed on: `{"ok": …}` or `{"error": {code, message}}`.
pub fn result_to_json(result: EffectResult) -> Value {
    match result {
        Ok(value) => json!({ "ok": value }),
        Err(error) => json!({ "error": { "code": error.code, "message": error.message } }),
    }
}

/// What [`result_to_json`] was given.
pub fn result_from_json(mut json: Value) -> EffectResult {
    match json.get("error") {
        None => Ok(json.get_mut("ok").map(Value::take).unwrap_or_default()),
        Some(error) => {
            let text = |name: &str| error[name].as_str().unwrap_or_default();
            Err(EffectError::new(text("code"), text("message")))
        }
    }
}

/// Why an effect failed; the node's `onError` decides what that means.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{code}: {message}")]
pub struct EffectError {
    /// One of [`code`], or `HTTP_<status>`.
    pub code: String,
    /// For a person.
    pub message: String,
}

impl EffectError {
    /// An error with this code and message.
    pub fn new(code: &str, message: impl Into<String>) -> Self {
        EffectError {
            code: code.into(),
            message: message.into(),
        }
    }

    /// What was asked for can't be meant.
    fn parameter(message: impl Into<String>) -> Self {
        EffectError::new(code::PARAMETER, message)
    }
}

/// All kinds of effects.
#[derive(Clone, Default)]
pub struct Registry(Arc<BTreeMap<&'static str, Arc<dyn Effect>>>);

impl Registry {
    /// Adds a kind, or replaces the one of the same name.
    pub fn add(&mut self, effect: impl Effect) {
        Arc::make_mut(&mut self.0).insert(effect.kind(), Arc::new(effect));
    }

    /// The effect of this kind.
    pub fn get(&self, kind: &str) -> Option<Arc<dyn Effect>> {
        self.0.get(kind).cloned()
    }
}
