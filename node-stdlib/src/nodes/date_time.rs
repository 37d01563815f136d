//! DateTime: reads, writes and calculates with date-times. What they are, and their time zones, is `heddle_values`'s; the
//! only clock is the run's.

mod duration;

use super::parameters;
use super::text::value_or_input;
use crate::failure::Failure;
use crate::node::{Context, Emission, NodeResult, Outcome};
use heddle_contract::abi::code;
use heddle_values::date_time::{self, DateTime, Invalid, Misread, Unit, Zone, Zoned};
use heddle_values::{Object, Value, text_to_number};

const OPERATIONS: [&str; 8] = [
    "now", "parse", "format", "add", "subtract", "diff", "startOf", "endOf",
];

/// One of [`OPERATIONS`].
pub fn date_time(parameters: &Object, context: &mut dyn Context) -> NodeResult {
    let zone = zone(parameters)?;
    let operation = parameters::choice(parameters, "operation", &OPERATIONS, "now")?;
    let format = parameters::text(parameters, "format")?.unwrap_or_else(|| "iso".into());
    let value = match operation {
        "now" => Value::Number(context.now_ms() as f64),
        _ => value_or_input(parameters, context),
    };
    if !matches!(value, Value::Number(_) | Value::String(_)) {
        return Err(match parameters.contains("value") {
            true => parameters::mismatch("value", "a date-time", &value),
            false => no_date_time(&value),
        });
    }
    let instant = match operation {
        "parse" => by_format(&value, &format, &zone)?,
        _ => instant(&value, &zone)?,
    };
    let result = match operation {
        "add" => within_range(instant.plus(&duration::duration(parameters)?))?,
        "subtract" => within_range(instant.minus(&duration::duration(parameters)?))?,
        "diff" => {
            let other = parameters::required(parameters, "other", "a date-time")?;
            let other = self::instant(other, &zone)?;
            let unit = duration::unit(parameters)?.unwrap_or(Unit::Milliseconds);
            let difference = date_time::difference(&other, &instant, unit);
            return Ok(Outcome::Emit(Emission::one(0, difference.into())));
        }
        "startOf" => within_range(instant.start_of(required_unit(parameters)?))?,
        "endOf" => within_range(instant.end_of(required_unit(parameters)?))?,
        _ => instant,
    };
    // Calculations with parts of a millisecond end at a whole one.
    let result = from_ms(result.ms().round(), &zone)?;
    let format = if operation == "parse" { "iso" } else { &format };
    Ok(Outcome::Emit(Emission::one(0, written(&result, format)?)))
}

/// A date-time of a parameter, in milliseconds since 1970 UTC; without an offset it is in UTC.
pub(super) fn milliseconds(name: &str, value: &Value) -> Result<f64, Failure> {
    match value {
        Value::Number(_) | Value::String(_) => Ok(instant(value, &Zone::UTC)?.ms()),
        other => Err(parameters::mismatch(name, "a date-time", other)),
    }
}

fn no_date_time(input: &Value) -> Failure {
    let message = format!(
        "This node works on a date-time, but its input is {}. Give it the date-time by the parameter `value`, for \
         example `{{{{ $input.createdAt }}}}`.",
        input.shape()
    );
    Failure::new(code::PARAMETER, message)
}

fn zone(parameters: &Object) -> Result<Zone, Failure> {
    let Some(name) = parameters::text(parameters, "timezone")? else {
        return Ok(Zone::UTC);
    };
    if name.eq_ignore_ascii_case("utc") || name == "Z" {
        return Ok(Zone::UTC);
    }
    let found = match name.starts_with(['+', '-']) {
        true => Zone::from_offset(&name),
        false => Zone::iana(&name),
    };
    found.ok_or_else(|| {
        let takes = "an IANA time zone such as `Europe/Prague` or an offset such as `+02:00`";
        parameters::mismatch("timezone", takes, &name.as_str().into())
    })
}

fn required_unit(parameters: &Object) -> Result<Unit, Failure> {
    parameters::required(parameters, "unit", "a unit such as `days`")?;
    Ok(duration::unit(parameters)?.unwrap_or(Unit::Days))
}

