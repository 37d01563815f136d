//! `$("Label").item`: an element is followed back, edge by edge, to the element of another node's output that it comes from.
//!
//! What a node says of its elements' origins counts (`NodeState::lineage`). Without that, one input item pairs with all that
//! came of it, and equal counts pair by place. With `once`, the first item is the only one. Nothing is kept for it while
//! nodes execute but what a few nodes say.

use super::frames::{EdgeState, Frame, Place};
use super::run::{Outside, Run, State};
use super::spread::count;
use crate::failure::Failure;
use crate::node::Origins;
use heddle_contract::abi::code;
use heddle_contract::plan::{Edge, NONE, NodeView};
use heddle_values::{Array, Value};

/// An element of a value, or (`None`) the value as a whole.
type Element = Option<u32>;

/// A live edge, what it brought, and the element of that which is followed.
struct Way<'s> {
    edge: Edge,
    value: &'s Value,
    element: Element,
}

/// What a way back has led to.
enum Found {
    /// The element that was looked for.
    Element(Value),
    /// An element of the input of the loop around.
    Around(Place, u32),
}

/// How many ways back are looked at, for each node of the frame.
const WAYS_FOR_NODE: usize = 8;

impl<O: Outside> Run<'_, O> {
    /// `$("Label").item`: the element of the node's output that the current element comes from.
    pub fn node_item(&self, node: u32) -> Result<Value, Failure> {
        let state = self.state.borrow();
        let place = state.current.job.place;
        let output = state.output_seen_from(place.frame, node);
        let Value::Array(elements) = &output else {
            return Ok(output);
        };
        let found = state
            .current_element()
            .and_then(|element| state.element_of(place, element, node));
        let found = found.or_else(|| state.iteration_item(place.frame, node, &output));
        let only = || match &elements[..] {
            [only] => Some(only.clone()),
            _ => None,
        };
        found.or_else(only).ok_or_else(|| {
            let message = format!(
                "`.item` can't tell which of the {1} elements of the output of `{0}` belongs here: on the way from `{0}`, \
                 elements were mixed or made anew. Use `each` or a ForEach on the way, or name the element by its index",
                self.plan.node(node).id(),
                elements.len()
            );
            Failure::new(code::EXPRESSION, message)
        })
    }

    /// A node tells where the elements that leave by a port come from. It counts only if `items` are its input's own.
    pub(super) fn keep_origins(&self, port: u32, items: &Array, origins: Vec<u32>) {
        let mut state = self.state.borrow_mut();
        let current = &mut state.current;
        let Value::Array(input) = &current.job.input else {
            // All elements are of the one item that came.
            return;
        };
        // Elements of something else are not those of the input, even if there are as many.
        let origins = if is_same(input, items) {
            origins
        } else {
            Vec::new()
        };
        current.origins.push((port, vec![origins]));
    }

    /// The same of a node to which several edges have brought lists.
    pub(super) fn keep_origins_of_several(&self, port: u32, origins: Origins) {
        self.state.borrow_mut().current.origins.push((port, origins));
    }
}

/// Whether both are the same array and not only equal ones.
fn is_same(first: &[Value], second: &[Value]) -> bool {
    std::ptr::eq(first, second)
}

