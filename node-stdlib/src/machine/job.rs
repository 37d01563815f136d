//! Executions of nodes: those that compiled code works on, and those that wait.

use super::frames::{Place, Turn};
use super::random::Generator;
use crate::failure::Failure;
use crate::node::{Emission, NodeResult, Origins, Outcome, Resume, Step};
use heddle_contract::plan::NONE;
use heddle_values::{Array, Object, Value};

/// One execution of a node, or of a node on one element.
#[derive(Clone, Debug)]
pub(super) struct Job {
    pub place: Place,
    /// The group of an `each` node and the element's index.
    pub element: Option<(u32, u32)>,
    /// From 1.
    pub attempt: u32,
    /// Effects that this attempt has started.
    pub effects: u32,
    /// Of its trace entry.
    pub token: i32,
    /// `$input`.
    pub input: Value,
    /// By port: where the elements of what it emits come from, as far as the node has told.
    pub origins: Vec<(u32, Origins)>,
    /// Once something random was asked for. The same in every attempt, so that a retry repeats its keys.
    pub random: Option<Generator>,
}

impl Default for Job {
    fn default() -> Self {
        let place = Place {
            frame: NONE,
            node: NONE,
        };
        Job {
            place,
            element: None,
            attempt: 1,
            effects: 0,
            token: 0,
            input: Value::Undefined,
            origins: Vec::new(),
            random: None,
        }
    }
}

impl Job {
    pub fn next_attempt(&mut self) {
        self.attempt += 1;
        self.effects = 0;
    }
}

/// An execution of a node that has failed.
pub(super) struct FailedJob {
    pub node: u32,
    /// Where it stood within loops and composites.
    pub path: String,
    pub input: Value,
}

/// What compiled code sees and leaves while it is being called.
#[derive(Default)]
pub(super) struct Current {
    pub job: Job,
    /// `$item` and `$index` of the function value being evaluated.
    pub item: Option<(Value, usize)>,
    /// `$a` and `$b`.
    pub pair: (Value, Value),
    /// First failure of the expressions evaluated since it was last taken.
    pub failure: Option<Failure>,
    /// Whether that says that an item belongs to no other, which is no mistake of the data: nobody forgives it.
    pub is_unpaired: bool,
    /// Values that left by [`Run::emit`](super::run::Run::emit).
    pub emitted: Vec<(u32, Value)>,
    /// What the node has told of where its elements come from.
    pub origins: Vec<(u32, Origins)>,
    /// What the node's function gave.
    pub result: Option<NodeResult>,
    /// Should the result be an effect: how the node goes on.
    pub resume: Option<(Object, Option<Resume>)>,
}

impl Current {
    /// Compiled code is about to be called for `job`.
    pub fn begin(&mut self, job: Job) {
        self.job = job;
        self.forget();
    }

    /// The same for the first attempt of a node on an element.
    pub fn begin_element(&mut self, place: Place, element: (u32, u32), input: Value) {
        let job = &mut self.job;
        job.place = place;
        job.element = Some(element);
        (job.attempt, job.effects, job.token) = (1, 0, 0);
        job.input = input;
        job.origins.clear();
        job.random = None;
        self.forget();
    }

    /// Forgets what compiled code has left.
    fn forget(&mut self) {
        self.item = None;
        self.failure = None;
        self.is_unpaired = false;
        self.emitted.clear();
        self.origins.clear();
        self.result = None;
    }

    pub fn take_result(&mut self) -> NodeResult {
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        self.result
            .take()
            .unwrap_or_else(|| Ok(Outcome::Emit(Emission(std::mem::take(&mut self.emitted)))))
    }

    /// Compiled code has returned. The place stays, for whoever asks which node is executing.
    pub fn end(&mut self) -> Job {
        let place = self.job.place;
        self.job.origins = std::mem::take(&mut self.origins);
        std::mem::replace(
            &mut self.job,
            Job {
                place,
                ..Job::default()
            },
        )
    }
}

/// A job that waits for an effect.
pub(super) struct Waiting {
    pub job: Job,
    pub then: Then,
}

pub(super) enum Then {
    /// Next attempt.
    Retry,
    /// Next attempt of a composite.
    Execute(Execution),
    /// The effect's result goes to the node.
    Resume(Object, Option<Resume>),
    /// The effect's result goes to a node that has more to do.
    Step(Step),
}

/// An execution of a composite's body.
pub(super) struct Execution {
    /// Of its nodes; closed while the next attempt is waited for.
    pub frame: u32,
    pub loop_run: u32,
    /// The composite.
    pub place: Place,
    pub turn: Turn,
    /// What entered it.
    pub item: Value,
}

/// A value that has left a node which executes for each element of a list.
#[derive(Clone, Debug)]
pub(super) struct Emitted {
    pub element: u32,
    pub port: u32,
    pub value: Value,
}

/// An `each` node in execution.
pub(super) struct Group {
    pub place: Place,
    pub elements: Array,
    /// Element to execute next.
    pub next: u32,
    pub in_flight: u32,
    /// What the elements have emitted so far.
    pub results: Vec<Emitted>,
    /// Trace entry of the node as a whole.
    pub token: i32,
}
