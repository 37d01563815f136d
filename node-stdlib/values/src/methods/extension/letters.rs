//! Text in other letters, as n8n writes it: titles, sentences, names, and within quotes.

use crate::number::is_space;

/// Words that are small in a title, unless they are its first or its last.
const SMALL: &[&str] = &[
    "a", "ad", "an", "and", "as", "at", "because", "but", "by", "en", "for", "if", "in", "neither", "nor",
    "of", "on", "only", "or", "over", "per", "so", "some", "than", "that", "the", "to", "up", "upon", "v",
    "versus", "via", "vs", "when", "with", "without", "yet",
];

/// The first letter of each sentence in upper case, and all others in lower case.
pub(super) fn sentences(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    for sentence in text.split_inclusive(['!', '?', '.']) {
        match sentence.char_indices().find(|(_, c)| c.is_alphabetic()) {
            Some((at, first)) => {
                let (before, rest) = sentence.split_at(at);
                written.push_str(before);
                written.extend(first.to_uppercase());
                let others = rest.get(first.len_utf8()..).unwrap_or_default();
                written.push_str(&others.to_lowercase());
            }
            None => written.push_str(sentence),
        }
    }
    written
}

/// The first letter of each word in upper case, except for small words and those with capitals of their own.
pub(super) fn title(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let between = |c: char| is_space(c) || matches!(c, ':' | '–' | '—' | '-');
        let length = rest.find(between).unwrap_or(rest.len());
        let (word, after) = rest.split_at(length);
        let is_edge = rest.len() == text.len() || after.is_empty();
        // An address goes on after its colon.
        let is_address = after
            .strip_prefix(':')
            .is_some_and(|after| !after.starts_with(is_space));
        if is_address || has_own_letters(word) || (has_small(word) && !is_edge) {
            written.push_str(word);
        } else {
            push_capitalized(&mut written, word);
        }
        let separator = after.chars().next();
        written.extend(separator);
        rest = after
            .get(separator.map_or(0, char::len_utf8)..)
            .unwrap_or_default();
    }
    written
}

/// A capital behind another character, or a dot between two.
fn has_own_letters(word: &str) -> bool {
    let mut inner = word.chars().skip(1).peekable();
    while let Some(c) = inner.next() {
        if c.is_ascii_uppercase() || (c == '.' && inner.peek().is_some()) {
            return true;
        }
    }
    false
}

fn has_small(word: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_small = |part: &str| SMALL.iter().any(|small| small.eq_ignore_ascii_case(part));
    word.split(|c| !is_part(c)).any(is_small)
}

/// The word with its first letter or digit of a Latin alphabet in upper case.
fn push_capitalized(written: &mut String, word: &str) {
    let is_first = |c: char| c.is_ascii_alphanumeric() || ('\u{c0}'..='\u{ff}').contains(&c);
    let mut chars = word.chars();
    for c in chars.by_ref() {
        if is_first(c) {
            written.extend(c.to_uppercase());
            break;
        }
        written.push(c);
    }
    written.push_str(chars.as_str());
}

/// In lower case, with `_` for spaces and hyphens, and without other signs.
pub(super) fn snake(text: &str) -> String {
    let is_sign = |c: char| {
        (c.is_ascii_punctuation() && c != '_')
            || ('\u{2000}'..='\u{206f}').contains(&c)
            || ('\u{2e00}'..='\u{2e7f}').contains(&c)
    };
    let lower = text.to_lowercase();
    let written = lower.chars().filter_map(|c| match c {
        ' ' | '-' => Some('_'),
        _ => (!is_sign(c)).then_some(c),
    });
    written.collect()
}

/// Between quotes, with a backslash before backslashes and quotes.
pub(super) fn quoted(text: &str, quote: &str) -> String {
    let mut inner = text.replace('\\', "\\\\");
    if !quote.is_empty() {
        inner = inner.replace(quote, &format!("\\{quote}"));
    }
    format!("{quote}{inner}{quote}")
}
