//! Secrets of one run: inserted in place of their references when a request leaves the sandbox, only for permitted
//! hosts, and masked in everything that comes back. Values never enter the guest.

mod mask;
mod reference;
mod spelling;
mod used;
mod value;

use crate::hosts;
use heddle_sandbox::{EffectCode, EffectError};
pub use mask::MASK;
use mask::{MASKED_BYTES_MIN, Masker, begun};
use percent_encoding::utf8_percent_encode;
use reference::{PREFIX, Reference};
use serde_json::Value;
use serde_json::value::RawValue;
use spelling::{COMPONENT, json_escaped, spellings};
use std::borrow::Cow;
use std::cell::Cell;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use used::Used;

pub use value::{Secret, Secrets};

/// Bytes by which secrets may make a request longer than it is with references: a run has many requests under way, which are counted
/// without them.
const REVEALED_BYTES_MAX: usize = 1 << 20;
/// What stands at the end of a stranger's words where the rest of them is left out, often where no secret is known yet: in the process
/// that has heard them. By it they are masked as what was cut, see [`Vault::mask_message`].
pub const CUT: char = '…';

/// Where a request goes whose references are replaced.
#[derive(Clone, Copy, Debug)]
pub enum Destination<'a> {
    /// Not known yet: secrets that are bound to hosts stay references.
    Anywhere,
    Host(&'a str, Option<u16>),
    /// Nowhere: what is made of it is a digest or a signature, from which no value can be read, or is only looked at.
    Inside,
}

/// The secrets of one run.
pub struct Vault {
    secrets: Secrets,
    /// Names that the manifest grants.
    granted: Arc<[String]>,
    nonce: String,
    used: Mutex<Used>,
}

impl std::fmt::Debug for Vault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Vault")
    }
}

impl Vault {
    /// Of a run that may use those of these names; with the nonce its references are told from text that only looks like them.
    pub fn new(secrets: Secrets, granted: Arc<[String]>, nonce: String) -> Self {
        Vault {
            secrets,
            granted,
            nonce,
            used: Mutex::default(),
        }
    }

    /// Whether any secret has left the sandbox.
    pub fn was_used(&self) -> bool {
        !self.used().values().is_empty()
    }

    /// The request with every reference replaced by its secret, as far as it may go there.
    pub fn reveal(&self, value: Value, to: Destination<'_>) -> Result<Value, EffectError> {
        let mut room = REVEALED_BYTES_MAX;
        self.reveal_within(value, to, &mut room)
    }

    /// Masks what a request with these references has revealed, although it is not sent again: its secrets may be in what is
    /// read again. Those that are bound to other hosts than the request's are masked as well, which hides too much rather than too
    /// little.
    pub fn note_revealed(&self, request: &str) {
        if self.granted.is_empty() {
            return;
        }
        if let Ok(request) = serde_json::from_str(request) {
            // What it was refused for is known to whoever asked then.
            let _ = self.reveal(request, Destination::Inside);
        }
    }

    fn reveal_within(
        &self,
        value: Value,
        to: Destination<'_>,
        room: &mut usize,
    ) -> Result<Value, EffectError> {
        Ok(match value {
            Value::String(text) if text.contains(PREFIX) => Value::String(self.reveal_text(&text, to, room)?),
            Value::Array(items) => Value::Array(
                items
                    .into_iter()
                    .map(|item| self.reveal_within(item, to, room))
                    .collect::<Result<_, _>>()?,
            ),
            Value::Object(members) => Value::Object(
                members
                    .into_iter()
                    .map(|(name, value)| Ok((name, self.reveal_within(value, to, room)?)))
                    .collect::<Result<_, EffectError>>()?,
            ),
            other => other,
        })
    }

    /// A value to be kept for other runs, with references that they can read.
    pub fn to_keep(&self, value: Value) -> Value {
        each_text(value, &|text| reference::to_keep(text, &self.nonce))
    }

    /// What [`Vault::to_keep`] gave to this or another run.
    pub fn kept(&self, value: Value) -> Value {
        each_text(value, &|text| reference::from_kept(text, &self.nonce))
    }

