//! ForEach and Loop: iterations begin, end and give their values back. Composites share the arena.

use super::execute::{DONE, fill, none_came};
use super::frames::{EdgeState, Frame, Turn};
use super::job::Job;
use super::loop_run::{Kind, LoopRun};
use super::outside::TraceKind;
use super::run::{Outside, Run, State};
use super::spread::{as_items, joined};
use crate::failure::Failure;
use crate::leaving::leaving;
use crate::node::Origins;
use heddle_values::Value;
use std::cell::OnceCell;

impl<O: Outside> Run<'_, O> {
    /// `items` are JSON already.
    pub(super) fn start_for_each(&self, job: Job, items: Vec<Value>, concurrency: u32) {
        let count = items.len();
        let kind = Kind::ForEach {
            items,
            concurrency: concurrency.max(1),
            in_flight: 0,
            results: vec![None; count],
            origins: match self.plan.node(job.place.node).items() {
                true => vec![Vec::new(); count],
                false => Vec::new(),
            },
            starts: OnceCell::new(),
        };
        self.start_loop(job, kind);
    }

    pub(super) fn start_repeat(&self, job: Job, condition: Option<u32>, iterations_max: u32) {
        match leaving(job.input.clone()) {
            Ok(value) => {
                let kind = Kind::Repeat {
                    condition,
                    iterations_max,
                    value,
                };
                self.start_loop(job, kind);
            }
            Err(failure) => self.give_up(job, failure),
        }
    }

    pub(super) fn start_loop(&self, job: Job, kind: Kind) {
        self.trace_pause(job.token);
        let index = self
            .state
            .borrow_mut()
            .loops
            .insert(LoopRun { job, kind, next: 0 });
        self.continue_loop(index);
    }

    /// Collects ended iterations and begins those that may follow, until all wait for their nodes.
    pub(super) fn advance_loops(&self) {
        while !self.finished() {
            let ended = self.state.borrow_mut().ended.pop_front();
            let Some(frame) = ended else { return };
            let collected = self.state.borrow_mut().collect_iteration(frame);
            if let Some(index) = collected {
                self.continue_loop(index);
            }
        }
    }

    /// Begins the iterations that may begin; ends the loop after the last.
    pub(super) fn continue_loop(&self, index: u32) {
        let condition = {
            let mut state = self.state.borrow_mut();
            match state.loops.get(index).map(|looped| &looped.kind) {
                Some(Kind::ForEach { .. }) => {
                    state.begin_items(index);
                    None
                }
                Some(Kind::Repeat { condition, .. }) => Some(*condition),
                Some(Kind::Composite(_)) => {
                    state.begin_elements(index);
                    None
                }
                None => return,
            }
        };
        if let Some(condition) = condition {
            match self.repeats(index, condition) {
                Ok(true) => self.state.borrow_mut().begin_repetition(index),
                Ok(false) => self.end_loop(index),
                Err(failure) => self.fail_loop(index, failure),
            }
        } else if self.state.borrow().loops.get(index).is_some_and(LoopRun::is_over) {
            self.end_loop(index);
        }
    }

    /// Whether the body of a Loop runs once more.
    fn repeats(&self, index: u32, condition: Option<u32>) -> Result<bool, Failure> {
        let (job, value, count) = {
            let state = self.state.borrow();
            let Some(looped) = state.loops.get(index) else {
                return Ok(false);
            };
            let Kind::Repeat {
                iterations_max,
                value,
                ..
            } = &looped.kind
            else {
                return Ok(false);
            };
            if looped.next >= *iterations_max {
                return Ok(false);
            }
            let (mut job, value, count) = (looped.job.clone(), leaving(value.clone())?, looped.next);
            job.input = value.clone();
            (job, value, count)
        };
        self.outside.set_current_node(job.place.node);
        self.begin(job);
        let Some(condition) = condition else {
            self.state.borrow_mut().current.end();
            return Ok(true);
        };
        let result = self.call_with_item(condition, &value, count as usize);
        let random = self.state.borrow_mut().current.end().random;
        if let Some(looped) = self.state.borrow_mut().loops.get_mut(index) {
            looped.job.random = random;
        }
        result.map(|value| value.truthy())
    }

    fn end_loop(&self, index: u32) {
        let Some(looped) = self.state.borrow_mut().loops.remove(index) else {
            return;
        };
        self.trace_resume(looped.job.token);
        let node = self.plan.node(looped.job.place.node);
        let value = match looped.kind {
            Kind::ForEach { results, origins, .. } if node.items() => {
                let origins = vec![(DONE, vec![origins.into_iter().flatten().collect()])];
                self.state.borrow_mut().set_lineage(looped.job.place, origins);
                leaving(joined(results.into_iter().flatten()))
            }
            Kind::ForEach { results, .. } => {
                let lineage = lineage(&looped.job.input, &results);
                self.state.borrow_mut().set_lineage(looped.job.place, lineage);
                leaving(Value::from(results.into_iter().flatten().collect::<Vec<_>>()))
            }
            Kind::Repeat { value, .. } => leaving(value),
            Kind::Composite(composite) => return self.end_composite(looped.job, composite),
        };
        let mut emitted = match value {
            Ok(value) => vec![(DONE, value)],
            Err(failure) => return self.give_up(looped.job, failure),
        };
        as_items(node, &mut emitted);
        let may_fill = node.always() && !none_came(node, &looped.job.input);
        if may_fill && fill(node, &mut emitted, node.items()) {
            self.state.borrow_mut().set_lineage(looped.job.place, Vec::new());
        }
        self.trace_values(looped.job.token, TraceKind::Output, &emitted);
        self.state.borrow_mut().complete(looped.job.place, emitted);
    }

    /// The condition failed, or what came back is nested too deeply. It would fail again, so there is no further attempt.
    fn fail_loop(&self, index: u32, failure: Failure) {
        let Some(looped) = self.state.borrow_mut().loops.remove(index) else {
            return;
        };
        self.trace_resume(looped.job.token);
        self.give_up(looped.job, failure);
    }
}

