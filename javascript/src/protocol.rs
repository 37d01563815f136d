//! What the engine's module exports and imports.
//!
//! An instance serves one run and one thread. The host calls [`CONFIGURE`] once, then any sequence of loads,
//! calls and resumptions. Each of them begins with [`RESERVE`], which gives the address where the host writes
//! its input, and ends with a [`Status`]; [`RESULT`] then tells where the answer is: one value in the form of
//! [`crate::wire`]. Input and answer are valid until the next call of the module.
//!
//! | export | type | |
//! | --- | --- | --- |
//! | `configure` | `(memory_bytes_max: i32, now_ms: f64) -> ()` | limit of the engine's own heap; the time that `Date` shows throughout the run |
//! | `reserve` | `(bytes: i32) -> address: i32` | room for the input; 0: more than [`INPUT_BYTES_MAX`] |
//! | `load` | `(kind: i32, bytes: i32) -> status: i32` | the input is source text in UTF-8; the answer is the function's number |
//! | `call` | `(function: i32, seed: i64, bytes: i32) -> status: i32` | the input is an array of arguments; the answer is what the function returned |
//! | `resume` | `(call: i32, request: i32, bytes: i32) -> status: i32` | the input is `{ok: value}` or `{error: {code, message}}` |
//! | `result` | `() -> i64` | address << 32 \| length of the answer |
//!
//! The only import is `log: (level: i32, address: i32, bytes: i32) -> ()` from the module [`HOST`]: a line of
//! UTF-8 text for the run's log, level 0 (debug) to 3 (error). Limits on time, instructions and memory are the
//! host's: the instance lives in the run's store.
//!
//! **Calls.** An `async` function, or one that returns a promise, may have to wait for what only the host can
//! do. The answer is then `{call, requests: [{id, kind, request}]}` with [`Status::Pending`]: the requests made
//! since the last answer. The host carries them out in any order and hands each result to `resume`, which
//! answers like `call`. Several calls may be pending at a time. When nothing is left to wait for and the promise
//! has not settled, the call fails.
//!
//! **Failures** are `{name, message, code, line, column, stack}`; `line` and `column` count from 1 in the source
//! that was loaded and are 0 when unknown, `code` is the thrown error's own if it is a string, else "".
//!
//! **Two realms.** Modules and expressions have globals of their own: what a module does to `Array.prototype`
//! does not change what an expression means. `eval` and `Function` are there; they reach nothing that the code
//! itself could not. What is built into the realm of expressions can't be changed, so that one evaluation leaves
//! nothing to the next; an expression's function is called without `this` and can't wait for promises.

/// Module name of the engine's import.
pub const HOST: &str = "host";
/// Its only import.
pub const LOG: &str = "engine_log";
/// The engine's memory.
pub const MEMORY: &str = "memory";
/// Once per instance, first.
pub const CONFIGURE: &str = "configure";
/// Room for the input.
pub const RESERVE: &str = "reserve";
/// Source to function.
pub const LOAD: &str = "load";
/// Function and arguments to value.
pub const CALL: &str = "call";
/// Answers a request.
pub const RESUME: &str = "resume";
/// Where the answer is.
pub const RESULT: &str = "result";

/// More input in one piece is refused.
pub const INPUT_BYTES_MAX: usize = 16 << 20;
/// Larger answers are refused: the call fails with a RangeError.
pub const ANSWER_BYTES_MAX: usize = 16 << 20;

/// Name of the user's source in stacks.
pub const SOURCE_NAME: &str = "code";

/// What kind of source is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum SourceKind {
    /// An ES module whose default export is the function.
    Module = 0,
    /// An expression whose value is the function, evaluated in strict mode.
    Expression = 1,
}

/// How a call of the engine ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Status {
    /// The answer is the value.
    Done = 0,
    /// The answer is the failure.
    Failed = 1,
    /// The answer is what the call waits for.
    Pending = 2,
}

impl Status {
    /// The status that an export returned.
    pub fn from_code(code: i32) -> Option<Self> {
        match code {
            0 => Some(Status::Done),
            1 => Some(Status::Failed),
            2 => Some(Status::Pending),
            _ => None,
        }
    }
}
