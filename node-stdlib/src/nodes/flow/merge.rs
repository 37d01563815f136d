//! Merge: one value of those that several edges brought.

use super::super::parameters::{choice, given, required, select};
use crate::failure::Failure;
use crate::node::{Context, Emission, NodeResult, Outcome};
use heddle_contract::abi::code;
use heddle_values::keys::key_of;
use heddle_values::{Array, Object, Value};
use std::collections::BTreeMap;

const MODES: &[&str] = &["first", "append", "combine", "zip", "join"];

/// Merge. Its input port holds the array of the live edges' values, in the order of the edges; in the mode `first`,
/// only the first value.
pub fn merge(parameters: &Object, context: &mut dyn Context) -> NodeResult {
    let values = match context.input_port(0) {
        Some(Value::Array(values)) => values,
        Some(single) => Array::from(vec![single]),
        None => Array::default(),
    };
    let merged = match choice(parameters, "mode", MODES, "append")? {
        "first" => context.input(),
        "combine" => combine(&values)?,
        "zip" => zip(&values)?,
        "join" => join(parameters, &values, context)?,
        _ => append(values),
    };
    Ok(Outcome::Emit(Emission::one(0, merged)))
}

/// All elements of all lists; what is no list is one element.
fn append(values: Array) -> Value {
    if let [only @ Value::Array(_)] = &values[..] {
        return only.clone();
    }
    let mut all = Vec::new();
    for value in values.into_vec() {
        match value {
            Value::Array(items) => all.extend(items.into_vec()),
            single => all.push(single),
        }
    }
    all.into()
}

/// One object of all fields, of which later ones win.
fn combine(values: &[Value]) -> Result<Value, Failure> {
    let mut merged = Object::new();
    for (index, value) in values.iter().enumerate() {
        let Value::Object(object) = value else {
            return Err(unfit("combine", "objects", index, value));
        };
        match index {
            0 => merged = object.clone(),
            _ => add_fields(&mut merged, object),
        }
    }
    Ok(Value::Object(merged))
}

/// The elements at each place, up to the end of the shortest list: objects as one object, else as a list.
fn zip(values: &[Value]) -> Result<Value, Failure> {
    let lists = lists("zip", values)?;
    let length = lists.iter().map(|list| list.len()).min().unwrap_or(0);
    let rows = (0..length).map(|place| {
        let elements: Vec<Value> = lists.iter().filter_map(|list| list.get(place).cloned()).collect();
        match elements.iter().all(|element| matches!(element, Value::Object(_))) {
            true => combine(&elements),
            false => Ok(elements.into()),
        }
    });
    Ok(Value::Array(rows.collect::<Result<_, _>>()?))
}

/// Pairs of rows with the same key, each as one object in which the second row's fields win; in the order of the
/// first list, and for each of its rows of the second. A row without a key has no partner.
fn join(parameters: &Object, values: &[Value], context: &mut dyn Context) -> Result<Value, Failure> {
    let key = required(parameters, "key", "a dotted path or an expression with `$item`")?;
    let right_key = given(parameters, "rightKey").unwrap_or(key);
    let lists = lists("join", values)?;
    let [left, right] = lists[..] else {
        let message = format!(
            "Merge joins two lists, but {} came. Lead two edges to it that both bring a list.",
            lists.len()
        );
        return Err(Failure::new(code::PARAMETER, message));
    };
    let mut partners: BTreeMap<String, Vec<&Object>> = BTreeMap::new();
    for (index, row) in right.iter().enumerate() {
        let fields = fields(1, row)?;
        if let Some(key) = row_key(right_key, row, index, context)? {
            partners.entry(key).or_default().push(fields);
        }
    }
    let mut rows = Vec::new();
    for (index, row) in left.iter().enumerate() {
        let fields = fields(0, row)?;
        let Some(key) = row_key(key, row, index, context)? else {
            continue;
        };
        for partner in partners.get(&key).into_iter().flatten() {
            let mut joined = fields.clone();
            add_fields(&mut joined, partner);
            rows.push(Value::Object(joined));
        }
    }
    Ok(rows.into())
}

fn row_key(
    key: &Value,
    row: &Value,
    index: usize,
    context: &mut dyn Context,
) -> Result<Option<String>, Failure> {
    let value = select(key, row, index, context)?;
    Ok((!value.is_nullish()).then(|| key_of(&value)))
}

fn fields(list: usize, row: &Value) -> Result<&Object, Failure> {
    match row {
        Value::Object(fields) => Ok(fields),
        other => {
            let message = format!(
                "Merge by `join` takes lists of objects, but list {} holds {}.",
                list + 1,
                other.shape()
            );
            Err(Failure::new(code::PARAMETER, message))
        }
    }
}

fn lists<'a>(mode: &str, values: &'a [Value]) -> Result<Vec<&'a Array>, Failure> {
    let list = |(index, value): (usize, &'a Value)| match value {
        Value::Array(list) => Ok(list),
        other => Err(unfit(mode, "lists", index, other)),
    };
    values.iter().enumerate().map(list).collect()
}

fn add_fields(object: &mut Object, more: &Object) {
    for (name, value) in more.iter() {
        object.insert(name.clone(), value.clone());
    }
}

fn unfit(mode: &str, takes: &str, index: usize, value: &Value) -> Failure {
    let message = format!(
        "Merge by `{mode}` takes {takes}, but value {} of those that came is {}.",
        index + 1,
        value.shape()
    );
    Failure::new(code::PARAMETER, message)
}
