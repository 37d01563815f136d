//! Inputs of a call, held against the called pattern's call interface.

use heddle_runtime::{EffectCode, EffectError};
use heddle_store::patterns::PatternRow;
use serde::Deserialize;
use serde_json::{Map, Value};

#[derive(Default, Deserialize)]
struct CallInterface {
    #[serde(default)]
    inputs: Vec<Input>,
}

#[derive(Deserialize)]
struct Input {
    name: String,
    #[serde(rename = "type")]
    input_type: String,
}

/// Everything that is wrong with the inputs of a call. Without a call interface nothing is.
pub(super) fn check(callee: &PatternRow, inputs: &Value) -> Result<(), EffectError> {
    let interface = callee.call_interface.as_deref();
    let interface: CallInterface = interface
        .and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or_default();
    if interface.inputs.is_empty() {
        return Ok(());
    }
    if inputs.is_array() {
        let message = format!(
            "The inputs do not fit the call interface of `{}`: it takes them by name, but they are a list.",
            callee.name
        );
        return Err(EffectError::new(EffectCode::CallInputs, message));
    }
    let none = Map::new();
    let given = inputs.as_object().unwrap_or(&none);
    let mut wrong = Vec::new();
    for Input { name, input_type } in &interface.inputs {
        match given.get(name) {
            None => wrong.push(format!("`{name}` ({input_type}) is missing")),
            Some(value) if !fits(value, input_type) => {
                wrong.push(format!("`{name}` takes {input_type}, but it is {}", kind(value)));
            }
            Some(_) => {}
        }
    }
    for name in given.keys() {
        if !interface.inputs.iter().any(|input| input.name == *name) {
            wrong.push(format!("`{name}` is not one of its inputs"));
        }
    }
    if wrong.is_empty() {
        return Ok(());
    }
    let message = format!(
        "The inputs do not fit the call interface of `{}`: {}.",
        callee.name,
        wrong.join("; ")
    );
    Err(EffectError::new(EffectCode::CallInputs, message))
}

fn fits(value: &Value, input_type: &str) -> bool {
    match input_type {
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "boolean" => value.is_boolean(),
        "object" => value.is_object(),
        "array" => value.is_array(),
        _ => true,
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}
