//! `sql`: one statement on PostgreSQL, MySQL or SQLite. Request: `{connection, query, parameters: [], maxRows,
//! timeoutMs?}`; result: the rows as objects, or `[{affectedRows, lastInsertId?}]` for a statement without any.
//!
//! Values: whole numbers beyond 2^53 and decimals of more than 15 digits are texts; dates and times are ISO 8601; bytes
//! are base64; JSON is JSON. A second column of the same name is called `name_2`.

mod mysql;
mod pool;
mod postgres;
mod rows;
mod sqlite;
mod target;
mod tunnel;

use super::{Effect, EffectContext, EffectError, EffectFuture, EffectResult, read, within};
use crate::config::SqliteFiles;
use crate::egress::EgressPolicy;
use heddle_node_stdlib::abi::code;
use pool::Pools;
use serde::Deserialize;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use target::{Kind, Target};

/// The effect.
#[derive(Clone)]
pub struct Sql(Arc<Shared>);

struct Shared {
    policy: EgressPolicy,
    sqlite_files: SqliteFiles,
    postgres: Arc<Pools<postgres::Session>>,
    mysql: Arc<Pools<mysql::Session>>,
}

impl Sql {
    pub fn new(policy: &EgressPolicy, sqlite_files: &SqliteFiles) -> Self {
        Sql(Arc::new(Shared {
            policy: policy.clone(),
            sqlite_files: sqlite_files.clone(),
            postgres: Arc::default(),
            mysql: Arc::default(),
        }))
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Request {
    connection: String,
    query: String,
    #[serde(default)]
    parameters: Vec<Value>,
    max_rows: usize,
    #[serde(default)]
    timeout_ms: Option<f64>,
}

/// A statement, and what its result may be.
pub(super) struct Statement {
    query: String,
    parameters: Vec<Value>,
    rows_max: usize,
    bytes_max: usize,
    timeout: Duration,
}

impl Effect for Sql {
    fn kind(&self) -> &'static str {
        "sql"
    }

    fn start(&self, request: Value, context: EffectContext) -> EffectFuture {
        let shared = self.0.clone();
        Box::pin(async move {
            let request: Request = read(request)?;
            let connection = context.connections.open(&request.connection).await?;
            let target = Target::of(&connection)?;
            let statement = Statement {
                query: request.query,
                parameters: request.parameters,
                rows_max: request.max_rows,
                bytes_max: context.result_bytes_max,
                timeout: context.time_max(request.timeout_ms),
            };
            let late = |ms| format!("{} did not answer within {ms} ms.", target.name());
            within(statement.timeout, shared.execute(&target, &statement), late).await
        })
    }
}

impl Shared {
    async fn execute(&self, target: &Target, statement: &Statement) -> EffectResult {
        let rows = match target.kind {
            Kind::Postgres => {
                let open = || postgres::Session::open(&self.policy, target);
                let mut session = Pools::take(&self.postgres, &target.key, open).await?;
                let rows = session.get()?.execute(statement, target).await;
                session.done(rows.is_ok() && rows::keeps_session(&statement.query));
                rows?
            }
            Kind::MySql => {
                let open = || mysql::Session::open(&self.policy, target);
                let mut session = Pools::take(&self.mysql, &target.key, open).await?;
                let rows = session.get()?.execute(statement, target).await;
                session.done(rows.is_ok() && rows::keeps_session(&statement.query));
                rows?
            }
            Kind::Sqlite => sqlite::execute(&self.sqlite_files, target, statement).await?,
        };
        Ok(Value::Array(rows))
    }
}

/// Why a database did not do what it should, in its own words.
fn failed(target: &Target, error: &sqlx::Error) -> EffectError {
    if let sqlx::Error::Database(error) = error {
        let at = error.code().map(|code| format!(" ({code})")).unwrap_or_default();
        let message = format!(
            "{} refused the statement: {}{at}.",
            target.name(),
            error.message()
        );
        // 57014: PostgreSQL's statement_timeout; 1969 and 3024: those of MariaDB and MySQL.
        let timed_out = matches!(error.code().as_deref(), Some("57014" | "70100" | "1969" | "3024"));
        let code = if timed_out {
            code::TIMEOUT
        } else {
            code::SQL_FAILED
        };
        return EffectError::new(code, message);
    }
    EffectError::new(code::SQL_FAILED, format!("{}: {error}.", target.name()))
}
