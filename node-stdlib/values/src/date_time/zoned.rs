//! Date-times: an instant with the clock of a time zone, with Luxon's arithmetic.

use super::civil::{self, Civil};
use super::duration::Duration;
use super::invalid::Invalid;
use super::unit::{Field, Fields, Unit};
use super::zone::Zone;
use crate::TypeError;

/// Luxon's `DateTime`: with its clock, or the reason why there is none.
pub type DateTime = Result<Zoned, Invalid>;

/// A valid date-time.
#[derive(Clone, Debug)]
pub struct Zoned {
    /// Milliseconds since 1970; may have a fraction, which the clock does not show.
    pub(super) ms: f64,
    pub(super) zone: Zone,
    pub(super) offset_minutes: f64,
    pub(super) clock: Civil,
}

impl Zoned {
    /// The instant in a zone.
    pub fn new(ms: f64, zone: Zone) -> DateTime {
        let offset_minutes = zone.offset_minutes(ms);
        Zoned::with_offset(ms, zone, offset_minutes)
    }

    fn with_offset(ms: f64, zone: Zone, offset_minutes: f64) -> DateTime {
        let local_ms = civil::time_clip(ms + offset_minutes * 60_000.0);
        if local_ms.is_nan() {
            return Err(Invalid::input());
        }
        let clock = Civil::from_ms(local_ms);
        Ok(Zoned {
            ms,
            zone,
            offset_minutes,
            clock,
        })
    }

    /// What the clock of a zone shows. In a gap it is the time as long after the gap's beginning; of two the one
    /// with the guessed offset.
    pub(super) fn at(clock: Civil, zone: Zone, guess_minutes: f64) -> DateTime {
        let (ms, offset) = instant_of(clock.to_ms(), guess_minutes, &zone);
        Zoned::with_offset(ms, zone, offset)
    }

    /// `DateTime.local(year, month, …)`: what is not given is the least there is.
    pub(super) fn from_parts(parts: &[f64], zone: Zone, now_ms: f64) -> DateTime {
        let part = |at: usize, least: f64| parts.get(at).copied().unwrap_or(least);
        let Some(&year) = parts.first() else {
            return Zoned::new(now_ms, zone);
        };
        let clock = Civil {
            year,
            month: part(1, 1.0),
            day: part(2, 1.0),
            hour: part(3, 0.0),
            minute: part(4, 0.0),
            second: part(5, 0.0),
            millisecond: part(6, 0.0),
        };
        check_date(&clock)?;
        check_time(&clock)?;
        let guess = zone.offset_minutes(now_ms);
        Zoned::at(clock, zone, guess)
    }

    /// `DateTime.fromObject(fields, { zone })`: larger fields than the largest given are those of now, smaller ones
    /// the least there is. Fails when the fields contradict one another.
    pub(super) fn from_fields(
        fields: &Fields,
        zone: Zone,
        offset_minutes: Option<f64>,
        now_ms: f64,
    ) -> Result<DateTime, TypeError> {
        let guess = offset_minutes.unwrap_or_else(|| zone.offset_minutes(now_ms));
        let form = Form::of(fields)?;
        let current = civil::time_clip(now_ms + guess * 60_000.0);
        if current.is_nan() {
            return Ok(Err(Invalid::input()));
        }
        let current = Civil::from_ms(current);
        let week = current.week();
        let mut given = false;
        let mut next = |field: Field, now: f64, least: f64| match get(fields, field) {
            Some(value) => {
                given = true;
                value
            }
            None if given => least,
            None => now,
        };
        let (year, second, day) = match form {
            Form::Week => (
                next(Field::WeekYear, week.0, 1970.0),
                next(Field::WeekNumber, week.1, 1.0),
                next(Field::Weekday, current.weekday(), 1.0),
            ),
            Form::Ordinal => {
                let year = next(Field::Year, current.year, 1970.0);
                (year, next(Field::Ordinal, current.ordinal(), 1.0), 1.0)
            }
            Form::Gregorian => (
                next(Field::Year, current.year, 1970.0),
                next(Field::Month, current.month, 1.0),
                next(Field::Day, current.day, 1.0),
            ),
        };
        let clock = Civil {
            year,
            month: second,
            day,
            hour: next(Field::Hour, current.hour, 0.0),
            minute: next(Field::Minute, current.minute, 0.0),
            second: next(Field::Second, current.second, 0.0),
            millisecond: next(Field::Millisecond, current.millisecond, 0.0),
        };
        let made = form.date(year, second, day).and_then(|date| {
            check_time(&clock)?;
            Zoned::at(clock.on(date), zone, guess)
        });
        Ok(made.and_then(|made| match get(fields, Field::Weekday) {
            Some(weekday)
                if form == Form::Gregorian && has_gregorian(fields) && weekday != made.clock.weekday() =>
            {
                let iso = made.to_iso();
                Err(Invalid::new(
                    "mismatched weekday",
                    format!("you can't specify both a weekday of {weekday} and a date of {iso}"),
                ))
            }
            _ => Ok(made),
        }))
    }

