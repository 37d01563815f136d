//! What is in an archive: listed, or unpacked to files.

use super::super::file::FILE;
use super::archive::{Entry, HEADER_BYTES};
use super::open::{Opened, Opening};
use super::path::media_type;
use super::shared::{PIECE, PIECE_BYTES, asked, sink_request};
use super::unpack::Unpacking;
use crate::failure::Failure;
use crate::node::{Context, Emission, NodeResult, Outcome, Stepping};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use heddle_contract::abi::code;
use heddle_values::{Object, Text, Value};

/// What is wanted of an archive.
pub(super) struct Wanted {
    pub only_lists: bool,
    /// The paths of the files that are to be unpacked; `None`: all.
    pub paths: Option<Vec<Text>>,
    /// Bytes of all files together.
    pub bytes_max: u64,
}

pub(super) fn begin(file: Value, wanted: Wanted, context: &dyn Context) -> NodeResult {
    let reading = Reading {
        archive: Opening::new(file),
        wanted,
        is_open: false,
        entries: Vec::new(),
        next: 0,
        unpacking: None,
        made: Vec::new(),
        sink: context.execution_key(),
        doing: Doing::Nothing,
    };
    Box::new(reading).proceed()
}

struct Reading {
    archive: Opening,
    wanted: Wanted,
    /// Whether its directory is read.
    is_open: bool,
    /// Those that are to be unpacked.
    entries: Vec<Entry>,
    next: usize,
    unpacking: Option<Unpacking>,
    made: Vec<Value>,
    sink: String,
    doing: Doing,
}

/// What the host was asked for.
#[derive(Clone, Copy)]
enum Doing {
    Nothing,
    Reading(u64),
    Writing(usize),
    Making,
}

/// What is to be done next.
enum Next {
    /// It went on.
    Again,
    /// More of the archive is to be read, from here.
    Read(u64),
    Write,
    Make,
    Finish,
    End,
}

impl Reading {
    fn proceed(mut self: Box<Self>) -> NodeResult {
        loop {
            let next = match self.is_open {
                true => self.file()?,
                false => match self.archive.proceed()? {
                    Opened::Read(offset) => Next::Read(offset),
                    Opened::Entries(entries) => self.choose(entries)?,
                },
            };
            match next {
                Next::Again => {}
                Next::Read(offset) => {
                    self.doing = Doing::Reading(offset);
                    let request = self.archive.source.request(offset);
                    return asked(PIECE, request, self);
                }
                Next::Write => return self.write(),
                Next::Make => return self.make(),
                Next::Finish => {
                    self.doing = Doing::Making;
                    let request = self.request("finish");
                    return asked(FILE, request, self);
                }
                Next::End => return Ok(Outcome::Emit(Emission::one(0, self.made.into()))),
            }
        }
    }

    /// Lists what there is, or takes what is to be unpacked.
    fn choose(&mut self, entries: Vec<Entry>) -> Result<Next, Failure> {
        self.is_open = true;
        if self.wanted.only_lists {
            self.made = entries.iter().map(listed).collect();
            return Ok(Next::End);
        }
        let paths = self.wanted.paths.as_deref();
        if let Some(missing) = paths.unwrap_or_default().iter().find(|path| {
            let path = path.to_utf8();
            !entries.iter().any(|entry| entry.path == *path)
        }) {
            let message = format!("The archive has no file `{}`.", missing.to_utf8());
            return Err(Failure::new(code::PARAMETER, message));
        }
        let is_wanted = |entry: &Entry| {
            !entry.is_folder()
                && paths.is_none_or(|paths| paths.iter().any(|path| entry.path == *path.to_utf8()))
        };
        self.entries = entries.into_iter().filter(is_wanted).collect();
        let mut bytes = 0_u64;
        for entry in &self.entries {
            entry.check()?;
            bytes = bytes.saturating_add(entry.size);
        }
        if bytes > self.wanted.bytes_max {
            let message = format!(
                "The files of the archive have {bytes} bytes together, but `maxBytes` allows {}.",
                self.wanted.bytes_max
            );
            return Err(Failure::new(code::FILE_LIMIT, message));
        }
        Ok(Next::Again)
    }

