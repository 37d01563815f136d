//! From a case that disagrees to a small one that still does: greedy removal of whatever is not needed.

use crate::expression::{Element, Expression, Key, Name, Property};
use crate::graph::{Case, Definition, Kind, OnError, Parameter};
use serde_json::{Value, json};

const TRIES_MAX: usize = 4_000;

/// The smallest case found that `disagrees`.
pub fn shrink(case: Case, mut disagrees: impl FnMut(&Case) -> bool) -> Case {
    let mut best = case;
    let mut tries = 0;
    loop {
        let smaller = candidates(&best).into_iter().find(|candidate| {
            tries += 1;
            tries < TRIES_MAX && disagrees(candidate)
        });
        match smaller {
            Some(smaller) => best = smaller,
            None => return best,
        }
    }
}

fn candidates(case: &Case) -> Vec<Case> {
    let mut out = Vec::new();
    let mut offer = |change: &dyn Fn(&mut Case)| {
        let mut candidate = case.clone();
        change(&mut candidate);
        if candidate != *case {
            out.push(candidate);
        }
    };
    for index in 0..case.graph.nodes.len() {
        if case.graph.nodes[index].id != case.trigger {
            offer(&|case| remove_node(case, index));
            offer(&|case| bypass_node(case, index));
        }
    }
    for index in 0..case.graph.edges.len() {
        offer(&|case| drop(case.graph.edges.remove(index)));
    }
    for index in 0..case.pins.len() {
        offer(&|case| drop(case.pins.remove(index)));
    }
    offer(&|case| case.lenient = false);
    offer(&|case| case.items = false);
    offer(&|case| case.event = Value::Null);
    offer(&|case| case.event = json!({}));
    if let Value::Object(fields) = &case.event {
        for name in fields.keys() {
            offer(&|case| drop(case.event.as_object_mut().unwrap().shift_remove(name)));
        }
    }
    for index in 0..case.graph.nodes.len() {
        let id = case.graph.nodes[index].id.clone();
        let node = |change: &dyn Fn(&mut crate::graph::Node)| {
            let mut candidate = case.clone();
            change(&mut candidate.graph.nodes[index]);
            candidate
        };
        let mut simpler = vec![
            node(&|node| node.each = false),
            node(&|node| node.whole = false),
            node(&|node| node.once = false),
            node(&|node| node.always = false),
            node(&|node| node.concurrency = 1),
            node(&|node| node.attempts = 1),
            node(&|node| node.backoff_ms = 0),
            node(&|node| node.disabled = false),
            node(&|node| node.label = None),
        ];
        if !case
            .graph
            .edges
            .iter()
            .any(|edge| edge.source == id && edge.source_port == "error")
        {
            simpler.push(node(&|node| node.on_error = OnError::Fail));
        }
        if matches!(case.graph.nodes[index].kind, Kind::ForEach { .. }) {
            simpler.push(node(&|node| {
                if let Kind::ForEach {
                    concurrency,
                    batch_size,
                    ..
                } = &mut node.kind
                {
                    (*concurrency, *batch_size) = (1, 0);
                }
            }));
        }
        out.extend(simpler.into_iter().filter(|candidate| candidate != case));
    }
    for index in 0..parameters(&mut case.clone()).len() {
        let old = parameters(&mut case.clone())[index].clone();
        for new in simpler_parameters(&old) {
            let mut candidate = case.clone();
            *parameters(&mut candidate)[index] = new;
            out.push(candidate);
        }
    }
    out
}

fn remove_node(case: &mut Case, index: usize) {
    let id = case.graph.nodes.remove(index).id;
    case.graph
        .edges
        .retain(|edge| edge.source != id && edge.target != id);
    case.pins.retain(|pin| pin.node != id);
}

/// Removes a node and joins what led to it with what followed.
fn bypass_node(case: &mut Case, index: usize) {
    let id = case.graph.nodes[index].id.clone();
    let into: Vec<_> = case
        .graph
        .edges
        .iter()
        .filter(|edge| edge.target == id)
        .cloned()
        .collect();
    let from: Vec<_> = case
        .graph
        .edges
        .iter()
        .filter(|edge| edge.source == id)
        .cloned()
        .collect();
    remove_node(case, index);
    for (before, after) in into
        .iter()
        .flat_map(|before| from.iter().map(move |after| (before, after)))
    {
        let mut edge = before.clone();
        (edge.target, edge.target_port) = (after.target.clone(), after.target_port.clone());
        if !case.graph.edges.contains(&edge) {
            case.graph.edges.push(edge);
        }
    }
}

fn parameters(case: &mut Case) -> Vec<&mut Parameter> {
    let mut out: Vec<&mut Parameter> = Vec::new();
    for node in &mut case.graph.nodes {
        out.extend(node.kind.parameters_mut());
    }
    for (_, definition) in &mut case.definitions {
        match definition {
            Definition::Expression(_, outputs) => out.extend(outputs.iter_mut().map(|(_, value)| value)),
            Definition::Composite(graph) => {
                out.extend(graph.nodes.iter_mut().flat_map(|node| node.kind.parameters_mut()));
            }
        }
    }
    out
}

fn simpler_parameters(parameter: &Parameter) -> Vec<Parameter> {
    let mut out = Vec::new();
    match parameter {
        Parameter::Json(Value::Null) => {}
        Parameter::Json(_) => out.push(Parameter::Json(Value::Null)),
        Parameter::Expression(expression) => {
            out.push(Parameter::Json(json!(1)));
            if *expression != Expression::Name(Name::Input) {
                out.push(Parameter::Expression(Expression::Name(Name::Input)));
            }
            out.extend(children(expression).into_iter().map(Parameter::Expression));
        }
        Parameter::Text(_, expressions) => {
            out.push(Parameter::Json(json!("text")));
            for expression in expressions.iter().flat_map(children) {
                out.push(Parameter::Text(
                    vec!["t".to_owned(), String::new()],
                    vec![expression],
                ));
            }
        }
        Parameter::Object(fields) => {
            out.extend(fields.iter().map(|(_, value)| value.clone()));
            for index in 0..fields.len() {
                let mut fewer = fields.clone();
                fewer.remove(index);
                out.push(Parameter::Object(fewer));
            }
        }
        Parameter::Array(items) => {
            for index in 0..items.len() {
                let mut fewer = items.clone();
                fewer.remove(index);
                out.push(Parameter::Array(fewer));
            }
        }
    }
    out
}

fn children(expression: &Expression) -> Vec<Expression> {
    match expression {
        Expression::Array(elements) => elements
            .iter()
            .map(|element| match element {
                Element::Item(item) | Element::Spread(item) => item.clone(),
            })
            .collect(),
        Expression::Object(properties) => properties
            .iter()
            .map(|property| match property {
                Property::Named(_, value) | Property::Spread(value) => value.clone(),
            })
            .collect(),
        Expression::Path(root, steps) => {
            let mut out = vec![(**root).clone()];
            if steps.len() > 1 {
                out.push(Expression::Path(root.clone(), steps[..steps.len() - 1].to_vec()));
            }
            out.extend(steps.iter().filter_map(|step| match &step.key {
                Key::Computed(key) => Some(key.clone()),
                Key::Name(_) => None,
            }));
            out
        }
        Expression::Unary(_, operand) => vec![(**operand).clone()],
        Expression::Binary(_, a, b) | Expression::Logical(_, a, b) => vec![(**a).clone(), (**b).clone()],
        Expression::Conditional(parts) => parts.to_vec(),
        Expression::Template(_, expressions) => expressions.clone(),
        _ => vec![],
    }
}
