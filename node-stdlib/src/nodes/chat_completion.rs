//! ChatCompletion: the request of OpenAI's chat API, and what becomes of its answer. The host sends it by a connection.

use super::http_request::refused_status;
use super::parameters::{array, given, integer, mismatch, number, object, required_text, text};
use crate::failure::Failure;
use crate::node::{Context, Emission, NodeResult, Outcome};
use heddle_contract::abi::code;
use heddle_values::{JSON_DEPTH_MAX, Object, Value, parse_json};

const TOKENS_MAX: i64 = 1_000_000;

/// Asks the host for the effect `chat`.
pub fn chat_completion(parameters: &Object, context: &mut dyn Context) -> NodeResult {
    let mut body = Object::from_iter([("model", Value::from(required_text(parameters, "model")?))]);
    body.insert("messages", messages(parameters)?);
    if let Some(temperature) = number(parameters, "temperature")? {
        if !(0.0..=2.0).contains(&temperature) {
            return Err(mismatch(
                "temperature",
                "a number from 0 to 2",
                &Value::Number(temperature),
            ));
        }
        body.insert("temperature", Value::Number(temperature));
    }
    if let Some(tokens) = integer(parameters, "maxTokens", 1, TOKENS_MAX)? {
        body.insert("max_tokens", Value::Number(tokens as f64));
    }
    if let Some(schema) = object(parameters, "jsonSchema")? {
        let named = Object::from_iter([
            ("name", Value::from("answer")),
            ("strict", Value::Bool(true)),
            ("schema", Value::Object(schema.clone())),
        ]);
        let format = Object::from_iter([
            ("type", Value::from("json_schema")),
            ("json_schema", Value::Object(named)),
        ]);
        body.insert("response_format", Value::Object(format));
    }
    let request = Object::from_iter([
        (
            "connection",
            Value::from(required_text(parameters, "connection")?),
        ),
        ("body", Value::Object(body)),
        ("idempotencyKey", Value::from(context.execution_key())),
    ]);
    Ok(Outcome::Effect {
        kind: "chat",
        request: Value::Object(request),
    })
}

/// `messages`, or `prompt`; `system` goes before either.
fn messages(parameters: &Object) -> Result<Value, Failure> {
    let message = |role: &str, content: Value| {
        Value::Object(Object::from_iter([
            ("role", Value::from(role)),
            ("content", content),
        ]))
    };
    let mut messages = Vec::new();
    if let Some(system) = text(parameters, "system")? {
        messages.push(message("system", system.into()));
    }
    match (array(parameters, "messages")?, text(parameters, "prompt")?) {
        (Some(given), None) => messages.extend(given.iter().cloned()),
        (None, Some(prompt)) => messages.push(message("user", prompt.into())),
        (Some(_), Some(_)) => {
            let message = "`messages` and `prompt` both say what to send: give one of them.";
            return Err(Failure::new(code::PARAMETER, message));
        }
        (None, None) => {
            let message = "Parameter `prompt` takes text (or `messages` a list of {role, content}), but both are missing.";
            return Err(Failure::new(code::PARAMETER, message));
        }
    }
    Ok(messages.into())
}

/// Continues the node with the service's answer.
pub fn answered(parameters: &Object, response: Value, _: &mut dyn Context) -> NodeResult {
    let Value::Object(response) = response else {
        return Err(Failure::new(code::INTERNAL, "The response is not an object."));
    };
    if let Some(failure) = refused_status(&response, "The chat service") {
        return Err(failure);
    }
    let text = response
        .get("text")
        .map(Value::to_text)
        .unwrap_or_default()
        .to_utf8()
        .into_owned();
    let unreadable = || Failure::new(code::PARSE, "The chat service's answer is not a chat completion.");
    let Ok(Value::Object(answer)) = parse_json(text.as_bytes(), JSON_DEPTH_MAX) else {
        return Err(unreadable());
    };
    let answer = Value::Object(answer);
    let choice = answer.at_path("choices.0").cloned().ok_or_else(unreadable)?;
    if let Some(Value::String(refusal)) = choice.at_path("message.refusal") {
        let message = format!("The model refused to answer: {}", refusal.to_utf8());
        return Err(Failure::new(code::CHAT_REFUSED, message));
    }
    let finish = choice
        .at_path("finish_reason")
        .map(Value::to_text)
        .unwrap_or_default();
    if finish.to_utf8() == "content_filter" {
        let message = "The chat service withheld the answer (content_filter).";
        return Err(Failure::new(code::CHAT_REFUSED, message));
    }
    let text = match choice.at_path("message.content") {
        Some(Value::String(text)) => text.to_utf8().into_owned(),
        None | Some(Value::Null | Value::Undefined) => String::new(),
        Some(_) => return Err(unreadable()),
    };
    let json = match given(parameters, "jsonSchema") {
        None => Value::Null,
        Some(_) => parse_json(text.as_bytes(), JSON_DEPTH_MAX).map_err(|error| {
            let why = match finish.to_utf8().as_ref() {
                "length" => "it was cut at `maxTokens`".to_owned(),
                _ => format!("{} at byte {}", error.message, error.offset),
            };
            Failure::new(
                code::CHAT_JSON,
                format!("The answer should be JSON, but it is not: {why}."),
            )
        })?,
    };
    let output = Object::from_iter([
        ("text", Value::from(text)),
        ("json", json),
        ("usage", answer.at_path("usage").cloned().unwrap_or(Value::Null)),
    ]);
    Ok(Outcome::Emit(Emission::one(0, Value::Object(output))))
}
