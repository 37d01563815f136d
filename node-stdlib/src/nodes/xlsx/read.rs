//! A sheet that is read: the documents that it needs are unpacked into memory one after the other, and of its own document a part
//! at a time.

use super::cells::{Options, Shared, Table};
use super::failure::broken;
use super::workbook::{self, Book, Sheet};
use crate::failure::Failure;
use crate::nodes::parameters::{given, mismatch};
use crate::nodes::zip::archive::{Entry, HEADER_BYTES};
use crate::nodes::zip::open::{Opened, Opening};
use crate::nodes::zip::unpack::Unpacking;
use heddle_contract::abi::code;
use heddle_values::{Object, Value};
use std::collections::VecDeque;

/// Bytes of a document that sheets share.
const PART_BYTES_MAX: u64 = 64 << 20;
/// Bytes of a sheet's document between two tags.
const BETWEEN_BYTES_MAX: usize = 4 << 20;

/// Which sheet is read.
enum Which {
    First,
    Number(usize),
    Name(String),
}

impl Which {
    fn of(parameters: &Object) -> Result<Self, Failure> {
        match given(parameters, "sheet") {
            None => Ok(Which::First),
            Some(Value::Number(number)) if *number >= 1.0 && number.fract() == 0.0 => {
                Ok(Which::Number(*number as usize))
            }
            Some(Value::String(name)) => Ok(Which::Name(name.to_utf8().into_owned())),
            Some(other) => Err(mismatch(
                "sheet",
                "the name of a sheet, or its number from 1",
                other,
            )),
        }
    }
}

/// What comes next.
pub(in super::super) enum Progress {
    /// This is to be asked of the host, and its answer filled in.
    Read(Object),
    /// Some rows, perhaps none.
    Rows(Vec<Value>),
    End,
}

/// A sheet that is being read.
pub(in super::super) struct SheetReader {
    archive: Opening,
    entries: Option<Vec<Entry>>,
    which: Which,
    /// Until the sheet is reached.
    options: Option<Options>,
    /// Paths of documents that are still to be unpacked.
    wanted: VecDeque<String>,
    /// The document at hand: where its entry is, and what there is of it.
    unpacking: Option<(usize, Unpacking, Vec<u8>)>,
    /// Documents that are unpacked, in the order in which they were wanted.
    parts: Vec<Vec<u8>>,
    book: Option<(Book, Sheet)>,
    table: Option<Table>,
    is_ended: bool,
    /// Where the piece begins that the host was asked for.
    asked_at: u64,
}

impl SheetReader {
    /// Of a workbook, which is a file; `parameters` say which of its sheets.
    pub(super) fn new(file: Value, parameters: &Object, options: Options) -> Result<Self, Failure> {
        Ok(SheetReader {
            archive: Opening::new(file),
            entries: None,
            which: Which::of(parameters)?,
            options: Some(options),
            wanted: VecDeque::from([workbook::BOOK.to_owned(), workbook::RELATIONS.to_owned()]),
            unpacking: None,
            parts: Vec::new(),
            book: None,
            table: None,
            is_ended: false,
            asked_at: 0,
        })
    }

    /// Of all rows as they are, one after the other.
    pub fn of_rows(file: Value, parameters: &Object, has_header: bool) -> Result<Self, Failure> {
        let options = Options {
            has_header,
            skip: 0,
            limit: usize::MAX,
            are_kept: false,
        };
        SheetReader::new(file, parameters, options)
    }

    pub fn fill(&mut self, answer: &Value) -> Result<(), Failure> {
        self.archive.source.fill(self.asked_at, answer)
    }

    pub fn proceed(&mut self) -> Result<Progress, Failure> {
        loop {
            if self.is_ended || self.table.as_ref().is_some_and(Table::is_full) {
                return Ok(Progress::End);
            }
            let step = match &self.entries {
                None => match self.archive.proceed()? {
                    Opened::Read(offset) => Step::Read(offset),
                    Opened::Entries(entries) => {
                        self.entries = Some(entries);
                        Step::Done
                    }
                },
                Some(_) => self.unpack()?,
            };
            match step {
                Step::Read(offset) => {
                    self.asked_at = offset;
                    return Ok(Progress::Read(self.archive.source.request(offset)));
                }
                Step::Rows(rows) => return Ok(Progress::Rows(rows)),
                Step::Done if self.entries.is_none() || self.unpacking.is_some() => {}
                Step::Done if !self.wanted.is_empty() => self.reach_sheet()?,
                Step::Done if self.book.is_none() && self.table.is_none() => self.choose()?,
                Step::Done => {}
            }
        }
    }

