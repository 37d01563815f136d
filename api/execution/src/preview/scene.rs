//! The graph that is executed for a preview. Each node before the previewed one is there under its id and its label, and
//! gives the output that is known of it; then come the expressions, each in a node of its own.

use crate::compile::Sources;
use heddle_catalogue::{FOR_EACH, IF, NO_OP, Role, Start, TRANSFORM};
use heddle_model::error::ServiceError;
use heddle_model::ids::EnvironmentId;
use heddle_model::objects;
use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};
use std::collections::{HashMap, HashSet, VecDeque};

/// Expressions of one request.
const EXPRESSIONS_MAX: usize = 50;
/// Nodes that are looked at, as many as can be compiled.
const NODES_MAX: usize = 1_000;

/// No node that people have drawn is called so.
const OURS: &str = "preview:";
const TRIGGER: &str = "preview:trigger";
const NEVER: &str = "preview:never";
const ITEMS: &str = "preview:items";
const EACH: &str = "preview:each";
const INPUT: &str = "preview:input";
const EXPRESSION: &str = "preview:expression:";

/// Number of the expression that a node stands for.
pub(super) fn number(node_id: &str) -> Option<usize> {
    node_id.strip_prefix(EXPRESSION)?.parse().ok()
}

/// What to evaluate.
#[derive(Debug)]
pub struct PreviewRequest {
    /// The graph, of which nodes' ids, labels and edges count.
    pub graph: Box<RawValue>,
    /// The node in which the expressions stand.
    pub node_id: String,
    /// Texts with `{{ }}`, by the path of their parameter.
    pub expressions: Vec<(String, String)>,
    /// Outputs by node id; those of nodes before this one count.
    pub outputs: HashMap<String, Value>,
    /// The value on the node's input; `None`: it follows from edges and outputs.
    pub input: Option<Value>,
    /// The element of a loop or list, if there is one.
    pub item: Option<Value>,
    pub event: Option<Box<RawValue>>,
    /// Where variables come from; `None`: the workspace's default.
    pub environment: Option<EnvironmentId>,
}

/// A graph as far as it is looked at. Drafts may be unfinished.
#[derive(Deserialize)]
struct Drawn {
    #[serde(default, deserialize_with = "objects::list")]
    nodes: Vec<DrawnNode>,
    #[serde(default, deserialize_with = "objects::list")]
    edges: Vec<DrawnEdge>,
}

#[derive(Deserialize)]
struct DrawnNode {
    id: String,
    #[serde(rename = "type", default)]
    node_type: String,
    #[serde(default, deserialize_with = "objects::optional")]
    data: Option<DrawnData>,
}

