//! Splits a parameter's text at its `{{ }}`.

use super::scan::expression_end;
use std::ops::Range;

/// A piece of a text: what stands outside braces, or an expression's source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Text as written.
    Literal(String),
    /// The bytes of the text between the braces.
    Expression(Range<usize>),
}

/// Splits `text`. A `}}` inside a string, template or nested object of the expression does not end it.
/// Fails with the offset of a `{{` that is never closed.
pub fn split(text: &str) -> Result<Vec<Piece>, usize> {
    let mut pieces = Vec::new();
    let (mut at, mut in_vain) = (0, 0);
    while let Some(open) = text[at..].find("{{").map(|offset| at + offset) {
        if open > at {
            pieces.push(Piece::Literal(text[at..open].to_owned()));
        }
        let end = expression_end(text, open + 2, &mut in_vain).ok_or(open)?;
        pieces.push(Piece::Expression(open + 2..end));
        at = end + 2;
    }
    if at < text.len() || pieces.is_empty() {
        pieces.push(Piece::Literal(text[at..].to_owned()));
    }
    Ok(pieces)
}
