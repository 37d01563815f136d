//! Secrets of one run: put in place of their references when a request leaves the sandbox, and taken out of
//! whatever comes back. Values never enter the guest.

use crate::effects::EffectError;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use heddle_node_stdlib::abi::code;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// What stands in place of a secret's value.
const MASK: &str = "***";
/// Shorter values are not masked: they would be found in everything.
const MASKED_BYTES_MIN: usize = 4;
const PREFIX: &str = "heddle-secret";
/// What JavaScript's encodeURIComponent leaves alone.
const COMPONENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'!')
    .remove(b'~')
    .remove(b'*')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')');

/// The secrets of one run.
pub struct Vault {
    secrets: BTreeMap<String, String>,
    /// Names that the manifest grants.
    granted: Vec<String>,
    nonce: String,
    /// Spellings of the values used so far, longest first.
    needles: Mutex<Vec<String>>,
}

impl std::fmt::Debug for Vault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Vault")
    }
}

impl Vault {
    pub fn new(secrets: BTreeMap<String, String>, granted: Vec<String>, nonce: String) -> Self {
        Vault {
            secrets,
            granted,
            nonce,
            needles: Mutex::default(),
        }
    }

    /// Whether any secret has left the sandbox.
    pub fn was_used(&self) -> bool {
        !self
            .needles
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .is_empty()
    }

    /// The request with every reference replaced by its secret.
    pub fn reveal(&self, value: Value) -> Result<Value, EffectError> {
        Ok(match value {
            Value::String(text) if text.contains(PREFIX) => Value::String(self.reveal_text(&text)?),
            Value::Array(items) => Value::Array(
                items
                    .into_iter()
                    .map(|item| self.reveal(item))
                    .collect::<Result<_, _>>()?,
            ),
            Value::Object(members) => Value::Object(
                members
                    .into_iter()
                    .map(|(name, value)| Ok((name, self.reveal(value)?)))
                    .collect::<Result<_, EffectError>>()?,
            ),
            other => other,
        })
    }

    /// The text with every secret's value that this run has used replaced by `***`.
    pub fn mask<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let needles = self.needles.lock().unwrap_or_else(PoisonError::into_inner);
        let mut text = Cow::Borrowed(text);
        for needle in needles.iter() {
            if text.contains(needle.as_str()) {
                text = Cow::Owned(text.replace(needle.as_str(), MASK));
            }
        }
        text
    }

    /// The bytes with the values of secrets replaced, for what is not text.
    pub fn mask_bytes(&self, bytes: Vec<u8>) -> Vec<u8> {
        let needles = self.needles.lock().unwrap_or_else(PoisonError::into_inner);
        needles
            .iter()
            .fold(bytes, |bytes, needle| replace_bytes(bytes, needle.as_bytes()))
    }

    /// The value with every secret hidden in its strings, names and numbers.
    pub fn mask_value(&self, value: Value) -> Value {
        if self
            .needles
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .is_empty()
        {
            return value;
        }
        match value {
            Value::String(text) => match self.mask(&text) {
                Cow::Borrowed(_) => Value::String(text),
                Cow::Owned(masked) => Value::String(masked),
            },
            Value::Number(number) => {
                let text = number.to_string();
                match self.mask(&text) {
                    Cow::Borrowed(_) => Value::Number(number),
                    Cow::Owned(masked) => Value::String(masked),
                }
            }
            Value::Array(items) => {
                Value::Array(items.into_iter().map(|item| self.mask_value(item)).collect())
            }
            Value::Object(members) => Value::Object(
                members
                    .into_iter()
                    .map(|(name, value)| (self.mask(&name).into_owned(), self.mask_value(value)))
                    .collect(),
            ),
            other => other,
        }
    }

    /// JSON text with every secret hidden; what holds none is returned as it is.
    pub fn mask_json(&self, json: Box<RawValue>) -> Box<RawValue> {
        let Cow::Owned(masked) = self.mask(json.get()) else {
            return json;
        };
        // The mask is fit for the inside of a string; only where a secret was a number does it break the text.
        RawValue::from_string(masked)
            .or_else(|_| {
                let value: Value = serde_json::from_str(json.get())?;
                RawValue::from_string(self.mask_value(value).to_string())
            })
            .unwrap_or_else(|_| RawValue::NULL.to_owned())
    }

    fn reveal_text(&self, text: &str) -> Result<String, EffectError> {
        // A reference within JSON text gets the value as JSON spells it.
        let within_json = text.trim_start().starts_with(['{', '['])
            && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
        let mut revealed = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find(PREFIX) {
            let (before, reference) = rest.split_at(at);
            revealed.push_str(before);
            let Some(found) = Reference::read(reference, &self.nonce) else {
                revealed.push_str(PREFIX);
                rest = &reference[PREFIX.len()..];
                continue;
            };
            let value = self.value(&found.name)?;
            if found.percent_encoded {
                revealed.extend(utf8_percent_encode(value, COMPONENT));
            } else if within_json {
                revealed.push_str(json_escaped(value).as_str());
            } else {
                revealed.push_str(value);
            }
            rest = &reference[found.len..];
        }
        revealed.push_str(rest);
        Ok(revealed)
    }

    fn value(&self, name: &str) -> Result<&str, EffectError> {
        if !self.granted.iter().any(|granted| granted == name) {
            let message = format!("The pattern's manifest does not list the secret `{name}`.");
            return Err(EffectError::new(code::NOT_PERMITTED, message));
        }
        let Some(value) = self.secrets.get(name) else {
            let message = format!("There is no secret `{name}`. Set it, or correct its name in the pattern.");
            return Err(EffectError::new(code::CONNECTION_MISSING, message));
        };
        self.note_use(value);
        Ok(value)
    }

    /// From now on this value is masked.
    pub fn note_use(&self, value: &str) {
        if value.len() < MASKED_BYTES_MIN {
            return;
        }
        let mut needles = self.needles.lock().unwrap_or_else(PoisonError::into_inner);
        for spelling in spellings(value) {
            if spelling.len() >= MASKED_BYTES_MIN && !needles.contains(&spelling) {
                needles.push(spelling);
            }
        }
        needles.sort_by_key(|needle| std::cmp::Reverse(needle.len()));
    }
}

