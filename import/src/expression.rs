//! n8n's parameters to heddle's: a text that begins with `=` has expressions, any other is literal.

use crate::deep::without_throwing;
use crate::rewrite::{Names, rewrite};
use heddle_compiler::expression::{Piece, split};
use serde_json::Value;

/// A parameter with everything in it.
pub(crate) fn value(given: &Value, names: &Names<'_>) -> Value {
    let mut result = given.clone();
    let mut open = vec![&mut result];
    while let Some(value) = open.pop() {
        match value {
            Value::String(text) => *text = template(text, names),
            Value::Array(items) => open.extend(items),
            Value::Object(fields) => open.extend(fields.values_mut()),
            _ => {}
        }
    }
    result
}

/// A text in heddle's form.
pub(crate) fn template(text: &str, names: &Names<'_>) -> String {
    let Some(body) = text.strip_prefix('=') else {
        return literal(text);
    };
    let Ok(pieces) = split(body) else {
        return literal(body);
    };
    let written = pieces.into_iter().map(|piece| match piece {
        Piece::Literal(text) => text,
        Piece::Expression(range) => {
            let source = body.get(range).unwrap_or_default();
            match source.trim().is_empty() {
                true => String::new(),
                false => format!("{{{{ {} }}}}", rewrite(source, names)),
            }
        }
    });
    written.collect()
}

/// A text in which braces mean nothing.
pub(crate) fn literal(text: &str) -> String {
    text.replace("{{", "{{ '{' + '{' }}")
}

/// A text for a parameter that takes no expression: double braces are apart. Of three, the first pass leaves two.
pub(crate) fn plain(text: &str) -> String {
    text.replace("{{", "{ {").replace("{{", "{ {")
}

/// The value as a JavaScript expression.
pub(crate) fn source(given: &Value, names: &Names<'_>) -> String {
    let Some(body) = given.as_str().and_then(|text| text.strip_prefix('=')) else {
        return given.to_string();
    };
    let Ok(pieces) = split(body) else {
        return Value::from(body).to_string();
    };
    let sources: Vec<String> = pieces
        .iter()
        .filter_map(|piece| match piece {
            Piece::Literal(text) => Some(Value::from(text.as_str()).to_string()),
            Piece::Expression(range) => {
                let source = body.get(range.clone()).unwrap_or_default();
                // As a part of a longer expression, it must not take that along.
                let own = without_throwing(source);
                let source = own.as_deref().unwrap_or(source);
                (!source.trim().is_empty()).then(|| format!("({})", rewrite(source, names)))
            }
        })
        .collect();
    match sources.as_slice() {
        [] => "\"\"".to_owned(),
        [only] => only.clone(),
        several => format!("[{}].join(\"\")", several.join(", ")),
    }
}

/// A text in an expression: nothing in it ends the expression.
pub(crate) fn quoted(text: &str) -> String {
    let written = Value::from(text).to_string();
    written.replace('{', "\\u007b").replace('}', "\\u007d")
}
