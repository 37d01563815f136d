//! Handles to a run's resources for effects; each gives access to nothing but what its name says.

use crate::journal::Journal;
use crate::secrets::Vault;
use heddle_sandbox::clock::{monotonic, wall};
use heddle_sandbox::{EffectCode, EffectError};
use serde_json::Value;
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, UNIX_EPOCH};

/// Time for requests to services that say nothing of it.
const TIMEOUT: Duration = Duration::from_secs(60);

/// How much an effect may give, and until when.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Larger results are refused, in bytes.
    pub result_bytes_max: usize,
    /// The run's deadline.
    pub deadline: Instant,
}

impl Bounds {
    /// How long the effect may take: what its request says in milliseconds, within what is left of the run.
    pub fn time_max(&self, timeout_ms: Option<f64>) -> Duration {
        timeout_ms
            .map_or(TIMEOUT, |ms| Duration::from_millis(ms.clamp(0.0, 1e12) as u64))
            .min(self.deadline.saturating_duration_since(monotonic()))
    }
}

/// Whose run it is, for what is computed in its owner's turn.
#[derive(Clone, Copy, Debug)]
pub struct Owner(pub Option<u128>);

/// The clock by which waits are measured: the journal's, where there is one.
#[derive(Clone, Debug)]
pub struct Clock(Option<Arc<dyn Journal>>);

impl Clock {
    pub fn of(journal: Option<Arc<dyn Journal>>) -> Self {
        Clock(journal)
    }

    /// Milliseconds since 1970 UTC.
    pub fn now_ms(&self) -> i64 {
        match &self.0 {
            Some(journal) => journal.now_ms(),
            None => {
                let now = wall().duration_since(UNIX_EPOCH).unwrap_or_default();
                i64::try_from(now.as_millis()).unwrap_or(i64::MAX)
            }
        }
    }
}

/// Whether an effect may park, and where it was when it last did.
#[derive(Clone, Debug)]
pub struct Parking {
    /// Whether the run can continue from a journal.
    pub is_possible: bool,
    /// The state that the effect left when it parked in a former execution of the run.
    pub state: Option<Value>,
}

impl Parking {
    /// Until when it waits by that state, in milliseconds since 1970 UTC.
    pub fn until_ms(&self) -> Option<i64> {
        self.state.as_ref()?["untilMs"].as_i64()
    }
}

/// What has come for effects that had parked. It is in the journal, and much of it may be there.
#[derive(Clone, Debug)]
pub struct Signals(Option<Journaled>);

/// The keys of what has come, and where it is.
type Journaled = (Arc<HashSet<String>>, Arc<dyn Journal>);

impl Signals {
    /// Those with these keys, which the journal has.
    pub fn of(all: Option<Journaled>) -> Self {
        Signals(all)
    }

    /// Whether something had come under this key when the run began to execute.
    pub fn has(&self, key: &str) -> bool {
        self.0.as_ref().is_some_and(|(keys, _)| keys.contains(key))
    }

    /// That, as JSON. Whoever reads it has a place for a result.
    pub async fn read(&self, key: &str) -> Result<String, EffectError> {
        let internal = |message: String| EffectError::new(EffectCode::Internal, message);
        let found = match &self.0 {
            Some((_, journal)) => journal.signal(key).await,
            None => Ok(None),
        };
        let found = found.map_err(|error| internal(format!("What has come can't be read: {error}.")))?;
        // Of a run that has ended meanwhile.
        found.ok_or_else(|| internal("What has come is gone.".to_owned()))
    }
}

/// A text by which services know repetitions of an effect: no other effect and no other run has it.
#[derive(Clone, Debug)]
pub struct IdempotencyKey(pub String);

/// Hosts that the manifest grants; `*` is any.
#[derive(Clone, Debug)]
pub struct GrantedHosts(pub Arc<[String]>);

/// Patterns that the manifest grants; `*` is any.
#[derive(Clone, Debug)]
pub struct GrantedPatterns(pub Arc<[String]>);

/// Counts bytes of files that leave for another host, which no request has in it.
#[derive(Clone, Debug, Default)]
pub struct Egress(Arc<AtomicU64>);

impl Egress {
    /// Counts more.
    pub fn count(&self, bytes: u64) {
        self.0.fetch_add(bytes, Ordering::Relaxed);
    }

    /// All so far.
    pub fn bytes(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// References to secrets, without a way to the secrets.
#[derive(Clone, Debug)]
pub struct References(Arc<Vault>);

impl References {
    pub fn of(vault: Arc<Vault>) -> Self {
        References(vault)
    }

    /// See [`Vault::to_keep`].
    pub fn to_keep(&self, value: Value) -> Value {
        self.0.to_keep(value)
    }

    /// See [`Vault::kept`].
    pub fn kept(&self, value: Value) -> Value {
        self.0.kept(value)
    }
}
