//! A part of JSONata as JavaScript: paths, comparisons, arithmetic, conditions, objects, lists and everyday functions. An expression
//! with anything else has no translation, and says what it is.

use crate::expression::quoted;
use std::iter::Peekable;
use std::str::Chars;

const BYTES_MAX: usize = 2_000;
/// Parts of an expression within each other: bounds the recursion.
const DEPTH_MAX: usize = 40;

/// What the translations call. They work on sequences as JSONata does: nothing is undefined, and one value is not a list.
pub(crate) const HELPERS: &str = include_str!("jsonata.js");

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Name(String),
    Text(String),
    Number(String),
    /// `$name`, without the dollar.
    Dollar(String),
    Sign(&'static str),
}

/// Longer ones first.
const SIGNS: &[&str] = &[
    "!=", "<=", ">=", "~>", ":=", "..", "**", ".", "[", "]", "(", ")", "{", "}", ",", ":", ";", "?", "+",
    "-", "*", "/", "%", "&", "=", "<", ">", "^", "@", "#", "|",
];

/// Functions of the helpers, and how many values each takes at least and at most.
const FUNCTIONS: &[(&str, usize, usize)] = &[
    ("string", 1, 1),
    ("number", 1, 1),
    ("uppercase", 1, 1),
    ("lowercase", 1, 1),
    ("trim", 1, 1),
    ("length", 1, 1),
    ("substring", 2, 3),
    ("substringBefore", 2, 2),
    ("substringAfter", 2, 2),
    ("contains", 2, 2),
    ("split", 2, 3),
    ("join", 1, 2),
    ("replace", 3, 3),
    ("now", 0, 0),
    ("millis", 0, 0),
    ("sum", 1, 1),
    ("max", 1, 1),
    ("min", 1, 1),
    ("average", 1, 1),
    ("count", 1, 1),
    ("abs", 1, 1),
    ("floor", 1, 1),
    ("ceil", 1, 1),
    ("sqrt", 1, 1),
    ("power", 2, 2),
    ("round", 1, 2),
    ("exists", 1, 1),
    ("not", 1, 1),
    ("boolean", 1, 1),
    ("keys", 1, 1),
    ("append", 2, 2),
];

/// The expression as JavaScript, which reads `msg` and calls [`HELPERS`]; or what it has that can't be translated.
pub(crate) fn javascript(source: &str) -> Result<String, String> {
    if source.len() > BYTES_MAX {
        return Err(format!("its JSONata is longer than {BYTES_MAX} bytes"));
    }
    let mut parser = Parser {
        tokens: tokens(source)?.into_iter().peekable(),
        depth: 0,
    };
    let written = parser.expression(0)?;
    match parser.tokens.next() {
        None => Ok(written),
        Some(token) => Err(unexpected(&token)),
    }
}

fn unexpected(token: &Token) -> String {
    let shown = match token {
        Token::Name(text) | Token::Number(text) => text.clone(),
        Token::Text(text) => format!("\"{text}\""),
        Token::Dollar(name) => format!("${name}"),
        Token::Sign(sign) => (*sign).to_owned(),
    };
    format!("its JSONata has `{shown}` in a place that has no translation")
}

fn tokens(source: &str) -> Result<Vec<Token>, String> {
    let mut tokens = Vec::new();
    let mut rest = source.trim_start();
    while let Some(first) = rest.chars().next() {
        if let Some(comment) = rest.strip_prefix("/*") {
            rest = comment.split_once("*/").map_or("", |(_, behind)| behind);
        } else if matches!(first, '"' | '\'') {
            let mut chars = rest.chars();
            chars.next();
            tokens.push(Token::Text(text(&mut chars, first)?));
            rest = chars.as_str();
        } else if let Some(inner) = rest.strip_prefix('`') {
            let (name, behind) = inner
                .split_once('`')
                .ok_or("a quoted name in its JSONata is not closed")?;
            tokens.push(Token::Name(name.to_owned()));
            rest = behind;
        } else if first.is_ascii_digit() {
            let (number, behind) = number(rest);
            tokens.push(Token::Number(number.to_owned()));
            rest = behind;
        } else if let Some(name) = rest.strip_prefix('$') {
            let (name, behind) = name.split_at(word(name));
            tokens.push(Token::Dollar(name.to_owned()));
            rest = behind;
        } else if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            tokens.push(Token::Sign(sign));
            rest = rest.get(sign.len()..).unwrap_or_default();
        } else {
            let (name, behind) = rest.split_at(word(rest));
            if name.is_empty() {
                return Err(format!("its JSONata has `{first}`"));
            }
            tokens.push(Token::Name(name.to_owned()));
            rest = behind;
        }
        rest = rest.trim_start();
    }
    Ok(tokens)
}

