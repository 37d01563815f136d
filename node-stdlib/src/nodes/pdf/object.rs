//! The objects of a PDF (ISO 32000-2, 7.2 and 7.3), read from bytes without recursion.

use std::collections::BTreeMap;
use std::rc::Rc;

/// How deep arrays and dictionaries may be nested.
const DEPTH_MAX: usize = 100;

pub(super) type Dictionary = BTreeMap<String, Object>;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Object {
    Null,
    Bool(bool),
    Number(f64),
    Name(String),
    Text(Vec<u8>),
    Array(Rc<Vec<Object>>),
    Dictionary(Rc<Dictionary>),
    /// To an object by its number.
    Reference(u32),
}

/// What comes next in a sequence of objects and words.
pub(super) enum Item<'a> {
    Object(Object),
    /// An operator, or a word of the file's structure.
    Word(&'a [u8]),
}

enum Token<'a> {
    Object(Object),
    ArrayStart,
    ArrayEnd,
    DictionaryStart,
    DictionaryEnd,
    Word(&'a [u8]),
}

pub(super) struct Lexer<'a> {
    bytes: &'a [u8],
    pub at: usize,
    /// Whether `1 0 R` is a reference.
    has_references: bool,
}

pub(super) fn is_space(byte: u8) -> bool {
    matches!(byte, 0 | 9 | 10 | 12 | 13 | 32)
}

fn is_delimiter(byte: u8) -> bool {
    matches!(
        byte,
        b'(' | b')' | b'<' | b'>' | b'[' | b']' | b'{' | b'}' | b'/' | b'%'
    )
}

fn hex_digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).map(|digit| digit as u8)
}

impl<'a> Lexer<'a> {
    /// Of a file's structure.
    pub fn new(bytes: &'a [u8], at: usize) -> Self {
        Lexer {
            bytes,
            at,
            has_references: true,
        }
    }

    /// Of operators and what they take.
    pub fn of_operators(bytes: &'a [u8]) -> Self {
        Lexer {
            bytes,
            at: 0,
            has_references: false,
        }
    }

    pub fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    pub fn skip_space(&mut self) {
        while let Some(byte) = self.peek() {
            if byte == b'%' {
                while self.peek().is_some_and(|byte| !matches!(byte, b'\r' | b'\n')) {
                    self.at += 1;
                }
            } else if is_space(byte) {
                self.at += 1;
            } else {
                break;
            }
        }
    }

