//! The rows of a sheet, whose document is read part by part.

use super::escapes;
use super::events::{Seen, attribute, walk_part};
use super::failure::broken;
use super::numbers::{Shown, time};
use crate::failure::Failure;
use heddle_contract::abi::code;
use heddle_values::{Object, Text, Value};
use std::collections::{HashMap, HashSet};

/// Columns of a sheet: up to `XFD`.
pub(super) const COLUMNS_MAX: usize = 16_384;
/// Cells that are read, with those left empty between others.
const CELLS_MAX: usize = 20_000_000;

/// How rows are read.
pub(super) struct Options {
    pub has_header: bool,
    /// Rows before the first that counts.
    pub skip: usize,
    pub limit: usize,
    /// Whether rows are kept, so that they have to fit into memory together.
    pub are_kept: bool,
}

/// What the sheets of a workbook share.
pub(super) struct Shared {
    pub strings: Vec<Text>,
    pub styles: Vec<Shown>,
    pub since_1904: bool,
}

/// The cell at hand.
#[derive(Default)]
struct Cell {
    column: usize,
    kind: String,
    style: usize,
    text: String,
}

/// A sheet while it is read. Rows are objects by the names in the first one, or arrays; those without any value are none.
pub(super) struct Table {
    options: Options,
    shared: Shared,
    seen: usize,
    /// Rows that were given.
    given: usize,
    cells: usize,
    row: Vec<Value>,
    /// The column of a cell that does not say where it is: empty ones take theirs, though the row does not grow.
    next: usize,
    header: Option<Vec<Text>>,
    cell: Cell,
    /// Whether text belongs to the cell's value, and whether it is not how that is read aloud.
    is_value: bool,
    is_reading: bool,
    rows: Vec<Value>,
}

impl Table {
    pub fn new(shared: Shared, options: Options) -> Self {
        Table {
            options,
            shared,
            seen: 0,
            given: 0,
            cells: 0,
            row: Vec::new(),
            next: 0,
            header: None,
            cell: Cell::default(),
            is_value: false,
            is_reading: true,
            rows: Vec::new(),
        }
    }

    /// Whether no more rows are wanted.
    pub fn is_full(&self) -> bool {
        self.given >= self.options.limit
    }

    /// Reads a part of the sheet's document, cut where a tag begins; the rows that end in it.
    pub fn feed(&mut self, part: &[u8]) -> Result<Vec<Value>, Failure> {
        walk_part(part, |seen| self.see(seen))?;
        Ok(std::mem::take(&mut self.rows))
    }

    fn see(&mut self, seen: Seen<'_>) -> Result<(), Failure> {
        match seen {
            Seen::Start("c", start) => {
                let column = attribute(start, "r")?.and_then(|place| column(&place));
                self.cell = Cell {
                    // A cell that does not say where it is follows the one before.
                    column: column.unwrap_or(self.next),
                    kind: attribute(start, "t")?.unwrap_or_default(),
                    style: attribute(start, "s")?
                        .and_then(|style| style.parse().ok())
                        .unwrap_or(0),
                    text: String::new(),
                };
            }
            Seen::Start("rPh", _) => self.is_reading = false,
            Seen::End("rPh") => self.is_reading = true,
            Seen::Start("v" | "t", _) => self.is_value = self.is_reading,
            Seen::End("v" | "t") => self.is_value = false,
            Seen::Text(text) if self.is_value => self.cell.text.push_str(text),
            Seen::End("c") => {
                let cell = std::mem::take(&mut self.cell);
                self.end_cell(&cell)?;
            }
            Seen::End("row") => self.end_row(),
            _ => {}
        }
        Ok(())
    }
}

/// The number of the column in a place such as `AB12`, from 0.
fn column(place: &str) -> Option<usize> {
    let letters = place.bytes().take_while(u8::is_ascii_alphabetic).take(4);
    let number = letters.fold(0, |number, letter| {
        number * 26 + usize::from(letter.to_ascii_uppercase() - b'A') + 1
    });
    number.checked_sub(1)
}

