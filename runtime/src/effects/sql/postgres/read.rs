//! Values as PostgreSQL sends them in binary (its manual, "Binary Formats", and `src/backend/utils/adt`, `*_send`).
//! Neither the bytes nor their types are trusted: the size of the result is computed before it is built.

use super::super::rows::{Room, TooLarge, decimal, float, integer, iso};
use super::typed::{MadeOf, Typed};
use chrono::{DateTime, Days, NaiveDate, NaiveTime, TimeDelta, Utc};
use serde_json::Value;
use std::ops::RangeInclusive;
use thiserror::Error;

/// Dimensions of an array, as in PostgreSQL itself (`MAXDIM`).
const DIMENSIONS_MAX: usize = 6;
/// Types below a type: an array's elements, a domain's base.
pub(super) const TYPES_MAX: usize = 8;
/// Bytes of a null, the smallest element of an array.
const ELEMENT_BYTES_MIN: usize = 4;
/// What an element takes at least when it is built.
const ELEMENT_ROOM_MIN: usize = 8;
/// What an array takes besides its elements.
const ARRAY_ROOM: usize = 2;

/// Why a value can't be read.
#[derive(Debug, Error)]
pub(super) enum ReadError {
    #[error("there is no room for it")]
    TooLarge(#[from] TooLarge),
    #[error(transparent)]
    TooNested(#[from] TooNested),
    #[error("it has the type {0}")]
    UnknownType(String),
    #[error("it has {found} bytes, not {wanted}")]
    WrongSize { found: usize, wanted: usize },
    #[error("it ends early")]
    EndsEarly,
    #[error("it is not valid JSON ({0})")]
    NotJson(#[from] serde_json::Error),
    #[error("it is not a time")]
    NotATime,
    #[error("it has a negative number of dimensions")]
    NegativeDimensions,
    #[error("it has {0} dimensions, more than {DIMENSIONS_MAX}")]
    TooManyDimensions(usize),
    #[error("it has a negative length")]
    NegativeLength,
}

/// A type that is made of too many others.
#[derive(Debug, Error)]
#[error("its type is made of more than {TYPES_MAX} others")]
pub(super) struct TooNested;

type Read<T> = Result<T, ReadError>;

/// Days and microseconds are counted from here.
pub(super) const EPOCH: NaiveDate = match NaiveDate::from_ymd_opt(2000, 1, 1) {
    Some(date) => date,
    None => NaiveDate::MIN,
};

/// A value of this type, which takes its room.
pub(super) fn value(of: &impl Typed, bytes: &[u8], room: &mut Room<'_>) -> Read<Value> {
    nested(of, bytes, room, TYPES_MAX)
}

/// The type that a domain's values have, and the levels that are left below it.
pub(super) fn base<T: Typed>(of: &T, mut levels: usize) -> Result<(&T, usize), TooNested> {
    let mut of = of;
    while let MadeOf::Domain(base) = of.made_of() {
        levels = levels.checked_sub(1).ok_or(TooNested)?;
        of = base;
    }
    Ok((of, levels))
}

fn nested(of: &impl Typed, bytes: &[u8], room: &mut Room<'_>, levels: usize) -> Read<Value> {
    let (of, levels) = base(of, levels)?;
    let value = match of.made_of() {
        MadeOf::Array(element) => {
            let levels = levels.checked_sub(1).ok_or(TooNested)?;
            return array(element, bytes, room, levels);
        }
        MadeOf::Words => text(bytes),
        MadeOf::Domain(_) | MadeOf::Nothing => single(of.name(), bytes, room)?,
    };
    Ok(room.hold(value)?)
}

/// A value of a type that is not made of others.
fn single(name: &str, bytes: &[u8], room: &Room<'_>) -> Read<Value> {
    Ok(match name {
        "BOOL" => (bytes != [0]).into(),
        "INT2" => integer(i16::from_be_bytes(fixed(bytes)?).into()),
        "INT4" => integer(i32::from_be_bytes(fixed(bytes)?).into()),
        "INT8" => integer(i64::from_be_bytes(fixed(bytes)?)),
        "OID" => integer(u32::from_be_bytes(fixed(bytes)?).into()),
        // As the server writes it: a double of the same digits, not of the same bits.
        "FLOAT4" => decimal_float(f32::from_be_bytes(fixed(bytes)?)),
        "FLOAT8" => float(f64::from_be_bytes(fixed(bytes)?)),
        "NUMERIC" => decimal(&numeric(bytes)?),
        "TEXT" | "VARCHAR" | "CHAR" | "\"CHAR\"" | "NAME" | "UNKNOWN" | "CITEXT" => {
            room.fits(bytes.len())?;
            text(bytes)
        }
        "UUID" => uuid::Uuid::from_bytes(fixed(bytes)?).to_string().into(),
        "JSON" => json(bytes, room)?,
        "JSONB" => json(bytes.get(1..).unwrap_or_default(), room)?,
        "BYTEA" => {
            room.fits(bytes.len())?;
            room.bytes(bytes)
        }
        "DATE" => date(i32::from_be_bytes(fixed(bytes)?)).into(),
        "TIME" => time(i64::from_be_bytes(fixed(bytes)?))?.into(),
        "TIMESTAMP" => timestamp(i64::from_be_bytes(fixed(bytes)?), "").into(),
        "TIMESTAMPTZ" => timestamp(i64::from_be_bytes(fixed(bytes)?), "Z").into(),
        "INTERVAL" => interval(bytes)?.into(),
        "VOID" => Value::Null,
        other => return Err(ReadError::UnknownType(other.to_owned())),
    })
}

fn fixed<const N: usize>(bytes: &[u8]) -> Read<[u8; N]> {
    let found = bytes.len();
    bytes
        .try_into()
        .map_err(|_| ReadError::WrongSize { found, wanted: N })
}

fn text(bytes: &[u8]) -> Value {
    String::from_utf8_lossy(bytes).into_owned().into()
}

fn json(bytes: &[u8], room: &Room<'_>) -> Read<Value> {
    room.fits(bytes.len())?;
    Ok(serde_json::from_slice(bytes)?)
}

fn decimal_float(number: f32) -> Value {
    match number.is_finite() {
        true => float(number.to_string().parse().unwrap_or(f64::from(number))),
        false => number.to_string().into(),
    }
}

/// Reads big-endian numbers one after the other.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn i16(&mut self) -> Read<i16> {
        self.take().map(i16::from_be_bytes)
    }

    fn i32(&mut self) -> Read<i32> {
        self.take().map(i32::from_be_bytes)
    }

    fn take<const N: usize>(&mut self) -> Read<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk().ok_or(ReadError::EndsEarly)?;
        self.0 = rest;
        Ok(*head)
    }
}

