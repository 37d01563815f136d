//! One file of an archive, while it is unpacked.

use super::archive::Entry;
use super::checksum::Checksum;
use super::shared::PIECE_BYTES;
use crate::failure::Failure;
use heddle_contract::abi::code;
use miniz_oxide::inflate::stream::{InflateState, inflate};
use miniz_oxide::{DataFormat, MZError, MZFlush, MZStatus};

/// Bytes that are unpacked at once.
const STEP_BYTES: usize = 64 << 10;

pub(in super::super) struct Unpacking {
    /// Where the next packed byte is, and how many there still are.
    pub at: u64,
    left: u64,
    /// Of what is compressed.
    inflate: Option<Box<InflateState>>,
    /// What is unpacked and not written.
    pub out: Vec<u8>,
    checksum: Checksum,
    size: u64,
    /// Bytes that are written.
    pub written: u64,
    pub is_whole: bool,
}

impl Unpacking {
    /// `at`: where its bytes begin.
    pub fn new(entry: &Entry, at: u64) -> Self {
        Unpacking {
            at,
            left: entry.packed,
            inflate: (entry.method == 8).then(|| InflateState::new_boxed(DataFormat::Raw)),
            out: Vec::new(),
            checksum: Checksum::new(),
            size: 0,
            written: 0,
            is_whole: false,
        }
    }

    /// Whether there is enough to be written, or all.
    pub fn is_ready(&self) -> bool {
        self.is_whole || self.out.len() >= PIECE_BYTES
    }

    /// Takes packed bytes, which may be more than its own, until it is ready or they are at their end.
    pub fn feed(&mut self, entry: &Entry, packed: &[u8]) -> Result<(), Failure> {
        let own = usize::try_from(self.left).unwrap_or(usize::MAX);
        let packed = packed.get(..own.min(packed.len())).unwrap_or_default();
        if packed.is_empty() && self.left > 0 {
            return Err(damaged(entry, "the archive ends within it"));
        }
        let used = match self.inflate.take() {
            Some(mut state) => {
                let used = self.inflate(&mut state, entry, packed)?;
                self.inflate = Some(state);
                used
            }
            None => {
                let taken = packed.get(..PIECE_BYTES.min(packed.len())).unwrap_or_default();
                self.take(taken, entry)?;
                self.is_whole = self.left == taken.len() as u64;
                taken.len()
            }
        };
        self.at += used as u64;
        self.left -= used as u64;
        if !self.is_whole {
            return Ok(());
        }
        if self.left > 0 || self.size != entry.size {
            return Err(damaged(entry, "it has fewer bytes than the archive says"));
        }
        match self.checksum.value() == entry.checksum {
            true => Ok(()),
            false => Err(damaged(
                entry,
                "its bytes do not have the checksum that the archive says",
            )),
        }
    }

    /// How many of the bytes were used.
    fn inflate(&mut self, state: &mut InflateState, entry: &Entry, packed: &[u8]) -> Result<usize, Failure> {
        let mut buffer = vec![0; STEP_BYTES];
        let mut used = 0;
        while !self.is_ready() {
            let input = packed.get(used..).unwrap_or_default();
            let result = inflate(state, input, &mut buffer, MZFlush::None);
            used += result.bytes_consumed;
            self.take(buffer.get(..result.bytes_written).unwrap_or_default(), entry)?;
            match result.status {
                Ok(MZStatus::StreamEnd) => self.is_whole = true,
                Ok(_) if result.bytes_consumed + result.bytes_written > 0 => {}
                // All is used, and there is more to come.
                Ok(_) | Err(MZError::Buf) if used == packed.len() && self.left > used as u64 => break,
                _ => return Err(damaged(entry, "it can't be decompressed")),
            }
        }
        Ok(used)
    }

    fn take(&mut self, bytes: &[u8], entry: &Entry) -> Result<(), Failure> {
        self.size += bytes.len() as u64;
        if self.size > entry.size {
            return Err(damaged(entry, "it has more bytes than the archive says"));
        }
        self.checksum.add(bytes);
        self.out.extend_from_slice(bytes);
        Ok(())
    }
}

fn damaged(entry: &Entry, why: &str) -> Failure {
    let message = format!("{:?} can't be unpacked: {why}.", entry.path);
    Failure::new(code::PARSE, message)
}
