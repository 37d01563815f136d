//! The reference: what a run of a graph must give, computed in the simplest way.
//!
//! Written from the documents, not from the run loop that it checks, and shares no code with it.

use crate::expression::Stop;
use crate::flat::{FlatGraph, Work, flatten};
use crate::graph::{Case, OnError};
use crate::js::{Js, OPEN};
use crate::lists::{as_one_item, joined, spread};
use crate::names::Bindings;
use crate::nodes::{Failure, Outcome, execute};
use crate::pairing::{Origins, brought_back};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};

/// What can be seen of a run.
#[derive(Clone, Debug, Default)]
pub struct Expected {
    pub output: Option<Js>,
    /// Code and node id, when it failed.
    pub error: Option<(String, String)>,
    pub logs: Vec<Log>,
    /// In the order in which they started.
    pub executions: Vec<Execution>,
    /// Whether `always` has made an empty item of none.
    pub filled: bool,
}

#[derive(Clone, Debug)]
pub struct Log {
    pub level: &'static str,
    pub message: String,
    pub node: String,
}

/// One execution of a node.
#[derive(Clone, Debug)]
pub struct Execution {
    pub node: String,
    /// Iteration within loops, as in `orders[3].lines[0]`.
    pub path: String,
    /// First live port and what left by it.
    pub emitted: Option<(String, Js)>,
    /// The error that ended it, also when it was caught.
    pub error: Option<Js>,
    pub pinned: bool,
}

const VALUE_BYTES_MAX: usize = 20_000;
const EXECUTIONS_MAX: usize = 2_000;

pub type FrameId = usize;
pub type NodeId = usize;
pub type Emission = BTreeMap<usize, Js>;

/// One execution of the graph or of a body.
pub struct Frame {
    pub parent: Option<FrameId>,
    /// The loop or block whose body this executes.
    pub owner: Option<NodeId>,
    pub index: usize,
    /// Whether there is an `$item`: in iterations, and for elements of a block with `each`.
    pub has_item: bool,
    pub item: Js,
    /// What entered a block, and its attempt.
    entered: Js,
    attempt: u32,
    /// A failure has ended it, and all within it.
    stopped: bool,
    path: String,
    /// Edges by index: the value of a live one, `None` for a dead one.
    pub edges: HashMap<usize, Option<Js>>,
    queued: HashSet<NodeId>,
    settled: HashSet<NodeId>,
    /// What nodes last emitted: the frame's own and those of the frames within it.
    pub outputs: HashMap<NodeId, Js>,
    pub error: Option<Js>,
    /// For output ports: where their elements came from, as far as their nodes say.
    pub origins: HashMap<(NodeId, usize), Origins>,
}

/// A loop or block that is under way.
struct Iterations {
    items: Vec<Js>,
    next: usize,
    running: usize,
    results: Vec<Option<Js>>,
    /// For blocks: what the elements have emitted.
    emissions: Vec<Emission>,
    /// Where lists of items travel, for each iteration: the elements of the input that those are of that came back. `None`: open.
    origins: Vec<Option<Vec<Option<usize>>>>,
    execution: usize,
}

/// An execution of a body that is about to begin.
#[derive(Clone)]
struct Turn {
    /// The frame around, and the node in it.
    frame: FrameId,
    node: NodeId,
    index: usize,
    has_item: bool,
    attempt: u32,
    item: Js,
}

/// What waits for its next attempt.
enum Waiting {
    Node(Attempt),
    Block(Turn),
}

/// A node about to execute.
struct Attempt {
    frame: FrameId,
    node: NodeId,
    execution: usize,
    number: u32,
}

/// A run under way.
pub struct Run<'a> {
    pub graph: FlatGraph<'a>,
    pub event: Js,
    /// Whether what an expression throws is `undefined`.
    pub lenient: bool,
    pub frames: Vec<Frame>,
    queue: VecDeque<(FrameId, NodeId)>,
    /// Cases have at most one.
    waiting: Option<Waiting>,
    loops: HashMap<(FrameId, NodeId), Iterations>,
    /// Of a Merge in mode `first`: the edge that made it ready, and its value.
    pub first_values: HashMap<(FrameId, NodeId), (usize, Js)>,
    expected: Expected,
}

