//! Parameters as PostgreSQL takes them in binary, by the type that it has found for each.

use super::read::{EPOCH, TYPES_MAX, TooNested, base};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, NaiveDate, NaiveDateTime, NaiveTime, Timelike};
use serde_json::Value;
use sqlx::encode::IsNull;
use sqlx::postgres::{PgArgumentBuffer, PgTypeInfo, PgTypeKind};
use sqlx::{Encode, Postgres, Type, TypeInfo};
use thiserror::Error;

/// Why a value can't be a parameter.
#[derive(Debug, Error)]
pub(super) enum WriteError {
    #[error(transparent)]
    TooNested(#[from] TooNested),
    #[error("{shown} is not of type {wanted}")]
    Mismatch { shown: String, wanted: String },
    #[error("parameters of type {0} are not supported; cast it in the query, as in `$1::text::{0}`")]
    Unsupported(String),
    #[error("{0} is not an array")]
    NotAnArray(String),
    #[error("the array is too long")]
    ArrayTooLong,
    #[error("an element is too long")]
    ElementTooLong,
    #[error("the type of the array's elements is not known")]
    UnknownElement,
}

/// A parameter in the server's form; `None` is null.
pub(super) struct Written {
    of: PgTypeInfo,
    bytes: Option<Vec<u8>>,
}

impl Type<Postgres> for Written {
    fn type_info() -> PgTypeInfo {
        PgTypeInfo::with_name("text")
    }
}

impl Encode<'_, Postgres> for Written {
    fn encode_by_ref(&self, buffer: &mut PgArgumentBuffer) -> Result<IsNull, sqlx::error::BoxDynError> {
        match &self.bytes {
            None => Ok(IsNull::Yes),
            Some(bytes) => {
                buffer.extend_from_slice(bytes);
                Ok(IsNull::No)
            }
        }
    }

    fn produces(&self) -> Option<PgTypeInfo> {
        Some(self.of.clone())
    }
}

impl Written {
    pub fn new(of: &PgTypeInfo, value: &Value) -> Result<Self, WriteError> {
        let bytes = match value {
            // JSON's own null is written only inside of JSON.
            Value::Null => None,
            value => Some(bytes(of, value, TYPES_MAX)?),
        };
        Ok(Written {
            of: of.clone(),
            bytes,
        })
    }
}

fn bytes(of: &PgTypeInfo, value: &Value, levels: usize) -> Result<Vec<u8>, WriteError> {
    let (of, levels) = base(of, levels)?;
    match of.kind() {
        PgTypeKind::Array(element) => {
            return array(element, value, levels.checked_sub(1).ok_or(TooNested)?);
        }
        PgTypeKind::Enum(_) => return Ok(text(value).into_bytes()),
        _ => {}
    }
    let name = of.name();
    let mismatch = || WriteError::Mismatch {
        shown: shown(value),
        wanted: name.to_ascii_lowercase(),
    };
    let number = || whole(value).ok_or_else(mismatch);
    let parsed = |text: Option<Vec<u8>>| text.ok_or_else(mismatch);
    Ok(match name {
        "BOOL" => match value {
            Value::Bool(truth) => vec![u8::from(*truth)],
            Value::String(text) if matches!(text.as_str(), "true" | "false") => {
                vec![u8::from(text == "true")]
            }
            _ => return Err(mismatch()),
        },
        "INT2" => i16::try_from(number()?)
            .map_err(|_| mismatch())?
            .to_be_bytes()
            .to_vec(),
        "INT4" => i32::try_from(number()?)
            .map_err(|_| mismatch())?
            .to_be_bytes()
            .to_vec(),
        "INT8" => number()?.to_be_bytes().to_vec(),
        "OID" => u32::try_from(number()?)
            .map_err(|_| mismatch())?
            .to_be_bytes()
            .to_vec(),
        "FLOAT4" => parsed(float(value).and_then(single))?,
        "FLOAT8" => float(value).ok_or_else(mismatch)?.to_be_bytes().to_vec(),
        "NUMERIC" => parsed(numeric(&text(value)))?,
        "TEXT" | "VARCHAR" | "CHAR" | "\"CHAR\"" | "NAME" | "UNKNOWN" | "CITEXT" => text(value).into_bytes(),
        "UUID" => parsed(
            uuid::Uuid::parse_str(&text(value))
                .ok()
                .map(|id| id.as_bytes().to_vec()),
        )?,
        "JSON" => json(value).into_bytes(),
        "JSONB" => [vec![1], json(value).into_bytes()].concat(),
        "BYTEA" => parsed(STANDARD.decode(text(value)).ok())?,
        "DATE" => parsed(date(&text(value)))?,
        "TIME" => parsed(time(&text(value)))?,
        "TIMESTAMP" | "TIMESTAMPTZ" => parsed(timestamp(&text(value)))?,
        other => return Err(WriteError::Unsupported(other.to_owned())),
    })
}

