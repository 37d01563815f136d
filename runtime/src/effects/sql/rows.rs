//! Rows as JSON, within limits, and conversions that the databases share. Where a few bytes from the server can become
//! many, a value's size is computed before it is built.

use super::failure::failed;
use super::statement::Statement;
use super::target::Target;
use crate::aside::is_small;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chrono::NaiveDateTime;
use futures_util::TryStreamExt;
use futures_util::stream::BoxStream;
use heddle_sandbox::{EffectCode, EffectError};
use serde_json::{Map, Value};
use sqlx::Either;
use std::collections::HashMap;
use std::fmt::Display;
use thiserror::Error;

/// Largest whole number that a double holds with all below it.
const EXACT_MAX: u64 = 1 << 53;
/// Significant digits that a double keeps.
const DIGITS_MAX: usize = 15;

/// What comes of a statement: rows, or how many were affected and, of what was inserted last, the id. Once there is more than little, this
/// waits for room for all that may come.
pub(super) async fn collected<Done, Row>(
    mut stream: BoxStream<'_, Result<Either<Done, Row>, sqlx::Error>>,
    has_rows: bool,
    statement: &Statement,
    target: &Target,
    done: impl Fn(&Done) -> (u64, Option<i64>),
    columns: impl Fn(&Row, &mut Room<'_>) -> Result<Vec<(String, Value)>, Unread>,
) -> Result<Vec<Value>, EffectError> {
    let mut rows = Rows::new(statement);
    let (mut count, mut last_insert_id) = (0, None);
    while let Some(next) = stream.try_next().await.map_err(|error| failed(target, &error))? {
        match next {
            Either::Left(part) => {
                let (affected, id) = done(&part);
                (count, last_insert_id) = (count + affected, id);
            }
            Either::Right(row) => rows.push(|room| columns(&row, room))?,
        }
        if !is_small(rows.bytes()) {
            Box::pin(statement.place.make_room(statement.bytes_max)).await;
        }
    }
    Ok(match has_rows {
        true => rows.rows,
        false => affected(count, last_insert_id.filter(|id| *id != 0)),
    })
}

/// What the values of a result may still take, in bytes.
pub(super) struct Room<'a> {
    left: usize,
    /// See [`Statement::mark`].
    mark: Option<&'a str>,
}

/// There is no room for it.
#[derive(Debug, Error)]
#[error("there is no room for it")]
pub(super) struct TooLarge;

/// Why a row can't be read.
pub(super) enum Unread {
    /// There is no room for it.
    TooLarge,
    /// Any other reason.
    Failed(EffectError),
}

impl From<TooLarge> for Unread {
    fn from(_: TooLarge) -> Self {
        Unread::TooLarge
    }
}

impl<'a> Room<'a> {
    /// As much as this.
    pub const fn new(bytes: usize, mark: Option<&'a str>) -> Self {
        Room { left: bytes, mark }
    }
}

impl Room<'_> {
    /// Room for something of so many bytes.
    pub fn take(&mut self, bytes: usize) -> Result<(), TooLarge> {
        self.left = self.left.checked_sub(bytes).ok_or(TooLarge)?;
        Ok(())
    }

    /// Whether something of at least so many bytes could fit.
    pub fn fits(&self, bytes: usize) -> Result<(), TooLarge> {
        match bytes <= self.left {
            true => Ok(()),
            false => Err(TooLarge),
        }
    }

    /// Bytes, in base64.
    pub fn bytes(&self, bytes: &[u8]) -> Value {
        let encoded = Value::String(STANDARD.encode(bytes));
        match self.mark {
            Some(mark) => Value::Object(Map::from_iter([(mark.to_owned(), encoded)])),
            None => encoded,
        }
    }

    /// Room for a value that has been built.
    pub fn hold(&mut self, value: Value) -> Result<Value, TooLarge> {
        self.take(size(&value))?;
        Ok(value)
    }
}

