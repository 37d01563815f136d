//! `file`: reads a part of a file into the run, or makes a file of what the run has.
//!
//! Request: `{operation: "read", file, as: "text" | "base64", offset?, limit?}` gives `{text | base64, size}`; text with `lines: true`
//! ends with a line, and `next` is where the next one begins, null at the file's end. Or `{operation: "make", text | base64, name,
//! type}` gives the file. JSON is read and written by the node. `{operation: "finish", sink, at, name, type}` makes a file of what was
//! written with [`super::FilePiece`].

use super::effect::Effect;
use super::handles::Bounds;
use super::progress::EffectResult;
use super::requests::read;
use super::sinks::{OpenSinks, Place};
use super::stored_file::{Form, failed, masked, shown, stored};
use crate::files::{FileValue, Files};
use crate::secrets::Vault;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::StreamExt;
use heddle_sandbox::{EffectCode, EffectError};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;

/// Reads and makes files.
pub struct File;

#[derive(Deserialize)]
#[serde(tag = "operation", rename_all = "lowercase")]
enum Request {
    Read {
        file: FileValue,
        #[serde(rename = "as")]
        form: Form,
        #[serde(default)]
        offset: Option<f64>,
        #[serde(default)]
        limit: Option<f64>,
        #[serde(default)]
        lines: bool,
    },
    Make {
        #[serde(default)]
        text: Option<String>,
        #[serde(default)]
        base64: Option<String>,
        name: String,
        #[serde(rename = "type")]
        media_type: String,
    },
    Finish(Place),
}

impl Effect for File {
    const KIND: &'static str = "file";

    type Needs = (Bounds, Arc<dyn Files>, OpenSinks);
    type Output = Value;

    fn start(
        &self,
        request: Value,
        needs: Self::Needs,
    ) -> impl Future<Output = Result<Value, EffectError>> + Send + 'static {
        read_or_make(request, needs)
    }

    fn is_known(&self, request: &str, (_, _, sinks): Self::Needs) {
        if let Ok(Request::Finish(place)) = serde_json::from_str(request) {
            sinks.give_up(&place);
        }
    }

    fn masked(&self, result: Value, vault: &Vault) -> Value {
        masked(result, vault)
    }

    fn is_repeatable(&self) -> bool {
        // A file that was made twice has its bytes once, and goes with its run.
        true
    }
}

async fn read_or_make(
    request: Value,
    (bounds, files, sinks): <File as Effect>::Needs,
) -> Result<Value, EffectError> {
    match read(request)? {
        Request::Read {
            file,
            form,
            offset,
            limit,
            lines,
        } => {
            let whole = |number: f64| number.clamp(0.0, 1e15) as u64;
            let part = (offset.map(whole), limit.map(whole));
            content(&*files, &file.id, (form, lines), part, bounds.result_bytes_max).await
        }
        Request::Make {
            text,
            base64,
            name,
            media_type,
        } => make(&*files, (text, base64), &name, &media_type).await,
        Request::Finish(place) => shown(sinks.finish(&*files, &place).await?),
    }
}

