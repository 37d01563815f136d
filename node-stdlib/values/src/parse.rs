//! JSON text to values, with the results of JavaScript's JSON.parse.

mod shapes;

use super::number::json_decimal;
use super::plain::{ascii_blocks, plain_bytes, plain_text};
use super::value::Facts;
use super::{Array, Object, Text, Value};
use shapes::{Like, Shapes};
use std::num::NonZeroUsize;

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
    let source = utf8(text).map_err(|offset| ParseError {
        message: "invalid UTF-8".into(),
        offset,
        too_deep: false,
    })?;
    parse(source, depth_max, &mut Scratch::default()).map_err(|error| *error)
}

/// Parses many small texts: they share property names, and what is needed for parsing one is made once.
pub struct JsonTexts(Scratch);

impl Default for JsonTexts {
    fn default() -> Self {
        JsonTexts(Scratch {
            is_repeated: true,
            ..Scratch::default()
        })
    }
}

impl JsonTexts {
    /// See [`parse_json`].
    pub fn parse(&mut self, source: &str, depth_max: usize) -> Result<Value, ParseError> {
        parse(source, depth_max, &mut self.0).map_err(|error| {
            // What was open when it failed.
            self.0.names.clear();
            self.0.values.clear();
            *error
        })
    }
}

fn parse(source: &str, depth_max: usize, scratch: &mut Scratch) -> Result<Value, Box<ParseError>> {
    let mut parser = Parser {
        source,
        bytes: source.as_bytes(),
        depth_left: depth_max,
        depth_max,
        facts: Facts::default(),
        error: None,
        scratch,
    };
    let whole = parser.whole();
    whole.ok_or_else(|| {
        parser
            .error
            .take()
            .unwrap_or_else(|| error_at(0, "no value".into()))
    })
}

/// A text in UTF-8, or how much of it is. What is ASCII, which nearly all is, is seen by blocks.
fn utf8(text: &[u8]) -> Result<&str, usize> {
    let mut at = 0;
    loop {
        let rest = text.get(at..).unwrap_or_default();
        at += ascii_blocks(rest);
        let rest = text.get(at..).unwrap_or_default();
        if rest.is_empty() {
            break;
        }
        // A block or two that need a closer look, to the end of a character.
        let continues = |byte: &&u8| **byte & 0xc0 == 0x80;
        let more = rest.iter().skip(LOOK_BYTES).take(3).take_while(continues).count();
        let length = rest.len().min(LOOK_BYTES + more);
        let near = rest.get(..length).unwrap_or_default();
        str::from_utf8(near).map_err(|error| at + error.valid_up_to())?;
        at += length;
    }
    #[expect(
        unsafe_code,
        reason = "looking at all of it once more takes as long as reading some of it"
    )]
    // SAFETY: of all pieces, each is ASCII or was looked at, and none that was ends within a character.
    Ok(unsafe { str::from_utf8_unchecked(text) })
}

/// How many bytes are looked at closely where one was found that is not ASCII.
const LOOK_BYTES: usize = 64;

struct Parser<'a> {
    source: &'a str,
    bytes: &'a [u8],
    depth_left: usize,
    depth_max: usize,
    /// Of what has been read of the innermost array or object that is open.
    facts: Facts,
    error: Option<Box<ParseError>>,
    scratch: &'a mut Scratch,
}

/// What is empty before and after a text, but for the shapes.
#[derive(Default)]
struct Scratch {
    /// Whether objects may be like others: from the first array on.
    is_repeated: bool,
    shapes: Shapes,
    /// Names of the objects that are open and like no other.
    names: Vec<Text>,
    /// Values of the arrays and objects that are open, so that each gets a list of the right size when it closes.
    values: Vec<Value>,
}

impl Scratch {
    /// The values from `first` on, in a list of the right size unless there are many.
    fn values_from(&mut self, first: usize) -> Vec<Value> {
        match first == 0 && self.values.len() > LONG_FROM {
            true => std::mem::take(&mut self.values),
            false => self.values.split_off(first),
        }
    }
}

/// The position after what was read, which goes in one word; `None` after an error, which is kept. Values that were read
/// lie in the scratch.
type Next = Option<NonZeroUsize>;

