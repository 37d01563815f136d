//! When a cron expression is due, in a time zone with its changes of the clock. Pure calculation: knows neither the
//! present nor deployments.
//!
//! Fixed hours follow the clock on the wall: a time that the clock skips is due once, right after the gap, and one
//! that it shows twice is due the first time only. With every hour (`*`) the expression means the passing of time, so
//! nothing is skipped and nothing left out.

use chrono::{
    DateTime, Datelike, MappedLocalTime, NaiveDate, NaiveDateTime, TimeDelta, TimeZone, Timelike, Utc,
};
use chrono_tz::Tz;
use croner::parser::{CronParser, Seconds, Year};
use croner::{Cron, Weekday};
use heddle_model::clock::Timestamp;
use std::time::Duration;

/// Bytes of an expression.
const CRON_BYTES_MAX: usize = 800;
/// How late a time is still on time.
const GRACE: Duration = Duration::from_secs(10);
/// How late a missed time is still caught up with.
const CATCH_UP_MAX: Duration = Duration::from_secs(60 * 60);
/// Largest value of each field; the seconds are there only with six fields.
const FIELDS_MAX: [u32; 6] = [59, 59, 23, 31, 12, 6];
/// Minutes of the longest gap that a clock has ever made.
const GAP_MINUTES_MAX: i64 = 24 * 60;
/// In 28 years without a left-out leap day, years and leap years begin on each day of the week: whatever days an expression can have are
/// in one of them.
const YEARS_OF_ALL_KINDS: (i32, i32) = (2000, 2028);

/// A cron expression in a time zone.
#[derive(Clone, Debug)]
pub struct Schedule {
    cron: Cron,
    zone: Tz,
    has_every_hour: bool,
    /// Whether it is known that there is no such time, for which the search would take long.
    never_comes: bool,
}

/// Why there is no schedule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleError {
    /// The expression can't be read.
    #[error("is not a cron expression of 5 or 6 fields: {0}")]
    Cron(String),
    /// There is no such time zone.
    #[error("is not an IANA time zone such as Europe/Berlin")]
    Zone,
}

/// What happens with times that were missed while the service was down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum CatchUp {
    /// One run for all of them, if the last is less than an hour late.
    #[default]
    One,
    None,
    /// One run for each.
    All,
}

impl CatchUp {
    /// The name in OnSchedule's parameter `catchUp`.
    pub const fn name(self) -> &'static str {
        match self {
            CatchUp::One => "one",
            CatchUp::None => "none",
            CatchUp::All => "all",
        }
    }

    /// What a name stands for; an unknown one is the default.
    pub fn named(name: &str) -> CatchUp {
        match name {
            "none" => CatchUp::None,
            "all" => CatchUp::All,
            _ => CatchUp::One,
        }
    }
}

/// Which times of a schedule have come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Due {
    /// Those that are to run, oldest first.
    pub times: Vec<Timestamp>,
    /// The first one after those.
    pub next: Option<Timestamp>,
}

impl Schedule {
    /// Reads an expression and the name of a zone.
    pub fn parse(cron: &str, zone: &str) -> Result<Schedule, ScheduleError> {
        let zone: Tz = zone.parse().map_err(|_| ScheduleError::Zone)?;
        if cron.len() > CRON_BYTES_MAX {
            return Err(ScheduleError::Cron(format!(
                "it has more than {CRON_BYTES_MAX} bytes"
            )));
        }
        let fields: Vec<&str> = cron.split_whitespace().collect();
        let (5 | 6) = fields.len() else {
            return Err(ScheduleError::Cron(format!("it has {}", fields.len())));
        };
        // The parser takes an empty list, which has no times: they would be looked for through thousands of years.
        if fields.iter().any(|field| field.split(',').any(str::is_empty)) {
            return Err(ScheduleError::Cron("a list has an empty entry".to_owned()));
        }
        // Before days of the week the parser takes it for "and": days that are of the month's as well, which may never come.
        if cron.contains('+') {
            return Err(ScheduleError::Cron("`+` has no meaning in a field".to_owned()));
        }
        let maxima = &FIELDS_MAX[6 - fields.len()..];
        let fields: Vec<String> = fields
            .iter()
            .zip(maxima)
            .map(|(field, max)| with_ranges(field, *max))
            .collect();
        let hours = fields.len() - 4;
        let parser = CronParser::builder()
            .seconds(Seconds::Optional)
            .year(Year::Disallowed)
            .build();
        let parsed = parser.parse(&fields.join(" "));
        let parsed = parsed.map_err(|error| ScheduleError::Cron(error.to_string()))?;
        Ok(Schedule {
            never_comes: heddle_compiler::never_comes(cron) || !has_days(&parsed),
            cron: parsed,
            zone,
            has_every_hour: fields
                .get(hours)
                .is_some_and(|field| matches!(field.as_str(), "*" | "*/1" | "0-23")),
        })
    }

