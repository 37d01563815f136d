//! JavaScript's `Date`, local time being UTC.
//!
//! Source: ECMAScript 2025, section 21.4.

use super::civil::{Civil, time_clip};
use super::locale::{self, Options, Wanted};
use super::names::{MONTHS_SHORT, WEEKDAYS_SHORT, name};
use super::write::IsoOptions;
use super::zone::Zone;
use super::zoned::Zoned;
use super::{TypeError, padded};
use crate::value::{Object, Value, ops};
use std::cell::Cell;

/// A `Date`. All who hold it see what its setters do.
#[derive(Clone, Debug)]
pub struct Date(Cell<f64>);

/// What a getter or setter is about, in the order of the setters' arguments.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    FullYear,
    Month,
    Date,
    Hours,
    Minutes,
    Seconds,
    Milliseconds,
}

impl Date {
    /// The date of a time value.
    pub fn new(ms: f64) -> Self {
        Date(Cell::new(time_clip(ms)))
    }

    /// Milliseconds since 1970, NaN when it is invalid.
    pub fn ms(&self) -> f64 {
        self.0.get()
    }

    fn civil(&self) -> Option<Civil> {
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

    fn text(&self, write: impl FnOnce(&Civil) -> String) -> String {
        self.civil()
            .map_or_else(|| "Invalid Date".into(), |civil| write(&civil))
    }

    /// `date.method(…)`; `None` when there is no such method.
    pub(super) fn call(&self, method: &str, arguments: &[Value]) -> Option<Result<Value, TypeError>> {
        let argument = |at: usize| arguments.get(at).unwrap_or(&Value::Undefined);
        Some(match method {
            "getTime" | "valueOf" => Ok(self.ms().into()),
            "getTimezoneOffset" => Ok(self.read(|_| 0.0)),
            "getDay" | "getUTCDay" => Ok(self.read(|civil| civil.weekday() % 7.0)),
            "getYear" => Ok(self.read(|civil| civil.year - 1900.0)),
            "setTime" => ops::to_number(argument(0)).map(|ms| {
                self.0.set(time_clip(ms));
                self.ms().into()
            }),
            "toISOString" => self
                .to_iso()
                .map(Value::from)
                .ok_or_else(|| TypeError("Invalid time value: the Date is invalid".into())),
            "toJSON" => Ok(super::text_of(self.to_iso())),
            "toString" => Ok(self.to_text().into()),
            "toDateString" => Ok(self.text(date_text).into()),
            "toTimeString" => Ok(self.text(time_text).into()),
            "toUTCString" | "toGMTString" => Ok(self.text(utc_text).into()),
            "toLocaleString" => self.to_locale(argument(0), argument(1), Wanted::Both),
            "toLocaleDateString" => self.to_locale(argument(0), argument(1), Wanted::Date),
            "toLocaleTimeString" => self.to_locale(argument(0), argument(1), Wanted::Time),
            _ => {
                let (setter, part) = part(method)?;
                match setter {
                    true => self.set(part, arguments),
                    false => Ok(self.read(|civil| part.of(civil))),
                }
            }
        })
    }

    fn read(&self, read: impl FnOnce(&Civil) -> f64) -> Value {
        self.civil().map_or(f64::NAN, |civil| read(&civil)).into()
    }

    fn set(&self, part: Part, arguments: &[Value]) -> Result<Value, TypeError> {
        let numbers: Vec<f64> = arguments.iter().map(ops::to_number).collect::<Result<_, _>>()?;
        let numbers = if numbers.is_empty() {
            vec![f64::NAN]
        } else {
            numbers
        };
        let current = match self.civil() {
            None if part == Part::FullYear => Some(Civil::from_ms(0.0)),
            current => current,
        };
        if let Some(mut civil) = current {
            let parts = [
                Part::FullYear,
                Part::Month,
                Part::Date,
                Part::Hours,
                Part::Minutes,
                Part::Seconds,
                Part::Milliseconds,
            ];
            let last = if part <= Part::Date {
                Part::Date
            } else {
                Part::Milliseconds
            };
            let settable = parts.into_iter().filter(|each| (part..=last).contains(each));
            for (each, number) in settable.zip(numbers) {
                *each.of_mut(&mut civil) = if each == Part::Month { number + 1.0 } else { number };
            }
            self.0.set(civil.to_ms());
        }
        Ok(self.ms().into())
    }

    fn to_locale(&self, locale: &Value, options: &Value, wanted: Wanted) -> Result<Value, TypeError> {
        let object: Option<&Object> = match options {
            Value::Object(object) => Some(object),
            _ => None,
        };
        let options = Options::read(object, locale, wanted)?;
        match Zoned::new(self.ms(), Zone::iana("Etc/UTC").unwrap_or(Zone::UTC)) {
            Ok(zoned) => locale::write(&zoned, &options).map(Value::from),
            Err(_) => Ok("Invalid Date".into()),
        }
    }
}

impl Part {
    fn of(self, civil: &Civil) -> f64 {
        match self {
            Part::FullYear => civil.year,
            Part::Month => civil.month - 1.0,
            Part::Date => civil.day,
            Part::Hours => civil.hour,
            Part::Minutes => civil.minute,
            Part::Seconds => civil.second,
            Part::Milliseconds => civil.millisecond,
        }
    }

    fn of_mut(self, civil: &mut Civil) -> &mut f64 {
        match self {
            Part::FullYear => &mut civil.year,
            Part::Month => &mut civil.month,
            Part::Date => &mut civil.day,
            Part::Hours => &mut civil.hour,
            Part::Minutes => &mut civil.minute,
            Part::Seconds => &mut civil.second,
            Part::Milliseconds => &mut civil.millisecond,
        }
    }
}

/// Whether a method is a setter, and of what.
fn part(method: &str) -> Option<(bool, Part)> {
    let (verb, name) = method.split_at_checked(3)?;
    let part = match name.strip_prefix("UTC").unwrap_or(name) {
        "FullYear" => Part::FullYear,
        "Month" => Part::Month,
        "Date" => Part::Date,
        "Hours" => Part::Hours,
        "Minutes" => Part::Minutes,
        "Seconds" => Part::Seconds,
        "Milliseconds" => Part::Milliseconds,
        _ => return None,
    };
    match verb {
        "get" => Some((false, part)),
        "set" => Some((true, part)),
        _ => None,
    }
}

/// `Sat Nov 21 2026`
fn date_text(civil: &Civil) -> String {
    let (weekday, month) = names(civil);
    format!("{weekday} {month} {:02} {}", civil.day, padded(civil.year, 4))
}

/// `10:24:00 GMT+0000 (Coordinated Universal Time)`
fn time_text(civil: &Civil) -> String {
    let Civil {
        hour, minute, second, ..
    } = civil;
    format!("{hour:02}:{minute:02}:{second:02} GMT+0000 (Coordinated Universal Time)")
}

/// `Sat, 21 Nov 2026 10:24:00 GMT`
fn utc_text(civil: &Civil) -> String {
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
