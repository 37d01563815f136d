//! A node executes: its attempts, its outcome, the effects that it waits for.

use super::frames::Place;
use super::job::{FailedJob, Job, Then, Waiting};
use super::names::Caller;
use super::outside::TraceKind;
use super::report::{broken_plan, error_value};
use super::run::{Outside, Run, State};
use super::spread::as_items;
use crate::failure::{Again, Failure, unreadable};
use crate::leaving::{all_leaving, leaving};
use crate::node::{Emission, Level, NodeResult, Outcome, Request, Resume, Run as RunNode, Step};
use heddle_contract::abi::code;
use heddle_contract::plan::{NONE, NodeKind, NodeView, OnError};
use heddle_values::{JSON_DEPTH_MAX, Object, Value, parse_json};

/// Output port of a loop that fires when it has ended.
pub(super) const DONE: u32 = 1;

impl<O: Outside> Run<'_, O> {
    /// Executes a standard node on its parameters; called by compiled code. Does nothing if evaluating the
    /// parameters failed.
    pub fn execute_node(&self, parameters: Object, node: RunNode, resume: Option<Resume>) {
        if self.state.borrow().current.failure.is_some() {
            return;
        }
        let parameters = parameters.with_times_as_text();
        let result = node(&parameters, &mut Caller(self));
        let mut state = self.state.borrow_mut();
        if matches!(result, Ok(Outcome::Effect { .. } | Outcome::Wait { .. })) {
            state.current.resume = Some((parameters, resume));
        }
        state.current.result = Some(result);
    }

    /// A value leaves the executing definition by an output port; called by compiled code.
    pub fn emit(&self, port: u32, value: Value) {
        self.state.borrow_mut().current.emitted.push((port, value));
    }

    pub(super) fn start_node(&self, place: Place) {
        let node = self.plan.node(place.node);
        self.outside.set_current_node(place.node);
        if let Some((port, json)) = node.pin() {
            return self.emit_pinned(place, port, json);
        }
        let input = match node.kind() {
            NodeKind::Trigger => self.event.clone(),
            _ => self.state.borrow().input_of(place),
        };
        if node.breakpoint() {
            self.state.borrow_mut().paused = Some((place.node, input.into_json()));
            return;
        }
        match (node.kind(), &input) {
            (NodeKind::Plain, Value::Array(elements)) if node.each() => {
                self.start_group(place, elements.clone())
            }
            (NodeKind::Composite, _) => self.start_composite(place, input),
            _ => {
                let job = Job {
                    place,
                    input,
                    token: self.trace_begin(place, None),
                    ..Job::default()
                };
                self.execute(job);
            }
        }
        self.advance_loops();
    }

    fn emit_pinned(&self, place: Place, port: u32, json: &str) {
        let token = self.trace_begin(place, None);
        match parse_json(json.as_bytes(), JSON_DEPTH_MAX) {
            Ok(value) => {
                let first = first_output(self.plan.node(place.node));
                let mut emitted = vec![(if port == 0 { first } else { port }, value)];
                as_items(self.plan.node(place.node), &mut emitted);
                self.trace_values(token, TraceKind::Pinned, &emitted);
                self.state.borrow_mut().complete(place, emitted);
                self.advance_loops();
            }
            Err(error) => {
                let what = format!("a pinned value is not valid JSON: {}", error.message);
                self.fail(place.node, &broken_plan(&what));
            }
        }
    }

    /// Executes a job, with the attempts that need no waiting.
    pub(super) fn execute(&self, mut job: Job) {
        loop {
            let node = self.plan.node(job.place.node);
            let result = match (node.kind(), node.function()) {
                (NodeKind::Trigger | NodeKind::Pass, _) => emit_one(first_output(node), job.input.clone()),
                (_, None) => emit_none(),
                (_, Some(function)) => {
                    self.begin(job);
                    self.outside.call_body(self, function);
                    let mut state = self.state.borrow_mut();
                    if state.deliver_at_once() {
                        return;
                    }
                    let result = state.current.take_result();
                    job = state.current.end();
                    result
                }
            };
            match self.settle_result(job, result) {
                Some(again) => job = again,
                None => return,
            }
        }
    }

    /// Compiled code is about to be called for `job`; no expression is being evaluated yet.
    pub(super) fn begin(&self, job: Job) {
        self.outside.set_site(NONE);
        self.state.borrow_mut().current.begin(job);
    }

    /// Carries an outcome on; gives the job back if it is to be executed again at once.
    pub(super) fn settle_result(&self, job: Job, result: NodeResult) -> Option<Job> {
        let node = self.plan.node(job.place.node);
        match result.and_then(as_json) {
            Ok(Outcome::Emit(emission)) => self.emitted(job, emission.0),
            Ok(Outcome::Return(value)) => {
                self.set_output(job.place.node, value);
                self.emitted(job, Vec::new());
            }
            Ok(Outcome::Effect { kind, request }) => self.start_effect(job, kind, request),
            Ok(Outcome::Step { kind, request, step }) => self.start_step(job, kind, &request, step),
            Ok(Outcome::Wait {
                call,
                requests,
                resume,
            }) => self.pause_script(job, call, requests, resume),
            Ok(Outcome::Iterate { items, concurrency }) if node.body().is_some() => {
                self.start_for_each(job, items, concurrency);
            }
            Ok(Outcome::Repeat {
                condition,
                iterations_max,
            }) if node.body().is_some() => {
                self.start_repeat(job, condition, iterations_max);
            }
            Ok(Outcome::Iterate { .. } | Outcome::Repeat { .. }) => {
                self.fail(job.place.node, &broken_plan("a loop has no body"));
            }
            Err(failure) if job.attempt < node.max_attempts() && failure.again != Again::Never => {
                return self.retry(job, failure);
            }
            Err(failure) => self.give_up(job, failure),
        }
        None
    }

    fn retry(&self, mut job: Job, failure: Failure) -> Option<Job> {
        match self.announce_attempt(job.place.node, job.attempt, &failure) {
            0 => {
                job.next_attempt();
                Some(job)
            }
            wait_ms => {
                let id = self.begin_effect(&mut job, "sleep", &sleep(wait_ms));
                self.wait_for(id, job, Then::Retry);
                None
            }
        }
    }

    /// Logs that an attempt has failed and another follows; gives the milliseconds until then.
    pub(super) fn announce_attempt(&self, node: u32, attempt: u32, failure: &Failure) -> u64 {
        let view = self.plan.node(node);
        let wait_ms = match failure.again {
            Again::After(least_ms) => wait_ms(view, attempt).max(u64::from(least_ms)),
            _ => wait_ms(view, attempt),
        };
        let message = format!(
            "Attempt {attempt} of {} failed ({}: {}); next in {wait_ms} ms",
            view.max_attempts(),
            failure.code,
            failure.message
        );
        self.outside.log(Level::Warn, node, &message);
        wait_ms
    }

    /// The last attempt has failed.
    pub(super) fn give_up(&self, job: Job, failure: Failure) {
        let node = self.plan.node(job.place.node);
        let error = error_value(&failure, node.id());
        self.trace_error(job.token, &error);
        let Some(port) = error_output(node) else {
            self.state.borrow_mut().note_failed(&job);
            return self.fail_around(job.place, &failure);
        };
        let mut state = self.state.borrow_mut();
        let mut emitted = state.error_emitted(job.place.frame, port, error);
        if job.element.is_none() {
            as_items(node, &mut emitted);
        }
        state.deliver(&job, emitted);
    }

    pub(super) fn emitted(&self, mut job: Job, mut emitted: Vec<(u32, Value)>) {
        let node = self.plan.node(job.place.node);
        if job.element.is_none() {
            as_items(node, &mut emitted);
        }
        let may_fill = node.always() && job.element.is_none() && !none_came(node, &job.input);
        if may_fill && fill(node, &mut emitted, node.items()) {
            job.origins.retain(|(port, _)| *port != first_output(node));
        }
        self.trace_values(job.token, TraceKind::Output, &emitted);
        let mut state = self.state.borrow_mut();
        if job.element.is_none() && !job.origins.is_empty() {
            state.set_lineage(job.place, std::mem::take(&mut job.origins));
        }
        state.deliver(&job, emitted);
    }

    fn start_effect(&self, mut job: Job, kind: &str, request: Value) {
        let timeout_ms = self.plan.node(job.place.node).timeout_ms();
        let request = limit_time(request, timeout_ms).to_json();
        let id = self.begin_effect(&mut job, kind, &request);
        let (parameters, resume) = self.state.borrow_mut().current.resume.take().unwrap_or_default();
        self.wait_for(id, job, Then::Resume(parameters, resume));
    }

    fn start_step(&self, mut job: Job, kind: &str, request: &Value, step: Step) {
        let id = self.begin_effect(&mut job, kind, &request.to_json());
        self.wait_for(id, job, Then::Step(step));
    }

    /// Starts an effect of a job, under the key of its place.
    pub(super) fn begin_effect(&self, job: &mut Job, kind: &str, request: &str) -> u32 {
        let element = job.element.map(|(_, element)| element);
        let number = (job.attempt, job.effects);
        job.effects += 1;
        self.begin_effect_of(job.place, element, number, kind, request)
    }

    /// Starts an effect of a node, on an element or not, with the numbers of the attempt and within it.
    pub(super) fn begin_effect_of(
        &self,
        place: Place,
        element: Option<u32>,
        (attempt, number): (u32, u32),
        kind: &str,
        request: &str,
    ) -> u32 {
        let path = self.state.borrow().path(place.frame, element);
        let node_id = self.plan.node(place.node).id();
        let key = format!("{node_id}/{path}/{attempt}.{number}");
        self.outside.effect_start(place.node, kind, &key, request)
    }

    fn wait_for(&self, effect: u32, job: Job, then: Then) {
        self.trace_pause(job.token);
        self.state
            .borrow_mut()
            .waiting
            .push((effect, Waiting { job, then }));
    }

    /// Waits for one effect and lets its node go on.
    pub(super) fn wait_for_effect(&self) {
        self.outside.set_current_node(NONE);
        let (effect, text) = self.outside.effect_wait();
        let waiting = {
            let mut state = self.state.borrow_mut();
            let at = state.waiting.iter().position(|(id, _)| *id == effect);
            at.map(|at| state.waiting.swap_remove(at).1)
        };
        let Some(Waiting { mut job, then }) = waiting else {
            if self.resume_script(effect, effect_result(&text)) || self.state.borrow_mut().pass_over(effect) {
                return;
            }
            let message = format!("The host reports the end of effect {effect}, which nothing waits for.");
            return self.fail(NONE, &Failure::new(code::INTERNAL, message));
        };
        self.outside.set_current_node(job.place.node);
        if !matches!(then, Then::Execute(_)) {
            self.trace_resume(job.token);
        }
        let group = job.element.map(|(group, _)| group);
        match (then, effect_result(&text)) {
            (Then::Execute(execution), result) => self.execute_after_wait(execution, result),
            (Then::Retry, Ok(_)) => {
                job.next_attempt();
                self.execute(job);
            }
            (Then::Retry, Err(failure)) => self.give_up(job, failure),
            (Then::Resume(parameters, resume), result) => self.resume(job, parameters, resume, result),
            (Then::Step(step), result) => self.resume_step(job, step, result),
        }
        if let Some(group) = group {
            self.continue_group(group);
        }
        self.advance_loops();
    }

    fn resume(&self, job: Job, parameters: Object, resume: Option<Resume>, result: Result<Value, Failure>) {
        self.begin(job);
        let result = match (result, resume) {
            (Ok(value), Some(resume)) => resume(&parameters, value, &mut Caller(self)),
            (Ok(value), None) => emit_one(0, value),
            (Err(failure), _) => Err(failure),
        };
        let job = {
            let mut state = self.state.borrow_mut();
            if matches!(result, Ok(Outcome::Effect { .. })) {
                state.current.resume = Some((parameters, resume));
            }
            state.current.end()
        };
        if let Some(again) = self.settle_result(job, result) {
            self.execute(again);
        }
    }

    fn resume_step(&self, job: Job, step: Step, result: Result<Value, Failure>) {
        self.begin(job);
        let result = result.and_then(|value| step.0.resume(value, &mut Caller(self)));
        let job = self.state.borrow_mut().current.end();
        if let Some(again) = self.settle_result(job, result) {
            self.execute(again);
        }
    }

    fn set_output(&self, node: u32, value: Value) {
        let first = {
            let mut state = self.state.borrow_mut();
            let first = state.output.is_none();
            if first {
                state.output = Some(value);
            }
            first
        };
        if !first {
            let message = "The run already has an output; this Return is ignored.";
            self.outside.log(Level::Warn, node, message);
        }
    }
}

