//! Scans JavaScript text without parsing it: where an expression ends, how deeply it nests, and which parts the parser
//! may have to read repeatedly.
//!
//! Strings, template literals, comments and brackets are followed exactly; whether `/` divides or starts a regular
//! expression is decided by the preceding tokens, which can be wrong only after some `}`. There it counts as costly.

/// Offset of the `}}` that ends the expression starting at `start`; `None` if there is none. Searches in vain are
/// counted for the whole text.
pub(super) fn expression_end(text: &str, start: usize, in_vain: &mut usize) -> Option<usize> {
    let mut scanner = Scanner::new(text, start);
    scanner.in_vain = *in_vain;
    let end = scanner.expression_end();
    *in_vain = scanner.in_vain;
    end
}

/// What reading JavaScript costs beside its length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cost {
    /// Bytes between parentheses that may turn out to be no parameters of a function, which the parser reads again,
    /// those within each other as often as they are nested.
    pub read_again_bytes: usize,
}

/// A source may have so many of these bytes, and so many times its own length.
const READ_AGAIN_BYTES_MAX: usize = 64 << 10;
const READ_AGAIN_FACTOR: usize = 16;

impl Cost {
    pub const MESSAGE: &str =
        "parentheses are nested too deeply: the parser would have to read their contents many times";
    pub const HELP: &str = "assign parts of it to names, or split it across several nodes";

    /// Whether it is too much for this source.
    pub fn is_excessive(self, source: &str) -> bool {
        self.read_again_bytes > READ_AGAIN_BYTES_MAX + READ_AGAIN_FACTOR * source.len()
    }
}

/// Looks over a source.
pub(crate) fn cost(source: &str) -> Cost {
    let mut scanner = Scanner::new(source, 0);
    while let Some(byte) = scanner.peek(0) {
        scanner.step(byte);
    }
    while let Some(frame) = scanner.frames.pop() {
        scanner.left(&frame);
    }
    Cost {
        read_again_bytes: scanner.read_again_bytes,
    }
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

/// Searches for the end of a regular expression or a string that its line does not have, after which there are no
/// more: in valid text there are none, and each reads the whole line.
const IN_VAIN_MAX: usize = 16;

/// Words before an operand.
const BEFORE_OPERAND: &[&[u8]] = &[
    b"case",
    b"default",
    b"do",
    b"else",
    b"extends",
    b"in",
    b"instanceof",
    b"return",
    b"throw",
];

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
    /// Where it opened, if what is in it may be read as parameters of a function and then again.
    maybe_parameters: Option<usize>,
    /// Whether a value has ended when it is closed.
    closes_value: bool,
    /// Whether `/` behind it is unclear.
    is_unclear: bool,
}

impl Frame {
    fn new(kind: Kind) -> Self {
        Frame {
            kind,
            right: 0,
            prefix: 0,
            maybe_parameters: None,
            closes_value: true,
            is_unclear: false,
        }
    }
}

/// The last token, as far as it matters for the next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    /// `.` or `?.`: a name follows.
    Dot,
    /// `if`, `while`, `for` or `with`: what follows in parentheses is not a value.
    Head,
    /// A `}` that may have ended a value or not.
    Unclear,
    /// `async`, which is a name or says what the function is that follows.
    Async,
    /// `{` behind it begins a body or a block.
    BeforeBlock,
    Other,
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
    last: Last,
    in_vain: usize,
    read_again_bytes: usize,
}

impl<'a> Scanner<'a> {
    fn new(text: &'a str, start: usize) -> Self {
        let frames = vec![Frame::new(Kind::Outside)];
        Scanner {
            bytes: text.as_bytes(),
            at: start,
            frames,
            open: [0; KINDS],
            pending: 0,
            after_value: false,
            last: Last::BeforeBlock,
            in_vain: 0,
            read_again_bytes: 0,
        }
    }

    fn expression_end(&mut self) -> Option<usize> {
        while let Some(byte) = self.peek(0) {
            if byte == b'}' && self.peek(1) == Some(b'}') && self.outside_braces() {
                return Some(self.at);
            }
            self.step(byte);
        }
        None
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
            (_, b' ' | b'\t' | b'\r' | b'\n' | 0x0b | 0x0c) => self.at += 1,
            (_, 0x80..) if self.space_len() > 0 => self.at += self.space_len(),
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

    /// Length of the space outside of ASCII that stands here.
    fn space_len(&self) -> usize {
        let rest = self.bytes.get(self.at..self.bytes.len().min(self.at + 4));
        let rest = rest.unwrap_or_default();
        let valid = match std::str::from_utf8(rest) {
            Ok(text) => text,
            Err(error) => std::str::from_utf8(&rest[..error.valid_up_to()]).unwrap_or_default(),
        };
        let is_space = |c: &char| c.is_whitespace() || *c == '\u{feff}';
        valid.chars().next().filter(is_space).map_or(0, char::len_utf8)
    }

    /// A string; a quote that its line does not close is passed over alone.
    fn string(&mut self, quote: u8) {
        let mut at = self.at + 1;
        while self.in_vain < IN_VAIN_MAX
            && let Some(byte) = self.bytes.get(at).copied()
        {
            match byte {
                b'\\' if self.bytes.get(at + 1..at + 3) == Some(b"\r\n") => at += 3,
                b'\\' => at += 2,
                b'\n' | b'\r' => break,
                _ if byte == quote => {
                    self.at = at + 1;
                    return self.value();
                }
                _ => at += 1,
            }
        }
        self.in_vain += 1;
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
            _ if self.after_value => {
                if self.last == Last::Unclear {
                    self.read_again_bytes += self.bytes.len() - self.at;
                }
                self.operator(b'/');
            }
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
            // U+2028 and U+2029 end lines too.
            let ends_line =
                byte == 0xe2 && self.peek(1) == Some(0x80) && self.peek(2).is_some_and(|b| b & !1 == 0xa8);
            if byte == b'\n' || byte == b'\r' || at_end || ends_line {
                return;
            }
            self.at += 1;
        }
    }

