//! Text without the signs of Markdown, as n8n takes them away: kind by kind, in this order.

use crate::number::is_space;
use std::ops::Range;

/// A piece that goes, and what of it stays.
struct Found {
    whole: Range<usize>,
    kept: Range<usize>,
}

pub(super) fn removed(text: &str) -> String {
    let text = replaced(text, list_marker);
    let text = replaced(&text, underline).replace("~~", "");
    let text = replaced(&text, fence);
    let text = replaced(&text, tag);
    let text = without_rule(text, &['=', '-'], 2);
    let text = replaced(&text, footnote);
    let text = without_reference(&text);
    let text = replaced(&text, image);
    let text = replaced(&text, link).replace('>', "");
    let text = replaced(&text, heading);
    let text = replaced(&text, emphasis);
    let text = replaced(&text, block);
    let text = without_rule(text, &['-'], 3);
    let text = replaced(&text, code);
    replaced(&text, blank_lines)
}

/// The text with every piece that is found replaced; a function finds the first from a place on.
fn replaced(text: &str, find: fn(&str, usize) -> Option<Found>) -> String {
    let mut written = String::with_capacity(text.len());
    let mut from = 0;
    while let Some(Found { whole, kept }) = find(text, from) {
        written.push_str(text.get(from..whole.start).unwrap_or_default());
        written.push_str(text.get(kept).unwrap_or_default());
        from = whole.end;
    }
    written.push_str(text.get(from..).unwrap_or_default());
    written
}

/// `- ` or `1. ` before a line.
fn list_marker(text: &str, from: usize) -> Option<Found> {
    let mut start = line_start(text, from)?;
    loop {
        let marker = start + spaces(text.get(start..)?);
        let found = text.get(marker..)?;
        let mut chars = found.chars();
        let first = chars.next()?;
        let length = match (first, chars.next()) {
            ('*' | '-' | '+', _) => 1,
            ('0'..='9', Some('.')) => 2,
            _ => 0,
        };
        let behind = spaces(found.get(length..)?);
        if length > 0 && behind > 0 {
            return Some(Found {
                whole: start..marker + length + behind,
                kept: start..marker,
            });
        }
        start = line_start(text, marker + first.len_utf8())?;
    }
}

/// `==` below a line.
fn underline(text: &str, from: usize) -> Option<Found> {
    let at = from + text.get(from..)?.find("\n==")?;
    let length = text
        .get(at + 1..)?
        .bytes()
        .take_while(|byte| *byte == b'=')
        .count();
    Some(Found {
        whole: at..at + 1 + length,
        kept: at..at + 1,
    })
}

/// Three backticks and the rest of their line.
fn fence(text: &str, from: usize) -> Option<Found> {
    let mut from = from;
    loop {
        let at = from + text.get(from..)?.find("```")?;
        let end = line_end(text, at);
        if text.get(end..)?.starts_with('\n') {
            return Some(Found {
                whole: at..end + 1,
                kept: at..at,
            });
        }
        from = end;
    }
}

/// A tag of HTML.
fn tag(text: &str, from: usize) -> Option<Found> {
    let is_inner = |c: char| c.is_ascii_alphanumeric() || is_space(c) || "_|='\":(),;/.-".contains(c);
    let mut from = from;
    loop {
        let at = from + text.get(from..)?.find('<')?;
        let inner = text.get(at + 1..)?;
        let length = inner.find(|c| !is_inner(c)).unwrap_or(inner.len());
        let is_closed = inner.get(length..)?.starts_with(['>', '\\']);
        // A bar ends it as well.
        let end = match is_closed && length > 0 {
            true => Some(length),
            false => inner.get(..length)?.rfind('|').filter(|bar| *bar > 0),
        };
        match end {
            Some(end) => {
                return Some(Found {
                    whole: at..at + 1 + end + 1,
                    kept: at..at,
                });
            }
            None => from = at + 1,
        }
    }
}

/// Nothing, if the whole text is a line of these.
fn without_rule(text: String, signs: &[char], least: usize) -> String {
    let rule = text.trim_end_matches(is_space);
    match rule.len() >= least && rule.chars().all(|c| signs.contains(&c)) {
        true => String::new(),
        false => text,
    }
}

/// `[^1]`, and what follows its colon up to the end of the text.
fn footnote(text: &str, from: usize) -> Option<Found> {
    let mut from = from;
    loop {
        let at = from + text.get(from..)?.find("[^")?;
        let name = at + "[^".len();
        let line = text.get(name..line_end(text, at))?;
        let first = line.chars().next().map_or(0, char::len_utf8);
        if let Some(length) = line
            .get(first..)
            .filter(|_| first > 0)
            .and_then(|rest| rest.find(']'))
        {
            let end = name + first + length + 1;
            let is_last = line_end(text, end) == text.len() && text.get(end..)?.starts_with(": ");
            return Some(Found {
                whole: at..if is_last { text.len() } else { end },
                kept: at..at,
            });
        }
        from = name;
    }
}

/// The text without `[name]: address` at its end.
fn without_reference(text: &str) -> String {
    let start = text.rfind(is_line_end).unwrap_or(0);
    let line = text.get(start..).unwrap_or_default();
    let Some(at) = line.find('[') else {
        return text.to_owned();
    };
    if !line.get(at..).unwrap_or_default().contains("]: ") {
        return text.to_owned();
    }
    let mut kept = text.get(..start + at).unwrap_or_default();
    for _ in 0..2 {
        kept = kept.strip_suffix(is_space).unwrap_or(kept);
    }
    kept.to_owned()
}

