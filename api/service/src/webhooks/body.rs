//! Bodies of requests as JSON values: JSON as it is, forms and their files by field, texts in their character set, anything
//! else in base64. What a body costs is bounded by its size and the number of its fields. Knows nothing about signatures.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use encoding_rs::Encoding;
use heddle_model::webhook::BodyKind;
use multer::{Constraints, Multipart, SizeLimit};
use percent_encoding::percent_decode;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::convert::Infallible;
use std::str::from_utf8;

/// Fields and files of a form.
const FIELDS_MAX: usize = 1_000;
/// Characters of a field's name.
const NAME_BYTES_MAX: usize = 1_000;

/// What some programs write before a text in UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// Why a body can't be read, as a sentence's end after "the body".
pub type Problem = String;

/// The body as JSON. An empty one is null, except where JSON was announced.
pub async fn read<'b>(
    kind: BodyKind,
    content_type: &str,
    body: &'b Bytes,
) -> Result<Cow<'b, RawValue>, Problem> {
    let value = match kind {
        BodyKind::Json => {
            let read: Result<&RawValue, _> = serde_json::from_slice(unmarked(body));
            return read
                .map(Cow::Borrowed)
                .map_err(|error| format!("is not valid JSON: {error}"));
        }
        BodyKind::Form => form(content_type, body)?,
        BodyKind::Multipart => Box::pin(multipart(content_type, body)).await?,
        BodyKind::Text => Value::String(text(content_type, body)?),
        BodyKind::Binary => file(None, content_type, body),
    };
    to_raw_value(&value)
        .map(Cow::Owned)
        .map_err(|error| format!("can't be written as JSON: {error}"))
}

/// JSON without a byte order mark before it.
pub fn unmarked(body: &[u8]) -> &[u8] {
    body.strip_prefix(BYTE_ORDER_MARK).unwrap_or(body)
}

/// The body as text besides, if it is one.
pub fn raw(kind: BodyKind, content_type: &str, body: &Bytes) -> Result<Option<String>, Problem> {
    match kind {
        BodyKind::Json | BodyKind::Form => {
            let text = from_utf8(body).map_err(|_| "is not UTF-8 text, as `rawBody` asks for")?;
            Ok(Some(text.to_owned()))
        }
        BodyKind::Text => text(content_type, body).map(Some),
        BodyKind::Multipart | BodyKind::Binary => Ok(None),
    }
}

/// Values by name; of a name that comes several times an array.
#[derive(Default)]
struct Fields {
    values: Map<String, Value>,
    count: usize,
}

impl Fields {
    /// One more has come, whether it is kept or not.
    fn counted(&mut self) -> Result<(), Problem> {
        self.count += 1;
        match self.count > FIELDS_MAX {
            true => Err(format!("has more than {FIELDS_MAX} fields")),
            false => Ok(()),
        }
    }

    fn add(&mut self, name: String, value: Value) -> Result<(), Problem> {
        self.counted()?;
        if name.len() > NAME_BYTES_MAX {
            return Err(format!(
                "has a field whose name is longer than {NAME_BYTES_MAX} bytes"
            ));
        }
        match self.values.get_mut(&name) {
            None => drop(self.values.insert(name, value)),
            // Values of fields are texts, objects and null, never arrays.
            Some(Value::Array(several)) => several.push(value),
            Some(first) => *first = Value::Array(vec![first.take(), value]),
        }
        Ok(())
    }
}

fn form(content_type: &str, body: &[u8]) -> Result<Value, Problem> {
    let mut fields = Fields::default();
    // Forms are UTF-8, unless their sender says otherwise: the standard knows no such parameter, so that an unknown one is not a mistake.
    let named = charset(content_type).and_then(|label| Encoding::for_label_no_replacement(label.as_bytes()));
    let Some(encoding) = named.filter(|encoding| *encoding != encoding_rs::UTF_8) else {
        for (name, value) in form_urlencoded::parse(body) {
            fields.add(name.into_owned(), Value::String(value.into_owned()))?;
        }
        return Ok(Value::Object(fields.values));
    };
    for pair in body.split(|byte| *byte == b'&').filter(|pair| !pair.is_empty()) {
        let mut halves = pair.splitn(2, |byte| *byte == b'=');
        let mut half = || decoded(encoding, halves.next().unwrap_or_default());
        let (name, value) = (half(), half());
        fields.add(name, Value::String(value))?;
    }
    Ok(Value::Object(fields.values))
}

/// A name or a value of a form in another character set than UTF-8.
fn decoded(encoding: &'static Encoding, written: &[u8]) -> String {
    let plus_is_space = |byte: &u8| if *byte == b'+' { b' ' } else { *byte };
    let spaced: Vec<u8> = written.iter().map(plus_is_space).collect();
    let bytes: Vec<u8> = percent_decode(&spaced).collect();
    let (text, _) = encoding.decode_without_bom_handling(&bytes);
    text.into_owned()
}

async fn multipart(content_type: &str, body: &Bytes) -> Result<Value, Problem> {
    let boundary = multer::parse_boundary(content_type).map_err(|_| {
        "has no boundary: `Content-Type` must be `multipart/form-data; boundary=…`".to_owned()
    })?;
    let whole = futures_util::stream::iter([Ok::<_, Infallible>(body.clone())]);
    let limit = SizeLimit::new().whole_stream(u64::try_from(body.len()).unwrap_or(u64::MAX));
    let constraints = Constraints::new().size_limit(limit);
    let mut parts = Multipart::with_constraints(whole, boundary, constraints);
    let mut fields = Fields::default();
    let broken = |error: multer::Error| format!("is not valid multipart/form-data: {error}");
    while let Some(part) = parts.next_field().await.map_err(broken)? {
        let name = head::name(&part).ok_or("has a part without a name")?;
        let file_name = head::file_name(&part);
        let part_type = part.content_type().map(ToString::to_string).unwrap_or_default();
        let bytes = part.bytes().await.map_err(broken)?;
        let value = match file_name {
            // An input for a file in which none was chosen.
            Some(file_name) if file_name.is_empty() && bytes.is_empty() => Value::Null,
            Some(file_name) => file(Some(&file_name), &part_type, &bytes),
            None => Value::String(text(&part_type, &bytes)?),
        };
        fields.add(name, value)?;
    }
    Ok(Value::Object(fields.values))
}

/// A file, in the form in which requests and e-mails take files.
fn file(name: Option<&str>, content_type: &str, bytes: &[u8]) -> Value {
    let content_type = (!content_type.is_empty()).then_some(content_type);
    json!({
        "filename": name,
        "contentType": content_type,
        "size": bytes.len(),
        "base64": STANDARD.encode(bytes),
    })
}

/// The character set that a type names.
fn charset(content_type: &str) -> Option<&str> {
    content_type.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        let is_charset = name.trim().eq_ignore_ascii_case("charset");
        is_charset.then(|| value.trim().trim_matches('"'))
    })
}

/// A text in the character set that its type names; UTF-8 by default.
fn text(content_type: &str, bytes: &[u8]) -> Result<String, Problem> {
    let encoding = match charset(content_type) {
        Some(label) => Encoding::for_label(label.as_bytes())
            .ok_or_else(|| format!("has an unknown character set, {}", shortened(label)))?,
        None => encoding_rs::UTF_8,
    };
    let (text, _, is_broken) = encoding.decode(bytes);
    match is_broken {
        true => Err(format!("is not valid text in {}", encoding.name())),
        false => Ok(text.into_owned()),
    }
}

fn shortened(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(40).collect()
}

mod head;
pub mod uploads;

#[cfg(test)]
mod tests;
