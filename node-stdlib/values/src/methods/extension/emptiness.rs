//! What is empty, and `$ifEmpty`.

use crate::Value;
use crate::methods::Outcome;
use crate::methods::arguments::Arguments;

/// `undefined`, `null`, and text, arrays and objects with nothing in them.
pub(in crate::methods) fn is_empty(value: &Value) -> bool {
    match value {
        Value::Undefined | Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(array) => array.is_empty(),
        Value::Object(object) => object.is_empty(),
        _ => false,
    }
}

/// `$ifEmpty(value, otherwise)`
pub(in crate::methods) fn if_empty(arguments: Arguments<'_>) -> Outcome {
    let value = arguments.get(0);
    let position = usize::from(is_empty(value));
    Ok(arguments.get(position).clone())
}
