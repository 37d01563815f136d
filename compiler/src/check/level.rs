//! One graph with its names resolved: node types, ports, edges. A pattern's own graph is a level, and so is the
//! inner graph of each composite.

use crate::definitions::{Definition, DefinitionKind, Definitions, OwnPort};
use crate::diagnostic::{Diagnostic, Severity, list};
use crate::findings::Findings;
use crate::graph::{Edge, Graph, Node};
use crate::lowered::Argument;
use crate::reach::Reach;
use crate::scopes::{BodyPorts, LOOP_PORTS, Scopes, Wire};
use heddle_catalogue::{Iteration, NodeType, Outputs, Parameter, Role, Start, ValueType};
use heddle_contract::plan::OnError;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

/// Name of the port that `onError: "branch"` adds.
pub(crate) const ERROR_PORT: &str = "error";

/// A graph with its names resolved. Nodes and edges are named by number.
#[derive(Clone, Debug)]
pub(crate) struct Level<'a> {
    pub graph: &'a Graph,
    /// Whether this is the inner graph of a composite.
    pub inner: bool,
    /// Whether lists of items travel along its edges.
    pub items: bool,
    pub nodes: Vec<Spot<'a>>,
    pub wires: Vec<Wire>,
    /// Ports of loops.
    pub bodies: Vec<Option<BodyPorts>>,
    /// Numbers of wires by target and by source.
    pub incoming: Vec<Vec<usize>>,
    pub outgoing: Vec<Vec<usize>>,
    pub by_id: HashMap<&'a str, usize>,
    /// Nodes at which an edge ends that can't be followed; what it would change is not reported as well.
    pub half_wired: Vec<bool>,
    /// Order and scopes; none while the graph has cycles.
    pub flow: Option<Flow>,
    /// For each node, its parameters by name; references in them are numbers of this level.
    pub arguments: Vec<Vec<(String, Argument)>>,
}

/// Order and scopes of a level.
#[derive(Clone, Debug)]
pub(crate) struct Flow {
    pub reach: Reach,
    pub scopes: Scopes,
}

/// A node with its type and ports.
#[derive(Clone, Debug)]
pub(crate) struct Spot<'a> {
    pub node: &'a Node,
    pub kind: Kind<'a>,
    /// Whether it executes once for every element of a list.
    pub each: bool,
    pub inputs: Vec<Port<'a>>,
    /// The error port last, if there is one.
    pub outputs: Vec<Port<'a>>,
}

/// What a node's type turned out to be.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind<'a> {
    Standard(&'static NodeType),
    /// A definition and its number.
    Defined(&'a Definition, usize),
    Unknown,
}

/// A port of a node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Port<'a> {
    pub name: &'a str,
    pub value_type: ValueType,
    pub required: bool,
}

