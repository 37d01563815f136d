//! ConvertFile: the records of a file, piece by piece, to another file or to a list. Workbooks are `xlsx`'s.
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
use super::file::{FILE, encoding, file_value};
use super::file_value::is_file;
use super::parameters::{array, boolean, choice, given, holds, integer, mismatch, select, text};
use super::text::value_or_input;
use super::xlsx::read::{Progress, SheetReader};
use super::xlsx::stream::RowWriter;
use super::zip::shared::{PIECE, asked, sink_request};
use crate::failure::Failure;
use crate::node::{Context, Emission, NodeResult, Outcome, Stepping};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use format::Kind;
use heddle_contract::abi::code;
use heddle_values::{Array, Object, Text, Value};
use reading::Reader;
use writing::{Output, Piece, Writer};

const COUNT_MAX: i64 = 1_000_000_000;

/// Begins with the first piece, or with the elements of a list.
pub fn convert_file(parameters: &Object, context: &mut dyn Context) -> NodeResult {
    let from = given(parameters, "from").map(|_| choice(parameters, "from", Kind::NAMES, "csv"));
    let from = from.transpose()?.map(Kind::of);
    let to = ["list", "csv", "jsonLines", "json", "xlsx"];
    let to = choice(parameters, "to", &to, "list")?;
    let delimiter = csv::delimiter(parameters)?;
    let header = boolean(parameters, "header", true)?;
    let columns = array(parameters, "columns")?;
    let columns = columns.map(|names| names.iter().map(Value::to_text).collect::<Vec<Text>>());
    let value = value_or_input(parameters, context);
    let source = Source::of(&value, from)?;
    let output = match (to, Kind::of(to)) {
        ("list", _) => None,
        (_, Kind::Text(format)) => Some(Output::Text(Writer::new(format, (delimiter, header, columns)))),
        (_, Kind::Workbook) => {
            // The parameter says which sheet is read, if one is.
            let sheet = match source.kind() {
                Some(Kind::Workbook) => None,
                _ => text(parameters, "sheet")?,
            };
            let sheet = sheet.as_deref().unwrap_or("Sheet1");
            let rows = RowWriter::new(sheet, (header, columns), context.now_ms())?;
            Some(Output::Workbook(Box::new(rows)))
        }
    };
    let name = text(parameters, "name")?;
    let limit = integer(parameters, "limit", 0, COUNT_MAX)?;
    let ending = output.as_ref().map_or("", Output::ending);
    let mut conversion = Conversion {
        source: None,
        encoding: encoding(parameters)?,
        reader: None,
        sheet: None,
        items: Array::default(),
        next: 0,
        record: given(parameters, "record").cloned(),
        condition: given(parameters, "condition").cloned(),
        left: limit.map_or(u64::MAX, |limit| limit as u64),
        seen: 0,
        list: Vec::new(),
        name: name.unwrap_or_else(|| match source.stem() {
            Some(stem) => format!("{stem}.{ending}"),
            None => format!("records.{ending}"),
        }),
        output,
        sink: context.execution_key(),
        written: 0,
        doing: Doing::Reading,
    };
    match source {
        Source::List(items) => conversion.items = items,
        Source::File { file, kind, .. } => match kind {
            Kind::Text(format) => {
                conversion.reader = Some(Reader::new(format, (delimiter, header)));
                conversion.source = Some((file, 0));
            }
            Kind::Workbook => {
                conversion.sheet = Some(Box::new(SheetReader::of_rows(file, parameters, header)?));
            }
        },
    }
    Box::new(conversion).proceed(context)
}

/// What is converted.
enum Source {
    List(Array),
    File { file: Value, kind: Kind, name: String },
}

impl Source {
    fn of(value: &Value, from: Option<Kind>) -> Result<Self, Failure> {
        let fields = match value {
            Value::Array(items) => return Ok(Source::List(items.clone())),
            Value::Object(fields) if is_file(fields) => fields,
            other => return Err(mismatch("value", "a file, or a list of records", other)),
        };
        let name = text(fields, "name")?.unwrap_or_default();
        let (file, media_type) = file_value(FILE, value)?;
        let kind = from.or_else(|| Kind::guess(&name, &media_type)).ok_or_else(|| {
            let message = format!(
                "The file's name (\"{name}\") and type ({media_type}) don't tell how its records are written: set \
                 `from` (csv, jsonLines, json or xlsx)."
            );
            Failure::new(code::PARAMETER, message)
        })?;
        Ok(Source::File { file, kind, name })
    }

    fn kind(&self) -> Option<Kind> {
        match self {
            Source::List(_) => None,
            Source::File { kind, .. } => Some(*kind),
        }
    }

