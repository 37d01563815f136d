//! The whole graph: every node translated, every edge drawn, and what is cut said.

use crate::broken::Broken;
use crate::built::{Drawn, DrawnEdge, DrawnNode, Kind, Step, Translation};
use crate::deep;
use crate::edges;
use crate::kinds::{is_model, is_trigger, takes_list};
use crate::named;
use crate::place::Place;
use crate::remark::remark;
use crate::repair;
use crate::report::{ConnectionNeeded, Level, Report};
use crate::rewrite::Names;
use crate::room::{Growth, Room, TOO_LARGE, bytes};
use crate::scene::Scene;
use crate::shape::Flow;
use crate::table;
use crate::workflow::{Calls, Edge, Node, OnError, Workflow};
use heddle_catalogue::{NO_OP, Role, TRANSFORM};
use serde_json::{Value, json};

/// Kinds of nodes for which several expressions can become one, so that one that throws takes the others' values along.
const COMPOSED: &[&str] = &["if", "filter", "switch", "set", "dateTime"];

/// Draws the pattern. Expressions that are broken in n8n are reported at their nodes.
pub(crate) fn draw(workflow: &Workflow, calls: &Calls, broken: &[Broken], report: &mut Report) -> Drawn {
    let mut drawn = Drawn {
        settings: settings(workflow, calls, report),
        kept_as: "n8n",
        ..Drawn::default()
    };
    let flow = Flow::new(workflow, table::is_known);
    let zone = zone(workflow);
    let (growth, mut room) = (Growth::default(), Room::default());
    let scene_of = |place: usize, node| Scene {
        node,
        place,
        workflow,
        names: Names {
            workflow: &workflow.name,
            before: before(workflow, place),
            of_list: takes_list(node),
            zone,
            growth: Some(&growth),
        },
        many: flow.many.get(place) == Some(&true),
        calls,
        flow: &flow,
    };
    let nodes = || workflow.nodes.iter().enumerate();
    let translations: Vec<Translation> = nodes()
        .map(|(place, node)| {
            let translation = table::translate(&scene_of(place, node));
            within(translation, &growth, &mut room)
        })
        .collect();
    let asks: Vec<bool> = translations
        .iter()
        .map(|translation| translation.stub.is_none())
        .collect();
    let on_lists: Vec<bool> = translations.iter().map(works_on_lists).collect();
    let mut places = Vec::with_capacity(workflow.nodes.len());
    for ((number, node), translation) in nodes().zip(translations) {
        if node.is_note() {
            drawn.notes.push(note(node, number));
            places.push(None);
            continue;
        }
        let scene = scene_of(number, node);
        let part = part_of(&scene, &asks);
        places.push(Some(node_of(&scene, translation, part, &mut drawn, report)));
    }
    for one in broken {
        if let Some(Some(place)) = places.get(one.place) {
            repair::tell_broken(&mut drawn, &place.last, one, report);
        }
    }
    edges::draw(workflow, &places, &mut drawn, report);
    meetings(workflow, (&places, &on_lists), &flow, report);
    returns(workflow, &places, &mut drawn);
    for sentence in &workflow.unread {
        let item = remark(None, Level::Approximate, "unread", sentence.clone());
        report.add(item);
    }
    drawn
}

/// The translation, or a stub in its place if there is no room for it.
fn within(translation: Translation, growth: &Growth, room: &mut Room) -> Translation {
    let steps = translation.steps.iter();
    let taken = bytes(steps.flat_map(|step| step.parameters.values().chain(&step.own)));
    match room.take(taken) && !growth.is_over() {
        true => translation,
        false => Translation::stub(TOO_LARGE),
    }
}

/// Bytes of a time zone's name.
const ZONE_BYTES_MAX: usize = 64;

/// A zone that heddle knows.
fn zone(workflow: &Workflow) -> Option<&str> {
    let zone = workflow.settings.get("timezone").and_then(Value::as_str)?;
    let is_name = (1..=ZONE_BYTES_MAX).contains(&zone.len())
        && zone != "DEFAULT"
        && zone
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "/_+-".contains(c));
    is_name.then_some(zone)
}

