//! Loop Over Items as ForEach: which edges enter its body, which come back, and which of them can't be.

use crate::cycles::{self, Fate};
use crate::workflow::{Edge, Node, Workflow};

/// Whether an output of Split in Batches starts the body; its versions number them differently.
pub(crate) fn is_body(node: &Node, output: usize) -> bool {
    match node.version >= 3.0 {
        true => output == 1,
        false => output == 0,
    }
}

/// Items at a time.
pub(crate) fn batch(node: &Node) -> u64 {
    let default = if node.version >= 3.0 { 1 } else { 10 };
    node.parameter(&["batchSize"])
        .as_u64()
        .unwrap_or(default)
        .clamp(1, 1_000_000)
}

/// The fate of each edge.
pub(crate) fn fates(workflow: &Workflow) -> Vec<Fate> {
    let (loops, next) = (places(workflow), workflow.following());
    let bodies: Vec<Vec<bool>> = loops.iter().map(|place| body(workflow, &next, *place)).collect();
    let mut fates: Vec<Fate> = workflow
        .edges
        .iter()
        .map(|edge| fate(workflow, edge, &loops, &bodies))
        .collect();
    cycles::close(workflow, &bodies, &mut fates);
    fates
}

fn places(workflow: &Workflow) -> Vec<usize> {
    let nodes = workflow.nodes.iter().enumerate();
    nodes
        .filter(|(_, node)| node.kind == "splitInBatches")
        .map(|(place, _)| place)
        .collect()
}

/// What is reached from the loop's items without passing through it.
fn body(workflow: &Workflow, next: &[Vec<usize>], start: usize) -> Vec<bool> {
    let mut inside = vec![false; workflow.nodes.len()];
    let mut open: Vec<usize> = workflow
        .edges
        .iter()
        .filter(|edge| edge.is_main && edge.source == start && starts_body(workflow, edge))
        .map(|edge| edge.target)
        .collect();
    while let Some(node) = open.pop() {
        if node == start {
            continue;
        }
        let Some(known) = inside.get_mut(node).filter(|known| !**known) else {
            continue;
        };
        *known = true;
        open.extend(next.get(node).into_iter().flatten());
    }
    inside
}

fn starts_body(workflow: &Workflow, edge: &Edge) -> bool {
    workflow
        .nodes
        .get(edge.source)
        .is_some_and(|node| is_body(node, edge.output))
}

fn fate(workflow: &Workflow, edge: &Edge, loops: &[usize], bodies: &[Vec<bool>]) -> Fate {
    if !edge.is_main {
        return Fate::Keep;
    }
    let within = |body: &[bool], node: usize| body.get(node) == Some(&true);
    let mut comes_back = false;
    for (place, body) in loops.iter().zip(bodies) {
        let from_items = edge.source == *place && starts_body(workflow, edge);
        let from_inside = within(body, edge.source) || from_items;
        if edge.target == *place {
            comes_back = from_inside;
            // What comes back must belong to this body and not to a loop within it.
            let from_inner = loops.iter().zip(bodies).any(|(inner, inner_body)| {
                let is_inner = inner != place && within(body, *inner);
                let items_of_inner = edge.source == *inner && starts_body(workflow, edge);
                is_inner && (within(inner_body, edge.source) || items_of_inner)
            });
            if comes_back && from_inner {
                return Fate::Cut;
            }
        } else if within(body, edge.target) && !from_inside {
            return Fate::Cut;
        }
    }
    if comes_back { Fate::Next } else { Fate::Keep }
}
