//! Making times: the functions of `DateTime`, `Duration` and `Date`.

use super::arguments::{self, amount, argument_text, duration_of_object, fields_of};
use super::civil::Civil;
use super::clock::Clock;
use super::date::Date;
use super::duration::Duration;
use super::invalid::Invalid;
use super::locale_options;
use super::options::{self, Options};
use super::read::{self, Read, ReadZone};
use super::temporal::Temporal;
use super::unit::Unit;
use super::zone::Zone;
use super::zoned::{DateTime, Zoned};
use super::{read_date, read_tokens};
use crate::{TypeError, Value, ops};

/// `DateTime.fromISO(…)`, `Duration.fromObject(…)`, `Date.now()` and the like by their names; `None` for others.
pub fn call_static(name: &str, arguments: &[Value], clock: &Clock) -> Option<Result<Value, TypeError>> {
    let argument = |at: usize| arguments.get(at).unwrap_or(&Value::Undefined);
    let options = Options::of(argument(1));
    // The first of these is what it is made of.
    let told = arguments
        .last()
        .filter(|_| arguments.len() > 1 || !name.ends_with("fromObject"));
    if let Err(error) = locale_options::no_other_language(told) {
        return Some(Err(error));
    }
    if let Some(form) = text_form(name) {
        return Some(from_text(argument(0), options, clock, form.0, form.1));
    }
    Some(match name {
        "$now" | "DateTime.now" => Ok(clock.now()),
        "$today" => Ok(clock.today()),
        "new Date" => new_date(arguments, clock),
        "DateTime.local" => from_parts(arguments, None, clock),
        "DateTime.utc" => from_parts(arguments, Some(Zone::UTC), clock),
        "DateTime.fromMillis" => from_epoch(argument(0), 1.0, options, clock),
        "DateTime.fromSeconds" => from_epoch(argument(0), 1000.0, options, clock),
        "DateTime.fromJSDate" => Ok(from_date(argument(0), options, clock).into()),
        "DateTime.fromObject" => from_object(argument(0), options, clock),
        "DateTime.fromFormat" | "DateTime.fromString" => from_format(arguments, clock),
        "DateTime.invalid" => argument_text(argument(0)).map(|reason| {
            let reason = reason.to_utf8();
            Value::from(DateTime::Err(Invalid::new(&reason, String::new())))
        }),
        "DateTime.isDateTime" => Ok(options::date_time(argument(0)).is_ok().into()),
        "DateTime.max" => extreme(arguments, |a, b| a > b),
        "DateTime.min" => extreme(arguments, |a, b| a < b),
        "Duration.fromObject" => duration_of(argument(0)).map(|duration| configured(duration, options)),
        "Duration.fromMillis" => {
            amount(argument(0)).map(|ms| configured(Duration::of(ms, Unit::Milliseconds), options))
        }
        "Duration.fromDurationLike" => arguments::duration_of(argument(0)).map(Value::from),
        "Duration.fromISO" => {
            argument_text(argument(0)).map(|text| configured(Duration::from_iso(&text.to_utf8()), options))
        }
        "Duration.fromISOTime" => argument_text(argument(0))
            .map(|text| configured(Duration::from_iso_time(&text.to_utf8()), options)),
        "Duration.isDuration" => Ok(is_duration(argument(0)).into()),
        "Date.now" => Ok(clock.now_ms.floor().into()),
        "Date.parse" => argument_text(argument(0)).map(|text| read_date::parse(&text.to_utf8()).into()),
        "Date.UTC" => date_of_parts(arguments).map(Value::Number),
        "Date" => Ok(Date::new(clock.now_ms).to_text().into()),
        _ => return None,
    })
}

