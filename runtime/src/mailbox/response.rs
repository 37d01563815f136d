//! What an IMAP server says (RFC 3501 and 9051), as far as anybody here needs it; all else is passed over. A response is read within
//! limits on its text, its literals and their number, and nothing here recurses.

use super::wire::{MailboxError, Wire};
use crate::secrets::CUT;

/// Bytes of a response's text, literals left aside: a search may find some hundred thousand messages.
pub(super) const TEXT_BYTES_MAX: usize = 1 << 20;
/// Literals of one response: each makes a line go on.
const LITERALS_MAX: usize = 16;
/// Lists within lists.
const NESTING_MAX: usize = 16;
/// Characters of what it says that are kept.
const SAID_CHARS_MAX: usize = 300;
/// Capabilities that are kept.
const CAPABILITIES_MAX: usize = 200;

const PROTOCOL: &str = "IMAP";

/// A part of a response.
enum Piece {
    Text(Vec<u8>),
    Literal(Vec<u8>),
}

/// A response as it came.
pub(super) struct Raw(Vec<Piece>);

/// How a command went, or what a server says unasked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Ok,
    No,
    Bad,
    Bye,
    PreAuth,
}

/// What is said in words.
#[derive(Debug)]
pub(super) struct StatusResponse {
    pub state: State,
    /// What stands in brackets.
    pub code: Option<String>,
    pub text: String,
}

/// What is told of a message.
#[derive(Debug, Default)]
pub(super) struct Fetched {
    pub uid: Option<u32>,
    pub size: Option<u64>,
    pub received_at: Option<String>,
    pub body: Option<Vec<u8>>,
}

/// A response that was understood.
#[derive(Debug)]
pub(super) enum Reply {
    /// The end of a command.
    Done(StatusResponse),
    /// It waits for more.
    More,
    /// Unasked, or about the command under way.
    Status(StatusResponse),
    Capabilities(Vec<String>),
    Found(Vec<u32>),
    Exists,
    Message(Fetched),
    Other,
}

/// The next response; its literals have at most so many bytes together.
pub(super) async fn read(wire: &mut Wire, literal_bytes_max: usize) -> Result<Raw, MailboxError> {
    let (mut text_left, mut literal_left) = (TEXT_BYTES_MAX, literal_bytes_max);
    let mut pieces = Vec::new();
    loop {
        let mut line = wire.line(text_left).await?;
        text_left = text_left.saturating_sub(line.len());
        let Some((start, bytes)) = announced(&line) else {
            pieces.push(Piece::Text(line));
            return Ok(Raw(pieces));
        };
        if pieces.len() >= 2 * LITERALS_MAX {
            return Err(MailboxError::Garbled(PROTOCOL));
        }
        literal_left = literal_left
            .checked_sub(bytes)
            .ok_or(MailboxError::Large(literal_bytes_max))?;
        line.truncate(start);
        pieces.push(Piece::Text(line));
        pieces.push(Piece::Literal(wire.block(bytes).await?));
    }
}

/// Where a line announces a literal, and its length.
fn announced(line: &[u8]) -> Option<(usize, usize)> {
    let inner = line.strip_suffix(b"}")?;
    let start = inner.iter().rposition(|byte| *byte == b'{')?;
    let digits = inner.get(start + 1..)?;
    let digits = digits.strip_suffix(b"+").unwrap_or(digits);
    let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    let number = std::str::from_utf8(digits).ok().filter(|_| is_number)?;
    // One that is too long for a number is longer than anything that is allowed.
    Some((start, number.parse().unwrap_or(usize::MAX)))
}

/// What a response says. `tag` is that of the command under way.
pub(super) fn parse(raw: Raw, tag: &str) -> Result<Reply, MailboxError> {
    let garbled = || MailboxError::Garbled(PROTOCOL);
    let first = match raw.0.first() {
        Some(Piece::Text(text)) => text.as_slice(),
        _ => return Err(garbled()),
    };
    let (head, rest) = split(first);
    if head == b"+" {
        return Ok(Reply::More);
    }
    if head == tag.as_bytes() {
        return status_response(rest).map(Reply::Done).ok_or_else(garbled);
    }
    if head != b"*" {
        return Err(garbled());
    }
    let (word, rest) = split(rest);
    if let Some(number) = number(word) {
        let (kind, rest) = split(rest);
        if kind.eq_ignore_ascii_case(b"EXISTS") {
            return Ok(Reply::Exists);
        }
        if kind.eq_ignore_ascii_case(b"FETCH") && number > 0 {
            let skipped = first.len().saturating_sub(rest.len());
            return fetched(raw, skipped).map(Reply::Message).ok_or_else(garbled);
        }
        return Ok(Reply::Other);
    }
    if word.eq_ignore_ascii_case(b"CAPABILITY") {
        return Ok(Reply::Capabilities(capabilities(&lossy(rest))));
    }
    if word.eq_ignore_ascii_case(b"SEARCH") {
        let words = rest.split(|byte| *byte == b' ').filter(|word| !word.is_empty());
        // What follows in parentheses is of an extension that was not asked for.
        return Ok(Reply::Found(words.map_while(number).collect()));
    }
    let whole = first.get(2..).unwrap_or_default();
    Ok(status_response(whole).map_or(Reply::Other, Reply::Status))
}

