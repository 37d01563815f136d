//! A session of MySQL or MariaDB.
//!
//! Knows nothing about whether it executes in the service or in a separate process.

use super::failure::failed;
use super::rows::{
    Room, Unread, collected, decimal, float, integer, iso, unsigned, wrong_count, wrong_parameter,
};
use super::statement::{Budget, Statement};
use super::target::Target;
use crate::egress::Meter;
use chrono::NaiveDate;
use heddle_sandbox::{EffectCode, EffectError};
use serde_json::Value;
use sqlx::mysql::types::MySqlTime;
use sqlx::mysql::{MySqlArguments, MySqlConnectOptions, MySqlConnection, MySqlQueryResult, MySqlRow};
use sqlx::{
    Arguments, AssertSqlSafe, Column, ConnectOptions, Connection, Either, Executor, Row, SqlSafeStr,
    TypeInfo, ValueRef,
};
use std::path::Path;

/// Bytes in which the server describes a statement's parameters and columns, of which there may be 4,096.
const DESCRIPTION_BYTES_MAX: u64 = 1 << 20;

/// An open session.
pub(super) struct Session {
    connection: MySqlConnection,
    id: u64,
}

impl Session {
    /// Opens a session by the socket in this directory.
    pub async fn open(dir: &Path, target: &Target) -> Result<Self, EffectError> {
        let mut connection = connect(dir, target).await?;
        let id = sqlx::query_scalar("select cast(connection_id() as unsigned)").fetch_one(&mut connection);
        let id = id.await.map_err(|error| failed(target, &error))?;
        Ok(Session { connection, id })
    }

    /// The server's number for it.
    pub const fn id(&self) -> u64 {
        self.id
    }

    pub async fn execute(
        &mut self,
        statement: &Statement,
        target: &Target,
        meter: &Meter,
    ) -> Result<Vec<Value>, EffectError> {
        let fails = |error: sqlx::Error| failed(target, &error);
        meter.grant(DESCRIPTION_BYTES_MAX);
        let text = AssertSqlSafe(statement.query.clone()).into_sql_str();
        let prepared = (&mut self.connection).prepare(text).await.map_err(fails)?;
        if let Some(Either::Right(count)) = sqlx::Statement::parameters(&prepared)
            && count != statement.parameters.len()
        {
            return Err(wrong_count(count, statement.parameters.len()));
        }
        let has_rows = !sqlx::Statement::columns(&prepared).is_empty();
        let query = sqlx::Statement::query_with(&prepared, arguments(&statement.parameters)?);
        meter.grant(Budget::of_rows(statement));
        let done =
            |done: &MySqlQueryResult| (done.rows_affected(), i64::try_from(done.last_insert_id()).ok());
        let stream = (&mut self.connection).fetch_many(query);
        collected(stream, has_rows, statement, target, done, columns).await
    }
}

/// Tells the server, by a connection of its own, to stop what it is doing for a session.
pub(super) async fn cancel(dir: &Path, target: &Target, session: u64) -> Option<()> {
    let mut other = connect(dir, target).await.ok()?;
    let kill = AssertSqlSafe(format!("kill {session}"));
    other.execute(kill).await.ok()?;
    other.close().await.ok()
}

async fn connect(dir: &Path, target: &Target) -> Result<MySqlConnection, EffectError> {
    let mut options = MySqlConnectOptions::new()
        .host(&target.host)
        .port(target.port)
        .socket(dir.join(target.socket()))
        .username(&target.user)
        .password(&target.password)
        .ssl_mode(target.tls.into())
        // The mode of SQL stays as the server has it.
        .pipes_as_concat(false)
        .no_engine_substitution(false)
        .disable_statement_logging();
    if !target.database.is_empty() {
        options = options.database(&target.database);
    }
    if let Some(ca) = &target.tls_ca {
        options = options.ssl_ca_from_pem(ca.clone().into_bytes());
    }
    MySqlConnection::connect_with(&options)
        .await
        .map_err(|error| failed(target, &error))
}

