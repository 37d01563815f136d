//! KeyValue: an access to a value that is kept from run to run.

use super::parameters::{choice, given, integer, mismatch, required_text};
use crate::failure::Failure;
use crate::node::{Context, NodeResult, Outcome};
use heddle_contract::abi::code;
use heddle_values::{Object, Value};

/// Ten years.
const TTL_MS_MAX: i64 = 10 * 366 * 86_400_000;

/// Asks the host for the effect `key-value`.
pub fn key_value(parameters: &Object, _: &mut dyn Context) -> NodeResult {
    let operations = ["get", "set", "delete", "increment", "append"];
    required_text(parameters, "operation")?;
    let operation = choice(parameters, "operation", &operations, "get")?;
    let mut request = Object::from_iter([
        ("operation", Value::from(operation)),
        ("key", Value::from(required_text(parameters, "key")?)),
        (
            "scope",
            Value::from(choice(parameters, "scope", &["pattern", "workspace"], "pattern")?),
        ),
    ]);
    match (operation, parameters.get("value")) {
        ("set" | "append", None | Some(Value::Undefined)) => {
            let message = format!("Parameter `value` says what to {operation}, but it is missing.");
            return Err(Failure::new(code::PARAMETER, message));
        }
        ("increment", _) => match given(parameters, "value") {
            None => {}
            Some(Value::Number(number)) if number.is_finite() => {
                request.insert("value", Value::Number(*number));
            }
            Some(other) => return Err(mismatch("value", "a number", other)),
        },
        ("set" | "append", Some(value)) => {
            request.insert("value", value.clone());
        }
        _ => {}
    }
    if let Some(ttl_ms) = integer(parameters, "ttlMs", 1, TTL_MS_MAX)? {
        request.insert("ttlMs", Value::Number(ttl_ms as f64));
    }
    Ok(Outcome::Effect {
        kind: "key-value",
        request: Value::Object(request),
    })
}
