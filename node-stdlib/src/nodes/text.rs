//! What the nodes for text, formats and cryptography have in common: where they find what they work on.

use super::file_value::{READ_FIRST, is_file_value};
use super::parameters::mismatch;
use crate::failure::Failure;
use crate::node::Context;
use heddle_contract::abi::code;
use heddle_values::{Object, Value};

/// The parameter `value`, or the input if there is no such parameter.
pub(super) fn value_or_input(parameters: &Object, context: &dyn Context) -> Value {
    match parameters.get("value") {
        Some(value) => value.clone(),
        None => context.input(),
    }
}

/// [`value_or_input`] as text. Numbers and booleans are taken as text too; nothing else is, since the text of an
/// object is rarely what is meant.
pub(super) fn text_or_input(parameters: &Object, context: &dyn Context) -> Result<String, Failure> {
    text_unless_file(parameters, context, READ_FIRST)
}

/// [`text_or_input`] of a node that knows better what to do about a file.
pub(super) fn text_unless_file(
    parameters: &Object,
    context: &dyn Context,
    otherwise: &str,
) -> Result<String, Failure> {
    let value = value_or_input(parameters, context);
    if let Value::String(_) | Value::Number(_) | Value::Bool(_) = value {
        return Ok(value.to_text().to_utf8().into_owned());
    }
    let message = match (parameters.contains("value"), is_file_value(&value)) {
        (true, false) => return Err(mismatch("value", "text", &value)),
        (true, true) => format!("Parameter `value` takes text, but it is a file. {otherwise}"),
        (false, true) => format!("This node works on text, but its input is a file. {otherwise}"),
        (false, false) => format!(
            "This node works on text, but its input is {}. Give it the text by the parameter `value`, for \
             example `{{{{ $input.text }}}}`.",
            value.shape()
        ),
    };
    Err(Failure::new(code::PARAMETER, message))
}

/// Whether a text has a reference to a secret, which only the host can replace.
pub(super) fn holds_secret(text: &str) -> bool {
    text.contains("heddle-secret(")
}

/// Refuses a text that would be encoded so that the host no longer recognises the secret in it.
pub(super) fn refuse_secret(text: &str) -> Result<(), Failure> {
    match holds_secret(text) {
        false => Ok(()),
        true => Err(Failure::new(
            code::PARAMETER,
            "A secret can't be encoded here: within a pattern it is only a reference. Give it to the node that sends \
             it, such as HttpRequest by its headers or its connection.",
        )),
    }
}

/// 1-based line and column (in characters) of a byte offset.
pub(super) fn position(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    let column = before.get(line_start..).unwrap_or_default().chars().count() + 1;
    (before.matches('\n').count() + 1, column)
}