    fn regular(&mut self) -> &'a [u8] {
        let start = self.at;
        while self
            .peek()
            .is_some_and(|byte| !is_space(byte) && !is_delimiter(byte))
        {
            self.at += 1;
        }
        self.bytes.get(start..self.at).unwrap_or_default()
    }

    fn token(&mut self) -> Option<Token<'a>> {
        self.skip_space();
        let start = self.at;
        let byte = self.next()?;
        Some(match byte {
            b'[' => Token::ArrayStart,
            b']' => Token::ArrayEnd,
            b'<' if self.peek() == Some(b'<') => {
                self.at += 1;
                Token::DictionaryStart
            }
            b'>' if self.peek() == Some(b'>') => {
                self.at += 1;
                Token::DictionaryEnd
            }
            b'<' => Token::Object(Object::Text(self.hexadecimal())),
            b'(' => Token::Object(Object::Text(self.text())),
            b'/' => Token::Object(Object::Name(self.name())),
            b'+' | b'-' | b'.' | b'0'..=b'9' => {
                self.at = start;
                Token::Object(self.number())
            }
            byte if is_delimiter(byte) => Token::Word(self.bytes.get(start..self.at).unwrap_or_default()),
            _ => {
                self.at = start;
                match self.regular() {
                    b"true" => Token::Object(Object::Bool(true)),
                    b"false" => Token::Object(Object::Bool(false)),
                    b"null" => Token::Object(Object::Null),
                    word => Token::Word(word),
                }
            }
        })
    }

    /// Pairs of hexadecimal digits up to `>`; what is no digit is skipped.
    pub fn hexadecimal(&mut self) -> Vec<u8> {
        let (mut out, mut half) = (Vec::new(), None);
        while let Some(byte) = self.next() {
            if byte == b'>' {
                break;
            }
            let Some(digit) = hex_digit(byte) else { continue };
            match half.take() {
                None => half = Some(digit),
                Some(first) => out.push(first << 4 | digit),
            }
        }
        out.extend(half.map(|first| first << 4));
        out
    }

    fn text(&mut self) -> Vec<u8> {
        let (mut out, mut depth) = (Vec::new(), 1_usize);
        while let Some(byte) = self.next() {
            match byte {
                b'(' => depth += 1,
                b')' => {
                    depth -= 1;
                    if depth == 0 {
                        break;
                    }
                }
                b'\\' => {
                    self.escape(&mut out);
                    continue;
                }
                _ => {}
            }
            out.push(byte);
        }
        out
    }

    fn escape(&mut self, out: &mut Vec<u8>) {
        let Some(byte) = self.next() else { return };
        match byte {
            b'n' => out.push(b'\n'),
            b'r' => out.push(b'\r'),
            b't' => out.push(b'\t'),
            b'b' => out.push(8),
            b'f' => out.push(12),
            b'\r' => {
                if self.peek() == Some(b'\n') {
                    self.at += 1;
                }
            }
            b'\n' => {}
            b'0'..=b'7' => {
                let mut number = u32::from(byte - b'0');
                for _ in 0..2 {
                    let Some(digit @ b'0'..=b'7') = self.peek() else {
                        break;
                    };
                    number = number * 8 + u32::from(digit - b'0');
                    self.at += 1;
                }
                out.push(number as u8);
            }
            other => out.push(other),
        }
    }

    fn name(&mut self) -> String {
        let written = self.regular();
        let mut out = Vec::with_capacity(written.len());
        let mut at = 0;
        while let Some(byte) = written.get(at) {
            let digits = written.get(at + 1).zip(written.get(at + 2));
            let code = digits.and_then(|(high, low)| Some(hex_digit(*high)? << 4 | hex_digit(*low)?));
            match (byte, code) {
                (b'#', Some(code)) => {
                    out.push(code);
                    at += 3;
                }
                _ => {
                    out.push(*byte);
                    at += 1;
                }
            }
        }
        String::from_utf8_lossy(&out).into_owned()
    }

    fn number(&mut self) -> Object {
        let written = self.regular();
        let text = str::from_utf8(written).unwrap_or_default();
        let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
        let number = number.unwrap_or_default();
        if !self.has_references || number.fract() != 0.0 || !(0.0..=f64::from(u32::MAX)).contains(&number) {
            return Object::Number(number);
        }
        let after = self.at;
        self.skip_space();
        let generation = self.regular();
        self.skip_space();
        let is_number = !generation.is_empty() && generation.iter().all(u8::is_ascii_digit);
        if is_number && self.regular() == b"R" {
            return Object::Reference(number as u32);
        }
        self.at = after;
        Object::Number(number)
    }

    /// The next object or word; `None` at the end, and where nesting is too deep.
    pub fn item(&mut self) -> Option<Item<'a>> {
        let mut open: Vec<Vec<Object>> = Vec::new();
        loop {
            let object = match self.token()? {
                Token::Object(object) => object,
                Token::ArrayStart | Token::DictionaryStart => {
                    if open.len() >= DEPTH_MAX {
                        return None;
                    }
                    open.push(Vec::new());
                    continue;
                }
                Token::ArrayEnd => match open.pop() {
                    Some(items) => Object::Array(Rc::new(items)),
                    None => continue,
                },
                Token::DictionaryEnd => match open.pop() {
                    Some(items) => Object::Dictionary(Rc::new(dictionary(items))),
                    None => continue,
                },
                Token::Word(word) => match (open.is_empty(), word) {
                    (true, word) => return Some(Item::Word(word)),
                    (false, b"endobj" | b"stream" | b"endstream") => return None,
                    (false, _) => Object::Null,
                },
            };
            match open.last_mut() {
                Some(items) => items.push(object),
                None => return Some(Item::Object(object)),
            }
        }
    }

    /// The next object, if it is one.
    pub fn object(&mut self) -> Option<Object> {
        match self.item()? {
            Item::Object(object) => Some(object),
            Item::Word(_) => None,
        }
    }
}

fn dictionary(items: Vec<Object>) -> Dictionary {
    let mut found = Dictionary::new();
    let mut items = items.into_iter();
    while let Some(key) = items.next() {
        if let Object::Name(key) = key
            && let Some(value) = items.next()
        {
            found.insert(key, value);
        }
    }
    found
}

impl Object {
    pub fn name(&self) -> Option<&str> {
        match self {
            Object::Name(name) => Some(name),
            _ => None,
        }
    }

    pub fn number(&self) -> Option<f64> {
        match self {
            Object::Number(number) => Some(*number),
            _ => None,
        }
    }

    /// A whole number that is not negative.
    pub fn count(&self) -> Option<usize> {
        let number = self.number()?;
        (0.0..=f64::from(u32::MAX))
            .contains(&number)
            .then_some(number as usize)
    }
}
