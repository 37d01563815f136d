//! Statements on a SQLite file, where the operator allows it.

use super::super::EffectError;
use super::rows::{bytes, collected, float, integer, wrong_parameter};
use super::target::Target;
use super::{Statement, failed};
use crate::config::SqliteFiles;
use heddle_node_stdlib::abi::code;
use serde_json::Value;
use sqlx::sqlite::{SqliteArguments, SqliteConnectOptions, SqliteConnection, SqliteQueryResult, SqliteRow};
use sqlx::{
    Arguments, AssertSqlSafe, Column, ConnectOptions, Connection, Executor, Row, SqlSafeStr, TypeInfo,
    ValueRef,
};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Instructions of SQLite's machine between two looks at whether to go on.
const STEPS: i32 = 1_000;
/// How long a file may be locked by somebody else.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// What reaches other files than the connection's own.
const FORBIDDEN: &[&str] = &[
    "attach",
    "vacuum",
    "temp_store_directory",
    "data_store_directory",
    "load_extension",
];

/// Stops the statement when whoever waits for it has gone.
struct Stop(Arc<AtomicBool>);

impl Drop for Stop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Executes a statement in a connection of its own.
pub(super) async fn execute(
    files: &SqliteFiles,
    target: &Target,
    statement: &Statement,
) -> Result<Vec<Value>, EffectError> {
    let fails = |error: sqlx::Error| failed(target, &error);
    let path = permitted(files, &target.file)?;
    if matches!(files, SqliteFiles::Below(_)) {
        check_words(&statement.query)?;
    }
    let options = SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true)
        .busy_timeout(BUSY_TIMEOUT)
        .disable_statement_logging();
    let mut connection = SqliteConnection::connect_with(&options).await.map_err(fails)?;
    let stop = Stop(Arc::default());
    {
        let stopped = stop.0.clone();
        let mut handle = connection.lock_handle().await.map_err(fails)?;
        handle.set_progress_handler(STEPS, move || !stopped.load(Ordering::Relaxed));
    }
    let text = AssertSqlSafe(statement.query.clone()).into_sql_str();
    let prepared = (&mut connection).prepare(text).await.map_err(fails)?;
    let has_rows = !sqlx::Statement::columns(&prepared).is_empty();
    let query = sqlx::Statement::query_with(&prepared, arguments(&statement.parameters)?);
    let done = |done: &SqliteQueryResult| (done.rows_affected(), Some(done.last_insert_rowid()));
    let columns = |row: &SqliteRow| columns(row, target);
    let stream = (&mut connection).fetch_many(query);
    let rows = collected(stream, has_rows, statement, target, done, columns).await?;
    connection.close().await.map_err(fails)?;
    Ok(rows)
}

/// The file that a connection names, if it may be opened.
fn permitted(files: &SqliteFiles, file: &str) -> Result<PathBuf, EffectError> {
    let denied = |reason: &str| Err(EffectError::new(code::NOT_PERMITTED, reason.to_owned()));
    let dir = match files {
        SqliteFiles::None => {
            return denied(
                "SQLite files are not enabled here: the operator names a directory for them (`sqlite_dir`).",
            );
        }
        SqliteFiles::Anywhere => return Ok(PathBuf::from(file)),
        SqliteFiles::Below(dir) => dir,
    };
    let plain = Path::new(file)
        .components()
        .all(|part| matches!(part, Component::Normal(_)));
    if !plain || file.is_empty() {
        return denied("A connection's `file` is a path below the operator's directory, without `..`.");
    }
    let path = dir.join(file);
    // A link may lead out of the directory, so what it really is decides.
    let real = |path: &Path| path.canonicalize().ok();
    let inside = match (real(dir), real(&path).or_else(|| path.parent().and_then(real))) {
        (Some(dir), Some(path)) => path.starts_with(dir),
        _ => false,
    };
    match inside {
        true => Ok(path),
        false => denied(
            "The connection's `file` is not below the operator's directory, or its folder is not there.",
        ),
    }
}

/// Refuses statements with words that reach other files, wherever they stand.
fn check_words(query: &str) -> Result<(), EffectError> {
    let lower = query.to_ascii_lowercase();
    let words = lower.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$'));
    match words.into_iter().find(|word| FORBIDDEN.contains(word)) {
        None => Ok(()),
        Some(word) => {
            let message = format!("`{word}` may not stand in a statement here: it can reach other files.");
            Err(EffectError::new(code::NOT_PERMITTED, message))
        }
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

fn columns(row: &SqliteRow, target: &Target) -> Result<Vec<(String, Value)>, EffectError> {
    let mut columns = Vec::with_capacity(row.len());
    for (index, column) in row.columns().iter().enumerate() {
        let value = value(row, index).map_err(|error| failed(target, &error))?;
        columns.push((column.name().to_owned(), value));
    }
    Ok(columns)
}

/// By what the value is, whatever its column was declared as.
fn value(row: &SqliteRow, index: usize) -> Result<Value, sqlx::Error> {
    let raw = row.try_get_raw(index)?;
    if raw.is_null() {
        return Ok(Value::Null);
    }
    let name = raw.type_info().name().to_owned();
    Ok(match name.as_str() {
        "INTEGER" | "INT8" | "BOOLEAN" => integer(row.try_get_unchecked(index)?),
        "REAL" => float(row.try_get_unchecked(index)?),
        "BLOB" => bytes(row.try_get_unchecked(index)?),
        _ => row.try_get_unchecked::<String, _>(index)?.into(),
    })
}