/// Digits of base 10,000, the first of them worth 10,000^weight.
fn numeric(bytes: &[u8]) -> Read<String> {
    let mut reader = Reader(bytes);
    let (count, weight, sign, scale) = (reader.i16()?, reader.i16()?, reader.i16()?, reader.i16()?);
    match sign as u16 {
        0xC000 => return Ok("NaN".to_owned()),
        0xD000 => return Ok("Infinity".to_owned()),
        0xF000 => return Ok("-Infinity".to_owned()),
        _ => {}
    }
    let mut digits = Vec::new();
    for _ in 0..count {
        digits.push(reader.i16()?);
    }
    // However large it is said to be.
    if digits.iter().all(|digit| *digit == 0) {
        return Ok("0".to_owned());
    }
    let weight = i32::from(weight);
    let whole = groups(&digits, 0..=weight);
    let whole = whole.trim_start_matches('0');
    let mut text = if sign == 0x4000 {
        "-".to_owned()
    } else {
        String::new()
    };
    text.push_str(if whole.is_empty() { "0" } else { whole });
    let scale = usize::try_from(scale).unwrap_or_default();
    if scale > 0 {
        let count = i32::try_from(scale.div_ceil(4)).unwrap_or_default();
        let fraction = groups(&digits, weight + 1..=weight + count);
        text.push('.');
        text.push_str(fraction.get(..scale).unwrap_or(&fraction));
    }
    Ok(text)
}

