//! Date-times out of texts after a format of Luxon's tokens.

use super::format::{Piece, pieces};
use super::names::{MONTHS, MONTHS_SHORT, WEEKDAYS, WEEKDAYS_SHORT};
use super::read::{Read, ReadZone, full_year, milliseconds, signed_minutes};
use super::scan::Scan;
use super::tokens::macro_preset;
use super::unit::{Field, Fields};
use super::zone::Zone;
use crate::TypeError;

/// Reading recurses as deep as a format has pieces.
const PIECES_MAX: usize = 100;

/// What a format expects at one place.
enum Expected {
    Digits(Meaning, usize, usize),
    Words(Meaning, Vec<&'static str>, f64),
    /// `+01:00`; with `techie` also `+0100`.
    Offset {
        techie: bool,
    },
    ZoneName,
    Space,
    Text(String),
}

/// What is read at one place.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Meaning {
    Field(Field),
    /// A year of two digits, perhaps.
    ShortYear,
    ShortWeekYear,
    /// 1 to 12, with [`Meaning::Half`].
    HalfHour,
    Half,
    Era,
    /// Digits after a decimal point.
    Fraction,
}

/// What was read, in the order of the format.
#[derive(Default)]
struct Found {
    values: Vec<(Meaning, f64)>,
    zone: Option<String>,
    offset_minutes: Option<f64>,
    /// Bytes that were left at the furthest place up to which the text followed.
    left: usize,
}

/// The fields of a text in a format; `None` when it does not follow it.
pub(super) fn read(text: &str, format: &str) -> Result<Option<Read>, TypeError> {
    let read = read_or_where(text, format)?.ok();
    Ok(read.filter(|read| !read.fields.is_empty() || read.zone.is_some()))
}

/// The fields of a text in a format; where it does not follow it, the byte up to which it does.
pub(super) fn read_or_where(text: &str, format: &str) -> Result<Result<Read, usize>, TypeError> {
    let mut expected = Vec::new();
    for piece in pieces(format) {
        expect(&piece, &mut expected);
    }
    if expected.len() > PIECES_MAX {
        return Err(TypeError(format!(
            "The format has more than {PIECES_MAX} tokens and texts"
        )));
    }
    let meanings: Vec<Meaning> = expected
        .iter()
        .filter_map(|expected| match expected {
            Expected::Digits(meaning, ..) | Expected::Words(meaning, ..) => Some(*meaning),
            _ => None,
        })
        .collect();
    let mut found = Found {
        left: text.len(),
        ..Found::default()
    };
    if !follow(Scan(text), &expected, &mut found) {
        return Ok(Err(text.len() - found.left));
    }
    if meanings.contains(&Meaning::Half) && meanings.contains(&Meaning::Field(Field::Hour)) {
        return Err(TypeError(
            "Can't include meridiem when specifying 24-hour format".into(),
        ));
    }
    Ok(Ok(resolve(found)))
}

