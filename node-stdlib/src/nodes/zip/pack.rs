//! The bytes of an archive that is written, file after file. Sizes and checksums come after a file's bytes: nothing is needed twice.

use super::archive::{CENTRAL, END, LOCAL};
use super::checksum::Checksum;
use super::shared::PIECE_BYTES;
use crate::failure::Failure;
use heddle_contract::abi::code;
use heddle_values::date_time::date_of_day;
use miniz_oxide::deflate::CompressionLevel;
use miniz_oxide::deflate::core::CompressorOxide;
use miniz_oxide::deflate::stream::deflate;
use miniz_oxide::{DataFormat, MZFlush, MZStatus};

const LEVEL: CompressionLevel = CompressionLevel::DefaultLevel;
/// What is needed to unpack it (2.0: deflate), and that names are UTF-8 and sizes come after the bytes.
const VERSION: u16 = 20;
const FLAGS: u16 = 1 << 11 | 1 << 3;
const DESCRIPTOR: u32 = 0x0807_4b50;
const STEP_BYTES: usize = 64 << 10;

/// A file while it is packed.
struct Packing {
    path: String,
    /// Bytes that are packed, and what became of them.
    size: u64,
    packed: u64,
    checksum: Checksum,
    compressor: Box<CompressorOxide>,
    /// Where its header is.
    offset: u64,
}

/// An archive that is being written.
pub(in super::super) struct Packer {
    packing: Option<Packing>,
    modified: (u16, u16),
    directory: Vec<u8>,
    count: u16,
    /// What is packed and not written.
    out: Vec<u8>,
    /// Bytes that are written.
    pub written: u64,
    /// Whether the directory is there.
    pub is_whole: bool,
}

impl Packer {
    /// `now_ms`: when its files were modified.
    pub fn new(now_ms: i64) -> Self {
        Packer {
            packing: None,
            modified: dos_time(now_ms),
            directory: Vec::new(),
            count: 0,
            out: Vec::new(),
            written: 0,
            is_whole: false,
        }
    }

    /// The piece that is to be written, once there is enough for one, or at the end.
    pub fn piece(&self) -> Option<&[u8]> {
        let is_ready = self.out.len() >= PIECE_BYTES || (self.is_whole && !self.out.is_empty());
        is_ready.then(|| self.out.get(..PIECE_BYTES).unwrap_or(&self.out))
    }

    /// So many bytes of it are written.
    pub fn forget(&mut self, bytes: usize) -> Result<(), Failure> {
        self.written += bytes as u64;
        self.out.drain(..bytes.min(self.out.len()));
        match self.written > u64::from(u32::MAX) {
            true => Err(too_large()),
            false => Ok(()),
        }
    }

    fn offset(&self) -> u64 {
        self.written + self.out.len() as u64
    }

    /// Begins a file.
    pub fn begin(&mut self, path: String) -> Result<(), Failure> {
        let offset = self.offset();
        if offset > u64::from(u32::MAX) {
            return Err(too_large());
        }
        put(&mut self.out, LOCAL, 4);
        about(&mut self.out, &path, self.modified, (0, 0, 0));
        put(&mut self.out, 0_u16, 2);
        self.out.extend_from_slice(path.as_bytes());
        let compressor = CompressorOxide::with_format_and_level(DataFormat::Raw, LEVEL);
        self.packing = Some(Packing {
            path,
            size: 0,
            packed: 0,
            checksum: Checksum::new(),
            compressor: Box::new(compressor),
            offset,
        });
        Ok(())
    }

    /// Packs bytes of the file that was begun.
    pub fn pack(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.compress(bytes, MZFlush::None)
    }

