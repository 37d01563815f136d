//! Values as what calls of times take, and the other way round.

use super::duration::Duration;
use super::temporal::Temporal;
use super::unit::{Field, Fields, Unit};
use crate::{Object, Text, TypeError, Value, ops};

/// The amount of a unit that a value gives.
pub(super) fn amount(value: &Value) -> Result<f64, TypeError> {
    let number = match value {
        Value::Bool(_) => f64::NAN,
        Value::String(text) if text.is_empty() => f64::NAN,
        _ => ops::to_number(value)?,
    };
    match number.is_finite() {
        true => Ok(number),
        false => Err(TypeError(format!(
            "Invalid unit value: expected a number, not {}",
            value.shape()
        ))),
    }
}

pub(super) fn text_of(text: Option<String>) -> Value {
    text.map_or(Value::Null, Value::from)
}

/// A text argument, of which every value has one.
pub(super) fn argument_text(value: &Value) -> Result<Text, TypeError> {
    ops::to_string(value)
}

/// Fields out of an object such as `{ year: 2026, month: 11 }`.
pub(super) fn fields_of(object: &Object) -> Result<Fields, TypeError> {
    let given = object.iter().filter(|(_, value)| !value.is_nullish());
    given
        .map(|(name, value)| Ok((Field::from_name(&name.to_utf8())?, amount(value)?)))
        .collect()
}

/// `Duration.fromObject(object)`
pub(super) fn duration_of_object(object: &Object) -> Result<Duration, TypeError> {
    let mut duration = Duration::new(Vec::with_capacity(object.len()));
    for (name, value) in object.iter().filter(|(_, value)| !value.is_nullish()) {
        duration.set(Unit::from_name(&name.to_utf8())?, amount(value)?);
    }
    Ok(duration)
}

/// A number of milliseconds, a duration, or an object of units.
pub(super) fn duration_of(value: &Value) -> Result<Duration, TypeError> {
    match value {
        Value::Number(_) => Ok(Duration::of(amount(value)?, Unit::Milliseconds)),
        Value::Object(object) => duration_of_object(object),
        Value::Temporal(temporal) => match &**temporal {
            Temporal::Duration(duration) => Ok(duration.clone()),
            _ => Err(no_duration(value)),
        },
        _ => Err(no_duration(value)),
    }
}

/// `duration.toObject()`
pub(super) fn duration_object(duration: &Duration) -> Object {
    duration
        .values
        .iter()
        .map(|(unit, amount)| (unit.name(), Value::Number(*amount)))
        .collect()
}

fn no_duration(value: &Value) -> TypeError {
    TypeError(format!(
        "Unknown duration: expected a number of milliseconds, a Duration or an object such as {{ days: 1 }}, not {}",
        value.shape()
    ))
}
