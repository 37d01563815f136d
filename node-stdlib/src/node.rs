//! The form of a node: a function from parameters and a [`Context`] to an [`Outcome`].

use crate::failure::Failure;
use heddle_values::{Array, Object, Text, Value};
use std::fmt;

/// Values that leave by output ports (by index, as the catalogue orders them); ports not named are dead.
#[derive(Clone, Debug, Default)]
pub struct Emission(pub Vec<(u32, Value)>);

impl Emission {
    /// One value by one port.
    pub fn one(port: u32, value: Value) -> Self {
        Emission(vec![(port, value)])
    }
}

/// What a node wants to happen next.
#[derive(Debug)]
pub enum Outcome {
    /// Values leave; the node is done.
    Emit(Emission),
    /// The host does `kind` with `request`; its result comes to the `resume` of the node's type.
    Effect {
        /// `http`, `hmac`, `hash`, ….
        kind: &'static str,
        /// JSON object; secret references inside are replaced by the host.
        request: Value,
    },
    /// As [`Outcome::Effect`], of a node that has more to do: the result comes to this step.
    Step {
        /// As in [`Outcome::Effect`].
        kind: &'static str,
        /// As in [`Outcome::Effect`], of nothing but what JSON has.
        request: Value,
        /// How the node goes on.
        step: Step,
    },
    /// ForEach: the body runs once for each element, at most `concurrency` at a time.
    Iterate {
        /// One item for each iteration.
        items: Vec<Value>,
        /// At least 1.
        concurrency: u32,
    },
    /// Loop: the body repeats while `condition` holds, at most `iterations_max` times.
    Repeat {
        /// Function value evaluated before each iteration; `None`: it always holds.
        condition: Option<u32>,
        /// At least 1.
        iterations_max: u32,
    },
    /// Code waits: the host does all of `requests`, and the result of each, or why it failed, comes to `resume` as
    /// soon as it is there.
    Wait {
        /// Number of the engine's call, for `resume`.
        call: u32,
        /// May be empty when others are still under way.
        requests: Vec<Request>,
        /// How the node goes on.
        resume: Continue,
    },
    /// Return: the run's output.
    Return(Value),
}

/// A node between two of its effects.
pub struct Step(pub Box<dyn Stepping>);

impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Step")
    }
}

/// What a node keeps while it waits for an effect.
pub trait Stepping {
    /// Goes on with the effect's result.
    fn resume(self: Box<Self>, result: Value, context: &mut dyn Context) -> NodeResult;
}

/// One of the things that code waits for.
#[derive(Clone, Debug)]
pub struct Request {
    /// Number within its call.
    pub id: u32,
    /// Effect kind.
    pub kind: &'static str,
    /// As in [`Outcome::Effect`].
    pub request: Value,
}

/// Goes on with a call of the engine: the node's parameters, the call, the request, its result.
pub type Continue = fn(&Object, u32, u32, Result<Value, Failure>, &mut dyn Context) -> NodeResult;

/// A step of the JavaScript engine.
pub enum Script<'a> {
    /// Calls the default function of a module with one argument.
    Call {
        /// The module's source.
        source: &'a Text,
        /// The argument.
        argument: Value,
    },
    /// Calls a function as expressions have them: where nothing that is built in can be changed.
    Evaluate {
        /// The source of the function.
        source: &'a Text,
        /// Its arguments, an array.
        arguments: Value,
    },
    /// Answers a request of a call that waits.
    Resume {
        /// The call.
        call: u32,
        /// The request.
        request: u32,
        /// What came of it.
        result: Result<Value, Failure>,
    },
}

/// Where a call of the engine stands.
pub enum Scripted {
    /// What the function returned.
    Value(Value),
    /// It waits; these requests are new.
    Waits {
        /// Number of the call.
        call: u32,
        /// `[{id, kind, request}]`
        requests: Value,
    },
    /// Nothing was executed: what it is given is larger than the engine takes.
    TooLarge(Failure),
}

/// Result of a node function.
pub type NodeResult = Result<Outcome, Failure>;

/// Severity of a log line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// For finding faults.
    Debug = 0,
    /// Ordinary.
    Info = 1,
    /// Something looks wrong.
    Warn = 2,
    /// Something is wrong.
    Error = 3,
}

/// For each live edge: the place in its list that each element of an output comes from, `u32::MAX` if none does.
pub type Origins = Vec<Vec<u32>>;

/// What a node may ask of its run.
pub trait Context {
    /// `$input`: the value on the only wired port, or an object by port name when several are wired.
    fn input(&self) -> Value;
    /// The input as it leaves a node that passes it through. Where the node executes for one item of a graph of items, and the item
    /// is an array, that is a list of this item: what leaves as an array would become several.
    fn through(&self) -> Value {
        self.input()
    }
    /// `$item`: of `each`, or of the innermost loop; undefined elsewhere.
    fn item(&self) -> Value;
    /// Executes a step of the run's JavaScript engine.
    fn javascript(&mut self, step: Script<'_>) -> Result<Scripted, Failure>;
    /// Value on an input port; `None` if no live edge ended there.
    fn input_port(&self, port: usize) -> Option<Value>;
    /// Evaluates a function value with `$item` and `$index` set.
    fn call(&mut self, function: u32, item: &Value, index: usize) -> Result<Value, Failure>;
    /// Whether what a function value gives with `$item` and `$index` set is truthy.
    fn holds(&mut self, function: u32, item: &Value, index: usize) -> Result<bool, Failure> {
        Ok(self.call(function, item, index)?.truthy())
    }
    /// Evaluates a function value as it stands, without an item of its own.
    fn call_plain(&mut self, function: u32) -> Result<Value, Failure>;
    /// Evaluates a function value with `$a` and `$b` set.
    fn call_pair(&mut self, function: u32, first: &Value, second: &Value) -> Result<Value, Failure>;
    /// Tells which of `items`, the node's list, each element of the list comes from that leaves by a port.
    fn pair(&mut self, port: u32, items: &Array, origins: Vec<u32>);
    /// The same for lists that several edges have brought.
    fn pair_lists(&mut self, port: u32, origins: Origins);
    /// Writes a line to the run's log.
    fn log(&mut self, level: Level, message: &str);
    /// Sets the answer of the webhook that started the run; later calls only log a warning.
    fn respond(&mut self, response: &Value);
    /// 64 random bits of the run's seeded generator.
    fn random(&mut self) -> u64;
    /// When the run started, in milliseconds since 1970 UTC; "now" for the whole run.
    fn now_ms(&self) -> i64;
    /// Identifies this execution of the node: run, node, iteration and element. Same in every attempt.
    fn execution_key(&self) -> String;
}

/// A standard node's implementation.
pub type Run = fn(&Object, &mut dyn Context) -> NodeResult;
/// Continues a node whose effect has ended.
pub type Resume = fn(&Object, Value, &mut dyn Context) -> NodeResult;
