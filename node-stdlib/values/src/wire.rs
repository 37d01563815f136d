//! Values in the form in which they cross to the JavaScript engine.

use super::date_time::Date;
use super::{Array, Object, Shape, Temporal, Text, Value};
use heddle_javascript::wire::{self, Broken, DEPTH_MAX, Reader, TimeKind, Token, Writer};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasherDefault, Hasher};

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
    numbers: HashMap<usize, u32, BuildHasherDefault<AddressHasher>>,
    kinds: Kinds,
}

/// Of addresses, which nobody outside chooses: a multiplication spreads them well enough.
#[derive(Default)]
struct AddressHasher(u64);

impl Hasher for AddressHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_usize((*byte).into()));
    }

    fn write_usize(&mut self, address: usize) {
        let product = (self.0 ^ address as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = product.rotate_left(u64::BITS / 2);
    }
}

/// Addresses of shapes, which live as long as the value, and the numbers of their kinds. One that was pushed out is simply
/// written again.
#[derive(Default)]
struct Kinds {
    known: Vec<(usize, u32)>,
    /// The one that gives way next.
    oldest: usize,
}

/// So many are remembered.
const KINDS_MAX: usize = 16;

impl Kinds {
    fn find(&self, shape: usize) -> Option<u32> {
        let known = self.known.iter().find(|(known, _)| *known == shape);
        known.map(|(_, number)| *number)
    }

    fn keep(&mut self, shape: usize, number: u32) {
        match self.known.get_mut(self.oldest) {
            Some(oldest) => *oldest = (shape, number),
            None => self.known.push((shape, number)),
        }
        self.oldest = (self.oldest + 1) % KINDS_MAX;
    }
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
                if !self.came_before(object.shared_address()) {
                    self.object(object);
                }
            }
        }
    }

    /// Writes an object, of those with a shape in common the names only once.
    fn object(&mut self, object: &Object) {
        let plain = object.plain();
        let plain = plain.and_then(|(shape, values)| Some((shape.shared_address()?, values)));
        if let Some((shape, values)) = plain
            && let Some(kind) = self.kinds.find(shape)
        {
            self.writer.like(kind);
            values.iter().for_each(|value| self.write(value));
            return;
        }
        let kind = plain.map(|(shape, _)| (shape, self.writer.kind()));
        if kind.is_none() {
            self.writer.object();
        }
        for (name, value) in object.iter() {
            with_text(name, |name| self.writer.key(name));
            self.write(value);
        }
        self.writer.end();
        if let Some((shape, number)) = kind {
            self.kinds.keep(shape, number);
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
            .time(kind, temporal.value_of(), &temporal.to_handed_over());
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
        kinds: Vec::new(),
        open: Vec::new(),
        values: Vec::new(),
        shapes: Shapes::default(),
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
    /// Keys of the kinds, by their number; none until the first object of a kind has ended.
    kinds: Vec<Option<Vec<usize>>>,
    /// Keys of the objects that are open.
    open: Vec<usize>,
    /// Values of the arrays and objects that are open.
    values: Vec<Value>,
    shapes: Shapes,
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
                let first = self.values.len();
                self.read_values(length)?;
                self.depth -= 1;
                let items: Vec<Value> = self.values.drain(first..).collect();
                Value::Array(Array::from(items))
            }
            Token::Object => Value::Object(self.object(None)?),
            Token::Kind => {
                let number = self.kinds.len();
                self.kinds.push(None);
                Value::Object(self.object(Some(number))?)
            }
            Token::Like(number) => Value::Object(self.like(number)?),
        })
    }

    fn read_values(&mut self, count: usize) -> Result<(), Broken> {
        for _ in 0..count {
            let value = self.value()?;
            self.values.push(value);
        }
        Ok(())
    }

    /// An object with its keys, which are those of a kind if that has a number.
    fn object(&mut self, kind: Option<usize>) -> Result<Object, Broken> {
        self.enter()?;
        let (first_key, first) = (self.open.len(), self.values.len());
        while let Some(key) = self.reader.key()? {
            if key.index == self.keys.len() {
                self.keys.push(text_of(key.text));
            }
            self.open.push(key.index);
            self.read_values(1)?;
        }
        self.depth -= 1;
        let keys = self.open.get(first_key..).unwrap_or_default();
        if let Some(kind) = kind.and_then(|kind| self.kinds.get_mut(kind)) {
            *kind = Some(keys.to_vec());
        }
        let object = self.shapes.object(keys, &self.keys, self.values.drain(first..));
        self.open.truncate(first_key);
        Ok(object)
    }

    /// An object with the keys of a kind.
    fn like(&mut self, number: usize) -> Result<Object, Broken> {
        let kind = self.kinds.get(number).and_then(Option::as_deref);
        let count = kind.ok_or(self.reader.broken())?.len();
        self.enter()?;
        let first = self.values.len();
        self.read_values(count)?;
        self.depth -= 1;
        let keys = self
            .kinds
            .get(number)
            .and_then(Option::as_deref)
            .unwrap_or_default();
        Ok(self.shapes.object(keys, &self.keys, self.values.drain(first..)))
    }

    fn enter(&mut self) -> Result<(), Broken> {
        self.depth += 1;
        match self.depth > DEPTH_MAX {
            true => Err(self.reader.broken()),
            false => Ok(()),
        }
    }
}

/// Shapes that objects of the message had lately, by their keys, none of them empty.
#[derive(Default)]
struct Shapes {
    known: Vec<(Vec<usize>, Shape)>,
    /// The one that gives way next.
    oldest: usize,
}

/// So many are remembered.
const SHAPES_MAX: usize = 8;

impl Shapes {
    /// An object of these keys, which are places in `names`, and as many values.
    fn object(&mut self, keys: &[usize], names: &[Text], values: impl Iterator<Item = Value>) -> Object {
        if let Some((_, shape)) = self.known.iter().find(|(known, _)| known == keys) {
            return Object::of_shape(shape.clone(), values.collect());
        }
        let names = keys.iter().filter_map(|key| names.get(*key).cloned());
        let object: Object = names.zip(values).collect();
        // Keys of integers have another order, and what comes twice is there once.
        if let Some(shape) = object.shape()
            && shape.len() == keys.len()
            && !keys.is_empty()
        {
            let known = (keys.to_vec(), shape.clone());
            match self.known.get_mut(self.oldest) {
                Some(oldest) => *oldest = known,
                None => self.known.push(known),
            }
            self.oldest = (self.oldest + 1) % SHAPES_MAX;
        }
        object
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
