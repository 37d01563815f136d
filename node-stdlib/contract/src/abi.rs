//! The contract between a pattern's module, the guest standard library and the host.
//!
//! A pattern's module imports its memory, its table and the functions of [`GUEST_FUNCTIONS`] and
//! [`node_function`] from the module [`GUEST`] (the standard library's instance of the same run), and exports
//! one function, [`RUN_EXPORT`]. Only the standard library imports from the module [`HOST`].
//!
//! **Values** cross as `i32` handles into the guest's value stack. Handles 0 to 3 are the fixed values
//! `undefined`, `null`, `false` and `true`; a negative one is the constant `!handle` of the plan; every other one
//! is valid until the function that made it returns to the run loop. A handle out of range reads as `undefined`:
//! a hostile module can only confuse itself.
//!
//! **Failures** in expression functions do not branch: the first failure is kept by the guest, the operation
//! returns `undefined`, and whoever called the compiled function looks for a pending failure when it returns.
//! Expressions have no effects, so what is computed after the first failure is never seen.
//!
//! **Functions of an expression** (`x => x.id`) are function values among the arguments of a call, which calls them
//! before it returns. They are `() -> v` like the others and read their parameters by [`parameter`]; names that their
//! own body declares are set by `let`. `up` counts the functions between, so inner ones see the outer ones' parameters.
//! The guest calls nothing more once a failure is kept.
//!
//! **A run**: the host instantiates the standard library, then the pattern, and calls `run(trigger)`, `trigger`
//! being the plan's index of the node that fired. `run` reserves room for its data ([`reserve`]), copies its one
//! passive data segment there (the plan, see [`crate::plan`]), keeps the address of the expression site in a
//! global, appends its two dispatchers to the table, and calls `start(base, length, table_base, trigger)`, which
//! returns when the run has ended. Compiled functions are named in the plan and in function values by number;
//! the dispatcher at `table_base` calls the node function of that number, the one after it the function value.
//! (A function that is itself in a table costs a trampoline when it is compiled and set-up in every run.)
//!
//! **Functions of numbers**: a function that only computes with numbers also has a form that takes and gives numbers as such,
//! for where what it is called for is numbers. It can't fail, and calls nothing but functions of numbers. The dispatcher of
//! these, the third in the table, is there if the module has any; the function's number says that it has one, by
//! [`GIVES_NUMBER`] or [`GIVES_TRUTH`]. The numbers are the first two arguments of a function of an expression, `$item` and
//! `$index` of a parameter that is evaluated for each item, `$input` and `$index` of a node that executes for each.
//!
//! **Sites**: before it evaluates an expression, compiled code stores the index of its site (for messages) at the
//! address that `site_address` gives.
//!
//! [`reserve`]: GUEST_FUNCTIONS
//! [`parameter`]: GUEST_FUNCTIONS

use heddle_javascript::protocol;

/// Grows whenever modules need something of the guest that those before don't have. Checked when a program is loaded.
pub const ABI_VERSION: u32 = 7;
/// Modules from this version on still run as they did.
pub const ABI_VERSION_MIN: u32 = 2;
/// From this version on there is [`crate::plan::NodeKind::Composite`].
pub const ABI_VERSION_COMPOSITES: u32 = 3;
/// From this version on there is `lenient`.
pub const ABI_VERSION_LENIENT: u32 = 4;
/// From this version on there are graphs of items ([`crate::plan::Node::items`]).
pub const ABI_VERSION_ITEMS: u32 = 5;
/// From this version on there are [`NUMBERS_FUNCTIONS`].
pub const ABI_VERSION_NUMBERS: u32 = 6;
/// From this version on there are functions of numbers ([`GIVES_NUMBER`]).
pub const ABI_VERSION_OF_NUMBERS: u32 = 7;

/// Numbers without a handle, texts and objects in one go, and paths of `$item` and of parameters.
pub const NUMBERS_FUNCTIONS: &[&str] = &[
    "object_8",
    "item_path",
    "parameter_path",
    "parameter_number",
    "input_number",
    "item_number",
    "number_of",
    "from_number",
    "remainder_of",
    "power_of",
    "math",
    "text_begin",
    "text_append",
    "text_show",
    "text_end",
];

