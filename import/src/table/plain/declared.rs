//! The names that code declares, wherever it does.

use super::tokens::{Token, Tokens};
use std::collections::{HashMap, HashSet};

/// How often each token may be read, on average, as a part of a list of names, such as a function's parameters. What people write
/// hardly has one within another.
const READ_MAX: usize = 16;

/// How often each name is declared.
#[derive(Default)]
pub(super) struct Declared<'c> {
    counts: HashMap<&'c str, usize>,
    /// Names of functions, which some functions can't change.
    functions: HashSet<&'c str>,
    /// Tokens that lists of names have read.
    read: usize,
}

impl<'c> Declared<'c> {
    /// None if a declaration is not understood, or lists of names are within each other without end.
    pub fn of(tokens: &Tokens<'c>) -> Option<Declared<'c>> {
        if !tokens.fits() {
            return None;
        }
        let mut declared = Declared::default();
        let mut mentions: HashMap<&str, usize> = HashMap::new();
        for (_, token) in tokens.iter() {
            if let Token::Name(name) = token {
                *mentions.entry(name).or_default() += 1;
            }
        }
        let mut depth = 0_usize;
        for (at, token) in tokens.iter() {
            match token {
                Token::Sign('{') => {
                    if is_method(tokens, at) {
                        return None;
                    }
                    depth += 1;
                }
                Token::Sign('}') => depth = depth.saturating_sub(1),
                Token::Name("const" | "let" | "var") => declared.declarators(tokens, at + 1),
                Token::Name("function") => {
                    // Within a block, scripts know it outside as well.
                    if depth > 0 && begins_statement(tokens, at) {
                        return None;
                    }
                    let named = match tokens.get(at + 1) {
                        Some(Token::Name(name)) => Some(name),
                        _ => None,
                    };
                    if let Some(name) = named {
                        declared.add(name);
                        declared.functions.insert(name);
                    }
                    declared.within(tokens, at + 1 + usize::from(named.is_some()));
                }
                // What an engine says about an error is its own.
                Token::Name("catch") if reads_caught(tokens, at, &mentions) => return None,
                Token::Name("catch") if tokens.is_sign(at + 1, "(") => declared.within(tokens, at + 1),
                Token::Sign('=') if tokens.is_sign(at + 1, ">") => match tokens.before(at) {
                    Some(Token::Name(name)) => declared.add(name),
                    Some(Token::Sign(')')) => {
                        let opening = at.checked_sub(1).and_then(|closing| tokens.partner(closing));
                        declared.within(tokens, opening?);
                    }
                    _ => return None,
                },
                _ => {}
            }
            if declared.read > tokens.count().saturating_mul(READ_MAX) {
                return None;
            }
        }
        Some(declared)
    }

    pub fn count(&self, name: &str) -> usize {
        self.counts.get(name).copied().unwrap_or_default()
    }

    pub fn is_function(&self, name: &str) -> bool {
        self.functions.contains(name)
    }

    fn add(&mut self, name: &'c str) {
        *self.counts.entry(name).or_default() += 1;
    }

    /// Declares all names between two brackets that are not keys and not part of what a name is by default.
    fn within(&mut self, tokens: &Tokens<'c>, opening: usize) {
        let closing = tokens.partner(opening).unwrap_or(opening);
        let mut at = opening;
        let mut is_default = false;
        while at < closing {
            self.read += 1;
            match tokens.get(at) {
                Some(Token::Sign('=')) => is_default = true,
                Some(Token::Sign(',' | '}' | ']')) => is_default = false,
                Some(Token::Sign('(' | '[' | '{')) if is_default => {
                    at = tokens.partner(at).unwrap_or(at).max(at);
                }
                Some(Token::Name(name)) if !is_default && !tokens.is_sign(at + 1, ":") => self.add(name),
                _ => {}
            }
            at += 1;
        }
    }

    /// Declares what `let a = 1, { b } = c` does, up to its end.
    fn declarators(&mut self, tokens: &Tokens<'c>, first: usize) {
        let mut at = first;
        let mut is_start = true;
        while let Some(token) = tokens.get(at) {
            match token {
                Token::Name("const" | "let" | "var" | "return" | "if" | "for" | "function" | "of" | "in") => {
                    return;
                }
                Token::Name(name) if is_start => self.add(name),
                Token::Sign('{' | '[') if is_start => self.within(tokens, at),
                Token::Sign(')' | ']' | '}' | ';') => return,
                _ => {}
            }
            is_start = token == Token::Sign(',');
            // What stands between brackets is not a declaration of this one.
            at = tokens.partner(at).unwrap_or(at).max(at) + 1;
        }
    }
}

/// Whether a brace opens the body of an object's or class's method, which declares names in a way of its own.
fn is_method(tokens: &Tokens<'_>, at: usize) -> bool {
    let Some(closing) = at.checked_sub(1).filter(|closing| tokens.is_sign(*closing, ")")) else {
        return false;
    };
    let Some(named) = tokens.partner(closing).and_then(|opening| opening.checked_sub(1)) else {
        return false;
    };
    let is_statement = tokens.is_name(
        named,
        &["if", "for", "while", "switch", "catch", "function", "await"],
    );
    let is_function = tokens.is_name(named.checked_sub(1), &["function"]);
    tokens.is_property(named) || (!is_statement && !is_function)
}

/// Whether `function` declares rather than being a part of an expression, as far as can be told without ends of lines.
fn begins_statement(tokens: &Tokens<'_>, at: usize) -> bool {
    let goes_on = |name: &str| {
        matches!(
            name,
            "async" | "await" | "case" | "new" | "return" | "throw" | "typeof" | "void"
        )
    };
    match tokens.before(at) {
        Some(Token::Sign(sign)) => !"(,=:[?&|!+-*/%<>~^.".contains(sign),
        Some(Token::Name(name)) => !goes_on(name),
        _ => true,
    }
}

/// Whether code reads an error that it catches, or hands a function to a promise that may do so.
fn reads_caught(tokens: &Tokens<'_>, at: usize, mentions: &HashMap<&str, usize>) -> bool {
    if tokens.is_sign(at.checked_sub(1), ".") {
        return true;
    }
    let opening = at + 1;
    let closing = tokens.partner(opening).filter(|_| tokens.is_sign(opening, "("));
    (opening..closing.unwrap_or(opening)).any(|at| match tokens.get(at) {
        Some(Token::Name(name)) => mentions.get(name).is_some_and(|count| *count > 1),
        _ => false,
    })
}
