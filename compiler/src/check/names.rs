//! Checks what expressions may refer to, depending on their place.

use super::level::Level;
use crate::diagnostic::Similar;
use crate::expression::{Names, NodeName, Problem};
use heddle_contract::manifest::Expressions;
use std::collections::HashMap;

/// Labels of a level: the node of each, or several.
pub(crate) type Labels<'a> = HashMap<&'a str, Vec<usize>>;

/// The labels of a level's nodes.
pub(crate) fn labels<'a>(level: &Level<'a>) -> Labels<'a> {
    let mut labels = Labels::new();
    for (index, spot) in level.nodes.iter().enumerate() {
        if let Some(label) = &spot.node.label {
            labels.entry(label.as_str()).or_default().push(index);
        }
    }
    labels
}

/// Names in scope within a parameter of a node. Node numbers are those of the level.
#[derive(Clone, Copy)]
pub(crate) struct NodeNames<'a, 'l> {
    pub level: &'l Level<'a>,
    pub labels: &'l Labels<'a>,
    pub node: usize,
    /// Within a parameter that is evaluated for each item.
    pub per_item: bool,
    pub per_pair: bool,
    pub has_error: bool,
    /// Looks for what may have been meant, if that is told.
    pub suggests: Option<&'l Similar>,
}

impl Names for NodeNames<'_, '_> {
    fn node(&self, name: NodeName<'_>) -> Result<u32, Problem> {
        let index = self.find(name)?;
        let is_lenient = self.level.graph.settings.expressions == Expressions::Lenient;
        // Without an output it is `undefined`, as that of a node that has not run.
        if !is_lenient && !self.level.may_precede(index, self.node) {
            let written = self.level.name(index);
            let message = if index == self.node {
                format!("`{written}` is this node itself, which has no output yet")
            } else {
                format!("`{written}` can't have run before this node: no path leads from it to here")
            };
            let help = "connect the nodes in that order, or use the value where both are known";
            return Err(problem("not-before", message, Some(help.to_owned())));
        }
        Ok(index as u32)
    }

    fn has_item(&self) -> bool {
        let in_loop = |flow: &super::level::Flow| flow.scopes.of_node[self.node] != 0;
        self.per_item
            || self.level.nodes[self.node].each
            || self.level.nodes[self.node].repeats()
            || self.level.flow.as_ref().is_none_or(in_loop)
    }

    fn has_pair(&self) -> bool {
        self.per_pair
    }

    fn has_error(&self) -> bool {
        self.has_error
    }

    fn definition_only(&self) -> bool {
        false
    }
}

impl NodeNames<'_, '_> {
    fn find(&self, name: NodeName<'_>) -> Result<usize, Problem> {
        let ids = || self.level.ids();
        match name {
            NodeName::Id(id) => self.level.by_id.get(id).copied().ok_or_else(|| {
                problem(
                    "unknown-node",
                    format!("there is no node with the id `{id}`"),
                    self.suggests.and_then(|similar| similar.did_you_mean(id, ids())),
                )
            }),
            NodeName::Label(label) => match self.labels.get(label).map(Vec::as_slice) {
                Some([index]) => Ok(*index),
                Some(several) => {
                    let few = several.iter().take(12);
                    let ids: Vec<&str> = few.map(|index| self.level.name(*index)).collect();
                    let help = format!(
                        "use $nodes[\"{}\"] or give each node its own label",
                        ids.join("\"] or $nodes[\"")
                    );
                    Err(problem(
                        "ambiguous-label",
                        format!("several nodes have the label `{label}`"),
                        Some(help),
                    ))
                }
                None => self.level.by_id.get(label).copied().ok_or_else(|| {
                    let known = self.level.labels().chain(ids());
                    let help = self
                        .suggests
                        .and_then(|similar| similar.did_you_mean(label, known));
                    let message = format!("there is no node with the label `{label}`");
                    problem("unknown-node", message, help)
                }),
            },
        }
    }
}

/// Names in an expression definition: those of its item alone.
pub(crate) struct DefinitionNames;

impl Names for DefinitionNames {
    fn node(&self, _: NodeName<'_>) -> Result<u32, Problem> {
        let help = "pass the value in through an input port".to_owned();
        Err(problem(
            "unknown-node",
            "a definition can't refer to nodes".to_owned(),
            Some(help),
        ))
    }

    fn has_item(&self) -> bool {
        true
    }

    fn has_pair(&self) -> bool {
        false
    }

    fn has_error(&self) -> bool {
        false
    }

    fn definition_only(&self) -> bool {
        true
    }
}

fn problem(code: &'static str, message: String, help: Option<String>) -> Problem {
    Problem {
        code,
        message,
        help,
        span: 0..0,
    }
}

impl Level<'_> {
    /// Whether `node` may have emitted when `reader` runs: a path leads there, or it is in the body of a loop that
    /// was done before, or of the loop whose condition reads it. True for all while there are cycles.
    fn may_precede(&self, node: usize, reader: usize) -> bool {
        let Some(flow) = &self.flow else { return true };
        if flow.reach.after[node].contains(reader) {
            return true;
        }
        let mut scope = flow.scopes.of_node[node];
        while let (Some(loop_node), Some(parent)) =
            (flow.scopes.list[scope].loop_node, flow.scopes.list[scope].parent)
        {
            let loop_node = loop_node as usize;
            let repeats = reader == loop_node && self.nodes[reader].repeats();
            let inside = flow.scopes.members[scope].contains(reader);
            if repeats || !inside && flow.reach.after[loop_node].contains(reader) {
                return true;
            }
            scope = parent as usize;
        }
        false
    }
}
