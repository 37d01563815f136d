//! Nodes that decide where values go.

use super::NodeType;

/// In the order in which lists show them.
pub const TYPES: &[NodeType] = &[];
