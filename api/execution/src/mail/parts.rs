//! The parts of a message (RFC 2045 and 2046), parsed line by line with an explicit stack. mail-parser, which recurses
//! as deeply as a sender nests messages, only gets single header sections of limited size. A message attached to a
//! message is treated as a file. Knows nothing about the event's format.

use crate::run::EVENT_BYTES_MAX;
use mail_parser::decoders::base64::base64_decode;
use mail_parser::decoders::charsets::map::charset_decoder;
use mail_parser::decoders::html::{html_to_text, text_to_html};
use mail_parser::decoders::quoted_printable::quoted_printable_decode;
use mail_parser::{ContentType, Message, MessageParser, MimeHeaders};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Multiparts within each other.
const NESTING_MAX: usize = 50;
/// Parts of a message.
pub(super) const PARTS_MAX: usize = 1_000;
/// Bytes of one header section.
pub(super) const SECTION_BYTES_MAX: usize = 512 << 10;
/// Bytes of all header sections together.
const HEADER_BYTES_MAX: usize = 2 << 20;
/// Header fields of all parts together.
pub(super) const FIELDS_MAX: usize = 10_000;
/// Bytes of one field.
pub(super) const FIELD_BYTES_MAX: usize = 128 << 10;
/// Bytes of a field that says what a part is, such as `Content-Type`.
const CONTENT_FIELD_BYTES_MAX: usize = 16 << 10;

/// Why a message is permanently rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum Refused {
    /// It has no header.
    #[error("this is not an RFC 5322 message")]
    NoMessage,
    /// It has too many parts.
    #[error("it has more than {max} parts", max = PARTS_MAX)]
    Parts,
    /// Multiparts are within too many others.
    #[error("its parts are nested more than {max} levels deep", max = NESTING_MAX)]
    Nesting,
    /// Its headers are too large.
    #[error(
        "a header is larger than {kib} KiB, or all together are larger than {mib} MiB",
        kib = SECTION_BYTES_MAX >> 10,
        mib = HEADER_BYTES_MAX >> 20
    )]
    Header,
    /// Its headers have too many fields.
    #[error("it has more than {max} header fields", max = FIELDS_MAX)]
    Fields,
    /// A field is too large.
    #[error("a header field is larger than {kib} KiB", kib = FIELD_BYTES_MAX >> 10)]
    Field,
    /// A field is too large that says what a part is.
    #[error("a header field is larger than {kib} KiB", kib = CONTENT_FIELD_BYTES_MAX >> 10)]
    ContentField,
    /// What it says is larger than a run's event.
    #[error("its headers and texts are too large for the event of a run")]
    Texts,
    /// It is larger than a run's event, with its attachments if these are inside.
    #[error("as an event it would be larger than {mib} MiB", mib = EVENT_BYTES_MAX >> 20)]
    Event,
    /// What it carries is too large.
    #[error("its attachments are too large once they are decoded")]
    Contents,
}

/// A message in its parts.
pub(super) struct Parts<'m> {
    pub header: Message<'m>,
    parts: Vec<Part<'m>>,
    text_body: Vec<usize>,
    html_body: Vec<usize>,
    attachments: Vec<usize>,
}

/// A part that has no parts itself.
pub(super) struct Part<'m> {
    /// `None`: it has no header.
    pub header: Option<Message<'m>>,
    content: Content<'m>,
}

enum Content<'m> {
    Text(Cow<'m, str>),
    Html(Cow<'m, str>),
    Bytes(Cow<'m, [u8]>),
}

impl Part<'_> {
    /// What it holds, decoded.
    pub fn contents(&self) -> &[u8] {
        match &self.content {
            Content::Text(text) | Content::Html(text) => text.as_bytes(),
            Content::Bytes(bytes) => bytes,
        }
    }
}

impl<'m> Parts<'m> {
    /// Reads a message.
    pub fn read(raw: &'m [u8]) -> Result<Self, Refused> {
        let mut walk = Walk::new(raw);
        let mut at = walk.begin_part(0)?;
        while at < raw.len() {
            let line = Line::at(raw, at);
            match walk.delimiter(line.text) {
                None => at = line.next,
                Some((frame, is_last)) => {
                    walk.end_part(at);
                    walk.close(frame + 1, at);
                    at = line.next;
                    if is_last {
                        walk.close(frame, at);
                    } else {
                        at = walk.begin_part(at)?;
                    }
                }
            }
        }
        walk.end_part(raw.len());
        walk.close(1, raw.len());
        let header = walk.header.ok_or(Refused::NoMessage)?;
        Ok(Parts { header, ..walk.found })
    }

    /// The text that is meant to be read.
    pub fn text(&self) -> Option<Cow<'_, str>> {
        match &self.parts.get(*self.text_body.first()?)?.content {
            Content::Text(text) => Some(Cow::Borrowed(text)),
            Content::Html(html) => Some(html_to_text(html).into()),
            Content::Bytes(_) => None,
        }
    }

    /// The HTML that is meant to be read.
    pub fn html(&self) -> Option<Cow<'_, str>> {
        match &self.parts.get(*self.html_body.first()?)?.content {
            Content::Html(html) => Some(Cow::Borrowed(html)),
            Content::Text(text) => Some(text_to_html(text).into()),
            Content::Bytes(_) => None,
        }
    }

    /// Bytes that a text has as HTML.
    pub fn html_bytes(&self) -> usize {
        let first = self.html_body.first();
        match first
            .and_then(|index| self.parts.get(*index))
            .map(|part| &part.content)
        {
            Some(Content::Text(text)) => text.bytes().map(as_html).sum(),
            _ => 0,
        }
    }

    /// Everything else.
    pub fn attachments(&self) -> impl Iterator<Item = &Part<'m>> {
        self.attachments.iter().filter_map(|index| self.parts.get(*index))
    }
}

