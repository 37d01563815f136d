//! ConvertFile: the records of a file, piece by piece, to another file or to a list.
//!
//! In memory are one piece of the file, what becomes of it, and a record that is not at its end: never the whole. A list is there
//! anyway; as many of its elements are taken at a time as make a piece. A piece is read by the effect `file-piece`, whose result
//! is not kept in the journal: files don't change, so a run that goes on after a crash reads it once more, and writes once more
//! what it had written. What is kept is the file that came of it.

mod array;
mod format;
mod lines;
mod reading;
mod writing;

use super::csv;
use super::file::{FILE, file_value, is_file};
use super::parameters::{array, boolean, choice, given, holds, integer, mismatch, select, text};
use super::text::value_or_input;
use super::zip::shared::sink_request;
use crate::failure::Failure;
use crate::node::{Context, Emission, NodeResult, Outcome, Step, Stepping};
use format::Format;
use heddle_contract::abi::code;
use heddle_values::{Array, Object, Text, Value};
use reading::Reader;
use writing::Writer;

/// The effect that reads or writes a part of a file.
const PIECE: &str = "file-piece";
/// As much is written at once, in bytes.
const PIECE_BYTES: usize = 1 << 20;
const COUNT_MAX: i64 = 1_000_000_000;

/// Begins with the first piece, or with the elements of a list.
pub fn convert_file(parameters: &Object, context: &mut dyn Context) -> NodeResult {
    let from = given(parameters, "from").map(|_| choice(parameters, "from", Format::NAMES, "csv"));
    let from = from.transpose()?.map(Format::of);
    let to = choice(parameters, "to", &["list", "csv", "jsonLines", "json"], "list")?;
    let delimiter = csv::delimiter(parameters)?;
    let header = boolean(parameters, "header", true)?;
    let columns = array(parameters, "columns")?;
    let columns = columns.map(|names| names.iter().map(Value::to_text).collect::<Vec<Text>>());
    let writer = match to {
        "list" => None,
        name => Some(Writer::new(Format::of(name), (delimiter, header, columns))),
    };
    let name = text(parameters, "name")?;
    let limit = integer(parameters, "limit", 0, COUNT_MAX)?;
    let mut conversion = Conversion {
        source: None,
        reader: None,
        items: Array::default(),
        next: 0,
        record: given(parameters, "record").cloned(),
        condition: given(parameters, "condition").cloned(),
        left: limit.map_or(u64::MAX, |limit| limit as u64),
        seen: 0,
        list: Vec::new(),
        name: name.unwrap_or_else(|| format!("records.{}", ending(writer.as_ref()))),
        writer,
        sink: context.execution_key(),
        handed: 0,
        written: 0,
        doing: Doing::Reading,
    };
    match value_or_input(parameters, context) {
        Value::Array(items) => conversion.items = items,
        Value::Object(file) if is_file(&file) => {
            let name = text(&file, "name")?.unwrap_or_default();
            let (source, media_type) = file_value(FILE, &Value::Object(file))?;
            let format = from.or_else(|| Format::guess(&name, &media_type)).ok_or_else(|| {
                let message = format!(
                    "The file's name (\"{name}\") and type ({media_type}) don't tell how its records are written: set \
                     `from` (csv, jsonLines or json)."
                );
                Failure::new(code::PARAMETER, message)
            })?;
            conversion.reader = Some(Reader::new(format, (delimiter, header)));
            conversion.source = Some((source, 0));
            if given(parameters, "name").is_none() && !name.is_empty() {
                let stem = name.rsplit_once('.').map_or(name.as_str(), |(stem, _)| stem);
                conversion.name = format!("{stem}.{}", ending(conversion.writer.as_ref()));
            }
        }
        other => return Err(mismatch("value", "a file, or a list of records", &other)),
    }
    Box::new(conversion).proceed(context)
}

fn ending(writer: Option<&Writer>) -> &'static str {
    writer.map_or("", |writer| writer.format().ending())
}

struct Conversion {
    /// The file, and where its next piece begins; `None`: everything is read.
    source: Option<(Value, u64)>,
    reader: Option<Reader>,
    /// The list that is read instead of a file, and which of its elements is the next.
    items: Array,
    next: usize,
    record: Option<Value>,
    condition: Option<Value>,
    /// How many records are still to be taken.
    left: u64,
    /// Records read so far.
    seen: usize,
    list: Vec<Value>,
    writer: Option<Writer>,
    name: String,
    /// What the host calls the file that is being written.
    sink: String,
    /// Bytes of the writer's text that were handed to the host.
    handed: usize,
    /// Bytes of the file that are written.
    written: u64,
    doing: Doing,
}

/// What the host was asked for.
#[derive(Clone, Copy)]
enum Doing {
    Reading,
    Writing(usize),
    Finishing,
}

