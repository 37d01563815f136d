//! Formats taken apart, before anybody asks what their tokens mean.

/// A piece of a format: text that stands for itself, or letters of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) literal: bool,
    pub(super) text: String,
}

/// The pieces of a format. What is in single quotes and spaces are literal; two quotes are one.
pub(super) fn pieces(format: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut text = String::new();
    let mut quoted = false;
    let mut last = None;
    let mut push = |text: &mut String, quoted: bool| {
        let literal = quoted || (!text.is_empty() && text.chars().all(char::is_whitespace));
        let text = std::mem::take(text);
        pieces.push(Piece { literal, text });
    };
    for c in format.chars() {
        if c == '\'' {
            if !text.is_empty() || quoted {
                if text.is_empty() {
                    text.push('\'');
                }
                push(&mut text, quoted);
            }
            last = None;
            quoted = !quoted;
        } else {
            if !quoted && last != Some(c) && !text.is_empty() {
                push(&mut text, false);
            }
            text.push(c);
            last = (!quoted).then_some(c);
        }
    }
    if !text.is_empty() {
        push(&mut text, quoted);
    }
    pieces
}
