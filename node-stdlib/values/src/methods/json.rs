//! `JSON`.

use super::arguments::{Arguments, to_integer};
use super::{Exception, Kind, Outcome};
use crate::{JSON_DEPTH_MAX, Value, json_indent, parse_json};

pub(super) fn parse(arguments: Arguments<'_>) -> Outcome {
    if arguments.defined(1).is_some() {
        let message = "`JSON.parse` with a function isn't supported: use `.map(…)` on what it gives";
        return Err(Exception::new(Kind::Unsupported, message));
    }
    let text = arguments.text(0)?;
    // A lone surrogate may stand in a string.
    parse_json(text.to_utf8().as_bytes(), JSON_DEPTH_MAX).map_err(|error| {
        let message = format!("the text is not valid JSON: {error}");
        Exception::new(Kind::Syntax, message)
    })
}

pub(super) fn stringify(arguments: Arguments<'_>) -> Outcome {
    let value = arguments.get(0);
    if !arguments.get(1).is_nullish() {
        let message = "`JSON.stringify` with a second argument isn't supported: write `null` there";
        return Err(Exception::new(Kind::Unsupported, message));
    }
    if matches!(value, Value::Undefined | Value::Function(_)) {
        return Ok(Value::Undefined);
    }
    let indent = match arguments.get(2) {
        Value::Number(count) => json_indent(&Value::Number(to_integer(*count))),
        other => json_indent(other),
    };
    let mut out = String::new();
    value.write_json_pretty(&mut out, &indent);
    Ok(out.into())
}
