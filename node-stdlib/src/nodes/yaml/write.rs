//! Writing: block style, so that people can read it, and quotes wherever a reader of YAML 1.2 or 1.1 could take a
//! text for something else.

use super::scalar;
use heddle_values::{Object, Text, Value};
use std::fmt::Write as _;

/// Longer keys are written with `?`, since YAML wants short ones before a colon.
const KEY_BYTES_MAX: usize = 1_000;

/// A document, which ends with a line feed.
pub(super) fn document(value: &Value) -> String {
    let mut out = String::new();
    write(&mut out, value, 0);
    out
}

/// Writes a value where the line has been begun, and ends the line. `indent` is that of the value's own lines.
fn write(out: &mut String, value: &Value, indent: usize) {
    match value {
        Value::Array(elements) if !elements.is_empty() => {
            for (index, element) in elements.iter().enumerate() {
                begin(out, index, indent);
                out.push_str("- ");
                write(out, element, indent + 2);
            }
        }
        Value::Object(fields) if !fields.is_empty() => write_fields(out, fields, indent),
        Value::Array(_) => out.push_str("[]\n"),
        Value::Object(_) => out.push_str("{}\n"),
        Value::String(text) => {
            write_text(out, text, Some(indent));
            out.push('\n');
        }
        other => {
            other.write_json(out);
            out.push('\n');
        }
    }
}

fn write_fields(out: &mut String, fields: &Object, indent: usize) {
    for (index, (name, value)) in fields.iter().enumerate() {
        begin(out, index, indent);
        let start = out.len();
        write_text(out, name, None);
        if out.len() - start > KEY_BYTES_MAX {
            out.insert_str(start, "? ");
            out.push('\n');
            begin(out, 1, indent);
        }
        out.push(':');
        let has_lines = match value {
            Value::Array(elements) => !elements.is_empty(),
            Value::Object(fields) => !fields.is_empty(),
            _ => false,
        };
        match has_lines {
            true => {
                out.push('\n');
                begin(out, 1, indent + 2);
            }
            false => out.push(' '),
        }
        write(out, value, indent + 2);
    }
}

/// The space before all lines but the first, which has been begun.
fn begin(out: &mut String, index: usize, indent: usize) {
    if index > 0 {
        out.extend(std::iter::repeat_n(' ', indent));
    }
}

/// A text; with `indent`, several lines are written as such.
fn write_text(out: &mut String, text: &Text, indent: Option<usize>) {
    match text.as_str() {
        Some(plain) if is_plain(plain) => out.push_str(plain),
        Some(lines) if indent.is_some() && is_block(lines) => {
            // The lines of a document's own text are indented as well.
            write_block(out, lines, indent.unwrap_or_default().max(2));
        }
        _ => write_quoted(out, text),
    }
}

/// Whether a text can stand as it is and every reader takes it for a text.
fn is_plain(text: &str) -> bool {
    let mut characters = text.chars();
    let Some(first) = characters.next() else {
        return false;
    };
    let second = characters.next();
    let begins = first.is_alphanumeric()
        || matches!(first, '_' | '/' | '(' | '$' | '^')
        || first == '.' && second.is_some_and(char::is_alphabetic);
    begins
        && text.chars().all(|c| is_printable(c) && !matches!(c, '\n' | '\t'))
        && !text.contains(": ")
        && !text.contains(" #")
        && !text.ends_with([':', ' '])
        && matches!(scalar::resolved(text), Value::String(_))
        && !is_special_to_others(text)
}

/// What YAML 1.1 and its many readers take for something else than a text: booleans, numbers in other bases and with
/// underscores, times.
fn is_special_to_others(text: &str) -> bool {
    const WORDS: &[&str] = &[
        "y", "n", "yes", "no", "on", "off", "null", "true", "false", "nan", "inf",
    ];
    let like_a_number = text.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        && text
            .bytes()
            .all(|byte| byte.is_ascii_hexdigit() || b"xXoO_.:+- tTzZ".contains(&byte));
    WORDS.iter().any(|word| text.eq_ignore_ascii_case(word)) || like_a_number
}

/// Whether the lines can be written below a `|`.
fn is_block(text: &str) -> bool {
    text.contains('\n')
        && !text.starts_with([' ', '\t', '\n'])
        && text.chars().all(is_printable)
        && text
            .split('\n')
            .all(|line| line.is_empty() || !line.trim_matches([' ', '\t']).is_empty())
}

fn write_block(out: &mut String, text: &str, indent: usize) {
    let content = text.trim_end_matches('\n');
    out.push_str(match text.len() - content.len() {
        0 => "|-",
        1 => "|",
        _ => "|+",
    });
    for line in content.split('\n') {
        out.push('\n');
        begin(out, usize::from(!line.is_empty()), indent);
        out.push_str(line);
    }
    // The line that the value ends is the last of them.
    let kept = (text.len() - content.len()).saturating_sub(1);
    out.extend(std::iter::repeat_n('\n', kept));
}

/// What readers of both versions take unescaped.
fn is_printable(c: char) -> bool {
    !matches!(
        c,
        '\u{85}' | '\u{a0}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}'
    ) && (!c.is_control() || matches!(c, '\n' | '\t'))
}

/// In double quotes, with the escapes that JSON has too.
fn write_quoted(out: &mut String, text: &Text) {
    out.push('"');
    for unit in char::decode_utf16(text.units()) {
        match unit {
            Ok('"') => out.push_str("\\\""),
            Ok('\\') => out.push_str("\\\\"),
            Ok('\n') => out.push_str("\\n"),
            Ok('\r') => out.push_str("\\r"),
            Ok('\t') => out.push_str("\\t"),
            Ok(c) if is_printable(c) => out.push(c),
            Ok(c) => escape(out, u32::from(c)),
            // YAML knows no lone surrogates.
            Err(_) => out.push(char::REPLACEMENT_CHARACTER),
        }
    }
    out.push('"');
}

fn escape(out: &mut String, code: u32) {
    // Writing to a String can't fail.
    let _ = match code {
        0..=0xffff => write!(out, "\\u{code:04X}"),
        _ => write!(out, "\\U{code:08X}"),
    };
}
