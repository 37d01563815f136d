//! From a graph to a module and its diagnostics, and from a module to machine code: each in a worker process within
//! limits of time and memory, or in this one, and in turns of the users for whom it is done. Knows nothing of
//! deployments.

mod session;
mod sources;
mod turns;
pub mod worker;

pub use session::LoadFailure;
pub use sources::Sources;

use heddle_compiler::{Artifact, Diagnostic, Severity};
use heddle_model::error::ServiceError;
use heddle_model::ids::UserId;
use heddle_processes::{Layers, Limits, WorkerCommand};
use serde::{Deserialize, Serialize};
use session::Session;
use std::path::PathBuf;
use std::time::Duration;
use turns::Turns;
use utoipa::ToSchema;

/// What is wrong, or looks wrong, at a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// The node; null for the graph as a whole.
    #[schema(example = "price")]
    pub node_id: Option<String>,
    /// What is wrong, where, and what to do.
    #[schema(example = "parameter `url`: it is missing")]
    pub message: String,
}

impl From<Diagnostic> for Finding {
    fn from(diagnostic: Diagnostic) -> Self {
        let mut message = match diagnostic.parameter {
            Some(parameter) => format!("parameter `{parameter}`: {}", diagnostic.message),
            None => diagnostic.message,
        };
        if let Some(help) = diagnostic.help {
            message.push_str(&format!(" ({help})"));
        }
        Finding {
            node_id: diagnostic.node_id,
            message,
        }
    }
}

/// What compiling gave.
#[derive(Debug)]
pub struct Compiled {
    /// The module; `None`: there are errors.
    pub artifact: Option<Artifact>,
    /// Why there is none.
    pub errors: Vec<Finding>,
    /// What looks wrong.
    pub warnings: Vec<Finding>,
}

impl From<heddle_compiler::Compiled> for Compiled {
    fn from(compiled: heddle_compiler::Compiled) -> Self {
        let (errors, warnings): (Vec<Diagnostic>, Vec<Diagnostic>) = compiled
            .diagnostics
            .into_iter()
            .partition(|diagnostic| diagnostic.severity == Severity::Error);
        Compiled {
            artifact: compiled.artifact,
            errors: errors.into_iter().map(Finding::from).collect(),
            warnings: warnings.into_iter().map(Finding::from).collect(),
        }
    }
}

impl Compiled {
    /// Nothing, for this one reason.
    fn refused(message: String) -> Self {
        let errors = vec![Finding {
            node_id: None,
            message,
        }];
        Compiled {
            artifact: None,
            errors,
            warnings: Vec::new(),
        }
    }
}

/// For whom something is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asker {
    /// A request of theirs.
    Request(UserId),
    /// Events and runs of theirs that wait for a deployment.
    Deployment(UserId),
}

/// Where work on strangers' bytes executes that no sandbox holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Isolation {
    /// In threads of this process, which bytes that crash a parser, or make it explode, take with them.
    Thread,
    /// In confined processes, which are started of this program: the binary `heddle`.
    Process(PathBuf),
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
            Isolation::Process(program) => Some(WorkerCommand {
                program,
                arguments: vec!["worker".into(), worker::KIND.into()],
                limits: Limits {
                    address_space_bytes_max: settings.memory_bytes_max,
                    processor_seconds_max: settings.timeout.as_secs().max(1),
                    niceness: NICENESS,
                    request_bytes_max: REQUEST_BYTES_MAX,
                    answer_bytes_max: ANSWER_BYTES_MAX,
                    ..Limits::default()
                },
            }),
        };
        Compilers {
            worker,
            timeout: settings.timeout,
            turns: Turns::new(settings.workers),
        }
    }

    /// Says in the log where work on strangers' bytes executes, and which walls are missing there.
    pub fn tell(&self) {
        if self.worker.is_none() {
            tracing::warn!(
                "isolation = thread: compilers execute in this process, which a hostile graph can end"
            );
            return;
        }
        let missing = Layers::available().missing();
        if !missing.is_empty() {
            tracing::warn!(
                missing = missing.join(", "),
                "Worker processes have limits of time and memory, but this system lacks what keeps them from files or \
                 system calls"
            );
        }
    }

    /// A turn, which may have to be waited for.
    pub async fn session(&self, asker: Asker) -> Result<Session<'_>, ServiceError> {
        let turn = self.turns.take(asker).await?;
        Ok(Session::new(self, turn))
    }
}

/// Webhooks come first.
const NICENESS: u8 = 5;
/// Graphs with their components, as the largest body that is taken.
const REQUEST_BYTES_MAX: usize = 128 << 20;
/// Machine code.
const ANSWER_BYTES_MAX: usize = 128 << 20;
