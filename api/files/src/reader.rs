//! Reading a file, or a part of it, as a stream: each chunk is decrypted and checked before any of its bytes is given.

use crate::cipher::{CHUNK_BYTES, Cipher, SEALED_BYTES, chunks, sealed_len};
use crate::error::FileError;
use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::{BoxStream, try_unfold};
use std::ops::Range;

/// A file's bytes, or a part of them.
pub type Content = BoxStream<'static, Result<Bytes, FileError>>;

/// Where the chunks of a part stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// Chunks by number.
    chunks: Range<u64>,
    /// Bytes in the store.
    pub sealed: Range<u64>,
    /// How many plain bytes of the first chunk come before the part.
    skipped: usize,
    /// Plain bytes of the part.
    len: u64,
    /// Number of the file's last chunk.
    last: u64,
}

impl Section {
    /// Of a part of a file of this size, within it.
    pub fn of(size: u64, part: &Range<u64>) -> Self {
        let (chunk, sealed) = (CHUNK_BYTES as u64, SEALED_BYTES as u64);
        let end = part.end.min(size);
        let start = part.start.min(end);
        let count = chunks(size);
        // An empty part of a file that is not empty reads the chunk that it stands in, which is checked all the same.
        let first = (start / chunk).min(count - 1);
        let past = end.div_ceil(chunk).clamp(first + 1, count);
        Section {
            chunks: first..past,
            sealed: first * sealed..(past * sealed).min(sealed_len(size)),
            skipped: usize::try_from(start - first * chunk).unwrap_or(CHUNK_BYTES),
            len: end - start,
            last: count - 1,
        }
    }
}

struct State {
    cipher: Cipher,
    sealed: BoxStream<'static, Result<Bytes, FileError>>,
    section: Section,
    next: u64,
    buffer: Vec<u8>,
    rest: Bytes,
    left: u64,
}

/// The plain bytes of a section, of what the store has of it.
pub fn decrypted(
    cipher: Cipher,
    section: Section,
    sealed: BoxStream<'static, Result<Bytes, FileError>>,
) -> Content {
    let state = State {
        cipher,
        sealed,
        next: section.chunks.start,
        left: section.len,
        section,
        buffer: Vec::new(),
        rest: Bytes::new(),
    };
    try_unfold(state, |mut state| async move {
        loop {
            if state.next == state.section.chunks.end {
                return Ok(None);
            }
            let Some(chunk) = state.next_chunk().await? else {
                return Err(FileError::Damaged);
            };
            let number = state.next;
            state.next += 1;
            let plain = state.cipher.open(number, number == state.section.last, chunk);
            let mut plain = plain.ok_or(FileError::Damaged)?;
            if number == state.section.chunks.start {
                drop(plain.split_to(state.section.skipped.min(plain.len())));
            }
            let wanted = usize::try_from(state.left).unwrap_or(usize::MAX).min(plain.len());
            plain.truncate(wanted);
            state.left -= wanted as u64;
            if !plain.is_empty() {
                return Ok(Some((plain, state)));
            }
        }
    })
    .boxed()
}

impl State {
    /// The next chunk as it is stored, which is shorter at the file's end.
    async fn next_chunk(&mut self) -> Result<Option<Vec<u8>>, FileError> {
        self.buffer.reserve_exact(SEALED_BYTES);
        loop {
            if self.rest.is_empty() {
                match self.sealed.next().await.transpose()? {
                    Some(piece) => self.rest = piece,
                    None => {
                        let chunk = std::mem::take(&mut self.buffer);
                        return Ok((!chunk.is_empty()).then_some(chunk));
                    }
                }
            }
            let wanted = SEALED_BYTES - self.buffer.len();
            self.buffer
                .extend_from_slice(&self.rest.split_to(wanted.min(self.rest.len())));
            if self.buffer.len() == SEALED_BYTES {
                return Ok(Some(std::mem::take(&mut self.buffer)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cipher::ContentKey;
    use futures_util::TryStreamExt;
    use futures_util::stream::iter;

    fn stored(key: &ContentKey, plain: &[u8]) -> Vec<u8> {
        let (cipher, count) = (key.cipher(), chunks(plain.len() as u64));
        let mut sealed = Vec::new();
        for number in 0..count {
            let start = number as usize * CHUNK_BYTES;
            let chunk = &plain[start..plain.len().min(start + CHUNK_BYTES)];
            sealed.extend_from_slice(&cipher.seal(number, number == count - 1, chunk).unwrap());
        }
        sealed
    }

    fn read(
        key: &ContentKey,
        stored: &[u8],
        size: u64,
        part: Range<u64>,
        piece: usize,
    ) -> Result<Vec<u8>, FileError> {
        let section = Section::of(size, &part);
        let range = section.sealed.start as usize..(section.sealed.end as usize).min(stored.len());
        let pieces: Vec<_> = stored[range]
            .chunks(piece)
            .map(|piece| Ok(Bytes::copy_from_slice(piece)))
            .collect();
        let content = decrypted(key.cipher(), section, iter(pieces).boxed());
        let whole = content.try_fold(Vec::new(), |mut all, piece| async move {
            all.extend_from_slice(&piece);
            Ok(all)
        });
        tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap()
            .block_on(whole)
    }

    #[test]
    fn any_part_is_read_as_it_was_written() {
        let key = ContentKey::random();
        let chunk = CHUNK_BYTES as u64;
        for size in [0, 1, chunk - 1, chunk, chunk + 1, 3 * chunk, 3 * chunk + 7] {
            let plain: Vec<u8> = (0..size).map(|at| (at * 31 % 251) as u8).collect();
            let stored = stored(&key, &plain);
            assert_eq!(stored.len() as u64, sealed_len(size));
            let ends = [
                0,
                1,
                chunk - 1,
                chunk,
                chunk + 1,
                2 * chunk,
                size.saturating_sub(1),
                size,
            ];
            for start in ends {
                for end in ends {
                    let (start, end) = (start.min(size), end.min(size));
                    if start <= end {
                        let part = read(&key, &stored, size, start..end, 50_001).unwrap();
                        assert_eq!(
                            part,
                            plain[start as usize..end as usize],
                            "{size}: {start}..{end}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn what_was_changed_or_cut_off_is_not_given() {
        let key = ContentKey::random();
        let size = 2 * CHUNK_BYTES as u64 + 5;
        let whole = stored(&key, &vec![7; size as usize]);
        let damaged = |stored: &[u8], size| {
            assert!(matches!(
                read(&key, stored, size, 0..size, 1 << 20),
                Err(FileError::Damaged)
            ));
        };
        let mut forged = whole.clone();
        forged[SEALED_BYTES + 9] ^= 1;
        damaged(&forged, size);
        // The last chunk is missing: whether the row knows it or not.
        damaged(&whole[..2 * SEALED_BYTES], size);
        damaged(&whole[..2 * SEALED_BYTES], 2 * CHUNK_BYTES as u64);
        // Chunks in another order.
        let mut turned = whole[SEALED_BYTES..2 * SEALED_BYTES].to_vec();
        turned.extend_from_slice(&whole[..SEALED_BYTES]);
        turned.extend_from_slice(&whole[2 * SEALED_BYTES..]);
        damaged(&turned, size);
    }
}
