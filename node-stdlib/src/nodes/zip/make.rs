//! An archive of files, of which sizes and checksums come after their bytes: nothing is read twice.

use super::super::file::{FILE, file_value, is_file};
use super::super::parameters::{mismatch, text};
use super::archive::{CENTRAL, END, LOCAL};
use super::checksum::Checksum;
use super::path::checked;
use super::shared::{ENTRIES_MAX, PIECE, PIECE_BYTES, asked, sink_request};
use super::source::Source;
use crate::failure::Failure;
use crate::node::{Context, Emission, NodeResult, Outcome, Stepping};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use heddle_contract::abi::code;
use heddle_values::Value;
use miniz_oxide::deflate::CompressionLevel;
use miniz_oxide::deflate::core::CompressorOxide;
use miniz_oxide::deflate::stream::deflate;
use miniz_oxide::{DataFormat, MZFlush, MZStatus};
use std::collections::BTreeSet;
use std::collections::VecDeque;

const MEDIA_TYPE: &str = "application/zip";
const LEVEL: CompressionLevel = CompressionLevel::DefaultLevel;
/// What is needed to unpack it (2.0: deflate), and that names are UTF-8 and sizes come after the bytes.
const VERSION: u16 = 20;
const FLAGS: u16 = 1 << 11 | 1 << 3;
const DESCRIPTOR: u32 = 0x0807_4b50;
const STEP_BYTES: usize = 64 << 10;

/// `files`: a list of files, and of objects with `path` and `content`.
pub(super) fn begin(files: &Value, name: String, context: &mut dyn Context) -> NodeResult {
    let list = match files {
        Value::Array(list) => list.iter().cloned().collect(),
        Value::Object(_) => vec![files.clone()],
        other => return Err(mismatch("files", "a list of files", other)),
    };
    if list.len() > ENTRIES_MAX {
        let message = format!(
            "An archive has at most {ENTRIES_MAX} files, but there are {}.",
            list.len()
        );
        return Err(Failure::new(code::FILE_LIMIT, message));
    }
    let mut paths = BTreeSet::new();
    let mut items = VecDeque::new();
    for (index, value) in list.iter().enumerate() {
        items.push_back(item(index, value, &mut paths)?);
    }
    let making = Making {
        items,
        packing: None,
        modified: dos_time(context.now_ms()),
        directory: Vec::new(),
        count: 0,
        out: Vec::new(),
        written: 0,
        is_whole: false,
        name,
        sink: context.execution_key(),
        doing: Doing::Nothing,
    };
    Box::new(making).proceed()
}

struct Item {
    path: String,
    source: Source,
}

/// A file has the path that it had in another archive, or else its name; a second one of a name gets a number.
fn item(index: usize, value: &Value, paths: &mut BTreeSet<String>) -> Result<Item, Failure> {
    let parameter = format!("files[{index}]");
    let takes = "a file, or {path, content}";
    let Value::Object(object) = value else {
        return Err(mismatch(&parameter, takes, value));
    };
    let named = text(object, "path")?;
    let source = match object.get("content") {
        _ if is_file(object) => Source::new(file_value(&parameter, value)?.0),
        Some(Value::String(content)) => Source::of(content.to_utf8().into_owned().into_bytes()),
        Some(content) => Source::of(content.to_json().into_bytes()),
        None => return Err(mismatch(&parameter, takes, value)),
    };
    let path = match named {
        Some(path) => path,
        None => text(object, "name")?.ok_or_else(|| mismatch(&parameter, takes, value))?,
    };
    let path = checked(&path)?;
    let (stem, ending) = match path.rsplit_once('.') {
        Some((stem, ending)) if !stem.is_empty() && !ending.contains('/') => (stem, format!(".{ending}")),
        _ => (path.as_str(), String::new()),
    };
    let mut free = path.clone();
    let mut number = 1;
    while !paths.insert(free.clone()) {
        number += 1;
        free = format!("{stem} ({number}){ending}");
    }
    Ok(Item { path: free, source })
}

/// Date and time as MS-DOS had them, of a time in UTC.
fn dos_time(ms: i64) -> (u16, u16) {
    let seconds = ms.div_euclid(1_000);
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    // Civil from days (Hinnant, 2013), for which the year begins in March.
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 {
        (month + 3, 0)
    } else {
        (month - 9, 1)
    };
    let year = (year + era * 400 + next).clamp(1980, 2107);
    let date = (year - 1980) << 9 | month << 5 | day;
    let (hour, minute, two_seconds) = (second / 3_600, second / 60 % 60, second % 60 / 2);
    let time = hour << 11 | minute << 5 | two_seconds;
    (date as u16, time as u16)
}

/// A file while it is packed.
struct Packing {
    path: String,
    source: Source,
    /// Bytes that are packed, and what became of them.
    at: u64,
    packed: u64,
    checksum: Checksum,
    compressor: Box<CompressorOxide>,
    /// Where its header is.
    offset: u64,
}

