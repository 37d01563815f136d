//! Any text as a parameter with expressions, and as a JavaScript module: reading it never panics, and what is told of
//! it is bounded and points into it.

use super::diagnostics::are_bounded;
use heddle_compiler::expression::{Piece, split};
use heddle_compiler::{Options, explain};
use serde_json::{Value, json};

/// Checks an input.
pub fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    if let Ok(pieces) = split(text) {
        let mut at = 0;
        for piece in pieces {
            if let Piece::Expression(range) = piece {
                assert!(at <= range.start && range.end + 2 <= text.len(), "{range:?}");
                assert!(text.get(range.clone()).is_some(), "{range:?}");
                at = range.end + 2;
            }
        }
    }
    let braces = format!("{{{{ {text} }}}}");
    let graph = json!({
        "nodes": [
            { "id": "start", "type": "OnManual" },
            { "id": "given", "type": "Transform", "data": { "parameters": { "value": text } } },
            { "id": "within", "type": "Transform", "data": { "parameters": { "value": braces } } },
            { "id": "code", "type": "JavaScript", "data": { "parameters": { "code": text } } },
        ],
        "edges": [],
    });
    let (_, found) = explain(&graph, &Value::Null, &Options::default());
    are_bounded(&found);
}
