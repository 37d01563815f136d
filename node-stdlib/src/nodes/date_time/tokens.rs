//! Formats: Luxon's tokens (moment.github.io/luxon/#/formatting) in English, and the names of standard ones.

use super::read::{at, offset as read_offset, unreadable};
use crate::failure::Failure;
use heddle_contract::abi::code;
use heddle_values::Value;
use heddle_values::date_time::{MONTHS, WEEKDAYS};
use jiff::Zoned;
use jiff::civil::{self, Weekday};
use jiff::tz::{Offset, TimeZone};

/// A piece of a format.
enum Piece<'a> {
    /// A letter and how often it stands.
    Token(char, usize),
    Literal(&'a str),
}

fn pieces(format: &str) -> Result<Vec<Piece<'_>>, Failure> {
    let (mut pieces, mut rest) = (Vec::new(), format);
    while let Some(first) = rest.chars().next() {
        let length = if first == '\'' {
            let inner = rest.get(1..).unwrap_or_default();
            let end = inner.find('\'').ok_or_else(|| {
                Failure::new(
                    code::PARAMETER,
                    "Parameter `format`: a quote (') is opened and not closed.",
                )
            })?;
            pieces.push(Piece::Literal(inner.get(..end).unwrap_or_default()));
            end + 2
        } else {
            let length = rest.find(|c| c != first).unwrap_or(rest.len());
            match first.is_ascii_alphabetic() {
                true => pieces.push(Piece::Token(first, length)),
                false => pieces.push(Piece::Literal(rest.get(..length).unwrap_or_default())),
            }
            length
        };
        rest = rest.get(length..).unwrap_or_default();
    }
    Ok(pieces)
}

fn unknown(letter: char, count: usize) -> Failure {
    let token = letter.to_string().repeat(count.min(8));
    let message = format!(
        "Parameter `format`: there is no token `{token}`. Write text in single quotes; tokens are yyyy, yy, MM, LLL, \
         LLLL, dd, HH, hh, mm, ss, SSS, a, ccc, cccc, EEE, q, W, o, Z, ZZ, ZZZ, z, X and x."
    );
    Failure::new(code::PARAMETER, message)
}

/// A date-time in a format: text, but numbers for `unix` and `unixMs`.
pub(super) fn write(instant: &Zoned, format: &str) -> Result<Value, Failure> {
    let ms = instant.timestamp().as_millisecond();
    let named = match format {
        "unixMs" => return Ok(Value::Number(ms as f64)),
        "unix" => return Ok(Value::Number(ms.div_euclid(1000) as f64)),
        "iso" => "yyyy-MM-dd'T'HH:mm:ss.SSS",
        "rfc2822" => "EEE, dd LLL yyyy HH:mm:ss ZZZ",
        "http" => {
            let utc = instant.with_time_zone(TimeZone::UTC);
            return write(&utc, "EEE, dd LLL yyyy HH:mm:ss 'GMT'");
        }
        tokens => tokens,
    };
    let mut out = String::new();
    for piece in pieces(named)? {
        match piece {
            Piece::Literal(text) => out.push_str(text),
            Piece::Token(letter, count) => {
                let text = token(instant, letter, count).ok_or_else(|| unknown(letter, count))?;
                out.push_str(&text);
            }
        }
    }
    if format == "iso" {
        match instant.time_zone() == &TimeZone::UTC {
            true => out.push('Z'),
            false => out.push_str(&offset(instant.offset(), 2)),
        }
    }
    Ok(out.into())
}

