//! Whether anything reads what a trigger gives. Where nothing does, it does not matter what that is.

use crate::operations;
use crate::rewrite::mentioned;
use crate::workflow::{Node, Workflow};
use serde_json::Value;

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

/// Whether the item that a node gives may be read: by its name, or by a node that gets it, directly or from one that hands it on.
pub(crate) fn is_read(workflow: &Workflow, place: usize) -> bool {
    let is_named = |node: &Node| {
        let names = workflow.nodes.get(place).map(|trigger| &trigger.name);
        let text = text(node);
        let mentioned = mentioned(&text.replace("\\\"", "\""));
        // Behind a dot, a name may be any node's.
        text.contains("$node.") || mentioned.iter().any(|name| Some(name) == names)
    };
    if workflow.nodes.iter().any(is_named) {
        return true;
    }
    let mut seen = vec![false; workflow.nodes.len()];
    let mut open = vec![place];
    while let Some(source) = open.pop() {
        let edges = workflow.edges.iter().filter(|edge| edge.source == source);
        for edge in edges {
            let Some(node) = workflow.nodes.get(edge.target) else {
                continue;
            };
            if !edge.is_main {
                return true;
            }
            match (seen.get_mut(edge.target), does(node)) {
                (_, Does::Read) => return true,
                (Some(seen), Does::Pass) if !*seen => {
                    *seen = true;
                    open.push(edge.target);
                }
                _ => {}
            }
        }
    }
    false
}

fn does(node: &Node) -> Does {
    if node.disabled {
        return Does::Pass;
    }
    let text = text(node);
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
