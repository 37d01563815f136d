//! Methods of date-times and durations: Luxon's, and those that n8n adds to them.

use super::arguments::{
    amount, argument_text, duration_object, duration_of, duration_of_object, fields_of, text_of,
};
use super::clock::Clock;
use super::date::Date;
use super::difference::{self, Relative, between, relative};
use super::duration::Duration;
use super::invalid::Invalid;
use super::locale::{self, Wanted};
use super::options::{self, Options};
use super::temporal::Temporal;
use super::unit::{Field, Unit};
use super::write::Precision;
use super::zone::Zone;
use super::zoned::{DateTime, Zoned};
use super::{date_calls, locale_options, tokens};
use crate::{Object, TypeError, Value};

type Outcome = Result<Value, TypeError>;

/// Methods that look at the language that they are told themselves.
const READ_LANGUAGES: &[&str] = &[
    "toLocaleString",
    "toLocaleDateString",
    "toLocaleTimeString",
    "toLocaleParts",
    "setLocale",
    "reconfigure",
];

/// `receiver.method(…)`; `None` when there is no such method.
pub fn call_method(receiver: &Temporal, method: &str, arguments: &[Value], clock: &Clock) -> Option<Outcome> {
    if !READ_LANGUAGES.contains(&method)
        && let Err(error) = locale_options::no_other_language(arguments.last())
    {
        return Some(Err(error));
    }
    let arguments = Arguments(arguments);
    match receiver {
        Temporal::DateTime(date_time) => of_date_time(date_time, method, arguments, clock),
        Temporal::Duration(duration) => of_duration(duration, method, arguments),
        Temporal::Date(date) => {
            date_calls::call(date, method, arguments.0).or_else(|| of_date(date, method, arguments, clock))
        }
    }
}

/// Whether the value has a method of this name.
pub fn has_method(receiver: &Temporal, method: &str) -> bool {
    // A copy, which a setter may change.
    call_method(&receiver.clone(), method, &[], &Clock::utc(0.0)).is_some()
}

#[derive(Clone, Copy)]
struct Arguments<'a>(&'a [Value]);

impl<'a> Arguments<'a> {
    fn get(self, at: usize) -> &'a Value {
        self.0.get(at).unwrap_or(&Value::Undefined)
    }

    fn options(self, at: usize) -> Options<'a> {
        Options::of(self.get(at))
    }

    /// A duration, or an amount and its unit as n8n takes them.
    fn duration(self) -> Result<Duration, TypeError> {
        match self.get(1) {
            Value::String(name) if !matches!(self.get(0), Value::Object(_) | Value::Temporal(_)) => {
                let name = name.to_utf8();
                let unit = match &*name {
                    "ms" => Unit::Milliseconds,
                    "sec" | "secs" => Unit::Seconds,
                    "min" | "mins" => Unit::Minutes,
                    "hr" | "hrs" => Unit::Hours,
                    name => Unit::from_name(name)?,
                };
                Ok(Duration::of(amount(self.get(0))?, unit))
            }
            _ => duration_of(self.get(0)),
        }
    }

    /// A unit, which must be given.
    fn unit(self, at: usize) -> Result<Unit, TypeError> {
        options::unit(self.get(at))
    }
}

fn of_date_time(
    date_time: &DateTime,
    method: &str,
    arguments: Arguments<'_>,
    clock: &Clock,
) -> Option<Outcome> {
    if let Some(changed) = changed(date_time, method, arguments, clock) {
        return Some(changed.map(Value::from));
    }
    if let Some(text) = written(date_time, method, arguments, clock) {
        return Some(text);
    }
    let ms = date_time.as_ref().map_or(f64::NAN, |valid| valid.ms);
    Some(match method {
        "toMillis" | "valueOf" => Ok(ms.into()),
        "toSeconds" => Ok((ms / 1000.0).into()),
        "toUnixInteger" => Ok((ms / 1000.0).floor().into()),
        "toJSDate" | "toBSON" | "toDate" => Ok(Temporal::Date(Date::new(ms)).into()),
        "toDateTime" => Ok(date_time.clone().into()),
        "toObject" => Ok(date_time
            .as_ref()
            .map_or_else(|_| Object::new(), object_of)
            .into()),
        "get" | "extract" => argument_text(arguments.get(0)).map(|name| {
            let name = name.to_utf8();
            let property = match Field::from_name(&name) {
                Ok(field) => field_name(field),
                Err(_) => &name,
            };
            super::getters::of_date_time(date_time, property).unwrap_or_default()
        }),
        "diff" => diff(date_time, options::date_time(arguments.get(0)), arguments, 1),
        "diffNow" => diff(
            date_time,
            Ok(&Zoned::new(clock.now_ms, clock.zone.clone())),
            arguments,
            0,
        ),
        "diffTo" => diff_to(date_time, options::date_time(arguments.get(0)), arguments.get(1)),
        "diffToNow" => {
            let now = Zoned::new(clock.now_ms, clock.zone.clone());
            diff_to(date_time, Ok(&now), arguments.get(0))
        }
        "hasSame" => has_same(date_time, arguments),
        "equals" => options::date_time(arguments.get(0)).map(|other| match (date_time, other) {
            (Ok(a), Ok(b)) => (a.ms == b.ms && a.zone == b.zone).into(),
            _ => false.into(),
        }),
        "isWeekend" => Ok(date_time
            .as_ref()
            .is_ok_and(|valid| valid.clock.weekday() >= 6.0)
            .into()),
        "isBetween" => is_between(ms, arguments),
        _ => return None,
    })
}

