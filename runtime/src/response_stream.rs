//! Pieces of a run's response, which leave while the run goes on. Who waits for them is known to the host.

use bytes::Bytes;
use std::fmt;
use std::pin::Pin;

/// Largest piece, in bytes as it is sent.
pub const PIECE_BYTES_MAX: usize = 256 << 10;

/// How pieces follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamFormat {
    /// Server-sent events.
    Sse,
    /// JSON, a value on each line.
    JsonLines,
    /// Text, without anything between.
    Text,
}

impl StreamFormat {
    /// Every format.
    pub const ALL: &[StreamFormat] = &[StreamFormat::Sse, StreamFormat::JsonLines, StreamFormat::Text];

    /// As parameters have it.
    pub const fn name(self) -> &'static str {
        match self {
            StreamFormat::Sse => "sse",
            StreamFormat::JsonLines => "json-lines",
            StreamFormat::Text => "text",
        }
    }
}

/// How a response begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamHead {
    /// How its pieces follow each other.
    pub format: StreamFormat,
    /// HTTP status.
    pub status: u16,
    /// Headers by name, as the pattern wishes them.
    pub headers: Vec<(String, String)>,
}

/// What became of a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// It is on its way.
    Taken,
    /// Nobody waits for it, or nobody any more.
    Unheard,
    /// The response has begun in this format, which is another one than the piece's.
    Begun(StreamFormat),
}

/// A piece on its way.
pub type SendFuture = Pin<Box<dyn Future<Output = Sent> + Send>>;

/// Where the pieces of one run's response go.
pub trait ResponseStream: fmt::Debug + Send + Sync + 'static {
    /// Sends a piece, once there is room for it, and unless one with this key was sent before. `head` begins the response if it
    /// has not begun.
    fn send(&self, key: &str, head: StreamHead, piece: Bytes) -> SendFuture;
}
