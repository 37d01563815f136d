//! Values to bytes.

use super::{TimeKind, key, tag};

/// Places of the cache of keys; a key that was pushed out is simply written again.
const CACHE: usize = 64;

/// Text to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Text<'a> {
    /// Well-formed.
    Utf8(&'a str),
    /// Code units, for text with lone surrogates.
    Utf16(&'a [u16]),
}

/// A key that was written before.
#[derive(Clone, Copy)]
struct Known {
    /// Of its UTF-8 bytes in the message.
    start: usize,
    bytes: usize,
    index: u32,
}

/// Writes one message. Whoever uses it sees to it that arrays have as many values as was said and that objects
/// end; nesting is not counted here.
pub struct Writer {
    out: Vec<u8>,
    /// New keys so far.
    keys: u32,
    /// Kinds so far.
    kinds: u32,
    cache: [Option<Known>; CACHE],
}

impl Default for Writer {
    fn default() -> Self {
        Writer::new(Vec::new())
    }
}

impl Writer {
    /// Writes into `buffer`, which is emptied first.
    pub fn new(mut buffer: Vec<u8>) -> Self {
        buffer.clear();
        Writer {
            out: buffer,
            keys: 0,
            kinds: 0,
            cache: [None; CACHE],
        }
    }

    /// Bytes so far.
    pub fn len(&self) -> usize {
        self.out.len()
    }

    /// Whether nothing was written yet.
    pub fn is_empty(&self) -> bool {
        self.out.is_empty()
    }

    /// The message.
    pub fn finish(self) -> Vec<u8> {
        self.out
    }

    /// `undefined`.
    pub fn undefined(&mut self) {
        self.out.push(tag::UNDEFINED);
    }

    /// `null`.
    pub fn null(&mut self) {
        self.out.push(tag::NULL);
    }

    /// `true` or `false`.
    pub fn bool(&mut self, value: bool) {
        self.out.push(if value { tag::TRUE } else { tag::FALSE });
    }

    /// A number.
    pub fn number(&mut self, value: f64) {
        let integer = value as i32;
        if f64::from(integer).to_bits() == value.to_bits() {
            self.integer(integer);
        } else {
            self.out.push(tag::NUMBER);
            self.out.extend_from_slice(&value.to_bits().to_le_bytes());
        }
    }

    /// A number that is known to be an integer.
    pub fn integer(&mut self, value: i32) {
        self.out.push(tag::INTEGER);
        self.varint((value << 1 ^ value >> 31) as u32);
    }

    /// A date in milliseconds since 1970 UTC.
    pub fn date(&mut self, ms: f64) {
        self.out.push(tag::DATE);
        self.out.extend_from_slice(&ms.to_bits().to_le_bytes());
    }

    /// A time of another kind, see [`super::Token::Time`].
    pub fn time(&mut self, kind: TimeKind, ms: f64, text: &str) {
        self.out.extend([tag::TIME, kind as u8]);
        self.out.extend_from_slice(&ms.to_bits().to_le_bytes());
        self.varint(text.len() as u32);
        self.out.extend_from_slice(text.as_bytes());
    }

    /// The array or object that follows may come again.
    pub fn shared(&mut self) {
        self.out.push(tag::SHARED);
    }

    /// The shared array or object of this number, counted from 0.
    pub fn again(&mut self, number: u32) {
        self.out.push(tag::AGAIN);
        self.varint(number);
    }

    /// A string.
    pub fn text(&mut self, text: Text<'_>) {
        match text {
            Text::Utf8(text) => {
                self.out.push(tag::UTF8);
                self.varint(text.len() as u32);
                self.out.extend_from_slice(text.as_bytes());
            }
            Text::Utf16(units) => {
                self.out.push(tag::UTF16);
                self.varint(units.len() as u32);
                self.out.extend(units.iter().flat_map(|unit| unit.to_le_bytes()));
            }
        }
    }

    /// An array, whose `len` values follow.
    pub fn array(&mut self, len: u32) {
        self.out.push(tag::ARRAY);
        self.varint(len);
    }

    /// An object: keys and values by turns follow, then [`Writer::end`].
    pub fn object(&mut self) {
        self.out.push(tag::OBJECT);
    }

    /// As [`Writer::object`]; gives the number by which objects with the same keys in the same order can be
    /// [`Writer::like`] it once it has ended.
    pub fn kind(&mut self) -> u32 {
        self.out.push(tag::KIND);
        let number = self.kinds;
        self.kinds += 1;
        number
    }

    /// An object with the keys of a kind: its values follow, and no end.
    pub fn like(&mut self, kind: u32) {
        self.out.push(tag::LIKE);
        self.varint(kind);
    }

    /// The end of an object.
    pub fn end(&mut self) {
        self.varint(key::END);
    }

    /// A key, in the shorter form if it was written lately.
    pub fn key(&mut self, text: Text<'_>) {
        let Text::Utf8(name) = text else {
            self.new_key(text);
            return;
        };
        let place = place(name.as_bytes());
        if let Some(known) = self.cache[place]
            && self.out.get(known.start..known.start + known.bytes) == Some(name.as_bytes())
        {
            self.known_key(known.index);
            return;
        }
        let index = self.new_key(text);
        self.cache[place] = Some(Known {
            start: self.out.len() - name.len(),
            bytes: name.len(),
            index,
        });
    }

    /// A key for the first time; gives the index for [`Writer::known_key`].
    pub fn new_key(&mut self, text: Text<'_>) -> u32 {
        self.varint(key::NEW);
        self.text(text);
        let index = self.keys;
        self.keys += 1;
        index
    }

    /// A key that [`Writer::new_key`] has written in this message.
    pub fn known_key(&mut self, index: u32) {
        self.varint(key::KNOWN + index);
    }

    #[inline]
    fn varint(&mut self, value: u32) {
        match value < 0x80 {
            true => self.out.push(value as u8),
            false => self.long_varint(value),
        }
    }

    fn long_varint(&mut self, mut value: u32) {
        while value >= 0x80 {
            self.out.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.out.push(value as u8);
    }
}

/// Where a key is cached: FNV-1a of its length and its outer bytes.
fn place(name: &[u8]) -> usize {
    let outer = [name.first(), name.get(name.len() / 2), name.last()];
    let hash = outer
        .into_iter()
        .flatten()
        .fold(0x811c_9dc5 ^ name.len() as u32, |hash, byte| {
            (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193)
        });
    (hash ^ hash >> 16) as usize % CACHE
}
