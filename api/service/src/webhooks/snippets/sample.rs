//! The body that snippets send: what was given, as far as one of the kind that a webhook takes can say it, or else a greeting.
//! It is plain ASCII, which every shell and every language's literals keep as it is, but for what a form with files says itself.

use super::filled::{self, Sent};
use heddle_model::chat::Message;
use heddle_model::webhook::{BodyKind, Webhook};
use serde_json::{Map, Value};
use std::fmt::Write;

/// Kinds of bodies, in the order in which they are preferred: what a webhook takes first is sent.
const KINDS: [BodyKind; 5] = [
    BodyKind::Json,
    BodyKind::Form,
    BodyKind::Text,
    BodyKind::Multipart,
    BodyKind::Binary,
];
const FORM: &str = "application/x-www-form-urlencoded";
const GREETING: &str = "hello world";
/// What files contain.
pub(super) const FILE: &str = GREETING;

/// A body of a kind that the webhook takes.
pub(super) struct Sample {
    pub(super) content_type: &'static str,
    pub(super) text: String,
    /// Names and values, of a form.
    fields: Vec<(String, String)>,
    /// What stands in the parts of a form with files.
    parts: Vec<(String, Sent)>,
}

impl Sample {
    pub(super) fn new(webhook: &Webhook, given: Option<&Value>) -> Option<Self> {
        if webhook.chat.is_some() {
            return Some(Sample::message(given));
        }
        if let Some(form) = &webhook.form {
            return Some(Sample::filled(filled::fields(form, given)));
        }
        let kind = KINDS.into_iter().find(|kind| webhook.accept.has(*kind))?;
        Some(match kind {
            BodyKind::Json => {
                let text = given.map_or_else(|| r#"{"hello":"world"}"#.to_owned(), in_ascii);
                Sample::of("application/json", text)
            }
            BodyKind::Form => Sample::form(fields(given, |_| true)),
            BodyKind::Text => Sample::of("text/plain", given.map_or_else(|| GREETING.to_owned(), plain)),
            BodyKind::Multipart => {
                let fields = fields(given, is_plain).into_iter();
                Sample::multipart(fields.map(|(name, text)| (name, Sent::Text(text))).collect())
            }
            BodyKind::Binary => Sample::of("application/octet-stream", GREETING.to_owned()),
        })
    }

    fn of(content_type: &'static str, text: String) -> Self {
        Sample {
            content_type,
            text,
            fields: Vec::new(),
            parts: Vec::new(),
        }
    }

    /// A message to a chat. Without a session in what was given it begins a conversation.
    fn message(given: Option<&Value>) -> Self {
        let given = given.and_then(Value::as_object);
        let given = given.and_then(|given| Message::of(given).ok());
        let (text, session) = given.map_or((GREETING.to_owned(), None), |given| (given.text, given.session));
        let mut said = Map::new();
        said.insert("message".to_owned(), text.into());
        if let Some(session) = session {
            said.insert("sessionId".to_owned(), session.into());
        }
        Sample::of("application/json", in_ascii(&Value::Object(said)))
    }

    /// What a form's page sends.
    fn filled(fields: Vec<(String, Sent)>) -> Self {
        if fields.iter().any(|(_, sent)| matches!(sent, Sent::File(_))) {
            return Sample::multipart(fields);
        }
        let texts = fields.into_iter().filter_map(|(name, sent)| match sent {
            Sent::Text(text) => Some((name, text)),
            Sent::File(_) => None,
        });
        Sample::form(texts.collect())
    }

    fn form(fields: Vec<(String, String)>) -> Self {
        let text = form_urlencoded::Serializer::new(String::new())
            .extend_pairs(&fields)
            .finish();
        Sample {
            content_type: FORM,
            text,
            fields,
            parts: Vec::new(),
        }
    }

    fn multipart(parts: Vec<(String, Sent)>) -> Self {
        let mut text = String::new();
        for (name, sent) in &parts {
            // Writing to a String can't fail.
            let _ = write!(
                text,
                "--boundary\r\nContent-Disposition: form-data; name=\"{name}\""
            );
            let _ = match sent {
                Sent::Text(value) => write!(text, "\r\n\r\n{value}\r\n"),
                Sent::File(file) => write!(
                    text,
                    "; filename=\"{}\"\r\nContent-Type: {}\r\n\r\n{FILE}\r\n",
                    file.name, file.media_type
                ),
            };
        }
        text.push_str("--boundary--");
        Sample {
            parts,
            ..Sample::of("multipart/form-data; boundary=boundary", text)
        }
    }

    /// The parts, if there are files among them, which programs put into a body better than people do.
    pub(super) fn with_files(&self) -> Option<&[(String, Sent)]> {
        let has_files = self.parts.iter().any(|(_, sent)| matches!(sent, Sent::File(_)));
        has_files.then_some(self.parts.as_slice())
    }

    pub(super) fn is_form(&self) -> bool {
        self.content_type == FORM
    }

    /// Names with their values, as Twilio signs them.
    pub(super) fn fields_in_order(&self) -> String {
        let mut fields: Vec<&(String, String)> = self.fields.iter().collect();
        fields.sort();
        fields
            .iter()
            .map(|(name, value)| format!("{name}{value}"))
            .collect()
    }
}

/// The fields of an object whose names and values are acceptable; a greeting if there is none.
fn fields(given: Option<&Value>, is_acceptable: fn(&str) -> bool) -> Vec<(String, String)> {
    let object = given.and_then(Value::as_object);
    let given = object.into_iter().flatten().filter_map(|(name, value)| {
        let text = match value {
            Value::Null => return None,
            Value::String(text) => text.clone(),
            other => in_ascii(other),
        };
        (is_acceptable(name) && is_acceptable(&text)).then(|| (name.clone(), text))
    });
    let mut fields: Vec<(String, String)> = given.collect();
    if fields.is_empty() {
        fields.push(("hello".to_owned(), "world".to_owned()));
    }
    fields
}

/// Whether neither a shell's `printf '%b'` nor a header's quotes make anything else of it, and it ends no part.
fn is_plain(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || " _.:,/@+".contains(c);
    !text.is_empty() && text.chars().all(is_plain)
}

/// As the body of a text. curl would read a file whose name stands behind `@`.
fn plain(given: &Value) -> String {
    match given {
        Value::String(text) if text.starts_with('@') => GREETING.to_owned(),
        Value::String(text) if text.chars().all(|c| c == ' ' || c.is_ascii_graphic()) && !text.is_empty() => {
            text.clone()
        }
        Value::String(_) => GREETING.to_owned(),
        other => in_ascii(other),
    }
}

/// JSON in which every other letter is escaped.
fn in_ascii(value: &Value) -> String {
    let mut text = String::new();
    for c in value.to_string().chars() {
        if c.is_ascii() {
            text.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            // Writing to a String can't fail.
            let _ = write!(text, "\\u{unit:04x}");
        }
    }
    text
}
