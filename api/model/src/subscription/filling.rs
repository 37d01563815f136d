//! Puts what is known into the requests of a subscription: `{{ $webhook.url }}`, `.secret`, `.name` and `.id`, and
//! `{{ $first.… }}`, a path in what was answered first.

use super::step::at;
use serde_json::{Map, Value};

const OPENING: &str = "{{ $";
const CLOSING: &str = " }}";
/// How deep a body may be nested; the catalogue's are not.
const DEPTH_MAX: usize = 16;

/// What requests are filled with.
#[derive(Clone, Default)]
pub struct Known<'k> {
    /// The public address.
    pub url: &'k str,
    /// The endpoint's secret; empty where it is not needed.
    pub secret: &'k str,
    /// A name that is always the same for the endpoint.
    pub name: &'k str,
    /// What the service calls it; empty: nothing.
    pub id: &'k str,
    /// What `first` was answered.
    pub first: Value,
}

/// Looks up these values by the names that requests have for them.
pub(super) struct Filling<'k>(pub &'k Known<'k>);

impl Filling<'_> {
    fn value(&self, name: &str) -> Value {
        let known = self.0;
        match name {
            "webhook.url" => known.url.into(),
            "webhook.secret" => known.secret.into(),
            "webhook.name" => known.name.into(),
            "webhook.id" => known.id.into(),
            _ => {
                let path = name.strip_prefix("first.");
                let found = path.and_then(|path| at(&known.first, path));
                found.cloned().unwrap_or_default()
            }
        }
    }

    /// A text with what is known in it, encoded as a part of an address.
    pub fn address(&self, text: &str) -> String {
        self.text(text, encoded)
    }

    fn text(&self, text: &str, written: fn(&str) -> String) -> String {
        let mut whole = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once(OPENING) {
            let Some((name, behind)) = after.split_once(CLOSING) else {
                break;
            };
            whole.push_str(before);
            match self.value(name) {
                Value::String(text) => whole.push_str(&written(&text)),
                Value::Null => {}
                other => whole.push_str(&written(&other.to_string())),
            }
            rest = behind;
        }
        whole.push_str(rest);
        whole
    }
}

/// A value with what is known in it.
pub(super) fn filled(value: &Value, filling: &Filling<'_>) -> Value {
    deep(value, filling, DEPTH_MAX)
}

fn deep(value: &Value, filling: &Filling<'_>, depth: usize) -> Value {
    let Some(depth) = depth.checked_sub(1) else {
        return Value::Null;
    };
    match value {
        Value::String(text) => match whole(text) {
            Some(name) => filling.value(name),
            None => filling.text(text, str::to_owned).into(),
        },
        Value::Object(fields) => {
            let fields = fields.iter();
            let fields = fields.map(|(name, field)| (name.clone(), deep(field, filling, depth)));
            Value::Object(fields.collect::<Map<_, _>>())
        }
        Value::Array(items) => items.iter().map(|item| deep(item, filling, depth)).collect(),
        other => other.clone(),
    }
}

/// The name that a text is, if it is nothing else.
fn whole(text: &str) -> Option<&str> {
    let name = text.strip_prefix(OPENING)?.strip_suffix(CLOSING)?;
    (!name.contains(['{', '}', ' '])).then_some(name)
}

/// A text as a part of an address.
fn encoded(text: &str) -> String {
    let byte = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => char::from(byte).to_string(),
        other => format!("%{other:02X}"),
    };
    text.bytes().map(byte).collect()
}
