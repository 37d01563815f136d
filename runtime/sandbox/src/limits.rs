//! Limits of one run.

use heddle_contract::manifest::{FUEL_PER_COMPUTE_SECOND, Settings};
use std::time::Duration;

/// Bytes of the requests of one run's effects that wait or are at work, together.
pub const REQUEST_BYTES_MAX: usize = 64 << 20;

/// Effects of one run that have begun and whose results it has not seen, together: what each of them holds in memory is not
/// counted, so they are, however many a run may start in all.
pub const UNDER_WAY_MAX: u32 = 1_000;

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
    /// Effects started, of which at most [`UNDER_WAY_MAX`] are under way at a time. `EFFECT_LIMIT`.
    pub effects_max: u32,
    pub event_bytes_max: usize,
    /// Bytes of one effect's result.
    pub effect_result_bytes_max: usize,
    /// Bytes of the results of all effects that are recorded, if they are. `JOURNAL_LIMIT`.
    pub journal_bytes_max: usize,
    /// How far a pattern's settings can raise some of these.
    pub ceilings: Ceilings,
}

/// How far a pattern's settings can raise limits of its runs. Messages tell people of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ceilings {
    /// Of `Limits::fuel_max`.
    pub fuel: u64,
    /// Of `Limits::memory_bytes_max`.
    pub memory_bytes: usize,
    /// Of `Limits::effects_max`.
    pub effects: u32,
    /// Of `Limits::deadline`: what it was before a pattern's settings, which can only make it shorter.
    pub deadline: Duration,
}

impl Limits {
    /// These limits, and what a pattern's settings say instead, as far as the ceilings allow.
    #[must_use]
    pub fn with(mut self, settings: &Settings) -> Self {
        self.ceilings.deadline = self.deadline;
        if let Some(timeout_ms) = settings.timeout_ms {
            self.deadline = self.deadline.min(Duration::from_millis(timeout_ms));
        }
        if let Some(memory_mb) = settings.memory_mb {
            self.memory_bytes_max = mebibytes(memory_mb).min(self.ceilings.memory_bytes);
        }
        if let Some(seconds) = settings.compute_seconds {
            let fuel = seconds.saturating_mul(FUEL_PER_COMPUTE_SECOND);
            self.fuel_max = fuel.min(self.ceilings.fuel);
        }
        if let Some(effects) = settings.max_effects {
            self.effects_max = count(effects).min(self.ceilings.effects);
        }
        self
    }

    /// These limits, with lower ceilings that no run gets past.
    #[must_use]
    pub fn within(mut self, memory_mb: u64, compute_seconds: u64, effects: u64) -> Self {
        let ceilings = &mut self.ceilings;
        ceilings.memory_bytes = ceilings.memory_bytes.min(mebibytes(memory_mb));
        let fuel = compute_seconds.saturating_mul(FUEL_PER_COMPUTE_SECOND);
        ceilings.fuel = ceilings.fuel.min(fuel);
        ceilings.effects = ceilings.effects.min(count(effects));
        self.memory_bytes_max = self.memory_bytes_max.min(ceilings.memory_bytes);
        self.fuel_max = self.fuel_max.min(ceilings.fuel);
        self.effects_max = self.effects_max.min(ceilings.effects);
        self
    }
}

fn count(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn mebibytes(number: u64) -> usize {
    usize::try_from(number.saturating_mul(1 << 20)).unwrap_or(usize::MAX)
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
            ceilings: Ceilings::default(),
        }
    }
}

impl Default for Ceilings {
    fn default() -> Self {
        Ceilings {
            fuel: 60 * FUEL_PER_COMPUTE_SECOND,
            memory_bytes: 512 << 20,
            effects: 10_000,
            deadline: Duration::from_secs(300),
        }
    }
}
