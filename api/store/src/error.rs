//! Errors of the database.

use super::sqlite_codes;
use heddle_model::quota::Exceeded;
use heddle_model::{Code, ServiceError};
use std::path::PathBuf;

/// Errors of the database.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Something with this key is there already.
    #[error("a row with the same key already exists")]
    Unique,
    /// A row that must be there is not, or is not what it must be.
    #[error("a row is missing")]
    Missing,
    /// There would be more than there may be.
    #[error("{0}")]
    Quota(#[from] Exceeded),
    /// A stored value can't be read.
    #[error("{table}.{column} of {row} is corrupt")]
    Corrupt {
        /// Table.
        table: &'static str,
        /// Column.
        column: &'static str,
        /// Key of the row.
        row: String,
    },
    /// The file is no database that can be served.
    #[error("{} {reason}", path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, as what is said of it.
        reason: String,
    },
    /// Its tables were changed by a later version of this program.
    #[error(
        "it was used by a newer heddle, whose migration {0} this version does not know: start the newer \
         version"
    )]
    Newer(i64),
    /// The database doesn't answer, or can't write now.
    #[error("the database is not available: {0}")]
    Unavailable(String),
    /// The store was closed.
    #[error("the store is closed")]
    Closed,
    /// Anything else.
    #[error("the database failed: {0}")]
    Database(String),
}

impl StoreError {
    /// The same error for another of those who wait for one transaction.
    pub fn again(&self) -> StoreError {
        match self {
            StoreError::Unavailable(message) => StoreError::Unavailable(message.clone()),
            other => StoreError::Database(other.to_string()),
        }
    }
}

impl From<StoreError> for ServiceError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Unique => Code::Conflict.into(),
            StoreError::Quota(exceeded) => exceeded.into(),
            StoreError::Unavailable(_) | StoreError::Closed => ServiceError::from(Code::Unavailable)
                .retry_after_s(1)
                .caused_by(error),
            other => ServiceError::internal(other),
        }
    }
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        match &error {
            sqlx::Error::Database(database) if database.is_unique_violation() => StoreError::Unique,
            sqlx::Error::PoolClosed => StoreError::Closed,
            sqlx::Error::Io(_)
            | sqlx::Error::Tls(_)
            | sqlx::Error::PoolTimedOut
            | sqlx::Error::WorkerCrashed => StoreError::Unavailable(error.to_string()),
            // Class 57: the server shuts down or starts; 53: it is out of connections, disk or memory; 25P03: this
            // process has stood still.
            sqlx::Error::Database(database)
                if database.code().is_some_and(|code| {
                    code.len() == 5 && (code.starts_with("57") || code.starts_with("53") || code == "25P03")
                }) =>
            {
                StoreError::Unavailable(error.to_string())
            }
            _ if sqlite_codes::is_unavailability(&error) => StoreError::Unavailable(error.to_string()),
            _ if sqlite_codes::is_damage(&error) => StoreError::Database(format!(
                "the database file is damaged ({error}): stop the server and run `heddle doctor`"
            )),
            _ => StoreError::Database(error.to_string()),
        }
    }
}
