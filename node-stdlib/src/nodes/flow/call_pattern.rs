//! CallPattern: which pattern to call with what. The host does the calling.

use super::super::parameters::{boolean, choice, given, mismatch, required_text};
use crate::node::{Context, Emission, NodeResult, Outcome};
use heddle_values::{Object, Value};

/// CallPattern: runs another deployed pattern.
pub fn call_pattern(parameters: &Object, context: &mut dyn Context) -> NodeResult {
    let pattern_id = required_text(parameters, "patternId")?;
    let inputs = given(parameters, "inputs").cloned();
    let inputs = inputs.unwrap_or_else(|| context.input());
    let inputs = match inputs {
        // A list is the items of a pattern that is a graph of items.
        inputs @ (Value::Object(_) | Value::Array(_)) => inputs,
        Value::Null | Value::Undefined => Object::new().into(),
        other => {
            return Err(mismatch(
                "inputs",
                "an object of inputs by name, or a list",
                &other,
            ));
        }
    };
    let latest = choice(parameters, "version", &["deployed", "latest"], "deployed")? == "latest";
    let request = Object::from_iter([
        ("patternId", Value::from(pattern_id.trim())),
        ("inputs", inputs),
        ("wait", Value::Bool(boolean(parameters, "wait", true)?)),
        ("latest", Value::Bool(latest)),
    ]);
    Ok(Outcome::Effect {
        kind: "call",
        request: request.into(),
    })
}

/// What the called pattern returned, or its run.
pub fn called(_: &Object, result: Value, _: &mut dyn Context) -> NodeResult {
    Ok(Outcome::Emit(Emission::one(0, result)))
}