impl Conversion {
    /// A record goes through condition and expression to where it belongs.
    fn take(&mut self, record: Value, context: &mut dyn Context) -> Result<(), Failure> {
        if self.left == 0 {
            return Ok(());
        }
        let index = self.seen;
        self.seen += 1;
        if let Some(condition) = &self.condition
            && !holds(condition, &record, index, context)?
        {
            return Ok(());
        }
        let record = match &self.record {
            Some(selector) => select(selector, &record, index, context)?,
            None => record,
        };
        self.left -= 1;
        match &mut self.writer {
            Some(writer) => writer.write(record, index),
            None => {
                self.list.push(record.into_json());
                Ok(())
            }
        }
    }

    /// The next thing that the host is to do, or the end.
    fn proceed(mut self: Box<Self>, context: &mut dyn Context) -> NodeResult {
        // Before more is written, what was handed on makes room.
        if self.waiting() < PIECE_BYTES
            && let Some(writer) = &mut self.writer
        {
            writer.forget(std::mem::take(&mut self.handed));
        }
        while self.waiting() < PIECE_BYTES
            && let Some(item) = self.items.get(self.next).cloned()
        {
            self.next += 1;
            self.take(item, context)?;
        }
        if self.left == 0 {
            self.source = None;
        }
        let is_read = self.source.is_none() && self.next >= self.items.len();
        let Some(writer) = &mut self.writer else {
            return match self.source.clone() {
                Some((file, offset)) => self.read(file, offset),
                None => {
                    let list = std::mem::take(&mut self.list);
                    Ok(Outcome::Emit(Emission::one(0, list.into())))
                }
            };
        };
        if is_read {
            writer.end();
        }
        let waiting = self.waiting();
        if waiting >= PIECE_BYTES || (is_read && waiting > 0) {
            return self.write();
        }
        match self.source.clone() {
            Some((file, offset)) => self.read(file, offset),
            None => self.finish(),
        }
    }

    /// Bytes of the text that were not handed to the host.
    fn waiting(&self) -> usize {
        let text = self.writer.as_ref().map(Writer::text).unwrap_or_default();
        text.len().saturating_sub(self.handed)
    }

    fn read(mut self: Box<Self>, file: Value, offset: u64) -> NodeResult {
        let request = Object::from_iter([
            ("operation", Value::from("read")),
            (FILE, file),
            ("offset", Value::Number(offset as f64)),
        ]);
        self.doing = Doing::Reading;
        asked(PIECE, request, self)
    }

    fn write(mut self: Box<Self>) -> NodeResult {
        let text = self.writer.as_ref().map(Writer::text).unwrap_or_default();
        let rest = text.get(self.handed..).unwrap_or_default();
        let piece = rest.get(..rest.floor_char_boundary(PIECE_BYTES)).unwrap_or(rest);
        let bytes = piece.len();
        let mut request = self.sink_request("write");
        request.insert("text", Value::from(piece));
        self.doing = Doing::Writing(bytes);
        asked(PIECE, request, self)
    }

    fn finish(mut self: Box<Self>) -> NodeResult {
        let request = self.sink_request("finish");
        self.doing = Doing::Finishing;
        asked(FILE, request, self)
    }

    fn sink_request(&self, operation: &str) -> Object {
        let media_type = self
            .writer
            .as_ref()
            .map_or("", |writer| writer.format().media_type());
        sink_request(operation, &self.sink, self.written, (&self.name, media_type))
    }

    /// Takes the records of a piece that was read.
    fn taken(&mut self, piece: &Value, context: &mut dyn Context) -> Result<(), Failure> {
        let Value::Object(piece) = piece else {
            return Err(Failure::new(
                code::INTERNAL,
                "The piece of the file can't be read.",
            ));
        };
        let text = piece.get("text").map(Value::to_text).unwrap_or_default();
        let next = match piece.get("next") {
            Some(Value::Number(next)) => Some(*next as u64),
            _ => None,
        };
        self.source = self.source.take().and_then(|(file, _)| Some((file, next?)));
        let Some(mut reader) = self.reader.take() else {
            return Ok(());
        };
        let is_last = self.source.is_none();
        reader.feed(&text.to_utf8(), is_last, &mut |record| {
            self.take(record, context)?;
            Ok(self.left > 0)
        })?;
        self.reader = Some(reader);
        Ok(())
    }
}

fn asked(kind: &'static str, request: Object, conversion: Box<Conversion>) -> NodeResult {
    Ok(Outcome::Step {
        kind,
        request: Value::Object(request),
        step: Step(conversion),
    })
}

impl Stepping for Conversion {
    fn resume(mut self: Box<Self>, result: Value, context: &mut dyn Context) -> NodeResult {
        match self.doing {
            Doing::Finishing => return Ok(Outcome::Emit(Emission::one(0, result))),
            Doing::Reading => self.taken(&result, context)?,
            Doing::Writing(bytes) => {
                self.handed += bytes;
                self.written += bytes as u64;
            }
        }
        self.proceed(context)
    }
}
