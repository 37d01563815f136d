//! JSON text to values, with the results of JavaScript's JSON.parse.

use super::number::short_decimal;
use super::plain::plain_bytes;
use super::text::same_bytes;
use super::{Array, Object, ObjectMaker, Text, Value};

/// How deep JSON may nest: what comes from outside, and what leaves a node.
pub const JSON_DEPTH_MAX: usize = 512;

/// Why a text is no JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// What is wrong, for a person.
    pub message: String,
    /// Byte offset at which it shows.
    pub offset: usize,
    /// It may be JSON, but is nested more deeply than was allowed.
    pub too_deep: bool,
}

impl std::fmt::Display for ParseError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} at byte {}", self.message, self.offset)
    }
}

impl std::error::Error for ParseError {}

/// Parses a JSON text (RFC 8259), nested at most `depth_max` deep. Of properties with the same name the last one
/// counts, in the place of the first. A number too large for a double is an infinity, as in JavaScript.
pub fn parse_json(text: &[u8], depth_max: usize) -> Result<Value, ParseError> {
    let source = std::str::from_utf8(text).map_err(|error| ParseError {
        message: "invalid UTF-8".into(),
        offset: error.valid_up_to(),
        too_deep: false,
    })?;
    parse(source, depth_max, &mut Scratch::default()).map_err(|error| *error)
}

/// Parses many small texts: they share property names, and what is needed for parsing one is made once.
pub struct JsonTexts(Scratch);

impl Default for JsonTexts {
    fn default() -> Self {
        JsonTexts(Scratch {
            known: Some(Box::default()),
            ..Scratch::default()
        })
    }
}

impl JsonTexts {
    /// See [`parse_json`].
    pub fn parse(&mut self, source: &str, depth_max: usize) -> Result<Value, ParseError> {
        parse(source, depth_max, &mut self.0).map_err(|error| {
            // What was open when it failed.
            self.0.properties.clear();
            self.0.elements.clear();
            *error
        })
    }
}

fn parse(source: &str, depth_max: usize, scratch: &mut Scratch) -> Parsed<Value> {
    let mut parser = Parser {
        source,
        bytes: source.as_bytes(),
        at: 0,
        depth_left: depth_max,
        depth_max,
        scratch,
    };
    parser.skip_space();
    let value = parser.value()?;
    parser.skip_space();
    match parser.peek() {
        None => Ok(value),
        Some(_) => Err(parser.unexpected("the end of the text")),
    }
}

struct Parser<'a> {
    source: &'a str,
    bytes: &'a [u8],
    at: usize,
    depth_left: usize,
    depth_max: usize,
    scratch: &'a mut Scratch,
}

/// What is empty before and after a text, but for the names.
#[derive(Default)]
struct Scratch {
    /// From the first array on.
    known: Option<Box<Known>>,
    /// Of the objects that are open, so that each gets a list of the right size when it closes.
    properties: Vec<(Text, Value)>,
    /// Of the arrays that are open, likewise.
    elements: Vec<Value>,
}

/// Boxed, so that a value that was read is handed on in two words.
type Parsed<T> = Result<T, Box<ParseError>>;

