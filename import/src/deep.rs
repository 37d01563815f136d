//! Expressions that read a property of a value that may be missing, for which n8n gives an empty value. By itself such an expression is
//! empty here too; as a part of a longer one, it would make all of that empty.

use crate::scan::{Stretch, is_name_byte, stretches};
use heddle_compiler::expression::{Piece, split};
use serde_json::Value;

/// What stands for an item.
const ITEMS: &[&str] = &["$json", ".json", "$item", "$input"];

/// Whether an expression among the parameters does so in a way that [`without_throwing`] can't say.
pub(crate) fn calls_what_may_be_missing(parameters: &Value) -> bool {
    let mut open = vec![parameters];
    while let Some(value) = open.pop() {
        match value {
            Value::String(text) if text.starts_with('=') => {
                let pieces = split(text).unwrap_or_default();
                let mut sources = pieces.into_iter().filter_map(|piece| match piece {
                    Piece::Expression(range) => text.get(range),
                    Piece::Literal(_) => None,
                });
                if sources.any(|source| is_deep(source) && without_throwing(source).is_none()) {
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

/// A path from an item that is nothing where something on it is missing: `$json.a?.b`. `None` for all other expressions.
pub(crate) fn without_throwing(source: &str) -> Option<String> {
    let source = source.trim();
    let item = match source.starts_with("$json") {
        true => "$json".len(),
        false => {
            let starts = ["$(", "$node[", "$input."];
            let is_named = starts.iter().any(|start| source.starts_with(start));
            source.find(".json").filter(|_| is_named)? + ".json".len()
        }
    };
    let (item, mut rest) = source.split_at_checked(item)?;
    let mut path = item.to_owned();
    let mut is_first = true;
    while !rest.is_empty() {
        let given = rest.strip_prefix("?.");
        let step = given.or(rest.strip_prefix('.')).unwrap_or(rest);
        let is_index = step.starts_with('[');
        if !is_index && step.len() == rest.len() {
            return None;
        }
        let length = match is_index {
            true => index_length(step)?,
            false => step.bytes().take_while(|byte| is_name_byte(*byte)).count(),
        };
        let (own, after) = step.split_at_checked(length).filter(|_| length > 0)?;
        path.push_str(match (is_first && given.is_none(), is_index) {
            (true, true) => "",
            (true, false) => ".",
            (false, _) => "?.",
        });
        path.push_str(own);
        (is_first, rest) = (false, after);
    }
    Some(path)
}

/// How long `["name"]` or `[0]` is.
fn index_length(text: &str) -> Option<usize> {
    let inner = text.get(1..)?;
    let length = match inner.bytes().next()? {
        quote @ (b'"' | b'\'') => {
            let text = inner.get(1..)?;
            let end = text.bytes().position(|byte| byte == quote || byte == b'\\')?;
            text.as_bytes().get(end).filter(|byte| **byte == quote)?;
            end + 2
        }
        _ => inner.bytes().take_while(u8::is_ascii_digit).count(),
    };
    (length > 0 && inner.as_bytes().get(length) == Some(&b']')).then_some(length + 2)
}

/// Whether an item's field is asked for something: `$json.a.b`, `$json["a"].trim()`.
fn is_deep(source: &str) -> bool {
    // Texts only hide what stands between brackets.
    let written = stretches(source).into_iter().map(|stretch| match stretch {
        Stretch::Code(code) => code.replace("?.", "?"),
        Stretch::Text(_) => "''".to_owned(),
    });
    let code: String = written.collect();
    ITEMS.iter().any(|item| {
        code.match_indices(item)
            .filter_map(|(at, _)| code.get(at + item.len()..))
            .filter(|rest| !rest.bytes().next().is_some_and(is_name_byte))
            .any(|rest| asked(rest) > 1)
    })
}

/// Steps of a path that are looked at, and bytes of one in brackets, so that no text takes long.
const STEPS_MAX: usize = 100;
const INDEX_BYTES_MAX: usize = 500;

/// How many properties are asked for one after the other, up to two. What `?.` asks never fails.
fn asked(rest: &str) -> usize {
    let mut rest = rest;
    let mut count = 0;
    for _ in 0..STEPS_MAX {
        let (inner, ends) = match rest.as_bytes().first() {
            Some(b'.') => (rest.get(1..).unwrap_or_default(), None),
            Some(b'[') => (rest, Some(b']')),
            _ => return count,
        };
        let length = match ends {
            Some(end) => {
                let mut bytes = inner.bytes().take(INDEX_BYTES_MAX);
                bytes.position(|byte| byte == end).map(|at| at + 1)
            }
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
        if count > 1 {
            return count;
        }
    }
    count
}
