//! How records are written in files, and what readers of all formats have in common.

use super::super::xlsx::stream::MEDIA_TYPE;
use crate::failure::Failure;
use heddle_values::Value;

/// Larger records are refused, in bytes: one has to be in memory whole.
pub(super) const RECORD_BYTES_MAX: usize = 4 << 20;

/// The type of workbooks with macros, which are not looked at.
const MACROS_TYPE: &str = "application/vnd.ms-excel.sheet.macroenabled.12";

/// Takes a record; `false`: no more are wanted.
pub(super) type Take<'a> = &'a mut dyn FnMut(Value) -> Result<bool, Failure>;

/// How records are written in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Csv,
    JsonLines,
    Json,
}

/// What a file of records is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Text(Format),
    Workbook,
}

impl Kind {
    pub const NAMES: &[&str] = &["csv", "jsonLines", "json", "xlsx"];

    pub fn of(name: &str) -> Self {
        match name {
            "csv" => Kind::Text(Format::Csv),
            "json" => Kind::Text(Format::Json),
            "xlsx" => Kind::Workbook,
            _ => Kind::Text(Format::JsonLines),
        }
    }

    /// As a file's name or type tell.
    pub fn guess(name: &str, media_type: &str) -> Option<Self> {
        let ending = name
            .rsplit_once('.')
            .map(|(_, ending)| ending.to_ascii_lowercase());
        let media_type = media_type.split(';').next().unwrap_or_default().trim();
        match (ending.as_deref(), media_type) {
            (Some("csv" | "tsv"), _) => Some(Kind::Text(Format::Csv)),
            (Some("jsonl" | "ndjson"), _) => Some(Kind::Text(Format::JsonLines)),
            (Some("json"), _) => Some(Kind::Text(Format::Json)),
            (Some("xlsx" | "xlsm"), _) | (_, MEDIA_TYPE | MACROS_TYPE) => Some(Kind::Workbook),
            (_, "text/csv") => Some(Kind::Text(Format::Csv)),
            (_, "application/x-ndjson" | "application/jsonl") => Some(Kind::Text(Format::JsonLines)),
            (_, "application/json") => Some(Kind::Text(Format::Json)),
            _ => None,
        }
    }
}

impl Format {
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
