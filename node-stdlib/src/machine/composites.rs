//! Composites that are executed as a whole: their bodies execute once, or once for every element of an array, and
//! again after a failure inside. A failure stops everything in its execution; nothing of it is left then.

use super::execute::{error_output, sleep};
use super::frames::{Frame, Place, Turn};
use super::job::{Emitted, Execution, Job, Then, Waiting};
use super::loop_run::{Composite, Kind, LoopRun};
use super::outside::TraceKind;
use super::report::{broken_plan, error_value};
use super::run::{Outside, Run, State};
use super::spread::as_items;
use crate::failure::{Again, Failure};
use heddle_values::Value;

impl<O: Outside> Run<'_, O> {
    pub(super) fn start_composite(&self, place: Place, input: Value) {
        let node = self.plan.node(place.node);
        if node.body().is_none() {
            return self.fail(place.node, &broken_plan("a composite has no body"));
        }
        let (items, each) = match &input {
            Value::Array(elements) if node.each() => (elements.to_vec(), true),
            _ => (vec![input.clone()], false),
        };
        let composite = Composite {
            results: vec![Vec::new(); items.len()],
            items,
            each,
            in_flight: 0,
        };
        let job = Job {
            place,
            input,
            token: self.trace_begin(place, None),
            ..Job::default()
        };
        self.start_loop(job, Kind::Composite(composite));
    }

    /// All elements have ended.
    pub(super) fn end_composite(&self, job: Job, composite: Composite) {
        let Composite {
            each, mut results, ..
        } = composite;
        match each {
            true => self.emit_elements(job, results.len(), numbered(results)),
            false => self.emitted(job, results.pop().unwrap_or_default()),
        }
    }

    /// A node has failed for good and does not catch it. The innermost execution of a composite around it stops;
    /// then the composite is executed again, or emits the error, or fails as well.
    pub(super) fn fail_around(&self, failed: Place, failure: &Failure) {
        let mut frame = failed.frame;
        loop {
            let Some(execution) = self.state.borrow().execution_around(frame) else {
                return self.fail(failed.node, failure);
            };
            let stopped = self.state.borrow_mut().stop(execution.frame);
            for token in stopped {
                self.trace_values(token, TraceKind::Output, &[]);
            }
            let attempts = self.plan.node(execution.place.node).max_attempts();
            if execution.turn.attempt < attempts && failure.again != Again::Never {
                return self.execute_again(execution, failure);
            }
            frame = execution.place.frame;
            if self.catch(execution, failed.node, failure) {
                return;
            }
        }
    }

    fn execute_again(&self, execution: Execution, failure: &Failure) {
        let Execution {
            place, turn, item, ..
        } = &execution;
        let wait_ms = self.announce_attempt(place.node, turn.attempt, failure);
        if wait_ms == 0 {
            return self.state.borrow_mut().begin_attempt(execution);
        }
        let element = turn.has_item.then_some(turn.index);
        let id = self.begin_effect_of(*place, element, (turn.attempt, 0), "sleep", &sleep(wait_ms));
        let job = Job {
            place: *place,
            input: item.clone(),
            ..Job::default()
        };
        let waiting = Waiting {
            job,
            then: Then::Execute(execution),
        };
        self.state.borrow_mut().waiting.push((id, waiting));
    }

    /// The wait before an attempt is over, or has failed.
    pub(super) fn execute_after_wait(&self, execution: Execution, waited: Result<Value, Failure>) {
        let place = execution.place;
        match waited {
            Ok(_) => self.state.borrow_mut().begin_attempt(execution),
            Err(failure) => {
                if !self.catch(execution, place.node, &failure) {
                    self.fail_around(place, &failure);
                }
            }
        }
    }

    /// The last attempt has failed, by a node inside: whether the composite emits the error. If not, it has ended.
    fn catch(&self, execution: Execution, failed: u32, failure: &Failure) -> bool {
        let Execution {
            loop_run,
            place,
            turn,
            ..
        } = execution;
        let node = self.plan.node(place.node);
        let error = error_value(failure, self.plan.node(failed).id());
        let port = error_output(node);
        if let (Some(port), true) = (port, turn.has_item) {
            {
                let mut state = self.state.borrow_mut();
                let emitted = state.error_emitted(place.frame, port, error);
                state.element_ended(loop_run, turn.index as usize, emitted);
            }
            self.continue_loop(loop_run);
            return true;
        }
        let ended = self.state.borrow_mut().loops.remove(loop_run);
        if let Some(LoopRun { job, .. }) = ended {
            self.trace_resume(job.token);
            self.trace_error(job.token, &error);
            if let Some(port) = port {
                let mut state = self.state.borrow_mut();
                let mut emitted = state.error_emitted(place.frame, port, error);
                as_items(node, &mut emitted);
                state.deliver(&job, emitted);
            }
        }
        port.is_some()
    }
}

