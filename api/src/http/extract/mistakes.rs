//! What is said of a field that serde refuses: by its path, in the words of JSON rather than of Rust, and without its value, which
//! may be a secret in the wrong place.

use crate::http::error::ApiError;
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::collections::BTreeMap;

/// Fields of a body that are not known, where others than ours may be sent as well.
#[derive(Debug, Default, Deserialize)]
#[serde(transparent)]
pub struct Others(BTreeMap<String, IgnoredAny>);

impl Others {
    /// Refuses those that are almost called like a known one.
    pub fn are_no_mistakes(&self, known: &[&str]) -> Result<(), ApiError> {
        let mistaken = self
            .0
            .keys()
            .find_map(|name| Some((name, meant_by(name, known.iter().copied())?)));
        match mistaken {
            Some((name, meant)) => Err(ApiError::field(name, unknown(Some(meant)))),
            None => Ok(()),
        }
    }
}

/// A field by which people mean another one. It is never kept, however large it is.
pub type Misnamed = Option<IgnoredAny>;

/// Refuses such fields if they are there: each with its name and the one that is meant.
pub fn refuse_misnamed(fields: &[(&str, &Misnamed, &str)]) -> Result<(), ApiError> {
    match fields.iter().find(|(_, given, _)| given.is_some()) {
        Some((name, _, meant)) => Err(ApiError::field(*name, unknown(Some(meant)))),
        None => Ok(()),
    }
}

/// Longer names are not taken for mistyped ones.
const MISTYPED_BYTES_MAX: usize = 64;
/// Shorter ones are part of too many others.
const PART_BYTES_MIN: usize = 4;

/// What is said of a field that is not known.
fn unknown(meant: Option<&str>) -> String {
    match meant {
        Some(meant) => format!("is not known: did you mean `{meant}`?"),
        None => "is not known".to_owned(),
    }
}

/// The known name that somebody meant who has written this one, if there is one that is almost the same, or that it is the
/// beginning or the end of.
fn meant_by<'a>(name: &str, known: impl Iterator<Item = &'a str> + Clone) -> Option<&'a str> {
    if name.len() > MISTYPED_BYTES_MAX {
        return None;
    }
    let name = name.to_lowercase();
    let distance = |known: &str| strsim::damerau_levenshtein(&name, &known.to_lowercase());
    let nearest = known
        .clone()
        .map(|known| (distance(known), known))
        .min_by_key(|(distance, _)| *distance);
    let nearest = nearest
        .filter(|(distance, known)| *distance <= if known.len() <= 5 { 1 } else { 2 })
        .map(|(_, known)| known);
    let is_part = |known: &str| {
        let known = known.to_lowercase();
        name.len() >= PART_BYTES_MIN && (known.starts_with(&name) || known.ends_with(&name))
    };
    nearest.or_else(|| known.clone().find(|known| is_part(known)))
}

/// The answer to a body that is no JSON, or has a wrong field at this path.
pub(super) fn of_json(path: &str, error: &serde_json::Error) -> ApiError {
    if error.is_syntax() || error.is_eof() {
        return ApiError::field("", format!("the body is not valid JSON: {error}"));
    }
    let text = error.to_string();
    let message = text
        .rsplit_once(" at line ")
        .map_or(text.as_str(), |(message, _)| message);
    let parent = if path == "." { "" } else { path };
    // serde names a missing or unknown field in the message, with the path of the object around it, and those that are known.
    let known = || message.split('`').skip(3).step_by(2);
    let named = |opening: &str| message.strip_prefix(opening)?.split('`').next();
    let within = |name: &str| match parent {
        "" => name.to_owned(),
        _ if parent.ends_with(name) => parent.to_owned(),
        _ => format!("{parent}.{name}"),
    };
    if let Some(name) = named("missing field `") {
        return ApiError::field(within(name), "is missing");
    }
    if let Some(name) = named("unknown field `") {
        return ApiError::field(within(name), unknown(meant_by(name, known())));
    }
    ApiError::field(parent, in_words(message))
}

/// What is said of a value that its field does not take.
pub(super) fn in_words(message: &str) -> String {
    let message = match message {
        "invalid digit found in string" | "cannot parse integer from empty string" => "expected i64",
        "number too large to fit in target type" => return "is too large".to_owned(),
        "number too small to fit in target type" => return "is too small".to_owned(),
        "provided string was not `true` or `false`" => "expected a boolean",
        other => other,
    };
    if let Some(expected) = message.strip_prefix("expected ") {
        return format!("must be {}", expectation(expected));
    }
    let Some((found, expected)) = message.rsplit_once(", expected ") else {
        return format!("is wrong: {message}");
    };
    if found.starts_with("unknown variant `") {
        return format!("must be {expected}");
    }
    let Some(found) = found
        .strip_prefix("invalid type: ")
        .or_else(|| found.strip_prefix("invalid value: "))
    else {
        return format!("is wrong: {message}");
    };
    // What follows is the value.
    let kind = json_kind(found.split(['"', '`']).next().unwrap_or_default().trim());
    let expected = expectation(expected);
    match kind == "a number" && expected.contains("number") {
        true => format!("must be {expected}"),
        false => format!("must be {expected}, not {kind}"),
    }
}

/// What serde expects, in the words of JSON.
fn expectation(expected: &str) -> &str {
    match expected {
        "a map" => "an object",
        "a sequence" => "an array",
        "a boolean" => "true or false",
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number of 0 or more",
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "f32" | "f64" => "a number",
        other if other.starts_with("struct ") => "an object",
        other => other,
    }
}

/// What JSON calls what serde has found.
fn json_kind(found: &str) -> &str {
    match found {
        "map" => "an object",
        "sequence" => "an array",
        "string" => "a string",
        "integer" | "floating point" | "number" => "a number",
        "boolean" => "a boolean",
        other => other,
    }
}
