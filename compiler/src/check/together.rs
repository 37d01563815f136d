//! Nodes that execute in the same runs for certain, whatever their branches get.
//!
//! In a graph of items, an If sends items one way or both, so that no two ways exclude each other. What is certain there
//! is that a node executes only if another does: it comes after it, or after a port whose items the other gets as well.

use super::level::Level;
use fixedbitset::FixedBitSet;
use std::collections::HashMap;

/// Wires that are followed for one graph, and words of sets of nodes that are compared.
const STEPS_MAX: usize = 5_000_000;

/// For some nodes, those that execute only in runs in which they do.
pub(crate) struct Together(HashMap<usize, FixedBitSet>);

/// What is taken out of a graph.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cut {
    Nothing,
    Node(usize),
    Port(usize, usize),
}

impl Together {
    /// Compares these nodes with all others. Once the steps are used up nothing more is certain: what depends on it are
    /// warnings.
    pub fn new(level: &Level<'_>, nodes: &[usize]) -> Self {
        let mut steps = STEPS_MAX;
        let starts = (0..level.nodes.len()).filter(|node| {
            let spot = &level.nodes[*node];
            spot.is_trigger() && !spot.node.disabled
        });
        let starts: Vec<(usize, FixedBitSet)> = starts
            .filter_map(|start| Some((start, reached(level, start, Cut::Nothing, &mut steps)?)))
            .collect();
        let mut together = HashMap::new();
        for &node in nodes {
            let Some(bound) = bound_to(level, node, &starts, &mut steps) else {
                break;
            };
            together.insert(node, bound);
        }
        Together(together)
    }

    /// Whether one of two nodes executes only in runs in which the other does.
    pub fn has(&self, one: usize, other: usize) -> bool {
        let binds = |node: usize, bound: usize| self.0.get(&node).is_some_and(|all| all.contains(bound));
        binds(one, other) || binds(other, one)
    }
}

/// Nodes that execute only if this one does, in the runs of one of the triggers.
fn bound_to(
    level: &Level<'_>,
    node: usize,
    starts: &[(usize, FixedBitSet)],
    steps: &mut usize,
) -> Option<FixedBitSet> {
    let ports = level.incoming[node].iter().map(|wire| {
        let wire = &level.wires[*wire];
        Cut::Port(wire.source, wire.source_port)
    });
    let cuts: Vec<Cut> = ports.chain([Cut::Node(node)]).collect();
    let mut bound = FixedBitSet::with_capacity(level.nodes.len());
    for (start, all) in starts.iter().filter(|(_, all)| all.contains(node)) {
        for cut in &cuts {
            let mut lost = all.clone();
            lost.difference_with(&reached(level, *start, *cut, steps)?);
            bound.union_with(&lost);
        }
    }
    Some(bound)
}

/// The nodes that a trigger leads to, without what is taken out; `None` once the steps are used up.
fn reached(level: &Level<'_>, start: usize, cut: Cut, steps: &mut usize) -> Option<FixedBitSet> {
    // So much is also compared afterwards.
    *steps = steps.checked_sub(1 + level.nodes.len() / usize::BITS as usize)?;
    let mut reached = FixedBitSet::with_capacity(level.nodes.len());
    let mut open = vec![start];
    while let Some(node) = open.pop() {
        if reached.put(node) || cut == Cut::Node(node) {
            continue;
        }
        for wire in &level.outgoing[node] {
            *steps = steps.checked_sub(1)?;
            let wire = &level.wires[*wire];
            if cut != Cut::Port(node, wire.source_port) {
                open.push(wire.target);
            }
        }
    }
    Some(reached)
}