/// Methods that give another date-time.
fn changed(
    date_time: &DateTime,
    method: &str,
    arguments: Arguments<'_>,
    clock: &Clock,
) -> Option<Result<DateTime, TypeError>> {
    let valid = match date_time {
        Ok(valid) => valid,
        Err(invalid) => {
            let changes = [
                "plus",
                "minus",
                "set",
                "startOf",
                "endOf",
                "beginningOf",
                "setZone",
                "toUTC",
                "toLocal",
                "setLocale",
                "reconfigure",
                "endOfMonth",
            ];
            return changes.contains(&method).then(|| Ok(Err(invalid.clone())));
        }
    };
    let or_invalid =
        |zone: Result<Zone, Invalid>, keep: bool| zone.and_then(|zone| valid.in_zone(zone, keep));
    let keeps = |at: usize| {
        let options = arguments.options(at);
        options.flag("keepLocalTime", false) || options.flag("keepCalendarTime", false)
    };
    Some(match method {
        "plus" => arguments.duration().map(|duration| valid.plus(&duration)),
        "minus" => arguments.duration().map(|duration| valid.minus(&duration)),
        "set" => match arguments.get(0) {
            Value::Object(object) => fields_of(object).and_then(|fields| valid.set(&fields)),
            _ => Ok(Ok(valid.clone())),
        },
        "startOf" => arguments.unit(0).map(|unit| valid.start_of(unit)),
        "endOf" => arguments.unit(0).map(|unit| valid.end_of(unit)),
        "beginningOf" => match arguments.get(0) {
            Value::Undefined => Ok(valid.start_of(Unit::Weeks)),
            name => options::unit(name).map(|unit| valid.start_of(unit)),
        },
        "endOfMonth" => Ok(valid.end_of(Unit::Months)),
        "setZone" => Ok(or_invalid(options::zone(arguments.get(0), clock), keeps(1))),
        "toUTC" => {
            let offset = match arguments.get(0) {
                Value::Number(minutes) => *minutes,
                _ => 0.0,
            };
            Ok(or_invalid(Ok(Zone::Fixed(offset)), keeps(1)))
        }
        "toLocal" => Ok(or_invalid(Ok(clock.zone.clone()), false)),
        "setLocale" | "reconfigure" => {
            let locale = match arguments.get(0) {
                Value::Object(object) => object.get("locale").cloned().unwrap_or_default(),
                locale => locale.clone(),
            };
            locale_options::american(&locale).map(|()| Ok(valid.clone()))
        }
        _ => return None,
    })
}

/// Methods that give text.
fn written(date_time: &DateTime, method: &str, arguments: Arguments<'_>, clock: &Clock) -> Option<Outcome> {
    let valid = match date_time {
        Ok(valid) => valid,
        Err(_) => {
            return Some(Ok(match method {
                "toString" | "toFormat" | "format" | "toLocaleString" => "Invalid DateTime".into(),
                "toISO" | "toISODate" | "toISOTime" | "toISOWeekDate" | "toJSON" | "toSQL" | "toSQLDate"
                | "toSQLTime" | "toHTTP" | "toRFC2822" | "toRelative" | "toRelativeCalendar" => Value::Null,
                _ => return None,
            }));
        }
    };
    let options = arguments.options(0);
    let format = || argument_text(arguments.get(0));
    let sql_time = || {
        let flag = |name: &str, otherwise: bool| options.flag(name, otherwise);
        valid.to_sql_time(
            flag("includeOffset", true),
            flag("includeZone", false),
            flag("includeOffsetSpace", true),
        )
    };
    let sql_date = || valid.to_iso_date(true, Precision::Day);
    let text = match method {
        "toISO" => options.iso().map(|options| valid.to_iso_with(&options)),
        "toString" | "toJSON" => Ok(valid.to_iso()),
        "toISODate" => options
            .precision(Precision::Day)
            .map(|precision| valid.to_iso_date(options.extended(), precision)),
        "toISOTime" => options.iso().map(|options| valid.to_iso_time(&options)),
        "toISOWeekDate" => Ok(valid.to_iso_week_date()),
        "format" if matches!(arguments.get(0), Value::Undefined) => Ok(tokens::write(valid, "yyyy-MM-dd")),
        "toFormat" | "format" => format().map(|format| tokens::write(valid, &format.to_utf8())),
        "toLocaleString" => to_locale(valid, arguments),
        "toSQL" => Ok(format!("{} {}", sql_date(), sql_time())),
        "toSQLDate" => Ok(sql_date()),
        "toSQLTime" => Ok(sql_time()),
        "toHTTP" => Ok(valid.to_http()),
        "toRFC2822" => Ok(valid.to_rfc2822()),
        "toRelative" | "toRelativeCalendar" => {
            to_relative(valid, options, method == "toRelativeCalendar", clock)
        }
        _ => return None,
    };
    Some(text.map(Value::from))
}

