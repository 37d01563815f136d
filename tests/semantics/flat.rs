//! The graph with its composites inlined and ports by number, as the reference walks it.

use crate::graph::{Case, Definition, Graph, Kind, Merge, Node, OnError, definition};
use crate::js::Js;

pub struct FlatGraph<'a> {
    pub nodes: Vec<FlatNode<'a>>,
    pub edges: Vec<FlatEdge>,
    pub definitions: &'a [(String, Definition)],
    /// Whether lists of items travel along the edges.
    pub items: bool,
    /// Ids of nodes that do not execute.
    pinned: Vec<&'a str>,
}

#[derive(Clone)]
pub struct FlatNode<'a> {
    pub id: String,
    /// Of the ids of other nodes in the same composite.
    pub prefix: String,
    pub work: Work<'a>,
    pub inputs: Vec<String>,
    pub outputs: Vec<String>,
    pub on_error: OnError,
    pub each: bool,
    pub once: bool,
    pub always: bool,
    pub concurrency: usize,
    /// Attempts in all.
    pub attempts: u32,
    /// Whether there is a wait between them.
    pub waits: bool,
    pub pin: Option<(usize, Js)>,
    pub is_loop: bool,
    /// A composite that is executed as a whole: its inner nodes are its body.
    pub is_block: bool,
    /// Loop rather than ForEach.
    pub repeats: bool,
    /// Merge in mode `first`.
    pub first: bool,
    /// Merge: the input is always an array.
    pub collects: bool,
    /// The loop or block in whose body it is.
    pub scope: Option<usize>,
}

impl FlatNode<'_> {
    /// Output port that leads into the body.
    pub fn item_port(&self) -> Option<usize> {
        match self.is_block {
            true => Some(HIDDEN_PORT),
            false => self.is_loop.then_some(0),
        }
    }

    /// Input port to which the body leads.
    pub fn next_port(&self) -> Option<usize> {
        match self.is_block {
            true => Some(HIDDEN_PORT),
            false => self.is_loop.then_some(1),
        }
    }
}

/// The port between a block and its body, which is not drawn.
const HIDDEN_PORT: usize = usize::MAX;

#[derive(Clone, Copy)]
pub enum Work<'a> {
    Kind(&'a Kind),
    /// Passes its input through: a disabled node, or the rim of a composite.
    Pass,
    /// Emits the event.
    Start,
}

#[derive(Clone)]
pub struct FlatEdge {
    pub index: usize,
    pub source: usize,
    pub source_port: usize,
    pub target: usize,
    pub target_port: usize,
}

impl FlatGraph<'_> {
    pub fn index(&self, id: &str) -> usize {
        self.nodes.iter().position(|node| node.id == id).unwrap()
    }

    /// Edges that decide whether a node runs: those from its body do not.
    pub fn incoming(&self, node: usize) -> impl Iterator<Item = &FlatEdge> + Clone {
        let next_port = self.nodes[node].next_port();
        self.edges
            .iter()
            .filter(move |edge| edge.target == node && Some(edge.target_port) != next_port)
    }

    pub fn outgoing(&self, node: usize) -> impl Iterator<Item = &FlatEdge> + Clone {
        self.edges.iter().filter(move |edge| edge.source == node)
    }

    /// Whether a node is in this body or in one within it; every node is within the graph itself.
    pub fn is_within(&self, node: usize, owner: Option<usize>) -> bool {
        let scope = self.nodes[node].scope;
        scope == owner || scope.is_some_and(|outer| self.is_within(outer, owner))
    }
}

pub fn flatten(case: &Case) -> FlatGraph<'_> {
    let mut flat = FlatGraph {
        nodes: Vec::new(),
        edges: Vec::new(),
        definitions: &case.definitions,
        items: case.items,
        pinned: case.pins.iter().map(|pin| pin.node.as_str()).collect(),
    };
    inline(&mut flat, &case.graph, "");
    for pin in &case.pins {
        let index = flat.index(&pin.node);
        let node = &mut flat.nodes[index];
        let first = usize::from(node.is_loop);
        let port = pin
            .port
            .as_ref()
            .map_or(first, |name| port_index(&node.outputs, name));
        node.pin = Some((port, Js::from_json(&pin.value)));
    }
    let trigger = flat.index(&case.trigger);
    flat.nodes[trigger].work = Work::Start;
    find_scopes(&mut flat);
    flat
}