/// These groups of four decimal digits; those that are missing are zeros.
fn groups(digits: &[i16], places: RangeInclusive<i32>) -> String {
    let mut text = String::new();
    for place in places {
        match usize::try_from(place).ok().and_then(|place| digits.get(place)) {
            Some(digit) => text.push_str(&format!("{digit:04}")),
            None => text.push_str("0000"),
        }
    }
    text
}

fn date(days: i32) -> String {
    match days {
        i32::MAX => return "infinity".to_owned(),
        i32::MIN => return "-infinity".to_owned(),
        _ => {}
    }
    let moved = match u64::try_from(days) {
        Ok(days) => EPOCH.checked_add_days(Days::new(days)),
        Err(_) => EPOCH.checked_sub_days(Days::new(u64::from(days.unsigned_abs()))),
    };
    moved.map_or("out of range".to_owned(), |date| date.to_string())
}

fn time(micros: i64) -> Read<String> {
    let (seconds, micros) = (micros.div_euclid(1_000_000), micros.rem_euclid(1_000_000));
    if seconds == 86_400 {
        return Ok("24:00:00".to_owned());
    }
    let time = u32::try_from(seconds)
        .ok()
        .and_then(|seconds| NaiveTime::from_num_seconds_from_midnight_opt(seconds, micros as u32 * 1_000));
    time.map(|time| time.to_string()).ok_or(ReadError::NotATime)
}

fn timestamp(micros: i64, zone: &str) -> String {
    match micros {
        i64::MAX => return "infinity".to_owned(),
        i64::MIN => return "-infinity".to_owned(),
        _ => {}
    }
    let start: DateTime<Utc> = EPOCH.and_time(NaiveTime::MIN).and_utc();
    match start.checked_add_signed(TimeDelta::microseconds(micros)) {
        Some(at) => format!("{}{zone}", iso(at.naive_utc())),
        None => "out of range".to_owned(),
    }
}

/// ISO 8601: `P1Y2M3DT4H5M6.7S`.
fn interval(bytes: &[u8]) -> Read<String> {
    let mut reader = Reader(bytes);
    let micros = i64::from_be_bytes(reader.take()?);
    let (days, months) = (reader.i32()?, reader.i32()?);
    let mut date = String::new();
    for (number, unit) in [(months / 12, 'Y'), (months % 12, 'M'), (days, 'D')] {
        if number != 0 {
            date.push_str(&format!("{number}{unit}"));
        }
    }
    let mut time = String::new();
    let (hours, minutes) = (micros / 3_600_000_000, micros / 60_000_000 % 60);
    let rest = micros % 60_000_000;
    for (number, unit) in [(hours, 'H'), (minutes, 'M')] {
        if number != 0 {
            time.push_str(&format!("{number}{unit}"));
        }
    }
    if rest != 0 {
        let sign = if rest < 0 { "-" } else { "" };
        let fraction = format!("{:06}", rest.unsigned_abs() % 1_000_000);
        let fraction = fraction.trim_end_matches('0');
        let dot = if fraction.is_empty() { "" } else { "." };
        time.push_str(&format!(
            "{sign}{}{dot}{fraction}S",
            rest.unsigned_abs() / 1_000_000
        ));
    }
    Ok(match (date.is_empty(), time.is_empty()) {
        (true, true) => "PT0S".to_owned(),
        (false, true) => format!("P{date}"),
        (_, false) => format!("P{date}T{time}"),
    })
}

