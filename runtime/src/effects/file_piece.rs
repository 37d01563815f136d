//! `file-piece`: the next piece of a file that a node reads or writes bit by bit.
//!
//! Request: `{operation: "read", file, offset}` gives `{text, next?}`, UTF-8 up to the end of a character, and where the next piece
//! begins if there is one; with `as: "base64"` and a `limit`, `{base64, size}`, any bytes, and how many the file has.
//! `{operation: "write", sink, at, name, type, text | base64}` appends to what the node calls `sink`, of which it
//! has written `at` bytes; from 0 it begins anew. The effect `file` makes a file of it.
//!
//! Results are not kept: files don't change, and a node that goes on after a crash writes the same once more.

use super::effect::Effect;
use super::file::{Form, failed};
use super::progress::EffectResult;
use super::requests::read;
use crate::files::{FileSink, FileValue, Files};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use futures_util::StreamExt;
use heddle_sandbox::{EffectCode, EffectError};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes that are read at once.
const PIECE_BYTES: u64 = 1 << 20;
/// Files that a run writes at a time: each holds a part of a file in the service's memory.
const SINKS_MAX: usize = 8;

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

/// Where a node is in a file that it writes.
#[derive(Deserialize)]
pub(super) struct Place {
    sink: String,
    at: f64,
    name: String,
    #[serde(rename = "type")]
    media_type: String,
}

/// The files that a run is writing. Dropping it gives them up.
#[derive(Clone, Default)]
pub struct OpenSinks(Arc<Mutex<HashMap<String, Open>>>);

struct Open {
    sink: Box<dyn FileSink>,
    written: u64,
}

impl fmt::Debug for OpenSinks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OpenSinks")
    }
}

impl OpenSinks {
    fn open(&self) -> MutexGuard<'_, HashMap<String, Open>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes out what is written at this place, or begins it.
    async fn at(&self, files: &dyn Files, place: &Place) -> Result<Open, EffectError> {
        let found = self.open().remove(&place.sink);
        let at = whole(place.at);
        if at > 0 {
            let found = found.filter(|open| open.written == at);
            return found.ok_or_else(|| {
                let message = "The file that the node was writing is gone: the node has to begin again.";
                EffectError::new(EffectCode::Unavailable, message)
            });
        }
        // What an attempt before has left is given up first.
        drop(found);
        if self.open().len() >= SINKS_MAX {
            let message = format!("A run writes at most {SINKS_MAX} files at a time.");
            return Err(EffectError::new(EffectCode::FileLimit, message));
        }
        let sink = files.create(&place.name, &place.media_type).await;
        Ok(Open {
            sink: sink.map_err(|failure| failed(&failure))?,
            written: 0,
        })
    }

    /// Drops what is written: the run has the file that a former execution has made of it.
    pub(super) fn give_up(&self, place: &Place) {
        self.open().remove(&place.sink);
    }

    /// Makes a file of what is written.
    pub(super) async fn finish(&self, files: &dyn Files, place: &Place) -> Result<FileValue, EffectError> {
        let open = self.at(files, place).await?;
        let made = open.sink.finish().await;
        made.map_err(|failure| failed(&failure))
    }
}

fn whole(number: f64) -> u64 {
    number.clamp(0.0, 1e15) as u64
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
            let mut open = sinks.at(&*files, &place).await?;
            open.written += bytes.len() as u64;
            let written = open.sink.write(Bytes::from(bytes)).await;
            written.map_err(|failure| failed(&failure))?;
            sinks.open().insert(place.sink, open);
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
