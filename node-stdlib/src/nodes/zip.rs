//! Zip: the files of an archive, and archives of files.
//!
//! Archives are read and written piece by piece: one piece, and the directory, are in memory, never the whole. What an archive says
//! of itself is checked before anything is made of it, and again while it is unpacked. As ConvertFile's, pieces are not kept in the
//! journal; what is kept are the files that came of them.

pub(super) mod archive;
mod checksum;
mod make;
pub(super) mod open;
mod path;
mod read;
pub(super) mod source;
pub(super) mod unpack;

use super::file::file_value;
use super::parameters::{array, choice, given, integer, text};
use super::text::value_or_input;
use crate::failure::Failure;
use crate::node::{Context, NodeResult, Outcome, Step, Stepping};
use heddle_contract::abi::code;
use heddle_values::{Object, Text, Value};

/// The effect that reads or writes a part of a file.
pub(super) const PIECE: &str = "file-piece";
/// As much is read or written at once, in bytes.
const PIECE_BYTES: usize = 1 << 20;
/// Entries of an archive.
const ENTRIES_MAX: usize = 10_000;
/// Bytes of all files of an archive, unless `maxBytes` says otherwise, and the most that it can say.
const BYTES: i64 = 1 << 30;
const BYTES_MAX: i64 = 1 << 40;

/// Asks for the first piece, or begins to write.
pub fn zip(parameters: &Object, context: &mut dyn Context) -> NodeResult {
    let operation = choice(parameters, "operation", &["extract", "list", "make"], "extract")?;
    if operation == "make" {
        let name = text(parameters, "name")?;
        let files = match given(parameters, "files") {
            Some(files) => files.clone(),
            None => context.input(),
        };
        return make::begin(&files, name.unwrap_or_else(|| "archive.zip".into()), context);
    }
    let value = value_or_input(parameters, context);
    let (file, _) = file_value("value", &value)?;
    let only = array(parameters, "only")?;
    let wanted = read::Wanted {
        only_lists: operation == "list",
        paths: only.map(|paths| paths.iter().map(Value::to_text).collect::<Vec<Text>>()),
        bytes_max: integer(parameters, "maxBytes", 1, BYTES_MAX)?.unwrap_or(BYTES) as u64,
    };
    read::begin(file, wanted, context)
}

/// Asks for something, and goes on with what comes of it.
pub(super) fn asked(kind: &'static str, request: Object, step: Box<dyn Stepping>) -> NodeResult {
    Ok(Outcome::Step {
        kind,
        request: Value::Object(request),
        step: Step(step),
    })
}

/// The file is no archive, or one that can't be read.
fn broken(what: impl std::fmt::Display) -> Failure {
    Failure::new(
        code::PARSE,
        format!("This is no ZIP archive that can be read: {what}."),
    )
}

/// The request that writes a piece of a file, or that makes a file of what is written.
fn sink_request(operation: &str, sink: &str, at: u64, (name, media_type): (&str, &str)) -> Object {
    Object::from_iter([
        ("operation", Value::from(operation)),
        ("sink", Value::from(sink)),
        ("at", Value::Number(at as f64)),
        ("name", Value::from(name)),
        ("type", Value::from(media_type)),
    ])
}
