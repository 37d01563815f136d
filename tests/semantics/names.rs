//! What the names of an expression stand for, where and when a node executes.

use crate::evaluate::{FrameId, NodeId, Run};
use crate::expression::{Name, Names, Stop};
use crate::js::Js;

/// A node about to evaluate its parameters.
#[derive(Clone)]
pub struct Surroundings<'r> {
    run: &'r Run<'r>,
    frame: FrameId,
    node: NodeId,
    pub input: Js,
    item: Js,
    /// `None` outside loops and items.
    index: Option<usize>,
    /// With `each`: the index of the element.
    element: Option<usize>,
}

impl<'r> Surroundings<'r> {
    pub fn new(run: &'r Run<'r>, frame: FrameId, node: NodeId, input: Js) -> Self {
        let mut around = &run.frames[frame];
        // A composite without `each` leaves `$item` as it is around it.
        while let (false, Some(parent)) = (around.has_item, around.parent) {
            around = &run.frames[parent];
        }
        Surroundings {
            run,
            frame,
            node,
            input,
            item: around.item.clone(),
            index: around.has_item.then_some(around.index),
            element: None,
        }
    }

    /// The same, for one item of an array.
    pub fn for_item(&self, item: Js, index: usize) -> Self {
        Surroundings {
            item,
            index: Some(index),
            ..self.clone()
        }
    }

    /// The same, for one element of a node with `each`.
    pub fn for_element(&self, element: Js, index: usize) -> Self {
        Surroundings {
            element: Some(index),
            ..self.for_item(element, index)
        }
    }

    fn node_named(&self, id: &str) -> NodeId {
        let graph = &self.run.graph;
        graph.index(&format!("{}{id}", graph.nodes[self.node].prefix))
    }

    /// What a node last emitted: in the innermost frame that both have in common.
    fn output(&self, node: NodeId) -> Js {
        let Run { graph, frames, .. } = self.run;
        let mut frame = &frames[self.frame];
        while !graph.is_within(node, frame.owner) {
            if frame.owner == Some(node) {
                return frame.item.clone();
            }
            frame = &frames[frame.parent.unwrap()];
        }
        frame.outputs.get(&node).cloned().unwrap_or(Js::Undefined)
    }

    /// `$("Label").item`
    fn item_of(&self, node: NodeId) -> Result<Js, Stop> {
        match (self.output(node), self.element) {
            (Js::Array(_), Some(index)) => self.ancestor_element(index, node).ok_or(Stop::Throws),
            (Js::Array(_), None) if self.run.frames[self.frame].owner.is_some() => Err(Stop::Open),
            (Js::Array(_), None) => Err(Stop::Throws),
            (output, _) => Ok(output),
        }
    }

    /// The element of `ancestor`'s output from which an element of the input descends: through nodes with `each`
    /// and nodes that pass their input on, as long as they have one edge each.
    fn ancestor_element(&self, index: usize, ancestor: NodeId) -> Option<Js> {
        let Run { graph, frames, .. } = self.run;
        let frame = &frames[self.frame];
        let (mut node, mut index) = (self.node, index);
        loop {
            let incoming: Vec<_> = graph.incoming(node).collect();
            let [edge] = incoming[..] else { return None };
            if edge.source == ancestor {
                return frame.edges.get(&edge.index)?.as_ref()?.get(&index.to_string());
            }
            let source = &graph.nodes[edge.source];
            if let Some(origins) = frame.origins.get(&(edge.source, edge.source_port)) {
                index = origins[index];
            } else if !source.passes {
                return None;
            }
            node = edge.source;
        }
    }

    fn error(&self) -> Js {
        let mut frame = Some(self.frame);
        while let Some(id) = frame {
            if let Some(error) = &self.run.frames[id].error {
                return error.clone();
            }
            frame = self.run.frames[id].parent;
        }
        Js::Undefined
    }
}

impl Names for Surroundings<'_> {
    fn value(&self, name: &Name) -> Result<Js, Stop> {
        Ok(match name {
            Name::Input | Name::Json => self.input.clone(),
            Name::Item => self.item.clone(),
            Name::Index => self.index.map_or(Js::Undefined, |index| Js::Number(index as f64)),
            Name::Trigger => self.run.event.clone(),
            Name::Error => self.error(),
            Name::LabelItem(_, id) => self.item_of(self.node_named(id))?,
            Name::Node(id) | Name::Label(_, id) => self.output(self.node_named(id)),
        })
    }
}