fn token(instant: &Zoned, letter: char, count: usize) -> Option<String> {
    let padded = |number: i64, most: usize| (count <= most).then(|| format!("{number:0count$}"));
    let name = |name: &str| match count {
        3 => name.get(..3).map(str::to_owned),
        4 => Some(name.to_owned()),
        _ => None,
    };
    let month = i64::from(instant.month());
    let weekday = instant.weekday();
    let hour = i64::from(instant.hour());
    let week = instant.date().iso_week_date();
    match (letter, count) {
        ('y', 1 | 4) => padded(instant.year().into(), 4),
        ('y', 2) => Some(format!("{:02}", instant.year().rem_euclid(100))),
        ('M' | 'L', 1 | 2) => padded(month, 2),
        ('M' | 'L', _) => name(MONTHS.get(month.unsigned_abs() as usize - 1)?),
        ('d', _) => padded(instant.day().into(), 2),
        ('o', 1 | 3) => padded(instant.day_of_year().into(), 3),
        ('H', _) => padded(hour, 2),
        ('h', _) => padded((hour + 11) % 12 + 1, 2),
        ('m', _) => padded(instant.minute().into(), 2),
        ('s', _) => padded(instant.second().into(), 2),
        ('S', 1 | 3) => padded(instant.millisecond().into(), 3),
        ('a', 1) => Some(if hour < 12 { "AM" } else { "PM" }.into()),
        ('c' | 'E', 1) => Some(weekday.to_monday_one_offset().to_string()),
        ('c' | 'E', _) => name(weekday_name(weekday)),
        ('q', _) => padded((month + 2) / 3, 2),
        ('W', _) => padded(week.week().into(), 2),
        ('k', 4) => padded(week.year().into(), 4),
        ('Z', 1..=3) => Some(offset(instant.offset(), count)),
        ('z', 1) => Some(match instant.time_zone().iana_name() {
            Some(name) => name.to_owned(),
            None => offset(instant.offset(), 2),
        }),
        ('X', 1) => Some(instant.timestamp().as_millisecond().div_euclid(1000).to_string()),
        ('x', 1) => Some(instant.timestamp().as_millisecond().to_string()),
        _ => None,
    }
}

fn weekday_name(weekday: Weekday) -> &'static str {
    let index = usize::try_from(weekday.to_monday_zero_offset()).unwrap_or(0);
    WEEKDAYS.get(index).copied().unwrap_or_default()
}

/// 1: `+2`, 2: `+02:00`, 3: `+0200`.
fn offset(offset: Offset, form: usize) -> String {
    let seconds = offset.seconds();
    let sign = if seconds < 0 { '-' } else { '+' };
    let (hours, minutes) = (seconds.abs() / 3600, seconds.abs() / 60 % 60);
    match form {
        1 if minutes == 0 => format!("{sign}{hours}"),
        1 => format!("{sign}{hours}:{minutes:02}"),
        2 => format!("{sign}{hours:02}:{minutes:02}"),
        _ => format!("{sign}{hours:02}{minutes:02}"),
    }
}

/// What was read so far; the rest is the start of the year 1970.
struct Fields {
    year: i64,
    month: i64,
    day: i64,
    hour: i64,
    minute: i64,
    second: i64,
    millisecond: i64,
    afternoon: Option<bool>,
    offset: Option<Offset>,
    zone: Option<TimeZone>,
}

/// Reads a text after tokens.
pub(super) fn read(text: &str, format: &str, zone: &TimeZone) -> Result<Zoned, Failure> {
    let mut fields = Fields {
        year: 1970,
        month: 1,
        day: 1,
        hour: 0,
        minute: 0,
        second: 0,
        millisecond: 0,
        afternoon: None,
        offset: None,
        zone: None,
    };
    let mut rest = text;
    for piece in pieces(format)? {
        let read = match piece {
            Piece::Literal(literal) => rest.strip_prefix(literal),
            Piece::Token(letter, count) => fields.read(letter, count, rest)?,
        };
        rest = read.ok_or_else(|| {
            let at = text.len() - rest.len();
            let at = text.get(..at).unwrap_or_default().chars().count() + 1;
            unreadable(
                text,
                &format!("`{format}`, which it does not follow from character {at} on"),
            )
        })?;
    }
    if !rest.is_empty() {
        return Err(unreadable(text, &format!("`{format}`, and nothing after it")));
    }
    let resolved = fields.date_time().and_then(|date_time| {
        let own = fields.zone.as_ref().unwrap_or(zone);
        Some(at(date_time, fields.offset, own)?.with_time_zone(zone.clone()))
    });
    resolved.ok_or_else(|| unreadable(text, "a day and a time that exist"))
}

