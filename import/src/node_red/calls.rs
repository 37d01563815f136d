//! Calls of links: what is called takes the place of the call, as subflows take those of their instances. Knows nodes and wires by
//! number only.

use crate::reach::reached;
use std::collections::BTreeMap;

/// From an output of a node to another node.
pub(crate) type Line = (usize, usize, usize);

/// What becomes of calls.
#[derive(Debug, Default)]
pub(crate) struct Resolved {
    /// The nodes that were copied; the copies' numbers follow those of all nodes.
    pub copies: Vec<usize>,
    pub wires: Vec<Line>,
    /// Calls that lead to what they call, and nodes that lead back from there.
    pub joined: Vec<usize>,
}

/// Resolves calls, each from a node to another; `ends` are the nodes at which what is called returns. A call that leads to itself is
/// left as it is. None if there would be more nodes or wires than `most`, or if very many different nodes are called.
pub(crate) fn resolve(
    wires: Vec<Line>,
    calls: &[(usize, usize)],
    ends: &[bool],
    most: (usize, usize),
) -> Option<Resolved> {
    let mut callers: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (caller, target) in calls {
        callers.entry(*target).or_default().push(*caller);
    }
    if callers.len() > TARGETS_MAX {
        return None;
    }
    let mut graph = Graph {
        origins: (0..ends.len()).collect(),
        wires,
        joined: vec![false; ends.len()],
        most,
    };
    // What is called may call others, which come first.
    loop {
        let ready = callers.keys().copied().find_map(|target| {
            let lines = graph.wires.iter().map(|(source, _, target)| (*source, *target));
            let body = reached(graph.origins.len(), lines, target);
            let mut waiting = callers.values().flatten();
            let calls_others = waiting.any(|caller| body.get(*caller) == Some(&true));
            (!calls_others).then_some((target, body))
        });
        let Some((target, body)) = ready else { break };
        let of_target = callers.remove(&target).unwrap_or_default();
        graph.join((target, &body), &of_target, ends)?;
    }
    Some(Resolved {
        copies: graph.origins.split_off(ends.len()),
        wires: graph.wires,
        joined: (0..)
            .zip(graph.joined)
            .filter_map(|(node, joined)| joined.then_some(node))
            .collect(),
    })
}

/// What is called: each is looked for in the whole graph, and again for each of the others.
const TARGETS_MAX: usize = 100;

struct Graph {
    /// Each node, or what it is a copy of.
    origins: Vec<usize>,
    wires: Vec<Line>,
    /// For each node, whether it is a call that leads to what it calls, or leads back from there.
    joined: Vec<bool>,
    /// Nodes and wires.
    most: (usize, usize),
}

impl Graph {
    /// Leads callers to a body and back. The first has the body itself if nothing else enters it, all others have copies.
    fn join(&mut self, (target, body): (usize, &[bool]), callers: &[usize], ends: &[bool]) -> Option<()> {
        let within = |node: usize| body.get(node) == Some(&true);
        let nodes: Vec<usize> = (0..body.len()).filter(|node| within(*node)).collect();
        let is_end = |node: &&usize| {
            let origin = self.origins.get(**node);
            let returns = origin.and_then(|origin| ends.get(*origin)) == Some(&true);
            // What leads back from another call does not lead back from this one.
            returns && self.joined.get(**node) == Some(&false)
        };
        let last: Vec<usize> = nodes.iter().filter(is_end).copied().collect();
        let inner = self.wires.iter().copied();
        let inner: Vec<Line> = inner.filter(|(source, ..)| within(*source)).collect();
        let enters = |(source, _, target): &Line| within(*target) && !within(*source);
        let mut is_free = !self.wires.iter().any(enters);
        for caller in callers {
            let places: BTreeMap<usize, usize> = match std::mem::replace(&mut is_free, false) {
                true => nodes.iter().map(|node| (*node, *node)).collect(),
                false => self.copy(&nodes, &inner)?,
            };
            let leaving = self.wires.iter().filter(|(source, ..)| source == caller);
            let behind: Vec<usize> = leaving.map(|(_, _, target)| *target).collect();
            let more = last.len().checked_mul(behind.len())?;
            if self.wires.len().checked_add(more)? >= self.most.1 {
                return None;
            }
            self.wires.retain(|(source, ..)| source != caller);
            self.mark(*caller);
            self.wires.push((*caller, 0, *places.get(&target)?));
            for node in &last {
                let place = *places.get(node)?;
                self.mark(place);
                self.wires.extend(behind.iter().map(|target| (place, 0, *target)));
            }
        }
        Some(())
    }

    fn mark(&mut self, node: usize) {
        if let Some(joined) = self.joined.get_mut(node) {
            *joined = true;
        }
    }

    /// Copies nodes and the wires between them. Where each has gone.
    fn copy(&mut self, nodes: &[usize], inner: &[Line]) -> Option<BTreeMap<usize, usize>> {
        if self.origins.len() + nodes.len() > self.most.0 || self.wires.len() + inner.len() > self.most.1 {
            return None;
        }
        let mut places = BTreeMap::new();
        for node in nodes {
            places.insert(*node, self.origins.len());
            self.origins
                .push(self.origins.get(*node).copied().unwrap_or(*node));
            self.joined.push(self.joined.get(*node) == Some(&true));
        }
        let copied = inner.iter().filter_map(|(source, output, target)| {
            Some((*places.get(source)?, *output, *places.get(target)?))
        });
        self.wires.extend(copied);
        Some(places)
    }
}
