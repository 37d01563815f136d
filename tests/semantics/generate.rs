//! Random valid graphs, from a seed: biased to shapes in which orders and dead paths matter.

use crate::graph::{Case, Definition, Edge, Graph, Kind, Merge, Node, OnError, Parameter, Pin};
use crate::terms::{self, Scope, chance, pick};
use fastrand::Rng;
use std::collections::BTreeSet;

/// An output port that nodes further on may take their value from.
#[derive(Clone, Debug)]
struct Source {
    node: String,
    port: String,
    /// Nodes that may have run when this fires.
    seen: BTreeSet<String>,
    after_error: bool,
    /// Nearly always an array.
    array: bool,
}

struct Generator {
    rng: Rng,
    nodes: Vec<Node>,
    edges: Vec<Edge>,
    definitions: Vec<(String, Definition)>,
    /// Inside a composite: no trigger to name, Returns only at its end.
    composite: bool,
    nodes_left: usize,
}

/// A case: a graph of up to about 25 nodes, its definitions, an event and pins.
pub fn case(seed: u64) -> Case {
    let mut rng = Rng::with_seed(seed);
    let definitions = definitions(&mut rng);
    let size = 1 + rng.usize(..5) * rng.usize(..6);
    let event = terms::event(&mut rng);
    let mut generator = Generator {
        rng,
        nodes: vec![],
        edges: vec![],
        definitions,
        composite: false,
        nodes_left: size,
    };
    let triggers = generator.root();
    let mut graph = Graph {
        nodes: generator.nodes,
        edges: generator.edges,
    };
    let (mut rng, mut definitions) = (generator.rng, generator.definitions);
    let trigger = pick(&mut rng, &triggers);
    let pins = pins(&mut rng, &graph, &definitions);
    if rng.bool() {
        rng.shuffle(&mut graph.nodes);
    }
    if rng.bool() {
        rng.shuffle(&mut graph.edges);
    }
    drop_unused(&graph, &mut definitions);
    let items = seed % 5 == 1;
    if items {
        let inner = definitions
            .iter_mut()
            .filter_map(|(_, definition)| match definition {
                Definition::Composite(graph) => Some(graph),
                Definition::Expression(..) => None,
            });
        for graph in inner.chain([&mut graph]) {
            suit_items(&mut rng, graph);
        }
    }
    Case {
        graph,
        definitions,
        trigger,
        event,
        pins,
        lenient: seed.is_multiple_of(4),
        items,
    }
}

/// Where lists of items travel, objects can't be merged, and some nodes execute once for a list.
fn suit_items(rng: &mut Rng, graph: &mut Graph) {
    for node in &mut graph.nodes {
        if node.kind == Kind::Merge(Merge::Combine) {
            node.kind = Kind::Merge(Merge::Zip);
        }
        node.whole = !node.each && chance(rng, 5);
        // It has no port by which elements that failed could leave; what a trace shows of them then is not compared.
        if matches!(node.kind, Kind::Throw { .. }) && node.on_error == OnError::Continue {
            node.on_error = OnError::Branch;
        }
    }
}

fn drop_unused(graph: &Graph, definitions: &mut Vec<(String, Definition)>) {
    let uses = |graph: &Graph, name: &str| {
        graph
            .nodes
            .iter()
            .any(|node| matches!(&node.kind, Kind::Defined(used) if used == name))
    };
    for index in (0..definitions.len()).rev() {
        let name = &definitions[index].0;
        let used_by_others = definitions
            .iter()
            .any(|(_, other)| matches!(other, Definition::Composite(inner) if uses(inner, name)));
        if !uses(graph, name) && !used_by_others {
            definitions.remove(index);
        }
    }
}

