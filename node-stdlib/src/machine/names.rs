//! What expressions and nodes can ask of their run: `$input`, `$item`, `$nodes`, `$run`, functions, randomness.

use super::frames::Frame;
use super::job::Job;
use super::outside::Input;
use super::random::Generator;
use super::run::{Outside, Run, State};
use crate::failure::Failure;
use crate::node::{Context, Level, Origins, Script, Scripted};
use heddle_contract::abi::{code, secret_reference};
use heddle_contract::plan::NONE;
use heddle_values::{Array, JSON_DEPTH_MAX, Object, Value, parse_json};

/// How much is logged of an expression that failed: a pattern has many, and a log has an end.
const FORGIVEN_BYTES_MAX: usize = 500;

impl<O: Outside> Run<'_, O> {
    /// `$input`
    pub fn input(&self) -> Value {
        self.state.borrow().current.job.input.clone()
    }

    /// `$input.all()` where a node executes for each item: the list of which `$input` is one.
    pub fn input_list(&self) -> Value {
        let state = self.state.borrow();
        let job = &state.current.job;
        let group = job.element.and_then(|(group, _)| state.groups.get(group));
        group.map_or_else(|| job.input.clone(), |group| Value::Array(group.elements.clone()))
    }

    /// Reads `$input` in place. `reader` must not call back into the run.
    pub fn with_input<T>(&self, reader: impl FnOnce(&Value) -> T) -> T {
        reader(&self.state.borrow().current.job.input)
    }

    /// `$item`: of the function value being evaluated, or of `each`, or of the innermost loop or composite with `each`.
    pub fn item(&self) -> Value {
        self.with_item(Value::clone)
    }

    /// Reads `$item` in place. `reader` must not call back into the run.
    pub fn with_item<T>(&self, reader: impl FnOnce(&Value) -> T) -> T {
        let state = self.state.borrow();
        let current = &state.current;
        reader(match (&current.item, current.job.element) {
            (Some((item, _)), _) => item,
            (None, Some(_)) => &current.job.input,
            (None, None) => state
                .item_frame(current.job.place.frame)
                .map_or(&Value::Undefined, |frame| &frame.item),
        })
    }

    /// `$index`, found as `$item` is.
    pub fn index(&self) -> Value {
        let state = self.state.borrow();
        let current = &state.current;
        let index = match (&current.item, current.job.element) {
            (Some((_, index)), _) => *index as f64,
            (None, Some((_, element))) => f64::from(element),
            (None, None) => match state.item_frame(current.job.place.frame) {
                Some(frame) => f64::from(frame.turn.index),
                None => return Value::Undefined,
            },
        };
        Value::Number(index)
    }

    /// `$a`
    pub fn first(&self) -> Value {
        self.state.borrow().current.pair.0.clone()
    }

    /// `$b`
    pub fn second(&self) -> Value {
        self.state.borrow().current.pair.1.clone()
    }

    /// `$trigger`
    pub fn trigger(&self) -> Value {
        self.event.clone()
    }

    /// `$error`: the one most recently emitted in the frame or those around it.
    pub fn error(&self) -> Value {
        let state = self.state.borrow();
        let errors = state
            .frames
            .chain(state.current.job.place.frame)
            .filter_map(|frame| frame.error.as_ref());
        errors
            .max_by_key(|(number, _)| *number)
            .map(|(_, error)| error.clone())
            .unwrap_or_default()
    }

    /// `$nodes["id"]`: what the node emitted, as seen from the executing node.
    pub fn node_output(&self, node: u32) -> Value {
        let state = self.state.borrow();
        state.output_seen_from(state.current.job.place.frame, node)
    }

    /// `$run`
    pub fn facts(&self) -> Value {
        self.with_callbacks(self.context_field("run"))
    }

    /// When the run has started, in milliseconds since 1970: what now is, as long as it lasts.
    pub fn started_at_ms(&self) -> f64 {
        match self.context_field("startedAtMs") {
            Value::Number(now_ms) => now_ms,
            _ => 0.0,
        }
    }

    /// `$vars`
    pub fn variables(&self) -> Value {
        match self.context_field("vars") {
            Value::Undefined => Value::Object(Object::new()),
            variables => variables,
        }
    }

    /// `$secrets.NAME`
    pub fn secret(&self, name: &str) -> Value {
        secret_reference(name, &self.context_field("nonce").to_text().to_utf8()).into()
    }

    /// 64 random bits. Every execution has a stream of its own, made from the run's seed and the place, so that
    /// the order in which effects end changes nothing.
    pub fn random_bits(&self) -> u64 {
        let drawn = self
            .state
            .borrow_mut()
            .current
            .job
            .random
            .as_mut()
            .map(Generator::next);
        drawn.unwrap_or_else(|| {
            let seed = self
                .context_field("seed")
                .to_text()
                .to_utf8()
                .parse()
                .unwrap_or(0);
            let mut state = self.state.borrow_mut();
            let mut generator = Generator::new(seed, state.place_numbers());
            let bits = generator.next();
            state.current.job.random = Some(generator);
            bits
        })
    }

    /// `$random()`: in [0, 1).
    pub fn random(&self) -> Value {
        Value::Number((self.random_bits() >> 11) as f64 / (1u64 << 53) as f64)
    }

    /// `$uuid()`: version 4 (RFC 9562).
    pub fn uuid(&self) -> Value {
        let bits = u128::from(self.random_bits()) << 64 | u128::from(self.random_bits());
        let bits = bits & !(0xf000 << 64 | 0xc << 60) | 0x4000 << 64 | 0x8 << 60;
        // The version is the 13th of 32 digits, the variant the two highest bits of the 17th.
        let digits = format!("{bits:032x}");
        let groups = [0..8, 8..12, 12..16, 16..20, 20..32];
        let parts: Vec<&str> = groups.into_iter().filter_map(|range| digits.get(range)).collect();
        parts.join("-").into()
    }

    /// An expression has failed. The first failure counts.
    pub fn expression_failed(&self, message: &str) {
        if self.state.borrow().current.failure.is_some() {
            return;
        }
        let message = self.explain(message);
        self.state.borrow_mut().current.failure = Some(Failure::new(code::EXPRESSION, message));
    }

    /// `.item` has found no element.
    pub fn pairing_failed(&self, message: &str) {
        if !self.has_failed() {
            self.expression_failed(message);
            self.state.borrow_mut().current.is_unpaired = true;
        }
    }

    /// Whether an expression has failed, so that nobody will see what is computed now.
    pub fn has_failed(&self) -> bool {
        self.state.borrow().current.failure.is_some()
    }

    /// A part of an expression that may not be needed: `[part]`, or, if it has failed, the message alone, and no
    /// failure is kept of it.
    pub fn attempted(&self, failed_before: bool, part: Value) -> Value {
        if failed_before {
            return Value::Undefined;
        }
        let failure = {
            let current = &mut self.state.borrow_mut().current;
            current.is_unpaired = false;
            current.failure.take()
        };
        match failure {
            None => Value::Array([part].into_iter().collect()),
            Some(failure) => {
                let place = self.explain("");
                let message = failure.message.strip_suffix(&place);
                message.unwrap_or(&failure.message).into()
            }
        }
    }

    /// Forgets that an expression has failed, of a pattern in which none fails its node; whether it has. The log tells it
    /// once for each expression, however often it is evaluated.
    pub fn forgive(&self) -> bool {
        let failure = {
            let current = &mut self.state.borrow_mut().current;
            match current.is_unpaired {
                true => None,
                false => current.failure.take(),
            }
        };
        let Some(failure) = failure else {
            return false;
        };
        let site = self.outside.site();
        let (node, is_new) = {
            let mut state = self.state.borrow_mut();
            let place = state.forgiven.binary_search(&site);
            if let Err(place) = place {
                state.forgiven.insert(place, site);
            }
            (state.current.job.place.node, place.is_err())
        };
        if is_new {
            let message = &failure.message;
            let end = message.floor_char_boundary(FORGIVEN_BYTES_MAX);
            let dots = if end < message.len() { "…" } else { "" };
            let message = format!("An expression gave nothing: {}{dots}", &message[..end]);
            self.outside.log(Level::Warn, node, &message);
        }
        true
    }

    /// Calls a function of the expression that is being evaluated; `None` if something has failed.
    pub fn call_expression(&self, function: u32) -> Option<Value> {
        let value = self.outside.call_function(self, function);
        (!self.has_failed()).then_some(value)
    }

    /// What a function of the expression gives for numbers, if it has a form for them, which nothing can fail in.
    #[inline]
    pub fn call_numbers(&self, function: u32, first: &Value, second: &Value) -> Option<Value> {
        match (first, second) {
            (Value::Number(first), Value::Number(second)) => {
                self.outside.call_numbers(function, *first, *second)
            }
            _ => None,
        }
    }

    /// As [`Run::call_expression`], of a function of which only matters whether its value is truthy.
    pub fn expression_holds(&self, function: u32) -> Option<bool> {
        let holds = self.outside.call_condition(self, function);
        (!self.has_failed()).then_some(holds)
    }

    /// Evaluates a function value with `$item` and `$index`.
    pub(super) fn call_with_item(&self, function: u32, item: &Value, index: usize) -> Result<Value, Failure> {
        if let Some(value) = self.call_numbers(function, item, &Value::Number(index as f64)) {
            return Ok(value);
        }
        self.with_its_item(item, index, || self.outside.call_function(self, function))
    }

    #[inline]
    fn with_its_item<T>(&self, item: &Value, index: usize, call: impl FnOnce() -> T) -> Result<T, Failure> {
        let outer = self
            .state
            .borrow_mut()
            .current
            .item
            .replace((item.clone(), index));
        let value = call();
        let mut state = self.state.borrow_mut();
        state.current.item = outer;
        match state.current.failure {
            None => Ok(value),
            Some(_) => state.current.failure.take().map_or(Ok(value), Err),
        }
    }

    pub(super) fn context_field(&self, name: &str) -> Value {
        let context = self.context.get_or_init(|| {
            let text = self.outside.read(Input::Context);
            parse_json(&text, JSON_DEPTH_MAX).unwrap_or_default()
        });
        match context {
            Value::Object(context) => context.get(name).cloned().unwrap_or_default(),
            _ => Value::Undefined,
        }
    }
}

