//! Entries of a body that arrives piece by piece: lines, or server-sent events.
//!
//! Knows nothing of where the pieces come from.

use bytes::{Buf, BytesMut};
use serde_json::{Value, json};

/// Bytes of one entry.
pub(super) const ENTRY_BYTES_MAX: usize = 1 << 20;

/// What the entries of a body are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// Lines, each a text.
    Lines,
    /// Lines that are not empty; the node reads each as JSON.
    JsonLines,
    /// Server-sent events, each `{event, data, id?}`.
    Events,
}

/// An entry that is larger than [`ENTRY_BYTES_MAX`].
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooLong;

/// An entry, and roughly how many bytes it has.
pub(super) struct Entry {
    pub value: Value,
    pub bytes: usize,
}

/// What has arrived of a body, and was not given yet.
pub(super) struct Frames {
    framing: Framing,
    buffer: BytesMut,
    /// In so many bytes of the buffer no line ends.
    searched: usize,
    /// Whether the last line ended with a carriage return, to which a line feed may still belong.
    after_return: bool,
    /// Whether no line was taken yet.
    is_first: bool,
    event: Event,
}

/// The entries of a body that arrives in these pieces, and whether one of them was too long, behind which nothing is read.
pub fn entries<'a>(framing: Framing, pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<Value>, bool) {
    let (mut frames, mut found) = (Frames::new(framing), Vec::new());
    let mut take = |frames: &mut Frames| -> Result<(), TooLong> {
        while let Some(entry) = frames.entry()? {
            found.push(entry.value);
        }
        Ok(())
    };
    let taken = pieces.into_iter().try_for_each(|piece| {
        frames.push(piece);
        take(&mut frames)
    });
    let taken = taken.and_then(|()| {
        frames.end();
        take(&mut frames)
    });
    (found, taken.is_err())
}

/// The event whose lines arrive.
#[derive(Default)]
struct Event {
    name: String,
    /// Each line of data with a line feed behind it.
    data: String,
    /// The id that was told last, which is that of all events behind it, too.
    id: String,
}

impl Frames {
    pub fn new(framing: Framing) -> Self {
        Frames {
            framing,
            buffer: BytesMut::new(),
            searched: 0,
            after_return: false,
            is_first: true,
            event: Event::default(),
        }
    }

    /// More has arrived. To be called only when [`Frames::entry`] has nothing more, so that no more than an entry is held.
    pub fn push(&mut self, piece: &[u8]) {
        self.buffer.extend_from_slice(piece);
    }

    /// Nothing more arrives. A last line may be without an end; an event without one was cut off, and is none by the standard.
    pub fn end(&mut self) {
        if self.framing == Framing::Events {
            self.buffer.clear();
            self.searched = 0;
        } else if !self.buffer.is_empty() {
            self.push(b"\n");
        }
    }

    /// The next entry; `None`: more has to arrive first.
    pub fn entry(&mut self) -> Result<Option<Entry>, TooLong> {
        while let Some(line) = self.line()? {
            let entry = match self.framing {
                Framing::Lines => Some(Entry::of_line(line)),
                Framing::JsonLines => (!line.trim().is_empty()).then(|| Entry::of_line(line)),
                Framing::Events => self.event.take_line(&line)?,
            };
            if entry.is_some() {
                return Ok(entry);
            }
        }
        Ok(None)
    }

    /// The next line without its end. Bytes that are not UTF-8 become U+FFFD, as the standard of events has it.
    fn line(&mut self) -> Result<Option<String>, TooLong> {
        if self.after_return && !self.buffer.is_empty() {
            self.after_return = false;
            if self.buffer.starts_with(b"\n") {
                self.buffer.advance(1);
            }
        }
        // Events may have lines that end with a carriage return alone.
        let by_return = self.framing == Framing::Events;
        let is_end = |byte: &u8| *byte == b'\n' || (by_return && *byte == b'\r');
        let mut unsearched = self.buffer.iter().skip(self.searched);
        let Some(end) = unsearched.position(is_end) else {
            self.searched = self.buffer.len();
            return match self.searched > ENTRY_BYTES_MAX {
                true => Err(TooLong),
                false => Ok(None),
            };
        };
        let line = self.buffer.split_to(self.searched + end);
        self.searched = 0;
        self.after_return = self.buffer.starts_with(b"\r");
        self.buffer.advance(1);
        if line.len() > ENTRY_BYTES_MAX {
            return Err(TooLong);
        }
        let text = String::from_utf8_lossy(&line);
        if text.len() > ENTRY_BYTES_MAX {
            return Err(TooLong);
        }
        let text = match by_return {
            true => &*text,
            false => text.strip_suffix('\r').unwrap_or(&text),
        };
        // A byte order mark belongs to no line.
        let text = match std::mem::take(&mut self.is_first) {
            true => text.strip_prefix('\u{feff}').unwrap_or(text),
            false => text,
        };
        Ok(Some(text.to_owned()))
    }
}

