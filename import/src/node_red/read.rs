//! Reads Node-RED's form: a list of nodes in tabs. Subflows take the place of their instances, and tabs that links join are
//! one flow. What is not as expected is left out and said.

use super::calls;
use crate::read::{Refused, values_at_most};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Nodes of all flows of a file, those of subflows counted each time they are used.
const NODES_MAX: usize = 3_000;
const WIRES_MAX: usize = 15_000;
/// Bytes of all nodes, those of subflows counted each time as well.
const BYTES_MAX: usize = 48 << 20;
/// Subflows within each other.
const DEPTH_MAX: usize = 8;
const TABS_MAX: usize = 500;
const NAME_CHARS_MAX: usize = 100;
/// Bytes of an id and of a kind, of which paths in subflows are made.
const ID_BYTES_MAX: usize = 200;
/// What the names of fields have in them whose values are nobody else's to read.
const SECRETS: &[&str] = &[
    "credential",
    "password",
    "passwd",
    "secret",
    "token",
    "apikey",
    "api_key",
    "api-key",
    "privatekey",
    "private_key",
    "authorization",
];

/// One tab, or several that links join.
#[derive(Clone, Debug, Default)]
pub struct Flow {
    /// The first tab's.
    pub name: String,
    pub(crate) nodes: Vec<Node>,
    pub(crate) wires: Vec<Wire>,
}

/// What a flow does at one place.
#[derive(Clone, Debug, Default)]
pub(crate) struct Node {
    /// Its id, behind those of the subflow's instances that it is in.
    pub path: String,
    pub kind: String,
    pub name: String,
    pub fields: Map<String, Value>,
    pub position: [f64; 2],
    /// It is switched off: messages end there.
    pub disabled: bool,
    /// The tab or the instance that it is in.
    pub within: String,
}

/// From an output to a node, by their places in the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wire {
    pub source: usize,
    pub output: usize,
    pub target: usize,
}

/// Kinds of what becomes of a subflow's instance: its input, and each of its outputs.
pub(crate) const SUBFLOW_IN: &str = "subflow in";
pub(crate) const SUBFLOW_OUT: &str = "subflow out";
/// The kind of a link's end, and of calls that lead to what they call.
pub(crate) const LINK_IN: &str = "link in";

impl Node {
    /// A field that is text; empty if it is something else.
    pub fn text(&self, name: &str) -> &str {
        self.fields.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    /// A field that is a list.
    pub fn list(&self, name: &str) -> &[Value] {
        let list = self.fields.get(name).and_then(Value::as_array);
        list.map_or(&[][..], Vec::as_slice)
    }

    /// A field that is a number, or text that is one.
    pub fn number(&self, name: &str) -> Option<f64> {
        match self.fields.get(name)? {
            Value::String(text) => text.trim().parse().ok(),
            other => other.as_f64(),
        }
    }

    /// A switch, which older versions have as text.
    pub fn flag(&self, name: &str) -> bool {
        match self.fields.get(name) {
            Some(Value::Bool(flag)) => *flag,
            Some(Value::String(text)) => text == "true",
            _ => false,
        }
    }
}

/// A node as the file has it.
struct Raw<'f> {
    id: &'f str,
    kind: &'f str,
    within: &'f str,
    fields: &'f Map<String, Value>,
    size: Size,
}

/// How large it is with what takes its place in flows.
#[derive(Clone, Copy, Debug, Default)]
pub struct Size {
    /// The length of the JSON.
    pub bytes: usize,
    /// As [`values_at_most`] counts them.
    pub values: usize,
}

impl Size {
    fn of(json: &str) -> Size {
        Size {
            bytes: json.len(),
            values: values_at_most(json),
        }
    }
}

/// The flows in a JSON value; none if there are none.
pub fn find(value: &Value, default_name: &str) -> Result<Vec<Flow>, Refused> {
    let all = Size {
        bytes: BYTES_MAX,
        values: usize::MAX,
    };
    find_within(value, default_name, all)
}

