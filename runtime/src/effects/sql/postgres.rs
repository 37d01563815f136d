//! A session of PostgreSQL. Parameters get the types that the server finds for them.
//!
//! Knows nothing about whether it executes in the service or in a separate process.

mod described;
mod read;
mod typed;
mod write;

pub use described::{PostgresType, postgres_value};

use super::failure::failed;
use super::rows::{Room, Unread, collected, wrong_count, wrong_parameter};
use super::statement::{Budget, Statement};
use super::target::Target;
use crate::egress::Meter;
use heddle_sandbox::{EffectCode, EffectError};
use read::ReadError;
use serde_json::Value;
use sqlx::postgres::{PgArguments, PgConnectOptions, PgConnection, PgQueryResult, PgRow};
use sqlx::{
    Arguments, AssertSqlSafe, Column, ConnectOptions, Connection, Either, Executor, Row, SqlSafeStr, ValueRef,
};
use std::path::Path;

/// An open session.
pub(super) struct Session {
    connection: PgConnection,
    process: i32,
    /// Its `statement_timeout`, in milliseconds.
    timeout_ms: u128,
    /// Bytes of the server's that told of types, which the driver keeps, and which may be based on each other.
    described: u64,
}

/// After so many the session is not used again.
const DESCRIBED_BYTES_MAX: u64 = 64 << 10;
/// Bytes in which the server describes a statement's parameters, columns and their types. The driver drops types that are
/// based on each other by recursion: as many as fit into this must fit onto a thread's stack.
const DESCRIPTION_BYTES_MAX: u64 = 128 << 10;

impl Session {
    /// Opens a session by the socket in this directory.
    pub async fn open(dir: &Path, target: &Target) -> Result<Self, EffectError> {
        let mut connection = connect(dir, target).await?;
        let process = sqlx::query_scalar("select pg_backend_pid()").fetch_one(&mut connection);
        let process = process.await.map_err(|error| failed(target, &error))?;
        Ok(Session {
            connection,
            process,
            timeout_ms: 0,
            described: 0,
        })
    }

    /// Whether the driver has been told of so few types that it may serve another statement.
    pub fn is_fresh(&self) -> bool {
        self.described < DESCRIBED_BYTES_MAX
    }

    /// The server's process.
    pub fn id(&self) -> u64 {
        u64::try_from(self.process).unwrap_or_default()
    }

    pub async fn execute(
        &mut self,
        statement: &Statement,
        target: &Target,
        meter: &Meter,
    ) -> Result<Vec<Value>, EffectError> {
        let fails = |error: sqlx::Error| failed(target, &error);
        meter.grant(DESCRIPTION_BYTES_MAX);
        let before = meter.total();
        let timeout_ms = statement.timeout.as_millis().max(1);
        if self.timeout_ms != timeout_ms {
            let set = format!("set statement_timeout = {timeout_ms}");
            self.connection.execute(AssertSqlSafe(set)).await.map_err(fails)?;
            self.timeout_ms = timeout_ms;
        }
        let text = AssertSqlSafe(statement.query.clone()).into_sql_str();
        let prepared = (&mut self.connection).prepare(text).await.map_err(fails)?;
        let arguments = arguments(&prepared, &statement.parameters)?;
        let query = sqlx::Statement::query_with(&prepared, arguments);
        let has_rows = !sqlx::Statement::columns(&prepared).is_empty();
        self.described += meter.total().saturating_sub(before);
        meter.grant(Budget::of_rows(statement));
        let done = |done: &PgQueryResult| (done.rows_affected(), None);
        let stream = (&mut self.connection).fetch_many(query);
        collected(stream, has_rows, statement, target, done, columns).await
    }
}

/// Tells the server, by a connection of its own, to stop what it is doing for a session.
pub(super) async fn cancel(dir: &Path, target: &Target, session: u64) -> Option<()> {
    let process = i32::try_from(session).ok()?;
    let mut other = connect(dir, target).await.ok()?;
    let cancel = sqlx::query("select pg_cancel_backend($1)").bind(process);
    cancel.execute(&mut other).await.ok()?;
    other.close().await.ok()
}

async fn connect(dir: &Path, target: &Target) -> Result<PgConnection, EffectError> {
    // Every option that the environment of this process could set is set here.
    let mut options = PgConnectOptions::new_without_pgpass()
        .host(&target.host)
        .port(target.port)
        .socket(dir)
        .username(&target.user)
        .password(&target.password)
        .database(if target.database.is_empty() {
            &target.user
        } else {
            &target.database
        })
        .ssl_mode(target.tls.into())
        .application_name("heddle")
        .disable_statement_logging();
    if let Some(ca) = &target.tls_ca {
        options = options.ssl_root_cert_from_pem(ca.clone().into_bytes());
    }
    PgConnection::connect_with(&options)
        .await
        .map_err(|error| failed(target, &error))
}

fn arguments(prepared: &sqlx::postgres::PgStatement, values: &[Value]) -> Result<PgArguments, EffectError> {
    let types = match sqlx::Statement::parameters(prepared) {
        Some(Either::Left(types)) => types,
        _ => &[],
    };
    if types.len() != values.len() {
        return Err(wrong_count(types.len(), values.len()));
    }
    let mut arguments = PgArguments::default();
    for (index, (wanted, value)) in types.iter().zip(values).enumerate() {
        let written = write::Written::new(wanted, value).map_err(|error| wrong_parameter(index, error))?;
        arguments
            .add(written)
            .map_err(|error| wrong_parameter(index, error))?;
    }
    Ok(arguments)
}

fn columns(row: &PgRow, room: &mut Room<'_>) -> Result<Vec<(String, Value)>, Unread> {
    let mut columns = Vec::with_capacity(row.len());
    for (index, column) in row.columns().iter().enumerate() {
        let unreadable = |reason: String| {
            let message = format!(
                "Can't read the column `{name}`: {reason}. Cast it in the query, as in `{name}::text`.",
                name = column.name()
            );
            Unread::Failed(EffectError::new(EffectCode::SqlFailed, message))
        };
        let raw = row
            .try_get_raw(index)
            .map_err(|error| unreadable(error.to_string()))?;
        let value = match raw.is_null() {
            true => room.hold(Value::Null)?,
            false => {
                let bytes = raw.as_bytes().map_err(|error| unreadable(error.to_string()))?;
                let value = read::value(column.type_info(), bytes, room);
                value.map_err(|error| match error {
                    ReadError::TooLarge(error) => error.into(),
                    error => unreadable(error.to_string()),
                })?
            }
        };
        columns.push((column.name().to_owned(), value));
    }
    Ok(columns)
}