struct Making {
    items: VecDeque<Item>,
    packing: Option<Packing>,
    modified: (u16, u16),
    directory: Vec<u8>,
    count: u16,
    /// What is packed and not written.
    out: Vec<u8>,
    written: u64,
    /// Whether the directory is written.
    is_whole: bool,
    name: String,
    sink: String,
    doing: Doing,
}

/// What the host was asked for.
#[derive(Clone, Copy)]
enum Doing {
    Nothing,
    Reading(u64),
    Writing(usize),
    Finishing,
}

impl Making {
    fn proceed(mut self: Box<Self>) -> NodeResult {
        loop {
            if self.out.len() >= PIECE_BYTES || (self.is_whole && !self.out.is_empty()) {
                return self.write();
            }
            if self.is_whole {
                let request = sink_request("finish", &self.sink, self.written, (&self.name, MEDIA_TYPE));
                self.doing = Doing::Finishing;
                return asked(FILE, request, self);
            }
            match &self.packing {
                Some(packing) => {
                    let at = packing.at;
                    if packing.source.size().is_none() || packing.source.at(at, 1).is_none() {
                        let request = packing.source.request(at);
                        self.doing = Doing::Reading(at);
                        return asked(PIECE, request, self);
                    }
                    self.pack()?;
                }
                None => match self.items.pop_front() {
                    Some(item) => self.header(item)?,
                    None => self.end(),
                },
            }
        }
    }

    fn offset(&self) -> u64 {
        self.written + self.out.len() as u64
    }

    fn header(&mut self, Item { path, source }: Item) -> Result<(), Failure> {
        let offset = self.offset();
        if offset > u64::from(u32::MAX) {
            return Err(too_large());
        }
        put(&mut self.out, LOCAL, 4);
        self.about(&path, (0, 0, 0));
        put(&mut self.out, 0_u16, 2);
        self.out.extend_from_slice(path.as_bytes());
        let compressor = CompressorOxide::with_format_and_level(DataFormat::Raw, LEVEL);
        self.packing = Some(Packing {
            path,
            source,
            at: 0,
            packed: 0,
            checksum: Checksum::new(),
            compressor: Box::new(compressor),
            offset,
        });
        Ok(())
    }

    /// What headers in both places have, up to the length of the name.
    fn about(&mut self, path: &str, sizes: (u32, u32, u32)) {
        about(&mut self.out, path, self.modified, sizes);
    }

    /// Packs what is there of the file at hand.
    fn pack(&mut self) -> Result<(), Failure> {
        let Some(mut packing) = self.packing.take() else {
            return Ok(());
        };
        let bytes = packing.source.at(packing.at, 1).unwrap_or_default();
        let flush = if bytes.is_empty() {
            MZFlush::Finish
        } else {
            MZFlush::None
        };
        packing.checksum.add(bytes);
        let mut buffer = vec![0; STEP_BYTES];
        let mut used = 0;
        let is_whole = loop {
            let input = bytes.get(used..).unwrap_or_default();
            let result = deflate(&mut packing.compressor, input, &mut buffer, flush);
            used += result.bytes_consumed;
            packing.packed += result.bytes_written as u64;
            self.out
                .extend_from_slice(buffer.get(..result.bytes_written).unwrap_or_default());
            match result.status {
                Ok(MZStatus::StreamEnd) => break true,
                _ if flush == MZFlush::None && used == bytes.len() => break false,
                Ok(_) => {}
                Err(_) => return Err(Failure::new(code::INTERNAL, "The file can't be compressed.")),
            }
        };
        packing.at += used as u64;
        match is_whole {
            true => self.descriptor(&packing),
            false => {
                self.packing = Some(packing);
                Ok(())
            }
        }
    }

    /// Ends a file, and notes it in the directory.
    fn descriptor(&mut self, packing: &Packing) -> Result<(), Failure> {
        let (Ok(packed), Ok(size)) = (u32::try_from(packing.packed), u32::try_from(packing.at)) else {
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

    /// Writes the directory.
    fn end(&mut self) {
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

    fn write(mut self: Box<Self>) -> NodeResult {
        let piece = self
            .out
            .get(..PIECE_BYTES.min(self.out.len()))
            .unwrap_or_default();
        let mut request = sink_request("write", &self.sink, self.written, (&self.name, MEDIA_TYPE));
        request.insert("base64", Value::from(STANDARD.encode(piece)));
        self.doing = Doing::Writing(piece.len());
        asked(PIECE, request, self)
    }
}

impl Stepping for Making {
    fn resume(mut self: Box<Self>, result: Value, _: &mut dyn Context) -> NodeResult {
        match self.doing {
            Doing::Nothing => {}
            Doing::Reading(offset) => {
                if let Some(packing) = &mut self.packing {
                    packing.source.fill(offset, &result)?;
                }
            }
            Doing::Writing(bytes) => {
                self.written += bytes as u64;
                self.out.drain(..bytes);
                if self.written > u64::from(u32::MAX) {
                    return Err(too_large());
                }
            }
            Doing::Finishing => return Ok(Outcome::Emit(Emission::one(0, result))),
        }
        self.proceed()
    }
}

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
