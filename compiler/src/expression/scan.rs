//! Looks over JavaScript text without parsing it: where an expression ends, and how deeply it nests.
//!
//! Strings, template literals, comments and brackets are followed exactly; whether `/` divides or opens a regular
//! expression is decided by the token before it, which is right for all but contrived text. So what is found here
//! serves messages and bounds, never safety.

/// Offset of the `}}` that ends the expression starting at `start`; `None` if there is none.
pub(super) fn expression_end(text: &str, start: usize) -> Option<usize> {
    let mut scanner = Scanner::new(text, start);
    while let Some(byte) = scanner.peek(0) {
        if byte == b'}' && scanner.peek(1) == Some(b'}') && scanner.outside_braces() {
            return Some(scanner.at);
        }
        scanner.step(byte);
    }
    None
}

/// Offset at which `source` nests more than `limit` levels: brackets, operators before an operand, and those
/// that bind to the right.
pub(super) fn too_deep_at(source: &str, limit: usize) -> Option<usize> {
    let mut scanner = Scanner::new(source, 0);
    while let Some(byte) = scanner.peek(0) {
        if scanner.depth() > limit {
            return Some(scanner.at);
        }
        scanner.step(byte);
    }
    None
}

/// Attempts to read a regular expression whose line does not close it, after which `/` only divides: in valid
/// text there are none, and each reads its whole line.
const REGULAR_EXPRESSION_FAILURES_MAX: usize = 16;

/// What is open.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The text itself.
    Outside,
    Parenthesis,
    Square,
    Brace,
    /// `${` in a template literal.
    Substitution,
    /// A template literal's own text.
    Template,
}

const KINDS: usize = 6;

struct Frame {
    kind: Kind,
    /// Operators that bind to the right (`? :`, `=>`, `**`, …) since the frame opened or its last comma.
    right: usize,
    /// Operators before the operand that comes next.
    prefix: usize,
}

struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
    frames: Vec<Frame>,
    /// How many frames of each kind there are.
    open: [usize; KINDS],
    /// `right + prefix` of all frames.
    pending: usize,
    /// The last token ended a value, so that `/` divides and `-` subtracts.
    after_value: bool,
    regular_expression_failures: usize,
}

impl<'a> Scanner<'a> {
    fn new(text: &'a str, start: usize) -> Self {
        let frames = vec![Frame {
            kind: Kind::Outside,
            right: 0,
            prefix: 0,
        }];
        Scanner {
            bytes: text.as_bytes(),
            at: start,
            frames,
            open: [0; KINDS],
            pending: 0,
            after_value: false,
            regular_expression_failures: 0,
        }
    }

    fn peek(&self, ahead: usize) -> Option<u8> {
        self.bytes.get(self.at + ahead).copied()
    }

    fn kind(&self) -> Kind {
        self.frames.last().map_or(Kind::Outside, |frame| frame.kind)
    }

    fn depth(&self) -> usize {
        self.frames.len() + self.pending
    }

    /// No `{` is open here, though a bracket that was forgotten may be.
    fn outside_braces(&self) -> bool {
        [Kind::Brace, Kind::Substitution, Kind::Template]
            .iter()
            .all(|kind| self.open[*kind as usize] == 0)
    }

    /// Moves past one token, of which `byte` is the first.
    fn step(&mut self, byte: u8) {
        match (self.kind(), byte) {
            (Kind::Template, _) => self.template_text(byte),
            (_, b' ' | b'\t' | b'\r' | b'\n') => self.at += 1,
            (_, b'"' | b'\'') => self.string(byte),
            (_, b'`') => self.open(Kind::Template, 1),
            (_, b'/') => self.slash(),
            (_, b'(') => self.open(Kind::Parenthesis, 1),
            (_, b'[') => self.open(Kind::Square, 1),
            (_, b'{') => self.open(Kind::Brace, 1),
            (_, b')') => self.close(&[Kind::Parenthesis]),
            (_, b']') => self.close(&[Kind::Square]),
            (_, b'}') => self.close(&[Kind::Brace, Kind::Substitution]),
            (_, b',' | b';') => self.comma(),
            _ if is_word(byte) => self.word(),
            _ => self.operator(byte),
        }
    }

    fn template_text(&mut self, byte: u8) {
        match byte {
            b'\\' => self.at += 2,
            b'`' => self.close(&[Kind::Template]),
            b'$' if self.peek(1) == Some(b'{') => self.open(Kind::Substitution, 2),
            _ => self.at += 1,
        }
    }

    /// A string; a quote that its line does not close is passed over alone.
    fn string(&mut self, quote: u8) {
        let mut at = self.at + 1;
        while let Some(byte) = self.bytes.get(at).copied() {
            match byte {
                b'\\' => at += 2,
                b'\n' | b'\r' => break,
                _ if byte == quote => {
                    self.at = at + 1;
                    return self.value();
                }
                _ => at += 1,
            }
        }
        self.at += 1;
    }

