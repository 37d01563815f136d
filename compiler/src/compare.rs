//! The differences between two graphs, as counts and one by one.
//!
//! Accepts any JSON, because drafts may be unfinished: elements without a usable id are identified by their whole
//! content. Both graphs are read as text, which takes little more memory than their size. Knows nothing about node
//! types.

use crate::text::{self, Fingerprints};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet, VecDeque};
use std::fmt::Write;

/// What is said of equal graphs.
pub const NOTHING_CHANGED: &str = "nothing changed";
/// Nodes of a graph that can be compared.
pub const NODES_MAX: usize = 10_000;
/// Edges, likewise.
pub const EDGES_MAX: usize = 50_000;
/// Definitions that a pattern may have.
pub const DEFINITIONS_MAX: usize = 1_000;
/// Maximum number of differences that are listed; all are counted.
pub const DETAILS_MAX: usize = 1_000;
/// Fields named for one changed node at most.
const FIELDS_MAX: usize = 50;
/// Fields of an object within a node that are told apart; a larger one differs as a whole.
const FIELDS_READ_MAX: usize = 5_000;
/// Levels of a path.
const LEVELS_MAX: usize = 8;
/// Bytes of what stands for an id that is missing, and of a path.
const NAME_BYTES_MAX: usize = 500;
/// Bytes of all paths, beyond which fields within others are not told apart: each of many may begin with the same long name.
const PATHS_BYTES_MAX: usize = 1 << 20;
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
    /// Definitions that only the second has.
    pub definitions_added: usize,
    /// Definitions that only the first has.
    pub definitions_removed: usize,
    /// Definitions of both that differ.
    pub definitions_changed: usize,
    /// Whether fields of the graph itself differ, such as its settings.
    pub is_graph_changed: bool,
    /// Whether anything differs in how it is drawn.
    pub is_drawing_changed: bool,
    /// Each of them, at most [`DETAILS_MAX`]: the graph, then nodes, then edges, then definitions, in the order of the
    /// second, those that were removed last.
    pub details: Vec<Difference>,
}

/// One difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The part of the graph that differs.
    pub part: Part,
    /// How it changed.
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
    Node { id: String, node_type: Option<String> },
    /// An edge, by what it connects.
    Edge(Edge),
    /// A definition of a node type, by its name.
    Definition(String),
}

/// What an edge connects; the node ids are JSON if they are not strings.
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

/// How a part of a graph changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Only the second graph has it.
    Added,
    /// Only the first graph has it.
    Removed,
    /// Both have it, with other fields.
    Changed,
}

/// Why two graphs were not compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Incomparable {
    /// One of them has too many nodes or edges.
    #[error(
        "only graphs of at most {NODES_MAX} nodes, {EDGES_MAX} edges and {DEFINITIONS_MAX} definitions are compared"
    )]
    TooLarge,
    /// One of them is not valid JSON.
    #[error("one of the graphs can't be read")]
    Unreadable,
}

impl From<text::TooMany> for Incomparable {
    fn from(_: text::TooMany) -> Self {
        Incomparable::TooLarge
    }
}

/// Compares two graphs, given as JSON.
pub fn compare(before: &str, after: &str) -> Result<Comparison, Incomparable> {
    let mut comparing = Comparing::default();
    let (before, after) = (read(before)?, read(after)?);
    comparing.own_fields(before, after);
    comparing.nodes(before, after)?;
    comparing.edges(before, after)?;
    Ok(comparing.found)
}

fn read(text: &str) -> Result<&RawValue, Incomparable> {
    serde_json::from_str(text).map_err(|_| Incomparable::Unreadable)
}

impl Comparison {
    /// Compares the definitions as well, given as JSON. `None` is the same as an empty object.
    pub fn and_definitions(
        self,
        before: Option<&str>,
        after: Option<&str>,
    ) -> Result<Comparison, Incomparable> {
        if before == after {
            return Ok(self);
        }
        let mut comparing = Comparing {
            found: self,
            ..Comparing::default()
        };
        let (before, after) = (before.unwrap_or("{}"), after.unwrap_or("{}"));
        comparing.definitions(read(before)?, read(after)?)?;
        Ok(comparing.found)
    }

    /// The change in a few words, for example `2 nodes added, 1 edge removed`.
    pub fn summary(&self) -> String {
        let mut text = String::new();
        for (count, what, change) in [
            (self.nodes_added, "node", "added"),
            (self.nodes_removed, "node", "removed"),
            (self.nodes_changed, "node", "changed"),
            (self.edges_added, "edge", "added"),
            (self.edges_removed, "edge", "removed"),
            (self.definitions_added, "definition", "added"),
            (self.definitions_removed, "definition", "removed"),
            (self.definitions_changed, "definition", "changed"),
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
                NOTHING_CHANGED
            });
        }
        text
    }

    fn add(&mut self, part: Part, change: Change, fields: Vec<String>) {
        if self.details.len() < DETAILS_MAX {
            self.details.push(Difference { part, change, fields });
        }
    }
}

