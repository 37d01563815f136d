//! Xlsx: the rows of a sheet in a workbook of Excel's, Office Open XML (ECMA-376), and workbooks of rows.
//!
//! A workbook is a ZIP archive of XML documents. Those that a sheet needs are unpacked and read as events, its own a part at a time; all
//! others stay outside. Knows nothing of formulas: a cell has the value that was last computed for it.

mod cells;
mod escapes;
mod events;
mod failure;
mod moments;
mod numbers;
mod parts;
pub(super) mod read;
mod sheet;
pub(super) mod stream;
mod workbook;
mod write;

use super::file::file_value;
use super::parameters::{boolean, choice, integer};
use super::text::value_or_input;
use super::zip::shared::{PIECE, asked};
use crate::node::{Context, Emission, NodeResult, Outcome, Stepping};
use cells::Options;
use heddle_values::{Object, Value};
use read::{Progress, SheetReader};

const ROWS_MAX: i64 = 1_048_576;

/// Asks for the first piece, or begins to write.
pub fn xlsx(parameters: &Object, context: &mut dyn Context) -> NodeResult {
    if choice(parameters, "operation", &["read", "write"], "read")? == "write" {
        return write::begin(parameters, context);
    }
    let (file, _) = file_value("value", &value_or_input(parameters, context))?;
    let options = Options {
        has_header: boolean(parameters, "header", true)?,
        skip: integer(parameters, "skip", 0, ROWS_MAX)?.unwrap_or_default() as usize,
        limit: integer(parameters, "limit", 0, ROWS_MAX)?.map_or(usize::MAX, |limit| limit as usize),
        are_kept: true,
    };
    let reading = Reading {
        sheet: SheetReader::new(file, parameters, options)?,
        rows: Vec::new(),
    };
    Box::new(reading).proceed()
}

struct Reading {
    sheet: SheetReader,
    rows: Vec<Value>,
}

impl Reading {
    fn proceed(mut self: Box<Self>) -> NodeResult {
        loop {
            match self.sheet.proceed()? {
                Progress::Read(request) => return asked(PIECE, request, self),
                Progress::Rows(mut rows) => self.rows.append(&mut rows),
                Progress::End => return Ok(Outcome::Emit(Emission::one(0, self.rows.into()))),
            }
        }
    }
}

impl Stepping for Reading {
    fn resume(mut self: Box<Self>, result: Value, _: &mut dyn Context) -> NodeResult {
        self.sheet.fill(&result)?;
        self.proceed()
    }
}
