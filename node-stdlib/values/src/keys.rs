//! Values as keys: equal keys for equal values, whatever the order of their properties.

use crate::Value;
use std::cmp::Ordering;

/// JSON text of the value with its properties in order of their names. Null and missing values are alike.
pub fn key_of(value: &Value) -> String {
    let mut out = String::new();
    write(value, &mut out);
    out
}

/// The key of a list of these values, appended.
pub fn write_key_of_list(values: &[Value], out: &mut String) {
    out.push('[');
    for value in values {
        write(value, out);
        out.push(',');
    }
    out.push(']');
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::Array(items) => write_key_of_list(items, out),
        Value::Object(object) => {
            let mut properties: Vec<_> = object
                .iter()
                .map(|(name, value)| (name.to_utf8(), value))
                .collect();
            properties.sort_by(|left, right| left.0.cmp(&right.0));
            out.push('{');
            for (name, value) in properties {
                Value::from(&*name).write_json(out);
                out.push(':');
                write(value, out);
                out.push(',');
            }
            out.push('}');
        }
        Value::Undefined | Value::Function(_) => out.push_str("null"),
        scalar => scalar.write_json(out),
    }
}

/// A key in maps and sets whose order nobody sees: shorter ones first, and then by words, which takes less than comparing
/// texts byte by byte.
#[derive(Clone, Copy, Debug)]
pub struct Key<T>(pub T);

impl<T: AsRef<str>> Ord for Key<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        let (a, b) = (self.0.as_ref().as_bytes(), other.0.as_ref().as_bytes());
        let ((a_words, a_rest), (b_words, b_rest)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
        let number = |word: &[u8; 8]| u64::from_le_bytes(*word);
        let by_words = || a_words.iter().map(number).cmp(b_words.iter().map(number));
        let by_rest = || a_rest.iter().cmp(b_rest);
        a.len().cmp(&b.len()).then_with(by_words).then_with(by_rest)
    }
}

impl<T: AsRef<str>> PartialOrd for Key<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T: AsRef<str>> PartialEq for Key<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<T: AsRef<str>> Eq for Key<T> {}
