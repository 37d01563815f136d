//! The journal of a run: the result of each of its effects, recorded before the run sees it. A run that starts again
//! from the beginning, on the same module with the same event, seed and start time, gets its results from the journal
//! in the same order, and so reaches the same point without repeating an effect.
//!
//! Knows nothing about where journals are stored.

use heddle_contract::abi::code;
use heddle_sandbox::Stop;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::{HashMap, HashSet};
use std::error::Error;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

/// Longer keys are replaced by their digest.
const KEY_BYTES_MAX: usize = 512;

/// Keeps the entries of one run.
pub trait Journal: fmt::Debug + Send + Sync + 'static {
    /// Takes entries at once, to keep them in the order in which they were given. The future ends when they are safe;
    /// dropping it changes nothing.
    fn record(&self, entries: Vec<Entry>) -> Recorded;

    /// Ends when an effect may begin: never for a run that goes on elsewhere by now.
    fn permission(&self) -> Permission {
        Box::pin(std::future::ready(()))
    }

    /// Reads what has come for an effect under this key, as JSON. Not before somebody takes it: much may have come for a run.
    fn signal(&self, key: &str) -> Signalled;

    /// Milliseconds since 1970 UTC, by which waits are measured.
    fn now_ms(&self) -> i64;
}

/// Entries on their way to be kept.
pub type Recorded = Pin<Box<dyn Future<Output = Result<(), JournalError>> + Send>>;

/// What has come on its way to be read; `None`: nothing has.
pub type Signalled = Pin<Box<dyn Future<Output = Result<Option<String>, JournalError>> + Send>>;

/// Why entries are not kept.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// The run is no longer whose entries these are.
    #[error("the run has ended, or another server has it by now")]
    Lost,
    /// Nobody takes entries any more.
    #[error("the service stops")]
    Stopped,
    /// Whatever keeps them has failed.
    #[error("the database refuses it")]
    Failed(#[source] Arc<dyn Error + Send + Sync>),
}

/// The wait for an effect's beginning.
pub type Permission = Pin<Box<dyn Future<Output = ()> + Send>>;

/// What is known of an effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Which effect of the run, see the run loop in `node-stdlib`.
    pub key: String,
    /// Place among those that have ended, from 0; `None`: the effect has parked, and this is its state.
    pub number: Option<u64>,
    /// JSON: `{"ok": …}` or `{"error": {code, message}}`; the state of one that has parked.
    pub json: String,
}

/// A run's journal with what it holds by now.
#[derive(Clone, Debug)]
pub struct RunJournal {
    /// What former executions of the run have recorded.
    pub entries: Vec<Entry>,
    /// For which effects something has come, by keys that they know. The journal has that.
    pub signals: HashSet<String>,
    /// Where new entries go.
    pub journal: Arc<dyn Journal>,
}

/// The results of one execution's effects, known and new.
pub(crate) struct Record {
    journal: Arc<dyn Journal>,
    known: HashMap<String, (u64, String)>,
    outcomes: Outcomes,
    parked: HashMap<String, Value>,
    signals: Arc<HashSet<String>>,
    next_number: u64,
    bytes: usize,
    bytes_max: usize,
}

impl Record {
    pub fn new(journal: RunJournal, bytes_max: usize) -> Self {
        let mut record = Record {
            journal: journal.journal,
            known: HashMap::new(),
            outcomes: Outcomes::default(),
            parked: HashMap::new(),
            signals: Arc::new(journal.signals),
            next_number: 0,
            bytes: 0,
            bytes_max,
        };
        for Entry { key, number, json } in journal.entries {
            record.bytes = record.bytes.saturating_add(key.len() + json.len());
            match number {
                Some(number) => {
                    record.next_number = record.next_number.max(number.saturating_add(1));
                    record.outcomes.note(&key, &json);
                    record.known.insert(key, (number, json));
                }
                None => {
                    record
                        .parked
                        .insert(key, serde_json::from_str(&json).unwrap_or_default());
                }
            }
        }
        record
    }

    pub fn journal(&self) -> Arc<dyn Journal> {
        self.journal.clone()
    }

    pub fn signals(&self) -> Arc<HashSet<String>> {
        self.signals.clone()
    }

    /// The result of an effect that ended in a former execution, and its place among them.
    pub fn take(&mut self, key: &str) -> Option<(u64, String)> {
        self.known.remove(key)
    }

