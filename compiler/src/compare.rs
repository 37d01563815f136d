//! What changed between two graphs, counted and one by one.
//!
//! Takes any JSON, since drafts may be unfinished: what has no usable id is told apart by its whole content. Knows
//! nothing of node types.

use serde_json::{Map, Value};
use std::collections::HashMap;
use std::fmt::Write;

/// Fields named for one changed node at most.
const FIELDS_MAX: usize = 50;
/// Fields of a node, an edge or the graph that say how it is drawn, not what it does.
const DRAWING: &[&str] = &[
    "position",
    "positionAbsolute",
    "selected",
    "dragging",
    "resizing",
    "measured",
    "width",
    "height",
    "zIndex",
    "viewport",
];

/// What changed from one graph to another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Nodes that only the second has.
    pub nodes_added: usize,
    /// Nodes that only the first has.
    pub nodes_removed: usize,
    /// Nodes of both that differ in more than how they are drawn.
    pub nodes_changed: usize,
    /// Edges that only the second has.
    pub edges_added: usize,
    /// Edges that only the first has.
    pub edges_removed: usize,
    /// Whether fields of the graph itself differ, such as its settings.
    pub is_graph_changed: bool,
    /// Whether anything differs in how it is drawn.
    pub is_drawing_changed: bool,
    /// Each of them: the graph, then nodes, then edges, in the order of the second graph, those that were removed
    /// last.
    pub details: Vec<Difference>,
}

/// One difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// What it is about.
    pub part: Part,
    /// What became of it.
    pub change: Change,
    /// For what changed: paths such as `data.parameters.url`, 50 at most.
    pub fields: Vec<String>,
}

/// A part of a graph.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// The graph's own fields.
    Graph,
    /// A node, by its id (or its JSON when it has none) and type.
    Node {
        /// Id.
        id: String,
        /// Type.
        node_type: Option<String>,
    },
    /// An edge, by what it connects.
    Edge(Edge),
}

/// What an edge connects; the node ids are JSON when they are no texts.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Edge {
    /// Node id.
    pub source: String,
    /// Output port.
    pub source_handle: Option<String>,
    /// Node id.
    pub target: String,
    /// Input port.
    pub target_handle: Option<String>,
}

/// What became of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Only the second graph has it.
    Added,
    /// Only the first graph has it.
    Removed,
    /// Both have it, with other fields.
    Changed,
}

/// Compares two graphs.
pub fn compare(before: &Value, after: &Value) -> Comparison {
    let mut found = Comparison::default();
    found.own_fields(before, after);
    found.nodes(before, after);
    found.edges(before, after);
    found
}

impl Comparison {
    /// The change in a few words, for example `2 nodes added, 1 edge removed`.
    pub fn summary(&self) -> String {
        let mut text = String::new();
        for (count, what, change) in [
            (self.nodes_added, "node", "added"),
            (self.nodes_removed, "node", "removed"),
            (self.nodes_changed, "node", "changed"),
            (self.edges_added, "edge", "added"),
            (self.edges_removed, "edge", "removed"),
        ] {
            if count > 0 {
                let (comma, plural) = (separator(&text), if count == 1 { "" } else { "s" });
                let _ = write!(text, "{comma}{count} {what}{plural} {change}");
            }
        }
        if self.is_graph_changed {
            let comma = separator(&text);
            let _ = write!(text, "{comma}settings changed");
        }
        if text.is_empty() {
            text.push_str(if self.is_drawing_changed {
                "layout changed"
            } else {
                "nothing changed"
            });
        }
        text
    }

    fn own_fields(&mut self, before: &Value, after: &Value) {
        let empty = Map::new();
        let (before, after) = (
            before.as_object().unwrap_or(&empty),
            after.as_object().unwrap_or(&empty),
        );
        let fields = self.differing(before, after, &["nodes", "edges"]);
        if !fields.is_empty() {
            self.is_graph_changed = true;
            self.details.push(Difference {
                part: Part::Graph,
                change: Change::Changed,
                fields,
            });
        }
    }

