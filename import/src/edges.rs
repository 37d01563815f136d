//! The edges: which are drawn as they are, which a Loop repeats, and which are cut.

use crate::built::{Drawn, DrawnEdge, Kind};
use crate::cycles::Fate;
use crate::loops::fates;
use crate::place::Place;
use crate::remark::remark;
use crate::report::{Level, Report};
use crate::workflow::{Edge, Workflow};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Draws the edges.
pub(crate) fn draw(workflow: &Workflow, places: &[Option<Place>], drawn: &mut Drawn, report: &mut Report) {
    let place = |number: usize| places.get(number).and_then(Option::as_ref);
    let mut all: Vec<(&Edge, Fate)> = workflow.edges.iter().zip(fates(workflow)).collect();
    let rounds = rounds(workflow, &all, places, drawn, report);
    let mut lists = Lists::default();
    // A Merge takes its inputs in their order.
    all.sort_by_key(|(edge, _)| (edge.target, edge.input));
    for (edge, fate) in all.into_iter().filter(|(edge, _)| edge.is_main) {
        let (Some(source), Some(target)) = (place(edge.source), place(edge.target)) else {
            continue;
        };
        let (from, from_port) = port(source, edge.output);
        let mut one = DrawnEdge {
            source: from,
            source_port: from_port,
            target: target.first.clone(),
            target_port: match fate {
                Fate::Next => Some("next".to_owned()),
                _ => target.inputs.get(edge.input).map(|port| (*port).to_owned()),
            },
        };
        if let Some(round) = rounds.get(&edge.target) {
            match fate {
                Fate::Again => one = again(one, round, drawn),
                Fate::Keep => one.target.clone_from(round),
                Fate::Next | Fate::Cut => {}
            }
        }
        if one.target == target.first
            && let Some(list) = lists.of(workflow, edge, target, drawn)
        {
            one.target = list;
        }
        if drawn.edges.contains(&one) {
            continue;
        }
        drawn.edges.push(one.clone());
        if fate == Fate::Cut || target.is_trigger {
            let name = workflow
                .nodes
                .get(edge.target)
                .map_or("", |node| node.name.as_str());
            let why = format!(
                "the edge back to {name} was not imported: it closes a circle, or enters a loop from outside"
            );
            drawn.cut(&one, why.clone());
            let node = workflow.nodes.get(edge.source);
            let here = node.map(|node| (source.last.as_str(), node));
            report.add(remark(
                here,
                Level::Approximate,
                "cycle",
                format!("{why}; a stub takes its place"),
            ));
        }
    }
}

/// A Merge takes a list from each of its edges. Where an input has several, or two have the same, a node before it makes one list.
#[derive(Default)]
struct Lists {
    /// Ids of these nodes, by the Merge's number and its input.
    made: BTreeMap<(usize, usize), String>,
}

impl Lists {
    /// The node to which an edge leads instead of a Merge, if it needs one.
    fn of(&mut self, workflow: &Workflow, edge: &Edge, target: &Place, drawn: &mut Drawn) -> Option<String> {
        let node = workflow
            .nodes
            .get(edge.target)
            .filter(|node| node.kind == "merge")?;
        if !target.inputs.is_empty() {
            return None;
        }
        let mut others = workflow
            .edges
            .iter()
            .filter(|other| other.is_main && other.target == edge.target);
        let is_alike = |other: &Edge| {
            let is_same = other.source == edge.source && other.output == edge.output;
            (other.input == edge.input) != is_same
        };
        if !others.any(is_alike) {
            return None;
        }
        let place = (edge.target, edge.input);
        if let Some(known) = self.made.get(&place) {
            return Some(known.clone());
        }
        let label = format!("{}: input {}", node.name, edge.input + 1);
        let mut list = drawn.beside(&target.first, Kind::Standard("NoOp"), label);
        list.label.clone_from(&list.id);
        drawn.edges.push(DrawnEdge {
            source: list.id.clone(),
            source_port: None,
            target: target.first.clone(),
            target_port: None,
        });
        self.made.insert(place, list.id.clone());
        let id = list.id.clone();
        drawn.nodes.push(list);
        Some(id)
    }
}

/// Rounds of a circle of edges.
const ROUNDS_MAX: u32 = 1_000;

/// A Loop before each node to which edges lead back: by the node's number, the Loop's id. It goes on while in each round
/// something came back.
fn rounds(
    workflow: &Workflow,
    all: &[(&Edge, Fate)],
    places: &[Option<Place>],
    drawn: &mut Drawn,
    report: &mut Report,
) -> BTreeMap<usize, String> {
    let mut rounds = BTreeMap::new();
    for (edge, _) in all.iter().filter(|(_, fate)| *fate == Fate::Again) {
        let head = places.get(edge.target).and_then(Option::as_ref);
        let (Some(head), false) = (head, rounds.contains_key(&edge.target)) else {
            continue;
        };
        let mut repeat = drawn.beside(
            &head.first,
            Kind::Standard("Loop"),
            format!("Repeat {}", head.first),
        );
        repeat.parameters = object(json!({
            "condition": "{{ $index === 0 || $item?.[0]?.$again === $index - 1 }}",
            "maxIterations": ROUNDS_MAX,
        }));
        let mut round = drawn.beside(
            &head.first,
            Kind::Standard("Transform"),
            format!("Round of {}", head.first),
        );
        round.parameters =
            object(json!({"value": "{{ $index === 0 ? $input : $input.flatMap(mark => mark.value) }}"}));
        round.each = Some(false);
        for (source, port, target) in [
            (&repeat.id, Some("item"), &round.id),
            (&round.id, None, &head.first),
        ] {
            drawn.edges.push(DrawnEdge {
                source: source.clone(),
                source_port: port.map(str::to_owned),
                target: target.clone(),
                target_port: None,
            });
        }
        let message = format!(
            "edges lead back to here: a Loop repeats everything that follows while something comes back, at most {ROUNDS_MAX} times"
        );
        let node = workflow.nodes.get(edge.target);
        let here = node.map(|node| (head.last.as_str(), node));
        report.add(remark(here, Level::Approximate, "cycle", message));
        rounds.insert(edge.target, repeat.id.clone());
        drawn.nodes.extend([repeat, round]);
    }
    rounds
}

/// An edge that leads back. A node in it marks the round.
fn again(one: DrawnEdge, round: &str, drawn: &mut Drawn) -> DrawnEdge {
    let mut mark = drawn.beside(
        &one.source,
        Kind::Standard("Transform"),
        format!("Back to {}", one.target),
    );
    mark.label.clone_from(&mark.id);
    mark.parameters = object(json!({"value": {"$again": "{{ $index }}", "value": "{{ $input }}"}}));
    mark.each = Some(false);
    drawn.edges.push(DrawnEdge {
        target: mark.id.clone(),
        target_port: None,
        ..one
    });
    let source = mark.id.clone();
    drawn.nodes.push(mark);
    DrawnEdge {
        source,
        source_port: None,
        target: round.to_owned(),
        target_port: Some("next".to_owned()),
    }
}

fn object(value: Value) -> serde_json::Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        _ => serde_json::Map::new(),
    }
}

/// Where an output's edges begin: a node and its port.
fn port(source: &Place, output: usize) -> (String, Option<String>) {
    match &source.branches {
        Some(failing) if output >= source.count.max(source.outputs.len()) => {
            (failing.clone(), Some("error".to_owned()))
        }
        _ => (source.last.clone(), source.outputs.get(output).cloned()),
    }
}