/// `new Date(…)`
fn new_date(arguments: &[Value], clock: &Clock) -> Result<Value, TypeError> {
    let ms = match arguments {
        [] => clock.now_ms.floor(),
        [Value::Temporal(temporal)] => temporal.value_of(),
        [Value::String(text)] => read_date::parse(&text.to_utf8()),
        [value @ (Value::Array(_) | Value::Object(_))] => read_date::parse(&ops::to_string(value)?.to_utf8()),
        [value] => ops::to_number(value)?,
        parts => date_of_parts(parts)?,
    };
    Ok(Temporal::Date(Date::new(ms)).into())
}

type ReadText = fn(&str) -> Option<Read>;

fn text_form(name: &str) -> Option<(ReadText, &'static str)> {
    Some(match name {
        "DateTime.fromISO" => (read::iso, "ISO 8601"),
        "DateTime.fromSQL" => (read::sql, "SQL"),
        "DateTime.fromRFC2822" => (read::rfc2822, "RFC 2822"),
        "DateTime.fromHTTP" => (read::http, "HTTP"),
        _ => return None,
    })
}

fn from_text(
    text: &Value,
    options: Options<'_>,
    clock: &Clock,
    read: ReadText,
    form: &str,
) -> Result<Value, TypeError> {
    let read = match text {
        Value::Undefined | Value::Null => None,
        _ => read(&argument_text(text)?.to_utf8()),
    };
    let said = argument_text(text)?;
    made(read, options, clock, || {
        Invalid::unparsable(&said.to_utf8(), form)
    })
}

fn from_format(arguments: &[Value], clock: &Clock) -> Result<Value, TypeError> {
    let argument = |at: usize| arguments.get(at).unwrap_or(&Value::Undefined);
    let (text, format) = (argument(0), argument(1));
    if matches!(text, Value::Undefined) || matches!(format, Value::Undefined) {
        return Err(TypeError(
            "fromFormat requires an input string and a format".into(),
        ));
    }
    if text.is_nullish() {
        return Err(TypeError(
            "Cannot read properties of null (reading 'match')".into(),
        ));
    }
    let (text, format) = (argument_text(text)?, argument_text(format)?);
    let (text, format) = (text.to_utf8(), format.to_utf8());
    let read = read_tokens::read(&text, &format)?;
    made(read, Options::of(argument(2)), clock, || {
        Invalid::unparsable(&text, &format!("format {format}"))
    })
}

/// What was read, in the zone that is wanted.
fn made(
    read: Option<Read>,
    options: Options<'_>,
    clock: &Clock,
    unparsable: impl FnOnce() -> Invalid,
) -> Result<Value, TypeError> {
    let Some(read) = read else {
        return Ok(DateTime::Err(unparsable()).into());
    };
    let wanted = options.zone(clock);
    let own = match read.zone {
        Some(ReadZone::Known(zone)) => Ok(zone),
        Some(ReadZone::Unknown(name)) => Err(Invalid::zone(&name)),
        None => wanted.clone(),
    };
    let own = match own {
        Ok(own) => own,
        Err(invalid) => return Ok(DateTime::Err(invalid).into()),
    };
    let made = Zoned::from_fields(&read.fields, own, read.offset_minutes, clock.now_ms)?;
    if options.flag("setZone", false) {
        return Ok(made.into());
    }
    Ok(made.and_then(|made| made.in_zone(wanted?, false)).into())
}

/// `DateTime.local(year, month, …, options)`
fn from_parts(arguments: &[Value], zone: Option<Zone>, clock: &Clock) -> Result<Value, TypeError> {
    let (options, parts) = match arguments.split_last() {
        Some((options @ Value::Object(_), parts)) => (Options::of(options), parts),
        _ => (Options::of(&Value::Undefined), arguments),
    };
    let zone = match zone.map_or_else(|| options.zone(clock), Ok) {
        Ok(zone) => zone,
        Err(invalid) => return Ok(DateTime::Err(invalid).into()),
    };
    if matches!(parts.first(), None | Some(Value::Undefined)) {
        return Ok(Zoned::new(clock.now_ms, zone).into());
    }
    // Only numbers will do: what is none is out of every range.
    let least = [1970.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0];
    let numbers = parts.iter().zip(least).map(|(part, least)| match part {
        Value::Number(number) => *number,
        Value::Undefined => least,
        _ => f64::NAN,
    });
    Ok(Zoned::from_parts(&numbers.collect::<Vec<_>>(), zone, clock.now_ms).into())
}