/// The flows in a JSON value, if they are no larger than that once subflows take the place of their instances.
pub fn find_within(value: &Value, default_name: &str, max: Size) -> Result<Vec<Flow>, Refused> {
    let listed = value.get("flows").unwrap_or(value).as_array();
    let raw: Vec<Raw<'_>> = listed.into_iter().flatten().filter_map(raw).collect();
    if !raw
        .iter()
        .any(|raw| raw.kind == "tab" || raw.fields.contains_key("wires"))
    {
        return Ok(Vec::new());
    }
    let mut reading = Reading {
        by_place: BTreeMap::new(),
        subflows: raw
            .iter()
            .filter(|raw| raw.kind == "subflow")
            .map(|raw| (raw.id, raw))
            .collect(),
        nodes: Vec::new(),
        tabs: Vec::new(),
        places: HashMap::new(),
        placed: HashSet::new(),
        wires: Vec::new(),
        size: Size::default(),
        max: Size {
            bytes: max.bytes.min(BYTES_MAX),
            ..max
        },
    };
    for raw in raw.iter().filter(|raw| is_drawn(raw)) {
        reading.by_place.entry(raw.within).or_default().push(raw);
    }
    let tabs: Vec<&Raw<'_>> = raw.iter().filter(|raw| raw.kind == "tab").collect();
    let mut tops: Vec<&str> = tabs.iter().map(|tab| tab.id).collect();
    // What is copied in the editor has no tabs.
    let known: HashSet<&str> = tops.iter().copied().collect();
    let is_other = |place: &&str| !known.contains(place) && !reading.subflows.contains_key(place);
    tops.extend(reading.by_place.keys().copied().filter(is_other));
    if tops.len() > TABS_MAX {
        return Err(Refused(format!("there are more than {TABS_MAX} tabs")));
    }
    for (number, top) in tops.iter().copied().enumerate() {
        reading.place(top, number)?;
    }
    reading.links()?;
    reading.calls()?;
    let names: Vec<String> = tops
        .iter()
        .map(|top| {
            let tab = tabs.iter().find(|tab| tab.id == *top);
            let label = tab
                .and_then(|tab| tab.fields.get("label"))
                .and_then(Value::as_str);
            let label = printable(label.unwrap_or_default());
            if label.is_empty() {
                default_name.to_owned()
            } else {
                label
            }
        })
        .collect();
    Ok(reading.flows(&names))
}

fn raw(value: &Value) -> Option<Raw<'_>> {
    let fields = value.as_object()?;
    let text = |name: &str| {
        let text = fields.get(name).and_then(Value::as_str);
        text.filter(|text| text.len() <= ID_BYTES_MAX)
    };
    Some(Raw {
        id: text("id")?,
        kind: text("type")?,
        within: text("z").unwrap_or_default(),
        fields,
        size: Size::of(&value.to_string()),
    })
}

/// Whether it is on the canvas: configurations of nodes are not.
fn is_drawn(raw: &Raw<'_>) -> bool {
    !matches!(raw.kind, "tab" | "subflow" | "group")
        && (raw.fields.contains_key("wires") || raw.kind == "comment")
}

/// Whether a name says that its value is a secret.
fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name == "pass" || SECRETS.iter().any(|part| name.contains(part))
}

/// The fields but for secrets, which have no place in a pattern that others may read. Headers are pairs of their own.
fn without_secrets(fields: &Map<String, Value>) -> Map<String, Value> {
    let mut clean = Value::Object(fields.clone());
    let mut open = vec![&mut clean];
    while let Some(value) = open.pop() {
        match value {
            Value::Object(object) => {
                let names = ["keyType", "keyValue"].map(|name| object.get(name).and_then(Value::as_str));
                let is_header = names.into_iter().flatten().any(is_secret);
                object.retain(|name, value| {
                    let is_told = value.is_string() || value.is_object();
                    let is_hidden = is_secret(name) || (is_header && name == "valueValue");
                    !(is_told && is_hidden)
                });
                open.extend(object.values_mut());
            }
            Value::Array(items) => open.extend(items.iter_mut()),
            _ => {}
        }
    }
    match clean {
        Value::Object(clean) => clean,
        _ => Map::new(),
    }
}

