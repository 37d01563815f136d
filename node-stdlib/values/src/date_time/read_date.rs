//! What JavaScript's `Date.parse` reads: the format of ECMAScript, and other forms as V8 takes them.
//!
//! Source: ECMAScript 2025, section 21.4.1.32; for the other forms the grammar that V8 describes with its legacy
//! date parser. Local time is UTC.

use super::civil::Civil;
use super::scan::Scan;
use crate::number::is_space;

/// The time value of a text, NaN when it is no date.
pub(super) fn parse(text: &str) -> f64 {
    iso(text)
        .or_else(|| Legacy::default().read(text))
        .unwrap_or(f64::NAN)
}

fn iso(text: &str) -> Option<f64> {
    let mut scan = Scan(text);
    let year = match scan.one_of(&['+', '-']) {
        Some(sign) => {
            let year = scan.number(6)?;
            if sign == '-' && year == 0.0 {
                return None;
            }
            if sign == '-' { -year } else { year }
        }
        None => scan.number(4)?,
    };
    let part = |scan: &mut Scan<'_>| {
        scan.text("-")?;
        scan.number(2)
    };
    let month = scan.attempt(part);
    let day = month.and_then(|_| scan.attempt(part));
    let mut civil = Civil {
        year,
        month: month.unwrap_or(1.0),
        day: day.unwrap_or(1.0),
        hour: 0.0,
        minute: 0.0,
        second: 0.0,
        millisecond: 0.0,
    };
    let mut offset_minutes = 0.0;
    if scan.one_of(&['T', 't']).is_some() {
        civil.hour = scan.number(2)?;
        scan.text(":")?;
        civil.minute = scan.number(2)?;
        if scan.text(":").is_some() {
            civil.second = scan.number(2)?;
            if scan.text(".").is_some() {
                civil.millisecond = super::read::milliseconds(scan.digits(1, 30)?);
            }
        }
        if scan.one_of(&['Z', 'z']).is_none()
            && let Some(sign) = scan.one_of(&['+', '-'])
        {
            let hours = scan.number(2)?;
            scan.text(":")?;
            offset_minutes = super::read::signed_minutes(sign, hours, Some(scan.number(2)?));
        }
    }
    (scan.is_at_end() && is_time(&civil)).then_some(())?;
    let is_day = (1.0..=12.0).contains(&civil.month) && (1.0..=31.0).contains(&civil.day);
    is_day.then(|| civil.to_ms() - offset_minutes * 60_000.0)
}

fn is_time(civil: &Civil) -> bool {
    let midnight =
        civil.hour == 24.0 && civil.minute == 0.0 && civil.second == 0.0 && civil.millisecond == 0.0;
    midnight || (civil.hour < 24.0 && civil.minute < 60.0 && civil.second < 60.0)
}

/// Numbers and words in about any order.
#[derive(Default)]
struct Legacy {
    /// Up to three numbers of the day.
    day: Vec<f64>,
    month: Option<f64>,
    /// Hour, minute, second, millisecond.
    time: Vec<f64>,
    time_is_complete: bool,
    afternoon: Option<bool>,
    zone: Option<LegacyZone>,
    has_number: bool,
}

struct LegacyZone {
    sign: char,
    hours: f64,
    /// `None` while they are awaited.
    minutes: Option<f64>,
}

const WORDS: [&str; 22] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec", "am", "pm", "est",
    "edt", "cst", "cdt", "mst", "mdt", "pst", "pdt",
];

/// V8 takes all that comes after the capital letters for one, brackets and braces too.
fn is_of_word(character: char) -> bool {
    character >= 'A' && !is_space(character)
}

impl Legacy {
    fn read(mut self, text: &str) -> Option<f64> {
        let mut scan = Scan(text);
        while let Some(first) = scan.0.chars().next() {
            if first.is_ascii_digit() {
                let digits = scan.many(|c| c.is_ascii_digit())?;
                self.number(digits, &mut scan)?;
            } else if is_of_word(first) {
                let word = scan.many(is_of_word)?;
                self.word(word, &mut scan)?;
            } else {
                scan.0 = scan.0.get(first.len_utf8()..)?;
                match first {
                    '+' | '-' if self.is_utc() || !self.time.is_empty() => self.offset(first, &mut scan)?,
                    '+' | '-' | ')' if self.has_number => return None,
                    '(' => skip_parentheses(&mut scan),
                    _ => {}
                }
            }
        }
        self.finish()
    }

