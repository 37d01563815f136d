//! Xlsx: the rows of a sheet in a workbook of Excel's, Office Open XML (ECMA-376), and workbooks of rows.
//!
//! A workbook is a ZIP archive of XML documents. Those of one sheet are unpacked into memory, one after the other, and read as
//! events; all others stay outside. Knows nothing of formulas: a cell has the value that was last computed for it.

mod cells;
mod escapes;
mod events;
mod failure;
mod moments;
mod numbers;
mod parts;
mod sheet;
mod workbook;
mod write;

use super::file::file_value;
use super::parameters::{boolean, choice, given, integer, mismatch};
use super::text::value_or_input;
use super::zip::archive::{Entry, HEADER_BYTES};
use super::zip::open::{Opened, Opening};
use super::zip::shared::{PIECE, asked};
use super::zip::unpack::Unpacking;
use crate::failure::Failure;
use crate::node::{Context, Emission, NodeResult, Outcome, Stepping};
use cells::Options;
use failure::broken;
use heddle_contract::abi::code;
use heddle_values::{Object, Value};
use std::collections::VecDeque;
use workbook::{Book, Sheet};

/// Bytes of one document.
const PART_BYTES_MAX: u64 = 64 << 20;
const ROWS_MAX: i64 = 1_048_576;

/// Which sheet is read.
enum Which {
    First,
    Number(usize),
    Name(String),
}

/// Asks for the first piece, or begins to write.
pub fn xlsx(parameters: &Object, context: &mut dyn Context) -> NodeResult {
    if choice(parameters, "operation", &["read", "write"], "read")? == "write" {
        return write::begin(parameters, context);
    }
    let (file, _) = file_value("value", &value_or_input(parameters, context))?;
    let which = match given(parameters, "sheet") {
        None => Which::First,
        Some(Value::Number(number)) if *number >= 1.0 && number.fract() == 0.0 => {
            Which::Number(*number as usize)
        }
        Some(Value::String(name)) => Which::Name(name.to_utf8().into_owned()),
        Some(other) => {
            return Err(mismatch(
                "sheet",
                "the name of a sheet, or its number from 1",
                other,
            ));
        }
    };
    let options = Options {
        has_header: boolean(parameters, "header", true)?,
        skip: integer(parameters, "skip", 0, ROWS_MAX)?.unwrap_or_default() as usize,
        limit: integer(parameters, "limit", 0, ROWS_MAX)?.map_or(usize::MAX, |limit| limit as usize),
    };
    let reading = Reading {
        archive: Opening::new(file),
        entries: None,
        which,
        options,
        wanted: VecDeque::from([workbook::BOOK.to_owned(), workbook::RELATIONS.to_owned()]),
        unpacking: None,
        parts: Vec::new(),
        book: None,
        asked_at: 0,
    };
    Box::new(reading).proceed()
}

struct Reading {
    archive: Opening,
    entries: Option<Vec<Entry>>,
    which: Which,
    options: Options,
    /// Paths of documents that are still to be unpacked.
    wanted: VecDeque<String>,
    /// The document at hand: where its entry is, and what there is of it.
    unpacking: Option<(usize, Unpacking, Vec<u8>)>,
    /// Documents that are unpacked, in the order in which they were wanted.
    parts: Vec<Vec<u8>>,
    book: Option<(Book, Sheet)>,
    /// Where the piece begins that the host was asked for.
    asked_at: u64,
}

