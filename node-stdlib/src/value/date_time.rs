//! Luxon's `DateTime` and `Duration`, and JavaScript's `Date`, as values.
//!
//! Source: Luxon 3.7's documentation and behaviour (`moment.github.io/luxon`), ECMAScript 2025 section 21.4, and for
//! texts for people the Unicode CLDR's English. Times are milliseconds since 1970, as numbers. Knows nothing of the
//! run: what now is and which zone is local comes with each call as a [`Clock`].

mod calls;
mod civil;
mod construct;
mod date;
mod difference;
mod duration;
mod getters;
mod locale;
mod names;
mod options;
mod read;
mod read_date;
mod read_duration;
mod read_tokens;
mod scan;
mod tokens;
mod unit;
mod write;
mod zone;
mod zoned;

pub use calls::{call_method, has_method};
pub use construct::call_static;
pub use date::Date;
pub use duration::Duration;
pub use locale::preset;
pub(crate) use names::{MONTHS, WEEKDAYS};
pub use zone::Zone;
pub use zoned::{DateTime, Zoned};

use super::ops::{self, TypeError};
use super::{Text, Value, number_to_text};
use std::cmp::Ordering;
use std::rc::Rc;

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

/// What now is, and where.
#[derive(Clone, Debug)]
pub struct Clock {
    /// Milliseconds since 1970.
    pub now_ms: f64,
    /// The zone of date-times that name none.
    pub zone: Zone,
}

/// Why a date-time or duration is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invalid {
    /// Luxon's short reason.
    pub reason: String,
    /// What is wrong in detail.
    pub explanation: String,
}

impl Clock {
    /// UTC at a time.
    pub fn utc(now_ms: f64) -> Self {
        let zone = Zone::UTC;
        Clock { now_ms, zone }
    }

    /// `$now`
    pub fn now(&self) -> Value {
        Zoned::new(self.now_ms, self.zone.clone()).into()
    }

    /// `$today`: the day's beginning.
    pub fn today(&self) -> Value {
        let now = Zoned::new(self.now_ms, self.zone.clone());
        now.and_then(|now| now.start_of(unit::Unit::Days)).into()
    }
}

impl Invalid {
    fn new(reason: &str, explanation: String) -> Self {
        let reason = reason.to_owned();
        Invalid { reason, explanation }
    }

    fn input() -> Self {
        Invalid::new("invalid input", String::new())
    }

    fn out_of_range(unit: &str, value: f64) -> Self {
        let value = number_to_text(value);
        let explanation = format!("you specified {value} (of type number) as a {unit}, which is invalid");
        Invalid::new("unit out of range", explanation)
    }

    fn unparsable(text: &str, form: &str) -> Self {
        Invalid::new(
            "unparsable",
            format!("the input \"{text}\" can't be parsed as {form}"),
        )
    }

    fn zone(name: &str) -> Self {
        Invalid::new(
            "unsupported zone",
            format!("the zone \"{name}\" is not supported"),
        )
    }
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
    pub(super) fn deep_equal(&self, other: &Temporal) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other) && self.to_json() == other.to_json()
    }

    /// By time, invalid ones last.
    pub(super) fn compare(&self, other: &Temporal) -> Ordering {
        let (a, b) = (self.value_of(), other.value_of());
        a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
    }

    /// `value.name`: a getter; `None` when there is nothing of that name.
    pub fn get(&self, name: &str) -> Option<Value> {
        match self {
            Temporal::DateTime(date_time) => getters::of_date_time(date_time, name),
            Temporal::Duration(duration) => getters::of_duration(duration, name),
            Temporal::Date(_) => None,
        }
    }
}

impl From<Temporal> for Value {
    fn from(temporal: Temporal) -> Self {
        Value::Temporal(Rc::new(temporal))
    }
}

impl From<DateTime> for Value {
    fn from(date_time: DateTime) -> Self {
        Temporal::DateTime(date_time).into()
    }
}

impl From<Duration> for Value {
    fn from(duration: Duration) -> Self {
        Temporal::Duration(duration).into()
    }
}

/// The amount of a unit that a value gives.
fn amount(value: &Value) -> Result<f64, TypeError> {
    let number = match value {
        Value::Bool(_) => f64::NAN,
        Value::String(text) if text.is_empty() => f64::NAN,
        _ => ops::to_number(value)?,
    };
    match number.is_finite() {
        true => Ok(number),
        false => Err(TypeError(format!(
            "Invalid unit value: expected a number, not {}",
            value.shape()
        ))),
    }
}

/// The number with at least so many digits.
fn padded(number: f64, digits: usize) -> String {
    let text = number_to_text(number.abs());
    let sign = if number < 0.0 { "-" } else { "" };
    format!("{sign}{text:0>digits$}")
}

/// JavaScript's `Math.round`.
fn js_round(number: f64) -> f64 {
    if number.fract() == 0.0 {
        return number;
    }
    let floor = number.floor();
    if number - floor >= 0.5 { floor + 1.0 } else { floor }
}

fn text_of(text: Option<String>) -> Value {
    text.map_or(Value::Null, Value::from)
}

/// A text argument, of which every value has one.
fn argument_text(value: &Value) -> Result<Text, TypeError> {
    ops::to_string(value)
}
