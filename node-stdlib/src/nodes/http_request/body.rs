//! The body of a request: JSON, a form, multipart, text or bytes.

use super::super::file::{FILE, file_value};
use super::super::file_value::is_file;
use super::super::parameters::{choice, given, mismatch, text};
use super::form;
use crate::failure::Failure;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use heddle_values::{Object, Value};

/// A body and the content type that goes with it.
pub struct Body {
    /// `{text}`, `{base64}`, `{file}` or `{pieces: [those]}`.
    pub content: Value,
    /// Unless the headers name another.
    pub content_type: Option<String>,
}

impl Body {
    fn text(text: String, content_type: &str) -> Self {
        let content = Value::Object(Object::from_iter([("text", Value::from(text))]));
        Body {
            content,
            content_type: Some(content_type.into()),
        }
    }

    fn bytes(base64: String, content_type: Option<String>) -> Self {
        let content = Value::Object(Object::from_iter([("base64", Value::from(base64))]));
        Body {
            content,
            content_type,
        }
    }
}

/// The body, if there is one. `key` makes the boundary of multipart bodies, so that a retry sends the same bytes.
pub fn body(parameters: &Object, key: &str) -> Result<Option<Body>, Failure> {
    let Some(body) = parameters
        .get("body")
        .filter(|body| !matches!(body, Value::Undefined))
    else {
        return Ok(None);
    };
    let default = match body {
        Value::String(_) => "text",
        Value::Object(file) if is_file(file) => FILE,
        _ => "json",
    };
    let kinds = ["json", "form", "multipart", "text", "base64", FILE];
    Ok(Some(match choice(parameters, "bodyType", &kinds, default)? {
        "form" => Body::text(
            form::encode(&form::pairs(parameters, "body")?),
            "application/x-www-form-urlencoded",
        ),
        "multipart" => multipart(body, key)?,
        FILE => {
            let (file, content_type) = file_value("body", body)?;
            Body {
                content: Value::Object(Object::from_iter([(FILE, file)])),
                content_type: Some(content_type),
            }
        }
        "text" => Body::text(body.to_text().to_utf8().into_owned(), "text/plain; charset=utf-8"),
        "base64" => {
            let base64 = text(parameters, "body")?.unwrap_or_default();
            decode("body", &base64)?;
            Body::bytes(base64, Some("application/octet-stream".into()))
        }
        _ => Body::text(body.to_json(), "application/json"),
    }))
}

fn decode(parameter: &str, base64: &str) -> Result<Vec<u8>, Failure> {
    STANDARD
        .decode(base64)
        .map_err(|error| mismatch(parameter, &format!("base64 ({error})"), &Value::from(base64)))
}

/// multipart/form-data (RFC 7578). A field that is a file value is a file, and so is an object with `base64`.
fn multipart(body: &Value, key: &str) -> Result<Body, Failure> {
    let Value::Object(fields) = body else {
        return Err(mismatch("body", "an object of fields for `multipart`", body));
    };
    let mut parts = Vec::new();
    for (name, value) in fields.iter() {
        let name = name.to_utf8();
        match value {
            Value::Null | Value::Undefined => {}
            Value::Array(values) => {
                for value in values.iter() {
                    parts.push(part(&name, value)?);
                }
            }
            value => parts.push(part(&name, value)?),
        }
    }
    let boundary = boundary(key, &parts);
    let mut bytes = Vec::new();
    let mut pieces: Vec<Value> = Vec::new();
    for part in parts {
        bytes.extend_from_slice(format!("--{boundary}\r\n").as_bytes());
        bytes.extend_from_slice(&part.bytes);
        if let Some(file) = part.file {
            pieces.push(content(std::mem::take(&mut bytes)));
            pieces.push(Value::Object(Object::from_iter([(FILE, file)])));
        }
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    let mut whole = content(bytes);
    if !pieces.is_empty() {
        pieces.push(whole);
        whole = Value::Object(Object::from_iter([("pieces", Value::from(pieces))]));
    }
    Ok(Body {
        content: whole,
        content_type: Some(format!("multipart/form-data; boundary={boundary}")),
    })
}

/// Text stays text, so that the host finds secret references in it.
fn content(bytes: Vec<u8>) -> Value {
    let (form, value) = match String::from_utf8(bytes) {
        Ok(text) => ("text", text),
        Err(error) => ("base64", STANDARD.encode(error.as_bytes())),
    };
    Value::Object(Object::from_iter([(form, Value::from(value))]))
}

/// A part of a form: its head with its content, or with the file that follows.
struct Part {
    bytes: Vec<u8>,
    file: Option<Value>,
}

fn part(name: &str, value: &Value) -> Result<Part, Failure> {
    let (bytes, file) = match value {
        Value::Object(file) if is_file(file) => {
            let (file, content_type) = file_value(&format!("body.{name}"), value)?;
            let file_name = match &file {
                Value::Object(file) => text(file, "name")?,
                _ => None,
            };
            (
                head_of_file(name, file_name, content_type).into_bytes(),
                Some(file),
            )
        }
        Value::Object(file) if given(file, "base64").is_some() => (file_part(name, file)?, None),
        value => (field_part(name, value), None),
    };
    Ok(Part { bytes, file })
}

fn field_part(name: &str, value: &Value) -> Vec<u8> {
    let name = quoted(name);
    format!(
        "Content-Disposition: form-data; name=\"{name}\"\r\n\r\n{}",
        value.to_text().to_utf8()
    )
    .into_bytes()
}

fn file_part(name: &str, file: &Object) -> Result<Vec<u8>, Failure> {
    let base64 = text(file, "base64")?.unwrap_or_default();
    let content = decode(&format!("body.{name}.base64"), &base64)?;
    let content_type = text(file, "contentType")?.unwrap_or_else(|| "application/octet-stream".into());
    let mut part = head_of_file(name, text(file, "filename")?, content_type).into_bytes();
    part.extend_from_slice(&content);
    Ok(part)
}

fn head_of_file(name: &str, file_name: Option<String>, content_type: String) -> String {
    let (name, file_name) = (quoted(name), quoted(&file_name.unwrap_or_else(|| "file".into())));
    let content_type: String = content_type.chars().filter(|c| !c.is_control()).collect();
    format!(
        "Content-Disposition: form-data; name=\"{name}\"; filename=\"{file_name}\"\r\nContent-Type: {content_type}\r\n\r\n"
    )
}

/// As browsers write names: quotes and line breaks percent-encoded.
fn quoted(text: &str) -> String {
    text.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A")
}

/// A boundary that occurs in no part. What files hold is not known here: the key has the id of the run in it, which nobody
/// could have known who wrote them.
fn boundary(key: &str, parts: &[Part]) -> String {
    let key: String = key.chars().filter(char::is_ascii_alphanumeric).take(32).collect();
    let mut number = 0u32;
    loop {
        let boundary = format!("heddle-{key}-{number}");
        let taken = parts.iter().any(|part| {
            part.bytes
                .windows(boundary.len())
                .any(|window| window == boundary.as_bytes())
        });
        if !taken {
            return boundary;
        }
        number += 1;
    }
}