impl Fields {
    /// Reads one token and returns what follows; `None` if the text is something else.
    fn read<'a>(&mut self, letter: char, count: usize, text: &'a str) -> Result<Option<&'a str>, Failure> {
        let (field, least, most) = match (letter, count) {
            ('y', 4) => (&mut self.year, 4, 4),
            ('y', 1) => (&mut self.year, 1, 4),
            ('y', 2) => {
                let read = number(text, 2, 2).map(|(year, rest)| {
                    // As Luxon: the years 1961 to 2060.
                    self.year = if year > 60 { 1900 + year } else { 2000 + year };
                    rest
                });
                return Ok(read);
            }
            ('M' | 'L', 1 | 2) => (&mut self.month, count, 2),
            ('M' | 'L', 3 | 4) => {
                return Ok(word(text, &MONTHS, count).map(|(index, rest)| {
                    self.month = index as i64 + 1;
                    rest
                }));
            }
            ('d', 1 | 2) => (&mut self.day, count, 2),
            ('H' | 'h', 1 | 2) => (&mut self.hour, count, 2),
            ('m', 1 | 2) => (&mut self.minute, count, 2),
            ('s', 1 | 2) => (&mut self.second, count, 2),
            ('S', 1 | 3) => (&mut self.millisecond, count, 3),
            ('c' | 'E', 3 | 4) => return Ok(word(text, &WEEKDAYS, count).map(|(_, rest)| rest)),
            ('a', 1) => {
                return Ok(word(text, &["AM", "PM"], 4).map(|(index, rest)| {
                    self.afternoon = Some(index == 1);
                    rest
                }));
            }
            ('Z', 1..=3) | ('z', 1) => return Ok(self.read_zone(letter, text)),
            _ => return Err(unknown(letter, count)),
        };
        Ok(number(text, least, most).map(|(value, rest)| {
            *field = value;
            rest
        }))
    }

    fn read_zone<'a>(&mut self, letter: char, text: &'a str) -> Option<&'a str> {
        let part = |c: char| c.is_ascii_alphanumeric() || "+-:/_".contains(c);
        let end = text.find(|c| !part(c)).unwrap_or(text.len());
        let (name, rest) = text.split_at_checked(end)?;
        match name {
            "Z" => self.offset = Some(Offset::UTC),
            _ if letter == 'z' && !name.starts_with(['+', '-']) => {
                self.zone = Some(TimeZone::get(name).ok()?)
            }
            _ => self.offset = Some(read_offset(name)?),
        }
        Some(rest)
    }

    fn date_time(&self) -> Option<civil::DateTime> {
        let hour = match self.afternoon {
            Some(afternoon) if (1..=12).contains(&self.hour) => {
                self.hour % 12 + if afternoon { 12 } else { 0 }
            }
            Some(_) => return None,
            None => self.hour,
        };
        let small = |number: i64| i8::try_from(number).ok();
        civil::DateTime::new(
            i16::try_from(self.year).ok()?,
            small(self.month)?,
            small(self.day)?,
            small(hour)?,
            small(self.minute)?,
            small(self.second)?,
            i32::try_from(self.millisecond * 1_000_000).ok()?,
        )
        .ok()
    }
}

fn number(text: &str, least: usize, most: usize) -> Option<(i64, &str)> {
    let digits = text.bytes().take(most).take_while(u8::is_ascii_digit).count();
    let (digits, rest) = text
        .split_at_checked(digits)
        .filter(|(digits, _)| digits.len() >= least)?;
    Some((digits.parse().ok()?, rest))
}

/// The index of the word that the text begins with, in any case; shortened to three letters if `count` is 3.
fn word<'a>(text: &'a str, words: &[&str], count: usize) -> Option<(usize, &'a str)> {
    words.iter().enumerate().find_map(|(index, word)| {
        let length = if count == 3 { 3 } else { word.len() };
        let (start, rest) = text.split_at_checked(length)?;
        start
            .eq_ignore_ascii_case(word.get(..length)?)
            .then_some((index, rest))
    })
}
