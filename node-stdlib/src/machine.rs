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
//! "callbacks": {"nodes": [plan indexes of WaitForCallback nodes], "base": "…", "key": "…"}}`. The last only if there
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

mod callbacks;
mod composites;
mod execute;
mod frames;
mod inputs;
mod items;
mod loops;
mod names;
mod random;
mod report;
mod scripts;
mod settle;

pub use names::Caller;

use crate::abi::code;
use crate::nodes::{Failure, Level};
use crate::plan::{NONE, View};
use crate::value::{ParseError, Value, parse_json};
use execute::{Current, Waiting};
use frames::Frames;
use heddle_javascript::protocol;
use items::Group;
use loops::LoopRun;
use scripts::Scripts;
use std::cell::{OnceCell, RefCell};
use std::collections::VecDeque;

/// How deep JSON may nest: what comes from outside, and what leaves a node.
pub const JSON_DEPTH_MAX: usize = 512;

/// A JSON text that the host holds for the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// The event that started the run.
    Event = 0,
    /// Facts of the run, see the module's page.
    Context = 1,
}

/// How a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Nothing is left to do; comes with the output.
    Completed = 0,
    /// Comes with `{message, code, nodeId}`.
    Failed = 1,
    /// At a breakpoint; comes with `{breakpoint: {nodeId, input}, pinnedNodes}`.
    Paused = 2,
}

/// What a trace entry ends with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceKind {
    /// A value left, or nothing did.
    Output = 0,
    /// The node failed.
    Error = 1,
    /// A pinned value left.
    Pinned = 2,
}

/// What the JavaScript engine can do, see `heddle_javascript::protocol`.
#[derive(Clone, Copy, Debug)]
pub enum EngineStep<'a> {
    /// Source text to a function's number.
    Load {
        /// What the source is.
        kind: protocol::SourceKind,
        /// The text.
        source: &'a [u8],
    },
    /// Calls a function.
    Call {
        /// Its number.
        function: u32,
        /// For what is random in it.
        seed: u64,
        /// An array.
        arguments: &'a [u8],
    },
    /// Answers a request.
    Resume {
        /// The call.
        call: u32,
        /// The request.
        request: u32,
        /// `{ok}` or `{error}`.
        answer: &'a [u8],
    },
}

/// All that the run loop needs of the world.
pub trait Outside: Sized {
    /// Calls a node's compiled function: it ends in [`Run::execute_node`] or [`Run::emit`].
    fn call_body(&self, run: &Run<'_, Self>, function: u32);
    /// Calls a compiled function value.
    fn call_function(&self, run: &Run<'_, Self>, function: u32) -> Value;
    /// JSON text that the host holds.
    fn read(&self, input: Input) -> Vec<u8>;
    /// Starts an effect; gives its id. See the module's page for keys.
    fn effect_start(&self, node: u32, kind: &str, key: &str, request: &str) -> u32;
    /// Waits until any started effect has ended; gives its id and its result's JSON.
    fn effect_wait(&self) -> (u32, Vec<u8>);
    /// Writes a log line.
    fn log(&self, level: Level, node: u32, message: &str);
    /// Executes a step of the JavaScript engine for a node; gives the answer in the form of `value::wire`.
    fn engine(&self, node: u32, now_ms: i64, step: EngineStep<'_>) -> (protocol::Status, Vec<u8>);
    /// Answers the webhook; called at most once.
    fn respond(&self, response: &str);
    /// The run's end; called once.
    fn finish(&self, status: Status, json: &str);
    /// Says which node is executing ([`NONE`]: none).
    fn set_current_node(&self, node: u32);
    /// Index of the expression site that compiled code has set last; [`NONE`]: none.
    fn site(&self) -> u32;
    /// Sets the site.
    fn set_site(&self, site: u32);
    /// A node begins; gives a token for the calls below. These four are called only for a plan with a trace.
    fn trace_begin(&self, node: u32, path: &str) -> i32;
    /// The node waits.
    fn trace_pause(&self, token: i32);
    /// The node goes on.
    fn trace_resume(&self, token: i32);
    /// The node has ended; `port` is -1 if no value left.
    fn trace_end(&self, token: i32, kind: TraceKind, port: i32, json: &str);
}

/// A node in a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    frame: u32,
    node: u32,
}

/// One run of a pattern.
pub struct Run<'p, O> {
    plan: View<'p>,
    outside: O,
    event: Value,
    context: OnceCell<Value>,
    state: RefCell<State<'p>>,
}

/// What changes while a pattern runs.
struct State<'p> {
    plan: View<'p>,
    frames: Frames,
    ready: VecDeque<Place>,
    /// Frames whose nodes have all settled: their values are to be collected.
    ended: VecDeque<u32>,
    loops: Arena<LoopRun>,
    groups: Arena<Group>,
    waiting: Vec<(u32, Waiting)>,
    /// Effects under way whose nodes have been stopped.
    abandoned: Vec<u32>,
    scripts: Scripts,
    current: Current,
    errors: u64,
    output: Option<Value>,
    responded: bool,
    paused: Option<(u32, Value)>,
    finished: bool,
    /// Scratch of a completion: nodes that became ready, nodes to skip.
    newly_ready: Vec<u32>,
    dead: Vec<u32>,
}

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
            scripts: Scripts::default(),
            current: Current::default(),
            errors: 0,
            output: None,
            responded: false,
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
            let wrong = if error.too_deep { "is" } else { "is no JSON:" };
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

