//! Values in the form in which they cross to the JavaScript engine.

use super::date_time::Date;
use super::{Array, Object, Temporal, Text, Value};
use heddle_javascript::wire::{self, Broken, DEPTH_MAX, Reader, TimeKind, Token, Writer};
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// A value as one message, in which what is the same array or object stays one. Functions become `undefined`, in
/// objects too.
pub fn to_message(value: &Value) -> Vec<u8> {
    let mut encoder = Encoder::default();
    encoder.write(value);
    encoder.writer.finish()
}

#[derive(Default)]
struct Encoder {
    writer: Writer,
    /// Numbers of arrays and objects that several hold, by their address.
    numbers: HashMap<usize, u32>,
}

impl Encoder {
    /// Writes a value, which is nested as deeply as whoever has made it allowed.
    fn write(&mut self, value: &Value) {
        match value {
            Value::Undefined | Value::Function(_) => self.writer.undefined(),
            Value::Null => self.writer.null(),
            Value::Bool(value) => self.writer.bool(*value),
            Value::Number(number) => self.writer.number(*number),
            Value::String(text) => with_text(text, |text| self.writer.text(text)),
            Value::Temporal(temporal) => self.time(temporal),
            Value::Array(items) => {
                if self.came_before(items.shared_address()) {
                    return;
                }
                // No array of a 32-bit memory has more.
                self.writer.array(u32::try_from(items.len()).unwrap_or(u32::MAX));
                items.iter().for_each(|item| self.write(item));
            }
            Value::Object(object) => {
                if self.came_before(object.shared_address()) {
                    return;
                }
                self.writer.object();
                for (name, value) in object.iter() {
                    with_text(name, |name| self.writer.key(name));
                    self.write(value);
                }
                self.writer.end();
            }
        }
    }

    /// Writes that the same array or object came before; if not, that it may come again.
    fn came_before(&mut self, address: Option<usize>) -> bool {
        let Some(address) = address else {
            return false;
        };
        let next = self.numbers.len() as u32;
        match self.numbers.entry(address) {
            Entry::Occupied(number) => {
                self.writer.again(*number.get());
                true
            }
            Entry::Vacant(place) => {
                place.insert(next);
                self.writer.shared();
                false
            }
        }
    }

    fn time(&mut self, temporal: &Temporal) {
        let kind = match temporal {
            Temporal::Date(date) => return self.writer.date(date.ms()),
            Temporal::DateTime(_) => TimeKind::DateTime,
            Temporal::Duration(_) => TimeKind::Duration,
        };
        self.writer
            .time(kind, temporal.value_of(), &temporal.to_js_string());
    }
}

fn with_text(text: &Text, write: impl FnOnce(wire::Text<'_>)) {
    match text.as_str() {
        Some(text) => write(wire::Text::Utf8(text)),
        None => write(wire::Text::Utf16(&text.units().collect::<Vec<u16>>())),
    }
}

/// The value of a message.
pub fn from_message(message: &[u8]) -> Result<Value, Broken> {
    let mut decoder = Decoder {
        reader: Reader::new(message),
        keys: Vec::new(),
        depth: 0,
    };
    let value = decoder.value()?;
    match decoder.reader.is_at_end() {
        true => Ok(value),
        false => Err(decoder.reader.broken()),
    }
}

struct Decoder<'a> {
    reader: Reader<'a>,
    /// Texts of the message's keys, shared by all objects that have them.
    keys: Vec<Text>,
    depth: usize,
}

impl Decoder<'_> {
    fn value(&mut self) -> Result<Value, Broken> {
        Ok(match self.reader.token()? {
            Token::Undefined => Value::Undefined,
            Token::Null => Value::Null,
            Token::Bool(value) => Value::Bool(value),
            Token::Number(number) => Value::Number(number),
            Token::Date(ms) => Temporal::Date(Date::new(ms)).into(),
            // Only ever written by this side: what the engine hands back is its text.
            Token::Time { .. } | Token::Shared | Token::Again(_) => return Err(self.reader.broken()),
            text @ (Token::Utf8(_) | Token::Utf16(_)) => Value::String(text_of(text)),
            Token::Array(length) => {
                self.enter()?;
                let items = (0..length).map(|_| self.value());
                let items: Array = items.collect::<Result<Vec<_>, _>>()?.into_iter().collect();
                self.depth -= 1;
                Value::Array(items)
            }
            Token::Object => {
                self.enter()?;
                let mut object = Object::new();
                while let Some(key) = self.reader.key()? {
                    if key.index == self.keys.len() {
                        self.keys.push(text_of(key.text));
                    }
                    let name = self.keys.get(key.index).cloned().unwrap_or_default();
                    object.insert(name, self.value()?);
                }
                self.depth -= 1;
                Value::Object(object)
            }
        })
    }

    fn enter(&mut self) -> Result<(), Broken> {
        self.depth += 1;
        match self.depth > DEPTH_MAX {
            true => Err(self.reader.broken()),
            false => Ok(()),
        }
    }
}

fn text_of(token: Token<'_>) -> Text {
    match token {
        Token::Utf8(text) => Text::from(text),
        Token::Utf16(bytes) => {
            let pairs = bytes.chunks_exact(2);
            let unit = |pair: &[u8]| {
                pair.iter()
                    .rev()
                    .fold(0, |unit, byte| unit << 8 | u16::from(*byte))
            };
            Text::from_units(&pairs.map(unit).collect::<Vec<u16>>())
        }
        _ => Text::default(),
    }
}
