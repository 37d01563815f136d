//! Properties of date-times and durations.

use super::civil::{days_in_month, days_in_year, is_leap, local_weekday, weeks_in_year};
use super::duration::Duration;
use super::invalid::Invalid;
use super::names::{MONTHS, MONTHS_SHORT, WEEKDAYS, WEEKDAYS_SHORT, name};
use super::temporal::Temporal;
use super::unit::Unit;
use super::zoned::{DateTime, Zoned};
use crate::Value;

/// Getters of date-times, sorted.
const NUMBERS: &[&str] = &[
    "day",
    "daysInMonth",
    "daysInYear",
    "hour",
    "localWeekNumber",
    "localWeekYear",
    "localWeekday",
    "millisecond",
    "minute",
    "month",
    "offset",
    "ordinal",
    "quarter",
    "second",
    "ts",
    "weekNumber",
    "weekYear",
    "weekday",
    "weeksInLocalWeekYear",
    "weeksInWeekYear",
    "year",
];

/// `value.name`: a getter; `None` when there is nothing of that name.
pub fn get(temporal: &Temporal, name: &str) -> Option<Value> {
    match temporal {
        Temporal::DateTime(date_time) => of_date_time(date_time, name),
        Temporal::Duration(duration) => of_duration(duration, name),
        Temporal::Date(_) => None,
    }
}

/// A getter of a date-time; `None` when there is none of that name.
pub(super) fn of_date_time(date_time: &DateTime, property: &str) -> Option<Value> {
    let valid = match date_time {
        Ok(valid) => valid,
        Err(invalid) => return of_invalid(invalid, property),
    };
    if NUMBERS.binary_search(&property).is_ok() {
        return number(valid, property).map(Value::Number);
    }
    let clock = &valid.clock;
    Some(match property {
        "isValid" => true.into(),
        "invalidReason" | "invalidExplanation" => Value::Null,
        "isInLeapYear" => is_leap(clock.year).into(),
        "isInDST" => valid.is_summer_time().into(),
        "isOffsetFixed" => valid.zone.is_fixed().into(),
        "isWeekend" => (clock.weekday() >= 6.0).into(),
        "isLuxonDateTime" => true.into(),
        "zoneName" => valid.zone.name().into(),
        "offsetNameShort" => valid.zone.short_name(valid.ms).into(),
        "offsetNameLong" => valid.zone.long_name(valid.ms).into(),
        "monthShort" => name(&MONTHS_SHORT, clock.month).into(),
        "monthLong" => name(&MONTHS, clock.month).into(),
        "weekdayShort" => name(&WEEKDAYS_SHORT, clock.weekday()).into(),
        "weekdayLong" => name(&WEEKDAYS, clock.weekday()).into(),
        "locale" => "en-US".into(),
        // Its name is enough to give it to another date-time.
        "zone" => valid.zone.name().into(),
        _ => return None,
    })
}

fn number(valid: &Zoned, property: &str) -> Option<f64> {
    let clock = &valid.clock;
    Some(match property {
        "ts" => valid.ms,
        "year" => clock.year,
        "quarter" => valid.quarter(),
        "month" => clock.month,
        "day" => clock.day,
        "hour" => clock.hour,
        "minute" => clock.minute,
        "second" => clock.second,
        "millisecond" => clock.millisecond,
        "weekday" => clock.weekday(),
        "weekNumber" => clock.week().1,
        "weekYear" => clock.week().0,
        "weeksInWeekYear" => weeks_in_year(clock.week().0),
        "weeksInLocalWeekYear" => super::civil::weeks_by(clock.week_by(1.0, 7.0).0, 1.0, 7.0),
        "localWeekday" => local_weekday(clock.weekday(), 7.0),
        "localWeekNumber" => clock.week_by(1.0, 7.0).1,
        "localWeekYear" => clock.week_by(1.0, 7.0).0,
        "ordinal" => clock.ordinal(),
        "daysInMonth" => days_in_month(clock.year, clock.month),
        "daysInYear" => days_in_year(clock.year),
        "offset" => valid.offset_minutes,
        _ => return None,
    })
}

fn of_invalid(invalid: &Invalid, property: &str) -> Option<Value> {
    if property == "daysInMonth" {
        return Some(Value::Undefined);
    }
    if NUMBERS.binary_search(&property).is_ok() {
        return Some(Value::Number(f64::NAN));
    }
    Some(match property {
        "isValid" | "isInLeapYear" | "isInDST" | "isWeekend" => false.into(),
        "isLuxonDateTime" => true.into(),
        "invalidReason" => invalid.reason.as_str().into(),
        "invalidExplanation" if invalid.explanation.is_empty() => Value::Null,
        "invalidExplanation" => invalid.explanation.as_str().into(),
        "zone" | "zoneName" | "offsetNameShort" | "offsetNameLong" | "isOffsetFixed" | "monthShort"
        | "monthLong" | "weekdayShort" | "weekdayLong" | "locale" => Value::Null,
        _ => return None,
    })
}

/// A getter of a duration.
pub(super) fn of_duration(duration: &Duration, property: &str) -> Option<Value> {
    if let Some(unit) = Unit::ALL.into_iter().find(|unit| unit.name() == property) {
        return Some(duration.get(unit).into());
    }
    let reason = |text: fn(&Invalid) -> &str| match &duration.invalid {
        Some(invalid) if !text(invalid).is_empty() => Value::from(text(invalid)),
        _ => Value::Null,
    };
    Some(match property {
        "isValid" => duration.is_valid().into(),
        "isLuxonDuration" => true.into(),
        "invalidReason" => reason(|invalid| &invalid.reason),
        "invalidExplanation" => reason(|invalid| &invalid.explanation),
        "locale" if duration.is_valid() => "en-US".into(),
        "locale" => Value::Null,
        _ => return None,
    })
}