/// One line without its end.
struct Line<'m> {
    text: &'m [u8],
    next: usize,
}

impl<'m> Line<'m> {
    fn at(raw: &'m [u8], at: usize) -> Self {
        let rest = raw.get(at..).unwrap_or_default();
        match rest.iter().position(|byte| *byte == b'\n') {
            None => Line {
                text: rest,
                next: raw.len(),
            },
            Some(end) => {
                let text = &rest[..end];
                Line {
                    text: text.strip_suffix(b"\r").unwrap_or(text),
                    next: at + end + 1,
                }
            }
        }
    }
}

/// What a part is, as far as it matters here.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Alternative,
    Related,
    Digest,
    OtherMultipart,
    Plain,
    Html,
    OtherText,
    Media,
    Message,
    Other,
}

impl Kind {
    fn of(content_type: Option<&ContentType<'_>>, parent: Kind) -> Kind {
        let Some(content_type) = content_type else {
            return match parent {
                Kind::Digest => Kind::Message,
                _ => Kind::Plain,
            };
        };
        match (content_type.ctype(), content_type.subtype()) {
            ("multipart", Some("alternative")) => Kind::Alternative,
            ("multipart", Some("related")) => Kind::Related,
            ("multipart", Some("digest")) => Kind::Digest,
            ("multipart", _) => Kind::OtherMultipart,
            ("text", Some("plain")) => Kind::Plain,
            ("text", Some("html")) => Kind::Html,
            ("text", _) => Kind::OtherText,
            ("image" | "audio" | "video", _) => Kind::Media,
            ("message", Some("rfc822" | "global")) => Kind::Message,
            _ => Kind::Other,
        }
    }

    fn is_multipart(self) -> bool {
        use Kind::{Alternative, Digest, OtherMultipart, Related};
        matches!(self, Alternative | Related | Digest | OtherMultipart)
    }

    fn is_text(self) -> bool {
        matches!(self, Kind::Plain | Kind::Html | Kind::OtherText)
    }
}

/// A multipart whose parts are being read, or, at the bottom, the message.
struct Frame<'m> {
    kind: Kind,
    /// Empty of the message itself.
    boundary: Vec<u8>,
    header: Option<Message<'m>>,
    body_at: usize,
    /// Parts begun.
    parts: usize,
    in_alternative: bool,
    needs_text: bool,
    needs_html: bool,
    /// Bodies found before it began.
    texts_before: usize,
    htmls_before: usize,
}

/// A part whose body is being read.
struct Open<'m> {
    header: Option<Message<'m>>,
    kind: Kind,
    body_at: usize,
}

struct Walk<'m> {
    raw: &'m [u8],
    /// Never empty.
    frames: Vec<Frame<'m>>,
    open: Option<Open<'m>>,
    /// The message's own.
    header: Option<Message<'m>>,
    found: Parts<'m>,
    begun: usize,
    header_bytes: usize,
    fields: usize,
}

impl<'m> Walk<'m> {
    fn new(raw: &'m [u8]) -> Self {
        let message = Frame {
            kind: Kind::Message,
            boundary: Vec::new(),
            header: None,
            body_at: 0,
            parts: 0,
            in_alternative: false,
            needs_text: true,
            needs_html: true,
            texts_before: 0,
            htmls_before: 0,
        };
        Walk {
            raw,
            frames: vec![message],
            open: None,
            header: None,
            found: Parts {
                header: Message::default(),
                parts: Vec::new(),
                text_body: Vec::new(),
                html_body: Vec::new(),
                attachments: Vec::new(),
            },
            begun: 0,
            header_bytes: 0,
            fields: 0,
        }
    }

