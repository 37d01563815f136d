//! Composites inlined: one flat list of nodes and wires.
//!
//! A composite `outer` becomes its inner nodes, as `outer/inner`. Its inputs end at the inner OnCall, which passes
//! them on; its Return nodes lead to a rim node that has the composite's own id and outputs.
//!
//! With `each`, `retry` or `onError` it is executed as a whole, once or several times, so it becomes a block: a node
//! with its id and ports, and its inner nodes as the body, as a loop has one. A hidden output, after those that are
//! drawn, leads to the inner OnCall; the rim, `outer/$out`, leads to a hidden input, its port saying by which of the
//! block's outputs a value is to leave. A disabled or pinned composite is one node.
//!
//! An operation of two requests is a block, too: `it/$given` evaluates the node's parameters, `it/$find` sends the first
//! request and `it/$request` the second, which is about what was found.

use crate::check::level::{Level, Spot};
use crate::checked::{Checked, Inside};
use crate::scopes::{BodyPorts, LOOP_PORTS, Wire};
use heddle_catalogue::{Role, Start};
use heddle_contract::plan::{FINDS, OnError, REQUESTS};
use serde_json::{Map, Value};
use std::ops::Range;

/// Name within a block of its rim node. No drawn node can have it.
const RIM: &str = "$out";

/// The graph without composites.
#[derive(Debug, Default)]
pub(crate) struct Inlined<'c, 'a> {
    pub nodes: Vec<Placed<'c, 'a>>,
    pub wires: Vec<Wire>,
    pub instances: Vec<Instance<'c, 'a>>,
}

/// A node of the plan-to-be.
#[derive(Debug)]
pub(crate) struct Placed<'c, 'a> {
    pub id: String,
    /// The drawn node that it is, or is part of.
    pub spot: &'c Spot<'a>,
    pub part: Part,
    /// The graph that it was drawn in, and its number there.
    pub instance: usize,
    pub local: usize,
    /// Milliseconds, from the composites around it if it has none of its own.
    pub timeout_ms: u32,
}

/// What a placed node is of the drawn one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// All of it.
    Whole,
    /// All of it, passing its input through.
    Passing,
    /// A composite that is executed as a whole, with the nodes of its body.
    Block(Range<usize>),
    /// The OnCall of a composite, with the composite's inputs.
    Entry(Vec<String>),
    /// A Return of a composite: its value goes to the rim.
    InnerReturn,
    /// The outputs of a composite.
    Rim,
    /// The parameters of an operation of two requests.
    Given,
    /// Its first request, with the node of its parameters.
    Find(usize),
    /// Its second one.
    Request(usize),
}

/// A graph as it was inlined once: where its nodes are in the plan.
#[derive(Debug)]
pub(crate) struct Instance<'c, 'a> {
    pub level: &'c Level<'a>,
    /// Where edges into each node end.
    pub heads: Vec<usize>,
    /// Where edges from each node begin; what references to it mean.
    pub tails: Vec<usize>,
    /// The composite that it is the inner graph of.
    outer: Option<Outer>,
}

/// What an inner graph is inside of.
#[derive(Clone, Copy, Debug)]
struct Outer {
    /// The composite's node, if it is a block.
    block: Option<usize>,
    rim: usize,
}

/// Inlines everything. The definitions must not contain themselves.
pub(crate) fn inline<'c, 'a>(checked: &'c Checked<'a>, pins: &Map<String, Value>) -> Inlined<'c, 'a> {
    let mut inliner = Inliner {
        checked,
        pins,
        inlined: Inlined::default(),
    };
    inliner.place(&checked.main, "", None, 0);
    inliner.wire();
    inliner.inlined
}

struct Inliner<'c, 'a, 'p> {
    checked: &'c Checked<'a>,
    pins: &'p Map<String, Value>,
    inlined: Inlined<'c, 'a>,
}