    /// Whether there are results of former executions that nobody has taken.
    pub fn has_known(&self) -> bool {
        !self.known.is_empty()
    }

    /// See [`Outcomes::has_later`].
    pub fn has_later_outcome(&self, key: &str) -> bool {
        self.outcomes.has_later(key)
    }

    /// The state of an effect that parked in a former execution.
    pub fn parked(&self, key: &str) -> Option<Value> {
        self.parked.get(key).cloned()
    }

    /// Entries of effects that have ended now, in this order.
    pub fn ended(&mut self, key: String, json: &[u8]) -> Result<Entry, Stop> {
        let number = self.next_number;
        self.next_number = number.saturating_add(1);
        self.entry(key, Some(number), String::from_utf8_lossy(json).into_owned())
    }

    /// The entry of an effect that parks.
    pub fn parks(&mut self, key: String, state: &Value) -> Result<Entry, Stop> {
        self.entry(key, None, state.to_string())
    }

    fn entry(&mut self, key: String, number: Option<u64>, json: String) -> Result<Entry, Stop> {
        self.bytes = self.bytes.saturating_add(key.len() + json.len());
        if self.bytes > self.bytes_max {
            return Err(Stop::new(
                code::JOURNAL_LIMIT,
                format!(
                    "The results of the run's effects are larger than the {} KiB kept per run",
                    self.bytes_max >> 10
                ),
                "Request less data, or split the work across several runs.",
            ));
        }
        Ok(Entry { key, number, json })
    }
}

/// What came of the files that nodes were writing, as far as it is recorded: for each attempt of a node, the number of its last
/// effect that made a file, or failed.
#[derive(Default)]
pub(crate) struct Outcomes(HashMap<String, u32>);

impl Outcomes {
    /// Notes what is recorded of an effect.
    pub fn note(&mut self, key: &str, json: &str) {
        let is_one = json.starts_with(r#"{"ok":{"$file":"#) || json.starts_with(r#"{"error":"#);
        if is_one && let Some((attempt, number)) = numbered(key) {
            let last = self.0.entry(attempt.to_owned()).or_default();
            *last = number.max(*last);
        }
    }

    /// Whether the attempt that this effect belongs to has made a file, or failed, by an effect after it: then what it wrote has
    /// become that file, or nothing.
    pub fn has_later(&self, key: &str) -> bool {
        numbered(key).is_some_and(|(attempt, number)| self.0.get(attempt).is_some_and(|last| *last > number))
    }
}

/// The attempt of a node that an effect's key belongs to, and the effect's number in it.
fn numbered(key: &str) -> Option<(&str, u32)> {
    let (attempt, number) = key.rsplit_once('.')?;
    Some((attempt, number.parse().ok()?))
}

/// A key as it is kept.
pub(crate) fn bounded_key(key: &str) -> String {
    if key.len() <= KEY_BYTES_MAX {
        return key.to_owned();
    }
    let (execution, number) = key.rsplit_once('/').unwrap_or((key, ""));
    let digest = heddle_sandbox::hex(&Sha256::digest(execution.as_bytes()));
    format!("#{digest}/{number}")
}

/// The execution of a node that an effect's key belongs to: all of it but the attempt and the number.
pub fn execution_of(key: &str) -> &str {
    key.rsplit_once('/').map_or(key, |(execution, _)| execution)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_are_of_one_attempt() {
        let mut outcomes = Outcomes::default();
        outcomes.note("n/a~1/1.4", r#"{"ok":{"$file":"1","name":"a.b"}}"#);
        outcomes.note("n/a~1/1.2", r#"{"error":{"code":"PARSE","message":""}}"#);
        outcomes.note("n/a~1/1.6", r#"{"again":true}"#);
        outcomes.note("n/a~1/1.7", r#"{"ok":{"status":200}}"#);
        outcomes.note("n/a~1/2.1", r#"{"error":{"code":"PARSE","message":""}}"#);
        for (key, expected) in [
            ("n/a~1/1.0", true),
            ("n/a~1/1.3", true),
            ("n/a~1/1.4", false),
            ("n/a~1/1.5", false),
            ("n/a~1/2.0", true),
            ("n/a~1/3.0", false),
            ("n/a~2/1.0", false),
            ("n", false),
        ] {
            assert_eq!(outcomes.has_later(key), expected, "{key}");
        }
    }
}