fn within_range(date_time: DateTime) -> Result<Zoned, Failure> {
    date_time.map_err(|Invalid { .. }| {
        let message =
            "The date-time is outside of what can be calculated with: about 270,000 years around 1970.";
        Failure::new(code::PARAMETER, message)
    })
}

fn from_ms(ms: f64, zone: &Zone) -> Result<Zoned, Failure> {
    within_range(Zoned::new(ms.floor(), zone.clone()))
}

/// A date-time in any of the forms that need no format; without an offset it is in `zone`.
fn instant(value: &Value, zone: &Zone) -> Result<Zoned, Failure> {
    match value {
        Value::Number(ms) => from_ms(*ms, zone),
        Value::String(text) => {
            let text = text.to_utf8();
            let text = text.trim();
            date_time::read_text(text, zone).ok_or_else(|| {
                let takes = "ISO 8601 (`2026-03-29T12:00:00+02:00`), an RFC 2822 or HTTP date, or milliseconds since \
                             1970; give other forms to the operation `parse` with a `format`";
                unreadable(text, takes)
            })
        }
        other => Err(parameters::mismatch("value", "a date-time", other)),
    }
}

/// The same in a given format.
fn by_format(value: &Value, format: &str, zone: &Zone) -> Result<Zoned, Failure> {
    let scale = match format {
        "iso" | "http" | "rfc2822" => return instant(value, zone),
        "unix" => 1000.0,
        "unixMs" => 1.0,
        _ => return by_tokens(&value.to_text().to_utf8(), format, zone),
    };
    let text = value.to_text();
    let number = text_to_number(&text.to_utf8());
    match number.is_finite() && !text.is_empty() {
        true => from_ms(number * scale, zone),
        false => Err(unreadable(&text.to_utf8(), "a number since 1970")),
    }
}

fn by_tokens(text: &str, format: &str, zone: &Zone) -> Result<Zoned, Failure> {
    date_time::read_by_format(text, &checked(format)?, zone).map_err(|misread| match misread {
        Misread::Format(what) => Failure::new(code::PARAMETER, format!("Parameter `format`: {what}.")),
        Misread::Text(bytes) => {
            let at = text.get(..bytes).unwrap_or_default().chars().count() + 1;
            unreadable(
                text,
                &format!("`{format}`, which it does not follow from character {at} on"),
            )
        }
        Misread::Time => unreadable(text, "a day and a time that exist"),
    })
}

fn unreadable(text: &str, expected: &str) -> Failure {
    let message = format!(
        "There is no date-time in {}; expected {expected}.",
        Value::from(text).shape()
    );
    Failure::new(code::PARSE, message)
}

/// A format whose quotes are closed and whose tokens all mean something; two quotes side by side say nothing.
fn checked(format: &str) -> Result<String, Failure> {
    let failure = |what: String| Failure::new(code::PARAMETER, format!("Parameter `format`: {what}"));
    if !format.matches('\'').count().is_multiple_of(2) {
        return Err(failure("a quote (') is opened and not closed.".into()));
    }
    let format = format.replace("''", "");
    match date_time::unknown_token(&format) {
        None => Ok(format),
        Some(token) => {
            let token: String = token.chars().take(8).collect();
            Err(failure(format!(
                "there is no token `{token}`. Write text in single quotes; tokens are those of Luxon: yyyy, yy, MM, LLL, \
                 LLLL, dd, HH, hh, mm, ss, SSS, a, ccc, cccc, EEE, q, W, o, Z, ZZ, ZZZ, z, X, x and others."
            )))
        }
    }
}

/// A date-time in a format: text, but numbers for `unix` and `unixMs`.
fn written(instant: &Zoned, format: &str) -> Result<Value, Failure> {
    Ok(match format {
        "unixMs" => instant.ms().into(),
        "unix" => (instant.ms() / 1000.0).floor().into(),
        "iso" => instant.to_iso().into(),
        "rfc2822" => instant.to_rfc2822().into(),
        "http" => instant.to_http().into(),
        tokens => instant.to_format(&checked(tokens)?).into(),
    })
}
