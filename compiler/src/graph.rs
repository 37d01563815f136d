//! The graph as drawn: nodes, edges and settings read from React Flow's JSON.
//!
//! Unknown fields are ignored, with a warning where they look mistyped; known fields are checked strictly: each malformed
//! one gets its own diagnostic, and reading continues. Knows nothing about node types.

use crate::diagnostic::{Diagnostic, Severity, list};
use crate::findings::Findings;
use heddle_contract::manifest::{Expressions, Retry, Settings};
use heddle_contract::plan::OnError;
use serde_json::{Map, Value};
use std::collections::HashSet;

/// Longest node id, in bytes.
const ID_BYTES_MAX: usize = 64;
/// Most attempts of a node or a run.
const ATTEMPTS_MAX: u64 = 100;
/// Longest wait or timeout: 30 days in milliseconds.
const WAIT_MS_MAX: u64 = 30 * 24 * 60 * 60 * 1_000;
/// Memory of a run in MiB: from what the smallest one needs to all that 32 bits can address.
const MEMORY_MB: (u64, u64) = (16, 4_096);
/// What a run may compute: up to a day.
const COMPUTE_SECONDS: (u64, u64) = (1, 86_400);
/// Effects of a run: up to the most that a server can allow.
const EFFECTS: (u64, u64) = (1, 100_000);
/// Most elements in flight.
const CONCURRENCY_MAX: u64 = 1_000;

/// Fields of a graph, of its settings, of a node's data and of `retry`. A graph's notes are what editors show beside its nodes.
const GRAPH: &[&str] = &["nodes", "edges", "settings", "notes"];
const SETTINGS: &[&str] = &[
    "timeoutMs",
    "memoryMb",
    "computeSeconds",
    "maxEffects",
    "retry",
    "errorPatternId",
    "expressions",
    "items",
];
const DATA: &[&str] = &[
    "typeVersion",
    "label",
    "disabled",
    "parameters",
    "onError",
    "retry",
    "timeoutMs",
    "each",
    "once",
    "always",
    "concurrency",
    "notes",
];
/// Fields that only count within a node's `data`; beside it, editors keep fields of their own by these names.
const DATA_ONLY: &[&str] = &[
    "parameters",
    "onError",
    "retry",
    "timeoutMs",
    "each",
    "once",
    "always",
    "concurrency",
    "disabled",
];
const RETRY: &[&str] = &["maxAttempts", "backoffMs", "factor"];
/// What is longer was not mistyped.
const MISTYPED_BYTES_MAX: usize = 50;

#[derive(Clone, Debug, Default)]
pub(crate) struct Graph {
    /// Nodes in graph order; ids are valid and unique.
    pub nodes: Vec<Node>,
    /// Edges in graph order.
    pub edges: Vec<Edge>,
    /// The run's settings.
    pub settings: Settings,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Node {
    pub id: String,
    pub node_type: String,
    pub label: Option<String>,
    pub disabled: bool,
    pub parameters: Map<String, Value>,
    pub on_error: OnError,
    pub retry: Option<Retry>,
    /// Milliseconds; 0 = the host's own.
    pub timeout_ms: u32,
    /// Once for every element of a list; without a word on it, graphs of items have it where a node works on single items.
    pub each: Option<bool>,
    /// Whether only the first item of a list counts.
    pub once: bool,
    /// Whether one empty item leaves rather than none.
    pub always: bool,
    pub concurrency: Option<u32>,
}

/// An edge, by names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Edge {
    pub source: String,
    pub source_handle: Option<String>,
    pub target: String,
    pub target_handle: Option<String>,
}