/// Collects rows.
struct Rows<'a> {
    statement: &'a Statement,
    rows: Vec<Value>,
    room: Room<'a>,
}

impl<'a> Rows<'a> {
    fn new(statement: &'a Statement) -> Self {
        Rows {
            statement,
            rows: Vec::new(),
            room: Room::new(statement.bytes_max, statement.mark.as_deref()),
        }
    }

    /// What the rows have taken.
    fn bytes(&self) -> usize {
        self.statement.bytes_max.saturating_sub(self.room.left)
    }

    /// Takes a row of named values, which have taken their room.
    fn push(
        &mut self,
        columns: impl FnOnce(&mut Room<'_>) -> Result<Vec<(String, Value)>, Unread>,
    ) -> Result<(), EffectError> {
        if self.rows.len() >= self.statement.rows_max {
            let message = format!(
                "The query returned more than the {} rows that `maxRows` allows. Add a LIMIT, or raise \
                 `maxRows`.",
                self.statement.rows_max
            );
            return Err(EffectError::new(EffectCode::SqlRowLimit, message));
        }
        let columns = columns(&mut self.room);
        let row = match columns.and_then(|columns| Ok(named(columns, &mut self.room)?)) {
            Ok(row) => row,
            Err(Unread::Failed(error)) => return Err(error),
            Err(Unread::TooLarge) => {
                let message = format!(
                    "The first {} rows are larger than the {} KiB allowed. Request fewer rows or columns.",
                    self.rows.len() + 1,
                    self.statement.bytes_max >> 10
                );
                return Err(EffectError::new(EffectCode::SqlRowLimit, message));
            }
        };
        self.rows.push(row);
        Ok(())
    }
}

/// A row as an object; names take room as well.
fn named(columns: Vec<(String, Value)>, room: &mut Room<'_>) -> Result<Value, TooLarge> {
    let mut row = Map::new();
    let mut numbers = HashMap::new();
    for (name, value) in columns {
        room.take(name.len())?;
        let name = free_name(&row, &mut numbers, name);
        row.insert(name, value);
    }
    Ok(Value::Object(row))
}

/// The row of a statement that gives none.
fn affected(rows: u64, last_insert_id: Option<i64>) -> Vec<Value> {
    let mut row = Map::from_iter([("affectedRows".to_owned(), unsigned(rows))]);
    if let Some(id) = last_insert_id {
        row.insert("lastInsertId".to_owned(), integer(id));
    }
    vec![Value::Object(row)]
}

/// What a value takes. Values from outside are nested 128 levels deep at most.
fn size(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 2,
        Value::Array(items) => items.iter().map(size).sum::<usize>() + 2,
        Value::Object(members) => {
            let members = members.iter().map(|(name, value)| name.len() + 4 + size(value));
            members.sum::<usize>() + 2
        }
        _ => 8,
    }
}

/// `name`, `name_2`, … `numbers` has the last number of each name, so that a row of equal names is not searched again.
fn free_name(row: &Map<String, Value>, numbers: &mut HashMap<String, u32>, name: String) -> String {
    if !row.contains_key(&name) {
        return name;
    }
    let number = numbers.entry(name.clone()).or_insert(1);
    loop {
        *number = number.saturating_add(1);
        let numbered = format!("{name}_{number}");
        if !row.contains_key(&numbered) {
            return numbered;
        }
    }
}

/// A whole number, as text when a double can't hold it.
pub(super) fn integer(number: i64) -> Value {
    match number.unsigned_abs() <= EXACT_MAX {
        true => number.into(),
        false => number.to_string().into(),
    }
}

pub(super) fn unsigned(number: u64) -> Value {
    match number <= EXACT_MAX {
        true => number.into(),
        false => number.to_string().into(),
    }
}

