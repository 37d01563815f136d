//! Reading a node's parameters, with errors that name the parameter, what it holds and what it takes.

use super::file_value::{READ_FIRST, is_file_value};
use crate::failure::Failure;
use crate::node::Context;
use heddle_contract::abi::code;
use heddle_values::{Array, Near, Object, Text, Value, number_to_text};

/// The failure of a parameter that holds something else than it takes.
pub fn mismatch(name: &str, takes: &str, value: &Value) -> Failure {
    Failure::new(
        code::PARAMETER,
        format!("Parameter `{name}` takes {takes}, but it is {}.", value.shape()),
    )
}

/// The parameter, unless it is absent, null or undefined.
pub fn given<'a>(parameters: &'a Object, name: &str) -> Option<&'a Value> {
    parameters.get(name).filter(|value| !value.is_nullish())
}

/// The parameter; a failure when it is absent, null or undefined.
pub fn required<'a>(parameters: &'a Object, name: &str, takes: &str) -> Result<&'a Value, Failure> {
    given(parameters, name).ok_or_else(|| {
        let what = parameters.get(name).map_or("missing".to_owned(), Value::shape);
        Failure::new(
            code::PARAMETER,
            format!("Parameter `{name}` takes {takes}, but it is {what}."),
        )
    })
}

/// Text; numbers and booleans are taken as text too.
pub fn text(parameters: &Object, name: &str) -> Result<Option<String>, Failure> {
    match given(parameters, name) {
        None => Ok(None),
        Some(value @ (Value::String(_) | Value::Number(_) | Value::Bool(_))) => {
            Ok(Some(value.to_text().to_utf8().into_owned()))
        }
        Some(value) if is_file_value(value) => {
            let message = format!("Parameter `{name}` takes text, but it is a file. {READ_FIRST}");
            Err(Failure::new(code::PARAMETER, message))
        }
        Some(value) => Err(mismatch(name, "text", value)),
    }
}

/// Text that must be there.
pub fn required_text(parameters: &Object, name: &str) -> Result<String, Failure> {
    required(parameters, name, "text")?;
    Ok(text(parameters, name)?.unwrap_or_default())
}

/// One of some words.
pub fn choice<'a>(
    parameters: &Object,
    name: &str,
    choices: &[&'a str],
    default: &'a str,
) -> Result<&'a str, Failure> {
    let Some(text) = text(parameters, name)? else {
        return Ok(default);
    };
    choices
        .iter()
        .find(|choice| **choice == text)
        .copied()
        .ok_or_else(|| {
            mismatch(
                name,
                &format!("one of {}", choices.join(", ")),
                &Value::from(text.as_str()),
            )
        })
}

/// A boolean; anything else is an error, except the texts `true` and `false`.
pub fn boolean(parameters: &Object, name: &str, default: bool) -> Result<bool, Failure> {
    match given(parameters, name) {
        None => Ok(default),
        Some(Value::Bool(value)) => Ok(*value),
        Some(Value::String(text)) if text.to_utf8() == "true" => Ok(true),
        Some(Value::String(text)) if text.to_utf8() == "false" => Ok(false),
        Some(value) => Err(mismatch(name, "true or false", value)),
    }
}

/// A finite number; text that is one is taken too.
pub fn number(parameters: &Object, name: &str) -> Result<Option<f64>, Failure> {
    let Some(value) = given(parameters, name) else {
        return Ok(None);
    };
    let number = match value {
        Value::Number(number) => *number,
        Value::String(text) if !text.to_utf8().trim().is_empty() => {
            heddle_values::text_to_number(&text.to_utf8())
        }
        _ => f64::NAN,
    };
    if number.is_finite() {
        Ok(Some(number))
    } else {
        Err(mismatch(name, "a number", value))
    }
}

/// A whole number within bounds (which a double holds exactly).
pub fn integer(parameters: &Object, name: &str, min: i64, max: i64) -> Result<Option<i64>, Failure> {
    let Some(number) = number(parameters, name)? else {
        return Ok(None);
    };
    if number.fract() == 0.0 && number >= min as f64 && number <= max as f64 {
        return Ok(Some(number as i64));
    }
    let bounds = format!(
        "a whole number from {} to {}",
        number_to_text(min as f64),
        number_to_text(max as f64)
    );
    Err(mismatch(name, &bounds, &Value::Number(number)))
}

/// An object.
pub fn object<'a>(parameters: &'a Object, name: &str) -> Result<Option<&'a Object>, Failure> {
    match given(parameters, name) {
        None => Ok(None),
        Some(Value::Object(object)) => Ok(Some(object)),
        Some(value) => Err(mismatch(name, "an object", value)),
    }
}

/// An array.
pub fn array<'a>(parameters: &'a Object, name: &str) -> Result<Option<&'a Array>, Failure> {
    match given(parameters, name) {
        None => Ok(None),
        Some(Value::Array(array)) => Ok(Some(array)),
        Some(value) => Err(mismatch(name, "an array", value)),
    }
}

/// The list that a node works on: `items`, or else the input.
pub fn items(parameters: &Object, context: &dyn Context) -> Result<Array, Failure> {
    if let Some(items) = array(parameters, "items")? {
        return Ok(items.clone());
    }
    match context.input() {
        Value::Array(items) => Ok(items),
        input => {
            let message = format!(
                "This node works on an array, but its input is {}. Give it the array by the parameter `items`, \
                 for example `{{{{ $input.items }}}}`.",
                input.shape()
            );
            Err(Failure::new(code::PARAMETER, message))
        }
    }
}

/// What a parameter of the kind "path or expression" picks out of an item: a compiled function is evaluated for
/// it, text is a dotted path into it. What isn't there is undefined.
pub fn select(
    selector: &Value,
    item: &Value,
    index: usize,
    context: &mut dyn Context,
) -> Result<Value, Failure> {
    match selector {
        Value::Function(function) => context.call(*function, item, index),
        Value::String(path) => Ok(item.at_path(&path.to_utf8()).cloned().unwrap_or_default()),
        constant => Ok(constant.clone()),
    }
}

/// As [`select`], for one item of a list after the other.
pub struct Selector<'a> {
    selector: &'a Value,
    /// Of a path that is a single name.
    name: Option<&'a Text>,
    near: Near,
}

impl<'a> Selector<'a> {
    /// Of a parameter.
    pub fn of(selector: &'a Value) -> Self {
        let is_name = |path: &str| !path.is_empty() && !path.contains(['.', '[']);
        let name = match selector {
            Value::String(path) if path.as_str().is_some_and(is_name) => Some(path),
            _ => None,
        };
        Selector {
            selector,
            name,
            near: Near::default(),
        }
    }

    /// See [`select`].
    pub fn select(&self, item: &Value, index: usize, context: &mut dyn Context) -> Result<Value, Failure> {
        match (self.name, item) {
            (Some(name), Value::Object(object)) => {
                Ok(object.get_near(name, &self.near).cloned().unwrap_or_default())
            }
            _ => select(self.selector, item, index, context),
        }
    }
}

/// Whether a condition holds for an item: a compiled function's value, or a constant's own truth.
pub fn holds(
    condition: &Value,
    item: &Value,
    index: usize,
    context: &mut dyn Context,
) -> Result<bool, Failure> {
    match condition {
        Value::Function(function) => context.holds(*function, item, index),
        constant => Ok(constant.truthy()),
    }
}
