//! What reading and making archives share.

use crate::failure::Failure;
use crate::node::{NodeResult, Outcome, Step, Stepping};
use heddle_contract::abi::code;
use heddle_values::{Object, Value};

/// The effect that reads or writes a part of a file.
pub(in super::super) const PIECE: &str = "file-piece";
/// As much is read or written at once, in bytes.
pub(in super::super) const PIECE_BYTES: usize = 1 << 20;
/// Entries of an archive.
pub(super) const ENTRIES_MAX: usize = 10_000;

/// Asks for something, and goes on with what comes of it.
pub(in super::super) fn asked(kind: &'static str, request: Object, step: Box<dyn Stepping>) -> NodeResult {
    Ok(Outcome::Step {
        kind,
        request: Value::Object(request),
        step: Step(step),
    })
}

/// The file is no archive, or one that can't be read.
pub(super) fn broken(what: impl std::fmt::Display) -> Failure {
    Failure::new(code::PARSE, format!("This ZIP archive can't be read: {what}."))
}

/// The request that writes a piece of a file, or that makes a file of what is written.
pub(in super::super) fn sink_request(
    operation: &str,
    sink: &str,
    at: u64,
    (name, media_type): (&str, &str),
) -> Object {
    Object::from_iter([
        ("operation", Value::from(operation)),
        ("sink", Value::from(sink)),
        ("at", Value::Number(at as f64)),
        ("name", Value::from(name)),
        ("type", Value::from(media_type)),
    ])
}
