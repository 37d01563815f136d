//! Frames: four bytes of length, the lowest first, and that many bytes. Whoever receives checks the length before it
//! makes room, and makes room only as bytes come.

use std::io;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};

/// Bytes of the length that stands before a frame.
pub(crate) const HEADER_BYTES: usize = 4;
/// Bytes for which room is made at once, whatever a length claims.
const PIECE_BYTES: usize = 64 << 10;

/// Why a frame was not sent or received.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FrameError {
    /// Longer than this side allows.
    #[error("a message has {bytes} bytes; at most {bytes_max} are allowed")]
    TooLarge {
        /// As its length says.
        bytes: usize,
        /// What may be.
        bytes_max: usize,
    },
    /// The other side closed its end within a frame.
    #[error("a message was cut off")]
    CutOff,
    /// The socket failed.
    #[error(transparent)]
    Socket(#[from] io::Error),
}

/// The length in front of a frame, if it is allowed.
pub(crate) fn header(bytes: usize, bytes_max: usize) -> Result<[u8; HEADER_BYTES], FrameError> {
    match u32::try_from(bytes) {
        Ok(length) if bytes <= bytes_max => Ok(length.to_le_bytes()),
        _ => Err(FrameError::TooLarge { bytes, bytes_max }),
    }
}

/// What a header says, if it is allowed.
pub(crate) fn length(header: [u8; HEADER_BYTES], bytes_max: usize) -> Result<usize, FrameError> {
    let bytes = u32::from_le_bytes(header) as usize;
    if bytes > bytes_max {
        return Err(FrameError::TooLarge { bytes, bytes_max });
    }
    Ok(bytes)
}

/// A frame that is being written.
#[derive(Debug)]
pub struct Frame(Vec<u8>);

impl Frame {
    /// An empty one.
    pub fn new() -> Self {
        Frame::with_capacity(64)
    }

    /// An empty one with room for so many bytes.
    pub fn with_capacity(bytes: usize) -> Self {
        let mut frame = Vec::with_capacity(HEADER_BYTES.saturating_add(bytes));
        frame.extend_from_slice(&[0; HEADER_BYTES]);
        Frame(frame)
    }

    /// Appends bytes.
    pub fn extend(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// What it holds.
    pub fn body(&self) -> &[u8] {
        self.0.get(HEADER_BYTES..).unwrap_or_default()
    }

    /// With its length in front.
    pub(crate) fn finish(mut self, bytes_max: usize) -> Result<Vec<u8>, FrameError> {
        let header = header(self.0.len() - HEADER_BYTES, bytes_max)?;
        if let Some(place) = self.0.first_chunk_mut::<HEADER_BYTES>() {
            *place = header;
        }
        Ok(self.0)
    }
}

impl Default for Frame {
    fn default() -> Self {
        Frame::new()
    }
}

/// Sends frames.
#[derive(Debug)]
pub struct Sender {
    half: OwnedWriteHalf,
    bytes_max: usize,
}

impl Sender {
    /// Sends one frame. If the future is dropped before its end, nothing may be sent any more.
    pub async fn send(&mut self, bytes: &[u8]) -> Result<(), FrameError> {
        self.half.write_all(&header(bytes.len(), self.bytes_max)?).await?;
        Ok(self.half.write_all(bytes).await?)
    }
}

/// Receives frames.
#[derive(Debug)]
pub struct Receiver {
    half: OwnedReadHalf,
    bytes_max: usize,
    header: Vec<u8>,
    body: Vec<u8>,
}

impl Receiver {
    /// The next frame; `None`: the other side closed its end behind the one before. The future may be dropped and the
    /// call repeated: what has come is kept.
    pub async fn receive(&mut self) -> Result<Option<Vec<u8>>, FrameError> {
        loop {
            let missing = match <[u8; HEADER_BYTES]>::try_from(self.header.as_slice()) {
                Ok(header) => length(header, self.bytes_max)? - self.body.len(),
                Err(_) => {
                    let missing = HEADER_BYTES - self.header.len();
                    let mut piece = (&mut self.half).take(missing as u64);
                    match piece.read_buf(&mut self.header).await? {
                        0 if self.header.is_empty() => return Ok(None),
                        0 => return Err(FrameError::CutOff),
                        _ => continue,
                    }
                }
            };
            if missing == 0 {
                self.header.clear();
                return Ok(Some(std::mem::take(&mut self.body)));
            }
            self.body.reserve(missing.min(PIECE_BYTES));
            let mut piece = (&mut self.half).take(missing as u64);
            if piece.read_buf(&mut self.body).await? == 0 {
                return Err(FrameError::CutOff);
            }
        }
    }
}

/// Both directions of a socket.
pub(crate) fn halves(
    stream: UnixStream,
    received_bytes_max: usize,
    sent_bytes_max: usize,
) -> (Sender, Receiver) {
    let (read, write) = stream.into_split();
    let sender = Sender {
        half: write,
        bytes_max: sent_bytes_max,
    };
    let receiver = Receiver {
        half: read,
        bytes_max: received_bytes_max,
        header: Vec::with_capacity(HEADER_BYTES),
        body: Vec::new(),
    };
    (sender, receiver)
}
