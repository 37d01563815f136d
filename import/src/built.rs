//! The pattern as it is being drawn: nodes and edges that can still be changed, and their JSON in the end.

use crate::report::Level;
use heddle_catalogue::{NodeType, Role, node_type};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, HashMap};

/// What a stub is called among the node types; those with several ports have a number.
const STUB: &str = "NotImported";

/// A pattern's graph.
#[derive(Clone, Debug, Default)]
pub(crate) struct Drawn {
    pub nodes: Vec<DrawnNode>,
    pub edges: Vec<DrawnEdge>,
    pub settings: Map<String, Value>,
    /// Texts on the canvas.
    pub notes: Vec<Value>,
    /// Definitions of the pattern's own, by name.
    pub own: BTreeMap<String, Value>,
    /// Where `data` keeps what a stub was.
    pub kept_as: &'static str,
    /// How often an id was made of the same text.
    pub taken: HashMap<String, usize>,
    /// Bytes of texts in which repairs have looked for expressions.
    pub searched: usize,
}

/// What a node is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind {
    /// A standard type.
    Standard(&'static str),
    /// A definition of the pattern's own.
    Own(String),
    /// Fails with this sentence.
    Stub(String),
}

#[derive(Clone, Debug)]
pub(crate) struct DrawnNode {
    pub id: String,
    /// The node that has the name of what this is a part of; often itself.
    pub owner: String,
    pub kind: Kind,
    pub label: String,
    pub parameters: Map<String, Value>,
    /// Whether it executes for each item, where that is said.
    pub each: Option<bool>,
    /// Whether only the first item counts of a list.
    pub once: bool,
    /// Whether one empty item leaves rather than none.
    pub always: bool,
    pub on_error: Option<&'static str>,
    pub retry: Option<(u64, u64)>,
    pub disabled: bool,
    pub notes: String,
    pub position: [f64; 2],
    /// What n8n has there, for stubs.
    pub original: Option<Value>,
    /// The type in n8n; none of what was added.
    pub n8n_type: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DrawnEdge {
    pub source: String,
    pub source_port: Option<String>,
    pub target: String,
    pub target_port: Option<String>,
}

/// What a node of n8n becomes: one or several nodes in a row, of which the last has its name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Translation {
    pub steps: Vec<Step>,
    /// Ports by number of the output in n8n; further ones are the first port.
    pub outputs: Vec<String>,
    /// Ports by number of the input.
    pub inputs: Vec<&'static str>,
    pub remarks: Vec<Remark>,
    /// Credentials' type and name, as far as they become a connection.
    pub connection: Option<(String, String)>,
    /// Why there is no translation, if it is a stub.
    pub stub: Option<String>,
}

/// A node of a translation.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub kind: &'static str,
    pub parameters: Map<String, Value>,
    /// Whether it works on single items.
    pub per_item: bool,
    /// The definition, if it is not a standard type.
    pub own: Option<Value>,
}

/// A remark that has no node yet.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Remark {
    pub level: Level,
    pub code: &'static str,
    pub message: String,
    pub parameter: Option<&'static str>,
}

impl Kind {
    /// What a standard type does in the graph; nothing of others.
    pub fn role(&self) -> Option<Role> {
        match self {
            Kind::Standard(name) => node_type(name).map(|it| it.role),
            Kind::Own(_) | Kind::Stub(_) => None,
        }
    }
}

impl Step {
    /// What the catalogue says of it; nothing of definitions.
    pub fn standard(&self) -> Option<&'static NodeType> {
        node_type(self.kind).filter(|_| self.own.is_none())
    }

    /// What it does in the graph; nothing of definitions.
    pub fn role(&self) -> Option<Role> {
        self.standard().map(|it| it.role)
    }
}

impl Translation {
    /// One node that works on single items.
    pub fn each(kind: &'static str, parameters: Value) -> Translation {
        Translation::default().then(kind, parameters, true)
    }

    /// One node that works on what arrives as a whole.
    pub fn whole(kind: &'static str, parameters: Value) -> Translation {
        Translation::default().then(kind, parameters, false)
    }

    /// A node that fails.
    pub fn stub(why: impl Into<String>) -> Translation {
        Translation {
            stub: Some(why.into()),
            ..Translation::default()
        }
    }

    /// A node of a definition, whose inputs `a` and `b` get a list each.
    pub fn of_two(name: &'static str, value: &str) -> Translation {
        let port = |name: &str| json!({"name": name, "type": "any"});
        let definition = json!({
            "kind": "expression", "inputs": [port("a"), port("b")], "outputs": [port("out")], "outputValues": {"out": value},
        });
        let mut translation = Translation::whole(name, json!({})).inputs(&["a", "b"]);
        for step in &mut translation.steps {
            step.own = Some(definition.clone());
        }
        translation
    }

    /// Another node behind.
    pub fn then(mut self, kind: &'static str, parameters: Value, per_item: bool) -> Translation {
        let parameters = match parameters {
            Value::Object(parameters) => parameters,
            _ => Map::new(),
        };
        self.steps.push(Step {
            kind,
            parameters,
            per_item,
            own: None,
        });
        self
    }

