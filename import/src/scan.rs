//! Where the code of an expression is, and where its texts are: replacing names without touching text.

/// A stretch of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stretch<'t> {
    /// Code, names among it.
    Code(&'t str),
    /// A string literal with its quotes, or a comment.
    Text(&'t str),
}

/// Splits an expression into code and texts. Templates count as code, since there are expressions in them.
pub(crate) fn stretches(source: &str) -> Vec<Stretch<'_>> {
    let bytes = source.as_bytes();
    let mut found = Vec::new();
    let (mut from, mut at) = (0, 0);
    while let Some(byte) = bytes.get(at) {
        let end = match byte {
            b'\'' | b'"' => quoted(bytes, at),
            b'/' if bytes.get(at + 1) == Some(&b'/') => line(bytes, at),
            _ => {
                at += 1;
                continue;
            }
        };
        if from < at {
            found.extend(source.get(from..at).map(Stretch::Code));
        }
        found.extend(source.get(at..end).map(Stretch::Text));
        (from, at) = (end, end);
    }
    if from < source.len() {
        found.extend(source.get(from..).map(Stretch::Code));
    }
    found
}

/// Where a string literal ends; at the end of the line or text if it doesn't.
fn quoted(bytes: &[u8], start: usize) -> usize {
    let quote = bytes.get(start);
    let mut at = start + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 1,
            b'\n' => return at,
            _ if Some(byte) == quote => return at + 1,
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

fn line(bytes: &[u8], start: usize) -> usize {
    let length = bytes
        .get(start..)
        .unwrap_or_default()
        .iter()
        .position(|byte| *byte == b'\n');
    length.map_or(bytes.len(), |length| start + length)
}

/// Whether a byte can be part of a name.
pub(crate) fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$'
}

/// Replaces a name or path in code where it stands by itself, not as the end or beginning of another.
pub(crate) fn replaced(code: &str, name: &str, with: &str) -> String {
    let mut result = String::with_capacity(code.len());
    let mut rest = code;
    let mut before = b' ';
    while let Some(at) = rest.find(name) {
        let previous = rest.as_bytes().get(at.wrapping_sub(1)).copied().unwrap_or(before);
        let end = at + name.len();
        let next = rest.as_bytes().get(end).copied().unwrap_or(b' ');
        let ends_in_name = name.as_bytes().last().is_some_and(|byte| is_name_byte(*byte));
        let alone = !is_name_byte(previous) && previous != b'.' && !(ends_in_name && is_name_byte(next));
        result.push_str(rest.get(..at).unwrap_or_default());
        result.push_str(if alone { with } else { name });
        before = name.as_bytes().last().copied().unwrap_or(b' ');
        rest = rest.get(end..).unwrap_or_default();
    }
    result.push_str(rest);
    result
}