impl State<'_> {
    /// What the current execution is about: an element of `each`, or the one for which a parameter is evaluated, or the whole
    /// input if that is no list.
    fn current_element(&self) -> Option<Element> {
        let current = &self.current;
        if let Some((_, element)) = current.job.element {
            return Some(Some(element));
        }
        match (&current.job.input, &current.item) {
            (Value::Array(elements), Some((item, index))) => {
                let is_own = elements
                    .get(*index)
                    .is_some_and(|element| element.deep_equal(item));
                is_own.then_some(Some(u32::try_from(*index).ok()?))
            }
            (Value::Array(elements), None) => {
                // With `once` it is about the only one that is left; in a graph of items, any value comes as a list.
                let node = self.plan.node(current.job.place.node);
                let is_one = elements.len() == 1 && (node.once() || node.items());
                is_one.then_some(Some(0))
            }
            _ => Some(None),
        }
    }

    /// Follows an element of a node's input back to an element of `target`'s output.
    fn element_of(&self, place: Place, element: Element, target: u32) -> Option<Value> {
        let frame = self.frames.get(place.frame)?;
        let open = self.ways_into(frame, place.node, element);
        let found = self.follow(frame, open, |way| {
            if way.edge.source == target {
                match (way.value, way.element) {
                    (Value::Array(elements), Some(element)) => {
                        return Some(elements.get(element as usize).cloned().map(Found::Element));
                    }
                    (Value::Array(_), None) => {}
                    (single, _) => return Some(Some(Found::Element(single.clone()))),
                }
            }
            let (around, element) = self.out_of_batch(frame, way)?;
            Some(Some(Found::Around(around, element)))
        });
        match found?? {
            Found::Element(element) => Some(element),
            Found::Around(around, element) => self.element_of(around, Some(element), target),
        }
    }

    /// Which element of the loop's input each item comes from that a batch in a graph of items has brought back; `NONE`: nobody knows.
    pub(super) fn origins_of_returned(&self, frame: &Frame) -> Vec<u32> {
        let Some(looped) = self.loops.get(frame.loop_run) else {
            return Vec::new();
        };
        if !self.plan.node(frame.loop_node).items() || looped.item_count().is_none() {
            return Vec::new();
        }
        let only = looped.place_of_only(frame.turn.index);
        let mut origins = Vec::new();
        for (edge, value) in self.live_returns(frame) {
            let edge = self.plan.edge(edge);
            let places = 0..u32::try_from(count(&value)).unwrap_or(0);
            origins.extend(places.map(|place| {
                let origin = || {
                    let way = Way::new(edge, &value, Some(place));
                    self.follow(frame, vec![way], |way| {
                        self.out_of_batch(frame, way).map(|(_, element)| element)
                    })
                };
                only.or_else(origin).unwrap_or(NONE)
            }));
        }
        origins
    }

    /// Follows ways back within a frame, until one of them gives something.
    fn follow<'s, T>(
        &'s self,
        frame: &'s Frame,
        mut open: Vec<Way<'s>>,
        mut found: impl FnMut(&Way<'s>) -> Option<T>,
    ) -> Option<T> {
        let ways_max = frame.nodes.len().saturating_mul(WAYS_FOR_NODE);
        let mut seen = Vec::new();
        // The first edge is looked at first.
        open.reverse();
        while let Some(way) = open.pop() {
            if let Some(found) = found(&way) {
                return Some(found);
            }
            let step = (way.edge.source, way.edge.source_port, way.element);
            // What a body gets comes from a node around it.
            let is_here = self.plan.node(way.edge.source).scope() == frame.scope;
            if is_here && seen.len() < ways_max && !seen.contains(&step) {
                seen.push(step);
                open.extend(self.before(frame, &way).into_iter().rev());
            }
        }
        None
    }

    /// In the body of a ForEach with `batchSize`: the loop, and the element of its input that an element of the batch is.
    fn out_of_batch(&self, frame: &Frame, way: &Way<'_>) -> Option<(Place, u32)> {
        if way.edge.source != frame.loop_node {
            return None;
        }
        let looped = self.loops.get(frame.loop_run)?;
        let element = looped.place_of_batched(frame.turn.index, way.element?)?;
        let around = Place {
            frame: frame.parent,
            node: frame.loop_node,
        };
        Some((around, element))
    }

    /// The ways by which an element of a node's input has come.
    fn ways_into<'s>(&self, frame: &'s Frame, node: u32, element: Element) -> Vec<Way<'s>> {
        let live = self.live_edges(frame, node);
        let is_one_port = live
            .windows(2)
            .all(|two| matches!(two, [(a, _), (b, _)] if a.target_port == b.target_port));
        let view = self.plan.node(node);
        let collects = view.collect();
        match (&live[..], element) {
            ([(edge, value)], _) if !collects => vec![Way::new(*edge, value, element)],
            // The value of a port is all that its edges have brought, one list after the other.
            (_, Some(place)) if is_one_port && !collects && view.items() => {
                way_of_joined(&live, place).into_iter().collect()
            }
            // The value of a port is the list of what its edges have brought.
            (_, Some(place)) if is_one_port && !collects => {
                let way = live.get(place as usize);
                way.map(|(edge, value)| Way::new(*edge, value, None))
                    .into_iter()
                    .collect()
            }
            (_, None) => live
                .iter()
                .map(|(edge, value)| Way::new(*edge, value, None))
                .collect(),
            _ => Vec::new(),
        }
    }

    /// The ways into a node by which what has left it had come.
    fn before<'s>(&self, frame: &'s Frame, way: &Way<'_>) -> Vec<Way<'s>> {
        let node = self.plan.node(way.edge.source);
        let Some(state) = frame.nodes.get(node.local() as usize) else {
            return Vec::new();
        };
        let told = state
            .lineage
            .iter()
            .find(|(port, _)| *port == way.edge.source_port);
        let Some((_, origins)) = told else {
            let live = self.live_edges(frame, node.index);
            return match element_before(way, &live, node) {
                Some(element) => self.ways_into(frame, node.index, element),
                None => Vec::new(),
            };
        };
        let Some(element) = way.element else {
            return Vec::new();
        };
        let origin = |list: &Vec<u32>| list.get(element as usize).copied().filter(|at| *at != NONE);
        if !node.collect() || node.each() {
            let origin = origins.first().and_then(origin);
            return origin.map_or_else(Vec::new, |at| self.ways_into(frame, node.index, Some(at)));
        }
        let live = self.live_edges(frame, node.index);
        // In a graph of items, a Merge has got a list for each edge, dead or not.
        let is_live = |edge: u32| {
            let state = frame.edges.get(self.plan.edge_place(edge).1 as usize);
            matches!(state, Some(EdgeState::Live(_)))
        };
        let lists = node
            .incoming()
            .iter()
            .zip(origins)
            .filter(|(edge, _)| is_live(*edge));
        let lists: Vec<&Vec<u32>> = match node.items() {
            true => lists.map(|(_, list)| list).collect(),
            false => origins.iter().collect(),
        };
        live.into_iter()
            .zip(lists)
            .filter_map(|((edge, value), list)| Some(Way::new(edge, value, Some(origin(list)?))))
            .collect()
    }

    fn live_edges<'s>(&self, frame: &'s Frame, node: u32) -> Vec<(Edge, &'s Value)> {
        let view = self.plan.node(node);
        let chosen = frame
            .nodes
            .get(view.local() as usize)
            .and_then(|state| state.chosen);
        let live = |index| match frame.edges.get(self.plan.edge_place(index).1 as usize)? {
            EdgeState::Live(value) => Some((self.plan.edge(index), value)),
            _ => None,
        };
        view.incoming()
            .iter()
            .filter(|index| chosen.is_none_or(|chosen| chosen == *index))
            .filter_map(live)
            .collect()
    }

    /// In a loop's body, or a composite's: the element of a node's output that the iteration is about.
    fn iteration_item(&self, frame: u32, node: u32, output: &Value) -> Option<Value> {
        self.frames.chain(frame).find_map(|frame| {
            let looped = self.loops.get(frame.loop_run)?;
            let count = looped.item_count()?;
            if let Value::Array(elements) = output
                && elements.len() == count
                && let Some(element) = elements.get(frame.turn.index as usize)
                && element.deep_equal(&frame.item)
            {
                return Some(element.clone());
            }
            let Value::Array(input) = looped.input() else {
                return None;
            };
            let follows = input.len() == count
                && input
                    .get(frame.turn.index as usize)
                    .is_some_and(|element| element.deep_equal(&frame.item));
            let place = Place {
                frame: frame.parent,
                node: frame.loop_node,
            };
            if follows {
                self.element_of(place, Some(frame.turn.index), node)
            } else {
                None
            }
        })
    }
}

