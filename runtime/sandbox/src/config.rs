//! What executes runs in a process may use.

use std::time::Duration;

/// What executes runs in a process may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxConfig {
    /// Runs in flight at once: sizes the pool of sandboxes.
    pub runs_max: u32,
    /// Threads of low priority for runs that have computed for longer than `foreground_time`.
    pub background_threads: usize,
    /// Processor time after which a run continues on the background threads. Until then it is polled by the task that
    /// executes it, a millisecond at a time.
    pub foreground_time: Duration,
    /// Upper bound of `Limits::memory_bytes_max`, in bytes.
    pub memory_bytes_max: usize,
    /// Linear memory of all runs together, in bytes.
    pub all_memory_bytes_max: usize,
    /// Upper bound of `Limits::table_elements_max`.
    pub table_elements_max: usize,
    /// Whether all code comes in sealed files in memory.
    pub code_is_sealed: bool,
}
