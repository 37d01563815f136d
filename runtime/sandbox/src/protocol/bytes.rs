//! How values are written in frames: numbers with the lowest byte first, texts and lists with their length in front. Readers
//! make room for what is there and never for what a length claims.

use crate::effect_error::{EffectCode, EffectError};
use heddle_processes::Frame;

/// A frame is not what it should be. The reason is for a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Malformed(pub &'static str);

/// Writes values.
pub trait Write {
    fn u8(&mut self, value: u8);
    fn u32(&mut self, value: u32);
    fn u64(&mut self, value: u64);
    fn bytes(&mut self, bytes: &[u8]);
    fn maybe_bytes(&mut self, bytes: Option<&[u8]>);

    fn length(&mut self, length: usize) {
        // More than a frame can hold, which is refused as a whole.
        self.u32(u32::try_from(length).unwrap_or(u32::MAX));
    }

    fn i64(&mut self, value: i64) {
        self.u64(value as u64);
    }

    fn size(&mut self, value: usize) {
        self.u64(value as u64);
    }

    fn flag(&mut self, value: bool) {
        self.u8(value.into());
    }

    fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    fn maybe_text(&mut self, text: Option<&str>) {
        self.maybe_bytes(text.map(str::as_bytes));
    }

    fn failure(&mut self, error: &EffectError) {
        self.text(error.code.as_str());
        self.text(&error.message);
    }
}

impl Write for Frame {
    fn u8(&mut self, value: u8) {
        self.extend(&[value]);
    }

    fn u32(&mut self, value: u32) {
        self.extend(&value.to_le_bytes());
    }

    fn u64(&mut self, value: u64) {
        self.extend(&value.to_le_bytes());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.length(bytes.len());
        self.extend(bytes);
    }

    fn maybe_bytes(&mut self, bytes: Option<&[u8]>) {
        self.flag(bytes.is_some());
        if let Some(bytes) = bytes {
            self.bytes(bytes);
        }
    }
}

/// Reads values from what is left of a frame.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a>(&'a [u8]);

const SHORT: Malformed = Malformed("it ends too early");

impl<'a> Reader<'a> {
    pub fn new(frame: &'a [u8]) -> Self {
        Reader(frame)
    }

    fn take(&mut self, bytes: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.0.split_at_checked(bytes).ok_or(SHORT)?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (taken, rest) = self.0.split_first_chunk::<N>().ok_or(SHORT)?;
        self.0 = rest;
        Ok(*taken)
    }

    pub fn u8(&mut self) -> Result<u8, Malformed> {
        self.array().map(u8::from_le_bytes)
    }

    pub fn u32(&mut self) -> Result<u32, Malformed> {
        self.array().map(u32::from_le_bytes)
    }

    pub fn u64(&mut self) -> Result<u64, Malformed> {
        self.array().map(u64::from_le_bytes)
    }

    pub fn i64(&mut self) -> Result<i64, Malformed> {
        self.array().map(i64::from_le_bytes)
    }

    pub fn size(&mut self) -> Result<usize, Malformed> {
        usize::try_from(self.u64()?).map_err(|_| Malformed("a size is too large"))
    }

    pub fn digest(&mut self) -> Result<[u8; 32], Malformed> {
        self.array()
    }

    pub fn flag(&mut self) -> Result<bool, Malformed> {
        match self.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Malformed("a boolean is neither 0 nor 1")),
        }
    }

    /// A length of which each item takes at least one byte.
    pub fn length(&mut self) -> Result<usize, Malformed> {
        let length = self.u32()? as usize;
        if length > self.0.len() {
            return Err(SHORT);
        }
        Ok(length)
    }

    pub fn bytes(&mut self) -> Result<&'a [u8], Malformed> {
        let length = self.length()?;
        self.take(length)
    }

    pub fn text(&mut self) -> Result<&'a str, Malformed> {
        std::str::from_utf8(self.bytes()?).map_err(|_| Malformed("a text is not UTF-8"))
    }

    pub fn maybe_bytes(&mut self) -> Result<Option<&'a [u8]>, Malformed> {
        self.flag()?.then(|| self.bytes()).transpose()
    }

    pub fn maybe_text(&mut self) -> Result<Option<&'a str>, Malformed> {
        self.flag()?.then(|| self.text()).transpose()
    }

    pub fn failure(&mut self) -> Result<EffectError, Malformed> {
        let code = EffectCode::from(self.text()?);
        Ok(EffectError::new(code, self.text()?))
    }

    /// Bytes that are left.
    pub fn left(&self) -> usize {
        self.0.len()
    }

    /// All that is left.
    pub fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }

    /// Refuses what is left over.
    pub fn end(self) -> Result<(), Malformed> {
        match self.0.is_empty() {
            true => Ok(()),
            false => Err(Malformed("there are bytes after its end")),
        }
    }
}
