//! A session of a database server of any kind, reached through a Unix socket.
//!
//! Knows nothing about whether it executes in the service or in a separate process, or about how servers are reached.

use super::failure::unreadable;
use super::statement::Statement;
use super::target::{Kind, Target};
use super::{mysql, postgres};
use crate::egress::Meter;
use futures_util::FutureExt;
use heddle_sandbox::{EffectCode, EffectError};
use serde_json::Value;
use std::panic::AssertUnwindSafe;
use std::path::Path;

/// An open session. Large as it is, it is kept on the heap.
pub(crate) enum Driver {
    Postgres(Box<postgres::Session>),
    MySql(Box<mysql::Session>),
}

impl Driver {
    /// Opens a session by the socket in this directory.
    pub async fn open(dir: &Path, target: &Target) -> Result<Self, EffectError> {
        let open = async {
            Ok(match target.kind {
                Kind::Postgres => Driver::Postgres(Box::new(postgres::Session::open(dir, target).await?)),
                Kind::MySql => Driver::MySql(Box::new(mysql::Session::open(dir, target).await?)),
                Kind::Sqlite => {
                    let message = "A SQLite file has no server.";
                    return Err(EffectError::new(EffectCode::Internal, message));
                }
            })
        };
        // On the heap: drivers' futures are large.
        readable(Box::pin(open), target).await
    }

    /// Executes one statement. The server may send what `meter` is granted for each part of it.
    pub async fn execute(
        &mut self,
        statement: &Statement,
        target: &Target,
        meter: &Meter,
    ) -> Result<Vec<Value>, EffectError> {
        let execute = async {
            match self {
                Driver::Postgres(session) => session.execute(statement, target, meter).await,
                Driver::MySql(session) => session.execute(statement, target, meter).await,
            }
        };
        readable(Box::pin(execute), target).await
    }

    /// By which the server knows the session.
    pub fn session(&self) -> u64 {
        match self {
            Driver::Postgres(session) => session.id(),
            Driver::MySql(session) => session.id(),
        }
    }

    /// Whether so little is known to it of what the server has described that it may go on.
    pub fn is_fresh(&self) -> bool {
        match self {
            Driver::Postgres(session) => session.is_fresh(),
            Driver::MySql(_) => true,
        }
    }
}

/// Drivers panic at some messages that are shorter than they say they are. The session that had one is not used again.
async fn readable<T>(
    work: impl Future<Output = Result<T, EffectError>>,
    target: &Target,
) -> Result<T, EffectError> {
    let work = AssertUnwindSafe(work).catch_unwind().await;
    work.unwrap_or_else(|_| Err(unreadable(target)))
}

/// Tells the server, by a connection of its own, to stop what it is doing for a session. `None`: it can't be told, and ends
/// the statement by itself.
pub(crate) async fn cancel(dir: &Path, target: &Target, session: u64) -> Option<()> {
    match target.kind {
        Kind::Postgres => postgres::cancel(dir, target, session).await,
        Kind::MySql => mysql::cancel(dir, target, session).await,
        Kind::Sqlite => None,
    }
}
