//! Statements on a SQLite file, where the operator allows it. Each tenant has a directory of its own.

mod connector;
mod growth;
mod guard;
mod place;

use super::failure::failed;
use super::rows::{Room, Unread, collected, float, integer, wrong_parameter};
use super::statement::Statement;
use super::target::Target;
use heddle_sandbox::EffectError;

pub(super) use connector::Connector;
pub(super) use growth::Growth;
use guard::{check_words, harden, is_refusal};
pub(super) use place::{File, Files, permitted};
use serde_json::Value;
use sqlx::sqlite::{SqliteArguments, SqliteConnectOptions, SqliteConnection, SqliteQueryResult, SqliteRow};
use sqlx::{
    Arguments, AssertSqlSafe, Column, ConnectOptions, Connection, Executor, Row, SqlSafeStr, TypeInfo,
    ValueRef,
};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Instructions of SQLite's machine between two looks at whether to go on.
const STEPS: i32 = 1_000;
/// How long a file may be locked by somebody else.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// Of a page, where a file does not say.
const PAGE_BYTES: u64 = 4_096;

/// Stops the statement when whoever waits for it has gone.
struct Stop(Arc<AtomicBool>);

impl Drop for Stop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Executes a statement in a connection of its own.
pub(super) async fn execute(
    file: &File,
    target: &Target,
    statement: &Statement,
) -> Result<Vec<Value>, EffectError> {
    let fails = |error: sqlx::Error| refused(target, &error);
    if file.bytes_max.is_some() {
        check_words(&statement.query)?;
    }
    let mut connection = open(&file.path).await.map_err(fails)?;
    if let Some(bytes_max) = file.bytes_max {
        let pages = "select page_size from pragma_page_size()";
        let page: i64 = sqlx::query_scalar(pages)
            .fetch_one(&mut connection)
            .await
            .map_err(fails)?;
        let page = u64::try_from(page).unwrap_or(PAGE_BYTES).max(1);
        let bound = AssertSqlSafe(format!("pragma max_page_count = {}", (bytes_max / page).max(1)));
        connection.execute(bound).await.map_err(fails)?;
    }
    if file.is_inside {
        // No file for what is sorted or kept for a while: there is none, and memory is bounded.
        let kept = "pragma temp_store = memory";
        connection.execute(kept).await.map_err(fails)?;
    }
    let stop = Stop(Arc::default());
    {
        let stopped = stop.0.clone();
        let mut handle = connection.lock_handle().await.map_err(fails)?;
        handle.set_progress_handler(STEPS, move || !stopped.load(Ordering::Relaxed));
        if file.bytes_max.is_some() {
            harden(&mut handle, statement.bytes_max)?;
        }
    }
    let text = AssertSqlSafe(statement.query.clone()).into_sql_str();
    let prepared = (&mut connection).prepare(text).await.map_err(fails)?;
    let has_rows = !sqlx::Statement::columns(&prepared).is_empty();
    let query = sqlx::Statement::query_with(&prepared, arguments(&statement.parameters)?);
    let done = |done: &SqliteQueryResult| (done.rows_affected(), Some(done.last_insert_rowid()));
    let columns = |row: &SqliteRow, room: &mut Room<'_>| columns(row, room, target);
    let stream = (&mut connection).fetch_many(query);
    let rows = collected(stream, has_rows, statement, target, done, columns).await?;
    connection.close().await.map_err(fails)?;
    Ok(rows)
}

async fn open(path: &Path) -> Result<SqliteConnection, sqlx::Error> {
    let options = SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true)
        .busy_timeout(BUSY_TIMEOUT)
        .disable_statement_logging();
    SqliteConnection::connect_with(&options).await
}

fn refused(target: &Target, error: &sqlx::Error) -> EffectError {
    match is_refusal(error) {
        true => guard::refusal(target),
        false => failed(target, error),
    }
}

fn arguments(values: &[Value]) -> Result<SqliteArguments, EffectError> {
    let mut arguments = SqliteArguments::default();
    for (index, value) in values.iter().enumerate() {
        let added = match value {
            Value::Null => arguments.add(None::<String>),
            Value::Bool(truth) => arguments.add(*truth),
            Value::Number(number) => match (number.as_i64(), number.as_f64()) {
                (Some(number), _) => arguments.add(number),
                (_, number) => arguments.add(number),
            },
            Value::String(text) => arguments.add(text.clone()),
            other => arguments.add(other.to_string()),
        };
        added.map_err(|error| wrong_parameter(index, error))?;
    }
    Ok(arguments)
}

fn columns(row: &SqliteRow, room: &mut Room<'_>, target: &Target) -> Result<Vec<(String, Value)>, Unread> {
    let mut columns = Vec::with_capacity(row.len());
    for (index, column) in row.columns().iter().enumerate() {
        let value = value(row, index, room).map_err(|error| Unread::Failed(failed(target, &error)))?;
        columns.push((column.name().to_owned(), room.hold(value)?));
    }
    Ok(columns)
}

/// By what the value is, whatever its column was declared as.
fn value(row: &SqliteRow, index: usize, room: &Room<'_>) -> Result<Value, sqlx::Error> {
    let raw = row.try_get_raw(index)?;
    if raw.is_null() {
        return Ok(Value::Null);
    }
    let name = raw.type_info().name().to_owned();
    Ok(match name.as_str() {
        "INTEGER" | "INT8" | "BOOLEAN" => integer(row.try_get_unchecked(index)?),
        "REAL" => float(row.try_get_unchecked(index)?),
        "BLOB" => room.bytes(row.try_get_unchecked(index)?),
        _ => row.try_get_unchecked::<String, _>(index)?.into(),
    })
}