    /// The text with every secret's value that this run has used replaced by `***`.
    pub fn mask<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match self.masker() {
            Some(masker) => masker.text(text),
            None => Cow::Borrowed(text),
        }
    }

    /// The bytes with the values of secrets replaced, for what is not text.
    pub fn mask_bytes(&self, bytes: Vec<u8>) -> Vec<u8> {
        match self.masker() {
            Some(masker) => masker.bytes(bytes),
            None => bytes,
        }
    }

    /// The bytes of a file, of which as many stay as there are, with `*` for each of those of a secret; `None`: they have none.
    pub fn blotted(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        self.masker()?.blotted(bytes)
    }

    /// Whether a secret is in it.
    pub fn is_in(&self, bytes: &[u8]) -> bool {
        self.masker().is_some_and(|masker| masker.is_in(bytes))
    }

    /// The value with every secret hidden in its strings, names and numbers.
    pub fn mask_value(&self, value: Value) -> Value {
        match self.masker() {
            Some(masker) => mask_within(&masker, value),
            None => value,
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

    /// Masks JSON whose last text was cut: a secret may have begun there whose rest is not recognised as one.
    pub fn mask_cut_json(&self, json: Box<RawValue>) -> Box<RawValue> {
        let text = json.get();
        let cut = text.trim_end_matches([']', '}']).strip_suffix('"');
        let (Some(cut), Some(masker)) = (cut, self.masker()) else {
            return self.mask_json(json);
        };
        let begun = self.begun(cut);
        if begun < MASKED_BYTES_MIN {
            return self.mask_json(json);
        }
        // What escapes the first character goes with it.
        let start = cut[..cut.floor_char_boundary(cut.len() - begun)]
            .trim_end_matches('\\')
            .len();
        let masked = masker.text_without(text, start..cut.len());
        RawValue::from_string(masked).unwrap_or_else(|_| RawValue::NULL.to_owned())
    }

    /// The beginning of a stranger's words, masked, and on one line.
    pub fn mask_beginning(&self, said: &str, chars_max: usize) -> String {
        // Masked before it is cut, so that no part of a secret is left.
        let masked = self.mask(said);
        let mut shown = masked.chars().filter(|character| !character.is_control());
        let mut text: String = shown.by_ref().take(chars_max).collect();
        if shown.next().is_some() {
            text.push(CUT);
        }
        text
    }

    /// The text of an error, in which a server may have the last word, masked. If that was cut, a secret may have begun there whose rest
    /// is not known to be one.
    pub fn mask_message<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let Some(masker) = self.masker() else {
            return Cow::Borrowed(text);
        };
        let cut = text.trim_end_matches('.').strip_suffix(CUT);
        let begun = cut.map_or(0, |cut| self.begun(cut));
        match cut {
            Some(cut) if begun >= MASKED_BYTES_MIN => {
                let start = cut.floor_char_boundary(cut.len() - begun);
                Cow::Owned(masker.text_without(text, start..cut.len()))
            }
            _ => masker.text(text),
        }
    }

    /// How many bytes at the end of a text may be the beginning of a secret that this run has used.
    fn begun(&self, text: &str) -> usize {
        let used = self.used();
        let spellings = used.values().iter().flat_map(|value| spellings(value));
        let wanted = spellings.filter(|spelling| spelling.len() > MASKED_BYTES_MIN);
        let lengths = wanted.map(|spelling| begun(text.as_bytes(), spelling.as_bytes()));
        lengths.max().unwrap_or_default()
    }

    fn reveal_text(&self, text: &str, to: Destination<'_>, room: &mut usize) -> Result<String, EffectError> {
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
            let length_before = revealed.len();
            match self.value(found.name, to)? {
                None => revealed.push_str(&reference[..found.len]),
                Some(value) if found.percent_encoded => {
                    revealed.extend(utf8_percent_encode(value, COMPONENT));
                }
                Some(value) if within_json => revealed.push_str(json_escaped(value).as_str()),
                Some(value) => revealed.push_str(value),
            }
            let longer = (revealed.len() - length_before).saturating_sub(found.len);
            *room = room.checked_sub(longer).ok_or_else(|| {
                let message = format!(
                    "With its secrets inserted, the request would be more than {} MiB larger. Refer to them less often.",
                    REVEALED_BYTES_MAX >> 20
                );
                EffectError::new(EffectCode::EffectLimit, message)
            })?;
            rest = &reference[found.len..];
        }
        revealed.push_str(rest);
        Ok(revealed)
    }

    /// A secret's value, if it is to be put in there.
    fn value(&self, name: &str, to: Destination<'_>) -> Result<Option<&str>, EffectError> {
        if !self.granted.iter().any(|granted| granted == name) {
            let message = format!("The pattern's manifest does not list the secret `{name}`.");
            return Err(EffectError::new(EffectCode::NotPermitted, message));
        }
        let Some(secret) = self.secrets.get(name) else {
            let message = format!("There is no secret `{name}`. Set it, or correct the name in the pattern.");
            return Err(EffectError::new(EffectCode::ConnectionMissing, message));
        };
        let is_bound = !secret.hosts().is_empty();
        match to {
            Destination::Anywhere if is_bound => return Ok(None),
            Destination::Host(host, port) if is_bound && !hosts::names(secret.hosts(), host, port) => {
                return Err(misdirected(name, secret, host, port));
            }
            _ => {}
        }
        self.note_use(secret.expose())?;
        Ok(Some(secret.expose()))
    }

    /// About how many bytes of spellings are to be made before a result is masked, or this message of an error.
    pub fn spelling_bytes(&self, message: Option<&str>) -> usize {
        let is_cut = message.is_some_and(|message| message.trim_end_matches('.').ends_with(CUT));
        self.used().spelling_bytes(is_cut)
    }

    /// From now on this value is masked.
    pub fn note_use(&self, value: &str) -> Result<(), EffectError> {
        if value.len() < MASKED_BYTES_MIN {
            return Ok(());
        }
        self.used().note(value)
    }

    fn used(&self) -> MutexGuard<'_, Used> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Of all values used so far; `None`: there is nothing to mask.
    fn masker(&self) -> Option<Masker> {
        self.used().masker()
    }
}

