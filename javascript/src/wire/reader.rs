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

/// What begins at the reader's place. `T` is what a text in UTF-8 is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Token<'a, T = &'a str> {
    /// `undefined`.
    Undefined,
    /// `null`.
    Null,
    /// A boolean.
    Bool(bool),
    /// A number.
    Number(f64),
    /// A string, well-formed.
    Utf8(T),
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
    /// As [`Token::Object`]; its keys are those of a kind, which gets the next number, from 0.
    Kind,
    /// An object with the keys of the kind of this number: as many values follow, and no end.
    Like(usize),
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
        self.read(|bytes| str::from_utf8(bytes).ok())
    }

    /// As [`Reader::token`], but whether texts are UTF-8 is left to the caller.
    #[inline(always)]
    pub fn unchecked(&mut self) -> Result<Token<'a, &'a [u8]>, Broken> {
        self.read(Some)
    }

    #[inline(always)]
    fn read<T>(&mut self, utf8: impl FnOnce(&'a [u8]) -> Option<T>) -> Result<Token<'a, T>, Broken> {
        Ok(match self.byte()? {
            tag::UNDEFINED => Token::Undefined,
            tag::NULL => Token::Null,
            tag::FALSE => Token::Bool(false),
            tag::TRUE => Token::Bool(true),
            tag::NUMBER => Token::Number(self.double()?),
            tag::INTEGER => {
                let zigzag = self.varint()?;
                Token::Number(f64::from((zigzag >> 1) as i32 ^ -((zigzag & 1) as i32)))
            }
            tag::UTF8 => {
                let length = self.varint()? as usize;
                let bytes = self.take(length)?;
                Token::Utf8(utf8(bytes).ok_or(self.broken())?)
            }
            tag::UTF16 => {
                let units = self.varint()? as usize;
                Token::Utf16(self.take(units.checked_mul(2).ok_or(self.broken())?)?)
            }
            tag::ARRAY => {
                let length = self.varint()? as usize;
                // Every value has at least one byte, so a length beyond that is not worth an allocation.
                if length > self.bytes.len() - self.at {
                    return Err(self.broken());
                }
                Token::Array(length)
            }
            tag::OBJECT => Token::Object,
            tag::DATE => Token::Date(self.double()?),
            tag::TIME => {
                let kind = match self.byte()? {
                    0 => TimeKind::DateTime,
                    1 => TimeKind::Duration,
                    _ => return Err(self.broken()),
                };
                let ms = self.double()?;
                let length = self.varint()? as usize;
                let text = str::from_utf8(self.take(length)?).map_err(|_| self.broken())?;
                Token::Time { kind, ms, text }
            }
            tag::SHARED => Token::Shared,
            tag::AGAIN => Token::Again(self.varint()? as usize),
            tag::KIND => Token::Kind,
            tag::LIKE => Token::Like(self.varint()? as usize),
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

    #[inline]
    fn byte(&mut self) -> Result<u8, Broken> {
        let byte = *self.bytes.get(self.at).ok_or(self.broken())?;
        self.at += 1;
        Ok(byte)
    }

    #[inline]
    fn take(&mut self, length: usize) -> Result<&'a [u8], Broken> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let taken = rest.get(..length).ok_or(self.broken())?;
        self.at += length;
        Ok(taken)
    }

    fn double(&mut self) -> Result<f64, Broken> {
        let bytes: [u8; 8] = self.take(8)?.try_into().map_err(|_| self.broken())?;
        Ok(f64::from_bits(u64::from_le_bytes(bytes)))
    }

    /// Most have one byte.
    #[inline]
    fn varint(&mut self) -> Result<u32, Broken> {
        match self.bytes.get(self.at) {
            Some(byte) if *byte < 0x80 => {
                self.at += 1;
                Ok(u32::from(*byte))
            }
            _ => self.long_varint(),
        }
    }

    fn long_varint(&mut self) -> Result<u32, Broken> {
        let mut value = 0;
        for shift in [0, 7, 14, 21, 28] {
            let byte = self.byte()?;
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