impl Parser<'_> {
    fn value(&mut self) -> Parsed<Value> {
        match self.peek() {
            Some(b'"') => {
                self.at += 1;
                self.string().map(Value::String)
            }
            Some(b'{') => self.object(),
            Some(b'[') => self.array(),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word("true", Value::Bool(true)),
            Some(b'f') => self.word("false", Value::Bool(false)),
            Some(b'n') => self.word("null", Value::Null),
            _ => Err(self.unexpected("a value")),
        }
    }

    fn object(&mut self) -> Parsed<Value> {
        self.enter()?;
        let first = self.scratch.properties.len();
        if !self.eat(b'}') {
            loop {
                if !self.eat(b'"') {
                    return Err(self.unexpected("a property name in double quotes"));
                }
                let name = self.key()?;
                self.skip_space();
                if !self.eat(b':') {
                    return Err(self.unexpected("':' after a property name"));
                }
                self.skip_space();
                let value = self.value()?;
                self.scratch.properties.push((name, value));
                self.skip_space();
                if self.eat(b'}') {
                    break;
                }
                if !self.eat(b',') {
                    return Err(self.unexpected("',' or '}' after a property"));
                }
                self.skip_space();
            }
        }
        self.depth_left += 1;
        let properties = self.scratch.properties.drain(first..);
        Ok(Value::Object(match &mut self.scratch.known {
            Some(known) => known.objects.object(properties),
            None => Object::of_properties(properties),
        }))
    }

    fn array(&mut self) -> Parsed<Value> {
        self.enter()?;
        self.scratch.known.get_or_insert_default();
        let first = self.scratch.elements.len();
        if !self.eat(b']') {
            loop {
                let value = self.value()?;
                self.scratch.elements.push(value);
                self.skip_space();
                if self.eat(b']') {
                    break;
                }
                if !self.eat(b',') {
                    return Err(self.unexpected("',' or ']' after an element"));
                }
                self.skip_space();
            }
        }
        self.depth_left += 1;
        let is_long = first == 0 && self.scratch.elements.len() > LONG_FROM;
        let values: Vec<Value> = match is_long {
            true => std::mem::take(&mut self.scratch.elements),
            false => self.scratch.elements.drain(first..).collect(),
        };
        Ok(Value::Array(Array::from(values)))
    }

    /// Passes the opening bracket and the space after it.
    fn enter(&mut self) -> Parsed<()> {
        match self.depth_left.checked_sub(1) {
            Some(left) => self.depth_left = left,
            None => {
                let mut error = self.error(format!("nested more than {} levels deep", self.depth_max));
                error.too_deep = true;
                return Err(error);
            }
        }
        self.at += 1;
        self.skip_space();
        Ok(())
    }

    fn word(&mut self, word: &str, value: Value) -> Parsed<Value> {
        for expected in word.bytes() {
            if !self.eat(expected) {
                return Err(self.unexpected(&format!("'{word}'")));
            }
        }
        Ok(value)
    }

    fn number(&mut self) -> Parsed<Value> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        if let Some((number, length)) = short_decimal(rest) {
            let spelled = &rest[..length];
            let has_exponent = matches!(rest.get(length), Some(b'e' | b'E'));
            if !has_exponent && is_json_decimal(spelled) {
                self.at += length;
                return Ok(Value::Number(number));
            }
        }
        self.long_number()
    }

    fn long_number(&mut self) -> Parsed<Value> {
        let start = self.at;
        let _negative = self.eat(b'-');
        match self.peek() {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.skip_digits(),
            _ => return Err(self.unexpected("a digit")),
        }
        if self.eat(b'.') {
            self.some_digits()?;
        }
        if self.eat(b'e') || self.eat(b'E') {
            let _signed = self.eat(b'+') || self.eat(b'-');
            self.some_digits()?;
        }
        let number = self.source[start..self.at].parse();
        number
            .map(Value::Number)
            .map_err(|_| self.error("a number that can't be read".into()))
    }

    fn some_digits(&mut self) -> Parsed<()> {
        if !matches!(self.peek(), Some(b'0'..=b'9')) {
            return Err(self.unexpected("a digit"));
        }
        self.skip_digits();
        Ok(())
    }

    fn skip_digits(&mut self) {
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
    }

    /// The rest of a property name; within arrays, those that came before are shared.
    fn key(&mut self) -> Parsed<Text> {
        let start = self.at;
        if let Some(known) = &mut self.scratch.known
            && let Some((name, length)) = known.names.expected(self.bytes.get(start..).unwrap_or_default())
        {
            self.at += length + 1;
            return Ok(name);
        }
        self.skip_plain();
        if self.peek() == Some(b'"') {
            let name = &self.source[start..self.at];
            self.at += 1;
            return Ok(match &mut self.scratch.known {
                Some(known) => known.names.text(name),
                None => name.into(),
            });
        }
        self.escaped_string(start)
    }

    /// The rest of a string whose opening quote was passed.
    fn string(&mut self) -> Parsed<Text> {
        let start = self.at;
        self.skip_plain();
        if self.peek() == Some(b'"') {
            let text = &self.source[start..self.at];
            self.at += 1;
            return Ok(Text::from(text));
        }
        self.escaped_string(start)
    }

    /// Stops at a quote, a backslash, a control character or the end.
    fn skip_plain(&mut self) {
        self.at += plain_bytes(self.bytes.get(self.at..).unwrap_or_default());
    }

    /// A string from `start`, of which everything before the current position is plain.
    fn escaped_string(&mut self, start: usize) -> Parsed<Text> {
        let mut text = String::from(&self.source[start..self.at]);
        // What was read before the last lone surrogate, that one included.
        let mut units = Vec::new();
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    break;
                }
                Some(b'\\') => {
                    self.at += 1;
                    match self.escape()? {
                        Ok(character) => text.push(character),
                        Err(lone) => {
                            units.extend(text.encode_utf16());
                            units.push(lone);
                            text.clear();
                        }
                    }
                }
                Some(_) => {
                    return Err(self.error("a control character in a string, which must be escaped".into()));
                }
                None => return Err(self.error("a string that doesn't end".into())),
            }
            let plain = self.at;
            self.skip_plain();
            text.push_str(&self.source[plain..self.at]);
        }
        if units.is_empty() {
            return Ok(text.into());
        }
        units.extend(text.encode_utf16());
        Ok(Text::from_units(&units))
    }

    /// What follows a backslash: a character or a lone surrogate.
    fn escape(&mut self) -> Parsed<Result<char, u16>> {
        let character = match self.peek() {
            Some(byte @ (b'"' | b'\\' | b'/')) => char::from(byte),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                self.at += 1;
                return self.unicode_escape();
            }
            _ => return Err(self.unexpected("one of \" \\ / b f n r t u after a backslash")),
        };
        self.at += 1;
        Ok(Ok(character))
    }

    fn unicode_escape(&mut self) -> Parsed<Result<char, u16>> {
        let first = self.four_digits()?;
        if let Some(character) = char::from_u32(first.into()) {
            return Ok(Ok(character));
        }
        let after = self.at;
        if first < 0xdc00 && self.eat(b'\\') && self.eat(b'u') {
            let second = self.four_digits()?;
            if let Some(Ok(character)) = char::decode_utf16([first, second]).next() {
                return Ok(Ok(character));
            }
        }
        self.at = after;
        Ok(Err(first))
    }

    fn four_digits(&mut self) -> Parsed<u16> {
        let mut unit = 0;
        for _ in 0..4 {
            let digit = self.peek().and_then(|byte| char::from(byte).to_digit(16));
            let Some(digit) = digit else {
                return Err(self.unexpected("four hexadecimal digits after \\u"));
            };
            unit = unit << 4 | digit as u16;
            self.at += 1;
        }
        Ok(unit)
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    #[cold]
    fn unexpected(&self, wanted: &str) -> Box<ParseError> {
        let found = self.source.get(self.at..).and_then(|rest| rest.chars().next());
        self.error(match found {
            Some(found) => format!("expected {wanted}, found {found:?}"),
            None => format!("expected {wanted}, found the end of the text"),
        })
    }

    #[cold]
    fn error(&self, message: String) -> Box<ParseError> {
        Box::new(ParseError {
            message,
            offset: self.at,
            too_deep: false,
        })
    }
}

