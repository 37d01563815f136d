//! Records to the text of a file, or to a workbook.

use super::super::csv::write_row;
use super::super::xlsx::stream::{MEDIA_TYPE, RowWriter};
use super::format::Format;
use crate::failure::Failure;
use heddle_contract::abi::code;
use heddle_values::{Text, Value};

/// As much is handed on at once, in bytes.
const PIECE_BYTES: usize = 1 << 20;

/// What records are written to.
pub(super) enum Output {
    Text(Writer),
    Workbook(Box<RowWriter>),
}

/// A piece of what is written.
pub(super) enum Piece<'a> {
    Text(&'a str),
    Bytes(&'a [u8]),
}

impl Output {
    pub fn ending(&self) -> &'static str {
        match self {
            Output::Text(writer) => writer.format.ending(),
            Output::Workbook(_) => "xlsx",
        }
    }

    pub fn media_type(&self) -> &'static str {
        match self {
            Output::Text(writer) => writer.format.media_type(),
            Output::Workbook(_) => MEDIA_TYPE,
        }
    }

    /// Writes a record; `index` is its place among those that were read.
    pub fn write(&mut self, record: Value, index: usize) -> Result<(), Failure> {
        match self {
            Output::Text(writer) => writer.write(record, index),
            Output::Workbook(rows) => rows.write(record.into_json(), index),
        }
    }

    /// No more records come.
    pub fn end(&mut self) -> Result<(), Failure> {
        match self {
            Output::Text(writer) => {
                writer.end();
                Ok(())
            }
            Output::Workbook(rows) => rows.end(),
        }
    }

    /// What is to be handed on next: a whole piece, or the rest at the end.
    pub fn piece(&self) -> Option<Piece<'_>> {
        match self {
            Output::Text(writer) => writer.piece().map(Piece::Text),
            Output::Workbook(rows) => rows.packer.piece().map(Piece::Bytes),
        }
    }

    /// So many bytes of it were handed on.
    pub fn handed(&mut self, bytes: usize) -> Result<(), Failure> {
        match self {
            Output::Text(writer) => {
                writer.handed += bytes;
                Ok(())
            }
            Output::Workbook(rows) => rows.packer.forget(bytes),
        }
    }

    /// Before more is written, what was handed on makes room.
    pub fn make_room(&mut self) {
        if let Output::Text(writer) = self
            && writer.piece().is_none()
        {
            writer.text.drain(..std::mem::take(&mut writer.handed));
        }
    }
}

/// Writes records, as text that is taken from it now and then.
pub(super) struct Writer {
    format: Format,
    delimiter: u8,
    has_header: bool,
    columns: Option<Vec<Text>>,
    /// Whether other fields than those of the columns are left out: they were named.
    is_chosen: bool,
    count: u64,
    is_ended: bool,
    text: String,
    /// Bytes of the text that were handed on.
    handed: usize,
}

impl Writer {
    pub fn new(format: Format, (delimiter, has_header, columns): (u8, bool, Option<Vec<Text>>)) -> Self {
        Writer {
            format,
            delimiter,
            has_header,
            is_chosen: columns.is_some(),
            columns,
            count: 0,
            is_ended: false,
            text: String::new(),
            handed: 0,
        }
    }

    fn piece(&self) -> Option<&str> {
        let rest = self.text.get(self.handed..).unwrap_or_default();
        let is_ready = rest.len() >= PIECE_BYTES || (self.is_ended && !rest.is_empty());
        is_ready.then(|| rest.get(..rest.floor_char_boundary(PIECE_BYTES)).unwrap_or(rest))
    }

    fn write(&mut self, record: Value, index: usize) -> Result<(), Failure> {
        match self.format {
            Format::Csv => self.row(&record.into_json(), index)?,
            Format::JsonLines => {
                record.into_json().write_json(&mut self.text);
                self.text.push('\n');
            }
            Format::Json => {
                self.text.push_str(if self.count == 0 { "[\n" } else { ",\n" });
                record.into_json().write_json(&mut self.text);
            }
        }
        self.count += 1;
        Ok(())
    }

    fn end(&mut self) {
        if std::mem::replace(&mut self.is_ended, true) {
            return;
        }
        match self.format {
            Format::Json if self.count == 0 => self.text.push_str("[]\n"),
            Format::Json => self.text.push_str("\n]\n"),
            Format::Csv if self.count == 0 => self.names(),
            Format::Csv | Format::JsonLines => {}
        }
    }

    fn names(&mut self) {
        if let Some(columns) = self.columns.as_deref().filter(|_| self.has_header) {
            write_row(&mut self.text, columns.iter().cloned(), self.delimiter);
        }
    }

    fn row(&mut self, record: &Value, index: usize) -> Result<(), Failure> {
        if self.columns.is_none()
            && let Value::Object(fields) = record
        {
            self.columns = Some(fields.keys().cloned().collect());
        }
        if self.count == 0 {
            self.names();
        }
        let fields = match record {
            Value::Array(cells) => {
                write_row(&mut self.text, cells.iter().map(Value::to_text), self.delimiter);
                return Ok(());
            }
            Value::Object(fields) => fields,
            other => {
                let message = format!(
                    "Record {index} must be an object or an array to become a row, but it is {}.",
                    other.shape()
                );
                return Err(Failure::new(code::PARAMETER, message));
            }
        };
        let columns = self.columns.as_deref().unwrap_or_default();
        if !self.is_chosen
            && !fields.keys().eq(columns)
            && let Some(unknown) = fields.keys().find(|key| !columns.contains(key))
        {
            let message = format!(
                "Record {index} has the field `{unknown}`, which the first one did not have. The names of the columns are \
                 written before the records are known: list all of them in `columns`."
            );
            return Err(Failure::new(code::PARAMETER, message));
        }
        let cell = |name| fields.get_text(name).map(Value::to_text).unwrap_or_default();
        write_row(&mut self.text, columns.iter().map(cell), self.delimiter);
        Ok(())
    }
}
