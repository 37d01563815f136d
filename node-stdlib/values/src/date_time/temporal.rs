//! A time of any kind: what all of them have.

use super::date::Date;
use super::duration::Duration;
use super::invalid::Invalid;
use super::zone::Zone;
use super::zoned::{DateTime, Zoned};
use std::cmp::Ordering;

/// A time of one kind or another.
#[derive(Clone, Debug)]
pub enum Temporal {
    /// Luxon's `DateTime`.
    DateTime(DateTime),
    /// Luxon's `Duration`.
    Duration(Duration),
    /// JavaScript's `Date`.
    Date(Date),
}

impl Temporal {
    /// What the value is as JSON: a text, or null when it is invalid.
    pub fn to_json(&self) -> Option<String> {
        match self {
            Temporal::DateTime(date_time) => date_time.as_ref().ok().map(Zoned::to_iso),
            Temporal::Duration(duration) => duration.to_iso(),
            Temporal::Date(date) => date.to_iso(),
        }
    }

    /// The value among other text: its JSON without quotes, `Invalid DateTime` and the like when it is invalid.
    pub fn to_text(&self) -> String {
        self.to_json().unwrap_or_else(|| {
            let invalid = match self {
                Temporal::DateTime(_) => "Invalid DateTime",
                Temporal::Duration(_) => "Invalid Duration",
                Temporal::Date(_) => "Invalid Date",
            };
            invalid.into()
        })
    }

    /// JavaScript's ToString.
    pub fn to_js_string(&self) -> String {
        match self {
            Temporal::DateTime(_) => self.to_text(),
            Temporal::Duration(duration) => duration.to_iso().unwrap_or_else(|| "null".into()),
            Temporal::Date(date) => date.to_text(),
        }
    }

    /// The text by which a time is handed to the JavaScript engine: as [`Temporal::to_js_string`], with the zone of a date-time
    /// behind it in brackets unless that is UTC.
    pub fn to_handed_over(&self) -> String {
        match self {
            Temporal::DateTime(Ok(valid)) if !matches!(valid.zone, Zone::Fixed(0.0)) => {
                format!("{}[{}]", valid.to_iso(), valid.zone.name())
            }
            _ => self.to_js_string(),
        }
    }

    /// The time that was handed over by its milliseconds and that text.
    pub fn handed_over(is_duration: bool, ms: f64, text: &str) -> Self {
        if is_duration {
            return Temporal::Duration(Duration::from_iso(text));
        }
        if ms.is_nan() {
            return Temporal::DateTime(Err(Invalid::input()));
        }
        let name = text.strip_suffix(']').and_then(|text| text.rsplit_once('['));
        let zone = name.and_then(|(_, name)| Zone::from_name(name));
        Temporal::DateTime(Zoned::new(ms, zone.unwrap_or(Zone::UTC)))
    }

    /// `valueOf()`: milliseconds, NaN when it is invalid.
    pub fn value_of(&self) -> f64 {
        match self {
            Temporal::DateTime(date_time) => date_time.as_ref().map_or(f64::NAN, |valid| valid.ms),
            Temporal::Duration(duration) => duration.to_ms(),
            Temporal::Date(date) => date.ms(),
        }
    }

    /// `a date-time`, for messages.
    pub fn shape(&self) -> String {
        let kind = match self {
            Temporal::DateTime(_) => "date-time",
            Temporal::Duration(_) => "duration",
            Temporal::Date(_) => "Date",
        };
        match self.to_json() {
            Some(text) => format!("the {kind} {text}"),
            None => format!("an invalid {kind}"),
        }
    }

    /// Whether both are of one kind and say the same.
    pub(crate) fn deep_equal(&self, other: &Temporal) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other) && self.to_json() == other.to_json()
    }

    /// By time, invalid ones last.
    pub(crate) fn compare(&self, other: &Temporal) -> Ordering {
        let (a, b) = (self.value_of(), other.value_of());
        a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
    }
}
