//! How much what becomes of a workflow or a flow may take. What one node has may be repeated by many others, or many times by its own
//! translation, so that a small file could become more than there is memory for.

use serde_json::Value;
use std::cell::Cell;

/// Bytes of all parameters and code of a pattern.
const BYTES_MAX: usize = 24 << 20;
/// Bytes by which names may grow that are written out in its expressions.
const GROWTH_BYTES_MAX: usize = 4 << 20;
/// Bytes of a value that is written at many places.
const REPEATED_BYTES_MAX: usize = 1 << 10;
/// What a value takes besides its texts.
const VALUE_BYTES: usize = 16;

/// Why a node is a stub for which there is no room.
pub(crate) const TOO_LARGE: &str =
    "the pattern would be too large with all nodes: import some of them at a time";

/// The room of one pattern.
pub(crate) struct Room(usize);

impl Default for Room {
    fn default() -> Self {
        Room(BYTES_MAX)
    }
}

impl Room {
    /// Takes room for so many bytes; `false`: there is less than that.
    pub fn take(&mut self, bytes: usize) -> bool {
        let left = self.0.checked_sub(bytes);
        self.0 = left.unwrap_or(self.0);
        left.is_some()
    }
}

/// By how much the expressions of one pattern may still grow.
#[derive(Debug)]
pub(crate) struct Growth(Cell<Option<usize>>);

impl Default for Growth {
    fn default() -> Self {
        Growth(Cell::new(Some(GROWTH_BYTES_MAX)))
    }
}

impl Growth {
    /// Takes room for so many bytes.
    pub fn take(&self, bytes: usize) {
        self.0.set(self.0.get().and_then(|left| left.checked_sub(bytes)));
    }

    /// Whether more was to be taken than there was. Nothing that was made from then on means what it should.
    pub fn is_over(&self) -> bool {
        self.0.get().is_none()
    }
}

/// What values take, about.
pub(crate) fn bytes<'v>(values: impl IntoIterator<Item = &'v Value>) -> usize {
    let mut open: Vec<&Value> = values.into_iter().collect();
    let mut bytes = 0_usize;
    while let Some(value) = open.pop() {
        let own = match value {
            Value::String(text) => text.len(),
            Value::Array(items) => {
                open.extend(items);
                0
            }
            Value::Object(fields) => {
                open.extend(fields.values());
                fields.keys().map(String::len).sum()
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        };
        bytes = bytes.saturating_add(own).saturating_add(VALUE_BYTES);
    }
    bytes
}

/// Whether a value's JSON may have at most so many bytes, without reading more of it than that.
pub(crate) fn is_within(value: &Value, most: usize) -> bool {
    let mut open = vec![value];
    let mut bytes = 0_usize;
    while let Some(value) = open.pop() {
        // Each has a bracket, a digit or a quotation mark at least.
        bytes = bytes.saturating_add(match value {
            Value::String(text) => text.len(),
            Value::Array(items) => items.len(),
            Value::Object(fields) => fields.len(),
            Value::Null | Value::Bool(_) | Value::Number(_) => 1,
        });
        if bytes > most {
            return false;
        }
        match value {
            Value::Array(items) => open.extend(items),
            Value::Object(fields) => {
                bytes = bytes.saturating_add(fields.keys().map(String::len).sum());
                open.extend(fields.values());
            }
            _ => {}
        }
    }
    bytes <= most
}

/// Whether a value is short enough to be written at many places.
pub(crate) fn is_short(value: &Value) -> bool {
    bytes([value]) <= REPEATED_BYTES_MAX
}

#[cfg(test)]
mod tests {
    use super::is_within;
    use serde_json::{Value, json};

    #[test]
    fn what_may_be_short_enough_is_never_taken_for_longer() {
        let values = [
            json!(null),
            json!(""),
            json!("text"),
            json!([]),
            json!([1, 2, [3, ""]]),
            json!({"": 0, "key": {"a": [true, null]}}),
        ];
        for value in values {
            assert!(is_within(&value, value.to_string().len()), "{value}");
        }
        let long = Value::from(vec!["text"; 100]);
        assert!(!is_within(&long, 400));
        assert!(!is_within(&json!({"k".repeat(10): 1}), 5));
    }
}
