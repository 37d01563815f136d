//! `each: true`: a node executes once for every element of the array on its input.
//!
//! The elements' values are collected by port, in the order of the elements. For every value that leaves, the
//! index of the element that it came from is kept, so that `$("Label").item` can follow it back.

use super::execute::{fill, first_output};
use super::frames::Place;
use super::job::{Emitted, Group, Job};
use super::outside::TraceKind;
use super::run::{Outside, Run, State};
use super::spread::as_items;
use crate::leaving::all_leaving;
use crate::node::Origins;
use heddle_contract::abi::FUNCTION_NUMBER;
use heddle_contract::plan::NONE;
use heddle_values::{Array, Value};

impl<O: Outside> Run<'_, O> {
    pub(super) fn start_group(&self, place: Place, elements: Array) {
        let token = self.trace_begin(place, None);
        self.trace_pause(token);
        let results = Vec::with_capacity(elements.len());
        let group = Group {
            place,
            elements,
            next: 0,
            in_flight: 0,
            results,
            token,
        };
        let index = self.state.borrow_mut().groups.insert(group);
        self.continue_group(index);
    }

    /// Executes elements while there are some and fewer than `concurrency` wait; ends the group after the last.
    pub(super) fn continue_group(&self, index: u32) {
        let node = self
            .state
            .borrow()
            .groups
            .get(index)
            .map(|group| group.place.node);
        let Some(node) = node else { return };
        let function = self.plan.node(node).function().unwrap_or_default();
        let has_form_for_numbers = function > FUNCTION_NUMBER && !self.plan.trace();
        while !self.finished() {
            if has_form_for_numbers {
                self.execute_numbers(index, function);
            }
            let begun = self.state.borrow_mut().begin_element(index);
            match begun {
                Some((place, element)) => self.execute_element(place, element),
                None => return self.end_group(index),
            }
        }
    }

    /// Ends the group if nothing of it is in flight.
    fn end_group(&self, index: u32) {
        let ended = {
            let mut state = self.state.borrow_mut();
            match state.groups.get(index) {
                Some(group) if group.in_flight == 0 => state.groups.remove(index),
                _ => None,
            }
        };
        let Some(group) = ended else { return };
        self.trace_resume(group.token);
        let job = Job {
            place: group.place,
            token: group.token,
            ..Job::default()
        };
        let mut results = group.results;
        // Those that have waited came late.
        if !results.is_sorted_by_key(|emitted| emitted.element) {
            results.sort_by_key(|emitted| emitted.element);
        }
        self.emit_elements(job, group.elements.len(), results);
    }

    /// Executes the next elements as far as they are numbers, of a node whose function has a form for them: what it gives leaves by
    /// the first port.
    fn execute_numbers(&self, index: u32, function: u32) {
        let taken = self.state.borrow_mut().groups.get_mut(index).map(|group| {
            let results = std::mem::take(&mut group.results);
            (group.elements.clone(), group.next, results)
        });
        let Some((elements, mut next, mut results)) = taken else {
            return;
        };
        while let Some(Value::Number(input)) = elements.get(next as usize)
            && let Some(value) = self.outside.call_numbers(function, *input, f64::from(next))
        {
            results.push(Emitted {
                element: next,
                port: 0,
                value: value.into_json(),
            });
            next += 1;
        }
        if let Some(group) = self.state.borrow_mut().groups.get_mut(index) {
            (group.next, group.results) = (next, results);
        }
    }

    /// Executes an element that has been begun: in place, since there are many.
    fn execute_element(&self, place: Place, element: u32) {
        let node = self.plan.node(place.node);
        if self.plan.trace() {
            let token = self.trace_begin(place, Some(element));
            self.state.borrow_mut().current.job.token = token;
        }
        let Some(function) = node.function() else {
            let job = self.state.borrow_mut().current.end();
            return self.execute(job);
        };
        self.outside.set_site(NONE);
        self.outside.call_body(self, function);
        let (job, result) = {
            let mut state = self.state.borrow_mut();
            if state.deliver_at_once() {
                return;
            }
            let result = state.current.take_result();
            (state.current.end(), result)
        };
        if let Some(again) = self.settle_result(job, result) {
            self.execute(again);
        }
    }

    /// What the elements of a node have emitted leaves it, in the order of the elements.
    pub(super) fn emit_elements(&self, job: Job, count: usize, results: Vec<Emitted>) {
        let node = self.plan.node(job.place.node);
        let may_fill = node.always() && count > 0;
        let (mut emitted, mut lineage) = by_port(count, results, node.items());
        as_items(node, &mut emitted);
        if may_fill && fill(node, &mut emitted, true) {
            lineage.retain(|(port, _)| *port != first_output(node));
        }
        let emitted = match all_leaving(emitted) {
            Ok(emitted) => emitted,
            Err(failure) => return self.give_up(job, failure),
        };
        self.trace_values(job.token, TraceKind::Output, &emitted);
        let mut state = self.state.borrow_mut();
        state.set_lineage(job.place, lineage);
        state.complete(job.place, emitted);
    }
}

