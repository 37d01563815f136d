//! Checks of the flow of values: cycles, loop bodies, nodes that never run, and nodes that may run twice.

use super::guards;
use super::level::{Flow, Kind, Level, Spot};
use super::together::Together;
use crate::diagnostic::{Diagnostic, Severity, list};
use crate::findings::Findings;
use crate::scopes::{Scopes, is_entry, is_return, reach};
use fixedbitset::FixedBitSet;
use heddle_catalogue::{Iteration, Role, Start};
use serde_json::Value;

/// A loop of more iterations than this counts as unbounded.
const BOUNDED_ITERATIONS_MAX: f64 = 1_000.0;

impl Level<'_> {
    pub(crate) fn is_return(&self, wire: usize) -> bool {
        is_return(&self.wires[wire], &self.bodies)
    }

    /// Finds order and scopes, or reports the cycles.
    pub(crate) fn find_flow(&mut self, found: &mut Findings) {
        match reach(&self.bodies, &self.wires) {
            Ok(reach) => {
                let scopes = Scopes::new(&self.bodies, &[], &self.wires, &reach);
                self.flow = Some(Flow { reach, scopes });
            }
            Err(cycles) => found.extend(cycles.iter().map(|cycle| self.cycle(cycle))),
        }
    }

    fn cycle(&self, cycle: &[usize]) -> Diagnostic {
        let path: Vec<&str> = cycle
            .iter()
            .chain(cycle.first())
            .map(|node| self.name(*node))
            .collect();
        let first = cycle.first().map_or("", |node| self.name(*node));
        let help = "to repeat, use a ForEach or Loop node and connect the last node back to its port `next`";
        Diagnostic::error(
            "cycle",
            format!("these nodes wait for each other: {}", path.join(" → ")),
        )
        .at_node(first)
        .with_help(help.to_owned())
    }
}

/// Checks everything that concerns edges between nodes.
pub(crate) fn check(level: &Level<'_>, found: &mut Findings) {
    entries(level, found);
    inputs(level, found);
    node_options(level, found);
    merges_of_items(level, found);
    unreachable(level, found);
    let (node_guards, wire_guards) = guards::of_wires(level);
    if let Some(flow) = &level.flow {
        bodies(level, flow, found);
        let mut guards = Compared {
            of_nodes: node_guards,
            of_wires: wire_guards,
            steps: guards::Steps::default(),
            answers: level.items.then(|| Together::new(level, &answering(level))),
        };
        // Lists of items follow each other.
        if !level.items {
            several_live(level, &mut guards, found);
        }
        once(level, &mut guards, (Role::Return, "several-returns"), found);
        once(level, &mut guards, (Role::Respond, "responds-twice"), found);
        whole_and_streamed(level, &mut guards, found);
        effects_in_loops(level, flow, found);
    }
}

/// Where runs start.
fn entries(level: &Level<'_>, found: &mut Findings) {
    let triggers = || level.nodes.iter().filter(|spot| spot.is_trigger());
    let misspelt = (0..level.nodes.len()).any(|node| level.may_be_trigger(node));
    if level.inner {
        let calls = triggers().filter(|spot| spot.starts_by(Start::Call)).count();
        if calls > 1 || (calls == 0 && !misspelt) {
            let message = format!("a composite's inner graph starts at one OnCall; this one has {calls}");
            found.push(Diagnostic::error("composite-entry", message));
        }
        for spot in triggers().filter(|spot| !spot.starts_by(Start::Call)) {
            let message = format!("`{}` can't start a run inside a composite", spot.node.node_type);
            found.push(
                Diagnostic::warning("inner-trigger", message)
                    .at_node(&spot.node.id)
                    .with_help("delete it; a composite starts at its OnCall".to_owned()),
            );
        }
        return;
    }
    if misspelt {
        return;
    }
    if triggers().next().is_none() {
        let help = "add one, for example an OnManual node, and connect its output to the first node";
        found.push(
            Diagnostic::error("no-trigger", "no node starts a run: the graph has no trigger")
                .with_help(help.to_owned()),
        );
    } else if triggers().all(|spot| spot.node.disabled) {
        found.push(Diagnostic::warning(
            "no-trigger",
            "every trigger is disabled, so no run can start",
        ));
    }
    let responders = level
        .nodes
        .iter()
        .filter(|spot| matches!(spot.role(), Role::Respond | Role::Stream));
    let is_requested = |spot: &Spot<'_>| Start::REQUESTS.iter().any(|start| spot.starts_by(*start));
    if !triggers().any(is_requested) {
        found.extend(responders.map(|spot| {
            let message = "nobody waits for this response: the graph has no OnWebhook, OnForm or OnChat";
            Diagnostic::warning("no-webhook", message).at_node(&spot.node.id)
        }));
    }
}