fn expect(piece: &Piece, expected: &mut Vec<Expected>) {
    let field =
        |field: Field, least: usize, most: usize| Expected::Digits(Meaning::Field(field), least, most);
    let token = piece.text.as_str();
    if piece.literal {
        expected.push(Expected::Text(token.to_owned()));
        return;
    }
    expected.push(match token {
        "y" => field(Field::Year, 1, 6),
        "yy" => Expected::Digits(Meaning::ShortYear, 2, 4),
        "yyyy" => field(Field::Year, 4, 4),
        "yyyyy" => field(Field::Year, 4, 6),
        "yyyyyy" => field(Field::Year, 6, 6),
        "M" | "L" => field(Field::Month, 1, 2),
        "MM" | "LL" => field(Field::Month, 2, 2),
        "MMM" | "LLL" => Expected::Words(Meaning::Field(Field::Month), MONTHS_SHORT.to_vec(), 1.0),
        "MMMM" | "LLLL" => Expected::Words(Meaning::Field(Field::Month), MONTHS.to_vec(), 1.0),
        "d" => field(Field::Day, 1, 2),
        "dd" => field(Field::Day, 2, 2),
        "o" => field(Field::Ordinal, 1, 3),
        "ooo" => field(Field::Ordinal, 3, 3),
        "H" => field(Field::Hour, 1, 2),
        "HH" => field(Field::Hour, 2, 2),
        "h" => Expected::Digits(Meaning::HalfHour, 1, 2),
        "hh" => Expected::Digits(Meaning::HalfHour, 2, 2),
        "m" => field(Field::Minute, 1, 2),
        "mm" => field(Field::Minute, 2, 2),
        "q" => field(Field::Quarter, 1, 2),
        "qq" => field(Field::Quarter, 2, 2),
        "s" => field(Field::Second, 1, 2),
        "ss" => field(Field::Second, 2, 2),
        "S" => field(Field::Millisecond, 1, 3),
        "SSS" => field(Field::Millisecond, 3, 3),
        "u" => Expected::Digits(Meaning::Fraction, 1, 9),
        "uu" => Expected::Digits(Meaning::Fraction, 1, 2),
        "uuu" => Expected::Digits(Meaning::Fraction, 1, 1),
        "a" => Expected::Words(Meaning::Half, vec!["AM", "PM"], 0.0),
        "G" => Expected::Words(Meaning::Era, vec!["BC", "AD"], 0.0),
        "GG" => Expected::Words(Meaning::Era, vec!["Before Christ", "Anno Domini"], 0.0),
        "kkkk" => field(Field::WeekYear, 4, 4),
        "kk" => Expected::Digits(Meaning::ShortWeekYear, 2, 4),
        "W" => field(Field::WeekNumber, 1, 2),
        "WW" => field(Field::WeekNumber, 2, 2),
        "E" | "c" => field(Field::Weekday, 1, 1),
        "EEE" | "ccc" => Expected::Words(Meaning::Field(Field::Weekday), WEEKDAYS_SHORT.to_vec(), 1.0),
        "EEEE" | "cccc" => Expected::Words(Meaning::Field(Field::Weekday), WEEKDAYS.to_vec(), 1.0),
        "Z" | "ZZ" => Expected::Offset { techie: false },
        "ZZZ" => Expected::Offset { techie: true },
        "z" => Expected::ZoneName,
        _ => {
            match macro_preset(token).and_then(macro_format) {
                Some(format) => pieces(format).iter().for_each(|piece| match piece.literal {
                    true => expected.push(Expected::Space),
                    false => expect(piece, expected),
                }),
                None => expected.push(Expected::Text(token.to_owned())),
            }
            return;
        }
    });
}

/// The tokens that a preset stands for, when it can be read.
fn macro_format(preset: &str) -> Option<&'static str> {
    Some(match preset {
        "DATE_SHORT" => "M/d/yyyyy",
        "DATE_MED" => "MMM d, yyyyy",
        "DATE_FULL" => "MMMM d, yyyyy",
        "DATE_HUGE" => "EEEE, MMMM d, yyyyy",
        "TIME_SIMPLE" => "h:m a",
        "TIME_WITH_SECONDS" => "h:m:s a",
        "TIME_24_SIMPLE" => "H:m",
        "TIME_24_WITH_SECONDS" => "H:m:s",
        "DATETIME_SHORT" => "M/d/yyyyy, h:m a",
        "DATETIME_SHORT_WITH_SECONDS" => "M/d/yyyyy, h:m:s a",
        "DATETIME_MED" => "MMM d, yyyyy, h:m a",
        "DATETIME_MED_WITH_SECONDS" => "MMM d, yyyyy, h:m:s a",
        _ => return None,
    })
}