fn definitions(rng: &mut Rng) -> Vec<(String, Definition)> {
    let mut definitions = Vec::new();
    let scope = Scope::default();
    for index in 0..rng.u32(..3) {
        let outputs = (0..rng.usize(1..3)).map(|port| {
            let value = if chance(rng, 60) {
                terms::value(rng, &scope, 2)
            } else {
                terms::text(rng, &scope)
            };
            (["out", "other"][port].to_owned(), value)
        });
        let outputs = outputs.collect();
        let inputs = if chance(rng, 70) {
            vec!["in"]
        } else {
            vec!["left", "right"]
        };
        let inputs = inputs.into_iter().map(str::to_owned).collect();
        definitions.push((format!("Formula{index}"), Definition::Expression(inputs, outputs)));
    }
    for index in 0..rng.u32(..4) {
        let mut generator = Generator {
            rng: rng.fork(),
            nodes: vec![],
            edges: vec![],
            definitions: definitions.clone(),
            composite: true,
            nodes_left: rng.usize(1..8),
        };
        generator.composite();
        let graph = Graph {
            nodes: generator.nodes,
            edges: generator.edges,
        };
        definitions.push((format!("Block{index}"), Definition::Composite(graph)));
    }
    definitions
}

fn pins(rng: &mut Rng, graph: &Graph, definitions: &[(String, Definition)]) -> Vec<Pin> {
    let mut pins: Vec<Pin> = Vec::new();
    if !chance(rng, 25) {
        return pins;
    }
    for _ in 0..rng.u32(1..3) {
        let node = pick(rng, &graph.nodes);
        let outputs = node.outputs(definitions);
        if outputs.is_empty() || pins.iter().any(|pin| pin.node == node.id) {
            continue;
        }
        let port = match node.is_loop() {
            true => Some("done".to_owned()),
            false if rng.bool() => Some(pick(rng, &outputs)),
            false => None,
        };
        pins.push(Pin {
            node: node.id.clone(),
            port,
            value: terms::json(rng, 2),
        });
    }
    pins
}

impl Generator {
    fn root(&mut self) -> Vec<String> {
        let mut triggers = Vec::new();
        let mut sources = Vec::new();
        let count = if chance(&mut self.rng, 80) { 1 } else { 2 };
        for _ in 0..count {
            let kind = Kind::Trigger(pick(&mut self.rng, &["OnManual", "OnWebhook", "OnCall"]));
            let id = self.add(kind);
            triggers.push(id.clone());
            sources.push(self.source(&id, "out", BTreeSet::new(), false, false));
        }
        let sources = self.region(sources, false);
        if chance(&mut self.rng, 50) {
            self.returns(&sources);
        }
        triggers
    }

    fn composite(&mut self) {
        let id = self.add(Kind::Trigger("OnCall"));
        let mut sources = vec![self.source(&id, "out", BTreeSet::new(), false, false)];
        if chance(&mut self.rng, 40) {
            sources = self.guarded(&sources);
        }
        sources = self.region(sources, false);
        for _ in 0..self.rng.usize(1..3) {
            self.returns(&sources);
        }
    }

    /// Fails for some inputs.
    fn guarded(&mut self, sources: &[Source]) -> Vec<Source> {
        let scope = self.scope(sources, false);
        let condition = terms::condition(&mut self.rng, &scope);
        let check = self.add(Kind::If(condition));
        self.connect(sources, &check, "in");
        let [refused, passed] =
            ["true", "false"].map(|port| self.source(&check, port, BTreeSet::new(), false, false));
        let kind = throw(&mut self.rng, &scope);
        let throw = self.add(kind);
        self.connect(&[refused], &throw, "in");
        vec![passed]
    }

    fn returns(&mut self, sources: &[Source]) {
        let from = self.pick_sources(sources, 1);
        let scope = self.scope(&from, false);
        let value = self.rng.bool().then(|| terms::value(&mut self.rng, &scope, 1));
        let id = self.add(Kind::Return(value));
        self.connect(&from, &id, "in");
    }

