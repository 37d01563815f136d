//! Frames: one execution of a scope each, with the state of its edges and nodes.
//!
//! A frame is two short arrays indexed by the plan's `local` numbers. Frames that have ended are used again with
//! their allocations.

use crate::node::Origins;
use heddle_contract::plan::{NONE, NodeView, View};
use heddle_values::Value;

/// The run's own frame.
pub(super) const ROOT: u32 = 0;

/// A node in a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub frame: u32,
    pub node: u32,
}

/// State of an edge.
#[derive(Clone, Debug, Default)]
pub(super) enum EdgeState {
    /// Its source has not settled.
    #[default]
    Pending,
    /// Its source did not fire that port.
    Dead,
    /// It delivered a value.
    Live(Value),
}

/// Progress of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Progress {
    /// Not all incoming edges have settled.
    #[default]
    Idle,
    /// Queued, executing or waiting.
    Started,
    /// Has executed.
    Done,
    /// All incoming edges were dead.
    Skipped,
}

/// State of a node.
#[derive(Debug, Default)]
pub(super) struct NodeState {
    /// Incoming edges that have not settled.
    pub pending: u32,
    /// Whether a live edge ended here.
    pub live: bool,
    /// Progress.
    pub progress: Progress,
    /// Plan index of the edge that made a `first` node ready.
    pub chosen: Option<u32>,
    /// What left, by port.
    pub emitted: Vec<(u32, Value)>,
    /// By port: where its elements came from, as far as the node has told.
    pub lineage: Vec<(u32, Origins)>,
}

impl NodeState {
    /// Value of the first live port.
    pub fn first_value(&self) -> Option<&Value> {
        self.emitted
            .iter()
            .min_by_key(|(port, _)| *port)
            .map(|(_, value)| value)
    }
}

/// Which execution of a body a frame is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Turn {
    /// Number of the iteration or element.
    pub index: u32,
    /// Whether it is about an item: an iteration, or an element of a composite with `each`.
    pub has_item: bool,
    /// Of a composite, from 1.
    pub attempt: u32,
}

impl Turn {
    /// The first attempt on an item.
    pub fn of_item(index: u32) -> Self {
        Turn {
            index,
            has_item: true,
            attempt: 1,
        }
    }
}

/// One execution of a scope.
#[derive(Debug, Default)]
pub(super) struct Frame {
    /// `NONE` once it is closed.
    pub scope: u32,
    /// Enclosing frame; `NONE` for the root.
    pub parent: u32,
    /// The loop's or composite's place in the arena of loops; `NONE` for the root.
    pub loop_run: u32,
    /// The loop or composite; `NONE` for the root.
    pub loop_node: u32,
    pub turn: Turn,
    /// What entered the body: `$item`, if it is one.
    pub item: Value,
    pub edges: Vec<EdgeState>,
    pub nodes: Vec<NodeState>,
    /// Nodes that have not settled.
    pub unsettled: u32,
    /// `$error` and when it was emitted.
    pub error: Option<(u64, Value)>,
    /// What nodes in frames within last emitted, by plan index, if nodes outside of their bodies read it.
    pub inner: Vec<(u32, Value)>,
}

/// All frames. An index stays valid until the frame is closed.
#[derive(Debug, Default)]
pub(super) struct Frames {
    frames: Vec<Frame>,
    free: Vec<u32>,
}

impl Frames {
    /// A frame of `scope` with nothing settled.
    pub fn open(&mut self, plan: View<'_>, scope: u32) -> u32 {
        let index = self.free.pop().unwrap_or_else(|| {
            self.frames.push(Frame::default());
            self.frames.len() as u32 - 1
        });
        let view = plan.scope(scope);
        let frame = &mut self.frames[index as usize];
        frame.scope = scope;
        (frame.parent, frame.loop_run, frame.loop_node) = (NONE, NONE, NONE);
        frame.turn = Turn::default();
        let edges = view.edge_count().min(plan.edge_count());
        frame.edges.resize(edges as usize, EdgeState::Pending);
        let nodes = view.nodes();
        let count = (nodes.len() as u32).min(plan.node_count());
        frame.unsettled = count;
        frame
            .nodes
            .extend(nodes.iter().take(count as usize).map(|node| NodeState {
                pending: plan.node(node).incoming().len() as u32,
                ..NodeState::default()
            }));
        index
    }

    /// Frees a frame.
    pub fn close(&mut self, index: u32) {
        let Some(frame) = self.frames.get_mut(index as usize) else {
            return;
        };
        (frame.scope, frame.parent) = (NONE, NONE);
        (frame.loop_run, frame.loop_node) = (NONE, NONE);
        frame.edges.clear();
        frame.nodes.clear();
        frame.inner.clear();
        frame.item = Value::Undefined;
        frame.error = None;
        self.free.push(index);
    }

    pub fn get(&self, index: u32) -> Option<&Frame> {
        self.frames.get(index as usize)
    }

    pub fn get_mut(&mut self, index: u32) -> Option<&mut Frame> {
        self.frames.get_mut(index as usize)
    }

    /// The frame and those around it, innermost first.
    pub fn chain(&self, index: u32) -> impl Iterator<Item = &Frame> {
        self.indexes(index).filter_map(|index| self.get(index))
    }

    /// Their indexes. In a run of a plan that does not fit together they might go round in a circle.
    pub fn indexes(&self, index: u32) -> impl Iterator<Item = u32> {
        let around = |index: &u32| self.get(*index).map(|frame| frame.parent);
        std::iter::successors(Some(index), around)
            .take_while(|index| *index != NONE)
            .take(self.frames.len())
    }

    /// The open frames within a frame, itself included, in the order of their indexes.
    pub fn within(&self, outer: u32) -> Vec<u32> {
        let open = |index: &u32| self.get(*index).is_some_and(|frame| frame.scope != NONE);
        (0..self.frames.len() as u32)
            .filter(open)
            .filter(|index| self.indexes(*index).any(|index| index == outer))
            .collect()
    }

    /// A node in a frame has emitted what nodes outside of its body read.
    pub fn tell_outside(&mut self, index: u32, node: NodeView<'_>) {
        let state = self
            .get(index)
            .and_then(|frame| frame.nodes.get(node.local() as usize));
        let Some(value) = state.and_then(NodeState::first_value).cloned() else {
            return;
        };
        let around: Vec<u32> = self.indexes(index).skip(1).collect();
        for index in around {
            let Some(frame) = self.get_mut(index) else { return };
            match frame.inner.iter_mut().find(|(inner, _)| *inner == node.index) {
                Some((_, last)) => last.clone_from(&value),
                None => frame.inner.push((node.index, value.clone())),
            }
        }
    }
}
