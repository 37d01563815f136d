//! The whole graph: every node translated, every wire drawn, failures led to those that catch them.

use super::read::{Flow, Node};
use super::table::{Made, Step, translate};
use crate::built::{Drawn, DrawnEdge, DrawnNode, Kind};
use crate::reach::reached;
use crate::report::{Item, Level, Report};
use crate::room::{Room, TOO_LARGE, bytes};
use heddle_catalogue::{NO_OP, NodeType, Role, node_types};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::LazyLock;

/// Types of nodes that can't fail, or whose failures have nothing to do with a message.
static QUIET: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    let is_quiet = |it: &&NodeType| {
        matches!(it.role, Role::Trigger(_) | Role::Merge { .. }) || it.name == NO_OP.name || it.name == "Log"
    };
    node_types().iter().filter(is_quiet).map(|it| it.name).collect()
});

/// Nodes that one becomes at most: each but the last has its number behind its name.
const STEPS_MAX: usize = 15;
/// Nodes with JSONata in a flow.
const JSONATA_MAX: usize = 200;

/// Where a node of the flow is in the pattern.
struct Place {
    first: String,
    last: String,
    outputs: Vec<String>,
}

/// Draws the pattern.
pub(crate) fn draw(flow: &Flow, report: &mut Report) -> Drawn {
    let mut drawn = Drawn {
        settings: Map::from_iter([("expressions".to_owned(), "lenient".into())]),
        kept_as: "nodeRed",
        ..Drawn::default()
    };
    let mut places = Vec::with_capacity(flow.nodes.len());
    let mut names = Names::default();
    let (mut jsonata, mut room) = (0, Room::default());
    let senders: HashSet<usize> = flow.wires.iter().map(|wire| wire.source).collect();
    let receivers: HashSet<usize> = flow.wires.iter().map(|wire| wire.target).collect();
    for (number, node) in flow.nodes.iter().enumerate() {
        if node.kind == "comment" {
            let text = [node.name.as_str(), node.text("info")].join("\n");
            let [x, y] = node.position;
            drawn.notes.push(json!({
                "id": format!("note-{number}"), "text": text.trim(), "position": {"x": x, "y": y}, "width": 240.0, "height": 120.0,
            }));
            places.push(None);
            continue;
        }
        // Labels are names, by which parts of a node refer to each other.
        let named = Node {
            name: unused(&mut names, &node.name),
            ..node.clone()
        };
        let begins = senders.contains(&number) && !receivers.contains(&number);
        let made = bounded(translate(&named, begins), &mut jsonata);
        let made = within(made, &mut room);
        places.push(Some(place(&named, made, &mut drawn, report)));
    }
    wires(flow, &places, &mut drawn);
    catches(flow, &places, &mut drawn);
    join(&mut drawn, report);
    drawn
}

/// A stub instead of one node too many whose code has the helpers of JSONata, which are far larger than the node.
fn bounded(made: Made, jsonata: &mut usize) -> Made {
    let has_jsonata = |step: &Step| matches!(step, Step::Code(code) if code.has_jsonata());
    if !made.steps.iter().any(has_jsonata) {
        return made;
    }
    *jsonata += 1;
    match *jsonata > JSONATA_MAX {
        true => Made::stub(format!("more than {JSONATA_MAX} nodes of the flow have JSONata")),
        false => made,
    }
}

/// A stub instead of a node for which there is no room.
fn within(made: Made, room: &mut Room) -> Made {
    let steps = made.steps.iter().map(|step| match step {
        Step::Standard(_, parameters, _) => bytes(parameters.values()),
        Step::Code(code) => code.source.len(),
    });
    let taken: usize = steps.sum();
    match room.take(taken) {
        true => made,
        false => Made::stub(TOO_LARGE),
    }
}

/// Names that nodes have, and how often each was asked for.
#[derive(Default)]
struct Names {
    taken: HashSet<String>,
    asked: HashMap<String, usize>,
}