impl State<'_> {
    /// Keeps where the elements of what leaves a node come from.
    pub(super) fn set_lineage(&mut self, place: Place, lineage: Vec<(u32, Origins)>) {
        let local = self.plan.node(place.node).local() as usize;
        let frame = self.frames.get_mut(place.frame);
        if let Some(node) = frame.and_then(|frame| frame.nodes.get_mut(local)) {
            node.lineage = lineage;
        }
    }

    /// Begins the next element of a group if it may begin now; gives its number.
    fn begin_element(&mut self, index: u32) -> Option<(Place, u32)> {
        let group = self.groups.get_mut(index)?;
        if group.in_flight >= self.plan.node(group.place.node).concurrency() {
            return None;
        }
        let element = group.next;
        let input = group.elements.get(element as usize)?.clone();
        group.next += 1;
        group.in_flight += 1;
        let place = group.place;
        self.current.begin_element(place, (index, element), input);
        Some((place, element))
    }

    pub(super) fn deliver_element(&mut self, index: u32, element: u32, emitted: Vec<(u32, Value)>) {
        let Some(group) = self.groups.get_mut(index) else {
            return;
        };
        group.in_flight = group.in_flight.saturating_sub(1);
        let emitted = emitted
            .into_iter()
            .map(|(port, value)| Emitted { element, port, value });
        group.results.extend(emitted);
    }

    /// The same of what is in a buffer, which is empty then.
    pub(super) fn deliver_element_of(&mut self, index: u32, element: u32, emitted: &mut Vec<(u32, Value)>) {
        let Some(group) = self.groups.get_mut(index) else {
            return;
        };
        group.in_flight = group.in_flight.saturating_sub(1);
        for (port, value) in emitted.drain(..) {
            group.results.push(Emitted { element, port, value });
        }
    }
}

type ByPort<T> = Vec<(u32, T)>;

/// Arrays of what left by each port, and where each of their elements came from. In a graph of items, what an element gave as an
/// array are several.
fn by_port(count: usize, results: Vec<Emitted>, spreads: bool) -> (ByPort<Value>, ByPort<Origins>) {
    if count == 0 {
        return (vec![(0, Value::from(Vec::new()))], Vec::new());
    }
    let mut ports: Vec<(u32, Vec<Value>, Vec<u32>)> = Vec::new();
    let most = results.len();
    for Emitted { element, port, value } in results {
        let at = ports
            .iter()
            .position(|(at, _, _)| *at == port)
            .unwrap_or_else(|| {
                // Nearly always there is one.
                let room = if ports.is_empty() { most } else { 0 };
                ports.push((port, Vec::with_capacity(room), Vec::with_capacity(room)));
                ports.len() - 1
            });
        if let Some((_, values, origins)) = ports.get_mut(at) {
            match value {
                Value::Array(items) if spreads => {
                    values.extend(items.into_vec());
                    origins.resize(values.len(), element);
                }
                value => {
                    values.push(value);
                    origins.push(element);
                }
            }
        }
    }
    ports
        .into_iter()
        .map(|(port, values, origins)| ((port, Value::from(values)), (port, vec![origins])))
        .unzip()
}