/// A reference as [`heddle_node_stdlib::abi::secret_reference`] writes it, or the same after URL encoding.
struct Reference {
    name: String,
    percent_encoded: bool,
    len: usize,
}

impl Reference {
    fn read(text: &str, nonce: &str) -> Option<Self> {
        let rest = text.strip_prefix(PREFIX)?;
        let (rest, open_encoded) = strip(rest, "(", "%28")?;
        let end = rest.find([';', '%'])?;
        let (name, rest) = rest.split_at(end);
        let (rest, separator_encoded) = strip(rest, ";", "%3B")?;
        let rest = rest.strip_prefix(nonce)?;
        let (rest, close_encoded) = strip(rest, ")", "%29")?;
        Some(Reference {
            name: name.to_owned(),
            percent_encoded: open_encoded || separator_encoded || close_encoded,
            len: text.len() - rest.len(),
        })
    }
}

fn strip<'a>(text: &'a str, plain: &str, encoded: &str) -> Option<(&'a str, bool)> {
    match text.strip_prefix(plain) {
        Some(rest) => Some((rest, false)),
        None => text
            .get(..encoded.len())
            .filter(|start| start.eq_ignore_ascii_case(encoded))
            .map(|_| (&text[encoded.len()..], true)),
    }
}

/// The ways in which a service may give a value back.
fn spellings(value: &str) -> Vec<String> {
    let percent: String = utf8_percent_encode(value, COMPONENT).collect();
    let strict: String = utf8_percent_encode(value, NON_ALPHANUMERIC).collect();
    vec![
        value.to_owned(),
        json_escaped(value),
        percent.replace("%20", "+"),
        percent,
        strict,
        STANDARD.encode(value),
        STANDARD_NO_PAD.encode(value),
        URL_SAFE.encode(value),
        URL_SAFE_NO_PAD.encode(value),
    ]
}

/// The inside of the JSON string.
fn json_escaped(value: &str) -> String {
    let quoted = Value::from(value).to_string();
    quoted
        .strip_prefix('"')
        .and_then(|text| text.strip_suffix('"'))
        .unwrap_or(&quoted)
        .to_owned()
}

fn replace_bytes(bytes: Vec<u8>, needle: &[u8]) -> Vec<u8> {
    let mut replaced = Vec::new();
    let mut rest = bytes.as_slice();
    while let Some(at) = rest.windows(needle.len()).position(|window| window == needle) {
        replaced.extend_from_slice(&rest[..at]);
        replaced.extend_from_slice(MASK.as_bytes());
        rest = &rest[at + needle.len()..];
    }
    if replaced.is_empty() && rest.len() == bytes.len() {
        return bytes;
    }
    replaced.extend_from_slice(rest);
    replaced
}
