//! The standard nodes: what each does with its parameters and inputs.
//!
//! A node is a function from parameters and a [`Context`] to an [`Outcome`]. Knows nothing of edges, frames,
//! retries or WebAssembly; [`crate::machine`] calls it and carries the outcome on.

use crate::value::{Object, Text, Value};
use std::borrow::Cow;

/// Why a node failed: what `$error` and an error port show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// One of [`crate::abi::code`], `HTTP_<status>` or a Throw's own.
    pub code: Cow<'static, str>,
    /// For a person: what happened, which parameter, what to do.
    pub message: String,
    /// What the node's `retry` is to do about it.
    pub again: Again,
}

/// When a node that failed may be tried again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Again {
    /// As its policy says.
    #[default]
    ByPolicy,
    /// Not before this many milliseconds, however short the policy's wait is.
    After(u32),
    /// Not in this run.
    Never,
}

impl Failure {
    /// A failure with one of heddle's own codes.
    pub fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self::with_code(Cow::Borrowed(code), message)
    }

    /// A failure with any code.
    pub fn with_code(code: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Failure {
            code: code.into(),
            message: message.into(),
            again: Again::ByPolicy,
        }
    }
}

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
#[derive(Clone, Debug)]
pub enum Outcome {
    /// Values leave; the node is done.
    Emit(Emission),
    /// The host does `kind` with `request`; its result comes to the node's [`NodeType::resume`].
    Effect {
        /// `http`, `hmac`, `hash`, ….
        kind: &'static str,
        /// JSON object; secret references inside are replaced by the host.
        request: Value,
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

/// What a node may ask of its run.
pub trait Context {
    /// `$input`: the value on the only wired port, or an object by port name when several are wired.
    fn input(&self) -> Value;
    /// `$item`: of `each`, or of the innermost loop; undefined elsewhere.
    fn item(&self) -> Value;
    /// Executes a step of the run's JavaScript engine.
    fn javascript(&mut self, step: Script<'_>) -> Result<Scripted, Failure>;
    /// Value on an input port; `None` if no live edge ended there.
    fn input_port(&self, port: usize) -> Option<Value>;
    /// Evaluates a function value with `$item` and `$index` set.
    fn call(&mut self, function: u32, item: &Value, index: usize) -> Result<Value, Failure>;
    /// Evaluates a function value as it stands, without an item of its own.
    fn call_plain(&mut self, function: u32) -> Result<Value, Failure>;
    /// Evaluates a function value with `$a` and `$b` set.
    fn call_pair(&mut self, function: u32, first: &Value, second: &Value) -> Result<Value, Failure>;
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

/// Calls `$macro!` with every standard node: `(Type, run function, resume function or none)`.
/// The guest's exports are made from it, and a test holds it against the catalogue. Triggers are not in it: the
/// run loop emits the event for them. A node may have a `#[cfg]` before it: then it is only where its crates are.
#[macro_export]
macro_rules! for_each_node {
    ($macro:ident) => {
        $macro! {
            // FLOW
            (If, $crate::nodes::flow::if_node, none),
            (Switch, $crate::nodes::flow::switch, none),
            (Merge, $crate::nodes::flow::merge, none),
            (ForEach, $crate::nodes::flow::for_each, none),
            (Loop, $crate::nodes::flow::loop_node, none),
            (Wait, $crate::nodes::flow::wait, $crate::nodes::flow::waited),
            (WaitForCallback, $crate::nodes::flow::wait_for_callback, $crate::nodes::flow::called_back),
            (Throw, $crate::nodes::flow::throw, none),
            (Return, $crate::nodes::flow::return_node, none),
            (RespondToWebhook, $crate::nodes::flow::respond_to_webhook, none),
            (CallPattern, $crate::nodes::flow::call_pattern, $crate::nodes::flow::called),
            (NoOp, $crate::nodes::flow::no_op, none),
            // DATA
            (SetFields, $crate::nodes::fields::set_fields, none),
            (PickFields, $crate::nodes::fields::pick_fields, none),
            (RenameFields, $crate::nodes::fields::rename_fields, none),
            (Transform, $crate::nodes::fields::transform, none),
            (Filter, $crate::nodes::lists::filter, none),
            (Sort, $crate::nodes::lists::sort, none),
            (Limit, $crate::nodes::lists::limit, none),
            (Unique, $crate::nodes::lists::unique, none),
            (Aggregate, $crate::nodes::aggregate::aggregate, none),
            (Join, $crate::nodes::join::join, none),
            (Flatten, $crate::nodes::lists::flatten, none),
            (Compare, $crate::nodes::join::compare, none),
            // TEXT
            (Template, $crate::nodes::template::template, none),
            (Regex, $crate::nodes::regex::regex, none),
            (Json, $crate::nodes::json::json, none),
            (Csv, $crate::nodes::csv::csv, none),
            (Xml, $crate::nodes::xml::xml, none),
            (Yaml, $crate::nodes::yaml::yaml, none),
            #[cfg(any(target_arch = "wasm32", test))]
            (Html, $crate::nodes::html::html, none),
            (Markdown, $crate::nodes::markdown::markdown, none),
            (Base64, $crate::nodes::base64::base64, none),
            (Url, $crate::nodes::url::url, none),
            (DateTime, $crate::nodes::date_time::date_time, none),
            (Hash, $crate::nodes::hash::hash, $crate::nodes::hash::digested),
            (Hmac, $crate::nodes::hash::hmac, $crate::nodes::hash::digested),
            (Jwt, $crate::nodes::jwt::jwt, $crate::nodes::jwt::resume),
            (Uuid, $crate::nodes::uuid::uuid, none),
            (Random, $crate::nodes::random::random, none),
            // CODE
            (JavaScript, $crate::nodes::javascript::javascript, none),
            (Component, $crate::nodes::component::component, $crate::nodes::component::resume),
            // EFFECTS
            (HttpRequest, $crate::nodes::http_request::http_request, $crate::nodes::http_request::resume),
            (SqlQuery, $crate::nodes::sql_query::sql_query, none),
            (SendEmail, $crate::nodes::send_email::send_email, none),
            (KeyValue, $crate::nodes::key_value::key_value, none),
            (ChatCompletion, $crate::nodes::chat_completion::chat_completion, $crate::nodes::chat_completion::answered),
            (Log, $crate::nodes::log::log, none),
        }
    };
}

pub mod aggregate;
pub mod base64;
pub mod chat_completion;
pub mod component;
pub mod csv;
pub mod date_time;
pub mod fields;
pub mod flow;
pub mod hash;
// Natively only for its tests, since its crates are large.
#[cfg(any(target_arch = "wasm32", test))]
pub mod html;
pub mod http_request;
pub mod javascript;
pub mod join;
pub mod json;
pub mod jwt;
pub mod key_value;
pub mod keys;
pub mod lists;
pub mod log;
pub mod markdown;
pub mod parameters;
pub mod random;
pub mod regex;
pub mod send_email;
pub mod sql_query;
pub mod template;
mod text;
pub mod url;
pub mod uuid;
pub mod xml;
pub mod yaml;

macro_rules! table {
    ($($(#[$cfg:meta])? ($name:ident, $run:path, $($resume:tt)+)),* $(,)?) => {
        /// The implementation of a standard node type, and how it goes on after an effect.
        pub fn lookup(node_type: &str) -> Option<(Run, Option<Resume>)> {
            match node_type {
                $($(#[$cfg])? stringify!($name) => Some(($run, resume!($($resume)+))),)*
                _ => None,
            }
        }
    };
}

macro_rules! resume {
    (none) => {
        None
    };
    ($resume:path) => {
        Some($resume)
    };
}

for_each_node!(table);
