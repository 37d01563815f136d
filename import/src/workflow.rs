//! A workflow of n8n, as far as it is understood. Knows nothing of patterns.

use serde_json::{Map, Value};
use std::collections::HashMap;

/// Where calls of other workflows lead: n8n's ids of workflows, and the ids of their patterns.
pub type Calls = HashMap<String, String>;

/// What one export holds.
#[derive(Clone, Debug, Default)]
pub struct Workflow {
    /// Without control characters.
    pub name: String,
    /// By which others call it in n8n.
    pub id: Option<String>,
    /// Sticky notes among them.
    pub nodes: Vec<Node>,
    /// Those whose ends are there.
    pub edges: Vec<Edge>,
    /// As n8n names them.
    pub settings: Map<String, Value>,
    /// Pinned items by node name.
    pub pins: Map<String, Value>,
    /// What code has kept from run to run: `global`, and `node:` with a node's name.
    pub static_data: Map<String, Value>,
    /// Sentences about what could not be read.
    pub unread: Vec<String>,
    /// Whether it is a part of one, as n8n's editor copies it: what it names may be outside of it.
    pub is_fragment: bool,
}

/// What a workflow does at one place.
#[derive(Clone, Debug, Default)]
pub struct Node {
    /// Its name, which others refer to.
    pub name: String,
    /// The type without its package, such as `httpRequest`.
    pub kind: String,
    /// The type as written.
    pub full_type: String,
    /// Its type's version.
    pub version: f64,
    /// As n8n names them, expressions among them.
    pub parameters: Map<String, Value>,
    /// Credentials: their types and names.
    pub credentials: Vec<(String, String)>,
    /// Where it is drawn.
    pub position: [f64; 2],
    /// Whether it is switched off.
    pub disabled: bool,
    /// What people wrote about it.
    pub notes: String,
    /// `onError`, or what older versions had instead.
    pub on_error: OnError,
    /// Attempts and the milliseconds between them.
    pub retry: Option<(u64, u64)>,
    /// Only for the first item.
    pub once: bool,
    /// An empty result counts as one empty item.
    pub always: bool,
}

/// What follows a failure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnError {
    #[default]
    Stop,
    Continue,
    Branch,
}

/// An edge between nodes, by their places in the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    pub source: usize,
    pub output: usize,
    pub target: usize,
    pub input: usize,
    /// `main`, or what a model, tool or memory is to its agent.
    pub is_main: bool,
}

impl Node {
    /// A parameter, or null.
    pub fn parameter(&self, path: &[&str]) -> &Value {
        let mut names = path.iter();
        let first = names.next().and_then(|name| self.parameters.get(*name));
        names.fold(first.unwrap_or(&Value::Null), |value, name| {
            value.get(name).unwrap_or(&Value::Null)
        })
    }

    /// A parameter that is text; empty if it is something else.
    pub fn text(&self, path: &[&str]) -> &str {
        self.parameter(path).as_str().unwrap_or_default()
    }

    /// A choice among names, with what it is by default.
    pub fn choice<'n>(&'n self, path: &[&str], default: &'n str) -> &'n str {
        self.parameter(path).as_str().unwrap_or(default)
    }

    /// A switch.
    pub fn flag(&self, path: &[&str], default: bool) -> bool {
        self.parameter(path).as_bool().unwrap_or(default)
    }

    /// The elements of a list.
    pub fn list(&self, path: &[&str]) -> &[Value] {
        self.parameter(path).as_array().map_or(&[], Vec::as_slice)
    }

    /// A resource locator's value: `{"__rl": true, "value": …}` or text.
    pub fn located(&self, name: &str) -> &Value {
        let given = self.parameter(&[name]);
        given.get("value").unwrap_or(given)
    }

    /// Whether it is text for people on the canvas.
    pub fn is_note(&self) -> bool {
        self.kind == "stickyNote"
    }
}

impl Workflow {
    /// For each node, those that its main edges lead to.
    pub(crate) fn following(&self) -> Vec<Vec<usize>> {
        let mut next = vec![Vec::new(); self.nodes.len()];
        for edge in self.edges.iter().filter(|edge| edge.is_main) {
            if let Some(list) = next.get_mut(edge.source) {
                list.push(edge.target);
            }
        }
        next
    }

    /// Whether a node of it names a workflow by its id, as one to call or as that of its errors.
    pub fn calls(&self, id: &str) -> bool {
        self.calls_one(|called| called == id)
    }

    /// Whether a node of it names any workflow for which `is_one` holds; each node is looked at once.
    pub fn calls_one(&self, is_one: impl Fn(&str) -> bool) -> bool {
        let nodes = self.nodes.iter().filter(|node| node.kind == "executeWorkflow");
        let called = nodes.filter_map(|node| node.located("workflowId").as_str());
        let error = self.settings.get("errorWorkflow").and_then(Value::as_str);
        error.into_iter().chain(called).any(is_one)
    }
}