impl<'a> Spot<'a> {
    pub fn standard(&self) -> Option<&'static NodeType> {
        match self.kind {
            Kind::Standard(node_type) => Some(node_type),
            _ => None,
        }
    }

    /// What it does in the graph; nothing, if its type is not a standard one.
    pub fn role(&self) -> Role {
        self.standard().map_or(Role::Plain, |node_type| node_type.role)
    }

    /// How often it executes its body, if it has one.
    pub fn iteration(&self) -> Option<Iteration> {
        match self.role() {
            Role::Iterate(iteration) => Some(iteration),
            _ => None,
        }
    }

    pub fn is_loop(&self) -> bool {
        self.iteration().is_some()
    }

    /// Whether what it decides by is evaluated again after each iteration.
    pub fn repeats(&self) -> bool {
        matches!(self.iteration(), Some(Iteration::While { .. }))
    }

    pub fn is_trigger(&self) -> bool {
        matches!(self.role(), Role::Trigger(_))
    }

    /// Whether runs start there that are started by this.
    pub fn starts_by(&self, start: Start) -> bool {
        self.role() == Role::Trigger(start)
    }

    /// A trigger's parameters as those of the standard type by which its runs start.
    pub fn settings(&self) -> Cow<'a, Map<String, Value>> {
        let trigger = self.standard().and_then(|node_type| node_type.trigger);
        match trigger {
            Some(trigger) => Cow::Owned(trigger.settings(&self.node.parameters)),
            None => Cow::Borrowed(&self.node.parameters),
        }
    }

    /// The requests by which a trigger's service is told to send to it, if it is given a connection for them.
    pub fn subscription(&self) -> Option<Map<String, Value>> {
        let trigger = self.standard().and_then(|node_type| node_type.trigger)?;
        trigger.subscription(&self.node.parameters)
    }

    /// Parameters that a trigger needs for that and was not given.
    pub fn lacks_to_subscribe(&self) -> Vec<&'static str> {
        let trigger = self.standard().and_then(|node_type| node_type.trigger);
        trigger
            .map(|trigger| trigger.lacks(&self.node.parameters))
            .unwrap_or_default()
    }

    /// Whether it is an operation of two requests, of which the second is about what the first has found.
    pub fn finds_first(&self) -> bool {
        let operation = self.standard().and_then(|node_type| node_type.operation);
        operation.is_some_and(|operation| operation.find.is_some())
    }

    pub fn composite(&self) -> Option<usize> {
        match self.kind {
            Kind::Defined(
                Definition {
                    kind: DefinitionKind::Graph(_),
                    ..
                },
                index,
            ) => Some(index),
            _ => None,
        }
    }

    /// Whether its output ports can't be known, because a Switch's cases are not written out; that is reported elsewhere.
    fn has_unclear_outputs(&self) -> bool {
        let named = |case: &Value| case.get("name").is_some_and(Value::is_string);
        let is_clear = |parameter| cases(self.node, parameter).is_some_and(|cases| cases.iter().all(named));
        let parameter = self.standard().and_then(NodeType::cases);
        parameter.is_some_and(|parameter| !is_clear(parameter))
    }

    /// The number of the error port.
    pub fn error_port(&self) -> Option<usize> {
        (self.node.on_error == OnError::Branch).then(|| self.outputs.len().saturating_sub(1))
    }
}

