//! Merge: one value of those that several edges brought.

use super::super::parameters::{boolean, choice, given, required, select};
use crate::failure::Failure;
use crate::node::{Context, Emission, NodeResult, Origins, Outcome};
use heddle_contract::abi::code;
use heddle_contract::plan::NONE;
use heddle_values::keys::key_of;
use heddle_values::{Array, Object, Value};
use std::collections::BTreeMap;

const MODES: &[&str] = &["first", "append", "combine", "zip", "join"];
/// Levels at which fields are merged; what is deeper counts as a whole.
const LEVELS_MAX: usize = 512;
/// Elements that an object's fields can give a list, which name their places.
const PLACES_MAX: usize = 1_000;

/// Merge. Its input port holds the array of the live edges' values, in the order of the edges; in the mode `first`,
/// only the first value.
pub fn merge(parameters: &Object, context: &mut dyn Context) -> NodeResult {
    let values = match context.input_port(0) {
        Some(Value::Array(values)) => values,
        Some(single) => Array::from(vec![single]),
        None => Array::default(),
    };
    let levels = match boolean(parameters, "deep", false)? {
        true => LEVELS_MAX,
        false => 0,
    };
    let merged = match choice(parameters, "mode", MODES, "append")? {
        "first" => context.input(),
        "combine" => combine(&values, levels)?,
        "zip" => {
            let zipped = zip(&values, levels)?;
            let length = as_list(&zipped).len() as u32;
            context.pair_lists(0, values.iter().map(|_| (0..length).collect()).collect());
            zipped
        }
        "join" => join(parameters, &values, levels, context)?,
        _ => {
            context.pair_lists(0, appended(&values));
            append(values)
        }
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

/// Where the elements of appended lists come from.
fn appended(values: &[Value]) -> Origins {
    let lengths: Vec<usize> = values.iter().map(|value| as_list(value).len()).collect();
    let total = lengths.iter().sum();
    let mut start = 0;
    let list = |length: &usize| {
        let mut origins = vec![NONE; total];
        for (origin, place) in origins.iter_mut().skip(start).take(*length).zip(0..) {
            *origin = place;
        }
        start += length;
        origins
    };
    lengths.iter().map(list).collect()
}

/// The elements of a list; what is no list is one.
fn as_list(value: &Value) -> &[Value] {
    match value {
        Value::Array(elements) => elements,
        single => std::slice::from_ref(single),
    }
}

/// One object of all fields, of which later ones win.
fn combine(values: &[Value], levels: usize) -> Result<Value, Failure> {
    let mut merged = Object::new();
    for (index, value) in values.iter().enumerate() {
        let Value::Object(object) = value else {
            return Err(unfit("combine", "objects", index, value));
        };
        match index {
            0 => merged = object.clone(),
            _ => add_fields(&mut merged, object, levels),
        }
    }
    Ok(Value::Object(merged))
}

/// The elements at each place, up to the end of the shortest list: objects as one object, else as a list.
fn zip(values: &[Value], levels: usize) -> Result<Value, Failure> {
    let lists = lists("zip", values)?;
    let length = lists.iter().map(|list| list.len()).min().unwrap_or(0);
    let rows = (0..length).map(|place| {
        let elements: Vec<Value> = lists.iter().filter_map(|list| list.get(place).cloned()).collect();
        match elements.iter().all(|element| matches!(element, Value::Object(_))) {
            true => combine(&elements, levels),
            false => Ok(elements.into()),
        }
    });
    Ok(Value::Array(rows.collect::<Result<_, _>>()?))
}

/// Pairs of rows with the same key, each as one object in which the second row's fields win; in the order of the
/// first list, and for each of its rows of the second. A row without a key has no partner.
fn join(
    parameters: &Object,
    values: &[Value],
    levels: usize,
    context: &mut dyn Context,
) -> Result<Value, Failure> {
    let key = required(parameters, "key", "a dotted path or an expression with `$item`")?;
    let right_key = given(parameters, "rightKey").unwrap_or(key);
    let lists = lists("join", values)?;
    let [left, right] = lists[..] else {
        let message = format!(
            "Merge joins two lists, but {} came. Connect two edges to it that both bring a list.",
            lists.len()
        );
        return Err(Failure::new(code::PARAMETER, message));
    };
    let mut partners: BTreeMap<String, Vec<(&Object, u32)>> = BTreeMap::new();
    for (index, row) in right.iter().enumerate() {
        let fields = fields(1, row)?;
        if let Some(key) = row_key(right_key, row, index, context)? {
            partners.entry(key).or_default().push((fields, index as u32));
        }
    }
    let mut rows = Vec::new();
    let (mut from_left, mut from_right) = (Vec::new(), Vec::new());
    for (index, row) in left.iter().enumerate() {
        let fields = fields(0, row)?;
        let Some(key) = row_key(key, row, index, context)? else {
            continue;
        };
        for (partner, place) in partners.get(&key).into_iter().flatten() {
            let mut joined = fields.clone();
            add_fields(&mut joined, partner, levels);
            rows.push(Value::Object(joined));
            from_left.push(index as u32);
            from_right.push(*place);
        }
    }
    context.pair_lists(0, vec![from_left, from_right]);
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

/// Adds fields; what both have of a field is merged at so many levels, and below them the new one counts.
fn add_fields(object: &mut Object, more: &Object, levels: usize) {
    for (name, value) in more.iter() {
        let known = object.get_text(name).filter(|_| levels > 0);
        let value = match known {
            Some(known) => deeply(known, value, levels - 1),
            None => value.clone(),
        };
        object.insert(name.clone(), value);
    }
}

/// Two values of a field. A list remains one: of an object it takes the fields that name places.
fn deeply(known: &Value, value: &Value, levels: usize) -> Value {
    match (known, value) {
        (Value::Object(known), Value::Object(more)) => {
            let mut merged = known.clone();
            add_fields(&mut merged, more, levels);
            Value::Object(merged)
        }
        (Value::Array(known), Value::Array(more)) if levels > 0 => {
            with_elements(known, more.iter().enumerate(), levels)
        }
        (Value::Array(known), Value::Object(more)) if levels > 0 => {
            let more = more.iter().filter_map(|(name, value)| {
                let place = place_of(&name.to_utf8())?;
                Some((place, value))
            });
            with_elements(known, more, levels)
        }
        (known, Value::Undefined) => known.clone(),
        (_, value) => value.clone(),
    }
}

fn with_elements<'v>(known: &Array, more: impl Iterator<Item = (usize, &'v Value)>, levels: usize) -> Value {
    let mut elements = known.to_vec();
    for (place, value) in more {
        if elements.len() <= place {
            elements.resize(place + 1, Value::Null);
        }
        if let Some(element) = elements.get_mut(place) {
            *element = deeply(element, value, levels - 1);
        }
    }
    elements.into()
}

/// The place in a list that a name says.
fn place_of(name: &str) -> Option<usize> {
    let place: usize = name.parse().ok()?;
    (place < PLACES_MAX && place.to_string() == name).then_some(place)
}

fn unfit(mode: &str, takes: &str, index: usize, value: &Value) -> Failure {
    let message = format!(
        "Merge by `{mode}` takes {takes}, but value {} of those that came is {}.",
        index + 1,
        value.shape()
    );
    Failure::new(code::PARAMETER, message)
}