impl Table {
    fn end_cell(&mut self, cell: &Cell) -> Result<(), Failure> {
        self.next = cell.column + 1;
        if cell.column >= COLUMNS_MAX {
            return Err(broken("a cell is right of the last column"));
        }
        let value = self.value(cell)?;
        if matches!(value, Value::Null) || self.is_full() {
            return Ok(());
        }
        if cell.column >= self.row.len() {
            self.cells += cell.column + 1 - self.row.len();
            self.row.resize(cell.column + 1, Value::Null);
        }
        if self.options.are_kept && self.cells > CELLS_MAX {
            let message = format!(
                "The sheet has more than {CELLS_MAX} cells: read it in parts, by `skip` and `limit`."
            );
            return Err(Failure::new(code::FILE_LIMIT, message));
        }
        if let Some(place) = self.row.get_mut(cell.column) {
            *place = value;
        }
        Ok(())
    }

    fn value(&self, cell: &Cell) -> Result<Value, Failure> {
        let text = cell.text.as_str();
        Ok(match cell.kind.as_str() {
            "s" => {
                let number = text.trim().parse::<usize>().ok();
                let found = number.and_then(|number| self.shared.strings.get(number));
                found.cloned().map_or_else(
                    || Err(broken("a cell refers to a text that does not exist")),
                    |text| Ok(text.into()),
                )?
            }
            "b" => Value::Bool(text.trim() == "1"),
            "" | "n" => match text.trim() {
                "" => Value::Null,
                number => self.number(number, cell.style)?,
            },
            // Results of formulas, texts in the cell itself, errors such as `#N/A`, and dates in ISO 8601.
            _ => Value::from(escapes::read(text).into_owned()),
        })
    }

    fn number(&self, text: &str, style: usize) -> Result<Value, Failure> {
        let number: f64 = text.parse().map_err(|_| broken("a cell's number is not valid"))?;
        Ok(match self.shared.styles.get(style) {
            Some(Shown::Time) => time(number, self.shared.since_1904),
            _ => Value::Number(number),
        })
    }

    fn end_row(&mut self) {
        self.next = 0;
        let row = std::mem::take(&mut self.row);
        if row.is_empty() {
            return;
        }
        self.seen += 1;
        if self.seen <= self.options.skip || self.is_full() {
            return;
        }
        if !self.options.has_header {
            self.given += 1;
            self.rows.push(row.into());
            return;
        }
        let Some(header) = &self.header else {
            self.header = Some(names(&row));
            return;
        };
        // Cells beyond the names have those of their columns.
        let mut object = Object::with_capacity(header.len());
        for (index, name) in header.iter().enumerate() {
            object.insert(name.clone(), row.get(index).cloned().unwrap_or(Value::Null));
        }
        for (index, value) in row.into_iter().enumerate().skip(header.len()) {
            if !matches!(value, Value::Null) {
                object.insert(letters(index), value);
            }
        }
        self.given += 1;
        self.rows.push(object.into());
    }
}

/// Names of columns: a second one of a name is `name_2`, and one without a name is that of its column.
fn names(row: &[Value]) -> Vec<Text> {
    let (mut numbers, mut taken) = (HashMap::new(), HashSet::new());
    let name = |(index, value): (usize, &Value)| {
        let name = match value {
            Value::Null => letters(index),
            value => value.to_text().to_utf8().into_owned(),
        };
        let count = numbers.entry(name.clone()).or_insert(1_usize);
        let mut free = name.clone();
        while !taken.insert(free.clone()) {
            *count += 1;
            free = format!("{name}_{count}");
        }
        Text::from(free.as_str())
    };
    row.iter().enumerate().map(name).collect()
}

/// `A`, `B`, …, `AA`, as Excel has them.
pub(super) fn letters(mut index: usize) -> String {
    let mut found = Vec::new();
    loop {
        found.push(char::from(b'A' + (index % 26) as u8));
        match index / 26 {
            0 => break,
            rest => index = rest - 1,
        }
    }
    found.into_iter().rev().collect()
}
