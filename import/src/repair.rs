//! Repairs what the compiler refuses, by its findings: an expression becomes undefined, a node a stub, and edges that meet a Merge.
//! Each repair is in the report.

use crate::broken::{Broken, Originals};
use crate::built::{Drawn, DrawnEdge, DrawnNode, Kind};
use crate::finding::Finding;
use crate::remark::OUTSIDE;
use crate::report::{Item, Level, Report};
use heddle_compiler::expression::{Piece, split};
use serde_json::{Map, Value, json};
use std::collections::HashSet;

/// Bytes of an original expression in a node's notes.
const NOTE_BYTES_MAX: usize = 2_000;

/// Bytes of texts in which expressions that can't be compiled are looked for: there may be thousands, each in a text of megabytes.
const SEARCHED_MAX: usize = 128 << 20;

/// What the report calls expressions that fail in n8n as well.
const BROKEN: &str = "broken-expression";

/// Repairs what was found; whether anything was.
pub(crate) fn repair(
    drawn: &mut Drawn,
    found: Vec<Finding>,
    originals: &Originals,
    report: &mut Report,
) -> bool {
    let mut repaired = false;
    let mut changed = HashSet::new();
    for found in found.iter().filter(|one| one.code == "several-edges") {
        repaired |= join(drawn, found, report);
    }
    let errors: Vec<Finding> = found.into_iter().filter(|one| one.is_error).collect();
    for error in &errors {
        repaired |= one(drawn, error, originals, &mut changed, report);
    }
    report.valid = errors.is_empty();
    report.errors = errors;
    repaired
}

fn one(
    drawn: &mut Drawn,
    error: &Finding,
    originals: &Originals,
    changed: &mut HashSet<String>,
    report: &mut Report,
) -> bool {
    let Some(id) = error.node_id.as_deref() else {
        return error.code == "no-trigger" && add_trigger(drawn, report);
    };
    let id = id.split('/').next().unwrap_or(id).to_owned();
    if error.code == "cycle"
        || error.code == "loop-entry"
        || error.code == "loop-return"
        || error.code == "edge-into-trigger"
    {
        return cut_edges_into(drawn, &id, error, report);
    }
    if error.excerpt.is_some() && undefine(drawn, &id, error, originals, report) {
        changed.insert(id);
        return true;
    }
    // What was found before a change is found again in the next round, if it is still so.
    if changed.contains(&id) {
        return true;
    }
    if error.code == "type-mismatch" && !drawn.settings.contains_key("items") && single(drawn, &id) {
        return true;
    }
    stub(drawn, &id, error, report)
}

/// What never gets a list needs no `each`.
fn single(drawn: &mut Drawn, id: &str) -> bool {
    let node = drawn.node_mut(id).filter(|node| node.each == Some(true));
    node.is_some_and(|node| node.each.take().is_some())
}

fn item(node: &DrawnNode, level: Level, code: &'static str, message: String) -> Item {
    Item {
        node_id: Some(node.owner.clone()),
        n8n_type: node.n8n_type.clone(),
        level,
        code,
        message,
        parameter: None,
        original: None,
    }
}

/// Puts `undefined` in the place of the expression that an error is about.
fn undefine(
    drawn: &mut Drawn,
    id: &str,
    error: &Finding,
    originals: &Originals,
    report: &mut Report,
) -> bool {
    if drawn.searched >= SEARCHED_MAX {
        return false;
    }
    let mut searched = 0;
    let original = drawn.node_mut(id).zip(error.excerpt.as_ref());
    let original = original.and_then(|(node, (excerpt, start))| {
        taken_out(&mut node.parameters, (excerpt.as_str(), *start), &mut searched)
    });
    drawn.searched += searched;
    let (Some(source), Some(node)) = (original, drawn.node_mut(id)) else {
        return false;
    };
    let parameter = error.parameter.clone();
    note(node, parameter.as_deref().unwrap_or("a parameter"), &source);
    report.summary.repaired += 1;
    let (code, fails) = match error.code == "syntax" && originals.fails(&source, &error.message) {
        true => (BROKEN, "fails in n8n too"),
        false => ("expression", "can't be compiled"),
    };
    let message = format!("the expression {fails} and is undefined now: {}", error.message);
    report.add(Item {
        parameter,
        original: Some(source),
        ..item(node, Level::Approximate, code, message)
    });
    true
}

