//! Methods of `Date`.

use super::arguments::text_of;
use super::civil::{Civil, time_clip};
use super::date::{Date, date_text, time_text, utc_text};
use super::locale::Wanted;
use super::locale_options;
use crate::{TypeError, Value, ops};

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

/// `date.method(…)`; `None` when there is no such method.
pub(super) fn call(date: &Date, method: &str, arguments: &[Value]) -> Option<Result<Value, TypeError>> {
    let argument = |at: usize| arguments.get(at).unwrap_or(&Value::Undefined);
    Some(match method {
        "getTime" | "valueOf" => Ok(date.ms().into()),
        "getTimezoneOffset" => Ok(read(date, |_| 0.0)),
        "getDay" | "getUTCDay" => Ok(read(date, |civil| civil.weekday() % 7.0)),
        "getYear" => Ok(read(date, |civil| civil.year - 1900.0)),
        "setTime" => ops::to_number(argument(0)).map(|ms| {
            date.set_ms(time_clip(ms));
            date.ms().into()
        }),
        "toISOString" => date
            .to_iso()
            .map(Value::from)
            .ok_or_else(|| TypeError("Invalid time value: the Date is invalid".into())),
        "toJSON" => Ok(text_of(date.to_iso())),
        "toString" => Ok(date.to_text().into()),
        "toDateString" => Ok(date.text(date_text).into()),
        "toTimeString" => Ok(date.text(time_text).into()),
        "toUTCString" | "toGMTString" => Ok(date.text(utc_text).into()),
        "toLocaleString" => to_locale(date, argument(0), argument(1), Wanted::Both),
        "toLocaleDateString" => to_locale(date, argument(0), argument(1), Wanted::Date),
        "toLocaleTimeString" => to_locale(date, argument(0), argument(1), Wanted::Time),
        _ => {
            let (setter, part) = part(method)?;
            match setter {
                true => set(date, part, arguments),
                false => Ok(read(date, |civil| part.of(civil))),
            }
        }
    })
}

fn read(date: &Date, read: impl FnOnce(&Civil) -> f64) -> Value {
    date.civil().map_or(f64::NAN, |civil| read(&civil)).into()
}

fn set(date: &Date, part: Part, arguments: &[Value]) -> Result<Value, TypeError> {
    let numbers: Vec<f64> = arguments.iter().map(ops::to_number).collect::<Result<_, _>>()?;
    let numbers = if numbers.is_empty() {
        vec![f64::NAN]
    } else {
        numbers
    };
    let current = match date.civil() {
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
        date.set_ms(civil.to_ms());
    }
    Ok(date.ms().into())
}

fn to_locale(date: &Date, locale: &Value, options: &Value, wanted: Wanted) -> Result<Value, TypeError> {
    locale_options::for_people(date.ms(), locale, options, wanted, false).map(Value::from)
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