#[derive(Deserialize)]
struct DrawnData {
    #[serde(default)]
    label: Option<String>,
    #[serde(default)]
    once: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DrawnEdge {
    source: String,
    target: String,
    #[serde(default)]
    target_handle: Option<String>,
}

/// A node before the previewed one.
struct Before {
    id: String,
    label: Option<String>,
    output: Option<Value>,
}

/// What is executed.
pub(super) struct Scene {
    /// Texts by path.
    pub expressions: Vec<(String, String)>,
    /// Id of the trigger.
    pub trigger: String,
    /// What it emits.
    pub event: Box<RawValue>,
    trigger_label: Option<String>,
    before: Vec<Before>,
    input: Value,
    item: Option<Value>,
}

impl Scene {
    /// By a request. What can't be previewed is an error of its field.
    pub fn new(mut request: PreviewRequest) -> Result<Scene, ServiceError> {
        if request.expressions.len() > EXPRESSIONS_MAX {
            let message = format!("can be at most {EXPRESSIONS_MAX}");
            return Err(ServiceError::field("expressions", message));
        }
        let drawn: Drawn = serde_json::from_str(request.graph.get())
            .map_err(|error| ServiceError::field("graphData", format!("can't be read: {error}")))?;
        let nodes: HashMap<&str, &DrawnNode> =
            drawn.nodes.iter().map(|node| (node.id.as_str(), node)).collect();
        if !nodes.contains_key(request.node_id.as_str()) {
            return Err(ServiceError::field("nodeId", "is not a node of this graph"));
        }
        let ancestors = ancestors(&drawn.edges, &request.node_id);
        let input = match request.input.take() {
            Some(input) => input,
            None => {
                let node = nodes.get(request.node_id.as_str());
                let once = node.and_then(|node| node.data.as_ref()?.once.as_ref()?.as_bool());
                input_of(&drawn.edges, &request, once == Some(true))
            }
        };
        let label = |node: &DrawnNode| node.data.as_ref().and_then(|data| data.label.clone());
        // In the order of the graph, so that the same graph gives the same module.
        let mut before: Vec<Before> = Vec::new();
        let mut trigger = None;
        let is_before =
            |node: &&DrawnNode| ancestors.contains(node.id.as_str()) && !node.id.starts_with(OURS);
        for node in drawn.nodes.iter().filter(is_before) {
            let output = request.outputs.remove(&node.id);
            if trigger.is_none()
                && (output.is_some() || request.event.is_some())
                && is_trigger(&node.node_type)
            {
                trigger = Some((node.id.clone(), label(node), output));
                continue;
            }
            before.push(Before {
                id: node.id.clone(),
                label: label(node),
                output,
            });
        }
        if before.len() > NODES_MAX {
            let message = format!("has more than {NODES_MAX} nodes before this one, which is the limit");
            return Err(ServiceError::field("graphData", message));
        }
        let (trigger, trigger_label, emitted) = trigger.unwrap_or((TRIGGER.to_owned(), None, None));
        let event = match (request.event, emitted) {
            (Some(event), _) => event,
            (None, emitted) => json_text(&emitted.unwrap_or(Value::Null))?,
        };
        Ok(Scene {
            expressions: request.expressions,
            trigger,
            trigger_label,
            event,
            before,
            input,
            item: request.item,
        })
    }

    /// The graph with the expressions of these numbers, and with the known outputs as pins.
    pub fn sources(&self, wanted: &HashSet<usize>) -> Result<Sources, ServiceError> {
        let mut graph = Graph::default();
        graph.node(
            &self.trigger,
            Start::Manual.type_name(),
            self.trigger_label.as_deref(),
            json!({}),
        );
        let mut last = self.trigger.as_str();
        for node in &self.before {
            if let Some(output) = &node.output {
                graph.pinned(&node.id, node.label.as_deref(), output);
                graph.edge(last, None, &node.id);
                last = &node.id;
            }
        }
        // What has not run is on a way that is not taken: its output is undefined.
        let missing: Vec<&Before> = self.before.iter().filter(|node| node.output.is_none()).collect();
        let first = if self.item.is_some() { ITEMS } else { INPUT };
        if !missing.is_empty() {
            graph.node(NEVER, IF.name, None, json!({"condition": false}));
            graph.edge(&self.trigger, None, NEVER);
        }
        for node in missing {
            graph.node(&node.id, NO_OP.name, node.label.as_deref(), json!({}));
            graph.edge(NEVER, Some("true"), &node.id);
            graph.edge(&node.id, None, first);
        }
        if let Some(item) = &self.item {
            graph.pinned(ITEMS, None, &json!([item]));
            graph.edge(last, None, ITEMS);
            graph.node(EACH, FOR_EACH.name, None, json!({"items": "{{ $input }}"}));
            graph.edge(ITEMS, None, EACH);
        }
        graph.pinned(INPUT, None, &self.input);
        match self.item {
            Some(_) => graph.edge(EACH, Some("item"), INPUT),
            None => graph.edge(last, None, INPUT),
        }
        for (number, (_, text)) in self.expressions.iter().enumerate() {
            if wanted.contains(&number) {
                let id = format!("{EXPRESSION}{number}");
                graph.node(&id, TRANSFORM.name, None, json!({"value": text}));
                graph.edge(INPUT, None, &id);
            }
        }
        graph.sources()
    }
}

#[derive(Default)]
struct Graph {
    nodes: Vec<Value>,
    edges: Vec<Value>,
    pins: Map<String, Value>,
}

impl Graph {
    fn node(&mut self, id: &str, node_type: &str, label: Option<&str>, parameters: Value) {
        let mut data = json!({"parameters": parameters});
        if let Some(label) = label {
            data["label"] = label.into();
        }
        if number(id).is_some() {
            // One that fails keeps no other from being evaluated.
            data["onError"] = "continue".into();
        }
        self.nodes
            .push(json!({"id": id, "type": node_type, "data": data}));
    }

