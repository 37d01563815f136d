//! RespondToWebhook and StreamResponse: the answer of the webhook that started the run, whole or in pieces.

use super::super::file::{FILE, file_value};
use super::super::parameters::{choice, integer, mismatch, object, text};
use crate::failure::Failure;
use crate::leaving::leaving;
use crate::node::{Context, Emission, NodeResult, Outcome};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use heddle_contract::abi::code;
use heddle_values::{Object, Text, Value};

const SSE: &str = "sse";
const JSON_LINES: &str = "json-lines";

/// Statuses of responses without a body.
const BODILESS: &[i64] = &[204, 205, 304];

/// RespondToWebhook: answers `{status, headers, body, bodyType}`, and passes its input through.
pub fn respond_to_webhook(parameters: &Object, context: &mut dyn Context) -> NodeResult {
    let input = context.input();
    let status = integer(parameters, "status", 200, 599)?.unwrap_or(200);
    let headers = headers(parameters)?;
    let body_type = choice(parameters, "bodyType", &["json", "text", "base64", FILE], "json")?;
    let given = parameters.get("body").unwrap_or(&input);
    let body = match body_type {
        "text" => Value::String(given.to_text()),
        "base64" => base64_body(given)?,
        FILE => file_value("body", given)?.0,
        _ => leaving(given.clone())?,
    };
    let response = Object::from_iter([
        ("status", Value::Number(status as f64)),
        ("headers", headers.into()),
        ("body", body),
        ("bodyType", body_type.into()),
    ]);
    context.respond(&response.into());
    Ok(Outcome::Emit(Emission::one(0, context.through())))
}

/// StreamResponse: asks the host for the effect `stream`, with the piece as text.
pub fn stream_response(parameters: &Object, context: &mut dyn Context) -> NodeResult {
    let format = choice(parameters, "format", &[SSE, JSON_LINES, "text"], SSE)?;
    let status = integer(parameters, "status", 200, 599)?.unwrap_or(200);
    if BODILESS.contains(&status) {
        let message =
            format!("Parameter `status`: a response with the status {status} has no body to stream.");
        return Err(Failure::new(code::PARAMETER, message));
    }
    let input = context.input();
    let data = parameters.get("data").unwrap_or(&input);
    let data = match (format, data) {
        ("text", data) | (SSE, data @ Value::String(_)) => data.to_text().to_utf8().into_owned(),
        (_, data) => leaving(data.clone())?.to_json(),
    };
    let mut request = Object::from_iter([
        ("format", Value::from(format)),
        ("data", data.into()),
        ("status", Value::Number(status as f64)),
        ("headers", headers(parameters)?.into()),
    ]);
    for name in ["event", "id"] {
        let Some(given) = text(parameters, name)? else {
            continue;
        };
        if format != SSE {
            let message = format!("Parameter `{name}` is for the format `{SSE}`; `{format}` has none.");
            return Err(Failure::new(code::PARAMETER, message));
        }
        if given.contains(['\r', '\n', '\0']) {
            return Err(mismatch(name, "text of one line", &given.into()));
        }
        request.insert(name, given.into());
    }
    Ok(Outcome::Effect {
        kind: "stream",
        request: Value::Object(request),
    })
}

/// The headers as texts; names and values that HTTP can't carry are refused here, where the node is known.
fn headers(parameters: &Object) -> Result<Object, Failure> {
    let mut headers = Object::new();
    for (name, value) in object(parameters, "headers")?.into_iter().flat_map(Object::iter) {
        if !is_token(name) {
            let message = format!("Parameter `headers`: `{name}` can't be the name of a header.");
            return Err(Failure::new(code::PARAMETER, message));
        }
        let text = match value {
            Value::Undefined | Value::Null => continue,
            Value::String(_) | Value::Number(_) | Value::Bool(_) => value.to_text(),
            other => return Err(mismatch(&format!("headers.{name}"), "text", other)),
        };
        if text
            .units()
            .any(|unit| (unit < 0x20 && unit != 0x09) || unit == 0x7f)
        {
            let takes = "text without line breaks and control characters";
            return Err(mismatch(&format!("headers.{name}"), takes, value));
        }
        headers.insert(name.clone(), Value::String(text));
    }
    Ok(headers)
}

/// A `token` of RFC 9110, section 5.6.2.
fn is_token(name: &Text) -> bool {
    !name.is_empty()
        && name
            .to_utf8()
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

fn base64_body(body: &Value) -> Result<Value, Failure> {
    let Value::String(text) = body else {
        return Err(mismatch("body", "base64 text, since `bodyType` is base64", body));
    };
    match STANDARD.decode(text.to_utf8().as_bytes()) {
        Ok(_) => Ok(body.clone()),
        Err(error) => {
            let message = format!("Parameter `body` is not valid base64: {error}.");
            Err(Failure::new(code::PARSE, message))
        }
    }
}