fn to_locale(valid: &Zoned, arguments: Arguments<'_>) -> Result<String, TypeError> {
    let given = match arguments.get(0) {
        Value::Object(object) => Some(object),
        _ => None,
    };
    let locale = arguments.options(1).get("locale").cloned().unwrap_or_default();
    let options = locale_options::read(given, &locale, Wanted::DateUnlessGiven)?;
    Ok(locale::write(valid, &options))
}

fn to_relative(
    valid: &Zoned,
    options: Options<'_>,
    calendar: bool,
    clock: &Clock,
) -> Result<String, TypeError> {
    let now = Zoned::new(clock.now_ms, valid.zone.clone());
    let base = match options.get("base") {
        Some(base) => options::date_time(base)?.clone(),
        None => now,
    };
    let Ok(base) = base else {
        return Err(TypeError(
            "The base of a relative time is an invalid DateTime".into(),
        ));
    };
    let units = match options.get("unit") {
        Some(unit) => options::units(unit)?,
        None if calendar => vec![Unit::Years, Unit::Months, Unit::Days],
        None => vec![
            Unit::Years,
            Unit::Months,
            Unit::Days,
            Unit::Hours,
            Unit::Minutes,
            Unit::Seconds,
        ],
    };
    let style = options.get("style").map(Value::to_text);
    let how = Relative {
        units,
        only_first: options
            .get("unit")
            .is_some_and(|unit| !matches!(unit, Value::Array(_))),
        calendar,
        short: style.is_some_and(|style| *style.to_utf8() != *"long"),
        decimals: !options.flag("round", true),
    };
    let padding = match options.get("padding") {
        Some(padding) if valid.ms < base.ms => -amount(padding)?,
        Some(padding) => amount(padding)?,
        None => 0.0,
    };
    Ok(match valid.plus(&Duration::of(padding, Unit::Milliseconds)) {
        Ok(padded) => relative(&padded, &base, &how),
        Err(_) => "Invalid DateTime".into(),
    })
}

fn diff(
    date_time: &DateTime,
    other: Result<&DateTime, TypeError>,
    arguments: Arguments<'_>,
    at: usize,
) -> Outcome {
    let units = options::units(arguments.get(at))?;
    let accuracy = arguments.options(at + 1).get("conversionAccuracy");
    let accurate = accuracy.is_some_and(|accuracy| accuracy.strict_equal(&"longterm".into()));
    Ok(between(other?, date_time, &units, accurate).into())
}

/// n8n's difference: a number for one unit, an object for several; days if there is none.
fn diff_to(date_time: &DateTime, other: Result<&DateTime, TypeError>, units: &Value) -> Outcome {
    let units = match units {
        Value::Undefined => vec![Unit::Days],
        units => options::units(units)?,
    };
    let duration = between(other?, date_time, &units, false);
    Ok(match units.as_slice() {
        [unit] => duration.get(*unit).into(),
        _ => duration_object(&duration).into(),
    })
}

fn has_same(date_time: &DateTime, arguments: Arguments<'_>) -> Outcome {
    let unit = arguments.unit(1)?;
    let other = options::date_time(arguments.get(0))?;
    let same = date_time
        .as_ref()
        .is_ok_and(|valid| difference::have_same(valid, other, unit));
    Ok(same.into())
}

/// n8n's `isBetween(a, b)`
fn is_between(ms: f64, arguments: Arguments<'_>) -> Outcome {
    let bound = |at: usize| {
        let date_time = options::date_time(arguments.get(at))?;
        Ok(date_time.as_ref().map_or(f64::NAN, |valid| valid.ms))
    };
    let (a, b): (f64, f64) = (bound(0)?, bound(1)?);
    Ok((a.min(b) < ms && ms < a.max(b)).into())
}

