//! Expressions that fail in n8n as well: what reads a node that is not there becomes undefined before anything is translated,
//! and what is no JavaScript is known by the compiler's saying so of an expression that n8n has. The report says what to mend.

use crate::scan::{Stretch, stretches};
use crate::workflow::Workflow;
use heddle_compiler::expression::{Piece, split};
use serde_json::Value;
use std::collections::HashSet;
use std::ops::Range;

/// So many of them are looked for in a workflow.
const BROKEN_MAX: usize = 500;
/// Characters of a parameter's name in the report.
const PARAMETER_CHARS_MAX: usize = 200;

/// An expression that n8n can't evaluate either.
pub(crate) struct Broken {
    /// The node's place in the workflow.
    pub place: usize,
    /// Where it stands, as n8n names it.
    pub parameter: String,
    pub original: String,
    /// The node that it reads, which is not there.
    pub missing: String,
    /// Whether it may be there in n8n, since only a part of the workflow is here.
    pub is_outside: bool,
}

/// The workflow with `undefined` in their places, and what they are; none if it has none.
pub(crate) fn undefined(workflow: &Workflow) -> Option<(Workflow, Vec<Broken>)> {
    let names = names(workflow);
    let is_fragment = workflow.is_fragment;
    let mut changed = None;
    let mut broken = Vec::new();
    let nodes = workflow.nodes.iter().enumerate();
    for (place, node) in nodes.filter(|(_, node)| !node.is_note()) {
        for (name, value) in &node.parameters {
            let texts = texts(value);
            for &(text, way) in &texts.found {
                // One text may have any number of them, of which each is told with more than there is of it.
                let left = BROKEN_MAX.saturating_sub(broken.len());
                let found = in_text(text, names.as_ref(), is_fragment, left);
                if found.is_empty() {
                    continue;
                }
                let pointer = texts.pointer(way);
                let changed = changed.get_or_insert_with(|| workflow.clone());
                let node = changed.nodes.get_mut(place);
                let parameter = node.and_then(|node| node.parameters.get_mut(name));
                if let Some(value) = parameter.and_then(|value| value.pointer_mut(&pointer)) {
                    *value = without(text, &found).into();
                }
                let parameter = format!("{name}{}", pointer.replace('/', "."));
                let parameter: String = parameter.chars().take(PARAMETER_CHARS_MAX).collect();
                broken.extend(found.into_iter().map(|found| Broken {
                    place,
                    parameter: parameter.clone(),
                    original: found.original,
                    missing: found.missing,
                    is_outside: is_fragment,
                }));
            }
        }
    }
    changed.map(|changed| (changed, broken))
}

/// A step from a value into it.
#[derive(Clone, Copy)]
enum Step<'v> {
    Item(usize),
    Field(&'v str),
}

/// The texts in a value that may have expressions.
struct Texts<'v> {
    /// With their places in `ways`.
    found: Vec<(&'v str, usize)>,
    /// The way to each value: that of the value it is in, and the step from there. Pointers of all of them could be far longer
    /// than what they point into.
    ways: Vec<(usize, Step<'v>)>,
}

fn texts(value: &Value) -> Texts<'_> {
    // The first one is the value's own, to which no step leads.
    let (mut found, mut ways) = (Vec::new(), vec![(0, Step::Item(0))]);
    let mut open = vec![(value, 0)];
    while let Some((value, way)) = open.pop() {
        let mut enter = |inner, step| {
            open.push((inner, ways.len()));
            ways.push((way, step));
        };
        match value {
            Value::String(text) if text.starts_with('=') => found.push((text.as_str(), way)),
            Value::Array(items) => {
                let items = items.iter().enumerate();
                items.for_each(|(at, item)| enter(item, Step::Item(at)));
            }
            Value::Object(fields) => {
                let fields = fields.iter();
                fields.for_each(|(name, field)| enter(field, Step::Field(name.as_str())));
            }
            _ => {}
        }
    }
    Texts { found, ways }
}

impl Texts<'_> {
    /// The JSON pointer of what a way leads to.
    fn pointer(&self, way: usize) -> String {
        let mut steps = Vec::new();
        let mut at = way;
        while let Some(&(outer, step)) = self.ways.get(at).filter(|_| at > 0) {
            steps.push(step);
            at = outer;
        }
        let texts = steps.into_iter().rev().map(|step| match step {
            Step::Item(at) => format!("/{at}"),
            Step::Field(name) => format!("/{}", name.replace('~', "~0").replace('/', "~1")),
        });
        texts.collect()
    }
}

