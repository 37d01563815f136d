//! Files and standard input: read with a size limit, decoded, and as JSON with errors that point at the place.

use super::failure::{Exit, Failure};
use super::report::{Place, Report};
use serde::de::DeserializeOwned;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Largest pattern, with its node definitions, in bytes: components are in it as base64.
pub const PATTERN_BYTES_MAX: u64 = 48 << 20;
/// Largest module in bytes, its components included.
pub const MODULE_BYTES_MAX: u64 = 48 << 20;
/// Largest component in a file of its own, in bytes.
pub const COMPONENT_BYTES_MAX: u64 = 16 << 20;
/// Largest event, pins, variables or secrets file in bytes.
pub const DATA_BYTES_MAX: u64 = 8 << 20;

/// Text that was read, and the name under which messages speak of it.
#[derive(Clone, Debug)]
pub struct Source {
    /// Path as given, or `<stdin>`.
    pub name: String,
    /// The decoded text.
    pub text: String,
}

/// Reads a file, or standard input for `-`; `what` names it in messages ("the pattern").
pub fn read_bytes(path: &Path, what: &str, bytes_max: u64) -> Result<(String, Vec<u8>), Failure> {
    let name = if is_stdin(path) {
        "<stdin>".to_owned()
    } else {
        path.display().to_string()
    };
    let cannot = |error: std::io::Error| {
        let reason = match error.kind() {
            std::io::ErrorKind::NotFound if name.trim_start().starts_with(['{', '[']) => {
                "this takes the name of a file, or - for standard input".to_owned()
            }
            std::io::ErrorKind::NotFound => "there is no such file".to_owned(),
            std::io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
            std::io::ErrorKind::IsADirectory => "it is a directory".to_owned(),
            _ => error.to_string(),
        };
        Failure::new(Exit::File, "FILE", format!("cannot read {what} {name}: {reason}"))
    };
    let mut bytes = Vec::new();
    // One byte more than allowed tells a file that is too large from one that just fits.
    if is_stdin(path) {
        std::io::stdin()
            .lock()
            .take(bytes_max + 1)
            .read_to_end(&mut bytes)
            .map_err(cannot)?;
    } else {
        File::open(path)
            .and_then(|file| file.take(bytes_max + 1).read_to_end(&mut bytes))
            .map_err(cannot)?;
    }
    if bytes.len() as u64 > bytes_max {
        let limit = bytesize::ByteSize(bytes_max).display().iec();
        let message = format!("{what} {name} is larger than {limit}");
        return Err(Failure::new(Exit::Invalid, "TOO_LARGE", message));
    }
    Ok((name, bytes))
}

/// Reads a text file, or standard input for `-`.
pub fn read_text(path: &Path, what: &str, bytes_max: u64) -> Result<Source, Failure> {
    let (name, bytes) = read_bytes(path, what, bytes_max)?;
    decode(name, bytes, what)
}

/// The bytes as text, without a byte-order mark.
pub fn decode(name: String, bytes: Vec<u8>, what: &str) -> Result<Source, Failure> {
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Source {
            name,
            text: text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text),
        }),
        Err(error) => {
            let at = error.utf8_error().valid_up_to();
            let message = format!(
                "{what} {name} is not UTF-8 text: the byte at offset {at} is not part of a valid character"
            );
            Err(Failure::new(Exit::Invalid, "INVALID_JSON", message))
        }
    }
}

/// Reads a JSON file.
pub fn read_json<T: DeserializeOwned>(path: &Path, what: &str, bytes_max: u64) -> Result<T, Failure> {
    parse_json(&read_text(path, what, bytes_max)?, what)
}

/// Parses JSON; a syntax error shows the line and the place in it.
pub fn parse_json<T: DeserializeOwned>(source: &Source, what: &str) -> Result<T, Failure> {
    if source.text.trim().is_empty() {
        let message = format!("{what} {} is empty: it should be JSON", source.name);
        return Err(Failure::new(Exit::Invalid, "INVALID_JSON", message));
    }
    serde_json::from_str(&source.text).map_err(|error| json_failure(source, what, &error))
}

fn json_failure(source: &Source, what: &str, error: &serde_json::Error) -> Failure {
    let text = error.to_string();
    let reason = plain_words(
        text.rsplit_once(" at line ")
            .map_or(text.as_str(), |(reason, _)| reason),
    );
    let message = if error.is_data() {
        format!("{what} has the wrong shape: {reason}")
    } else {
        format!("{what} is not valid JSON: {reason}")
    };
    let mut report = Report::error(&message).in_file(&source.name);
    if let Some(line) = error
        .line()
        .checked_sub(1)
        .and_then(|index| source.text.lines().nth(index))
    {
        // serde_json counts bytes, and names the last byte that it read.
        let read = if error.is_eof() {
            error.column()
        } else {
            error.column().saturating_sub(1)
        };
        let start = floor_char_boundary(line, read);
        let end = line[start..]
            .chars()
            .next()
            .map_or(start, |c| start + c.len_utf8());
        let column = line[..start].chars().count() + 1;
        report = report
            .at(Place {
                line: error.line(),
                column,
            })
            .with_line(line, start..end);
    }
    Failure::with_report(
        Exit::Invalid,
        "INVALID_JSON",
        format!("{}: {message}", source.name),
        report.to_string(),
    )
}

/// serde's reasons in the words of JSON.
fn plain_words(reason: &str) -> String {
    reason
        .replace("a map", "an object")
        .replace("a sequence", "an array")
        .replace(": map,", ": an object,")
        .replace(": sequence,", ": an array,")
        .replace("expected ident", "expected `true`, `false` or `null`")
        .replace("EOF while parsing", "the text ends within")
}

fn floor_char_boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// Whether the path stands for standard input.
pub fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}