/// `date_time.toObject()`
fn object_of(valid: &Zoned) -> Object {
    let clock = &valid.clock;
    let fields = [
        ("year", clock.year),
        ("month", clock.month),
        ("day", clock.day),
        ("hour", clock.hour),
        ("minute", clock.minute),
        ("second", clock.second),
        ("millisecond", clock.millisecond),
    ];
    fields
        .into_iter()
        .map(|(name, value)| (name, Value::Number(value)))
        .collect()
}

fn field_name(field: Field) -> &'static str {
    match field {
        Field::Year => "year",
        Field::Quarter => "quarter",
        Field::Month => "month",
        Field::Day => "day",
        Field::Hour => "hour",
        Field::Minute => "minute",
        Field::Second => "second",
        Field::Millisecond => "millisecond",
        Field::Weekday => "weekday",
        Field::WeekNumber => "weekNumber",
        Field::WeekYear => "weekYear",
        Field::Ordinal => "ordinal",
    }
}

fn of_duration(duration: &Duration, method: &str, arguments: Arguments<'_>) -> Option<Outcome> {
    let operand = || duration_of(arguments.get(0));
    let changed = match method {
        "plus" => operand().map(|other| duration.plus(&other)),
        "minus" => operand().map(|other| duration.plus(&other.negate())),
        "negate" => Ok(duration.negate()),
        "normalize" => Ok(duration.normalize()),
        "rescale" => Ok(duration.normalize().shift_to_all().without_zeros()),
        "removeZeros" => Ok(duration.without_zeros()),
        "shiftToAll" => Ok(duration.shift_to_all()),
        "shiftTo" => {
            let units: Result<Vec<Unit>, TypeError> = arguments.0.iter().map(options::unit).collect();
            units.map(|units| duration.shift_to(&units))
        }
        "set" => set_amounts(duration, arguments.get(0)),
        "reconfigure" => Ok(reconfigured(duration, arguments.options(0))),
        _ => {
            let text = argument_text(arguments.get(0));
            return Some(match method {
                "as" => arguments.unit(0).map(|unit| match duration.is_valid() {
                    true => duration.in_unit(unit).into(),
                    false => f64::NAN.into(),
                }),
                "get" => arguments.unit(0).map(|unit| duration.get(unit).into()),
                "toMillis" | "valueOf" => Ok(duration.to_ms().into()),
                "toObject" => Ok(duration_object(duration).into()),
                "toISO" | "toJSON" | "toString" => Ok(text_of(duration.to_iso())),
                "toISOTime" => arguments.options(0).iso().map(|mut options| {
                    options.include_offset = false;
                    let ms = duration.to_ms();
                    let within = (0.0..86_400_000.0).contains(&ms);
                    let time = Zoned::new(ms, Zone::UTC).ok().filter(|_| within);
                    text_of(time.map(|time| time.to_iso_time(&options)))
                }),
                "toFormat" => text.map(|format| duration.to_format(&format.to_utf8()).into()),
                "toHuman" => {
                    let has_zeros = arguments.options(0).get("showZeros");
                    let has_zeros = !matches!(has_zeros, Some(Value::Bool(false)));
                    locale_options::none_of(arguments.options(0), "toHuman", &["unitDisplay", "listStyle"])
                        .map(|()| duration.to_human(has_zeros).into())
                }
                "equals" => operand().map(|other| duration.same_as(&other).into()),
                _ => return None,
            });
        }
    };
    Some(changed.map(Value::from))
}

fn set_amounts(duration: &Duration, amounts: &Value) -> Result<Duration, TypeError> {
    let mut changed = duration.clone();
    if let (true, Value::Object(amounts)) = (duration.is_valid(), amounts) {
        for (unit, amount) in duration_of_object(amounts)?.values {
            changed.set(unit, amount);
        }
    }
    Ok(changed)
}

fn reconfigured(duration: &Duration, options: Options<'_>) -> Duration {
    let mut changed = duration.clone();
    if let Some(accuracy) = options.get("conversionAccuracy") {
        changed.accurate = accuracy.strict_equal(&"longterm".into());
    }
    changed
}

/// What n8n adds to JavaScript's `Date`: the methods of a date-time that give the like of it or text.
fn of_date(date: &Date, method: &str, arguments: Arguments<'_>, clock: &Clock) -> Option<Outcome> {
    let date_time = match date.ms().is_nan() {
        true => Err(Invalid::input()),
        false => Zoned::new(date.ms(), clock.zone.clone()),
    };
    match method {
        "toDateTime" | "format" | "diffTo" | "diffToNow" | "extract" | "isWeekend" | "isBetween" => {
            of_date_time(&date_time, method, arguments, clock)
        }
        "plus" | "minus" | "beginningOf" | "endOfMonth" => {
            let changed = changed(&date_time, method, arguments, clock)?;
            Some(changed.map(|changed| {
                let ms = changed.map_or(f64::NAN, |valid| valid.ms);
                Temporal::Date(Date::new(ms)).into()
            }))
        }
        _ => None,
    }
}
