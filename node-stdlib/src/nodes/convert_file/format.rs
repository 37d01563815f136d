//! How records are written in files, and what readers of all formats have in common.

use crate::failure::Failure;
use heddle_values::Value;

/// Larger records are refused, in bytes: one has to be in memory whole.
pub(super) const RECORD_BYTES_MAX: usize = 4 << 20;

/// Takes a record; `false`: no more are wanted.
pub(super) type Take<'a> = &'a mut dyn FnMut(Value) -> Result<bool, Failure>;

/// How records are written in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Csv,
    JsonLines,
    Json,
}

impl Format {
    pub const NAMES: &[&str] = &["csv", "jsonLines", "json"];

    pub fn of(name: &str) -> Self {
        match name {
            "csv" => Format::Csv,
            "json" => Format::Json,
            _ => Format::JsonLines,
        }
    }

    /// As a file's name or type tell.
    pub fn guess(name: &str, media_type: &str) -> Option<Self> {
        let ending = name
            .rsplit_once('.')
            .map(|(_, ending)| ending.to_ascii_lowercase());
        let media_type = media_type.split(';').next().unwrap_or_default().trim();
        match (ending.as_deref(), media_type) {
            (Some("csv" | "tsv"), _) => Some(Format::Csv),
            (Some("jsonl" | "ndjson"), _) => Some(Format::JsonLines),
            (Some("json"), _) => Some(Format::Json),
            (_, "text/csv") => Some(Format::Csv),
            (_, "application/x-ndjson" | "application/jsonl") => Some(Format::JsonLines),
            (_, "application/json") => Some(Format::Json),
            _ => None,
        }
    }

    pub fn ending(self) -> &'static str {
        match self {
            Format::Csv => "csv",
            Format::JsonLines => "jsonl",
            Format::Json => "json",
        }
    }

    pub fn media_type(self) -> &'static str {
        match self {
            Format::Csv => "text/csv; charset=utf-8",
            Format::JsonLines => "application/x-ndjson",
            Format::Json => "application/json",
        }
    }
}