    fn regular_expression_end(&mut self) -> Option<usize> {
        if self.in_vain >= IN_VAIN_MAX {
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
        self.in_vain += 1;
        None
    }

    fn open(&mut self, kind: Kind, len: usize) {
        let mut frame = Frame::new(kind);
        match kind {
            // Behind a value they hold arguments.
            Kind::Parenthesis if !self.after_value || matches!(self.last, Last::Unclear | Last::Async) => {
                frame.maybe_parameters = Some(self.at);
                frame.closes_value = self.last != Last::Head;
            }
            Kind::Brace => frame.is_unclear = self.after_value || self.last == Last::BeforeBlock,
            _ => {}
        }
        self.frames.push(frame);
        self.open[kind as usize] += 1;
        self.after_value = false;
        self.last = match kind {
            Kind::Brace => Last::BeforeBlock,
            _ => Last::Other,
        };
        self.at += len;
    }

    /// Counts what is in a frame that ends here.
    fn left(&mut self, frame: &Frame) {
        if let Some(start) = frame.maybe_parameters {
            self.read_again_bytes += self.at.min(self.bytes.len()) - start;
        }
    }

    /// Closes the innermost frame of these kinds and what was left open in it; nothing if there is none.
    fn close(&mut self, kinds: &[Kind]) {
        self.at += 1;
        let (mut closes_value, mut last) = (true, Last::Other);
        if kinds.iter().any(|kind| self.open[*kind as usize] > 0) {
            while let Some(frame) = self.frames.pop() {
                self.open[frame.kind as usize] -= 1;
                self.pending -= frame.right + frame.prefix;
                self.left(&frame);
                if kinds.contains(&frame.kind) {
                    closes_value = frame.closes_value;
                    last = match frame.kind {
                        Kind::Parenthesis => Last::BeforeBlock,
                        _ if frame.is_unclear => Last::Unclear,
                        _ => Last::Other,
                    };
                    break;
                }
            }
        }
        // The end of a substitution is back in the template's text.
        self.value();
        self.after_value = closes_value;
        self.last = last;
    }

    fn comma(&mut self) {
        self.last = match self.peek(0) {
            Some(b';') => Last::BeforeBlock,
            _ => Last::Other,
        };
        self.at += 1;
        self.after_value = false;
        if let Some(frame) = self.frames.last_mut() {
            self.pending -= frame.right + frame.prefix;
            (frame.right, frame.prefix) = (0, 0);
        }
    }

    fn value(&mut self) {
        self.after_value = true;
        self.last = Last::Other;
        if let Some(frame) = self.frames.last_mut() {
            self.pending -= frame.prefix;
            frame.prefix = 0;
        }
    }

    fn word(&mut self) {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let word_len = |rest: &[u8]| rest.iter().position(|byte| !is_word(*byte)).unwrap_or(rest.len());
        let mut len = word_len(rest);
        let is_decimal = |byte: &u8| byte.is_ascii_digit() || *byte == b'_';
        if rest.first().is_some_and(u8::is_ascii_digit)
            && rest[..len].iter().all(is_decimal)
            && rest.get(len) == Some(&b'.')
        {
            len += 1;
            len += word_len(rest.get(len..).unwrap_or_default());
        }
        let is_name = self.last == Last::Dot;
        self.at += len;
        let word = rest.get(..len).unwrap_or_default();
        match word {
            b"await" if self.last == Last::Head => {}
            b"typeof" | b"void" | b"delete" | b"new" | b"await" | b"yield" if !is_name => self.prefix(),
            b"if" | b"while" | b"for" | b"with" if !is_name => {
                self.after_value = false;
                self.last = Last::Head;
            }
            b"of" if !is_name && self.after_value && self.kind() == Kind::Parenthesis => self.operand_next(),
            _ if !is_name && BEFORE_OPERAND.contains(&word) => self.operand_next(),
            b"async" if !is_name => {
                self.value();
                self.last = Last::Async;
            }
            _ => self.value(),
        }
    }

    /// Behind a word or an operator for which nothing else is to be done.
    fn operand_next(&mut self) {
        self.after_value = false;
        self.last = Last::BeforeBlock;
    }

    fn operator(&mut self, byte: u8) {
        let next = self.peek(1);
        self.at += 1;
        if byte == b'.' {
            if next == Some(b'.') && self.peek(1) == Some(b'.') {
                self.at += 2;
                self.after_value = false;
                self.last = Last::Other;
                return;
            }
            self.last = Last::Dot;
            return;
        }
        self.last = Last::Other;
        match byte {
            // Behind a value `++` and `--` leave one.
            b'-' | b'+' if self.after_value && next == Some(byte) => self.at += 1,
            b'!' | b'~' | b'-' | b'+' if !self.after_value => self.prefix(),
            b'?' if next == Some(b'.') && !self.peek(1).is_some_and(|byte| byte.is_ascii_digit()) => {
                self.at += 1;
                self.after_value = false;
                self.last = Last::Dot;
            }
            b'?' if next == Some(b'?') => {
                self.at += 1;
                self.after_value = false;
            }
            b'=' if next == Some(b'>') => {
                self.at += 1;
                self.right();
                self.last = Last::BeforeBlock;
            }
            b':' => {
                self.after_value = false;
                self.last = Last::BeforeBlock;
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
