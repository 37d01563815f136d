//! What the names of an expression stand for, where and when a node executes.

use crate::evaluate::{FrameId, NodeId, Run};
use crate::expression::{Name, Names, Stop};
use crate::js::Js;
use crate::pairing::element_of;

/// A node about to evaluate its parameters.
#[derive(Clone)]
pub struct Bindings<'r> {
    run: &'r Run<'r>,
    frame: FrameId,
    node: NodeId,
    pub input: Js,
    item: Js,
    /// `None` outside loops and items.
    index: Option<usize>,
    /// Whether a parameter is evaluated for an item.
    is_per_item: bool,
    /// With `each`: the index of the element.
    element: Option<usize>,
}

impl<'r> Bindings<'r> {
    pub fn new(run: &'r Run<'r>, frame: FrameId, node: NodeId, input: Js) -> Self {
        let mut around = &run.frames[frame];
        // A composite without `each` leaves `$item` as it is around it.
        while let (false, Some(parent)) = (around.has_item, around.parent) {
            around = &run.frames[parent];
        }
        Bindings {
            run,
            frame,
            node,
            input,
            item: around.item.clone(),
            index: around.has_item.then_some(around.index),
            is_per_item: false,
            element: None,
        }
    }

    /// The same, for one item of an array.
    pub fn for_item(&self, item: Js, index: usize) -> Self {
        Bindings {
            item,
            index: Some(index),
            is_per_item: true,
            ..self.clone()
        }
    }

    /// The same, for one element of a node with `each`.
    pub fn for_element(&self, element: Js, index: usize) -> Self {
        Bindings {
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
        let output = self.output(node);
        let Js::Array(elements) = &output else {
            return Ok(output);
        };
        let found = match self.current_element() {
            Some(element) => element_of(self.run, self.frame, self.node, element, node)?,
            None => None,
        };
        match (found, &elements[..]) {
            (Some(found), _) => Ok(found),
            (None, _) if self.run.frames[self.frame].owner.is_some() => Err(Stop::Open),
            (None, [only]) => Ok(only.clone()),
            (None, _) => Err(Stop::Unpaired),
        }
    }

    /// What the execution is about: an element, or (`Some(None)`) all that came.
    #[expect(clippy::option_option, reason = "nothing, the whole, or an element")]
    fn current_element(&self) -> Option<Option<usize>> {
        match (&self.input, self.element, self.index) {
            (_, Some(element), _) => Some(Some(element)),
            (Js::Array(elements), _, Some(index)) if self.is_per_item => {
                (elements.get(index) == Some(&self.item)).then_some(Some(index))
            }
            // With `once` there is no other, and where lists of items travel, one may be a list too.
            (Js::Array(elements), ..)
                if elements.len() == 1 && (self.run.graph.nodes[self.node].once || self.run.graph.items) =>
            {
                Some(Some(0))
            }
            (Js::Array(_), ..) => None,
            _ => Some(None),
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

impl Names for Bindings<'_> {
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

    fn are_lenient(&self) -> bool {
        self.run.lenient
    }
}
