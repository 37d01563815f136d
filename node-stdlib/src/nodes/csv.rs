//! Csv: comma-separated values (RFC 4180) to rows and back.

use super::parameters;
use super::text::{text_unless_file, value_or_input};
use crate::failure::Failure;
use crate::node::{Context, Emission, NodeResult, Outcome};
use csv_core::{ReadRecordResult, Reader, ReaderBuilder};
use heddle_contract::abi::code;
use heddle_values::{Object, ObjectMaker, Text, Value};

/// What to do about a file.
const ROWS_OF_FILES: &str = "The node ConvertFile (`from: \"csv\"`, `to: \"list\"`) gives its rows, the node File (`operation: \"read\"`) \
    its text.";

struct Options {
    delimiter: u8,
    header: bool,
    columns: Option<Vec<Text>>,
}

/// `parse` or `stringify`.
pub fn csv(parameters: &Object, context: &mut dyn Context) -> NodeResult {
    let options = options(parameters)?;
    let value = match parameters::choice(parameters, "operation", &["parse", "stringify"], "parse")? {
        "parse" => parse(&text_unless_file(parameters, context, ROWS_OF_FILES)?, options)?,
        _ => match value_or_input(parameters, context) {
            Value::Array(rows) => stringify(&rows, options)?,
            other => return Err(parameters::mismatch("value", "an array of rows", &other)),
        },
    };
    Ok(Outcome::Emit(Emission::one(0, value)))
}

/// The byte between cells.
pub(super) fn delimiter(parameters: &Object) -> Result<u8, Failure> {
    let delimiter = parameters::text(parameters, "delimiter")?.unwrap_or_else(|| ",".into());
    match delimiter.as_bytes() {
        &[byte] if byte.is_ascii() && !matches!(byte, b'"' | b'\r' | b'\n') => Ok(byte),
        _ => {
            let takes = "one ASCII character that is neither a quote nor a line break";
            Err(parameters::mismatch(
                "delimiter",
                takes,
                &delimiter.as_str().into(),
            ))
        }
    }
}

fn options(parameters: &Object) -> Result<Options, Failure> {
    let columns = parameters::array(parameters, "columns")?;
    Ok(Options {
        delimiter: delimiter(parameters)?,
        header: parameters::boolean(parameters, "header", true)?,
        columns: columns.map(|names| names.iter().map(Value::to_text).collect()),
    })
}

/// A row's cells and the line where it begins.
pub(super) type Record = (u64, Vec<Text>);

fn parse(text: &str, options: Options) -> Result<Value, Failure> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut records = records(text, options.delimiter)?;
    let header = match options.header {
        true => Some(records.next().map(|(_, names)| names).unwrap_or_default()),
        false => options.columns.clone(),
    };
    let Some(header) = header else {
        let rows = records.map(|(_, cells)| cells.into_iter().map(Value::from).collect::<Vec<_>>().into());
        return Ok(rows.collect::<Vec<Value>>().into());
    };
    let kept = options.columns.filter(|_| options.header);
    if let Some(missing) = kept.iter().flatten().find(|name| !header.contains(name)) {
        let there: Vec<_> = header.iter().map(Text::to_string).collect();
        let message = format!(
            "There is no column `{missing}`; the first line has {}.",
            there.join(", ")
        );
        return Err(Failure::new(code::PARSE, message));
    }
    let mut maker = ObjectMaker::default();
    let rows = records.map(|(line, cells)| row(&header, kept.as_deref(), line, cells, &mut maker));
    Ok(rows.collect::<Result<Vec<_>, _>>()?.into())
}

