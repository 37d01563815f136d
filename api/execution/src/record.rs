//! What is kept of a run: everything up to a size, and a mark in place of what is cut.

use heddle_model::shown::shown_within;
use heddle_runtime::{FailedInput, LogLine, Outcome, RunError, TraceEntry};
use serde::Serialize;
use serde_json::json;
use serde_json::value::RawValue;

/// Bytes of an output that are kept.
pub const OUTPUT_BYTES_MAX: usize = 256 << 10;
/// Bytes of log lines that are kept.
pub const LOG_BYTES_MAX: usize = 128 << 10;
/// Bytes of a trace that are kept.
pub const TRACE_BYTES_MAX: usize = 512 << 10;
/// Bytes of an error's message that are kept.
const MESSAGE_BYTES_MAX: usize = 16 << 10;
/// Bytes of a cut value that are shown.
const EXCERPT_BYTES_MAX: usize = 4 << 10;

/// The JSON texts of a run's record.
#[derive(Debug, Default)]
pub struct Record {
    /// What Return gave.
    pub output: Option<String>,
    /// Why it failed.
    pub error: Option<String>,
    /// Log lines.
    pub logs: Option<String>,
    /// What each node did.
    pub trace: Option<String>,
    /// What the node that failed had been given.
    pub failed_input: Option<String>,
}

impl Record {
    /// What is kept of an outcome.
    pub fn of(outcome: &Outcome, with_trace: bool) -> Record {
        Record {
            output: outcome
                .output
                .as_deref()
                .filter(|output| output.get() != "null")
                .map(output),
            error: outcome.error.as_ref().map(error),
            logs: (!outcome.logs.is_empty()).then(|| logs(&outcome.logs)),
            trace: with_trace.then(|| trace(&outcome.trace, outcome.trace_omitted)),
            failed_input: outcome.failed_input.as_deref().map(failed_input),
        }
    }
}

fn output(output: &RawValue) -> String {
    let text = output.get();
    if text.len() <= OUTPUT_BYTES_MAX {
        return text.to_owned();
    }
    json!({ "$truncated": true, "bytes": text.len(), "excerpt": beginning(text, EXCERPT_BYTES_MAX) })
        .to_string()
}

/// An error as JSON.
pub fn error(error: &RunError) -> String {
    let message = beginning(&error.message, MESSAGE_BYTES_MAX);
    json!({ "code": error.code, "message": message, "nodeId": error.node_id }).to_string()
}

/// What a node had been given that failed. If there are events in it, their credentials are left out.
fn failed_input(failed: &FailedInput) -> String {
    let failed = FailedInput {
        input: shown_within(failed.input.clone()),
        ..failed.clone()
    };
    // Strings, a boolean and JSON: always JSON.
    serde_json::to_string(&failed).unwrap_or_default()
}

fn logs(lines: &[LogLine]) -> String {
    list(
        lines,
        (LOG_BYTES_MAX, 0),
        |omitted| json!({ "level": "warn", "message": format!("{omitted} more lines were not kept"), "nodeId": null, "truncated": true }),
    )
}

fn trace(entries: &[TraceEntry], more: usize) -> String {
    list(
        entries,
        (TRACE_BYTES_MAX, more),
        |omitted| json!({ "truncated": true, "omitted": omitted }),
    )
}

/// The first elements that fit, and a mark that tells how many did not, with `more` that are not among them.
fn list<T: Serialize>(
    elements: &[T],
    (bytes_max, more): (usize, usize),
    mark: impl Fn(usize) -> serde_json::Value,
) -> String {
    let mut text = String::from("[");
    let mut kept = 0;
    for element in elements {
        // Strings, numbers and JSON: always JSON.
        let element = serde_json::to_string(element).unwrap_or_default();
        if text.len() + element.len() > bytes_max {
            break;
        }
        text.push_str(separator(kept));
        text.push_str(&element);
        kept += 1;
    }
    let omitted = elements.len() - kept + more;
    if omitted > 0 {
        text.push_str(separator(kept));
        text.push_str(&mark(omitted).to_string());
    }
    text.push(']');
    text
}

fn separator(kept: usize) -> &'static str {
    if kept == 0 { "" } else { "," }
}

fn beginning(text: &str, bytes_max: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes_max)).unwrap_or(text)
}
