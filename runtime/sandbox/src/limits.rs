//! Limits of one run.

use std::time::Duration;

/// Bytes of the requests of one run's effects that wait or are at work, together.
pub const REQUEST_BYTES_MAX: usize = 64 << 20;

/// Limits on one run. Each has an error code of its own (see `heddle_contract::abi::code`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Instructions, roughly; bulk operations and host calls are charged by size. `OUT_OF_FUEL`.
    pub fuel_max: u64,
    /// Linear memory of all instances of the run together, in bytes. `OUT_OF_MEMORY`.
    pub memory_bytes_max: usize,
    /// Table elements of all instances together. `TABLE_LIMIT`.
    pub table_elements_max: usize,
    /// Wall time, waiting included. `TIMEOUT`.
    pub deadline: Duration,
    /// Bytes of log messages. `LOG_LIMIT`.
    pub log_bytes_max: usize,
    /// Log lines. `LOG_LIMIT`.
    pub log_lines_max: usize,
    /// Bytes of output, response and trace, each. `OUTPUT_LIMIT`.
    pub output_bytes_max: usize,
    /// Effects started. `EFFECT_LIMIT`.
    pub effects_max: u32,
    pub event_bytes_max: usize,
    /// Bytes of one effect's result.
    pub effect_result_bytes_max: usize,
    /// Bytes of the results of all effects that are recorded, if they are. `JOURNAL_LIMIT`.
    pub journal_bytes_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            fuel_max: 10_000_000_000,
            memory_bytes_max: 64 << 20,
            table_elements_max: 20_000,
            deadline: Duration::from_secs(300),
            log_bytes_max: 256 << 10,
            log_lines_max: 10_000,
            output_bytes_max: 8 << 20,
            effects_max: 1_000,
            event_bytes_max: 8 << 20,
            effect_result_bytes_max: 8 << 20,
            journal_bytes_max: 32 << 20,
        }
    }
}
