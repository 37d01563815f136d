//! Statements on the SQLite files of one tenant, in a process of its own: it has the tenant's directory and nothing else,
//! so that a statement or a file which crashes SQLite, or exhausts its memory, fails one node.
//!
//! Answers of such a process are not trusted.

use super::super::connector::Answer;
use super::super::serve::{OnFile, SQLITE_WORKER};
use super::super::statement::Statement;
use super::super::target::Target;
use super::place::File;
use crate::effects::connectors::{Connectors, LIMITS, Owner, Place};
use heddle_processes::{Limits, Worker, WorkerError};
use heddle_sandbox::clock::{monotonic, since};
use heddle_sandbox::{EffectCode, EffectError};
use serde_json::Value;
use std::borrow::Cow;
use std::path::Path;
use std::time::Duration;

/// Statements after which a process is replaced, so that nothing piles up in it.
const STATEMENTS_MAX: u32 = 10_000;
/// Time of statements after which it is replaced, which is a small part of the processor time that it has.
const BUSY_MAX: Duration = Duration::from_secs(60);
/// Statements end by their own times; this is for a process that went on by itself.
const PROCESSOR_SECONDS_MAX: u64 = 86_400;
/// What a statement may take longer than its time, after which its process is ended.
const GRACE: Duration = Duration::from_secs(5);

/// A process for one tenant's files.
pub(in super::super) struct Connector {
    worker: Worker,
    is_broken: bool,
    statements: u32,
    busy: Duration,
    place: Place,
}

impl Connector {
    /// Starts a process that has this directory, whose files take so many bytes at most.
    pub async fn start(
        connectors: &Connectors,
        place: Place,
        dir: &Path,
        bytes_max: u64,
        target: &Target,
    ) -> Result<Self, EffectError> {
        let limits = Limits {
            processor_seconds_max: PROCESSOR_SECONDS_MAX,
            // The database is bounded by its pages; its log may be larger.
            file_bytes_max: bytes_max.saturating_mul(4).saturating_add(64 << 20),
            ..LIMITS
        };
        let mut command = connectors.command(SQLITE_WORKER, limits);
        command.dir = Some(dir.to_owned());
        let worker = Worker::start(command).await;
        Ok(Connector {
            worker: worker.map_err(|error| ended(target, &error))?,
            is_broken: false,
            statements: 0,
            busy: Duration::ZERO,
            place,
        })
    }

    /// Who pays for it.
    pub fn owner(&self) -> Owner {
        self.place.owner
    }

    /// Whether it may serve another statement.
    pub fn is_fresh(&self) -> bool {
        !self.is_broken && self.statements < STATEMENTS_MAX && self.busy < BUSY_MAX
    }

    /// Executes a statement on a file, whose path is from the directory on.
    pub async fn execute(
        &mut self,
        target: &Target,
        file: &File,
        statement: &Statement,
    ) -> Result<Vec<Value>, EffectError> {
        let internal = |error: serde_json::Error| EffectError::new(EffectCode::Internal, error.to_string());
        let request = OnFile {
            target: Cow::Borrowed(target),
            file: Cow::Borrowed(file),
            statement: statement.into(),
        };
        let request = serde_json::to_vec(&request).map_err(internal)?;
        self.statements = self.statements.saturating_add(1);
        self.is_broken = true;
        let began = monotonic();
        let answer = self.worker.ask(&request, statement.timeout + GRACE).await;
        self.busy += since(began);
        let answer = answer.map_err(|error| ended(target, &error))?;
        let confused = |error: serde_json::Error| ended(target, &WorkerError::Malformed(error.to_string()));
        let answer = Answer::read_aside(self.place.owner, answer, Some(statement)).await;
        let answer = answer.map_err(confused)?;
        self.is_broken = false;
        match answer {
            Answer::Rows(rows) => Ok(rows),
            Answer::Failed(error) => Err(error),
            Answer::Connected | Answer::Opened(_) | Answer::Cancelled => {
                self.is_broken = true;
                let error = WorkerError::Malformed("it does not match the request".to_owned());
                Err(ended(target, &error))
            }
        }
    }
}

/// The process has ended, or is of no use any more.
fn ended(target: &Target, error: &WorkerError) -> EffectError {
    tracing::warn!(%error, "A connector process for SQLite files has ended");
    let name = target.name();
    let reason = match error {
        WorkerError::Start(error) => {
            let message = format!("Can't start the connector process for {name}: {error}.");
            return EffectError::new(EffectCode::Internal, message);
        }
        error if error.is_out_of_memory() => "it would take more memory than a connection may use",
        error if error.is_out_of_time() => "it took too long",
        _ => "the process that executed it crashed",
    };
    let message = format!("{name} did not complete the statement: {reason}. Nothing else is affected.");
    EffectError::new(EffectCode::SqlFailed, message)
}
