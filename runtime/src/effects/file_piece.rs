//! `file-piece`: the next piece of a file that a node reads or writes bit by bit.
//!
//! Request: `{operation: "read", file, offset}` gives `{text, next?}`, UTF-8 up to the end of a character, and where the next piece
//! begins if there is one; with `as: "base64"` and a `limit`, `{base64, size}`, any bytes, and how many the file has.
//! `{operation: "write", sink, at, name, type, text | base64}` appends to what the node calls `sink`, of which it
//! has written `at` bytes; from 0 it begins anew. The effect `file` makes a file of it.
//!
//! Results are not kept: files don't change, and a node that goes on after a crash writes the same once more, unless the journal
//! has what came of it.

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
        } => {
            let limit = limit.map_or(PIECE_BYTES, whole).min(PIECE_BYTES);
            piece(&*files, &file.id, whole(offset), (limit, form)).await
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

async fn piece(files: &dyn Files, id: &str, offset: u64, (limit, form): (u64, Form)) -> EffectResult {
    let part = offset..offset.saturating_add(limit);
    let mut opened = files
        .open(id, Some(part))
        .await
        .map_err(|failure| failed(&failure))?;
    let mut bytes = Vec::new();
    while let Some(piece) = opened.content.next().await {
        bytes.extend_from_slice(&piece.map_err(|failure| failed(&failure))?);
    }
    if form == Form::Base64 {
        return Ok(json!({ "base64": STANDARD.encode(&bytes), "size": opened.value.size }));
    }
    let is_last = offset.saturating_add(bytes.len() as u64) >= opened.value.size;
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let (end, is_cut) = (
                error.utf8_error().valid_up_to(),
                error.utf8_error().error_len().is_none(),
            );
            // The next piece begins with the character that this one cuts.
            if is_last || !is_cut || end == 0 {
                let message = format!(
                    "The file is not UTF-8 text (at byte {}): records are read from text only.",
                    offset.saturating_add(end as u64)
                );
                return Err(EffectError::new(EffectCode::Parse, message));
            }
            let mut bytes = error.into_bytes();
            bytes.truncate(end);
            String::from_utf8(bytes).unwrap_or_default()
        }
    };
    let next = (!is_last).then(|| offset.saturating_add(text.len() as u64));
    Ok(json!({ "text": text, "next": next }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_is_not_writing() {
        assert!(FilePiece.only_writes(r#"{"operation": "write", "sink": "a", "text": "read"}"#));
        assert!(!FilePiece.only_writes(r#"{"operation": "read", "offset": 0}"#));
        assert!(!FilePiece.only_writes("write"));
    }
}