impl State<'_> {
    /// Begins the elements that may begin.
    pub(super) fn begin_elements(&mut self, index: u32) {
        while let Some(looped) = self.loops.get_mut(index)
            && let Kind::Composite(composite) = &mut looped.kind
            && composite.in_flight < self.plan.node(looped.job.place.node).concurrency()
            && let Some(item) = composite.items.get(looped.next as usize)
        {
            let (place, item) = (looped.job.place, item.clone());
            let turn = Turn {
                has_item: composite.each,
                ..Turn::of_item(looped.next)
            };
            composite.in_flight += 1;
            looped.next += 1;
            self.begin_turn(index, place, turn, item);
        }
    }

    /// What came back, by the output port of the composite by which it leaves.
    pub(super) fn returned_by_port(&self, frame: &Frame) -> Vec<(u32, Value)> {
        self.live_returns(frame)
            .map(|(edge, value)| (self.plan.edge(edge).source_port, value))
            .collect()
    }

    /// An element's execution has emitted this.
    pub(super) fn element_ended(&mut self, loop_run: u32, number: usize, emitted: Vec<(u32, Value)>) {
        if let Some(LoopRun {
            kind: Kind::Composite(composite),
            ..
        }) = self.loops.get_mut(loop_run)
        {
            composite.in_flight = composite.in_flight.saturating_sub(1);
            if let Some(slot) = composite.results.get_mut(number) {
                *slot = emitted;
            }
        }
    }

    fn begin_attempt(&mut self, execution: Execution) {
        let turn = Turn {
            attempt: execution.turn.attempt.saturating_add(1),
            ..execution.turn
        };
        self.begin_turn(execution.loop_run, execution.place, turn, execution.item);
    }

    /// The innermost execution of a composite that a frame is in.
    fn execution_around(&self, frame: u32) -> Option<Execution> {
        self.frames.indexes(frame).find_map(|index| {
            let frame = self.frames.get(index)?;
            let looped = self.loops.get(frame.loop_run)?;
            let Kind::Composite(_) = looped.kind else {
                return None;
            };
            Some(Execution {
                frame: index,
                loop_run: frame.loop_run,
                place: looped.job.place,
                turn: frame.turn,
                item: frame.item.clone(),
            })
        })
    }

    /// Stops all that happens in a frame and within it, and closes it; gives the trace entries that have not ended.
    fn stop(&mut self, frame: u32) -> Vec<i32> {
        let closed = self.frames.within(frame);
        let is_in = |frame: u32| closed.binary_search(&frame).is_ok();
        let is_gone = |place: Place| is_in(place.frame);
        self.ready.retain(|place| !is_gone(*place));
        self.ended.retain(|frame| !is_in(*frame));
        let mut tokens = self.scripts.forget(is_gone);
        for (effect, Waiting { job, then }) in self
            .waiting
            .extract_if(.., |(_, waiting)| is_gone(waiting.job.place))
        {
            self.abandoned.push(effect);
            // That of a composite is among the loops'.
            if !matches!(then, Then::Execute(_)) {
                tokens.push(job.token);
            }
        }
        let groups = self.groups.remove_all(|group| is_gone(group.place));
        tokens.extend(groups.into_iter().map(|group| group.token));
        let loops = self.loops.remove_all(|looped| is_gone(looped.job.place));
        tokens.extend(loops.into_iter().map(|looped| looped.job.token));
        for frame in closed {
            self.frames.close(frame);
        }
        tokens
    }

    /// Whether an effect that has ended is one that nobody waits for any more.
    pub(super) fn pass_over(&mut self, effect: u32) -> bool {
        let at = self.abandoned.iter().position(|abandoned| *abandoned == effect);
        at.map(|at| self.abandoned.swap_remove(at)).is_some()
    }
}

/// What elements have emitted, in a row.
fn numbered(results: Vec<Vec<(u32, Value)>>) -> Vec<Emitted> {
    let of_element = |(emitted, element): (Vec<(u32, Value)>, u32)| {
        emitted
            .into_iter()
            .map(move |(port, value)| Emitted { element, port, value })
    };
    results.into_iter().zip(0..).flat_map(of_element).collect()
}
