//! Where in a JSON text a value stands. The text has been parsed before; if anything is unexpected, there is no answer.

use super::report::Place;

/// Byte offset of the value at a path such as `nodes[2].data.parameters.cases[0].when`, beginning at `from`.
/// Field names may contain dots: the longest name that fits is taken.
pub fn offset_of(text: &str, from: usize, path: &str) -> Option<usize> {
    let at = skip_space(text, from);
    if path.is_empty() {
        return Some(at);
    }
    match text.as_bytes().get(at)? {
        b'{' => {
            let path = path.strip_prefix('.').unwrap_or(path);
            let (length, value) = members(text, at)
                .filter(|(name, _)| is_prefix(name, path))
                .map(|(name, value)| (name.len(), value))
                .max_by_key(|(length, _)| *length)?;
            offset_of(text, value, &path[length..])
        }
        b'[' => {
            let (index, rest) = path.strip_prefix('[')?.split_once(']')?;
            let value = elements(text, at).nth(index.parse().ok()?)?;
            offset_of(text, value, rest)
        }
        _ => None,
    }
}

fn is_prefix(name: &str, path: &str) -> bool {
    !name.is_empty()
        && path
            .strip_prefix(name)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

/// Offset in the text of byte `inside` of the string value that begins (with its quote) at `at`.
pub fn offset_in_string(text: &str, at: usize, inside: usize) -> Option<usize> {
    let mut raw = at + 1;
    let mut decoded = 0;
    while decoded < inside {
        let rest = text.get(raw..)?;
        let first = rest.chars().next()?;
        if first == '"' {
            return None;
        }
        if first != '\\' {
            raw += first.len_utf8();
            decoded += first.len_utf8();
            continue;
        }
        if rest.as_bytes().get(1) != Some(&b'u') {
            raw += 2;
            decoded += 1;
            continue;
        }
        let unit = u32::from_str_radix(rest.get(2..6)?, 16).ok()?;
        // A high surrogate and its low one are one character of four bytes.
        let (length, character) = match char::from_u32(unit) {
            Some(character) => (6, character.len_utf8()),
            None => (12, 4),
        };
        raw += length;
        decoded += character;
    }
    Some(raw)
}

/// Line and column of a byte offset.
pub fn place_of(text: &str, offset: usize) -> Option<Place> {
    let before = text.get(..offset)?;
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    Some(Place {
        line: before.matches('\n').count() + 1,
        column: before[line_start..].chars().count() + 1,
    })
}

/// Names and value offsets of the object at `at`.
fn members(text: &str, at: usize) -> impl Iterator<Item = (String, usize)> {
    let mut next = Some(at);
    std::iter::from_fn(move || {
        let name_at = skip_space(text, next.take()? + 1);
        let name_end = skip_value(text, name_at)?;
        let name = serde_json::from_str(text.get(name_at..name_end)?).ok()?;
        let value = skip_space(text, skip_space(text, name_end) + 1);
        let end = skip_space(text, skip_value(text, value)?);
        next = (text.as_bytes().get(end) == Some(&b',')).then_some(end);
        Some((name, value))
    })
}

/// Value offsets of the array at `at`.
fn elements(text: &str, at: usize) -> impl Iterator<Item = usize> {
    let mut next = Some(at);
    std::iter::from_fn(move || {
        let value = skip_space(text, next.take()? + 1);
        let end = skip_space(text, skip_value(text, value)?);
        next = (text.as_bytes().get(end) == Some(&b',')).then_some(end);
        Some(value)
    })
}

fn skip_space(text: &str, at: usize) -> usize {
    let rest = text.as_bytes().get(at..).unwrap_or_default();
    at + rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count()
}

/// Offset after the value at `at`; `None` if there is none.
fn skip_value(text: &str, at: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut depth = 0usize;
    let mut end = at;
    loop {
        match *bytes.get(end)? {
            b'"' => end = string_end(bytes, end)?,
            b'{' | b'[' => {
                depth += 1;
                end += 1;
            }
            b'}' | b']' => {
                depth = depth.checked_sub(1)?;
                end += 1;
            }
            b',' | b':' if depth == 0 => return None,
            b',' | b':' => end += 1,
            byte if byte.is_ascii_whitespace() => end += 1,
            _ => {
                end += bytes[end..]
                    .iter()
                    .take_while(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(byte))
                    .count()
                    .max(1)
            }
        }
        if depth == 0 {
            return Some(end);
        }
    }
}

fn string_end(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 1;
    loop {
        match bytes.get(at)? {
            b'\\' => at += 2,
            b'"' => return Some(at + 1),
            _ => at += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "{ \"nodes\": [1, {\"a.b\": {\"c\": [true, \"x\"]}, \"a\": 2}],\n\t\"é\": \"q\\n\\u00e9\\ud83d\\ude00z\" }";

    fn value_at(path: &str) -> Option<&'static str> {
        let at = offset_of(TEXT, 0, path)?;
        Some(&TEXT[at..skip_value(TEXT, at)?])
    }

    #[test]
    fn paths_lead_to_values() {
        assert_eq!(value_at("nodes[0]"), Some("1"));
        assert_eq!(value_at("nodes[1].a.b.c[1]"), Some("\"x\""));
        assert_eq!(value_at("nodes[1].a"), Some("2"));
        assert_eq!(value_at("nodes[2]"), None);
        assert_eq!(value_at("nodes.x"), None);
        assert_eq!(value_at("nope"), None);
    }

    #[test]
    fn places_inside_strings_see_through_escapes() {
        let at = offset_of(TEXT, 0, "é").unwrap();
        assert_eq!(place_of(TEXT, at), Some(Place { line: 2, column: 7 }));
        let z = offset_in_string(TEXT, at, "q\né😀".len()).unwrap();
        assert_eq!(&TEXT[z..=z], "z");
        assert_eq!(offset_in_string(TEXT, at, 99), None);
    }
}