/// A record as an object, of all columns or of those that are kept.
pub(super) fn row(
    header: &[Text],
    kept: Option<&[Text]>,
    line: u64,
    cells: Vec<Text>,
    maker: &mut ObjectMaker,
) -> Result<Value, Failure> {
    if cells.len() > header.len() {
        let message = format!(
            "The row in line {line} has {} cells, but there are {} columns. Is the delimiter right, and is text that \
             contains it quoted?",
            cells.len(),
            header.len()
        );
        return Err(Failure::new(code::PARSE, message));
    }
    let cells = cells.into_iter().chain(std::iter::repeat_with(Text::default));
    let row = maker.object(header.iter().cloned().zip(cells.map(Value::from)));
    let Some(kept) = kept else {
        return Ok(row.into());
    };
    let cell = |name: &Text| (name.clone(), row.get_text(name).cloned().unwrap_or_default());
    Ok(Value::Object(kept.iter().map(cell).collect()))
}

/// All records of a text, one after the other.
fn records(text: &str, delimiter: u8) -> Result<Box<dyn Iterator<Item = Record> + '_>, Failure> {
    // A further byte order mark is none of the text either.
    if text.starts_with('\u{feff}') || text.contains(['"', '\r']) {
        return Ok(Box::new(quoted_records(text, delimiter)?.into_iter()));
    }
    Ok(Box::new(Unquoted {
        rest: text,
        delimiter,
        line: 0,
        begins: 1,
        cells: 0,
    }))
}

/// Records of a text without quotes, the commonest case by far: every delimiter and every line break is one. Cells are
/// short, so that looking at byte after byte takes less than searching.
struct Unquoted<'t> {
    rest: &'t str,
    delimiter: u8,
    /// Lines that were read.
    line: u64,
    /// Where the next record begins, empty lines before it included.
    begins: u64,
    /// Of the record before.
    cells: usize,
}

impl Iterator for Unquoted<'_> {
    type Item = Record;

    fn next(&mut self) -> Option<Record> {
        while !self.rest.is_empty() {
            let mut cells = Vec::with_capacity(self.cells);
            let (mut start, mut end) = (0, self.rest.len());
            for (at, byte) in self.rest.bytes().enumerate() {
                if byte == self.delimiter {
                    cells.push(Text::from(self.rest.get(start..at).unwrap_or_default()));
                    start = at + 1;
                } else if byte == b'\n' {
                    end = at;
                    break;
                }
            }
            let last = self.rest.get(start..end).unwrap_or_default();
            self.rest = self.rest.get(end + 1..).unwrap_or_default();
            self.line += 1;
            if end > 0 {
                cells.push(Text::from(last));
                self.cells = cells.len();
                return Some((std::mem::replace(&mut self.begins, self.line + 1), cells));
            }
        }
        None
    }
}

fn quoted_records(text: &str, delimiter: u8) -> Result<Vec<Record>, Failure> {
    let mut records = Vec::new();
    Rows::new(delimiter).feed(text, true, &mut |record| {
        records.push(record);
        Ok(true)
    })?;
    Ok(records)
}

/// Reads records from pieces that may have been cut anywhere. Empty lines are no rows.
pub(super) struct Rows {
    reader: Reader,
    cells: Vec<u8>,
    ends: Vec<usize>,
    filled: usize,
    ended: usize,
    /// Where the record at hand begins.
    line: u64,
}

impl Rows {
    pub fn new(delimiter: u8) -> Self {
        Rows {
            reader: ReaderBuilder::new().delimiter(delimiter).build(),
            cells: vec![0; 1024],
            ends: vec![0; 64],
            filled: 0,
            ended: 0,
            line: 1,
        }
    }

    /// What the record at hand takes: its bytes, and as much for each of its cells, which may be empty.
    pub fn held(&self) -> usize {
        self.filled.saturating_add(self.ended)
    }

    /// Where it begins, from 1.
    pub fn line(&self) -> u64 {
        self.line
    }