/// How many bytes a name has.
fn word(text: &str) -> usize {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.find(|c| !is_part(c)).unwrap_or(text.len())
}

/// A number that stands at the start, and what is behind it.
fn number(text: &str) -> (&str, &str) {
    let digits = |text: &str| text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let mut end = digits(text);
    let behind = |end: usize| text.get(end..).unwrap_or_default();
    if let Some(fraction) = behind(end).strip_prefix('.')
        && digits(fraction) > 0
    {
        end += 1 + digits(fraction);
    }
    if let Some(exponent) = behind(end).strip_prefix(['e', 'E']) {
        let unsigned = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
        if digits(unsigned) > 0 {
            end += 1 + (exponent.len() - unsigned.len()) + digits(unsigned);
        }
    }
    text.split_at(end)
}

/// A text up to its quote.
fn text(chars: &mut Chars<'_>, quote: char) -> Result<String, String> {
    let mut text = String::new();
    loop {
        let Some(next) = chars.next() else {
            return Err("a text of its JSONata has no end".to_owned());
        };
        if next == quote {
            return Ok(text);
        }
        if next != '\\' {
            text.push(next);
            continue;
        }
        text.push(match chars.next() {
            Some('n') => '\n',
            Some('t') => '\t',
            Some('r') => '\r',
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some(plain @ ('"' | '\'' | '\\' | '/')) => plain,
            _ => return Err("a text of its JSONata has an escape that has no translation".to_owned()),
        });
    }
}

struct Parser {
    tokens: Peekable<std::vec::IntoIter<Token>>,
    depth: usize,
}

/// How tightly an operator binds; `None`: it is not an operator.
fn power(token: &Token) -> Option<u8> {
    let power = match token {
        Token::Sign("[" | "(") => 80,
        Token::Sign(".") => 75,
        Token::Sign("*" | "/" | "%") => 60,
        Token::Sign("+" | "-" | "&") => 50,
        Token::Sign("=" | "!=" | "<" | "<=" | ">" | ">=") => 40,
        Token::Name(name) if name == "in" => 40,
        Token::Name(name) if name == "and" => 30,
        Token::Name(name) if name == "or" => 25,
        Token::Sign("?") => 20,
        _ => return None,
    };
    Some(power)
}

impl Parser {
    fn is(&mut self, sign: &'static str) -> bool {
        self.tokens.next_if_eq(&Token::Sign(sign)).is_some()
    }

    fn expect(&mut self, sign: &'static str) -> Result<(), String> {
        match self.is(sign) {
            true => Ok(()),
            false => Err(self.tokens.peek().map_or_else(
                || format!("its JSONata ends where `{sign}` is expected"),
                unexpected,
            )),
        }
    }

