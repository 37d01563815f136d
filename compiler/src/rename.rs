//! What else changes when a node gets another label: each place where an expression names it.

use crate::diagnostic::Utf16Units;
use crate::expression::{LabelReference, Piece, ReferenceForm, label_references, split};
use crate::extent;
use crate::findings::Findings;
use crate::options::GraphLimits;
use heddle_catalogue::{Schema, node_type};
use serde_json::Value;
use std::ops::Range;

/// Levels of a parameter's value that are looked through.
const DEPTH_MAX: usize = 128;
/// Places that are told.
const EDITS_MAX: usize = 10_000;
/// Bytes of these: any number of places may be below a name that is as long as the graph.
const EDITS_BYTES_MAX: usize = 8 << 20;

/// Another label for a node.
#[derive(Clone, Copy, Debug)]
pub struct Renaming<'a> {
    /// The definition whose inner graph the node is in; `None`: the pattern's own graph.
    pub definition: Option<&'a str>,
    pub node_id: &'a str,
    /// The label; empty: none, so that the node is named by its id.
    pub label: &'a str,
}

/// Text to replace in a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenameEdit {
    pub node_id: String,
    /// Parameter path such as `cases[0].when`.
    pub parameter: String,
    /// What is replaced, in UTF-16 code units of the parameter's text.
    pub utf16: Range<usize>,
    pub text: String,
}

/// Why a node can't have a label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotRenamed {
    /// There is no such graph or node.
    Missing,
    /// Expressions would mean another node by it, or, without a label, by the node's id.
    Taken {
        /// The node that has it as its label or id.
        node_id: String,
    },
    /// The graph is larger than what is read, or has more places than are told.
    TooLarge(String),
}

/// The places that change with the label, in graph order. None, if several nodes have the label before: then it is not known
/// which of them an expression means.
pub fn rename(
    graph: &Value,
    definitions: &Value,
    renaming: Renaming<'_>,
) -> Result<Vec<RenameEdit>, NotRenamed> {
    let mut found = Findings::default();
    extent::check(graph, definitions, GraphLimits::default(), &mut found);
    if let Some(first) = found.finish().into_iter().next() {
        return Err(NotRenamed::TooLarge(first.message));
    }
    let graph = match renaming.definition {
        Some(name) => definitions
            .get(name)
            .and_then(|definition| definition.get("graphData")),
        None => Some(graph),
    };
    let nodes = graph
        .and_then(|graph| graph.get("nodes"))
        .and_then(Value::as_array);
    let nodes = nodes.ok_or(NotRenamed::Missing)?;
    let id = |node: &Value| node.get("id").and_then(Value::as_str).map(str::to_owned);
    let has_id = |node: &&Value, wanted: &str| node.get("id").and_then(Value::as_str) == Some(wanted);
    let label = |node: &Value| {
        node.pointer("/data/label")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let node = nodes.iter().find(|node| has_id(node, renaming.node_id));
    let before = label(node.ok_or(NotRenamed::Missing)?);
    if before == renaming.label {
        return Ok(Vec::new());
    }
    let others = || nodes.iter().filter(|node| !has_id(node, renaming.node_id));
    // Without a label, expressions mean the node by its id.
    let now = match renaming.label {
        "" => renaming.node_id,
        label => label,
    };
    let taken = others().find(|node| label(node) == now || has_id(node, now));
    if let Some(taken) = taken {
        return Err(NotRenamed::Taken {
            node_id: id(taken).unwrap_or_default(),
        });
    }
    if before.is_empty() || others().any(|node| label(node) == before) {
        return Ok(Vec::new());
    }
    let mut edits = Edits {
        before: &before,
        now,
        found: Vec::new(),
        bytes: 0,
    };
    for node in nodes {
        edits.of_node(node)?;
    }
    Ok(edits.found)
}

struct Edits<'a> {
    before: &'a str,
    now: &'a str,
    found: Vec<RenameEdit>,
    bytes: usize,
}