    /// Something differs.
    pub fn differs(mut self, code: &'static str, message: impl Into<String>) -> Translation {
        self.remarks.push(Remark {
            level: Level::Approximate,
            code,
            message: message.into(),
            parameter: None,
        });
        self
    }

    /// Something differs if it is there.
    pub fn differs_if(self, is_there: bool, code: &'static str, message: &str) -> Translation {
        if is_there {
            self.differs(code, message)
        } else {
            self
        }
    }

    /// Several outputs.
    pub fn outputs(mut self, ports: impl IntoIterator<Item = impl Into<String>>) -> Translation {
        self.outputs = ports.into_iter().map(Into::into).collect();
        self
    }

    /// Several inputs.
    pub fn inputs(mut self, ports: &[&'static str]) -> Translation {
        self.inputs = ports.to_vec();
        self
    }
}

impl Drawn {
    /// A node by its id.
    pub fn node_mut(&mut self, id: &str) -> Option<&mut DrawnNode> {
        self.nodes.iter_mut().find(|node| node.id == id)
    }

    /// An id that is free from now on no more, made of a text.
    pub fn take_id(&mut self, text: &str) -> String {
        let slug = slug(text);
        let number = self.taken.entry(slug.clone()).or_insert(0);
        *number += 1;
        // No slug has an underscore.
        if *number == 1 {
            slug
        } else {
            format!("{slug}_{number}")
        }
    }

    /// The name of a definition, under which there may be another one already.
    pub fn define(&mut self, kind: &str, own: &Value) -> String {
        let (mut name, mut number) = (kind.to_owned(), 1);
        while self.own.get(&name).is_some_and(|known| known != own) {
            number += 1;
            name = format!("{kind}{number}");
        }
        self.own.insert(name.clone(), own.clone());
        name
    }

    /// A node of one's own beside another.
    pub fn beside(&mut self, other: &str, kind: Kind, label: String) -> DrawnNode {
        let position = self.nodes.iter().find(|node| node.id == other);
        let [x, y] = position.map_or([0.0, 0.0], |node| node.position);
        let id = self.take_id(&label);
        DrawnNode {
            owner: id.clone(),
            id,
            kind,
            label,
            parameters: Map::new(),
            each: None,
            once: false,
            always: false,
            on_error: None,
            retry: None,
            disabled: false,
            notes: String::new(),
            position: [x - 120.0, y + 80.0],
            original: None,
            n8n_type: None,
        }
    }

    /// Leads an edge to a stub instead, so that nothing passes silently.
    pub fn cut(&mut self, edge: &DrawnEdge, why: String) -> String {
        let stub = self.beside(&edge.target, Kind::Stub(why), format!("To {}", edge.target));
        let id = stub.id.clone();
        self.nodes.push(stub);
        for known in &mut self.edges {
            if known == edge {
                known.target.clone_from(&id);
                known.target_port = None;
            }
        }
        id
    }

    /// The graph, its definitions beside it.
    pub fn json(&self) -> (Value, Value) {
        let mut definitions = Definitions::default();
        let mut ends: HashMap<&str, Ends<'_>> = HashMap::new();
        for edge in &self.edges {
            ends.entry(edge.source.as_str()).or_default().leaving.push(edge);
            ends.entry(edge.target.as_str()).or_default().is_entered = true;
        }
        let alone = Ends::default();
        let ends_of = |node: &DrawnNode| ends.get(node.id.as_str()).unwrap_or(&alone);
        let nodes: Vec<Value> = self
            .nodes
            .iter()
            .map(|node| node.json(&mut definitions, ends_of(node), self.kept_as))
            .collect();
        let edges: Vec<Value> = (0..)
            .zip(&self.edges)
            .map(|(number, edge)| edge.json(number))
            .collect();
        let mut graph = json!({"nodes": nodes, "edges": edges});
        if !self.settings.is_empty() {
            graph["settings"] = Value::Object(self.settings.clone());
        }
        if !self.notes.is_empty() {
            graph["notes"] = json!(self.notes);
        }
        let mut definitions = definitions.json();
        for (name, own) in &self.own {
            definitions[name.as_str()] = own.clone();
        }
        (graph, definitions)
    }
}

/// Letters, digits and `-` of a text.
fn slug(text: &str) -> String {
    const CHARS_MAX: usize = 40;
    let mut slug = String::new();
    for c in text.chars() {
        match c {
            _ if slug.len() >= CHARS_MAX => break,
            c if c.is_ascii_alphanumeric() => slug.push(c.to_ascii_lowercase()),
            _ if !slug.is_empty() && !slug.ends_with('-') => slug.push('-'),
            _ => {}
        }
    }
    let slug = slug.trim_matches('-');
    if slug.is_empty() {
        "node".to_owned()
    } else {
        slug.to_owned()
    }
}

impl DrawnEdge {
    fn json(&self, number: usize) -> Value {
        let mut edge = json!({"id": format!("e{number}"), "source": self.source, "target": self.target});
        if let Some(port) = &self.source_port {
            edge["sourceHandle"] = port.as_str().into();
        }
        if let Some(port) = &self.target_port {
            edge["targetHandle"] = port.as_str().into();
        }
        edge
    }
}

impl DrawnNode {
    /// Whether it fails with NOT_IMPORTED.
    pub fn is_stub(&self) -> bool {
        matches!(self.kind, Kind::Stub(_))
    }

