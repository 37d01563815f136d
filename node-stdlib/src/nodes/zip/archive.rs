//! The structures of an archive (PKWARE's APPNOTE 6.3), as far as they say where its files are.

use super::path::{checked, decoded};
use super::shared::{ENTRIES_MAX, broken};
use crate::failure::Failure;
use heddle_contract::abi::code;

/// As much at the end of an archive may have to be looked at: its last record, a comment, and what says where the record of large
/// archives is.
pub(super) const TAIL_BYTES: u64 = 22 + 65_535 + 20;
/// Bytes of the record of large archives that are looked at.
pub(super) const LARGE_BYTES: usize = 56;
/// Bytes of a file's header that are always there.
pub(in super::super) const HEADER_BYTES: usize = 30;
/// Bytes of the directory.
const DIRECTORY_BYTES_MAX: u64 = 8 << 20;

pub(super) const LOCAL: u32 = 0x0403_4b50;
pub(super) const CENTRAL: u32 = 0x0201_4b50;
pub(super) const END: u32 = 0x0605_4b50;
const LARGE_END: u32 = 0x0606_4b50;
const LARGE_PLACE: u32 = 0x0706_4b50;

/// Where the directory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Directory {
    pub offset: u64,
    pub size: u64,
    count: u64,
}

/// What the end of an archive says.
pub(super) enum Tail {
    Directory(Directory),
    /// There is a record for large archives at this offset.
    Large(u64),
}

/// A file or folder in an archive.
#[derive(Clone, Debug)]
pub(in super::super) struct Entry {
    pub path: String,
    pub method: u16,
    pub checksum: u32,
    /// Bytes in the archive, and of the file.
    pub packed: u64,
    pub size: u64,
    /// Where its header is.
    pub offset: u64,
    /// Date and time as MS-DOS had them.
    pub modified: (u16, u16),
    is_encrypted: bool,
    name_bytes: usize,
    /// Where the next header or the directory begins.
    end: u64,
}

impl Entry {
    pub fn is_folder(&self) -> bool {
        self.path.ends_with('/')
    }

    /// Whether it can be unpacked here.
    pub fn check(&self) -> Result<(), Failure> {
        let refused = |why: String| {
            let message = format!("{:?} can't be unpacked: {why}.", self.path);
            Err(Failure::new(code::PARSE, message))
        };
        if self.is_encrypted {
            return refused("it is encrypted".to_owned());
        }
        match self.method {
            0 if self.packed != self.size => refused("its sizes contradict each other".to_owned()),
            0 | 8 => Ok(()),
            other => refused(format!(
                "it is compressed by method {other}, and only deflate (8) is known"
            )),
        }
    }

    /// Where its bytes begin, by the header that is at its offset.
    pub fn data(&self, header: &[u8]) -> Result<u64, Failure> {
        let mut reader = Reader(header);
        let mut read = || {
            let signature = reader.u32()?;
            reader.take(22)?;
            Some((signature, u64::from(reader.u16()?), u64::from(reader.u16()?)))
        };
        match read() {
            Some((LOCAL, name, extra)) => {
                // The lengths in the header itself may be others than those in the directory.
                let start = self.offset + HEADER_BYTES as u64 + name + extra;
                match start.saturating_add(self.packed) <= self.end {
                    true => Ok(start),
                    false => Err(self.overlaps()),
                }
            }
            _ => Err(broken(format!("{:?} is not where the directory says", self.path))),
        }
    }

    fn overlaps(&self) -> Failure {
        broken(format!("{:?} overlaps what comes after it", self.path))
    }

    /// `2026-11-26T04:30:12`, without a time zone, which archives do not have.
    pub fn modified(&self) -> String {
        let (date, time) = self.modified;
        format!(
            "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}",
            1980 + (date >> 9),
            date >> 5 & 15,
            date & 31,
            time >> 11,
            time >> 5 & 63,
            (time & 31) * 2
        )
    }
}

/// Reads numbers, the lowest byte first.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self, bytes: usize) -> Option<u64> {
        let taken = self.take(bytes)?;
        Some(
            taken
                .iter()
                .rev()
                .fold(0, |number, byte| number << 8 | u64::from(*byte)),
        )
    }

    fn u16(&mut self) -> Option<u16> {
        self.number(2).map(|number| number as u16)
    }

    fn u32(&mut self) -> Option<u32> {
        self.number(4).map(|number| number as u32)
    }

    fn u64(&mut self) -> Option<u64> {
        self.number(8)
    }
}

