//! nodeDefinitions: a graph's custom node types.
//!
//! Reads and checks them one by one; whether their inner graphs make sense is `check`'s work.

use crate::diagnostic::{Diagnostic, Severity, Within, list};
use crate::findings::Findings;
use crate::graph::{Graph, described};
use crate::{code, component};
use heddle_catalogue::ValueType;
use serde_json::{Map, Value};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use url::{Position, Url};

/// Definitions in the order given.
#[derive(Clone, Debug, Default)]
pub(crate) struct Definitions {
    list: Vec<Definition>,
    by_name: HashMap<String, usize>,
}

/// A node type of the graph's own.
#[derive(Clone, Debug)]
pub(crate) struct Definition {
    pub name: String,
    pub inputs: Vec<OwnPort>,
    pub outputs: Vec<OwnPort>,
    pub kind: DefinitionKind,
}

/// What a definition does.
#[derive(Clone, Debug)]
pub(crate) enum DefinitionKind {
    /// The value of each output port.
    Expression(Map<String, Value>),
    /// The source of a module.
    JavaScript(String),
    /// A composite: its inner graph.
    Graph(Graph),
    /// A WebAssembly component.
    Component(Component),
    /// Can't be compiled; said already.
    Refused,
}

/// A component as checked, and what it may reach.
#[derive(Clone, Debug)]
pub(crate) struct Component {
    pub bytes: Arc<[u8]>,
    /// Hosts that it may send requests to, as in the manifest; `*` is any.
    pub hosts: Vec<String>,
}

/// A port of a definition.
#[derive(Clone, Debug)]
pub(crate) struct OwnPort {
    pub name: String,
    pub value_type: ValueType,
    pub required: bool,
}

const KINDS: &[&str] = &["expression", "javascript", "graph", "component"];

impl Definitions {
    /// Reads nodeDefinitions; null is none.
    pub fn read(value: &Value, found: &mut Findings) -> Definitions {
        let mut definitions = Definitions::default();
        let given = match value {
            Value::Null => return definitions,
            Value::Object(given) => given,
            other => {
                found.push(Diagnostic::error(
                    "malformed",
                    format!(
                        "nodeDefinitions must be an object from type name to definition, not {}",
                        described(other)
                    ),
                ));
                return definitions;
            }
        };
        for (name, value) in given {
            let definition = Reader { found, name }.definition(value);
            definitions.by_name.insert(name.clone(), definitions.list.len());
            definitions.list.push(definition);
        }
        definitions
    }

    pub fn get(&self, name: &str) -> Option<(usize, &Definition)> {
        self.by_name.get(name).map(|index| (*index, &self.list[*index]))
    }

    pub fn all(&self) -> &[Definition] {
        &self.list
    }
}

struct Reader<'a> {
    found: &'a mut Findings,
    name: &'a str,
}

