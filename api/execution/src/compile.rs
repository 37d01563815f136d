//! From a graph to a module and its diagnostics, and from a module to machine code: each in a worker process within
//! limits of time and memory, or in this one, and in turns of the users for whom it is done. Knows nothing of
//! deployments.

mod findings;
mod renaming;
mod session;
mod sources;
mod turns;
pub mod validation;
pub mod worker;

pub use findings::{Compiled, Finding};
pub use renaming::{Edit, RenameRequest, Renamed};
pub use session::{LoadFailure, Session};
pub use sources::{Sources, is_empty};
pub use turns::Asker;
pub use validation::Validation;

use heddle_model::error::ServiceError;
use heddle_processes::{Limits, WorkerCommand, WorkerProgram};
use std::time::Duration;
use turns::Turns;

/// Where work on strangers' bytes executes that no sandbox holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Isolation {
    /// In threads of this process, which bytes that crash a parser, or make it explode, take with them.
    Thread,
    /// In confined processes, which are started of this program: `heddle worker`.
    Process(WorkerProgram),
}

/// How graphs are compiled.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where.
    pub isolation: Isolation,
    /// How long one compilation may take.
    pub timeout: Duration,
    /// Bytes of memory of one.
    pub memory_bytes_max: u64,
    /// How many at once.
    pub workers: usize,
}

/// What compiles, and for whom next.
#[derive(Debug)]
pub struct Compilers {
    worker: Option<WorkerCommand>,
    timeout: Duration,
    turns: Turns,
}

impl Compilers {
    /// As the settings say. Starts nothing.
    pub fn new(settings: Settings) -> Self {
        let worker = match settings.isolation {
            Isolation::Thread => None,
            Isolation::Process(program) => {
                let limits = Limits {
                    address_space_bytes_max: settings.memory_bytes_max,
                    processor_seconds_max: settings.timeout.as_secs().max(1),
                    niceness: NICENESS,
                    request_bytes_max: REQUEST_BYTES_MAX,
                    answer_bytes_max: ANSWER_BYTES_MAX,
                    ..Limits::default()
                };
                Some(program.command(worker::KIND, limits))
            }
        };
        Compilers {
            worker,
            timeout: settings.timeout,
            turns: Turns::new(settings.workers),
        }
    }

    /// A turn, which may have to be waited for.
    pub async fn session(&self, asker: Asker) -> Result<Session<'_>, ServiceError> {
        let turn = self.turns.take(asker).await?;
        Ok(Session::new(self.worker.as_ref(), self.timeout, turn))
    }
}

/// Webhooks come first.
const NICENESS: u8 = 5;
/// Graphs with their components, as the largest body that is taken.
const REQUEST_BYTES_MAX: usize = 128 << 20;
/// Machine code.
const ANSWER_BYTES_MAX: usize = 128 << 20;
