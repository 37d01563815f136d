//! Measures the size of a graph before it is processed. Knows nothing about its meaning.

use crate::definitions;
use crate::diagnostic::{Diagnostic, Severity};
use crate::findings::Findings;
use crate::options::GraphLimits;
use serde_json::Value;

/// Reports what is over the limits; nothing else is said of such a graph. What composites add up to is counted once
/// they are known.
pub(crate) fn check(graph: &Value, definitions: &Value, limits: GraphLimits, found: &mut Findings) {
    if has_more_values([graph, definitions], limits.values_max) {
        let message = format!(
            "the graph and its definitions have more than {} values, which is the limit",
            limits.values_max
        );
        let help = "store large tables elsewhere, and let the pattern read them from there".to_owned();
        found.push(Diagnostic::error("too-large", message).with_help(help));
        return;
    }
    one(None, graph, limits, found);
    for (name, definition) in definitions.as_object().into_iter().flatten() {
        for side in ["inputs", "outputs"] {
            too_many(
                Some(name),
                length(definition, side),
                (side, limits.ports_max),
                found,
            );
        }
        if let Some(graph) = definition.get("graphData") {
            one(Some(name), graph, limits, found);
        }
    }
}

/// A graph, which is a definition's if there is a name.
fn one(name: Option<&str>, graph: &Value, limits: GraphLimits, found: &mut Findings) {
    for (field, max) in [("nodes", limits.nodes_max), ("edges", limits.edges_max)] {
        too_many(name, length(graph, field), (field, max), found);
    }
    let nodes = graph.get("nodes").and_then(Value::as_array);
    for node in nodes.into_iter().flatten() {
        let cases = node.pointer("/data/parameters/cases").and_then(Value::as_array);
        let count = cases.map_or(0, Vec::len);
        too_many(name, count, ("cases in one node", limits.ports_max), found);
    }
}

fn length(value: &Value, field: &str) -> usize {
    value.get(field).and_then(Value::as_array).map_or(0, Vec::len)
}

fn too_many(name: Option<&str>, count: usize, (what, max): (&str, usize), found: &mut Findings) {
    if count <= max {
        return;
    }
    found.report(Severity::Error, || {
        let message = format!("the graph has {count} {what}; {max} are allowed");
        let diagnostic = Diagnostic::error("too-large", message);
        match name {
            Some(name) => definitions::within(name, diagnostic),
            None => diagnostic,
        }
    });
}

/// Whether there are more values than that, one within the other or not.
fn has_more_values(roots: [&Value; 2], max: usize) -> bool {
    let mut open = roots.to_vec();
    let mut count = 0;
    while let Some(value) = open.pop() {
        count += 1;
        let within = match value {
            Value::Array(items) => items.len(),
            Value::Object(fields) => fields.len(),
            _ => 0,
        };
        // Before they are put on the list.
        if count + open.len() + within > max {
            return true;
        }
        match value {
            Value::Array(items) => open.extend(items),
            Value::Object(fields) => open.extend(fields.values()),
            _ => {}
        }
    }
    false
}