impl Parser<'_> {
    fn whole(&mut self) -> Option<Value> {
        let at = self.value(0)?.get();
        let (at, _) = self.token(at);
        match self.peek(at) {
            None => self.scratch.values.pop(),
            Some(_) => {
                self.unexpected(at, "the end of the text");
                None
            }
        }
    }

    /// A value, perhaps after space. Most are strings, which need no call.
    #[inline]
    fn value(&mut self, at: usize) -> Next {
        let (at, first) = self.token(at);
        match first {
            b'"' => self.string(at + 1),
            _ => self.other_value(at, first),
        }
    }

    /// A value that is no string and begins with this byte.
    fn other_value(&mut self, at: usize, first: u8) -> Next {
        match first {
            b'{' => self.object(at),
            b'[' => self.array(at),
            b'-' | b'0'..=b'9' => self.number(at),
            b't' => self.word(at, "true", Value::Bool(true)),
            b'f' => self.word(at, "false", Value::Bool(false)),
            b'n' => self.word(at, "null", Value::Null),
            _ => self.unexpected(at, "a value"),
        }
    }

    fn object(&mut self, at: usize) -> Next {
        let around = self.enter(at)?;
        let (first, first_name) = (self.scratch.values.len(), self.scratch.names.len());
        let (mut like, mut after_name) = (None, None);
        if self.scratch.is_repeated
            && let Some((begun, after)) = self.scratch.shapes.begin(self.bytes, at)
        {
            (like, after_name) = (Some(begun), after);
        }
        // Of the bracket, then of the commas.
        let mut separator = at;
        let end = loop {
            let place = self.scratch.values.len() - first;
            let spelled = || like.as_ref()?.after_spelled(place, self.bytes, separator);
            let after = match after_name.take().or_else(spelled) {
                Some(after) => after.get(),
                None => {
                    let (at, first) = self.token(separator + 1);
                    if place == 0 && first == b'}' {
                        self.leave(around, Object::new().into());
                        return NonZeroUsize::new(at + 1);
                    }
                    self.key(at, place, &mut like)?.get()
                }
            };
            let after = self.value(after)?.get();
            let (at, next) = self.token(after);
            match next {
                b',' => separator = at,
                b'}' => break at,
                _ => return self.unexpected(at, "',' or '}' after a property"),
            }
        };
        let count = self.scratch.values.len() - first;
        let values = self.scratch.values_from(first);
        let like = like.and_then(|like| self.scratch.shapes.end(&like, count));
        let object = match like {
            Some(shape) => Object::of_shape_and_facts(shape, values, self.facts),
            None => self.unlike(first_name, values),
        };
        self.leave(around, object.into());
        NonZeroUsize::new(end + 1)
    }

    /// The position after a name and its colon, which is the one at `place` of what the object is like, or is kept.
    fn key(&mut self, at: usize, place: usize, like: &mut Option<Like>) -> Next {
        if self.peek(at) != Some(b'"') {
            return self.unexpected(at, "a property name in double quotes");
        }
        let at = at + 1;
        let known = like
            .as_mut()
            .and_then(|like| self.scratch.shapes.goes_on(like, place, self.bytes, at));
        let at = match known {
            Some(after) => after.get(),
            None => {
                // Like no other: from here on its names are its own.
                if let Some(like) = like.take() {
                    let before = like.shape().names().iter().take(place).cloned();
                    self.scratch.names.extend(before);
                }
                self.name(at)?.get()
            }
        };
        let (at, next) = self.token(at);
        match next {
            b':' => NonZeroUsize::new(at + 1),
            _ => self.unexpected(at, "':' after a property name"),
        }
    }

    /// An object of names of its own, or with fewer than those that it began with.
    #[cold]
    fn unlike(&mut self, first_name: usize, values: Vec<Value>) -> Object {
        let names = self.scratch.names.split_off(first_name);
        let count = names.len();
        let object = Object::of_properties(names.into_iter().zip(values));
        if self.scratch.is_repeated && count == object.len() {
            self.scratch.shapes.keep(object.shape());
        }
        object
    }

    fn array(&mut self, at: usize) -> Next {
        let around = self.enter(at)?;
        self.scratch.is_repeated = true;
        let first = self.scratch.values.len();
        let (mut end, next) = self.token(at + 1);
        if next != b']' {
            loop {
                let after = self.value(end)?.get();
                let (at, next) = self.token(after);
                match next {
                    b',' => end = at + 1,
                    b']' => {
                        end = at;
                        break;
                    }
                    _ => return self.unexpected(at, "',' or ']' after an element"),
                }
            }
        }
        let values = self.scratch.values_from(first);
        let array = Array::of_facts(values, self.facts);
        self.leave(around, array.into());
        NonZeroUsize::new(end + 1)
    }

    /// An array or object begins; gives what is known of the one around it.
    fn enter(&mut self, at: usize) -> Option<Facts> {
        match self.depth_left.checked_sub(1) {
            Some(left) => self.depth_left = left,
            None => {
                let mut error = error_at(at, format!("nested more than {} levels deep", self.depth_max));
                error.too_deep = true;
                self.error = Some(error);
                return None;
            }
        }
        Some(std::mem::take(&mut self.facts))
    }

    /// An array or object has ended.
    fn leave(&mut self, around: Facts, value: Value) {
        self.depth_left += 1;
        self.facts = around;
        self.facts.add(&value);
        self.scratch.values.push(value);
    }

    fn word(&mut self, at: usize, word: &str, value: Value) -> Next {
        // All have four letters or five, and begin with the right one.
        let rest = self.bytes.get(at..).unwrap_or_default();
        let is_there = match rest.first_chunk::<4>() {
            Some(b"true" | b"null") => true,
            Some(b"fals") => rest.get(4) == Some(&b'e'),
            _ => false,
        };
        if is_there {
            self.scratch.values.push(value);
            return NonZeroUsize::new(at + word.len());
        }
        let same = (at..).zip(word.bytes());
        let same = same.take_while(|(at, byte)| self.peek(*at) == Some(*byte));
        self.unexpected(at + same.count(), &format!("'{word}'"))
    }

    fn number(&mut self, at: usize) -> Next {
        let (number, after) = match json_decimal(self.bytes, at) {
            Some((number, after)) => (number, after),
            None => self.long_number(at)?,
        };
        self.facts.unclean |= !number.is_finite();
        self.scratch.values.push(Value::Number(number));
        NonZeroUsize::new(after)
    }

    fn long_number(&mut self, start: usize) -> Option<(f64, usize)> {
        let mut at = start + usize::from(self.peek(start) == Some(b'-'));
        match self.peek(at) {
            Some(b'0') => at += 1,
            Some(b'1'..=b'9') => at = self.after_digits(at),
            _ => return self.missing_digit(at),
        }
        if self.peek(at) == Some(b'.') {
            at = self.some_digits(at + 1)?;
        }
        if matches!(self.peek(at), Some(b'e' | b'E')) {
            at += 1;
            at += usize::from(matches!(self.peek(at), Some(b'+' | b'-')));
            at = self.some_digits(at)?;
        }
        match self.source[start..at].parse() {
            Ok(number) => Some((number, at)),
            Err(_) => {
                self.error = Some(error_at(at, "a number that can't be read".into()));
                None
            }
        }
    }

    fn some_digits(&mut self, at: usize) -> Option<usize> {
        match self.peek(at) {
            Some(b'0'..=b'9') => Some(self.after_digits(at)),
            _ => self.missing_digit(at),
        }
    }

    fn missing_digit<T>(&mut self, at: usize) -> Option<T> {
        self.unexpected(at, "a digit");
        None
    }

    fn after_digits(&self, mut at: usize) -> usize {
        while matches!(self.peek(at), Some(b'0'..=b'9')) {
            at += 1;
        }
        at
    }

    /// The rest of a property name, which is kept.
    fn name(&mut self, start: usize) -> Next {
        let (name, after) = self.text(start)?;
        self.scratch.names.push(name);
        NonZeroUsize::new(after)
    }

    #[inline(never)]
    fn string(&mut self, start: usize) -> Next {
        let (text, after) = self.text(start)?;
        self.scratch.values.push(Value::String(text));
        NonZeroUsize::new(after)
    }

    /// The rest of a string whose opening quote was passed, and the position after it.
    #[inline(always)]
    fn text(&mut self, start: usize) -> Option<(Text, usize)> {
        let (plain, is_ascii) = plain_text(self.bytes.get(start..).unwrap_or_default());
        let end = start + plain;
        if self.peek(end) != Some(b'"') {
            return self.escaped_string(start, end);
        }
        let text = self.between_quotes(start, end);
        let text = match is_ascii {
            true => Text::of_ascii(text),
            false => Text::from(text),
        };
        Some((text, end + 1))
    }

    /// What stands between two quotes.
    #[inline]
    fn between_quotes(&self, start: usize, end: usize) -> &str {
        debug_assert!(self.source.get(start..end).is_some());
        let bytes = self.bytes.get(start..end).unwrap_or_default();
        #[expect(
            unsafe_code,
            reason = "looking at both ends once more costs a tenth of reading a short string"
        )]
        // SAFETY: the bytes are those of `source`, and a quote is a character of its own: none is cut.
        unsafe {
            str::from_utf8_unchecked(bytes)
        }
    }

    /// The position of a quote, a backslash, a control character or the end.
    fn after_plain(&self, at: usize) -> usize {
        at + plain_bytes(self.bytes.get(at..).unwrap_or_default())
    }

    /// A string from `start`, of which everything before `at` is plain.
    #[cold]
    fn escaped_string(&mut self, start: usize, mut at: usize) -> Option<(Text, usize)> {
        let mut text = String::from(&self.source[start..at]);
        // What was read before the last lone surrogate, that one included.
        let mut units = Vec::new();
        loop {
            match self.peek(at) {
                Some(b'"') => break,
                Some(b'\\') => {
                    let (character, after) = self.escape(at + 1)?;
                    at = after;
                    match character {
                        Ok(character) => text.push(character),
                        Err(lone) => {
                            units.extend(text.encode_utf16());
                            units.push(lone);
                            text.clear();
                        }
                    }
                }
                other => {
                    let message = match other {
                        Some(_) => "a control character in a string, which must be escaped",
                        None => "a string that doesn't end",
                    };
                    self.error = Some(error_at(at, message.into()));
                    return None;
                }
            }
            let plain = at;
            at = self.after_plain(at);
            text.push_str(&self.source[plain..at]);
        }
        if units.is_empty() {
            return Some((text.into(), at + 1));
        }
        units.extend(text.encode_utf16());
        Some((Text::from_units(&units), at + 1))
    }

    /// What follows a backslash: a character or a lone surrogate, and the position after it.
    fn escape(&mut self, at: usize) -> Option<(Result<char, u16>, usize)> {
        let character = match self.peek(at) {
            Some(byte @ (b'"' | b'\\' | b'/')) => char::from(byte),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode_escape(at + 1),
            _ => {
                self.unexpected(at, "one of \" \\ / b f n r t u after a backslash");
                return None;
            }
        };
        Some((Ok(character), at + 1))
    }

    fn unicode_escape(&mut self, at: usize) -> Option<(Result<char, u16>, usize)> {
        let first = self.four_digits(at)?;
        let after = at + 4;
        if let Some(character) = char::from_u32(first.into()) {
            return Some((Ok(character), after));
        }
        if first < 0xdc00 && self.bytes.get(after..after + 2) == Some(b"\\u") {
            let second = self.four_digits(after + 2)?;
            if let Some(Ok(character)) = char::decode_utf16([first, second]).next() {
                return Some((Ok(character), after + 6));
            }
        }
        Some((Err(first), after))
    }

    fn four_digits(&mut self, at: usize) -> Option<u16> {
        let mut unit = 0;
        for at in at..at + 4 {
            let digit = self.peek(at).and_then(|byte| char::from(byte).to_digit(16));
            let Some(digit) = digit else {
                self.unexpected(at, "four hexadecimal digits after \\u");
                return None;
            };
            unit = unit << 4 | digit as u16;
        }
        Some(unit)
    }

    /// The byte that is no space here or next, and its position; 0 at the end, which no value begins or goes on with.
    #[inline]
    fn token(&self, at: usize) -> (usize, u8) {
        match self.peek(at) {
            Some(byte) if byte > b' ' => (at, byte),
            _ => self.token_after_space(at),
        }
    }

    fn token_after_space(&self, mut at: usize) -> (usize, u8) {
        while matches!(self.peek(at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            at += 1;
        }
        (at, self.peek(at).unwrap_or(0))
    }

    #[inline]
    fn peek(&self, at: usize) -> Option<u8> {
        self.bytes.get(at).copied()
    }

    #[cold]
    fn unexpected(&mut self, at: usize, wanted: &str) -> Next {
        let found = self.source.get(at..).and_then(|rest| rest.chars().next());
        let message = match found {
            Some(found) => format!("expected {wanted}, found {found:?}"),
            None => format!("expected {wanted}, found the end of the text"),
        };
        self.error = Some(error_at(at, message));
        None
    }
}

#[cold]
fn error_at(at: usize, message: String) -> Box<ParseError> {
    Box::new(ParseError {
        message,
        offset: at,
        too_deep: false,
    })
}

/// Arrays that are longer are not copied to the right size, which would need their memory twice.
const LONG_FROM: usize = 256;