/// Whether the text follows, trying fewer digits where more leave nothing for what comes after.
fn follow(scan: Scan<'_>, expected: &[Expected], found: &mut Found) -> bool {
    found.left = found.left.min(scan.0.len());
    let Some((first, rest)) = expected.split_first() else {
        return scan.is_at_end();
    };
    match first {
        Expected::Digits(meaning, least, most) => (*least..=*most).rev().any(|count| {
            let mut after = scan;
            let Some(digits) = after.digits(count, count) else {
                return false;
            };
            let value = match meaning {
                Meaning::Fraction => milliseconds(digits),
                Meaning::ShortYear | Meaning::ShortWeekYear => full_year(digits).unwrap_or(f64::NAN),
                _ => digits.parse().unwrap_or(f64::NAN),
            };
            keep(found, *meaning, value, |found| follow(after, rest, found))
        }),
        Expected::Words(meaning, words, start) => words.iter().enumerate().any(|(index, word)| {
            let mut after = scan;
            let value = index as f64 + start;
            after.text(word).is_some() && keep(found, *meaning, value, |found| follow(after, rest, found))
        }),
        Expected::Offset { techie } => offsets(scan, *techie).into_iter().any(|(minutes, after)| {
            let before = found.offset_minutes.replace(minutes);
            let follows = follow(after, rest, found);
            if !follows {
                found.offset_minutes = before;
            }
            follows
        }),
        Expected::ZoneName => {
            let wanted = |c: char| c.is_ascii_alphabetic() || ('+'..='/').contains(&c) || c == '_';
            let longest = scan.0.find(|c| !wanted(c)).unwrap_or(scan.0.len()).min(256);
            (1..=longest).any(|length| {
                let Some((name, after)) = scan.0.split_at_checked(length) else {
                    return false;
                };
                let follows = follow(Scan(after), rest, found);
                if follows {
                    found.zone = Some(name.to_owned());
                }
                follows
            })
        }
        Expected::Space => {
            let mut after = scan;
            let space = after.0.chars().next().filter(|c| c.is_whitespace());
            match space.and_then(|c| after.0.get(c.len_utf8()..)) {
                Some(text) => {
                    after.0 = text;
                    follow(after, rest, found)
                }
                None => false,
            }
        }
        Expected::Text(text) => {
            let mut after = scan;
            after.text(text).is_some() && follow(after, rest, found)
        }
    }
}

/// Keeps the value if what comes after follows.
fn keep(found: &mut Found, meaning: Meaning, value: f64, follows: impl FnOnce(&mut Found) -> bool) -> bool {
    found.values.push((meaning, value));
    let at = found.values.len() - 1;
    let follows = follows(found);
    if !follows {
        found.values.truncate(at);
    }
    follows
}

/// The offsets that a text may begin with, from the longest, and what follows each.
fn offsets(mut scan: Scan<'_>, techie: bool) -> Vec<(f64, Scan<'_>)> {
    let Some(sign) = scan.one_of(&['+', '-']) else {
        return Vec::new();
    };
    let mut offsets = Vec::new();
    for count in [2, 1] {
        let mut after = scan;
        let Some(hours) = after.number(count) else {
            continue;
        };
        let mut with_minutes = after;
        let separated = techie || with_minutes.text(":").is_some();
        if separated && let Some(minutes) = with_minutes.number(2) {
            offsets.push((signed_minutes(sign, hours, Some(minutes)), with_minutes));
        }
        offsets.push((signed_minutes(sign, hours, None), after));
    }
    offsets
}

/// Fields and zone of what was read.
fn resolve(mut found: Found) -> Read {
    // Of what is there twice, the last counts, in the place of the first.
    let mut values: Vec<(Meaning, f64)> = Vec::new();
    for (meaning, value) in std::mem::take(&mut found.values) {
        match values.iter_mut().find(|(own, _)| *own == meaning) {
            Some((_, own)) => *own = value,
            None => values.push((meaning, value)),
        }
    }
    found.values = values;
    let last = |meaning: Meaning| {
        let values = found.values.iter().rev();
        values
            .clone()
            .find(|(own, _)| *own == meaning)
            .map(|(_, value)| *value)
    };
    let mut fields = Fields::new();
    for (meaning, value) in &found.values {
        match meaning {
            Meaning::Field(Field::Quarter) => fields.push((Field::Month, (value - 1.0) * 3.0 + 1.0)),
            Meaning::Field(field) => fields.push((*field, *value)),
            Meaning::ShortYear => fields.push((Field::Year, *value)),
            Meaning::ShortWeekYear => fields.push((Field::WeekYear, *value)),
            Meaning::Fraction => fields.push((Field::Millisecond, *value)),
            Meaning::HalfHour => {
                let hour = match last(Meaning::Half) {
                    Some(1.0) if *value < 12.0 => value + 12.0,
                    Some(0.0) if *value == 12.0 => 0.0,
                    _ => *value,
                };
                fields.push((Field::Hour, hour));
            }
            Meaning::Half | Meaning::Era => {}
        }
    }
    if last(Meaning::Era) == Some(0.0) {
        for (field, value) in &mut fields {
            if *field == Field::Year {
                *value = -*value;
            }
        }
    }
    let named = found.zone.as_deref().map(ReadZone::named);
    let fixed = found
        .offset_minutes
        .map(|minutes| ReadZone::Known(Zone::Fixed(minutes)));
    Read {
        fields,
        zone: named.or(fixed),
        offset_minutes: found.offset_minutes,
    }
}