impl<'c, 'a> Inliner<'c, 'a, '_> {
    /// Places the nodes of a graph, which is a composite's if the OnCall is given its inputs; gives its instance.
    fn place(
        &mut self,
        level: &'c Level<'a>,
        prefix: &str,
        inputs: Option<&[String]>,
        timeout_ms: u32,
    ) -> usize {
        let instance = self.inlined.instances.len();
        let count = level.nodes.len();
        self.inlined.instances.push(Instance {
            level,
            heads: vec![0; count],
            tails: vec![0; count],
            outer: None,
        });
        for (local, spot) in level.nodes.iter().enumerate() {
            let id = format!("{prefix}{}", spot.node.id);
            let inside = spot
                .composite()
                .and_then(|index| match &self.checked.definitions[index] {
                    Inside::Composite(inner) if !spot.node.disabled && !self.pins.contains_key(&id) => {
                        Some(inner)
                    }
                    _ => None,
                });
            let mut placed = Placed {
                id,
                spot,
                part: Part::Whole,
                instance,
                local,
                timeout_ms: match spot.node.timeout_ms {
                    0 => timeout_ms,
                    own => own,
                },
            };
            let is_pinned = self.pins.contains_key(&placed.id);
            let (head, tail) = if let Some(inner) = inside {
                self.composite(inner, placed)
            } else if spot.finds_first() && !spot.node.disabled && !is_pinned {
                self.operation(placed)
            } else {
                placed.part = match (inputs, spot) {
                    (Some(inputs), spot) if spot.starts_by(Start::Call) => Part::Entry(inputs.to_vec()),
                    (Some(_), spot) if spot.role() == Role::Return => Part::InnerReturn,
                    (_, spot) if spot.composite().is_some() || spot.finds_first() => Part::Passing,
                    (_, spot) if spot.node.disabled && !spot.is_trigger() => Part::Passing,
                    _ => Part::Whole,
                };
                let index = self.push(placed);
                (index, index)
            };
            self.inlined.instances[instance].heads[local] = head;
            self.inlined.instances[instance].tails[local] = tail;
        }
        instance
    }

    /// Places a composite's inner nodes and what is around them; gives where its edges end and begin.
    fn composite(&mut self, inner: &'c Level<'a>, placed: Placed<'c, 'a>) -> (usize, usize) {
        let (id, spot) = (&placed.id, placed.spot);
        let is_block = is_executed_as_a_whole(spot);
        let block = is_block.then(|| self.push(placed.part_of(id.clone(), Part::Block(0..0))));
        let inputs = match is_block {
            true => vec!["in".to_owned()],
            false => spot.inputs.iter().map(|port| port.name.to_owned()).collect(),
        };
        let inside = self.place(inner, &format!("{id}/"), Some(&inputs), placed.timeout_ms);
        let rim_id = match is_block {
            true => format!("{id}/{RIM}"),
            false => id.clone(),
        };
        let rim = self.push(placed.part_of(rim_id, Part::Rim));
        self.inlined.instances[inside].outer = Some(Outer { block, rim });
        if let Some(block) = block {
            self.inlined.nodes[block].part = Part::Block(block + 1..rim + 1);
            return (block, block);
        }
        (self.inlined.instances[inside].entry(), rim)
    }

    /// Places the parts of an operation of two requests; gives where its edges end and begin.
    fn operation(&mut self, placed: Placed<'c, 'a>) -> (usize, usize) {
        let (id, timeout_ms) = (&placed.id, placed.timeout_ms);
        let request = |id, part| Placed {
            timeout_ms,
            ..placed.part_of(id, part)
        };
        let block = self.push(placed.part_of(id.clone(), Part::Block(0..0)));
        let given = self.push(placed.part_of(format!("{id}/$given"), Part::Given));
        self.push(request(format!("{id}/{FINDS}"), Part::Find(given)));
        self.push(request(format!("{id}/{REQUESTS}"), Part::Request(given)));
        let rim = self.push(placed.part_of(format!("{id}/{RIM}"), Part::Rim));
        self.inlined.nodes[block].part = Part::Block(given..rim + 1);
        (block, block)
    }

    fn push(&mut self, placed: Placed<'c, 'a>) -> usize {
        self.inlined.nodes.push(placed);
        self.inlined.nodes.len() - 1
    }

    fn wire(&mut self) {
        let Inlined {
            nodes,
            wires,
            instances,
        } = &mut self.inlined;
        for instance in instances.iter() {
            for wire in &instance.level.wires {
                let tail = instance.tails[wire.source];
                // The value of an inner Return takes the first port.
                let shift = usize::from(nodes[tail].part == Part::InnerReturn);
                wires.push(Wire {
                    source: tail,
                    source_port: wire.source_port + shift,
                    target: instance.heads[wire.target],
                    target_port: wire.target_port,
                });
            }
        }
        for (index, node) in nodes.iter().enumerate() {
            if let (Part::InnerReturn, Some(outer)) = (&node.part, instances[node.instance].outer) {
                wires.push(Wire {
                    source: index,
                    source_port: 0,
                    target: outer.rim,
                    target_port: 0,
                });
            }
        }
        for instance in instances.iter() {
            if let Some(Outer {
                block: Some(block),
                rim,
            }) = instance.outer
                && let Some(ports) = nodes[block].body_ports()
            {
                wires.push(Wire {
                    source: block,
                    source_port: ports.item,
                    target: instance.entry(),
                    target_port: 0,
                });
                wires.extend((0..nodes[rim].outputs().len()).map(|port| Wire {
                    source: rim,
                    source_port: port,
                    target: block,
                    target_port: ports.next,
                }));
            }
        }
        for (index, node) in nodes.iter().enumerate() {
            if let (Part::Block(body), Some(ports)) = (&node.part, node.body_ports())
                && node.spot.finds_first()
            {
                wires.extend(in_a_row(index, body, ports));
            }
        }
    }
}

