//! Composites inlined: one flat list of nodes and wires.
//!
//! A composite `outer` becomes its inner nodes, as `outer/inner`. Its inputs end at the inner OnCall, which passes
//! them on; its Return nodes lead to a rim node that has the composite's own id and outputs. With `onError`, failures
//! of inner nodes that would end the run leave by an edge to a second rim node, `outer/$error` (branch), or to the
//! first (continue). A disabled or pinned composite is one node.

use crate::check::level::{Level, Spot};
use crate::check::{Checked, Inside};
use crate::scopes::Wire;
use heddle_node_stdlib::plan::OnError;
use serde_json::{Map, Value};

/// Name within a composite of the rim node by which failures leave. No drawn node can have it.
pub(crate) const ERROR_RIM: &str = "$error";

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
    /// Its failures leave by an error port that was not drawn.
    pub caught: bool,
    /// Milliseconds, from the composites around it if it has none of its own.
    pub timeout_ms: u32,
}

/// What a placed node is of the drawn one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// All of it.
    Whole,
    /// All of it, passing its input through.
    Passing,
    /// The OnCall of a composite, with the composite's inputs: the number of its drawn node in the graph around.
    Entry,
    /// A Return of a composite: its value goes to the rim.
    InnerReturn,
    /// The outputs of a composite.
    Rim,
    /// The error output of a composite.
    ErrorRim,
}

/// A graph as it was inlined once: where its nodes are in the plan.
#[derive(Debug)]
pub(crate) struct Instance<'c, 'a> {
    pub level: &'c Level<'a>,
    /// Where edges into each node end.
    pub heads: Vec<usize>,
    /// Where edges from each node begin; what references to it mean.
    pub tails: Vec<usize>,
    /// Where edges from a composite's error port begin.
    error_tails: Vec<Option<usize>>,
    /// Where failures go that would end the run.
    catch: Option<usize>,
    /// The composite's node, in the instance around it.
    pub outer: Option<(usize, usize)>,
}

/// What an inner graph takes over from the composite around it.
#[derive(Clone, Copy, Default)]
struct Around {
    outer: Option<(usize, usize)>,
    caught: bool,
    timeout_ms: u32,
}

/// Inlines everything. The definitions must not contain themselves.
pub(crate) fn inline<'c, 'a>(checked: &'c Checked<'a>, pins: &Map<String, Value>) -> Inlined<'c, 'a> {
    let mut inliner = Inliner {
        checked,
        pins,
        inlined: Inlined::default(),
    };
    inliner.place(&checked.main, "", Around::default());
    inliner.find_catches();
    inliner.wire();
    inliner.inlined
}

struct Inliner<'c, 'a, 'p> {
    checked: &'c Checked<'a>,
    pins: &'p Map<String, Value>,
    inlined: Inlined<'c, 'a>,
}