/// `![text](address)`
fn image(text: &str, from: usize) -> Option<Found> {
    bracketed(text, from, "![").map(|Found { whole, .. }| Found {
        kept: whole.start..whole.start,
        whole,
    })
}

/// `[text](address)`
fn link(text: &str, from: usize) -> Option<Found> {
    bracketed(text, from, "[")
}

fn bracketed(text: &str, from: usize, opening: &str) -> Option<Found> {
    let mut from = from;
    loop {
        let at = from + text.get(from..)?.find(opening)?;
        let name = at + opening.len();
        let end = line_end(text, at);
        let line = text.get(name..end)?;
        let name_length = [line.find("]("), line.find("][")].into_iter().flatten().min();
        if let Some(length) = name_length {
            let address = length + "](".len();
            if let Some(closing) = line.get(address..)?.find([']', ')']) {
                return Some(Found {
                    whole: at..name + address + closing + 1,
                    kept: name..name + length,
                });
            }
        }
        // Nothing else in the line has more behind it.
        from = end;
    }
}

/// `# ` before a line, and what comes up to the next `#`.
fn heading(text: &str, from: usize) -> Option<Found> {
    let mut start = line_start(text, from)?;
    loop {
        let signs = |text: &str| text.bytes().take_while(|byte| *byte == b'#').count().min(6);
        let opening = signs(text.get(start..)?);
        if opening > 0 {
            let inner = start + opening + spaces(text.get(start + opening..)?);
            let rest = text.get(inner..)?;
            let end = inner + rest.find('#').unwrap_or(rest.len());
            return Some(Found {
                whole: start..end + signs(text.get(end..)?),
                kept: inner..end,
            });
        }
        let first = text.get(start..)?.chars().next()?;
        start = line_start(text, start + first.len_utf8())?;
    }
}

/// `*text*`, `__text__` and the like, with at least two characters in between.
fn emphasis(text: &str, from: usize) -> Option<Found> {
    let is_marker = |c: char| matches!(c, '*' | '_');
    let mut from = from;
    loop {
        let at = from + text.get(from..)?.find(is_marker)?;
        let line = text.get(at..line_end(text, at))?;
        let signs = line
            .bytes()
            .take_while(|byte| is_marker(char::from(*byte)))
            .count()
            .min(3);
        for length in (1..=signs).rev() {
            let (marker, inner) = line.split_at_checked(length)?;
            if let Some(end) = emphasized(inner, marker) {
                return Some(Found {
                    whole: at..at + length + end + length,
                    kept: at + length..at + length + end,
                });
            }
        }
        from = at + 1;
    }
}

/// Bytes up to the next of the same marker, with no space at either end.
fn emphasized(inner: &str, marker: &str) -> Option<usize> {
    let first = inner.chars().next().filter(|c| !is_space(*c))?;
    let mut from = first.len_utf8();
    loop {
        // One character more is the last one before the marker.
        let last = inner.get(from..)?.chars().next()?;
        let end = from + last.len_utf8();
        if !is_space(last) && inner.get(end..)?.starts_with(marker) {
            return Some(end);
        }
        from = end;
    }
}

/// Three or more backticks on both sides, in a line.
fn block(text: &str, from: usize) -> Option<Found> {
    let mut from = from;
    loop {
        let at = from + text.get(from..)?.find("```")?;
        let line = text.get(at..line_end(text, at))?;
        let ticks = line.bytes().take_while(|byte| *byte == b'`').count();
        // As many as come again, in the same row of them or later.
        let later = line.get(ticks..)?.split(|c| c != '`').map(str::len).max();
        let length = ticks.min(later.unwrap_or(0).max(ticks / 2));
        let (marker, inner) = line.split_at_checked(length)?;
        if let Some(end) = inner.find(marker).filter(|_| length >= 3) {
            return Some(Found {
                whole: at..at + length + end + length,
                kept: at + length..at + length + end,
            });
        }
        from = at + 1;
    }
}

/// One backtick on both sides, in a line.
fn code(text: &str, from: usize) -> Option<Found> {
    let mut from = from;
    loop {
        let at = from + text.get(from..)?.find('`')?;
        let end = line_end(text, at);
        let inner = text.get(at + 1..end)?;
        let first = inner.chars().next().map_or(0, char::len_utf8);
        if let Some(length) = inner.get(first..)?.find('`').filter(|_| first > 0) {
            let close = at + 1 + first + length;
            return Some(Found {
                whole: at..close + 1,
                kept: at + 1..close,
            });
        }
        from = end;
    }
}

/// More than one blank line.
fn blank_lines(text: &str, from: usize) -> Option<Found> {
    let at = from + text.get(from..)?.find("\n\n\n")?;
    let length = text.get(at..)?.bytes().take_while(|byte| *byte == b'\n').count();
    Some(Found {
        whole: at..at + length,
        kept: at..at + 2,
    })
}

/// Bytes of spaces at the start, ends of lines among them.
fn spaces(text: &str) -> usize {
    text.find(|c| !is_space(c)).unwrap_or(text.len())
}

/// The first start of a line from a place on.
fn line_start(text: &str, from: usize) -> Option<usize> {
    let (before, rest) = text.split_at_checked(from)?;
    if before.is_empty() || before.ends_with(is_line_end) {
        return Some(from);
    }
    let (at, end) = rest.char_indices().find(|(_, c)| is_line_end(*c))?;
    Some(from + at + end.len_utf8())
}

/// Where the line ends that a place is in.
fn line_end(text: &str, from: usize) -> usize {
    let rest = text.get(from..).unwrap_or_default();
    from + rest.find(is_line_end).unwrap_or(rest.len())
}

/// What `.` does not match in a regular expression.
pub(super) fn is_line_end(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{2028}' | '\u{2029}')
}
