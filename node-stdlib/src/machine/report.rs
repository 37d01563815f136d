//! What people and the host are told: the run's end, messages, the trace, names of iterations.

use super::frames::{Place, Progress, ROOT, Turn};
use super::outside::{Status, TraceKind};
use super::run::{Outside, Run, State};
use crate::failure::Failure;
use heddle_contract::abi::code;
use heddle_contract::plan::NONE;
use heddle_values::{Object, Value};
use std::fmt::Write;

/// Bytes of a failed node's input that are reported, roughly.
const INPUT_BYTES_MAX: usize = 16 << 10;

impl<O: Outside> Run<'_, O> {
    /// Nothing is left to do: completed, or paused at a breakpoint.
    pub(super) fn finish(&self) {
        let (status, json) = {
            let mut state = self.state.borrow_mut();
            state.finished = true;
            if let Some((node, input)) = state.paused.take() {
                (Status::Paused, state.pause_report(node, input))
            } else if state.frames.get(ROOT).is_none_or(|frame| frame.unsettled > 0) {
                (Status::Failed, stuck())
            } else {
                (Status::Completed, state.output.take().unwrap_or(Value::Null))
            }
        };
        self.outside.finish(status, &json.to_json());
    }

    /// Ends the run as failed; the first failure counts. `node` may be [`NONE`].
    pub(super) fn fail(&self, node: u32, failure: &Failure) {
        if std::mem::replace(&mut self.state.borrow_mut().finished, true) {
            return;
        }
        let error = match node {
            NONE => failure_value(failure, Value::Null),
            node => error_value(failure, self.plan.node(node).id()),
        };
        self.outside.finish(Status::Failed, &error.to_json());
        self.report_input(node);
    }

    /// Tells what the node had been given for which the run has failed. By now the run has ended as it has, whatever this
    /// takes of its fuel.
    fn report_input(&self, node: u32) {
        let failed = self.state.borrow_mut().failed.take();
        let Some(failed) = failed.filter(|failed| failed.node == node) else {
            return;
        };
        let mut left = INPUT_BYTES_MAX;
        let input = beginning(failed.input, &mut left);
        let fields = [
            ("path", Value::from(failed.path)),
            ("input", input.unwrap_or(Value::Null)),
            ("truncated", Value::Bool(left == 0)),
        ];
        let report = Value::Object(Object::from_iter(fields));
        self.outside.finish(Status::FailedInput, &report.to_json());
    }

    /// A failed expression's message with the expression, its parameter and the values that it began with.
    pub(super) fn explain(&self, message: &str) -> String {
        let site = self.outside.site();
        if site == NONE {
            return message.to_owned();
        }
        let state = self.state.borrow();
        let current = &state.current;
        let (_, parameter, source) = self.plan.site(site);
        let mut text = format!("{message} in `{source}` (parameter `{parameter}`");
        let mut describe = |name: &str, value: &Value| {
            let _ = write!(text, "; `{name}` is {}", value.shape());
        };
        for name in ["$input", "$json"] {
            if mentions(source, name) {
                describe(name, &current.job.input);
            }
        }
        if let Some((item, _)) = &current.item
            && mentions(source, "$item")
        {
            describe("$item", item);
        }
        text.push(')');
        text
    }

    /// Begins a trace entry; its token is 0 without a trace.
    pub(super) fn trace_begin(&self, place: Place, element: Option<u32>) -> i32 {
        if !self.plan.trace() {
            return 0;
        }
        let path = self.state.borrow().path(place.frame, element);
        self.outside.trace_begin(place.node, &path)
    }

    pub(super) fn trace_pause(&self, token: i32) {
        if self.plan.trace() {
            self.outside.trace_pause(token);
        }
    }

    pub(super) fn trace_resume(&self, token: i32) {
        if self.plan.trace() {
            self.outside.trace_resume(token);
        }
    }

    /// Ends a trace entry with the value of the first live port.
    pub(super) fn trace_values(&self, token: i32, kind: TraceKind, emitted: &[(u32, Value)]) {
        if !self.plan.trace() {
            return;
        }
        match emitted.iter().min_by_key(|(port, _)| *port) {
            Some((port, value)) => {
                let port = i32::try_from(*port).unwrap_or(-1);
                self.outside.trace_end(token, kind, port, &value.to_json());
            }
            None => self.outside.trace_end(token, kind, -1, "null"),
        }
    }

    pub(super) fn trace_error(&self, token: i32, error: &Value) {
        if self.plan.trace() {
            self.outside
                .trace_end(token, TraceKind::Error, -1, &error.to_json());
        }
    }
}

