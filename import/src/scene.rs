//! A node where it stands: what its translation can ask.

use crate::expression;
use crate::rewrite::Names;
use crate::shape::Flow;
use crate::workflow::{Calls, Node, Workflow};
use serde_json::Value;

/// A node, and what its translation depends on.
#[derive(Clone, Copy)]
pub(crate) struct Scene<'w> {
    pub node: &'w Node,
    pub place: usize,
    pub workflow: &'w Workflow,
    pub names: Names<'w>,
    /// Whether several items may arrive.
    pub many: bool,
    pub calls: &'w Calls,
    pub flow: &'w Flow,
}

impl Scene<'_> {
    /// A value with its expressions.
    pub fn value(&self, given: &Value) -> Value {
        expression::value(given, &self.names)
    }

    /// A parameter with its expressions.
    pub fn of(&self, path: &[&str]) -> Value {
        self.value(self.node.parameter(path))
    }

    /// A parameter as JavaScript.
    pub fn source(&self, given: &Value) -> String {
        expression::source(given, &self.names)
    }

    /// Nodes that are part of this one: its model, tools, memory.
    pub fn parts(&self, wanted: impl Fn(&Node) -> bool) -> Vec<&Node> {
        let edges = self.workflow.edges.iter();
        let parts = edges.filter(|edge| !edge.is_main && edge.target == self.place);
        parts
            .filter_map(|edge| self.workflow.nodes.get(edge.source))
            .filter(|node| wanted(node))
            .collect()
    }
}