/// Whole numbers come as numbers, or as texts when they are large.
fn whole(value: &Value) -> Option<i64> {
    match value {
        Value::Number(number) => number.as_i64().or_else(|| {
            let number = number.as_f64()?;
            (number.fract() == 0.0 && number.abs() < 9.2e18).then_some(number as i64)
        }),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

fn float(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

/// Not a number that would become infinite in so few bits.
fn single(number: f64) -> Option<Vec<u8>> {
    let short = number as f32;
    let fits = short.is_finite() || !number.is_finite();
    fits.then(|| short.to_be_bytes().to_vec())
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A text that is JSON itself is sent as that, any other as a JSON string.
fn json(value: &Value) -> String {
    match value {
        Value::String(text) if serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok() => text.clone(),
        other => other.to_string(),
    }
}

fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(60) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

/// Groups of four decimal digits around the point, see `read`.
fn numeric(text: &str) -> Option<Vec<u8>> {
    let text = text.trim();
    let (text, exponent) = match text.split_once(['e', 'E']) {
        Some((text, exponent)) => (text, exponent.parse::<i32>().ok().filter(|it| it.abs() < 1_000)?),
        None => (text, 0),
    };
    let (negative, text) = match text.strip_prefix('-') {
        Some(text) => (true, text),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = format!("{whole}{fraction}");
    if digits.is_empty() || digits.len() > 10_000 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    // The point moves by the exponent; zeros fill what it leaves behind.
    let point = i32::try_from(whole.len()).ok()? + exponent;
    let digits = match usize::try_from(point) {
        Ok(point) => format!("{digits:0<point$}"),
        Err(_) => format!("{}{digits}", "0".repeat(point.unsigned_abs() as usize)),
    };
    let point = usize::try_from(point).unwrap_or(0);
    let (whole, fraction) = digits.split_at(point.min(digits.len()));
    let scale = u16::try_from(fraction.len()).ok()?;
    let whole = format!("{}{whole}", "0".repeat((4 - whole.len() % 4) % 4));
    let fraction = format!("{fraction}{}", "0".repeat((4 - fraction.len() % 4) % 4));
    let weight = i16::try_from(whole.len() / 4).ok()? - 1;
    let groups = [whole, fraction].concat();
    let groups: Vec<i16> = groups
        .as_bytes()
        .chunks(4)
        .map(|group| {
            group
                .iter()
                .fold(0, |number, digit| number * 10 + i16::from(digit - b'0'))
        })
        .collect();
    let mut bytes = i16::try_from(groups.len()).ok()?.to_be_bytes().to_vec();
    bytes.extend(weight.to_be_bytes());
    bytes.extend((if negative { 0x4000_u16 } else { 0 }).to_be_bytes());
    bytes.extend(scale.to_be_bytes());
    bytes.extend(groups.into_iter().flat_map(i16::to_be_bytes));
    Some(bytes)
}

fn date(text: &str) -> Option<Vec<u8>> {
    // A whole time is taken by its date.
    let (date, rest) = text.split_at_checked(10)?;
    if !rest.is_empty() && !rest.starts_with(['T', 't', ' ']) {
        return None;
    }
    let date = NaiveDate::parse_from_str(date, "%Y-%m-%d").ok()?;
    let days = i32::try_from((date - EPOCH).num_days()).ok()?;
    Some(days.to_be_bytes().to_vec())
}

fn time(text: &str) -> Option<Vec<u8>> {
    let formats = ["%H:%M:%S%.f", "%H:%M"];
    let time = formats
        .iter()
        .find_map(|format| NaiveTime::parse_from_str(text, format).ok())?;
    let micros =
        i64::from(time.num_seconds_from_midnight()) * 1_000_000 + i64::from(time.nanosecond() / 1_000);
    Some(micros.to_be_bytes().to_vec())
}

/// With an offset, or without one, which is UTC.
fn timestamp(text: &str) -> Option<Vec<u8>> {
    let at = match DateTime::parse_from_rfc3339(text) {
        Ok(at) => at.naive_utc(),
        Err(_) => {
            let formats = ["%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M:%S%.f"];
            let at = formats
                .iter()
                .find_map(|format| NaiveDateTime::parse_from_str(text, format).ok());
            match at {
                Some(at) => at,
                None => NaiveDate::parse_from_str(text, "%Y-%m-%d")
                    .ok()?
                    .and_time(NaiveTime::MIN),
            }
        }
    };
    let micros = (at - EPOCH.and_time(NaiveTime::MIN)).num_microseconds()?;
    Some(micros.to_be_bytes().to_vec())
}

/// One dimension; elements may be null.
fn array(element: &PgTypeInfo, value: &Value, levels: usize) -> Result<Vec<u8>, WriteError> {
    let Value::Array(items) = value else {
        return Err(WriteError::NotAnArray(shown(value)));
    };
    let count = i32::try_from(items.len()).map_err(|_| WriteError::ArrayTooLong)?;
    let has_nulls = i32::from(items.iter().any(Value::is_null));
    let oid = element.oid().ok_or(WriteError::UnknownElement)?;
    let mut written = Vec::new();
    let dimensions = i32::from(count > 0);
    written.extend(dimensions.to_be_bytes());
    written.extend(has_nulls.to_be_bytes());
    written.extend(oid.0.to_be_bytes());
    if count > 0 {
        written.extend(count.to_be_bytes());
        written.extend(1_i32.to_be_bytes());
    }
    for item in items {
        match item {
            Value::Null => written.extend((-1_i32).to_be_bytes()),
            item => {
                let item = bytes(element, item, levels)?;
                let length = i32::try_from(item.len()).map_err(|_| WriteError::ElementTooLong)?;
                written.extend(length.to_be_bytes());
                written.extend(item);
            }
        }
    }
    Ok(written)
}
