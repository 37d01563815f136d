//! Expressions that read what other nodes have given: where that may be something else than in n8n, the report says so.

use crate::remark::remark;
use crate::report::{Level, Report};
use crate::rewrite::mentioned;
use crate::scene::Scene;
use crate::workflow::{Node, OnError};
use serde_json::Value;
use std::collections::HashSet;

/// Looks at all that a node's parameters name.
pub(crate) fn check(scene: &Scene<'_>, here: Option<(&str, &Node)>, report: &mut Report) {
    let text = Value::Object(scene.node.parameters.clone()).to_string();
    let text = text.replace("\\\"", "\"");
    // In the order of their names.
    let named: Vec<(usize, &Node)> = mentioned(&text)
        .iter()
        .filter_map(|name| {
            let place = scene.flow.place_of(name)?;
            Some((place, scene.workflow.nodes.get(place)?))
        })
        .collect();
    too_early(scene, &named, here, report);
    pairing(scene, (&named, &text), here, report);
    by_branch(scene, (&named, &text), here, report);
}

/// Nodes that are named and can't have run: n8n fails then, unless it is only asked whether they have.
fn too_early(scene: &Scene<'_>, named: &[(usize, &Node)], here: Option<(&str, &Node)>, report: &mut Report) {
    for (_, node) in named
        .iter()
        .filter(|(place, _)| !scene.flow.leads(*place, scene.place))
    {
        let name = &node.name;
        let message = match scene.workflow.is_fragment {
            true => format!(
                "in what was pasted no path leads from `{name}` to here: an expression that reads from it gets nothing"
            ),
            false => format!(
                "no path leads from `{name}` to here: an expression that reads from it gets nothing, where n8n fails"
            ),
        };
        report.add(remark(here, Level::Approximate, "not-before", message));
    }
}

/// `$('X').item` needs to know which item came of which.
fn pairing(
    scene: &Scene<'_>,
    (named, text): (&[(usize, &Node)], &str),
    here: Option<(&str, &Node)>,
    report: &mut Report,
) {
    if !text.contains(".item") && !text.contains("$node[") {
        return;
    }
    for (named, node) in named {
        if !scene.flow.gives_several(*named) && scene.flow.many.get(*named) != Some(&true) {
            continue;
        }
        let loses = (0..scene.workflow.nodes.len()).any(|place| {
            let between = scene.flow.leads(*named, place) && scene.flow.leads(place, scene.place);
            between && scene.flow.loses_pairing(place)
        });
        if loses || scene.flow.enters_circle(*named, scene.place) {
            let message = format!(
                "which item of `{}` belongs to an item may be lost on the way, where items are not as many as before or a \
                 circle is repeated: the expression fails then",
                node.name
            );
            report.add(remark(here, Level::Approximate, "pairing", message));
            return;
        }
    }
}

/// `$('X').all()` and its like, of a node that gives some items by one output and some by another.
fn by_branch(
    scene: &Scene<'_>,
    (named, text): (&[(usize, &Node)], &str),
    here: Option<(&str, &Node)>,
    report: &mut Report,
) {
    let divides = |place: usize, node: &Node| {
        let branches = matches!(node.kind.as_str(), "if" | "switch") || node.on_error == OnError::Branch;
        branches && scene.flow.many.get(place) == Some(&true)
    };
    let lists = lists_read(text);
    for (place, node) in named {
        let leads_here = || scene.flow.leads_by_others(*place, scene.place);
        if divides(*place, node) && lists.contains(node.name.as_str()) && leads_here() {
            let message = format!(
                "`{}` gives items by several outputs: `.first()`, `.last()` and `.all()` of it are those of the first output by \
                 which any left, where n8n takes the output that leads here",
                node.name
            );
            report.add(remark(here, Level::Approximate, "branch", message));
        }
    }
}

/// Bytes of a name that is looked for.
const NAME_BYTES_MAX: usize = 500;

/// The nodes of which all items are read, or the first or last of all.
fn lists_read(text: &str) -> HashSet<&str> {
    let methods = [".all(", ".first(", ".last("];
    let places = methods.iter().flat_map(|method| text.match_indices(method));
    places
        .filter_map(|(at, _)| {
            let named = text.get(..at)?.trim_end().strip_suffix(')')?;
            let quote = named.chars().next_back().filter(|c| "'\"`".contains(*c))?;
            let named = named.strip_suffix(quote)?;
            let start = named.len().saturating_sub(NAME_BYTES_MAX);
            let nearby = named.as_bytes().get(start..)?;
            let opening = nearby.iter().rposition(|byte| char::from(*byte) == quote)?;
            named.get(start + opening + 1..)
        })
        .collect()
}
