//! Graphs of items: what leaves a node is a list of items, and where none leaves, the edge is dead.

use heddle_contract::plan::NodeView;
use heddle_values::Value;

/// What leaves a node, as its edges carry it. The elements of an array are items, any other value is one. Does nothing outside of
/// graphs of items.
pub(super) fn as_items(node: NodeView<'_>, emitted: &mut Vec<(u32, Value)>) {
    if !node.items() {
        return;
    }
    for (_, value) in emitted.iter_mut() {
        if !matches!(value, Value::Array(_)) {
            *value = Value::from(vec![std::mem::take(value)]);
        }
    }
    emitted.retain(|(_, value)| !matches!(value, Value::Array(items) if items.is_empty()));
}

/// One list of several, in their order; what is no list is an item.
pub(super) fn joined(values: impl IntoIterator<Item = Value>) -> Value {
    let mut all = Vec::new();
    for value in values {
        match value {
            Value::Array(items) => all.extend(items.into_vec()),
            item => all.push(item),
        }
    }
    all.into()
}

/// How many items a value is.
pub(super) fn count(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.len(),
        _ => 1,
    }
}
