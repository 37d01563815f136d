//! Circles of edges that are no loop of items: a Loop repeats those that have one entry, and of all others the edges that
//! close them are cut.

use crate::kinds::is_trigger;
use crate::reach::reached;
use crate::workflow::{Edge, Workflow};

/// What is to be done with an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It is drawn.
    Keep,
    /// It is drawn to the loop's `next`.
    Next,
    /// It leads back to a node with which a Loop begins.
    Again,
    /// It closes a circle that is not a loop, or enters a loop's body from outside.
    Cut,
}

/// Whether a node has been visited.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Visit {
    Never,
    Open,
    Done,
}

/// Finds the edges that lead back to a node that is still open in a depth-first walk.
fn find(workflow: &Workflow, fates: &mut [Fate]) {
    let mut leaving = vec![Vec::new(); workflow.nodes.len()];
    let mut entered = vec![false; workflow.nodes.len()];
    for (number, edge) in workflow.edges.iter().enumerate() {
        if edge.is_main && fates.get(number) == Some(&Fate::Keep) {
            if let Some(list) = leaving.get_mut(edge.source) {
                list.push((number, edge.target));
            }
            if let Some(entered) = entered.get_mut(edge.target) {
                *entered = true;
            }
        }
    }
    let (first, last): (Vec<usize>, Vec<usize>) =
        (0..workflow.nodes.len()).partition(|node| entered.get(*node) == Some(&false));
    let mut visits = vec![Visit::Never; workflow.nodes.len()];
    for start in first.into_iter().chain(last) {
        walk(start, &leaving, &mut visits, fates);
    }
}

/// Decides about the edges that close circles. `items` has the bodies of loops of items.
pub(crate) fn close(workflow: &Workflow, items: &[Vec<bool>], fates: &mut [Fate]) {
    find(workflow, fates);
    let mut heads: Vec<usize> = fated(workflow, fates, Fate::Again)
        .map(|edge| edge.target)
        .collect();
    heads.sort_unstable();
    heads.dedup();
    let bodies: Vec<(usize, Vec<bool>)> = heads
        .into_iter()
        .map(|head| (head, after(workflow, fates, head)))
        .collect();
    for (head, body) in &bodies {
        let can_be = is_loop(workflow, fates, *head, body);
        for (number, edge) in workflow.edges.iter().enumerate() {
            if edge.target != *head || fates.get(number) != Some(&Fate::Again) {
                continue;
            }
            // What comes back must not belong to a loop within.
            let is_inner = |other: &Vec<bool>, start: usize| {
                start != *head && has(body, start) && has(other, edge.source)
            };
            let of_circle = bodies.iter().any(|(start, other)| is_inner(other, *start));
            let of_items = items
                .iter()
                .any(|other| !has(other, *head) && has(other, edge.source));
            if !can_be || of_circle || of_items {
                fates[number] = Fate::Cut;
            }
        }
    }
}

fn has(set: &[bool], node: usize) -> bool {
    set.get(node) == Some(&true)
}

fn fated<'w>(workflow: &'w Workflow, fates: &[Fate], fate: Fate) -> impl Iterator<Item = &'w Edge> {
    let edges = workflow.edges.iter().zip(fates.to_vec());
    edges
        .filter(move |(edge, own)| edge.is_main && *own == fate)
        .map(|(edge, _)| edge)
}

/// What is reached from a node, itself included, without going back.
fn after(workflow: &Workflow, fates: &[Fate], head: usize) -> Vec<bool> {
    let edges = fated(workflow, fates, Fate::Keep).map(|edge| (edge.source, edge.target));
    reached(workflow.nodes.len(), edges, head)
}

/// Whether a Loop can repeat what is after a node: nothing else enters it, and nothing leaves it for a loop around.
fn is_loop(workflow: &Workflow, fates: &[Fate], head: usize, body: &[bool]) -> bool {
    let is_plain = workflow
        .nodes
        .get(head)
        .is_some_and(|node| node.kind != "splitInBatches" && node.kind != "merge" && !is_trigger(&node.kind));
    let enters = |edge: &Edge| edge.target != head && has(body, edge.target) && !has(body, edge.source);
    let leaves = |edge: &Edge| has(body, edge.source) && !has(body, edge.target);
    is_plain
        && !fated(workflow, fates, Fate::Keep).any(enters)
        && !fated(workflow, fates, Fate::Next).any(leaves)
}

fn walk(start: usize, leaving: &[Vec<(usize, usize)>], visits: &mut [Visit], fates: &mut [Fate]) {
    if visits.get(start) != Some(&Visit::Never) {
        return;
    }
    let mut path = vec![(start, 0)];
    visits[start] = Visit::Open;
    while let Some((node, next)) = path.last_mut() {
        let Some((edge, target)) = leaving.get(*node).and_then(|edges| edges.get(*next)) else {
            visits[*node] = Visit::Done;
            path.pop();
            continue;
        };
        *next += 1;
        match visits.get(*target) {
            Some(Visit::Open) => fates[*edge] = Fate::Again,
            Some(Visit::Never) => {
                visits[*target] = Visit::Open;
                path.push((*target, 0));
            }
            _ => {}
        }
    }
}
