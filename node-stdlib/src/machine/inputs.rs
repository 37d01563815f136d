//! What a node gets: the values that live edges have brought, and of their lists with `once` the first item.

use super::frames::{EdgeState, Place};
use super::run::State;
use super::spread::joined;
use heddle_values::{Array, Object, Value};

impl State<'_> {
    /// `$input` of a node that is about to execute.
    pub(super) fn input_of(&self, place: Place) -> Value {
        let node = self.plan.node(place.node);
        let incoming = node.incoming();
        if incoming.is_empty() {
            return Value::Undefined;
        }
        if incoming.len() == 1 && !node.collect() {
            let value = self.live_value(place.frame, incoming.get(0)).unwrap_or_default();
            return if node.once() { first_of(value) } else { value };
        }
        let port = self.plan.edge(incoming.get(0)).target_port;
        if incoming
            .iter()
            .all(|edge| self.plan.edge(edge).target_port == port)
        {
            return self.port_value(place, port).unwrap_or_default();
        }
        let mut object = Object::new();
        for (port, name) in node.inputs().enumerate() {
            if let Some(value) = self.port_value(place, port as u32) {
                object.insert(name, value);
            }
        }
        Value::Object(object)
    }

    /// What an edge brought, if it is live.
    fn live_value(&self, frame: u32, edge: u32) -> Option<Value> {
        let edges = &self.frames.get(frame)?.edges;
        match edges.get(self.plan.edge_place(edge).1 as usize)? {
            EdgeState::Live(value) => Some(value.clone()),
            _ => None,
        }
    }

    /// What live edges brought to an input port.
    pub(super) fn port_value(&self, place: Place, port: u32) -> Option<Value> {
        let node = self.plan.node(place.node);
        let frame = self.frames.get(place.frame)?;
        let chosen = frame.nodes.get(node.local() as usize)?.chosen;
        let edges = node
            .incoming()
            .iter()
            .filter(|edge| chosen.is_none_or(|chosen| chosen == *edge));
        // In a graph of items, a Merge tells its lists apart by their places, and others by their ports: they get empty ones as well.
        let has_others = || {
            node.incoming()
                .iter()
                .any(|edge| self.plan.edge(edge).target_port != port)
        };
        let keeps_places = node.items() && (node.collect() || has_others());
        let none = || keeps_places.then(|| Value::from(Vec::new()));
        let mut live = edges
            .filter(|edge| self.plan.edge(*edge).target_port == port)
            .filter_map(|edge| self.live_value(place.frame, edge).or_else(none));
        let first = live.next()?;
        let value = match (live.next(), node.collect()) {
            (None, false) => first,
            (second, false) if node.items() => joined([first].into_iter().chain(second).chain(live)),
            (second, _) => Value::Array([first].into_iter().chain(second).chain(live).collect::<Array>()),
        };
        Some(if node.once() { first_of(value) } else { value })
    }
}

/// A list without what comes after its first item.
fn first_of(value: Value) -> Value {
    match value {
        Value::Array(items) if items.len() > 1 => Value::Array(items.first().cloned().into_iter().collect()),
        other => other,
    }
}