/// Required inputs, and types of ports that are joined.
fn inputs(level: &Level<'_>, found: &mut Findings) {
    for (node, spot) in level.nodes.iter().enumerate() {
        let mut wired = vec![0usize; spot.inputs.len()];
        for wire in &level.incoming[node] {
            if let Some(count) = wired.get_mut(level.wires[*wire].target_port) {
                *count += 1;
            }
        }
        for (port, count) in spot.inputs.iter().zip(&wired) {
            if port.required && *count == 0 && !level.half_wired[node] {
                // Each node of a definition may lack all of its inputs.
                found.report(Severity::Error, || {
                    let message = format!("the input `{}` has no edge", port.name);
                    Diagnostic::error("missing-input", message)
                        .at_node(&spot.node.id)
                        .with_help("connect an edge to it".to_owned())
                });
            }
        }
        for wire in &level.incoming[node] {
            if wired.get(level.wires[*wire].target_port) == Some(&1) {
                found.extend(super::types::mismatch(level, *wire));
            }
        }
    }
}

/// Options that do nothing, or that this kind of node can't have.
fn node_options(level: &Level<'_>, found: &mut Findings) {
    for spot in &level.nodes {
        let node = spot.node;
        let kind = match spot.kind {
            Kind::Standard(_) if spot.is_trigger() => Some("a trigger"),
            Kind::Standard(_) if spot.is_loop() => Some("a loop"),
            _ => None,
        };
        if let Some(kind) = kind
            && spot.each
        {
            let message = format!("each can't be used on {kind}; put a ForEach around it instead");
            found.push(Diagnostic::error("option", message).at_node(&node.id));
        }
        if node.once
            && let Some(message) = no_once(spot)
        {
            found.push(Diagnostic::error("option", message).at_node(&node.id));
        }
        if node.always
            && let Some(message) = no_always(spot)
        {
            found.push(Diagnostic::error("option", message).at_node(&node.id));
        }
        if node.disabled {
            let message = if spot.is_trigger() {
                "is disabled: no run starts here"
            } else {
                "is disabled: it passes its input through"
            };
            found.push(Diagnostic::warning("disabled", message).at_node(&node.id));
        }
    }
}

/// A Merge of objects where only lists come.
fn merges_of_items(level: &Level<'_>, found: &mut Findings) {
    for spot in level.nodes.iter().filter(|_| level.items) {
        if let Role::Merge { mode } = spot.role()
            && spot.node.parameters.get(mode).and_then(Value::as_str) == Some("combine")
        {
            let message = "`combine` joins objects, but in a graph of items every edge brings a list";
            let help = "choose `zip`, which joins the items at each place".to_owned();
            let diagnostic = Diagnostic::error("option", message).at_node(&spot.node.id);
            found.push(diagnostic.at_parameter(mode).with_help(help));
        }
    }
}

