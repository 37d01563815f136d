//! A JSON array whose elements are records: where each of them begins and ends, without reading the whole.

use super::format::{RECORD_BYTES_MAX, Take};
use crate::failure::{Failure, unreadable};
use heddle_contract::abi::code;
use heddle_values::{JSON_DEPTH_MAX, parse_json};

/// Reads the elements of an array of which pieces may have been cut anywhere.
#[derive(Default)]
pub(super) struct Elements {
    state: State,
    /// Of the element at hand: what former pieces had of it.
    begun: String,
    depth: usize,
    in_text: bool,
    is_escaped: bool,
    /// Elements that have ended.
    ended: u64,
    /// Bytes of former pieces.
    before: u64,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum State {
    /// Before the array.
    #[default]
    Start,
    /// An element, or the end of an empty array.
    First,
    /// After a comma.
    Next,
    /// In an element.
    Element,
    /// After an element.
    After,
    End,
}

impl Elements {
    pub fn feed(&mut self, text: &str, is_last: bool, take: Take<'_>) -> Result<(), Failure> {
        let mut start = 0;
        for (at, byte) in text.bytes().enumerate() {
            if self.state == State::Element {
                let Some(end) = self.ends(byte, at) else { continue };
                let piece = text.get(start..end).unwrap_or_default();
                if !self.element(piece, take)? {
                    return Ok(());
                }
                self.state = State::After;
                // The byte belongs to the element.
                if end > at {
                    continue;
                }
            }
            self.state = match (self.state, byte) {
                (state, b' ' | b'\t' | b'\r' | b'\n') => state,
                (State::Start, b'[') => State::First,
                (State::First | State::After, b']') => State::End,
                (State::After, b',') => State::Next,
                (State::First | State::Next, byte) if !matches!(byte, b',' | b']' | b'}' | b':') => {
                    start = at;
                    self.depth = usize::from(matches!(byte, b'[' | b'{'));
                    self.in_text = byte == b'"';
                    self.is_escaped = false;
                    State::Element
                }
                (state, byte) => return Err(self.unexpected(state, byte, at)),
            };
        }
        if self.state == State::Element {
            self.begun.push_str(text.get(start..).unwrap_or_default());
        }
        self.before += text.len() as u64;
        if self.begun.len() > RECORD_BYTES_MAX {
            let message = format!(
                "Element {} of the file's array is larger than {} MiB.",
                self.ended,
                RECORD_BYTES_MAX >> 20
            );
            return Err(Failure::new(code::PARSE, message));
        }
        match is_last && self.state != State::End {
            true if self.state == State::Start => Err(Failure::new(
                code::PARSE,
                "The file is empty, but a JSON array was expected.",
            )),
            true => Err(Failure::new(
                code::PARSE,
                format!(
                    "The file ends within its JSON array, after {} elements.",
                    self.ended
                ),
            )),
            false => Ok(()),
        }
    }

    /// Where the element ends, if it does with this byte or before it.
    fn ends(&mut self, byte: u8, at: usize) -> Option<usize> {
        if self.in_text {
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' => self.is_escaped = true,
                b'"' => {
                    self.in_text = false;
                    return (self.depth == 0).then_some(at + 1);
                }
                _ => {}
            }
            return None;
        }
        match byte {
            b'"' => self.in_text = true,
            b'[' | b'{' => self.depth += 1,
            b']' | b'}' if self.depth > 0 => {
                self.depth -= 1;
                return (self.depth == 0).then_some(at + 1);
            }
            b']' | b'}' | b',' | b' ' | b'\t' | b'\r' | b'\n' if self.depth == 0 => return Some(at),
            _ => {}
        }
        None
    }

    fn element(&mut self, piece: &str, take: Take<'_>) -> Result<bool, Failure> {
        self.begun.push_str(piece);
        let text = std::mem::take(&mut self.begun);
        let value = parse_json(text.as_bytes(), JSON_DEPTH_MAX).map_err(|error| {
            let wrong = if error.too_deep {
                "is"
            } else {
                "is not valid JSON:"
            };
            let message = format!(
                "Element {} of the file's array {wrong} {}, at byte {} of the element.",
                self.ended, error.message, error.offset
            );
            Failure::new(unreadable(&error, code::PARSE), message)
        })?;
        self.ended += 1;
        take(value)
    }

    fn unexpected(&self, state: State, byte: u8, at: usize) -> Failure {
        let wanted = match state {
            State::Start => "the file is not a JSON array: it does not begin with `[`",
            State::After => "a comma or `]` was expected",
            State::End => "nothing was expected after the array",
            _ => "an element was expected",
        };
        let message = format!(
            "`{}` at byte {} of the file: {wanted}.",
            byte.escape_ascii(),
            self.before + at as u64
        );
        Failure::new(code::PARSE, message)
    }
}