    fn compress(&mut self, bytes: &[u8], flush: MZFlush) -> Result<(), Failure> {
        let Some(packing) = &mut self.packing else {
            return Ok(());
        };
        packing.checksum.add(bytes);
        packing.size += bytes.len() as u64;
        let mut buffer = vec![0; STEP_BYTES];
        let mut used = 0;
        loop {
            let input = bytes.get(used..).unwrap_or_default();
            let result = deflate(&mut packing.compressor, input, &mut buffer, flush);
            used += result.bytes_consumed;
            packing.packed += result.bytes_written as u64;
            self.out
                .extend_from_slice(buffer.get(..result.bytes_written).unwrap_or_default());
            match result.status {
                Ok(MZStatus::StreamEnd) => return Ok(()),
                _ if flush == MZFlush::None && used == bytes.len() => return Ok(()),
                Ok(_) => {}
                Err(_) => return Err(Failure::new(code::INTERNAL, "The file can't be compressed.")),
            }
        }
    }

    /// Ends the file that was begun, and notes it in the directory.
    pub fn end_file(&mut self) -> Result<(), Failure> {
        self.compress(&[], MZFlush::Finish)?;
        let Some(packing) = self.packing.take() else {
            return Ok(());
        };
        let (Ok(packed), Ok(size)) = (u32::try_from(packing.packed), u32::try_from(packing.size)) else {
            return Err(too_large());
        };
        let checksum = packing.checksum.value();
        for number in [DESCRIPTOR, checksum, packed, size] {
            put(&mut self.out, number, 4);
        }
        let directory = &mut self.directory;
        put(directory, CENTRAL, 4);
        // Made by: the same version, and Unix, where files have rights.
        put(directory, VERSION | 3 << 8, 2);
        about(directory, &packing.path, self.modified, (checksum, packed, size));
        // No extra field, comment, other disk, nor internal attributes.
        put(directory, 0_u64, 8);
        put(directory, 0o100_644_u32 << 16, 4);
        put(directory, packing.offset as u32, 4);
        directory.extend_from_slice(packing.path.as_bytes());
        self.count += 1;
        Ok(())
    }

    /// Packs a file that is in memory.
    pub fn file(&mut self, path: &str, bytes: &[u8]) -> Result<(), Failure> {
        self.begin(path.to_owned())?;
        self.pack(bytes)?;
        self.end_file()
    }

    /// Writes the directory.
    pub fn end(&mut self) {
        let (offset, size) = (self.offset(), self.directory.len());
        self.out.append(&mut self.directory);
        put(&mut self.out, END, 4);
        put(&mut self.out, 0_u32, 4);
        put(&mut self.out, self.count, 2);
        put(&mut self.out, self.count, 2);
        put(&mut self.out, size as u32, 4);
        put(&mut self.out, offset.min(u32::MAX.into()) as u32, 4);
        put(&mut self.out, 0_u16, 2);
        self.is_whole = true;
    }
}

/// Date and time as MS-DOS had them, of a time in UTC.
fn dos_time(ms: i64) -> (u16, u16) {
    let seconds = ms.div_euclid(1_000);
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let (year, month, day) = date_of_day(days as f64);
    let year = (year as i64).clamp(1980, 2107);
    let (month, day) = (month as i64, day as i64);
    let date = (year - 1980) << 9 | month << 5 | day;
    let (hour, minute, two_seconds) = (second / 3_600, second / 60 % 60, second % 60 / 2);
    let time = hour << 11 | minute << 5 | two_seconds;
    (date as u16, time as u16)
}

/// What headers in both places have, up to the length of the name.
fn about(out: &mut Vec<u8>, path: &str, (date, time): (u16, u16), (checksum, packed, size): (u32, u32, u32)) {
    for number in [VERSION, FLAGS, 8, time, date] {
        put(out, number, 2);
    }
    for number in [checksum, packed, size] {
        put(out, number, 4);
    }
    put(out, path.len() as u64, 2);
}

/// Writes a number of so many bytes, the lowest first.
fn put(out: &mut Vec<u8>, number: impl Into<u64>, bytes: usize) {
    out.extend(number.into().to_le_bytes().into_iter().take(bytes));
}

fn too_large() -> Failure {
    Failure::new(
        code::FILE_LIMIT,
        "An archive that is written, and a file in it, has at most 4 GiB.",
    )
}
