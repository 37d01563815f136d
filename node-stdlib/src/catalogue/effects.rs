//! Nodes that reach the outside world.

use super::NodeType;

/// In the order in which lists show them.
pub const TYPES: &[NodeType] = &[];
