//! Nodes that decide where values go.

mod branching;
mod loops;
mod node;
mod runs;
mod waiting;

pub use branching::{IF, NO_OP};
pub use loops::FOR_EACH;
pub use waiting::WAIT_FOR_CALLBACK;

use crate::node_type::NodeType;
use branching::{MERGE, SWITCH};
use loops::LOOP;
pub use runs::THROW;
use runs::{CALL_PATTERN, RESPOND_TO_WEBHOOK, RETURN, STREAM_RESPONSE};
use waiting::WAIT;

/// In the order in which lists show them.
pub const TYPES: &[NodeType] = &[
    IF,
    SWITCH,
    MERGE,
    FOR_EACH,
    LOOP,
    WAIT,
    WAIT_FOR_CALLBACK,
    THROW,
    RETURN,
    RESPOND_TO_WEBHOOK,
    STREAM_RESPONSE,
    CALL_PATTERN,
    NO_OP,
];
