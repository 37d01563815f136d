//! File: reads what a file holds, or makes a file. The host has the bytes; here there are values that refer to files.

use super::file_value::{MARK, is_file};
use super::parameters::{choice, given, integer, mismatch, text};
use crate::failure::{Failure, unreadable};
use crate::node::{Context, Emission, NodeResult, Outcome};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use heddle_contract::abi::code;
use heddle_values::{JSON_DEPTH_MAX, Object, Value, parse_json};

/// Name of the field, and of the kind of body, that is a file.
pub const FILE: &str = "file";
const ANY_TYPE: &str = "application/octet-stream";
/// Largest offset in a file: a petabyte.
const OFFSET_MAX: i64 = 1 << 50;
/// Bytes of lines that are read at once, unless `limit` says more or less.
const LINES_BYTES: i64 = 256 << 10;
/// What a file says of its own encoding, if nobody else does.
const AUTO: &str = "auto";

/// A file as the host takes it, and its type.
pub fn file_value(name: &str, value: &Value) -> Result<(Value, String), Failure> {
    let takes = "a file, as HttpRequest, webhooks and File give it";
    let Value::Object(file) = value else {
        return Err(mismatch(name, takes, value));
    };
    if !is_file(file) {
        return Err(mismatch(name, takes, value));
    }
    let mut checked = Object::new();
    for field in [MARK, "name", "type"] {
        if let Some(text) = text(file, field)? {
            checked.insert(field, Value::from(text));
        }
    }
    let media_type = text(file, "type")?.filter(|text| !text.is_empty());
    Ok((
        Value::Object(checked),
        media_type.unwrap_or_else(|| ANY_TYPE.into()),
    ))
}

/// In which encoding a file's text is read. The host knows which there are.
pub fn encoding(parameters: &Object) -> Result<Value, Failure> {
    Ok(text(parameters, "encoding")?.map_or_else(|| Value::from(AUTO), Value::from))
}

/// Asks the host for the effect `file`.
pub fn file(parameters: &Object, context: &mut dyn Context) -> NodeResult {
    let request = match operation(parameters)? {
        "read" => {
            let value = given(parameters, FILE)
                .cloned()
                .unwrap_or_else(|| context.input());
            let form = match format(parameters)? {
                "base64" => "base64",
                _ => "text",
            };
            let mut request = Object::from_iter([
                ("operation", Value::from("read")),
                (FILE, file_value(FILE, &value)?.0),
                ("as", Value::from(form)),
            ]);
            if form == "text" {
                request.insert("encoding", encoding(parameters)?);
            }
            let (offset, limit) = part(parameters)?;
            for (name, number) in [("offset", offset), ("limit", limit)] {
                if let Some(number) = number {
                    request.insert(name, Value::Number(number as f64));
                }
            }
            if is_lines(format(parameters)?) {
                request.insert("lines", Value::from(true));
            }
            request
        }
        _ if is_lines(format(parameters)?) => {
            let message =
                "Parameter `format` must be text, json or base64 to make a file: lines are only read.";
            return Err(Failure::new(code::PARAMETER, message));
        }
        _ => made(parameters, context)?,
    };
    Ok(Outcome::Effect {
        kind: FILE,
        request: Value::Object(request),
    })
}

fn operation(parameters: &Object) -> Result<&str, Failure> {
    choice(parameters, "operation", &["read", "make"], "read")
}

fn format(parameters: &Object) -> Result<&str, Failure> {
    let formats = ["text", "json", "base64", "lines", "jsonLines"];
    choice(parameters, "format", &formats, "text")
}

fn is_lines(format: &str) -> bool {
    matches!(format, "lines" | "jsonLines")
}

/// Where reading begins, and how many bytes are read at most.
fn part(parameters: &Object) -> Result<(Option<i64>, Option<i64>), Failure> {
    let offset = integer(parameters, "offset", 0, OFFSET_MAX)?;
    let limit = integer(parameters, "limit", 1, OFFSET_MAX)?;
    match is_lines(format(parameters)?) {
        true => Ok((offset.or(Some(0)), limit.or(Some(LINES_BYTES)))),
        false => Ok((offset, limit)),
    }
}