/// Takes out the expression at a byte of the excerpt, wherever that stands, and counts what is searched for it.
fn taken_out(
    parameters: &mut Map<String, Value>,
    (excerpt, start): (&str, usize),
    searched: &mut usize,
) -> Option<String> {
    let mut open: Vec<&mut Value> = parameters.values_mut().collect();
    while let Some(value) = open.pop() {
        match value {
            Value::String(text) => {
                *searched += text.len();
                let at = text.find(excerpt).map(|offset| offset + start);
                if let Some((written, source)) = at.and_then(|at| without(text, at)) {
                    *text = written;
                    return Some(source);
                }
            }
            Value::Array(items) => open.extend(items),
            Value::Object(fields) => open.extend(fields.values_mut()),
            _ => {}
        }
    }
    None
}

/// Keeps an expression that is undefined now in its node's notes.
fn note(node: &mut DrawnNode, place: &str, source: &str) {
    let kept: String = source.chars().take(NOTE_BYTES_MAX / 4).collect();
    let separator = if node.notes.is_empty() { "" } else { "\n" };
    node.notes
        .push_str(&format!("{separator}Not imported in {place}: {{{{ {kept} }}}}"));
}

/// Tells of an expression that is undefined because it reads a node that is not there. Then n8n can't evaluate it either, unless
/// only a part of its workflow is here.
pub(crate) fn tell_broken(drawn: &mut Drawn, id: &str, broken: &Broken, report: &mut Report) {
    let Some(node) = drawn.node_mut(id).filter(|node| !node.is_stub()) else {
        return;
    };
    note(node, &broken.parameter, &broken.original);
    report.summary.repaired += 1;
    let missing = &broken.missing;
    let (code, message) = match broken.is_outside {
        true => (
            OUTSIDE,
            format!(
                "the expression reads the node `{missing}`, which is not part of what was pasted, and is undefined now"
            ),
        ),
        false => (
            BROKEN,
            format!(
                "the expression fails in n8n too and is undefined now: the workflow has no node `{missing}`"
            ),
        ),
    };
    report.add(Item {
        parameter: Some(broken.parameter.clone()),
        original: Some(broken.original.clone()),
        ..item(node, Level::Approximate, code, message)
    });
}

/// The text without the expression around an offset, and that expression.
fn without(text: &str, at: usize) -> Option<(String, String)> {
    let Ok(pieces) = split(text) else {
        return Some((crate::expression::literal(text), text.to_owned()));
    };
    let expressions = pieces.into_iter().filter_map(|piece| match piece {
        Piece::Expression(range) => Some(range),
        Piece::Literal(_) => None,
    });
    let all: Vec<_> = expressions.collect();
    let holds = all.iter().find(|range| range.start <= at && at <= range.end);
    let range = holds.or(all.first()).cloned()?;
    let source = text.get(range.clone())?.trim().to_owned();
    if source == "undefined" {
        return None;
    }
    let written = format!(
        "{} undefined {}",
        text.get(..range.start)?,
        text.get(range.end..)?
    );
    Some((written, source))
}

/// A node that can't be as it is fails when it runs.
fn stub(drawn: &mut Drawn, id: &str, error: &Finding, report: &mut Report) -> bool {
    let Some(node) = drawn.node_mut(id).filter(|node| !node.is_stub()) else {
        return false;
    };
    let place = match error.parameter.as_deref() {
        Some(name) if !error.message.contains(&format!("`{name}`")) => format!("{name}: "),
        _ => String::new(),
    };
    let why = format!("{} was not imported: {place}{}", node.label, error.message);
    let parameters = std::mem::take(&mut node.parameters);
    if node.original.is_none() {
        node.original = Some(json!({"type": node.n8n_type, "parameters": parameters}));
    }
    node.kind = Kind::Stub(why.clone());
    (node.each, node.once, node.always) = (None, false, false);
    report.add(item(node, Level::Stub, "invalid", why));
    let id = node.id.clone();
    for edge in drawn.edges.iter_mut().filter(|edge| edge.target == id) {
        edge.target_port = None;
    }
    true
}

fn cut_edges_into(drawn: &mut Drawn, id: &str, error: &Finding, report: &mut Report) -> bool {
    let edges: Vec<DrawnEdge> = drawn
        .edges
        .iter()
        .filter(|edge| edge.target == id)
        .cloned()
        .collect();
    for edge in &edges {
        let why = format!("the edge to {id} was not imported: {}", error.message);
        drawn.cut(edge, why.clone());
        if let Some(node) = drawn.node_mut(&edge.source) {
            report.add(item(
                node,
                Level::Approximate,
                "cycle",
                format!("{why}; a stub takes its place"),
            ));
        }
    }
    !edges.is_empty()
}

