//! Errors of the database.

use super::sqlite_codes;
use super::sqlite_file::Unusable;
use heddle_model::quota::Exceeded;
use heddle_model::{Code, ServiceError};
use sqlx::migrate::MigrateError;
use std::error::Error;
use std::fmt::{self, Display, Formatter};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Errors of the database. Cheap to clone, since those who wait for one transaction all get its error.
#[derive(Clone, Debug, thiserror::Error)]
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
        table: &'static str,
        column: &'static str,
        /// Key of the row.
        row: String,
    },
    /// The file is not a database that can be served.
    #[error("{} {reason}", path.display())]
    Unusable {
        path: PathBuf,
        /// What is wrong with it.
        #[source]
        reason: Unusable,
    },
    /// Its tables were changed by a later version of this program.
    #[error(
        "it was used by a newer heddle, whose migration {0} this version does not know: start the newer \
         version"
    )]
    Newer(i64),
    /// The database doesn't answer, or can't write now.
    #[error("the database is not available")]
    Unavailable(#[source] Failed),
    /// A user's request asks for more than may be looked through.
    #[error("it took too long to look this up")]
    TooLong(#[source] Failed),
    /// The store was closed.
    #[error("the store is closed")]
    Closed,
    /// Anything else.
    #[error("the database failed")]
    Database(#[source] Failed),
}

/// What failed. What it failed by is its source.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Failed {
    #[error("at `{}`", Shortened(.statement))]
    Statement {
        /// What its text begins with in the source code: no value is in it.
        statement: &'static str,
        /// Why.
        source: Arc<sqlx::Error>,
    },
    /// A connection, or its transaction.
    #[error(transparent)]
    Connection(Arc<sqlx::Error>),
    /// A statement or connection, because of the file.
    #[error("the database file is damaged: stop the server and run `heddle doctor`")]
    Damaged(#[source] Arc<sqlx::Error>),
    /// Another write of the same transaction, with which this one was undone.
    #[error("the transaction was rolled back")]
    RolledBack(#[source] Arc<sqlx::Error>),
    /// Bringing the tables up to date.
    #[error("can't migrate the tables")]
    Migration(#[source] Arc<MigrateError>),
    /// Looking at the database's file.
    #[error("can't read {}", path.display())]
    File {
        path: PathBuf,
        /// Why.
        source: Arc<std::io::Error>,
    },
    /// Writing a value as JSON.
    #[error("can't write a value as JSON")]
    Json(#[source] Arc<serde_json::Error>),
    /// Unpacking an entry of a run's journal.
    #[error("can't unpack a journal entry")]
    Journal(#[source] Arc<dyn Error + Send + Sync>),
    /// Accepting an event by a server that has no lease.
    #[error("this server's lease has expired and is not renewed yet")]
    NoLease,
    /// Accepting an event in time.
    #[error("it has not stored an event in time")]
    Overdue,
    /// Getting a connection while the same user's requests hold all that one user may have.
    #[error("too many requests of the same user are being answered")]
    NoShare,
}

/// A statement in one line, and not all of it if it is long.
struct Shortened<'s>(&'s str);

impl Display for Shortened<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        const WORDS_MAX: usize = 24;
        let mut words = self.0.split_whitespace();
        for (index, word) in words.by_ref().take(WORDS_MAX).enumerate() {
            write!(f, "{}{word}", if index == 0 { "" } else { " " })?;
        }
        match words.next() {
            Some(_) => f.write_str(" …"),
            None => Ok(()),
        }
    }
}

impl StoreError {
    /// The error of a file with this path.
    pub(super) fn unusable(path: &Path, reason: Unusable) -> Self {
        StoreError::Unusable {
            path: path.to_owned(),
            reason,
        }
    }

    /// What the failure of this statement means.
    pub(super) fn at(statement: &'static str, error: sqlx::Error) -> Self {
        StoreError::of(error, |source| Failed::Statement { statement, source })
    }

    /// What an error of the driver means, and, if it has no more special meaning, what `failed`.
    fn of(error: sqlx::Error, failed: impl FnOnce(Arc<sqlx::Error>) -> Failed) -> Self {
        match &error {
            sqlx::Error::Database(database) if database.is_unique_violation() => StoreError::Unique,
            sqlx::Error::PoolClosed => StoreError::Closed,
            _ if is_interruption(&error) => StoreError::TooLong(failed(Arc::new(error))),
            _ if is_unavailability(&error) => StoreError::Unavailable(failed(Arc::new(error))),
            _ if sqlite_codes::is_damage(&error) => StoreError::Database(Failed::Damaged(Arc::new(error))),
            _ => StoreError::Database(failed(Arc::new(error))),
        }
    }
}

/// Whether a statement was ended since it took too long.
fn is_interruption(error: &sqlx::Error) -> bool {
    /// PostgreSQL's `query_canceled`, see its appendix "PostgreSQL Error Codes".
    const QUERY_CANCELED: &str = "57014";
    match error {
        sqlx::Error::Database(database) if database.code().as_deref() == Some(QUERY_CANCELED) => true,
        _ => sqlite_codes::is_interruption(error),
    }
}

fn is_unavailability(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_) | sqlx::Error::Tls(_) | sqlx::Error::PoolTimedOut | sqlx::Error::WorkerCrashed => {
            true
        }
        // Class 57: the server shuts down or starts; 53: it is out of connections, disk or memory; 25P03: this process
        // has stood still; 40P01 and 40001: of transactions that waited for each other this one was undone, and may do better now.
        sqlx::Error::Database(database)
            if database.code().is_some_and(|code| {
                code.len() == 5
                    && (code.starts_with("57")
                        || code.starts_with("53")
                        || matches!(&*code, "25P03" | "40P01" | "40001"))
            }) =>
        {
            true
        }
        _ => sqlite_codes::is_unavailability(error),
    }
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        StoreError::of(error, Failed::Connection)
    }
}

impl From<serde_json::Error> for StoreError {
    fn from(error: serde_json::Error) -> Self {
        StoreError::Database(Failed::Json(Arc::new(error)))
    }
}

impl From<StoreError> for ServiceError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Unique => Code::Conflict.into(),
            StoreError::Quota(exceeded) => exceeded.into(),
            StoreError::TooLong(_) => Code::Unavailable
                .with(
                    "This query took too long and was stopped. Ask for less: a shorter period, fewer filters on \
                     texts, a smaller page.",
                )
                .caused_by(error),
            StoreError::Unavailable(_) | StoreError::Closed => ServiceError::from(Code::Unavailable)
                .retry_after_s(1)
                .caused_by(error),
            other => ServiceError::internal(other),
        }
    }
}
