//! A sheet that is written: rows as XML.

use super::cells::{COLUMNS_MAX, letters};
use super::escapes;
use super::moments::{Moment, moment};
use crate::failure::Failure;
use crate::nodes::text::refuse_secret;
use heddle_contract::abi::code;
use heddle_values::{Array, Object, Text, Value, number_to_text};
use std::collections::HashSet;

/// Rows of a sheet, the names of its columns included.
const ROWS_MAX: usize = 1_048_576;
/// UTF-16 units of a text in a cell.
const TEXT_UNITS_MAX: usize = 32_767;
/// The first rows, after which the widths of columns are chosen, and the widest, in characters.
const ROWS_MEASURED: usize = 100;
const WIDTHS: (usize, usize) = (9, 60);
/// Numbers of formats, as the styles have them.
const DATE: u8 = 1;
const DATE_TIME: u8 = 2;
const CLOCK: u8 = 3;
const NAME: u8 = 4;

const HEAD: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n\
    <worksheet xmlns=\"http://schemas.openxmlformats.org/spreadsheetml/2006/main\">";
pub(super) const TAIL: &str = "</sheetData></worksheet>";

/// How values become cells.
#[derive(Clone, Copy)]
pub(super) struct Style {
    pub has_header: bool,
    /// Whether texts in ISO 8601 become dates.
    pub dates: bool,
    /// Whether what is in objects gets columns of its own.
    pub flatten: bool,
}

/// A sheet, and the fields of its objects in the order of its columns.
pub(super) struct Sheet {
    pub name: String,
    pub rows: Array,
    columns: Vec<Text>,
    style: Style,
}

/// What is in a cell.
enum Cell {
    Empty,
    Number(f64),
    Bool(bool),
    Text(Text),
    Moment(f64, Moment),
}

impl Sheet {
    /// Finds the columns, unless they are given: the fields of all objects, in the order in which they come first.
    pub fn new(name: String, rows: Array, columns: Option<Vec<Text>>, style: Style) -> Result<Self, Failure> {
        let mut sheet = Sheet {
            name,
            rows,
            columns: columns.clone().unwrap_or_default(),
            style,
        };
        let mut known = HashSet::new();
        for (index, row) in sheet.rows.iter().enumerate() {
            match row {
                Value::Object(fields) if columns.is_none() => {
                    let fields = sheet.fields(fields);
                    if fields.keys().eq(&sheet.columns) {
                        continue;
                    }
                    for name in fields.keys() {
                        if known.insert(name.clone()) {
                            sheet.columns.push(name.clone());
                        }
                    }
                }
                Value::Object(_) | Value::Array(_) => {}
                other => {
                    let message = format!(
                        "Row {index} of the sheet \"{}\" is to be an object or an array, but it is {}.",
                        sheet.name,
                        other.shape()
                    );
                    return Err(Failure::new(code::PARAMETER, message));
                }
            }
        }
        let header = usize::from(sheet.shows_names());
        if sheet.rows.len() + header > ROWS_MAX {
            let count = sheet.rows.len() + header;
            return Err(sheet.beyond(count, "rows", ROWS_MAX));
        }
        sheet.check_columns(sheet.columns.len())?;
        Ok(sheet)
    }

    fn beyond(&self, count: usize, what: &str, max: usize) -> Failure {
        let message = format!(
            "The sheet \"{}\" would have {count} {what}, but a sheet of Excel's has at most {max}.",
            self.name
        );
        Failure::new(code::FILE_LIMIT, message)
    }

    fn check_columns(&self, count: usize) -> Result<(), Failure> {
        match count > COLUMNS_MAX {
            true => Err(self.beyond(count, "columns", COLUMNS_MAX)),
            false => Ok(()),
        }
    }

    fn shows_names(&self) -> bool {
        self.style.has_header && !self.columns.is_empty()
    }

    fn fields(&self, fields: &Object) -> Object {
        match self.style.flatten {
            true => flattened(fields),
            false => fields.clone(),
        }
    }

    /// What comes before the rows, with the names of the columns.
    pub fn begin(&self, out: &mut String) -> Result<(), Failure> {
        out.push_str(HEAD);
        let mut widths: Vec<usize> = match self.shows_names() {
            true => self.columns.iter().map(Text::len).collect(),
            false => Vec::new(),
        };
        for row in self.rows.iter().take(ROWS_MEASURED) {
            for (index, cell) in self.cells(row).iter().enumerate() {
                if index >= widths.len() {
                    widths.resize(index + 1, 0);
                }
                if let Some(width) = widths.get_mut(index) {
                    *width = (*width).max(self.cell(cell).width());
                }
            }
        }
        self.check_columns(widths.len())?;
        if !widths.is_empty() {
            out.push_str("<cols>");
            for (number, width) in (1..).zip(&widths) {
                let width = (width + 2).clamp(WIDTHS.0, WIDTHS.1);
                out.push_str(&format!(
                    "<col min=\"{number}\" max=\"{number}\" width=\"{width}\" customWidth=\"1\"/>"
                ));
            }
            out.push_str("</cols>");
        }
        out.push_str("<sheetData>");
        if self.shows_names() {
            out.push_str("<row r=\"1\">");
            for (column, name) in self.columns.iter().enumerate() {
                self.text(out, (column, 1), name, NAME)?;
            }
            out.push_str("</row>");
        }
        Ok(())
    }

    /// Writes a row by its index.
    pub fn row(&self, out: &mut String, index: usize) -> Result<(), Failure> {
        match self.rows.get(index) {
            Some(row) => self.put(out, index, row),
            None => Ok(()),
        }
    }

