//! Order and reachability in a graph: a topological order, and the set of reachable nodes for every node.
//!
//! Edges into a loop's `next` are left out, so that a well-formed graph has no cycles. Knows nodes as numbers only.

use fixedbitset::FixedBitSet;
use petgraph::algo::kosaraju_scc;
use petgraph::graph::{DiGraph, NodeIndex};
use std::collections::VecDeque;

/// Which nodes come after which.
#[derive(Clone, Debug)]
pub(crate) struct Reach {
    /// Every node after those before it, ties by number.
    pub order: Vec<usize>,
    /// For each node, the nodes that can be reached from it (itself only through a cycle).
    pub after: Vec<FixedBitSet>,
}

impl Reach {
    /// Orders `node_count` nodes; fails with the cycles, each in order of its edges.
    pub fn new(node_count: usize, edges: &[(usize, usize)]) -> Result<Reach, Vec<Vec<usize>>> {
        let mut successors = vec![Vec::new(); node_count];
        let mut open = vec![0usize; node_count];
        for &(source, target) in edges {
            successors[source].push(target);
            open[target] += 1;
        }
        let mut order: Vec<usize> = (0..node_count).filter(|node| open[*node] == 0).collect();
        let mut next = 0;
        while let Some(&node) = order.get(next) {
            next += 1;
            for &target in &successors[node] {
                open[target] -= 1;
                if open[target] == 0 {
                    order.push(target);
                }
            }
        }
        if order.len() < node_count {
            return Err(cycles(edges, &successors));
        }
        let mut after = vec![FixedBitSet::with_capacity(node_count); node_count];
        for &node in order.iter().rev() {
            let mut reached = std::mem::take(&mut after[node]);
            for &target in &successors[node] {
                reached.insert(target);
                reached.union_with(&after[target]);
            }
            after[node] = reached;
        }
        Ok(Reach { order, after })
    }
}

/// One cycle for each strongly connected component: the shortest through its first node.
fn cycles(edges: &[(usize, usize)], successors: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut graph = DiGraph::<(), ()>::new();
    for _ in successors {
        graph.add_node(());
    }
    graph.extend_with_edges(
        edges
            .iter()
            .map(|(source, target)| (*source as u32, *target as u32)),
    );
    let mut found: Vec<Vec<usize>> = kosaraju_scc(&graph)
        .into_iter()
        .filter_map(|component| {
            let members: FixedBitSet = component.into_iter().map(NodeIndex::index).collect();
            cycle_through(members.minimum()?, &members, successors)
        })
        .collect();
    found.sort();
    found
}

fn cycle_through(start: usize, members: &FixedBitSet, successors: &[Vec<usize>]) -> Option<Vec<usize>> {
    let mut came_from = vec![None; successors.len()];
    let mut queue = VecDeque::from([start]);
    while let Some(node) = queue.pop_front() {
        for &target in &successors[node] {
            if target == start {
                let mut cycle = vec![node];
                while let Some(previous) = came_from[cycle[cycle.len() - 1]] {
                    cycle.push(previous);
                }
                cycle.reverse();
                return Some(cycle);
            }
            if members.contains(target) && came_from[target].is_none() {
                came_from[target] = Some(node);
                queue.push_back(target);
            }
        }
    }
    None
}
