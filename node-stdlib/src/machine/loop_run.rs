//! Loops and composites in execution.

use super::job::Job;
use heddle_values::Value;

/// A loop node, or a composite, in execution.
pub(super) struct LoopRun {
    pub job: Job,
    pub kind: Kind,
    /// Next iteration or element.
    pub next: u32,
}

pub(super) enum Kind {
    ForEach {
        items: Vec<Value>,
        concurrency: u32,
        in_flight: u32,
        results: Vec<Option<Value>>,
    },
    Repeat {
        condition: Option<u32>,
        iterations_max: u32,
        value: Value,
    },
    Composite(Composite),
}

impl LoopRun {
    /// How many items a ForEach iterates over.
    pub fn item_count(&self) -> Option<usize> {
        match &self.kind {
            Kind::ForEach { items, .. } => Some(items.len()),
            Kind::Repeat { .. } | Kind::Composite(_) => None,
        }
    }

    /// What arrived at the loop.
    pub fn input(&self) -> &Value {
        &self.job.input
    }

    /// Whether all iterations have ended, as far as their number is known before.
    pub fn is_over(&self) -> bool {
        match &self.kind {
            Kind::ForEach { items, in_flight, .. } => *in_flight == 0 && self.next as usize >= items.len(),
            Kind::Repeat { .. } => false,
            Kind::Composite(composite) => composite.is_over(self.next),
        }
    }
}

/// What a composite in execution is about.
pub(super) struct Composite {
    /// The elements; without `each` the only one is the input.
    pub items: Vec<Value>,
    pub each: bool,
    pub in_flight: u32,
    /// What each element has emitted.
    pub results: Vec<Vec<(u32, Value)>>,
}

impl Composite {
    /// Whether all elements have ended, `next` being the one that would follow.
    pub fn is_over(&self, next: u32) -> bool {
        self.in_flight == 0 && next as usize >= self.items.len()
    }
}
