//! Pdf: the text of a PDF (ISO 32000-2), page by page.
//!
//! The file is read into memory whole. Its text is in the order in which it is written, with the lines and spaces that are seen on
//! the page. Knows nothing of pictures: what was scanned has no text.

mod cmap;
mod content;
mod document;
mod encodings;
mod filters;
mod font;
mod object;

use super::file::file_value;
use super::parameters::{boolean, integer};
use super::text::value_or_input;
use super::zip::shared::{PIECE, asked};
use super::zip::source::Source;
use crate::failure::Failure;
use crate::node::{Context, Emission, NodeResult, Outcome, Stepping};
use document::Document;
use heddle_contract::abi::code;
use heddle_values::{Object, Value};

/// Bytes of a file.
const BYTES_MAX: u64 = 64 << 20;
const PAGES_MAX: i64 = 50_000;

/// Asks for the first piece.
pub fn pdf(parameters: &Object, context: &mut dyn Context) -> NodeResult {
    let (file, _) = file_value("value", &value_or_input(parameters, context))?;
    let reading = Reading {
        source: Source::new(file),
        bytes: Vec::new(),
        per_page: boolean(parameters, "perPage", false)?,
        limit: integer(parameters, "limit", 1, PAGES_MAX)?.map_or(usize::MAX, |limit| limit as usize),
    };
    Box::new(reading).proceed()
}

struct Reading {
    source: Source,
    bytes: Vec<u8>,
    per_page: bool,
    limit: usize,
}

impl Reading {
    fn proceed(mut self: Box<Self>) -> NodeResult {
        self.source.within("The PDF", BYTES_MAX)?;
        if let Some(offset) = self.source.add_to(&mut self.bytes) {
            let request = self.source.request(offset);
            return asked(PIECE, request, self);
        }
        let text = read(&self.bytes, self.per_page, self.limit)?;
        Ok(Outcome::Emit(Emission::one(0, Value::Object(text))))
    }
}

impl Stepping for Reading {
    fn resume(mut self: Box<Self>, result: Value, _: &mut dyn Context) -> NodeResult {
        let there = self.bytes.len() as u64;
        self.source.fill(there, &result)?;
        self.proceed()
    }
}

fn read(bytes: &[u8], per_page: bool, limit: usize) -> Result<Object, Failure> {
    let document = Document::read(bytes)?;
    let pages = document.pages()?;
    let mut fonts = content::Fonts::default();
    let (mut texts, mut size) = (Vec::new(), 0);
    for page in pages.iter().take(limit) {
        let text = content::text(&document, page, &mut fonts)?;
        size += text.len();
        if size > content::TEXT_BYTES_MAX {
            let message = format!(
                "The PDF has more than {} MiB of text: read fewer pages, by `limit`.",
                content::TEXT_BYTES_MAX >> 20
            );
            return Err(Failure::new(code::FILE_LIMIT, message));
        }
        texts.push(text);
    }
    let text = match per_page {
        true => (
            "pages",
            Value::from(texts.into_iter().map(Value::from).collect::<Vec<Value>>()),
        ),
        false => ("text", Value::from(texts.join("\n\n"))),
    };
    Ok(Object::from_iter([
        text,
        ("pageCount", Value::Number(pages.len() as f64)),
        ("version", Value::from(document.version())),
        ("info", Value::Object(info(&document))),
    ]))
}

/// What the file says of itself, as texts: title, author and the like.
fn info(document: &Document<'_>) -> Object {
    let mut told = Object::new();
    let Some(info) = document.info() else {
        return told;
    };
    for (name, value) in info.iter().take(100) {
        if let object::Object::Text(bytes) = document.resolve(value) {
            told.insert(name.as_str(), Value::from(text_of(&bytes)));
        }
    }
    told
}

/// A text outside of pages: UTF-16, UTF-8, or an encoding of its own that is nearly Windows'.
fn text_of(bytes: &[u8]) -> String {
    match bytes {
        [0xfe, 0xff, units @ ..] => encodings::utf16(units),
        [0xef, 0xbb, 0xbf, text @ ..] => String::from_utf8_lossy(text).into_owned(),
        bytes => {
            let characters = encodings::Encoding::WinAnsi.characters();
            let character = |byte: &u8| characters.get(usize::from(*byte)).copied();
            bytes.iter().filter_map(character).collect()
        }
    }
}
