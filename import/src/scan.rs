//! Where the code of an expression is, and where its texts are: replacing names without touching text.

use std::ops::Range;

/// A stretch of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stretch<'t> {
    /// Code, names among it.
    Code(&'t str),
    /// A string literal with its quotes, a template outside its expressions, a regular expression, or a comment.
    Text(&'t str),
}

/// Splits an expression into code and texts.
pub(crate) fn stretches(source: &str) -> Vec<Stretch<'_>> {
    read(source).0
}

/// Code and texts, and how many bytes were read in search of the ends of regular expressions that have none.
fn read(source: &str) -> (Vec<Stretch<'_>>, usize) {
    let bytes = source.as_bytes();
    let in_vain_max = IN_VAIN_LEAST + IN_VAIN_FACTOR * bytes.len();
    let mut found = Vec::new();
    // Braces that are open in each expression of a template.
    let mut templates: Vec<usize> = Vec::new();
    let (mut from, mut at, mut in_vain) = (0, 0, 0);
    // The last comments in a row: what is before them decides what a slash behind them is.
    let mut comments = Range::default();
    while let Some(byte) = bytes.get(at) {
        let end = match (byte, templates.last_mut()) {
            (b'\'' | b'"', _) => quoted(bytes, at),
            (b'`', _) => template(bytes, at + 1),
            (b'}', Some(0)) => {
                templates.pop();
                template(bytes, at + 1)
            }
            (b'{', Some(open)) => {
                *open += 1;
                at
            }
            (b'}', Some(open)) => {
                *open -= 1;
                at
            }
            (b'/', _) => match bytes.get(at + 1) {
                Some(b'/') => line(bytes, at),
                Some(b'*') => comment(bytes, at),
                _ if in_vain > in_vain_max => at,
                _ => pattern(bytes, at, &comments).unwrap_or_else(|read| {
                    in_vain += read;
                    at
                }),
            },
            _ => at,
        };
        if end == at {
            at += 1;
            continue;
        }
        if matches!(bytes.get(at..at + 2), Some(b"//" | b"/*")) {
            let start = match code_before(bytes, at).len() <= comments.end {
                true => comments.start,
                false => at,
            };
            comments = start..end;
        }
        if matches!(byte, b'`' | b'}') && bytes.get(..end).is_some_and(|text| text.ends_with(b"${")) {
            templates.push(0);
        }
        if from < at {
            found.extend(source.get(from..at).map(Stretch::Code));
        }
        found.extend(source.get(at..end).map(Stretch::Text));
        (from, at) = (end, end);
    }
    if from < source.len() {
        found.extend(source.get(from..).map(Stretch::Code));
    }
    (found, in_vain)
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

/// Where a template ends, or its next expression begins.
fn template(bytes: &[u8], start: usize) -> usize {
    let mut at = start;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 1,
            b'`' => return at + 1,
            b'$' if bytes.get(at + 1) == Some(&b'{') => return at + 2,
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

/// A longer one is not looked for, and none any more once so much was read in vain, for each byte of the text and of any text, so
/// that no text takes long.
const PATTERN_BYTES_MAX: usize = 2_000;
const IN_VAIN_FACTOR: usize = 8;
const IN_VAIN_LEAST: usize = 16 << 10;

/// Words that a regular expression may follow, as keywords.
const BEFORE_PATTERN: &[&str] = &[
    "await",
    "case",
    "delete",
    "do",
    "else",
    "in",
    "instanceof",
    "of",
    "return",
    "throw",
    "typeof",
    "void",
    "yield",
];

/// Where a regular expression ends that begins here. If this divides, or there is no end, how many bytes were read for it.
fn pattern(bytes: &[u8], start: usize, comments: &Range<usize>) -> Result<usize, usize> {
    let mut text = code_before(bytes, start);
    if text.len() <= comments.end {
        text = code_before(bytes, comments.start);
    }
    let expects_value = match text.last() {
        None => true,
        Some(b'+' | b'-') => !is_counted(text),
        Some(byte) => b"(,=:[!&|?{};*%<>~^".contains(byte) || ends_in_keyword(text),
    };
    if !expects_value {
        return Err(0);
    }
    let (mut at, mut in_class) = (start + 1, false);
    while let Some(byte) = bytes.get(at).filter(|_| at < start + PATTERN_BYTES_MAX) {
        match byte {
            b'\\' => at += 1,
            b'\n' => break,
            b'[' => in_class = true,
            b']' => in_class = false,
            b'/' if !in_class => {
                let behind = bytes.get(at + 1..).unwrap_or_default().iter();
                let flags = behind.take_while(|byte| byte.is_ascii_lowercase());
                return Ok(at + 1 + flags.count());
            }
            _ => {}
        }
        at += 1;
    }
    Err(at - start)
}

/// What is before a place, without the blanks at its end.
fn code_before(bytes: &[u8], at: usize) -> &[u8] {
    bytes.get(..at).unwrap_or_default().trim_ascii_end()
}

/// Whether code ends with `a++` or `a--`, which has a value, rather than with a sign that one follows. Of three signs, the first
/// two count.
fn is_counted(text: &[u8]) -> bool {
    let sign = text.last();
    let signs = text.iter().rev().take_while(|byte| Some(*byte) == sign).count();
    if signs % 2 != 0 {
        return false;
    }
    // On a line of its own it counts up what follows.
    let before = text.get(..text.len() - signs).unwrap_or_default();
    let blanks = before.len() - before.trim_ascii_end().len();
    let is_apart = before.iter().rev().take(blanks).any(|byte| *byte == b'\n');
    let ends_value = match before.trim_ascii_end().last() {
        Some(byte) => matches!(byte, b')' | b']') || is_name_byte(*byte) || !byte.is_ascii(),
        None => false,
    };
    ends_value && !is_apart && !ends_in_keyword(before.trim_ascii_end())
}

/// Whether code ends with a keyword that a value follows, and not with a name or property that ends alike.
fn ends_in_keyword(text: &[u8]) -> bool {
    BEFORE_PATTERN.iter().any(|word| {
        let before = text.strip_suffix(word.as_bytes());
        before.is_some_and(|before| match before {
            [.., b'.', b'.', b'.'] => true,
            [.., byte] => *byte != b'.' && !is_name_byte(*byte) && byte.is_ascii(),
            [] => true,
        })
    })
}

/// Where `/* */` ends.
fn comment(bytes: &[u8], start: usize) -> usize {
    let inner = bytes.get(start + 2..).unwrap_or_default();
    let length = inner.windows(2).position(|pair| pair == b"*/");
    length.map_or(bytes.len(), |length| start + 2 + length + 2)
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

#[cfg(test)]
mod tests {
    use super::{IN_VAIN_FACTOR, IN_VAIN_LEAST, PATTERN_BYTES_MAX, Stretch, read, stretches};

    #[test]
    fn slashes_that_begin_nothing_are_read_in_linear_work() {
        for piece in ["=/[", "</", "(/\\", "=/ [", "=/[\n", "a/", "{/[", "`${/["] {
            for times in [1, 30, 1_000, 30_000] {
                let source = piece.repeat(times);
                let (_, in_vain) = read(&source);
                let most = IN_VAIN_LEAST + IN_VAIN_FACTOR * source.len() + PATTERN_BYTES_MAX + 1;
                assert!(in_vain <= most, "{piece} {times} times: {in_vain} bytes");
            }
        }
    }

    #[test]
    fn a_regular_expression_is_found_behind_any_number_of_divisions() {
        let source = format!("{}x = /[/]'/g;", "a / b;\n".repeat(3_000));
        let found = stretches(&source);
        let texts = found.iter().filter(|stretch| matches!(stretch, Stretch::Text(_)));
        let texts: Vec<&Stretch<'_>> = texts.collect();
        assert_eq!(texts, [&Stretch::Text("/[/]'/g")]);
    }
}