impl Reader<'_> {
    fn fail(&mut self, code: &'static str, message: String, help: Option<String>) {
        // The name may be as long as the graph, and each port may be wrong.
        let name = self.name;
        self.found.report(Severity::Error, || {
            Diagnostic::error(code, format!("in definition `{name}`: {message}"))
                .at_definition(name, None)
                .with_help(help)
        });
    }

    fn definition(&mut self, value: &Value) -> Definition {
        let empty = Map::new();
        let fields = value.as_object().unwrap_or_else(|| {
            self.fail(
                "malformed",
                format!("it must be an object, not {}", described(value)),
                None,
            );
            &empty
        });
        if heddle_catalogue::node_type(self.name).is_some() {
            let message = format!("`{}` is a standard node type and can't be redefined", self.name);
            self.fail(
                "shadows-standard",
                message,
                Some("give the definition another name".to_owned()),
            );
        }
        let inputs = self.ports(fields, "inputs");
        let outputs = self.ports(fields, "outputs");
        let kind = if value.is_object() {
            self.kind(fields, &outputs)
        } else {
            DefinitionKind::Refused
        };
        Definition {
            name: self.name.to_owned(),
            inputs,
            outputs,
            kind,
        }
    }

    fn kind(&mut self, fields: &Map<String, Value>, outputs: &[OwnPort]) -> DefinitionKind {
        match fields.get("kind").and_then(Value::as_str) {
            Some("expression") => self.expression(fields, outputs),
            Some("javascript") => self.javascript(fields),
            Some("graph") => self.composite(fields),
            Some("component") => self.component(fields),
            kind => {
                let (message, help) = match kind {
                    Some(kind) => (
                        format!("there is no kind `{kind}`"),
                        self.found
                            .did_you_mean(Severity::Error, kind, KINDS.iter().copied()),
                    ),
                    None => ("kind is missing".to_owned(), None),
                };
                let help = help.unwrap_or_else(|| format!("kinds are {}", list(KINDS.iter().copied())));
                self.fail("unknown-kind", message, Some(help));
                DefinitionKind::Refused
            }
        }
    }

    fn expression(&mut self, fields: &Map<String, Value>, outputs: &[OwnPort]) -> DefinitionKind {
        let Some(values) = fields.get("outputValues").and_then(Value::as_object) else {
            self.fail(
                "malformed",
                "outputValues must be an object from output port to value".to_owned(),
                None,
            );
            return DefinitionKind::Refused;
        };
        let known: HashSet<&str> = outputs.iter().map(|port| port.name.as_str()).collect();
        for name in values.keys().filter(|name| !known.contains(name.as_str())) {
            if !self.found.has_room(Severity::Error) {
                self.fail("unknown-port", String::new(), None);
                continue;
            }
            let ports = outputs.iter().map(|port| port.name.as_str());
            let help = self.found.did_you_mean(Severity::Error, name, ports.clone());
            let help = help.unwrap_or_else(|| format!("outputs are {}", list(ports)));
            self.fail(
                "unknown-port",
                format!("outputValues has `{name}`, which is not an output"),
                Some(help),
            );
        }
        for port in outputs.iter().filter(|port| !values.contains_key(&port.name)) {
            let help = format!("add `{}` to outputValues", port.name);
            self.fail(
                "missing-output",
                format!("output `{}` has no value", port.name),
                Some(help),
            );
        }
        DefinitionKind::Expression(values.clone())
    }

    fn javascript(&mut self, fields: &Map<String, Value>) -> DefinitionKind {
        let Some(source) = fields.get("code").and_then(Value::as_str) else {
            let message = "code, the text of a JavaScript module, is missing".to_owned();
            self.fail("malformed", message, None);
            return DefinitionKind::Refused;
        };
        let name = self.name;
        for diagnostic in code::check(source, self.found) {
            self.found.report(diagnostic.severity, || {
                let message = format!("in definition `{name}`: {}", diagnostic.message);
                Diagnostic {
                    message,
                    ..diagnostic
                }
                .at_definition(name, Some("code"))
            });
        }
        DefinitionKind::JavaScript(source.to_owned())
    }

    fn composite(&mut self, fields: &Map<String, Value>) -> DefinitionKind {
        let Some(graph) = fields.get("graphData") else {
            self.fail(
                "malformed",
                "graphData, its inner graph, is missing".to_owned(),
                None,
            );
            return DefinitionKind::Refused;
        };
        let mut inner = self.found.part();
        let graph = Graph::read(graph, &mut inner);
        self.found
            .absorb(inner, |diagnostic| within(self.name, diagnostic));
        DefinitionKind::Graph(graph)
    }

    fn component(&mut self, fields: &Map<String, Value>) -> DefinitionKind {
        let hosts = self.hosts(fields);
        let Some(base64) = fields.get("component").and_then(Value::as_str) else {
            let message = "component, the base64 of a WebAssembly component, is missing".to_owned();
            let help = fields
                .get("component")
                .and_then(|component| component.get("file"));
            let help = help.map(|_| {
                "a component can name a file only in a definition file that `heddle` reads; send its content \
                 as base64"
                    .to_owned()
            });
            self.fail("malformed", message, help);
            return DefinitionKind::Refused;
        };
        match component::read(base64, !hosts.is_empty()) {
            Ok(bytes) => DefinitionKind::Component(Component {
                bytes: bytes.into(),
                hosts,
            }),
            Err(refusal) => {
                let message = format!("in definition `{}`: {}", self.name, refusal.message);
                self.found.push(
                    Diagnostic::error("component", message)
                        .at_definition(self.name, Some("component"))
                        .with_help(refusal.help),
                );
                DefinitionKind::Refused
            }
        }
    }

    /// Hosts that a component asks for, written as the runtime compares them; sorted.
    fn hosts(&mut self, fields: &Map<String, Value>) -> Vec<String> {
        let given = match fields.get("hosts") {
            None | Some(Value::Null) => return Vec::new(),
            Some(Value::Array(given)) => given.as_slice(),
            Some(other) => {
                let message = format!("hosts must be an array of host names, not {}", described(other));
                self.fail("malformed", message, None);
                return Vec::new();
            }
        };
        let mut hosts = BTreeSet::new();
        for host in given {
            match host.as_str().and_then(host_name) {
                Some(name) => drop(hosts.insert(name)),
                None => {
                    let message = format!("hosts has {host}, which is not a valid host");
                    let help =
                        "write names such as \"api.example.com\" or \"localhost:8080\", or \"*\" for any";
                    self.fail("malformed", message, Some(help.to_owned()));
                }
            }
        }
        hosts.into_iter().collect()
    }

    fn ports(&mut self, fields: &Map<String, Value>, side: &str) -> Vec<OwnPort> {
        let ports = match fields.get(side) {
            None | Some(Value::Null) => {
                return vec![OwnPort {
                    name: if side == "inputs" { "in" } else { "out" }.to_owned(),
                    value_type: ValueType::Any,
                    required: false,
                }];
            }
            Some(Value::Array(ports)) => ports,
            Some(other) => {
                self.fail(
                    "malformed",
                    format!("{side} must be an array of ports, not {}", described(other)),
                    None,
                );
                return Vec::new();
            }
        };
        let mut names = HashSet::new();
        ports
            .iter()
            .enumerate()
            .filter_map(|(index, port)| self.port(port, &format!("{side}[{index}]"), &mut names))
            .collect()
    }

    fn port<'v>(&mut self, port: &'v Value, path: &str, names: &mut HashSet<&'v str>) -> Option<OwnPort> {
        let Some(name) = port
            .get("name")
            .and_then(Value::as_str)
            .filter(|name| is_port_name(name))
        else {
            let message = format!("{path} must be an object with a name of letters, digits, _ and -");
            self.fail("malformed", message, None);
            return None;
        };
        if name == "error" {
            let message = format!("{path}: `error` is the port that onError: \"branch\" gives every node");
            self.fail("malformed", message, Some("choose another name".to_owned()));
        }
        if !names.insert(name) {
            self.fail(
                "duplicate-port",
                format!("{path}: the port `{name}` already exists"),
                None,
            );
            return None;
        }
        let value_type = match port.get("type") {
            None | Some(Value::Null) => ValueType::Any,
            Some(written) => written.as_str().and_then(value_type).unwrap_or_else(|| {
                let types = TYPES.iter().map(|(name, _)| *name);
                let help = written
                    .as_str()
                    .and_then(|written| self.found.did_you_mean(Severity::Error, written, types.clone()));
                let message = format!("{path}.type is {}; types are {}", described(written), list(types));
                self.fail("unknown-port-type", message, help);
                ValueType::Any
            }),
        };
        let required = match port.get("required") {
            None | Some(Value::Null) => true,
            Some(Value::Bool(required)) => *required,
            Some(other) => {
                let message = format!("{path}.required must be true or false, not {}", described(other));
                self.fail("malformed", message, None);
                true
            }
        };
        Some(OwnPort {
            name: name.to_owned(),
            value_type,
            required,
        })
    }
}