    /// Whether an object has other fields than there are columns: one of them.
    pub fn unknown<'a>(&self, fields: &'a Object) -> Option<&'a Text> {
        if fields.keys().eq(&self.columns) {
            return None;
        }
        fields.keys().find(|name| !self.columns.contains(name))
    }

    /// Writes a row that may be none of its own, as the one with this index.
    pub fn put(&self, out: &mut String, index: usize, row: &Value) -> Result<(), Failure> {
        let number = index + 1 + usize::from(self.shows_names());
        if number > ROWS_MAX {
            return Err(self.beyond(number, "rows", ROWS_MAX));
        }
        let cells = self.cells(row);
        self.check_columns(cells.len())?;
        out.push_str(&format!("<row r=\"{number}\">"));
        for (column, value) in cells.iter().enumerate() {
            let place = || format!("{}{number}", letters(column));
            match self.cell(value) {
                Cell::Empty => {}
                Cell::Number(value) => {
                    let value = number_to_text(value);
                    out.push_str(&format!("<c r=\"{}\"><v>{value}</v></c>", place()));
                }
                Cell::Bool(value) => {
                    let value = u8::from(value);
                    out.push_str(&format!("<c r=\"{}\" t=\"b\"><v>{value}</v></c>", place()));
                }
                Cell::Moment(days, moment) => {
                    let (days, style) = (number_to_text(days), moment.style());
                    out.push_str(&format!("<c r=\"{}\" s=\"{style}\"><v>{days}</v></c>", place()));
                }
                Cell::Text(text) => self.text(out, (column, number), &text, 0)?,
            }
        }
        out.push_str("</row>");
        Ok(())
    }

    /// The values of a row, by column.
    fn cells(&self, row: &Value) -> Vec<Value> {
        match row {
            Value::Object(fields) => {
                let fields = self.fields(fields);
                let value = |name| fields.get_text(name).cloned().unwrap_or_default();
                self.columns.iter().map(value).collect()
            }
            Value::Array(cells) => cells.iter().cloned().collect(),
            _ => Vec::new(),
        }
    }

    fn cell(&self, value: &Value) -> Cell {
        match value {
            Value::Undefined | Value::Null | Value::Function(_) => Cell::Empty,
            Value::Bool(value) => Cell::Bool(*value),
            Value::Number(number) if number.is_finite() => Cell::Number(*number),
            Value::Number(_) => Cell::Empty,
            Value::String(text) if text.is_empty() => Cell::Empty,
            Value::String(text) if self.style.dates => dated(text.clone()),
            Value::String(text) => Cell::Text(text.clone()),
            Value::Temporal(temporal) => dated(temporal.to_text().into()),
            Value::Array(_) | Value::Object(_) => Cell::Text(value.to_text()),
        }
    }

    fn text(
        &self,
        out: &mut String,
        (column, row): (usize, usize),
        text: &Text,
        style: u8,
    ) -> Result<(), Failure> {
        let place = format!("{}{row}", letters(column));
        if text.len() > TEXT_UNITS_MAX {
            let message = format!(
                "The text for cell {place} of the sheet \"{}\" has {} characters, but a cell of Excel's has at most {TEXT_UNITS_MAX}.",
                self.name,
                text.len()
            );
            return Err(Failure::new(code::FILE_LIMIT, message));
        }
        let text = text.to_utf8();
        refuse_secret(&text)?;
        out.push_str(&format!(
            "<c r=\"{place}\" s=\"{style}\" t=\"inlineStr\"><is><t xml:space=\"preserve\">"
        ));
        escapes::write(out, &text);
        out.push_str("</t></is></c>");
        Ok(())
    }
}

impl Cell {
    /// In characters.
    fn width(&self) -> usize {
        match self {
            Cell::Empty => 0,
            Cell::Number(number) => number_to_text(*number).len(),
            Cell::Bool(_) => 5,
            Cell::Text(text) => text.len(),
            Cell::Moment(_, Moment::DateTime) => 19,
            Cell::Moment(..) => 10,
        }
    }
}

impl Moment {
    fn style(self) -> u8 {
        match self {
            Moment::Date => DATE,
            Moment::DateTime => DATE_TIME,
            Moment::Clock => CLOCK,
        }
    }
}

fn dated(text: Text) -> Cell {
    match moment(&text.to_utf8()) {
        Some((days, moment)) => Cell::Moment(days, moment),
        None => Cell::Text(text),
    }
}

/// `{"a": {"b": 1}}` as `{"a.b": 1}`; elements of lists have their numbers as names.
fn flattened(object: &Object) -> Object {
    let is_flat = |value: &Value| !matches!(value, Value::Object(_) | Value::Array(_));
    if object.values().all(is_flat) {
        return object.clone();
    }
    let mut flat = Object::new();
    // The next one last.
    let mut waiting: Vec<(Text, Value)> = fields_of(None, &Value::Object(object.clone()));
    while let Some((name, value)) = waiting.pop() {
        match is_flat(&value) {
            true => flat.insert(name, value),
            false => waiting.extend(fields_of(Some(&name), &value)),
        }
    }
    flat
}

/// Fields and elements with their names behind that of what they are in, in reverse.
fn fields_of(of: Option<&Text>, value: &Value) -> Vec<(Text, Value)> {
    let named = |name: Text| match of {
        Some(of) => of.concat(&Text::from(".")).concat(&name),
        None => name,
    };
    let mut fields: Vec<(Text, Value)> = match value {
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| (named(name.clone()), value.clone()))
            .collect(),
        Value::Array(elements) => elements
            .iter()
            .enumerate()
            .map(|(index, value)| (named(Text::from(index.to_string())), value.clone()))
            .collect(),
        _ => Vec::new(),
    };
    fields.reverse();
    fields
}