    /// The first time after this one, which is at most 40 years away (a leap day on a certain day of the week, when a century leaves one
    /// out); none if the expression never fires.
    pub fn next_after(&self, time: Timestamp) -> Option<Timestamp> {
        if self.never_comes {
            return None;
        }
        let time = DateTime::<Utc>::from_timestamp_millis(time.millis())?;
        let next = match self.has_every_hour {
            true => self
                .cron
                .find_next_occurrence(&time.with_timezone(&self.zone), false)
                .ok()?
                .to_utc(),
            false => self.next_on_the_wall(time)?,
        };
        Some(Timestamp::from_millis(next.timestamp_millis()))
    }

    /// Looks for the next time that the clock on the wall shows, as if it never changed, and then for when that is.
    fn next_on_the_wall(&self, time: DateTime<Utc>) -> Option<DateTime<Utc>> {
        let mut shown = time.with_timezone(&self.zone).naive_local();
        loop {
            shown = self
                .cron
                .find_next_occurrence(&shown.and_utc(), false)
                .ok()?
                .naive_utc();
            let due = self.first_moment(shown)?;
            // Not so in the second of two equal hours, whose times were due in the first.
            if due > time {
                return Some(due);
            }
        }
    }

    /// When the clock first shows this time, or one after it.
    fn first_moment(&self, shown: NaiveDateTime) -> Option<DateTime<Utc>> {
        for minutes in 0..=GAP_MINUTES_MAX {
            // Gaps end at whole minutes.
            let shown = match minutes {
                0 => shown,
                _ => shown
                    .with_second(0)?
                    .checked_add_signed(TimeDelta::minutes(minutes))?,
            };
            match self.zone.from_local_datetime(&shown) {
                MappedLocalTime::Single(moment) | MappedLocalTime::Ambiguous(moment, _) => {
                    return Some(moment.to_utc());
                }
                MappedLocalTime::None => {}
            }
        }
        None
    }

    /// Which of the times from `first` have come by `now`, and which of them are to run: at most `count_max`.
    pub fn due(&self, first: Timestamp, now: Timestamp, catch_up: CatchUp, count_max: usize) -> Due {
        let start = match catch_up {
            CatchUp::All => Some(first),
            _ => self.first_from(first, now.minus(CATCH_UP_MAX)),
        };
        let mut times = Vec::new();
        let mut next = start;
        while let Some(time) = next.filter(|time| *time <= now) {
            if times.len() >= count_max && catch_up == CatchUp::All {
                break;
            }
            times.push(time);
            next = self.next_after(time);
        }
        if catch_up != CatchUp::All {
            let on_time = times.iter().filter(|time| time.plus(GRACE) >= now).count();
            let kept = match catch_up {
                CatchUp::One => on_time.max(1),
                _ => on_time,
            };
            times.drain(..times.len().saturating_sub(kept));
        }
        Due { times, next }
    }

    /// The first time from `first` that is after `late`.
    fn first_from(&self, first: Timestamp, late: Timestamp) -> Option<Timestamp> {
        if first > late {
            Some(first)
        } else {
            self.next_after(late)
        }
    }
}

/// Whether any day fits. The parser takes more than the compiler's check knows of, such as `30W` (the workday next to the 30th), which
/// no February has; and it would look for it through three thousand years.
fn has_days(cron: &Cron) -> bool {
    let pattern = &cron.pattern;
    let fits = |year: i32, month: u32, day: u32| {
        let date = NaiveDate::from_ymd_opt(year, month, day)?;
        let weekday = Weekday::from_days_from_sunday(date.weekday().num_days_from_sunday());
        pattern.day_match(year, month, day, weekday).ok()
    };
    let (first, end) = YEARS_OF_ALL_KINDS;
    let months = (1..=12).filter(|month| pattern.month_match(*month).unwrap_or(false));
    let months: Vec<u32> = months.collect();
    (first..end).any(|year| {
        let mut months = months.iter();
        months.any(|month| (1..=31).any(|day| fits(year, *month, day) == Some(true)))
    })
}

/// A number with a step, as in `5/15`, means from there to the field's end, and is written so for the parser.
fn with_ranges(field: &str, max: u32) -> String {
    let part = |part: &str| match part.split_once('/') {
        Some((from, step)) if !from.contains(['-', '*', '?']) => format!("{from}-{max}/{step}"),
        _ => part.to_owned(),
    };
    field.split(',').map(part).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests;
