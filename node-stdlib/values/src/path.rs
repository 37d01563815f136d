//! Dotted paths into values.

use super::text::index_of_name;
use super::{Value, parse_json};
use std::borrow::Cow;

impl Value {
    /// The value at a dotted path such as `customer.address.0.city`. Brackets are read too, with an index or with a
    /// name in quotes: `items[0]["unit price"]`. The empty path is the value itself. `None` when there is nothing at
    /// the path, or when it is malformed.
    pub fn at_path(&self, path: &str) -> Option<&Value> {
        // Most are a single name.
        if !path.is_empty() && !path.bytes().any(|byte| matches!(byte, b'.' | b'[')) {
            return self.at_name(path);
        }
        let mut value = self;
        let mut rest = path;
        while !rest.is_empty() {
            let (name, after) = next_name(rest, rest.len() == path.len())?;
            value = value.at_name(&name)?;
            rest = after;
        }
        Some(value)
    }

    fn at_name(&self, name: &str) -> Option<&Value> {
        match self {
            Value::Object(object) => object.get(name),
            Value::Array(array) => array.get(usize::try_from(index_of_name(name)?).ok()?),
            _ => None,
        }
    }
}

/// The first name of a path and what follows it. Only at the start a name needs neither dot nor brackets.
fn next_name(path: &str, at_start: bool) -> Option<(Cow<'_, str>, &str)> {
    if let Some(inside) = path.strip_prefix('[') {
        return bracketed_name(inside);
    }
    let path = match path.strip_prefix('.') {
        Some(path) if !at_start => path,
        None if at_start => path,
        _ => return None,
    };
    let end = path.find(['.', '[']).unwrap_or(path.len());
    let (name, rest) = path.split_at(end);
    (!name.is_empty()).then_some((Cow::Borrowed(name), rest))
}

fn bracketed_name(inside: &str) -> Option<(Cow<'_, str>, &str)> {
    let quote = inside.chars().next().filter(|first| matches!(first, '"' | '\''));
    let Some(quote) = quote else {
        let (name, rest) = inside.split_once(']')?;
        return Some((Cow::Borrowed(name.trim()), rest));
    };
    let mut escaped = false;
    let end = inside[1..].find(|character| {
        let ends = character == quote && !escaped;
        escaped = character == '\\' && !escaped;
        ends
    })? + 1;
    let (quoted, rest) = inside.split_at(end + 1);
    let plain = &quoted[1..end];
    let name = match plain.contains('\\') {
        false => Cow::Borrowed(plain),
        true if quote == '"' => match parse_json(quoted.as_bytes(), 0).ok()? {
            Value::String(text) => Cow::Owned(text.to_utf8().into_owned()),
            _ => return None,
        },
        true => Cow::Owned(plain.replace("\\'", "'").replace("\\\\", "\\")),
    };
    Some((name, rest.strip_prefix(']')?))
}
