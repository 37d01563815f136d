//! What the report says of a node.

use crate::report::{Item, Level};
use crate::workflow::Node;

/// What the report calls expressions and code that read a node outside of what was copied.
pub(crate) const OUTSIDE: &str = "outside";

pub(crate) fn remark(node: Option<(&str, &Node)>, level: Level, code: &'static str, message: String) -> Item {
    Item {
        node_id: node.map(|(id, _)| id.to_owned()),
        n8n_type: node.map(|(_, node)| node.full_type.clone()),
        level,
        code,
        message,
        parameter: None,
        original: None,
    }
}