impl Edits<'_> {
    fn of_node(&mut self, node: &Value) -> Result<(), NotRenamed> {
        let (Some(id), Some(parameters)) = (
            node.get("id").and_then(Value::as_str),
            node.pointer("/data/parameters").and_then(Value::as_object),
        ) else {
            return Ok(());
        };
        let known = node.get("type").and_then(Value::as_str).and_then(node_type);
        for (name, value) in parameters {
            let parameter = known.and_then(|known| known.parameters.iter().find(|it| it.name == name));
            // A module has no expressions in it.
            if parameter.is_some_and(|parameter| matches!(parameter.schema, Schema::Module)) {
                continue;
            }
            self.of_value(id, &mut name.clone(), value, 0)?;
        }
        Ok(())
    }

    fn of_value(
        &mut self,
        node: &str,
        path: &mut String,
        value: &Value,
        depth: usize,
    ) -> Result<(), NotRenamed> {
        if depth > DEPTH_MAX {
            return Ok(());
        }
        match value {
            Value::String(text) => self.of_text(node, path, text),
            Value::Array(items) => items
                .iter()
                .enumerate()
                .try_for_each(|(index, item)| self.within(node, path, &format!("[{index}]"), item, depth)),
            Value::Object(fields) => fields
                .iter()
                .try_for_each(|(name, field)| self.within(node, path, &format!(".{name}"), field, depth)),
            _ => Ok(()),
        }
    }

    /// Looks for the label within a value, one step below its path.
    fn within(
        &mut self,
        node: &str,
        path: &mut String,
        step: &str,
        value: &Value,
        depth: usize,
    ) -> Result<(), NotRenamed> {
        let outer = path.len();
        path.push_str(step);
        let done = self.of_value(node, path, value, depth + 1);
        path.truncate(outer);
        done
    }

    fn of_text(&mut self, node: &str, path: &str, text: &str) -> Result<(), NotRenamed> {
        if !text.contains("{{") {
            return Ok(());
        }
        let mut units = Utf16Units::new(text);
        for piece in split(text).unwrap_or_default() {
            let Piece::Expression(expression) = piece else {
                continue;
            };
            for reference in label_references(text.get(expression.clone()).unwrap_or_default()) {
                if reference.label != self.before {
                    continue;
                }
                if self.found.len() >= EDITS_MAX {
                    let message = format!("the graph names the node in more than {EDITS_MAX} places");
                    return Err(NotRenamed::TooLarge(message));
                }
                let text = written(&reference, self.now);
                self.bytes += node.len() + path.len() + text.len();
                if self.bytes > EDITS_BYTES_MAX {
                    let message = format!(
                        "the places in which the graph names the node have more than {} MiB of names",
                        EDITS_BYTES_MAX >> 20
                    );
                    return Err(NotRenamed::TooLarge(message));
                }
                let start = units.before(expression.start + reference.span.start);
                let end = units.before(expression.start + reference.span.end);
                self.found.push(RenameEdit {
                    node_id: node.to_owned(),
                    parameter: path.to_owned(),
                    utf16: start..end,
                    text,
                });
            }
        }
        Ok(())
    }
}

/// The name as the reference has to say it.
fn written(reference: &LabelReference, name: &str) -> String {
    let optional = match reference.form {
        ReferenceForm::Quoted(quote) => return quoted(name, quote),
        ReferenceForm::OptionalDotted => true,
        ReferenceForm::Dotted => false,
    };
    match (is_identifier(name), optional) {
        (true, true) => format!("?.{name}"),
        (true, false) => format!(".{name}"),
        (false, true) => format!("?.[{}]", quoted(name, '"')),
        (false, false) => format!("[{}]", quoted(name, '"')),
    }
}

fn is_identifier(name: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
    name.chars().all(is_part) && name.chars().next().is_some_and(|first| !first.is_ascii_digit())
}

/// As a literal of JavaScript between these quotes.
fn quoted(name: &str, quote: char) -> String {
    let json = Value::from(name).to_string();
    let inner = json
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'))
        .unwrap_or_default();
    match quote {
        '\'' => format!("'{}'", inner.replace("\\\"", "\"").replace('\'', "\\'")),
        '`' => {
            let plain = inner.replace("\\\"", "\"").replace('`', "\\`");
            format!("`{}`", plain.replace("${", "\\${"))
        }
        _ => json,
    }
}
