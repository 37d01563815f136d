//! The reference: what a run of a graph must give, computed in the simplest way.
//!
//! Written from the documents, not from the run loop that it checks, and shares no code with it.

use crate::expression::Stop;
use crate::flat::{FlatGraph, Work, flatten};
use crate::graph::{Case, OnError};
use crate::js::{Js, OPEN};
use crate::names::Surroundings;
use crate::nodes::{Failure, Outcome, execute};
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
type Emission = BTreeMap<usize, Js>;

/// One execution of the graph or of a loop's body.
pub struct Frame {
    pub parent: Option<FrameId>,
    /// The loop, when this is an iteration.
    pub owner: Option<NodeId>,
    pub index: usize,
    pub item: Js,
    path: String,
    /// Edges by index: the value of a live one, `None` for a dead one.
    pub edges: HashMap<usize, Option<Js>>,
    queued: HashSet<NodeId>,
    settled: HashSet<NodeId>,
    /// What nodes last emitted: the frame's own and those of the frames within it.
    pub outputs: HashMap<NodeId, Js>,
    pub error: Option<Js>,
    /// For output ports of nodes with `each`: the index of the element that each of theirs came from.
    pub origins: HashMap<(NodeId, usize), Vec<usize>>,
}

/// A loop that is under way.
struct Iterations {
    items: Vec<Js>,
    next: usize,
    running: usize,
    results: Vec<Option<Js>>,
    execution: usize,
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
    pub frames: Vec<Frame>,
    queue: VecDeque<(FrameId, NodeId)>,
    /// The node that waits for its next attempt: cases have at most one.
    waiting: Option<Attempt>,
    loops: HashMap<(FrameId, NodeId), Iterations>,
    /// Value of a Merge in mode `first`: that of the edge that made it ready.
    first_values: HashMap<(FrameId, NodeId), Js>,
    expected: Expected,
}