impl<'c, 'a> Inliner<'c, 'a, '_> {
    /// Places the nodes of a graph; gives its instance.
    fn place(&mut self, level: &'c Level<'a>, prefix: &str, around: Around) -> usize {
        let instance = self.inlined.instances.len();
        let count = level.nodes.len();
        self.inlined.instances.push(Instance {
            level,
            heads: vec![0; count],
            tails: vec![0; count],
            error_tails: vec![None; count],
            catch: None,
            outer: around.outer,
        });
        for (local, spot) in level.nodes.iter().enumerate() {
            let id = format!("{prefix}{}", spot.node.id);
            let timeout_ms = if spot.node.timeout_ms == 0 {
                around.timeout_ms
            } else {
                spot.node.timeout_ms
            };
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
                caught: around.caught,
                timeout_ms,
            };
            let (head, tail) = if let Some(inner) = inside {
                self.composite(inner, placed)
            } else {
                placed.part = match (around.outer, spot) {
                    (Some(_), spot) if spot.is("OnCall") => Part::Entry,
                    (Some(_), spot) if spot.is("Return") => Part::InnerReturn,
                    (_, spot) if spot.composite().is_some() => Part::Passing,
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

    /// Places a composite's inner nodes and rims; gives where its edges end and begin.
    fn composite(&mut self, inner: &'c Level<'a>, placed: Placed<'c, 'a>) -> (usize, usize) {
        let Placed {
            id,
            spot,
            instance,
            local,
            caught,
            timeout_ms,
            ..
        } = placed;
        let catches = spot.node.on_error != OnError::Fail;
        let around = Around {
            outer: Some((instance, local)),
            caught: caught || catches,
            timeout_ms,
        };
        let inside = self.place(inner, &format!("{id}/"), around);
        let entry = inner.nodes.iter().position(|spot| spot.is("OnCall")).unwrap_or(0);
        let head = self.inlined.instances[inside].heads[entry];
        let rim = |id, part| Placed {
            id,
            spot,
            part,
            instance,
            local,
            caught: false,
            timeout_ms: 0,
        };
        let tail = self.push(rim(id.clone(), Part::Rim));
        let error_tail = (spot.node.on_error == OnError::Branch)
            .then(|| self.push(rim(format!("{id}/{ERROR_RIM}"), Part::ErrorRim)));
        self.inlined.instances[instance].error_tails[local] = error_tail;
        if catches {
            self.inlined.instances[inside].catch = Some(error_tail.unwrap_or(tail));
        }
        (head, tail)
    }

    fn push(&mut self, mut placed: Placed<'c, 'a>) -> usize {
        placed.caught &= matches!(placed.part, Part::Whole | Part::InnerReturn)
            && placed.spot.node.on_error == OnError::Fail
            && !placed.spot.is_trigger()
            && !placed.spot.node.disabled;
        self.inlined.nodes.push(placed);
        self.inlined.nodes.len() - 1
    }

    /// A composite without `onError` hands failures to the one around it; outer instances come first.
    fn find_catches(&mut self) {
        for index in 0..self.inlined.instances.len() {
            if let (None, Some((outer, _))) = (
                self.inlined.instances[index].catch,
                self.inlined.instances[index].outer,
            ) {
                self.inlined.instances[index].catch = self.inlined.instances[outer].catch;
            }
        }
    }

    fn wire(&mut self) {
        let Inlined {
            nodes,
            wires,
            instances,
        } = &mut self.inlined;
        for instance in instances.iter() {
            for wire in &instance.level.wires {
                let source = &instance.level.nodes[wire.source];
                let is_error = source.error_port() == Some(wire.source_port);
                let (tail, source_port) = match instance.error_tails[wire.source] {
                    Some(error_tail) if is_error => (error_tail, 0),
                    // The value of an inner Return takes the first port.
                    _ => {
                        let tail = instance.tails[wire.source];
                        let shift = usize::from(nodes[tail].part == Part::InnerReturn);
                        (tail, wire.source_port + shift)
                    }
                };
                let target = instance.heads[wire.target];
                wires.push(Wire {
                    source: tail,
                    source_port,
                    target,
                    target_port: wire.target_port,
                });
            }
        }
        for (index, node) in nodes.iter().enumerate() {
            let instance = &instances[node.instance];
            if let (Part::InnerReturn, Some((outer, local))) = (node.part, instance.outer) {
                let rim = instances[outer].tails[local];
                wires.push(Wire {
                    source: index,
                    source_port: 0,
                    target: rim,
                    target_port: 0,
                });
            }
            if let (true, Some(catch)) = (node.caught, instance.catch) {
                let source_port = node.drawn_outputs();
                wires.push(Wire {
                    source: index,
                    source_port,
                    target: catch,
                    target_port: 0,
                });
            }
        }
    }
}

impl Placed<'_, '_> {
    /// Number of output ports without one for caught failures.
    fn drawn_outputs(&self) -> usize {
        self.spot.outputs.len() + usize::from(self.part == Part::InnerReturn)
    }

    /// Names of the output ports.
    pub fn outputs(&self) -> Vec<String> {
        let drawn = || self.spot.outputs.iter().map(|socket| socket.name.to_owned());
        let mut names: Vec<String> = match self.part {
            Part::Whole | Part::Passing | Part::Entry => drawn().collect(),
            Part::InnerReturn => ["out".to_owned()].into_iter().chain(drawn()).collect(),
            Part::Rim => drawn()
                .take(self.spot.outputs.len() - usize::from(self.spot.error_port().is_some()))
                .collect(),
            Part::ErrorRim => vec![crate::check::level::ERROR_PORT.to_owned()],
        };
        if self.caught {
            names.push(crate::check::level::ERROR_PORT.to_owned());
        }
        names
    }
}
