//! What a run does, as its sandbox tells it while it happens to a host that wants to hear it. Nothing in it is masked.

use crate::report::LogLine;
use serde_json::value::RawValue;

/// Something that a run did.
#[derive(Clone, Debug)]
pub enum WatchEvent {
    /// A node, which is told of runs compiled with a trace.
    Node(NodeEvent),
    /// A line of the log.
    Log(LogLine),
    /// So much could not be told.
    Omitted(u32),
}

impl WatchEvent {
    /// Bytes of its texts.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            WatchEvent::Omitted(_) => 0,
            WatchEvent::Log(line) => line.message.len() + line.node_id.as_ref().map_or(0, String::len),
            WatchEvent::Node(event) => {
                let of_end = match &event.phase {
                    NodePhase::Ended(end) => [&end.output, &end.error]
                        .into_iter()
                        .flatten()
                        .map(|json| json.get().len())
                        .sum(),
                    _ => 0,
                };
                event.node_id.len() + event.path.len() + of_end
            }
        }
    }
}

/// What became of an execution of a node.
#[derive(Clone, Debug)]
pub struct NodeEvent {
    /// Its place in the run's trace.
    pub execution: usize,
    pub node_id: String,
    /// Iteration within loops, as in the trace.
    pub path: String,
    /// What it does now.
    pub phase: NodePhase,
}

/// What an execution of a node does.
#[derive(Clone, Debug)]
pub enum NodePhase {
    /// It begins.
    Started,
    /// It waits, for an effect or for what is inside it.
    Waiting,
    /// It goes on.
    Resumed,
    /// It has ended.
    Ended(NodeEnd),
}

/// How an execution of a node ended.
#[derive(Clone, Debug)]
pub struct NodeEnd {
    /// Wall time in microseconds, waiting included.
    pub duration_us: u64,
    /// Fuel used by the node itself.
    pub fuel: u64,
    /// Output port by name.
    pub port: Option<String>,
    /// Value that left, as in the trace.
    pub output: Option<Box<RawValue>>,
    /// `{message, code, nodeId}`.
    pub error: Option<Box<RawValue>>,
    /// The value was pinned.
    pub pinned: bool,
}

/// The mark in the place of a value.
pub fn omitted(json: &RawValue) -> Box<RawValue> {
    let mark = format!(r#"{{"truncated":true,"bytes":{}}}"#, json.get().len());
    RawValue::from_string(mark).unwrap_or_else(|_| RawValue::NULL.to_owned())
}
