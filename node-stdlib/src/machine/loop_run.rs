//! Loops and composites in execution.

use super::job::Job;
use heddle_values::Value;
use std::cell::OnceCell;

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
        /// In a graph of items, for each iteration: which element of the loop's input each item comes from that came back.
        origins: Vec<Vec<u32>>,
        /// Asked for by the elements of batches.
        starts: OnceCell<Option<Vec<usize>>>,
    },
    Repeat {
        condition: Option<u32>,
        iterations_max: u32,
        value: Value,
    },
    Composite(Composite),
}

impl LoopRun {
    /// How many items a ForEach iterates over, or a composite with `each`.
    pub fn item_count(&self) -> Option<usize> {
        match &self.kind {
            Kind::ForEach { items, .. } => Some(items.len()),
            Kind::Composite(composite) => composite.each.then_some(composite.items.len()),
            Kind::Repeat { .. } => None,
        }
    }

    /// Where an element of an iteration's batch is in the list that arrived, if the batches are that list.
    pub fn place_of_batched(&self, iteration: u32, element: u32) -> Option<u32> {
        let (Kind::ForEach { items, starts, .. }, Value::Array(input)) = (&self.kind, &self.job.input) else {
            return None;
        };
        // Once for the loop, however many of its elements ask.
        let starts = starts.get_or_init(|| starts_of(items)).as_ref()?;
        let Value::Array(batch) = items.get(iteration as usize)? else {
            return None;
        };
        let at = starts.get(iteration as usize)?.checked_add(element as usize)?;
        let is_same = batch.get(element as usize)?.deep_equal(input.get(at)?);
        let is_input = is_same && starts.last() == Some(&input.len());
        u32::try_from(at).ok().filter(|_| is_input)
    }

    /// Where the only element of an iteration's batch is in that list.
    pub fn place_of_only(&self, iteration: u32) -> Option<u32> {
        let Kind::ForEach { items, .. } = &self.kind else {
            return None;
        };
        match items.get(iteration as usize)? {
            Value::Array(batch) if batch.len() == 1 => self.place_of_batched(iteration, 0),
            _ => None,
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

/// Where each batch would begin in one list of all of them, and where that would end; `None`: not all are lists.
fn starts_of(batches: &[Value]) -> Option<Vec<usize>> {
    let mut end = 0_usize;
    let mut starts = vec![end];
    for batch in batches {
        let Value::Array(elements) = batch else {
            return None;
        };
        end = end.checked_add(elements.len())?;
        starts.push(end);
    }
    Some(starts)
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