    /// An expression of operators that bind more tightly than this.
    fn expression(&mut self, least: u8) -> Result<String, String> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err("its JSONata is nested too deeply".to_owned());
        }
        let mut left = Written::new(self.operand()?);
        while let Some(token) = self
            .tokens
            .next_if(|token| power(token).is_some_and(|power| power > least))
        {
            let power = power(&token).unwrap_or_default();
            match token {
                Token::Sign("?") => {
                    let then = self.expression(0)?;
                    let other = match self.is(":") {
                        true => self.expression(0)?,
                        false => "undefined".to_owned(),
                    };
                    left.wrap("(jsonata.truth(", &format!(") ? {then} : {other})"));
                }
                Token::Sign(".") => {
                    let field = self.step()?;
                    left.wrap("jsonata.walk(", &field);
                }
                Token::Sign("[") => {
                    let place = self.place()?;
                    left.wrap("jsonata.pick(", &format!(", {place})"));
                }
                Token::Sign(sign) => {
                    let right = self.expression(power)?;
                    let around = binary(sign, &right).ok_or_else(|| unexpected(&Token::Sign(sign)))?;
                    left.wrap(around.0, &around.1);
                }
                Token::Name(name) => {
                    let right = self.expression(power)?;
                    match name.as_str() {
                        "and" => left.wrap("(jsonata.truth(", &format!(") && jsonata.truth({right}))")),
                        "or" => left.wrap("(jsonata.truth(", &format!(") || jsonata.truth({right}))")),
                        _ => left.wrap("jsonata.within(", &format!(", {right})")),
                    }
                }
                other => return Err(unexpected(&other)),
            }
        }
        self.depth -= 1;
        Ok(left.whole())
    }

    /// What an expression begins with.
    fn operand(&mut self) -> Result<String, String> {
        let token = self.tokens.next().ok_or("its JSONata is not complete")?;
        match token {
            Token::Name(name) if matches!(name.as_str(), "true" | "false" | "null") => Ok(name),
            Token::Name(name) => Ok(format!("jsonata.walk(msg{}", self.field(&name)?)),
            Token::Text(text) => Ok(quoted(&text)),
            Token::Number(number) => match number.parse::<f64>() {
                Ok(number) if number.is_finite() => Ok(number.to_string()),
                _ => Err(format!("its JSONata has the number {number}")),
            },
            // The message, which is also the root: nothing here has a context of its own.
            Token::Dollar(name) if name.is_empty() => {
                self.tokens.next_if_eq(&Token::Dollar(String::new()));
                Ok("msg".to_owned())
            }
            Token::Dollar(name) => self.call(&name),
            Token::Sign("-") => {
                let negated = self.expression(70)?;
                Ok(format!("jsonata.calculate(0, {negated}, (a, b) => a - b)"))
            }
            Token::Sign("(") => {
                let inner = self.expression(0)?;
                self.expect(")")?;
                Ok(format!("({inner})"))
            }
            Token::Sign("[") => self.list(),
            Token::Sign("{") => self.object(),
            other => Err(unexpected(&other)),
        }
    }

    /// What follows a value of which a field is read, or one of each of its elements: the field's name, and which of several values
    /// that have it.
    fn field(&mut self, name: &str) -> Result<String, String> {
        let mut written = format!(", {}", quoted(name));
        while self.is("[") {
            let place = self.place()?;
            written.push_str(&format!(", {place}"));
        }
        written.push(')');
        Ok(written)
    }

    fn step(&mut self) -> Result<String, String> {
        match self.tokens.next() {
            Some(Token::Name(name) | Token::Text(name)) => self.field(&name),
            Some(other) => Err(unexpected(&other)),
            None => Err("its JSONata is not complete".to_owned()),
        }
    }

    /// The number of an element, behind its bracket.
    fn place(&mut self) -> Result<String, String> {
        let sign = if self.is("-") { "-" } else { "" };
        match self.tokens.next() {
            Some(Token::Number(number))
                if number.len() < 10 && number.bytes().all(|b| b.is_ascii_digit()) =>
            {
                self.expect("]")?;
                Ok(format!("{sign}{number}"))
            }
            _ => Err("its JSONata chooses among elements by an expression".to_owned()),
        }
    }

    fn call(&mut self, name: &str) -> Result<String, String> {
        let known = FUNCTIONS.iter().find(|(known, ..)| *known == name);
        let Some((_, least, most)) = known else {
            return Err(format!("its JSONata has `${name}`, which has no translation"));
        };
        self.expect("(")?;
        let mut given = Vec::new();
        while !self.is(")") {
            if !given.is_empty() {
                self.expect(",")?;
            }
            given.push(self.expression(0)?);
        }
        if !(*least..=*most).contains(&given.len()) {
            return Err(format!("its JSONata calls `${name}` with {} values", given.len()));
        }
        Ok(format!("jsonata.{name}({})", given.join(", ")))
    }

    /// A list: what is one itself is taken apart, unless it is written as one.
    fn list(&mut self) -> Result<String, String> {
        let mut items = Vec::new();
        while !self.is("]") {
            if !items.is_empty() {
                self.expect(",")?;
            }
            let is_list = self.tokens.peek() == Some(&Token::Sign("["));
            let item = self.expression(0)?;
            items.push(match is_list {
                true => item,
                false => format!("...jsonata.many({item})"),
            });
        }
        Ok(format!("[{}]", items.join(", ")))
    }

    fn object(&mut self) -> Result<String, String> {
        let mut fields = Vec::new();
        while !self.is("}") {
            if !fields.is_empty() {
                self.expect(",")?;
            }
            let Some(Token::Text(name)) = self.tokens.next() else {
                return Err("an object of its JSONata has a computed name".to_owned());
            };
            self.expect(":")?;
            let value = self.expression(0)?;
            fields.push(format!("[{}, {value}]", quoted(&name)));
        }
        Ok(format!("jsonata.object([{}])", fields.join(", ")))
    }
}

