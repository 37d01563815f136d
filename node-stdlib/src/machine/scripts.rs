//! Code that executes in the JavaScript engine: its steps, the nodes that wait for its requests, and expressions.

use super::engine_calls::{Answer, EngineCalls, Pause};
use super::execute::limit_time;
use super::job::Job;
use super::names::Caller;
use super::outside::EngineStep;
use super::run::{Outside, Run, State};
use crate::failure::Failure;
use crate::node::{Continue, Request, Script, Scripted};
use heddle_contract::abi::code;
use heddle_javascript::protocol::{INPUT_BYTES_MAX, SourceKind, Status};
use heddle_values::{Object, Text, Value, wire};

impl State<'_> {
    /// Whether something is still to come that a node waits for.
    pub(super) fn is_waiting(&self) -> bool {
        let EngineCalls { pauses, answers, .. } = &self.scripts;
        !self.waiting.is_empty() || answers.iter().any(|answer| pauses.contains_key(&answer.call))
    }
}

impl<O: Outside> Run<'_, O> {
    /// Executes a step of the engine.
    pub(super) fn javascript(&self, step: Script<'_>) -> Result<Scripted, Failure> {
        let (status, answer) = match step {
            Script::Call { source, argument } => {
                let function = self.loaded(SourceKind::Module, source, failure)?;
                let arguments = match message(&Value::Array([argument].into_iter().collect())) {
                    Ok(arguments) => arguments,
                    Err(failure) => return Ok(Scripted::TooLarge(failure)),
                };
                let step = EngineStep::Call {
                    function,
                    seed: self.random_bits(),
                    arguments: &arguments,
                };
                self.step(step)
            }
            Script::Evaluate { source, arguments } => {
                let value = self.script_value(source, &arguments)?;
                return Ok(Scripted::Value(value));
            }
            Script::Resume {
                call,
                request,
                result,
            } => {
                let answer = message(&match result {
                    Ok(value) => Value::Object(Object::from_iter([("ok", value)])),
                    Err(failure) => failure_value(failure),
                })?;
                let step = EngineStep::Resume {
                    call,
                    request,
                    answer: &answer,
                };
                self.step(step)
            }
        }?;
        match status {
            Status::Done => Ok(Scripted::Value(answer)),
            Status::Failed => Err(failure(&answer)),
            Status::Pending => {
                let call = number(field(&answer, "call"));
                let requests = field(&answer, "requests").cloned().unwrap_or_default();
                Ok(Scripted::Waits { call, requests })
            }
        }
    }

    /// What the function of an expression gives for these arguments, an array; called by compiled code. Does nothing
    /// after a failure.
    pub fn evaluate_script(&self, source: &Text, arguments: &Value) -> Value {
        if self.has_failed() {
            return Value::Undefined;
        }
        self.script_value(source, arguments).unwrap_or_else(|failure| {
            self.expression_failed(&failure.message);
            Value::Undefined
        })
    }

    fn script_value(&self, source: &Text, arguments: &Value) -> Result<Value, Failure> {
        let function = self.loaded(SourceKind::Expression, source, thrown)?;
        let arguments = message(arguments)?;
        let step = EngineStep::Call {
            function,
            seed: self.random_bits(),
            arguments: &arguments,
        };
        match self.step(step)? {
            (Status::Done, value) => Ok(value),
            (_, answer) => Err(thrown(&answer)),
        }
    }

    /// The number of a source's function; `refused` makes a failure of what the engine says.
    fn loaded(
        &self,
        kind: SourceKind,
        source: &Text,
        refused: impl FnOnce(&Value) -> Failure,
    ) -> Result<u32, Failure> {
        let key = (kind as i32, source.clone());
        let loaded = self.state.borrow().scripts.loaded.get(&key).copied();
        if let Some(function) = loaded {
            return Ok(function);
        }
        let utf8 = source.to_utf8();
        let source = utf8.as_bytes();
        let (status, answer) = self.step(EngineStep::Load { kind, source })?;
        if status != Status::Done {
            return Err(refused(&answer));
        }
        let function = number(Some(&answer));
        self.state.borrow_mut().scripts.loaded.insert(key, function);
        Ok(function)
    }

    fn step(&self, step: EngineStep<'_>) -> Result<(Status, Value), Failure> {
        let node = self.state.borrow().current.job.place.node;
        let now_ms = match self.context_field("startedAtMs") {
            Value::Number(now_ms) => now_ms as i64,
            _ => 0,
        };
        let (status, answer) = self.outside.engine(node, now_ms, step);
        let answer = wire::from_message(&answer).map_err(|error| {
            let message = format!("The JavaScript engine's answer can't be read: {error}.");
            Failure::new(code::INTERNAL, message)
        })?;
        Ok((status, answer))
    }

    /// A job's code waits for `requests`.
    pub(super) fn pause_script(&self, mut job: Job, call: u32, requests: Vec<Request>, resume: Continue) {
        self.trace_pause(job.token);
        let timeout_ms = self.plan.node(job.place.node).timeout_ms();
        for Request { id, kind, request } in requests {
            let request = match kind {
                "http" => limit_time(request, timeout_ms),
                _ => request,
            };
            let effect = self.begin_effect(&mut job, kind, &request.to_json());
            let answer = Answer {
                effect,
                call,
                request: id,
            };
            self.state.borrow_mut().scripts.answers.push(answer);
        }
        let mut state = self.state.borrow_mut();
        let (parameters, _) = state.current.resume.take().unwrap_or_default();
        let pause = Pause {
            job,
            parameters,
            resume,
        };
        state.scripts.pauses.insert(call, pause);
    }

    /// An effect has ended; whether code has asked for it.
    pub(super) fn resume_script(&self, effect: u32, result: Result<Value, Failure>) -> bool {
        let (answer, pause) = {
            let scripts = &mut self.state.borrow_mut().scripts;
            let Some(at) = scripts.answers.iter().position(|answer| answer.effect == effect) else {
                return false;
            };
            let answer = scripts.answers.swap_remove(at);
            let pause = scripts.pauses.remove(&answer.call);
            (answer, pause)
        };
        let Some(Pause {
            job,
            parameters,
            resume,
        }) = pause
        else {
            return true;
        };
        self.outside.set_current_node(job.place.node);
        self.trace_resume(job.token);
        let group = job.element.map(|(group, _)| group);
        self.begin(job);
        let result = resume(
            &parameters,
            answer.call,
            answer.request,
            result,
            &mut Caller(self),
        );
        let job = {
            let mut state = self.state.borrow_mut();
            state.current.resume = Some((parameters, None));
            state.current.end()
        };
        if let Some(again) = self.settle_result(job, result) {
            self.execute(again);
        }
        if let Some(group) = group {
            self.continue_group(group);
        }
        self.advance_loops();
        true
    }
}