/// Finds the last record in an archive's end, which begins at `start`.
pub(super) fn tail(bytes: &[u8], start: u64) -> Result<Tail, Failure> {
    let ends = |at: usize| {
        let mut reader = Reader(bytes.get(at..)?);
        (reader.u32()? == END).then_some(())?;
        reader.take(6)?;
        let (count, size, offset) = (reader.u16()?, reader.u32()?, reader.u32()?);
        // The comment is the rest, so that nothing in it is taken for the record.
        (usize::from(reader.u16()?) == reader.0.len()).then_some((at, count, size, offset))
    };
    let last = bytes.len().saturating_sub(22);
    let found = (0..=last).rev().find_map(ends);
    let Some((at, count, size, offset)) = found else {
        return Err(broken("it has no directory"));
    };
    if count != u16::MAX && size != u32::MAX && offset != u32::MAX {
        let directory = Directory {
            offset: offset.into(),
            size: size.into(),
            count: count.into(),
        };
        return directory.checked(start + at as u64).map(Tail::Directory);
    }
    let large = || {
        let mut reader = Reader(bytes.get(at.checked_sub(20)?..at)?);
        (reader.u32()? == LARGE_PLACE).then_some(())?;
        reader.take(4)?;
        reader.u64()
    };
    let place = large().filter(|place| *place < start + at as u64);
    place
        .map(Tail::Large)
        .ok_or_else(|| broken("it has no directory"))
}

/// Reads the record of large archives, which is at `start`.
pub(super) fn large(bytes: &[u8], start: u64) -> Result<Directory, Failure> {
    let mut reader = Reader(bytes);
    let mut read = || {
        (reader.u32()? == LARGE_END).then_some(())?;
        reader.take(28)?;
        let (count, size, offset) = (reader.u64()?, reader.u64()?, reader.u64()?);
        Some(Directory { offset, size, count })
    };
    let directory = read().ok_or_else(|| broken("it has no directory"))?;
    directory.checked(start)
}

impl Directory {
    /// `end`: where the record is that says so.
    fn checked(self, end: u64) -> Result<Self, Failure> {
        if self.count > ENTRIES_MAX as u64 || self.size > DIRECTORY_BYTES_MAX {
            let message = format!(
                "The archive has {} entries, whose names and the like take {} bytes: at most {ENTRIES_MAX} and {DIRECTORY_BYTES_MAX} are read.",
                self.count, self.size
            );
            return Err(Failure::new(code::FILE_LIMIT, message));
        }
        match self.offset.checked_add(self.size) {
            Some(own) if own <= end => Ok(self),
            _ => Err(broken("its directory is not where it says")),
        }
    }

    /// Reads the directory.
    pub fn entries(self, bytes: &[u8]) -> Result<Vec<Entry>, Failure> {
        let mut reader = Reader(bytes);
        let mut entries = Vec::new();
        for _ in 0..self.count {
            entries.push(entry(&mut reader)?);
        }
        self.apart(&mut entries)?;
        Ok(entries)
    }

    /// Files that share bytes of the archive are how a small one becomes larger than any (Fifield, WOOT 2019).
    fn apart(self, entries: &mut [Entry]) -> Result<(), Failure> {
        let mut places: Vec<&mut Entry> = entries.iter_mut().collect();
        places.sort_by_key(|entry| entry.offset);
        let mut end = self.offset;
        for entry in places.into_iter().rev() {
            let least = (HEADER_BYTES + entry.name_bytes) as u64;
            let own = entry.offset.saturating_add(least).saturating_add(entry.packed);
            if own > end {
                return Err(entry.overlaps());
            }
            entry.end = end;
            end = entry.offset;
        }
        Ok(())
    }
}

fn entry(reader: &mut Reader<'_>) -> Result<Entry, Failure> {
    let cut = || broken("its directory is cut off");
    let mut fields = || {
        (reader.u32()? == CENTRAL).then_some(())?;
        reader.take(4)?;
        let (flags, method, time, date) = (reader.u16()?, reader.u16()?, reader.u16()?, reader.u16()?);
        let (checksum, packed, size) = (reader.u32()?, reader.u32()?, reader.u32()?);
        let (name, extra, comment) = (reader.u16()?, reader.u16()?, reader.u16()?);
        reader.take(8)?;
        let offset = reader.u32()?;
        let (name, extra) = (reader.take(name.into())?, reader.take(extra.into())?);
        reader.take(comment.into())?;
        let entry = Entry {
            path: String::new(),
            method,
            checksum,
            packed: packed.into(),
            size: size.into(),
            offset: offset.into(),
            modified: (date, time),
            is_encrypted: flags & 1 == 1,
            name_bytes: name.len(),
            end: 0,
        };
        Some((entry, name, extra))
    };
    let (mut entry, name, extra) = fields().ok_or_else(cut)?;
    entry.path = checked(&decoded(name))?;
    large_sizes(&mut entry, extra).ok_or_else(cut)?;
    Ok(entry)
}

/// Numbers that have no room in an entry itself are in a field after it.
fn large_sizes(entry: &mut Entry, extra: &[u8]) -> Option<()> {
    let small = u64::from(u32::MAX);
    if entry.size != small && entry.packed != small && entry.offset != small {
        return Some(());
    }
    let mut extra = Reader(extra);
    loop {
        let (id, length) = (extra.u16()?, extra.u16()?);
        let mut field = Reader(extra.take(length.into())?);
        if id != 1 {
            continue;
        }
        for number in [&mut entry.size, &mut entry.packed, &mut entry.offset] {
            if *number == small {
                *number = field.u64()?;
            }
        }
        return Some(());
    }
}