impl State<'_> {
    /// An error is emitted in a frame: what leaves by the port.
    pub(super) fn error_emitted(&mut self, frame: u32, port: u32, error: Value) -> Vec<(u32, Value)> {
        self.errors += 1;
        let number = self.errors;
        if let Some(frame) = self.frames.get_mut(frame) {
            frame.error = Some((number, error.clone()));
        }
        let wrapped = Object::from_iter([("error", error)]);
        vec![(port, Value::Object(wrapped))]
    }

    /// Keeps what is told of a job if the run fails for it.
    fn note_failed(&mut self, job: &Job) {
        self.failed = Some(FailedJob {
            node: job.place.node,
            path: self.path(job.place.frame, job.element.map(|(_, element)| element)),
            input: job.input.clone(),
        });
    }

    /// The values of a job leave the node, or join those of its group.
    pub(super) fn deliver(&mut self, job: &Job, emitted: Vec<(u32, Value)>) {
        match job.element {
            None => self.complete(job.place, emitted),
            Some((group, element)) => self.deliver_element(group, element, emitted),
        }
    }
}

impl State<'_> {
    /// Delivers what the execution of a node on an element has given, if that is values that leave as they are, as nearly
    /// always: whether it is done.
    pub(super) fn deliver_at_once(&mut self) -> bool {
        let current = &mut self.current;
        let (Some((group, element)), None, false) =
            (current.job.element, &current.failure, self.plan.trace())
        else {
            return false;
        };
        let emitted = match &mut current.result {
            Some(Ok(Outcome::Emit(Emission(emitted)))) => emitted,
            None => &mut current.emitted,
            Some(_) => return false,
        };
        let leaves = |(_, value): &(u32, Value)| value.is_json() && value.depth() <= JSON_DEPTH_MAX;
        if !emitted.iter().all(leaves) {
            return false;
        }
        current.job.input = Value::Undefined;
        let mut emitted = std::mem::take(emitted);
        self.deliver_element_of(group, element, &mut emitted);
        match self.current.result {
            Some(_) => self.current.result = None,
            // The buffer is used again.
            None => self.current.emitted = emitted,
        }
        true
    }
}