fn inline<'a>(flat: &mut FlatGraph<'a>, graph: &'a Graph, prefix: &str) {
    for node in &graph.nodes {
        let id = format!("{prefix}{}", node.id);
        match composite(flat, node, prefix) {
            Some(inner) => inline_composite(flat, node, inner, &id, prefix),
            None => flat.nodes.push(flat_node(flat, node, id, prefix)),
        }
    }
    for edge in &graph.edges {
        let id = format!("{prefix}{}", edge.source);
        let source = flat.index(&id);
        let into = format!("{prefix}{}", edge.target);
        let target = match composite(flat, graph.node(&edge.target).unwrap(), prefix) {
            Some(inner) if !flat.nodes[flat.index(&into)].is_block => {
                flat.index(&format!("{into}/{}", entry_of(inner)))
            }
            _ => flat.index(&into),
        };
        flat.edges.push(FlatEdge {
            index: flat.edges.len(),
            source,
            source_port: port_index(&flat.nodes[source].outputs, &edge.source_port),
            target,
            target_port: port_index(&flat.nodes[target].inputs, &edge.target_port),
        });
    }
}

/// A composite that is not disabled: its OnCall passes the input on, its Returns lead to a node with the
/// composite's own id, which passes on what arrives. One that is repeated, or catches errors, is a block: a node
/// before, whose body they are.
fn inline_composite<'a>(flat: &mut FlatGraph<'a>, node: &'a Node, inner: &'a Graph, id: &str, prefix: &str) {
    let is_block = node.is_whole();
    let block = flat.nodes.len();
    if is_block {
        flat.nodes.push(FlatNode {
            is_block,
            ..flat_node(flat, node, id.to_owned(), prefix)
        });
    }
    let first = flat.nodes.len();
    inline(flat, inner, &format!("{id}/"));
    let exit = flat.nodes.len();
    let rim_id = if is_block {
        format!("{id}/$out")
    } else {
        id.to_owned()
    };
    let mut rim = flat_node(flat, node, rim_id, prefix);
    if is_block {
        let entry = flat.index(&format!("{id}/{}", entry_of(inner)));
        let ends = [(block, HIDDEN_PORT, entry, 0), (exit, 0, block, HIDDEN_PORT)];
        for (source, source_port, target, target_port) in ends {
            flat.edges.push(FlatEdge {
                index: flat.edges.len(),
                source,
                source_port,
                target,
                target_port,
            });
        }
        (rim.each, rim.once, rim.always, rim.on_error) = (false, false, false, OnError::Fail);
        rim.outputs.truncate(1);
    }
    rim.work = Work::Pass;
    // As for a run, the first Return counts.
    rim.first = true;
    flat.nodes.push(rim);
    for index in first..exit {
        let inner_node = &mut flat.nodes[index];
        if inner_node.prefix != format!("{id}/") {
            continue;
        }
        match inner_node.work {
            Work::Kind(Kind::Trigger(_)) => {
                inner_node.work = Work::Pass;
                inner_node.inputs = vec!["in".to_owned()];
            }
            Work::Kind(Kind::Return(_)) => {
                inner_node.outputs.insert(0, "out".to_owned());
                flat.edges.push(FlatEdge {
                    index: flat.edges.len(),
                    source: index,
                    source_port: 0,
                    target: exit,
                    target_port: 0,
                });
            }
            _ => {}
        }
    }
}

