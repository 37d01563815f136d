//! Nodes that start a run.

use super::NodeType;

/// In the order in which lists show them.
pub const TYPES: &[NodeType] = &[];
