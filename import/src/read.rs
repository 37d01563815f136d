//! Reads n8n's form: one workflow, a list of them, or `{workflows: […]}`. What is not as expected is left out and said.

use crate::workflow::{Edge, Node, OnError, Workflow};
use serde_json::{Map, Value};
use std::collections::HashMap;

/// Bytes of a file with workflows.
pub const WORKFLOW_BYTES_MAX: usize = 16 << 20;
/// Workflows that are imported together.
pub const WORKFLOWS_MAX: usize = 200;
/// Values of what is imported together, those within texts counted as well, for whoever has no memory for any number of them.
pub const VALUES_MAX: usize = 500_000;
/// Nodes of a workflow.
const NODES_MAX: usize = 600;
const EDGES_MAX: usize = 3_000;
const NAME_CHARS_MAX: usize = 200;
/// Bytes of a node's name in quotes, which expressions and sentences may have any number of times.
const NODE_NAME_BYTES_MAX: usize = 400;
/// Bytes of a node's type, which whatever is said of the node has with it.
const TYPE_BYTES_MAX: usize = 200;
/// Sentences about what could not be read.
const UNREAD_MAX: usize = 100;

/// Why something is not a workflow, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused(pub String);

/// How many values the JSON text of workflows or flows can become at most, before any is made. Texts in it may be JSON again,
/// whatever is escaped in them, so that what separates and begins values counts wherever it is.
pub fn values_at_most(text: &str) -> usize {
    let plain = text
        .bytes()
        .filter(|byte| matches!(byte, b',' | b'[' | b'{'))
        .count();
    // Of these three: \u002c, \u005b and \u007b.
    plain + text.matches("u00").count() + 1
}

/// The workflows in a JSON value; none if there are none.
pub fn find(value: &Value, default_name: &str) -> Result<Vec<Workflow>, Refused> {
    let mut workflows = given(value, default_name)?;
    take_out(&mut workflows)?;
    Ok(workflows)
}

/// The parts of workflows in a JSON value, as n8n's editor copies them. What is written within their nodes stays there.
pub fn find_fragments(value: &Value, default_name: &str) -> Result<Vec<Workflow>, Refused> {
    let mut workflows = given(value, default_name)?;
    for workflow in &mut workflows {
        workflow.is_fragment = true;
    }
    Ok(workflows)
}

/// The workflows as they are written.
fn given(value: &Value, default_name: &str) -> Result<Vec<Workflow>, Refused> {
    let listed = value
        .get("workflows")
        .or_else(|| value.get("data"))
        .unwrap_or(value);
    let candidates = match listed {
        Value::Array(several) => several.iter().collect(),
        _ => vec![value],
    };
    let candidates: Vec<&Value> = candidates
        .into_iter()
        .filter(|value| is_workflow(value))
        .collect();
    if candidates.len() > WORKFLOWS_MAX {
        return Err(Refused(format!(
            "there are {} workflows, and at most {WORKFLOWS_MAX} are imported together",
            candidates.len()
        )));
    }
    let given = candidates.into_iter().map(|value| read(value, default_name));
    given.collect()
}

/// Workflows that are written within nodes become workflows of their own, behind those that were given, which the nodes call.
fn take_out(workflows: &mut Vec<Workflow>) -> Result<(), Refused> {
    let mut place = 0;
    while let Some(workflow) = workflows.get(place) {
        let outer = workflow.name.clone();
        let nodes = workflow.nodes.iter().enumerate();
        let found: Vec<(usize, String, Value)> = nodes
            .filter_map(|(number, node)| Some((number, node.name.clone(), within(node)?)))
            .collect();
        for (number, label, value) in found {
            if workflows.len() >= WORKFLOWS_MAX {
                return Err(Refused(format!(
                    "with those that are written within nodes there are more than {WORKFLOWS_MAX} workflows, and at most that many are \
                     imported together"
                )));
            }
            let mut inner = read(&value, &outer)?;
            make_callable(&mut inner);
            let name = free(workflows, &format!("{outer}: {label}"));
            let node = workflows
                .get_mut(place)
                .and_then(|workflow| workflow.nodes.get_mut(number));
            if let Some(node) = node {
                node.parameters.insert("source".to_owned(), "database".into());
                node.parameters
                    .insert("workflowId".to_owned(), name.as_str().into());
                node.parameters.remove("workflowJson");
            }
            inner.id = Some(name.clone());
            inner.name = name;
            workflows.push(inner);
        }
        place += 1;
    }
    Ok(())
}

