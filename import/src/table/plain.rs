//! Code of which it is sure that it does the same here as in n8n: it reads its items, and otherwise only what JavaScript has
//! everywhere and what it declares itself. Looks at names alone, and takes what it does not know for code that differs. And
//! code that may change what it was given.

use crate::scan::{Stretch, stretches};
use std::collections::{HashMap, HashSet};

/// Longer code is not looked at.
const BYTES_MAX: usize = 64 << 10;

const KEYWORDS: &[&str] = &[
    "async",
    "await",
    "break",
    "case",
    "catch",
    "const",
    "continue",
    "default",
    "delete",
    "do",
    "else",
    "false",
    "finally",
    "for",
    "function",
    "if",
    "in",
    "instanceof",
    "let",
    "new",
    "null",
    "of",
    "return",
    "switch",
    "throw",
    "true",
    "try",
    "typeof",
    "var",
    "void",
    "while",
];
/// What is the same in every engine, time zone and language.
const BUILT_IN: &[&str] = &[
    "Array",
    "Boolean",
    "Error",
    "Infinity",
    "JSON",
    "Map",
    "Math",
    "NaN",
    "Number",
    "Object",
    "RangeError",
    "RegExp",
    "Set",
    "String",
    "TypeError",
    "console",
    "decodeURI",
    "decodeURIComponent",
    "encodeURI",
    "encodeURIComponent",
    "isFinite",
    "isNaN",
    "parseFloat",
    "parseInt",
    "undefined",
];
/// Properties of which that is not so. In a module, what can't be changed throws where n8n overlooks the change.
const DEPENDENT: &[&str] = &[
    "__proto__",
    "callee",
    "caller",
    "captureStackTrace",
    "constructor",
    "defineProperties",
    "defineProperty",
    "freeze",
    "localeCompare",
    "preventExtensions",
    "seal",
    "stack",
    "toLocaleLowerCase",
    "toLocaleString",
    "toLocaleUpperCase",
];

/// Methods that change what they are called of, or what they are given.
const CHANGING: &[&str] = &[
    "assign",
    "copyWithin",
    "defineProperties",
    "defineProperty",
    "fill",
    "pop",
    "push",
    "reverse",
    "setPrototypeOf",
    "shift",
    "sort",
    "splice",
    "unshift",
];

#[derive(Clone, Copy, Debug, PartialEq)]
enum Token<'c> {
    Name(&'c str),
    Number(&'c str),
    Sign(char),
    /// A string, a piece of a template, a regular expression or a comment.
    Text,
}

/// Whether the code of a function that gets these names is such code.
pub(super) fn is_plain(code: &str, given: &[&str]) -> bool {
    if code.len() > BYTES_MAX {
        return false;
    }
    let tokens = tokens(code);
    let mut known: HashSet<&str> = given.iter().copied().collect();
    known.extend(KEYWORDS.iter().chain(BUILT_IN).copied());
    if !declare(&tokens, &mut known) {
        return false;
    }
    let sign = |at, signs| is_sign(&tokens, at, signs);
    tokens.iter().enumerate().all(|(at, token)| match token {
        Token::Name(name) => {
            let before = at.checked_sub(1);
            let is_property = sign(before, ".") && !sign(at.checked_sub(2), ".");
            let is_key = sign(Some(at + 1), ":") && sign(before, "{,");
            !DEPENDENT.contains(name) && (is_property || is_key || known.contains(name))
        }
        // Numbers of eight digits, and those without an end.
        Token::Number(digits) => !digits.ends_with('n') && !is_octal(digits),
        _ => true,
    })
}

/// Whether code may change values that it was given: sets, deletes or counts up a property, or calls what changes its object.
pub(super) fn may_change(code: &str) -> bool {
    if code.len() > BYTES_MAX {
        return true;
    }
    let tokens = tokens(code);
    let is_sign = |at, signs| is_sign(&tokens, at, signs);
    // What ends here is a property, or may be one.
    let ends_property = |at: Option<usize>| {
        let is_name = matches!(at.and_then(|at| tokens.get(at)), Some(Token::Name(_)));
        is_sign(at, "]") || (is_name && is_sign(at.and_then(|at| at.checked_sub(1)), "."))
    };
    tokens.iter().enumerate().any(|(at, token)| {
        let before = at.checked_sub(1);
        match token {
            Token::Name(name) => *name == "delete" || CHANGING.contains(name),
            Token::Sign('=') if !is_sign(Some(at + 1), "=>") && !is_sign(before, "=!<>") => {
                // `+=`, `??=` and the like.
                let operator = (0..at).rev().take_while(|at| is_sign(Some(*at), "+-*/%&|^?"));
                ends_property(before.and_then(|before| before.checked_sub(operator.count())))
            }
            Token::Sign(sign @ ('+' | '-')) if tokens.get(at + 1) == Some(&Token::Sign(*sign)) => {
                ends_property(before) || is_sign(Some(at + 3), ".[")
            }
            _ => false,
        }
    })
}

/// Whether one of these signs stands there.
fn is_sign(tokens: &[Token<'_>], at: Option<usize>, signs: &str) -> bool {
    let token = at.and_then(|at| tokens.get(at));
    matches!(token, Some(Token::Sign(sign)) if signs.contains(*sign))
}

fn is_octal(digits: &str) -> bool {
    digits.len() > 1 && digits.starts_with('0') && digits.bytes().all(|byte| byte.is_ascii_digit())
}

fn tokens(code: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    for stretch in stretches(code) {
        let Stretch::Code(code) = stretch else {
            tokens.push(Token::Text);
            continue;
        };
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$');
        let mut rest = code;
        while let Some(first) = rest.chars().next() {
            let length = match is_part(first) {
                true => rest.find(|c| !is_part(c)).unwrap_or(rest.len()),
                false => first.len_utf8(),
            };
            let (own, after) = rest.split_at(length);
            match first {
                _ if first.is_whitespace() => {}
                '0'..='9' => tokens.push(Token::Number(own)),
                _ if is_part(first) => tokens.push(Token::Name(own)),
                _ => tokens.push(Token::Sign(first)),
            }
            rest = after;
        }
    }
    tokens
}

/// Adds the names that the code declares, wherever it does; whether all declarations are understood.
fn declare<'c>(tokens: &[Token<'c>], known: &mut HashSet<&'c str>) -> bool {
    let Some(pairs) = pairs(tokens) else { return false };
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for token in tokens {
        if let Token::Name(name) = token {
            *counts.entry(*name).or_default() += 1;
        }
    }
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        let next = tokens.get(at + 1);
        match token {
            Token::Sign('{') => depth += 1,
            Token::Sign('}') => depth = depth.saturating_sub(1),
            Token::Name("const" | "let" | "var") => declarators(tokens, &pairs, at + 1, known),
            Token::Name("function") => {
                // Within a block, scripts know it outside as well.
                let before = at.checked_sub(1).and_then(|at| tokens.get(at));
                let begins = matches!(before, None | Some(Token::Sign('{' | '}' | ';') | Token::Text));
                if depth > 0 && begins {
                    return false;
                }
                let named = next.filter(|next| matches!(next, Token::Name(_)));
                if let Some(Token::Name(name)) = named {
                    known.insert(*name);
                }
                names_within(tokens, &pairs, at + 1 + usize::from(named.is_some()), known);
            }
            // What an engine says about an error is its own.
            Token::Name("catch") if reads_caught(tokens, &pairs, at, &counts) => return false,
            Token::Name("catch") if next == Some(&Token::Sign('(')) => {
                names_within(tokens, &pairs, at + 1, known);
            }
            Token::Sign('=') if next == Some(&Token::Sign('>')) => {
                let before = at.checked_sub(1);
                match before.and_then(|before| tokens.get(before)) {
                    Some(Token::Name(name)) => {
                        known.insert(*name);
                    }
                    Some(Token::Sign(')')) => {
                        let opening = before.and_then(|before| pairs.get(before).copied());
                        names_within(tokens, &pairs, opening.unwrap_or(at), known);
                    }
                    _ => return false,
                }
            }
            _ => {}
        }
    }
    true
}