/// Module name from which a pattern imports.
pub const GUEST: &str = "heddle";
/// Module name from which the standard library imports.
pub const HOST: &str = "host";
/// The guest's memory export, imported by patterns under the same name.
pub const MEMORY: &str = "memory";
/// The guest's function table export, imported by patterns under the same name.
pub const TABLE: &str = "__indirect_function_table";
/// The pattern's only export: `(trigger: i32) -> ()`.
pub const RUN_EXPORT: &str = "run";
/// Custom section that holds the [`crate::manifest::Manifest`] as JSON.
pub const MANIFEST_SECTION: &str = "heddle";
/// Custom sections with the components of definitions, in the order of [`crate::manifest::Manifest::components`].
pub const COMPONENT_SECTION: &str = "heddle:component";
/// Exported i32 global: address of a `u32` in guest memory that holds the plan index of the node being
/// executed (`u32::MAX`: none), so that the host can name the node of any trap.
pub const CURRENT_NODE: &str = "CURRENT_NODE";

/// Handle of `undefined`.
pub const UNDEFINED: i32 = 0;
/// Handle of `null`.
pub const NULL: i32 = 1;
/// Handle of `false`.
pub const FALSE: i32 = 2;
/// Handle of `true`.
pub const TRUE: i32 = 3;

/// A WebAssembly value type of this interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// 32-bit integer: handles, addresses, lengths, booleans.
    I32,
    /// 64-bit integer.
    I64,
    /// Number.
    F64,
}

/// Name and signature of a function that crosses a module boundary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Function {
    /// Import and export name.
    pub name: &'static str,
    /// Parameter types.
    pub params: &'static [Type],
    /// Result types: none or one.
    pub results: &'static [Type],
}

const fn function(name: &'static str, params: &'static [Type], results: &'static [Type]) -> Function {
    Function {
        name,
        params,
        results,
    }
}

use Type::{F64, I32, I64};
const H: &[Type] = &[I32];
const HH: &[Type] = &[I32, I32];
const HHH: &[Type] = &[I32, I32, I32];
const HHHH: &[Type] = &[I32, I32, I32, I32];
const NONE: &[Type] = &[];
const NUMBER: &[Type] = &[F64];
const NUMBERS: &[Type] = &[F64, F64];

