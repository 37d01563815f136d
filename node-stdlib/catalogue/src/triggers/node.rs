//! What all triggers have in common.

use crate::face::Face;
use crate::node_type::{Category, Example, NodeType, Outputs, Parameter, Port, ValueType};
use crate::role::{Role, Start};

pub(super) const fn event(description: &'static str) -> Port {
    Port::new("out", ValueType::Any, description)
}

pub(super) const fn trigger(
    start: Start,
    face: Face,
    description: &'static str,
    outputs: &'static [Port],
    parameters: &'static [Parameter],
    examples: &'static [Example],
) -> NodeType {
    NodeType {
        description,
        inputs: &[],
        outputs: Outputs::Fixed(outputs),
        parameters,
        role: Role::Trigger(start),
        examples,
        ..NodeType::plain(start.type_name(), Category::Trigger, face)
    }
}