    /// Goes on with the file at hand, or begins with the next.
    fn file(&mut self) -> Result<Next, Failure> {
        let Some(entry) = self.entries.get(self.next) else {
            return Ok(Next::End);
        };
        let Some(unpacking) = &mut self.unpacking else {
            let Some(header) = self.archive.source.at(entry.offset, HEADER_BYTES) else {
                return Ok(Next::Read(entry.offset));
            };
            self.unpacking = Some(Unpacking::new(entry, entry.data(header)?));
            return Ok(Next::Again);
        };
        if !unpacking.is_ready() {
            let Some(packed) = self.archive.source.at(unpacking.at, 1) else {
                return Ok(Next::Read(unpacking.at));
            };
            unpacking.feed(entry, packed)?;
            return Ok(Next::Again);
        }
        Ok(match (unpacking.written, unpacking.out.len()) {
            (0, bytes) if unpacking.is_whole && bytes <= PIECE_BYTES => Next::Make,
            (_, 0) => Next::Finish,
            _ => Next::Write,
        })
    }

    /// A file that is in memory whole takes one effect.
    fn make(mut self: Box<Self>) -> NodeResult {
        let mut request = self.request("make");
        let out = self.unpacking.as_ref().map(|unpacking| unpacking.out.as_slice());
        request.insert("base64", Value::from(STANDARD.encode(out.unwrap_or_default())));
        self.doing = Doing::Making;
        asked(FILE, request, self)
    }

    fn write(mut self: Box<Self>) -> NodeResult {
        let out = self.unpacking.as_ref().map(|unpacking| unpacking.out.as_slice());
        let out = out.unwrap_or_default();
        let piece = out.get(..PIECE_BYTES.min(out.len())).unwrap_or_default();
        let bytes = piece.len();
        let encoded = STANDARD.encode(piece);
        let mut request = self.request("write");
        request.insert("base64", Value::from(encoded));
        self.doing = Doing::Writing(bytes);
        asked(PIECE, request, self)
    }

    fn request(&self, operation: &str) -> Object {
        let path = self
            .entries
            .get(self.next)
            .map_or("", |entry| entry.path.as_str());
        let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
        let written = self.unpacking.as_ref().map_or(0, |unpacking| unpacking.written);
        sink_request(operation, &self.sink, written, (name, media_type(path)))
    }
}

impl Stepping for Reading {
    fn resume(mut self: Box<Self>, result: Value, _: &mut dyn Context) -> NodeResult {
        match self.doing {
            Doing::Nothing => {}
            Doing::Reading(offset) => self.archive.source.fill(offset, &result)?,
            Doing::Writing(bytes) => {
                if let Some(unpacking) = &mut self.unpacking {
                    unpacking.written += bytes as u64;
                    unpacking.out.drain(..bytes);
                }
            }
            Doing::Making => {
                let path = self
                    .entries
                    .get(self.next)
                    .map_or("", |entry| entry.path.as_str());
                let file = match result {
                    Value::Object(mut file) => {
                        file.insert("path", Value::from(path));
                        Value::Object(file)
                    }
                    other => other,
                };
                self.made.push(file);
                self.unpacking = None;
                self.next += 1;
            }
        }
        self.proceed()
    }
}

fn listed(entry: &Entry) -> Value {
    Value::Object(Object::from_iter([
        ("path", Value::from(entry.path.as_str())),
        ("isFolder", Value::from(entry.is_folder())),
        ("size", Value::Number(entry.size as f64)),
        ("packedSize", Value::Number(entry.packed as f64)),
        ("modified", Value::from(entry.modified())),
    ]))
}
