//! Where a text occurs in another, in UTF-16 units.

use crate::Text;

/// The first occurrence at `from`, at most the length, or behind.
pub(super) fn find(text: &Text, wanted: &Text, from: usize) -> Option<usize> {
    if wanted.is_empty() {
        return Some(from);
    }
    match (text.as_str(), wanted.as_str()) {
        (Some(utf8), Some(wanted)) => {
            let start = byte_of(text, utf8, from);
            let at = start + utf8.get(start..)?.find(wanted)?;
            Some(unit_of(text, utf8, at))
        }
        _ => {
            let (units, wanted) = (units(text), units(wanted));
            let mut windows = units.get(from..)?.windows(wanted.len());
            windows.position(|window| *window == *wanted).map(|at| from + at)
        }
    }
}

/// The last occurrence that begins at `last`, at most the length, or before.
pub(super) fn find_last(text: &Text, wanted: &Text, last: usize) -> Option<usize> {
    let last = last.min(text.len().checked_sub(wanted.len())?);
    if wanted.is_empty() {
        return Some(last);
    }
    match (text.as_str(), wanted.as_str()) {
        (Some(utf8), Some(sought)) => {
            let end = byte_of(text, utf8, last + wanted.len());
            Some(unit_of(text, utf8, utf8.get(..end)?.rfind(sought)?)).filter(|at| *at <= last)
        }
        _ => {
            let (units, wanted) = (units(text), units(wanted));
            let mut windows = units.get(..last + wanted.len())?.windows(wanted.len());
            windows.rposition(|window| *window == *wanted)
        }
    }
}

fn units(text: &Text) -> Vec<u16> {
    text.units().collect()
}

/// Byte offset of a unit; from the middle of a character that of the next.
fn byte_of(text: &Text, utf8: &str, unit: usize) -> usize {
    if text.is_ascii() {
        return unit.min(utf8.len());
    }
    let mut units = 0;
    for (byte, character) in utf8.char_indices() {
        if units >= unit {
            return byte;
        }
        units += character.len_utf16();
    }
    utf8.len()
}

/// Unit offset of a byte at a character's start.
fn unit_of(text: &Text, utf8: &str, byte: usize) -> usize {
    if text.is_ascii() {
        return byte;
    }
    utf8.get(..byte)
        .unwrap_or_default()
        .chars()
        .map(char::len_utf16)
        .sum()
}
