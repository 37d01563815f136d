//! Date-times out of ISO 8601, SQL, RFC 2822 and HTTP, in the forms that Luxon takes.

use super::names::{MONTHS_SHORT, WEEKDAYS, WEEKDAYS_SHORT};
use super::scan::Scan;
use super::unit::{Field, Fields};
use super::zone::Zone;

/// What a text says: fields, and a zone if it names one.
pub(super) struct Read {
    pub(super) fields: Fields,
    pub(super) zone: Option<ReadZone>,
    /// Minutes east of UTC that tell one of two same times of a zone from the other.
    pub(super) offset_minutes: Option<f64>,
}

/// A zone in a text.
pub(super) enum ReadZone {
    Known(Zone),
    /// A name that no zone has.
    Unknown(String),
}

impl ReadZone {
    pub(super) fn named(name: &str) -> Self {
        Zone::iana(name).map_or_else(|| ReadZone::Unknown(name.to_owned()), ReadZone::Known)
    }
}

/// What follows after the date and the time.
#[derive(Clone, Copy, PartialEq)]
enum ZoneForm {
    /// An offset, then a name in brackets.
    Iso,
    /// An offset or a name, after a space if wanted.
    Sql,
}

/// `2026-11-21T10:24:00.000+01:00`, `2026-W47-6`, `2026-325`, `10:24`, …
pub(super) fn iso(text: &str) -> Option<Read> {
    let forms = [iso_date, iso_week, iso_ordinal];
    let dated = forms.into_iter().find_map(|date| {
        let mut scan = Scan(text);
        let fields = date(&mut scan)?;
        let timed = scan.attempt(|scan| {
            scan.one_of(&['T', 't'])?;
            time(scan, ZoneForm::Iso)
        });
        finished(scan, with_date(fields, timed))
    });
    dated.or_else(|| {
        let mut scan = Scan(text);
        let read = time(&mut scan, ZoneForm::Iso)?;
        finished(scan, read)
    })
}

/// `2026-11-21 10:24:00.000 +01:00`, `10:24`, …
pub(super) fn sql(text: &str) -> Option<Read> {
    let dated = || {
        let mut scan = Scan(text);
        let year = scan.number(4)?;
        scan.text("-")?;
        let month = scan.number(2)?;
        scan.text("-")?;
        let day = scan.number(2)?;
        let fields = vec![(Field::Year, year), (Field::Month, month), (Field::Day, day)];
        let timed = scan.attempt(|scan| {
            scan.text(" ")?;
            time(scan, ZoneForm::Sql)
        });
        finished(scan, with_date(fields, timed))
    };
    dated().or_else(|| {
        let mut scan = Scan(text);
        let read = time(&mut scan, ZoneForm::Sql)?;
        finished(scan, read)
    })
}

fn finished(scan: Scan<'_>, read: Read) -> Option<Read> {
    scan.is_at_end().then_some(read)
}

fn with_date(mut fields: Fields, timed: Option<Read>) -> Read {
    let timed = timed.unwrap_or_else(|| Read {
        fields: vec![(Field::Hour, 0.0), (Field::Minute, 0.0), (Field::Second, 0.0)],
        zone: None,
        offset_minutes: None,
    });
    fields.extend(timed.fields);
    Read { fields, ..timed }
}

fn iso_date(scan: &mut Scan<'_>) -> Option<Fields> {
    let year = scan.attempt(signed_year).or_else(|| scan.number(4))?;
    let mut fields = vec![(Field::Year, year), (Field::Month, 1.0), (Field::Day, 1.0)];
    let part = |scan: &mut Scan<'_>| {
        scan.one_of(&['-']);
        scan.number(2)
    };
    if let Some(month) = scan.attempt(part) {
        fields.push((Field::Month, month));
        if let Some(day) = scan.attempt(part) {
            fields.push((Field::Day, day));
        }
    }
    Some(fields)
}

/// `+002026`
fn signed_year(scan: &mut Scan<'_>) -> Option<f64> {
    let sign = if scan.one_of(&['+', '-'])? == '-' {
        -1.0
    } else {
        1.0
    };
    Some(sign * scan.number(6)?)
}

fn iso_week(scan: &mut Scan<'_>) -> Option<Fields> {
    let year = scan.number(4)?;
    scan.one_of(&['-']);
    scan.one_of(&['W'])?;
    let mut fields = vec![(Field::WeekYear, year), (Field::WeekNumber, scan.number(2)?)];
    let weekday = scan.attempt(|scan| {
        scan.one_of(&['-']);
        scan.number(1)
    });
    fields.extend(weekday.map(|weekday| (Field::Weekday, weekday)));
    Some(fields)
}

fn iso_ordinal(scan: &mut Scan<'_>) -> Option<Fields> {
    let year = scan.number(4)?;
    scan.one_of(&['-']);
    Some(vec![(Field::Year, year), (Field::Ordinal, scan.number(3)?)])
}