/// The inner graph of a composite that executes.
fn composite<'a>(flat: &FlatGraph<'a>, node: &Node, prefix: &str) -> Option<&'a Graph> {
    let is_pinned = prefix.is_empty() && flat.pinned.contains(&node.id.as_str());
    match &node.kind {
        Kind::Defined(name) if !node.disabled && !is_pinned => match definition(flat.definitions, name) {
            Definition::Composite(graph) => Some(graph),
            Definition::Expression(..) => None,
        },
        _ => None,
    }
}

fn entry_of(graph: &Graph) -> &str {
    &graph
        .nodes
        .iter()
        .find(|node| matches!(node.kind, Kind::Trigger(_)))
        .unwrap()
        .id
}

/// Whether a node works on single items, and so executes for each where lists of them travel.
fn works_on_items(kind: &Kind, definitions: &[(String, Definition)]) -> bool {
    match kind {
        Kind::SetFields { .. }
        | Kind::Transform(_)
        | Kind::If(_)
        | Kind::SwitchEquals { .. }
        | Kind::SwitchWhen { .. }
        | Kind::Throw { .. }
        | Kind::Log { .. } => true,
        Kind::Defined(name) => match definition(definitions, name) {
            Definition::Expression(inputs, _) => inputs.len() == 1,
            Definition::Composite(_) => false,
        },
        _ => false,
    }
}

fn flat_node<'a>(flat: &FlatGraph<'a>, node: &'a Node, id: String, prefix: &str) -> FlatNode<'a> {
    let definitions = flat.definitions;
    let by_default = flat.items && !node.whole && works_on_items(&node.kind, definitions);
    FlatNode {
        id,
        prefix: prefix.to_owned(),
        work: if node.disabled {
            Work::Pass
        } else {
            Work::Kind(&node.kind)
        },
        inputs: node.inputs(definitions),
        outputs: node.outputs(definitions),
        on_error: node.on_error,
        each: node.each || by_default,
        once: node.once && !node.disabled,
        always: node.always && !node.disabled,
        concurrency: node.concurrency,
        attempts: node.attempts,
        waits: node.backoff_ms > 0,
        pin: None,
        is_loop: node.is_loop(),
        is_block: false,
        repeats: matches!(node.kind, Kind::Loop { .. }),
        first: matches!(node.kind, Kind::Merge(Merge::First)) && !node.disabled,
        collects: matches!(node.kind, Kind::Merge(_)) && !node.disabled,
        scope: None,
    }
}

fn port_index(names: &[String], name: &str) -> usize {
    names.iter().position(|port| port == name).unwrap()
}

/// The body of a loop is what its `item` port leads to without passing through the loop, that of a block its inner
/// nodes; a node belongs to the smallest body that it is in.
fn find_scopes(flat: &mut FlatGraph<'_>) {
    let mut sizes = vec![usize::MAX; flat.nodes.len()];
    let owners: Vec<usize> = (0..flat.nodes.len())
        .filter(|node| flat.nodes[*node].item_port().is_some())
        .collect();
    for owner in owners {
        let body = match flat.nodes[owner].is_block {
            true => inner_nodes(flat, owner),
            false => reached(flat, owner),
        };
        for node in &body {
            if body.len() < sizes[*node] {
                sizes[*node] = body.len();
                flat.nodes[*node].scope = Some(owner);
            }
        }
    }
}

fn inner_nodes(flat: &FlatGraph<'_>, block: usize) -> Vec<usize> {
    let prefix = format!("{}/", flat.nodes[block].id);
    (0..flat.nodes.len())
        .filter(|node| flat.nodes[*node].id.starts_with(&prefix))
        .collect()
}

fn reached(flat: &FlatGraph<'_>, owner: usize) -> Vec<usize> {
    let mut body = Vec::new();
    let mut open: Vec<usize> = flat
        .outgoing(owner)
        .filter(|edge| edge.source_port == 0)
        .map(|edge| edge.target)
        .collect();
    while let Some(node) = open.pop() {
        if node != owner && !body.contains(&node) {
            body.push(node);
            open.extend(flat.outgoing(node).map(|edge| edge.target));
            if flat.nodes[node].is_block {
                open.extend(inner_nodes(flat, node));
            }
        }
    }
    body
}