impl Entry {
    fn of_line(line: String) -> Self {
        Entry {
            bytes: line.len(),
            value: line.into(),
        }
    }
}

impl Event {
    /// Takes a line, after which there may be a whole event (HTML, 9.2.6).
    fn take_line(&mut self, line: &str) -> Result<Option<Entry>, TooLong> {
        if line.is_empty() {
            return Ok(self.take());
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => self.name = value.to_owned(),
            "data" => {
                self.data.push_str(value);
                self.data.push('\n');
            }
            "id" if !value.contains('\0') => self.id = value.to_owned(),
            // Comments, which keep a connection open, and how long clients are to wait before they connect again.
            _ => {}
        }
        match self.name.len() + self.data.len() + self.id.len() > ENTRY_BYTES_MAX {
            true => Err(TooLong),
            false => Ok(None),
        }
    }

    /// The event, unless it has no data.
    fn take(&mut self) -> Option<Entry> {
        let (name, mut data) = (std::mem::take(&mut self.name), std::mem::take(&mut self.data));
        data.pop()?;
        let bytes = name.len() + data.len() + self.id.len();
        let name = match name.is_empty() {
            true => "message".to_owned(),
            false => name,
        };
        let mut value = json!({ "event": name, "data": data });
        if !self.id.is_empty() {
            value["id"] = self.id.as_str().into();
        }
        Some(Entry { value, bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All entries of a body that arrives in pieces of this size.
    fn in_pieces(framing: Framing, body: &[u8], size: usize) -> Vec<Value> {
        let (found, is_too_long) = entries(framing, body.chunks(size));
        assert!(!is_too_long);
        found
    }

    /// All entries of a body, which are the same in pieces of whatever size.
    fn all(framing: Framing, body: &[u8]) -> Value {
        let whole = in_pieces(framing, body, body.len().max(1));
        for size in 1..body.len() {
            assert_eq!(in_pieces(framing, body, size), whole, "in pieces of {size}");
        }
        whole.into()
    }

    #[test]
    fn lines_are_given_to_their_ends() {
        let body = "\u{feff}one\r\n\nfür 3 €\rx\nlast".as_bytes();
        assert_eq!(
            all(Framing::Lines, body),
            json!(["one", "", "für 3 €\rx", "last"])
        );
        assert_eq!(all(Framing::Lines, b""), json!([]));
        assert_eq!(all(Framing::Lines, b"\n"), json!([""]));
        assert_eq!(all(Framing::Lines, b"a\xff\n"), json!(["a\u{fffd}"]));
        let body = b"{\"a\":1}\n\n \r\n[2]";
        assert_eq!(all(Framing::JsonLines, body), json!(["{\"a\":1}", "[2]"]));
    }

    #[test]
    fn events_are_as_the_standard_has_them() {
        let body = b"\xef\xbb\xbf: hello\n\nevent: add\rdata: 1\r\rdata:2\r\ndata:  3\r\nid: x\r\nretry: 10\r\n\r\ndata\n\nid\ndata: 4\n\n\
            event: none\n\ndata: 5\nother: y\n\ndata: cut";
        let events = json!([
            {"event": "add", "data": "1"},
            {"event": "message", "data": "2\n 3", "id": "x"},
            {"event": "message", "data": "", "id": "x"},
            {"event": "message", "data": "4"},
            {"event": "message", "data": "5"},
        ]);
        assert_eq!(all(Framing::Events, body), events);
    }

    #[test]
    fn no_entry_is_larger_than_it_may_be() {
        for framing in [Framing::Lines, Framing::JsonLines, Framing::Events] {
            let mut frames = Frames::new(framing);
            frames.push(&vec![b'x'; ENTRY_BYTES_MAX]);
            assert!(frames.entry().is_ok_and(|entry| entry.is_none()), "{framing:?}");
            frames.push(b"x");
            assert!(frames.entry().is_err(), "{framing:?}");
        }
        // Nor has an event more by many lines.
        let mut frames = Frames::new(Framing::Events);
        let line = format!("data: {}\n", "x".repeat(1 << 10));
        let refused = (0..ENTRY_BYTES_MAX >> 10).any(|_| {
            frames.push(line.as_bytes());
            frames.entry().is_err()
        });
        assert!(refused);
    }
}
