//! What the types of this folder are made of.

use crate::face::Face;
use crate::node_type::{Category, Example, NodeType, Outputs, Parameter, Port, ValueType};

/// The one output of nodes that change nothing.
pub(super) const PASSED: Port = Port::new("out", ValueType::Any, "The input, as it came.");

/// A type of the category [`Category::Flow`].
pub(super) const fn node(
    name: &'static str,
    face: Face,
    description: &'static str,
    inputs: &'static [Port],
    outputs: &'static [Port],
    parameters: &'static [Parameter],
    examples: &'static [Example],
) -> NodeType {
    NodeType {
        description,
        inputs,
        outputs: Outputs::Fixed(outputs),
        parameters,
        examples,
        ..NodeType::plain(name, Category::Flow, face)
    }
}
