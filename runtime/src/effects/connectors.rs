//! Connectors: confined processes in which drivers of databases and mail servers execute. A peer whose answers crash a driver,
//! or exhaust its memory, only ends that process and fails one node. This is what all connectors have in common. Answers of
//! such a process are not trusted.
//!
//! Knows nothing of what drivers do.

mod failure;
mod places;
mod serve;

use crate::config::RuntimeConfig;
use heddle_processes::{Limits, WorkerCommand, WorkerProgram};
use places::Places;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::OnceLock;
use tokio::net::UnixStream;

pub use failure::Failure;
pub use places::{Owner, OwnerFilter, Place};
pub use serve::{receive, reply, serve};

/// What a process may use. Results, and what drivers need for them, fit into it several times.
pub const LIMITS: Limits = Limits {
    address_space_bytes_max: 768 << 20,
    data_bytes_max: u64::MAX,
    processor_seconds_max: 600,
    files_max: 32,
    file_bytes_max: 0,
    niceness: 0,
    request_bytes_max: 64 << 20,
    answer_bytes_max: 64 << 20,
};

/// A stream to a process that can open none of its own: this side's end, and the one that it is given.
pub fn pair() -> io::Result<(UnixStream, OwnedFd)> {
    let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
    ours.set_nonblocking(true)?;
    Ok((UnixStream::from_std(ours)?, theirs.into()))
}

/// Closes a process that only waits for what may come. Whether there was one.
type CloseIdle = dyn Fn(OwnerFilter) -> bool + Send + Sync;

/// How they are started, and how many there may be.
pub struct Connectors {
    program: WorkerProgram,
    places: Places,
    close_idle: OnceLock<Box<CloseIdle>>,
}

impl Connectors {
    /// As the settings say; `None`: drivers execute in this process.
    pub fn new(config: &RuntimeConfig) -> Option<Self> {
        Some(Connectors {
            program: config.connectors.clone()?,
            places: Places::new(config.connectors_max),
            close_idle: OnceLock::new(),
        })
    }

    /// Has this asked for an idle process whenever there is no place.
    pub fn ask_for_idle(&self, close_idle: Box<CloseIdle>) {
        // There is one that keeps idle processes.
        let _ = self.close_idle.set(close_idle);
    }

    /// The right to start a process for this owner. It may have to be waited for.
    pub async fn place(&self, owner: Owner) -> Place {
        let close_idle = |whose: OwnerFilter| self.close_idle.get().is_some_and(|close| close(whose));
        self.places.take(owner, close_idle).await
    }

    /// Whether somebody waits for a place.
    pub fn is_waited_for(&self) -> bool {
        self.places.is_waited_for()
    }

    /// A process of this kind.
    pub fn command(&self, kind: &'static str, limits: Limits) -> WorkerCommand {
        self.program.command(kind, limits)
    }
}