impl<'a> Level<'a> {
    /// Resolves a graph's types, ports and edges.
    pub fn resolve(
        graph: &'a Graph,
        definitions: &'a Definitions,
        (inner, items): (bool, bool),
        found: &mut Findings,
    ) -> Level<'a> {
        let nodes: Vec<Spot<'a>> = graph
            .nodes
            .iter()
            .map(|node| spot(node, items, definitions, found))
            .collect();
        let by_id = graph
            .nodes
            .iter()
            .enumerate()
            .map(|(index, node)| (node.id.as_str(), index))
            .collect();
        let mut level = Level {
            graph,
            inner,
            items,
            bodies: nodes
                .iter()
                .map(|spot| spot.is_loop().then_some(LOOP_PORTS))
                .collect(),
            wires: Vec::new(),
            incoming: vec![Vec::new(); nodes.len()],
            outgoing: vec![Vec::new(); nodes.len()],
            arguments: vec![Vec::new(); nodes.len()],
            half_wired: vec![false; nodes.len()],
            nodes,
            by_id,
            flow: None,
        };
        let mut seen = HashSet::new();
        for edge in &graph.edges {
            let Some(wire) = level.wire(edge, found) else {
                if let Some(target) = level.by_id.get(edge.target.as_str()) {
                    level.half_wired[*target] = true;
                }
                continue;
            };
            if seen.insert(wire) {
                level.incoming[wire.target].push(level.wires.len());
                level.outgoing[wire.source].push(level.wires.len());
                level.wires.push(wire);
            } else {
                let message = format!("a second edge from `{}` enters the same port", edge.source);
                found.push(
                    Diagnostic::warning("duplicate-edge", message)
                        .at_node(&edge.target)
                        .with_help("delete one of the two; it is ignored".to_owned()),
                );
            }
        }
        level
    }

    /// Ids in graph order.
    pub fn ids(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.graph.nodes.iter().map(|node| node.id.as_str())
    }

    /// Labels in graph order.
    pub fn labels(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.graph.nodes.iter().filter_map(|node| node.label.as_deref())
    }

    /// Whether a node of an unknown type may be meant as a trigger.
    pub fn may_be_trigger(&self, node: usize) -> bool {
        matches!(self.nodes[node].kind, Kind::Unknown) && self.incoming[node].is_empty()
    }

    /// How a node is named in messages.
    pub fn name(&self, node: usize) -> &'a str {
        &self.graph.nodes[node].id
    }

    fn wire(&self, edge: &Edge, found: &mut Findings) -> Option<Wire> {
        let source = self.by_id.get(edge.source.as_str()).copied();
        let target = self.by_id.get(edge.target.as_str()).copied();
        let ends = [
            ("comes from", &edge.source, source, target),
            ("goes to", &edge.target, target, source),
        ];
        for (way, id, known, other) in ends {
            if known.is_none() {
                let help = found.did_you_mean(Severity::Error, id, self.ids());
                found.report(Severity::Error, || {
                    let message = format!("an edge {way} a node `{id}` that does not exist");
                    Diagnostic {
                        node_id: other.map(|node| self.name(node).to_owned()),
                        ..Diagnostic::error("unknown-node", message).with_help(help)
                    }
                });
            }
        }
        let (source, target) = (source?, target?);
        let source_port = self.port(source, edge.source_handle.as_deref(), Side::Output, found);
        let target_port = if self.nodes[target].is_trigger() {
            let message = format!(
                "an edge from `{}` enters a trigger; a run starts there",
                edge.source
            );
            found.push(
                Diagnostic::error("edge-into-trigger", message)
                    .at_node(&edge.target)
                    .with_help("delete the edge, or let it enter the node after the trigger".to_owned()),
            );
            None
        } else {
            self.port(target, edge.target_handle.as_deref(), Side::Input, found)
        };
        Some(Wire {
            source,
            source_port: source_port?,
            target,
            target_port: target_port?,
        })
    }

    fn port(&self, node: usize, handle: Option<&str>, side: Side, found: &mut Findings) -> Option<usize> {
        let spot = &self.nodes[node];
        let ports = if side == Side::Input {
            &spot.inputs
        } else {
            &spot.outputs
        };
        if matches!(spot.kind, Kind::Unknown) {
            return Some(0);
        }
        let Some(handle) = handle else {
            if ports.is_empty() || ports[0].name == ERROR_PORT && side == Side::Output {
                found.report(Severity::Error, || {
                    let message = format!(
                        "an edge needs an {} of `{}`, which has none",
                        side.word(),
                        spot.node.node_type
                    );
                    Diagnostic::error("unknown-port", message).at_node(&spot.node.id)
                });
                return None;
            }
            return Some(0);
        };
        let place = ports.iter().position(|port| port.name == handle);
        if place.is_none() && side == Side::Output && spot.has_unclear_outputs() {
            return Some(0);
        }
        if place.is_none() {
            let names = || ports.iter().map(|port| port.name);
            let help = if handle == ERROR_PORT && side == Side::Output {
                Some("set onError to \"branch\" to get an error port".to_owned())
            } else {
                found.did_you_mean(Severity::Error, handle, names())
            };
            // Every edge may name all ports of a node, whose names and type may be long.
            found.report(Severity::Error, || {
                let message = format!(
                    "`{}` has no {} `{handle}`; its {}s: {}",
                    spot.node.node_type,
                    side.word(),
                    side.word(),
                    list(names())
                );
                Diagnostic::error("unknown-port", message)
                    .at_node(&spot.node.id)
                    .with_help(help)
            });
        }
        place
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Input,
    Output,
}

impl Side {
    fn word(self) -> &'static str {
        match self {
            Side::Input => "input port",
            Side::Output => "output port",
        }
    }
}

