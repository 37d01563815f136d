//! What a case has exercised: so that the test can say that nothing is missing.

use crate::evaluate::Expected;
use crate::graph::{Case, Definition, Kind, Merge, Node, OnError, definition};
use std::collections::{BTreeMap, BTreeSet};

/// Features, and how many of the default number of cases must show them.
pub const REQUIRED: &[(&str, u64)] = &[
    ("branch", 200),
    ("join of live and dead edges", 100),
    ("several live edges into one port", 100),
    ("merge first", 50),
    ("loop with several iterations", 150),
    ("nested loop", 30),
    ("overlapping iterations", 50),
    ("error port", 100),
    ("error continued", 50),
    ("run failed", 100),
    ("returned", 200),
    ("pin", 100),
    ("each", 50),
    ("once", 50),
    ("always", 100),
    ("an empty item for none", 20),
    ("composite", 200),
    ("composite for each element", 50),
    ("composite executed again", 30),
    ("composite that emits an error", 40),
    ("element of a composite that fails", 10),
    ("loop in a composite executed as a whole", 25),
    ("composite in a loop", 25),
    ("expression definition", 30),
    ("retry", 50),
    ("disabled", 50),
    ("switch with all", 50),
    ("skipped nodes", 200),
    ("logged", 200),
    ("lenient", 400),
    ("lists of items", 300),
    ("several items", 70),
];

/// Features of a case, by what was executed.
pub fn features(case: &Case, expected: &Expected) -> BTreeSet<&'static str> {
    let mut out = BTreeSet::new();
    let mut ran: BTreeMap<&str, usize> = BTreeMap::new();
    for execution in &expected.executions {
        *ran.entry(&execution.node).or_default() += 1;
        match (&execution.emitted, &execution.error) {
            (Some((port, _)), Some(_)) if port == "error" => out.insert("error port"),
            (Some(_), Some(_)) => out.insert("error continued"),
            _ => false,
        };
        if execution.pinned {
            out.insert("pin");
        }
        if execution.path.contains("].") {
            out.insert("nested loop");
        }
        if case.items && execution.path.ends_with("#1") {
            out.insert("several items");
        }
        if execution.path.ends_with("[1]") {
            out.insert("loop with several iterations");
        }
    }
    for node in &case.graph.nodes {
        let times = ran.get(node.id.as_str()).copied().unwrap_or(0);
        if times == 0 {
            out.insert("skipped nodes");
            continue;
        }
        if node.attempts > 1
            && expected
                .executions
                .iter()
                .any(|e| e.node == node.id && e.error.is_some())
        {
            out.insert("retry");
        }
        let kind = kind_feature(case, &node.kind);
        if kind == Some("composite") && node.is_whole() {
            block_features(node, expected, &mut out);
        }
        out.extend(node.each.then_some("each"));
        out.extend(node.once.then_some("once"));
        out.extend(node.always.then_some("always"));
        out.extend(node.disabled.then_some("disabled"));
        out.extend(kind);
        joins(case, &node.id, &ran, &mut out);
        if node.on_error != OnError::Fail && expected.error.is_some() {
            out.insert("run failed past a caught error");
        }
    }
    out.extend(case.lenient.then_some("lenient"));
    out.extend(case.items.then_some("lists of items"));
    out.extend(expected.filled.then_some("an empty item for none"));
    out.extend(expected.error.is_some().then_some("run failed"));
    out.extend(expected.output.is_some().then_some("returned"));
    out.extend((!expected.logs.is_empty()).then_some("logged"));
    out
}

/// What the executions of a composite that is executed as a whole, and of its inner nodes, show.
fn block_features(node: &Node, expected: &Expected, out: &mut BTreeSet<&'static str>) {
    let prefix = format!("{}/", node.id);
    let catches = node.on_error != OnError::Fail;
    let is_turn = |step: &str, sign: char| {
        let rest = step.strip_prefix(&node.id);
        rest.is_some_and(|rest| rest.starts_with(sign) || rest.contains("]~"))
    };
    for execution in &expected.executions {
        let caught = catches && execution.error.is_some();
        if execution.node == node.id {
            out.extend(caught.then_some("composite that emits an error"));
            out.extend((!execution.path.is_empty()).then_some("composite in a loop"));
        }
        if !execution.node.starts_with(&prefix) {
            continue;
        }
        for step in execution.path.split('.') {
            out.extend(is_turn(step, '[').then_some("composite for each element"));
            out.extend(is_turn(step, '~').then_some("composite executed again"));
            out.extend((is_turn(step, '[') && caught).then_some("element of a composite that fails"));
            out.extend(
                step.starts_with(&prefix)
                    .then_some("loop in a composite executed as a whole"),
            );
        }
    }
}

fn kind_feature(case: &Case, kind: &Kind) -> Option<&'static str> {
    Some(match kind {
        Kind::If(_) => "branch",
        Kind::SwitchEquals { all: true, .. } | Kind::SwitchWhen { all: true, .. } => "switch with all",
        Kind::Merge(Merge::First) => "merge first",
        Kind::ForEach { concurrency: 2.., .. } => "overlapping iterations",
        Kind::Defined(name) => match definition(&case.definitions, name) {
            Definition::Expression(..) => "expression definition",
            Definition::Composite(_) => "composite",
        },
        _ => return None,
    })
}

/// How the edges into a node that ran have ended, as far as that shows.
fn joins(case: &Case, node: &str, ran: &BTreeMap<&str, usize>, out: &mut BTreeSet<&'static str>) {
    let sources: Vec<bool> = case
        .graph
        .edges
        .iter()
        .filter(|edge| edge.target == node && edge.target_port != "next")
        .map(|edge| ran.contains_key(edge.source.as_str()))
        .collect();
    let live = sources.iter().filter(|ran| **ran).count();
    if live > 0 && live < sources.len() {
        out.insert("join of live and dead edges");
    }
    if live > 1 {
        out.insert("several live edges into one port");
    }
}