    fn pinned(&mut self, id: &str, label: Option<&str>, output: &Value) {
        self.node(id, NO_OP.name, label, json!({}));
        self.pins
            .insert(id.to_owned(), json!({"$pin": true, "value": output}));
    }

    fn edge(&mut self, source: &str, handle: Option<&str>, target: &str) {
        let mut edge = json!({"source": source, "target": target});
        if let Some(handle) = handle {
            edge["sourceHandle"] = handle.into();
        }
        self.edges.push(edge);
    }

    fn sources(self) -> Result<Sources, ServiceError> {
        Ok(Sources {
            graph: json_text(&json!({"nodes": self.nodes, "edges": self.edges}))?,
            definitions: RawValue::NULL.to_owned(),
            pinned_nodes: Some(json_text(&Value::Object(self.pins))?),
        })
    }
}

fn json_text(value: &Value) -> Result<Box<RawValue>, ServiceError> {
    to_raw_value(value).map_err(ServiceError::internal)
}

/// Whether runs start there: definitions may be called like triggers.
fn is_trigger(node_type: &str) -> bool {
    let known = heddle_catalogue::node_type(node_type);
    known.is_some_and(|it| matches!(it.role, Role::Trigger(_)))
}

/// Nodes from which edges lead to this one.
fn ancestors<'a>(edges: &'a [DrawnEdge], node: &str) -> HashSet<&'a str> {
    let mut sources: HashMap<&str, Vec<&'a str>> = HashMap::new();
    for edge in edges {
        let (source, target) = (edge.source.as_str(), edge.target.as_str());
        sources.entry(target).or_default().push(source);
    }
    let mut found = HashSet::new();
    let mut queue: VecDeque<&str> = VecDeque::from([node]);
    while let Some(next) = queue.pop_front() {
        for source in sources.get(next).into_iter().flatten() {
            if *source != node && found.insert(*source) {
                queue.push_back(source);
            }
        }
    }
    found
}

/// The value on a node's input: that of its one port, or an object by port if several are wired. With `once`, lists end
/// after their first item.
fn input_of(edges: &[DrawnEdge], request: &PreviewRequest, once: bool) -> Value {
    let mut ports: Vec<(&str, Vec<&Value>)> = Vec::new();
    for edge in edges.iter().filter(|edge| edge.target == request.node_id) {
        let port = edge.target_handle.as_deref().unwrap_or("in");
        let output = request.outputs.get(&edge.source);
        match ports.iter_mut().find(|(known, _)| *known == port) {
            Some((_, values)) => values.extend(output),
            None => ports.push((port, output.into_iter().collect())),
        }
    }
    let all = |values: &[&Value]| match values {
        [] => Value::Null,
        [one] => (*one).clone(),
        several => several.iter().map(|value| (*value).clone()).collect(),
    };
    let value = |values: &[&Value]| match all(values) {
        Value::Array(items) if once => items.into_iter().take(1).collect(),
        value => value,
    };
    match ports.as_slice() {
        [] => Value::Null,
        [(_, values)] => value(values),
        several => several
            .iter()
            .map(|(port, values)| ((*port).to_owned(), value(values)))
            .collect::<Map<_, _>>()
            .into(),
    }
}
