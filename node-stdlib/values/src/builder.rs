//! Texts that are put together piece by piece.

use super::Text;
use super::number::{number_to_text, write_number};

/// A text being built: UTF-8, and UTF-16 units from the first piece on that has lone surrogates.
#[derive(Default)]
pub struct TextBuilder {
    text: String,
    units: Option<Vec<u16>>,
}

impl TextBuilder {
    /// With room for a short text, which then need not grow.
    pub fn short() -> Self {
        const BYTES: usize = 64;
        TextBuilder {
            text: String::with_capacity(BYTES),
            units: None,
        }
    }

    /// Appends a text.
    pub fn push(&mut self, text: &Text) {
        match (&mut self.units, text.as_str()) {
            (None, Some(text)) => self.text.push_str(text),
            (None, None) => self.units = Some(self.text.encode_utf16().chain(text.units()).collect()),
            (Some(units), _) => units.extend(text.units()),
        }
    }

    /// Appends UTF-8.
    pub fn push_str(&mut self, text: &str) {
        match &mut self.units {
            None => self.text.push_str(text),
            Some(units) => units.extend(text.encode_utf16()),
        }
    }

    /// Appends a number as JavaScript writes it.
    pub fn push_number(&mut self, number: f64) {
        match &mut self.units {
            None => write_number(number, &mut self.text),
            Some(_) => self.push_str(&number_to_text(number)),
        }
    }

    /// How much is there: bytes, or units.
    pub(super) fn bytes(&self) -> usize {
        self.units.as_ref().map_or(self.text.len(), Vec::len)
    }

    /// The text. Surrogate halves that met have become one character.
    pub fn finish(self) -> Text {
        match self.units {
            None => self.text.into(),
            Some(units) => Text::from_units(&units),
        }
    }
}
