//! Which members of an object code asks for that it has by a name, such as a library's.

use super::declared::Declared;
use super::tokens::{Token, Tokens, unquoted};
use std::collections::HashSet;

/// The first of these members that code may use of the object that a name stands for. A name that stands by itself counts if the
/// code doesn't declare it. A name that is only a key, or a property of something else, is not a use.
pub(super) fn used(tokens: &Tokens<'_>, object: &str, members: &[&'static str]) -> Option<&'static str> {
    let names = names_of(tokens, object);
    let taken = taken_apart(tokens, &names);
    let declared = Declared::of(tokens);
    let is_object = |at: Option<usize>| {
        let token = at.and_then(|at| tokens.get(at));
        matches!(token, Some(Token::Name(name)) if names.contains(name))
    };
    let is_taken = |at: usize| taken.get(at).is_some_and(|is_taken| *is_taken);
    let is_own = |name: &str| {
        let declared = declared.as_ref();
        declared.is_some_and(|declared| declared.count(name) > 0)
    };
    let is_used = |(at, token): (usize, Token<'_>), member: &str| match token {
        Token::Name(name) if name == member => {
            if is_taken(at) {
                return true;
            }
            if tokens.is_property(at) {
                // `a.b` and `a?.b`.
                let is_asked = tokens.is_sign(at.checked_sub(2), "?");
                return is_object(at.checked_sub(if is_asked { 3 } else { 2 }));
            }
            let is_key = tokens.is_sign(at + 1, ":") && tokens.is_sign(at.checked_sub(1), "{,");
            !is_key && !is_own(name)
        }
        Token::Text(text) if unquoted(text) == member => {
            let is_index = tokens.is_sign(at.checked_sub(1), "[") && tokens.is_sign(at + 1, "]");
            is_taken(at) || is_index && is_object(at.checked_sub(2))
        }
        _ => false,
    };
    let found = members
        .iter()
        .find(|member| tokens.iter().any(|each| is_used(each, member)));
    found.copied()
}

/// The names that stand for an object: its own, and those that it is given by `a = object`.
fn names_of<'c>(tokens: &Tokens<'c>, object: &'c str) -> HashSet<&'c str> {
    let mut names = HashSet::from([object]);
    for (at, token) in tokens.iter() {
        let Token::Name(name) = token else { continue };
        let given = tokens.get(at + 2).filter(|_| tokens.is_sign(at + 1, "="));
        let is_whole = !tokens.is_sign(at + 3, ".?[(");
        if let Some(Token::Name(given)) = given.filter(|_| is_whole)
            && names.contains(given)
        {
            names.insert(name);
        }
    }
    names
}

/// For each token whether the object is taken apart there, as by `{ a, b: c } = object`.
fn taken_apart(tokens: &Tokens<'_>, names: &HashSet<&str>) -> Vec<bool> {
    // From the last token to the first: where the outermost of those begins that end behind it.
    let mut opening = tokens.count();
    let mut taken = vec![false; tokens.count()];
    for (at, is_taken) in taken.iter_mut().enumerate().rev() {
        let is_end = tokens.is_sign(at, "}") && tokens.is_sign(at + 1, "=");
        let of = tokens.get(at + 2).filter(|_| is_end);
        *is_taken = opening <= at;
        if let (Some(Token::Name(of)), Some(begin)) = (of, tokens.partner(at))
            && names.contains(of)
        {
            opening = opening.min(begin);
        }
    }
    taken
}
