//! Zip: the files of an archive, and archives of files.
//!
//! Archives are read and written piece by piece: one piece, and the directory, are in memory, never the whole. What an archive says
//! of itself is checked before anything is made of it, and again while it is unpacked. As ConvertFile's, pieces are not kept in the
//! journal; what is kept are the files that came of them.

pub(super) mod archive;
mod checksum;
pub(super) mod delivery;
mod make;
pub(super) mod open;
pub(super) mod pack;
mod path;
mod read;
pub(super) mod shared;
pub(super) mod source;
pub(super) mod unpack;

use super::file::file_value;
use super::parameters::{array, choice, given, integer, text};
use super::text::value_or_input;
use crate::node::{Context, NodeResult};
use heddle_values::{Object, Text, Value};

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