/// Without control characters, and not too long.
fn printable(text: &str) -> String {
    let text: String = text
        .chars()
        .filter(|c| !c.is_control())
        .take(NAME_CHARS_MAX)
        .collect();
    text.trim().to_owned()
}

/// A file on its way to flows.
struct Reading<'f> {
    by_place: BTreeMap<&'f str, Vec<&'f Raw<'f>>>,
    subflows: HashMap<&'f str, &'f Raw<'f>>,
    nodes: Vec<Node>,
    /// For each node, the number of its tab.
    tabs: Vec<usize>,
    places: HashMap<String, usize>,
    /// Numbers of the instances in whose place subflows have come, which are counted as large as these. Those that are nested too
    /// deeply have nothing inside, and stay what they are.
    placed: HashSet<usize>,
    wires: Vec<Wire>,
    size: Size,
    max: Size,
}

impl<'f> Reading<'f> {
    /// Places the nodes of a tab, and in it those of subflows.
    fn place(&mut self, top: &'f str, tab: usize) -> Result<(), Refused> {
        // What is still to be placed: where it is in the file, what its keys and names begin with, and how deep it is.
        let mut open = vec![(top, String::new(), String::new(), 0)];
        while let Some((within, prefix, title, depth)) = open.pop() {
            let all: Vec<&Raw<'f>> = self.by_place.get(within).cloned().unwrap_or_default();
            for raw in &all {
                let number = self.nodes.len();
                let node = self.add(raw, &prefix, &title, tab)?;
                let Some(subflow) = self.subflow(raw).filter(|_| depth < DEPTH_MAX) else {
                    continue;
                };
                self.placed.insert(number);
                self.instance(subflow, &node, tab)?;
                open.push((
                    subflow.id,
                    format!("{}/", node.path),
                    format!("{} / ", node.name),
                    depth + 1,
                ));
            }
            for raw in &all {
                self.wire(raw, &prefix)?;
            }
        }
        self.inside(tab)
    }

    fn subflow(&self, raw: &Raw<'_>) -> Option<&'f Raw<'f>> {
        let id = raw.kind.strip_prefix("subflow:")?;
        self.subflows.get(id).copied()
    }

    /// Counts what takes its place once more.
    fn charge(&mut self, size: Size) -> Result<(), Refused> {
        self.size.bytes += size.bytes;
        self.size.values += size.values;
        match self.size.bytes > self.max.bytes || self.size.values > self.max.values {
            true => {
                let message = "the flows are too large once subflows take the place of their instances";
                Err(Refused(message.to_owned()))
            }
            false => Ok(()),
        }
    }

    fn add(&mut self, raw: &Raw<'_>, prefix: &str, title: &str, tab: usize) -> Result<Node, Refused> {
        self.charge(raw.size)?;
        let given = raw.fields.get("name").and_then(Value::as_str).unwrap_or_default();
        let name = match printable(given) {
            name if name.is_empty() => {
                printable(raw.kind.strip_prefix("subflow:").map_or(raw.kind, |_| "subflow"))
            }
            name => name,
        };
        let place = |name: &str| raw.fields.get(name).and_then(Value::as_f64).unwrap_or_default();
        let node = Node {
            path: format!("{prefix}{}", raw.id),
            kind: raw.kind.to_owned(),
            name: printable(&format!("{title}{name}")),
            fields: without_secrets(raw.fields),
            position: [place("x"), place("y")],
            disabled: raw.fields.get("d") == Some(&Value::Bool(true)),
            within: prefix.to_owned(),
        };
        self.push(node.clone(), tab)?;
        Ok(node)
    }

    fn push(&mut self, node: Node, tab: usize) -> Result<(), Refused> {
        if self.nodes.len() >= NODES_MAX {
            return Err(Refused(format!(
                "there are more than {NODES_MAX} nodes, with those of subflows"
            )));
        }
        self.places.insert(node.path.clone(), self.nodes.len());
        self.nodes.push(node);
        self.tabs.push(tab);
        Ok(())
    }

