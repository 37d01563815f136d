//! What code sets, counts up or deletes.

use super::tokens::{Token, Tokens};
use std::ops::Range;

/// Signs that an assignment's `=` may have before it.
const OPERATORS: &str = "+-*/%&|^?<>";

/// What is set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Target<'c> {
    Name(&'c str),
    /// A property, by the place of the dot or bracket that its name follows.
    Property(usize),
    /// Something else, which may be a property.
    Unknown,
}

/// Everything that code sets. Names of a pattern without properties, as in `[a, b] = c`, are not among it.
pub(super) fn targets<'c>(tokens: &Tokens<'c>) -> Vec<Target<'c>> {
    let properties = Properties::of(tokens);
    let ending = |end| ending(tokens, &properties, end);
    let mut found = Vec::new();
    for (at, token) in tokens.iter() {
        match token {
            Token::Sign('=') if assigns(tokens, at) => {
                let signs = (0..at).rev().take_while(|at| tokens.is_sign(*at, OPERATORS));
                let signs = signs.count();
                found.extend(ending(at.checked_sub(signs + 1)));
            }
            Token::Step => {
                // At the end of a line it may belong to what follows.
                let before = at.checked_sub(1).filter(|before| tokens.ends_operand(*before));
                found.extend(before.and_then(|before| ending(Some(before))));
                if matches!(tokens.get(at + 1), Some(Token::Name(_) | Token::Sign('('))) {
                    found.extend(ending(path_end(tokens, at + 1)));
                }
            }
            Token::Name("delete") if !tokens.is_property(at) && !tokens.is_sign(at + 1, ":") => {
                found.extend(ending(path_end(tokens, at + 1)));
            }
            Token::Name("for") if !tokens.is_property(at) => {
                found.extend(loop_end(tokens, at).and_then(|end| ending(Some(end))));
            }
            _ => {}
        }
    }
    found
}

/// Whether a `=` sets something, rather than being a part of `==`, `<=`, `=>` and the like.
fn assigns(tokens: &Tokens<'_>, at: usize) -> bool {
    if tokens.is_sign(at + 1, "=>") {
        return false;
    }
    match tokens.before(at) {
        Some(Token::Sign('=' | '!')) => false,
        // `<<=` and `>>=`.
        Some(Token::Sign('<')) => tokens.is_sign(at.checked_sub(2), "<"),
        Some(Token::Sign('>')) => tokens.is_sign(at.checked_sub(2), ">"),
        _ => true,
    }
}

/// The target that ends at a place.
fn ending<'c>(tokens: &Tokens<'c>, properties: &Properties, end: Option<usize>) -> Option<Target<'c>> {
    let Some(end) = end else {
        return Some(Target::Unknown);
    };
    match tokens.get(end) {
        Some(Token::Name(name)) => Some(match end.checked_sub(1).filter(|_| tokens.is_property(end)) {
            Some(dot) => Target::Property(dot),
            None => Target::Name(name),
        }),
        Some(Token::Sign(']' | '}')) => {
            let Some(opening) = tokens.partner(end) else {
                return Some(Target::Unknown);
            };
            let before = opening.checked_sub(1);
            let is_index = tokens.is_sign(end, "]") && before.is_some_and(|at| tokens.ends_operand(at));
            match is_index {
                true => Some(Target::Property(opening)),
                false => properties.are_in(opening + 1..end).then_some(Target::Unknown),
            }
        }
        _ => Some(Target::Unknown),
    }
}

/// Where properties are, counted once: patterns may be within each other.
struct Properties {
    /// How many are before each token, and at last before the end.
    before: Vec<usize>,
}

impl Properties {
    fn of(tokens: &Tokens<'_>) -> Properties {
        let mut before = vec![0];
        let mut count = 0;
        for (at, _) in tokens.iter() {
            let is_index = || {
                at.checked_sub(1)
                    .is_some_and(|before| tokens.ends_operand(before))
            };
            let is_one = tokens.is_property(at) || (tokens.is_sign(at, "[") && is_index());
            count += usize::from(is_one);
            before.push(count);
        }
        Properties { before }
    }

    /// Whether a pattern may set properties. A property that something is by default counts as well.
    fn are_in(&self, range: Range<usize>) -> bool {
        self.before.get(range.start) != self.before.get(range.end)
    }
}

/// Where `a.b[0].c` ends that begins at a place; none if something else does.
fn path_end(tokens: &Tokens<'_>, first: usize) -> Option<usize> {
    let Some(Token::Name(_)) = tokens.get(first) else {
        return None;
    };
    let mut end = first;
    loop {
        let next = end + 1;
        if tokens.is_sign(next, ".") {
            end = next + 1;
        } else if tokens.is_sign(next, "?") && tokens.is_sign(next + 1, ".") {
            let is_name = matches!(tokens.get(next + 2), Some(Token::Name(_)));
            end = next + 1 + usize::from(is_name);
        } else if tokens.is_sign(next, "[(") {
            end = tokens.partner(next)?;
        } else {
            return Some(end);
        }
    }
}

/// Where what `for (a.b of c)` sets ends, which declares nothing.
fn loop_end(tokens: &Tokens<'_>, at: usize) -> Option<usize> {
    let opening = at + 1 + usize::from(tokens.is_name(at + 1, &["await"]));
    let first = opening + 1;
    if !tokens.is_sign(opening, "(") || tokens.is_name(first, &["const", "let", "var"]) {
        return None;
    }
    let end = match tokens.is_sign(first, "[{") {
        true => tokens.partner(first),
        false => path_end(tokens, first),
    };
    end.filter(|end| tokens.is_name(*end + 1, &["of", "in"]))
}