/// `10`, `10:24`, `102400.000`, … and a zone.
fn time(scan: &mut Scan<'_>, form: ZoneForm) -> Option<Read> {
    let mut fields = clock(scan)?;
    let zone = match form {
        ZoneForm::Iso => {
            let offset = scan.attempt(offset);
            let named = scan.attempt(|scan| {
                scan.text("[")?;
                let name = zone_name(scan)?;
                scan.text("]")?;
                Some(ReadZone::named(name))
            });
            named.or(offset)
        }
        ZoneForm::Sql => {
            scan.text(" ");
            let offset = scan.attempt(offset);
            offset.or_else(|| scan.attempt(zone_name).map(ReadZone::named))
        }
    };
    fields.retain(|(_, value)| !value.is_nan());
    Some(Read {
        fields,
        zone,
        offset_minutes: None,
    })
}

/// A time of at least an hour; milliseconds are NaN when there are none.
pub(super) fn clock(scan: &mut Scan<'_>) -> Option<Fields> {
    let mut parts = [scan.number(2)?, 0.0, 0.0, f64::NAN];
    let part = |scan: &mut Scan<'_>| {
        scan.one_of(&[':']);
        scan.number(2)
    };
    if let Some(minute) = scan.attempt(part) {
        parts[1] = minute;
        if let Some(second) = scan.attempt(part) {
            parts[2] = second;
            let fraction = scan.attempt(|scan| {
                scan.one_of(&['.', ','])?;
                scan.digits(1, 30)
            });
            parts[3] = fraction.map_or(f64::NAN, milliseconds);
        }
    }
    let fields = [Field::Hour, Field::Minute, Field::Second, Field::Millisecond];
    Some(fields.into_iter().zip(parts).collect())
}

/// Whole milliseconds of the digits after a decimal point.
pub(super) fn milliseconds(digits: &str) -> f64 {
    let fraction: f64 = format!("0.{digits}").parse().unwrap_or(0.0);
    (fraction * 1000.0).floor()
}

/// `Z`, `+01`, `+0100` or `+01:00`
fn offset(scan: &mut Scan<'_>) -> Option<ReadZone> {
    if scan.one_of(&['Z', 'z']).is_some() {
        return Some(ReadZone::Known(Zone::UTC));
    }
    let sign = scan.one_of(&['+', '-'])?;
    let hours = scan.number(2)?;
    let minutes = scan.attempt(|scan| {
        scan.one_of(&[':']);
        scan.number(2)
    });
    Some(ReadZone::Known(Zone::Fixed(signed_minutes(sign, hours, minutes))))
}

pub(super) fn signed_minutes(sign: char, hours: f64, minutes: Option<f64>) -> f64 {
    let total = hours * 60.0 + minutes.unwrap_or(0.0);
    // `+ 0.0` makes 0 of -0.
    if sign == '-' { -total + 0.0 } else { total }
}

/// `Europe/Prague`, `UTC`: up to three parts, the first without digits.
fn zone_name<'a>(scan: &mut Scan<'a>) -> Option<&'a str> {
    let whole = scan.0;
    let rest = |c: char| c.is_ascii_alphanumeric() || "_+-".contains(c);
    scan.many(|c| rest(c) && !c.is_ascii_digit())?;
    let more = scan.attempt(|scan| {
        scan.text(":");
        scan.text("/")?;
        scan.many(rest)
    });
    if more.is_some() {
        scan.attempt(|scan| {
            scan.text("/")?;
            scan.many(rest)
        });
    }
    whole.get(..whole.len() - scan.0.len())
}

/// `Sat, 21 Nov 2026 10:24:00 +0100`
pub(super) fn rfc2822(text: &str) -> Option<Read> {
    let text = without_comments(text);
    let mut scan = Scan(&text);
    let mut fields = Fields::new();
    let weekday = scan.attempt(|scan| {
        let weekday = exact_word(scan, &WEEKDAYS_SHORT)?;
        scan.text(", ").map(|()| weekday)
    });
    fields.extend(weekday.map(|weekday| (Field::Weekday, weekday)));
    let day = scan.digits(1, 2)?.parse().ok()?;
    scan.text(" ")?;
    let month = exact_word(&mut scan, &MONTHS_SHORT)?;
    scan.text(" ")?;
    let year = full_year(scan.digits(2, 4)?)?;
    scan.text(" ")?;
    let hour = scan.number(2)?;
    scan.text(":")?;
    let minute = scan.number(2)?;
    let second = scan.attempt(|scan| {
        scan.text(":")?;
        scan.number(2)
    });
    fields.extend([
        (Field::Year, year),
        (Field::Month, month),
        (Field::Day, day),
        (Field::Hour, hour),
        (Field::Minute, minute),
    ]);
    fields.extend(second.map(|second| (Field::Second, second)));
    scan.text(" ")?;
    let offset = match scan.one_of(&['+', '-']) {
        Some(sign) => {
            let hours = scan.number(2)?;
            signed_minutes(sign, hours, Some(scan.number(2)?))
        }
        None => named_offset(scan.many(|_| true)?)?,
    };
    finished(scan, of_utc(fields, offset))
}