/// The workflow that is written within a node, unless it is computed.
fn within(node: &Node) -> Option<Value> {
    if node.kind != "executeWorkflow" || node.text(&["source"]) != "parameter" {
        return None;
    }
    let value = match node.parameter(&["workflowJson"]) {
        Value::String(text) => match text.strip_prefix('=') {
            Some(computed) if computed.contains("{{") => return None,
            Some(text) => serde_json::from_str(text).ok()?,
            None => serde_json::from_str(text).ok()?,
        },
        value => value.clone(),
    };
    is_workflow(&value).then_some(value)
}

/// n8n calls a workflow at its old Start as well, if it has no trigger for calls.
fn make_callable(workflow: &mut Workflow) {
    const CALLED: &str = "executeWorkflowTrigger";
    if !workflow.nodes.iter().any(|node| node.kind == CALLED) {
        let starts = workflow.nodes.iter_mut().filter(|node| node.kind == "start");
        starts.for_each(|node| node.kind = CALLED.to_owned());
    }
}

/// A name that no other workflow has as its name or its id.
fn free(workflows: &[Workflow], name: &str) -> String {
    let is_taken = |name: &str| {
        let mut others = workflows.iter();
        others.any(|other| other.name == name || other.id.as_deref() == Some(name))
    };
    // A number may follow.
    let name: String = printable(name).chars().take(NAME_CHARS_MAX - 10).collect();
    let (mut free, mut number) = (name.clone(), 1);
    while is_taken(&free) {
        number += 1;
        free = format!("{name} ({number})");
    }
    free
}

fn is_workflow(value: &Value) -> bool {
    value.get("nodes").is_some_and(Value::is_array) && value.get("connections").is_some_and(Value::is_object)
}

fn read(value: &Value, default_name: &str) -> Result<Workflow, Refused> {
    let name = value.get("name").and_then(Value::as_str).map(str::trim);
    let name = name.filter(|name| !name.is_empty()).unwrap_or(default_name);
    let name = printable(name);
    let given = value.get("nodes").and_then(Value::as_array);
    let given = given.map_or(&[][..], Vec::as_slice);
    if given.len() > NODES_MAX {
        return Err(Refused(format!(
            "the workflow `{name}` has {} nodes, and at most {NODES_MAX} are imported",
            given.len()
        )));
    }
    let mut workflow = Workflow {
        name,
        id: value.get("id").and_then(text_of),
        settings: object(value.get("settings")),
        pins: object(value.get("pinData")),
        static_data: static_data(value.get("staticData")),
        ..Workflow::default()
    };
    let mut places = HashMap::new();
    for (index, node) in given.iter().enumerate() {
        match node_of(node) {
            Some(node) if Value::from(node.name.as_str()).to_string().len() > NODE_NAME_BYTES_MAX => {
                let shown = printable(&node.name);
                return Err(Refused(format!(
                    "the name of nodes[{index}] of the workflow `{}` has more than {NODE_NAME_BYTES_MAX} bytes: give it a shorter one than \
                     `{shown}…`",
                    workflow.name
                )));
            }
            Some(mut node) => {
                node.name = unused(&places, node.name);
                places.insert(node.name.clone(), workflow.nodes.len());
                workflow.nodes.push(node);
            }
            None => workflow.unread.push(format!(
                "nodes[{index}] has no type, or one of more than {TYPE_BYTES_MAX} bytes, and is left out"
            )),
        }
    }
    edges(value, &places, &mut workflow)?;
    Ok(workflow)
}

/// A name that no other node has. In n8n names are unique.
fn unused(taken: &HashMap<String, usize>, name: String) -> String {
    let mut number = 1;
    let mut candidate = name.clone();
    while taken.contains_key(&candidate) {
        number += 1;
        candidate = format!("{name} ({number})");
    }
    candidate
}

/// Without control characters, and not too long.
fn printable(text: &str) -> String {
    text.chars()
        .filter(|c| !c.is_control())
        .take(NAME_CHARS_MAX)
        .collect()
}

fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

fn object(value: Option<&Value>) -> Map<String, Value> {
    value.and_then(Value::as_object).cloned().unwrap_or_default()
}

/// An object, or in n8n's own database the text of one.
fn static_data(value: Option<&Value>) -> Map<String, Value> {
    match value {
        Some(Value::String(text)) => serde_json::from_str(text).unwrap_or_default(),
        value => object(value),
    }
}

