//! Merge: one value of those that several edges brought.

use super::super::parameters::{boolean, choice, given, required, select};
use crate::failure::Failure;
use crate::node::{Context, Emission, NodeResult, Origins, Outcome};
use heddle_contract::abi::code;
use heddle_contract::plan::NONE;
use heddle_values::keys::key_of;
use heddle_values::{Array, Object, Text, Value};
use std::collections::BTreeMap;

const MODES: &[&str] = &["first", "append", "combine", "zip", "join"];
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
    let is_deep = boolean(parameters, "deep", false)?;
    let merged = match choice(parameters, "mode", MODES, "append")? {
        "first" => context.input(),
        "combine" => combine(&values, is_deep)?,
        "zip" => {
            let zipped = zip(&values, is_deep)?;
            let length = as_list(&zipped).len() as u32;
            context.pair_lists(0, values.iter().map(|_| (0..length).collect()).collect());
            zipped
        }
        "join" => join(parameters, &values, is_deep, context)?,
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
fn combine(values: &[Value], is_deep: bool) -> Result<Value, Failure> {
    let mut merged = Object::new();
    for (index, value) in values.iter().enumerate() {
        let Value::Object(object) = value else {
            return Err(unfit("combine", "objects", index, value));
        };
        match index {
            0 => merged = object.clone(),
            _ => add_fields(&mut merged, object, is_deep),
        }
    }
    Ok(Value::Object(merged))
}

/// The elements at each place, up to the end of the shortest list: objects as one object, else as a list.
fn zip(values: &[Value], is_deep: bool) -> Result<Value, Failure> {
    let lists = lists("zip", values)?;
    let length = lists.iter().map(|list| list.len()).min().unwrap_or(0);
    let rows = (0..length).map(|place| {
        let elements: Vec<Value> = lists.iter().filter_map(|list| list.get(place).cloned()).collect();
        match elements.iter().all(|element| matches!(element, Value::Object(_))) {
            true => combine(&elements, is_deep),
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
    is_deep: bool,
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
            add_fields(&mut joined, partner, is_deep);
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

/// Adds fields; what both have of a field is merged as well if that is wanted, else the new one counts.
fn add_fields(object: &mut Object, more: &Object, is_deep: bool) {
    for (name, value) in more.iter() {
        let known = object.get_text(name).filter(|_| is_deep);
        let value = match known {
            Some(known) => deeply(known, value),
            None => value.clone(),
        };
        object.insert(name.clone(), value);
    }
}

/// Two values of a field, at any depth. A list remains one: of an object it takes the fields that name places. What is open waits in
/// a list rather than on the guest's stack, which is small for values as deep as they may be.
fn deeply(known: &Value, value: &Value) -> Value {
    let mut open = Vec::new();
    let mut merged = begun(&mut open, known, value);
    loop {
        let Some(merging) = open.last_mut() else {
            return merged.unwrap_or_default();
        };
        if let Some(value) = merged.take() {
            merging.put(value);
        }
        merged = match merging.advance() {
            Some((known, value)) => begun(&mut open, &known, value),
            None => open.pop().map(Merging::into_value),
        };
    }
}

/// Merges two values of which one counts as a whole; others are open from then on.
fn begun<'v>(open: &mut Vec<Merging<'v>>, known: &Value, value: &'v Value) -> Option<Value> {
    let merging = match (known, value) {
        (Value::Object(known), Value::Object(more)) => Merging::Fields {
            merged: known.clone(),
            rest: Box::new(more.iter()),
            at: None,
        },
        (Value::Array(known), Value::Array(more)) => Merging::Elements {
            merged: known.to_vec(),
            rest: Box::new(more.iter().enumerate()),
            at: 0,
        },
        (Value::Array(known), Value::Object(more)) => Merging::Elements {
            merged: known.to_vec(),
            rest: Box::new(more.iter().filter_map(|(name, value)| {
                let place = place_of(&name.to_utf8())?;
                Some((place, value))
            })),
            at: 0,
        },
        (known, Value::Undefined) => return Some(known.clone()),
        (_, value) => return Some(value.clone()),
    };
    open.push(merging);
    None
}

/// What is still to come, each with its place.
type Rest<'v, P> = Box<dyn Iterator<Item = (P, &'v Value)> + 'v>;

/// An object or list into which another one is being merged, and the place of what is merged just now.
enum Merging<'v> {
    Fields {
        merged: Object,
        rest: Rest<'v, &'v Text>,
        at: Option<&'v Text>,
    },
    Elements {
        merged: Vec<Value>,
        rest: Rest<'v, usize>,
        at: usize,
    },
}

impl<'v> Merging<'v> {
    /// Goes on to the next place at which both have a value, and gives the two.
    fn advance(&mut self) -> Option<(Value, &'v Value)> {
        match self {
            Merging::Fields { merged, rest, at } => {
                for (name, value) in rest {
                    match merged.get_text(name) {
                        Some(known) => {
                            *at = Some(name);
                            return Some((known.clone(), value));
                        }
                        None => merged.insert(name.clone(), value.clone()),
                    }
                }
                None
            }
            Merging::Elements { merged, rest, at } => {
                let (place, value) = rest.next()?;
                if merged.len() <= place {
                    merged.resize(place + 1, Value::Null);
                }
                *at = place;
                Some((merged.get(place).cloned().unwrap_or_default(), value))
            }
        }
    }

    /// Puts there what has been made of them.
    fn put(&mut self, value: Value) {
        match self {
            Merging::Fields { merged, at, .. } => {
                if let Some(name) = *at {
                    merged.insert(name.clone(), value);
                }
            }
            Merging::Elements { merged, at, .. } => {
                if let Some(element) = merged.get_mut(*at) {
                    *element = value;
                }
            }
        }
    }

    fn into_value(self) -> Value {
        match self {
            Merging::Fields { merged, .. } => Value::Object(merged),
            Merging::Elements { merged, .. } => merged.into(),
        }
    }
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