/// For each bracket the place of its partner, for all others their own; none if brackets don't fit together.
fn pairs(tokens: &[Token<'_>]) -> Option<Vec<usize>> {
    let mut pairs: Vec<usize> = (0..tokens.len()).collect();
    let mut open: Vec<(usize, char)> = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        match token {
            Token::Sign('(') => open.push((at, ')')),
            Token::Sign('[') => open.push((at, ']')),
            Token::Sign('{') => open.push((at, '}')),
            Token::Sign(sign @ (')' | ']' | '}')) => {
                let (opening, _) = open.pop().filter(|(_, closing)| closing == sign)?;
                *pairs.get_mut(at)? = opening;
                *pairs.get_mut(opening)? = at;
            }
            _ => {}
        }
    }
    open.is_empty().then_some(pairs)
}

/// Whether code reads an error that it catches, or hands a function to a promise that may do so.
fn reads_caught(tokens: &[Token<'_>], pairs: &[usize], at: usize, counts: &HashMap<&str, usize>) -> bool {
    let is_method = is_sign(tokens, at.checked_sub(1), ".");
    let opening = at + 1;
    let bound = match tokens.get(opening) {
        Some(Token::Sign('(')) => pairs
            .get(opening)
            .and_then(|closing| tokens.get(opening..*closing)),
        _ => None,
    };
    let is_read = |token: &Token<'_>| match token {
        Token::Name(name) => counts.get(*name).is_some_and(|count| *count > 1),
        _ => false,
    };
    is_method || bound.unwrap_or_default().iter().any(is_read)
}

/// Declares all names between two brackets that are no keys and not part of what a name is by default.
fn names_within<'c>(tokens: &[Token<'c>], pairs: &[usize], opening: usize, known: &mut HashSet<&'c str>) {
    let closing = pairs.get(opening).copied().unwrap_or(opening);
    let mut at = opening;
    let mut is_default = false;
    while at < closing {
        match tokens.get(at) {
            Some(Token::Sign('=')) => is_default = true,
            Some(Token::Sign(',' | '}' | ']')) => is_default = false,
            Some(Token::Sign('(' | '[' | '{')) if is_default => {
                at = pairs.get(at).copied().unwrap_or(at).max(at)
            }
            Some(Token::Name(name)) if !is_default && tokens.get(at + 1) != Some(&Token::Sign(':')) => {
                known.insert(*name);
            }
            _ => {}
        }
        at += 1;
    }
}

/// Declares what `let a = 1, { b } = c` does, up to its end.
fn declarators<'c>(tokens: &[Token<'c>], pairs: &[usize], first: usize, known: &mut HashSet<&'c str>) {
    let mut at = first;
    let mut is_start = true;
    while let Some(token) = tokens.get(at) {
        match token {
            Token::Name("const" | "let" | "var" | "return" | "if" | "for" | "function" | "of" | "in") => {
                return;
            }
            Token::Name(name) if is_start => {
                known.insert(*name);
            }
            Token::Sign('{' | '[') if is_start => names_within(tokens, pairs, at, known),
            Token::Sign(')' | ']' | '}' | ';') => return,
            _ => {}
        }
        is_start = *token == Token::Sign(',');
        // What stands between brackets is no declaration of this one.
        at = pairs.get(at).copied().unwrap_or(at).max(at) + 1;
    }
}
