//! The run loop: what a graph means while it runs.
//!
//! A [`Run`] reads its plan in place and decides which node executes next, with what input, and where its
//! outcome goes. All that lies outside (compiled functions, effects, the log, the trace) is behind [`Outside`],
//! so the loop knows nothing of WebAssembly and is tested natively.
//!
//! **Borrows.** A compiled function calls back into the run (`$input`, `$nodes`, nodes' own functions), so no
//! borrow of the state is held while [`Outside`] is called.
//!
//! **Context.** The host's second input is a JSON object: `{"run": {id, patternId, attempt, triggeredBy,
//! startedAt}, "vars": {}, "nonce": "…", "seed": "<u64>", "startedAtMs": n, "runKey": "…",
//! "callbacks": {"nodes": [plan indexes of WaitForCallback nodes], "steps"?: [those that ask whoever has sent the form before],
//! "forms"?: [those that ask others by a form], "base": "…", "key": "…"}}`. The last only if there
//! are such nodes, without base and key where nobody can call back. It is read only when something asks for it.
//!
//! **Keys of effects** are `<node>/<iterations and element>/<attempt>.<number>`: where the effect stands in the run,
//! whatever else is under way, so that an execution from the start asks for the same effects by the same keys.
//!
//! **Failures.** What a node does not catch stops the innermost composite around it that is executed as a whole: its
//! frame goes, with all that names it, and the composite is executed again or emits the error itself. Without one
//! around, and at every limit, the run fails.
//!
//! **Hostile plans** waste their own fuel and memory, no more: an index that leads nowhere is passed over, and
//! counts are cut to the size of the plan.

mod arena;
mod callbacks;
mod composites;
mod engine_calls;
mod execute;
mod frames;
mod inputs;
mod items;
mod job;
mod loop_run;
mod loops;
mod names;
mod outside;
mod pairing;
mod random;
mod report;
mod run;
mod scripts;
mod settle;
mod spread;

pub use names::Caller;
pub use outside::{EngineStep, Input, Status, TraceKind};
pub use run::{Outside, Run};

use crate::failure::{Failure, unreadable};
use arena::Arena;
use engine_calls::EngineCalls;
use frames::Frames;
use heddle_contract::abi::code;
use heddle_contract::plan::{NONE, View};
use heddle_values::{JSON_DEPTH_MAX, Value, parse_json};
use job::Current;
use run::State;
use std::cell::{OnceCell, RefCell};
use std::collections::VecDeque;

impl<'p, O: Outside> Run<'p, O> {
    /// A run that has not begun. Reads the event; the failure is that it is no JSON.
    pub fn new(plan: View<'p>, outside: O) -> Self {
        let state = State {
            plan,
            frames: Frames::default(),
            ready: VecDeque::new(),
            ended: VecDeque::new(),
            loops: Arena::default(),
            groups: Arena::default(),
            waiting: Vec::new(),
            abandoned: Vec::new(),
            scripts: EngineCalls::default(),
            current: Current::default(),
            errors: 0,
            failed: None,
            output: None,
            responded: false,
            forgiven: Vec::new(),
            paused: None,
            finished: false,
            newly_ready: Vec::new(),
            dead: Vec::new(),
        };
        Run {
            plan,
            outside,
            event: Value::Null,
            context: OnceCell::new(),
            state: RefCell::new(state),
        }
    }

    /// Reads the event, which trigger nodes emit. Without it, it is null.
    pub fn read_event(&mut self) -> Result<(), Failure> {
        let text = self.outside.read(Input::Event);
        let event = parse_json(&text, JSON_DEPTH_MAX).map_err(|error| {
            let wrong = if error.too_deep {
                "is"
            } else {
                "is not valid JSON:"
            };
            let message = format!("The event {wrong} {} at byte {}", error.message, error.offset);
            Failure::new(unreadable(&error, code::EVENT), message)
        })?;
        self.event = event.into_json();
        Ok(())
    }

    /// Runs from the node `trigger` to the end, which is one call of [`Outside::finish`].
    pub fn drive(&self, trigger: u32) {
        self.state.borrow_mut().begin_root(trigger);
        while !self.finished() {
            let next = {
                let mut state = self.state.borrow_mut();
                if state.paused.is_some() {
                    None
                } else {
                    state.ready.pop_front()
                }
            };
            if let Some(place) = next {
                self.start_node(place);
            } else if !self.state.borrow().is_waiting() {
                break;
            } else {
                self.wait_for_effect();
            }
        }
        self.outside.set_current_node(NONE);
        if !self.finished() {
            self.finish();
        }
    }

    fn finished(&self) -> bool {
        self.state.borrow().finished
    }

    /// Ends the run as failed before it could begin.
    pub fn refuse(&self, failure: &Failure) {
        self.fail(NONE, failure);
    }
}

#[cfg(test)]
mod tests;
