//! DateTime: reads, writes and calculates with date-times. Time zones come out of the guest's own database; the only
//! clock is the run's.

mod duration;
mod read;
mod tokens;

use super::parameters;
use super::text::value_or_input;
use crate::failure::Failure;
use crate::node::{Context, Emission, NodeResult, Outcome};
use duration::Unit;
use heddle_contract::abi::code;
use heddle_values::{Object, Value};
use jiff::civil::Weekday;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

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
        "parse" => read::with_format(&value, &format, &zone)?,
        _ => read::instant(&value, &zone)?,
    };
    let result = match operation {
        "add" | "subtract" => {
            let span = duration::duration(parameters)?;
            duration::shift(&instant, span, operation == "subtract")?
        }
        "diff" => {
            let other = parameters::required(parameters, "other", "a date-time")?;
            let other = read::instant(other, &zone)?;
            let unit = duration::unit(parameters)?.unwrap_or(Unit::Millisecond);
            let difference = duration::difference(&other, &instant, unit)?;
            return Ok(Outcome::Emit(Emission::one(0, difference.into())));
        }
        "startOf" => start_of(&instant, required_unit(parameters)?)?,
        "endOf" => end_of(&instant, required_unit(parameters)?)?,
        _ => instant,
    };
    let format = if operation == "parse" { "iso" } else { &format };
    Ok(Outcome::Emit(Emission::one(0, tokens::write(&result, format)?)))
}

/// A date-time of a parameter, in milliseconds since 1970 UTC; without an offset it is in UTC.
pub(super) fn milliseconds(name: &str, value: &Value) -> Result<f64, Failure> {
    let instant = match value {
        Value::Number(_) | Value::String(_) => read::instant(value, &TimeZone::UTC)?,
        other => return Err(parameters::mismatch(name, "a date-time", other)),
    };
    Ok(instant.timestamp().as_millisecond() as f64)
}

fn no_date_time(input: &Value) -> Failure {
    let message = format!(
        "This node works on a date-time, but its input is {}. Give it the date-time by the parameter `value`, for \
         example `{{{{ $input.createdAt }}}}`.",
        input.shape()
    );
    Failure::new(code::PARAMETER, message)
}

fn zone(parameters: &Object) -> Result<TimeZone, Failure> {
    let Some(name) = parameters::text(parameters, "timezone")? else {
        return Ok(TimeZone::UTC);
    };
    let unknown = || {
        let takes = "an IANA time zone such as `Europe/Prague` or an offset such as `+02:00`";
        parameters::mismatch("timezone", takes, &name.as_str().into())
    };
    if name.eq_ignore_ascii_case("utc") || name == "Z" {
        return Ok(TimeZone::UTC);
    }
    match name.starts_with(['+', '-']) {
        true => read::offset(&name).map(TimeZone::fixed).ok_or_else(unknown),
        false => TimeZone::get(&name).map_err(|_| unknown()),
    }
}

fn required_unit(parameters: &Object) -> Result<Unit, Failure> {
    parameters::required(parameters, "unit", "a unit such as `days`")?;
    Ok(duration::unit(parameters)?.unwrap_or(Unit::Day))
}

/// The result would lie outside of the years that can be calculated with.
fn out_of_range(error: jiff::Error) -> Failure {
    let message = format!("The date-time is outside of the years -9999 to 9999: {error}.");
    Failure::new(code::PARAMETER, message)
}

/// The first instant of the unit around a date-time, in its time zone.
fn start_of(instant: &Zoned, unit: Unit) -> Result<Zoned, Failure> {
    let date = instant.date();
    let day = match unit {
        Unit::Year => date.first_of_year(),
        Unit::Quarter => {
            let month = (date.month() - 1) / 3 * 3 + 1;
            date.with().month(month).day(1).build().map_err(out_of_range)?
        }
        Unit::Month => date.first_of_month(),
        Unit::Week => {
            let since_monday = date.weekday().since(Weekday::Monday);
            date.checked_sub(jiff::Span::new().days(since_monday))
                .map_err(out_of_range)?
        }
        Unit::Day => date,
        // Less than a day: a remainder of the time on the clock, so that hours of zones with a half hour and the
        // two hours of the same name in autumn stay apart.
        Unit::Hour | Unit::Minute | Unit::Second | Unit::Millisecond => {
            let length_ms = unit.exact_ms().unwrap_or(1);
            let local_ms =
                instant.timestamp().as_millisecond() + i64::from(instant.offset().seconds()) * 1000;
            let start_ms = instant.timestamp().as_millisecond() - local_ms.rem_euclid(length_ms);
            let start = Timestamp::from_millisecond(start_ms).map_err(out_of_range)?;
            return Ok(start.to_zoned(instant.time_zone().clone()));
        }
    };
    // A day that begins within a gap begins at its end.
    day.to_zoned(instant.time_zone().clone()).map_err(out_of_range)
}

/// The last millisecond of the unit around a date-time.
fn end_of(instant: &Zoned, unit: Unit) -> Result<Zoned, Failure> {
    let start = start_of(instant, unit)?;
    let next = match unit.exact_ms() {
        Some(length_ms) => start.checked_add(jiff::SignedDuration::from_millis(length_ms)),
        None => start
            .checked_add(unit.span(1))
            .and_then(|next| next.start_of_day()),
    };
    next.and_then(|next| next.checked_sub(jiff::SignedDuration::from_millis(1)))
        .map_err(out_of_range)
}