    fn add(&mut self, kind: Kind) -> String {
        let id = format!("n{}", self.nodes.len());
        let mut node = Node::new(&id, kind);
        if chance(&mut self.rng, 40) {
            node.label = Some(format!("Node {}", self.nodes.len()));
        }
        self.nodes.push(node);
        id
    }

    fn node_mut(&mut self, id: &str) -> &mut Node {
        self.nodes.iter_mut().find(|node| node.id == id).unwrap()
    }

    fn source(
        &self,
        node: &str,
        port: &str,
        seen: BTreeSet<String>,
        after_error: bool,
        array: bool,
    ) -> Source {
        let seen = seen.into_iter().chain([node.to_owned()]).collect();
        Source {
            node: node.to_owned(),
            port: port.to_owned(),
            seen,
            after_error,
            array,
        }
    }

    fn connect(&mut self, from: &[Source], target: &str, port: &str) {
        for source in from {
            let edge = Edge {
                source: source.node.clone(),
                source_port: source.port.clone(),
                target: target.to_owned(),
                target_port: port.to_owned(),
            };
            if !self.edges.contains(&edge) {
                self.edges.push(edge);
            }
        }
    }

    fn scope(&self, from: &[Source], has_item: bool) -> Scope {
        let seen: BTreeSet<&String> = from.iter().flat_map(|source| &source.seen).collect();
        let label = |id: &str| {
            self.nodes
                .iter()
                .find(|node| node.id == id)
                .unwrap()
                .label
                .clone()
        };
        Scope {
            nodes: seen.into_iter().map(|id| (id.clone(), label(id))).collect(),
            has_item,
            has_origins: false,
            has_error: from.iter().any(|source| source.after_error),
            has_trigger: !self.composite,
        }
    }

    /// Distinct sources, rather late ones than early ones and rather unused ones.
    fn pick_sources(&mut self, sources: &[Source], count: usize) -> Vec<Source> {
        let mut picked: Vec<Source> = Vec::new();
        for _ in 0..count * 3 {
            let back = if chance(&mut self.rng, 70) {
                sources.len().min(4)
            } else {
                sources.len()
            };
            let source = &sources[sources.len() - 1 - self.rng.usize(..back)];
            let used = self
                .edges
                .iter()
                .any(|e| e.source == source.node && e.source_port == source.port);
            let taken = picked
                .iter()
                .any(|p| p.node == source.node && p.port == source.port);
            if picked.len() < count && !taken && (!used || chance(&mut self.rng, 40)) {
                picked.push(source.clone());
            }
        }
        if picked.is_empty() {
            picked.push(sources[sources.len() - 1].clone());
        }
        picked
    }

    /// Adds nodes that take their values from `sources` and from each other; gives all ports.
    fn region(&mut self, mut sources: Vec<Source>, in_loop: bool) -> Vec<Source> {
        while self.nodes_left > 0 {
            self.nodes_left -= 1;
            if in_loop && chance(&mut self.rng, 22) {
                break;
            }
            let count = pick(&mut self.rng, &[1, 1, 1, 1, 1, 2, 2, 3]);
            let from = self.pick_sources(&sources, count);
            let ports = match self.rng.u32(..100) {
                0..10 => self.for_each(&from, in_loop),
                10..16 => self.repeat(&from),
                16..30 if !self.blocks().is_empty() => self.block(&from, in_loop),
                _ => self.plain(&from, in_loop),
            };
            sources.extend(ports);
        }
        sources
    }

    fn for_each(&mut self, from: &[Source], in_loop: bool) -> Vec<Source> {
        let scope = self.scope(from, in_loop);
        let takes_input = from.len() == 1 && from[0].array;
        let items = (!takes_input || self.rng.bool()).then(|| terms::items(&mut self.rng, &scope));
        let concurrency = pick(&mut self.rng, &[1, 1, 1, 2, 3]);
        let batch_size = pick(&mut self.rng, &[0, 0, 0, 0, 1, 2]);
        self.loop_node(
            from,
            Kind::ForEach {
                items,
                concurrency,
                batch_size,
            },
        )
    }

