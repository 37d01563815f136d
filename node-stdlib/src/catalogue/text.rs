//! Nodes for text and formats.

use super::NodeType;

/// In the order in which lists show them.
pub const TYPES: &[NodeType] = &[];