impl Reading {
    fn proceed(mut self: Box<Self>) -> NodeResult {
        loop {
            let more = match &self.entries {
                None => match self.archive.proceed()? {
                    Opened::Read(offset) => Some(offset),
                    Opened::Entries(entries) => {
                        self.entries = Some(entries);
                        None
                    }
                },
                Some(_) => self.unpack()?,
            };
            if let Some(offset) = more {
                self.asked_at = offset;
                let request = self.archive.source.request(offset);
                return asked(PIECE, request, self);
            }
            if self.entries.is_none() || !self.wanted.is_empty() || self.unpacking.is_some() {
                continue;
            }
            match self.book.take() {
                None => self.choose()?,
                Some((book, sheet)) => {
                    let mut parts = std::mem::take(&mut self.parts).into_iter();
                    let mut part = |path: &Option<String>| path.as_ref().and_then(|_| parts.next());
                    let strings = part(&book.strings)
                        .map(|part| workbook::strings(&part))
                        .transpose()?;
                    let styles = part(&book.styles)
                        .map(|part| workbook::styles(&part))
                        .transpose()?;
                    let sheet = part(&Some(sheet.path)).unwrap_or_default();
                    let shared = cells::Shared {
                        strings: strings.unwrap_or_default(),
                        styles: styles.unwrap_or_default(),
                        since_1904: book.since_1904,
                    };
                    let rows = cells::rows(&sheet, &shared, &self.options)?;
                    return Ok(Outcome::Emit(Emission::one(0, rows.into())));
                }
            }
        }
    }

    /// Goes on with the document at hand, or begins with the next; where more of the archive is to be read, if it is.
    fn unpack(&mut self) -> Result<Option<u64>, Failure> {
        let entries = self.entries.as_deref().unwrap_or_default();
        let Some((at, mut unpacking, mut there)) = self.unpacking.take() else {
            let Some(path) = self.wanted.front() else {
                return Ok(None);
            };
            let found = entries
                .iter()
                .enumerate()
                .find(|(_, entry)| entry.path.eq_ignore_ascii_case(path));
            let Some((at, entry)) = found else {
                return Err(broken(&format!("it has no `{path}`")));
            };
            entry.check()?;
            if entry.size > PART_BYTES_MAX {
                let message = format!(
                    "`{path}` in the workbook has {} bytes: at most {} MiB are read.",
                    entry.size,
                    PART_BYTES_MAX >> 20
                );
                return Err(Failure::new(code::FILE_LIMIT, message));
            }
            let Some(header) = self.archive.source.at(entry.offset, HEADER_BYTES) else {
                return Ok(Some(entry.offset));
            };
            self.unpacking = Some((at, Unpacking::new(entry, entry.data(header)?), Vec::new()));
            self.wanted.pop_front();
            return Ok(None);
        };
        let Some(entry) = entries.get(at) else {
            return Ok(None);
        };
        if !unpacking.is_whole {
            let Some(packed) = self.archive.source.at(unpacking.at, 1) else {
                let offset = unpacking.at;
                self.unpacking = Some((at, unpacking, there));
                return Ok(Some(offset));
            };
            unpacking.feed(entry, packed)?;
        }
        there.append(&mut unpacking.out);
        match unpacking.is_whole {
            true => self.parts.push(there),
            false => self.unpacking = Some((at, unpacking, there)),
        }
        Ok(None)
    }

    /// Reads what sheets there are, and which documents are needed for the one that is wanted.
    fn choose(&mut self) -> Result<(), Failure> {
        let mut parts = std::mem::take(&mut self.parts).into_iter();
        let (book, relations) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        let book = Book::read(&book, &relations)?;
        let found = match &self.which {
            Which::First => book
                .sheets
                .iter()
                .find(|sheet| !sheet.is_hidden)
                .or(book.sheets.first()),
            Which::Number(number) => book.sheets.get(number - 1),
            Which::Name(name) => book.sheets.iter().find(|sheet| sheet.name == *name),
        };
        let Some(sheet) = found.cloned() else {
            let names: Vec<&str> = book
                .sheets
                .iter()
                .take(50)
                .map(|sheet| sheet.name.as_str())
                .collect();
            let message = format!("The workbook has no such sheet. It has: {}.", names.join(", "));
            return Err(Failure::new(code::PARAMETER, message));
        };
        self.wanted = [&book.strings, &book.styles]
            .into_iter()
            .flatten()
            .cloned()
            .collect();
        self.wanted.push_back(sheet.path.clone());
        self.book = Some((book, sheet));
        Ok(())
    }
}

impl Stepping for Reading {
    fn resume(mut self: Box<Self>, result: Value, _: &mut dyn Context) -> NodeResult {
        self.archive.source.fill(self.asked_at, &result)?;
        self.proceed()
    }
}