    /// The multipart that a line belongs to as a delimiter, and whether it is its last one. An outer one ends those
    /// within it.
    fn delimiter(&self, line: &[u8]) -> Option<(usize, bool)> {
        let line = line.strip_prefix(b"--")?.trim_ascii_end();
        let last = line.strip_suffix(b"--");
        let mut frames = self.frames.iter().enumerate().skip(1).rev();
        frames.find_map(|(index, frame)| {
            let boundary = frame.boundary.as_slice();
            (line == boundary)
                .then_some((index, false))
                .or_else(|| (last == Some(boundary)).then_some((index, true)))
        })
    }

    /// Reads the header of the part that begins here; gives where its body does.
    fn begin_part(&mut self, at: usize) -> Result<usize, Refused> {
        self.begun += 1;
        if self.begun > PARTS_MAX {
            return Err(Refused::Parts);
        }
        let (end, body_at) = self.section(at)?;
        let header = MessageParser::default().parse_headers(&self.raw[at..end]);
        if self.begun == 1 {
            self.header.clone_from(&header);
        }
        let content_type = header.as_ref().and_then(|header| header.content_type());
        let Some(parent) = self.frames.last_mut() else {
            return Ok(body_at);
        };
        parent.parts += 1;
        let kind = Kind::of(content_type, parent.kind);
        let boundary = content_type.and_then(|kind| kind.attribute("boundary"));
        // White space at the end of lines counts for nothing.
        let boundary = boundary.map(|text| text.trim_ascii_end().as_bytes().to_vec());
        match boundary.filter(|boundary| kind.is_multipart() && !boundary.is_empty()) {
            None => {
                self.open = Some(Open {
                    header,
                    kind,
                    body_at,
                });
            }
            Some(boundary) => {
                let frame = Frame {
                    kind,
                    boundary,
                    header,
                    body_at,
                    parts: 0,
                    in_alternative: parent.in_alternative || kind == Kind::Alternative,
                    needs_text: parent.needs_text,
                    needs_html: parent.needs_html,
                    texts_before: self.found.text_body.len(),
                    htmls_before: self.found.html_body.len(),
                };
                if self.frames.len() > NESTING_MAX {
                    return Err(Refused::Nesting);
                }
                self.frames.push(frame);
            }
        }
        Ok(body_at)
    }

    /// Where the header section that begins here ends, and where the body begins: after an empty line, or at a
    /// delimiter.
    fn section(&mut self, start: usize) -> Result<(usize, usize), Refused> {
        let mut at = start;
        let mut field_at = start;
        while at < self.raw.len() {
            let line = Line::at(self.raw, at);
            if line.text.is_empty() {
                self.field(&self.raw[field_at..at])?;
                return Ok((at, line.next));
            }
            if self.delimiter(line.text).is_some() {
                break;
            }
            if !line.text.starts_with(b" ") && !line.text.starts_with(b"\t") {
                self.field(&self.raw[field_at..at])?;
                field_at = at;
            }
            self.header_bytes += line.next - at;
            at = line.next;
            if at - start > SECTION_BYTES_MAX || self.header_bytes > HEADER_BYTES_MAX {
                return Err(Refused::Header);
            }
        }
        self.field(&self.raw[field_at..at])?;
        Ok((at, at))
    }

    fn field(&mut self, field: &[u8]) -> Result<(), Refused> {
        self.fields += 1;
        if self.fields > FIELDS_MAX {
            return Err(Refused::Fields);
        }
        // Any spelling of a name: white space within it is nothing to the parser.
        let mut name = field.iter().filter(|byte| !byte.is_ascii_whitespace());
        let is_content = b"content-".iter().all(|expected| {
            name.next()
                .is_some_and(|byte| byte.to_ascii_lowercase() == *expected)
        });
        let (bytes_max, refused) = match is_content {
            true => (CONTENT_FIELD_BYTES_MAX, Refused::ContentField),
            false => (FIELD_BYTES_MAX, Refused::Field),
        };
        match field.len() > bytes_max {
            true => Err(refused),
            false => Ok(()),
        }
    }

    /// The part being read ends before the line that begins here.
    fn end_part(&mut self, at: usize) {
        if let Some(open) = self.open.take() {
            self.keep(open, at);
        }
    }

    /// Ends the multiparts from this one on.
    fn close(&mut self, first: usize, at: usize) {
        while self.frames.len() > first.max(1) {
            let Some(frame) = self.frames.pop() else { return };
            if frame.parts == 0 {
                // Without a single delimiter it is one text.
                let open = Open {
                    header: frame.header,
                    kind: Kind::OtherText,
                    body_at: frame.body_at,
                };
                self.keep(open, at);
            } else if frame.kind == Kind::Alternative && frame.needs_text && frame.needs_html {
                let Parts {
                    text_body, html_body, ..
                } = &mut self.found;
                let (texts, htmls) = (text_body.len(), html_body.len());
                if texts == frame.texts_before {
                    text_body.extend_from_slice(&html_body[frame.htmls_before..]);
                } else if htmls == frame.htmls_before {
                    html_body.extend_from_slice(&text_body[frame.texts_before..]);
                }
            }
        }
    }