/// The first word, and what follows it.
fn split(text: &[u8]) -> (&[u8], &[u8]) {
    match text.iter().position(|byte| *byte == b' ') {
        Some(at) => (
            text.get(..at).unwrap_or_default(),
            text.get(at + 1..).unwrap_or_default(),
        ),
        None => (text, &[]),
    }
}

fn number(word: &[u8]) -> Option<u32> {
    let is_number = !word.is_empty() && word.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(word).ok().filter(|_| is_number)?.parse().ok()
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn status_response(text: &[u8]) -> Option<StatusResponse> {
    let (word, rest) = split(text);
    let states: [(&[u8], State); 5] = [
        (b"OK", State::Ok),
        (b"NO", State::No),
        (b"BAD", State::Bad),
        (b"BYE", State::Bye),
        (b"PREAUTH", State::PreAuth),
    ];
    let (_, state) = states
        .into_iter()
        .find(|(name, _)| word.eq_ignore_ascii_case(name))?;
    let rest = lossy(rest);
    let (code, rest) = match rest.strip_prefix('[').and_then(|inner| inner.split_once(']')) {
        Some((code, rest)) => (Some(code.to_owned()), rest),
        None => (None, rest.as_str()),
    };
    Some(StatusResponse {
        state,
        code,
        text: words(rest),
    })
}

/// What people may read of a server's words.
pub(super) fn words(said: &str) -> String {
    let mut shown = said.trim().chars().filter(|char| !char.is_control());
    let mut text: String = shown.by_ref().take(SAID_CHARS_MAX).collect();
    if shown.next().is_some() {
        text.push(CUT);
    }
    match text.is_empty() {
        true => "it does not say why".to_owned(),
        false => text,
    }
}

/// The names in a list of capabilities, in upper case.
pub(super) fn capabilities(list: &str) -> Vec<String> {
    let names = list.split_ascii_whitespace().take(CAPABILITIES_MAX);
    names.map(str::to_ascii_uppercase).collect()
}

enum Token<'a> {
    Open,
    Close,
    Atom(&'a [u8]),
    Quoted(Vec<u8>),
    /// The piece with this number.
    Literal(usize),
}

struct Tokens<'a> {
    pieces: &'a [Piece],
    piece: usize,
    at: usize,
}

impl<'a> Tokens<'a> {
    /// The next one; `None`: there is none, or what there is can't be one.
    fn take(&mut self) -> Option<Token<'a>> {
        loop {
            let text = match self.pieces.get(self.piece)? {
                Piece::Literal(_) => {
                    self.step();
                    return Some(Token::Literal(self.piece - 1));
                }
                Piece::Text(text) => text,
            };
            let Some(byte) = text.get(self.at) else {
                self.step();
                continue;
            };
            match byte {
                b' ' => self.at += 1,
                b'(' => {
                    self.at += 1;
                    return Some(Token::Open);
                }
                b')' => {
                    self.at += 1;
                    return Some(Token::Close);
                }
                b'"' => return self.quoted(text).map(Token::Quoted),
                _ => return Some(Token::Atom(self.atom(text))),
            }
        }
    }

    fn step(&mut self) {
        self.piece += 1;
        self.at = 0;
    }

    fn quoted(&mut self, text: &[u8]) -> Option<Vec<u8>> {
        let mut quoted = Vec::new();
        loop {
            self.at += 1;
            match text.get(self.at)? {
                b'"' => break,
                b'\\' => {
                    self.at += 1;
                    quoted.push(*text.get(self.at)?);
                }
                byte => quoted.push(*byte),
            }
        }
        self.at += 1;
        Some(quoted)
    }

    fn atom(&mut self, text: &'a [u8]) -> &'a [u8] {
        let rest = text.get(self.at..).unwrap_or_default();
        let end = rest.iter().position(|byte| b" ()\"".contains(byte));
        let atom = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
        self.at += atom.len();
        atom
    }

    /// Passes over the list that has begun.
    fn pass_over(&mut self) -> Option<()> {
        let mut depth = 1_usize;
        while depth > 0 {
            match self.take()? {
                Token::Open if depth >= NESTING_MAX => return None,
                Token::Open => depth += 1,
                Token::Close => depth -= 1,
                Token::Atom(_) | Token::Quoted(_) | Token::Literal(_) => {}
            }
        }
        Some(())
    }
}