async fn content(
    files: &dyn Files,
    id: &str,
    (form, lines): (Form, bool),
    (offset, limit): (Option<u64>, Option<u64>),
    result_bytes_max: usize,
) -> EffectResult {
    if lines && form == Form::Base64 {
        let message = "Lines are those of a text: give `lines` with `as: \"text\"`, or read the bytes as base64 without it.";
        return Err(EffectError::parameter(message));
    }
    // Base64 and JSON make it longer.
    let bytes_max = result_bytes_max as u64 / 2;
    let start = offset.unwrap_or(0);
    let wanted = limit.unwrap_or(bytes_max.saturating_add(1));
    let opened = files
        .open(id, Some(start..start.saturating_add(wanted.min(bytes_max + 1))))
        .await;
    let mut opened = opened.map_err(|failure| failed(&failure))?;
    let size = opened.value.size;
    let rest = size.saturating_sub(start).min(wanted);
    if rest > bytes_max {
        let message = format!(
            "{rest} bytes of the file are too many to be read at once: at most {bytes_max} are. Read it in parts, by \
             `offset` and `limit`."
        );
        return Err(EffectError::new(EffectCode::FileLimit, message));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(rest).unwrap_or(0));
    while let Some(piece) = opened.content.next().await {
        bytes.extend_from_slice(&piece.map_err(|failure| failed(&failure))?);
    }
    let is_cut = start.saturating_add(wanted) < size;
    let next = match lines && is_cut {
        true => Some(start + whole_lines(&mut bytes, start)?),
        false => None,
    };
    match form {
        Form::Base64 => Ok(json!({ "base64": STANDARD.encode(&bytes), "size": size })),
        Form::Text => {
            let text = text(bytes, start > 0 || is_cut)?;
            Ok(match lines {
                true => json!({ "text": text, "next": next }),
                false => json!({ "text": text, "size": size }),
            })
        }
    }
}

/// Leaves the lines that are there to their ends; their bytes.
fn whole_lines(bytes: &mut Vec<u8>, start: u64) -> Result<u64, EffectError> {
    let Some(end) = bytes.iter().rposition(|byte| *byte == b'\n') else {
        let message = format!(
            "The line of the file that begins at byte {start} has more than {} bytes: raise `limit`.",
            bytes.len()
        );
        return Err(EffectError::new(EffectCode::FileLimit, message));
    };
    bytes.truncate(end + 1);
    Ok(bytes.len() as u64)
}

/// UTF-8, without a byte order mark. A part may begin and end in the midst of a character, which is left out.
fn text(mut bytes: Vec<u8>, is_part: bool) -> Result<String, EffectError> {
    if is_part {
        let first = bytes
            .iter()
            .take(3)
            .take_while(|byte| *byte & 0xc0 == 0x80)
            .count();
        bytes.drain(..first);
        if let Err(error) = std::str::from_utf8(&bytes)
            && error.error_len().is_none()
        {
            bytes.truncate(error.valid_up_to());
        }
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let place = error.utf8_error().valid_up_to();
        let message = format!(
            "The file is not UTF-8 text (at byte {place} of what was read): read it as base64 to get its bytes."
        );
        EffectError::new(EffectCode::Parse, message)
    })?;
    match text.strip_prefix('\u{feff}') {
        Some(text) if !is_part => Ok(text.to_owned()),
        _ => Ok(text),
    }
}

async fn make(
    files: &dyn Files,
    content: (Option<String>, Option<String>),
    name: &str,
    media_type: &str,
) -> EffectResult {
    let bytes = match content {
        (Some(text), None) => text.into_bytes(),
        (None, Some(base64)) => STANDARD
            .decode(base64)
            .map_err(|error| EffectError::parameter(format!("The content is not valid base64: {error}.")))?,
        _ => return Err(EffectError::parameter("Give either `text` or `base64`.")),
    };
    stored(files, bytes, name, media_type).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::MemoryFiles;

    #[tokio::test]
    async fn lines_are_those_of_a_text() {
        let files = MemoryFiles::default();
        let content_of = (Some("a\nb".to_owned()), None);
        let made = make(&files, content_of, "a.txt", "text/plain").await.unwrap();
        let id = made["$file"].as_str().unwrap();
        let read = async |form: Form, limit: u64| {
            let part = (None, Some(limit));
            content(&files, id, (form, true), part, 1_000).await
        };
        assert_eq!(
            read(Form::Text, 2).await.unwrap(),
            json!({"text": "a\n", "next": 2})
        );
        let refused = read(Form::Base64, 2).await.unwrap_err();
        assert_eq!(refused.code, EffectCode::Parameter);
        assert!(refused.message.contains("without it"), "{refused}");
    }
}
