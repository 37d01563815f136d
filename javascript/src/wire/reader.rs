//! Bytes to values, one token at a time.

use super::{key, tag};

/// The bytes are no message of this form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Broken {
    /// Where it shows.
    pub offset: usize,
}

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the value is broken at byte {}", self.offset)
    }
}

impl std::error::Error for Broken {}

/// What begins at the reader's place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Token<'a> {
    /// `undefined`.
    Undefined,
    /// `null`.
    Null,
    /// A boolean.
    Bool(bool),
    /// A number.
    Number(f64),
    /// A string, well-formed.
    Utf8(&'a str),
    /// A string with lone surrogates: code units as pairs of bytes, little-endian.
    Utf16(&'a [u8]),
    /// An array: so many values follow. No more than the bytes that are left.
    Array(usize),
    /// An object: [`Reader::key`] and a value follow by turns.
    Object,
    /// Milliseconds since 1970 UTC; NaN is an invalid date.
    Date(f64),
    /// A time that JavaScript has no type for.
    Time {
        /// What it is.
        kind: TimeKind,
        /// What arithmetic makes of it, in milliseconds; NaN when it is invalid.
        ms: f64,
        /// Its text.
        text: &'a str,
    },
    /// The array or object that follows is [`Token::Again`] by its number, counted from 0.
    Shared,
    /// What had this number.
    Again(usize),
}

/// A time of another kind than JavaScript's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum TimeKind {
    /// A moment with a time zone.
    DateTime = 0,
    /// How long something takes.
    Duration = 1,
}

/// Key of a property.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Key<'a> {
    /// Its number among the different keys of the message: whoever keeps what it made of a key finds it by this.
    pub index: usize,
    /// [`Token::Utf8`] or [`Token::Utf16`].
    pub text: Token<'a>,
}

/// Reads one message.
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    keys: Vec<Token<'a>>,
}

impl<'a> Reader<'a> {
    /// Reads from `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Reader {
            bytes,
            at: 0,
            keys: Vec::new(),
        }
    }

    /// Whether every byte was read.
    pub fn is_at_end(&self) -> bool {
        self.at == self.bytes.len()
    }

    /// An error at this place, for what the caller refuses.
    pub fn broken(&self) -> Broken {
        Broken { offset: self.at }
    }

    /// The next value, or its beginning.
    pub fn token(&mut self) -> Result<Token<'a>, Broken> {
        let tag = self.take(1)?.first().copied();
        Ok(match tag {
            Some(tag::UNDEFINED) => Token::Undefined,
            Some(tag::NULL) => Token::Null,
            Some(tag::FALSE) => Token::Bool(false),
            Some(tag::TRUE) => Token::Bool(true),
            Some(tag::NUMBER) => Token::Number(self.double()?),
            Some(tag::INTEGER) => {
                let zigzag = self.varint()?;
                Token::Number(f64::from((zigzag >> 1) as i32 ^ -((zigzag & 1) as i32)))
            }
            Some(tag::UTF8) => Token::Utf8(self.utf8()?),
            Some(tag::UTF16) => {
                let units = self.varint()? as usize;
                Token::Utf16(self.take(units.checked_mul(2).ok_or(self.broken())?)?)
            }
            Some(tag::ARRAY) => {
                let length = self.varint()? as usize;
                // Every value has at least one byte, so a length beyond that is not worth an allocation.
                if length > self.bytes.len() - self.at {
                    return Err(self.broken());
                }
                Token::Array(length)
            }
            Some(tag::OBJECT) => Token::Object,
            Some(tag::DATE) => Token::Date(self.double()?),
            Some(tag::TIME) => {
                let kind = match self.take(1)?.first() {
                    Some(0) => TimeKind::DateTime,
                    Some(1) => TimeKind::Duration,
                    _ => return Err(self.broken()),
                };
                let ms = self.double()?;
                let text = self.utf8()?;
                Token::Time { kind, ms, text }
            }
            Some(tag::SHARED) => Token::Shared,
            Some(tag::AGAIN) => Token::Again(self.varint()? as usize),
            _ => return Err(self.broken()),
        })
    }

    /// The next property's key; `None` at the end of the object.
    pub fn key(&mut self) -> Result<Option<Key<'a>>, Broken> {
        match self.varint()? {
            key::END => Ok(None),
            key::NEW => {
                let text = self.token()?;
                if !matches!(text, Token::Utf8(_) | Token::Utf16(_)) {
                    return Err(self.broken());
                }
                let index = self.keys.len();
                self.keys.push(text);
                Ok(Some(Key { index, text }))
            }
            known => {
                let index = (known - key::KNOWN) as usize;
                let text = *self.keys.get(index).ok_or(self.broken())?;
                Ok(Some(Key { index, text }))
            }
        }
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], Broken> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let taken = rest.get(..length).ok_or(self.broken())?;
        self.at += length;
        Ok(taken)
    }

    fn utf8(&mut self) -> Result<&'a str, Broken> {
        let length = self.varint()? as usize;
        let bytes = self.take(length)?;
        str::from_utf8(bytes).map_err(|_| self.broken())
    }

    fn double(&mut self) -> Result<f64, Broken> {
        let bytes: [u8; 8] = self.take(8)?.try_into().map_err(|_| self.broken())?;
        Ok(f64::from_bits(u64::from_le_bytes(bytes)))
    }

    fn varint(&mut self) -> Result<u32, Broken> {
        let mut value = 0;
        for shift in [0, 7, 14, 21, 28] {
            let byte = *self.bytes.get(self.at).ok_or(self.broken())?;
            self.at += 1;
            if shift == 28 && byte > 0x0f {
                return Err(self.broken());
            }
            value |= u32::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(self.broken())
    }
}
