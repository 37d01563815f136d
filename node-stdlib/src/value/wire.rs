//! Values in the form in which they cross to the JavaScript engine. Luxon's cross as texts, since it has no Luxon.

use super::date_time::Date;
use super::{Array, Object, Temporal, Text, Value};
use heddle_javascript::wire::{self, Broken, DEPTH_MAX, Reader, Token, Writer};

/// A value as one message. Functions become `undefined`, in objects too.
pub fn to_message(value: &Value) -> Vec<u8> {
    let mut writer = Writer::default();
    write(value, &mut writer);
    writer.finish()
}

/// Writes a value, which is nested as deeply as the writer's caller has allowed.
pub fn write(value: &Value, writer: &mut Writer) {
    match value {
        Value::Undefined | Value::Function(_) => writer.undefined(),
        Value::Null => writer.null(),
        Value::Bool(value) => writer.bool(*value),
        Value::Number(number) => writer.number(*number),
        Value::String(text) => with_text(text, |text| writer.text(text)),
        Value::Temporal(temporal) => match (&**temporal, temporal.to_json()) {
            (Temporal::Date(date), _) => writer.date(date.ms()),
            (_, Some(text)) => writer.text(wire::Text::Utf8(&text)),
            (_, None) => writer.null(),
        },
        Value::Array(items) => {
            // No array of a 32-bit memory has more.
            writer.array(u32::try_from(items.len()).unwrap_or(u32::MAX));
            items.iter().for_each(|item| write(item, writer));
        }
        Value::Object(object) => {
            writer.object();
            for (name, value) in object.iter() {
                with_text(name, |name| writer.key(name));
                write(value, writer);
            }
            writer.end();
        }
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