fn arguments(values: &[Value]) -> Result<MySqlArguments, EffectError> {
    let mut arguments = MySqlArguments::default();
    for (index, value) in values.iter().enumerate() {
        let added = match value {
            Value::Null => arguments.add(None::<String>),
            Value::Bool(truth) => arguments.add(*truth),
            Value::Number(number) => match (number.as_i64(), number.as_u64(), number.as_f64()) {
                (Some(number), ..) => arguments.add(number),
                (_, Some(number), _) => arguments.add(number),
                (.., number) => arguments.add(number),
            },
            Value::String(text) => arguments.add(text.clone()),
            other => arguments.add(other.to_string()),
        };
        added.map_err(|error| wrong_parameter(index, error))?;
    }
    Ok(arguments)
}

fn columns(row: &MySqlRow, room: &mut Room<'_>) -> Result<Vec<(String, Value)>, Unread> {
    let mut columns = Vec::with_capacity(row.len());
    for (index, column) in row.columns().iter().enumerate() {
        let unreadable = |error: sqlx::Error| {
            let message = format!(
                "Can't read the column `{}`: {error}. Cast it in the query.",
                column.name()
            );
            Unread::Failed(EffectError::new(EffectCode::SqlFailed, message))
        };
        // A value is at least as large as its bytes, except for whitespace in JSON.
        let raw: &[u8] = match row.try_get_raw(index).map_err(unreadable)?.is_null() {
            true => &[],
            false => row.try_get_unchecked(index).map_err(unreadable)?,
        };
        room.fits(raw.len())?;
        let value = value(row, index, room).map_err(unreadable)?;
        columns.push((column.name().to_owned(), room.hold(value)?));
    }
    Ok(columns)
}

fn value(row: &MySqlRow, index: usize, room: &Room<'_>) -> Result<Value, sqlx::Error> {
    let raw = row.try_get_raw(index)?;
    if raw.is_null() {
        return Ok(Value::Null);
    }
    let name = raw.type_info().name().to_owned();
    Ok(match name.as_str() {
        // `tinyint(1)`, in which truth values are kept, and small numbers as well.
        "BOOLEAN" => {
            let is_unsigned = <u8 as sqlx::Type<sqlx::MySql>>::compatible(&raw.type_info());
            let number = match is_unsigned {
                true => i64::from(row.try_get_unchecked::<u8, _>(index)?),
                false => i64::from(row.try_get_unchecked::<i8, _>(index)?),
            };
            match number {
                0 | 1 => (number == 1).into(),
                other => integer(other),
            }
        }
        "TINYINT" | "SMALLINT" | "MEDIUMINT" | "INT" | "BIGINT" => integer(row.try_get_unchecked(index)?),
        "YEAR" | "BIT" => unsigned(row.try_get_unchecked(index)?),
        name if name.ends_with(" UNSIGNED") => unsigned(row.try_get_unchecked(index)?),
        "FLOAT" => {
            let number: f32 = row.try_get_unchecked(index)?;
            float(number.to_string().parse().unwrap_or(f64::from(number)))
        }
        "DOUBLE" => float(row.try_get_unchecked(index)?),
        "DECIMAL" => decimal(&row.try_get_unchecked::<String, _>(index)?),
        "DATE" => row.try_get_unchecked::<NaiveDate, _>(index)?.to_string().into(),
        "TIME" => row.try_get_unchecked::<MySqlTime, _>(index)?.to_string().into(),
        // The session's time zone is UTC, which sqlx sets.
        "TIMESTAMP" => format!("{}Z", date_time(row, index)?).into(),
        "DATETIME" => date_time(row, index)?.into(),
        "JSON" => row.try_get_unchecked::<sqlx::types::Json<Value>, _>(index)?.0,
        "CHAR" | "VARCHAR" | "TINYTEXT" | "TEXT" | "MEDIUMTEXT" | "LONGTEXT" | "ENUM" | "SET" => {
            row.try_get_unchecked::<String, _>(index)?.into()
        }
        _ => room.bytes(row.try_get_unchecked(index)?),
    })
}

fn date_time(row: &MySqlRow, index: usize) -> Result<String, sqlx::Error> {
    Ok(iso(row.try_get_unchecked(index)?))
}
