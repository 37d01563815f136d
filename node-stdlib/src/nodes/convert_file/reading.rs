//! Pieces of a file to records, whatever their format.

use super::super::csv::{Record, Rows, row};
use super::array::Elements;
use super::format::{Format, RECORD_BYTES_MAX, Take};
use super::lines::Lines;
use crate::failure::Failure;
use heddle_contract::abi::code;
use heddle_values::{ObjectMaker, Text, Value};

/// Reads records from pieces.
pub(super) struct Reader {
    format: Formats,
    is_first: bool,
}

enum Formats {
    Csv(Box<Table>),
    JsonLines(Lines),
    Json(Elements),
}

struct Table {
    rows: Rows,
    has_header: bool,
    header: Option<Vec<Text>>,
    maker: ObjectMaker,
}

impl Reader {
    pub fn new(format: Format, (delimiter, has_header): (u8, bool)) -> Self {
        let format = match format {
            Format::Csv => Formats::Csv(Box::new(Table {
                rows: Rows::new(delimiter),
                has_header,
                header: None,
                maker: ObjectMaker::default(),
            })),
            Format::JsonLines => Formats::JsonLines(Lines::default()),
            Format::Json => Formats::Json(Elements::default()),
        };
        Reader {
            format,
            is_first: true,
        }
    }

    /// Takes a piece, and gives the records that end in it.
    pub fn feed(&mut self, text: &str, is_last: bool, take: Take<'_>) -> Result<(), Failure> {
        // What editors put before the text (a byte order mark) belongs to no record.
        let text = match std::mem::take(&mut self.is_first) {
            true => text.strip_prefix('\u{feff}').unwrap_or(text),
            false => text,
        };
        match &mut self.format {
            Formats::Csv(table) => table.feed(text, is_last, take),
            Formats::JsonLines(lines) => lines.feed(text, is_last, take),
            Formats::Json(elements) => elements.feed(text, is_last, take),
        }
    }
}

impl Table {
    fn feed(&mut self, text: &str, is_last: bool, take: Take<'_>) -> Result<(), Failure> {
        let Table {
            rows,
            has_header,
            header,
            maker,
        } = self;
        rows.feed(text, is_last, &mut |(line, cells): Record| match header {
            Some(names) => take(row(names, None, line, cells, maker)?),
            None if *has_header => {
                *header = Some(cells);
                Ok(true)
            }
            None => take(cells.into_iter().map(Value::from).collect::<Vec<Value>>().into()),
        })?;
        if rows.held() > RECORD_BYTES_MAX {
            let message = format!(
                "The row that begins in line {} is larger than {} MiB: is a quote left open, or is the delimiter another one?",
                rows.line(),
                RECORD_BYTES_MAX >> 20
            );
            return Err(Failure::new(code::PARSE, message));
        }
        Ok(())
    }
}
