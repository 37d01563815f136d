//! A pattern and a host made of closures.

use crate::failure::Failure;
use crate::machine::{EngineStep, Input, Outside, Run, Status, TraceKind};
use crate::node::{Context, Emission, Level, NodeResult, Outcome, Resume, Run as RunNode};
use heddle_contract::plan::{Edge, NONE, Node, NodeKind, Plan, Scope, View};
use heddle_javascript::protocol::Status as EngineStatus;
use heddle_values::{Object, Value, parse_json};
use std::cell::{Cell, RefCell};

pub type Fun = Box<dyn Fn(&Run<'_, Fake>) -> Value>;

/// The outside: what is called, and a record of it.
#[derive(Default)]
pub struct Fake {
    bodies: Vec<(Object, Option<RunNode>, Option<Resume>)>,
    functions: Vec<Fun>,
    event: String,
    newest_first: bool,
    /// Calls left to a plan that no compiler made.
    budget: Cell<Option<u32>>,
    started: RefCell<Vec<(u32, String, String)>>,
    effects: RefCell<u32>,
    keys: RefCell<Vec<String>>,
    current: RefCell<u32>,
    ids: Vec<String>,
    tokens: RefCell<Vec<String>>,
    /// Everything observable, one line each.
    pub record: RefCell<Vec<String>>,
    site: Cell<u32>,
    ended: RefCell<Option<(Status, String)>>,
    failed_input: RefCell<Option<String>>,
}

impl Fake {
    fn note(&self, line: String) {
        self.record.borrow_mut().push(line);
    }

    fn id(&self, node: u32) -> &str {
        self.ids.get(node as usize).map_or("-", |id| id)
    }
}

impl Outside for Fake {
    fn call_body(&self, run: &Run<'_, Self>, function: u32) {
        let Some((parameters, node, resume)) = self.bodies.get(function as usize) else {
            return;
        };
        if let Some(budget) = self.budget.get() {
            if budget == 0 {
                std::panic::resume_unwind(Box::new(OutOfBudget));
            }
            self.budget.set(Some(budget - 1));
            return run.execute_node(parameters.clone(), node.unwrap_or(pass), *resume);
        }
        assert_eq!(
            *self.current.borrow(),
            function,
            "the current node is told before it executes"
        );
        match node {
            Some(node) => run.execute_node(parameters.clone(), *node, *resume),
            None => run.emit(0, self.functions[0](run)),
        }
    }

    fn call_function(&self, run: &Run<'_, Self>, function: u32) -> Value {
        self.functions[function as usize](run)
    }

    fn read(&self, input: Input) -> Vec<u8> {
        match input {
            Input::Event => self.event.clone().into_bytes(),
            Input::Context => br#"{"run":{"id":"r1"},"vars":{"v":1},"nonce":"n0",
                "seed":"18446744073709551615","startedAtMs":1700000000000,"runKey":"key"}"#
                .to_vec(),
        }
    }

    fn effect_start(&self, node: u32, kind: &str, key: &str, request: &str) -> u32 {
        let id = self.effects.replace_with(|id| *id + 1);
        self.note(format!("start {} {kind} {request}", self.id(node)));
        self.keys.borrow_mut().push(key.into());
        self.started.borrow_mut().push((id, kind.into(), request.into()));
        id
    }

    fn effect_wait(&self) -> (u32, Vec<u8>) {
        let mut started = self.started.borrow_mut();
        assert!(!started.is_empty(), "waits for nothing");
        let at = if self.newest_first { started.len() - 1 } else { 0 };
        let (id, kind, request) = started.remove(at);
        let result = match (kind.as_str(), request.contains("fail")) {
            ("sleep", _) => r#"{"ok":null}"#.to_owned(),
            (_, true) => r#"{"error":{"code":"HTTP_500","message":"no"}}"#.to_owned(),
            (_, false) => format!("{{\"ok\":{request}}}"),
        };
        self.note(format!("end {id}"));
        (id, result.into_bytes())
    }

    fn log(&self, level: Level, node: u32, message: &str) {
        self.note(format!("{level:?} {} {message}", self.id(node)));
    }

    fn engine(&self, _: u32, _: i64, _: EngineStep<'_>) -> (EngineStatus, Vec<u8>) {
        panic!("no engine here")
    }

    fn respond(&self, response: &str) {
        self.note(format!("respond {response}"));
    }

    fn finish(&self, status: Status, json: &str) {
        if status == Status::FailedInput {
            let ended = self.ended.borrow();
            assert!(matches!(&*ended, Some((Status::Failed, _))), "it has not failed");
            assert!(
                self.failed_input.replace(Some(json.into())).is_none(),
                "told twice"
            );
            return;
        }
        assert!(
            self.ended.replace(Some((status, json.into()))).is_none(),
            "finished twice"
        );
    }

    fn set_current_node(&self, node: u32) {
        self.current.replace(node);
    }

    fn site(&self) -> u32 {
        self.site.get()
    }

    fn set_site(&self, site: u32) {
        self.site.set(site);
    }

    fn trace_begin(&self, node: u32, path: &str) -> i32 {
        let mut tokens = self.tokens.borrow_mut();
        tokens.push(format!("{}@{path}", self.id(node)));
        self.note(format!("begin {}@{path}", self.id(node)));
        tokens.len() as i32 - 1
    }

    fn trace_pause(&self, token: i32) {
        self.note(format!("pause {}", self.tokens.borrow()[token as usize]));
    }

    fn trace_resume(&self, token: i32) {
        self.note(format!("resume {}", self.tokens.borrow()[token as usize]));
    }

    fn trace_end(&self, token: i32, kind: TraceKind, port: i32, json: &str) {
        self.note(format!(
            "end {} {kind:?} {port} {json}",
            self.tokens.borrow()[token as usize]
        ));
    }
}

