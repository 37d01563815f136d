//! Opening an archive: from its end to its directory.

use super::archive::{self, Directory, Entry, LARGE_BYTES, TAIL_BYTES, Tail};
use super::shared::broken;
use super::source::Source;
use crate::failure::Failure;
use heddle_values::Value;

/// An archive that is being opened, and afterwards the bytes of it.
pub(in super::super) struct Opening {
    pub source: Source,
    place: Place,
}

/// What is looked at.
enum Place {
    Tail,
    Large(u64),
    /// The directory, and what of it is there.
    Directory(Directory, Vec<u8>),
}

/// How far it has come.
pub(in super::super) enum Opened {
    /// More of the archive is to be read, from here.
    Read(u64),
    /// It is open: what is in it.
    Entries(Vec<Entry>),
}

impl Opening {
    pub fn new(file: Value) -> Self {
        Opening {
            source: Source::new(file),
            place: Place::Tail,
        }
    }

    pub fn proceed(&mut self) -> Result<Opened, Failure> {
        let Some(size) = self.source.size() else {
            return Ok(Opened::Read(0));
        };
        loop {
            match &mut self.place {
                Place::Tail => {
                    let start = size.saturating_sub(TAIL_BYTES);
                    let Some(bytes) = self.source.at(start, TAIL_BYTES as usize) else {
                        return Ok(Opened::Read(start));
                    };
                    self.place = match archive::tail(bytes, start)? {
                        Tail::Directory(directory) => Place::Directory(directory, Vec::new()),
                        Tail::Large(offset) => Place::Large(offset),
                    };
                }
                Place::Large(offset) => {
                    let offset = *offset;
                    let Some(bytes) = self.source.at(offset, LARGE_BYTES) else {
                        return Ok(Opened::Read(offset));
                    };
                    self.place = Place::Directory(archive::large(bytes, offset)?, Vec::new());
                }
                Place::Directory(directory, there) => {
                    let left = directory.size - there.len() as u64;
                    if left == 0 {
                        return directory.entries(there).map(Opened::Entries);
                    }
                    let offset = directory.offset + there.len() as u64;
                    let Some(bytes) = self.source.at(offset, 1) else {
                        return Ok(Opened::Read(offset));
                    };
                    if bytes.is_empty() {
                        return Err(broken("its directory is cut off"));
                    }
                    let own = usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len());
                    there.extend_from_slice(bytes.get(..own).unwrap_or_default());
                }
            }
        }
    }
}
