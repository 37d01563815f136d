//! ReadStream: the next entries of a response that the host reads while it arrives. The host has the response and finds where
//! entries end; here JSON is read.

use super::parameters::{choice, given, integer, mismatch, required_text};
use crate::failure::{Failure, unreadable};
use crate::node::{Context, Emission, NodeResult, Outcome};
use heddle_contract::abi::code;
use heddle_values::{JSON_DEPTH_MAX, Object, Value, parse_json};

/// The field by which a value refers to a stream.
const MARK: &str = "$stream";
/// Entries that are read at once.
const COUNT_MAX: i64 = 1_000;
/// An hour.
const WAIT_MS_MAX: i64 = 3_600_000;
const GATHER_MS_MAX: i64 = 60_000;
/// Characters of an entry that a message shows.
const SHOWN_CHARS: usize = 100;

/// A stream as a value.
pub fn stream_value(id: &Value, format: &str) -> Value {
    Value::Object(Object::from_iter([
        (MARK, id.clone()),
        ("format", Value::from(format)),
    ]))
}

/// ReadStream: asks the host for the effect `stream-read`.
pub fn read_stream(parameters: &Object, context: &mut dyn Context) -> NodeResult {
    let value = given(parameters, "stream")
        .cloned()
        .unwrap_or_else(|| context.input());
    let mut request = Object::from_iter([("stream", Value::from(id(&value)?))]);
    match choice(parameters, "operation", &["read", "close"], "read")? {
        "close" => request.insert("close", Value::from(true)),
        _ => {
            for (name, (field, min, max)) in [
                ("limit", ("count", 1, COUNT_MAX)),
                ("waitMs", ("waitMs", 0, WAIT_MS_MAX)),
                ("gatherMs", ("gatherMs", 0, GATHER_MS_MAX)),
            ] {
                if let Some(number) = integer(parameters, name, min, max)? {
                    request.insert(field, Value::Number(number as f64));
                }
            }
        }
    }
    Ok(Outcome::Effect {
        kind: "stream-read",
        request: Value::Object(request),
    })
}

fn id(value: &Value) -> Result<String, Failure> {
    match value {
        Value::Object(stream) if matches!(stream.get(MARK), Some(Value::String(_))) => {
            required_text(stream, MARK)
        }
        other => {
            let takes =
                "a stream: the body of an HttpRequest whose `responseType` is lines, jsonLines or events";
            Err(mismatch("stream", takes, other))
        }
    }
}

/// Continues the node with `{items, done, json}`.
pub fn resume(_: &Object, result: Value, _: &mut dyn Context) -> NodeResult {
    let Value::Object(result) = result else {
        return Err(Failure::new(code::INTERNAL, "The entries are not an object."));
    };
    let items = match (result.get("items"), result.get("json")) {
        (Some(Value::Array(lines)), Some(Value::Bool(true))) => {
            let values: Result<Vec<Value>, Failure> = lines.iter().map(parsed).collect();
            Value::from(values?)
        }
        (items, _) => items.cloned().unwrap_or_default(),
    };
    let done = result.get("done").cloned().unwrap_or_default();
    let value = Object::from_iter([("items", items), ("done", done)]);
    Ok(Outcome::Emit(Emission::one(0, Value::Object(value))))
}

/// A line as JSON.
fn parsed(line: &Value) -> Result<Value, Failure> {
    let line = line.to_text();
    let line = line.to_utf8();
    parse_json(line.as_bytes(), JSON_DEPTH_MAX).map_err(|error| {
        let wrong = if error.too_deep {
            "is"
        } else {
            "is not valid JSON:"
        };
        let shown: String = line.chars().take(SHOWN_CHARS).collect();
        let message = format!(
            "A line of the stream {wrong} {} at byte {}. It begins with: {shown}",
            error.message, error.offset
        );
        Failure::new(unreadable(&error, code::PARSE), message)
    })
}