/// Why a node can't have `once`.
fn no_once(spot: &Spot<'_>) -> Option<&'static str> {
    match spot.role() {
        Role::Trigger(_) => Some("once can't be used on a trigger: no list comes to it"),
        Role::Merge { .. } => {
            Some("once can't be used on a Merge, which joins all that comes; use it on the nodes before")
        }
        _ => None,
    }
}

/// Why a node can't have `always`.
fn no_always(spot: &Spot<'_>) -> Option<&'static str> {
    if matches!(spot.kind, Kind::Unknown) {
        return None;
    }
    if spot.is_trigger() {
        return Some("always can't be used on a trigger: what starts a run always leaves it");
    }
    let errors = usize::from(spot.error_port().is_some());
    (spot.outputs.len() <= errors).then_some("always can't be used on a node without an output")
}

/// Nodes that no trigger leads to.
fn unreachable(level: &Level<'_>, found: &mut Findings) {
    let mut reached = FixedBitSet::with_capacity(level.nodes.len());
    let starts = |node: &usize| {
        let spot = &level.nodes[*node];
        level.may_be_trigger(*node) || spot.is_trigger() && (!level.inner || spot.starts_by(Start::Call))
    };
    let mut queue: Vec<usize> = (0..level.nodes.len()).filter(starts).collect();
    if queue.is_empty() {
        return;
    }
    queue.extend((0..level.nodes.len()).filter(|node| level.half_wired[*node]));
    while let Some(node) = queue.pop() {
        if !reached.put(node) {
            queue.extend(level.outgoing[node].iter().map(|wire| level.wires[*wire].target));
        }
    }
    for (node, spot) in level
        .nodes
        .iter()
        .enumerate()
        .filter(|(node, spot)| !reached.contains(*node) && !spot.is_trigger())
    {
        let help = if level.incoming[node].is_empty() {
            "no edge enters it"
        } else {
            "the nodes that lead to it are not reached either"
        };
        found.push(
            Diagnostic::warning("unreachable", "never runs: no trigger leads to it")
                .at_node(&spot.node.id)
                .with_help(help.to_owned()),
        );
    }
}

/// Nothing enters a body except through the loop, and only the body returns to it.
fn bodies(level: &Level<'_>, flow: &Flow, found: &mut Findings) {
    for wire in &level.wires {
        let (source, target) = (level.name(wire.source), level.name(wire.target));
        let source_scope = match flow.scopes.of_body[wire.source] {
            Some(body) if is_entry(wire, &level.bodies) => body,
            _ => flow.scopes.of_node[wire.source],
        };
        if is_return(wire, &level.bodies) {
            let body = flow.scopes.of_body[wire.target];
            let inside = wire.source != wire.target
                && body.is_some_and(|body| flow.scopes.members[body].contains(wire.source));
            if !inside && body != Some(source_scope) {
                let message = format!("its port `next` is fed by `{source}`, which is not in its body");
                found.push(
                    Diagnostic::error("loop-return", message)
                        .at_node(target)
                        .with_help("connect only nodes reachable from its port `item` to `next`".to_owned()),
                );
            } else if body != Some(source_scope) {
                let inner = flow.scopes.list[source_scope]
                    .loop_node
                    .map_or("", |node| level.name(node as usize));
                let message =
                    format!("its port `next` is fed by `{source}` from within the inner loop `{inner}`");
                let help = format!("connect `{inner}`'s port `done` to `next`");
                found.push(
                    Diagnostic::error("loop-return", message)
                        .at_node(target)
                        .with_help(help),
                );
            }
            continue;
        }
        // An edge from a body reaches only the same body or, by an inner loop's `item`, that one's.
        let target_scope = flow.scopes.of_node[wire.target];
        if target_scope == source_scope {
            continue;
        }
        if let Some(loop_node) = flow.scopes.list[target_scope].loop_node {
            let loop_name = level.name(loop_node as usize);
            let message = format!(
                "is in the body of the loop `{loop_name}`, and the edge from `{source}` enters it from outside"
            );
            let help = format!(
                "use the value of `{source}` as $nodes[\"{source}\"], or start the edge at the port `item` of `{loop_name}`"
            );
            found.push(
                Diagnostic::error("loop-entry", message)
                    .at_node(target)
                    .with_help(help),
            );
        }
    }
}

/// What must have been chosen for nodes and wires to be reached.
struct Compared {
    of_nodes: Vec<Vec<(usize, usize)>>,
    of_wires: Vec<Vec<(usize, usize)>>,
    steps: guards::Steps,
    /// In a graph of items, which of its answers come in the same runs for certain.
    answers: Option<Together>,
}

impl Compared {
    /// Whether two nodes of a role meet in a run, and how that is said. In graphs of items, workflows often have several branches that
    /// answer, and data of which only one gets any: there, answers meet only if that is certain.
    fn met(&mut self, role: Role, one: usize, other: usize) -> Option<&'static str> {
        if let (Some(answers), Role::Respond) = (&self.answers, role) {
            let is_certain = answers.has(one, other);
            return is_certain.then_some("this node answers in the same runs as");
        }
        let both = [&self.of_nodes[one], &self.of_nodes[other]];
        let may = !guards::exclusive(&both, &mut self.steps);
        may.then_some("a run may reach both this node and")
    }
}

/// Nodes that answer, whole or in pieces.
fn answering(level: &Level<'_>) -> Vec<usize> {
    let answers = |node: &usize| {
        let spot = &level.nodes[*node];
        matches!(spot.role(), Role::Respond | Role::Stream) && !spot.node.disabled
    };
    (0..level.nodes.len()).filter(answers).collect()
}

/// Several edges into one port that may all be live.
fn several_live(level: &Level<'_>, compared: &mut Compared, found: &mut Findings) {
    for (node, spot) in level
        .nodes
        .iter()
        .enumerate()
        .filter(|(_, spot)| !matches!(spot.role(), Role::Merge { .. }))
    {
        for (place, port) in spot.inputs.iter().enumerate() {
            let wires: Vec<usize> = level.incoming[node]
                .iter()
                .copied()
                .filter(|wire| level.wires[*wire].target_port == place)
                .collect();
            let parts: Vec<_> = wires.iter().map(|wire| &compared.of_wires[*wire]).collect();
            if !guards::exclusive(&parts, &mut compared.steps) {
                let sources = wires.iter().map(|wire| level.name(level.wires[*wire].source));
                let message = format!(
                    "several edges may deliver to its port `{}` ({}): it would get an array",
                    port.name,
                    list(sources)
                );
                found.push(
                    Diagnostic::warning("several-edges", message)
                        .at_node(&spot.node.id)
                        .with_help("join them with a Merge node".to_owned()),
                );
            }
        }
    }
}

/// Nodes of a role of which only the first in a run counts.
fn once(
    level: &Level<'_>,
    compared: &mut Compared,
    (role, code): (Role, &'static str),
    found: &mut Findings,
) {
    let alike: Vec<usize> = (0..level.nodes.len())
        .filter(|node| level.nodes[*node].role() == role && !level.nodes[*node].node.disabled)
        .collect();
    for (place, node) in alike.iter().enumerate() {
        let earlier = alike[..place]
            .iter()
            .find_map(|other| Some((*other, compared.met(role, *other, *node)?)));
        if let Some((earlier, met)) = earlier {
            let message = format!(
                "{met} `{}`; only the first {} counts",
                level.name(earlier),
                level.nodes[*node].node.node_type
            );
            found.push(Diagnostic::warning(code, message).at_node(level.name(*node)));
        }
    }
}

/// Answers of runs that may stream one as well.
fn whole_and_streamed(level: &Level<'_>, compared: &mut Compared, found: &mut Findings) {
    let of_role = |role: Role| {
        let nodes = 0..level.nodes.len();
        nodes.filter(move |node| level.nodes[*node].role() == role && !level.nodes[*node].node.disabled)
    };
    for whole in of_role(Role::Respond) {
        let streamed = of_role(Role::Stream)
            .find_map(|streamed| Some((streamed, compared.met(Role::Respond, streamed, whole)?)));
        if let Some((streamed, met)) = streamed {
            let message = format!(
                "{met} `{}`; then the response is what was streamed, and this one is not sent",
                level.name(streamed)
            );
            found.push(Diagnostic::warning("responds-twice", message).at_node(level.name(whole)));
        }
    }
}

/// Effects in a Loop that may go round very often.
fn effects_in_loops(level: &Level<'_>, flow: &Flow, found: &mut Findings) {
    for (node, spot) in level.nodes.iter().enumerate() {
        let Some(Iteration::While { at_most }) = spot.iteration() else {
            continue;
        };
        let iterations = spot.node.parameters.get(at_most).and_then(Value::as_f64);
        let Some(body) =
            flow.scopes.of_body[node].filter(|_| iterations.is_none_or(|most| most > BOUNDED_ITERATIONS_MAX))
        else {
            continue;
        };
        for inner in flow.scopes.members[body].ones() {
            let effects = level.nodes[inner]
                .standard()
                .map_or(&[][..], |node_type| node_type.effects);
            if !effects.is_empty() {
                // Each of them may be in any number of loops.
                found.report(Severity::Warning, || {
                    let message = format!(
                        "this effect may happen more than {BOUNDED_ITERATIONS_MAX} times in the loop `{}`",
                        level.name(node)
                    );
                    Diagnostic::warning("unbounded-effect", message)
                        .at_node(level.name(inner))
                        .with_help("lower the loop's maxIterations".to_owned())
                });
            }
        }
    }
}