/// What the run of a case must give; `None` when the documents leave it open.
pub fn evaluate(case: &Case) -> Option<Expected> {
    let graph = flatten(case);
    let mut run = Run {
        event: Js::from_json(&case.event),
        lenient: case.lenient,
        frames: Vec::new(),
        queue: VecDeque::new(),
        waiting: None,
        loops: HashMap::new(),
        first_values: HashMap::new(),
        expected: Expected::default(),
        graph,
    };
    run.start(&case.trigger).ok()?;
    loop {
        if let Some((frame, node)) = run.queue.pop_front() {
            if !run.is_stopped(frame) {
                run.run_node(frame, node).ok()?;
            }
        } else {
            match run.waiting.take() {
                Some(Waiting::Node(attempt)) => run.attempt(attempt).ok()?,
                Some(Waiting::Block(turn)) => run.begin_block(turn).ok()?,
                None => break,
            }
        }
        if run.expected.error.is_some() {
            run.expected.output = None;
            break;
        }
    }
    Some(run.expected)
}

impl Run<'_> {
    fn start(&mut self, trigger: &str) -> Result<(), Stop> {
        let frame = self.new_frame(None);
        let mut ready = BTreeSet::new();
        for node in 0..self.graph.nodes.len() {
            let has_incoming = self.graph.incoming(node).next().is_some();
            if self.graph.nodes[node].scope.is_none() && !has_incoming && self.graph.nodes[node].id != trigger
            {
                self.settle(frame, node, &Emission::new(), &mut ready);
            }
        }
        let trigger = self.graph.index(trigger);
        self.queue.push_back((frame, trigger));
        self.queue.extend(ready.into_iter().map(|node| (frame, node)));
        Ok(())
    }

    /// A frame of a turn, or of the graph.
    fn new_frame(&mut self, turn: Option<&Turn>) -> FrameId {
        let path = turn.map_or(String::new(), |turn| self.path(turn));
        let has_item = turn.is_some_and(|turn| turn.has_item);
        let entered = turn.map_or(Js::Undefined, |turn| turn.item.clone());
        self.frames.push(Frame {
            parent: turn.map(|turn| turn.frame),
            owner: turn.map(|turn| turn.node),
            index: turn.map_or(0, |turn| turn.index),
            has_item,
            item: if has_item { entered.clone() } else { Js::Undefined },
            entered,
            attempt: turn.map_or(1, |turn| turn.attempt),
            stopped: false,
            path,
            edges: HashMap::new(),
            queued: HashSet::new(),
            settled: HashSet::new(),
            outputs: HashMap::new(),
            error: None,
            origins: HashMap::new(),
        });
        self.frames.len() - 1
    }

    /// `orders[3].lines[0]`; a first attempt without an item adds nothing.
    fn path(&self, turn: &Turn) -> String {
        let outer = &self.frames[turn.frame].path;
        let mut own = String::new();
        if turn.has_item {
            own += &format!("[{}]", turn.index);
        }
        if turn.attempt > 1 {
            own += &format!("~{}", turn.attempt);
        }
        match (own.is_empty(), outer.is_empty()) {
            (true, _) => outer.clone(),
            (false, true) => format!("{}{own}", self.graph.nodes[turn.node].id),
            (false, false) => format!("{outer}.{}{own}", self.graph.nodes[turn.node].id),
        }
    }

    fn is_stopped(&self, frame: FrameId) -> bool {
        let Frame { stopped, parent, .. } = self.frames[frame];
        stopped || parent.is_some_and(|parent| self.is_stopped(parent))
    }

    /// Notes that a node executes; gives the number of the execution.
    fn begin(&mut self, node: NodeId, path: String) -> usize {
        let node = self.graph.nodes[node].id.clone();
        self.expected.executions.push(Execution {
            node,
            path,
            emitted: None,
            error: None,
            pinned: false,
        });
        self.expected.executions.len() - 1
    }

    fn run_node(&mut self, frame: FrameId, node: NodeId) -> Result<(), Stop> {
        let path = self.frames[frame].path.clone();
        let execution = self.begin(node, path);
        let flat = self.graph.nodes[node].clone();
        let input = self.input(frame, node);
        if let Some((port, value)) = &flat.pin {
            self.expected.executions[execution].pinned = true;
            return self.complete(frame, node, execution, Emission::from([(*port, value.clone())]));
        }
        if flat.is_block {
            return self.run_block(frame, node, execution, input);
        }
        match flat.work {
            Work::Pass => {
                let port = if flat.is_loop { 1 } else { 0 };
                return self.complete(frame, node, execution, Emission::from([(port, input)]));
            }
            Work::Start => {
                return self.complete(frame, node, execution, Emission::from([(0, self.event.clone())]));
            }
            Work::Kind(_) if flat.each => return self.run_each(frame, node, execution, input),
            Work::Kind(_) => {}
        }
        self.attempt(Attempt {
            frame,
            node,
            execution,
            number: 1,
        })
    }

    fn attempt(&mut self, attempt: Attempt) -> Result<(), Stop> {
        let Attempt {
            frame,
            node,
            execution,
            number,
        } = attempt;
        let flat = self.graph.nodes[node].clone();
        let Work::Kind(kind) = flat.work else {
            unreachable!("only nodes that execute")
        };
        let input = self.input(frame, node);
        let names = Bindings::new(self, frame, node, input.clone());
        let mut logs = Vec::new();
        let outcome = execute(kind, &self.graph, &names, &mut logs);
        self.keep_logs(&flat.id, logs);
        match outcome? {
            Ok(Outcome::Emit(emission)) => {
                let emission = self.filled(frame, node, emission);
                self.complete(frame, node, execution, emission)
            }
            Ok(Outcome::EmitFrom(emission, origins)) => {
                for (port, origins) in origins {
                    self.frames[frame].origins.insert((node, port), origins);
                }
                let emission = self.filled(frame, node, emission);
                self.complete(frame, node, execution, emission)
            }
            // A Return of a composite is how its value gets out.
            Ok(Outcome::Return(value)) if !flat.prefix.is_empty() => {
                self.complete(frame, node, execution, Emission::from([(0, value)]))
            }
            Ok(Outcome::Return(value)) => {
                self.return_value(&flat.id, value);
                self.complete(frame, node, execution, Emission::new())
            }
            Ok(Outcome::Iterate(items, concurrency)) => {
                let results = vec![None; items.len()];
                let running = concurrency.min(items.len());
                let iterations = Iterations {
                    items,
                    next: running,
                    running,
                    origins: vec![Some(Vec::new()); results.len()],
                    results,
                    emissions: vec![],
                    execution,
                };
                self.loops.insert((frame, node), iterations);
                if running == 0 {
                    return self.end_foreach(frame, node);
                }
                (0..running).try_for_each(|index| self.iterate(frame, node, index))
            }
            Ok(Outcome::Repeat) => {
                let iterations = Iterations {
                    items: vec![input],
                    next: 0,
                    running: 0,
                    results: vec![],
                    emissions: vec![],
                    origins: vec![],
                    execution,
                };
                self.loops.insert((frame, node), iterations);
                self.repeat(frame, node)
            }
            Err(_) if number < flat.attempts => {
                self.keep_logs(&flat.id, vec![("warn", OPEN.to_string())]);
                let next = Attempt {
                    frame,
                    node,
                    execution,
                    number: number + 1,
                };
                if flat.waits {
                    self.waiting = Some(Waiting::Node(next));
                    return Ok(());
                }
                self.attempt(next)
            }
            Err(failure) => self.fail(frame, node, execution, &failure),
        }
    }

    /// `each: true`: once for every element, the results in arrays.
    fn run_each(&mut self, frame: FrameId, node: NodeId, execution: usize, input: Js) -> Result<(), Stop> {
        let flat = self.graph.nodes[node].clone();
        let Work::Kind(kind) = flat.work else {
            unreachable!("only nodes that execute")
        };
        let Js::Array(elements) = input else {
            return self.attempt(Attempt {
                frame,
                node,
                execution,
                number: 1,
            });
        };
        let mut emissions = Vec::new();
        for (index, element) in elements.into_iter().enumerate() {
            let path = format!("{}#{index}", self.frames[frame].path);
            let own = self.begin(node, path);
            let names = Bindings::new(self, frame, node, element.clone()).for_element(element, index);
            let mut logs = Vec::new();
            let outcome = execute(kind, &self.graph, &names, &mut logs);
            self.keep_logs(&flat.id, logs);
            let emission = match outcome? {
                Ok(Outcome::Emit(emission) | Outcome::EmitFrom(emission, _)) => {
                    let emission = match self.graph.items && kind.passes_through() {
                        true => as_one_item(emission),
                        false => emission,
                    };
                    self.note_emission(node, own, &emission);
                    emission
                }
                Ok(_) => return Err(Stop::Open),
                Err(failure) => {
                    // Nothing changes between attempts, so each fails as the first did.
                    for _ in 1..flat.attempts {
                        self.keep_logs(&flat.id, vec![("warn", OPEN.to_string())]);
                    }
                    match self.catch(frame, node, own, &failure)? {
                        Some(emission) => emission,
                        None => return Ok(()),
                    }
                }
            };
            emissions.push(emission);
        }
        self.complete_elements(frame, node, execution, emissions)
    }

    /// What the elements of an array have emitted leaves in arrays.
    fn complete_elements(
        &mut self,
        frame: FrameId,
        node: NodeId,
        execution: usize,
        emissions: Vec<Emission>,
    ) -> Result<(), Stop> {
        let mut ports: BTreeMap<usize, Vec<Js>> = BTreeMap::new();
        // What leaves is a list; with `always`, none is an empty one.
        if emissions.is_empty() || self.graph.nodes[node].always {
            ports.insert(0, Vec::new());
        }
        for (index, emission) in emissions.into_iter().enumerate() {
            for (port, value) in emission {
                let origins = self.frames[frame].origins.entry((node, port));
                let origins = origins.or_insert_with(|| Some(vec![Vec::new()]));
                let values = match value {
                    Js::Array(items) if self.graph.items => items,
                    value => vec![value],
                };
                origins.as_mut().unwrap()[0].extend(values.iter().map(|_| Some(index)));
                ports.entry(port).or_default().extend(values);
            }
        }
        let emission = ports
            .into_iter()
            .map(|(port, values)| (port, Js::Array(values)))
            .collect();
        let emission = self.filled(frame, node, emission);
        self.complete(frame, node, execution, emission)
    }

    /// `always`: if items came and none leaves by the first port (of a loop: `done`), one empty item does.
    fn filled(&mut self, frame: FrameId, node: NodeId, emission: Emission) -> Emission {
        let mut emission = match self.graph.items {
            true => spread(emission),
            false => emission,
        };
        let flat = &self.graph.nodes[node];
        let is_empty = |value: &Js| matches!(value, Js::Array(items) if items.is_empty());
        let none_came = match self.input(frame, node) {
            Js::Array(lists) if flat.collects => lists.iter().all(is_empty),
            input => is_empty(&input),
        };
        if !flat.always || none_came {
            return emission;
        }
        let port = usize::from(flat.is_loop);
        let item = Js::Object(Vec::new());
        match emission.get(&port) {
            Some(Js::Array(items)) if items.is_empty() => emission.insert(port, Js::Array(vec![item])),
            Some(_) => return emission,
            None if self.graph.items => emission.insert(port, Js::Array(vec![item])),
            None => emission.insert(port, item),
        };
        self.frames[frame].origins.remove(&(node, port));
        self.expected.filled = true;
        emission
    }

    fn fail(
        &mut self,
        frame: FrameId,
        node: NodeId,
        execution: usize,
        failure: &Failure,
    ) -> Result<(), Stop> {
        match self.catch(frame, node, execution, failure)? {
            Some(emission) => self.complete(frame, node, execution, emission),
            None => Ok(()),
        }
    }

    /// What a failure makes leave the node, or `None` when it ends the run or the block around.
    fn catch(
        &mut self,
        frame: FrameId,
        node: NodeId,
        execution: usize,
        failure: &Failure,
    ) -> Result<Option<Emission>, Stop> {
        let flat = &self.graph.nodes[node];
        let error = failure.value(&flat.id);
        self.expected.executions[execution].error = Some(error.clone());
        if flat.on_error == OnError::Fail {
            let failed = (failure.code.clone(), flat.id.clone());
            self.fail_block(frame, failed, error)?;
            return Ok(None);
        }
        Ok(Some(self.emit_error(frame, node, error)))
    }

    /// The error leaves a node that catches it.
    fn emit_error(&mut self, frame: FrameId, node: NodeId, error: Js) -> Emission {
        let flat = &self.graph.nodes[node];
        let port = match flat.on_error {
            OnError::Branch => flat.outputs.len() - 1,
            _ => usize::from(flat.is_loop),
        };
        self.frames[frame].error = Some(error.clone());
        let value = Js::object([("error", error)]);
        match port < flat.outputs.len() {
            true => Emission::from([(port, value)]),
            false => Emission::new(),
        }
    }

    /// A failure that its node does not catch ends the innermost block around it, which is executed again, or emits
    /// the error, or fails as well. Without one it ends the run.
    fn fail_block(&mut self, frame: FrameId, failed: (String, String), error: Js) -> Result<(), Stop> {
        let mut frame = frame;
        while !self.frames[frame]
            .owner
            .is_some_and(|owner| self.graph.nodes[owner].is_block)
        {
            let Some(parent) = self.frames[frame].parent else {
                self.expected.error = Some(failed);
                return Ok(());
            };
            frame = parent;
        }
        self.frames[frame].stopped = true;
        let turn = self.turn(frame);
        let block = self.graph.nodes[turn.node].clone();
        if turn.attempt < block.attempts {
            self.keep_logs(&block.id, vec![("warn", OPEN.to_string())]);
            let turn = Turn {
                attempt: turn.attempt + 1,
                ..turn
            };
            if block.waits {
                self.waiting = Some(Waiting::Block(turn));
                return Ok(());
            }
            return self.begin_block(turn);
        }
        let execution = self.loops[&(turn.frame, turn.node)].execution;
        if block.on_error == OnError::Fail || !turn.has_item {
            self.expected.executions[execution].error = Some(error.clone());
        }
        if block.on_error == OnError::Fail {
            return self.fail_block(turn.frame, failed, error);
        }
        let emission = self.emit_error(turn.frame, turn.node, error);
        self.end_of_block(&turn, emission)
    }

    /// The turn that a frame executes.
    fn turn(&self, frame: FrameId) -> Turn {
        let frame = &self.frames[frame];
        Turn {
            frame: frame.parent.unwrap(),
            node: frame.owner.unwrap(),
            index: frame.index,
            has_item: frame.has_item,
            attempt: frame.attempt,
            item: frame.entered.clone(),
        }
    }

    /// A composite that is executed as a whole: for its input, or with `each` for every element of an array.
    fn run_block(&mut self, frame: FrameId, node: NodeId, execution: usize, input: Js) -> Result<(), Stop> {
        let flat = &self.graph.nodes[node];
        let (items, has_item) = match input {
            Js::Array(elements) if flat.each => (elements, true),
            input => (vec![input], false),
        };
        let running = flat.concurrency.min(items.len());
        let iterations = Iterations {
            next: running,
            running,
            results: vec![],
            emissions: vec![Emission::new(); items.len()],
            origins: vec![],
            execution,
            items: items.clone(),
        };
        self.loops.insert((frame, node), iterations);
        if items.is_empty() {
            return self.complete_elements(frame, node, execution, vec![]);
        }
        for (index, item) in items.into_iter().take(running).enumerate() {
            self.begin_block(Turn {
                frame,
                node,
                index,
                has_item,
                attempt: 1,
                item,
            })?;
        }
        Ok(())
    }

    fn begin_block(&mut self, turn: Turn) -> Result<(), Stop> {
        let inner = self.new_frame(Some(&turn));
        let mut ready = BTreeSet::new();
        let body: Vec<NodeId> = (0..self.graph.nodes.len())
            .filter(|node| self.graph.nodes[*node].scope == Some(turn.node))
            .collect();
        for node in body {
            if self.graph.incoming(node).next().is_none() {
                self.settle(inner, node, &Emission::new(), &mut ready);
            }
        }
        let entering = match self.graph.items && turn.has_item {
            true => Js::Array(vec![turn.item]),
            false => turn.item,
        };
        self.enter(inner, turn.node, entering, ready)
    }

    /// An execution of a block has ended.
    fn end_of_block(&mut self, turn: &Turn, emission: Emission) -> Result<(), Stop> {
        let Turn { frame, node, .. } = *turn;
        let iterations = self.loops.get_mut(&(frame, node)).unwrap();
        if !turn.has_item {
            let execution = iterations.execution;
            return self.complete(frame, node, execution, emission);
        }
        iterations.emissions[turn.index] = emission;
        if let Some(item) = iterations.items.get(iterations.next).cloned() {
            let index = iterations.next;
            iterations.next += 1;
            return self.begin_block(Turn {
                index,
                attempt: 1,
                item,
                ..*turn
            });
        }
        iterations.running -= 1;
        if iterations.running > 0 {
            return Ok(());
        }
        let (execution, emissions) = (iterations.execution, iterations.emissions.clone());
        self.complete_elements(frame, node, execution, emissions)
    }

    /// Notes the first live port of an execution and what left by it.
    fn note_emission(&mut self, node: NodeId, execution: usize, emission: &Emission) {
        if let Some((port, value)) = emission.first_key_value() {
            let name = self.graph.nodes[node].outputs[*port].clone();
            self.expected.executions[execution].emitted = Some((name, value.clone().leaving()));
        }
    }

    fn keep_logs(&mut self, node: &str, logs: Vec<(&'static str, String)>) {
        let logs = logs.into_iter().map(|(level, message)| Log {
            level,
            message,
            node: node.to_owned(),
        });
        self.expected.logs.extend(logs);
    }

    fn return_value(&mut self, node: &str, value: Js) {
        if self.expected.output.is_some() {
            self.keep_logs(node, vec![("warn", OPEN.to_string())]);
        } else {
            self.expected.output = Some(value.leaving());
        }
    }

    /// The node is done: its edges are settled, dead paths followed, and what became ready is queued.
    fn complete(
        &mut self,
        frame: FrameId,
        node: NodeId,
        execution: usize,
        emission: Emission,
    ) -> Result<(), Stop> {
        let emission = match self.graph.items {
            true => spread(emission),
            false => emission,
        };
        let emission: Emission = emission
            .into_iter()
            .map(|(port, value)| (port, value.leaving()))
            .collect();
        // A value that doubles in every iteration says nothing and takes long.
        let is_large = emission
            .values()
            .any(|value| value.stringify().len() > VALUE_BYTES_MAX);
        if is_large || self.expected.executions.len() > EXECUTIONS_MAX {
            return Err(Stop::Open);
        }
        self.note_emission(node, execution, &emission);
        if let Some(value) = emission.values().next() {
            let mut around = Some(frame);
            while let Some(frame) = around {
                self.frames[frame].outputs.insert(node, value.clone());
                around = self.frames[frame].parent;
            }
        }
        let mut ready = BTreeSet::new();
        self.settle(frame, node, &emission, &mut ready);
        self.queue.extend(ready.into_iter().map(|node| (frame, node)));
        self.end_if_settled(frame)
    }

    /// Settles the edges of a node that ran or is skipped. `ready` is in the order of the nodes array.
    fn settle(&mut self, frame: FrameId, node: NodeId, emission: &Emission, ready: &mut BTreeSet<NodeId>) {
        self.frames[frame].settled.insert(node);
        let item_port = self.graph.nodes[node].item_port();
        let edges = self
            .graph
            .outgoing(node)
            .filter(|edge| Some(edge.source_port) != item_port);
        for edge in edges.cloned().collect::<Vec<_>>() {
            self.settle_edge(frame, edge.index, emission.get(&edge.source_port).cloned(), ready);
        }
    }

    fn settle_edge(&mut self, frame: FrameId, edge: usize, value: Option<Js>, ready: &mut BTreeSet<NodeId>) {
        self.frames[frame].edges.insert(edge, value.clone());
        let edge = self.graph.edges[edge].clone();
        let target = &self.graph.nodes[edge.target];
        if Some(edge.target_port) == target.next_port() {
            return;
        }
        let state = &mut self.frames[frame];
        if state.queued.contains(&edge.target) {
            return;
        }
        let incoming: Vec<_> = self
            .graph
            .incoming(edge.target)
            .map(|edge| state.edges.get(&edge.index))
            .collect();
        let all_settled = incoming.iter().all(|edge| edge.is_some());
        let any_live = incoming.iter().any(|edge| matches!(edge, Some(Some(_))));
        if any_live && (all_settled || target.first) {
            state.queued.insert(edge.target);
            if let (true, Some(value)) = (target.first, value) {
                self.first_values
                    .insert((frame, edge.target), (edge.index, value));
            }
            ready.insert(edge.target);
        } else if all_settled && !any_live {
            self.settle(frame, edge.target, &Emission::new(), ready);
        }
    }

    fn end_if_settled(&mut self, frame: FrameId) -> Result<(), Stop> {
        let (Some(parent), Some(owner)) = (self.frames[frame].parent, self.frames[frame].owner) else {
            return Ok(());
        };
        let mut body = (0..self.graph.nodes.len()).filter(|n| self.graph.nodes[*n].scope == Some(owner));
        if !body.all(|node| self.frames[frame].settled.contains(&node)) {
            return Ok(());
        }
        let next_port = self.graph.nodes[owner].next_port();
        let returned = self
            .graph
            .edges
            .iter()
            .filter(|edge| edge.target == owner && Some(edge.target_port) == next_port);
        let mut values: Vec<Js> = returned
            .filter_map(|edge| self.frames[frame].edges.get(&edge.index).cloned().flatten())
            .collect();
        let value = if values.len() > 1 {
            Some(self.together(values))
        } else {
            values.pop()
        };
        if self.graph.nodes[owner].is_block {
            let emission: Emission = value.into_iter().map(|value| (0, value)).collect();
            let turn = self.turn(frame);
            let emission = match turn.has_item {
                true => emission,
                false => self.filled(parent, owner, emission),
            };
            return self.end_of_block(&turn, emission);
        }
        let index = self.frames[frame].index;
        let origins = brought_back(self, frame, owner);
        let iterations = self.loops.get_mut(&(parent, owner)).unwrap();
        if self.graph.nodes[owner].repeats {
            if let Some(value) = value {
                iterations.items = vec![value];
            }
            return self.repeat(parent, owner);
        }
        iterations.results[index] = value;
        iterations.origins[index] = origins;
        if iterations.next < iterations.items.len() {
            iterations.next += 1;
            let next = iterations.next - 1;
            return self.iterate(parent, owner, next);
        }
        iterations.running -= 1;
        if iterations.running == 0 {
            self.end_foreach(parent, owner)
        } else {
            Ok(())
        }
    }

    /// Starts an iteration: the loop's `item` port fires in a frame of its own.
    fn iterate(&mut self, frame: FrameId, node: NodeId, index: usize) -> Result<(), Stop> {
        let items = &self.loops[&(frame, node)].items;
        let item = if self.graph.nodes[node].repeats {
            items[0].clone()
        } else {
            items[index].clone()
        };
        let inner = self.new_frame(Some(&Turn {
            frame,
            node,
            index,
            has_item: true,
            attempt: 1,
            item: item.clone(),
        }));
        self.enter(inner, node, item, BTreeSet::new())
    }

    /// The port that leads into a body fires.
    fn enter(
        &mut self,
        inner: FrameId,
        node: NodeId,
        item: Js,
        mut ready: BTreeSet<NodeId>,
    ) -> Result<(), Stop> {
        let item_port = self.graph.nodes[node].item_port();
        let entries = self
            .graph
            .outgoing(node)
            .filter(|edge| Some(edge.source_port) == item_port);
        for edge in entries.map(|edge| edge.index).collect::<Vec<_>>() {
            self.settle_edge(inner, edge, Some(item.clone()), &mut ready);
        }
        self.queue.extend(ready.into_iter().map(|node| (inner, node)));
        self.end_if_settled(inner)
    }

    fn end_foreach(&mut self, frame: FrameId, node: NodeId) -> Result<(), Stop> {
        let iterations = self.loops.remove(&(frame, node)).unwrap();
        let count = iterations.results.len();
        if self.graph.items {
            let origins: Option<Vec<_>> = iterations.origins.into_iter().collect();
            let origins = origins.map(|origins| vec![origins.concat()]);
            self.frames[frame].origins.insert((node, 1), origins);
            let results = self.together(iterations.results.into_iter().flatten().collect());
            let emission = self.filled(frame, node, Emission::from([(1, results)]));
            return self.complete(frame, node, iterations.execution, emission);
        }
        if let Js::Array(input) = self.input(frame, node) {
            // Its items are those of its input if there are as many.
            let numbered = iterations.results.iter().enumerate();
            let live = numbered.filter(|(_, result)| result.is_some() && input.len() == count);
            let origins = live.map(|(index, _)| Some(index)).collect();
            self.frames[frame].origins.insert((node, 1), Some(vec![origins]));
        }
        let results = iterations.results.into_iter().flatten().collect();
        let emission = self.filled(frame, node, Emission::from([(1, Js::Array(results))]));
        self.complete(frame, node, iterations.execution, emission)
    }

    /// In the body of a ForEach whose batches are its input: the loop, and the element that one of the batch is there.
    pub fn out_of_batch(
        &self,
        frame: FrameId,
        source: NodeId,
        element: Option<usize>,
    ) -> Option<(FrameId, NodeId, usize)> {
        let (parent, owner) = (self.frames[frame].parent?, self.frames[frame].owner?);
        let (index, element) = (self.frames[frame].index, element?);
        let node = &self.graph.nodes[owner];
        if source != owner || node.is_block || node.repeats {
            return None;
        }
        let items = &self.loops.get(&(parent, owner))?.items;
        let batches = items.iter().map(|batch| match batch {
            Js::Array(elements) => Some(elements),
            _ => None,
        });
        let batches: Vec<&Vec<Js>> = batches.collect::<Option<_>>()?;
        let Js::Array(input) = self.input(parent, owner) else {
            return None;
        };
        let count = |batches: &[&Vec<Js>]| batches.iter().map(|batch| batch.len()).sum::<usize>();
        let at = count(&batches[..index]) + element;
        let is_input = count(&batches) == input.len() && batches[index].get(element)? == input.get(at)?;
        is_input.then_some((parent, owner, at))
    }

    /// Loop: checks the condition before each iteration.
    fn repeat(&mut self, frame: FrameId, node: NodeId) -> Result<(), Stop> {
        let iterations = &self.loops[&(frame, node)];
        let (value, index, execution) = (iterations.items[0].clone(), iterations.next, iterations.execution);
        let flat = &self.graph.nodes[node];
        let Work::Kind(crate::graph::Kind::Loop {
            condition,
            iterations_max,
        }) = flat.work
        else {
            unreachable!("only a Loop repeats")
        };
        let names = Bindings::new(self, frame, node, value.clone()).for_item(value.clone(), index);
        let goes_on = match condition.evaluate(&names) {
            Ok(holds) => holds.truthy() && index < *iterations_max,
            Err(Stop::Open) => return Err(Stop::Open),
            Err(Stop::Throws | Stop::Unpaired) => {
                return self.fail(frame, node, execution, &Failure::expression());
            }
        };
        if !goes_on {
            self.loops.remove(&(frame, node));
            let emission = self.filled(frame, node, Emission::from([(1, value)]));
            return self.complete(frame, node, execution, emission);
        }
        self.loops.get_mut(&(frame, node)).unwrap().next += 1;
        self.iterate(frame, node, index)
    }

    /// What several edges have brought.
    fn together(&self, values: Vec<Js>) -> Js {
        match self.graph.items {
            true => joined(values),
            false => Js::Array(values),
        }
    }

    /// What a node works on: `once` leaves of each list that comes by a port only the first item.
    fn input(&self, frame: FrameId, node: NodeId) -> Js {
        let flat = &self.graph.nodes[node];
        let first = |value: Js| match value {
            Js::Array(items) => Js::Array(items.into_iter().take(1).collect()),
            other => other,
        };
        let wired: BTreeSet<usize> = self.graph.incoming(node).map(|edge| edge.target_port).collect();
        match self.input_of_all(frame, node) {
            input if !flat.once => input,
            Js::Object(ports) if wired.len() > 1 => Js::Object(
                ports
                    .into_iter()
                    .map(|(port, value)| (port, first(value)))
                    .collect(),
            ),
            input => first(input),
        }
    }

    /// The value of the only wired port, or an object by port name.
    fn input_of_all(&self, frame: FrameId, node: NodeId) -> Js {
        let flat = &self.graph.nodes[node];
        if let Some((_, value)) = self.first_values.get(&(frame, node)) {
            return if flat.collects {
                Js::Array(vec![value.clone()])
            } else {
                value.clone()
            };
        }
        let wired: BTreeSet<usize> = self.graph.incoming(node).map(|edge| edge.target_port).collect();
        // Where lists of items travel, a Merge gets one for each edge, dead or not, and so does one of several ports.
        let keeps_places = self.graph.items && (flat.collects || wired.len() > 1);
        let value_of = |port: usize| {
            let edges = self.graph.incoming(node).filter(|edge| edge.target_port == port);
            let none = || keeps_places.then(|| Js::Array(Vec::new()));
            let mut values: Vec<Js> = edges
                .filter_map(|edge| {
                    let brought = self.frames[frame].edges.get(&edge.index).cloned().flatten();
                    brought.or_else(none)
                })
                .collect();
            if flat.collects {
                Some(Js::Array(values))
            } else if values.len() > 1 {
                Some(self.together(values))
            } else {
                values.pop()
            }
        };
        if wired.len() == 1 {
            return value_of(*wired.first().unwrap()).unwrap_or(Js::Undefined);
        }
        let fields = wired
            .into_iter()
            .filter_map(|port| Some((flat.inputs[port].clone(), value_of(port)?)));
        Js::Object(fields.collect())
    }
}
