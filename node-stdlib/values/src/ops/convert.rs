//! Conversions: ToPrimitive, ToNumber, ToString, ToPropertyKey.

use crate::builder::TextBuilder;
use crate::{Array, Object, Temporal, Text, TypeError, Value, number_to_text, text_to_number};
use std::borrow::Cow;

/// The type that ToPrimitive prefers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hint {
    /// The value's own choice: text for a `Date`.
    Default,
    Number,
}

/// ToPrimitive. Only times have a `valueOf` that gives a primitive.
pub(super) fn to_primitive(value: &Value, hint: Hint) -> Result<Cow<'_, Value>, TypeError> {
    match value {
        Value::Temporal(temporal) => Ok(Cow::Owned(match (&**temporal, hint) {
            (Temporal::Date(_), Hint::Default) => temporal.to_js_string().into(),
            _ => temporal.value_of().into(),
        })),
        Value::Array(_) | Value::Object(_) | Value::Function(_) => {
            to_string(value).map(|text| Cow::Owned(Value::String(text)))
        }
        _ => Ok(Cow::Borrowed(value)),
    }
}

/// ToNumber.
pub fn to_number(value: &Value) -> Result<f64, TypeError> {
    Ok(match value {
        Value::Number(number) => *number,
        Value::Undefined => f64::NAN,
        Value::Null => 0.0,
        Value::Bool(value) => f64::from(u8::from(*value)),
        Value::String(text) => text_number(text),
        Value::Temporal(temporal) => temporal.value_of(),
        Value::Array(_) | Value::Object(_) | Value::Function(_) => text_number(&to_string(value)?),
    })
}

fn text_number(text: &Text) -> f64 {
    text.as_str().map_or(f64::NAN, text_to_number)
}

/// ToString, as in a template literal. Fails only for an object with a property `toString` of its own, which
/// JavaScript would call and can't.
pub fn to_string(value: &Value) -> Result<Text, TypeError> {
    Ok(match value {
        Value::String(text) => text.clone(),
        Value::Undefined => "undefined".into(),
        Value::Null => "null".into(),
        Value::Bool(true) => "true".into(),
        Value::Bool(false) => "false".into(),
        Value::Number(number) => number_to_text(*number).into(),
        Value::Function(_) => "function".into(),
        Value::Temporal(temporal) => temporal.to_js_string().into(),
        Value::Object(object) => object_string(object)?,
        Value::Array(array) => joined(array)?,
    })
}

/// Appends a value's ToString to a text.
pub fn append_string(value: &Value, text: &mut TextBuilder) -> Result<(), TypeError> {
    match value {
        Value::String(part) => text.push(part),
        Value::Number(number) => text.push_number(*number),
        other => text.push(&to_string(other)?),
    }
    Ok(())
}

/// Appends a value's [`Value::to_text`] to a text.
pub fn append_text(value: &Value, text: &mut TextBuilder) {
    match value {
        Value::String(part) => text.push(part),
        Value::Number(number) => text.push_number(*number),
        other => text.push(&other.to_text()),
    }
}

fn object_string(object: &Object) -> Result<Text, TypeError> {
    if object.contains("toString") {
        return Err(TypeError(
            "Cannot convert object to primitive value: its own property 'toString' is not a function".into(),
        ));
    }
    Ok("[object Object]".into())
}

/// `array.join()`: null and undefined as nothing.
fn joined(array: &Array) -> Result<Text, TypeError> {
    let mut joined = TextBuilder::default();
    join(array, &mut joined)?;
    Ok(joined.finish())
}

fn join(array: &Array, out: &mut TextBuilder) -> Result<(), TypeError> {
    for (at, value) in array.iter().enumerate() {
        if at > 0 {
            out.push_str(",");
        }
        match value {
            Value::Undefined | Value::Null => {}
            Value::Array(inner) => join(inner, out)?,
            other => out.push(&to_string(other)?),
        }
    }
    Ok(())
}

/// ToPropertyKey: the name of the property that `object[value]` means.
pub fn to_property_key(value: &Value) -> Result<Text, TypeError> {
    to_string(value)
}