#[derive(Default)]
struct Comparing {
    found: Comparison,
    fingerprints: Fingerprints,
    /// Bytes of the paths that were found.
    paths_bytes: usize,
}

type Fields<'a> = [(Cow<'a, str>, &'a RawValue)];

impl Comparing {
    fn own_fields(&mut self, before: &RawValue, after: &RawValue) {
        let own = |graph| text::fields(graph, FIELDS_READ_MAX).unwrap_or_default();
        let fields = self.differing(&own(before), &own(after), &["nodes", "edges"]);
        if !fields.is_empty() {
            self.found.is_graph_changed = true;
            self.found.add(Part::Graph, Change::Changed, fields);
        }
    }

    fn nodes(&mut self, before: &RawValue, after: &RawValue) -> Result<(), Incomparable> {
        let (before, after) = (
            elements(before, "nodes", NODES_MAX)?,
            elements(after, "nodes", NODES_MAX)?,
        );
        let mut old: HashMap<Cow<'_, str>, VecDeque<&RawValue>> = HashMap::new();
        for node in &before {
            old.entry(node_id(node)).or_default().push_back(node);
        }
        for node in after {
            let id = node_id(node);
            match old.get_mut(&id).and_then(VecDeque::pop_front) {
                None => {
                    self.found.nodes_added += 1;
                    self.found.add(node_part(node), Change::Added, Vec::new());
                }
                Some(known) if known.get() == node.get() => {}
                Some(known) => self.changed_node(known, node),
            }
        }
        let mut left: HashMap<Cow<'_, str>, usize> =
            old.into_iter().map(|(id, rest)| (id, rest.len())).collect();
        for node in &before {
            if left.get_mut(&node_id(node)).is_some_and(take_one) {
                self.found.nodes_removed += 1;
                self.found.add(node_part(node), Change::Removed, Vec::new());
            }
        }
        Ok(())
    }

    fn definitions(&mut self, before: &RawValue, after: &RawValue) -> Result<(), Incomparable> {
        let read = |value| text::fields(value, DEFINITIONS_MAX).ok_or(Incomparable::TooLarge);
        let (before, after) = (read(before)?, read(after)?);
        for (name, before, after) in pairs(&before, &after) {
            let (change, fields) = match (before, after) {
                (Some(before), Some(after)) => (Change::Changed, self.differing_fields(before, after)),
                (None, _) => (Change::Added, Vec::new()),
                (_, None) => (Change::Removed, Vec::new()),
            };
            if change == Change::Changed && fields.is_empty() {
                continue;
            }
            let count = match change {
                Change::Added => &mut self.found.definitions_added,
                Change::Removed => &mut self.found.definitions_removed,
                Change::Changed => &mut self.found.definitions_changed,
            };
            *count += 1;
            self.found.add(Part::Definition(cut(name)), change, fields);
        }
        Ok(())
    }

    /// Paths of the fields in which two objects differ; one empty path for values that are not objects.
    fn differing_fields(&mut self, before: &RawValue, after: &RawValue) -> Vec<String> {
        match (
            text::fields(before, FIELDS_READ_MAX),
            text::fields(after, FIELDS_READ_MAX),
        ) {
            (Some(before), Some(after)) => self.differing(&before, &after, &[]),
            _ if self.fingerprints.are_equal(before, after) => Vec::new(),
            _ => vec![String::new()],
        }
    }

    fn changed_node(&mut self, before: &RawValue, after: &RawValue) {
        let fields = self.differing_fields(before, after);
        if !fields.is_empty() {
            self.found.nodes_changed += 1;
            self.found.add(node_part(after), Change::Changed, fields);
        }
    }

    fn edges(&mut self, before: &RawValue, after: &RawValue) -> Result<(), Incomparable> {
        let read = |graph| -> Result<Vec<Edge>, Incomparable> {
            let edges = elements(graph, "edges", EDGES_MAX)?;
            Ok(edges.into_iter().map(Edge::read).collect())
        };
        let (before, after) = (read(before)?, read(after)?);
        let mut old: HashMap<&Edge, usize> = HashMap::new();
        for edge in &before {
            *old.entry(edge).or_default() += 1;
        }
        for edge in &after {
            if !old.get_mut(edge).is_some_and(take_one) {
                self.found.edges_added += 1;
                self.found
                    .add(Part::Edge(edge.clone()), Change::Added, Vec::new());
            }
        }
        for edge in &before {
            if old.get_mut(edge).is_some_and(take_one) {
                self.found.edges_removed += 1;
                self.found
                    .add(Part::Edge(edge.clone()), Change::Removed, Vec::new());
            }
        }
        Ok(())
    }

