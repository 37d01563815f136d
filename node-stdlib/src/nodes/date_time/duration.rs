//! Units, durations and differences. Years to days follow the calendar of the time zone, hours and less are exact.

use super::out_of_range;
use crate::failure::Failure;
use crate::nodes::parameters;
use heddle_contract::abi::code;
use heddle_values::{Object, Value};
use jiff::{SignedDuration, Span, Zoned};

/// A unit of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Year,
    Quarter,
    Month,
    Week,
    Day,
    Hour,
    Minute,
    Second,
    Millisecond,
}

const UNITS: [(&str, Unit); 9] = [
    ("years", Unit::Year),
    ("quarters", Unit::Quarter),
    ("months", Unit::Month),
    ("weeks", Unit::Week),
    ("days", Unit::Day),
    ("hours", Unit::Hour),
    ("minutes", Unit::Minute),
    ("seconds", Unit::Second),
    ("milliseconds", Unit::Millisecond),
];

/// More than the calendar has, so that sums of a few stay exact.
const COUNT_MAX: f64 = 1e15;

impl Unit {
    fn of(name: &str) -> Option<Unit> {
        let is = |plural: &str| plural == name || plural.strip_suffix('s') == Some(name);
        UNITS.iter().find(|(plural, _)| is(plural)).map(|(_, unit)| *unit)
    }

    /// Length of the units that always are as long.
    pub fn exact_ms(self) -> Option<i64> {
        match self {
            Unit::Hour => Some(3_600_000),
            Unit::Minute => Some(60_000),
            Unit::Second => Some(1000),
            Unit::Millisecond => Some(1),
            _ => None,
        }
    }

    /// So many calendar units; nothing for exact ones. Beyond the calendar it is cut to its end.
    pub fn span(self, count: i64) -> Span {
        let (span, days_max) = (Span::new(), 7_304_484);
        let within = |max: i64| count.clamp(-max, max);
        match self {
            Unit::Year => span.years(within(19_998)),
            Unit::Quarter => span.months(within(79_992) * 3),
            Unit::Month => span.months(within(239_976)),
            Unit::Week => span.weeks(within(days_max / 7)),
            Unit::Day => span.days(within(days_max)),
            _ => span,
        }
    }
}

/// What to add: whole calendar units and an exact rest.
pub(super) struct Duration {
    calendar: Vec<(Unit, i64)>,
    exact_ms: f64,
}

impl Duration {
    /// Fractions of weeks and days are exact hours; fractions of longer units have no length.
    fn add(&mut self, unit: Unit, count: f64) -> Result<(), Failure> {
        if count.abs() > COUNT_MAX || count.is_nan() {
            return Err(failure(&format!("a duration of {count} is too long")));
        }
        if let Some(length_ms) = unit.exact_ms() {
            self.exact_ms += count * length_ms as f64;
            return Ok(());
        }
        let days = match unit {
            Unit::Week => 7.0,
            Unit::Day => 1.0,
            _ if count.fract() == 0.0 => 0.0,
            _ => {
                let what =
                    "years, quarters and months have no fixed length, so that only whole ones can be added";
                return Err(failure(what));
            }
        };
        self.calendar.push((unit, count.trunc() as i64));
        self.exact_ms += count.fract() * days * 86_400_000.0;
        Ok(())
    }
}

fn failure(what: &str) -> Failure {
    Failure::new(code::PARAMETER, format!("Parameter `duration`: {what}."))
}

/// The parameter `unit`.
pub(super) fn unit(parameters: &Object) -> Result<Option<Unit>, Failure> {
    let Some(name) = parameters::text(parameters, "unit")? else {
        return Ok(None);
    };
    let unit = Unit::of(&name);
    unit.map(Some)
        .ok_or_else(|| parameters::mismatch("unit", &takes(), &name.as_str().into()))
}

fn takes() -> String {
    format!("one of {}", UNITS.map(|(name, _)| name).join(", "))
}