/// What a pattern's module may import from [`GUEST`], besides memory, table and [`node_function`]s.
/// `v` is a value handle, `n` a plan index.
pub const GUEST_FUNCTIONS: &[Function] = &[
    // Life of a run.
    function("reserve", H, H), // (bytes) -> address of zeroed memory, 8-aligned, kept for the run
    function("start", HHHH, NONE), // (base, length, table_base, trigger)
    function("site_address", NONE, H), // () -> address of the u32 that names the site being evaluated
    // Making values. Names are property keys, constant or computed; `names` is an index into the plan's lists.
    function("function", H, H), // (number): a compiled function as a value
    function("array", NONE, H),
    function("push", HH, NONE), // (array v, v): appends in place; only to a fresh array()
    function("push_spread", HH, NONE), // (array v, v): ...v; failure when v is not iterable
    function("object", NONE, H),
    // (names, v, …): an object of the first names with these values, in the order that the names have
    function("object_1", HH, H),
    function("object_2", HHH, H),
    function("object_3", HHHH, H),
    function("object_4", &[I32, I32, I32, I32, I32], H),
    function("object_8", &[I32, I32, I32, I32, I32, I32, I32, I32, I32], H),
    function("set", HHH, NONE), // (object v, name v, v): only on a fresh object
    function("set_spread", HH, NONE), // (object v, v): { ...v }
    // Reading values.
    function("get", HH, H),  // (v, name v): v[name]; failure when v is null or undefined
    function("path", HH, H), // (v, names): v[name][name]…
    function("input_path", H, H), // (names): the same of $input
    function("item_path", H, H), // (names): the same of $item
    function("parameter_path", HHH, H), // (functions between, index, names): the same of a function's parameter
    function("is_nullish", H, H),       // -> i32 0 or 1, for ?. and ??
    function("truthy", H, H),           // -> i32 0 or 1
    // Operators, with JavaScript's meaning; each gives a value handle.
    function("add", HH, H),
    function("subtract", HH, H),
    function("multiply", HH, H),
    function("divide", HH, H),
    function("remainder", HH, H),
    function("power", HH, H),
    function("negate", H, H),
    function("plus", H, H), // unary +
    function("not", H, H),  // ! (a boolean handle)
    function("bit_not", H, H),
    function("bit_and", HH, H),
    function("bit_or", HH, H),
    function("bit_xor", HH, H),
    function("shift_left", HH, H),
    function("shift_right", HH, H),
    function("shift_right_unsigned", HH, H),
    function("less", HH, H),
    function("less_equal", HH, H),
    function("greater", HH, H),
    function("greater_equal", HH, H),
    function("equal", HH, H), // ==
    function("not_equal", HH, H),
    function("strict_equal", HH, H), // ===
    function("strict_not_equal", HH, H),
    function("type_of", H, H),
    function("in", HH, H),
    function("to_string", H, H), // ToString, for ${} in a template literal
    function("text", H, H), // text of a value among other text: "" for null and undefined, JSON for objects
    function("concat", HH, H), // of two strings
    // Numbers as such. ToNumber fails as operators do, and is NaN then.
    function("number_of", H, NUMBER),
    function("input_number", NONE, NUMBER), // of $input
    function("item_number", NONE, NUMBER),  // of $item
    function("from_number", NUMBER, H),
    function("remainder_of", NUMBERS, NUMBER), // a % b
    function("power_of", NUMBERS, NUMBER),     // a ** b
    function("math", &[I32, F64], NUMBER),     // (global, number): a function of one number
    // A text part by part; texts within a part of another are whole before it goes on.
    function("text_begin", NONE, NONE),
    function("text_append", H, NONE), // (v): its ToString
    function("text_show", H, NONE),   // (v): its text as by `text`
    function("text_end", NONE, H),
    // Calls. A method or global function is named by its number, see `value::methods`. Up to three arguments are
    // handles, of which `count` are given; else they are one array.
    function("call_method", &[I32, I32, I32, I32, I32, I32], H), // (receiver v, method, count, a v, b v, c v)
    function("call_method_with", HHH, H),                        // (receiver v, method, array v)
    function("call_global", &[I32, I32, I32, I32, I32], H),      // (global, count, a v, b v, c v)
    function("call_global_with", HH, H),                         // (global, array v)
    function("lacks_method", HH, H), // (v, method) -> i32 0 or 1: v.method is nullish, for v.method?.()
    // What the JavaScript engine evaluates: (source of a function v, arguments v as an array) -> what it returned.
    function("script", HH, H),
    // A part that is evaluated before it is known whether it is needed: () -> i32 0 or 1: a failure is kept;
    // (that, part v) -> [part], or the message with which it failed, which is no failure then.
    function("has_failed", NONE, H),
    function("attempted", HH, H),
    // (v): the value of a whole expression of a pattern in which none fails its node: if it has failed, `undefined`.
    function("lenient", H, H),
    // In a function of an expression, which a method calls.
    function("parameter", HH, H),             // (functions between, index)
    function("parameter_number", HH, NUMBER), // ToNumber of that
    function("let", HH, NONE),                // (index, v): gives the innermost function's parameter a value
    // Names.
    function("input", NONE, H),      // $input, $json
    function("input_list", NONE, H), // $input.all(), where a node executes for each of a list
    function("item", NONE, H),       // $item
    function("index", NONE, H),      // $index
    function("first", NONE, H),      // $a
    function("second", NONE, H),     // $b
    function("trigger", NONE, H),    // $trigger
    function("run", NONE, H),        // $run
    function("vars", NONE, H),       // $vars
    function("secret", H, H),        // $secrets.NAME: (name v)
    function("error", NONE, H),      // $error
    function("node_output", H, H),   // $nodes["id"], $("Label"): (n)
    function("node_item", H, H),     // $("Label").item: (n)
    function("random", NONE, H),     // $random()
    function("uuid", NONE, H),       // $uuid()
    // Bookkeeping.
    function("emit", HH, NONE), // (port index, v): a value leaves a definition's output port
];

/// Guest function of a standard node: `node_<Type>(parameters v)`. The parameters are one object; a parameter
/// evaluated for each item is a function value in it.
pub fn node_function(node_type: &str) -> String {
    format!("node_{node_type}")
}

/// Type of every compiled node function: `() -> ()`. It evaluates the node's parameters into an object and calls
/// the node's guest function (or `emit` for an expression definition).
pub const NODE_BODY: (&[Type], &[Type]) = (NONE, NONE);
/// Type of a compiled function value (a parameter evaluated later or for each item): `() -> v`.
pub const FUNCTION_BODY: (&[Type], &[Type]) = (NONE, H);
/// Type of the dispatcher of node functions: `(number) -> ()`.
pub const NODE_DISPATCHER: (&[Type], &[Type]) = (H, NONE);
/// Type of the dispatcher of function values: `(number) -> v`.
pub const FUNCTION_DISPATCHER: (&[Type], &[Type]) = (H, H);
/// Type of a function's form for numbers: `(first, second) -> number`.
pub const NUMBERS_BODY: (&[Type], &[Type]) = (NUMBERS, NUMBER);
/// Type of the dispatcher of these: `(number, first, second) -> number`.
pub const NUMBERS_DISPATCHER: (&[Type], &[Type]) = (&[I32, F64, F64], NUMBER);
/// Set in the number of a function that has a form for numbers and gives a number.
pub const GIVES_NUMBER: u32 = 1 << 31;
/// Set in the number of a function that has a form for numbers and gives `true` or `false`, of which the form gives 1 or 0.
pub const GIVES_TRUTH: u32 = 1 << 30;
/// What is a function's number without these.
pub const FUNCTION_NUMBER: u32 = GIVES_TRUTH - 1;

