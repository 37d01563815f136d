//! Expressions that read something of what may be missing: n8n gives nothing then, and heddle's node fails.

use crate::scan::{Stretch, is_name_byte, stretches};
use heddle_compiler::expression::{Piece, split};
use serde_json::Value;

/// What stands for an item.
const ITEMS: &[&str] = &["$json", ".json", "$item", "$input"];

/// Whether an expression among the parameters does.
pub(crate) fn reads_of_what_may_be_missing(parameters: &Value) -> bool {
    let mut open = vec![parameters];
    while let Some(value) = open.pop() {
        match value {
            Value::String(text) if text.starts_with('=') => {
                let pieces = split(text).unwrap_or_default();
                let mut sources = pieces.into_iter().filter_map(|piece| match piece {
                    Piece::Expression(range) => text.get(range),
                    Piece::Literal(_) => None,
                });
                if sources.any(is_deep) {
                    return true;
                }
            }
            Value::Array(items) => open.extend(items),
            Value::Object(fields) => open.extend(fields.values()),
            _ => {}
        }
    }
    false
}

/// Whether an item's field is asked for something: `$json.a.b`, `$json["a"].trim()`.
fn is_deep(source: &str) -> bool {
    // Texts only hide what stands between brackets.
    let written = stretches(source).into_iter().map(|stretch| match stretch {
        Stretch::Code(code) => code.replace("?.", "?"),
        Stretch::Text(_) => "t".to_owned(),
    });
    let code: String = written.collect();
    ITEMS.iter().any(|item| {
        code.match_indices(item)
            .filter_map(|(at, _)| code.get(at + item.len()..))
            .filter(|rest| !rest.bytes().next().is_some_and(is_name_byte))
            .any(|rest| asked(rest) > 1)
    })
}

/// How many properties are asked for one after the other. What `?.` asks never fails.
fn asked(rest: &str) -> usize {
    let mut rest = rest;
    let mut count = 0;
    loop {
        let (inner, ends) = match rest.as_bytes().first() {
            Some(b'.') => (rest.get(1..).unwrap_or_default(), None),
            Some(b'[') => (rest, Some(b']')),
            _ => return count,
        };
        let length = match ends {
            Some(end) => inner.bytes().position(|byte| byte == end).map(|at| at + 1),
            None => Some(
                inner
                    .bytes()
                    .position(|byte| !is_name_byte(byte))
                    .unwrap_or(inner.len()),
            ),
        };
        let Some(length) = length.filter(|length| *length > 0) else {
            return count;
        };
        let name = inner.get(..length).unwrap_or_default();
        rest = inner.get(length..).unwrap_or_default();
        // The ways to an item are not asked of it.
        if name != "json" && name != "item" {
            count += 1;
        }
    }
}
