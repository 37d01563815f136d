//! The words of a JMESPath query.

use super::error::QueryError;
use crate::{Value, parse_json};

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    /// `name`
    Name(String),
    /// `"name"`, which is never a function's.
    Quoted(String),
    Number(i64),
    /// `` `json` `` or `'text'`
    Literal(Literal),
    /// `.`, `[?`, `==`, …
    Sign(&'static str),
    End,
}

/// A value that is compared as it was read.
#[derive(Clone, Debug)]
pub(super) struct Literal(pub(super) Value);

impl PartialEq for Literal {
    fn eq(&self, other: &Self) -> bool {
        self.0.deep_equal(&other.0)
    }
}

/// Longer ones first.
const SIGNS: &[&str] = &[
    "[?", "[]", "&&", "||", "!=", "<=", ">=", "==", "[", "]", "{", "}", "(", ")", ".", ",", ":", "*", "@",
    "&", "|", "!", "<", ">",
];

/// Levels of a literal.
const LITERAL_DEPTH_MAX: usize = 64;

/// Tokens and where each begins, the end last.
pub(super) fn tokens(query: &str) -> Result<Vec<(usize, Token)>, QueryError> {
    let mut tokens = Vec::new();
    let mut rest = query;
    loop {
        rest = rest.trim_start_matches([' ', '\t', '\r', '\n']);
        let at = query.len() - rest.len();
        let Some(first) = rest.chars().next() else {
            tokens.push((at, Token::End));
            return Ok(tokens);
        };
        let (token, len) = token(rest, first).map_err(|message| QueryError { message, offset: at })?;
        tokens.push((at, token));
        rest = rest.get(len..).unwrap_or_default();
    }
}

/// The first token and its bytes.
fn token(text: &str, first: char) -> Result<(Token, usize), String> {
    let while_true = |from: usize, holds: fn(char) -> bool| {
        let rest = text.get(from..).unwrap_or_default();
        from + rest.find(|c| !holds(c)).unwrap_or(rest.len())
    };
    match first {
        'A'..='Z' | 'a'..='z' | '_' => {
            let len = while_true(1, |c| c.is_ascii_alphanumeric() || c == '_');
            Ok((Token::Name(text[..len].to_owned()), len))
        }
        '-' | '0'..='9' => {
            let len = while_true(1, |c| c.is_ascii_digit());
            let number = text[..len].parse();
            let number = number.map_err(|_| format!("`{}` is not a whole number", &text[..len]))?;
            Ok((Token::Number(number), len))
        }
        '"' | '\'' | '`' => {
            let len = end_of_quoted(text).ok_or_else(|| format!("the {first} is not closed"))?;
            let inner = &text[1..len - 1];
            Ok((quoted(first, &text[..len], inner)?, len))
        }
        _ => {
            let sign = SIGNS.iter().find(|sign| text.starts_with(**sign));
            let sign = sign.ok_or_else(|| format!("`{first}` has no place in a query"))?;
            Ok((Token::Sign(sign), sign.len()))
        }
    }
}

fn quoted(quote: char, whole: &str, inner: &str) -> Result<Token, String> {
    match quote {
        '"' => match parse_json(whole.as_bytes(), 1) {
            Ok(Value::String(name)) => Ok(Token::Quoted(name.to_utf8().into_owned())),
            _ => Err("the name is not a valid JSON string".to_owned()),
        },
        '\'' => {
            let text = inner.replace("\\'", "'");
            Ok(Token::Literal(Literal(text.into())))
        }
        _ => {
            let json = inner.replace("\\`", "`");
            // What is no JSON is text without its quotes.
            let value = parse_json(json.as_bytes(), LITERAL_DEPTH_MAX)
                .unwrap_or_else(|_| Value::from(json.trim_start()));
            Ok(Token::Literal(Literal(value)))
        }
    }
}

/// Offset behind the quote that closes the one at the beginning.
fn end_of_quoted(text: &str) -> Option<usize> {
    let mut characters = text.char_indices();
    let (_, quote) = characters.next()?;
    while let Some((at, character)) = characters.next() {
        if character == '\\' {
            characters.next();
        } else if character == quote {
            return Some(at + 1);
        }
    }
    None
}