/// What the standard library imports from [`HOST`]. All may end the run by a trap when a limit is reached.
pub const HOST_FUNCTIONS: &[Function] = &[
    // (which: 0 event, 1 context) -> length in bytes of the JSON text; the context is described in `machine`.
    function("input_length", H, H),
    // (which, address): copies it.
    function("input_read", HH, NONE),
    // (node, kind ptr, len, key ptr, len, request ptr, len) -> effect id from 0. Starts it; does not wait. The key is
    // the same for the same effect in every execution of the run, see `machine`.
    function("effect_start", &[I32, I32, I32, I32, I32, I32, I32], H),
    // () -> id << 32 | length of its result. Waits until any effect that was started has ended.
    function("effect_wait", NONE, &[I64]),
    // (id, address): copies the result's JSON: {"ok": value} or {"error": {"code", "message"}}.
    function("effect_take", HH, NONE),
    // (level 0 debug .. 3 error, node, ptr, len)
    function("log", HHHH, NONE),
    // () -> memory in bytes that the engine may use << 32 | index in the guest's table of the first of the
    // functions of [`ENGINE_FUNCTIONS`]. Starts the run's JavaScript engine. Called at most once.
    function("engine_open", NONE, &[I64]),
    // (node, ptr, len, address in the engine's memory): copies; what the engine logs from now on is the node's.
    function("engine_write", HHHH, NONE),
    // (address in the engine's memory, len, ptr): copies.
    function("engine_read", HHH, NONE),
    // (ptr, len): JSON {status, headers, body, bodyType} for the caller of a webhook. Called at most once.
    function("respond", HH, NONE),
    // (status, ptr, len): 0 completed: the output's JSON; 1 failed: {message, code, nodeId};
    // 2 paused: {breakpoint: {nodeId, input}, pinnedNodes}. The last call of a run, but that 1 may be followed by
    // 3: {path, input, truncated}, what the node that failed had been given.
    function("finish", HHH, NONE),
    // Only when the plan asks for a trace. (node, path ptr, path len) -> token; the path names the iteration
    // ("" outside loops, "orders[3].lines[0]" within).
    function("trace_begin", HHH, H),
    // (token): the node waits for an effect / goes on; fuel is counted only in between.
    function("trace_pause", H, NONE),
    function("trace_resume", H, NONE),
    // (token, kind 0 output 1 error 2 pinned, port index or -1, ptr, len): JSON of the value or of the error.
    function("trace_end", &[I32, I32, I32, I32, I32], NONE),
];

/// What the host puts into the guest's table when it starts the JavaScript engine, in this order: exports of the
/// engine's module, see `heddle_javascript::protocol`.
pub const ENGINE_FUNCTIONS: &[&str] = &[
    protocol::CONFIGURE,
    protocol::RESERVE,
    protocol::LOAD,
    protocol::CALL,
    protocol::RESUME,
    protocol::RESULT,
];

/// The opaque text that stands for a secret inside the guest. `nonce` is fresh for every run, so that an event
/// can't smuggle in a working reference. The host replaces it when an effect leaves the sandbox.
pub fn secret_reference(name: &str, nonce: &str) -> String {
    format!("heddle-secret({name};{nonce})")
}

