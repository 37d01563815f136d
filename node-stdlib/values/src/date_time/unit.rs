//! Units of durations and fields of date-times, by Luxon's names.

use crate::TypeError;

/// A unit of a duration, from the largest to the smallest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unit {
    /// Years.
    Years,
    /// Three months.
    Quarters,
    /// Months.
    Months,
    /// From Monday on.
    Weeks,
    /// Days.
    Days,
    /// Hours.
    Hours,
    /// Minutes.
    Minutes,
    /// Seconds.
    Seconds,
    /// Milliseconds.
    Milliseconds,
}

impl Unit {
    /// All of them, from the largest.
    pub const ALL: [Unit; 9] = [
        Unit::Years,
        Unit::Quarters,
        Unit::Months,
        Unit::Weeks,
        Unit::Days,
        Unit::Hours,
        Unit::Minutes,
        Unit::Seconds,
        Unit::Milliseconds,
    ];

    /// The plural.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Years => "years",
            Unit::Quarters => "quarters",
            Unit::Months => "months",
            Unit::Weeks => "weeks",
            Unit::Days => "days",
            Unit::Hours => "hours",
            Unit::Minutes => "minutes",
            Unit::Seconds => "seconds",
            Unit::Milliseconds => "milliseconds",
        }
    }

    pub(super) fn singular(self) -> &'static str {
        self.name().trim_end_matches('s')
    }

    /// The unit of a name in singular or plural, in any case.
    pub fn from_name(name: &str) -> Result<Unit, TypeError> {
        let found = Unit::ALL.into_iter().find(|unit| {
            unit.name().eq_ignore_ascii_case(name) || unit.singular().eq_ignore_ascii_case(name)
        });
        found.ok_or_else(|| invalid_unit(name))
    }

    /// How many of a smaller unit there are in this one: in the casual reckoning of 365 days to the year and 30 to
    /// the month, or in the accurate one of 400 years.
    pub(super) fn in_smaller(self, smaller: Unit, accurate: bool) -> f64 {
        const YEAR_DAYS: f64 = 146_097.0 / 400.0;
        const MONTH_DAYS: f64 = 146_097.0 / 4800.0;
        let of_days = |days: f64| match smaller {
            Unit::Weeks => days / 7.0,
            Unit::Days => days,
            Unit::Hours => days * 24.0,
            Unit::Minutes => days * 24.0 * 60.0,
            Unit::Seconds => days * 24.0 * 60.0 * 60.0,
            _ => days * 24.0 * 60.0 * 60.0 * 1000.0,
        };
        match (self, smaller) {
            (Unit::Years, Unit::Quarters) => 4.0,
            (Unit::Years, Unit::Months) => 12.0,
            (Unit::Years, Unit::Weeks) if !accurate => 52.0,
            (Unit::Years, _) => of_days(if accurate { YEAR_DAYS } else { 365.0 }),
            (Unit::Quarters, Unit::Months) => 3.0,
            (Unit::Quarters, Unit::Weeks) => {
                if accurate {
                    YEAR_DAYS / 28.0
                } else {
                    13.0
                }
            }
            (Unit::Quarters, _) if accurate => of_days(YEAR_DAYS) / 4.0,
            (Unit::Quarters, _) => of_days(91.0),
            (Unit::Months, Unit::Weeks) if !accurate => 4.0,
            (Unit::Months, _) => of_days(if accurate { MONTH_DAYS } else { 30.0 }),
            (Unit::Weeks, _) => of_days(7.0),
            (Unit::Days, _) => of_days(1.0),
            (Unit::Hours, Unit::Minutes) | (Unit::Minutes, Unit::Seconds) => 60.0,
            (Unit::Hours, Unit::Seconds) => 3600.0,
            (Unit::Hours, _) => 3_600_000.0,
            (Unit::Minutes, _) => 60_000.0,
            _ => 1000.0,
        }
    }
}

/// A field of a date-time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    Year,
    Quarter,
    Month,
    Day,
    Hour,
    Minute,
    Second,
    Millisecond,
    Weekday,
    WeekNumber,
    WeekYear,
    Ordinal,
}

/// Fields as they are given to make a date-time.
pub(super) type Fields = Vec<(Field, f64)>;

impl Field {
    /// The field of a name in singular or plural, in any case.
    pub(super) fn from_name(name: &str) -> Result<Field, TypeError> {
        Ok(match name.to_ascii_lowercase().as_str() {
            "year" | "years" => Field::Year,
            "quarter" | "quarters" => Field::Quarter,
            "month" | "months" => Field::Month,
            "day" | "days" => Field::Day,
            "hour" | "hours" => Field::Hour,
            "minute" | "minutes" => Field::Minute,
            "second" | "seconds" => Field::Second,
            "millisecond" | "milliseconds" => Field::Millisecond,
            "weekday" | "weekdays" => Field::Weekday,
            "weeknumber" | "weeksnumber" | "weeknumbers" => Field::WeekNumber,
            "weekyear" | "weekyears" => Field::WeekYear,
            "ordinal" => Field::Ordinal,
            _ => return Err(invalid_unit(name)),
        })
    }
}

fn invalid_unit(name: &str) -> TypeError {
    TypeError(format!(
        "Invalid unit {name}: expected years, quarters, months, weeks, days, hours, minutes, seconds or milliseconds"
    ))
}