fn node_of(value: &Value) -> Option<Node> {
    let full_type = value.get("type")?.as_str()?;
    if full_type.len() > TYPE_BYTES_MAX {
        return None;
    }
    let flag = |name: &str| value.get(name).and_then(Value::as_bool).unwrap_or(false);
    let name = value.get("name").and_then(Value::as_str).unwrap_or(full_type);
    let package = full_type.strip_prefix("n8n-nodes-base.");
    let kind = package.or_else(|| full_type.strip_prefix("@n8n/n8n-nodes-langchain."));
    let place = |index: usize| {
        value
            .pointer(&format!("/position/{index}"))
            .and_then(Value::as_f64)
    };
    let is_langchain = full_type.starts_with("@n8n/");
    let kind = kind.unwrap_or(full_type);
    Some(Node {
        name: name.to_owned(),
        // Two packages have a node of this name, which are not alike.
        kind: match (is_langchain, kind) {
            (true, "code" | "openAi") => format!("langchain.{kind}"),
            _ => kind.to_owned(),
        },
        full_type: full_type.to_owned(),
        version: value.get("typeVersion").and_then(Value::as_f64).unwrap_or(1.0),
        parameters: object(value.get("parameters")),
        credentials: credentials(value.get("credentials")),
        position: [place(0).unwrap_or(0.0), place(1).unwrap_or(0.0)],
        disabled: flag("disabled"),
        notes: value
            .get("notes")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned(),
        on_error: on_error(value),
        retry: flag("retryOnFail").then(|| retry(value)),
        once: flag("executeOnce"),
        always: flag("alwaysOutputData"),
    })
}

fn credentials(value: Option<&Value>) -> Vec<(String, String)> {
    let given = value.and_then(Value::as_object).into_iter().flatten();
    let given = given.filter(|(kind, _)| kind.len() <= TYPE_BYTES_MAX);
    let named = |(kind, value): (&String, &Value)| {
        let name = value.get("name").unwrap_or(value).as_str().unwrap_or_default();
        let name = printable(if name.trim().is_empty() { kind } else { name });
        (kind.clone(), name)
    };
    given.map(named).collect()
}

fn on_error(value: &Value) -> OnError {
    match value.get("onError").and_then(Value::as_str) {
        Some("continueRegularOutput") => OnError::Continue,
        Some("continueErrorOutput") => OnError::Branch,
        Some(_) => OnError::Stop,
        None if value.get("continueOnFail") == Some(&Value::Bool(true)) => OnError::Continue,
        None => OnError::Stop,
    }
}

/// As in n8n, 0 counts as not given.
fn retry(value: &Value) -> (u64, u64) {
    let number = |name: &str, default| {
        let given = value.get(name).and_then(Value::as_u64);
        given.filter(|given| *given > 0).unwrap_or(default)
    };
    (
        number("maxTries", 3).clamp(2, 5),
        number("waitBetweenTries", 1_000).min(5_000),
    )
}

/// `{"Source": {"main": [[{"node": "Target", "type": "main", "index": 0}]]}}`
fn edges(value: &Value, places: &HashMap<String, usize>, workflow: &mut Workflow) -> Result<(), Refused> {
    let connections = value.get("connections").and_then(Value::as_object);
    for (name, kinds) in connections.into_iter().flatten() {
        let Some(source) = places.get(name) else {
            unread(workflow, || {
                format!(
                    "edges start at `{}`, which is not a node, and are left out",
                    printable(name)
                )
            });
            continue;
        };
        for (kind, outputs) in kinds.as_object().into_iter().flatten() {
            for (output, targets) in outputs.as_array().into_iter().flatten().enumerate() {
                for target in targets.as_array().into_iter().flatten() {
                    let named = target.get("node").and_then(Value::as_str).unwrap_or_default();
                    let Some(place) = places.get(named) else {
                        unread(workflow, || {
                            format!(
                                "an edge of `{name}` leads to `{}`, which is not a node, and is left out",
                                printable(named)
                            )
                        });
                        continue;
                    };
                    let input = target.get("index").and_then(Value::as_u64).unwrap_or(0);
                    workflow.edges.push(Edge {
                        source: *source,
                        output,
                        target: *place,
                        input: usize::try_from(input).unwrap_or(usize::MAX),
                        is_main: kind == "main" || kind == "error",
                    });
                }
            }
        }
        if workflow.edges.len() > EDGES_MAX {
            return Err(Refused(format!(
                "the workflow `{}` has more than {EDGES_MAX} edges",
                workflow.name
            )));
        }
    }
    Ok(())
}

/// Says what could not be read, unless enough was said.
fn unread(workflow: &mut Workflow, sentence: impl FnOnce() -> String) {
    if workflow.unread.len() < UNREAD_MAX {
        workflow.unread.push(sentence());
    }
}
