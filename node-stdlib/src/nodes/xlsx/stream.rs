//! A workbook of one sheet whose rows come one after the other: in memory is what is not packed yet, and not handed on.

use super::parts::{parts, sheet_path};
use super::sheet::{Sheet, Style, TAIL};
use super::write::{TEXT_BYTES, checked};
use crate::failure::Failure;
use crate::nodes::zip::pack::Packer;
use heddle_contract::abi::code;
use heddle_values::{Array, Text, Value};

pub(in super::super) use super::write::MEDIA_TYPE;

/// A workbook that is being written.
pub(in super::super) struct RowWriter {
    pub packer: Packer,
    name: String,
    has_header: bool,
    columns: Option<Vec<Text>>,
    /// Once there is a row: the columns are its fields, unless they were named.
    sheet: Option<Sheet>,
    /// Rows that were written.
    count: usize,
    /// What is not packed yet.
    text: String,
}

impl RowWriter {
    /// With a sheet of this name. `now_ms`: when it is made.
    pub fn new(
        name: &str,
        (has_header, columns): (bool, Option<Vec<Text>>),
        now_ms: i64,
    ) -> Result<Self, Failure> {
        Ok(RowWriter {
            packer: Packer::new(now_ms),
            name: checked(name)?,
            has_header,
            columns,
            sheet: None,
            count: 0,
            text: String::new(),
        })
    }

    /// Writes a record; `index` is its place among those that were read.
    pub fn write(&mut self, record: Value, index: usize) -> Result<(), Failure> {
        if !matches!(record, Value::Object(_) | Value::Array(_)) {
            let message = format!(
                "Record {index} must be an object or an array to become a row, but it is {}.",
                record.shape()
            );
            return Err(Failure::new(code::PARAMETER, message));
        }
        let sheet = match self.sheet.take() {
            Some(sheet) => sheet,
            None => self.begin(vec![record.clone()].into())?,
        };
        if self.columns.is_none()
            && let Value::Object(fields) = &record
            && let Some(unknown) = sheet.unknown(fields)
        {
            let message = format!(
                "Record {index} has the field `{unknown}`, which the first one did not have. The names of the columns are \
                 written before the records are known: list all of them in `columns`."
            );
            return Err(Failure::new(code::PARAMETER, message));
        }
        sheet.put(&mut self.text, self.count, &record)?;
        self.count += 1;
        self.sheet = Some(sheet);
        match self.text.len() >= TEXT_BYTES {
            true => self.pack(),
            false => Ok(()),
        }
    }

    /// No more records come.
    pub fn end(&mut self) -> Result<(), Failure> {
        if self.packer.is_whole {
            return Ok(());
        }
        if self.sheet.is_none() {
            self.begin(Array::default())?;
        }
        self.text.push_str(TAIL);
        self.pack()?;
        self.packer.end_file()?;
        self.packer.end();
        Ok(())
    }

    fn begin(&mut self, first: Array) -> Result<Sheet, Failure> {
        let style = Style {
            has_header: self.has_header,
            dates: true,
            flatten: false,
        };
        let sheet = Sheet::new(self.name.clone(), first, self.columns.clone(), style)?;
        for (path, content) in parts(std::slice::from_ref(&sheet)) {
            self.packer.file(path, content.as_bytes())?;
        }
        self.packer.begin(sheet_path(1))?;
        sheet.begin(&mut self.text)?;
        Ok(sheet)
    }

    fn pack(&mut self) -> Result<(), Failure> {
        self.packer.pack(self.text.as_bytes())?;
        self.text.clear();
        Ok(())
    }
}