    fn nodes(&mut self, before: &Value, after: &Value) {
        let mut old: HashMap<String, Vec<&Value>> = HashMap::new();
        // Reversed, so that `pop` gives those of one id in their order.
        for node in elements(before, "nodes").iter().rev() {
            old.entry(node_id(node)).or_default().push(node);
        }
        for node in elements(after, "nodes") {
            let id = node_id(node);
            match old.get_mut(&id).and_then(Vec::pop) {
                None => {
                    self.nodes_added += 1;
                    self.tell(node_part(id, node), Change::Added, Vec::new());
                }
                Some(known) if known == node => {}
                Some(known) => self.changed_node(id, known, node),
            }
        }
        let mut left: HashMap<String, usize> = old.into_iter().map(|(id, rest)| (id, rest.len())).collect();
        for node in elements(before, "nodes") {
            let id = node_id(node);
            if left.get_mut(&id).is_some_and(take_one) {
                self.nodes_removed += 1;
                self.tell(node_part(id, node), Change::Removed, Vec::new());
            }
        }
    }

    fn changed_node(&mut self, id: String, before: &Value, after: &Value) {
        let fields = match (before, after) {
            (Value::Object(before), Value::Object(after)) => self.differing(before, after, &[]),
            _ => vec![String::new()],
        };
        if !fields.is_empty() {
            self.nodes_changed += 1;
            self.tell(node_part(id, after), Change::Changed, fields);
        }
    }

    fn edges(&mut self, before: &Value, after: &Value) {
        let mut old: HashMap<Edge, usize> = HashMap::new();
        for edge in elements(before, "edges") {
            *old.entry(Edge::read(edge)).or_default() += 1;
        }
        for edge in elements(after, "edges").iter().map(Edge::read) {
            if !old.get_mut(&edge).is_some_and(take_one) {
                self.edges_added += 1;
                self.tell(Part::Edge(edge), Change::Added, Vec::new());
            }
        }
        for edge in elements(before, "edges").iter().map(Edge::read) {
            if old.get_mut(&edge).is_some_and(take_one) {
                self.edges_removed += 1;
                self.tell(Part::Edge(edge), Change::Removed, Vec::new());
            }
        }
    }

    fn tell(&mut self, part: Part, change: Change, fields: Vec<String>) {
        self.details.push(Difference { part, change, fields });
    }

    /// Paths of the fields that differ, without those that say how something is drawn, which are only noted.
    fn differing(
        &mut self,
        before: &Map<String, Value>,
        after: &Map<String, Value>,
        leave_out: &[&str],
    ) -> Vec<String> {
        let mut fields = Vec::new();
        let removed = before.keys().filter(|name| !after.contains_key(*name));
        for name in after.keys().chain(removed) {
            if leave_out.contains(&name.as_str()) || before.get(name) == after.get(name) {
                continue;
            }
            if DRAWING.contains(&name.as_str()) {
                self.is_drawing_changed = true;
            } else {
                paths(name.clone(), before.get(name), after.get(name), &mut fields);
            }
        }
        fields
    }
}

fn separator(text: &str) -> &'static str {
    if text.is_empty() { "" } else { ", " }
}

/// Takes one of a count, if there is one.
fn take_one(count: &mut usize) -> bool {
    let is_there = *count > 0;
    *count = count.saturating_sub(1);
    is_there
}

/// Adds the paths below `path` at which two values differ.
fn paths(path: String, before: Option<&Value>, after: Option<&Value>, found: &mut Vec<String>) {
    if before == after || found.len() >= FIELDS_MAX {
        return;
    }
    let (Some(Value::Object(before)), Some(Value::Object(after))) = (before, after) else {
        found.push(path);
        return;
    };
    let removed = before.keys().filter(|name| !after.contains_key(*name));
    for name in after.keys().chain(removed) {
        paths(format!("{path}.{name}"), before.get(name), after.get(name), found);
    }
}

fn elements<'a>(graph: &'a Value, field: &str) -> &'a [Value] {
    graph
        .get(field)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

fn node_id(node: &Value) -> String {
    let id = node.get("id").and_then(Value::as_str);
    id.map_or_else(|| node.to_string(), str::to_owned)
}

fn node_part(id: String, node: &Value) -> Part {
    let node_type = node.get("type").and_then(Value::as_str);
    Part::Node {
        id,
        node_type: node_type.map(str::to_owned),
    }
}

impl Edge {
    fn read(edge: &Value) -> Edge {
        let text = |name: &str| match edge.get(name) {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) => Some(text.clone()),
            Some(other) => Some(other.to_string()),
        };
        if !edge.is_object() {
            return Edge {
                source: edge.to_string(),
                source_handle: None,
                target: String::new(),
                target_handle: None,
            };
        }
        Edge {
            source: text("source").unwrap_or_default(),
            source_handle: text("sourceHandle"),
            target: text("target").unwrap_or_default(),
            target_handle: text("targetHandle"),
        }
    }
}