fn settings(workflow: &Workflow, calls: &Calls, report: &mut Report) -> serde_json::Map<String, Value> {
    let mut settings = serde_json::Map::new();
    settings.insert("expressions".to_owned(), "lenient".into());
    settings.insert("items".to_owned(), true.into());
    let timeout = workflow
        .settings
        .get("executionTimeout")
        .and_then(Value::as_u64)
        .filter(|seconds| *seconds > 0);
    if let Some(seconds) = timeout {
        let milliseconds = seconds.saturating_mul(1_000).min(31_622_400_000);
        settings.insert("timeoutMs".to_owned(), milliseconds.into());
    }
    if let Some(other) = workflow
        .settings
        .get("errorWorkflow")
        .and_then(Value::as_str)
        .filter(|id| !id.is_empty())
    {
        match calls.get(other) {
            Some(pattern) => {
                settings.insert("errorPatternId".to_owned(), pattern.as_str().into());
            }
            None => report.add(remark(
                None,
                Level::Approximate,
                "error-workflow",
                format!("the error workflow `{other}` was not imported with this one: set `errorPatternId`"),
            )),
        }
    }
    settings
}

fn note(node: &Node, number: usize) -> Value {
    let size = |name: &str, default: f64| {
        node.parameter(&[name])
            .as_f64()
            .unwrap_or(default)
            .clamp(40.0, 5_000.0)
    };
    let [x, y] = node.position;
    json!({
        "id": format!("note-{number}"), "text": node.text(&["content"]), "position": {"x": x, "y": y},
        "width": size("width", 240.0), "height": size("height", 160.0),
    })
}

/// The node from which all items of a node come.
fn before(workflow: &Workflow, place: usize) -> Option<&str> {
    let mut edges = workflow
        .edges
        .iter()
        .filter(|edge| edge.is_main && edge.target == place);
    let edge = edges.next().filter(|_| edges.next().is_none())?;
    let node = workflow.nodes.get(edge.source)?;
    let decides = matches!(node.kind.as_str(), "if" | "switch" | "filter" | "splitInBatches");
    (!decides).then_some(node.name.as_str())
}

/// Draws one node, which may be several in a row.
fn node_of(
    scene: &Scene<'_>,
    mut translation: Translation,
    part: Option<String>,
    drawn: &mut Drawn,
    report: &mut Report,
) -> Place {
    let node = scene.node;
    if part.is_some() {
        translation = Translation::whole("NoOp", json!({}));
    } else if let Some(message) = once_differs(scene, &translation) {
        translation = translation.differs("once", message);
    }
    if translation.steps.is_empty() && translation.stub.is_none() {
        translation.stub = Some("it has no translation".to_owned());
    }
    let (first, last) = steps(scene, &translation, part.is_some(), drawn);
    remarks(scene, &translation, part.as_deref(), &last, report);
    Place {
        branches: branching(drawn, &last),
        count: outputs(node),
        outputs: translation.outputs,
        inputs: translation.inputs,
        first,
        last,
        is_trigger: is_trigger(&node.kind),
    }
}