    /// Goes on with the document at hand, or begins with the next.
    fn unpack(&mut self) -> Result<Step, Failure> {
        let entries = self.entries.as_deref().unwrap_or_default();
        let Some((at, mut unpacking, mut there)) = self.unpacking.take() else {
            let Some(path) = self.wanted.front() else {
                return Ok(Step::Done);
            };
            let found = entries
                .iter()
                .enumerate()
                .find(|(_, entry)| entry.path.eq_ignore_ascii_case(path));
            let Some((at, entry)) = found else {
                return Err(broken(&format!("it has no `{path}`")));
            };
            entry.check()?;
            if self.table.is_none() && entry.size > PART_BYTES_MAX {
                let message = format!(
                    "`{path}` in the workbook has {} bytes: at most {} MiB are read.",
                    entry.size,
                    PART_BYTES_MAX >> 20
                );
                return Err(Failure::new(code::FILE_LIMIT, message));
            }
            let Some(header) = self.archive.source.at(entry.offset, HEADER_BYTES) else {
                return Ok(Step::Read(entry.offset));
            };
            self.unpacking = Some((at, Unpacking::new(entry, entry.data(header)?), Vec::new()));
            self.wanted.pop_front();
            return Ok(Step::Done);
        };
        let Some(entry) = entries.get(at) else {
            return Ok(Step::Done);
        };
        if !unpacking.is_whole {
            let Some(packed) = self.archive.source.at(unpacking.at, 1) else {
                let offset = unpacking.at;
                self.unpacking = Some((at, unpacking, there));
                return Ok(Step::Read(offset));
            };
            unpacking.feed(entry, packed)?;
        }
        there.append(&mut unpacking.out);
        let is_whole = unpacking.is_whole;
        let Some(table) = &mut self.table else {
            match is_whole {
                true => self.parts.push(there),
                false => self.unpacking = Some((at, unpacking, there)),
            }
            return Ok(Step::Done);
        };
        let rows = table.feed(&whole_tags(&mut there, is_whole)?)?;
        self.is_ended = is_whole;
        if !is_whole {
            self.unpacking = Some((at, unpacking, there));
        }
        Ok(Step::Rows(rows))
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
        self.reach_sheet()
    }

    /// Once the sheet's own document is the only one that is still wanted, its rows can be read.
    fn reach_sheet(&mut self) -> Result<(), Failure> {
        if self.wanted.len() > 1 {
            return Ok(());
        }
        let Some((book, _)) = self.book.take() else {
            return Ok(());
        };
        let mut parts = std::mem::take(&mut self.parts).into_iter();
        let mut part = |path: &Option<String>| path.as_ref().and_then(|_| parts.next());
        let strings = part(&book.strings)
            .map(|part| workbook::strings(&part))
            .transpose()?;
        let styles = part(&book.styles)
            .map(|part| workbook::styles(&part))
            .transpose()?;
        let shared = Shared {
            strings: strings.unwrap_or_default(),
            styles: styles.unwrap_or_default(),
            since_1904: book.since_1904,
        };
        self.table = self.options.take().map(|options| Table::new(shared, options));
        Ok(())
    }
}

/// What comes of a document that is unpacked.
enum Step {
    /// More of the archive is to be read, from here.
    Read(u64),
    Rows(Vec<Value>),
    Done,
}

/// Where the last tag begins, of bytes that begin outside of one. What is in comments and CDATA only looks like tags; one that has
/// not ended is the last.
fn last_begin(there: &[u8]) -> usize {
    let (mut begin, mut at) = (0, 0);
    while let Some(rest) = there.get(at..)
        && let Some(next) = rest.iter().position(|byte| *byte == b'<')
    {
        begin = at + next;
        match length(rest.get(next..).unwrap_or_default()) {
            Some(length) => at = begin + length,
            None => break,
        }
    }
    begin
}

/// How long the tag, comment or CDATA is with which the bytes begin; `None`: it has not ended.
fn length(tag: &[u8]) -> Option<usize> {
    let within: [(&[u8], &[u8]); 2] = [(b"<!--", b"-->"), (b"<![CDATA[", b"]]>")];
    for (opens, closes) in within {
        if let Some(content) = tag.strip_prefix(opens) {
            let end = content.windows(closes.len()).position(|part| part == closes)?;
            return Some(opens.len() + end + closes.len());
        }
    }
    Some(tag.iter().position(|byte| *byte == b'>')? + 1)
}

/// Takes what is there up to where its last tag begins, or all if it is the end.
fn whole_tags(there: &mut Vec<u8>, is_end: bool) -> Result<Vec<u8>, Failure> {
    if is_end {
        return Ok(std::mem::take(there));
    }
    let rest = there.split_off(last_begin(there));
    match rest.len() > BETWEEN_BYTES_MAX {
        true => Err(broken("it has more than 4 MiB between two tags")),
        false => Ok(std::mem::replace(there, rest)),
    }
}
