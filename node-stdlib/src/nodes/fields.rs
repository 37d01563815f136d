//! Nodes that work on an object's fields: SetFields, PickFields, RenameFields, and Transform, which replaces it.

use super::parameters::{array, boolean, mismatch, object, required};
use crate::failure::Failure;
use crate::node::{Context, Emission, NodeResult, Outcome};
use heddle_contract::abi::code;
use heddle_values::{JSON_DEPTH_MAX, Object, Text, Value, parse_json, text_to_number};

fn emit(value: Value) -> NodeResult {
    Ok(Outcome::Emit(Emission::one(0, value)))
}

/// Transform: the value of its parameter.
pub fn transform(parameters: &Object, _: &mut dyn Context) -> NodeResult {
    emit(parameters.get("value").cloned().unwrap_or_default())
}

/// SetFields
pub fn set_fields(parameters: &Object, context: &mut dyn Context) -> NodeResult {
    required(parameters, "fields", "an object of fields")?;
    let fields = object(parameters, "fields")?.cloned().unwrap_or_default();
    let fields = match object(parameters, "types")? {
        Some(types) => typed(&fields, types)?,
        None => fields,
    };
    let keep = boolean(parameters, "keepInput", true)?;
    // Names are short: calling what searches long texts takes longer.
    let is_path = |name: &str| name.bytes().any(|byte| byte == b'.');
    let has_paths = fields.has_name(|name| name.as_str().is_some_and(is_path));
    let set = |mut target: Object| {
        if target.is_empty() && !has_paths {
            return Ok(fields.copy());
        }
        for (name, value) in fields.iter() {
            match name.as_str() {
                Some(path) if is_path(path) => set_path(&mut target, path, value.clone()),
                _ => target.insert(name.clone(), value.clone()),
            }
        }
        Ok(target)
    };
    match context.input() {
        input if keep => emit(for_each_object(input, set)?),
        Value::Array(items) => {
            let objects: Result<Vec<Value>, Failure> = items
                .iter()
                .map(|_| set(Object::new()).map(Value::Object))
                .collect();
            emit(objects?.into())
        }
        _ => emit(Value::Object(set(Object::new())?)),
    }
}

/// Fields in the types that are named, as n8n converts them; null and what is missing become null.
fn typed(fields: &Object, types: &Object) -> Result<Object, Failure> {
    let mut typed = Object::with_capacity(fields.len());
    for (name, value) in fields.iter() {
        let value = match types.get_text(name) {
            None => value.clone(),
            Some(_) if value.is_nullish() => Value::Null,
            Some(wanted) => {
                let wanted = wanted.to_text();
                let wanted = wanted.to_utf8();
                converted(value, &wanted).ok_or_else(|| {
                    let message = format!(
                        "Field `{name}` must be of the type {wanted}, but it is {}.",
                        value.shape()
                    );
                    Failure::new(code::PARAMETER, message)
                })?
            }
        };
        typed.insert(name.clone(), value);
    }
    Ok(typed)
}

fn converted(value: &Value, wanted: &str) -> Option<Value> {
    match wanted {
        "string" => Some(Value::String(value.to_text())),
        "number" => number_of(value).map(Value::Number),
        "boolean" => match value {
            Value::Bool(_) => Some(value.clone()),
            Value::String(text) if text.to_utf8().eq_ignore_ascii_case("true") => Some(Value::Bool(true)),
            Value::String(text) if text.to_utf8().eq_ignore_ascii_case("false") => Some(Value::Bool(false)),
            Value::String(text) if text.to_utf8().trim().is_empty() => None,
            other => {
                let number = number_of(other)?;
                (number == 0.0 || number == 1.0).then_some(Value::Bool(number == 1.0))
            }
        },
        "array" => match value {
            Value::Array(_) => Some(value.clone()),
            // Lists are also written with single quotes.
            Value::String(text) => parsed(&text.to_utf8())
                .or_else(|| parsed(&text.to_utf8().replace('\'', "\"")))
                .filter(|value| matches!(value, Value::Array(_))),
            _ => None,
        },
        "object" => match value {
            Value::Object(_) => Some(value.clone()),
            Value::String(text) => parsed(&text.to_utf8()).filter(|value| matches!(value, Value::Object(_))),
            _ => None,
        },
        _ => None,
    }
}

