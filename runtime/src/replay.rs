//! Replays: a run that has ended executes again, and each of its effects is answered with what the run's journal has of it.
//! Nothing leaves, and nothing is waited for.
//!
//! Knows nothing of what effects do.

use crate::journal::{Entry, Outcomes};
use heddle_sandbox::Stop;
use std::collections::HashMap;

/// Code of the error with which a replay ends that waits for what its journal does not have.
pub const NOT_RECORDED: &str = "NOT_RECORDED";

/// What is known of the effects of a replayed run.
pub(crate) struct Replay {
    recorded: HashMap<String, (u64, String)>,
    outcomes: Outcomes,
    /// Kind and node of the first effect that was asked for in vain.
    missing: Option<(String, Option<String>)>,
}

impl Replay {
    /// Of these entries; an effect that had parked and never ended is one that is missing.
    pub fn new(entries: Vec<Entry>) -> Self {
        let mut outcomes = Outcomes::default();
        let ended = |entry: Entry| {
            let number = entry.number?;
            outcomes.note(&entry.key, &entry.json);
            Some((entry.key, (number, entry.json)))
        };
        Replay {
            recorded: entries.into_iter().filter_map(ended).collect(),
            outcomes,
            missing: None,
        }
    }

    /// See [`Outcomes::has_later`].
    pub fn has_later_outcome(&self, key: &str) -> bool {
        self.outcomes.has_later(key)
    }

    /// The result of an effect and its place among all. Without one the replay goes on for as long as it does not wait for
    /// it: the run, too, may have ended before that effect did.
    pub fn take(
        &mut self,
        key: &str,
        kind: &str,
        node_id: impl FnOnce() -> Option<String>,
    ) -> Option<(u64, String)> {
        let found = self.recorded.remove(key);
        if found.is_none() && self.missing.is_none() {
            self.missing = Some((kind.to_owned(), node_id()));
        }
        found
    }

    /// Why a replay that waits, although all that is known has been told, can't go on.
    pub fn stop(&self) -> Stop {
        let Some((kind, node_id)) = &self.missing else {
            return Stop::broken_guest("The run waited for an effect, but none was started");
        };
        let of = match node_id {
            Some(id) => format!("of the node `{id}`"),
            None => "of a node".to_owned(),
        };
        Stop::new(
            NOT_RECORDED,
            format!("The run's journal has no result {of} (effect `{kind}`), so the replay ends here"),
            "The run ended before that effect did, or it took another path than the replay.",
        )
    }
}
