//! The catalogue: every standard node type with its ports, parameters, documentation and examples.
//!
//! One registry for the validator, `heddle nodes`, the API and the reference pages. Plain constants; nothing here
//! runs in the guest.

mod code;
mod data;
mod effects;
mod fits;
mod flow;
mod formats;
mod node_type;
mod text;
mod time_and_crypto;
mod triggers;

pub use fits::fields_fit;
pub use node_type::{Category, Example, NodeType, Outputs, Parameter, Port, Schema, ValueType};

use std::sync::LazyLock;

/// All standard node types, by category and then by use.
pub fn node_types() -> &'static [NodeType] {
    static TYPES: LazyLock<Vec<NodeType>> = LazyLock::new(|| {
        [
            triggers::TYPES,
            flow::TYPES,
            data::TYPES,
            text::TYPES,
            time_and_crypto::TYPES,
            code::TYPES,
            effects::TYPES,
        ]
        .concat()
    });
    &TYPES
}

/// The type of this name.
pub fn node_type(name: &str) -> Option<&'static NodeType> {
    node_types().iter().find(|node_type| node_type.name == name)
}
