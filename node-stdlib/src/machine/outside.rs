//! What passes between the run loop and the outside.

use heddle_javascript::protocol;

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
    /// After [`Status::Failed`]: what the node that failed had been given, `{path, input, truncated}`.
    FailedInput = 3,
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
