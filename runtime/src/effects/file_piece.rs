//! `file-piece`: the next piece of a file that a node reads or writes bit by bit.
//!
//! Request: `{operation: "read", file, offset, encoding?}` gives `{text, next?, encoding}`, text up to the end of a character, and where
//! the next piece begins if there is one. `encoding` is a label, or `auto` for what the file says of itself; pieces after the first
//! one are asked for with what came with that, since only the file's beginning has a byte order mark. With `as: "base64"` and a
//! `limit`, `{base64, size}`: any bytes, and how many the file has.
//! `{operation: "write", sink, at, name, type, text | base64}` appends to what the node calls `sink`, of which it
//! has written `at` bytes; from 0 it begins anew. The effect `file` makes a file of it.
//!
//! Results are not kept: files don't change, and a node that goes on after a crash writes the same once more, unless the journal
//! has what came of it.

use super::charset::Charset;
use super::effect::Effect;
use super::progress::EffectResult;
use super::requests::read;
use super::sinks::{OpenSinks, Place, whole};
use super::stored_file::{Form, failed, masked};
use crate::files::{FileValue, Files};
use crate::secrets::Vault;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use futures_util::StreamExt;
use heddle_sandbox::{EffectCode, EffectError};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;

/// Bytes that are read at once.
const PIECE_BYTES: u64 = 1 << 20;

/// Reads and writes pieces of files.
pub struct FilePiece;

#[derive(Deserialize)]
#[serde(tag = "operation", rename_all = "lowercase")]
enum Request {
    Read {
        file: FileValue,
        offset: f64,
        limit: Option<f64>,
        #[serde(rename = "as", default)]
        form: Form,
        encoding: Option<String>,
    },
    Write {
        #[serde(flatten)]
        place: Place,
        text: Option<String>,
        base64: Option<String>,
    },
}

impl Effect for FilePiece {
    const KIND: &'static str = "file-piece";

    const IS_DONE_AGAIN: bool = true;

    type Needs = (Arc<dyn Files>, OpenSinks);
    type Output = Value;

    fn start(
        &self,
        request: Value,
        needs: Self::Needs,
    ) -> impl Future<Output = Result<Value, EffectError>> + Send + 'static {
        read_or_write(request, needs)
    }

    fn only_writes(&self, request: &str) -> bool {
        #[derive(Deserialize)]
        struct Asked {
            operation: String,
        }
        serde_json::from_str::<Asked>(request).is_ok_and(|asked| asked.operation == "write")
    }

    fn masked(&self, result: Value, vault: &Vault) -> Value {
        masked(result, vault)
    }

    fn is_repeatable(&self) -> bool {
        true
    }
}

async fn read_or_write(request: Value, (files, sinks): <FilePiece as Effect>::Needs) -> EffectResult {
    match read(request)? {
        Request::Read {
            file,
            offset,
            limit,
            form,
            encoding,
        } => {
            let limit = limit.map_or(PIECE_BYTES, whole).min(PIECE_BYTES);
            let form = (form, encoding.as_deref());
            piece(&*files, &file, whole(offset), limit, form).await
        }
        Request::Write { place, text, base64 } => {
            let bytes = match (text, base64) {
                (Some(text), None) => text.into_bytes(),
                (None, Some(base64)) => STANDARD
                    .decode(base64)
                    .map_err(|error| EffectError::parameter(error.to_string()))?,
                _ => return Err(EffectError::parameter("Give either `text` or `base64`.")),
            };
            sinks.write(&*files, place, Bytes::from(bytes)).await?;
            Ok(Value::Null)
        }
    }
}

pub(super) async fn piece(
    files: &dyn Files,
    file: &FileValue,
    offset: u64,
    limit: u64,
    (form, encoding): (Form, Option<&str>),
) -> EffectResult {
    let part = offset..offset.saturating_add(limit);
    let mut opened = files
        .open(&file.id, Some(part))
        .await
        .map_err(|failure| failed(&failure))?;
    let mut bytes = Vec::new();
    while let Some(piece) = opened.content.next().await {
        bytes.extend_from_slice(&piece.map_err(|failure| failed(&failure))?);
    }
    if form == Form::Base64 {
        return Ok(json!({ "base64": STANDARD.encode(&bytes), "size": opened.value.size }));
    }
    let types = [file.media_type.as_str(), opened.value.media_type.as_str()];
    let beginning = (offset == 0).then_some(bytes.as_slice());
    let charset = Charset::of(encoding, types, beginning)?;
    let count = bytes.len();
    let is_last = offset.saturating_add(count as u64) >= opened.value.size;
    let broken = |at: usize| {
        let message = format!(
            "The file is not text in {} (at byte {}): set `encoding` to the one that it has, such as windows-1252. Records \
             are read from text only.",
            charset.name(),
            offset.saturating_add(at as u64)
        );
        EffectError::new(EffectCode::Parse, message)
    };
    let (text, taken) = charset.decode(bytes).map_err(broken)?;
    // The next piece begins with the character that this one cuts; after the last one, or a whole piece, there is none.
    if taken < count && (is_last || taken == 0) {
        return Err(broken(taken));
    }
    let next = (!is_last).then(|| offset.saturating_add(taken as u64));
    Ok(json!({ "text": text, "next": next, "encoding": charset.name() }))
}

#[cfg(test)]
mod tests {
    use super::super::file_texts::FileRead;
    use super::*;

    #[test]
    fn reading_is_not_writing() {
        assert!(FilePiece.only_writes(r#"{"operation": "write", "sink": "a", "text": "read"}"#));
        assert!(!FilePiece.only_writes(r#"{"operation": "read", "offset": 0}"#));
        assert!(!FilePiece.only_writes("write"));
    }

    /// What is read of a file in pieces of so many bytes, as the node asks for them, or why not.
    async fn text(content: &[u8], media_type: &str, encoding: Option<&str>, piece_bytes: u64) -> String {
        let read = FileRead {
            content,
            media_type,
            encoding,
            piece_bytes,
        };
        read.in_pieces().await.unwrap_or_else(|error| error.to_string())
    }

    #[tokio::test]
    async fn a_text_in_another_encoding_is_the_same_in_pieces() {
        let latin = b"name;gr\xfc\xdfe;\x80\n";
        let units: Vec<u8> = "\u{feff}name;grüße;𝄞\n"
            .encode_utf16()
            .flat_map(u16::to_be_bytes)
            .collect();
        for limit in [4, 5, 7, 1_000] {
            let declared = text(latin, "text/csv; charset=iso-8859-1", Some("auto"), limit).await;
            assert_eq!(declared, "name;grüße;€\n", "{limit}");
            let asked = text(latin, "text/csv", Some("windows-1252"), limit).await;
            assert_eq!(asked, declared, "{limit}");
            let marked = text(&units, "text/csv", Some("auto"), limit).await;
            assert_eq!(marked, "\u{feff}name;grüße;𝄞\n", "{limit}");
            // As before, from what was compiled before there was a choice.
            let refused = text(latin, "text/csv; charset=iso-8859-1", None, limit).await;
            assert!(
                refused.starts_with("PARSE: The file is not text in UTF-8 (at byte 7)"),
                "{refused}"
            );
        }
        let cut = text(
            "für €".as_bytes().split_last().unwrap().1,
            "text/csv",
            Some("auto"),
            5,
        )
        .await;
        assert!(cut.contains("(at byte 5)"), "{cut}");
    }
}
