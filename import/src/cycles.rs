//! Circles of edges that are no loop of items: the edges that close them are found and cut.

use crate::workflow::Workflow;

/// What is to be done with an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It is drawn.
    Keep,
    /// It is drawn to the loop's `next`.
    Next,
    /// It closes a circle that is no loop, or enters a loop's body from outside.
    Cut,
}

/// Whether a node has been visited.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Visit {
    Never,
    Open,
    Done,
}

/// Cuts the edges that lead back to a node that is still open in a depth-first walk.
pub(crate) fn cut(workflow: &Workflow, fates: &mut [Fate]) {
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
            Some(Visit::Open) => fates[*edge] = Fate::Cut,
            Some(Visit::Never) => {
                visits[*target] = Visit::Open;
                path.push((*target, 0));
            }
            _ => {}
        }
    }
}