fn add_trigger(drawn: &mut Drawn, report: &mut Report) -> bool {
    let entered = |id: &str| drawn.edges.iter().any(|edge| edge.target == id);
    let first = drawn
        .nodes
        .iter()
        .find(|node| !entered(&node.id))
        .map(|node| node.id.clone());
    let mut trigger = drawn.beside(
        first.as_deref().unwrap_or_default(),
        Kind::Standard("OnManual"),
        "Start".to_owned(),
    );
    trigger.position[1] -= 160.0;
    let source = trigger.id.clone();
    drawn.nodes.push(trigger);
    if let Some(target) = first {
        drawn.edges.push(DrawnEdge {
            source,
            source_port: None,
            target,
            target_port: None,
        });
    }
    report.add(Item {
        node_id: None,
        n8n_type: None,
        level: Level::Approximate,
        code: "trigger",
        message: "the workflow has no trigger: an OnManual was added".to_owned(),
        parameter: None,
        original: None,
    });
    true
}

/// Puts a Merge before a node that several edges enter, so that it gets one list.
fn join(drawn: &mut Drawn, found: &Finding, report: &mut Report) -> bool {
    let Some(id) = found.node_id.clone() else {
        return false;
    };
    let ports: Vec<Option<String>> = drawn
        .edges
        .iter()
        .filter(|edge| edge.target == id)
        .map(|edge| edge.target_port.clone())
        .collect();
    let several = |port: &Option<String>| ports.iter().filter(|other| *other == port).count() > 1;
    let Some(port) = ports
        .iter()
        .find(|port| several(port) && port.as_deref() != Some("next"))
        .cloned()
    else {
        return false;
    };
    let Some(node) = drawn.node_mut(&id).filter(|node| !node.is_stub()) else {
        return false;
    };
    let message = "several edges meet here: it executes once with the items of all of them; n8n executes it once for each";
    report.add(item(
        node,
        Level::Approximate,
        "several-edges",
        message.to_owned(),
    ));
    let label = format!("Before {id}");
    let mut merge = drawn.beside(&id, Kind::Standard("Merge"), label);
    merge.parameters = Map::from_iter([("mode".to_owned(), json!("append"))]);
    let merge_id = merge.id.clone();
    drawn.nodes.push(merge);
    for edge in drawn
        .edges
        .iter_mut()
        .filter(|edge| edge.target == id && edge.target_port == port)
    {
        edge.target.clone_from(&merge_id);
        edge.target_port = None;
    }
    drawn.edges.push(DrawnEdge {
        source: merge_id,
        source_port: None,
        target: id,
        target_port: port,
    });
    true
}

#[cfg(test)]
mod tests {
    use super::{SEARCHED_MAX, repair};
    use crate::broken::Originals;
    use crate::built::{Drawn, Kind};
    use crate::finding::Finding;
    use crate::report::Report;

    const TEXT: &str = "a {{ @ }} {{ 1 }}";

    /// A node after the repair of an expression, before which so much was searched.
    fn repaired(searched: usize) -> Drawn {
        let mut drawn = Drawn {
            searched,
            ..Drawn::default()
        };
        let mut node = drawn.beside("", Kind::Standard("Transform"), "A".to_owned());
        node.parameters.insert("value".to_owned(), TEXT.into());
        let found = Finding {
            is_error: true,
            code: "syntax".to_owned(),
            node_id: Some(node.id.clone()),
            parameter: Some("value".to_owned()),
            message: "unexpected token".to_owned(),
            excerpt: Some((TEXT.to_owned(), 5)),
        };
        drawn.nodes.push(node);
        assert!(repair(
            &mut drawn,
            vec![found],
            &Originals::default(),
            &mut Report::default()
        ));
        drawn
    }

    #[test]
    fn what_is_searched_for_expressions_is_counted_and_then_a_stub_takes_the_nodes_place() {
        let drawn = repaired(0);
        assert_eq!(drawn.nodes[0].parameters["value"], "a {{ undefined }} {{ 1 }}");
        assert_eq!(drawn.searched, TEXT.len());
        let drawn = repaired(SEARCHED_MAX);
        assert!(drawn.nodes[0].is_stub());
        assert_eq!(drawn.searched, SEARCHED_MAX);
    }
}