/// A value as a message to the engine.
fn message(value: &Value) -> Result<Vec<u8>, Failure> {
    let message = wire::to_message(value);
    if message.len() <= INPUT_BYTES_MAX {
        return Ok(message);
    }
    let message = format!(
        "What the code is given has {} MiB; at most {} are possible. Hand it less at a time.",
        message.len() >> 20,
        INPUT_BYTES_MAX >> 20
    );
    Err(Failure::new(code::PARAMETER, message))
}

fn failure_value(failure: Failure) -> Value {
    let error = Object::from_iter([
        ("code", Value::from(failure.code.as_ref())),
        ("message", Value::from(failure.message)),
    ]);
    Value::Object(Object::from_iter([("error", Value::Object(error))]))
}

/// A failure as the engine tells it.
fn failure(answer: &Value) -> Failure {
    let text = |name| field(answer, name).map(|text| text.to_text().to_utf8().into_owned());
    let (name, mut message) = (
        text("name").unwrap_or_default(),
        text("message").unwrap_or_default(),
    );
    if !name.is_empty() && name != "Error" {
        message = format!("{name}: {message}");
    }
    let (line, column) = (number(field(answer, "line")), number(field(answer, "column")));
    if line > 0 {
        message = format!("{message} (line {line}, column {column} of the code)");
    }
    let own = text("code").filter(|code| !code.is_empty());
    Failure::with_code(own.unwrap_or_else(|| code::JAVASCRIPT.to_owned()), message)
}

/// What an expression has thrown: as compiled ones say it, by the message, with the name of an error of its own.
fn thrown(answer: &Value) -> Failure {
    let text = |name| field(answer, name).map(|text| text.to_text().to_utf8().into_owned());
    let (name, message) = (
        text("name").unwrap_or_default(),
        text("message").unwrap_or_default(),
    );
    let message = match BUILT_IN_ERRORS.contains(&name.as_str()) || name.is_empty() {
        true => in_compiled_words(message),
        false => format!("{name}: {message}"),
    };
    Failure::new(code::EXPRESSION, message)
}

/// Errors whose name says no more than their message.
const BUILT_IN_ERRORS: &[&str] = &[
    "Error",
    "EvalError",
    "InternalError",
    "RangeError",
    "ReferenceError",
    "SyntaxError",
    "TypeError",
    "URIError",
];

/// The engine's most frequent message as compiled code has it.
fn in_compiled_words(message: String) -> String {
    for (verb, participle) in [("read", "reading"), ("set", "setting")] {
        let parts = message
            .strip_prefix("cannot ")
            .and_then(|rest| rest.strip_prefix(verb))
            .and_then(|rest| rest.strip_prefix(" property '"))
            .and_then(|rest| rest.rsplit_once("' of "));
        if let Some((name, nullish)) = parts {
            return format!("Cannot {verb} properties of {nullish} ({participle} '{name}')");
        }
    }
    message
}

fn field<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    match value {
        Value::Object(object) => object.get(name),
        _ => None,
    }
}

fn number(value: Option<&Value>) -> u32 {
    match value {
        Some(Value::Number(number)) => *number as u32,
        _ => 0,
    }
}
