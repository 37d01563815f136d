//! `sql`: one statement on PostgreSQL, MySQL or SQLite. Request: `{connection, query, parameters: [], maxRows,
//! timeoutMs?}`; result: the rows as objects, or `[{affectedRows, lastInsertId?}]` for a statement without any.
//!
//! Values: whole numbers beyond 2^53 and decimals of more than 15 digits are texts; dates and times are ISO 8601; bytes
//! are base64; JSON is JSON. A second column of the same name is called `name_2`.

mod connector;
mod driver;
mod here;
mod mysql;
mod pool;
mod postgres;
mod rows;
mod serve;
mod session;
mod sqlite;
mod target;
mod tunnel;

use super::{Effect, EffectContext, EffectError, EffectFuture, EffectResult, Reveals, opened, read, within};
use crate::config::RuntimeConfig;
use crate::secrets::Destination;
use heddle_contract::abi::code;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use session::Sessions;
use std::sync::Arc;
use std::time::Duration;
use target::{Kind, Target};

pub(crate) use serve::serve;

/// Of an error's message.
const MESSAGE_BYTES_MAX: usize = 8 << 10;

/// The effect.
#[derive(Clone)]
pub struct Sql(Arc<Shared>);

struct Shared {
    sqlite_files: sqlite::Files,
    sessions: Sessions,
}

impl Sql {
    pub fn new(config: &RuntimeConfig) -> Self {
        Sql(Arc::new(Shared {
            sqlite_files: sqlite::Files {
                allowed: config.sqlite_files.clone(),
                tenant_bytes_max: config.sqlite_bytes_max,
            },
            sessions: Sessions::new(config),
        }))
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Request {
    query: String,
    #[serde(default)]
    parameters: Vec<Value>,
    max_rows: usize,
    #[serde(default)]
    timeout_ms: Option<f64>,
}

/// A statement, and what its result may be.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Statement {
    query: String,
    parameters: Vec<Value>,
    rows_max: usize,
    bytes_max: usize,
    timeout: Duration,
}

/// What a server may send, so that no driver keeps more.
struct Budget;

impl Budget {
    /// Until a session is open, and to end what another one does.
    const HANDSHAKE: u64 = 256 << 10;

    /// The result of a statement. Rows as servers send them are no larger than what becomes of them, but for the last one,
    /// which may be one too many, and what is said besides.
    fn of_rows(statement: &Statement) -> u64 {
        let bytes = statement.bytes_max as u64;
        bytes.saturating_add(bytes / 2).saturating_add(4 << 20)
    }
}

impl Effect for Sql {
    fn kind(&self) -> &'static str {
        "sql"
    }

    fn start(&self, request: Value, context: EffectContext) -> EffectFuture {
        let shared = self.0.clone();
        Box::pin(async move {
            let connection = opened(&request, &context).await?;
            let target = Target::of(&connection)?;
            let to = Destination::Host(&target.host, Some(target.port));
            let request: Request = read(context.vault.reveal(request, to)?)?;
            let statement = Statement {
                query: request.query,
                parameters: request.parameters,
                rows_max: request.max_rows,
                bytes_max: context.result_bytes_max,
                timeout: context.time_max(request.timeout_ms),
            };
            let late = |ms| format!("{} did not answer within {ms} ms.", target.name());
            let tenant = context.connections.tenant();
            let work = shared.execute(&target, tenant.as_deref(), &statement);
            within(statement.timeout, work, late).await
        })
    }

    fn reveals(&self) -> Reveals {
        Reveals::ToHost
    }
}

impl Shared {
    async fn execute(&self, target: &Target, tenant: Option<&str>, statement: &Statement) -> EffectResult {
        let rows = match target.kind {
            Kind::Sqlite => sqlite::execute(&self.sqlite_files, tenant, target, statement).await,
            _ => self.sessions.execute(target, tenant, statement).await,
        };
        rows.map(Value::Array).map_err(shortened)
    }
}

/// A server's words are a stranger's, and may be many.
fn shortened(mut error: EffectError) -> EffectError {
    if error.message.len() > MESSAGE_BYTES_MAX {
        let end = error.message.floor_char_boundary(MESSAGE_BYTES_MAX);
        error.message.truncate(end);
        error.message.push('…');
    }
    error
}

/// The server has sent more than it might.
fn too_much(code: &str, target: &Target, bytes: u64) -> EffectError {
    let message = format!(
        "{} sent more than the {} KiB that it may send at a time. Its connection was closed; ask for fewer rows or columns.",
        target.name(),
        bytes >> 10
    );
    EffectError::new(code, message)
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