/// The run as a node sees it.
pub struct Caller<'a, 'p, O>(pub &'a Run<'p, O>);

impl<O: Outside> Context for Caller<'_, '_, O> {
    fn input(&self) -> Value {
        self.0.input()
    }

    fn through(&self) -> Value {
        let state = self.0.state.borrow();
        let job = &state.current.job;
        let is_item = job.element.is_some() && self.0.plan.node(job.place.node).items();
        match &job.input {
            item @ Value::Array(_) if is_item => Value::from(vec![item.clone()]),
            input => input.clone(),
        }
    }

    fn item(&self) -> Value {
        self.0.item()
    }

    fn javascript(&mut self, step: Script<'_>) -> Result<Scripted, Failure> {
        self.0.javascript(step)
    }

    fn input_port(&self, port: usize) -> Option<Value> {
        let state = self.0.state.borrow();
        let job = &state.current.job;
        match job.element {
            // The array came by the only port that is wired.
            Some(_) => {
                let incoming = self.0.plan.node(job.place.node).incoming();
                (self.0.plan.edge(incoming.get(0)).target_port as usize == port).then(|| job.input.clone())
            }
            None => state.port_value(job.place, u32::try_from(port).ok()?),
        }
    }

    fn call(&mut self, function: u32, item: &Value, index: usize) -> Result<Value, Failure> {
        self.0.call_with_item(function, item, index)
    }