    fn repeat(&mut self, from: &[Source]) -> Vec<Source> {
        let condition = Parameter::Json(true.into());
        let iterations_max = self.rng.usize(1..5);
        self.loop_node(
            from,
            Kind::Loop {
                condition,
                iterations_max,
            },
        )
    }

    /// Names of the definitions that are composites.
    fn blocks(&self) -> Vec<String> {
        let names = self.definitions.iter().map(|(name, _)| name);
        names.filter(|name| name.starts_with("Block")).cloned().collect()
    }

    fn block(&mut self, from: &[Source], in_loop: bool) -> Vec<Source> {
        let mut from = from.to_vec();
        if from.len() == 1 && !from[0].array && chance(&mut self.rng, 40) {
            let scope = self.scope(&from, in_loop);
            let items = terms::items(&mut self.rng, &scope);
            let id = self.add(Kind::Transform(items));
            self.connect(&from, &id, "in");
            let (seen, after_error) = combined(&from);
            from = vec![self.source(&id, "out", seen, after_error, true)];
        }
        let each = from.len() == 1 && from[0].array && chance(&mut self.rng, 75);
        let blocks = self.blocks();
        let kind = Kind::Defined(pick(&mut self.rng, &blocks));
        self.wired(kind, &from, in_loop, each, each)
    }

    /// The condition of a Loop may read the nodes of its body.
    fn set_condition(&mut self, id: &str, from: &[Source], seen: &BTreeSet<String>) {
        let from: Vec<_> = from
            .iter()
            .map(|s| Source {
                seen: seen.clone(),
                ..s.clone()
            })
            .collect();
        let mut scope = Scope {
            has_item: true,
            ..self.scope(&from, true)
        };
        scope.nodes.retain(|(node, _)| node != id);
        let condition = terms::condition(&mut self.rng, &scope);
        if let Kind::Loop { condition: old, .. } = &mut self.node_mut(id).kind {
            *old = condition;
        }
    }

    fn loop_node(&mut self, from: &[Source], kind: Kind) -> Vec<Source> {
        let array = matches!(kind, Kind::ForEach { .. });
        let id = self.add(kind);
        let (once, always) = (chance(&mut self.rng, 6), chance(&mut self.rng, 12));
        let node = self.node_mut(&id);
        (node.once, node.always) = (once, always);
        self.connect(from, &id, "in");
        let (seen, after_error) = combined(from);
        // What the loop itself last emitted is known when it is done.
        let item = Source {
            node: id.clone(),
            port: "item".to_owned(),
            seen: seen.clone(),
            after_error,
            array: false,
        };
        let body = if chance(&mut self.rng, 95) {
            self.region(vec![item], true)
        } else {
            vec![]
        };
        let seen_after = body.iter().fold(seen.clone(), |all, source| &all | &source.seen);
        if let Kind::Loop { .. } = self.node_mut(&id).kind {
            self.set_condition(&id, from, &seen_after);
        }
        if !body.is_empty() && chance(&mut self.rng, 92) {
            let count = pick(&mut self.rng, &[1, 1, 1, 2, 3]);
            let back = self.pick_sources(&body, count);
            self.connect(&back, &id, "next");
        }
        let mut ports = vec![self.source(&id, "done", seen_after, after_error, array)];
        if chance(&mut self.rng, 25) {
            self.node_mut(&id).on_error = OnError::Branch;
            ports.push(self.source(&id, "error", seen, true, false));
        }
        ports
    }

    fn plain(&mut self, from: &[Source], in_loop: bool) -> Vec<Source> {
        let array = from.len() == 1 && from[0].array;
        let each = array && chance(&mut self.rng, 40);
        let mut scope = self.scope(from, in_loop || each);
        scope.has_origins = each;
        let makes_array = !each && chance(&mut self.rng, 10);
        let kind = match (each, makes_array) {
            (true, _) => self.each_kind(&scope),
            (_, true) => Kind::Transform(terms::items(&mut self.rng, &scope)),
            _ => self.kind(&scope, from.len(), array),
        };
        self.wired(kind, from, in_loop, each, each || makes_array)
    }