/// What is told of a message, from so many bytes of the first piece on.
fn fetched(mut raw: Raw, skipped: usize) -> Option<Fetched> {
    let mut fetched = Fetched::default();
    let mut body = None;
    let mut tokens = Tokens {
        pieces: &raw.0,
        piece: 0,
        at: skipped,
    };
    let Some(Token::Open) = tokens.take() else {
        return None;
    };
    loop {
        let name = match tokens.take()? {
            Token::Close => break,
            Token::Atom(name) => name.to_ascii_uppercase(),
            Token::Open | Token::Quoted(_) | Token::Literal(_) => return None,
        };
        let value = tokens.take()?;
        match (name.as_slice(), value) {
            (b"UID", Token::Atom(value)) => fetched.uid = number(value),
            (b"RFC822.SIZE", Token::Atom(value)) => {
                fetched.size = std::str::from_utf8(value).ok()?.parse().ok();
            }
            (b"INTERNALDATE", Token::Quoted(value)) => fetched.received_at = Some(lossy(&value)),
            (b"BODY[]", Token::Quoted(value)) => fetched.body = Some(value),
            (b"BODY[]", Token::Literal(piece)) => body = Some(piece),
            (_, Token::Open) => tokens.pass_over()?,
            (_, Token::Close) => return None,
            (_, Token::Atom(_) | Token::Quoted(_) | Token::Literal(_)) => {}
        }
    }
    if let Some(Piece::Literal(literal)) = body.and_then(|piece| raw.0.get_mut(piece)) {
        fetched.body = Some(std::mem::take(literal));
    }
    Some(fetched)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::egress::Meter;

    async fn understood(said: &[u8]) -> Result<Reply, MailboxError> {
        let stream = tokio::io::join(std::io::Cursor::new(said.to_vec()), tokio::io::sink());
        let mut wire = Wire::new(Box::new(stream), Meter::new(u64::MAX));
        parse(read(&mut wire, 10).await?, "h1")
    }

    #[tokio::test]
    async fn messages_are_found_however_they_are_written() {
        let spellings: [&[u8]; 2] = [
            b"* 3 FETCH (UID 7 BODY[] {4}\r\na\r\nb FLAGS (\\Seen (x ())) RFC822.SIZE 4)\r\n",
            b"* 3 fetch (rfc822.size 4 X {2}\r\n() uid 7 body[] \"a\\\"b\\\\\")\r\n",
        ];
        for said in spellings {
            let Ok(Reply::Message(fetched)) = understood(said).await else {
                panic!("{}", lossy(said))
            };
            let bytes = fetched.body.map(|body| body.len());
            assert_eq!((fetched.uid, fetched.size, bytes), (Some(7), Some(4), Some(4)));
        }
    }

    #[test]
    fn of_many_words_the_beginning_is_told_and_marked_as_that() {
        let long = "ä".repeat(SAID_CHARS_MAX);
        for (said, told) in [
            (format!(" {long}\r\n"), long.clone()),
            (format!("{long}\u{1}"), long.clone()),
            (format!("{long}yz"), format!("{long}{CUT}")),
            (" \r\n".to_owned(), "it does not say why".to_owned()),
        ] {
            assert_eq!(words(&said), told);
        }
    }

    #[tokio::test]
    async fn what_has_no_end_is_refused() {
        let garbled = [
            format!("* 1 FETCH (X {}\r\n", "(".repeat(1_000)),
            "{0}\r\n".repeat(1_000),
            "* 1 FETCH (UID \"1\r\n".to_owned(),
            "h2 OK of another command\r\n".to_owned(),
        ];
        for said in garbled {
            let told = understood(said.as_bytes()).await;
            assert!(matches!(told, Err(MailboxError::Garbled(_))), "{told:?}: {said}");
        }
        for announced in ["11", "99999999999999999999999"] {
            let said = format!("* 1 FETCH (BODY[] {{{announced}}}\r\n");
            let told = understood(said.as_bytes()).await;
            assert!(matches!(told, Err(MailboxError::Large(10))), "{told:?}");
        }
    }
}
