//! Characters that XML can't hold, as workbooks write them: `_x000D_` (ECMA-376 part 1, 22.9.2.19).

use std::borrow::Cow;

/// Bytes of an escape.
const BYTES: usize = 7;

/// The character for which an escape at the beginning of a text stands, if there is one.
fn escape(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("_x")?.get(..4)?;
    let is_escape =
        digits.bytes().all(|byte| byte.is_ascii_hexdigit()) && text.as_bytes().get(BYTES - 1) == Some(&b'_');
    is_escape.then(|| u32::from_str_radix(digits, 16).ok())?
}

/// The text for which a workbook's text stands. Halves of surrogate pairs stay as they are written.
pub(super) fn read(text: &str) -> Cow<'_, str> {
    if !text.contains("_x") {
        return Cow::Borrowed(text);
    }
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find("_x") {
        let (before, found) = rest.split_at(at);
        out.push_str(before);
        match escape(found).and_then(char::from_u32) {
            Some(character) => {
                out.push(character);
                rest = found.get(BYTES..).unwrap_or_default();
            }
            None => {
                out.push('_');
                rest = found.get(1..).unwrap_or_default();
            }
        }
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Writes a text as the content of an element.
pub(super) fn write(out: &mut String, text: &str) {
    for (at, character) in text.char_indices() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\t' | '\n' => out.push(character),
            '\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => {
                out.push_str(&format!("_x{:04X}_", u32::from(character)));
            }
            // What looks like an escape, and is none.
            '_' if escape(text.get(at..).unwrap_or_default()).is_some() => out.push_str("_x005F_"),
            _ => out.push(character),
        }
    }
}
