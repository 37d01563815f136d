//! A run, its state, and all that it needs of the world.

use super::arena::Arena;
use super::engine_calls::EngineCalls;
use super::frames::{Frames, Place};
use super::job::{Current, FailedJob, Group, Waiting};
use super::loop_run::LoopRun;
use super::outside::{EngineStep, Input, Status, TraceKind};
use crate::node::Level;
use heddle_contract::plan::View;
use heddle_javascript::protocol;
use heddle_values::Value;
use std::cell::{OnceCell, RefCell};
use std::collections::VecDeque;

/// All that the run loop needs of the world.
pub trait Outside: Sized {
    /// Calls a node's compiled function: it ends in [`Run::execute_node`] or [`Run::emit`].
    fn call_body(&self, run: &Run<'_, Self>, function: u32);
    /// Calls a compiled function value.
    fn call_function(&self, run: &Run<'_, Self>, function: u32) -> Value;
    /// The same, if only matters whether what it gives is truthy.
    fn call_condition(&self, run: &Run<'_, Self>, function: u32) -> bool {
        self.call_function(run, function).truthy()
    }
    /// What a function gives for two numbers by its form for numbers, if it has one: see
    /// [`GIVES_NUMBER`](heddle_contract::abi::GIVES_NUMBER).
    fn call_numbers(&self, _: u32, _: f64, _: f64) -> Option<Value> {
        None
    }
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
    /// The run's end; called once, and after a failure once more with [`Status::FailedInput`].
    fn finish(&self, status: Status, json: &str);
    /// Says which node is executing ([`NONE`](heddle_contract::plan::NONE): none).
    fn set_current_node(&self, node: u32);
    /// Index of the expression site that compiled code has set last; [`NONE`](heddle_contract::plan::NONE): none.
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

/// One run of a pattern.
pub struct Run<'p, O> {
    pub(super) plan: View<'p>,
    pub(super) outside: O,
    pub(super) event: Value,
    pub(super) context: OnceCell<Value>,
    pub(super) state: RefCell<State<'p>>,
}

/// What changes while a pattern runs.
pub(super) struct State<'p> {
    pub(super) plan: View<'p>,
    pub(super) frames: Frames,
    pub(super) ready: VecDeque<Place>,
    /// Frames whose nodes have all settled: their values are to be collected.
    pub(super) ended: VecDeque<u32>,
    pub(super) loops: Arena<LoopRun>,
    pub(super) groups: Arena<Group>,
    pub(super) waiting: Vec<(u32, Waiting)>,
    /// Effects under way whose nodes have been stopped.
    pub(super) abandoned: Vec<u32>,
    pub(super) scripts: EngineCalls,
    pub(super) current: Current,
    pub(super) errors: u64,
    /// The node that failed last without an error port.
    pub(super) failed: Option<FailedJob>,
    pub(super) output: Option<Value>,
    pub(super) responded: bool,
    /// Sites of expressions whose failures were told and forgotten, sorted.
    pub(super) forgiven: Vec<u32>,
    pub(super) paused: Option<(u32, Value)>,
    pub(super) finished: bool,
    /// Scratch of a completion: nodes that became ready, nodes to skip.
    pub(super) newly_ready: Vec<u32>,
    pub(super) dead: Vec<u32>,
}
