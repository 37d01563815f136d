//! Code as tokens: names, numbers, signs and texts, without comments. Knows nothing of what they mean.

use crate::scan::{Stretch, stretches};

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

pub(super) fn is_keyword(name: &str) -> bool {
    KEYWORDS.contains(&name)
}

/// A string without its quotes.
pub(super) fn unquoted(text: &str) -> &str {
    text.trim_matches(['\'', '"', '`'])
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Token<'c> {
    Name(&'c str),
    Number(&'c str),
    Sign(char),
    /// `++` or `--`.
    Step,
    /// A string, a piece of a template or a regular expression.
    Text(&'c str),
}

pub(super) struct Tokens<'c> {
    all: Vec<Token<'c>>,
    /// For each bracket the place of its partner, for all others their own; none if brackets don't fit together.
    pairs: Option<Vec<usize>>,
    /// How often it was asked for a token.
    #[cfg(test)]
    asked: std::cell::Cell<usize>,
}

impl<'c> Tokens<'c> {
    pub fn of(code: &'c str) -> Tokens<'c> {
        let all = tokens(code);
        let pairs = pairs(&all);
        Tokens {
            all,
            pairs,
            #[cfg(test)]
            asked: std::cell::Cell::default(),
        }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.all.len()
    }

    #[cfg(test)]
    pub fn asked(&self) -> usize {
        self.asked.get()
    }

    pub fn iter(&self) -> impl Iterator<Item = (usize, Token<'c>)> {
        self.all.iter().copied().enumerate()
    }

    pub fn get(&self, at: usize) -> Option<Token<'c>> {
        #[cfg(test)]
        self.asked.set(self.asked.get() + 1);
        self.all.get(at).copied()
    }

    /// The token before a place.
    pub fn before(&self, at: usize) -> Option<Token<'c>> {
        self.get(at.checked_sub(1)?)
    }

    /// Whether one of these signs stands there.
    pub fn is_sign(&self, at: impl Into<Option<usize>>, signs: &str) -> bool {
        let token = at.into().and_then(|at| self.get(at));
        matches!(token, Some(Token::Sign(sign)) if signs.contains(sign))
    }

    /// Whether one of these names stands there.
    pub fn is_name(&self, at: impl Into<Option<usize>>, names: &[&str]) -> bool {
        let token = at.into().and_then(|at| self.get(at));
        matches!(token, Some(Token::Name(name)) if names.contains(&name))
    }

    /// Whether it has these tokens, one behind the other.
    pub fn has(&self, wanted: &Tokens<'_>) -> bool {
        let mut runs = self.all.windows(wanted.all.len().max(1));
        runs.any(|run| run == wanted.all)
    }

    /// Whether brackets fit together.
    pub fn fits(&self) -> bool {
        self.pairs.is_some()
    }

    /// The other bracket of one that stands there.
    pub fn partner(&self, at: usize) -> Option<usize> {
        self.pairs.as_ref()?.get(at).copied()
    }

    /// Whether what stands there comes behind a dot. Of three dots, what follows is not a property.
    pub fn is_property(&self, at: usize) -> bool {
        self.is_sign(at.checked_sub(1), ".") && !self.is_sign(at.checked_sub(2), ".")
    }

    /// Whether what ends there can be called, counted up or asked for a property.
    pub fn ends_operand(&self, at: usize) -> bool {
        match self.get(at) {
            Some(Token::Name(name)) => !is_keyword(name) || self.is_property(at),
            Some(Token::Sign(sign)) => matches!(sign, ')' | ']'),
            Some(Token::Text(_)) => true,
            _ => false,
        }
    }
}

fn tokens(code: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    for stretch in stretches(code) {
        let code = match stretch {
            Stretch::Code(code) => code,
            Stretch::Text(text) => {
                if !text.starts_with("//") && !text.starts_with("/*") {
                    tokens.push(Token::Text(text));
                }
                continue;
            }
        };
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$');
        let mut rest = code;
        while let Some(first) = rest.chars().next() {
            let is_step = rest.starts_with("++") || rest.starts_with("--");
            let length = match first {
                _ if is_part(first) => rest.find(|c| !is_part(c)).unwrap_or(rest.len()),
                _ if is_step => 2,
                _ => first.len_utf8(),
            };
            let (own, after) = rest.split_at(length);
            match first {
                _ if first.is_whitespace() => {}
                '0'..='9' => tokens.push(Token::Number(own)),
                _ if is_part(first) => tokens.push(Token::Name(own)),
                _ if is_step => tokens.push(Token::Step),
                _ => tokens.push(Token::Sign(first)),
            }
            rest = after;
        }
    }
    tokens
}

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