/// Port by which a value leaves that has no port of its own: a loop's first port would start its body.
pub(super) fn first_output(node: NodeView<'_>) -> u32 {
    match node.body() {
        Some(_) if node.kind() != NodeKind::Composite => DONE,
        _ => 0,
    }
}

/// `always`: one empty item leaves by the first port rather than none; whether one was put there.
pub(super) fn fill(node: NodeView<'_>, emitted: &mut Vec<(u32, Value)>, is_list: bool) -> bool {
    let port = first_output(node);
    let item = Value::Object(Object::new());
    match emitted.iter_mut().find(|(at, _)| *at == port) {
        Some((_, value)) if is_empty_list(value) => *value = vec![item].into(),
        Some(_) => return false,
        None if is_list => emitted.insert(0, (port, vec![item].into())),
        None => emitted.insert(0, (port, item)),
    }
    true
}

/// Whether a node has got lists, and no item in them.
pub(super) fn none_came(node: NodeView<'_>, input: &Value) -> bool {
    match input {
        Value::Array(lists) if node.collect() => lists.iter().all(is_empty_list),
        other => is_empty_list(other),
    }
}

fn is_empty_list(value: &Value) -> bool {
    matches!(value, Value::Array(items) if items.is_empty())
}

/// Port by which an error leaves, if it does.
pub(super) fn error_output(node: NodeView<'_>) -> Option<u32> {
    match node.on_error() {
        OnError::Fail => None,
        OnError::Continue => Some(first_output(node)),
        OnError::Branch => node.error_port(),
    }
}