    /// A node with its edges and options.
    fn wired(
        &mut self,
        kind: Kind,
        from: &[Source],
        in_loop: bool,
        each: bool,
        makes_array: bool,
    ) -> Vec<Source> {
        let array = from.len() == 1 && from[0].array;
        let id = self.add(kind);
        self.wire(from, &id);
        self.decorate(&id, each, in_loop);
        let node = self.node_mut(&id).clone();
        let (seen, mut after_error) = combined(from);
        after_error |= node.on_error == OnError::Continue;
        let gives_array = makes_array
            || matches!(
                node.kind,
                Kind::Filter { .. } | Kind::Limit { .. } | Kind::Flatten { .. }
            )
            || matches!(node.kind, Kind::Merge(Merge::Append | Merge::Zip))
            || array && matches!(node.kind, Kind::NoOp | Kind::If(_) | Kind::Log { .. });
        let outputs = node.outputs(&self.definitions);
        outputs
            .iter()
            .map(|port| {
                let is_error = port == "error";
                self.source(
                    &id,
                    port,
                    seen.clone(),
                    after_error || is_error,
                    gives_array && !is_error,
                )
            })
            .collect()
    }

    fn wire(&mut self, from: &[Source], id: &str) {
        let inputs = self.node_mut(id).clone().inputs(&self.definitions);
        for (index, source) in from.iter().enumerate() {
            self.connect(std::slice::from_ref(source), id, &inputs[index % inputs.len()]);
        }
    }

    fn decorate(&mut self, id: &str, each: bool, in_loop: bool) {
        // Composites may be used in a loop, and twice.
        let waits = self.composite || self.nodes.iter().any(|node| node.backoff_ms > 0);
        let mut rng = self.rng.fork();
        let in_composite = self.composite;
        let node = self.node_mut(id);
        node.each = each;
        let is_composite = matches!(&node.kind, Kind::Defined(name) if name.starts_with("Block"));
        if is_composite && chance(&mut rng, 30) {
            return;
        }
        if is_composite && each {
            node.concurrency = pick(&mut rng, &[1, 1, 2, 3]);
        }
        // What fails in a composite is mostly for the composite to catch.
        let throws = matches!(node.kind, Kind::Throw { .. }) && (!in_composite || chance(&mut rng, 20));
        node.on_error = match rng.u32(..100) {
            0..55 if throws => OnError::Branch,
            55..75 if throws => OnError::Continue,
            0..12 => OnError::Branch,
            12..28 => OnError::Continue,
            28..55 if is_composite => OnError::Continue,
            _ => OnError::Fail,
        };
        if chance(&mut rng, if is_composite { 30 } else { 8 }) {
            node.attempts = rng.u32(2..4);
            // With several that wait, the order would depend on the clock.
            if !each && !in_loop && !waits {
                node.backoff_ms = rng.u32(..2);
            }
        }
        let is_merge = matches!(node.kind, Kind::Merge(_));
        node.once = !is_merge && chance(&mut rng, 6);
        let has_output = !matches!(node.kind, Kind::Throw { .. } | Kind::Return(_));
        node.always = has_output && chance(&mut rng, 12);
        let keeps_order = !matches!(node.kind, Kind::Merge(_) | Kind::Throw { .. } | Kind::Return(_));
        if keeps_order && chance(&mut rng, 4) {
            node.disabled = true;
        }
    }

    fn each_kind(&mut self, scope: &Scope) -> Kind {
        let rng = &mut self.rng;
        match rng.u32(..10) {
            0 => Kind::NoOp,
            1..5 => Kind::Transform(terms::value(rng, scope, 2)),
            5..8 => Kind::If(terms::condition(rng, scope)),
            8 => Kind::SetFields {
                fields: fields(rng, scope),
                keep_input: true,
            },
            _ => Kind::Log {
                level: "info",
                message: terms::text(rng, scope),
            },
        }
    }

