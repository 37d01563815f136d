//! Replays: a run that has ended executes again, and each of its effects is answered with what is known of it. Nothing leaves,
//! and nothing is waited for. The run's own module asks under the keys of the run's journal; another version gets the answers that
//! the run's own module got when the same node made the same request.
//!
//! Knows nothing of what effects do.

use crate::journal::{Entry, Outcomes};
use heddle_sandbox::Stop;
use sha2::{Digest, Sha256};
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Code of the error with which a replay ends that waits for what its journal does not have.
pub const NOT_RECORDED: &str = "NOT_RECORDED";

/// Effects without an answer that are told of a run.
const UNANSWERED_MAX: usize = 20;

/// What a replay's effects are answered with.
#[derive(Debug)]
pub enum Answers {
    /// With the run's journal, for the run's own module. What was asked for is noted, if that is wanted.
    Journal {
        /// All that the journal has.
        entries: Vec<Entry>,
        /// Where it is noted.
        noted: Option<RequestLog>,
    },
    /// With what was noted of the run's own module, for another version.
    Noted(RequestLog),
}

/// What replays of a run have asked for. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct RequestLog(Arc<Mutex<Notes>>);

#[derive(Debug, Default)]
struct Notes {
    answered: Vec<Answered>,
    unanswered: Vec<Unanswered>,
}

/// An effect of the run's own module, with its answer.
#[derive(Debug)]
struct Answered {
    node_id: String,
    kind: String,
    request: [u8; 32],
    answer: Answer,
}

/// An effect that another version asked for, and that nothing is known of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unanswered {
    /// The node, if it is known.
    pub node_id: Option<String>,
    /// Kind of the effect.
    pub kind: String,
    /// Whether the node had an effect of this kind in the run, with another request.
    pub is_changed: bool,
}

/// The result of an effect.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    /// Under which key the journal has it.
    pub key: String,
    /// Its place among all.
    pub number: u64,
    pub json: String,
}

/// An effect that a replay asks for.
pub(crate) struct ReplayedEffect {
    pub key: String,
    pub kind: String,
    pub node_id: Option<String>,
    /// SHA-256 of the request.
    pub request: [u8; 32],
}

impl RequestLog {
    /// What could not be answered, in the order in which it was asked for, once of each node and kind.
    pub fn unanswered(&self) -> Vec<Unanswered> {
        self.notes().unanswered.clone()
    }

    fn note_unanswered(&self, effect: Unanswered) {
        let mut notes = self.notes();
        let unanswered = &mut notes.unanswered;
        let is_known = unanswered
            .iter()
            .any(|other| other.node_id == effect.node_id && other.kind == effect.kind);
        if !is_known && unanswered.len() < UNANSWERED_MAX {
            unanswered.push(effect);
        }
    }

    fn notes(&self) -> MutexGuard<'_, Notes> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The digest of a request by which it is found again.
pub(crate) fn digest(request: &str) -> [u8; 32] {
    Sha256::digest(request.as_bytes()).into()
}

/// What references to secrets have in replays of a run. It follows from the run's id, which is made after its event has come, so
/// that no event can forge one; and a replay is given no secret.
pub(crate) fn nonce(run_id: &str) -> String {
    let digest = heddle_sandbox::hex(&Sha256::digest(format!("replay {run_id}").as_bytes()));
    digest.chars().take(32).collect()
}

enum Source {
    Journal {
        recorded: HashMap<String, (u64, String)>,
        noted: Option<RequestLog>,
    },
    Noted {
        asked: RequestLog,
        left: Left,
    },
}

/// Answers that were not given yet.
#[derive(Default)]
struct Left {
    /// By the digest of node, kind and request, in the order in which they were asked for.
    answers: HashMap<[u8; 32], VecDeque<Answer>>,
    /// How many there are of a node and kind.
    counts: HashMap<(String, String), usize>,
}

/// What is known of the effects of a replayed run.
pub(crate) struct Replay {
    source: Source,
    outcomes: Outcomes,
    /// Kind and node of the first effect that was asked for in vain.
    missing: Option<(String, Option<String>)>,
}

impl Replay {
    /// Of these answers; an effect that had parked and never ended is one that is missing.
    pub fn new(answers: Answers) -> Self {
        let mut outcomes = Outcomes::default();
        let source = match answers {
            Answers::Journal { entries, noted } => {
                let ended = |entry: Entry| {
                    let number = entry.number?;
                    outcomes.note(&entry.key, &entry.json);
                    Some((entry.key, (number, entry.json)))
                };
                Source::Journal {
                    recorded: entries.into_iter().filter_map(ended).collect(),
                    noted,
                }
            }
            Answers::Noted(asked) => {
                let mut left = Left::default();
                for known in &asked.notes().answered {
                    outcomes.note(&known.answer.key, &known.answer.json);
                    left.add(known);
                }
                Source::Noted { asked, left }
            }
        };
        Replay {
            source,
            outcomes,
            missing: None,
        }
    }

    /// See [`Outcomes::has_later`].
    pub fn has_later_outcome(&self, key: &str) -> bool {
        self.outcomes.has_later(key)
    }

    /// The result of an effect. Without one the replay goes on for as long as it does not wait for it: the run, too, may have
    /// ended before that effect did.
    pub fn take(&mut self, wanted: &ReplayedEffect) -> Option<Answer> {
        let found = match &mut self.source {
            Source::Journal { recorded, noted } => {
                let found = recorded.remove(&wanted.key).map(|(number, json)| Answer {
                    key: wanted.key.clone(),
                    number,
                    json,
                });
                if let (Some(noted), Some(answer)) = (noted, &found) {
                    noted.notes().answered.push(Answered {
                        node_id: wanted.node_id.clone().unwrap_or_default(),
                        kind: wanted.kind.clone(),
                        request: wanted.request,
                        answer: answer.clone(),
                    });
                }
                found
            }
            Source::Noted { asked, left } => left.take(asked, wanted),
        };
        if found.is_none() && self.missing.is_none() {
            self.missing = Some((wanted.kind.clone(), wanted.node_id.clone()));
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

impl Left {
    fn add(&mut self, known: &Answered) {
        let at = place(&known.node_id, &known.kind, &known.request);
        self.answers
            .entry(at)
            .or_default()
            .push_back(known.answer.clone());
        let of = (known.node_id.clone(), known.kind.clone());
        let count = self.counts.entry(of).or_default();
        *count = count.saturating_add(1);
    }

    /// The answer to the same request of the same node, if there is one that was not given yet. Where there is none, that is noted.
    fn take(&mut self, asked: &RequestLog, wanted: &ReplayedEffect) -> Option<Answer> {
        let node_id = wanted.node_id.clone().unwrap_or_default();
        let at = place(&node_id, &wanted.kind, &wanted.request);
        let found = self.answers.get_mut(&at).and_then(VecDeque::pop_front);
        let count = self.counts.get_mut(&(node_id, wanted.kind.clone()));
        if let Some(answer) = found {
            if let Some(count) = count {
                *count = count.saturating_sub(1);
            }
            return Some(answer);
        }
        asked.note_unanswered(Unanswered {
            node_id: wanted.node_id.clone(),
            kind: wanted.kind.clone(),
            is_changed: count.is_some_and(|count| *count > 0),
        });
        None
    }
}

/// By what an answer is found.
fn place(node_id: &str, kind: &str, request: &[u8; 32]) -> [u8; 32] {
    let mut digest = Sha256::new();
    for part in [node_id.as_bytes(), kind.as_bytes()] {
        digest.update((part.len() as u64).to_be_bytes());
        digest.update(part);
    }
    digest.update(request);
    digest.finalize().into()
}
