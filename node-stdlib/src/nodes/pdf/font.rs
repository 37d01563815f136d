//! Fonts: from the bytes of a text to characters, and how wide they are.

use super::cmap::CMap;
use super::document::Document;
use super::encodings::{Encoding, glyph, plain};
use super::object::{Dictionary, Object};
use crate::failure::Failure;
use std::collections::BTreeMap;

/// Widths are in thousandths of the font's size.
const WIDTH: f64 = 500.0;
const WIDTHS_MAX: usize = 70_000;
const CODE_MAX: usize = 1 << 24;

pub(super) struct Font {
    code_bytes: usize,
    to_unicode: Option<CMap>,
    /// Texts of single bytes.
    texts: Vec<String>,
    /// Whether codes are UTF-16.
    is_utf16: bool,
    widths: BTreeMap<u32, f64>,
    default_width: Option<f64>,
}

/// A character as it is shown.
pub(super) struct Shown {
    pub text: String,
    /// In parts of the font's size.
    pub width: f64,
    /// A byte that is a space, between words.
    pub is_space: bool,
}

impl Font {
    pub fn read(document: &Document<'_>, font: &Dictionary) -> Result<Self, Failure> {
        let to_unicode = match font.get("ToUnicode") {
            Some(map) => document.stream(map)?.map(|bytes| CMap::read(&bytes)),
            None => None,
        };
        let is_composite = document.field(font, "Subtype").name() == Some("Type0");
        let encoding = document.field(font, "Encoding");
        let is_utf16 = encoding
            .name()
            .is_some_and(|name| name.contains("UCS2") || name.contains("UTF16"));
        let is_unicode = document
            .field(font, "ToUnicode")
            .name()
            .is_some_and(|name| name.starts_with("Identity"));
        let mut read = Font {
            code_bytes: if is_composite { 2 } else { 1 },
            to_unicode,
            texts: Vec::new(),
            is_utf16: is_composite && (is_utf16 || is_unicode),
            widths: BTreeMap::new(),
            default_width: None,
        };
        if is_composite {
            let told = read.to_unicode.as_ref().and_then(|map| map.code_bytes);
            // By these, codes have two bytes, though some programs write another length into the map.
            let is_identity = encoding.name().is_some_and(|name| name.starts_with("Identity"));
            // Other encodings of one byte are not made for composite fonts.
            read.code_bytes = told.filter(|_| !is_identity).unwrap_or(2).min(4);
            read.composite_widths(document, font);
        } else {
            read.texts = texts(document, font, &encoding);
            read.simple_widths(document, font);
        }
        Ok(read)
    }

    fn simple_widths(&mut self, document: &Document<'_>, font: &Dictionary) {
        let first = document.field(font, "FirstChar").count();
        let first = first.unwrap_or_default().min(CODE_MAX) as u32;
        let widths = document.list(font.get("Widths").unwrap_or(&Object::Null));
        for (code, width) in (first..).zip(widths.iter().take(256)) {
            self.widths
                .extend(document.resolve(width).number().map(|width| (code, width)));
        }
        // Glyphs of a Type 3 font have a measure of their own.
        let scale = match document.list(&document.field(font, "FontMatrix")).first() {
            Some(Object::Number(scale)) => scale * 1_000.0,
            _ => 1.0,
        };
        for width in self.widths.values_mut() {
            *width *= scale;
        }
        let name = document.field(font, "BaseFont");
        if name.name().is_some_and(|name| name.contains("Courier")) {
            self.default_width = Some(600.0);
        }
    }

    fn composite_widths(&mut self, document: &Document<'_>, font: &Dictionary) {
        let descendants = document.list(font.get("DescendantFonts").unwrap_or(&Object::Null));
        let Some(descendant) = descendants.first().and_then(|font| document.dictionary(font)) else {
            return;
        };
        let default = document.field(&descendant, "DW").number();
        self.default_width = Some(default.unwrap_or(1_000.0));
        let list = document.list(descendant.get("W").unwrap_or(&Object::Null));
        let mut list = list.iter().map(|object| document.resolve(object));
        while let (Some(first), Some(second)) = (list.next(), list.next()) {
            let Some(first) = first.count() else { return };
            let first = first.min(CODE_MAX) as u32;
            match second {
                Object::Array(widths) => {
                    for (code, width) in (first..).zip(widths.iter()) {
                        self.widths.extend(width.number().map(|width| (code, width)));
                    }
                }
                last => {
                    let (Some(last), Some(width)) =
                        (last.count(), list.next().and_then(|width| width.number()))
                    else {
                        return;
                    };
                    for code in (first..=last.min(CODE_MAX) as u32).take(WIDTHS_MAX) {
                        self.widths.insert(code, width);
                    }
                }
            }
            if self.widths.len() > WIDTHS_MAX {
                return;
            }
        }
    }

    /// What a text shows, one after the other: a code can stand for much more text than it has bytes.
    pub fn shown(&self, bytes: &[u8]) -> impl Iterator<Item = Shown> {
        bytes.chunks(self.code_bytes).map(move |code| {
            let number = code
                .iter()
                .fold(0_u32, |number, byte| number << 8 | u32::from(*byte));
            let text = self.text(number);
            let told = self.widths.get(&number).copied().or(self.default_width);
            Shown {
                width: told.unwrap_or_else(|| guessed(&text)) / 1_000.0,
                text,
                is_space: code == b" ",
            }
        })
    }

    fn text(&self, code: u32) -> String {
        let told = self.to_unicode.as_ref().and_then(|map| map.get(code));
        let text = told.or_else(|| match self.is_utf16 {
            true => char::from_u32(code).map(String::from),
            false => self.texts.get(code as usize).cloned(),
        });
        plain(&text.unwrap_or_default())
    }
}

/// The texts of single bytes, by the font's encoding.
fn texts(document: &Document<'_>, font: &Dictionary, encoding: &Object) -> Vec<String> {
    let differing = match encoding {
        Object::Dictionary(encoding) => Some(encoding),
        _ => None,
    };
    let base = match differing {
        Some(encoding) => document.field(encoding, "BaseEncoding"),
        None => encoding.clone(),
    };
    let usual = match document.field(font, "Subtype").name() {
        Some("TrueType") => Encoding::WinAnsi,
        _ => Encoding::Standard,
    };
    let base = base.name().and_then(Encoding::of).unwrap_or(usual);
    let mut texts: Vec<String> = base.characters().into_iter().map(String::from).collect();
    let differences = differing.map(|encoding| document.field(encoding, "Differences"));
    let mut code = 0;
    for object in document.list(&differences.unwrap_or(Object::Null)) {
        match document.resolve(&object) {
            Object::Name(name) => {
                if let Some(text) = texts.get_mut(code) {
                    *text = glyph(&name).unwrap_or_default();
                }
                code += 1;
            }
            other => code = other.count().unwrap_or(code).min(256),
        }
    }
    texts
}

/// About how wide a character is, in fonts that do not tell since every reader has them.
fn guessed(text: &str) -> f64 {
    match text.chars().next() {
        Some('i' | 'j' | 'l' | 't' | 'f' | 'I' | ' ' | '.' | ',' | ':' | ';' | '\'' | '!' | '|' | '/') => {
            270.0
        }
        Some('m' | 'w' | 'M' | 'W' | '@') => 850.0,
        Some(character) if character.is_uppercase() => 690.0,
        Some(character) if character.is_ascii_digit() => 556.0,
        _ => WIDTH,
    }
}
