//! What two have made of one document, joined: by node and by edge, and within a node by field. Where both have changed the same
//! to something else, that is a conflict, which people decide.
//!
//! The usual three-way merge (diff3: Khanna, Kunal, Pierce, "A Formal Investigation of Diff3", 2007), with ids in place of lines.

use crate::document::Document;
use serde_json::{Map, Value};
use std::collections::HashSet;

/// Whose value counts where both have changed the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prefer {
    /// This directory's.
    Ours,
    /// The server's.
    Theirs,
}

/// A place that both have changed.
#[derive(Clone, Debug, PartialEq)]
pub struct Conflict {
    /// Where: `node "Where to?" (where), parameters.cases`, or `the name`.
    pub place: String,
    /// What it was; `None`: nothing.
    pub base: Option<Value>,
    /// What it is here.
    pub ours: Option<Value>,
    /// What it is on the server.
    pub theirs: Option<Value>,
}

/// Both changes in one document, and what both have changed: there it has ours, unless `prefer` says otherwise. With a
/// preference there are no conflicts.
pub fn merge(
    base: &Document,
    ours: &Document,
    theirs: &Document,
    prefer: Option<Prefer>,
) -> (Document, Vec<Conflict>) {
    let mut merging = Merging {
        prefer,
        conflicts: Vec::new(),
    };
    let joined = merging.members(
        &Place::Whole,
        &keyed_document(base),
        &keyed_document(ours),
        &keyed_document(theirs),
    );
    let document = unkeyed_document(joined, ours);
    merging.dangling(&document, base, [ours, theirs]);
    (document, merging.conflicts)
}

/// Merges two objects that are not patterns: by field, and lists as single values.
pub fn merge_values(
    [base, ours, theirs]: [&Value; 3],
    prefer: Option<Prefer>,
) -> (Option<Value>, Vec<Conflict>) {
    let mut merging = Merging {
        prefer,
        conflicts: Vec::new(),
    };
    let joined = merging.value(&Place::Whole, Some(base), Some(ours), Some(theirs));
    (joined, merging.conflicts)
}

/// Where in a document something is, for people.
enum Place<'a> {
    Whole,
    Within(&'a Place<'a>, &'a str),
}

impl Place<'_> {
    fn names(&self) -> Vec<&str> {
        match self {
            Place::Whole => Vec::new(),
            Place::Within(outer, name) => {
                let mut names = outer.names();
                names.push(name);
                names
            }
        }
    }
}

struct Merging {
    prefer: Option<Prefer>,
    conflicts: Vec<Conflict>,
}

type Members = Map<String, Value>;

impl Merging {
    /// As deep as the documents are, which is what readers of JSON allow.
    fn members(&mut self, place: &Place, base: &Members, ours: &Members, theirs: &Members) -> Members {
        let mut joined = Members::new();
        let added = theirs.keys().filter(|name| !ours.contains_key(*name));
        for name in ours.keys().chain(added) {
            let place = Place::Within(place, name);
            let value = self.value(&place, base.get(name), ours.get(name), theirs.get(name));
            if let Some(value) = value {
                joined.insert(name.clone(), value);
            }
        }
        joined
    }

    fn value(
        &mut self,
        place: &Place,
        base: Option<&Value>,
        ours: Option<&Value>,
        theirs: Option<&Value>,
    ) -> Option<Value> {
        if ours == theirs || theirs == base {
            return ours.cloned();
        }
        if ours == base {
            return theirs.cloned();
        }
        if let (Some(Value::Object(ours)), Some(Value::Object(theirs))) = (ours, theirs) {
            let nothing = Members::new();
            let base = base.and_then(Value::as_object).unwrap_or(&nothing);
            return Some(self.members(place, base, ours, theirs).into());
        }
        match self.prefer {
            Some(Prefer::Ours) => return ours.cloned(),
            Some(Prefer::Theirs) => return theirs.cloned(),
            None => {}
        }
        let label = [ours, theirs, base].into_iter().flatten().find_map(label);
        self.conflicts.push(Conflict {
            place: described(&place.names(), label),
            base: base.cloned(),
            ours: ours.cloned(),
            theirs: theirs.cloned(),
        });
        ours.or(theirs).cloned()
    }

    /// An edge that one has drawn to a node that the other has removed.
    fn dangling(&mut self, joined: &Document, base: &Document, sides: [&Document; 2]) {
        if self.prefer.is_some() {
            return;
        }
        let drawn_before = edge_keys(base);
        let there = ids(joined);
        let drawn_by = sides.map(|side| (edge_keys(side), ids(side)));
        for edge in elements(joined, "edges") {
            let Some(key) = edge_key(edge).filter(|key| !drawn_before.contains(key)) else {
                continue;
            };
            for end in ["source", "target"] {
                let Some(id) = edge[end].as_str().filter(|id| !there.contains(*id)) else {
                    continue;
                };
                let [ours, theirs] = [0, 1].map(|side: usize| {
                    let has = drawn_by
                        .get(side)
                        .is_some_and(|(edges, ids)| edges.contains(&key) && ids.contains(id));
                    has.then(|| edge.clone())
                });
                if ours.is_some() || theirs.is_some() {
                    self.conflicts.push(Conflict {
                        place: format!("node {id}, which one has removed and the other has connected"),
                        base: None,
                        ours,
                        theirs,
                    });
                }
            }
        }
    }
}