/// The request of a wait.
pub(super) fn sleep(wait_ms: u64) -> String {
    format!("{{\"ms\":{wait_ms}}}")
}

/// An outcome with its values as edges and the host take them.
fn as_json(outcome: Outcome) -> NodeResult {
    Ok(match outcome {
        Outcome::Emit(emission) => Outcome::Emit(Emission(all_leaving(emission.0)?)),
        Outcome::Return(value) => Outcome::Return(leaving(value)?),
        Outcome::Effect { kind, request } => Outcome::Effect {
            kind,
            request: leaving(request)?,
        },
        Outcome::Iterate { items, concurrency } => Outcome::Iterate {
            items: items.into_iter().map(leaving).collect::<Result<_, _>>()?,
            concurrency,
        },
        Outcome::Wait {
            call,
            requests,
            resume,
        } => Outcome::Wait {
            call,
            requests: requests
                .into_iter()
                .map(|request| {
                    Ok(Request {
                        request: leaving(request.request)?,
                        ..request
                    })
                })
                .collect::<Result<_, _>>()?,
            resume,
        },
        other @ (Outcome::Repeat { .. } | Outcome::Step { .. }) => other,
    })
}

fn emit_one(port: u32, value: Value) -> NodeResult {
    Ok(Outcome::Emit(Emission::one(port, value)))
}