/// A name that no other node has, nor one of several that a node becomes.
fn unused(names: &mut Names, name: &str) -> String {
    let number = names.asked.entry(name.to_owned()).or_insert(0);
    loop {
        *number += 1;
        let free = match *number {
            1 => name.to_owned(),
            number => format!("{name} [{number}]"),
        };
        let mut all: Vec<String> = (1..=STEPS_MAX).map(|step| format!("{free} ({step})")).collect();
        all.push(free.clone());
        if !all.iter().any(|one| names.taken.contains(one)) {
            names.taken.extend(all);
            return free;
        }
    }
}

fn remark(id: &str, level: Level, code: &'static str, message: String) -> Item {
    Item {
        node_id: Some(id.to_owned()),
        n8n_type: None,
        level,
        code,
        message,
        parameter: None,
        original: None,
    }
}

/// Draws one node, which may be several in a row.
fn place(node: &Node, made: Made, drawn: &mut Drawn, report: &mut Report) -> Place {
    let owner = drawn.take_id(&node.name);
    let stub = made.stub.as_ref().filter(|_| made.steps.is_empty());
    let count = made.steps.len().max(1);
    let mut ids: Vec<String> = Vec::new();
    let mut steps = made.steps.into_iter();
    // By which the step before gives what it has.
    let mut port = None;
    for number in 1..=count {
        let (kind, parameters, each) = match steps.next() {
            Some(Step::Standard(kind, parameters, each)) => (Kind::Standard(kind), parameters, each),
            Some(Step::Code(code)) => {
                let name = format!("Code{}", drawn.own.len() + 1);
                drawn.own.insert(name.clone(), code.definition());
                (Kind::Own(name), Map::new(), false)
            }
            None => {
                let why = stub.map_or("it has no translation", String::as_str);
                (
                    Kind::Stub(format!("{} was not imported: {why}", node.name)),
                    Map::new(),
                    false,
                )
            }
        };
        let is_last = number == count;
        let id = if is_last {
            owner.clone()
        } else {
            format!("{owner}.{number}")
        };
        if let Some(before) = ids.last() {
            drawn.edges.push(edge(before, port, &id));
        }
        port = matches!(kind, Kind::Own(_)).then_some("out1");
        drawn.nodes.push(DrawnNode {
            id: id.clone(),
            owner: owner.clone(),
            kind,
            label: if is_last {
                node.name.clone()
            } else {
                format!("{} ({number})", node.name)
            },
            parameters,
            each: each.then_some(true),
            once: false,
            always: false,
            on_error: None,
            retry: None,
            disabled: node.disabled,
            notes: if is_last {
                node.text("info").to_owned()
            } else {
                String::new()
            },
            position: [
                node.position[0] - 60.0 * (count - number) as f64,
                node.position[1],
            ],
            original: (made.stub.is_some() && is_last).then(|| Value::Object(node.fields.clone())),
            n8n_type: None,
        });
        ids.push(id);
    }
    let level = match (&made.stub, made.remarks.is_empty()) {
        (Some(_), _) => Level::Stub,
        (None, true) => Level::Exact,
        (None, false) => Level::Approximate,
    };
    report.node(&owner, level);
    if let Some(why) = &made.stub {
        report.add(remark(&owner, Level::Stub, "no-equivalent", why.clone()));
    }
    for (code, message) in made.remarks {
        report.add(remark(&owner, Level::Approximate, code, message));
    }
    Place {
        first: ids.first().cloned().unwrap_or_else(|| owner.clone()),
        last: owner,
        outputs: made.outputs,
    }
}

fn edge(source: &str, port: Option<&str>, target: &str) -> DrawnEdge {
    DrawnEdge {
        source: source.to_owned(),
        source_port: port.map(str::to_owned),
        target: target.to_owned(),
        target_port: None,
    }
}

/// What is switched off gives and gets nothing, as in Node-RED.
fn wires(flow: &Flow, places: &[Option<Place>], drawn: &mut Drawn) {
    let is_off = |number: usize| flow.nodes.get(number).is_some_and(|node| node.disabled);
    let place = |number: usize| places.get(number).and_then(Option::as_ref);
    let mut seen = HashSet::new();
    for wire in flow
        .wires
        .iter()
        .filter(|wire| !is_off(wire.source) && !is_off(wire.target))
    {
        let (Some(source), Some(target)) = (place(wire.source), place(wire.target)) else {
            continue;
        };
        let port = source.outputs.get(wire.output).map(String::as_str);
        if seen.insert((source.last.as_str(), port, target.first.as_str())) {
            drawn.edges.push(edge(&source.last, port, &target.first));
        }
    }
}

