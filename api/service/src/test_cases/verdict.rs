//! Whether a run gave what was expected. Pure.

use super::case::{Case, Expectation, ExpectedError};
use super::difference::{Difference, Differences, value_of};
use super::path::Path;
use heddle_model::error::ServiceError;
use heddle_runtime::{Outcome, RunError, Status, TraceEntry};
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::collections::HashMap;
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
    let executions = executions(&outcome.trace);
    let output = |id: &String| node_output(executions.get(id.as_str())?);
    let nodes = expected.nodes.keys();
    let nodes = nodes.filter_map(|id| Some((id.clone(), output(id)?)));
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

/// The executions of each node, read once: a test may expect something of thousands of nodes, and a trace have as many entries.
fn executions(trace: &[TraceEntry]) -> HashMap<&str, Vec<&TraceEntry>> {
    let mut executions: HashMap<&str, Vec<&TraceEntry>> = HashMap::new();
    for entry in trace {
        executions.entry(entry.node_id.as_str()).or_default().push(entry);
    }
    executions
}

/// A node's output, or those of all its executions if it had several; `None`: it has given none.
fn node_output(executions: &[&TraceEntry]) -> Option<Value> {
    let mut executions = executions.iter().copied();
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

#[cfg(test)]
mod tests {
    use super::{executions, node_output};
    use heddle_runtime::TraceEntry;
    use serde_json::value::to_raw_value;
    use serde_json::{Value, json};

    fn entry(node_id: &str, path: &str, output: Option<u32>) -> TraceEntry {
        TraceEntry {
            node_id: node_id.to_owned(),
            path: path.to_owned(),
            started_at_ms: 0.0,
            duration_us: 0,
            fuel: 0,
            port: None,
            output: output.map(|output| to_raw_value(&output).unwrap()),
            error: None,
            pinned: false,
        }
    }

    #[test]
    fn each_node_has_its_own_executions_in_their_order() {
        let trace = [
            entry("a", "", Some(1)),
            entry("b", "list[0]", Some(2)),
            entry("c", "", None),
            entry("b", "list[1]", None),
            entry("d", "list[0]", Some(3)),
        ];
        let executions = executions(&trace);
        let output = |id: &str| node_output(executions.get(id)?);
        assert_eq!(output("a"), Some(json!(1)));
        assert_eq!(output("b"), Some(json!([2, Value::Null])));
        assert_eq!(output("c"), None);
        assert_eq!(output("d"), Some(json!([3])));
        assert_eq!(output("e"), None);
    }
}
