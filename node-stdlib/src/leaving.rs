//! What leaves a node: JSON, nested no more than [`JSON_DEPTH_MAX`] levels deep.

use crate::failure::Failure;
use heddle_contract::abi::code;
use heddle_values::{JSON_DEPTH_MAX, Value};

/// A value as an edge carries it, see [`Value::into_json`]; fails if it is nested too deeply.
pub(crate) fn leaving(value: Value) -> Result<Value, Failure> {
    if value.deeper_than(JSON_DEPTH_MAX) {
        let message = format!(
            "What leaves this node is nested more than {JSON_DEPTH_MAX} levels deep. Does every round of a loop wrap \
             its value once more?"
        );
        return Err(Failure::new(code::DEPTH_LIMIT, message));
    }
    Ok(value.into_json())
}

/// The values of an emission as edges carry them.
pub(crate) fn all_leaving(emitted: Vec<(u32, Value)>) -> Result<Vec<(u32, Value)>, Failure> {
    let leave = |(port, value)| Ok((port, leaving(value)?));
    emitted.into_iter().map(leave).collect()
}
