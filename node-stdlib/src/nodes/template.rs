//! Template: text with values in it. Knows nothing of expressions: they are evaluated before.

use super::{Context, Emission, NodeResult, Outcome, parameters};
use crate::value::{Object, Value};

/// Emits `text` as text.
pub fn template(parameters: &Object, _: &mut dyn Context) -> NodeResult {
    let text = match parameters.get("text") {
        Some(text) => text.to_text(),
        None => parameters::required(parameters, "text", "text")?.to_text(),
    };
    Ok(Outcome::Emit(Emission::one(0, Value::String(text))))
}