impl<'s> Way<'s> {
    /// A value that is no list is its only element.
    fn new(edge: Edge, value: &'s Value, element: Element) -> Self {
        let element = match value {
            Value::Array(elements) if element.is_none() && elements.len() == 1 => Some(0),
            Value::Array(_) => element,
            _ => None,
        };
        Way { edge, value, element }
    }
}

/// What of a node's input an element of its output comes from, if the node has told nothing: one input item pairs with all
/// that came of it, equal counts pair by place. `None`: nobody knows.
fn element_before(way: &Way<'_>, live: &[(Edge, &Value)], node: NodeView<'_>) -> Option<Element> {
    let once = node.once();
    let count = match live {
        [(_, Value::Array(input))] => input.len(),
        [_] => return Some(None),
        several if node.items() => several.iter().map(|(_, value)| count(value)).sum(),
        several if way.element.is_some() => several.len(),
        _ => return Some(None),
    };
    match (way.value, way.element) {
        (_, _) if count == 1 || once && count > 1 => Some(Some(0)),
        (Value::Array(output), Some(element)) if output.len() == count => Some(Some(element)),
        _ => None,
    }
}

/// The way by which an item has come that is at this place of all that several edges have brought.
fn way_of_joined<'s>(live: &[(Edge, &'s Value)], place: u32) -> Option<Way<'s>> {
    let mut place = place as usize;
    for &(edge, value) in live {
        let count = count(value);
        if place < count {
            return Some(Way::new(edge, value, u32::try_from(place).ok()));
        }
        place -= count;
    }
    None
}
