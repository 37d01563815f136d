//! Calls of the JavaScript engine that wait.

use super::frames::Place;
use super::job::Job;
use crate::node::Continue;
use heddle_values::{Object, Text};
use std::collections::{BTreeMap, HashMap};

/// Which sources are loaded, and who waits.
#[derive(Default)]
pub(super) struct EngineCalls {
    /// Function numbers by kind and text of the source.
    pub loaded: HashMap<(i32, Text), u32>,
    /// By the number of the engine's call.
    pub pauses: BTreeMap<u32, Pause>,
    /// Effects under way. Those of a call that has ended without them are passed over.
    pub answers: Vec<Answer>,
}

/// A job whose code waits.
pub(super) struct Pause {
    pub job: Job,
    pub parameters: Object,
    pub resume: Continue,
}

/// What an effect is for.
pub(super) struct Answer {
    pub effect: u32,
    pub call: u32,
    pub request: u32,
}

impl EngineCalls {
    /// Forgets the jobs that wait at places that are gone; gives their trace entries. Effects under way for them are
    /// passed over when they end.
    pub fn forget(&mut self, is_gone: impl Fn(Place) -> bool) -> Vec<i32> {
        let gone = self.pauses.extract_if(.., |_, pause| is_gone(pause.job.place));
        gone.map(|(_, pause)| pause.job.token).collect()
    }
}