    /// Decodes a part and sorts it in: to the bodies, or to the attachments.
    fn keep(&mut self, open: Open<'m>, at: usize) {
        let body = self.raw.get(open.body_at..at).unwrap_or_default();
        // The end of a delimiter's line before is the delimiter's.
        let body = match at < self.raw.len() {
            true => body.strip_suffix(b"\n").unwrap_or(body),
            false => body,
        };
        let body = match at < self.raw.len() {
            true => body.strip_suffix(b"\r").unwrap_or(body),
            false => body,
        };
        let (decoded, is_broken) = decoded(open.header.as_ref(), body);
        let kind = match (is_broken, open.kind) {
            (true, Kind::Plain) => Kind::Plain,
            (true, _) => Kind::OtherText,
            (false, kind) => kind,
        };
        let content_type = open.header.as_ref().and_then(|header| header.content_type());
        let (to_text, to_html) = self.place(&open, kind, is_broken);
        let index = self.found.parts.len();
        if to_text {
            self.found.text_body.push(index);
        }
        if to_html {
            self.found.html_body.push(index);
        }
        let content = match kind {
            Kind::Html => Content::Html(text(decoded, content_type)),
            _ if kind.is_text() => Content::Text(text(decoded, content_type)),
            _ => Content::Bytes(decoded),
        };
        let is_body = match content {
            Content::Html(_) => to_html,
            Content::Text(_) => to_text,
            Content::Bytes(_) => false,
        };
        if !is_body {
            self.found.attachments.push(index);
        }
        self.found.parts.push(Part {
            header: open.header,
            content,
        });
    }

    /// Whether a part is one of the texts, or of the HTML texts, that are meant to be read.
    fn place(&mut self, open: &Open<'m>, kind: Kind, is_broken: bool) -> (bool, bool) {
        let Some(parent) = self.frames.last_mut() else {
            return (false, false);
        };
        if parent.kind == Kind::Alternative {
            return (kind == Kind::Plain, kind == Kind::Html);
        }
        let header = open.header.as_ref();
        let disposition = header.and_then(|header| header.content_disposition());
        let has_name = header
            .and_then(|header| header.content_type())
            .is_some_and(|kind| kind.has_attribute("name"));
        let is_first = parent.parts == 1;
        let is_shown = matches!(kind, Kind::Plain | Kind::Html | Kind::Media)
            && !is_broken
            && !disposition.is_some_and(ContentType::is_attachment)
            && (is_first || parent.kind != Kind::Related && (kind == Kind::Media || !has_name));
        let is_whole = is_first && parent.kind == Kind::Message && kind == Kind::Plain && is_broken;
        if !is_shown && !is_whole {
            return (false, false);
        }
        if parent.in_alternative && (parent.needs_text || parent.needs_html) {
            match kind {
                Kind::Html => parent.needs_text = false,
                Kind::Plain => parent.needs_html = false,
                _ => {}
            }
        }
        (parent.needs_text, parent.needs_html)
    }
}

/// Bytes that `text_to_html` makes of one.
const fn as_html(byte: u8) -> usize {
    match byte {
        b'\n' => "<br/>".len(),
        b'<' => "&lt;".len(),
        _ => 1,
    }
}

/// A body without its transfer encoding, and whether it was not what its header says: then it is as it came.
fn decoded<'m>(header: Option<&Message<'m>>, body: &'m [u8]) -> (Cow<'m, [u8]>, bool) {
    let encoding = header.and_then(|header| header.content_transfer_encoding());
    let decoded = match encoding {
        Some(name) if name.eq_ignore_ascii_case("base64") => base64_decode(body),
        Some(name) if name.eq_ignore_ascii_case("quoted-printable") => quoted_printable_decode(body),
        _ => return (Cow::Borrowed(body), false),
    };
    match decoded {
        Some(decoded) => (Cow::Owned(decoded), false),
        None => (Cow::Borrowed(body), true),
    }
}

/// A text from the character set that its header names; without one it is UTF-8.
fn text<'m>(bytes: Cow<'m, [u8]>, content_type: Option<&ContentType<'_>>) -> Cow<'m, str> {
    let charset = content_type.and_then(|kind| kind.attribute("charset"));
    if let Some(decode) = charset.and_then(|charset| charset_decoder(charset.as_bytes())) {
        return decode(&bytes).into();
    }
    match bytes {
        Cow::Borrowed(bytes) => String::from_utf8_lossy(bytes),
        Cow::Owned(bytes) => String::from_utf8(bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
            .into(),
    }
}

#[cfg(test)]
mod tests;