/// What differs of a node that is executed once, for the first of several items.
fn once_differs(scene: &Scene<'_>, translation: &Translation) -> Option<&'static str> {
    let node = scene.node;
    if !node.once || !scene.many || translation.stub.is_some() {
        return None;
    }
    let is_merge = translation.steps.first().is_some_and(merges);
    if is_merge {
        return Some("n8n takes only the first item of each input; here all are merged");
    }
    if matches!(node.kind.as_str(), "code" | "function" | "functionItem") {
        return Some("the code gets only the first item; in n8n `$input.all()` and `items` may have all");
    }
    let text = Value::Object(node.parameters.clone()).to_string();
    let names = ["$input.all", "$input.last", "$items()"];
    let reads_all = scene.names.before.is_none() && names.iter().any(|name| text.contains(name));
    reads_all.then_some("`$input.all()` has only the first item here; n8n gives all that arrived")
}

fn merges(step: &Step) -> bool {
    matches!(step.role(), Some(Role::Merge { .. }))
}

/// Whether a node takes only the first item of several. A Merge can't.
fn takes_first(scene: &Scene<'_>, step: &Step) -> bool {
    let is_once = scene.node.once && scene.many && !is_trigger(&scene.node.kind);
    is_once && !merges(step)
}

/// Whether it is a loop as n8n had it before its third version, whose first output gives the next round.
fn begins_rounds(node: &Node) -> bool {
    node.kind == "splitInBatches" && node.version < 3.0
}

/// Whether one empty item may leave a node rather than none. What starts a run always leaves it.
fn can_be_always(node: &Node, step: &Step) -> bool {
    step.role() != Some(Role::Throw) && !begins_rounds(node) && !is_trigger(&node.kind)
}

/// Whether a node executes for each item, if it does not do by itself what it should.
fn each(step: &Step) -> Option<bool> {
    let standard = step.standard()?;
    let is_trigger = matches!(standard.role, Role::Trigger(_));
    let differs = step.per_item == standard.works_on_lists();
    (differs && !is_trigger).then_some(step.per_item)
}

/// n8n's number of outputs, after which that of errors comes.
fn outputs(node: &Node) -> usize {
    match node.kind.as_str() {
        "if" => 2,
        "splitInBatches" => 2,
        "switch" => node.list(&["rules", "values"]).len().max(1),
        _ => 1,
    }
}

/// For a model that is part of a translated chain: the chain's name.
fn part_of(scene: &Scene<'_>, asks: &[bool]) -> Option<String> {
    if !is_model(&scene.node.kind) {
        return None;
    }
    let mut edges = scene.workflow.edges.iter();
    let edge = edges.find(|edge| !edge.is_main && edge.source == scene.place)?;
    let chain = scene.workflow.nodes.get(edge.target)?;
    let becomes = matches!(chain.kind.as_str(), "chainLlm" | "agent") && asks.get(edge.target) == Some(&true);
    becomes.then(|| chain.name.clone())
}

fn steps(scene: &Scene<'_>, translation: &Translation, is_part: bool, drawn: &mut Drawn) -> (String, String) {
    let node = scene.node;
    let stub = translation.stub.as_ref().filter(|_| !is_trigger(&node.kind));
    let count = translation.steps.len().max(1);
    let owner = drawn.take_id(&node.name);
    let (mut first, mut last) = (None::<String>, String::new());
    for number in 0..count {
        let step = translation.steps.get(number).filter(|_| stub.is_none());
        if stub.is_some() && number + 1 < count {
            continue;
        }
        let is_last = number + 1 == count;
        let label = match is_last {
            true => node.name.clone(),
            false => format!("{} ({})", node.name, number + 1),
        };
        let (x, y) = (
            node.position[0] - 60.0 * (count - number - 1) as f64,
            node.position[1],
        );
        let why = || {
            stub.cloned()
                .unwrap_or_else(|| "it has no translation".to_owned())
        };
        let kind = match step {
            Some(Step {
                own: Some(own), kind, ..
            }) => Kind::Own(drawn.define(kind, own)),
            Some(step) => Kind::Standard(step.kind),
            None => Kind::Stub(format!("{} was not imported: {}", node.name, why())),
        };
        let is_effect = step.is_none_or(|step| step.kind != TRANSFORM.name || count == 1);
        let can_fail = is_effect && !is_trigger(&node.kind) && node.kind != "splitInBatches";
        let keeps = stub.is_some()
            || translation.stub.is_some()
            || !scene.parts(|_| true).is_empty()
            || is_model(&node.kind);
        let one = DrawnNode {
            // No slug has a dot.
            id: if is_last {
                owner.clone()
            } else {
                format!("{owner}.{}", number + 1)
            },
            owner: owner.clone(),
            kind,
            label,
            parameters: step.map(|step| step.parameters.clone()).unwrap_or_default(),
            each: step.and_then(each),
            once: number == 0 && step.is_some_and(|step| takes_first(scene, step)),
            always: is_last && node.always && step.is_some_and(|step| can_be_always(node, step)),
            on_error: match node.on_error {
                OnError::Continue if can_fail => Some("continue"),
                OnError::Branch if can_fail => Some("branch"),
                _ => None,
            },
            retry: node.retry.filter(|_| can_fail),
            disabled: node.disabled || is_part,
            notes: if is_last {
                node.notes.clone()
            } else {
                String::new()
            },
            position: [x, y],
            original: (keeps && is_last).then(|| original(node)),
            n8n_type: Some(node.full_type.clone()),
        };
        if let Some(before) = first.is_some().then(|| last.clone()) {
            drawn.edges.push(DrawnEdge {
                source: before,
                source_port: None,
                target: one.id.clone(),
                target_port: None,
            });
        }
        first.get_or_insert_with(|| one.id.clone());
        last.clone_from(&one.id);
        drawn.nodes.push(one);
    }
    (first.unwrap_or_else(|| last.clone()), last)
}

/// n8n's own form of the node, kept for people who finish the work.
fn original(node: &Node) -> Value {
    json!({"type": node.full_type, "typeVersion": node.version, "parameters": node.parameters})
}

fn remarks(scene: &Scene<'_>, translation: &Translation, part: Option<&str>, id: &str, report: &mut Report) {
    let node = scene.node;
    let here = Some((id, node));
    let level = match (
        &translation.stub,
        translation.remarks.is_empty() && part.is_none(),
    ) {
        (Some(_), _) => Level::Stub,
        (None, true) => Level::Exact,
        (None, false) => Level::Approximate,
    };
    report.node(id, level);
    if let Some(why) = &translation.stub {
        report.add(remark(here, Level::Stub, "no-equivalent", why.clone()));
    }
    if let Some(chain) = part {
        let message = format!("it is part of `{chain}` now, and does nothing on its own");
        report.add(remark(here, Level::Approximate, "part", message));
    }
    for known in translation.remarks.iter().filter(|_| translation.stub.is_none()) {
        let item = remark(here, known.level, known.code, known.message.clone());
        report.add(item);
    }
    let parameters = Value::Object(node.parameters.clone());
    // Fields that are set one by one have expressions of their own.
    let is_apart = node.kind == "set" && node.choice(&["mode"], "manual") != "raw";
    let joins = COMPOSED.contains(&node.kind.as_str()) && !is_apart;
    if joins && translation.stub.is_none() && deep::calls_what_may_be_missing(&parameters) {
        let message = "an expression calls a method on a value that may be missing: n8n leaves only that part empty, here it is part of a longer expression";
        report.add(remark(
            here,
            Level::Approximate,
            "missing-values",
            message.to_owned(),
        ));
    }
    if node.always && translation.stub.is_none() {
        let message = match (begins_rounds(node), &node.on_error) {
            (true, _) => {
                Some("without items the loop executes no round; n8n executes one with an empty item")
            }
            (_, OnError::Branch) => {
                Some("if it fails, only the error leaves; n8n also sends an empty item to the first output")
            }
            _ => None,
        };
        if let Some(message) = message {
            let message = message.to_owned();
            report.add(remark(here, Level::Approximate, "always-output", message));
        }
    }
    if node.on_error != OnError::Stop {
        let message = "after a failure the item is `{error: {message, code, nodeId}}`";
        report.add(remark(here, Level::Approximate, "on-error", message.to_owned()));
    }
    named::check(scene, here, report);
    if let Some((kind, name)) = &translation.connection {
        report.connection(ConnectionNeeded {
            name: name.clone(),
            n8n_type: kind.clone(),
            fields: fields(kind),
            node_ids: vec![id.to_owned()],
        });
    }
}

/// Which fields a connection needs, as far as n8n's type of credentials says.
fn fields(kind: &str) -> Vec<String> {
    let fields: &[&str] = match kind {
        "httpHeaderAuth" => &["apiKey", "headerName", "hosts"],
        "httpQueryAuth" => &["apiKey", "queryName", "hosts"],
        "httpBasicAuth" | "httpDigestAuth" => &["user", "password", "hosts"],
        "postgres" | "mySql" => &["kind", "host", "port", "user", "password", "database"],
        "smtp" | "imap" => &["host", "port", "user", "password"],
        "openAiApi" => &["apiKey"],
        kind if kind.contains("OAuth2") || kind.contains("oAuth2") => {
            &["tokenUrl", "clientId", "clientSecret", "hosts"]
        }
        kind if kind.starts_with("lmChat") => &["apiKey", "baseUrl"],
        _ => &["apiKey", "hosts"],
    };
    fields.iter().map(|field| (*field).to_owned()).collect()
}

/// The node that fails through its port `error`, of those that one of n8n's became.
fn branching(drawn: &Drawn, owner: &str) -> Option<String> {
    let branches = |node: &&DrawnNode| node.owner == owner && node.on_error == Some("branch");
    drawn.nodes.iter().rfind(branches).map(|node| node.id.clone())
}

/// Whether a node is about all items that come together, so that it matters how often it is executed.
fn works_on_lists(translation: &Translation) -> bool {
    let passes = |step: &&Step| {
        let is_passing = matches!(step.role(), Some(Role::Trigger(_) | Role::Respond));
        !is_passing && step.kind != NO_OP.name && step.kind != "Wait"
    };
    translation.steps.iter().filter(passes).any(|step| !step.per_item)
}

/// Where several edges meet, n8n executes a node, and all that follows, once for each of them. That makes no difference to what is
/// done for each item by itself.
fn meetings(
    workflow: &Workflow,
    (places, on_lists): (&[Option<Place>], &[bool]),
    flow: &Flow,
    report: &mut Report,
) {
    for (place, node) in workflow.nodes.iter().enumerate() {
        let Some(Some(drawn)) = places.get(place) else {
            continue;
        };
        let comes = |edge: &&Edge| edge.is_main && edge.target == place && !flow.leads(place, edge.source);
        let is_joined = matches!(node.kind.as_str(), "merge" | "compareDatasets");
        if is_joined || workflow.edges.iter().filter(comes).count() < 2 {
            continue;
        }
        let follows = |other: usize| other == place || flow.leads(place, other);
        let mut lists = on_lists.iter().enumerate().filter(|(_, is_on_list)| **is_on_list);
        if lists.any(|(other, _)| follows(other)) {
            let message = "several edges meet here: the next node gets the items of all of them in one list; n8n executes it once for each edge";
            let here = Some((drawn.last.as_str(), node));
            report.add(remark(
                here,
                Level::Approximate,
                "several-edges",
                message.to_owned(),
            ));
        }
    }
}

/// What the ends give: a caller gets the list, and who sends to a webhook its first item, unless all are asked for.
fn returned(workflow: &Workflow) -> Option<&'static str> {
    let is_called = workflow
        .nodes
        .iter()
        .any(|node| node.kind == "executeWorkflowTrigger");
    let takes_all = |node: &Node| {
        node.kind == "webhook" && node.choice(&["responseData"], "firstEntryJson") != "firstEntryJson"
    };
    (!is_called && !workflow.nodes.iter().any(takes_all)).then_some("{{ $input[0] }}")
}

