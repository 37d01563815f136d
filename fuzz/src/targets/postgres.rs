//! A type of PostgreSQL in words, such as `array domain NUMERIC`, and on the next line what a server sends as a value of it: the value is read or refused,
//! and takes no more room than there is, whatever lengths and dimensions it is said to have.

use heddle_runtime::foreign::{PostgresType, postgres_value};
use serde_json::Value;

/// What a value may take, and what it may take the second time.
const BYTES_MAX: usize = 20_000;
const FEW_BYTES_MAX: usize = 100;
/// Types that a type is made of.
const WORDS_MAX: usize = 40;

/// Checks an input.
pub fn check(data: &[u8]) {
    let Some(at) = data.iter().position(|byte| *byte == b'\n') else {
        return;
    };
    let Ok(words) = std::str::from_utf8(&data[..at]) else {
        return;
    };
    let (of, bytes) = (described(words), &data[at + 1..]);
    let read = postgres_value(&of, bytes, BYTES_MAX);
    if let Ok(value) = &read {
        assert!(size(value) <= BYTES_MAX);
        // What is nested more deeply is refused by whoever reads it next.
        let again: Option<Value> = serde_json::from_str(&value.to_string()).ok();
        assert!(again.is_none_or(|again| again == *value));
    }
    if let Ok(value) = postgres_value(&of, bytes, FEW_BYTES_MAX) {
        assert!(size(&value) <= FEW_BYTES_MAX);
        assert_eq!(read, Ok(value));
    }
}

fn described(words: &str) -> PostgresType {
    let mut words = words.split(' ').rev().take(WORDS_MAX);
    let innermost = match words.next().unwrap_or_default() {
        "enum" => PostgresType::Enum,
        name => PostgresType::Named(name.to_owned()),
    };
    words.fold(innermost, |inner, word| match word {
        "array" => PostgresType::Array(Box::new(inner)),
        "domain" => PostgresType::Domain(Box::new(inner)),
        _ => inner,
    })
}

/// What a value takes at least, as those count who make room for it.
fn size(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 2,
        Value::Array(items) => items.iter().map(size).sum::<usize>() + 2,
        Value::Object(members) => {
            let members = members.iter().map(|(name, value)| name.len() + 4 + size(value));
            members.sum::<usize>() + 2
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => 8,
    }
}