impl Graph {
    /// Reads a graph; what can't be read is left out and reported.
    pub fn read(value: &Value, found: &mut Findings) -> Graph {
        let mut reader = Reader { found, node_id: None };
        let Some(graph) = reader.object(value, "the graph") else {
            return Graph::default();
        };
        reader.mistyped(graph, "", GRAPH);
        let nodes = graph
            .get("nodes")
            .map_or(&[][..], |nodes| reader.array(nodes, "nodes"));
        if !graph.contains_key("nodes") {
            reader.fail("nodes must be an array of nodes");
        }
        let edges = graph
            .get("edges")
            .map_or(&[][..], |edges| reader.array(edges, "edges"));
        let settings = graph.get("settings").filter(|settings| !settings.is_null());
        let settings = settings
            .map(|settings| reader.settings(settings))
            .unwrap_or_default();
        let mut ids = HashSet::new();
        Graph {
            nodes: nodes
                .iter()
                .enumerate()
                .filter_map(|(index, node)| reader.node(node, &format!("nodes[{index}]"), &mut ids))
                .collect(),
            edges: edges
                .iter()
                .enumerate()
                .filter_map(|(index, edge)| reader.edge(edge, &format!("edges[{index}]")))
                .collect(),
            settings,
        }
    }
}

struct Reader<'a> {
    found: &'a mut Findings,
    /// The node being read, once its id is known.
    node_id: Option<String>,
}

