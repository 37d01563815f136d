//! Whether a run gave what was expected. Pure.

use super::case::{Case, Expectation, ExpectedError};
use super::difference::{Difference, Differences, value_of};
use super::path::Path;
use heddle_model::error::ServiceError;
use heddle_runtime::{Outcome, RunError, Status, TraceEntry};
use serde::Serialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

/// How a test ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The run gave what was expected.
    Passed,
    /// It gave something else.
    Failed,
    /// There was no run, or it was ended before it could be compared.
    Errored,
}

impl Verdict {
    /// Its name, as it is stored.
    pub const fn name(self) -> &'static str {
        match self {
            Verdict::Passed => "passed",
            Verdict::Failed => "failed",
            Verdict::Errored => "errored",
        }
    }
}

/// What a run gave, compared with what was expected.
#[derive(Debug)]
pub struct Compared {
    /// Whether it is that.
    pub verdict: Verdict,
    /// The first places at which it is not.
    pub differences: Vec<Difference>,
    /// How many more there are.
    pub omitted: usize,
    /// What to expect for this run to pass.
    pub actual: Expectation,
}

/// Compares a run with what its case expects.
pub fn compare(case: &Case, outcome: &Outcome) -> Result<Compared, ServiceError> {
    let ignored = case.ignored()?;
    let actual = given(&case.expect, outcome);
    let found = Differences::between(
        &expected_value(&case.expect, &actual),
        &actual_value(&case.expect, &actual),
        &Path::default(),
        &ignored,
    );
    Ok(Compared {
        verdict: match found.is_empty() {
            true => Verdict::Passed,
            false => Verdict::Failed,
        },
        differences: found.listed,
        omitted: found.omitted,
        actual,
    })
}

/// What the run gave of all that can be expected.
fn given(expected: &Expectation, outcome: &Outcome) -> Expectation {
    let nodes = expected.nodes.keys();
    let nodes = nodes.filter_map(|id| Some((id.clone(), node_output(&outcome.trace, id)?)));
    let nodes: Map<String, Value> = nodes.collect();
    match &outcome.error {
        Some(error) => Expectation {
            output: None,
            nodes,
            error: Some(expected_error(error)),
        },
        None => Expectation {
            output: match outcome.status {
                Status::Completed => Some(outcome.output.as_deref().map_or(Value::Null, value_of)),
                Status::Failed | Status::Paused | Status::Parked => None,
            },
            nodes,
            error: None,
        },
    }
}

fn expected_error(error: &RunError) -> ExpectedError {
    ExpectedError {
        code: Some(error.code.to_string()),
        message: Some(error.message.clone()),
        node_id: error.node_id.clone(),
    }
}

/// A node's output, or those of all its executions if it had several; `None`: it has given none.
fn node_output(trace: &[TraceEntry], node_id: &str) -> Option<Value> {
    let mut executions = trace.iter().filter(|entry| entry.node_id == node_id);
    let output = |entry: &TraceEntry| entry.output.as_deref().map(value_of);
    let first = executions.next()?;
    let rest: Vec<Value> = executions
        .map(|entry| output(entry).unwrap_or_default())
        .collect();
    if rest.is_empty() && first.path.is_empty() {
        return output(first);
    }
    let first = output(first).unwrap_or_default();
    Some(std::iter::once(first).chain(rest).collect())
}

/// What was expected, as one value to compare.
fn expected_value(expected: &Expectation, actual: &Expectation) -> Value {
    let mut fields = Map::new();
    // What a run that fails lacks besides says nothing.
    if let Some(output) = expected.output.as_ref().filter(|_| actual.error.is_none()) {
        fields.insert("output".to_owned(), output.clone());
    }
    if !expected.nodes.is_empty() {
        fields.insert("nodes".to_owned(), Value::Object(expected.nodes.clone()));
    }
    if let Some(error) = &expected.error {
        fields.insert("error".to_owned(), json!(error));
    }
    Value::Object(fields)
}

/// What the run gave of it.
fn actual_value(expected: &Expectation, actual: &Expectation) -> Value {
    let mut fields = Map::new();
    if let Some(output) = actual.output.as_ref().filter(|_| expected.output.is_some()) {
        fields.insert("output".to_owned(), output.clone());
    }
    if !expected.nodes.is_empty() {
        fields.insert("nodes".to_owned(), Value::Object(actual.nodes.clone()));
    }
    match (&expected.error, &actual.error) {
        (Some(expected), Some(actual)) => {
            let wanted = ExpectedError {
                code: actual.code.clone().filter(|_| expected.code.is_some()),
                message: actual.message.clone().filter(|_| expected.message.is_some()),
                node_id: actual.node_id.clone().filter(|_| expected.node_id.is_some()),
            };
            fields.insert("error".to_owned(), json!(wanted));
        }
        (None, Some(actual)) => {
            fields.insert("error".to_owned(), json!(actual));
        }
        (_, None) => {}
    }
    Value::Object(fields)
}
