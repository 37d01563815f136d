//! Parameters that expressions read: `$node["X"].parameter["a"]` and `$parameter.a` are what stands there, if it is a plain value.

use crate::expression::quoted;
use crate::scan::{Stretch, stretches};
use crate::workflow::{Node, Workflow};
use serde_json::{Map, Value};
use std::collections::HashMap;

/// Places of a workflow at which a value takes the place of its name, and bytes of such a value.
const PLACES_MAX: usize = 200;
const BYTES_MAX: usize = 1_000;

/// Nodes by their names, so that no reference searches them all.
type ByName<'w> = HashMap<&'w str, &'w Node>;

/// The workflow with the values in their places; none if it reads none.
pub(crate) fn inlined(workflow: &Workflow) -> Option<Workflow> {
    if !workflow.nodes.iter().any(|node| reads_some(&node.parameters)) {
        return None;
    }
    let nodes = workflow.nodes.iter();
    let by_name: ByName<'_> = nodes.map(|node| (node.name.as_str(), node)).collect();
    let mut changed = workflow.clone();
    let mut left = PLACES_MAX;
    for (node, own) in changed.nodes.iter_mut().zip(&workflow.nodes) {
        let mut open: Vec<&mut Value> = node.parameters.values_mut().collect();
        while let Some(value) = open.pop() {
            match value {
                Value::String(text) if is_reader(text) => *text = replaced(text, own, &by_name, &mut left),
                Value::Array(items) => open.extend(items),
                Value::Object(fields) => open.extend(fields.values_mut()),
                _ => {}
            }
        }
    }
    Some(changed)
}

fn is_reader(text: &str) -> bool {
    // Pages of HTML are texts in which braces count without a sign before them.
    let is_template = text.starts_with('=') || text.contains("{{");
    is_template && (text.contains(".parameter") || text.contains("$parameter"))
}

fn reads_some(parameters: &Map<String, Value>) -> bool {
    let mut open: Vec<&Value> = parameters.values().collect();
    while let Some(value) = open.pop() {
        match value {
            Value::String(text) if is_reader(text) => return true,
            Value::Array(items) => open.extend(items),
            Value::Object(fields) => open.extend(fields.values()),
            _ => {}
        }
    }
    false
}

fn replaced(text: &str, own: &Node, by_name: &ByName<'_>, left: &mut usize) -> String {
    let mut written = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('$').filter(|_| *left > 0) {
        let (before, found) = rest.split_at(at);
        written.push_str(before);
        match value(found, own, by_name) {
            Some((literal, behind)) => {
                *left -= 1;
                written.push_str(&literal);
                rest = behind;
            }
            None => {
                written.push('$');
                rest = found.get(1..).unwrap_or_default();
            }
        }
    }
    written.push_str(rest);
    written
}

/// The value that a text begins with the name of, and what is behind the name.
fn value<'t>(text: &'t str, own: &Node, by_name: &ByName<'_>) -> Option<(String, &'t str)> {
    let (node, mut rest) = match text.strip_prefix("$parameter") {
        Some(rest) => (own, rest),
        None => {
            let (name, rest) = step(text.strip_prefix("$node")?)?;
            (*by_name.get(name)?, rest.strip_prefix(".parameter")?)
        }
    };
    let mut found: Option<&Value> = None;
    while let Some((name, behind)) = step(rest) {
        let next = match found {
            None => node.parameters.get(name),
            Some(Value::Array(items)) => name.parse::<usize>().ok().and_then(|at| items.get(at)),
            Some(value) => value.get(name),
        };
        let Some(next) = next else { break };
        (found, rest) = (Some(next), behind);
    }
    // Of what is chosen from a list, n8n gives the value.
    let found = found.map(|found| match found.get("__rl") {
        Some(Value::Bool(true)) => found.get("value").unwrap_or(found),
        _ => found,
    });
    let literal = match found? {
        Value::String(text) if !text.starts_with('=') && text.len() <= BYTES_MAX => quoted(text),
        Value::String(text) => format!("({})", of_named_nodes(text)?),
        Value::Number(number) => number.to_string(),
        Value::Bool(flag) => flag.to_string(),
        _ => return None,
    };
    Some((literal, rest))
}

/// The only expression of a text, if it means the same wherever it stands.
fn of_named_nodes(text: &str) -> Option<&str> {
    let inner = text.strip_prefix("={{")?.strip_suffix("}}")?.trim();
    if inner.is_empty() || inner.len() > BYTES_MAX {
        return None;
    }
    let own = [
        "$json",
        "$input",
        "$item",
        "$data",
        "$binary",
        "parameter",
        "{{",
        "}}",
        ";",
    ];
    let is_own = own.iter().any(|name| inner.contains(name));
    // A comment up to the end of its line would take what follows with it.
    let is_comment = |stretch: &Stretch<'_>| matches!(stretch, Stretch::Text(text) if text.starts_with("//"));
    let has_comment = inner.contains("//") && stretches(inner).iter().any(is_comment);
    (!is_own && !has_comment).then_some(inner)
}

/// `.name`, `["name"]` or `[0]` at the start of a text, and what is behind it.
fn step(text: &str) -> Option<(&str, &str)> {
    if let Some(inner) = text.strip_prefix('[') {
        let digits = inner.bytes().take_while(u8::is_ascii_digit).count();
        if let Some((index, behind)) = inner.split_at_checked(digits).filter(|_| digits > 0) {
            return Some((index, behind.strip_prefix(']')?));
        }
        let quote = inner.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        let (name, behind) = inner.get(1..)?.split_once(quote)?;
        return Some((name, behind.strip_prefix(']')?));
    }
    let inner = text.strip_prefix('.')?;
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$');
    let end = inner.find(|c| !is_part(c)).unwrap_or(inner.len());
    (end > 0).then(|| inner.split_at(end))
}
