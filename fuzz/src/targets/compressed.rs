//! A byte for how a body is compressed (gzip if it is even, or else deflate), one for the size of the pieces in which it arrives, and the body: what comes of
//! it is within its limit, and the same in whatever pieces it comes; no piece of it becomes large.

use bytes::Bytes;
use futures_util::{TryStreamExt, stream};
use heddle_service::webhooks::decompression::{Encoding, decoded, flowing};
use std::convert::Infallible;

/// What may come, and what may come of it.
const BYTES_MAX: usize = 64 << 10;
/// What may come of a few bytes.
const PIECE_BYTES_MAX: usize = 512 << 10;

/// Checks an input.
pub fn check(data: &[u8]) {
    let [how, size, body @ ..] = data else {
        return;
    };
    if body.len() > BYTES_MAX {
        return;
    }
    let encoding = [Encoding::Gzip, Encoding::Deflate][usize::from(how % 2)];
    let whole = decoded(encoding, body, BYTES_MAX);
    let executor = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let flown = executor.block_on(flown(encoding, body, usize::from(*size).max(1)));
    match (whole, flown) {
        (Ok(whole), Some(flown)) => {
            assert!(whole.len() <= BYTES_MAX);
            assert!(whole == flown, "it depends on where it is cut");
        }
        (Err(_), None) => {}
        (Ok(whole), None) => panic!("of all there are {} bytes, of pieces none", whole.len()),
        (Err(error), Some(flown)) => panic!("of pieces there are {} bytes, but {error}", flown.len()),
    }
}

/// What comes of a body that arrives in pieces. `None`: it is not what it is said to be, or larger than its reader takes.
async fn flown(encoding: Encoding, body: &[u8], piece_bytes: usize) -> Option<Vec<u8>> {
    let pieces = body.chunks(piece_bytes).map(Bytes::copy_from_slice);
    let pieces: Vec<_> = pieces.map(Ok::<_, Infallible>).collect();
    let mut flow = flowing(encoding, stream::iter(pieces), BYTES_MAX as u64);
    let mut all = Vec::new();
    while let Some(piece) = flow.try_next().await.ok()? {
        assert!(!piece.is_empty() && piece.len() <= PIECE_BYTES_MAX);
        all.extend_from_slice(&piece);
        if all.len() > BYTES_MAX {
            return None;
        }
    }
    Some(all)
}
