//! What a query finds.

use super::functions;
use super::parser::{Comparison, Node};
use crate::methods::Outcome;
use crate::{Array, Object, Value, ops};

/// What the node of a query finds in the value.
pub(super) fn evaluated(value: &Value, node: &Node) -> Outcome {
    Ok(match node {
        Node::Current => value.clone(),
        Node::Field(name) => match value {
            Value::Object(object) => found(object.get(name)),
            _ => Value::Null,
        },
        Node::Index(index) => match value {
            Value::Array(array) => found(element(array, *index)),
            _ => Value::Null,
        },
        Node::Slice { start, stop, step } => match value {
            Value::Array(array) => sliced(array, *start, *stop, *step),
            _ => Value::Null,
        },
        Node::Literal(literal) => literal.clone(),
        Node::Then(first, then) => evaluated(&evaluated(value, first)?, then)?,
        Node::Or(left, right) => match evaluated(value, left)? {
            left if is_true(&left) => left,
            _ => evaluated(value, right)?,
        },
        Node::And(left, right) => match evaluated(value, left)? {
            left if is_true(&left) => evaluated(value, right)?,
            left => left,
        },
        Node::Not(node) => (!is_true(&evaluated(value, node)?)).into(),
        Node::If(condition, then) => match is_true(&evaluated(value, condition)?) {
            true => evaluated(value, then)?,
            false => Value::Null,
        },
        Node::Compare(comparison, left, right) => {
            compared(*comparison, &evaluated(value, left)?, &evaluated(value, right)?)?
        }
        Node::Values(node) => match evaluated(value, node)? {
            Value::Object(object) => object.values().cloned().collect::<Array>().into(),
            _ => Value::Null,
        },
        Node::Project(list, each) => match evaluated(value, list)? {
            Value::Array(array) => projected(&array, each)?,
            _ => Value::Null,
        },
        Node::Flatten(node) => match evaluated(value, node)? {
            Value::Array(array) => flattened(&array),
            _ => Value::Null,
        },
        Node::List(_) | Node::Hash(_) if value.is_nullish() => Value::Null,
        Node::List(elements) => {
            let elements = elements.iter().map(|element| evaluated(value, element));
            elements.collect::<Result<Vec<_>, _>>()?.into()
        }
        Node::Hash(fields) => {
            let mut object = Object::with_capacity(fields.len());
            for (name, field) in fields {
                object.insert(name.as_str(), evaluated(value, field)?);
            }
            object.into()
        }
        Node::Call { name, arguments, .. } => functions::call(name, arguments, value)?,
        // Functions take theirs from the tree.
        Node::Expression(_) => Value::Null,
    })
}

fn found(value: Option<&Value>) -> Value {
    match value {
        None | Some(Value::Undefined) => Value::Null,
        Some(value) => value.clone(),
    }
}

fn element(array: &Array, index: i64) -> Option<&Value> {
    let distance = usize::try_from(index.unsigned_abs()).ok()?;
    match index < 0 {
        true => array.get(array.len().checked_sub(distance)?),
        false => array.get(distance),
    }
}

/// As Python slices.
fn sliced(array: &Array, start: Option<i64>, stop: Option<i64>, step: i64) -> Value {
    let len = array.len() as i64;
    let (least, most) = if step > 0 { (0, len) } else { (-1, len - 1) };
    let limit = |at: i64| (if at < 0 { at.saturating_add(len) } else { at }).clamp(least, most);
    let mut at = start.map_or(if step > 0 { least } else { most }, limit);
    let stop = stop.map_or(if step > 0 { most } else { least }, limit);
    let mut slice = Vec::new();
    while (step > 0 && at < stop) || (step < 0 && at > stop) {
        slice.extend(usize::try_from(at).ok().and_then(|at| array.get(at)).cloned());
        at = at.saturating_add(step);
    }
    slice.into()
}

fn projected(array: &Array, node: &Node) -> Outcome {
    let mut kept = Vec::new();
    for element in array {
        let value = evaluated(element, node)?;
        if !value.is_nullish() {
            kept.push(value);
        }
    }
    Ok(kept.into())
}

fn flattened(array: &Array) -> Value {
    let mut flat = Vec::with_capacity(array.len());
    for element in array {
        match element {
            Value::Array(inner) => flat.extend_from_slice(inner),
            other => flat.push(other.clone()),
        }
    }
    flat.into()
}

fn compared(comparison: Comparison, left: &Value, right: &Value) -> Outcome {
    Ok(match comparison {
        Comparison::Equal => left.deep_equal(right).into(),
        Comparison::NotEqual => (!left.deep_equal(right)).into(),
        Comparison::Less => ops::less(left, right)?,
        Comparison::LessEqual => ops::less_equal(left, right)?,
        Comparison::Greater => ops::greater(left, right)?,
        Comparison::GreaterEqual => ops::greater_equal(left, right)?,
    })
}

/// All but null, false, and what is empty.
fn is_true(value: &Value) -> bool {
    match value {
        Value::Undefined | Value::Null => false,
        Value::Bool(value) => *value,
        Value::String(text) => !text.is_empty(),
        Value::Array(array) => !array.is_empty(),
        Value::Object(object) => !object.is_empty(),
        _ => true,
    }
}
