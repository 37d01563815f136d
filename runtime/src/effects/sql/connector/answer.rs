//! Answers of connector processes, which are untrusted: their size in memory is limited while they are parsed.

use super::super::serve::Reply;
use super::super::statement::Statement;
use crate::aside::aside_if_large;
use crate::effects::connectors::Owner;
use crate::effects::large::values_if_many;
use heddle_sandbox::{EffectCode, EffectError};
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::fmt;

/// Codes with which a statement may fail.
const CODES: &[EffectCode] = &[
    EffectCode::SqlFailed,
    EffectCode::SqlRowLimit,
    EffectCode::Parameter,
    EffectCode::NotPermitted,
    EffectCode::Timeout,
    EffectCode::Internal,
];
/// What any value is counted as at least.
const VALUE_BYTES: usize = 8;
/// Room besides what rows may have: names of columns are counted otherwise here.
const SLACK: usize = 1 << 20;

pub(in super::super) enum Answer {
    Connected,
    Opened(u64),
    Rows(Vec<Value>),
    Cancelled,
    Failed(EffectError),
}

impl Answer {
    /// Of a frame; rows may take about so many bytes.
    pub fn read(frame: &[u8], bytes_max: usize) -> Result<Self, serde_json::Error> {
        Ok(match serde_json::from_slice::<Reply<&RawValue>>(frame)? {
            Reply::Connected => Answer::Connected,
            Reply::Opened(session) => Answer::Opened(session),
            Reply::Cancelled => Answer::Cancelled,
            Reply::Rows(rows) => Answer::Rows(self::rows(rows.get(), bytes_max)?),
            Reply::Failed(failure) => Answer::Failed(failure.into_error(CODES)),
        })
    }

    /// Reads a frame that may have megabytes, at its owner's expense: others must not wait for that. What answers this statement, if
    /// anything, is read once there is room for it and for its values.
    pub async fn read_aside(
        owner: Owner,
        mut frame: Vec<u8>,
        statement: Option<&Statement>,
    ) -> Result<Self, serde_json::Error> {
        let unread = || <serde_json::Error as Error>::custom("it could not be read");
        let bytes = frame.len();
        if let Some(Statement { place, .. }) = statement {
            let counting = aside_if_large(owner, bytes, move || (values_if_many(&frame), frame));
            let (values, counted) = counting.await.ok_or_else(unread)?;
            frame = counted;
            place.make_room(bytes).await;
            place.make_room_for_values(values).await;
        }
        let bytes_max = statement.map_or(0, |statement| statement.bytes_max);
        let read = aside_if_large(owner, bytes, move || Answer::read(&frame, bytes_max)).await;
        read.unwrap_or_else(|| Err(unread()))
    }
}

/// What an answer says: the rows that it has, if any, or the error that the node fails with. For those who test that anything may be
/// answered.
pub fn answered(
    frame: &[u8],
    bytes_max: usize,
) -> Result<Result<Vec<Value>, EffectError>, serde_json::Error> {
    Ok(match Answer::read(frame, bytes_max)? {
        Answer::Rows(rows) => Ok(rows),
        Answer::Failed(error) => Err(error),
        Answer::Connected | Answer::Opened(_) | Answer::Cancelled => Ok(Vec::new()),
    })
}

fn rows(json: &str, bytes_max: usize) -> Result<Vec<Value>, serde_json::Error> {
    let mut left = bytes_max.saturating_mul(2).saturating_add(SLACK);
    let mut deserializer = serde_json::Deserializer::from_str(json);
    let value = Counted(&mut left).deserialize(&mut deserializer)?;
    deserializer.end()?;
    match value {
        Value::Array(rows) if rows.iter().all(Value::is_object) => Ok(rows),
        _ => Err(Error::custom("rows are objects")),
    }
}

/// Builds a value as far as there is room. Nesting is bounded by the parser.
struct Counted<'a>(&'a mut usize);

impl Counted<'_> {
    fn take<E: Error>(&mut self, bytes: usize) -> Result<(), E> {
        let left = self.0.checked_sub(bytes);
        *self.0 = left.ok_or_else(|| E::custom("it is too large"))?;
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for Counted<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(mut self, deserializer: D) -> Result<Value, D::Error> {
        self.take(VALUE_BYTES)?;
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Counted<'_> {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, truth: bool) -> Result<Value, E> {
        Ok(truth.into())
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_str<E: Error>(mut self, text: &str) -> Result<Value, E> {
        self.take(text.len())?;
        Ok(text.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut array = Vec::new();
        while let Some(item) = items.next_element_seed(Counted(self.0))? {
            array.push(item);
        }
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            self.take(name.len())?;
            object.insert(name, members.next_value_seed(Counted(self.0))?);
        }
        Ok(Value::Object(object))
    }
}
