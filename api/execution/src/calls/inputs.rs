//! Inputs of a call, held against the called pattern's call interface.

use heddle_runtime::{EffectCode, EffectError};
use heddle_store::patterns::PatternRow;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::{BTreeMap, HashSet};

/// Inputs that are told of those that the interface does not have, and characters of their names: there may be a million.
const OTHERS_TOLD: usize = 20;
const NAME_CHARS_TOLD: usize = 100;

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
pub(super) fn check(callee: &PatternRow, inputs: &RawValue) -> Result<(), EffectError> {
    let interface = callee.call_interface.as_deref();
    let interface: CallInterface = interface
        .and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or_default();
    if interface.inputs.is_empty() {
        return Ok(());
    }
    if inputs.get().starts_with('[') {
        let message = format!(
            "The inputs do not fit the call interface of `{}`: it takes them by name, but they are a list.",
            callee.name
        );
        return Err(EffectError::new(EffectCode::CallInputs, message));
    }
    let wrong = wrong(&interface, inputs.get());
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

/// What is wrong, each by itself. What is not an object has no inputs.
fn wrong(interface: &CallInterface, inputs: &str) -> Vec<String> {
    let given: BTreeMap<String, &RawValue> = serde_json::from_str(inputs).unwrap_or_default();
    let mut wrong = Vec::new();
    for Input { name, input_type } in &interface.inputs {
        match given.get(name).map(|value| value.get()) {
            None => wrong.push(format!("`{name}` ({input_type}) is missing")),
            Some(value) if !fits(value, input_type) => {
                wrong.push(format!("`{name}` takes {input_type}, but it is {}", kind(value)));
            }
            Some(_) => {}
        }
    }
    let known: HashSet<&str> = interface.inputs.iter().map(|input| input.name.as_str()).collect();
    let mut others = given.keys().filter(|name| !known.contains(name.as_str()));
    for name in others.by_ref().take(OTHERS_TOLD) {
        let name: String = name.chars().take(NAME_CHARS_TOLD).collect();
        wrong.push(format!("`{name}` is not one of its inputs"));
    }
    let more = others.count();
    if more > 0 {
        wrong.push(format!("nor are {more} others"));
    }
    wrong
}

/// Whether a value, as JSON without blanks around it, is of this type.
fn fits(value: &str, input_type: &str) -> bool {
    match input_type {
        "string" => kind(value) == TEXT,
        "number" => kind(value) == NUMBER,
        "integer" => serde_json::from_str::<f64>(value).is_ok_and(|number| number.fract() == 0.0),
        "boolean" => kind(value) == BOOLEAN,
        "object" => kind(value) == OBJECT,
        "array" => kind(value) == ARRAY,
        _ => true,
    }
}

const TEXT: &str = "a string";
const NUMBER: &str = "a number";
const BOOLEAN: &str = "a boolean";
const OBJECT: &str = "an object";
const ARRAY: &str = "an array";

fn kind(value: &str) -> &'static str {
    match value.as_bytes().first() {
        Some(b'n') => "null",
        Some(b't' | b'f') => BOOLEAN,
        Some(b'"') => TEXT,
        Some(b'[') => ARRAY,
        Some(b'{') => OBJECT,
        _ => NUMBER,
    }
}

#[cfg(test)]
mod tests {
    use super::{CallInterface, NAME_CHARS_TOLD, OTHERS_TOLD, wrong};
    use serde_json::json;

    fn interface(types: &[&str]) -> CallInterface {
        let input = |input_type: &&str| json!({"name": input_type, "type": input_type});
        let inputs: Vec<_> = types.iter().map(input).collect();
        serde_json::from_value(json!({ "inputs": inputs })).unwrap()
    }

    #[test]
    fn each_type_takes_its_own_values() {
        let types = ["any", "string", "number", "integer", "boolean", "object", "array"];
        for (value, fitting) in [
            ("null", vec!["any"]),
            ("true", vec!["any", "boolean"]),
            ("\"1\"", vec!["any", "string"]),
            ("-1.5", vec!["any", "number"]),
            ("1e3", vec!["any", "number", "integer"]),
            ("{}", vec!["any", "object"]),
            ("[]", vec!["any", "array"]),
        ] {
            for name in types {
                let found = wrong(&interface(&[name]), &format!("{{\"{name}\":{value}}}"));
                assert_eq!(
                    found.is_empty(),
                    fitting.contains(&name),
                    "{name} {value} {found:?}"
                );
            }
        }
        assert_eq!(wrong(&interface(&["any"]), "7"), ["`any` (any) is missing"]);
    }

    #[test]
    fn of_a_million_wrong_names_some_are_told() {
        let names = (0..100_000).map(|number| format!("\"{number:0>200}\":0"));
        let inputs = format!("{{{}}}", names.collect::<Vec<_>>().join(","));
        let found = wrong(&interface(&["any"]), &inputs);
        assert_eq!(found.len(), OTHERS_TOLD + 2);
        assert_eq!(found.last().unwrap(), "nor are 99980 others");
        assert!(found.iter().all(|told| told.len() < NAME_CHARS_TOLD + 50));
    }
}