    fn json(&self, definitions: &mut Definitions, ends: &Ends<'_>, kept_as: &str) -> Value {
        let mut data = Map::new();
        data.insert("label".to_owned(), self.label.as_str().into());
        let node_type = match &self.kind {
            Kind::Standard(kind) => {
                data.insert("parameters".to_owned(), Value::Object(self.parameters.clone()));
                (*kind).to_owned()
            }
            Kind::Own(name) => {
                data.insert("parameters".to_owned(), Value::Object(self.parameters.clone()));
                name.clone()
            }
            Kind::Stub(why) => {
                // What stands in the message is text, whatever braces it has. Of three, the first pass leaves two.
                let message = why.replace("{{", "{ {").replace("{{", "{ {");
                data.insert("parameters".to_owned(), json!({"message": message}));
                definitions.of(ends.is_entered, ends.ports())
            }
        };
        if let Some(each) = self.each.filter(|_| !self.is_stub()) {
            data.insert("each".to_owned(), each.into());
        }
        if self.once && !self.is_stub() {
            data.insert("once".to_owned(), true.into());
        }
        if self.always && !self.is_stub() {
            data.insert("always".to_owned(), true.into());
        }
        // A stub that passes its failure on as a value would pass silently.
        let mut leaving = ends.leaving.iter();
        let fails_by_port = leaving.any(|edge| edge.source_port.as_deref() == Some("error"));
        let on_error = match self.is_stub() {
            true => fails_by_port.then_some("branch"),
            false => self.on_error,
        };
        if let Some(on_error) = on_error {
            data.insert("onError".to_owned(), on_error.into());
        }
        if let Some((attempts, wait)) = self.retry.filter(|_| !self.is_stub()) {
            let retry = json!({"maxAttempts": attempts, "backoffMs": wait, "factor": 1});
            data.insert("retry".to_owned(), retry);
        }
        if self.disabled {
            data.insert("disabled".to_owned(), true.into());
        }
        if !self.notes.is_empty() {
            data.insert("notes".to_owned(), self.notes.as_str().into());
        }
        if let Some(original) = &self.original {
            data.insert(kept_as.to_owned(), original.clone());
        }
        let [x, y] = self.position;
        json!({"id": self.id, "type": node_type, "position": {"x": x, "y": y}, "data": data})
    }
}

/// The edges of a node, so that no node searches them all.
#[derive(Default)]
struct Ends<'e> {
    is_entered: bool,
    leaving: Vec<&'e DrawnEdge>,
}

impl Ends<'_> {
    /// The ports at which they begin, but for that of errors.
    fn ports(&self) -> Vec<String> {
        let leaving = self.leaving.iter();
        let mut ports: Vec<String> = leaving
            .map(|edge| edge.source_port.clone().unwrap_or_else(|| "out".to_owned()))
            .filter(|port| port != "error")
            .collect();
        ports.sort();
        ports.dedup();
        ports
    }
}

/// Node types of stubs, by whether something enters them and by their ports: an input that is there needs an edge.
#[derive(Default)]
struct Definitions(BTreeMap<(bool, Vec<String>), String>);

impl Definitions {
    fn of(&mut self, is_entered: bool, mut ports: Vec<String>) -> String {
        if ports.is_empty() {
            ports.push("out".to_owned());
        }
        let number = self.0.len() + 1;
        let name = || {
            if number == 1 {
                STUB.to_owned()
            } else {
                format!("{STUB}{number}")
            }
        };
        self.0.entry((is_entered, ports)).or_insert_with(name).clone()
    }

    fn json(self) -> Value {
        // Without a stack the message has no line of this code, which says nothing to anybody.
        const CODE: &str = "export default ({ params }) => {\n  \
            throw Object.assign(new Error(params.message), { code: \"NOT_IMPORTED\", stack: \"\" });\n};\n";
        let definition = |is_entered: bool, ports: &[String]| {
            let inputs = if is_entered {
                json!([{"name": "in", "type": "any"}])
            } else {
                json!([])
            };
            let outputs: Vec<Value> = ports
                .iter()
                .map(|port| json!({"name": port, "type": "any"}))
                .collect();
            json!({"kind": "javascript", "inputs": inputs, "outputs": outputs, "code": CODE})
        };
        let all = self
            .0
            .iter()
            .map(|((is_entered, ports), name)| (name.clone(), definition(*is_entered, ports)));
        Value::Object(all.collect())
    }
}