    fn holds(&mut self, function: u32, item: &Value, index: usize) -> Result<bool, Failure> {
        let run = self.0;
        if let Some(value) = run.call_numbers(function, item, &Value::Number(index as f64)) {
            return Ok(value.truthy());
        }
        run.with_its_item(item, index, || run.outside.call_condition(run, function))
    }

    fn call_plain(&mut self, function: u32) -> Result<Value, Failure> {
        let value = self.0.outside.call_function(self.0, function);
        self.0
            .state
            .borrow_mut()
            .current
            .failure
            .take()
            .map_or(Ok(value), Err)
    }

    fn call_pair(&mut self, function: u32, first: &Value, second: &Value) -> Result<Value, Failure> {
        self.0.state.borrow_mut().current.pair = (first.clone(), second.clone());
        self.call_plain(function)
    }

    fn pair(&mut self, port: u32, items: &Array, origins: Vec<u32>) {
        self.0.keep_origins(port, items, origins);
    }

    fn pair_lists(&mut self, port: u32, origins: Origins) {
        self.0.keep_origins_of_several(port, origins);
    }

    fn log(&mut self, level: Level, message: &str) {
        let node = self.0.state.borrow().current.job.place.node;
        self.0.outside.log(level, node, message);
    }

    fn respond(&mut self, response: &Value) {
        let (is_answered, is_further) = {
            let mut state = self.0.state.borrow_mut();
            let Job { place, element, .. } = &state.current.job;
            // In a graph of items it executes for each of them, and the first one answers.
            let is_further = self.0.plan.node(place.node).items() && matches!(element, Some((_, 1..)));
            (std::mem::replace(&mut state.responded, true), is_further)
        };
        if is_answered && is_further {
            return;
        }
        if is_answered {
            self.log(
                Level::Warn,
                "The webhook is already answered; this response is ignored.",
            );
        } else {
            self.0.outside.respond(&response.to_json());
        }
    }

