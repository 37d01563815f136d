//! What graphs of items change of values on their way: docs/language.md#graphs-of-items.

use crate::evaluate::Emission;
use crate::js::Js;

/// What leaves a node: an array is a list of items, any other value is its only item, and without one an edge is dead.
pub fn spread(emission: Emission) -> Emission {
    let lists = emission.into_iter().map(|(port, value)| match value {
        Js::Array(items) => (port, items),
        item => (port, vec![item]),
    });
    lists
        .filter(|(_, items)| !items.is_empty())
        .map(|(port, items)| (port, Js::Array(items)))
        .collect()
}

/// What passes through a node that executes for one item is that item still, also if it is an array.
pub fn as_one_item(emission: Emission) -> Emission {
    let whole = |value: Js| match value {
        item @ Js::Array(_) => Js::Array(vec![item]),
        item => item,
    };
    emission
        .into_iter()
        .map(|(port, value)| (port, whole(value)))
        .collect()
}

/// One list of all items that several edges have brought.
pub fn joined(values: Vec<Js>) -> Js {
    let items = values.into_iter().flat_map(|value| match value {
        Js::Array(items) => items,
        item => vec![item],
    });
    Js::Array(items.collect())
}