/// Ends a run as the host's fuel would.
pub struct OutOfBudget;

/// A graph in the making. Ports are numbers, `id.1` in edges; 0 may be left out.
pub struct Graph {
    pub plan: Plan,
    fake: Fake,
}

/// What a run came to.
pub struct Ended {
    pub status: Status,
    pub json: String,
    /// What the node that failed had been given, if the run told it.
    pub failed_input: Option<String>,
    pub record: Vec<String>,
    /// Keys of the effects, in the order in which they were started.
    pub keys: Vec<String>,
}

impl Graph {
    /// With the trigger `t`, which emits `event`.
    pub fn new(event: &str) -> Self {
        let plan = Plan {
            scopes: vec![Scope::default()],
            ..Plan::default()
        };
        let mut graph = Graph {
            plan,
            fake: Fake {
                event: event.into(),
                ..Fake::default()
            },
        };
        graph.node("t", pass).kind = NodeKind::Trigger;
        graph
    }

    pub fn node(&mut self, id: &str, run: RunNode) -> &mut Node {
        self.with(id, run, "{}")
    }

    /// A node with parameters.
    pub fn with(&mut self, id: &str, run: RunNode, parameters: &str) -> &mut Node {
        self.resuming(id, Some(run), None, parameters)
    }

    /// A node that does an effect and emits its result.
    pub fn effect(&mut self, id: &str) -> &mut Node {
        self.resuming(
            id,
            Some(effect),
            Some(answered),
            &format!("{{\"name\":\"{id}\"}}"),
        )
    }

    /// An expression definition: emits function 0.
    pub fn expression(&mut self, id: &str) -> &mut Node {
        self.resuming(id, None, None, "{}")
    }

    fn resuming(
        &mut self,
        id: &str,
        run: Option<RunNode>,
        resume: Option<Resume>,
        parameters: &str,
    ) -> &mut Node {
        let Ok(Value::Object(parameters)) = parse_json(parameters.as_bytes(), 9) else {
            panic!("{parameters}")
        };
        let function = Some(self.plan.nodes.len() as u32);
        self.fake.bodies.push((parameters, run, resume));
        self.fake.ids.push(id.into());
        let node = Node {
            id: id.into(),
            function,
            inputs: vec!["in".into(), "right".into()],
            outputs: 3,
            ..Node::default()
        };
        self.plan.nodes.push(node);
        self.plan.nodes.last_mut().unwrap()
    }

    /// A loop node; gives the scope of its body, which nodes are then put into.
    pub fn looped(&mut self, id: &str, run: RunNode, parameters: &str, kind: NodeKind, scope: u32) -> u32 {
        let body = self.plan.scopes.len() as u32;
        let node = self.with(id, run, parameters);
        (node.kind, node.body, node.scope) = (kind, Some(body), scope);
        let loop_node = Some(self.plan.nodes.len() as u32 - 1);
        self.plan.scopes.push(Scope {
            parent: Some(scope),
            loop_node,
        });
        body
    }

    pub fn find(&mut self, id: &str) -> &mut Node {
        self.plan.nodes.iter_mut().find(|node| node.id == id).unwrap()
    }

    pub fn index(&self, id: &str) -> u32 {
        self.plan.nodes.iter().position(|node| node.id == id).unwrap() as u32
    }

    /// `edges(&["a > b", "a.1 > c.0"])`
    pub fn edges(&mut self, edges: &[&str]) -> &mut Self {
        for edge in edges {
            let (from, to) = edge.split_once(" > ").unwrap();
            let end = |end: &str| {
                let (id, port) = end.split_once('.').unwrap_or((end, "0"));
                (self.index(id), port.parse().unwrap())
            };
            let ((source, source_port), (target, target_port)) = (end(from), end(to));
            self.plan.edges.push(Edge {
                source,
                source_port,
                target,
                target_port,
            });
        }
        self
    }