/// Leads failures to catch nodes: of the nodes that each names, or of all in its tab that do not follow it.
fn catches(flow: &Flow, places: &[Option<Place>], drawn: &mut Drawn) {
    let all = flow.nodes.iter().enumerate();
    let mut catching: Vec<(usize, &Node)> = all
        .filter(|(_, node)| node.kind == "catch" && !node.disabled)
        .collect();
    // Those for what no other has caught come last.
    catching.sort_by_key(|(_, node)| node.flag("uncaught"));
    let mut parts: HashMap<String, Vec<usize>> = HashMap::new();
    for (index, node) in drawn.nodes.iter().enumerate() {
        parts.entry(node.owner.clone()).or_default().push(index);
    }
    let wires = flow.wires.iter().map(|wire| (wire.source, wire.target));
    for (number, node) in catching {
        let after = reached(flow.nodes.len(), wires.clone(), number);
        let named = node.fields.get("scope").and_then(Value::as_array);
        let named = named.map(|ids| ids.iter().filter_map(Value::as_str).collect::<HashSet<&str>>());
        let Some(Some(target)) = places.get(number) else {
            continue;
        };
        for (other, caught) in flow.nodes.iter().enumerate() {
            let id = caught
                .path
                .strip_prefix(caught.within.as_str())
                .unwrap_or_default();
            let is_meant = caught.within == node.within
                && caught.fields.get("z") == node.fields.get("z")
                && named.as_ref().is_none_or(|ids| ids.contains(id));
            let Some(Some(place)) = places.get(other) else {
                continue;
            };
            if !is_meant || caught.disabled || after.get(other) == Some(&true) {
                continue;
            }
            let parts = parts.get(&place.last).map_or(&[][..], Vec::as_slice);
            lead_failures(parts, target, drawn);
        }
    }
}

fn lead_failures(parts: &[usize], target: &Place, drawn: &mut Drawn) {
    let can_fail = |node: &&mut DrawnNode| {
        let is_quiet = matches!(&node.kind, Kind::Standard(kind) if QUIET.contains(kind));
        !is_quiet && !node.is_stub() && node.on_error.is_none()
    };
    for index in parts {
        if let Some(node) = drawn.nodes.get_mut(*index).filter(can_fail) {
            node.on_error = Some("branch");
            drawn.edges.push(edge(&node.id, Some("error"), &target.first));
        }
    }
}

/// Where several edges meet, a Merge makes one list of their messages, which the node takes one by one.
fn join(drawn: &mut Drawn, report: &mut Report) {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for edge in &drawn.edges {
        *counts.entry(edge.target.clone()).or_insert(0) += 1;
    }
    let mut merges: BTreeMap<String, String> = BTreeMap::new();
    for (id, _) in counts.into_iter().filter(|(_, count)| *count > 1) {
        let mut merge = drawn.beside(&id, Kind::Standard("Merge"), format!("Before {id}"));
        merge.label.clone_from(&merge.id);
        merge.parameters = Map::from_iter([("mode".to_owned(), json!("append"))]);
        merges.insert(id.clone(), merge.id.clone());
        drawn.nodes.push(merge);
        let owner = drawn.node_mut(&id).map(|node| node.owner.clone()).unwrap_or(id);
        let message = "several wires meet here: it gets their messages together, once all have come, and takes one after the other";
        report.add(remark(
            &owner,
            Level::Approximate,
            "several-edges",
            message.to_owned(),
        ));
    }
    for edge in &mut drawn.edges {
        if let Some(merge) = merges.get(&edge.target) {
            edge.target.clone_from(merge);
        }
    }
    drawn
        .edges
        .extend(merges.iter().map(|(id, merge)| edge(merge, None, id)));
}