    /// The file's name without its ending.
    fn stem(&self) -> Option<&str> {
        match self {
            Source::File { name, .. } if !name.is_empty() => {
                Some(name.rsplit_once('.').map_or(name.as_str(), |(stem, _)| stem))
            }
            _ => None,
        }
    }
}

struct Conversion {
    /// The file, and where its next piece begins; `None`: everything is read.
    source: Option<(Value, u64)>,
    /// Of the file: as the node asks for it, and after the first piece as the host has found it.
    encoding: Value,
    reader: Option<Reader>,
    /// The workbook that is read, if it is one.
    sheet: Option<Box<SheetReader>>,
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
    output: Option<Output>,
    name: String,
    /// What the host calls the file that is being written.
    sink: String,
    /// Bytes of the file that are written.
    written: u64,
    doing: Doing,
}

/// What the host was asked for.
#[derive(Clone, Copy)]
enum Doing {
    Reading,
    Unpacking,
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
        match &mut self.output {
            Some(output) => output.write(record, index),
            None => {
                self.list.push(record.into_json());
                Ok(())
            }
        }
    }

    /// The next thing that the host is to do, or the end.
    fn proceed(mut self: Box<Self>, context: &mut dyn Context) -> NodeResult {
        loop {
            if let Some(output) = &mut self.output {
                output.make_room();
            }
            while self.has_room()
                && let Some(item) = self.items.get(self.next).cloned()
            {
                self.next += 1;
                self.take(item, context)?;
            }
            if self.left == 0 {
                (self.source, self.sheet) = (None, None);
            }
            let is_read = self.source.is_none() && self.sheet.is_none() && self.next >= self.items.len();
            if let Some(output) = &mut self.output {
                if is_read {
                    output.end()?;
                }
                if !self.has_room() {
                    return self.write();
                }
            }
            if is_read {
                return match self.output {
                    Some(_) => self.finish(),
                    None => Ok(Outcome::Emit(Emission::one(0, self.list.into()))),
                };
            }
            if let Some((file, offset)) = self.source.clone() {
                return self.read(file, offset);
            }
            if let Some(request) = self.unpack(context)? {
                self.doing = Doing::Unpacking;
                return asked(PIECE, request, self);
            }
        }
    }

    /// Whether no piece of what is written waits to be handed on.
    fn has_room(&self) -> bool {
        self.output.as_ref().and_then(Output::piece).is_none()
    }

    /// Takes the next rows of a workbook; what is to be asked of the host, if they are not there.
    fn unpack(&mut self, context: &mut dyn Context) -> Result<Option<Object>, Failure> {
        let Some(sheet) = &mut self.sheet else {
            return Ok(None);
        };
        match sheet.proceed()? {
            Progress::Read(request) => return Ok(Some(request)),
            Progress::Rows(rows) => {
                for row in rows {
                    self.take(row, context)?;
                }
            }
            Progress::End => self.sheet = None,
        }
        Ok(None)
    }

    fn read(mut self: Box<Self>, file: Value, offset: u64) -> NodeResult {
        let request = Object::from_iter([
            ("operation", Value::from("read")),
            (FILE, file),
            ("offset", Value::Number(offset as f64)),
            ("encoding", self.encoding.clone()),
        ]);
        self.doing = Doing::Reading;
        asked(PIECE, request, self)
    }

    fn write(mut self: Box<Self>) -> NodeResult {
        let (field, content, bytes) = match self.output.as_ref().and_then(Output::piece) {
            Some(Piece::Text(text)) => ("text", Value::from(text), text.len()),
            Some(Piece::Bytes(bytes)) => ("base64", Value::from(STANDARD.encode(bytes)), bytes.len()),
            None => return self.finish(),
        };
        let mut request = self.sink_request("write");
        request.insert(field, content);
        self.doing = Doing::Writing(bytes);
        asked(PIECE, request, self)
    }

    fn finish(mut self: Box<Self>) -> NodeResult {
        let request = self.sink_request("finish");
        self.doing = Doing::Finishing;
        asked(FILE, request, self)
    }

    fn sink_request(&self, operation: &str) -> Object {
        let media_type = self.output.as_ref().map_or("", Output::media_type);
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
        if let Some(found) = piece.get("encoding") {
            self.encoding = found.clone();
        }
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

impl Stepping for Conversion {
    fn resume(mut self: Box<Self>, result: Value, context: &mut dyn Context) -> NodeResult {
        match self.doing {
            Doing::Finishing => return Ok(Outcome::Emit(Emission::one(0, result))),
            Doing::Reading => self.taken(&result, context)?,
            Doing::Unpacking => {
                if let Some(sheet) = &mut self.sheet {
                    sheet.fill(&result)?;
                }
            }
            Doing::Writing(bytes) => {
                self.written += bytes as u64;
                if let Some(output) = &mut self.output {
                    output.handed(bytes)?;
                }
            }
        }
        self.proceed(context)
    }
}
