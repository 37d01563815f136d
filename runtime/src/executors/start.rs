//! Starts executors.

use super::given::malformed;
use crate::config::ExecutorConfig;
use crate::machine::half_of_memory;
use heddle_processes::{Limits, LinkReceiver, LinkSender, Process, Worker, WorkerError};
use heddle_sandbox::SandboxConfig;
use heddle_sandbox::protocol::{FromExecutor, SERVICE_LINK, ToExecutor};
use heddle_sandbox::serve::KIND;
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// What an executor may write to on machines that have little.
const MEMORY_LEAST: u64 = 4 << 30;
/// Of an executor: those of its programs, and as many components.
const FILES_MAX: u64 = 2_048;

/// How executors are started.
pub struct Setting {
    pub executors: ExecutorConfig,
    pub config: SandboxConfig,
    /// Machine code of the standard library.
    pub guest: Arc<OwnedFd>,
    /// Bytes of machine code that an executor keeps.
    pub code_bytes_max: usize,
}

/// Starts a process, and waits until it can execute.
pub async fn start(setting: &Setting) -> Result<(Process, LinkSender, LinkReceiver), WorkerError> {
    let executors = &setting.executors;
    let limits = Limits {
        // The pool of sandboxes reserves terabytes that nobody uses.
        address_space_bytes_max: u64::MAX,
        data_bytes_max: executors
            .memory_bytes_max
            .unwrap_or_else(|| half_of_memory(MEMORY_LEAST)),
        processor_seconds_max: u64::MAX,
        files_max: FILES_MAX,
        ..Limits::default()
    };
    let command = executors.program.command(KIND, limits);
    let (mut process, link, mut receiver) = Worker::start_linked(command, SERVICE_LINK).await?;
    let start = ToExecutor::Start(setting.config.clone()).frame();
    if link.send_with(start, vec![setting.guest.clone()]).is_err() {
        return Err(process.death().await);
    }
    loop {
        let frame = receiver.take_frame();
        let Some(frame) = frame.map_err(|error| malformed(&error))? else {
            if !matches!(receiver.fill().await, Ok(true)) {
                return Err(process.death().await);
            }
            continue;
        };
        match FromExecutor::read(frame).map_err(|error| malformed(&error))? {
            FromExecutor::Started { failure: None } => return Ok((process, link, receiver)),
            FromExecutor::Started {
                failure: Some(reason),
            } => return Err(malformed(&reason)),
            _ => return Err(malformed(&"its first message is a different one")),
        }
    }
}