    /// Milliseconds since 1970.
    pub fn ms(&self) -> f64 {
        self.ms
    }

    /// The date-time at another instant.
    fn moved(&self, ms: f64) -> DateTime {
        Zoned::new(ms, self.zone.clone())
    }

    /// The date-time later by a duration: years to days by the calendar, the rest by the time that passes.
    pub fn plus(&self, duration: &Duration) -> DateTime {
        if !duration.is_valid() {
            return Err(Invalid::input());
        }
        let whole = |unit: Unit| duration.get(unit).trunc();
        let year = self.clock.year + whole(Unit::Years);
        let month = self.clock.month + whole(Unit::Months) + whole(Unit::Quarters) * 3.0;
        let day = last_day_or(self.clock.day, civil::days_in_month(year, month));
        let day = day + whole(Unit::Days) + whole(Unit::Weeks) * 7.0;
        let clock = Civil {
            year,
            month,
            day,
            ..self.clock
        };
        let exact = Unit::ALL.into_iter().map(|unit| {
            let amount = duration.get(unit);
            (
                unit,
                if unit <= Unit::Days {
                    amount - amount.trunc()
                } else {
                    amount
                },
            )
        });
        let exact_ms = Duration::new(exact.collect()).to_ms();
        let (ms, _) = instant_of(clock.to_ms(), self.offset_minutes, &self.zone);
        self.moved(ms + exact_ms)
    }

    /// The date-time earlier by a duration.
    pub fn minus(&self, duration: &Duration) -> DateTime {
        self.plus(&duration.negate())
    }

    /// The date-time with other fields, of which no one checks whether they are within their range.
    pub(super) fn set(&self, fields: &Fields) -> Result<DateTime, TypeError> {
        Form::check(fields)?;
        let own = |field: Field, own: f64| get(fields, field).unwrap_or(own);
        let weekly = [Field::WeekYear, Field::WeekNumber, Field::Weekday];
        let mut clock = self.clock;
        if weekly.iter().any(|field| get(fields, *field).is_some()) {
            let (year, week) = clock.week();
            clock = clock.on(civil::date_of_week(
                own(Field::WeekYear, year),
                own(Field::WeekNumber, week),
                own(Field::Weekday, clock.weekday()),
            ));
        } else if let Some(ordinal) = get(fields, Field::Ordinal) {
            clock = clock.on(civil::date_of_ordinal(own(Field::Year, clock.year), ordinal));
        } else {
            clock.year = own(Field::Year, clock.year);
            clock.month = own(Field::Month, clock.month);
            clock.day = match get(fields, Field::Day) {
                Some(day) => day,
                None => last_day_or(clock.day, civil::days_in_month(clock.year, clock.month)),
            };
        }
        clock.hour = own(Field::Hour, clock.hour);
        clock.minute = own(Field::Minute, clock.minute);
        clock.second = own(Field::Second, clock.second);
        clock.millisecond = own(Field::Millisecond, clock.millisecond);
        Ok(Zoned::at(clock, self.zone.clone(), self.offset_minutes))
    }

    /// The first instant of the unit around the date-time.
    pub fn start_of(&self, unit: Unit) -> DateTime {
        let mut clock = self.clock;
        if unit == Unit::Milliseconds {
            // Only the fraction that the clock does not show goes.
            return Zoned::at(clock, self.zone.clone(), self.offset_minutes);
        }
        match unit {
            Unit::Years => (clock.month, clock.day) = (1.0, 1.0),
            Unit::Quarters => {
                clock.month = ((clock.month - 1.0) / 3.0).floor() * 3.0 + 1.0;
                clock.day = 1.0;
            }
            Unit::Months => clock.day = 1.0,
            Unit::Weeks => {
                let (year, week) = clock.week();
                clock = clock.on(civil::date_of_week(year, week, 1.0));
            }
            _ => {}
        }
        clock.millisecond = 0.0;
        if unit <= Unit::Minutes {
            clock.second = 0.0;
        }
        if unit <= Unit::Hours {
            clock.minute = 0.0;
        }
        if unit <= Unit::Days {
            clock.hour = 0.0;
        }
        Zoned::at(clock, self.zone.clone(), self.offset_minutes)
    }

    /// The last millisecond of the unit around the date-time.
    pub fn end_of(&self, unit: Unit) -> DateTime {
        let start = self.plus(&Duration::of(1.0, unit))?.start_of(unit)?;
        start.plus(&Duration::of(-1.0, Unit::Milliseconds))
    }

    /// The same instant, or the same time on the clock, in another zone.
    pub(super) fn in_zone(&self, zone: Zone, keep_clock: bool) -> DateTime {
        if zone == self.zone {
            return Ok(self.clone());
        }
        match keep_clock {
            true => {
                let guess = zone.offset_minutes(self.ms);
                Zoned::at(self.clock, zone, guess)
            }
            false => Zoned::new(self.ms, zone),
        }
    }