/// The parameter `duration`.
pub(super) fn duration(parameters: &Object) -> Result<Duration, Failure> {
    let shapes = "an object of numbers by unit, ISO 8601 text such as `P1DT2H`, or a number of `unit`s";
    let mut duration = Duration {
        calendar: Vec::new(),
        exact_ms: 0.0,
    };
    match parameters::required(parameters, "duration", shapes)? {
        Value::Number(count) => {
            let unit = unit(parameters)?.unwrap_or(Unit::Millisecond);
            duration.add(unit, *count)?;
        }
        Value::Object(counts) => {
            for (name, _) in counts.iter() {
                let name = name.to_utf8();
                let unit = Unit::of(&name)
                    .ok_or_else(|| failure(&format!("there is no unit `{name}`; it takes {}", takes())))?;
                duration.add(unit, parameters::number(counts, &name)?.unwrap_or(0.0))?;
            }
        }
        Value::String(text) => {
            let text = text.to_utf8();
            let span: Span = text
                .trim()
                .parse()
                .map_err(|_| parameters::mismatch("duration", shapes, &text.as_ref().into()))?;
            add_span(&mut duration, &span)?;
        }
        other => return Err(parameters::mismatch("duration", shapes, other)),
    }
    Ok(duration)
}

fn add_span(duration: &mut Duration, span: &Span) -> Result<(), Failure> {
    let sub_second_ms = span.get_microseconds() as f64 / 1e3 + span.get_nanoseconds() as f64 / 1e6;
    let counts = [
        (Unit::Year, f64::from(span.get_years())),
        (Unit::Month, f64::from(span.get_months())),
        (Unit::Week, f64::from(span.get_weeks())),
        (Unit::Day, f64::from(span.get_days())),
        (Unit::Hour, f64::from(span.get_hours())),
        (Unit::Minute, span.get_minutes() as f64),
        (Unit::Second, span.get_seconds() as f64),
        (Unit::Millisecond, span.get_milliseconds() as f64 + sub_second_ms),
    ];
    counts
        .into_iter()
        .try_for_each(|(unit, count)| duration.add(unit, count))
}

/// Adds (or subtracts) the months first, then the days, then the exact rest, as Luxon does.
pub(super) fn shift(instant: &Zoned, duration: Duration, back: bool) -> Result<Zoned, Failure> {
    let sign = if back { -1 } else { 1 };
    let (mut months, mut days) = (0_i64, 0_i64);
    for (unit, count) in duration.calendar {
        match unit {
            Unit::Year => months = months.saturating_add(count.saturating_mul(12)),
            Unit::Quarter => months = months.saturating_add(count.saturating_mul(3)),
            Unit::Month => months = months.saturating_add(count),
            Unit::Week => days = days.saturating_add(count.saturating_mul(7)),
            _ => days = days.saturating_add(count),
        }
    }
    let calendar = Span::new()
        .try_months(months.saturating_mul(sign))
        .and_then(|span| span.try_days(days.saturating_mul(sign)))
        .map_err(out_of_range)?;
    // A double beyond an i64 is cut to it by `as`, which is outside of the calendar.
    let exact = SignedDuration::from_millis((duration.exact_ms * sign as f64).round() as i64);
    instant
        .checked_add(calendar)
        .and_then(|shifted| shifted.checked_add(exact))
        .map_err(out_of_range)
}

/// How many units lie between, with the fraction of the unit in which the later one lies.
pub(super) fn difference(from: &Zoned, to: &Zoned, unit: Unit) -> Result<f64, Failure> {
    let between_ms =
        |a: &Zoned, b: &Zoned| (b.timestamp().as_millisecond() - a.timestamp().as_millisecond()) as f64;
    if let Some(length_ms) = unit.exact_ms() {
        return Ok(between_ms(from, to) / length_ms as f64);
    }
    // The anchors around `to`, counted from `from` in one step each: a month after 31 January, two months after it.
    let days = between_ms(from, to) / 86_400_000.0;
    let estimate = days
        / match unit {
            Unit::Year => 365.2425,
            Unit::Quarter => 91.310_625,
            Unit::Month => 30.436_875,
            Unit::Week => 7.0,
            _ => 1.0,
        };
    let anchor = |count: i64| from.checked_add(unit.span(count)).map_err(out_of_range);
    let mut count = estimate.floor() as i64;
    while anchor(count)?.timestamp() > to.timestamp() {
        count -= 1;
    }
    while anchor(count + 1)?.timestamp() <= to.timestamp() {
        count += 1;
    }
    let (below, above) = (anchor(count)?, anchor(count + 1)?);
    let fraction = between_ms(&below, to) / between_ms(&below, &above);
    Ok(count as f64 + fraction)
}