    fn slash(&mut self) {
        match self.peek(1) {
            Some(b'/') => self.line_comment(),
            Some(b'*') => {
                let rest = self.bytes.get(self.at + 2..).unwrap_or_default();
                let end = rest.windows(2).position(|pair| pair == b"*/");
                self.at = end.map_or(self.bytes.len(), |end| self.at + 2 + end + 2);
            }
            _ if self.after_value => self.operator(b'/'),
            _ => match self.regular_expression_end() {
                Some(end) => {
                    self.at = end;
                    self.value();
                }
                None => self.operator(b'/'),
            },
        }
    }

    /// To the end of the line, or to a `}}` outside of braces: there the expression was meant to end.
    fn line_comment(&mut self) {
        let ends_at_braces = self.outside_braces();
        while let Some(byte) = self.peek(0) {
            let at_end = ends_at_braces && byte == b'}' && self.peek(1) == Some(b'}');
            if byte == b'\n' || byte == b'\r' || at_end {
                return;
            }
            self.at += 1;
        }
    }

    fn regular_expression_end(&mut self) -> Option<usize> {
        if self.regular_expression_failures >= REGULAR_EXPRESSION_FAILURES_MAX {
            return None;
        }
        let mut in_class = false;
        let mut at = self.at + 1;
        while let Some(byte) = self.bytes.get(at) {
            match byte {
                b'\n' | b'\r' => break,
                b'\\' => at += 1,
                b'[' => in_class = true,
                b']' => in_class = false,
                b'/' if !in_class => return Some(at + 1),
                _ => {}
            }
            at += 1;
        }
        self.regular_expression_failures += 1;
        None
    }

    fn open(&mut self, kind: Kind, len: usize) {
        self.frames.push(Frame {
            kind,
            right: 0,
            prefix: 0,
        });
        self.open[kind as usize] += 1;
        self.after_value = false;
        self.at += len;
    }

    /// Closes the innermost frame of these kinds and what was left open in it; nothing if there is none.
    fn close(&mut self, kinds: &[Kind]) {
        self.at += 1;
        if kinds.iter().any(|kind| self.open[*kind as usize] > 0) {
            while let Some(frame) = self.frames.pop() {
                self.open[frame.kind as usize] -= 1;
                self.pending -= frame.right + frame.prefix;
                if kinds.contains(&frame.kind) {
                    break;
                }
            }
        }
        // The end of a substitution is back in the template's text.
        self.value();
    }

    fn comma(&mut self) {
        self.at += 1;
        self.after_value = false;
        if let Some(frame) = self.frames.last_mut() {
            self.pending -= frame.right + frame.prefix;
            (frame.right, frame.prefix) = (0, 0);
        }
    }

    fn value(&mut self) {
        self.after_value = true;
        if let Some(frame) = self.frames.last_mut() {
            self.pending -= frame.prefix;
            frame.prefix = 0;
        }
    }

    fn word(&mut self) {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let len = rest.iter().position(|byte| !is_word(*byte)).unwrap_or(rest.len());
        let after_dot = self.at > 0 && self.bytes.get(self.at - 1) == Some(&b'.');
        self.at += len;
        match &rest[..len] {
            b"typeof" | b"void" | b"delete" | b"new" | b"await" | b"yield" if !after_dot => self.prefix(),
            b"in" | b"instanceof" | b"of" | b"return" if !after_dot => self.after_value = false,
            _ => self.value(),
        }
    }

    fn operator(&mut self, byte: u8) {
        let next = self.peek(1);
        self.at += 1;
        match byte {
            b'.' => {}
            // Behind a value `++` and `--` leave one.
            b'-' | b'+' if self.after_value && next == Some(byte) => self.at += 1,
            b'!' | b'~' | b'-' | b'+' if !self.after_value => self.prefix(),
            b'?' if next == Some(b'.') || next == Some(b'?') => {
                self.at += 1;
                self.after_value = false;
            }
            b'*' if next == Some(b'*') => {
                self.at += 1;
                self.right();
            }
            // `==`, `!=`, `<=` and `>=` do not bind to the right.
            b'=' | b'<' | b'>' | b'!' if next == Some(b'=') => {
                self.at += 1;
                self.after_value = false;
            }
            b'?' | b'=' => self.right(),
            _ => self.after_value = false,
        }
    }

    fn prefix(&mut self) {
        self.after_value = false;
        if let Some(frame) = self.frames.last_mut() {
            frame.prefix += 1;
            self.pending += 1;
        }
    }

    fn right(&mut self) {
        self.after_value = false;
        if let Some(frame) = self.frames.last_mut() {
            frame.right += 1;
            self.pending += 1;
        }
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}
