//! Template: text with values in it. Knows nothing of expressions: they are evaluated before.

use super::parameters;
use crate::node::{Context, Emission, NodeResult, Outcome};
use heddle_values::{Object, Value};

/// Emits `text` as text.
pub fn template(parameters: &Object, _: &mut dyn Context) -> NodeResult {
    let text = match parameters.get("text") {
        Some(text) => text.to_text(),
        None => parameters::required(parameters, "text", "text")?.to_text(),
    };
    Ok(Outcome::Emit(Emission::one(0, Value::String(text))))
}