fn made(parameters: &Object, context: &mut dyn Context) -> Result<Object, Failure> {
    let content = parameters
        .get("content")
        .filter(|content| !matches!(content, Value::Undefined));
    let content = content.cloned().unwrap_or_else(|| context.input());
    let (form, content, name, media_type) = match format(parameters)? {
        "json" => ("text", content.to_json(), "file.json", "application/json"),
        "base64" => {
            let Value::String(base64) = &content else {
                return Err(mismatch(
                    "content",
                    "base64 text, since `format` is base64",
                    &content,
                ));
            };
            let base64 = base64.to_utf8().into_owned();
            if let Err(error) = STANDARD.decode(base64.as_bytes()) {
                let message = format!("Parameter `content` is not valid base64: {error}.");
                return Err(Failure::new(code::PARSE, message));
            }
            ("base64", base64, FILE, ANY_TYPE)
        }
        _ => {
            let text = content.to_text().to_utf8().into_owned();
            ("text", text, "file.txt", "text/plain; charset=utf-8")
        }
    };
    let name = text(parameters, "name")?.unwrap_or_else(|| name.into());
    let media_type = text(parameters, "type")?.unwrap_or_else(|| media_type.into());
    Ok(Object::from_iter([
        ("operation", Value::from("make")),
        (form, Value::from(content)),
        ("name", Value::from(name)),
        ("type", Value::from(media_type)),
    ]))
}

/// Continues the node with `{text | base64, size}`, or with the file that was made.
pub fn resume(parameters: &Object, result: Value, _: &mut dyn Context) -> NodeResult {
    let value = match (operation(parameters)?, &result) {
        ("read", Value::Object(read)) => match read.get("base64") {
            Some(base64) => base64.clone(),
            None => {
                let text = read.get("text").cloned().unwrap_or_default();
                match format(parameters)? {
                    "json" => json(&text)?,
                    format if is_lines(format) => {
                        let (offset, _) = part(parameters)?;
                        let offset = offset.unwrap_or_default();
                        let text = text.to_text();
                        let is_recoded = read.contains("encoding");
                        let place = (offset.unsigned_abs(), is_recoded);
                        let items = lines(&text.to_utf8(), place, format == "jsonLines")?;
                        let next = read.get("next").cloned().unwrap_or(Value::Null);
                        Value::Object(Object::from_iter([("items", items), ("next", next)]))
                    }
                    _ => text,
                }
            }
        },
        _ => result,
    };
    Ok(Outcome::Emit(Emission::one(0, value)))
}

fn json(text: &Value) -> Result<Value, Failure> {
    parsed(&text.to_text().to_utf8(), ("The file", 0))
}

/// JSON of which it is told what it is, and at which byte of the file it begins.
fn parsed(text: &str, (what, offset): (&str, u64)) -> Result<Value, Failure> {
    parse_json(text.as_bytes(), JSON_DEPTH_MAX).map_err(|error| {
        let wrong = if error.too_deep {
            "is"
        } else {
            "is not valid JSON:"
        };
        let place = offset.saturating_add(error.offset as u64);
        let message = format!("{what} {wrong} {} at byte {place}.", error.message);
        Failure::new(unreadable(&error, code::PARSE), message)
    })
}

/// The lines of a text that begins at this byte of the file. If it was in another encoding there, its own bytes tell the places.
fn lines(text: &str, (offset, is_recoded): (u64, bool), is_json: bool) -> Result<Value, Failure> {
    let mut items = Vec::new();
    let (what, mut begin) = match is_recoded {
        true => ("A line of what was read, as UTF-8,", 0),
        false => ("A line of the file", offset),
    };
    let mut is_first = offset == 0;
    for line in text.split_inclusive('\n') {
        let said = line.strip_suffix('\n').unwrap_or(line);
        let said = said.strip_suffix('\r').unwrap_or(said);
        // What editors put before a text belongs to no line.
        let said = match std::mem::take(&mut is_first) {
            true => said.strip_prefix('\u{feff}').unwrap_or(said),
            false => said,
        };
        match is_json {
            true if said.trim().is_empty() => {}
            true => items.push(parsed(said, (what, begin))?),
            false => items.push(Value::from(said)),
        }
        begin = begin.saturating_add(line.len() as u64);
    }
    Ok(Value::from(items))
}
