//! Records to the text of a file.

use super::super::csv::write_row;
use super::format::Format;
use crate::failure::Failure;
use heddle_contract::abi::code;
use heddle_values::{Text, Value};

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
        }
    }

    pub fn format(&self) -> Format {
        self.format
    }

    /// What is written and not forgotten.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Forgets the first bytes of the text, which were handed on.
    pub fn forget(&mut self, bytes: usize) {
        self.text.drain(..bytes);
    }

    /// Writes a record; `index` is its place among those that were read.
    pub fn write(&mut self, record: Value, index: usize) -> Result<(), Failure> {
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

    /// No more records come.
    pub fn end(&mut self) {
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