/// The beginning of what a stranger has said, for people and the log: on one line, and without these secrets, which they were told.
pub fn told_by_stranger(said: &str, secrets: &[&str], chars_max: usize) -> String {
    let vault = Vault::new(Secrets::new(), Arc::new([]), String::new());
    for secret in secrets {
        // It refuses far more than whoever asks has.
        let _ = vault.note_use(secret);
    }
    vault.mask_beginning(said, chars_max)
}

fn misdirected(name: &str, secret: &Secret, host: &str, port: Option<u16>) -> EffectError {
    let hosts = secret.hosts().join(", ");
    let to = match (host, port) {
        ("", _) => "a recipient without a host".to_owned(),
        (host, Some(port)) => format!("{host}:{port}"),
        (host, None) => host.to_owned(),
    };
    let message = format!(
        "The secret `{name}` may only be sent to {hosts}, not to {to}. Add the host to the secret's `hosts` \
         if you trust it, or correct the node's address."
    );
    EffectError::new(EffectCode::NotPermitted, message)
}

/// The value with all its texts changed; names of members stay.
/// A value from outside of any run, as runs keep it: no text in it is a reference to a secret.
pub fn to_keep_from_outside(value: Value) -> Value {
    each_text(value, &reference::marked)
}

/// A value that runs keep, for people: references to secrets are masked. Also says whether there were any.
pub fn kept_for_people(value: Value) -> (Value, bool) {
    let has_secret = Cell::new(false);
    let shown = each_text(value, &|text| {
        has_secret.set(has_secret.get() || reference::is_in_kept(text));
        reference::without_references(text, MASK)
    });
    (shown, has_secret.get())
}

/// Whether a text, such as a key, could be taken for one with a reference to a secret.
pub fn looks_like_a_reference(text: &str) -> bool {
    text.contains(PREFIX)
}

fn each_text(value: Value, change: &dyn Fn(&str) -> String) -> Value {
    match value {
        Value::String(text) if text.contains(PREFIX) => Value::String(change(&text)),
        Value::Array(items) => Value::Array(items.into_iter().map(|item| each_text(item, change)).collect()),
        Value::Object(members) => Value::Object(
            members
                .into_iter()
                .map(|(name, value)| (name, each_text(value, change)))
                .collect(),
        ),
        other => other,
    }
}

