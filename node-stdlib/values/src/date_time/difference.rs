//! What lies between two date-times.

use super::duration::Duration;
use super::unit::Unit;
use super::zoned::{DateTime, Zoned};
use super::{civil, digits::js_round, invalid::Invalid};
use crate::number_to_text;

/// From `earlier` to `later` in units, by the calendar from days on; negative when it is the other way round. The
/// smallest unit has a fraction.
pub(super) fn between(from: &DateTime, to: &DateTime, units: &[Unit], accurate: bool) -> Duration {
    let (Ok(from), Ok(to)) = (from, to) else {
        return invalid();
    };
    let reversed = from.ms > to.ms;
    let (earlier, later) = if reversed { (to, from) } else { (from, to) };
    let Ok(mut duration) = ascending(earlier, later, units, accurate) else {
        return invalid();
    };
    duration.accurate = accurate;
    if reversed { duration.negate() } else { duration }
}

/// How many units lie between two date-times, with a fraction; negative when `to` is the earlier one.
pub fn difference(from: &Zoned, to: &Zoned, unit: Unit) -> f64 {
    between(&Ok(from.clone()), &Ok(to.clone()), &[unit], false).get(unit)
}

fn invalid() -> Duration {
    Duration::invalid(Invalid::new(
        "created by diffing an invalid DateTime",
        String::new(),
    ))
}

fn ascending(earlier: &Zoned, later: &Zoned, units: &[Unit], accurate: bool) -> Result<Duration, Invalid> {
    let mut results = Duration::new(Vec::new());
    let mut cursor = earlier.clone();
    let mut high_water: Option<Zoned> = None;
    let mut lowest = None;
    let calendar = [Unit::Years, Unit::Quarters, Unit::Months, Unit::Weeks, Unit::Days];
    for unit in calendar.into_iter().filter(|unit| units.contains(unit)) {
        lowest = Some(unit);
        results.set(unit, rough_difference(&cursor, later, unit));
        let mut water = earlier.plus(&results)?;
        if water.ms > later.ms {
            // Too far: back by one, and by another where the clock has gone back meanwhile.
            results.set(unit, results.get(unit) - 1.0);
            cursor = earlier.plus(&results)?;
            if cursor.ms > later.ms {
                water = cursor;
                results.set(unit, results.get(unit) - 1.0);
                cursor = earlier.plus(&results)?;
            }
        } else {
            cursor = water.clone();
        }
        high_water = Some(water);
    }
    let remaining_ms = later.ms - cursor.ms;
    let exact: Vec<Unit> = units.iter().copied().filter(|unit| *unit > Unit::Days).collect();
    if !exact.is_empty() {
        let mut rest = Duration::of(remaining_ms, Unit::Milliseconds);
        rest.accurate = accurate;
        return Ok(rest.shift_to(&exact).plus(&results));
    }
    if let (Some(lowest), Some(mut water)) = (lowest, high_water) {
        if water.ms < later.ms {
            water = cursor.plus(&Duration::of(1.0, lowest))?;
        }
        let length_ms = water.ms - cursor.ms;
        if length_ms != 0.0 {
            results.set(lowest, results.get(lowest) + remaining_ms / length_ms);
        }
    }
    Ok(results)
}

/// The difference of what the clocks show, at most one too many.
fn rough_difference(a: &Zoned, b: &Zoned, unit: Unit) -> f64 {
    let years = b.clock.year - a.clock.year;
    let days = || {
        let day = |zoned: &Zoned| civil::day_of_date(zoned.clock.year, zoned.clock.month, zoned.clock.day);
        day(b) - day(a)
    };
    match unit {
        Unit::Years => years,
        Unit::Quarters => b.quarter() - a.quarter() + years * 4.0,
        Unit::Months => b.clock.month - a.clock.month + years * 12.0,
        Unit::Weeks => (days() / 7.0).trunc(),
        _ => days(),
    }
}

/// Whether both lie in the same unit, by the clock of the first in the zone of the other.
pub(super) fn have_same(a: &Zoned, b: &DateTime, unit: Unit) -> bool {
    let Ok(b) = b else { return false };
    let Ok(moved) = a.in_zone(b.zone.clone(), true) else {
        return false;
    };
    match (moved.start_of(unit), moved.end_of(unit)) {
        (Ok(start), Ok(end)) => start.ms <= b.ms && b.ms <= end.ms,
        _ => false,
    }
}

/// How a relative time is written.
pub(super) struct Relative {
    /// The units to choose from, from the largest.
    pub(super) units: Vec<Unit>,
    /// The first of the units, even when it is less than one of it.
    pub(super) only_first: bool,
    /// By what the calendar says (`tomorrow`) instead of by the time between.
    pub(super) calendar: bool,
    /// `hr.` instead of `hours`.
    pub(super) short: bool,
    /// Two decimals instead of whole numbers.
    pub(super) decimals: bool,
}

/// `in 2 days`, `3 hours ago`, …: where `date_time` lies as seen from `base`.
pub(super) fn relative(date_time: &Zoned, base: &Zoned, how: &Relative) -> String {
    let round = |count: f64| match (how.calendar, how.decimals) {
        (true, _) => js_round(count),
        (false, true) => (count * 100.0).trunc() / 100.0,
        (false, false) => count.trunc(),
    };
    let difference = |unit: Unit| {
        let (from, to) = match how.calendar {
            true if have_same(date_time, &Ok(base.clone()), unit) => return 0.0,
            true => (base.start_of(unit), date_time.start_of(unit)),
            false => (Ok(base.clone()), Ok(date_time.clone())),
        };
        between(&from, &to, &[unit], false).get(unit)
    };
    let mut last = Unit::Seconds;
    for unit in &how.units {
        let count = difference(*unit);
        if how.only_first || count.abs() >= 1.0 {
            return relative_text(*unit, round(count), how);
        }
        last = *unit;
    }
    let nothing = if base.ms > date_time.ms { -0.0 } else { 0.0 };
    relative_text(last, nothing, how)
}

fn relative_text(unit: Unit, count: f64, how: &Relative) -> String {
    if how.calendar && unit < Unit::Hours {
        let name = unit.singular();
        match (count, unit) {
            (1.0, Unit::Days) => return "tomorrow".into(),
            (-1.0, Unit::Days) => return "yesterday".into(),
            (0.0, Unit::Days) => return "today".into(),
            (1.0, _) => return format!("next {name}"),
            (-1.0, _) => return format!("last {name}"),
            (0.0, _) => return format!("this {name}"),
            _ => {}
        }
    }
    let one = count.abs() == 1.0;
    let name = match (how.short, unit) {
        (true, Unit::Years) => "yr.",
        (true, Unit::Quarters) => "qtr.",
        (true, Unit::Months) => "mo.",
        (true, Unit::Weeks) => "wk.",
        (true, Unit::Hours) => "hr.",
        (true, Unit::Minutes) => "min.",
        (true, Unit::Seconds) => "sec.",
        _ if one => unit.singular(),
        _ => unit.name(),
    };
    let amount = number_to_text(count.abs());
    match count.is_sign_negative() {
        true => format!("{amount} {name} ago"),
        false => format!("in {amount} {name}"),
    }
}