fn number_of(value: &Value) -> Option<f64> {
    let number = match value {
        Value::Number(number) => *number,
        Value::Bool(value) => f64::from(u8::from(*value)),
        Value::String(text) => text_to_number(&text.to_utf8()),
        _ => f64::NAN,
    };
    (!number.is_nan()).then_some(number)
}

fn parsed(text: &str) -> Option<Value> {
    parse_json(text.as_bytes(), JSON_DEPTH_MAX).ok()
}

/// PickFields
pub fn pick_fields(parameters: &Object, context: &mut dyn Context) -> NodeResult {
    required(parameters, "fields", "a list of field names")?;
    let names = field_names(parameters)?;
    let picked = for_each_object(context.input(), |source| {
        let source = Value::Object(source);
        let mut target = Object::new();
        for name in &names {
            // A field whose name itself has a dot goes before the path that it could be.
            let own = match &source {
                Value::Object(object) => object.get(name),
                _ => None,
            };
            if let Some(value) = own {
                target.insert(name.as_str(), value.clone());
            } else if let Some(value) = source.at_path(name) {
                set_path(&mut target, name, value.clone());
            }
        }
        Ok(target)
    })?;
    emit(picked)
}

fn field_names(parameters: &Object) -> Result<Vec<String>, Failure> {
    let names = array(parameters, "fields")?.cloned().unwrap_or_default();
    let text = |(index, value): (usize, &Value)| match value {
        Value::String(name) => Ok(name.to_utf8().into_owned()),
        other => Err(mismatch(&format!("fields[{index}]"), "a field name", other)),
    };
    names.iter().enumerate().map(text).collect()
}

/// RenameFields
pub fn rename_fields(parameters: &Object, context: &mut dyn Context) -> NodeResult {
    required(parameters, "mapping", "an object of new names by old name")?;
    let mapping = object(parameters, "mapping")?.cloned().unwrap_or_default();
    for (old, new) in mapping.iter() {
        if !matches!(new, Value::String(_)) {
            return Err(mismatch(&format!("mapping.{old}"), "the new name", new));
        }
    }
    let renamed = for_each_object(context.input(), |source| {
        let mut target = Object::with_capacity(source.len());
        for (name, value) in source.into_properties() {
            let name: Text = match mapping.get_text(&name) {
                Some(Value::String(new)) => new.clone(),
                _ => name,
            };
            target.insert(name, value);
        }
        Ok(target)
    })?;
    emit(renamed)
}

/// Works on the input object, or on each object of an input list. Null counts as an empty object.
fn for_each_object(
    input: Value,
    mut work: impl FnMut(Object) -> Result<Object, Failure>,
) -> Result<Value, Failure> {
    let mut one = |value: Value, what: &str| match value {
        Value::Object(object) => work(object),
        Value::Null | Value::Undefined => work(Object::new()),
        other => {
            let message = format!("This node works on objects, but {what} is {}.", other.shape());
            Err(Failure::new(code::PARAMETER, message))
        }
    };
    match input {
        Value::Array(items) => {
            let objects: Result<Vec<Value>, Failure> = items
                .into_vec()
                .into_iter()
                .enumerate()
                .map(|(index, item)| one(item, &format!("item {index} of its input")).map(Value::Object))
                .collect();
            Ok(objects?.into())
        }
        input => one(input, "its input").map(Value::Object),
    }
}

/// Sets the field at a dotted path, making the objects on the way; what is no object on the way is replaced,
/// but an index into a list that has it sets that element.
pub fn set_path(target: &mut Object, path: &str, value: Value) {
    let Some((first, rest)) = path.split_once('.') else {
        target.insert(path, value);
        return;
    };
    target.update(first, |slot| set_within(slot, rest, value));
}

fn set_within(slot: &mut Value, path: &str, value: Value) {
    match slot {
        Value::Object(object) => set_path(object, path, value),
        Value::Array(items) => {
            let (first, rest) = match path.split_once('.') {
                Some((first, rest)) => (first, Some(rest)),
                None => (path, None),
            };
            let mut elements = items.make_mut();
            let slot = first
                .parse::<usize>()
                .ok()
                .and_then(|index| elements.get_mut(index));
            match (slot, rest) {
                (Some(slot), None) => *slot = value,
                (Some(slot), Some(rest)) => set_within(slot, rest, value),
                (None, _) => {}
            }
        }
        other => {
            let mut object = Object::new();
            set_path(&mut object, path, value);
            *other = Value::Object(object);
        }
    }
}