/// What the run of a case must give; `None` when the documents leave it open.
pub fn evaluate(case: &Case) -> Option<Expected> {
    let graph = flatten(case);
    let mut run = Run {
        event: Js::from_json(&case.event),
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
            run.run_node(frame, node).ok()?;
        } else if let Some(attempt) = run.waiting.take() {
            run.attempt(attempt).ok()?;
        } else {
            break;
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
        let frame = self.new_frame(None, None, 0, Js::Undefined);
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

    fn new_frame(
        &mut self,
        parent: Option<FrameId>,
        owner: Option<NodeId>,
        index: usize,
        item: Js,
    ) -> FrameId {
        let path = match (parent, owner) {
            (Some(parent), Some(owner)) => {
                let outer = &self.frames[parent].path;
                let dot = if outer.is_empty() { "" } else { "." };
                format!("{outer}{dot}{}[{index}]", self.graph.nodes[owner].id)
            }
            _ => String::new(),
        };
        self.frames.push(Frame {
            parent,
            owner,
            index,
            item,
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
        let names = Surroundings::new(self, frame, node, input.clone());
        let mut logs = Vec::new();
        let outcome = execute(kind, &self.graph, &names, &mut logs);
        self.keep_logs(&flat.id, logs);
        match outcome? {
            Ok(Outcome::Emit(emission)) => self.complete(frame, node, execution, emission),
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
                    results,
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
                    self.waiting = Some(next);
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
        let mut ports: BTreeMap<usize, Vec<Js>> = BTreeMap::new();
        if elements.is_empty() {
            ports.insert(0, Vec::new());
        }
        for (index, element) in elements.into_iter().enumerate() {
            let path = format!("{}#{index}", self.frames[frame].path);
            let own = self.begin(node, path);
            let names = Surroundings::new(self, frame, node, element.clone()).for_element(element, index);
            let mut logs = Vec::new();
            let outcome = execute(kind, &self.graph, &names, &mut logs);
            self.keep_logs(&flat.id, logs);
            let emission = match outcome? {
                Ok(Outcome::Emit(emission)) => {
                    self.note_emission(node, own, &emission);
                    emission
                }
                Ok(_) => return Err(Stop::Open),
                Err(failure) => {
                    // Nothing changes between attempts, so each fails as the first did.
                    for _ in 1..flat.attempts {
                        self.keep_logs(&flat.id, vec![("warn", OPEN.to_string())]);
                    }
                    match self.catch(frame, node, own, &failure) {
                        Some(emission) => emission,
                        None => return Ok(()),
                    }
                }
            };
            for (port, value) in emission {
                self.frames[frame]
                    .origins
                    .entry((node, port))
                    .or_default()
                    .push(index);
                ports.entry(port).or_default().push(value);
            }
        }
        let emission = ports
            .into_iter()
            .map(|(port, values)| (port, Js::Array(values)))
            .collect();
        self.complete(frame, node, execution, emission)
    }

    fn fail(
        &mut self,
        frame: FrameId,
        node: NodeId,
        execution: usize,
        failure: &Failure,
    ) -> Result<(), Stop> {
        match self.catch(frame, node, execution, failure) {
            Some(emission) => self.complete(frame, node, execution, emission),
            None => Ok(()),
        }
    }

    /// What a failure makes leave the node, or `None` when it ends the run.
    fn catch(
        &mut self,
        frame: FrameId,
        node: NodeId,
        execution: usize,
        failure: &Failure,
    ) -> Option<Emission> {
        let flat = &self.graph.nodes[node];
        let error = failure.value(&flat.id);
        self.expected.executions[execution].error = Some(error.clone());
        let port = match flat.on_error {
            OnError::Fail => {
                self.expected.error = Some((failure.code.clone(), flat.id.clone()));
                return None;
            }
            OnError::Continue => usize::from(flat.is_loop),
            OnError::Branch => flat.outputs.len() - 1,
        };
        self.frames[frame].error = Some(error.clone());
        let value = Js::object([("error", error)]);
        Some(if port < flat.outputs.len() {
            Emission::from([(port, value)])
        } else {
            Emission::new()
        })
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
        let is_loop = self.graph.nodes[node].is_loop;
        let edges = self
            .graph
            .outgoing(node)
            .filter(|edge| !(is_loop && edge.source_port == 0));
        for edge in edges.cloned().collect::<Vec<_>>() {
            self.settle_edge(frame, edge.index, emission.get(&edge.source_port).cloned(), ready);
        }
    }

    fn settle_edge(&mut self, frame: FrameId, edge: usize, value: Option<Js>, ready: &mut BTreeSet<NodeId>) {
        self.frames[frame].edges.insert(edge, value.clone());
        let edge = self.graph.edges[edge].clone();
        let target = &self.graph.nodes[edge.target];
        if target.is_loop && edge.target_port == 1 {
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
                self.first_values.insert((frame, edge.target), value);
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
        let returned = self
            .graph
            .edges
            .iter()
            .filter(|edge| edge.target == owner && edge.target_port == 1);
        let mut values: Vec<Js> = returned
            .filter_map(|edge| self.frames[frame].edges.get(&edge.index).cloned().flatten())
            .collect();
        let value = if values.len() > 1 {
            Some(Js::Array(values))
        } else {
            values.pop()
        };
        let index = self.frames[frame].index;
        let iterations = self.loops.get_mut(&(parent, owner)).unwrap();
        if self.graph.nodes[owner].repeats {
            if let Some(value) = value {
                iterations.items = vec![value];
            }
            return self.repeat(parent, owner);
        }
        iterations.results[index] = value;
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
        let inner = self.new_frame(Some(frame), Some(node), index, item.clone());
        let mut ready = BTreeSet::new();
        let entries = self.graph.outgoing(node).filter(|edge| edge.source_port == 0);
        for edge in entries.map(|edge| edge.index).collect::<Vec<_>>() {
            self.settle_edge(inner, edge, Some(item.clone()), &mut ready);
        }
        self.queue.extend(ready.into_iter().map(|node| (inner, node)));
        self.end_if_settled(inner)
    }

    fn end_foreach(&mut self, frame: FrameId, node: NodeId) -> Result<(), Stop> {
        let iterations = self.loops.remove(&(frame, node)).unwrap();
        let results = iterations.results.into_iter().flatten().collect();
        self.complete(
            frame,
            node,
            iterations.execution,
            Emission::from([(1, Js::Array(results))]),
        )
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
        let names = Surroundings::new(self, frame, node, value.clone()).for_item(value.clone(), index);
        let goes_on = match condition.evaluate(&names) {
            Ok(holds) => holds.truthy() && index < *iterations_max,
            Err(Stop::Open) => return Err(Stop::Open),
            Err(Stop::Throws) => return self.fail(frame, node, execution, &Failure::expression()),
        };
        if !goes_on {
            self.loops.remove(&(frame, node));
            return self.complete(frame, node, execution, Emission::from([(1, value)]));
        }
        self.loops.get_mut(&(frame, node)).unwrap().next += 1;
        self.iterate(frame, node, index)
    }

    /// `$input`: the value of the only wired port, or an object by port name.
    fn input(&self, frame: FrameId, node: NodeId) -> Js {
        let flat = &self.graph.nodes[node];
        if let Some(value) = self.first_values.get(&(frame, node)) {
            return if flat.collects {
                Js::Array(vec![value.clone()])
            } else {
                value.clone()
            };
        }
        let wired: BTreeSet<usize> = self.graph.incoming(node).map(|edge| edge.target_port).collect();
        let value_of = |port: usize| {
            let edges = self.graph.incoming(node).filter(|edge| edge.target_port == port);
            let mut values: Vec<Js> = edges
                .filter_map(|edge| self.frames[frame].edges.get(&edge.index).cloned().flatten())
                .collect();
            if values.len() > 1 || flat.collects {
                Some(Js::Array(values))
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
