//! CMaps from codes of a font to Unicode (ISO 32000-2, 9.10.3).

use super::encodings;
use super::object::{Item, Lexer, Object};
use std::collections::BTreeMap;

/// Codes and ranges of codes.
const ENTRIES_MAX: usize = 200_000;
/// Codes of one range.
const RANGE_MAX: u32 = 1 << 16;
/// Bytes of the text for one code, which ISO 32000-2 limits as well.
const TEXT_BYTES_MAX: usize = 512;
/// Ranges that may begin between a code and the beginning of its own.
const OVERLAPS_MAX: usize = 64;

#[derive(Clone, Debug, Default)]
pub(super) struct CMap {
    single: BTreeMap<u32, String>,
    /// By their first code: the last one, and the text of the first, of which the last character is counted up.
    ranges: BTreeMap<u32, (u32, String)>,
    /// Bytes of a code; `None` if that is not told.
    pub code_bytes: Option<usize>,
}

fn number(object: &Object) -> Option<u32> {
    match object {
        Object::Text(bytes) if bytes.len() <= 4 => Some(
            bytes
                .iter()
                .fold(0, |number, byte| number << 8 | u32::from(*byte)),
        ),
        _ => None,
    }
}

fn utf16(object: &Object) -> Option<String> {
    let Object::Text(bytes) = object else {
        return None;
    };
    if bytes.len() > TEXT_BYTES_MAX {
        return None;
    }
    Some(match bytes.as_slice() {
        [one] => char::from(*one).to_string(),
        bytes => encodings::utf16(bytes),
    })
}

impl CMap {
    pub fn read(bytes: &[u8]) -> Self {
        let mut map = CMap::default();
        let mut lexer = Lexer::of_operators(bytes);
        let mut operands = Vec::new();
        while let Some(item) = lexer.item() {
            match item {
                Item::Object(object) if operands.len() < ENTRIES_MAX => operands.push(object),
                Item::Object(_) => {}
                Item::Word(word) => {
                    map.take(word, &operands);
                    operands.clear();
                }
            }
        }
        map
    }

    fn take(&mut self, word: &[u8], operands: &[Object]) {
        match word {
            b"endcodespacerange" => {
                let lengths = operands.iter().map(|operand| match operand {
                    Object::Text(bytes) => bytes.len(),
                    _ => 0,
                });
                let longest = lengths.max().filter(|bytes| (1..=4).contains(bytes));
                self.code_bytes = longest.or(self.code_bytes);
            }
            b"endbfchar" => {
                for pair in operands.chunks_exact(2) {
                    if let [code, text] = pair
                        && let (Some(code), Some(text)) = (number(code), utf16(text))
                        && self.single.len() < ENTRIES_MAX
                    {
                        self.single.insert(code, text);
                    }
                }
            }
            b"endbfrange" => {
                for range in operands.chunks_exact(3) {
                    if let [from, to, text] = range
                        && let (Some(from), Some(to)) = (number(from), number(to))
                    {
                        self.range(from, to, text);
                    }
                }
            }
            _ => {}
        }
    }

    fn range(&mut self, from: u32, to: u32, text: &Object) {
        if self.ranges.len() + self.single.len() >= ENTRIES_MAX || to < from || to - from > RANGE_MAX {
            return;
        }
        match text {
            Object::Array(texts) => {
                for (code, text) in (from..=to).zip(texts.iter()) {
                    self.single.extend(utf16(text).map(|text| (code, text)));
                }
            }
            text => self.ranges.extend(utf16(text).map(|text| (from, (to, text)))),
        }
    }

    /// The text that a code stands for.
    pub fn get(&self, code: u32) -> Option<String> {
        if let Some(text) = self.single.get(&code) {
            return Some(text.clone());
        }
        let mut before = self.ranges.range(..=code).rev().take(OVERLAPS_MAX);
        let (from, (_, text)) = before.find(|(_, (to, _))| code <= *to)?;
        let mut text = text.clone();
        let last = text.pop()?;
        text.push(char::from_u32(u32::from(last) + (code - from)).unwrap_or(last));
        Some(text)
    }
}
