//! Whether anything reads what a trigger gives. Where nothing does, it does not matter what that is.

use crate::operations;
use crate::rewrite::mentioned;
use crate::workflow::{Node, Workflow};
use serde_json::Value;
use std::collections::HashSet;

/// What stands for the item that comes, in expressions and in code.
const ITEM: &[&str] = &["$json", "$input", "$item", "$data", "$binary"];

/// What a node does with the item that comes, if its parameters don't name it.
enum Does {
    /// Something else leaves it.
    Replace,
    /// Hands it on.
    Pass,
    /// Looks at it, as far as is known.
    Read,
}

/// What the nodes of a workflow read, looked up once for all triggers.
pub(crate) struct Readers {
    /// Names of nodes that expressions and code read.
    named: HashSet<String>,
    /// Whether one is read behind a dot, which may be any.
    reads_any: bool,
    does: Vec<Does>,
    /// To which nodes each gives something, and whether by a main edge.
    given: Vec<Vec<(usize, bool)>>,
}

impl Readers {
    pub fn of(workflow: &Workflow) -> Readers {
        let mut readers = Readers {
            named: HashSet::new(),
            reads_any: false,
            does: Vec::with_capacity(workflow.nodes.len()),
            given: vec![Vec::new(); workflow.nodes.len()],
        };
        for edge in &workflow.edges {
            if let Some(given) = readers.given.get_mut(edge.source) {
                given.push((edge.target, edge.is_main));
            }
        }
        for node in &workflow.nodes {
            let text = text(node);
            readers.named.extend(mentioned(&text.replace("\\\"", "\"")));
            readers.reads_any |= text.contains("$node.");
            readers.does.push(does(node, &text));
        }
        readers
    }

    /// Whether the item that a node gives may be read: by its name, or by a node that gets it, directly or from one that hands it on.
    pub fn read(&self, workflow: &Workflow, place: usize) -> bool {
        let node = workflow.nodes.get(place);
        if self.reads_any || node.is_some_and(|node| self.named.contains(&node.name)) {
            return true;
        }
        let mut seen = vec![false; workflow.nodes.len()];
        let mut open = vec![place];
        while let Some(source) = open.pop() {
            for (target, is_main) in self.given.get(source).into_iter().flatten().copied() {
                if !is_main {
                    return true;
                }
                match (seen.get_mut(target), self.does.get(target)) {
                    (_, Some(Does::Read)) => return true,
                    (Some(seen), Some(Does::Pass)) if !*seen => {
                        *seen = true;
                        open.push(target);
                    }
                    _ => {}
                }
            }
        }
        false
    }
}

fn does(node: &Node, text: &str) -> Does {
    if node.disabled {
        return Does::Pass;
    }
    if ITEM.iter().any(|name| text.contains(name)) {
        return Does::Read;
    }
    let keeps = match node.version < 3.3 {
        true => node.choice(&["include"], "all") != "none" && !node.flag(&["keepOnlySet"], false),
        false => node.flag(&["includeOtherFields"], false),
    };
    match node.kind.as_str() {
        "noOp" | "wait" | "if" | "switch" | "filter" | "limit" => Does::Pass,
        "set" if keeps => Does::Pass,
        "set" | "httpRequest" => Does::Replace,
        // Both names are those of what comes.
        "code" | "function" if !text.contains("item") => Does::Replace,
        // Those write all fields of the item.
        _ if operations::find(node).is_some() && !text.contains("autoMap") => Does::Replace,
        _ => Does::Read,
    }
}

fn text(node: &Node) -> String {
    Value::Object(node.parameters.clone()).to_string()
}
