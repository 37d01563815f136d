//! Scopes: the graph and the bodies of its loops.
//!
//! The body of a loop is what is reachable from its `item` port without passing through the loop. Knows nodes and
//! ports as numbers only; whether edges respect the bodies is checked by `check::bodies`.

use crate::reach::Reach;
use fixedbitset::FixedBitSet;
use heddle_node_stdlib::plan;

/// Output port of a loop that enters its body.
pub(crate) const ITEM_PORT: usize = 0;
/// Output port of a loop that leaves it.
pub(crate) const DONE_PORT: usize = 1;
/// Input port of a loop that ends an iteration.
pub(crate) const NEXT_PORT: usize = 1;

/// An edge by numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Wire {
    pub source: usize,
    pub source_port: usize,
    pub target: usize,
    pub target_port: usize,
}

/// The scopes of a graph.
#[derive(Clone, Debug)]
pub(crate) struct Scopes {
    /// Scope 0 is the graph, the others are loops in node order.
    pub list: Vec<plan::Scope>,
    /// Scope in which each node runs.
    pub of_node: Vec<usize>,
    /// For loops: the scope of the body.
    pub of_body: Vec<Option<usize>>,
    /// For each scope, its nodes and those of the scopes within; for the graph itself left empty.
    pub members: Vec<FixedBitSet>,
}

/// Whether an edge ends an iteration.
pub(crate) fn is_return(wire: &Wire, is_loop: &[bool]) -> bool {
    is_loop[wire.target] && wire.target_port == NEXT_PORT
}

/// Whether an edge begins an iteration.
pub(crate) fn is_entry(wire: &Wire, is_loop: &[bool]) -> bool {
    is_loop[wire.source] && wire.source_port == ITEM_PORT
}

/// Order of a graph whose loops are closed by their `next` ports alone; fails with the other cycles.
pub(crate) fn reach(is_loop: &[bool], wires: &[Wire]) -> Result<Reach, Vec<Vec<usize>>> {
    let forward: Vec<(usize, usize)> = wires
        .iter()
        .filter(|wire| !is_return(wire, is_loop))
        .map(|wire| (wire.source, wire.target))
        .collect();
    Reach::new(is_loop.len(), &forward)
}

impl Scopes {
    /// Finds the bodies of the nodes that `is_loop` names.
    pub fn new(is_loop: &[bool], wires: &[Wire], reach: &Reach) -> Scopes {
        let node_count = is_loop.len();
        let mut list = vec![plan::Scope::default()];
        let mut of_body = vec![None; node_count];
        let mut members = vec![FixedBitSet::new()];
        for node in (0..node_count).filter(|node| is_loop[*node]) {
            of_body[node] = Some(list.len());
            list.push(plan::Scope {
                parent: Some(0),
                loop_node: Some(node as u32),
            });
            members.push(FixedBitSet::with_capacity(node_count));
        }
        for wire in wires
            .iter()
            .filter(|wire| is_entry(wire, is_loop) && !is_return(wire, is_loop))
        {
            if let Some(body) = of_body[wire.source] {
                members[body].insert(wire.target);
                members[body].union_with(&reach.after[wire.target]);
            }
        }
        // An inner loop comes after the one around it, so the last body to claim a node is the innermost.
        let mut of_node = vec![0; node_count];
        for body in reach.order.iter().filter_map(|node| of_body[*node]) {
            members[body].ones().for_each(|node| of_node[node] = body);
        }
        for scope in list.iter_mut().skip(1) {
            scope.parent = scope.loop_node.map(|node| of_node[node as usize] as u32);
        }
        Scopes {
            list,
            of_node,
            of_body,
            members,
        }
    }
}