    /// Takes a piece, and gives the records that end in it, until one is answered with `false`.
    pub fn feed(
        &mut self,
        text: &str,
        is_last: bool,
        take: &mut dyn FnMut(Record) -> Result<bool, Failure>,
    ) -> Result<(), Failure> {
        let mut input = text.as_bytes();
        // An empty input tells the reader that the text has ended.
        while !input.is_empty() || is_last {
            let (free, free_ends) = (self.cells.get_mut(self.filled..), self.ends.get_mut(self.ended..));
            let (result, read, written, ends_written) =
                self.reader
                    .read_record(input, free.unwrap_or_default(), free_ends.unwrap_or_default());
            input = input.get(read..).unwrap_or_default();
            self.filled += written;
            self.ended += ends_written;
            match result {
                ReadRecordResult::OutputFull => self.cells.resize(self.cells.len() * 2, 0),
                ReadRecordResult::OutputEndsFull => self.ends.resize(self.ends.len() * 2, 0),
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::Record => {
                    let cells = texts(&self.cells, self.ends.get(..self.ended).unwrap_or_default());
                    let line = std::mem::replace(&mut self.line, self.reader.line());
                    (self.filled, self.ended) = (0, 0);
                    if !take((line, cells))? {
                        return Ok(());
                    }
                }
                ReadRecordResult::End => return Ok(()),
            }
        }
        Ok(())
    }
}

fn texts(cells: &[u8], ends: &[usize]) -> Vec<Text> {
    let starts = std::iter::once(0).chain(ends.iter().copied());
    let cell = |(start, &end): (usize, &usize)| {
        let cell = cells.get(start..end).unwrap_or_default();
        Text::from(String::from_utf8_lossy(cell).as_ref())
    };
    starts.zip(ends).map(cell).collect()
}

fn stringify(rows: &[Value], options: Options) -> Result<Value, Failure> {
    let has_objects = rows.iter().any(|row| matches!(row, Value::Object(_)));
    let columns = match options.columns {
        None if has_objects => Some(all_keys(rows)),
        given => given,
    };
    let mut out = String::new();
    if let Some(columns) = columns.as_deref().filter(|_| options.header) {
        write_row(&mut out, columns.iter().cloned(), options.delimiter);
    }
    for (index, row) in rows.iter().enumerate() {
        match row {
            Value::Array(cells) => write_row(&mut out, cells.iter().map(Value::to_text), options.delimiter),
            Value::Object(fields) => {
                let cell = |name| fields.get_text(name).map(Value::to_text).unwrap_or_default();
                write_row(&mut out, columns.iter().flatten().map(cell), options.delimiter);
            }
            other => {
                let message = format!(
                    "Row {index} takes an object or an array, but it is {}.",
                    other.shape()
                );
                return Err(Failure::new(code::PARAMETER, message));
            }
        }
    }
    Ok(out.into())
}

/// Every key of the objects, in order of appearance.
fn all_keys(rows: &[Value]) -> Vec<Text> {
    let mut keys = Object::new();
    for row in rows {
        let Value::Object(row) = row else { continue };
        for key in row
            .keys()
            .filter(|key| keys.get_text(key).is_none())
            .cloned()
            .collect::<Vec<_>>()
        {
            keys.insert(key, Value::Null);
        }
    }
    keys.keys().cloned().collect()
}

/// Appends a row as a line.
pub(super) fn write_row(out: &mut String, cells: impl Iterator<Item = Text>, delimiter: u8) {
    let start = out.len();
    for (index, cell) in cells.enumerate() {
        if index > 0 {
            out.push(delimiter.into());
        }
        let cell = cell.to_utf8();
        let special = |c: char| matches!(c, '"' | '\r' | '\n') || c == char::from(delimiter);
        match cell.contains(special) || cell.trim() != cell {
            true => out.extend(["\"", &cell.replace('"', "\"\""), "\""]),
            false => out.push_str(&cell),
        }
    }
    // A row of one empty cell would be an empty line, which is no row.
    if out.len() == start {
        out.push_str("\"\"");
    }
    out.push('\n');
}
