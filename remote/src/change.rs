//! What has changed from one document to another, in words: by node, by edge, by field.

use crate::document::Document;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// Characters of a value that are shown.
const SHOWN_MAX: usize = 60;
/// Characters of it that are shown before the first difference.
const BEFORE_MAX: usize = 15;

/// One change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Something that was not there.
    Added(String),
    /// Something that is gone.
    Removed(String),
    /// Something that is otherwise, with where in it, and from what to what.
    Changed {
        /// The node, edge or definition, as people know it.
        what: String,
        /// Which of its fields; empty: all of it.
        field: String,
        /// What it was, cut.
        from: String,
        /// What it is, cut.
        to: String,
    },
    /// Nodes that stand elsewhere, and are otherwise as they were.
    Moved(usize),
}

/// All changes. None: the documents say the same.
pub fn changes(from: &Document, to: &Document) -> Vec<Change> {
    let mut found = Vec::new();
    fields("the pattern", "", &from.fields, &to.fields, &mut found);
    graphs("", &from.graph, &to.graph, &mut found);
    for name in names(&from.definitions, &to.definitions) {
        let what = format!("definition {name}");
        match (from.definitions.get(name), to.definitions.get(name)) {
            (None, _) => found.push(Change::Added(what)),
            (_, None) => found.push(Change::Removed(what)),
            (Some(Value::Object(from)), Some(Value::Object(to))) => {
                let (mut from, mut to) = (from.clone(), to.clone());
                let graph = |definition: &mut Map<String, Value>| match definition.shift_remove("graphData") {
                    Some(Value::Object(graph)) => graph,
                    _ => Map::new(),
                };
                let (old, new) = (graph(&mut from), graph(&mut to));
                fields(&what, "", &from, &to, &mut found);
                graphs(&format!("{what}, "), &old, &new, &mut found);
            }
            (Some(from), Some(to)) => one(&what, "", from, to, &mut found),
        }
    }
    found
}

/// What has changed in an object, `what`, that is not a pattern.
pub fn of_members(what: &str, from: &Map<String, Value>, to: &Map<String, Value>) -> Vec<Change> {
    let mut found = Vec::new();
    fields(what, "", from, to, &mut found);
    found
}

fn names<'a>(from: &'a Map<String, Value>, to: &'a Map<String, Value>) -> BTreeSet<&'a String> {
    from.keys().chain(to.keys()).collect()
}

fn graphs(within: &str, from: &Map<String, Value>, to: &Map<String, Value>, found: &mut Vec<Change>) {
    let mut moved = 0;
    let (old, new) = (by_id(from), by_id(to));
    for (key, before) in &old {
        let Some(after) = new.get(key) else {
            found.push(Change::Removed(format!("{within}{}", named(before))));
            continue;
        };
        if before == after {
            continue;
        }
        let what = format!("{within}{}", named(after));
        let (Value::Object(before), Value::Object(after)) = (before, after) else {
            one(&what, "", before, after, found);
            continue;
        };
        let changed = found.len();
        let plain = |node: &Map<String, Value>| {
            let mut node = node.clone();
            node.shift_remove("position");
            node
        };
        fields(&what, "", &plain(before), &plain(after), found);
        if found.len() == changed && before.get("position") != after.get("position") {
            moved += 1;
        }
    }
    let added = new.iter().filter(|(key, _)| !old.contains_key(*key));
    found.extend(added.map(|(_, after)| Change::Added(format!("{within}{}", named(after)))));
    let edges = |graph| -> BTreeSet<String> { list(graph, "edges").into_iter().map(edge).collect() };
    let (old, new) = (edges(from), edges(to));
    found.extend(
        new.difference(&old)
            .map(|edge| Change::Added(format!("{within}edge {edge}"))),
    );
    found.extend(
        old.difference(&new)
            .map(|edge| Change::Removed(format!("{within}edge {edge}"))),
    );
    let rest = |graph: &Map<String, Value>| {
        let mut graph = graph.clone();
        graph.retain(|name, _| !matches!(name.as_str(), "nodes" | "edges"));
        graph
    };
    fields(&format!("{within}the graph"), "", &rest(from), &rest(to), found);
    if moved > 0 {
        found.push(Change::Moved(moved));
    }
}

/// The nodes by id; in unfinished graphs, where an id may occur twice, with how often it has occurred before.
fn by_id(graph: &Map<String, Value>) -> BTreeMap<(String, usize), &Value> {
    let mut nodes = BTreeMap::new();
    for node in list(graph, "nodes") {
        let id = node["id"].as_str().unwrap_or_default().to_owned();
        let mut key = (id, 0);
        while nodes.contains_key(&key) {
            key.1 += 1;
        }
        nodes.insert(key, node);
    }
    nodes
}

fn list<'a>(graph: &'a Map<String, Value>, name: &str) -> Vec<&'a Value> {
    graph
        .get(name)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .collect()
}

/// `node where (“Where to?”)`.
fn named(node: &Value) -> String {
    let id = node["id"].as_str().unwrap_or("without an id");
    match node["data"]["label"].as_str() {
        Some(label) => format!("node {id} (“{}”)", cut(label, 0)),
        None => format!("node {id}"),
    }
}

fn edge(edge: &Value) -> String {
    let end = |id: &str, port: &str| {
        let id = edge[id].as_str().unwrap_or("?");
        match edge[port].as_str() {
            Some(port) => format!("{id}.{port}"),
            None => id.to_owned(),
        }
    };
    format!(
        "{} → {}",
        end("source", "sourceHandle"),
        end("target", "targetHandle")
    )
}

/// As deep as the values are, which is what readers of JSON allow.
fn fields(
    what: &str,
    within: &str,
    from: &Map<String, Value>,
    to: &Map<String, Value>,
    found: &mut Vec<Change>,
) {
    for name in names(from, to) {
        let field = if within.is_empty() {
            name.clone()
        } else {
            format!("{within}.{name}")
        };
        // What everything of a node is in need not be said.
        let field = if field == "data" { String::new() } else { field };
        let nothing = Value::Null;
        let (old, new) = (
            from.get(name).unwrap_or(&nothing),
            to.get(name).unwrap_or(&nothing),
        );
        match (old, new) {
            (Value::Object(old), Value::Object(new)) => fields(what, &field, old, new, found),
            (old, new) => one(what, &field, old, new, found),
        }
    }
}

fn one(what: &str, field: &str, from: &Value, to: &Value, found: &mut Vec<Change>) {
    if from != to {
        let (from, to) = (shown(from), shown(to));
        let same = from.chars().zip(to.chars()).take_while(|(a, b)| a == b).count();
        found.push(Change::Changed {
            what: what.to_owned(),
            field: field.to_owned(),
            from: cut(&from, same),
            to: cut(&to, same),
        });
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_owned(),
        value => value.to_string(),
    }
}

/// An excerpt in which the first difference is visible, after `same` characters. Text of others gives a terminal no orders.
fn cut(text: &str, same: usize) -> String {
    let plain: Vec<char> = text.replace(char::is_control, " ").chars().collect();
    let start = match plain.len() > SHOWN_MAX {
        true => same.min(plain.len()).saturating_sub(BEFORE_MAX),
        false => 0,
    };
    let shown: String = plain.iter().skip(start).take(SHOWN_MAX).collect();
    let before = if start > 0 { "…" } else { "" };
    let after = if start + SHOWN_MAX < plain.len() {
        "…"
    } else {
        ""
    };
    format!("{before}{shown}{after}")
}