impl State<'_> {
    fn begin_items(&mut self, index: u32) {
        while let Some(looped) = self.loops.get_mut(index)
            && let Kind::ForEach {
                items,
                concurrency,
                in_flight,
                ..
            } = &mut looped.kind
            && *in_flight < *concurrency
            && let Some(item) = items.get(looped.next as usize)
        {
            let (place, number, item) = (looped.job.place, looped.next, item.clone());
            *in_flight += 1;
            looped.next += 1;
            self.begin_turn(index, place, Turn::of_item(number), item);
        }
    }

    fn begin_repetition(&mut self, index: u32) {
        if let Some(looped) = self.loops.get_mut(index)
            && let Kind::Repeat { value, .. } = &looped.kind
        {
            let (place, number, value) = (looped.job.place, looped.next, value.clone());
            looped.next += 1;
            self.begin_turn(index, place, Turn::of_item(number), value);
        }
    }

    /// Takes an ended iteration's value and frees its frame; gives the loop.
    fn collect_iteration(&mut self, frame_index: u32) -> Option<u32> {
        let frame = self.frames.get(frame_index)?;
        let (loop_run, number) = (frame.loop_run, frame.turn.index as usize);
        if let Some(Kind::Composite(_)) = self.loops.get(loop_run).map(|looped| &looped.kind) {
            let emitted = self.returned_by_port(frame);
            self.frames.close(frame_index);
            self.element_ended(loop_run, number, emitted);
            return Some(loop_run);
        }
        let returned = self.returned(frame);
        let known = self.origins_of_returned(frame);
        self.frames.close(frame_index);
        match &mut self.loops.get_mut(loop_run)?.kind {
            Kind::ForEach {
                in_flight,
                results,
                origins,
                ..
            } => {
                *in_flight = in_flight.saturating_sub(1);
                if let Some(slot) = results.get_mut(number) {
                    *slot = returned;
                }
                if let Some(origins) = origins.get_mut(number) {
                    *origins = known;
                }
            }
            Kind::Repeat { value, .. } => {
                if let Some(returned) = returned {
                    *value = returned;
                }
            }
            Kind::Composite(_) => {}
        }
        Some(loop_run)
    }

    /// What came back to the loop's `next` port.
    fn returned(&self, frame: &Frame) -> Option<Value> {
        let mut live = self.live_returns(frame).map(|(_, value)| value);
        let first = live.next()?;
        match live.next() {
            None => Some(first),
            second if self.plan.node(frame.loop_node).items() => {
                Some(joined([first].into_iter().chain(second).chain(live)))
            }
            second => Some(Value::Array(
                [first].into_iter().chain(second).chain(live).collect(),
            )),
        }
    }

    /// The edges by which values came back, and the values.
    pub(super) fn live_returns(&self, frame: &Frame) -> impl Iterator<Item = (u32, Value)> {
        let returns = self.plan.scope(frame.scope).returns();
        returns.iter().filter_map(
            |edge| match frame.edges.get(self.plan.edge_place(edge).1 as usize) {
                Some(EdgeState::Live(value)) => Some((edge, value.clone())),
                _ => None,
            },
        )
    }
}

/// Which element of its input each of a ForEach's results comes from: its items are the input's if there are as many.
fn lineage(input: &Value, results: &[Option<Value>]) -> Vec<(u32, Origins)> {
    let Value::Array(input) = input else {
        return Vec::new();
    };
    let is_input = input.len() == results.len();
    if is_input && results.iter().all(Option::is_some) {
        // Equal counts pair by place.
        return Vec::new();
    }
    let numbered = results.iter().zip(0u32..).filter(|_| is_input);
    let origins = numbered.filter_map(|(result, number)| result.as_ref().map(|_| number));
    vec![(DONE, vec![origins.collect()])]
}