    fn kind(&mut self, scope: &Scope, inputs: usize, array: bool) -> Kind {
        let rng = &mut self.rng;
        if inputs > 1 && chance(rng, 55) {
            return Kind::Merge(merge(rng));
        }
        let items = |rng: &mut Rng| (!array || rng.bool()).then(|| terms::items(rng, scope));
        let composite = self.composite;
        match rng.u32(..100) {
            0..10 => Kind::NoOp,
            10..28 => Kind::SetFields {
                fields: fields(rng, scope),
                keep_input: chance(rng, 70),
            },
            28..40 => Kind::Transform(terms::value(rng, scope, 3)),
            40..56 => Kind::If(terms::condition(rng, scope)),
            60..71 if composite => throw(rng, scope),
            56..66 => switch(rng, scope),
            66..71 => throw(rng, scope),
            71..77 if !composite => Kind::Return(rng.bool().then(|| terms::value(rng, scope, 2))),
            77..82 => {
                let scope = Scope {
                    has_item: true,
                    ..scope.clone()
                };
                Kind::Filter {
                    items: items(rng),
                    condition: terms::condition(rng, &scope),
                }
            }
            82..86 if array => Kind::Limit {
                count: Parameter::Json(rng.u32(..4).into()),
                offset: rng.usize(..3),
            },
            86..89 if array => Kind::Flatten {
                depth: rng.usize(1..3),
            },
            89..97 if !self.definitions.is_empty() => Kind::Defined(pick(rng, &self.definitions).0),
            _ => {
                let level = pick(rng, &["debug", "info", "warn", "error"]);
                Kind::Log {
                    level,
                    message: terms::text(rng, scope),
                }
            }
        }
    }
}

fn combined(from: &[Source]) -> (BTreeSet<String>, bool) {
    let seen = from
        .iter()
        .flat_map(|source| source.seen.iter().cloned())
        .collect();
    (seen, from.iter().any(|source| source.after_error))
}

fn fields(rng: &mut Rng, scope: &Scope) -> Vec<(String, Parameter)> {
    let mut names = vec!["a", "b", "v", "deep.x", "deep.y.z", "k"];
    rng.shuffle(&mut names);
    let count = rng.usize(1..4);
    names
        .into_iter()
        .take(count)
        .map(|name| (name.to_owned(), terms::value(rng, scope, 2)))
        .collect()
}

fn throw(rng: &mut Rng, scope: &Scope) -> Kind {
    Kind::Throw {
        message: terms::text(rng, scope),
        code: rng.bool().then(|| "E_OWN".to_owned()),
    }
}

fn switch(rng: &mut Rng, scope: &Scope) -> Kind {
    let names = ["one", "two", "three"]
        .iter()
        .take(rng.usize(1..4))
        .map(|name| (*name).to_owned());
    let names: Vec<_> = names.collect();
    let all = rng.bool();
    if rng.bool() {
        let cases = names
            .into_iter()
            .map(|name| (name, terms::condition(rng, scope)))
            .collect();
        return Kind::SwitchWhen { cases, all };
    }
    let value = terms::value(rng, scope, 0);
    let cases = names.into_iter().map(|name| {
        let equals = if chance(rng, 30) {
            value.clone()
        } else {
            terms::value(rng, scope, 0)
        };
        (name, equals)
    });
    let cases = cases.collect();
    Kind::SwitchEquals { value, cases, all }
}

fn merge(rng: &mut Rng) -> Merge {
    match rng.u32(..10) {
        0..3 => Merge::First,
        3..6 => Merge::Append,
        6 | 7 => Merge::Combine,
        8 => Merge::Zip,
        _ => Merge::Join {
            key: "k".to_owned(),
            right_key: rng.bool().then(|| "v".to_owned()),
        },
    }
}
