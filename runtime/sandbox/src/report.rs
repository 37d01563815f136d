//! What comes of a run in its sandbox. Nothing in it is masked: that is for whoever has the run's secrets.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

/// What a run leaves behind.
#[derive(Clone, Debug)]
pub struct Report {
    /// How it ended.
    pub end: End,
    /// What a RespondToWebhook node gave.
    pub response: Option<Box<RawValue>>,
    /// Log lines in order.
    pub logs: Vec<LogLine>,
    /// What each node did, if compiled with a trace; in order of their starts.
    pub trace: Vec<TraceEntry>,
    /// How many more entries there was no room for.
    pub trace_omitted: usize,
    /// Fuel used, roughly instructions.
    pub fuel_used: u64,
    /// Peak linear memory in bytes.
    pub memory_bytes_peak: usize,
}

/// How a run ended.
#[derive(Clone, Debug)]
pub enum End {
    /// With this output, as JSON.
    Completed(Box<RawValue>),
    /// With an error.
    Failed {
        error: RunError,
        /// Whether a node failed, and not a limit of the run or a trap.
        in_node: bool,
        /// What the node that failed had been given, if it is known.
        input: Option<Box<FailedInput>>,
    },
    /// Before a breakpoint.
    Paused {
        /// `{nodeId, input}`.
        breakpoint: Box<RawValue>,
        /// Outputs of all that has run.
        pinned_nodes: Box<RawValue>,
    },
    /// Nothing but parked effects is left.
    Parked,
}

/// Why a run failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunError {
    /// The message, for people.
    #[schema(example = "the server answered 404")]
    pub message: String,
    /// `OUT_OF_FUEL`, `EXPRESSION`, `HTTP_404`, ….
    pub code: String,
    /// Node that failed or was executing.
    pub node_id: Option<String>,
}

/// What a node had been given that failed.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct FailedInput {
    /// Where the node's execution stood within loops and composites, as in a trace: `orders[3]`; empty outside of them.
    pub path: String,
    /// `$input`; of a large one its beginning.
    #[schema(value_type = Value)]
    pub input: Box<RawValue>,
    /// Whether that is not all of it.
    pub truncated: bool,
}

/// A line of the run's log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LogLine {
    /// `debug`, `info`, `warn` or `error`.
    #[schema(example = "info")]
    pub level: &'static str,
    /// The line's text, with secrets masked.
    pub message: String,
    /// Node that wrote it.
    pub node_id: Option<String>,
}

/// One execution of a node.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TraceEntry {
    /// Id of the node.
    pub node_id: String,
    /// Iteration within loops (`orders[3].lines[0]`), and further attempts of composites (`pay~2`); empty outside.
    pub path: String,
    /// Milliseconds since the run's start.
    pub started_at_ms: f64,
    /// Wall time in microseconds, waiting included.
    pub duration_us: u64,
    /// Fuel used by the node itself.
    pub fuel: u64,
    /// Output port by name; `None` when none was live.
    pub port: Option<String>,
    /// Value that left, or `null`; cut to a marked excerpt when large.
    #[schema(value_type = Value)]
    pub output: Option<Box<RawValue>>,
    /// Why it failed.
    #[schema(value_type = Option<RunError>)]
    pub error: Option<Box<RawValue>>,
    /// The value was pinned.
    pub pinned: bool,
}