/// `Sat, 21 Nov 2026 10:24:00 GMT` and the two older forms of HTTP.
pub(super) fn http(text: &str) -> Option<Read> {
    rfc1123(text).or_else(|| rfc850(text)).or_else(|| ascii(text))
}

fn rfc1123(text: &str) -> Option<Read> {
    let mut scan = Scan(text);
    let weekday = exact_word(&mut scan, &WEEKDAYS_SHORT)?;
    scan.text(", ")?;
    let day = scan.number(2)?;
    scan.text(" ")?;
    let month = exact_word(&mut scan, &MONTHS_SHORT)?;
    scan.text(" ")?;
    let year = scan.number(4)?;
    scan.text(" ")?;
    let time = seconds_clock(&mut scan)?;
    exact_word(&mut scan, &[" GMT"])?;
    http_fields(scan, [weekday, year, month, day], time)
}

fn rfc850(text: &str) -> Option<Read> {
    let mut scan = Scan(text);
    let weekday = exact_word(&mut scan, &WEEKDAYS)?;
    scan.text(", ")?;
    let day = scan.number(2)?;
    scan.text("-")?;
    let month = exact_word(&mut scan, &MONTHS_SHORT)?;
    scan.text("-")?;
    let year = full_year(scan.digits(2, 2)?)?;
    scan.text(" ")?;
    let time = seconds_clock(&mut scan)?;
    exact_word(&mut scan, &[" GMT"])?;
    http_fields(scan, [weekday, year, month, day], time)
}

fn ascii(text: &str) -> Option<Read> {
    let mut scan = Scan(text);
    let weekday = exact_word(&mut scan, &WEEKDAYS_SHORT)?;
    scan.text(" ")?;
    let month = exact_word(&mut scan, &MONTHS_SHORT)?;
    scan.text(" ")?;
    let day = match scan.text(" ") {
        Some(()) => scan.number(1)?,
        None => scan.number(2)?,
    };
    scan.text(" ")?;
    let time = seconds_clock(&mut scan)?;
    scan.text(" ")?;
    let year = scan.number(4)?;
    http_fields(scan, [weekday, year, month, day], time)
}

fn http_fields(scan: Scan<'_>, date: [f64; 4], time: [f64; 3]) -> Option<Read> {
    let date_fields = [Field::Weekday, Field::Year, Field::Month, Field::Day];
    let time_fields = [Field::Hour, Field::Minute, Field::Second];
    let fields = date_fields
        .into_iter()
        .zip(date)
        .chain(time_fields.into_iter().zip(time));
    finished(scan, of_utc(fields.collect(), 0.0))
}

fn seconds_clock(scan: &mut Scan<'_>) -> Option<[f64; 3]> {
    let hour = scan.number(2)?;
    scan.text(":")?;
    let minute = scan.number(2)?;
    scan.text(":")?;
    Some([hour, minute, scan.number(2)?])
}

fn of_utc(fields: Fields, offset_minutes: f64) -> Read {
    Read {
        fields,
        zone: Some(ReadZone::Known(Zone::Fixed(offset_minutes))),
        offset_minutes: None,
    }
}

/// The number from 1 of the word that comes next, in its own case.
fn exact_word(scan: &mut Scan<'_>, words: &[&str]) -> Option<f64> {
    let index = words.iter().position(|word| match scan.0.strip_prefix(word) {
        Some(rest) => {
            scan.0 = rest;
            true
        }
        None => false,
    })?;
    Some(index as f64 + 1.0)
}

/// A year of two digits is one of 1961 to 2060.
pub(super) fn full_year(digits: &str) -> Option<f64> {
    let year: f64 = digits.parse().ok()?;
    Some(match year {
        _ if year > 99.0 => year,
        _ if year > 60.0 => 1900.0 + year,
        _ => 2000.0 + year,
    })
}

/// The zones that RFC 2822 calls obsolete, in minutes east of UTC.
fn named_offset(name: &str) -> Option<f64> {
    Some(match name {
        "GMT" | "Z" | "z" => 0.0,
        "EDT" => -240.0,
        "EST" | "CDT" => -300.0,
        "CST" | "MDT" => -360.0,
        "MST" | "PDT" => -420.0,
        "PST" => -480.0,
        _ => return None,
    })
}

/// Comments in parentheses and line ends as spaces, several spaces as one.
fn without_comments(text: &str) -> String {
    let (mut plain, mut rest) = (String::new(), text);
    while let Some(open) = rest.find('(') {
        let (before, from) = rest.split_at(open);
        plain.push_str(before);
        let end = from.get(1..).and_then(|inside| inside.find(['(', ')']));
        match end.map(|end| end + 1) {
            Some(end) if from.as_bytes().get(end) == Some(&b')') => {
                plain.push(' ');
                rest = from.get(end + 1..).unwrap_or_default();
            }
            _ => {
                plain.push('(');
                rest = from.get(1..).unwrap_or_default();
            }
        }
    }
    plain.push_str(rest);
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}
