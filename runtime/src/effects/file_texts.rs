//! The text of a file as nodes read it in pieces and by lines, for those who test that a file may hold anything.

use super::file::{self, ReadPart};
use super::file_piece;
use super::handles::Owner;
use super::stored_file::{Form, stored};
use crate::files::{FileValue, MemoryFiles};
use heddle_sandbox::EffectError;
use serde_json::Value;

/// Bytes that a text may have.
const TEXT_BYTES_MAX: u64 = 8 << 20;

/// What is read, and how.
#[derive(Clone, Copy, Debug)]
pub struct FileRead<'a> {
    pub content: &'a [u8],
    pub media_type: &'a str,
    /// What the node asks for.
    pub encoding: Option<&'a str>,
    /// Bytes that are read at a time.
    pub piece_bytes: u64,
}

impl FileRead<'_> {
    async fn stored(&self, files: &MemoryFiles) -> Result<FileValue, EffectError> {
        let made = stored(files, self.content.to_vec(), "a.txt", self.media_type).await?;
        serde_json::from_value(made).map_err(|error| EffectError::parameter(error.to_string()))
    }

    /// All of its pieces, in the encoding that the first of them tells.
    pub async fn in_pieces(self) -> Result<String, EffectError> {
        let files = MemoryFiles::default();
        let file = self.stored(&files).await?;
        let mut encoding = self.encoding.map(str::to_owned);
        let (mut text, mut offset) = (String::new(), 0);
        loop {
            let form = (Form::Text, encoding.as_deref());
            let piece = file_piece::piece(&files, &file, offset, self.piece_bytes, form).await?;
            text.push_str(piece["text"].as_str().unwrap_or_default());
            if encoding.is_some() {
                encoding = piece["encoding"].as_str().map(str::to_owned);
            }
            match piece["next"].as_u64() {
                Some(next) => offset = next,
                None => return Ok(text),
            }
        }
    }

    /// All of its lines, as many at a time as there are to their ends.
    pub async fn by_lines(self) -> Result<String, EffectError> {
        let files = MemoryFiles::default();
        let file = self.stored(&files).await?;
        let (mut text, mut offset) = (String::new(), 0);
        loop {
            let part = ReadPart {
                form: Form::Text,
                lines: true,
                encoding: self.encoding,
                offset: Some(offset),
                limit: Some(self.piece_bytes),
            };
            let lines: Value = file::content(&files, &file, part, TEXT_BYTES_MAX, Owner(None)).await?;
            text.push_str(lines["text"].as_str().unwrap_or_default());
            match lines["next"].as_u64() {
                Some(next) => offset = next,
                None => return Ok(text),
            }
        }
    }
}
