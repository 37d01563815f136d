//! Values as PostgreSQL sends them in binary (its manual, "Binary Formats", and `src/backend/utils/adt`, `*_send`).

use super::super::rows::{bytes as base64, decimal, float, integer, iso};
use chrono::{DateTime, Days, NaiveDate, NaiveTime, TimeDelta, Utc};
use serde_json::Value;
use sqlx::TypeInfo;
use sqlx::postgres::{PgTypeInfo, PgTypeKind};

type Read<T> = Result<T, String>;

/// Days and microseconds are counted from here.
pub(super) const EPOCH: NaiveDate = match NaiveDate::from_ymd_opt(2000, 1, 1) {
    Some(date) => date,
    None => NaiveDate::MIN,
};

/// A value of this type.
pub(super) fn value(of: &PgTypeInfo, bytes: &[u8]) -> Read<Value> {
    match of.kind() {
        PgTypeKind::Array(element) => return array(element, bytes),
        PgTypeKind::Domain(base) => return value(base, bytes),
        PgTypeKind::Enum(_) => return text(bytes),
        _ => {}
    }
    Ok(match of.name() {
        "BOOL" => (bytes != [0]).into(),
        "INT2" => integer(i16::from_be_bytes(fixed(bytes)?).into()),
        "INT4" => integer(i32::from_be_bytes(fixed(bytes)?).into()),
        "INT8" => integer(i64::from_be_bytes(fixed(bytes)?)),
        "OID" => integer(u32::from_be_bytes(fixed(bytes)?).into()),
        // As the server writes it: a double of the same digits, not of the same bits.
        "FLOAT4" => decimal_float(f32::from_be_bytes(fixed(bytes)?)),
        "FLOAT8" => float(f64::from_be_bytes(fixed(bytes)?)),
        "NUMERIC" => decimal(&numeric(bytes)?),
        "TEXT" | "VARCHAR" | "CHAR" | "\"CHAR\"" | "NAME" | "UNKNOWN" | "CITEXT" => return text(bytes),
        "UUID" => uuid::Uuid::from_bytes(fixed(bytes)?).to_string().into(),
        "JSON" => return json(bytes),
        "JSONB" => return json(bytes.get(1..).unwrap_or_default()),
        "BYTEA" => base64(bytes),
        "DATE" => date(i32::from_be_bytes(fixed(bytes)?)).into(),
        "TIME" => time(i64::from_be_bytes(fixed(bytes)?))?.into(),
        "TIMESTAMP" => timestamp(i64::from_be_bytes(fixed(bytes)?), "").into(),
        "TIMESTAMPTZ" => timestamp(i64::from_be_bytes(fixed(bytes)?), "Z").into(),
        "INTERVAL" => interval(bytes)?.into(),
        "VOID" => Value::Null,
        other => return Err(format!("it has the type {other}")),
    })
}

fn fixed<const N: usize>(bytes: &[u8]) -> Read<[u8; N]> {
    bytes
        .try_into()
        .map_err(|_| format!("it has {} bytes, not {N}", bytes.len()))
}

fn text(bytes: &[u8]) -> Read<Value> {
    Ok(String::from_utf8_lossy(bytes).into_owned().into())
}

fn json(bytes: &[u8]) -> Read<Value> {
    serde_json::from_slice(bytes).map_err(|error| format!("it holds no JSON ({error})"))
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
        let (head, rest) = self.0.split_first_chunk().ok_or("it ends early")?;
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
    let group = |at: i32| {
        usize::try_from(at)
            .ok()
            .and_then(|at| digits.get(at))
            .copied()
            .unwrap_or(0)
    };
    let weight = i32::from(weight);
    let whole: String = (0..=weight).map(|at| format!("{:04}", group(at))).collect();
    let whole = whole.trim_start_matches('0');
    let mut text = if sign == 0x4000 {
        "-".to_owned()
    } else {
        String::new()
    };
    text.push_str(if whole.is_empty() { "0" } else { whole });
    let scale = usize::try_from(scale).unwrap_or_default();
    if scale > 0 {
        let groups = i32::try_from(scale.div_ceil(4)).unwrap_or_default();
        let fraction: String = (1..=groups)
            .map(|at| format!("{:04}", group(weight + at)))
            .collect();
        text.push('.');
        text.push_str(fraction.get(..scale).unwrap_or(&fraction));
    }
    Ok(text)
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
    time.map(|time| time.to_string())
        .ok_or("it is no time".to_owned())
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
fn array(element: &PgTypeInfo, bytes: &[u8]) -> Read<Value> {
    let mut reader = Reader(bytes);
    let dimensions = reader.i32()?;
    let (_has_nulls, _element_oid) = (reader.i32()?, reader.i32()?);
    let mut lengths = Vec::new();
    for _ in 0..dimensions {
        lengths.push(usize::try_from(reader.i32()?).map_err(|_| "it has a negative length")?);
        let _lower_bound = reader.i32()?;
    }
    if lengths.is_empty() {
        return Ok(Value::Array(Vec::new()));
    }
    elements(element, &lengths, &mut reader)
}

fn elements(element: &PgTypeInfo, lengths: &[usize], reader: &mut Reader<'_>) -> Read<Value> {
    let Some((length, inner)) = lengths.split_first() else {
        let length = reader.i32()?;
        let Ok(length) = usize::try_from(length) else {
            return Ok(Value::Null);
        };
        let (bytes, rest) = reader.0.split_at_checked(length).ok_or("it ends early")?;
        reader.0 = rest;
        return value(element, bytes);
    };
    let mut items = Vec::new();
    for _ in 0..*length {
        items.push(elements(element, inner, reader)?);
    }
    Ok(Value::Array(items))
}
