//! The bytes of a file that the host has, of which one piece is in memory.

use super::super::file::FILE;
use super::shared::PIECE_BYTES;
use crate::failure::Failure;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use heddle_contract::abi::code;
use heddle_values::{Object, Value};

pub(in super::super) struct Source {
    file: Value,
    /// What the host has said; nothing before the first piece is there.
    size: Option<u64>,
    start: u64,
    piece: Vec<u8>,
}

impl Source {
    pub fn new(file: Value) -> Self {
        Source {
            file,
            size: None,
            start: 0,
            piece: Vec::new(),
        }
    }

    /// Of bytes that are there.
    pub fn of(bytes: Vec<u8>) -> Self {
        Source {
            file: Value::Null,
            size: Some(bytes.len() as u64),
            start: 0,
            piece: bytes,
        }
    }

    pub fn size(&self) -> Option<u64> {
        self.size
    }

    /// What is in memory from an offset on, if that is as much as is wanted, or all that there is.
    pub fn at(&self, offset: u64, wanted: usize) -> Option<&[u8]> {
        if offset >= self.size? {
            return Some(&[]);
        }
        let from = usize::try_from(offset.checked_sub(self.start)?).ok()?;
        let rest = self.piece.get(from..)?;
        let is_all = self.start + self.piece.len() as u64 >= self.size?;
        (is_all || (rest.len() >= wanted && !rest.is_empty())).then_some(rest)
    }

    /// Adds what is in memory to the first bytes of the file, all of which are wanted. `Some`: where those begin that are missing.
    pub fn add_to(&self, bytes: &mut Vec<u8>) -> Option<u64> {
        loop {
            let there = bytes.len() as u64;
            let Some(piece) = self.at(there, 1) else {
                return Some(there);
            };
            if piece.is_empty() {
                return None;
            }
            bytes.extend_from_slice(piece);
        }
    }

    /// Refuses a file, called `what`, of more bytes than are read whole.
    pub fn within(&self, what: &str, bytes_max: u64) -> Result<(), Failure> {
        match self.size {
            Some(size) if size > bytes_max => {
                let most = bytes_max >> 20;
                let message = format!("{what} has {size} bytes: at most {most} MiB are read.");
                Err(Failure::new(code::FILE_LIMIT, message))
            }
            _ => Ok(()),
        }
    }

    /// What the host is asked for, so that there is more from an offset on.
    pub fn request(&self, offset: u64) -> Object {
        Object::from_iter([
            ("operation", Value::from("read")),
            (FILE, self.file.clone()),
            ("as", Value::from("base64")),
            ("offset", Value::Number(offset as f64)),
            ("limit", Value::Number(PIECE_BYTES as f64)),
        ])
    }

    /// Takes what the host has answered.
    pub fn fill(&mut self, offset: u64, answer: &Value) -> Result<(), Failure> {
        let unreadable = || Failure::new(code::INTERNAL, "The piece of the file can't be read.");
        let Value::Object(answer) = answer else {
            return Err(unreadable());
        };
        let (Some(Value::String(encoded)), Some(Value::Number(size))) =
            (answer.get("base64"), answer.get("size"))
        else {
            return Err(unreadable());
        };
        self.piece.clear();
        let decoded = STANDARD.decode_vec(encoded.to_utf8().as_bytes(), &mut self.piece);
        decoded.map_err(|_| unreadable())?;
        (self.size, self.start) = (Some(*size as u64), offset);
        // A file that ends before its size would be asked for without an end.
        match self.piece.is_empty() && offset < *size as u64 {
            true => Err(unreadable()),
            false => Ok(()),
        }
    }
}
