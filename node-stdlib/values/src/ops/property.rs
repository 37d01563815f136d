//! Reading properties: `.`, `[]`, `in` and spreading.
//!
//! Only own properties are read. A name that JavaScript would find on a prototype, such as `map` or
//! `constructor`, is refused rather than read as `undefined`, which would be a wrong answer.

use super::Evaluated;
use super::convert::to_property_key;
use super::inherited::is_inherited;
use crate::text::index_of_name;
use crate::{Array, Object, Text, TypeError, Value, date_time};

/// `value.name`
pub fn get(value: &Value, name: &str) -> Evaluated {
    match value {
        Value::Object(object) => {
            if let Some(found) = object.get(name) {
                return Ok(found.clone());
            }
        }
        Value::Array(array) => {
            if let Some(found) = element(array, name) {
                return Ok(found);
            }
        }
        Value::String(text) => {
            if let Some(found) = character(text, name) {
                return Ok(found);
            }
        }
        Value::Temporal(temporal) => {
            if let Some(found) = date_time::get(temporal, name) {
                return Ok(found);
            }
        }
        Value::Undefined | Value::Null => return Err(of_nullish(value, name)),
        Value::Bool(_) | Value::Number(_) | Value::Function(_) => {}
    }
    match is_inherited(value, name) {
        true => Err(inherited(value, name)),
        false => Ok(Value::Undefined),
    }
}

/// `value[key]`
pub fn get_index(value: &Value, key: &Value) -> Evaluated {
    if let (Value::Array(array), Value::Number(number)) = (value, key) {
        let index = *number as usize;
        if index as f64 == *number {
            return Ok(array.get(index).cloned().unwrap_or_default());
        }
    }
    if value.is_nullish() {
        // Not converted as a key, which could fail for another reason.
        return Err(of_nullish(value, &key.to_text().to_utf8()));
    }
    let name = to_property_key(key)?;
    match (name.as_str(), value) {
        (Some(name), _) => get(value, name),
        (None, Value::Object(object)) => Ok(object.get_text(&name).cloned().unwrap_or_default()),
        (None, _) => Ok(Value::Undefined),
    }
}

/// `key in value`, inherited properties included.
pub fn has(key: &Value, value: &Value) -> Evaluated {
    let found = match value {
        Value::Object(object) => {
            let name = to_property_key(key)?;
            object.get_text(&name).is_some() || name.as_str().is_some_and(|name| is_inherited(value, name))
        }
        Value::Array(array) => {
            let name = to_property_key(key)?;
            name.as_str()
                .is_some_and(|name| element(array, name).is_some() || is_inherited(value, name))
        }
        Value::Function(_) | Value::Temporal(_) => to_property_key(key)?
            .as_str()
            .is_some_and(|name| is_inherited(value, name)),
        _ => {
            return Err(TypeError(format!(
                "Cannot use 'in' operator to search for {} in {}: it is not an object",
                key.shape(),
                value.shape()
            )));
        }
    };
    Ok(Value::Bool(found))
}

/// `[...value]`: appends the elements of an array, or the code points of a string.
pub fn push_spread(array: &mut Array, value: &Value) -> Result<(), TypeError> {
    match value {
        Value::Array(more) if array.is_empty() => *array = more.copy(),
        Value::Array(more) => more.iter().for_each(|element| array.push(element.clone())),
        Value::String(text) => text.code_points().for_each(|point| array.push(point.into())),
        _ => {
            return Err(TypeError(format!(
                "{} is not iterable: only arrays and strings can be spread into an array",
                value.shape()
            )));
        }
    }
    Ok(())
}

/// `{ ...value }`: sets the own properties of an object, the elements of an array or the units of a string by
/// their index; nothing for other values.
pub fn set_spread(object: &mut Object, value: &Value) {
    match value {
        Value::Object(more) if object.is_empty() => *object = more.copy(),
        Value::Object(more) => more
            .iter()
            .for_each(|(name, value)| object.insert(name.clone(), value.clone())),
        Value::Array(array) => {
            for (index, element) in array.iter().enumerate() {
                object.insert(index.to_string(), element.clone());
            }
        }
        Value::String(text) => {
            for (index, unit) in text.units().enumerate() {
                object.insert(index.to_string(), Text::from_units(&[unit]).into());
            }
        }
        _ => {}
    }
}

/// An own property of an array.
fn element(array: &Array, name: &str) -> Option<Value> {
    match index_of_name(name) {
        Some(index) => array.get(usize::try_from(index).ok()?).cloned(),
        None => (name == "length").then(|| Value::Number(array.len() as f64)),
    }
}

/// An own property of a string.
fn character(text: &Text, name: &str) -> Option<Value> {
    match index_of_name(name) {
        Some(index) => text.char_at(usize::try_from(index).ok()?).map(Value::String),
        None => (name == "length").then(|| Value::Number(text.len() as f64)),
    }
}

fn of_nullish(value: &Value, name: &str) -> TypeError {
    TypeError(format!(
        "Cannot read properties of {} (reading '{name}')",
        value.type_name()
    ))
}

fn inherited(value: &Value, name: &str) -> TypeError {
    let hint = match (value, name) {
        (Value::Object(_), _) => "the object has no such property of its own",
        _ => "only its own properties can be read",
    };
    TypeError(format!(
        "'{name}' of {} is inherited, and inherited properties aren't supported in expressions: {hint}",
        value.shape()
    ))
}
