//! Scopes: the graph and the bodies of its loops and blocks (composites that are executed as a whole, see `inline`).
//!
//! The body of a loop is what is reachable from its `item` port without passing through the loop; that of a block is
//! known. Knows nodes and ports as numbers only; whether edges respect the bodies is checked by `check::flow`.

use crate::reach::Reach;
use fixedbitset::FixedBitSet;
use heddle_contract::plan;
use std::cmp::Reverse;
use std::ops::Range;

/// Output port of a loop that leaves it.
pub(crate) const DONE_PORT: usize = 1;

/// The ports between a node and its body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BodyPorts {
    /// Output port that enters the body.
    pub item: usize,
    /// Input port that ends an execution of it.
    pub next: usize,
}

/// The ports of ForEach and Loop.
pub(crate) const LOOP_PORTS: BodyPorts = BodyPorts { item: 0, next: 1 };

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
    /// Scope 0 is the graph, the others are bodies in node order.
    pub list: Vec<plan::Scope>,
    /// Scope in which each node runs.
    pub of_node: Vec<usize>,
    /// For loops and blocks: the scope of the body.
    pub of_body: Vec<Option<usize>>,
    /// For each scope, its nodes and those of the scopes within; for the graph itself left empty.
    pub members: Vec<FixedBitSet>,
}

/// Whether an edge ends an execution of its target's body.
pub(crate) fn is_return(wire: &Wire, bodies: &[Option<BodyPorts>]) -> bool {
    bodies[wire.target].is_some_and(|ports| wire.target_port == ports.next)
}

/// Whether an edge begins an execution of its source's body.
pub(crate) fn is_entry(wire: &Wire, bodies: &[Option<BodyPorts>]) -> bool {
    bodies[wire.source].is_some_and(|ports| wire.source_port == ports.item)
}

/// Order of a graph whose bodies are closed by their `next` ports alone; fails with the other cycles.
pub(crate) fn reach(bodies: &[Option<BodyPorts>], wires: &[Wire]) -> Result<Reach, Vec<Vec<usize>>> {
    let forward: Vec<(usize, usize)> = wires
        .iter()
        .filter(|wire| !is_return(wire, bodies))
        .map(|wire| (wire.source, wire.target))
        .collect();
    Reach::new(bodies.len(), &forward)
}

impl Scopes {
    /// Finds the bodies of the nodes that have one; those of `blocks` are these ranges of nodes.
    pub fn new(
        bodies: &[Option<BodyPorts>],
        blocks: &[(usize, Range<usize>)],
        wires: &[Wire],
        reach: &Reach,
    ) -> Scopes {
        let node_count = bodies.len();
        let mut list = vec![plan::Scope::default()];
        let mut of_body = vec![None; node_count];
        let mut members = vec![FixedBitSet::new()];
        for node in (0..node_count).filter(|node| bodies[*node].is_some()) {
            of_body[node] = Some(list.len());
            list.push(plan::Scope {
                parent: Some(0),
                loop_node: Some(node as u32),
            });
            members.push(FixedBitSet::with_capacity(node_count));
        }
        for wire in wires
            .iter()
            .filter(|wire| is_entry(wire, bodies) && !is_return(wire, bodies))
        {
            if let Some(body) = of_body[wire.source] {
                members[body].insert(wire.target);
                members[body].union_with(&reach.after[wire.target]);
            }
        }
        // Inner nodes that nothing leads to are in their block's body, and in those around the block.
        for (block, range) in blocks {
            for (body, members) in members.iter_mut().enumerate() {
                if of_body[*block] == Some(body) || members.contains(*block) {
                    members.insert_range(range.clone());
                }
            }
        }
        // An inner body is smaller than the one around it, so the last to claim a node is the innermost.
        let mut outermost_first: Vec<usize> = reach.order.iter().filter_map(|node| of_body[*node]).collect();
        outermost_first.sort_by_key(|body| Reverse(members[*body].count_ones(..)));
        let mut of_node = vec![0; node_count];
        for body in outermost_first {
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

    /// Whether a scope is another one or within it.
    pub fn is_within(&self, scope: usize, outer: usize) -> bool {
        let mut around = Some(scope);
        while let Some(scope) = around {
            if scope == outer {
                return true;
            }
            around = self.list[scope].parent.map(|parent| parent as usize);
        }
        false
    }
}
