//! Nodes of definitions of kind `component`: code of the user's own in a WebAssembly component, which the host
//! executes in a sandbox of its own.
//!
//! The compiler sets `component`, the number of the component in the module, `ports` for a definition with several
//! outputs, and `params`, the node's parameters. Input, parameters and output cross as JSON text.

use super::parameters::array;
use crate::failure::{Failure, unreadable};
use crate::node::{Context, Emission, NodeResult, Outcome};
use heddle_contract::abi::code;
use heddle_values::{JSON_DEPTH_MAX, Object, Text, Value, parse_json};

/// Asks the host for the effect `component`: `{component, input, parameters, item?, key, timeoutMs?}` gives the
/// output's text.
pub fn component(parameters: &Object, context: &mut dyn Context) -> NodeResult {
    let params = match parameters.get("params") {
        None | Some(Value::Undefined | Value::Null) => Value::Object(Object::new()),
        Some(params) => params.clone(),
    };
    let mut request = Object::new();
    let number = parameters.get("component").cloned().unwrap_or_default();
    request.insert("component", number);
    request.insert("input", context.input().into_json().to_json().into());
    request.insert("parameters", params.into_json().to_json().into());
    let item = context.item();
    if !matches!(item, Value::Undefined) {
        request.insert("item", item);
    }
    request.insert("key", context.execution_key().into());
    let request = Value::Object(request);
    Ok(Outcome::Effect {
        kind: "component",
        request,
    })
}

/// The component has returned a text.
pub fn resume(parameters: &Object, output: Value, _: &mut dyn Context) -> NodeResult {
    let text = output.to_text();
    let value = parse_json(text.to_utf8().as_bytes(), JSON_DEPTH_MAX).map_err(|error| {
        let wrong = if error.too_deep {
            "is"
        } else {
            "is not valid JSON:"
        };
        let message = format!(
            "The component's output {wrong} {} at byte {}.",
            error.message, error.offset
        );
        Failure::new(unreadable(&error, code::COMPONENT), message)
    })?;
    by_ports(parameters, value, code::COMPONENT, "component").map(Outcome::Emit)
}

/// What code of the user's own returned; with several ports an object of their values, those that it lacks being dead.
pub(super) fn by_ports(
    parameters: &Object,
    value: Value,
    code: &'static str,
    whose: &str,
) -> Result<Emission, Failure> {
    let Some(ports) = array(parameters, "ports")? else {
        return Ok(Emission::one(0, value));
    };
    let names: Vec<Text> = ports.iter().map(Value::to_text).collect();
    let Value::Object(values) = value else {
        let names = names.iter().map(Text::to_string).collect::<Vec<_>>().join(", ");
        let message = format!(
            "The {whose} must return an object with the values of the outputs {names}, but returned {}.",
            value.shape()
        );
        return Err(Failure::new(code, message));
    };
    let port_value = |(port, name): (usize, &Text)| match values.get_text(name) {
        None | Some(Value::Undefined) => None,
        Some(value) => Some((port as u32, value.clone())),
    };
    Ok(Emission(
        names.iter().enumerate().filter_map(port_value).collect(),
    ))
}
