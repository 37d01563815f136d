//! Holds a compiled run against the reference.

use crate::evaluate::{Execution, Expected, Log};
use crate::js::{Js, text_matches};
use heddle_runtime::{LogLine, Outcome, Status, TraceEntry};
use serde_json::value::RawValue;

/// The first difference, in words; `None` when both agree.
pub fn difference(expected: &Expected, outcome: &Outcome) -> Option<String> {
    let actual_error = outcome
        .error
        .as_ref()
        .map(|e| (e.code.clone(), e.node_id.clone().unwrap_or_default()));
    executions(&expected.executions, &outcome.trace)
        .or_else(|| logs(&expected.logs, &outcome.logs))
        .or_else(|| {
            (expected.error != actual_error).then(|| {
                format!(
                    "error: expected {:?}, the run gave {:?}",
                    expected.error, outcome.error
                )
            })
        })
        .or_else(|| {
            let status = if expected.error.is_some() {
                Status::Failed
            } else {
                Status::Completed
            };
            (status != outcome.status)
                .then(|| format!("status: expected {status:?}, the run gave {:?}", outcome.status))
        })
        .or_else(|| output(expected.output.as_ref(), outcome.output.as_deref()))
}

fn output(expected: Option<&Js>, actual: Option<&RawValue>) -> Option<String> {
    let agrees = match (expected, actual) {
        (Some(expected), Some(actual)) => expected.matches(&parsed(actual)),
        (None, None) => true,
        (None, Some(actual)) => actual.get() == "null",
        (Some(_), None) => false,
    };
    let expected = expected.map(Js::stringify);
    (!agrees).then(|| {
        format!(
            "output: expected {expected:?}, the run gave {:?}",
            actual.map(RawValue::get)
        )
    })
}

fn parsed(json: &RawValue) -> Js {
    Js::from_json(&serde_json::from_str(json.get()).unwrap())
}

fn logs(expected: &[Log], actual: &[LogLine]) -> Option<String> {
    let agrees = |(expected, actual): (&Log, &LogLine)| {
        expected.level == actual.level
            && Some(&expected.node) == actual.node_id.as_ref()
            && text_matches(&expected.message, &actual.message)
    };
    // How often an expression is evaluated is not what the reference is about.
    let is_told = |line: &&LogLine| !line.message.starts_with("An expression gave nothing: ");
    let actual: Vec<&LogLine> = actual.iter().filter(is_told).collect();
    if expected.len() == actual.len() && expected.iter().zip(actual.iter().copied()).all(agrees) {
        return None;
    }
    Some(format!("logs: expected {expected:#?}\nthe run gave {actual:#?}"))
}

fn executions(expected: &[Execution], actual: &[TraceEntry]) -> Option<String> {
    for index in 0..expected.len().max(actual.len()) {
        let agrees = match (expected.get(index), actual.get(index)) {
            (Some(expected), Some(actual)) => execution_agrees(expected, actual),
            _ => false,
        };
        if !agrees {
            let ran: Vec<_> = actual
                .iter()
                .map(|entry| format!("{}@{}", entry.node_id, entry.path))
                .collect();
            let should: Vec<_> = expected
                .iter()
                .map(|entry| format!("{}@{}", entry.node, entry.path))
                .collect();
            return Some(format!(
                "execution {index}: expected {:#?}\nthe run gave {:#?}\nexpected order {should:?}\nthe run's order {ran:?}",
                expected.get(index),
                actual.get(index)
            ));
        }
    }
    None
}

fn execution_agrees(expected: &Execution, actual: &TraceEntry) -> bool {
    let result_agrees = match (&expected.error, &expected.emitted) {
        // A trace shows an error itself, not where it went.
        (Some(error), _) => actual
            .error
            .as_ref()
            .is_some_and(|actual| error.matches(&parsed(actual))),
        (None, None) => actual.port.is_none() && actual.error.is_none(),
        (None, Some((port, value))) => {
            Some(port) == actual.port.as_ref()
                && actual.error.is_none()
                && actual
                    .output
                    .as_ref()
                    .is_some_and(|actual| value.matches(&parsed(actual)) || begins_as(value, actual))
        }
    };
    result_agrees
        && expected.node == actual.node_id
        && expected.path == actual.path
        && expected.pinned == actual.pinned
}

/// Whether this is what a trace has of a value that is too long for it.
fn begins_as(value: &Js, actual: &RawValue) -> bool {
    let told: serde_json::Value = serde_json::from_str(actual.get()).unwrap();
    let text = value.stringify();
    let excerpt = told["excerpt"].as_str();
    told["truncated"] == true
        && told["bytes"] == text.len()
        && excerpt.is_some_and(|excerpt| text.starts_with(excerpt))
}
