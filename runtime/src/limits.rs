//! Why a run is stopped from outside, and the one account of memory and tables for all its instances.

use crate::request::Limits;
use heddle_contract::abi::code;
use wasmtime::ResourceLimiter;

/// Ends the run at once; nothing in the pattern can catch it.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{cause}. {advice}")]
pub struct Stop {
    /// One of [`code`].
    pub code: &'static str,
    /// What happened, without a full stop: "The run used …".
    pub cause: String,
    /// What to do about it.
    pub advice: &'static str,
}

impl Stop {
    pub fn new(code: &'static str, cause: impl Into<String>, advice: &'static str) -> Self {
        Stop {
            code,
            cause: cause.into(),
            advice,
        }
    }

    /// What is left of the run waits for so long that it is not kept in memory: it is no failure.
    pub fn parked() -> Self {
        Stop::new(
            code::INTERNAL,
            "The run has parked",
            "This is a bug in heddle, please report it.",
        )
    }

    /// The guest broke the interface: a bug in heddle's own standard library.
    pub fn broken_guest(cause: impl Into<String>) -> Self {
        Stop::new(
            code::INTERNAL,
            cause,
            "This is a bug in heddle, please report it.",
        )
    }

    pub fn out_of_fuel(limits: &Limits) -> Self {
        Stop::new(
            code::OUT_OF_FUEL,
            format!("The run used its {} units of fuel", grouped(limits.fuel_max)),
            "Look for a loop that does not end, or raise the fuel limit.",
        )
    }

    pub fn timeout(limits: &Limits) -> Self {
        Stop::new(
            code::TIMEOUT,
            format!(
                "The run took longer than its {} ms",
                grouped(limits.deadline.as_millis() as u64)
            ),
            "Look for what it waits for, or raise its time limit.",
        )
    }

    /// The message with the node in it.
    pub fn message(&self, node_id: Option<&str>) -> String {
        match node_id {
            Some(id) => format!("{} while node `{id}` was executing. {}", self.cause, self.advice),
            None => self.to_string(),
        }
    }
}

/// A number with its thousands separated.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Counts the memory and tables of all instances of one run, or of one call of a component. Does not cover what the
/// host keeps for it: logs, results and output have limits of their own.
pub struct RunLimiter {
    /// "The run".
    who: &'static str,
    /// Instances, memories and tables.
    counts_max: (usize, usize, usize),
    memory_bytes: usize,
    memory_bytes_max: usize,
    table_elements: usize,
    table_elements_max: usize,
}

impl RunLimiter {
    pub fn new(limits: &Limits) -> Self {
        RunLimiter {
            who: "The run",
            counts_max: (3, 2, 2),
            memory_bytes: 0,
            memory_bytes_max: limits.memory_bytes_max,
            table_elements: 0,
            table_elements_max: limits.table_elements_max,
        }
    }

    /// For a call of a component, which brings instances of its own making.
    pub fn of_component(memory_bytes_max: usize, table_elements_max: usize) -> Self {
        RunLimiter {
            who: "The component",
            counts_max: (64, 16, 64),
            memory_bytes: 0,
            memory_bytes_max,
            table_elements: 0,
            table_elements_max,
        }
    }

    /// Memory never shrinks, so this is also what is in use.
    pub fn memory_bytes_peak(&self) -> usize {
        self.memory_bytes
    }

    fn memory_stop(&self) -> Stop {
        Stop::new(
            code::OUT_OF_MEMORY,
            format!(
                "{} needed more than its {} MiB of memory",
                self.who,
                self.memory_bytes_max >> 20
            ),
            "Handle less data at a time, or raise the memory limit.",
        )
    }

    fn table_stop(&self) -> Stop {
        Stop::new(
            code::TABLE_LIMIT,
            format!(
                "{} needed more than {} table entries",
                self.who,
                grouped(self.table_elements_max as u64)
            ),
            "Split the pattern into smaller ones.",
        )
    }
}

impl ResourceLimiter for RunLimiter {
    fn memory_growing(&mut self, current: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        let total = self.memory_bytes.saturating_add(desired.saturating_sub(current));
        if total > self.memory_bytes_max {
            return Err(self.memory_stop().into());
        }
        self.memory_bytes = total;
        Ok(true)
    }

    fn memory_grow_failed(&mut self, _: wasmtime::Error) -> wasmtime::Result<()> {
        Err(self.memory_stop().into())
    }

    fn table_growing(&mut self, current: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        let total = self
            .table_elements
            .saturating_add(desired.saturating_sub(current));
        if total > self.table_elements_max {
            return Err(self.table_stop().into());
        }
        self.table_elements = total;
        Ok(true)
    }

    fn table_grow_failed(&mut self, _: wasmtime::Error) -> wasmtime::Result<()> {
        Err(self.table_stop().into())
    }

    fn instances(&self) -> usize {
        self.counts_max.0
    }

    fn memories(&self) -> usize {
        self.counts_max.1
    }

    fn tables(&self) -> usize {
        self.counts_max.2
    }
}