impl Reader<'_> {
    fn fail(&mut self, message: impl Into<String>) {
        let diagnostic = Diagnostic::error("malformed", message);
        self.found.push(Diagnostic {
            node_id: self.node_id.clone(),
            ..diagnostic
        });
    }

    /// Warns of fields that are almost called like a known one. Others are the editor's.
    fn mistyped(&mut self, object: &Map<String, Value>, path: &str, known: &[&str]) {
        for name in object.keys().filter(|name| !known.contains(&name.as_str())) {
            if let Some(meant) = meant(name, known) {
                self.warn_of_field(path, name, format!("did you mean `{meant}`?"));
            }
        }
    }

    /// Warns of all fields that are not known, where an editor has none of its own.
    fn unknown(&mut self, object: &Map<String, Value>, path: &str, known: &[&str]) {
        for name in object.keys().filter(|name| !known.contains(&name.as_str())) {
            let help = match meant(name, known) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => format!("known are {}", list(known.iter().copied())),
            };
            self.warn_of_field(path, name, help);
        }
    }

    fn warn_of_field(&mut self, path: &str, name: &str, help: String) {
        let node_id = self.node_id.clone();
        self.found.report(Severity::Warning, || {
            let separator = if path.is_empty() { "" } else { "." };
            let message = format!("{path}{separator}{name} is unknown and ignored");
            Diagnostic {
                node_id,
                ..Diagnostic::warning("unknown-field", message).with_help(help)
            }
        });
    }

    fn object<'v>(&mut self, value: &'v Value, path: &str) -> Option<&'v Map<String, Value>> {
        let object = value.as_object();
        if object.is_none() {
            self.fail(format!("{path} must be an object, not {}", described(value)));
        }
        object
    }

    fn array<'v>(&mut self, value: &'v Value, path: &str) -> &'v [Value] {
        value.as_array().map_or_else(
            || {
                self.fail(format!("{path} must be an array, not {}", described(value)));
                &[][..]
            },
            Vec::as_slice,
        )
    }

    /// An optional field: absent and null are the same.
    fn field<'v, T>(
        &mut self,
        object: &'v Map<String, Value>,
        (path, name): (&str, &str),
        wanted: &str,
        read: impl FnOnce(&'v Value) -> Option<T>,
    ) -> Option<T> {
        let value = object.get(name).filter(|value| !value.is_null())?;
        let read = read(value);
        if read.is_none() {
            self.fail(format!(
                "{path}.{name} must be {wanted}, not {}",
                described(value)
            ));
        }
        read
    }

    fn text(&mut self, object: &Map<String, Value>, path: &str, name: &str) -> Option<String> {
        self.field(object, (path, name), "text", |value| {
            value.as_str().map(str::to_owned)
        })
    }

    fn flag(&mut self, object: &Map<String, Value>, path: &str, name: &str) -> bool {
        self.field(object, (path, name), "true or false", Value::as_bool)
            .unwrap_or(false)
    }

    fn whole(
        &mut self,
        object: &Map<String, Value>,
        (path, name): (&str, &str),
        (min, max): (u64, u64),
    ) -> Option<u64> {
        self.field(
            object,
            (path, name),
            &format!("a whole number from {min} to {max}"),
            |value| {
                let exact = value
                    .as_f64()
                    .filter(|number| number.fract() == 0.0 && *number >= 0.0);
                let number = value.as_u64().or(exact.map(|number| number as u64))?;
                (min..=max).contains(&number).then_some(number)
            },
        )
    }

    fn retry(&mut self, object: &Map<String, Value>, path: &str) -> Option<Retry> {
        let retry = self.field(object, (path, "retry"), "an object", Value::as_object)?;
        let path = format!("{path}.retry");
        self.unknown(retry, &path, RETRY);
        Some(Retry {
            max_attempts: self
                .whole(retry, (&path, "maxAttempts"), (1, ATTEMPTS_MAX))
                .unwrap_or(1) as u32,
            backoff_ms: self
                .whole(retry, (&path, "backoffMs"), (0, WAIT_MS_MAX))
                .unwrap_or(0),
            factor: self
                .field(retry, (&path, "factor"), "a number from 1 to 100", |value| {
                    value.as_f64().filter(|factor| (1.0..=100.0).contains(factor))
                })
                .unwrap_or(1.0),
        })
    }

    fn settings(&mut self, value: &Value) -> Settings {
        let Some(settings) = self.object(value, "settings") else {
            return Settings::default();
        };
        self.unknown(settings, "settings", SETTINGS);
        Settings {
            timeout_ms: self.whole(settings, ("settings", "timeoutMs"), (1, WAIT_MS_MAX)),
            memory_mb: self.whole(settings, ("settings", "memoryMb"), MEMORY_MB),
            compute_seconds: self.whole(settings, ("settings", "computeSeconds"), COMPUTE_SECONDS),
            max_effects: self.whole(settings, ("settings", "maxEffects"), EFFECTS),
            retry: self.retry(settings, "settings"),
            error_pattern_id: self.text(settings, "settings", "errorPatternId"),
            expressions: self
                .field(
                    settings,
                    ("settings", "expressions"),
                    "`strict` or `lenient`",
                    |value| match value.as_str()? {
                        "strict" => Some(Expressions::Strict),
                        "lenient" => Some(Expressions::Lenient),
                        _ => None,
                    },
                )
                .unwrap_or_default(),
            items: self.flag(settings, "settings", "items"),
        }
    }

    fn node(&mut self, value: &Value, path: &str, ids: &mut HashSet<String>) -> Option<Node> {
        let node = self.object(value, path)?;
        let Some(id) = node.get("id").and_then(Value::as_str).filter(|id| is_id(id)) else {
            let given = node.get("id").map_or("it is missing".to_owned(), described);
            self.fail(format!(
                "{path}.id must be 1 to {ID_BYTES_MAX} letters, digits and any of _ . : - (given: {given})"
            ));
            return None;
        };
        if !ids.insert(id.to_owned()) {
            self.found.push(
                Diagnostic::error(
                    "duplicate-id",
                    format!("{path}.id: another node already has the id `{id}`"),
                )
                .at_node(id)
                .with_help("give every node its own id".to_owned()),
            );
            return None;
        }
        self.node_id = Some(id.to_owned());
        let node_type = match node.get("type") {
            Some(Value::String(node_type)) => node_type.clone(),
            other => {
                let given = other.map_or("it is missing".to_owned(), described);
                self.fail(format!(
                    "{path}.type must be the name of a node type (given: {given})"
                ));
                String::new()
            }
        };
        let empty = Map::new();
        let data = self
            .field(node, (path, "data"), "an object", Value::as_object)
            .unwrap_or(&empty);
        for name in node.keys() {
            if let Some(meant) = meant(name, DATA_ONLY) {
                self.warn_of_field(path, name, format!("did you mean `data.{meant}`?"));
            }
        }
        let node = self.node_data(data, &format!("{path}.data"));
        self.node_id = None;
        Some(Node {
            id: id.to_owned(),
            node_type,
            ..node
        })
    }

    fn node_data(&mut self, data: &Map<String, Value>, path: &str) -> Node {
        self.mistyped(data, path, DATA);
        if let Some(version) = data.get("typeVersion").filter(|version| !version.is_null())
            && version.as_f64() != Some(1.0)
        {
            self.fail(format!(
                "{path}.typeVersion must be 1, the only version, not {}",
                described(version)
            ));
        }
        Node {
            label: self.text(data, path, "label").filter(|label| !label.is_empty()),
            disabled: self.flag(data, path, "disabled"),
            parameters: self
                .field(data, (path, "parameters"), "an object", Value::as_object)
                .cloned()
                .unwrap_or_default(),
            on_error: self.on_error(data, path),
            retry: self.retry(data, path),
            timeout_ms: self
                .whole(data, (path, "timeoutMs"), (1, WAIT_MS_MAX))
                .unwrap_or(0) as u32,
            each: self.field(data, (path, "each"), "true or false", Value::as_bool),
            once: self.flag(data, path, "once"),
            always: self.flag(data, path, "always"),
            concurrency: self
                .whole(data, (path, "concurrency"), (1, CONCURRENCY_MAX))
                .map(|n| n as u32),
            ..Node::default()
        }
    }

    fn on_error(&mut self, data: &Map<String, Value>, path: &str) -> OnError {
        match data.get("onError") {
            None | Some(Value::Null) => OnError::Fail,
            Some(Value::String(text)) if text == "fail" => OnError::Fail,
            Some(Value::String(text)) if text == "continue" => OnError::Continue,
            Some(Value::String(text)) if text == "branch" => OnError::Branch,
            Some(other) => {
                let ways = ["fail", "continue", "branch"];
                let help = other
                    .as_str()
                    .and_then(|text| self.found.did_you_mean(Severity::Error, text, ways));
                let message = format!(
                    "{path}.onError must be \"fail\", \"continue\" or \"branch\", not {}",
                    described(other)
                );
                let diagnostic = Diagnostic::error("malformed", message).with_help(help);
                self.found.push(Diagnostic {
                    node_id: self.node_id.clone(),
                    ..diagnostic
                });
                OnError::Fail
            }
        }
    }

    fn edge(&mut self, value: &Value, path: &str) -> Option<Edge> {
        let edge = self.object(value, path)?;
        let mut end = |name: &str| {
            let text = edge.get(name).and_then(Value::as_str);
            if text.is_none() {
                let given = edge.get(name).map_or("it is missing".to_owned(), described);
                self.fail(format!("{path}.{name} must be the id of a node (given: {given})"));
            }
            text.map(str::to_owned)
        };
        let (source, target) = (end("source"), end("target"));
        let source_handle = self.text(edge, path, "sourceHandle");
        let target_handle = self.text(edge, path, "targetHandle");
        Some(Edge {
            source: source?,
            source_handle,
            target: target?,
            target_handle,
        })
    }
}