/// What stands before and behind the left side of an operator.
fn binary(sign: &str, right: &str) -> Option<(&'static str, String)> {
    Some(match sign {
        "+" | "-" | "*" | "/" | "%" => ("jsonata.calculate(", format!(", {right}, (a, b) => a {sign} b)")),
        "<" | "<=" | ">" | ">=" => ("jsonata.compare(", format!(", {right}, (a, b) => a {sign} b)")),
        "=" => ("jsonata.equal(", format!(", {right})")),
        "!=" => ("jsonata.differ(", format!(", {right})")),
        "&" => ("(jsonata.text(", format!(") + jsonata.text({right}))")),
        _ => return None,
    })
}

/// JavaScript while more and more is put around it, which is written once in the end: each operator of a long row has all before it
/// as its left side.
struct Written {
    /// The innermost first.
    before: Vec<&'static str>,
    text: String,
}

impl Written {
    fn new(text: String) -> Written {
        Written {
            before: Vec::new(),
            text,
        }
    }

    fn wrap(&mut self, before: &'static str, behind: &str) {
        self.before.push(before);
        self.text.push_str(behind);
    }

    fn whole(self) -> String {
        let before = self.before.into_iter().rev();
        before.chain([self.text.as_str()]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::javascript;

    #[test]
    fn a_row_of_operators_begins_with_the_first() {
        for (source, written) in [
            ("a", "jsonata.walk(msg, \"a\")"),
            ("a.b[0]", "jsonata.walk(jsonata.walk(msg, \"a\"), \"b\", 0)"),
            (
                "1 + 2 * 3 - 4",
                "jsonata.calculate(jsonata.calculate(1, jsonata.calculate(2, 3, (a, b) => a * b), (a, b) => a + b), 4, (a, b) => a - b)",
            ),
            (
                "1 & 2 = 3 and 4 in [5] ? 6 : 7",
                "(jsonata.truth((jsonata.truth(jsonata.equal((jsonata.text(1) + jsonata.text(2)), 3)) && \
                 jsonata.truth(jsonata.within(4, [...jsonata.many(5)])))) ? 6 : 7)",
            ),
            ("(1)[0]", "jsonata.pick((1), 0)"),
        ] {
            assert_eq!(javascript(source).as_deref(), Ok(written), "{source}");
        }
        let row = format!("1{}", "&2".repeat(900));
        let written = javascript(&row).unwrap();
        assert!(written.starts_with(&"(jsonata.text(".repeat(900)));
        assert!(written.ends_with(&") + jsonata.text(2))".repeat(900)));
    }
}