/// Error codes that heddle itself gives. `HTTP_<status>` and a Throw's own codes come on top.
pub mod code {
    /// An expression failed (`null.x`, a non-iterable spread, …).
    pub const EXPRESSION: &str = "EXPRESSION";
    /// A parameter's value at run time is not what the node takes.
    pub const PARAMETER: &str = "PARAMETER";
    /// A JavaScript node's code failed without a code of its own.
    pub const JAVASCRIPT: &str = "JAVASCRIPT";
    /// A component failed without a code of its own, or its output can't be used.
    pub const COMPONENT: &str = "COMPONENT";
    /// A Throw node without a code of its own.
    pub const THROWN: &str = "THROWN";
    /// JSON, base64, dates … that can't be read.
    pub const PARSE: &str = "PARSE";
    /// The run or an effect took too long.
    pub const TIMEOUT: &str = "TIMEOUT";
    /// The run used all its fuel.
    pub const OUT_OF_FUEL: &str = "OUT_OF_FUEL";
    /// The run asked for more memory than it may have.
    pub const OUT_OF_MEMORY: &str = "OUT_OF_MEMORY";
    /// The run's table grew past its limit.
    pub const TABLE_LIMIT: &str = "TABLE_LIMIT";
    /// Calls nested too deeply.
    pub const STACK_OVERFLOW: &str = "STACK_OVERFLOW";
    /// JSON nested too deeply.
    pub const DEPTH_LIMIT: &str = "DEPTH_LIMIT";
    /// Too many log lines or bytes.
    pub const LOG_LIMIT: &str = "LOG_LIMIT";
    /// Output or response too large.
    pub const OUTPUT_LIMIT: &str = "OUTPUT_LIMIT";
    /// Too many effects.
    pub const EFFECT_LIMIT: &str = "EFFECT_LIMIT";
    /// The module's manifest does not grant this effect, secret or host.
    pub const NOT_PERMITTED: &str = "NOT_PERMITTED";
    /// A connection or secret that isn't there.
    pub const CONNECTION_MISSING: &str = "CONNECTION_MISSING";
    /// The address is private, loopback, link-local or metadata.
    pub const EGRESS_DENIED: &str = "EGRESS_DENIED";
    /// The request could not be sent or its answer not read.
    pub const HTTP_FAILED: &str = "HTTP_FAILED";
    /// An OAuth 2.0 server gave no token for a connection.
    pub const OAUTH_FAILED: &str = "OAUTH_FAILED";
    /// A language model, or its service, refused to answer.
    pub const CHAT_REFUSED: &str = "CHAT_REFUSED";
    /// A language model's answer is not the JSON that it should be.
    pub const CHAT_JSON: &str = "CHAT_JSON";
    /// A database could not be reached, or refused a statement.
    pub const SQL_FAILED: &str = "SQL_FAILED";
    /// A query gave more rows, or larger ones, than it may.
    pub const SQL_ROW_LIMIT: &str = "SQL_ROW_LIMIT";
    /// A mail server could not be reached, or did not take a message.
    pub const MAIL_FAILED: &str = "MAIL_FAILED";
    /// An operation of KeyValue does not fit the value.
    pub const KEY_VALUE_TYPE: &str = "KEY_VALUE_TYPE";
    /// A key or value is too large, or there are too many.
    pub const KEY_VALUE_LIMIT: &str = "KEY_VALUE_LIMIT";
    /// There is no such file, or the run may not read it.
    pub const FILE_NOT_FOUND: &str = "FILE_NOT_FOUND";
    /// A file is too large, or the part of it that is read at once.
    pub const FILE_LIMIT: &str = "FILE_LIMIT";
    /// A response that is read while it arrives is not open, or no longer.
    pub const STREAM_GONE: &str = "STREAM_GONE";
    /// An entry of such a response is too large, or too many of them are open.
    pub const STREAM_LIMIT: &str = "STREAM_LIMIT";
    /// A token's signature, algorithm, issuer or audience is not what is expected.
    pub const JWT_INVALID: &str = "JWT_INVALID";
    /// A token's time is over.
    pub const JWT_EXPIRED: &str = "JWT_EXPIRED";
    /// A token's time has not come.
    pub const JWT_NOT_YET_VALID: &str = "JWT_NOT_YET_VALID";
    /// The event is no JSON, or too large.
    pub const EVENT: &str = "EVENT";
    /// The pattern has no such trigger, or none at all.
    pub const TRIGGER: &str = "TRIGGER";
    /// The pattern to call is not there, not deployed, or has no OnCall.
    pub const CALL_TARGET: &str = "CALL_TARGET";
    /// The inputs of a call are not what the called pattern's call interface takes.
    pub const CALL_INPUTS: &str = "CALL_INPUTS";
    /// Patterns called each other too deeply.
    pub const CALL_DEPTH: &str = "CALL_DEPTH";
    /// What the node needs is there only where patterns are deployed.
    pub const NO_SERVICE: &str = "NO_SERVICE";
    /// The results of the run's effects are more than is kept of them.
    pub const JOURNAL_LIMIT: &str = "JOURNAL_LIMIT";
    /// The run was cancelled.
    pub const CANCELLED: &str = "CANCELLED";
    /// A component trapped; or the module is broken or trapped by itself: this heddle's compiler did not make it.
    pub const TRAP: &str = "TRAP";
    /// A bug in heddle.
    pub const INTERNAL: &str = "INTERNAL";
}
