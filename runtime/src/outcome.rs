//! The outcome of a run.

use crate::journal::Entry;
use heddle_sandbox::{FailedInput, LogLine, RunError, TraceEntry};
use serde::Serialize;
use serde_json::value::RawValue;

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Every node that could run has.
    Completed,
    /// See [`Outcome::error`].
    Failed,
    /// Stopped before a breakpoint; see [`Outcome::breakpoint`].
    Paused,
    /// Waits for longer than it is kept in memory; see [`Outcome::wake_at_ms`].
    Parked,
}

/// A run's end, with all that is recorded of it.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// How it ended.
    pub status: Status,
    /// What Return gave, as JSON; `None` without one.
    pub output: Option<Box<RawValue>>,
    /// Why it failed.
    pub error: Option<RunError>,
    /// `{nodeId, input}` when paused.
    pub breakpoint: Option<Box<RawValue>>,
    /// Outputs of all that has run, when paused: pins with which to continue.
    pub pinned_nodes: Option<Box<RawValue>>,
    /// When a parked run is to be executed again, in milliseconds since 1970 UTC; `None`: when something comes for it.
    pub wake_at_ms: Option<i64>,
    /// When failed: the execution of a node whose effects led to the failure. A further attempt that is to do better
    /// has to forget the entries of its journal whose keys begin with this and a slash.
    pub failed_execution: Option<String>,
    /// When failed at a node: what that had been given, if it is known.
    pub failed_input: Option<Box<FailedInput>>,
    /// `{status, headers, body, bodyType}` if a RespondToWebhook node ran.
    pub response: Option<Box<RawValue>>,
    /// Log lines in order.
    pub logs: Vec<LogLine>,
    /// What each node did, if compiled with a trace; in order of their starts.
    pub trace: Vec<TraceEntry>,
    /// How many more entries there was no room for.
    pub trace_omitted: usize,
    /// Results of effects that its journal does not have yet, since they could be had again; in order. Without them it
    /// can be continued, but not replayed.
    pub unsaved: Vec<Entry>,
    /// What it used.
    pub usage: Usage,
}

impl Outcome {
    /// Of a run that could not begin, and used nothing.
    pub fn refused(error: RunError) -> Self {
        Outcome {
            status: Status::Failed,
            output: None,
            error: Some(error),
            breakpoint: None,
            pinned_nodes: None,
            wake_at_ms: None,
            failed_execution: None,
            failed_input: None,
            response: None,
            logs: Vec::new(),
            trace: Vec::new(),
            trace_omitted: 0,
            unsaved: Vec::new(),
            usage: Usage::default(),
        }
    }
}

/// What a run used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// Fuel used, roughly instructions.
    pub fuel_used: u64,
    /// Peak linear memory in bytes.
    pub memory_bytes_peak: usize,
    /// Effects started.
    pub effects: u32,
    /// Wall time in microseconds.
    pub duration_us: u64,
}
