//! JSON as text that changes little when its meaning does: one node a block, one edge a line, whatever is short on one line.
//! The same value always gives the same text.

use serde_json::Value;

/// Columns of a line, unless a single text is longer.
const COLUMNS: usize = 100;

/// How many levels are always written over several lines, of an object such as a graph: the graph, its list of nodes, the node.
const ALWAYS_BROKEN: usize = 4;

/// A pattern's text.
pub fn pattern(value: &Value) -> String {
    let mut out = String::new();
    write(&mut out, value, 0, true);
    out.push('\n');
    out
}

/// Text with each member on a line of its own.
pub fn by_line(value: &Value) -> String {
    let Value::Object(members) = value else {
        return format!("{value}\n");
    };
    if members.is_empty() {
        return "{}\n".to_owned();
    }
    let lines: Vec<String> = members
        .iter()
        .map(|(name, member)| format!("  {}: {}", Value::from(name.as_str()), on_one_line(member)))
        .collect();
    format!("{{\n{}\n}}\n", lines.join(",\n"))
}

/// Depth is that of the JSON text that the value was read from, which readers limit.
fn write(out: &mut String, value: &Value, depth: usize, may_break: bool) {
    let line = on_one_line(value);
    let is_long = depth * 2 + line.len() > COLUMNS;
    let is_structure = match value {
        Value::Object(members) => !members.is_empty(),
        Value::Array(elements) => !elements.is_empty(),
        _ => false,
    };
    if !is_structure || !may_break || !(is_long || depth < ALWAYS_BROKEN) {
        out.push_str(&line);
        return;
    }
    match value {
        Value::Object(members) => {
            out.push('{');
            for (at, (name, member)) in members.iter().enumerate() {
                new_line(out, at, depth + 1);
                out.push_str(&Value::from(name.as_str()).to_string());
                out.push_str(": ");
                // An edge is a line, however long.
                let is_edges = name == "edges";
                match member {
                    Value::Array(edges) if is_edges && !edges.is_empty() => lines(out, edges, depth + 1),
                    _ => write(out, member, depth + 1, true),
                }
            }
            close(out, '}', depth);
        }
        Value::Array(elements) => {
            out.push('[');
            for (at, element) in elements.iter().enumerate() {
                new_line(out, at, depth + 1);
                write(out, element, depth + 1, true);
            }
            close(out, ']', depth);
        }
        _ => out.push_str(&line),
    }
}

fn lines(out: &mut String, elements: &[Value], depth: usize) {
    out.push('[');
    for (at, element) in elements.iter().enumerate() {
        new_line(out, at, depth + 1);
        out.push_str(&on_one_line(element));
    }
    close(out, ']', depth);
}

fn new_line(out: &mut String, at: usize, depth: usize) {
    if at > 0 {
        out.push(',');
    }
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", depth));
}

fn close(out: &mut String, bracket: char, depth: usize) {
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", depth));
    out.push(bracket);
}

fn on_one_line(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let members: Vec<String> = members
                .iter()
                .map(|(name, member)| format!("{}: {}", Value::from(name.as_str()), on_one_line(member)))
                .collect();
            format!("{{{}}}", members.join(", "))
        }
        Value::Array(elements) => {
            let elements: Vec<String> = elements.iter().map(on_one_line).collect();
            format!("[{}]", elements.join(", "))
        }
        plain => plain.to_string(),
    }
}
