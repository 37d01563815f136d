//! Edges settle, dead paths are followed, nodes become ready.

use super::frames::{EdgeState, Place, Progress, ROOT, Turn};
use super::run::State;
use heddle_contract::plan::{NONE, NodeKind};
use heddle_values::Value;

impl State<'_> {
    /// Opens the run's frame: `trigger` is ready, other nodes without incoming edges are skipped.
    pub(super) fn begin_root(&mut self, trigger: u32) {
        let root = self.frames.open(self.plan, 0);
        self.skip_sources(root, trigger);
        self.follow_dead(root);
        self.queue_ready(root);
    }

    /// Opens a frame for an execution of a node's body and settles the edges from its `item` port.
    pub(super) fn begin_turn(&mut self, loop_run: u32, place: Place, turn: Turn, item: Value) {
        let node = self.plan.node(place.node);
        let scope = node.body().unwrap_or(NONE);
        let frame = self.frames.open(self.plan, scope);
        if let Some(opened) = self.frames.get_mut(frame) {
            opened.parent = place.frame;
            opened.loop_run = loop_run;
            opened.loop_node = place.node;
            opened.turn = turn;
            opened.item = item.clone();
        }
        let entering = match node.items() && node.kind() == NodeKind::Composite && turn.has_item {
            true => Value::from(vec![item]),
            false => item,
        };
        for edge in self.plan.scope(scope).entries().iter() {
            self.settle_edge(frame, edge, Some(&entering));
        }
        self.skip_sources(frame, NONE);
        self.follow_dead(frame);
        self.queue_ready(frame);
    }

    /// A node has executed: its values leave by their ports.
    pub(super) fn complete(&mut self, place: Place, emitted: Vec<(u32, Value)>) {
        let node = self.plan.node(place.node);
        for index in node.outgoing().iter() {
            let port = self.plan.edge(index).source_port;
            let value = emitted.iter().find(|(at, _)| *at == port).map(|(_, value)| value);
            self.settle_edge(place.frame, index, value);
        }
        if let Some(frame) = self.frames.get_mut(place.frame) {
            frame.unsettled = frame.unsettled.saturating_sub(1);
            if let Some(state) = frame.nodes.get_mut(node.local() as usize) {
                state.progress = Progress::Done;
                state.emitted = emitted;
            }
        }
        if place.frame != ROOT && node.seen_outside() {
            self.frames.tell_outside(place.frame, node);
        }
        self.follow_dead(place.frame);
        self.queue_ready(place.frame);
    }

    fn skip_sources(&mut self, frame: u32, trigger: u32) {
        let Some(opened) = self.frames.get_mut(frame) else {
            return;
        };
        let nodes = self.plan.scope(opened.scope).nodes();
        for (local, state) in opened.nodes.iter_mut().enumerate() {
            let node = nodes.get(local);
            if node == trigger {
                state.progress = Progress::Started;
                self.newly_ready.push(node);
            } else if state.pending == 0 && state.progress == Progress::Idle {
                state.progress = Progress::Skipped;
                self.dead.push(node);
            }
        }
    }

    fn settle_edge(&mut self, frame_index: u32, edge: u32, value: Option<&Value>) {
        let (scope, local) = self.plan.edge_place(edge);
        let Some(frame) = self.frames.get_mut(frame_index) else {
            return;
        };
        let Some(slot @ EdgeState::Pending) = frame.edges.get_mut(local as usize) else {
            return;
        };
        if scope != frame.scope {
            return;
        }
        *slot = value.map_or(EdgeState::Dead, |value| EdgeState::Live(value.clone()));
        let target = self.plan.edge(edge).target;
        let node = self.plan.node(target);
        // An edge back to the loop: read when the iteration ends.
        if node.scope() != scope {
            return;
        }
        let Some(state) = frame.nodes.get_mut(node.local() as usize) else {
            return;
        };
        state.pending = state.pending.saturating_sub(1);
        state.live |= value.is_some();
        if state.progress != Progress::Idle {
            return;
        }
        if value.is_some() && node.first() {
            state.chosen = Some(edge);
        } else if state.pending > 0 {
            return;
        }
        if state.live {
            state.progress = Progress::Started;
            self.newly_ready.push(target);
        } else {
            state.progress = Progress::Skipped;
            self.dead.push(target);
        }
    }

    fn follow_dead(&mut self, frame_index: u32) {
        while let Some(node) = self.dead.pop() {
            for edge in self.plan.node(node).outgoing().iter() {
                self.settle_edge(frame_index, edge, None);
            }
            if let Some(frame) = self.frames.get_mut(frame_index) {
                frame.unsettled = frame.unsettled.saturating_sub(1);
            }
        }
        if frame_index != ROOT
            && self
                .frames
                .get(frame_index)
                .is_some_and(|frame| frame.unsettled == 0)
        {
            self.ended.push_back(frame_index);
        }
    }

    fn queue_ready(&mut self, frame: u32) {
        if self.newly_ready.len() > 1 {
            self.newly_ready.sort_unstable();
        }
        self.ready
            .extend(self.newly_ready.drain(..).map(|node| Place { frame, node }));
    }
}