/// What is remembered within arrays, whose objects are alike.
#[derive(Default)]
struct Known {
    names: KeyCache,
    objects: ObjectMaker,
}

/// Names seen lately, so that an array of objects of one kind holds each name once.
#[derive(Default)]
struct KeyCache {
    names: [Option<Text>; KEYS],
    /// Where the name is that came after each last time: objects of one kind have their names in one order.
    next: [u8; KEYS],
    last: u8,
}

/// Few, since a short text pays for all of them. Places are bytes.
const KEYS: usize = 32;
/// So many places are looked at for a name.
const PROBES: usize = 4;

impl KeyCache {
    /// The name that is expected, if the text goes on with it and a quote; also its length.
    fn expected(&mut self, rest: &[u8]) -> Option<(Text, usize)> {
        let place = self.next[usize::from(self.last) % KEYS];
        let text = self.names[usize::from(place) % KEYS].as_ref()?;
        let name = text.as_str()?;
        let (found, after) = rest.split_at_checked(name.len())?;
        if after.first() != Some(&b'"') || !same_bytes(found, name.as_bytes()) {
            return None;
        }
        self.last = place;
        Some((text.clone(), name.len()))
    }

    fn text(&mut self, name: &str) -> Text {
        let edge = |byte: Option<&u8>| usize::from(*byte.unwrap_or(&0));
        let bytes = name.as_bytes();
        let home = bytes.len() * 7 + edge(bytes.first()) * 3 + edge(bytes.last());
        let fits = |place: &usize| self.names[*place].as_ref().is_none_or(|text| text.is_name(name));
        let mut places = (home..home + PROBES).map(|place| place % KEYS);
        let place = places.find(fits).unwrap_or(home % KEYS);
        self.next[usize::from(self.last) % KEYS] = place as u8;
        self.last = place as u8;
        let slot = &mut self.names[place];
        match slot {
            Some(text) if text.is_name(name) => text.clone(),
            _ => slot.insert(name.into()).clone(),
        }
    }
}

/// Arrays that are longer are not copied to the right size, which would need their memory twice.
const LONG_FROM: usize = 256;

/// Whether a decimal is one as JSON writes it: without leading zeros, and with digits on both sides of a point.
fn is_json_decimal(spelled: &[u8]) -> bool {
    let unsigned = spelled.strip_prefix(b"-").unwrap_or(spelled);
    match unsigned {
        [b'0'] | [b'0', b'.', _, ..] => true,
        [b'0' | b'.', ..] => false,
        _ => !unsigned.ends_with(b"."),
    }
}