/// The known name that this one almost is.
fn meant<'k>(name: &str, known: &[&'k str]) -> Option<&'k str> {
    if name.len() > MISTYPED_BYTES_MAX {
        return None;
    }
    let name = name.to_lowercase();
    let chars = name.chars().count();
    let distance = |known: &str| strsim::damerau_levenshtein(&name, &known.to_lowercase());
    // Every field of every object is looked at, and hardly one is as long as a known one: they are as far apart as they differ in
    // length at least.
    let known = known.iter().copied();
    let known = known.filter(|known| known.chars().count().abs_diff(chars) <= FAR);
    let (distance, nearest) = known
        .map(|known| (distance(known), known))
        .min_by_key(|(distance, _)| *distance)?;
    let close = if nearest.len() <= 5 { 1 } else { FAR };
    (distance <= close).then_some(nearest)
}

/// Characters by which what was mistyped differs from a long name at most.
const FAR: usize = 2;

/// Whether a text can be a node's id.
fn is_id(text: &str) -> bool {
    (1..=ID_BYTES_MAX).contains(&text.len())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_.:-".contains(&byte))
}

/// A JSON value in a few words, for messages.
pub(crate) fn described(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(text) if text.chars().count() > 40 => {
            format!("the text \"{}…\"", text.chars().take(40).collect::<String>())
        }
        Value::String(text) => format!("the text {:?}", text),
        Value::Array(items) => format!("an array of {}", items.len()),
        Value::Object(_) => "an object".to_owned(),
    }
}
