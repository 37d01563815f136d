//! What n8n adds to arrays.

use super::emptiness::is_empty;
use crate::keys::key_of;
use crate::methods::arguments::Arguments;
use crate::methods::{Exception, Global, Kind, Method, Outcome, math};
use crate::{Array, Object, Text, Value, text_to_number};
use std::collections::BTreeMap;

pub(super) fn call(array: &Array, method: Method, arguments: Arguments<'_>) -> Option<Outcome> {
    Some(match method {
        Method::Average => Ok(match array.len() {
            0 => 0.0.into(),
            len => (sum(array) / len as f64).into(),
        }),
        Method::Chunk => chunk(array, arguments),
        Method::Compact => Ok(compact(array).into()),
        Method::First => Ok(array.first().cloned().unwrap_or_default()),
        Method::Keys | Method::Values => {
            let name = method.name();
            let message = format!("`.{name}()` of an array isn't supported: write `[...list.{name}()]`");
            Err(Exception::new(Kind::Unsupported, message))
        }
        Method::Last => Ok(array.last().cloned().unwrap_or_default()),
        Method::Max => extreme(array, Global::MathMax),
        Method::Min => extreme(array, Global::MathMin),
        Method::Pluck => pluck(array, arguments),
        Method::RemoveDuplicates | Method::Unique => unique(array, arguments),
        Method::Sum => Ok(sum(array).into()),
        _ => return None,
    })
}

/// Text counts as the number that it says.
fn to_number(value: &Value) -> f64 {
    match value {
        Value::Number(number) => *number,
        Value::String(text) => text_to_number(&text.to_utf8()),
        _ => f64::NAN,
    }
}

fn sum(array: &Array) -> f64 {
    array.iter().map(to_number).fold(0.0, |sum, number| sum + number)
}

fn extreme(array: &Array, function: Global) -> Outcome {
    let numbers: Vec<Value> = array.iter().map(|value| to_number(value).into()).collect();
    math::call(function, Arguments::new(&numbers)).unwrap_or(Ok(Value::Undefined))
}

fn chunk(array: &Array, arguments: Arguments<'_>) -> Outcome {
    let size = arguments.integer(0)?;
    if size < 1.0 {
        return Err(Exception::new(
            Kind::Type,
            "`.chunk(…)` needs a size of at least 1",
        ));
    }
    let chunks = array
        .chunks(size as usize)
        .map(|chunk| Value::from(chunk.to_vec()));
    Ok(chunks.collect::<Array>().into())
}

fn is_nothing(value: &Value) -> bool {
    match value {
        Value::String(text) => text.is_empty() || *text == "nil",
        other => is_empty(other),
    }
}

fn compact(array: &Array) -> Array {
    let kept = array.iter().filter(|value| !is_nothing(value));
    kept.map(compact_value).collect()
}

/// Without fields that hold nothing, at any depth.
pub(super) fn compact_object(object: &Object) -> Object {
    let kept = object.iter().filter(|(_, value)| !is_nothing(value));
    kept.map(|(name, value)| (name.clone(), compact_value(value)))
        .collect()
}

fn compact_value(value: &Value) -> Value {
    match value {
        Value::Array(array) => compact(array).into(),
        Value::Object(object) => compact_object(object).into(),
        other => other.clone(),
    }
}

fn names(arguments: Arguments<'_>) -> Result<Vec<Text>, Exception> {
    (0..arguments.len()).map(|at| arguments.text(at)).collect()
}

/// The fields of each element: of one name its value, of several an object.
fn pluck(array: &Array, arguments: Arguments<'_>) -> Outcome {
    let names = names(arguments)?;
    let plucked = array.iter().map(|element| match (element, names.as_slice()) {
        (Value::Object(object), [name]) => object.get_text(name).cloned().unwrap_or_default(),
        (Value::Object(object), names @ [_, ..]) => picked(object, names).into(),
        _ => element.clone(),
    });
    Ok(plucked.collect::<Array>().into())
}

fn picked(object: &Object, names: &[Text]) -> Object {
    let fields = names
        .iter()
        .filter_map(|name| Some((name.clone(), object.get_text(name)?.clone())));
    fields.collect()
}

/// The first of those that have the same content, as far as the named fields go.
fn unique(array: &Array, arguments: Arguments<'_>) -> Outcome {
    let names = names(arguments)?;
    let mut known: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    let mut kept = Vec::new();
    for element in array {
        let compared: Value = match element {
            Value::Object(object) if !names.is_empty() => picked(object, &names).into(),
            other => other.clone(),
        };
        let alike = known.entry(key_of(&compared)).or_default();
        if !alike.iter().any(|other| other.deep_equal(&compared)) {
            alike.push(compared);
            kept.push(element.clone());
        }
    }
    Ok(kept.into())
}
