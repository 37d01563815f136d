//! What the nodes for text, formats and cryptography have in common: where they find what they work on.

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
    match value_or_input(parameters, context) {
        value @ (Value::String(_) | Value::Number(_) | Value::Bool(_)) => {
            Ok(value.to_text().to_utf8().into_owned())
        }
        value if parameters.contains("value") => Err(mismatch("value", "text", &value)),
        value => Err(Failure::new(
            code::PARAMETER,
            format!(
                "This node works on text, but its input is {}. Give it the text by the parameter `value`, for \
                 example `{{{{ $input.text }}}}`.",
                value.shape()
            ),
        )),
    }
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
