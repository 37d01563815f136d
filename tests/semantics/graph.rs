//! Graphs as the reference knows them, and their JSON as heddle reads it.

use crate::expression::{Expression, Names, Stop};
use crate::js::Js;
use serde_json::{Map, Value, json};

/// A pattern with its definitions, an event and pins: one case of the test.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    pub graph: Graph,
    pub definitions: Vec<(String, Definition)>,
    pub trigger: String,
    pub event: Value,
    pub pins: Vec<Pin>,
    /// Whether what an expression throws is `undefined`.
    pub lenient: bool,
    /// Whether lists of items travel along the edges.
    pub items: bool,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Graph {
    pub nodes: Vec<Node>,
    pub edges: Vec<Edge>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    pub id: String,
    pub label: Option<String>,
    pub kind: Kind,
    pub disabled: bool,
    pub on_error: OnError,
    /// Attempts in all.
    pub attempts: u32,
    /// Wait between them; none when zero.
    pub backoff_ms: u32,
    pub each: bool,
    /// Executes once for the list, where lists of items travel: `each: false`.
    pub whole: bool,
    /// Of a list that comes, only the first item counts.
    pub once: bool,
    /// One empty item leaves rather than none.
    pub always: bool,
    /// Elements at a time.
    pub concurrency: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnError {
    Fail,
    Continue,
    Branch,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Edge {
    pub source: String,
    pub source_port: String,
    pub target: String,
    pub target_port: String,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Pin {
    pub node: String,
    pub port: Option<String>,
    pub value: Value,
}

/// Type and parameters of a node.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// OnManual, OnWebhook, OnCall.
    Trigger(&'static str),
    NoOp,
    SetFields {
        fields: Vec<(String, Parameter)>,
        keep_input: bool,
    },
    Transform(Parameter),
    If(Parameter),
    /// The value of `value` and of each case's `equals`.
    SwitchEquals {
        value: Parameter,
        cases: Vec<(String, Parameter)>,
        all: bool,
    },
    SwitchWhen {
        cases: Vec<(String, Parameter)>,
        all: bool,
    },
    Merge(Merge),
    ForEach {
        items: Option<Parameter>,
        concurrency: usize,
        batch_size: usize,
    },
    Loop {
        condition: Parameter,
        iterations_max: usize,
    },
    Throw {
        message: Parameter,
        code: Option<String>,
    },
    Return(Option<Parameter>),
    Filter {
        condition: Parameter,
        items: Option<Parameter>,
    },
    Log {
        level: &'static str,
        message: Parameter,
    },
    Limit {
        count: Parameter,
        offset: usize,
    },
    Flatten {
        depth: usize,
    },
    /// A node of `Case::definitions`.
    Defined(String),
}

#[derive(Clone, Debug, PartialEq)]
pub enum Merge {
    First,
    Append,
    Combine,
    Zip,
    Join { key: String, right_key: Option<String> },
}

#[derive(Clone, Debug, PartialEq)]
pub enum Definition {
    /// Input names, and outputs with their values.
    Expression(Vec<String>, Vec<(String, Parameter)>),
    /// One input `in`, one output `out`.
    Composite(Graph),
}

/// A parameter's value.
#[derive(Clone, Debug, PartialEq)]
pub enum Parameter {
    Json(Value),
    Expression(Expression),
    /// Texts and expressions in turn, beginning and ending with a text.
    Text(Vec<String>, Vec<Expression>),
    Object(Vec<(String, Parameter)>),
    Array(Vec<Parameter>),
}

impl Parameter {
    pub fn evaluate(&self, names: &dyn Names) -> Result<Js, Stop> {
        Ok(match self {
            Parameter::Json(value) => Js::from_json(value),
            Parameter::Expression(expression) => expression.whole(names)?,
            Parameter::Text(texts, expressions) => {
                let mut out = texts[0].clone();
                for (expression, text) in expressions.iter().zip(&texts[1..]) {
                    out += &expression.whole(names)?.among_text();
                    out += text;
                }
                Js::String(out)
            }
            Parameter::Object(fields) => {
                let fields = fields
                    .iter()
                    .map(|(name, value)| Ok((name.clone(), value.evaluate(names)?)));
                Js::Object(fields.collect::<Result<_, Stop>>()?)
            }
            Parameter::Array(items) => Js::Array(
                items
                    .iter()
                    .map(|item| item.evaluate(names))
                    .collect::<Result<_, Stop>>()?,
            ),
        })
    }

    fn to_json(&self) -> Value {
        match self {
            Parameter::Json(value) => value.clone(),
            Parameter::Expression(expression) => Value::String(format!("{{{{ {expression} }}}}")),
            Parameter::Text(texts, expressions) => {
                let mut out = texts[0].clone();
                for (expression, text) in expressions.iter().zip(&texts[1..]) {
                    out += &format!("{{{{ {expression} }}}}{text}");
                }
                Value::String(out)
            }
            Parameter::Object(fields) => object_json(fields),
            Parameter::Array(items) => Value::Array(items.iter().map(Parameter::to_json).collect()),
        }
    }
}

fn object_json(fields: &[(String, Parameter)]) -> Value {
    Value::Object(
        fields
            .iter()
            .map(|(name, value)| (name.clone(), value.to_json()))
            .collect(),
    )
}

impl Case {
    pub fn definitions_json(&self) -> Value {
        let inputs = |names: &[String]| {
            names
                .iter()
                .map(|n| json!({"name": n, "type": "any", "required": false}))
                .collect::<Value>()
        };
        let definitions = self.definitions.iter().map(|(name, definition)| {
            let json = match definition {
                Definition::Expression(input_names, outputs) => json!({
                    "kind": "expression",
                    "inputs": inputs(input_names),
                    "outputs": inputs(&outputs.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>()),
                    "outputValues": object_json(outputs),
                }),
                Definition::Composite(graph) => json!({
                    "kind": "graph",
                    "inputs": inputs(&["in".to_owned()]),
                    "outputs": inputs(&["out".to_owned()]),
                    "graphData": graph.to_json(),
                }),
            };
            (name.clone(), json)
        });
        Value::Object(definitions.collect())
    }

    pub fn pins_json(&self) -> Map<String, Value> {
        let pin = |pin: &Pin| match &pin.port {
            Some(port) => json!({"$pin": true, "port": port, "value": pin.value}),
            None => pin.value.clone(),
        };
        self.pins.iter().map(|p| (p.node.clone(), pin(p))).collect()
    }

    /// The graph with its settings.
    pub fn graph_json(&self) -> Value {
        let mut graph = self.graph.to_json();
        if self.lenient {
            graph["settings"]["expressions"] = json!("lenient");
        }
        if self.items {
            graph["settings"]["items"] = json!(true);
        }
        graph
    }

    /// All that is needed to repeat the case by hand.
    pub fn to_json(&self) -> Value {
        json!({
            "graph": self.graph_json(),
            "nodeDefinitions": self.definitions_json(),
            "trigger": self.trigger,
            "eventData": self.event,
            "pinnedNodes": self.pins_json(),
        })
    }
}

impl Graph {
    pub fn to_json(&self) -> Value {
        let edges = self.edges.iter().enumerate().map(|(index, edge)| {
            json!({"id": format!("e{index}"), "source": edge.source, "sourceHandle": edge.source_port,
                   "target": edge.target, "targetHandle": edge.target_port})
        });
        json!({"nodes": self.nodes.iter().map(Node::to_json).collect::<Value>(), "edges": edges.collect::<Value>()})
    }

    pub fn node(&self, id: &str) -> Option<&Node> {
        self.nodes.iter().find(|node| node.id == id)
    }
}

impl Node {
    pub fn new(id: &str, kind: Kind) -> Node {
        Node {
            id: id.to_owned(),
            label: None,
            kind,
            disabled: false,
            on_error: OnError::Fail,
            attempts: 1,
            backoff_ms: 0,
            each: false,
            whole: false,
            once: false,
            always: false,
            concurrency: 1,
        }
    }

    /// Whether a composite is a block: executed by itself rather than as if its inner nodes were drawn there.
    pub fn is_whole(&self) -> bool {
        self.each || self.once || self.always || self.attempts > 1 || self.on_error != OnError::Fail
    }

    fn to_json(&self) -> Value {
        let (node_type, parameters) = self.kind.to_json();
        let mut data = json!({"parameters": parameters});
        if let Some(label) = &self.label {
            data["label"] = json!(label);
        }
        if self.disabled {
            data["disabled"] = json!(true);
        }
        match self.on_error {
            OnError::Fail => {}
            OnError::Continue => data["onError"] = json!("continue"),
            OnError::Branch => data["onError"] = json!("branch"),
        }
        if self.attempts > 1 {
            data["retry"] = json!({"maxAttempts": self.attempts, "backoffMs": self.backoff_ms, "factor": 1});
        }
        if self.each || self.whole {
            data["each"] = json!(self.each);
        }
        if self.once {
            data["once"] = json!(true);
        }
        if self.always {
            data["always"] = json!(true);
        }
        if self.concurrency > 1 {
            data["concurrency"] = json!(self.concurrency);
        }
        json!({"id": self.id, "type": node_type, "position": {"x": 0, "y": 0}, "data": data})
    }

    /// Names of the output ports, first to last.
    pub fn outputs(&self, definitions: &[(String, Definition)]) -> Vec<String> {
        let names: Vec<&str> = match &self.kind {
            Kind::If(_) => vec!["true", "false"],
            Kind::SwitchEquals { cases, .. } | Kind::SwitchWhen { cases, .. } => cases
                .iter()
                .map(|(name, _)| name.as_str())
                .chain(["default"])
                .collect(),
            Kind::ForEach { .. } | Kind::Loop { .. } => vec!["item", "done"],
            Kind::Throw { .. } | Kind::Return(_) => vec![],
            Kind::Filter { .. } => vec!["out", "rejected"],
            Kind::Defined(name) => match definition(definitions, name) {
                Definition::Expression(_, outputs) => outputs.iter().map(|(name, _)| name.as_str()).collect(),
                Definition::Composite(_) => vec!["out"],
            },
            _ => vec!["out"],
        };
        let mut names: Vec<_> = names.into_iter().map(str::to_owned).collect();
        if self.on_error == OnError::Branch {
            names.push("error".to_owned());
        }
        names
    }

    /// Names of the input ports, first to last.
    pub fn inputs(&self, definitions: &[(String, Definition)]) -> Vec<String> {
        match &self.kind {
            Kind::Trigger(_) => vec![],
            Kind::ForEach { .. } | Kind::Loop { .. } => vec!["in".to_owned(), "next".to_owned()],
            Kind::Defined(name) => match definition(definitions, name) {
                Definition::Expression(inputs, _) => inputs.clone(),
                Definition::Composite(_) => vec!["in".to_owned()],
            },
            _ => vec!["in".to_owned()],
        }
    }

    pub fn is_loop(&self) -> bool {
        matches!(self.kind, Kind::ForEach { .. } | Kind::Loop { .. })
    }
}

/// The definition of this name; a case has those that its nodes name.
pub fn definition<'a>(definitions: &'a [(String, Definition)], name: &str) -> &'a Definition {
    &definitions.iter().find(|(defined, _)| defined == name).unwrap().1
}

impl Kind {
    /// Whether what leaves it is its input as it came.
    pub fn passes_through(&self) -> bool {
        matches!(
            self,
            Kind::NoOp | Kind::If(_) | Kind::SwitchEquals { .. } | Kind::SwitchWhen { .. } | Kind::Log { .. }
        )
    }

    /// Every parameter that may hold expressions.
    pub fn parameters_mut(&mut self) -> Vec<&mut Parameter> {
        match self {
            Kind::SetFields { fields, .. } => fields.iter_mut().map(|(_, value)| value).collect(),
            Kind::Transform(value) | Kind::If(value) => vec![value],
            Kind::SwitchEquals { value, cases, .. } => [value]
                .into_iter()
                .chain(cases.iter_mut().map(|(_, case)| case))
                .collect(),
            Kind::SwitchWhen { cases, .. } => cases.iter_mut().map(|(_, case)| case).collect(),
            Kind::ForEach { items, .. } => items.iter_mut().collect(),
            Kind::Loop { condition, .. } => vec![condition],
            Kind::Throw { message, .. } | Kind::Log { message, .. } => vec![message],
            Kind::Return(value) => value.iter_mut().collect(),
            Kind::Filter { condition, items } => [condition].into_iter().chain(items).collect(),
            Kind::Limit { count, .. } => vec![count],
            Kind::Trigger(_) | Kind::NoOp | Kind::Merge(_) | Kind::Flatten { .. } | Kind::Defined(_) => {
                vec![]
            }
        }
    }

    fn to_json(&self) -> (&str, Value) {
        let optional = |name: &str, value: &Option<Parameter>| match value {
            Some(value) => json!({ name: value.to_json() }),
            None => json!({}),
        };
        match self {
            Kind::Trigger(name) => (name, json!({})),
            Kind::NoOp => ("NoOp", json!({})),
            Kind::SetFields { fields, keep_input } => (
                "SetFields",
                json!({"fields": object_json(fields), "keepInput": keep_input}),
            ),
            Kind::Transform(value) => ("Transform", json!({"value": value.to_json()})),
            Kind::If(condition) => ("If", json!({"condition": condition.to_json()})),
            Kind::SwitchEquals { value, cases, all } => {
                let cases = cases
                    .iter()
                    .map(|(name, equals)| json!({"name": name, "equals": equals.to_json()}));
                (
                    "Switch",
                    json!({"value": value.to_json(), "cases": cases.collect::<Value>(), "all": all}),
                )
            }
            Kind::SwitchWhen { cases, all } => {
                let cases = cases
                    .iter()
                    .map(|(name, when)| json!({"name": name, "when": when.to_json()}));
                ("Switch", json!({"cases": cases.collect::<Value>(), "all": all}))
            }
            Kind::Merge(mode) => ("Merge", mode.to_json()),
            Kind::ForEach {
                items,
                concurrency,
                batch_size,
            } => {
                let mut parameters = optional("items", items);
                parameters["concurrency"] = json!(concurrency);
                if *batch_size > 0 {
                    parameters["batchSize"] = json!(batch_size);
                }
                ("ForEach", parameters)
            }
            Kind::Loop {
                condition,
                iterations_max,
            } => (
                "Loop",
                json!({"condition": condition.to_json(), "maxIterations": iterations_max}),
            ),
            Kind::Throw { message, code } => {
                let mut parameters = json!({"message": message.to_json()});
                if let Some(code) = code {
                    parameters["code"] = json!(code);
                }
                ("Throw", parameters)
            }
            Kind::Return(value) => ("Return", optional("value", value)),
            Kind::Filter { condition, items } => {
                let mut parameters = optional("items", items);
                parameters["condition"] = condition.to_json();
                ("Filter", parameters)
            }
            Kind::Log { level, message } => ("Log", json!({"level": level, "message": message.to_json()})),
            Kind::Limit { count, offset } => ("Limit", json!({"count": count.to_json(), "offset": offset})),
            Kind::Flatten { depth } => ("Flatten", json!({"depth": depth})),
            Kind::Defined(name) => (name, json!({})),
        }
    }
}

impl Merge {
    fn to_json(&self) -> Value {
        match self {
            Merge::First => json!({"mode": "first"}),
            Merge::Append => json!({"mode": "append"}),
            Merge::Combine => json!({"mode": "combine"}),
            Merge::Zip => json!({"mode": "zip"}),
            Merge::Join { key, right_key: None } => json!({"mode": "join", "key": key}),
            Merge::Join {
                key,
                right_key: Some(right),
            } => json!({"mode": "join", "key": key, "rightKey": right}),
        }
    }
}
