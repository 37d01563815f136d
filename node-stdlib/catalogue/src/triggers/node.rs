//! What all triggers have in common.

use crate::face::Face;
use crate::node_type::{Category, Example, NodeType, Outputs, Parameter, Port, Schema, ValueType};
use crate::role::{Role, Start};

pub(super) const fn event(description: &'static str) -> Port {
    Port::new("out", ValueType::Any, description)
}

/// Of messages, which have attachments.
pub(super) const MAIL_FILES: Parameter = Parameter::optional(
    "files",
    Schema::Boolean,
    "Whether attachments are stored as files, and the event refers to them: a value of a file each, with `contentId`. \
     Otherwise they are part of the event, in base64.",
)
.or("false")
.literal();

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
