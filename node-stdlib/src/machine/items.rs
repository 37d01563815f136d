//! `each: true`: a node executes once for every element of the array on its input.
//!
//! The elements' values are collected by port, in the order of the elements. For every value that leaves, the
//! index of the element that it came from is kept, so that `$("Label").item` can follow it back.

use super::execute::{fill, first_output};
use super::frames::Place;
use super::job::{Group, Job};
use super::outside::TraceKind;
use super::run::{Outside, Run, State};
use super::spread::as_items;
use crate::leaving::all_leaving;
use crate::node::Origins;
use heddle_values::{Array, Value};

impl<O: Outside> Run<'_, O> {
    pub(super) fn start_group(&self, place: Place, elements: Array) {
        let token = self.trace_begin(place, None);
        self.trace_pause(token);
        let results = vec![Vec::new(); elements.len()];
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
        while !self.finished() {
            let next = self.state.borrow_mut().next_element(index);
            match next {
                Some((place, element, input)) => {
                    let token = self.trace_begin(place, Some(element));
                    self.execute(Job {
                        place,
                        element: Some((index, element)),
                        token,
                        input,
                        ..Job::default()
                    });
                }
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
        self.emit_elements(job, group.results);
    }

    /// What the elements of a node have emitted leaves it.
    pub(super) fn emit_elements(&self, job: Job, results: Vec<Vec<(u32, Value)>>) {
        let node = self.plan.node(job.place.node);
        let may_fill = node.always() && !results.is_empty();
        let (mut emitted, mut lineage) = by_port(results, node.items());
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

    fn next_element(&mut self, index: u32) -> Option<(Place, u32, Value)> {
        let group = self.groups.get_mut(index)?;
        if group.in_flight >= self.plan.node(group.place.node).concurrency() {
            return None;
        }
        let element = group.next;
        let input = group.elements.get(element as usize)?.clone();
        group.next += 1;
        group.in_flight += 1;
        Some((group.place, element, input))
    }

    pub(super) fn deliver_element(&mut self, index: u32, element: u32, emitted: Vec<(u32, Value)>) {
        let Some(group) = self.groups.get_mut(index) else {
            return;
        };
        group.in_flight = group.in_flight.saturating_sub(1);
        if let Some(slot) = group.results.get_mut(element as usize) {
            *slot = emitted;
        }
    }
}

type ByPort<T> = Vec<(u32, T)>;

/// Arrays of what left by each port, and where each of their elements came from. In a graph of items, what an element gave as an
/// array are several.
fn by_port(results: Vec<Vec<(u32, Value)>>, spreads: bool) -> (ByPort<Value>, ByPort<Origins>) {
    if results.is_empty() {
        return (vec![(0, Value::from(Vec::new()))], Vec::new());
    }
    let mut ports: Vec<(u32, Vec<Value>, Vec<u32>)> = Vec::new();
    for (element, emitted) in results.into_iter().enumerate() {
        for (port, value) in emitted {
            let at = ports
                .iter()
                .position(|(at, _, _)| *at == port)
                .unwrap_or_else(|| {
                    ports.push((port, Vec::new(), Vec::new()));
                    ports.len() - 1
                });
            if let Some((_, values, origins)) = ports.get_mut(at) {
                match value {
                    Value::Array(items) if spreads => values.extend(items.into_vec()),
                    value => values.push(value),
                }
                origins.resize(values.len(), element as u32);
            }
        }
    }
    ports
        .into_iter()
        .map(|(port, values, origins)| ((port, Value::from(values)), (port, vec![origins])))
        .unzip()
}
