//! `sql`: one statement on PostgreSQL, MySQL or SQLite. Request: `{connection, query, parameters: [], maxRows,
//! timeoutMs?, files?}`; result: the rows as objects, or `[{affectedRows, lastInsertId?}]` for a statement without any.
//!
//! Values: whole numbers beyond 2^53 and decimals of more than 15 digits are texts; dates and times are ISO 8601; bytes
//! are base64, or with `files` files of the run; JSON is JSON. A second column of the same name is called `name_2`.

mod blobs;
mod connector;
mod driver;
mod failure;
mod here;
mod mysql;
mod pool;
mod postgres;
mod rows;
mod serve;
mod session;
mod sqlite;
mod statement;
mod target;
mod tunnel;

use super::connectors::{Connectors, Owner};
use super::effect::{Effect, Reveals};
use super::handles::Bounds;
use super::requests::{opened, read, within};
use super::result_place::ResultPlace;
use crate::config::RuntimeConfig;
use crate::connections::Granted;
use crate::entropy::nonce;
use crate::files::Files;
use crate::secrets::{Destination, Vault};
use heddle_sandbox::EffectError;
use serde::Deserialize;
use serde_json::Value;
use session::Sessions;
use statement::Statement;
use std::sync::Arc;
use target::{Kind, Target};

pub use connector::answered;
pub use postgres::{PostgresType, postgres_value};
pub use serve::{SQL_WORKER, SQLITE_WORKER, serve_sql, serve_sqlite};

/// Executes one SQL statement.
#[derive(Clone)]
pub struct Sql(Arc<Shared>);

struct Shared {
    sqlite_files: sqlite::Files,
    sessions: Sessions,
}

impl Sql {
    pub fn new(config: &RuntimeConfig, connectors: Option<Arc<Connectors>>) -> Self {
        Sql(Arc::new(Shared {
            sqlite_files: sqlite::Files {
                allowed: config.sqlite_files.clone(),
                tenant_bytes_max: config.sqlite_bytes_max,
                growth: sqlite::Growth::default(),
            },
            sessions: Sessions::new(&config.egress, connectors),
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
    /// Whether bytes become files.
    #[serde(default)]
    files: bool,
}

impl Effect for Sql {
    const KIND: &'static str = "sql";
    const REVEALS: Reveals = Reveals::ToHost;

    type Needs = (Bounds, Arc<Vault>, Arc<Granted>, Arc<dyn Files>, ResultPlace);
    type Output = Value;

    fn start(
        &self,
        request: Value,
        (bounds, vault, connections, files, place): Self::Needs,
    ) -> impl Future<Output = Result<Value, EffectError>> + Send + 'static {
        let shared = self.0.clone();
        async move {
            let connection = opened(&request, &connections).await?;
            let target = Target::of(&connection)?;
            let to = Destination::Host(&target.host, Some(target.port));
            let request: Request = read(vault.reveal(request, to)?)?;
            let statement = Statement {
                query: request.query,
                parameters: request.parameters,
                rows_max: request.max_rows,
                bytes_max: bounds.result_bytes_max,
                timeout: bounds.time_max(request.timeout_ms),
                mark: request.files.then(nonce),
                place,
            };
            let late = |ms| format!("{} did not answer within {ms} ms.", target.name());
            let (tenant, owner) = (connections.tenant(), connections.owner());
            let work = async {
                let of = (tenant.as_deref(), owner);
                let mut rows = shared.execute(&target, of, &statement).await?;
                if let Some(mark) = &statement.mark {
                    blobs::store(&mut rows, mark, &*files).await?;
                }
                Ok::<_, EffectError>(Value::Array(rows))
            };
            within(statement.timeout, work, late).await
        }
    }
}

impl Shared {
    async fn execute(
        &self,
        target: &Target,
        (tenant, owner): (Option<&str>, Owner),
        statement: &Statement,
    ) -> Result<Vec<Value>, EffectError> {
        let rows = match target.kind {
            Kind::Sqlite => {
                let file = sqlite::permitted(&self.sqlite_files, tenant, &target.file)?;
                self.sessions
                    .execute_on_file(target, (tenant, owner), file, statement)
                    .await
            }
            _ => self.sessions.execute(target, owner, statement).await,
        };
        rows.map_err(failure::shortened)
    }
}
