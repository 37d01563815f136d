//! Formats: Luxon's tokens in English.

use super::digits::{js_round, padded};
use super::format::pieces;
use super::locale::{self, Options};
use super::names::{MONTHS, MONTHS_SHORT, WEEKDAYS, WEEKDAYS_SHORT, name, narrow};
use super::zone::{OffsetForm, Zone, offset_text};
use super::zoned::Zoned;
use crate::{number_to_text, text_to_number};

/// The date-time in a format.
pub(super) fn write(zoned: &Zoned, format: &str) -> String {
    write_with(zoned, format, false)
}

/// The same; with `allow_z`, an offset of zero is `Z`.
pub(super) fn write_with(zoned: &Zoned, format: &str, allow_z: bool) -> String {
    let mut text = String::new();
    for piece in pieces(format) {
        match piece.literal {
            true => text.push_str(&piece.text),
            false => match token(zoned, &piece.text, allow_z) {
                Some(written) => text.push_str(&written),
                None => text.push_str(&piece.text),
            },
        }
    }
    text
}

/// The first token of a format that means nothing.
pub(super) fn unknown(format: &str) -> Option<String> {
    let any = Zoned::new(0.0, Zone::UTC).ok()?;
    let is_unknown = |text: &str| {
        text.starts_with(|first: char| first.is_ascii_alphabetic()) && token(&any, text, false).is_none()
    };
    pieces(format)
        .into_iter()
        .find(|piece| !piece.literal && is_unknown(&piece.text))
        .map(|piece| piece.text)
}

fn token(zoned: &Zoned, token: &str, allow_z: bool) -> Option<String> {
    let clock = &zoned.clock;
    Some(match token {
        "S" => number(clock.millisecond, 0),
        "u" | "SSS" => number(clock.millisecond, 3),
        "uu" => number((clock.millisecond / 10.0).floor(), 2),
        "uuu" => number((clock.millisecond / 100.0).floor(), 0),
        "s" | "ss" => number(clock.second, token.len()),
        "m" | "mm" => number(clock.minute, token.len()),
        "h" | "hh" => number((clock.hour + 11.0) % 12.0 + 1.0, token.len()),
        "H" | "HH" => number(clock.hour, token.len()),
        "Z" | "ZZ" | "ZZZ" => {
            if allow_z && zoned.zone.is_fixed() && zoned.offset_minutes == 0.0 {
                return Some("Z".into());
            }
            let form = match token {
                "Z" => OffsetForm::Narrow,
                "ZZ" => OffsetForm::Short,
                _ => OffsetForm::Techie,
            };
            offset_text(zoned.offset_minutes, form)
        }
        "ZZZZ" => zoned.zone.short_name(zoned.ms),
        "ZZZZZ" => zoned.zone.long_name(zoned.ms),
        "z" => zoned.zone.name(),
        "a" => if clock.hour < 12.0 { "AM" } else { "PM" }.into(),
        "d" | "dd" => number(clock.day, token.len()),
        "c" | "E" => number(clock.weekday(), 0),
        "ccc" | "EEE" => name(&WEEKDAYS_SHORT, clock.weekday()).into(),
        "cccc" | "EEEE" => name(&WEEKDAYS, clock.weekday()).into(),
        "ccccc" | "EEEEE" => narrow(name(&WEEKDAYS, clock.weekday())).into(),
        "L" | "M" | "LL" | "MM" => number(clock.month, token.len()),
        "LLL" | "MMM" => name(&MONTHS_SHORT, clock.month).into(),
        "LLLL" | "MMMM" => name(&MONTHS, clock.month).into(),
        "LLLLL" | "MMMMM" => narrow(name(&MONTHS, clock.month)).into(),
        "y" => number(clock.year, 0),
        "yy" => last_two(clock.year),
        "yyyy" | "yyyyyy" => number(clock.year, token.len()),
        "G" => if clock.year < 0.0 { "BC" } else { "AD" }.into(),
        "GG" => if clock.year < 0.0 {
            "Before Christ"
        } else {
            "Anno Domini"
        }
        .into(),
        "GGGGG" => if clock.year < 0.0 { "B" } else { "A" }.into(),
        "kk" => last_two(clock.week().0),
        "kkkk" => number(clock.week().0, 4),
        "W" | "WW" => number(clock.week().1, token.len()),
        "n" | "nn" => number(clock.week_by(1.0, 7.0).1, token.len()),
        "ii" => last_two(clock.week_by(1.0, 7.0).0),
        "iiii" => number(clock.week_by(1.0, 7.0).0, 4),
        "o" | "ooo" => number(clock.ordinal(), token.len()),
        "q" | "qq" => number(zoned.quarter(), token.len()),
        "X" => number((zoned.ms / 1000.0).floor(), 0),
        "x" => number(zoned.ms, 0),
        _ => locale::write(zoned, &Options::of_preset(macro_preset(token)?)),
    })
}

/// The preset that a token such as `DDD` stands for.
pub(super) fn macro_preset(token: &str) -> Option<&'static str> {
    Some(match token {
        "D" => "DATE_SHORT",
        "DD" => "DATE_MED",
        "DDD" => "DATE_FULL",
        "DDDD" => "DATE_HUGE",
        "t" => "TIME_SIMPLE",
        "tt" => "TIME_WITH_SECONDS",
        "ttt" => "TIME_WITH_SHORT_OFFSET",
        "tttt" => "TIME_WITH_LONG_OFFSET",
        "T" => "TIME_24_SIMPLE",
        "TT" => "TIME_24_WITH_SECONDS",
        "TTT" => "TIME_24_WITH_SHORT_OFFSET",
        "TTTT" => "TIME_24_WITH_LONG_OFFSET",
        "f" => "DATETIME_SHORT",
        "ff" => "DATETIME_MED",
        "fff" => "DATETIME_FULL",
        "ffff" => "DATETIME_HUGE",
        "F" => "DATETIME_SHORT_WITH_SECONDS",
        "FF" => "DATETIME_MED_WITH_SECONDS",
        "FFF" => "DATETIME_FULL_WITH_SECONDS",
        "FFFF" => "DATETIME_HUGE_WITH_SECONDS",
        _ => return None,
    })
}

/// A number with at least so many digits, rounded to three decimals.
fn number(number: f64, digits: usize) -> String {
    padded(js_round(number * 1000.0) / 1000.0, digits)
}

/// The last two characters of a year.
fn last_two(year: f64) -> String {
    let text = number_to_text(year);
    let last = text.get(text.len().saturating_sub(2)..).unwrap_or_default();
    padded(text_to_number(last), 2)
}