fn from_epoch(value: &Value, scale: f64, options: Options<'_>, clock: &Clock) -> Result<Value, TypeError> {
    let Value::Number(number) = value else {
        let name = if scale == 1.0 { "fromMillis" } else { "fromSeconds" };
        return Err(TypeError(format!(
            "{name} requires a numerical input, but received {}",
            value.shape()
        )));
    };
    if scale == 1.0 && number.abs() > 8.64e15 {
        let invalid = Invalid::new("Timestamp out of range", String::new());
        return Ok(DateTime::Err(invalid).into());
    }
    let date_time = options
        .zone(clock)
        .and_then(|zone| Zoned::new(number * scale, zone));
    Ok(date_time.into())
}

fn from_date(value: &Value, options: Options<'_>, clock: &Clock) -> DateTime {
    match value {
        Value::Temporal(temporal) if matches!(&**temporal, Temporal::Date(_)) => {
            let ms = temporal.value_of();
            if ms.is_nan() {
                return Err(Invalid::input());
            }
            Zoned::new(ms, options.zone(clock)?)
        }
        _ => Err(Invalid::input()),
    }
}

fn from_object(value: &Value, options: Options<'_>, clock: &Clock) -> Result<Value, TypeError> {
    let zone = match options.zone(clock) {
        Ok(zone) => zone,
        Err(invalid) => return Ok(DateTime::Err(invalid).into()),
    };
    let fields = match value {
        Value::Object(object) => fields_of(object)?,
        _ => Vec::new(),
    };
    Zoned::from_fields(&fields, zone, None, clock.now_ms).map(Value::from)
}

fn duration_of(value: &Value) -> Result<Duration, TypeError> {
    match value {
        Value::Object(object) => duration_of_object(object),
        _ => Err(TypeError(format!(
            "Duration.fromObject: argument expected to be an object, got {}",
            value.shape()
        ))),
    }
}

fn configured(mut duration: Duration, options: Options<'_>) -> Value {
    let accuracy = options.get("conversionAccuracy");
    duration.accurate = accuracy.is_some_and(|accuracy| accuracy.strict_equal(&"longterm".into()));
    duration.into()
}

fn is_duration(value: &Value) -> bool {
    matches!(value, Value::Temporal(temporal) if matches!(&**temporal, Temporal::Duration(_)))
}

/// The earliest or latest of date-times; the first of same ones.
fn extreme(values: &[Value], better: fn(f64, f64) -> bool) -> Result<Value, TypeError> {
    let mut best: Option<(&Value, f64)> = None;
    for value in values {
        let ms = options::date_time(value)?
            .as_ref()
            .map_or(f64::NAN, |valid| valid.ms);
        if best.is_none_or(|(_, own)| better(ms, own) || (ms.is_nan() && !own.is_nan())) {
            best = Some((value, ms));
        }
    }
    Ok(best.map(|(value, _)| value.clone()).unwrap_or_default())
}

/// `Date.UTC(year, month, …)`, which is `new Date(year, month, …)` in UTC.
fn date_of_parts(arguments: &[Value]) -> Result<f64, TypeError> {
    let mut parts = [f64::NAN, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0];
    for (part, argument) in parts.iter_mut().zip(arguments) {
        *part = ops::to_number(argument)?;
    }
    let [year, month, day, hour, minute, second, millisecond] = parts;
    let year = match year.trunc() {
        short @ 0.0..=99.0 => 1900.0 + short,
        _ => year,
    };
    let civil = Civil {
        year,
        month: month.trunc() + 1.0,
        day,
        hour,
        minute,
        second,
        millisecond,
    };
    Ok(civil.to_ms())
}