/// Dimensions first; elements of any number of dimensions follow in row order.
fn array(element: &impl Typed, bytes: &[u8], room: &mut Room<'_>, levels: usize) -> Read<Value> {
    let mut reader = Reader(bytes);
    let dimensions = usize::try_from(reader.i32()?).map_err(|_| ReadError::NegativeDimensions)?;
    let (_has_nulls, _element_oid) = (reader.i32()?, reader.i32()?);
    if dimensions > DIMENSIONS_MAX {
        return Err(ReadError::TooManyDimensions(dimensions));
    }
    let mut lengths = Vec::with_capacity(dimensions);
    let mut count = usize::from(dimensions > 0);
    for _ in 0..dimensions {
        let length = usize::try_from(reader.i32()?).map_err(|_| ReadError::NegativeLength)?;
        let _lower_bound = reader.i32()?;
        count = count.checked_mul(length).ok_or(ReadError::EndsEarly)?;
        lengths.push(length);
    }
    // An array with a dimension of no length has no element, whatever its other lengths are said to be.
    if count == 0 {
        return Ok(room.hold(Value::Array(Vec::new()))?);
    }
    if count > reader.0.len() / ELEMENT_BYTES_MIN {
        return Err(ReadError::EndsEarly);
    }
    room.fits(count.saturating_mul(ELEMENT_ROOM_MIN))?;
    room.take(ARRAY_ROOM)?;
    let mut items = Vec::with_capacity(count);
    for _ in 0..count {
        items.push(self::element(element, &mut reader, room, levels)?);
    }
    // From the innermost dimension outwards; the outermost is the array itself.
    for length in lengths.iter().skip(1).rev() {
        room.take(items.len() / length * ARRAY_ROOM)?;
        let mut rest = items.into_iter();
        let mut rows = Vec::new();
        while rest.len() > 0 {
            rows.push(Value::Array(rest.by_ref().take(*length).collect()));
        }
        items = rows;
    }
    Ok(Value::Array(items))
}

fn element(of: &impl Typed, reader: &mut Reader<'_>, room: &mut Room<'_>, levels: usize) -> Read<Value> {
    let Ok(length) = usize::try_from(reader.i32()?) else {
        return Ok(room.hold(Value::Null)?);
    };
    let (bytes, rest) = reader.0.split_at_checked(length).ok_or(ReadError::EndsEarly)?;
    reader.0 = rest;
    nested(of, bytes, room, levels)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(weight: i16, sign: u16, scale: i16, digits: &[i16]) -> Vec<u8> {
        let head = [digits.len() as i16, weight, sign as i16, scale];
        head.iter()
            .chain(digits)
            .flat_map(|number| number.to_be_bytes())
            .collect()
    }

    #[test]
    fn numerics_have_the_digits_that_were_sent() {
        for (bytes, text) in [
            (sent(0, 0, 0, &[]), "0"),
            (sent(i16::MAX, 0x4000, i16::MAX, &[0, 0]), "0"),
            (sent(1, 0, 0, &[1, 2345]), "12345"),
            (sent(2, 0x4000, 2, &[7]), "-700000000.00"),
            (sent(-1, 0, 6, &[12, 3400]), "0.001234"),
            (sent(-2, 0, 9, &[5]), "0.000000050"),
            (sent(0, 0xC000, 0, &[]), "NaN"),
            (sent(0, 0xF000, 0, &[]), "-Infinity"),
        ] {
            assert_eq!(numeric(&bytes).ok().as_deref(), Some(text));
        }
        assert!(numeric(&sent(0, 0, 0, &[1, 2])[..9]).is_err());
    }

    #[test]
    fn a_numeric_that_a_double_would_take_for_zero_stays_text() {
        let tiny = numeric(&sent(-100, 0, 400, &[1])).unwrap_or_default();
        assert_eq!(decimal(&tiny), Value::from(tiny));
        assert_eq!(decimal("-0.00"), Value::from(0));
        assert_eq!(decimal("1.50"), Value::from(1.5));
    }
}