    /// The outputs of a subflow's instance, as nodes.
    fn instance(&mut self, subflow: &Raw<'_>, node: &Node, tab: usize) -> Result<(), Refused> {
        self.charge(subflow.size)?;
        let outputs = subflow
            .fields
            .get("out")
            .and_then(Value::as_array)
            .map_or(0, Vec::len);
        for output in 0..outputs.min(100) {
            let out = Node {
                path: format!("{}>{output}", node.path),
                kind: SUBFLOW_OUT.to_owned(),
                name: format!("{} output {}", node.name, output + 1),
                position: [node.position[0] + 160.0, node.position[1] + 60.0 * output as f64],
                within: node.within.clone(),
                ..Node::default()
            };
            self.push(out, tab)?;
        }
        Ok(())
    }

    /// The wires that a node has in the file.
    fn wire(&mut self, raw: &Raw<'_>, prefix: &str) -> Result<(), Refused> {
        let is_subflow = self.subflow(raw).is_some();
        let outputs = raw.fields.get("wires").and_then(Value::as_array);
        for (output, targets) in outputs.into_iter().flatten().enumerate() {
            for target in targets.as_array().into_iter().flatten().filter_map(Value::as_str) {
                let from = format!("{prefix}{}", raw.id);
                let (from, output) = match is_subflow {
                    true => (format!("{from}>{output}"), 0),
                    false => (from, output),
                };
                self.connect(&from, output, &format!("{prefix}{target}"))?;
            }
        }
        Ok(())
    }

    fn connect(&mut self, from: &str, output: usize, to: &str) -> Result<(), Refused> {
        let (Some(source), Some(target)) = (self.places.get(from), self.places.get(to)) else {
            return Ok(());
        };
        if self.wires.len() >= WIRES_MAX {
            return Err(Refused(format!("there are more than {WIRES_MAX} wires")));
        }
        self.wires.push(Wire {
            source: *source,
            output,
            target: *target,
        });
        Ok(())
    }