    fn random(&mut self) -> u64 {
        self.0.random_bits()
    }

    fn now_ms(&self) -> i64 {
        self.0.started_at_ms() as i64
    }

    fn execution_key(&self) -> String {
        let run_key = self.0.context_field("runKey").to_text();
        let state = self.0.state.borrow();
        let Job { place, element, .. } = &state.current.job;
        let path = state.path_in_any_attempt(place.frame, element.map(|(_, element)| element));
        format!(
            "{}/{}/{path}",
            run_key.to_utf8(),
            self.0.plan.node(place.node).id()
        )
    }
}

impl State<'_> {
    /// The innermost frame that is about an item.
    fn item_frame(&self, frame: u32) -> Option<&Frame> {
        self.frames.chain(frame).find(|frame| frame.turn.has_item)
    }

    /// A node's output: of its frame if that is `frame` or around it, else what it last emitted within the innermost
    /// frame that both have in common.
    pub(super) fn output_seen_from(&self, frame: u32, node: u32) -> Value {
        let view = self.plan.node(node);
        for frame in self.frames.chain(frame) {
            if frame.scope == view.scope() {
                let state = frame.nodes.get(view.local() as usize);
                return state
                    .and_then(|state| state.first_value())
                    .cloned()
                    .unwrap_or_default();
            }
            // Inside its body, a loop's output is the item.
            if frame.loop_node == node {
                return frame.item.clone();
            }
            if self.plan.is_within(view.scope(), frame.scope) {
                let last = frame.inner.iter().find(|(inner, _)| *inner == node);
                return last.map(|(_, value)| value.clone()).unwrap_or_default();
            }
        }
        Value::Undefined
    }

    /// Numbers that tell the current execution from every other of the run but its further attempts.
    fn place_numbers(&self) -> impl Iterator<Item = u64> {
        let job = &self.current.job;
        let element = job.element.map_or(0, |(_, element)| u64::from(element) + 1);
        let number = |node: u32, number: u32| u64::from(node) << 32 | u64::from(number);
        let frames = self
            .frames
            .chain(job.place.frame)
            .filter(|frame| frame.turn.has_item || frame.loop_node == NONE)
            .map(move |frame| number(frame.loop_node, frame.turn.index));
        [u64::from(job.place.node), element].into_iter().chain(frames)
    }
}
