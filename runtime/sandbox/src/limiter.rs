//! Accounts for the memory and tables of all instances of a run together.

use crate::limits::Limits;
use crate::memory_budget::{Exhausted, MemoryShare};
use crate::stop::{Stop, grouped};
use heddle_contract::abi::code;
use wasmtime::ResourceLimiter;

/// Whose memory it is.
enum Consumer {
    /// A run's, whose settings can raise it to so many bytes.
    Run(usize),
    /// That of a component's call.
    Component,
}

impl Consumer {
    /// As messages begin.
    fn name(&self) -> &'static str {
        match self {
            Consumer::Run(_) => "The run",
            Consumer::Component => "The component",
        }
    }
}

/// Counts the memory and tables of all instances of one run, or of one call of a component. Does not cover what the
/// host keeps for it: logs, results and output have limits of their own.
pub struct RunLimiter {
    consumer: Consumer,
    /// Instances, memories and tables.
    counts_max: (usize, usize, usize),
    memory_bytes: usize,
    memory_bytes_max: usize,
    /// What it shares with all others.
    budget: MemoryShare,
    table_elements: usize,
    table_elements_max: usize,
}

impl Drop for RunLimiter {
    fn drop(&mut self) {
        self.budget.give_back(self.memory_bytes);
    }
}

impl RunLimiter {
    pub fn new(limits: &Limits, budget: MemoryShare) -> Self {
        RunLimiter {
            consumer: Consumer::Run(limits.ceilings.memory_bytes),
            counts_max: (3, 2, 2),
            memory_bytes: 0,
            memory_bytes_max: limits.memory_bytes_max,
            budget,
            table_elements: 0,
            table_elements_max: limits.table_elements_max,
        }
    }

    /// For a call of a component, which brings instances of its own making.
    pub fn of_component(memory_bytes_max: usize, table_elements_max: usize, budget: MemoryShare) -> Self {
        RunLimiter {
            consumer: Consumer::Component,
            counts_max: (64, 16, 64),
            memory_bytes: 0,
            memory_bytes_max,
            budget,
            table_elements: 0,
            table_elements_max,
        }
    }

    /// Memory never shrinks, so this is also what is in use.
    pub fn memory_bytes_peak(&self) -> usize {
        self.memory_bytes
    }

    fn memory_stop(&self) -> Stop {
        match self.consumer {
            Consumer::Run(ceiling) => Stop::out_of_memory(self.memory_bytes_max, ceiling),
            Consumer::Component => Stop::new(
                code::OUT_OF_MEMORY,
                format!(
                    "The component needed more than its {} MiB of memory",
                    self.memory_bytes_max >> 20
                ),
                "Process less data at a time, or raise `memoryMb` in the pattern's settings: a component may use half of it.",
            ),
        }
    }

    fn budget_stop(&self, exhausted: Exhausted) -> Stop {
        let (left, bytes_max) = match exhausted {
            Exhausted::ForAll(bytes_max) => ("is left", bytes_max),
            Exhausted::ForOwner(bytes_max) => ("is left for one user", bytes_max),
        };
        Stop::new(
            code::OUT_OF_MEMORY,
            format!(
                "{} needed more memory than {left} of the {} MiB that all executing runs share",
                self.consumer.name(),
                bytes_max >> 20
            ),
            "Try again later, or ask the service's operator to raise `runs_memory`.",
        )
    }

    fn table_stop(&self) -> Stop {
        Stop::new(
            code::TABLE_LIMIT,
            format!(
                "{} needed more than {} table entries",
                self.consumer.name(),
                grouped(self.table_elements_max as u64)
            ),
            "Split the pattern into smaller ones.",
        )
    }
}

impl ResourceLimiter for RunLimiter {
    fn memory_growing(&mut self, current: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        let more = desired.saturating_sub(current);
        let total = self.memory_bytes.saturating_add(more);
        if total > self.memory_bytes_max {
            return Err(self.memory_stop().into());
        }
        let taken = self.budget.take(more);
        taken.map_err(|exhausted| self.budget_stop(exhausted))?;
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