fn spot<'a>(node: &'a Node, items: bool, definitions: &'a Definitions, found: &mut Findings) -> Spot<'a> {
    let standard = heddle_catalogue::node_type(&node.node_type);
    let kind = match (standard, definitions.get(&node.node_type)) {
        (Some(node_type), _) => Kind::Standard(node_type),
        (None, Some((index, definition))) => Kind::Defined(definition, index),
        (None, None) => {
            if !node.node_type.is_empty() {
                unknown_type(node, definitions, found);
            }
            Kind::Unknown
        }
    };
    let (inputs, mut outputs) = match kind {
        Kind::Standard(node_type) => (
            standard_ports(node_type.inputs),
            standard_outputs(node, node_type),
        ),
        Kind::Defined(definition, _) => (own_ports(&definition.inputs), own_ports(&definition.outputs)),
        Kind::Unknown => (Vec::new(), Vec::new()),
    };
    if node.on_error == OnError::Branch {
        outputs.push(Port {
            name: ERROR_PORT,
            value_type: ValueType::Object,
            required: false,
        });
    }
    Spot {
        node,
        kind,
        each: node.each.unwrap_or(items && works_on_items(kind)),
        inputs,
        outputs,
    }
}

/// Whether a node works on single items, so that it executes for each of them where lists of items travel. The nodes within a
/// composite do so by themselves, and what has several inputs gets a list by each.
fn works_on_items(kind: Kind<'_>) -> bool {
    match kind {
        Kind::Standard(node_type) => !node_type.works_on_lists(),
        Kind::Defined(definition, _) => {
            !matches!(definition.kind, DefinitionKind::Graph(_)) && definition.inputs.len() < 2
        }
        Kind::Unknown => true,
    }
}

fn unknown_type(node: &Node, definitions: &Definitions, found: &mut Findings) {
    let standard = heddle_catalogue::node_types()
        .iter()
        .map(|node_type| node_type.name);
    let known = standard.chain(
        definitions
            .all()
            .iter()
            .map(|definition| definition.name.as_str()),
    );
    let help = found.did_you_mean(Severity::Error, &node.node_type, known);
    found.report(Severity::Error, || {
        let help = help.unwrap_or_else(|| {
            "`heddle nodes` lists the standard types; others need an entry in nodeDefinitions".to_owned()
        });
        Diagnostic::error(
            "unknown-type",
            format!("there is no node type `{}`", node.node_type),
        )
        .at_node(&node.id)
        .with_help(help)
    });
}

fn standard_ports(ports: &'static [heddle_catalogue::Port]) -> Vec<Port<'static>> {
    ports
        .iter()
        .map(|port| Port {
            name: port.name,
            value_type: port.value_type,
            required: port.required,
        })
        .collect()
}

fn own_ports(ports: &[OwnPort]) -> Vec<Port<'_>> {
    ports
        .iter()
        .map(|port| Port {
            name: &port.name,
            value_type: port.value_type,
            required: port.required,
        })
        .collect()
}

/// The cases that this parameter of a node has, if they are written out.
fn cases<'a>(node: &'a Node, parameter: &Parameter) -> Option<&'a [Value]> {
    Some(node.parameters.get(parameter.name)?.as_array()?)
}

/// Switch has a port for each case, in order, and then `default`.
fn standard_outputs<'a>(node: &'a Node, node_type: &'static NodeType) -> Vec<Port<'a>> {
    match node_type.outputs {
        Outputs::Fixed(ports) => standard_ports(ports),
        Outputs::SwitchCases => {
            let written_out = node_type.cases().and_then(|parameter| cases(node, parameter));
            let name = |case: &'a Value| case.get("name").and_then(Value::as_str).unwrap_or_default();
            let names = written_out
                .unwrap_or_default()
                .iter()
                .map(name)
                .chain(["default"]);
            names
                .map(|name| Port {
                    name,
                    value_type: ValueType::Any,
                    required: false,
                })
                .collect()
        }
    }
}