fn mask_within(masker: &Masker, value: Value) -> Value {
    match value {
        Value::String(text) => match masker.text(&text) {
            Cow::Borrowed(_) => Value::String(text),
            Cow::Owned(masked) => Value::String(masked),
        },
        Value::Number(number) => {
            let text = number.to_string();
            match masker.text(&text) {
                Cow::Borrowed(_) => Value::Number(number),
                Cow::Owned(masked) => Value::String(masked),
            }
        }
        Value::Array(items) => {
            Value::Array(items.into_iter().map(|item| mask_within(masker, item)).collect())
        }
        Value::Object(members) => Value::Object(
            members
                .into_iter()
                .map(|(name, value)| (masker.text(&name).into_owned(), mask_within(masker, value)))
                .collect(),
        ),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vault() -> Vault {
        let vault = Vault::new(Secrets::default(), Arc::from([]), String::new());
        let long = "0123456789abcdefghijklmnopqrstuvwxyz".repeat(3);
        for value in ["geheim-\"geheim\"", long.as_str()] {
            vault.note_use(value).unwrap();
        }
        vault
    }

    fn masked(json: &str) -> String {
        let json = RawValue::from_string(json.to_owned()).unwrap();
        vault().mask_cut_json(json).get().to_owned()
    }

    #[test]
    fn what_a_known_request_has_revealed_is_masked() {
        let bound = Secret::new("geheim-geheim".to_owned(), vec!["api.example.com".to_owned()]);
        let secrets = Secrets::from([
            ("BOUND".to_owned(), bound),
            ("OTHER".to_owned(), Secret::from("not granted".to_owned())),
        ]);
        let granted: Arc<[String]> = Arc::from(["BOUND".to_owned()]);
        let vault = Vault::new(secrets, granted, "n".to_owned());
        let request = r#"{"headers": [["a", "heddle-secret(BOUND;n)"]], "url": "heddle-secret(OTHER;n)"}"#;
        vault.note_revealed(request);
        vault.note_revealed("no JSON");
        assert_eq!(vault.mask("geheim-geheim, not granted"), "***, not granted");
    }

    #[test]
    fn a_request_is_not_much_larger_with_its_secrets_than_without() {
        const BYTES: usize = 64 << 10;
        let secrets = Secrets::from([("KEY".to_owned(), Secret::from("x".repeat(BYTES)))]);
        let vault = Vault::new(secrets, Arc::from(["KEY".to_owned()]), "n".to_owned());
        let reveal = |count: usize| {
            let texts = vec![Value::from("a heddle-secret(KEY;n)"); count];
            vault.reveal(texts.into(), Destination::Anywhere)
        };
        let most = REVEALED_BYTES_MAX / BYTES;
        let revealed = reveal(most).unwrap();
        assert_eq!(revealed[most - 1].as_str().map(str::len), Some(2 + BYTES));
        assert_eq!(reveal(most + 1).unwrap_err().code, EffectCode::EffectLimit);
    }

    #[test]
    fn a_secret_that_is_cut_is_hidden() {
        for (json, expected) in [
            (r#"{"a":["it is gehei"]}"#, r#"{"a":["it is ***"]}"#),
            (r#"{"a":["it is geh"]}"#, r#"{"a":["it is geh"]}"#),
            (r#"{"a":"gehei","b":"geheim-\"ge"}"#, r#"{"a":"gehei","b":"***"}"#),
            (r#""\\gehei""#, r#""***""#),
            (r#"["gehei",1]"#, r#"["gehei",1]"#),
            (r#"["geheim-\"geheim\" gehei"]"#, r#"["*** ***"]"#),
            ("[]", "[]"),
        ] {
            assert_eq!(masked(json), expected);
        }
        for (told, expected) in [
            ("it is gehei…", "it is ***…"),
            ("it is gehei….", "it is ***…."),
            ("it is geh…", "it is geh…"),
            ("it is gehei.", "it is gehei."),
            ("gehei… geheim-\"geheim\"", "gehei… ***"),
            ("geheim-\"geheim\"gehei…", "***…"),
            ("…", "…"),
            ("", ""),
        ] {
            assert_eq!(vault().mask_message(told), expected);
        }
        let long = "0123456789abcdefghijklmnopqrstuvwxyz".repeat(3);
        for length in [5, 31, 40, 70, 107] {
            let told = format!("x{}…", &long[..length]);
            assert_eq!(vault().mask_message(&told), "x***…");
            assert_eq!(
                masked(&format!(r#"{{"a":"x{}"}}"#, &long[..length])),
                r#"{"a":"x***"}"#
            );
        }
    }
}