/// Code for JSON that can't be read: `otherwise`, unless it is nested too deeply.
pub(crate) fn unreadable(error: &ParseError, otherwise: &'static str) -> &'static str {
    if error.too_deep {
        code::DEPTH_LIMIT
    } else {
        otherwise
    }
}

/// A value as an edge carries it, see [`Value::into_json`]; fails if it is nested too deeply.
pub(crate) fn leaving(value: Value) -> Result<Value, Failure> {
    if value.deeper_than(JSON_DEPTH_MAX) {
        let message = format!(
            "What leaves this node is nested more than {JSON_DEPTH_MAX} levels deep. Does every round of a loop wrap \
             its value once more?"
        );
        return Err(Failure::new(code::DEPTH_LIMIT, message));
    }
    Ok(value.into_json())
}

/// The values of an emission as edges carry them.
fn all_leaving(emitted: Vec<(u32, Value)>) -> Result<Vec<(u32, Value)>, Failure> {
    let leave = |(port, value)| Ok((port, leaving(value)?));
    emitted.into_iter().map(leave).collect()
}

/// Slots that are used again.
struct Arena<T> {
    slots: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Default for Arena<T> {
    fn default() -> Self {
        Arena {
            slots: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<T> Arena<T> {
    fn insert(&mut self, item: T) -> u32 {
        match self.free.pop() {
            Some(index) => {
                self.slots[index as usize] = Some(item);
                index
            }
            None => {
                self.slots.push(Some(item));
                self.slots.len() as u32 - 1
            }
        }
    }

    fn get(&self, index: u32) -> Option<&T> {
        self.slots.get(index as usize)?.as_ref()
    }

    fn get_mut(&mut self, index: u32) -> Option<&mut T> {
        self.slots.get_mut(index as usize)?.as_mut()
    }

    /// Removes the items for which this holds.
    fn remove_all(&mut self, holds: impl Fn(&T) -> bool) -> Vec<T> {
        let indexes = (0..self.slots.len() as u32).filter(|index| self.get(*index).is_some_and(&holds));
        let indexes: Vec<u32> = indexes.collect();
        indexes
            .into_iter()
            .filter_map(|index| self.remove(index))
            .collect()
    }

    fn remove(&mut self, index: u32) -> Option<T> {
        let item = self.slots.get_mut(index as usize)?.take()?;
        self.free.push(index);
        Some(item)
    }
}

#[cfg(test)]
mod tests;