/// What a caller or sender gets: the values at the ends.
fn returns(workflow: &Workflow, places: &[Option<Place>], drawn: &mut Drawn) {
    let answers = workflow.nodes.iter().any(|node| match node.kind.as_str() {
        "executeWorkflowTrigger" | "chatTrigger" | "manualChatTrigger" => true,
        "webhook" | "formTrigger" => node.text(&["responseMode"]) == "lastNode",
        _ => false,
    });
    if !answers {
        return;
    }
    let ends: Vec<(String, [f64; 2])> = drawn
        .nodes
        .iter()
        .filter(|node| {
            places
                .iter()
                .flatten()
                .any(|place| place.last == node.id && !place.is_trigger)
        })
        .filter(|node| !drawn.edges.iter().any(|edge| edge.source == node.id))
        .filter(|node| drawn.edges.iter().any(|edge| edge.target == node.id))
        .filter(|node| node.kind.role() != Some(Role::Throw))
        .map(|node| (node.id.clone(), node.position))
        .collect();
    for (id, [x, y]) in ends {
        let mut end = drawn.beside(&id, Kind::Standard("Return"), "Return".to_owned());
        if let Some(value) = returned(workflow) {
            end.parameters.insert("value".to_owned(), value.into());
        }
        end.position = [x + 220.0, y];
        // Labels are names: each has its own.
        end.label.clone_from(&end.id);
        drawn.edges.push(DrawnEdge {
            source: id,
            source_port: None,
            target: end.id.clone(),
            target_port: None,
        });
        drawn.nodes.push(end);
    }
}