    /// Paths of the fields that differ, without those that say how something is drawn, which are only noted.
    fn differing(&mut self, before: &Fields<'_>, after: &Fields<'_>, leave_out: &[&str]) -> Vec<String> {
        let mut fields = Vec::new();
        for (name, before, after) in pairs(before, after) {
            if leave_out.contains(&name) || self.are_equal(before, after) {
                continue;
            }
            if DRAWING.contains(&name) {
                self.found.is_drawing_changed = true;
            } else {
                self.paths(cut(name), (before, after), 1, &mut fields);
            }
        }
        fields
    }

    fn are_equal(&self, before: Option<&RawValue>, after: Option<&RawValue>) -> bool {
        match (before, after) {
            (Some(before), Some(after)) => self.fingerprints.are_equal(before, after),
            (before, after) => before.is_none() && after.is_none(),
        }
    }

    /// Adds the paths below `path` at which two values differ, as these do.
    fn paths(
        &mut self,
        path: String,
        (before, after): (Option<&RawValue>, Option<&RawValue>),
        levels: usize,
        found: &mut Vec<String>,
    ) {
        if found.len() >= FIELDS_MAX {
            return;
        }
        let inner = |value| text::fields(value, FIELDS_READ_MAX);
        let is_last =
            levels >= LEVELS_MAX || path.len() > NAME_BYTES_MAX || self.paths_bytes > PATHS_BYTES_MAX;
        let within = match is_last {
            true => None,
            false => before.and_then(inner).zip(after.and_then(inner)),
        };
        let Some((before, after)) = within else {
            self.paths_bytes += path.len();
            found.push(path);
            return;
        };
        for (name, before, after) in pairs(&before, &after) {
            if !self.are_equal(before, after) {
                let path = format!("{path}.{}", cut(name));
                self.paths(path, (before, after), levels + 1, found);
            }
        }
    }
}

/// The names of both, those that only the first has last, with the values of each.
fn pairs<'f, 'a>(
    before: &'f Fields<'a>,
    after: &'f Fields<'a>,
) -> Vec<(&'f str, Option<&'a RawValue>, Option<&'a RawValue>)> {
    let old: HashMap<&str, &'a RawValue> = before
        .iter()
        .map(|(name, value)| (name.as_ref(), *value))
        .collect();
    let new: HashSet<&str> = after.iter().map(|(name, _)| name.as_ref()).collect();
    let both = after
        .iter()
        .map(|(name, value)| (name.as_ref(), old.get(name.as_ref()).copied(), Some(*value)));
    let removed = before
        .iter()
        .filter(|(name, _)| !new.contains(name.as_ref()))
        .map(|(name, value)| (name.as_ref(), Some(*value), None));
    both.chain(removed).collect()
}

fn cut(name: &str) -> String {
    match name.len() > NAME_BYTES_MAX {
        true => format!("{}…", &name[..name.floor_char_boundary(NAME_BYTES_MAX)]),
        false => name.to_owned(),
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

/// The elements of a graph's list; none if it has no such list.
fn elements<'a>(graph: &'a RawValue, field: &str, max: usize) -> Result<Vec<&'a RawValue>, text::TooMany> {
    let picked = text::pick(graph.get(), [field]);
    text::elements(picked.and_then(|[list]| list), max)
}

/// The id, or the node's JSON.
fn node_id(node: &RawValue) -> Cow<'_, str> {
    let [id] = text::pick(node.get(), ["id"]).unwrap_or_default();
    id.and_then(text::string).unwrap_or(Cow::Borrowed(node.get()))
}

fn node_part(node: &RawValue) -> Part {
    let [node_type] = text::pick(node.get(), ["type"]).unwrap_or_default();
    Part::Node {
        id: cut(&node_id(node)),
        node_type: node_type.and_then(text::string).map(|name| cut(&name)),
    }
}

impl Edge {
    fn read(edge: &RawValue) -> Edge {
        let picked = text::pick(edge.get(), ["source", "sourceHandle", "target", "targetHandle"]);
        let Some(picked) = picked else {
            return Edge {
                source: edge.get().to_owned(),
                source_handle: None,
                target: String::new(),
                target_handle: None,
            };
        };
        let [source, source_handle, target, target_handle] = picked.map(|value| {
            let value = value.filter(|value| value.get() != "null")?;
            Some(text::string(value).map_or_else(|| value.get().to_owned(), Cow::into_owned))
        });
        Edge {
            source: source.unwrap_or_default(),
            source_handle,
            target: target.unwrap_or_default(),
            target_handle,
        }
    }
}