fn elements<'a>(document: &'a Document, list: &str) -> impl Iterator<Item = &'a Value> {
    document
        .graph
        .get(list)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}

fn ids(document: &Document) -> HashSet<String> {
    elements(document, "nodes").filter_map(node_key).collect()
}

fn edge_keys(document: &Document) -> HashSet<String> {
    elements(document, "edges").filter_map(edge_key).collect()
}

/// The label of a node.
fn label(value: &Value) -> Option<&str> {
    value.get("data")?.get("label")?.as_str()
}

/// `graphData nodes ID data parameters cases` in words.
fn described(names: &[&str], label: Option<&str>) -> String {
    let inner = |rest: &[&str]| match rest.strip_prefix(&["data"]).unwrap_or(rest) {
        [] => String::new(),
        rest => format!(", {}", rest.join(".")),
    };
    match names {
        ["graphData", "nodes", id, rest @ ..] => match label {
            Some(label) if rest.is_empty() => format!("node {id} (“{label}”)"),
            _ => format!("node {id}{}", inner(rest)),
        },
        ["graphData", "edges", id, rest @ ..] => format!("edge {id}{}", inner(rest)),
        ["graphData", rest @ ..] => rest.join("."),
        ["nodeDefinitions", name, "graphData", "nodes", id, rest @ ..] => {
            format!("definition {name}, node {id}{}", inner(rest))
        }
        ["nodeDefinitions", name, rest @ ..] => format!("definition {name}{}", inner(rest)),
        names => names.join("."),
    }
}

fn keyed_document(document: &Document) -> Members {
    let mut keyed = document.fields.clone();
    keyed.insert("graphData".to_owned(), keyed_graph(&document.graph).into());
    let definitions = document.definitions.iter().map(|(name, definition)| {
        let mut definition = definition.clone();
        if let Some(graph) = definition.get_mut("graphData")
            && let Value::Object(members) = graph
        {
            *graph = keyed_graph(members).into();
        }
        (name.clone(), definition)
    });
    keyed.insert(
        "nodeDefinitions".to_owned(),
        definitions.collect::<Members>().into(),
    );
    keyed
}

/// Nodes and edges by id instead of by number. A list that has not an id for each stays a list, which is one value.
fn keyed_graph(graph: &Members) -> Members {
    let mut keyed = graph.clone();
    for (list, name) in [
        ("nodes", node_key as fn(&Value) -> Option<String>),
        ("edges", edge_key),
    ] {
        let Some(Value::Array(elements)) = graph.get(list) else {
            continue;
        };
        let members: Option<Members> = elements
            .iter()
            .map(|element| Some((name(element)?, element.clone())))
            .collect();
        if let Some(members) = members.filter(|members| members.len() == elements.len()) {
            keyed.insert(list.to_owned(), members.into());
        }
    }
    keyed
}

fn node_key(node: &Value) -> Option<String> {
    node.get("id")?.as_str().map(str::to_owned)
}

/// What an edge connects: ids of edges are made by editors and mean nothing.
fn edge_key(edge: &Value) -> Option<String> {
    let end = |id: &str, port: &str| {
        let id = edge.get(id)?.as_str()?;
        let port = edge.get(port).and_then(Value::as_str);
        Some(port.map_or_else(|| id.to_owned(), |port| format!("{id}.{port}")))
    };
    Some(format!(
        "{} → {}",
        end("source", "sourceHandle")?,
        end("target", "targetHandle")?
    ))
}

fn unkeyed_document(mut keyed: Members, like: &Document) -> Document {
    let object = |keyed: &mut Members, name: &str| match keyed.shift_remove(name) {
        Some(Value::Object(members)) => members,
        _ => Members::new(),
    };
    let graph = unkeyed_graph(object(&mut keyed, "graphData"));
    let mut definitions = object(&mut keyed, "nodeDefinitions");
    for definition in definitions.values_mut() {
        if let Some(graph) = definition.get_mut("graphData")
            && let Value::Object(members) = graph
        {
            *graph = unkeyed_graph(std::mem::take(members)).into();
        }
    }
    // A field that one has left out is as it is by default, which is what the other's says.
    let fields = like.fields.iter().map(|(name, value)| {
        let joined = keyed.get(name).unwrap_or(value);
        (name.clone(), joined.clone())
    });
    Document {
        fields: fields.collect(),
        graph,
        definitions,
    }
}

fn unkeyed_graph(mut graph: Members) -> Members {
    for list in ["nodes", "edges"] {
        if let Some(value) = graph.get_mut(list)
            && let Value::Object(members) = value
        {
            *value = std::mem::take(members)
                .into_iter()
                .map(|(_, element)| element)
                .collect();
        }
    }
    graph
}