    /// A function value; gives its index.
    pub fn function(&mut self, function: impl Fn(&Run<'_, Fake>) -> Value + 'static) -> u32 {
        self.fake.functions.push(Box::new(function));
        self.fake.functions.len() as u32 - 1
    }

    /// Effects end in the opposite order of their starts.
    pub fn newest_first(&mut self) -> &mut Self {
        self.fake.newest_first = true;
        self
    }

    pub fn run(&mut self) -> Ended {
        let bytes = self.plan.encode();
        run_bytes(&bytes, std::mem::take(&mut self.fake))
    }

    /// Runs bytes in place of the plan; they may execute few nodes.
    pub fn run_hostile(&mut self, bytes: &[u8]) -> Ended {
        self.fake.budget.set(Some(2_000));
        run_bytes(bytes, std::mem::take(&mut self.fake))
    }

    /// Runs to a successful end and gives the output.
    pub fn output(&mut self) -> String {
        let ended = self.run();
        assert_eq!(ended.status, Status::Completed, "{}", ended.json);
        ended.json
    }
}

fn run_bytes(bytes: &[u8], fake: Fake) -> Ended {
    let mut run = Run::new(View::new(bytes).unwrap_or_default(), fake);
    match run.read_event() {
        Ok(()) => run.drive(0),
        Err(failure) => run.refuse(&failure),
    }
    let fake = run.outside;
    assert!(fake.budget.get().is_some() || matches!(*fake.current.borrow(), 0 | NONE));
    let (status, json) = fake.ended.into_inner().unwrap();
    Ended {
        status,
        json,
        failed_input: fake.failed_input.into_inner(),
        record: fake.record.into_inner(),
        keys: fake.keys.into_inner(),
    }
}

impl Ended {
    /// Lines of the record that begin with `word`, without it.
    pub fn lines(&self, word: &str) -> Vec<&str> {
        self.record
            .iter()
            .filter_map(|line| line.strip_prefix(word))
            .map(str::trim_start)
            .collect()
    }
}

fn emit(port: u32, value: Value) -> NodeResult {
    Ok(Outcome::Emit(Emission::one(port, value)))
}

fn number(parameters: &Object, name: &str) -> Option<u32> {
    match parameters.get(name) {
        Some(Value::Number(number)) => Some(*number as u32),
        _ => None,
    }
}

/// Passes its input on.
pub fn pass(_: &Object, context: &mut dyn Context) -> NodeResult {
    emit(0, context.input())
}

/// Passes its input on by the port `port`.
pub fn by_port(parameters: &Object, context: &mut dyn Context) -> NodeResult {
    emit(number(parameters, "port").unwrap_or(0), context.input())
}

/// Port 0 for numbers of at least `min`, else port 1.
pub fn at_least(parameters: &Object, context: &mut dyn Context) -> NodeResult {
    let input = context.input();
    let large =
        matches!((&input, parameters.get("min")), (Value::Number(a), Some(Value::Number(b))) if a >= b);
    emit(u32::from(!large), input)
}

/// Appends the parameter `tag` to its input as text.
pub fn tag(parameters: &Object, context: &mut dyn Context) -> NodeResult {
    let tag = parameters.get("tag").cloned().unwrap_or_default().to_text();
    emit(0, Value::String(context.input().to_text().concat(&tag)))
}

/// Emits function `function`.
pub fn evaluate(parameters: &Object, context: &mut dyn Context) -> NodeResult {
    let value = context.call_plain(number(parameters, "function").unwrap_or(0))?;
    emit(0, value)
}

/// Emits by both ports.
pub fn both(_: &Object, context: &mut dyn Context) -> NodeResult {
    Ok(Outcome::Emit(Emission(vec![
        (1, context.input()),
        (0, context.input()),
    ])))
}

pub fn returns(_: &Object, context: &mut dyn Context) -> NodeResult {
    Ok(Outcome::Return(context.input()))
}

/// Fails for inputs that are the parameter `on`, or for all.
pub fn fails(parameters: &Object, context: &mut dyn Context) -> NodeResult {
    let input = context.input();
    match parameters.get("on") {
        Some(on) if !on.deep_equal(&input) => emit(0, input),
        _ => Err(Failure::new("BROKEN", "it broke")),
    }
}

fn effect(parameters: &Object, context: &mut dyn Context) -> NodeResult {
    let mut request = parameters.clone();
    request.insert("input", context.input());
    Ok(Outcome::Effect {
        kind: "test",
        request: Value::Object(request),
    })
}

fn answered(_: &Object, answer: Value, _: &mut dyn Context) -> NodeResult {
    let Value::Object(answer) = answer else {
        return emit(0, answer);
    };
    let (name, input) = (
        answer.get("name").cloned().unwrap_or_default(),
        answer.get("input").cloned(),
    );
    let text = format!(
        "{}({})",
        name.to_text().to_utf8(),
        input.unwrap_or_default().to_text().to_utf8()
    );
    emit(0, text.into())
}

pub fn for_each(parameters: &Object, context: &mut dyn Context) -> NodeResult {
    let items = match context.input() {
        Value::Array(items) => items.to_vec(),
        other => vec![other],
    };
    Ok(Outcome::Iterate {
        items,
        concurrency: number(parameters, "concurrency").unwrap_or(1),
    })
}

/// Repeats while function `function` holds, or always, at most `max` times.
pub fn repeat(parameters: &Object, _: &mut dyn Context) -> NodeResult {
    let iterations_max = number(parameters, "max").unwrap_or(100);
    Ok(Outcome::Repeat {
        condition: number(parameters, "function"),
        iterations_max,
    })
}