fn emit_none() -> NodeResult {
    Ok(Outcome::Emit(Emission::default()))
}

fn wait_ms(node: NodeView<'_>, attempt: u32) -> u64 {
    let factor = f64::from(node.backoff_factor_milli()) / 1000.0;
    let exponent = i32::try_from(attempt - 1).unwrap_or(i32::MAX);
    (f64::from(node.backoff_ms()) * factor.powi(exponent)) as u64
}

/// Puts a node's own `timeoutMs` into an effect's request, unless the request has a shorter one.
pub(super) fn limit_time(request: Value, timeout_ms: u32) -> Value {
    match request {
        Value::Object(mut request) if timeout_ms > 0 => {
            let limit = f64::from(timeout_ms);
            let asked = match request.get("timeoutMs") {
                Some(Value::Number(asked)) if *asked > 0.0 => *asked,
                _ => f64::INFINITY,
            };
            request.insert("timeoutMs", Value::Number(asked.min(limit)));
            Value::Object(request)
        }
        other => other,
    }
}

fn effect_result(text: &[u8]) -> Result<Value, Failure> {
    let value = parse_json(text, JSON_DEPTH_MAX).map_err(|error| {
        let message = format!(
            "The effect's result can't be read: {} at byte {}",
            error.message, error.offset
        );
        Failure::new(unreadable(&error, code::PARSE), message)
    })?;
    let Value::Object(mut result) = value else {
        return Err(Failure::new(
            code::INTERNAL,
            "The effect's result is not an object.",
        ));
    };
    let Some(error) = result.remove("error") else {
        return Ok(result.remove("ok").unwrap_or(Value::Null));
    };
    let field = |name: &str| match &error {
        Value::Object(error) => error
            .get(name)
            .map(|value| value.to_text().to_utf8().into_owned()),
        _ => None,
    };
    Err(Failure::with_code(
        field("code").unwrap_or_else(|| code::INTERNAL.to_owned()),
        field("message").unwrap_or_else(|| "The effect failed.".into()),
    ))
}
