//! Constant texts of a module, each stored once.

use std::collections::HashMap;

/// The texts behind the plan in the data segment.
#[derive(Default)]
pub(super) struct Constants {
    bytes: Vec<u8>,
    offsets: HashMap<Box<str>, u32>,
}

impl Constants {
    /// Offset of `text` from the start of the texts.
    pub(super) fn intern(&mut self, text: &str) -> u32 {
        if let Some(offset) = self.offsets.get(text) {
            return *offset;
        }
        let offset = self.bytes.len() as u32;
        self.bytes.extend_from_slice(text.as_bytes());
        self.offsets.insert(text.into(), offset);
        offset
    }

    /// All texts, one behind the other.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}
