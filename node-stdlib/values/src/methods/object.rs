//! `Object`: its functions, and the methods that every value has.

use super::arguments::Arguments;
use super::{Exception, Kind, Method, Outcome};
use crate::{Object, Text, Value, ops};

/// A method that every value has; `None` when it is none.
pub(super) fn call(value: &Value, method: Method, arguments: Arguments<'_>) -> Option<Outcome> {
    Some(match method {
        Method::HasOwnProperty | Method::PropertyIsEnumerable => {
            key_of(arguments.get(0)).map(|key| (key_is_own(value, &key, method)).into())
        }
        Method::ToString | Method::ToLocaleString => {
            ops::to_string(value).map(Value::String).map_err(Exception::from)
        }
        Method::ValueOf => Ok(value.clone()),
        _ => return None,
    })
}

fn key_of(value: &Value) -> Result<Text, Exception> {
    Ok(ops::to_property_key(value)?)
}

fn key_is_own(value: &Value, key: &Text, method: Method) -> bool {
    // The only own property that is not enumerable.
    let length = *key == "length" && matches!(value, Value::Array(_) | Value::String(_));
    has_own(value, key) && !(length && method == Method::PropertyIsEnumerable)
}

fn has_own(value: &Value, key: &Text) -> bool {
    let below = |len: usize| key.as_index().is_some_and(|index| (index as usize) < len);
    match value {
        Value::Object(object) => object.get_text(key).is_some(),
        Value::Array(array) => *key == "length" || below(array.len()),
        Value::String(text) => *key == "length" || below(text.len()),
        _ => false,
    }
}

/// `Object.hasOwn`
pub(super) fn has_own_property(arguments: Arguments<'_>) -> Outcome {
    let value = not_nullish(arguments.get(0))?;
    Ok(has_own(value, &key_of(arguments.get(1))?).into())
}

/// `Object.keys`
pub(super) fn keys(arguments: Arguments<'_>) -> Outcome {
    let mut keys = Vec::new();
    properties(not_nullish(arguments.get(0))?, |key, _| {
        keys.push(Value::String(key))
    });
    Ok(keys.into())
}

/// `Object.values`
pub(super) fn values(arguments: Arguments<'_>) -> Outcome {
    let mut values = Vec::new();
    properties(not_nullish(arguments.get(0))?, |_, value| values.push(value));
    Ok(values.into())
}

/// `Object.entries`
pub(super) fn entries(arguments: Arguments<'_>) -> Outcome {
    let mut entries: Vec<Value> = Vec::new();
    properties(not_nullish(arguments.get(0))?, |key, value| {
        entries.push(vec![Value::String(key), value].into());
    });
    Ok(entries.into())
}

/// `Object.fromEntries`
pub(super) fn from_entries(arguments: Arguments<'_>) -> Outcome {
    let mut object = Object::new();
    let entries = match arguments.get(0) {
        Value::Array(entries) => entries.to_vec(),
        // Its characters are no entries; the empty string has none.
        Value::String(text) => text.code_points().map(Value::String).collect(),
        other => {
            let message = format!(
                "{} is not iterable: an array of [name, value] belongs here",
                other.shape()
            );
            return Err(Exception::new(Kind::Type, message));
        }
    };
    for entry in &entries {
        if !matches!(entry, Value::Array(_) | Value::Object(_) | Value::Temporal(_)) {
            let message = format!(
                "{} is not an entry object: [name, value] belongs here",
                entry.shape()
            );
            return Err(Exception::new(Kind::Type, message));
        }
        let key = ops::get_index(entry, &Value::Number(0.0))?;
        let value = ops::get_index(entry, &Value::Number(1.0))?;
        object.insert(key_of(&key)?, value);
    }
    Ok(object.into())
}

/// `Object.assign`; the target is a copy.
pub(super) fn assign(arguments: Arguments<'_>) -> Outcome {
    let target = not_nullish(arguments.get(0))?;
    let Value::Object(target) = target else {
        return match arguments.all() {
            [Value::Array(array)] => Ok(array.clone().into()),
            _ => Err(Exception::new(
                Kind::Unsupported,
                format!(
                    "`Object.assign` only extends objects here, not {}",
                    target.shape()
                ),
            )),
        };
    };
    let mut all = target.clone();
    for source in arguments.all().iter().skip(1) {
        if matches!(source, Value::Object(source) if source.contains("__proto__")) {
            let message =
                "`Object.assign` of a property `__proto__`, which sets a prototype, isn't supported";
            return Err(Exception::new(Kind::Unsupported, message));
        }
        ops::set_spread(&mut all, source);
    }
    Ok(all.into())
}

/// Own enumerable properties in JavaScript's order.
fn properties(value: &Value, mut each: impl FnMut(Text, Value)) {
    match value {
        Value::Object(object) => {
            object
                .iter()
                .for_each(|(key, value)| each(key.clone(), value.clone()));
        }
        Value::Array(array) => {
            array
                .iter()
                .enumerate()
                .for_each(|(index, value)| each(index.to_string().into(), value.clone()));
        }
        Value::String(text) => {
            let units = text.units().enumerate();
            units.for_each(|(index, unit)| each(index.to_string().into(), Text::from_units(&[unit]).into()));
        }
        _ => {}
    }
}

fn not_nullish(value: &Value) -> Result<&Value, Exception> {
    match value.is_nullish() {
        true => {
            let message = format!("Cannot convert {} to object", value.type_name());
            Err(Exception::new(Kind::Type, message))
        }
        false => Ok(value),
    }
}