/// Names of nodes; none if it is not known which there are.
fn names(workflow: &Workflow) -> Option<HashSet<&str>> {
    let is_complete = !workflow
        .unread
        .iter()
        .any(|sentence| sentence.starts_with("nodes["));
    is_complete.then(|| workflow.nodes.iter().map(|node| node.name.as_str()).collect())
}

/// An expression of a text.
struct Found {
    range: Range<usize>,
    original: String,
    missing: String,
}

/// So many expressions of a text that read a node which is not there.
fn in_text(text: &str, names: Option<&HashSet<&str>>, is_fragment: bool, most: usize) -> Vec<Found> {
    if most == 0 {
        return Vec::new();
    }
    let found = expressions(text).filter_map(|(range, source)| {
        Some(Found {
            range,
            original: source.trim().to_owned(),
            missing: missing_node(source, names?, is_fragment)?.to_owned(),
        })
    });
    found.take(most).collect()
}

/// The expressions of a text, and where they stand in it.
fn expressions(text: &str) -> impl Iterator<Item = (Range<usize>, &str)> {
    let pieces = split(text).unwrap_or_default();
    pieces.into_iter().filter_map(move |piece| match piece {
        Piece::Expression(range) => text.get(range.clone()).map(|source| (range, source)),
        Piece::Literal(_) => None,
    })
}

fn without(text: &str, found: &[Found]) -> String {
    let mut written = String::with_capacity(text.len());
    let mut from = 0;
    for Found { range, .. } in found {
        written.push_str(text.get(from..range.start).unwrap_or_default());
        written.push_str(" undefined ");
        from = range.end;
    }
    written.push_str(text.get(from..).unwrap_or_default());
    written
}

/// The workflow's expressions as n8n has them.
#[derive(Debug, Default)]
pub(crate) struct Originals(HashSet<String>);

impl Originals {
    pub(crate) fn of(workflow: &Workflow) -> Originals {
        let values = workflow.nodes.iter().flat_map(|node| node.parameters.values());
        let texts = values.flat_map(|value| texts(value).found).map(|(text, _)| text);
        let sources = texts.flat_map(expressions);
        Originals(sources.map(|(_, source)| source.trim().to_owned()).collect())
    }

    /// Whether n8n has this expression, of which the compiler says that it is no JavaScript, and sees it in the same way.
    pub(crate) fn fails(&self, source: &str, message: &str) -> bool {
        // n8n takes what is before a semicolon, and what is before the first `}}`.
        let is_one = !source.contains(';') && !source.contains("}}");
        // Its parser overlooks commas that are missing, and the rules of modules.
        let is_grammar = message.contains("unexpected token") || message.contains("but found");
        is_one && is_grammar && !message.contains("`,`") && self.0.contains(source)
    }
}

/// What decides whether something behind it is evaluated.
const CONDITIONS: &[&str] = &["?", "&&", "||", "=>", "function", "$if"];

/// A node that is not there, which is read in any case. Of a fragment it is told wherever it is read.
fn missing_node<'s>(source: &'s str, names: &HashSet<&str>, is_fragment: bool) -> Option<&'s str> {
    let parts = stretches(source);
    for (at, part) in parts.iter().enumerate() {
        let Stretch::Code(code) = part else { continue };
        if !is_fragment && CONDITIONS.iter().any(|sign| code.contains(sign)) {
            return None;
        }
        let closing = match code {
            code if code.ends_with("$(") || code.ends_with("$items(") => ')',
            code if code.ends_with("$node[") => ']',
            _ => continue,
        };
        let (Some(Stretch::Text(quoted)), Some(Stretch::Code(after))) =
            (parts.get(at + 1), parts.get(at + 2))
        else {
            continue;
        };
        let quote = quoted.chars().next().filter(|c| "'\"`".contains(*c));
        let name = quote.and_then(|quote| quoted.strip_prefix(quote)?.strip_suffix(quote));
        let is_whole = after.starts_with(closing) && !quoted.contains('\\');
        if let Some(name) = name.filter(|name| is_whole && !names.contains(name)) {
            return Some(name);
        }
    }
    None
}
