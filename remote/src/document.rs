//! A pattern as people edit it: its name and what else is said of it, its graph, and its node definitions.

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

/// What a document has besides the graph and the definitions.
const FIELDS: [&str; 5] = ["name", "description", "tags", "isPublic", "isTemplate"];

/// What is meant where a field is left out.
fn default(field: &str) -> Value {
    match field {
        "tags" => json!([]),
        "isPublic" | "isTemplate" => json!(false),
        _ => json!(""),
    }
}

/// A pattern.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// Its fields but for graph and definitions, in a fixed order; none is missing.
    pub fields: Map<String, Value>,
    /// Nodes, edges, settings, and whatever editors keep beside them.
    pub graph: Map<String, Value>,
    /// Definitions of node types by name.
    pub definitions: Map<String, Value>,
}

impl Document {
    /// The document of a pattern as the server gives it, or as a file has it, which may also be the graph alone. `None`: it is not a pattern.
    pub fn of(pattern: &Value) -> Option<Self> {
        let given = pattern.as_object()?;
        if given.contains_key("nodes") && !given.contains_key("graphData") {
            let is_beside = |name: &str| FIELDS.contains(&name) || name == "nodeDefinitions";
            let (mut whole, graph): (Map<_, _>, Map<_, _>) =
                given.clone().into_iter().partition(|(name, _)| is_beside(name));
            whole.insert("graphData".to_owned(), graph.into());
            return Self::of(&whole.into());
        }
        let fields = FIELDS.iter().map(|name| {
            let value = given.get(*name).filter(|value| !value.is_null());
            (
                (*name).to_owned(),
                value.cloned().unwrap_or_else(|| default(name)),
            )
        });
        let object = |name: &str| match given.get(name) {
            None | Some(Value::Null) => Some(Map::new()),
            Some(value) => value.as_object().cloned(),
        };
        Some(Document {
            fields: fields.collect(),
            graph: object("graphData")?,
            definitions: object("nodeDefinitions")?,
        })
    }

    /// What people call it.
    pub fn name(&self) -> &str {
        self.fields["name"].as_str().unwrap_or_default()
    }

    /// All of it, as the server takes it.
    pub fn whole(&self) -> Value {
        let mut whole = self.fields.clone();
        whole.insert("graphData".to_owned(), self.graph.clone().into());
        whole.insert("nodeDefinitions".to_owned(), self.definitions.clone().into());
        whole.into()
    }

    /// A digest by which two documents are equal if they say the same, in hexadecimal.
    pub fn digest(&self) -> String {
        digest(&self.whole())
    }
}

/// A digest by which two values are equal if they say the same, in hexadecimal.
pub fn digest(value: &Value) -> String {
    let mut digest = Sha256::new();
    feed(&mut digest, value);
    hex::encode(digest.finalize())
}

/// The order of an object's members means nothing.
fn feed(digest: &mut Sha256, value: &Value) {
    match value {
        Value::Object(members) => {
            let mut sorted: Vec<_> = members.iter().collect();
            sorted.sort_by_key(|(name, _)| *name);
            digest.update(b"{");
            for (name, member) in sorted {
                digest.update(Value::from(name.as_str()).to_string());
                digest.update(b":");
                feed(digest, member);
                digest.update(b",");
            }
            digest.update(b"}");
        }
        Value::Array(elements) => {
            digest.update(b"[");
            for element in elements {
                feed(digest, element);
                digest.update(b",");
            }
            digest.update(b"]");
        }
        plain => digest.update(plain.to_string()),
    }
}
