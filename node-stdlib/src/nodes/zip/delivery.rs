//! An archive on its way to the host: what is packed of it is written piece by piece, and at the end a file is made of it.

use super::super::file::FILE;
use super::pack::Packer;
use super::shared::{PIECE, sink_request};
use crate::failure::Failure;
use crate::node::Context;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use heddle_values::{Object, Value};

pub(in super::super) struct Delivery {
    pub packer: Packer,
    name: String,
    media_type: &'static str,
    sink: String,
    /// Bytes of the piece that the host was asked to write; `None`: it was asked for the file.
    writing: Option<usize>,
}

impl Delivery {
    /// `name`: the file's.
    pub fn new(name: String, media_type: &'static str, context: &mut dyn Context) -> Self {
        Delivery {
            packer: Packer::new(context.now_ms()),
            name,
            media_type,
            sink: context.execution_key(),
            writing: None,
        }
    }

    /// The effect that is next, with its request. `None`: more has to be packed first.
    pub fn request(&mut self) -> Option<(&'static str, Object)> {
        let piece = self.packer.piece();
        if piece.is_none() && !self.packer.is_whole {
            return None;
        }
        self.writing = piece.map(<[u8]>::len);
        let named = (self.name.as_str(), self.media_type);
        let request = |operation| sink_request(operation, &self.sink, self.packer.written, named);
        Some(match piece {
            Some(piece) => {
                let mut request = request("write");
                request.insert("base64", Value::from(STANDARD.encode(piece)));
                (PIECE, request)
            }
            None => (FILE, request("finish")),
        })
    }

    /// Takes the result of what was asked for: the file, if it was that.
    pub fn taken(&mut self, result: Value) -> Result<Option<Value>, Failure> {
        match self.writing {
            Some(bytes) => self.packer.forget(bytes).map(|()| None),
            None => Ok(Some(result)),
        }
    }
}
