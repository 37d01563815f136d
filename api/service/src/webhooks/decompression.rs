//! Bodies that their senders have compressed, as they were before. Limits hold for what comes of them, so that little can't become much.
//! Knows nothing of requests, and of what a body means.

use bytes::Bytes;
use flate2::write::MultiGzDecoder;
use flate2::{Decompress, FlushDecompress, Status};
use futures_util::stream::{self, BoxStream};
use futures_util::{Stream, StreamExt};
use std::error::Error;
use std::io::{self, Write};

/// Bytes that are decoded at a time: a thousand times as many may come of them.
const PIECE_BYTES: usize = 256;
/// Bytes for which there is room while what comes of a piece is written.
const ROOM_BYTES: usize = 16 << 10;

/// As streams of bodies have it.
type AnyError = Box<dyn Error + Send + Sync>;

/// How a body is compressed. Deflate is in zlib's frame, as the standard has it (RFC 9110, section 8.4.1.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    Gzip,
    Deflate,
}

/// Why a compressed body can't be read.
#[derive(Debug, thiserror::Error)]
pub enum Undecodable {
    #[error("the body is not what `Content-Encoding` says: {0}")]
    Broken(#[from] io::Error),
    #[error("the body is larger than {0} bytes")]
    TooLarge(u64),
}

/// Decompresses a body that is in memory. To be done where no other request waits for it.
pub fn decoded(encoding: Encoding, body: &[u8], bytes_max: usize) -> Result<Bytes, Undecodable> {
    if body.is_empty() {
        return Ok(Bytes::new());
    }
    let mut decoder = Decoder::new(encoding);
    let mut all = Vec::new();
    let mut take = |piece: io::Result<Vec<u8>>| -> Result<(), Undecodable> {
        all.extend_from_slice(&piece?);
        match all.len() > bytes_max {
            true => Err(Undecodable::TooLarge(bytes_max as u64)),
            false => Ok(()),
        }
    };
    for piece in body.chunks(PIECE_BYTES) {
        take(decoder.decode(piece))?;
    }
    take(decoder.end())?;
    Ok(all.into())
}

/// Decompresses a body while it arrives, of which no more than `bytes_max` may come. What it decompresses to is for its reader to count:
/// no piece of it is large.
pub fn flowing<E>(
    encoding: Encoding,
    body: impl Stream<Item = Result<Bytes, E>> + Send + Unpin + 'static,
    bytes_max: u64,
) -> BoxStream<'static, Result<Bytes, AnyError>>
where
    E: Into<AnyError> + Send + 'static,
{
    let flow = Flowing {
        body,
        decoder: Decoder::new(encoding),
        left: Bytes::new(),
        came: 0,
        is_over: false,
        bytes_max,
    };
    stream::try_unfold(flow, next).boxed()
}

/// A body that is decompressed while it arrives.
struct Flowing<S> {
    body: S,
    decoder: Decoder,
    /// What has come and is not decompressed yet.
    left: Bytes,
    came: u64,
    is_over: bool,
    bytes_max: u64,
}

async fn next<S, E>(mut flow: Flowing<S>) -> Result<Option<(Bytes, Flowing<S>)>, AnyError>
where
    S: Stream<Item = Result<Bytes, E>> + Unpin,
    E: Into<AnyError>,
{
    loop {
        if !flow.left.is_empty() {
            let piece = flow.left.split_to(flow.left.len().min(PIECE_BYTES));
            let decoded = flow.decoder.decode(&piece).map_err(Undecodable::from)?;
            if decoded.is_empty() {
                continue;
            }
            return Ok(Some((decoded.into(), flow)));
        }
        if flow.is_over {
            return Ok(None);
        }
        let Some(piece) = flow.body.next().await else {
            flow.is_over = true;
            if flow.came == 0 {
                return Ok(None);
            }
            let rest = flow.decoder.end().map_err(Undecodable::from)?;
            if rest.is_empty() {
                return Ok(None);
            }
            return Ok(Some((rest.into(), flow)));
        };
        flow.left = piece.map_err(Into::<AnyError>::into)?;
        flow.came += flow.left.len() as u64;
        // What comes of it is counted by its reader; nothing at all may come of any number of bytes.
        if flow.came > flow.bytes_max {
            return Err(Undecodable::TooLarge(flow.bytes_max).into());
        }
    }
}

/// Takes a compressed body piece by piece.
enum Decoder {
    Gzip(Box<MultiGzDecoder<Vec<u8>>>),
    Deflate { inner: Decompress, is_over: bool },
}

impl Decoder {
    fn new(encoding: Encoding) -> Decoder {
        match encoding {
            Encoding::Gzip => Decoder::Gzip(Box::new(MultiGzDecoder::new(Vec::new()))),
            Encoding::Deflate => Decoder::Deflate {
                inner: Decompress::new(true),
                is_over: false,
            },
        }
    }

    /// What comes of a few bytes more.
    fn decode(&mut self, piece: &[u8]) -> io::Result<Vec<u8>> {
        match self {
            Decoder::Gzip(decoder) => {
                decoder.write_all(piece)?;
                Ok(std::mem::take(decoder.get_mut()))
            }
            Decoder::Deflate { inner, is_over } => inflate(inner, is_over, piece),
        }
    }

    /// The rest, once all has come; an error if there should be more.
    fn end(&mut self) -> io::Result<Vec<u8>> {
        match self {
            Decoder::Gzip(decoder) => {
                decoder.try_finish()?;
                Ok(std::mem::take(decoder.get_mut()))
            }
            Decoder::Deflate { is_over: true, .. } => Ok(Vec::new()),
            Decoder::Deflate { .. } => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it is not whole")),
        }
    }
}

/// What comes of a few bytes more of deflate, in zlib's frame (RFC 1950).
fn inflate(inner: &mut Decompress, is_over: &mut bool, piece: &[u8]) -> io::Result<Vec<u8>> {
    let (mut out, mut left) = (Vec::new(), piece);
    loop {
        let (read, given) = (inner.total_in(), inner.total_out());
        if !*is_over {
            out.reserve(ROOM_BYTES);
            let status = inner.decompress_vec(left, &mut out, FlushDecompress::None)?;
            *is_over = status == Status::StreamEnd;
        }
        let used = usize::try_from(inner.total_in() - read).unwrap_or(usize::MAX);
        left = left.get(used..).unwrap_or_default();
        if *is_over || used == 0 && inner.total_out() == given {
            return match left.is_empty() {
                true => Ok(out),
                false => Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    "something follows its end",
                )),
            };
        }
    }
}