    /// Whether the zone has summer time now.
    pub(super) fn is_summer_time(&self) -> bool {
        let offset_in = |fields: Fields| match self.set(&fields) {
            Ok(Ok(other)) => other.offset_minutes,
            _ => f64::NAN,
        };
        !self.zone.is_fixed()
            && (self.offset_minutes > offset_in(vec![(Field::Month, 1.0), (Field::Day, 1.0)])
                || self.offset_minutes > offset_in(vec![(Field::Month, 5.0)]))
    }

    pub(super) fn quarter(&self) -> f64 {
        (self.clock.month / 3.0).ceil()
    }
}

/// The instant at which a zone's clock shows a local time, and the offset then.
fn instant_of(local_ms: f64, guess_minutes: f64, zone: &Zone) -> (f64, f64) {
    let guess_ms = local_ms - guess_minutes * 60_000.0;
    let second = zone.offset_minutes(guess_ms);
    if second == guess_minutes {
        return (guess_ms, second);
    }
    let corrected_ms = guess_ms - (second - guess_minutes) * 60_000.0;
    let third = zone.offset_minutes(corrected_ms);
    if second == third {
        return (corrected_ms, second);
    }
    // In a gap.
    (local_ms - second.min(third) * 60_000.0, second.max(third))
}

/// The day, or the month's last one if that is earlier; NaN if there is no such month.
fn last_day_or(day: f64, last_day: f64) -> f64 {
    match last_day.is_nan() {
        true => last_day,
        false => day.min(last_day),
    }
}

/// What kind of date the fields make.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    Gregorian,
    Week,
    Ordinal,
}

impl Form {
    fn check(fields: &Fields) -> Result<(), TypeError> {
        let has = |field: Field| get(fields, field).is_some();
        let ordinal = has(Field::Ordinal);
        if (has_gregorian(fields) || ordinal) && is_definite_week(fields) {
            let message = "Can't mix weekYear/weekNumber units with year/month/day or ordinals";
            return Err(TypeError(message.into()));
        }
        if (has(Field::Month) || has(Field::Day)) && ordinal {
            return Err(TypeError("Can't mix ordinal dates with month/day".into()));
        }
        Ok(())
    }

    fn of(fields: &Fields) -> Result<Self, TypeError> {
        Form::check(fields)?;
        let weekday = get(fields, Field::Weekday).is_some_and(|weekday| weekday != 0.0);
        Ok(
            if is_definite_week(fields) || (weekday && !has_gregorian(fields)) {
                Form::Week
            } else if get(fields, Field::Ordinal).is_some() {
                Form::Ordinal
            } else {
                Form::Gregorian
            },
        )
    }

    /// Year, month and day of the form's three fields.
    fn date(self, year: f64, second: f64, third: f64) -> Result<(f64, f64, f64), Invalid> {
        match self {
            Form::Gregorian => {
                check_integer("year", year)?;
                check_range("month", second, 1.0, 12.0)?;
                check_range("day", third, 1.0, civil::days_in_month(year, second))?;
                Ok((year, second, third))
            }
            Form::Week => {
                check_integer("weekYear", year)?;
                check_range("week", second, 1.0, civil::weeks_in_year(year))?;
                check_range("weekday", third, 1.0, 7.0)?;
                Ok(civil::date_of_week(year, second, third))
            }
            Form::Ordinal => {
                check_integer("year", year)?;
                check_range("ordinal", second, 1.0, civil::days_in_year(year))?;
                Ok(civil::date_of_ordinal(year, second))
            }
        }
    }
}

fn get(fields: &Fields, field: Field) -> Option<f64> {
    fields
        .iter()
        .rev()
        .find(|(own, _)| *own == field)
        .map(|(_, value)| *value)
}

fn has_gregorian(fields: &Fields) -> bool {
    let gregorian = [Field::Year, Field::Month, Field::Day];
    gregorian.iter().any(|field| get(fields, *field).is_some())
}

fn is_definite_week(fields: &Fields) -> bool {
    let week = [Field::WeekYear, Field::WeekNumber];
    week.iter()
        .any(|field| get(fields, *field).is_some_and(|value| value != 0.0))
}

fn check_date(clock: &Civil) -> Result<(), Invalid> {
    Form::Gregorian
        .date(clock.year, clock.month, clock.day)
        .map(|_| ())
}

fn check_time(clock: &Civil) -> Result<(), Invalid> {
    let midnight =
        clock.hour == 24.0 && clock.minute == 0.0 && clock.second == 0.0 && clock.millisecond == 0.0;
    if !midnight {
        check_range("hour", clock.hour, 0.0, 23.0)?;
    }
    check_range("minute", clock.minute, 0.0, 59.0)?;
    check_range("second", clock.second, 0.0, 59.0)?;
    check_range("millisecond", clock.millisecond, 0.0, 999.0)
}

fn check_integer(unit: &str, value: f64) -> Result<(), Invalid> {
    match value.fract() == 0.0 {
        true => Ok(()),
        false => Err(Invalid::out_of_range(unit, value)),
    }
}

fn check_range(unit: &str, value: f64, least: f64, most: f64) -> Result<(), Invalid> {
    match value.fract() == 0.0 && value >= least && value <= most {
        true => Ok(()),
        false => Err(Invalid::out_of_range(unit, value)),
    }
}
