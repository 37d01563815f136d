//! Json: JSON text to values and back.

use super::parameters;
use super::text::{position, text_unless_file, value_or_input};
use crate::failure::{Failure, unreadable};
use crate::node::{Context, Emission, NodeResult, Outcome};
use heddle_contract::abi::code;
use heddle_values::{JSON_DEPTH_MAX, Object, Value, parse_json};

/// What to do about a file.
const VALUES_OF_FILES: &str =
    "The node File (`operation: \"read\"`, `format: \"json\"`) gives the value that it holds.";

/// `parse` or `stringify`.
pub fn json(parameters: &Object, context: &mut dyn Context) -> NodeResult {
    let value = match parameters::choice(parameters, "operation", &["parse", "stringify"], "parse")? {
        "parse" => parse(&text_unless_file(parameters, context, VALUES_OF_FILES)?)?,
        _ => stringify(parameters, value_or_input(parameters, context))?,
    };
    Ok(Outcome::Emit(Emission::one(0, value)))
}

fn parse(text: &str) -> Result<Value, Failure> {
    // What editors put before the text (a byte order mark) is no JSON, but meant as none either.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    parse_json(text.as_bytes(), JSON_DEPTH_MAX).map_err(|error| {
        let (line, column) = position(text, error.offset);
        let wrong = if error.too_deep {
            "is"
        } else {
            "is not valid JSON:"
        };
        let message = format!(
            "The text {wrong} {}, in line {line}, column {column}.",
            error.message
        );
        Failure::new(unreadable(&error, code::PARSE), message)
    })
}

fn stringify(parameters: &Object, value: Value) -> Result<Value, Failure> {
    let indent = parameters::integer(parameters, "indent", 0, 10)?.unwrap_or(0);
    let mut text = String::new();
    value
        .into_json()
        .write_json_pretty(&mut text, &" ".repeat(indent.unsigned_abs() as usize));
    Ok(text.into())
}