    /// The wires between the instances of subflows and what is in them.
    fn inside(&mut self, tab: usize) -> Result<(), Refused> {
        let all = self.nodes.iter_mut().zip(&self.tabs).enumerate();
        let mut instances = Vec::new();
        for (number, (node, own)) in all {
            if *own != tab || !node.kind.starts_with("subflow:") {
                continue;
            }
            let id = node.kind.trim_start_matches("subflow:");
            let Some(subflow) = self.subflows.get(id).copied() else {
                continue;
            };
            if self.placed.contains(&number) {
                node.kind = SUBFLOW_IN.to_owned();
                instances.push((node.path.clone(), subflow));
            }
        }
        for (key, subflow) in instances {
            let ends = |side: &str| subflow.fields.get(side).and_then(Value::as_array);
            for target in ends("in").into_iter().flatten().flat_map(ids) {
                self.connect(&key, 0, &format!("{key}/{}", target.0))?;
            }
            for (output, end) in ends("out").into_iter().flatten().enumerate() {
                for (source, port) in ids(end) {
                    let out = format!("{key}>{output}");
                    let inner = format!("{key}/{source}");
                    let nested = format!("{inner}>{port}");
                    if source == subflow.id {
                        self.connect(&key, 0, &out)?;
                    } else if self.places.contains_key(&nested) {
                        self.connect(&nested, 0, &out)?;
                    } else {
                        self.connect(&inner, port, &out)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// A wire for each link.
    fn links(&mut self) -> Result<(), Refused> {
        let mut found = Vec::new();
        for (source, node) in self
            .nodes
            .iter()
            .enumerate()
            .filter(|(_, node)| node.kind == "link out")
        {
            if node.text("mode") == "return" {
                continue;
            }
            for id in node.list("links").iter().filter_map(Value::as_str) {
                // Links leave no subflow.
                if let Some(target) = self.places.get(&format!("{}{id}", node.within)) {
                    found.push(Wire {
                        source,
                        output: 0,
                        target: *target,
                    });
                }
            }
        }
        self.wires.extend(found);
        match self.wires.len() > WIRES_MAX {
            true => Err(Refused(format!(
                "there are more than {WIRES_MAX} wires and links"
            ))),
            false => Ok(()),
        }
    }

    /// What links call takes the places of the calls.
    fn calls(&mut self) -> Result<(), Refused> {
        let found = self.nodes.iter().enumerate().filter_map(|(caller, node)| {
            if node.kind != "link call" || node.text("linkType") == "dynamic" {
                return None;
            }
            let id = node.list("links").first()?.as_str()?;
            let target = *self.places.get(&format!("{}{id}", node.within))?;
            (self.nodes.get(target)?.kind == LINK_IN).then_some((caller, target))
        });
        let found: Vec<(usize, usize)> = found.collect();
        if found.is_empty() {
            return Ok(());
        }
        let is_end = |node: &Node| node.kind == "link out" && node.text("mode") == "return";
        let ends: Vec<bool> = self.nodes.iter().map(is_end).collect();
        let wires = self
            .wires
            .iter()
            .map(|wire| (wire.source, wire.output, wire.target));
        let resolved = calls::resolve(wires.collect(), &found, &ends, (NODES_MAX, WIRES_MAX));
        let resolved = resolved.ok_or_else(|| {
            let message = "there are too many nodes, wires or different links once each call of a link is replaced by what it calls";
            Refused(message.to_owned())
        })?;
        for copied in resolved.copies {
            let (Some(node), Some(tab)) = (self.nodes.get(copied).cloned(), self.tabs.get(copied).copied())
            else {
                continue;
            };
            self.charge(Size::of(&Value::Object(node.fields.clone()).to_string()))?;
            self.nodes.push(node);
            self.tabs.push(tab);
        }
        let wire = |(source, output, target)| Wire {
            source,
            output,
            target,
        };
        self.wires = resolved.wires.into_iter().map(wire).collect();
        for joined in resolved.joined {
            if let Some(node) = self.nodes.get_mut(joined) {
                node.kind = LINK_IN.to_owned();
            }
        }
        Ok(())
    }

    /// The flows: tabs between which no wire leads.
    fn flows(self, names: &[String]) -> Vec<Flow> {
        let mut group: Vec<usize> = (0..names.len()).collect();
        for wire in &self.wires {
            let of = |node: usize| self.tabs.get(node).and_then(|tab| group.get(*tab)).copied();
            if let (Some(one), Some(other)) = (of(wire.source), of(wire.target))
                && one != other
            {
                let (first, second) = (one.min(other), one.max(other));
                for known in group.iter_mut().filter(|known| **known == second) {
                    *known = first;
                }
            }
        }
        let mut flows: BTreeMap<usize, Flow> = BTreeMap::new();
        let mut places = Vec::with_capacity(self.nodes.len());
        for (node, tab) in self.nodes.into_iter().zip(&self.tabs) {
            let own = group.get(*tab).copied().unwrap_or(*tab);
            let flow = flows.entry(own).or_default();
            if flow.name.is_empty() {
                flow.name = names.get(own).cloned().unwrap_or_default();
            }
            places.push((own, flow.nodes.len()));
            flow.nodes.push(node);
        }
        for wire in &self.wires {
            if let (Some((own, source)), Some((_, target))) =
                (places.get(wire.source), places.get(wire.target))
                && let Some(flow) = flows.get_mut(own)
            {
                flow.wires.push(Wire {
                    source: *source,
                    output: wire.output,
                    target: *target,
                });
            }
        }
        flows.into_values().collect()
    }
}

/// The ends of a subflow's input or output: `{wires: [{id, port}]}`.
fn ids(end: &Value) -> impl Iterator<Item = (&str, usize)> {
    let wires = end.get("wires").and_then(Value::as_array);
    wires.into_iter().flatten().filter_map(|wire| {
        let port = wire.get("port").and_then(Value::as_u64).unwrap_or(0);
        Some((wire.get("id")?.as_str()?, usize::try_from(port).ok()?))
    })
}