    fn number(&mut self, digits: &str, scan: &mut Scan<'_>) -> Option<()> {
        self.has_number = true;
        let number: f64 = digits.parse().ok()?;
        if scan.text(":").is_some() {
            return (!self.time_is_complete && self.time.len() < 3).then(|| self.time.push(number));
        }
        let within = match self.time.len() {
            1 | 2 => number < 60.0,
            3 => number < 1000.0,
            _ => false,
        };
        let expects_time = within && !self.time_is_complete;
        let before_dot = *scan;
        if scan.text(".").is_some() && expects_time {
            self.time.push(number);
            let fraction = scan.many(|c| c.is_ascii_digit())?;
            self.time.resize(3, 0.0);
            self.time.push(super::read::milliseconds(fraction));
            self.time_is_complete = true;
            return Some(());
        }
        let awaits_minutes = self.zone.as_ref().is_some_and(|zone| zone.minutes.is_none());
        if awaits_minutes {
            self.zone.as_mut()?.minutes = Some(number);
            return Some(());
        }
        if expects_time {
            self.time.push(number);
            self.time_is_complete = true;
            let next = scan.0.chars().next();
            let ends = next.is_none_or(|c| c.is_whitespace() || "zZ+-".contains(c));
            return (ends && before_dot.0.len() == scan.0.len()).then_some(());
        }
        if self.day.len() == 3 {
            return None;
        }
        self.day.push(number);
        scan.text("-");
        Some(())
    }

    fn word(&mut self, word: &str, scan: &mut Scan<'_>) -> Option<()> {
        let word = word.to_ascii_lowercase();
        let key = word.get(..3).unwrap_or(&word);
        let index = WORDS.iter().position(|known| *known == key);
        match index {
            Some(month @ 0..=11) => {
                self.month = Some(month as f64 + 1.0);
                scan.text("-");
            }
            Some(half @ (12 | 13)) if !self.time.is_empty() => self.afternoon = Some(half == 13),
            Some(zone @ 14..) if self.has_number => {
                // From Eastern Standard Time on: each a pair, an hour further west.
                let hours = 5.0 + ((zone - 14) / 2) as f64 - ((zone - 14) % 2) as f64;
                self.set_zone('-', hours);
            }
            _ if ["utc", "ut", "gmt", "z"].contains(&key) && self.has_number => self.set_zone('+', 0.0),
            _ if self.has_number || scan.0.starts_with(|c: char| c.is_ascii_digit()) => return None,
            _ => {}
        }
        Some(())
    }

    fn set_zone(&mut self, sign: char, hours: f64) {
        let minutes = Some(0.0);
        self.zone = Some(LegacyZone { sign, hours, minutes });
    }

    fn is_utc(&self) -> bool {
        self.zone
            .as_ref()
            .is_some_and(|zone| zone.hours == 0.0 && zone.minutes == Some(0.0))
    }

    fn offset(&mut self, sign: char, scan: &mut Scan<'_>) -> Option<()> {
        let digits = scan.many(|c| c.is_ascii_digit()).unwrap_or_default();
        self.has_number = true;
        let number: f64 = format!("0{digits}").parse().ok()?;
        let (hours, minutes) = match digits.len() {
            _ if scan.text(":").is_some() => (number, None),
            1 | 2 => (number, Some(0.0)),
            3 | 4 => ((number / 100.0).floor(), Some(number % 100.0)),
            _ => return None,
        };
        self.zone = Some(LegacyZone { sign, hours, minutes });
        Some(())
    }

    fn finish(mut self) -> Option<f64> {
        if self.day.is_empty() {
            return None;
        }
        self.day.resize(3, 1.0);
        self.time.resize(4, 0.0);
        let is_day = |number: f64| (1.0..=31.0).contains(&number);
        let (&[first, second, third], &[hour, minute, second_of_minute, millisecond]) =
            (self.day.as_slice(), self.time.as_slice())
        else {
            return None;
        };
        let (year, month, day) = match self.month {
            None if !is_day(first) => (first, second, third),
            None => (third, first, second),
            Some(month) if !is_day(first) => (first, month, second),
            Some(month) => (second, month, first),
        };
        let year = match year {
            0.0..50.0 => year + 2000.0,
            50.0..100.0 => year + 1900.0,
            _ => year,
        };
        let hour = match self.afternoon {
            Some(afternoon) if hour <= 12.0 => hour % 12.0 + if afternoon { 12.0 } else { 0.0 },
            Some(_) => return None,
            None => hour,
        };
        let civil = Civil {
            year,
            month,
            day,
            hour,
            minute,
            second: second_of_minute,
            millisecond,
        };
        if !is_time(&civil) || !is_day(day) || !(1.0..=12.0).contains(&month) {
            return None;
        }
        let offset_minutes = self.zone.map_or(0.0, |zone| {
            super::read::signed_minutes(zone.sign, zone.hours, zone.minutes)
        });
        Some(civil.to_ms() - offset_minutes * 60_000.0)
    }
}

/// Skips to the end of nested parentheses, the first being open.
fn skip_parentheses(scan: &mut Scan<'_>) {
    let mut depth = 1_usize;
    let end = scan.0.find(|c| {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        depth == 0
    });
    scan.0 = end.and_then(|end| scan.0.get(end + 1..)).unwrap_or_default();
}
