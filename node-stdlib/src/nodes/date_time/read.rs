//! Date-times out of numbers, ISO 8601, RFC 2822 and HTTP dates, and text after Luxon's tokens.

use super::tokens;
use crate::failure::Failure;
use crate::nodes::parameters;
use heddle_contract::abi::code;
use heddle_values::Value;
use jiff::fmt::temporal::DateTimeParser;
use jiff::tz::{Offset, TimeZone};
use jiff::{Timestamp, Zoned, civil};

/// A date-time in any of the forms that need no format; without an offset it is in `zone`.
pub(super) fn instant(value: &Value, zone: &TimeZone) -> Result<Zoned, Failure> {
    match value {
        Value::Number(ms) => from_ms(*ms, zone),
        Value::String(text) => {
            let text = text.to_utf8();
            let text = text.trim();
            iso(text, zone).or_else(|| rfc2822(text, zone)).ok_or_else(|| {
                let takes = "ISO 8601 (`2026-03-29T12:00:00+02:00`), an RFC 2822 or HTTP date, or milliseconds since \
                             1970; give other forms to the operation `parse` with a `format`";
                unreadable(text, takes)
            })
        }
        other => Err(parameters::mismatch("value", "a date-time", other)),
    }
}

/// The same in a given format.
pub(super) fn with_format(value: &Value, format: &str, zone: &TimeZone) -> Result<Zoned, Failure> {
    let scale = match format {
        "iso" | "http" | "rfc2822" => return instant(value, zone),
        "unix" => 1000.0,
        "unixMs" => 1.0,
        _ => {
            let text = value.to_text();
            return tokens::read(&text.to_utf8(), format, zone);
        }
    };
    let text = value.to_text();
    let number = heddle_values::text_to_number(&text.to_utf8());
    match number.is_finite() && !text.is_empty() {
        true => from_ms(number * scale, zone),
        false => Err(unreadable(&text.to_utf8(), "a number since 1970")),
    }
}

pub(super) fn unreadable(text: &str, expected: &str) -> Failure {
    let message = format!(
        "There is no date-time in {}; expected {expected}.",
        Value::from(text).shape()
    );
    Failure::new(code::PARSE, message)
}

fn from_ms(ms: f64, zone: &TimeZone) -> Result<Zoned, Failure> {
    // `as` cuts to the ends of an i64, which are outside of the calendar.
    let timestamp = Timestamp::from_millisecond(ms.floor() as i64).map_err(super::out_of_range)?;
    Ok(timestamp.to_zoned(zone.clone()))
}

fn iso(text: &str, zone: &TimeZone) -> Option<Zoned> {
    const PARSER: DateTimeParser = DateTimeParser::new();
    if let Ok(timestamp) = PARSER.parse_timestamp(text) {
        return Some(timestamp.to_zoned(zone.clone()));
    }
    let date_time = PARSER.parse_datetime(text).or_else(|_| {
        let month = format!("{text}-01");
        PARSER.parse_datetime(&month)
    });
    date_time.ok()?.to_zoned(zone.clone()).ok()
}

fn rfc2822(text: &str, zone: &TimeZone) -> Option<Zoned> {
    let parsed = jiff::fmt::rfc2822::parse(text).ok()?;
    Some(parsed.with_time_zone(zone.clone()))
}

/// `+02:00`, `-0330` or `+2`.
pub(super) fn offset(text: &str) -> Option<Offset> {
    let sign = if text.starts_with('-') { -1 } else { 1 };
    let digits = text.strip_prefix(['+', '-'])?;
    let (hours, minutes) = match digits.split_once(':') {
        Some(parts) => parts,
        None if digits.len() > 2 => digits.split_at_checked(digits.len() - 2)?,
        None => (digits, "0"),
    };
    let number = |text: &str| {
        text.bytes()
            .all(|b| b.is_ascii_digit())
            .then(|| text.parse::<i32>().ok())?
    };
    let (hours, minutes) = (number(hours)?, number(minutes)?);
    let valid = hours <= 23 && minutes <= 59;
    valid.then(|| Offset::from_seconds(sign * (hours * 3600 + minutes * 60)).ok())?
}

/// A time on the clock, at an offset of its own or in `zone`.
pub(super) fn at(date_time: civil::DateTime, offset: Option<Offset>, zone: &TimeZone) -> Option<Zoned> {
    match offset {
        Some(offset) => Some(offset.to_timestamp(date_time).ok()?.to_zoned(zone.clone())),
        None => date_time.to_zoned(zone.clone()).ok(),
    }
}
