//! The parameter `pagination`, as the `http` effect takes it.

use super::super::parameters::{choice, given, integer, object, required_text, text};
use crate::failure::Failure;
use heddle_values::{Object, Value};

/// Pages asked for when `maxPages` is not given.
const PAGES: i64 = 100;
const PAGES_MAX: i64 = 1_000;

/// The checked parameter, if it is there.
pub fn pagination(parameters: &Object) -> Result<Option<Value>, Failure> {
    let Some(pages) = object(parameters, "pagination")? else {
        return Ok(None);
    };
    let named = |failure: Failure| Failure {
        message: failure
            .message
            .replacen("Parameter `", "Parameter `pagination.", 1),
        ..failure
    };
    let mut checked = checked(pages).map_err(named)?;
    if given(parameters, "failure").is_some() {
        checked.insert("mayRefuse", Value::Bool(true));
    }
    Ok(Some(Value::Object(checked)))
}

fn checked(given: &Object) -> Result<Object, Failure> {
    required_text(given, "type")?;
    let kind = choice(given, "type", &["link", "cursor", "page"], "link")?;
    let mut checked = Object::from_iter([("type", Value::from(kind))]);
    if kind == "cursor" {
        checked.insert("cursor", required_text(given, "cursor")?.into());
    }
    for name in ["items", "parameter"] {
        if let Some(text) = text(given, name)? {
            checked.insert(name, text.into());
        }
    }
    let mut number = |name: &str, value: Option<i64>| {
        if let Some(value) = value {
            checked.insert(name, Value::Number(value as f64));
        }
    };
    number("start", integer(given, "start", 0, i64::from(u32::MAX >> 1))?);
    number(
        "maxPages",
        Some(integer(given, "maxPages", 1, PAGES_MAX)?.unwrap_or(PAGES)),
    );
    Ok(checked)
}