/// From a block through all of its body and back.
fn in_a_row(block: usize, body: &Range<usize>, ports: BodyPorts) -> Vec<Wire> {
    let last = body.end - 1;
    let mut wires = vec![Wire {
        source: block,
        source_port: ports.item,
        target: body.start,
        target_port: 0,
    }];
    wires.extend((body.start..last).map(|source| Wire {
        source,
        source_port: 0,
        target: source + 1,
        target_port: 0,
    }));
    wires.push(Wire {
        source: last,
        source_port: 0,
        target: block,
        target_port: ports.next,
    });
    wires
}

/// Whether a composite is executed several times, its failures stay within it, or its input or output is not what edges bring.
fn is_executed_as_a_whole(spot: &Spot<'_>) -> bool {
    let retries = spot
        .node
        .retry
        .as_ref()
        .is_some_and(|retry| retry.max_attempts > 1);
    let node = spot.node;
    spot.each || node.once || node.always || retries || node.on_error != OnError::Fail
}

impl Instance<'_, '_> {
    /// The OnCall of a composite.
    fn entry(&self) -> usize {
        let entry = self
            .level
            .nodes
            .iter()
            .position(|spot| spot.starts_by(Start::Call));
        entry.map_or(0, |local| self.heads[local])
    }
}

impl Inlined<'_, '_> {
    /// The composites that are executed as a whole, with their bodies.
    pub fn blocks(&self) -> Vec<(usize, Range<usize>)> {
        let nodes = self.nodes.iter().enumerate();
        nodes
            .filter_map(|(index, placed)| match &placed.part {
                Part::Block(body) => Some((index, body.clone())),
                _ => None,
            })
            .collect()
    }
}

impl<'c, 'a> Placed<'c, 'a> {
    /// A part of the drawn node, without a time of its own.
    fn part_of(&self, id: String, part: Part) -> Placed<'c, 'a> {
        Placed {
            id,
            spot: self.spot,
            part,
            instance: self.instance,
            local: self.local,
            timeout_ms: 0,
        }
    }

    /// The ports between a loop or a block and its body.
    pub fn body_ports(&self) -> Option<BodyPorts> {
        match &self.part {
            Part::Block(_) => Some(BodyPorts {
                item: self.spot.outputs.len(),
                next: self.spot.inputs.len(),
            }),
            _ => self.spot.is_loop().then_some(LOOP_PORTS),
        }
    }

    /// Whether it is part of a block, which people see by its own node.
    pub fn is_hidden(&self) -> bool {
        self.part == Part::Rim && self.id.ends_with(RIM)
    }

    /// The node that has effects: what is a part of an operation is pinned as a whole.
    pub fn effects_id(&self) -> &str {
        let operation = self.id.rsplit_once('/');
        match (&self.part, operation) {
            (Part::Given | Part::Find(_) | Part::Request(_), Some((operation, _))) => operation,
            _ => self.id.as_str(),
        }
    }

    /// Names of the input ports.
    pub fn inputs(&self) -> Vec<String> {
        match &self.part {
            Part::Entry(inputs) => inputs.clone(),
            Part::Rim => vec!["in".to_owned()],
            _ => self.spot.inputs.iter().map(|port| port.name.to_owned()).collect(),
        }
    }

    /// Names of the output ports.
    pub fn outputs(&self) -> Vec<String> {
        let drawn = self.spot.outputs.iter().map(|port| port.name.to_owned());
        match self.part {
            Part::InnerReturn => ["out".to_owned()].into_iter().chain(drawn).collect(),
            // Errors don't come out of the inner graph.
            Part::Rim | Part::Given | Part::Find(_) | Part::Request(_) => drawn
                .take(self.spot.outputs.len() - usize::from(self.spot.error_port().is_some()))
                .collect(),
            _ => drawn.collect(),
        }
    }
}
