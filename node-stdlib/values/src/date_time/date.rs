//! JavaScript's `Date`, local time being UTC.
//!
//! Source: ECMAScript 2025, section 21.4.

use super::civil::{Civil, time_clip};
use super::digits::padded;
use super::names::{MONTHS_SHORT, WEEKDAYS_SHORT, name};
use super::write::IsoOptions;
use super::zone::Zone;
use super::zoned::Zoned;
use std::cell::Cell;

/// A `Date`. All who hold it see what its setters do.
#[derive(Clone, Debug)]
pub struct Date(Cell<f64>);

impl Date {
    /// The date of a time value.
    pub fn new(ms: f64) -> Self {
        Date(Cell::new(time_clip(ms)))
    }

    /// Milliseconds since 1970, NaN when it is invalid.
    pub fn ms(&self) -> f64 {
        self.0.get()
    }

    /// Makes it another time, for all who hold it.
    pub(super) fn set_ms(&self, ms: f64) {
        self.0.set(ms);
    }

    pub(super) fn civil(&self) -> Option<Civil> {
        let ms = self.ms();
        (!ms.is_nan()).then(|| Civil::from_ms(ms))
    }

    fn zoned(&self) -> Option<Zoned> {
        Zoned::new(self.ms(), Zone::UTC).ok()
    }

    /// `2026-11-21T10:24:00.000Z`
    pub(super) fn to_iso(&self) -> Option<String> {
        self.zoned()
            .map(|zoned| zoned.to_iso_with(&IsoOptions::default()))
    }

    /// `Sat Nov 21 2026 10:24:00 GMT+0000 (Coordinated Universal Time)`
    pub(super) fn to_text(&self) -> String {
        self.text(|civil| format!("{} {}", date_text(civil), time_text(civil)))
    }

    pub(super) fn text(&self, write: impl FnOnce(&Civil) -> String) -> String {
        self.civil()
            .map_or_else(|| "Invalid Date".into(), |civil| write(&civil))
    }
}

/// `Sat Nov 21 2026`
pub(super) fn date_text(civil: &Civil) -> String {
    let (weekday, month) = names(civil);
    format!("{weekday} {month} {:02} {}", civil.day, padded(civil.year, 4))
}

/// `10:24:00 GMT+0000 (Coordinated Universal Time)`
pub(super) fn time_text(civil: &Civil) -> String {
    let Civil {
        hour, minute, second, ..
    } = civil;
    format!("{hour:02}:{minute:02}:{second:02} GMT+0000 (Coordinated Universal Time)")
}

/// `Sat, 21 Nov 2026 10:24:00 GMT`
pub(super) fn utc_text(civil: &Civil) -> String {
    let (weekday, month) = names(civil);
    let Civil {
        day,
        hour,
        minute,
        second,
        ..
    } = civil;
    let year = padded(civil.year, 4);
    format!("{weekday}, {day:02} {month} {year} {hour:02}:{minute:02}:{second:02} GMT")
}

fn names(civil: &Civil) -> (&'static str, &'static str) {
    (
        name(&WEEKDAYS_SHORT, civil.weekday()),
        name(&MONTHS_SHORT, civil.month),
    )
}