/// A decimal number, as text when a double does not keep its digits.
pub(super) fn decimal(text: &str) -> Value {
    let digits = text.bytes().filter(u8::is_ascii_digit).collect::<Vec<_>>();
    let leading = digits.iter().take_while(|digit| **digit == b'0').count();
    let is_zero = !digits.is_empty() && leading == digits.len();
    match text.parse::<f64>() {
        Ok(number) if (number.is_normal() || is_zero) && digits.len() - leading <= DIGITS_MAX => {
            match number.fract() == 0.0 {
                true => integer(number as i64),
                false => number.into(),
            }
        }
        _ => text.into(),
    }
}

/// A floating-point number; JSON has no NaN and infinities, which are texts.
pub(super) fn float(number: f64) -> Value {
    match number.is_finite() {
        true => number.into(),
        false => number.to_string().into(),
    }
}

/// The number of parameters that a statement has is not that of those given.
pub(super) fn wrong_count(wanted: usize, given: usize) -> EffectError {
    let message = format!("The statement has {wanted} parameters, but `parameters` has {given}.");
    EffectError::parameter(message)
}

/// A parameter that can't be sent.
pub(super) fn wrong_parameter(index: usize, reason: impl Display) -> EffectError {
    EffectError::parameter(format!("Parameter `parameters[{index}]`: {reason}."))
}

/// Date and time as ISO 8601, in microseconds only where there are any.
pub(super) fn iso(at: NaiveDateTime) -> String {
    let format = match at.and_utc().timestamp_subsec_micros().is_multiple_of(1_000) {
        true => "%Y-%m-%dT%H:%M:%S%.3f",
        false => "%Y-%m-%dT%H:%M:%S%.6f",
    };
    at.format(format).to_string()
}

/// Whether a statement leaves nothing behind in its session: no transaction, setting or temporary table.
pub(super) fn keeps_session(query: &str) -> bool {
    let first: String = query
        .trim_start()
        .chars()
        .take_while(char::is_ascii_alphabetic)
        .collect();
    let harmless = [
        "select", "insert", "update", "delete", "with", "values", "replace", "merge",
    ];
    harmless.iter().any(|word| first.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::super::target::{Kind, Tls};
    use super::*;
    use crate::effects::large::room_for_bytes;
    use crate::effects::result_place::ResultPlace;
    use futures_util::{FutureExt, StreamExt, stream};
    use std::sync::Arc;
    use std::time::Duration;
    use tokio::sync::Semaphore;

    #[tokio::test]
    async fn many_rows_wait_for_room_of_their_owner() {
        let owner = Some(0x524f_5753);
        let target = Target {
            kind: Kind::Sqlite,
            host: String::new(),
            port: 0,
            user: String::new(),
            password: String::new().into(),
            database: String::new(),
            tls: Tls::None,
            tls_ca: None,
            file: "a.db".to_owned(),
            key: String::new(),
        };
        let statement = Statement {
            query: String::new(),
            parameters: Vec::new(),
            rows_max: 1_000,
            bytes_max: 8 << 20,
            timeout: Duration::from_secs(60),
            mark: None,
            place: ResultPlace::among(Arc::new(Semaphore::new(1)), owner),
        };
        let collect = |count: usize| {
            let rows = (0..count).map(|_| Ok::<_, sqlx::Error>(Either::<(), _>::Right("x".repeat(1 << 10))));
            collected(
                stream::iter(rows).boxed(),
                true,
                &statement,
                &target,
                |_| (0, None),
                |row: &String, room| Ok(vec![("text".to_owned(), room.hold(row.as_str().into())?)]),
            )
        };
        let all = room_for_bytes(owner, usize::MAX).await;
        let few = Box::pin(collect(10)).now_or_never();
        assert!(few.is_some_and(|rows| rows.is_ok_and(|rows| rows.len() == 10)));
        let mut many = Box::pin(collect(100));
        assert!((&mut many).now_or_never().is_none());
        drop(all);
        assert!(many.await.is_ok_and(|rows| rows.len() == 100));
    }
}