impl State<'_> {
    /// Where an execution stands within loops and composites: `orders[3].lines[0]`, `pay~2` for what a composite does
    /// in its second attempt, and `#2` for an element of an `each` node.
    pub(super) fn path(&self, frame: u32, element: Option<u32>) -> String {
        self.written_path(frame, element, true)
    }

    /// The same without attempts of composites: what is done again has the keys that it had.
    pub(super) fn path_in_any_attempt(&self, frame: u32, element: Option<u32>) -> String {
        self.written_path(frame, element, false)
    }

    fn written_path(&self, frame: u32, element: Option<u32>, with_attempts: bool) -> String {
        let mut turns: Vec<(u32, Turn)> = self
            .frames
            .chain(frame)
            .take_while(|frame| frame.loop_node != NONE)
            .map(|frame| (frame.loop_node, frame.turn))
            .filter(|(_, turn)| turn.has_item || with_attempts && turn.attempt > 1)
            .collect();
        turns.reverse();
        let mut path = String::new();
        for (node, turn) in turns {
            let dot = if path.is_empty() { "" } else { "." };
            let _ = write!(path, "{dot}{}", self.plan.node(node).id());
            if turn.has_item {
                let _ = write!(path, "[{}]", turn.index);
            }
            if with_attempts && turn.attempt > 1 {
                let _ = write!(path, "~{}", turn.attempt);
            }
        }
        if let Some(element) = element {
            let _ = write!(path, "#{element}");
        }
        path
    }

    fn pause_report(&self, node: u32, input: Value) -> Value {
        let breakpoint = Object::from_iter([("nodeId", self.plan.node(node).id().into()), ("input", input)]);
        let pinned = Value::Object(self.pins());
        Value::Object(Object::from_iter([
            ("breakpoint", Value::Object(breakpoint)),
            ("pinnedNodes", pinned),
        ]))
    }

    /// Outputs of the graph's own nodes as pins. A node that emitted nothing or by several ports, which a pin
    /// cannot say, executes again.
    fn pins(&self) -> Object {
        let mut pins = Object::new();
        let Some(root) = self.frames.get(ROOT) else {
            return pins;
        };
        for (state, node) in root.nodes.iter().zip(self.plan.scope(root.scope).nodes().iter()) {
            let [(port, value)] = state.emitted.as_slice() else {
                continue;
            };
            if state.progress != Progress::Done {
                continue;
            }
            let pin = match (port, value) {
                (0, value) if !looks_like_pin(value) => value.clone(),
                (port, value) => {
                    let fields = [
                        ("$pin", Value::Bool(true)),
                        ("port", Value::Number(f64::from(*port))),
                        ("value", value.clone()),
                    ];
                    Value::Object(Object::from_iter(fields))
                }
            };
            pins.insert(self.plan.node(node).id(), pin);
        }
        pins
    }
}

fn looks_like_pin(value: &Value) -> bool {
    matches!(value, Value::Object(object) if object.get("$pin").is_some())
}

/// As much of a value as `left` bytes have room for: texts are cut, and what comes after the room is used up is left out.
/// `None`: there is none; `left` is 0 once anything was.
fn beginning(value: Value, left: &mut usize) -> Option<Value> {
    /// What a value takes besides the characters of its texts.
    const LEAST: usize = 4;
    take(left, LEAST)?;
    Some(match value {
        Value::String(text) => {
            let room = (*left).min(text.len());
            let cut = text.slice(0, room);
            let is_whole = cut.len() == text.len();
            *left = if is_whole { (*left - room).max(1) } else { 0 };
            Value::String(cut)
        }
        Value::Array(elements) => {
            let kept = elements
                .iter()
                .map_while(|element| beginning(element.clone(), left));
            Value::Array(kept.collect::<Vec<_>>().into())
        }
        Value::Object(properties) => {
            let mut kept = Object::new();
            for (name, value) in properties.iter() {
                let Some(value) = take(left, name.len()).and_then(|()| beginning(value.clone(), left)) else {
                    break;
                };
                kept.insert(name.clone(), value);
            }
            Value::Object(kept)
        }
        other => other,
    })
}

/// Takes so many bytes of what is left, or all of it.
fn take(left: &mut usize, bytes: usize) -> Option<()> {
    let rest = left.checked_sub(bytes).filter(|rest| *rest > 0);
    *left = rest.unwrap_or(0);
    rest.map(drop)
}

/// `{message, code, nodeId}`: what `$error`, an error port and a failed run show.
pub(super) fn error_value(failure: &Failure, node_id: &str) -> Value {
    failure_value(failure, node_id.into())
}

fn failure_value(failure: &Failure, node_id: Value) -> Value {
    let fields = [
        ("message", Value::from(failure.message.as_str())),
        ("code", Value::from(&*failure.code)),
        ("nodeId", node_id),
    ];
    Value::Object(Object::from_iter(fields))
}

/// A plan that no compiler of this version makes.
pub(super) fn broken_plan(what: &str) -> Failure {
    let message = format!(
        "The module's plan does not fit together: {what}. It was not made by this heddle; compile the pattern again."
    );
    Failure::new(code::TRAP, message)
}

fn stuck() -> Value {
    failure_value(&broken_plan("some of its nodes can never run"), Value::Null)
}

/// Whether an expression names `name`, and not a longer name that begins with it.
fn mentions(source: &str, name: &str) -> bool {
    source.match_indices(name).any(|(at, _)| {
        let rest = source.get(at + name.len()..).unwrap_or("");
        !rest.starts_with(|next: char| next.is_alphanumeric() || next == '_' || next == '$')
    })
}