const TYPES: &[(&str, ValueType)] = &[
    ("any", ValueType::Any),
    ("string", ValueType::String),
    ("number", ValueType::Number),
    ("integer", ValueType::Integer),
    ("boolean", ValueType::Boolean),
    ("object", ValueType::Object),
    ("array", ValueType::Array),
];

fn value_type(name: &str) -> Option<ValueType> {
    TYPES
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, value_type)| *value_type)
}

/// The name of a type, as definitions write it.
pub(crate) fn type_name(value_type: ValueType) -> &'static str {
    TYPES
        .iter()
        .find(|(_, known)| *known == value_type)
        .map_or("any", |(name, _)| name)
}

/// A host, with its port if it is not the scheme's own, as URLs have it.
fn host_name(text: &str) -> Option<String> {
    if text == "*" {
        return Some(text.to_owned());
    }
    let url = Url::parse(&format!("http://{text}/"))
        .ok()
        .filter(Url::has_host)?;
    let alone = url.path() == "/" && url.username().is_empty() && !text.contains(['/', '?', '#', '@']);
    alone.then(|| url[Position::BeforeHost..Position::AfterPort].to_owned())
}

/// Names that expressions can write after a dot, and a few more.
fn is_port_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 64
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

/// A finding about a definition's inner graph as one about the definition: the fault is there, whichever node uses it.
pub(crate) fn within(definition: &str, diagnostic: Diagnostic) -> Diagnostic {
    let mut path = format!("nodeDefinitions.{definition}");
    let mut place = format!("in definition `{definition}`");
    if let Some(id) = &diagnostic.node_id {
        path.push_str(&format!(".graphData.nodes.{id}"));
        place.push_str(&format!(", node `{id}`"));
    }
    if let Some(parameter) = &diagnostic.parameter {
        path.push_str(&format!(".{parameter}"));
    }
    let message = format!("{place}: {}", diagnostic.message);
    let within = Within {
        definition: definition.to_owned(),
        node_id: diagnostic.node_id,
        parameter: diagnostic.parameter,
    };
    Diagnostic {
        node_id: None,
        parameter: Some(path),
        message,
        within: Some(within),
        ..diagnostic
    }
}
