//! Starts executors.

use super::given::malformed;
use crate::config::ExecutorConfig;
use crate::machine;
use heddle_processes::{Limits, LinkReceiver, LinkSender, Process, Worker, WorkerError};
use heddle_sandbox::SandboxConfig;
use heddle_sandbox::protocol::{FromExecutor, SERVICE_LINK, ToExecutor};
use heddle_sandbox::serve::KIND;
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// What an executor may write to for itself: the pool's idle sandboxes, code, and what it has heard and has to say.
const OWN_MEMORY: u64 = 3 << 29;
/// And for each run, besides its linear memory: its stack, which counts in full.
const MEMORY_OF_A_RUN: u64 = 2 << 20;
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
            .unwrap_or_else(|| share_of_memory(machine::memory(), setting)),
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

/// What one executor may write to: so much that all together can have the machine's memory and no more, unless that is less than
/// they need.
fn share_of_memory(machine: Option<u64>, setting: &Setting) -> u64 {
    let processes = u64::try_from(setting.executors.all_processes()).unwrap_or(u64::MAX);
    let share = machine.unwrap_or(0) / processes.max(1);
    let linear = u64::try_from(setting.config.all_memory_bytes_max).unwrap_or(u64::MAX);
    let of_runs = MEMORY_OF_A_RUN.saturating_mul(u64::from(setting.config.runs_max));
    share.max(linear.saturating_add(of_runs).saturating_add(OWN_MEMORY))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ExecutorGroup;
    use heddle_processes::WorkerProgram;
    use std::time::Duration;

    const GIB: u64 = 1 << 30;

    fn setting(processes: usize, groups: Vec<ExecutorGroup>) -> Setting {
        let program = WorkerProgram {
            program: "x".into(),
            arguments: Vec::new(),
        };
        Setting {
            executors: ExecutorConfig {
                program,
                processes,
                groups,
                memory_bytes_max: None,
            },
            config: SandboxConfig {
                runs_max: 256,
                background_threads: 1,
                foreground_time: Duration::ZERO,
                memory_bytes_max: 64 << 20,
                all_memory_bytes_max: 128 << 20,
                table_elements_max: 1,
                code_is_sealed: true,
            },
            guest: Arc::new(std::fs::File::open("/dev/null").unwrap().into()),
            code_bytes_max: 1,
        }
    }

    #[test]
    fn all_executors_together_may_write_to_what_the_machine_has() {
        for processes in [1, 4, 7] {
            let share = share_of_memory(Some(64 * GIB), &setting(processes, Vec::new()));
            assert_eq!(share, 64 * GIB / processes as u64);
        }
        let group = ExecutorGroup {
            tenants: vec![1],
            processes: 4,
        };
        assert_eq!(share_of_memory(Some(64 * GIB), &setting(4, vec![group])), 8 * GIB);
    }

    #[test]
    fn each_may_write_to_what_it_needs() {
        let least = OWN_MEMORY + (512 << 20) + (128 << 20);
        for machine in [None, Some(GIB), Some(8 * GIB)] {
            assert_eq!(share_of_memory(machine, &setting(4, Vec::new())), least);
        }
    }
}
