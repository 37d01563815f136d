//! What lies at paths of values, of names and of functions' parameters, by one call each.

use super::calls::parameter_of;
use super::handles::{Resolved, read, read_names, resolved_names};
use super::{settled, with_run};
use heddle_values::{TypeError, Value, ops};

#[unsafe(export_name = "path")]
extern "C" fn path(from: i32, names: i32) -> i32 {
    settled(read(from, |from| along(from, names)))
}

#[unsafe(export_name = "input_path")]
extern "C" fn input_path(names: i32) -> i32 {
    settled(with_run(|run| Some(run.with_input(|input| along(input, names)))).unwrap_or(Ok(Value::Undefined)))
}

#[unsafe(export_name = "item_path")]
extern "C" fn item_path(names: i32) -> i32 {
    settled(with_run(|run| Some(run.with_item(|item| along(item, names)))).unwrap_or(Ok(Value::Undefined)))
}

#[unsafe(export_name = "parameter_path")]
extern "C" fn parameter_path(up: i32, index: i32, names: i32) -> i32 {
    settled(parameter_of(up, index, |parameter| along(parameter, names)))
}

/// What lies at a path.
fn along(from: &Value, names: i32) -> Result<Value, TypeError> {
    match resolved_names(names) {
        Some(names) => along_known(from, names),
        None => along_unread(from, read_names(names)),
    }
}

// Both follow own properties without counting references.

fn along_unread(from: &Value, mut names: impl Iterator<Item = &'static Value>) -> Result<Value, TypeError> {
    let mut at = from;
    while let Some(name) = names.next() {
        let own = match (at, name) {
            (Value::Object(object), Value::String(text)) => object.get_text(text),
            _ => None,
        };
        match own {
            Some(found) => at = found,
            None => return further(ops::get_index(at, name)?, names),
        }
    }
    Ok(at.clone())
}

#[inline]
fn along_known(from: &Value, mut names: &'static [Resolved]) -> Result<Value, TypeError> {
    let mut at = from;
    while let [name, rest @ ..] = names {
        let own = match (at, name.value) {
            (Value::Object(object), Value::String(text)) => object.get_near(text, &name.near),
            _ => None,
        };
        match own {
            Some(found) => at = found,
            None => return further(at.clone(), names.iter().map(|name| name.value)),
        }
        names = rest;
    }
    Ok(at.clone())
}

/// Also what is no object's own.
fn further(from: Value, mut names: impl Iterator<Item = &'static Value>) -> Result<Value, TypeError> {
    names.try_fold(from, |at, name| ops::get_index(&at, name))
}
