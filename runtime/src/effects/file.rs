//! `file`: reads a part of a file into the run, or makes a file of what the run has.
//!
//! Request: `{operation: "read", file, as: "text" | "base64", offset?, limit?, encoding?}` gives `{text | base64, size}`; text with
//! `lines: true` ends with a line, and `next` is where the next one begins, null at the file's end. `encoding` is a label, or `auto`
//! for what the file says of itself; lines of another one than UTF-8 come with its name. Or `{operation: "make", text | base64, name,
//! type}` gives the file. JSON is read and written by the node. `{operation: "finish", sink, at, name, type}` makes a file of what was
//! written with [`super::FilePiece`].

use super::charset::{Charset, MARK_BYTES};
use super::effect::Effect;
use super::handles::{Bounds, Owner};
use super::progress::EffectResult;
use super::requests::read;
use super::result_place::ResultPlace;
use super::run::interrupted;
use super::sinks::{OpenSinks, Place};
use super::stored_file::{Form, failed, masked, shown, stored};
use crate::aside::aside_if_large;
use crate::files::{FileValue, Files, OpenedFile};
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
        #[serde(default)]
        encoding: Option<String>,
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

    type Needs = (Bounds, Arc<dyn Files>, OpenSinks, Owner, ResultPlace);
    type Output = Value;

    fn start(
        &self,
        request: Value,
        needs: Self::Needs,
    ) -> impl Future<Output = Result<Value, EffectError>> + Send + 'static {
        read_or_make(request, needs)
    }

    fn is_known(&self, request: &str, (_, _, sinks, _, _): Self::Needs) {
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
    (bounds, files, sinks, owner, place): <File as Effect>::Needs,
) -> Result<Value, EffectError> {
    match read(request)? {
        Request::Read {
            file,
            form,
            offset,
            limit,
            lines,
            encoding,
        } => {
            let whole = |number: f64| number.clamp(0.0, 1e15) as u64;
            let most = limit.map_or(bounds.result_bytes_max, |limit| whole(limit) as usize);
            place.make_room(most.min(bounds.result_bytes_max)).await;
            let part = ReadPart {
                form,
                lines,
                encoding: encoding.as_deref(),
                offset: offset.map(whole),
                limit: limit.map(whole),
            };
            content(&*files, &file, part, bounds.result_bytes_max as u64, owner).await
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

/// Which part of a file is read, and as what.
#[derive(Clone, Copy)]
pub(super) struct ReadPart<'a> {
    pub form: Form,
    /// Whether it ends with the last line that is whole in it.
    pub lines: bool,
    /// The encoding that the node names; without one, it is UTF-8.
    pub encoding: Option<&'a str>,
    /// The byte at which it begins; `None`: the first.
    pub offset: Option<u64>,
    /// Bytes of it; `None`: all that follow.
    pub limit: Option<u64>,
}

/// Reads a part of a file, which may have at most `bytes_max` bytes.
pub(super) async fn content(
    files: &dyn Files,
    file: &FileValue,
    part: ReadPart<'_>,
    bytes_max: u64,
    Owner(owner): Owner,
) -> EffectResult {
    let ReadPart {
        form,
        lines,
        encoding,
        offset,
        limit,
    } = part;
    if lines && form == Form::Base64 {
        let message = "Lines are those of a text: give `lines` with `as: \"text\"`, or read the bytes as base64 without it.";
        return Err(EffectError::parameter(message));
    }
    // As many as the body of a response may have, which base64 and JSON make longer just as much.
    let start = offset.unwrap_or(0);
    let wanted = limit.unwrap_or(bytes_max.saturating_add(1));
    let most = wanted.min(bytes_max.saturating_add(1));
    let opened = files
        .open(&file.id, Some(start..start.saturating_add(most)))
        .await;
    let opened = opened.map_err(|failure| failed(&failure))?;
    let (size, media_type) = (opened.value.size, opened.value.media_type.clone());
    let rest = size.saturating_sub(start).min(wanted);
    if rest > bytes_max {
        let message = format!(
            "{rest} bytes of the file are too many to read at once: the limit is {bytes_max}. Read it in parts, with \
             `offset` and `limit`."
        );
        return Err(EffectError::new(EffectCode::FileLimit, message));
    }
    let mut bytes = all_of(opened, rest).await?;
    if form == Form::Base64 {
        return Ok(json!({ "base64": STANDARD.encode(&bytes), "size": size }));
    }
    let types = [file.media_type.as_str(), media_type.as_str()];
    let charset = match encoding.is_some() && start > 0 {
        // What stands at the file's beginning says how this part is to be read.
        true => {
            let opened = files.open(&file.id, Some(0..MARK_BYTES)).await;
            let opened = opened.map_err(|failure| failed(&failure))?;
            let mark = all_of(opened, MARK_BYTES).await?;
            Charset::of(encoding, types, Some(&mark))?
        }
        false => Charset::of(encoding, types, (start == 0).then_some(bytes.as_slice()))?,
    };
    let is_cut = start.saturating_add(wanted) < size;
    let next = match lines && is_cut {
        true => Some(start + whole_lines(&mut bytes, start, charset)?),
        false => None,
    };
    // Others than UTF-8 take tens of milliseconds for as many bytes as there may be.
    let weight = if charset.is_utf8() { 0 } else { bytes.len() };
    let decoded = aside_if_large(owner, weight, move || text(bytes, start, is_cut, charset));
    let text = decoded.await.ok_or_else(interrupted)??;
    if text.len() as u64 > bytes_max {
        let message = format!(
            "What was read of the file has {} bytes in UTF-8: at most {bytes_max} can be read at once. Read it in parts, with \
             `offset` and `limit`.",
            text.len()
        );
        return Err(EffectError::new(EffectCode::FileLimit, message));
    }
    Ok(match (lines, charset.is_utf8()) {
        (true, true) => json!({ "text": text, "next": next }),
        (true, false) => json!({ "text": text, "next": next, "encoding": charset.name() }),
        // Lines have their places in the file, of which a byte order mark is a part; a text has none.
        (false, _) => json!({ "text": without_mark(text, start), "size": size }),
    })
}

/// The bytes of a part that was opened.
async fn all_of(mut opened: OpenedFile, expected: u64) -> Result<Vec<u8>, EffectError> {
    let mut bytes = Vec::with_capacity(usize::try_from(expected).unwrap_or(0));
    while let Some(piece) = opened.content.next().await {
        bytes.extend_from_slice(&piece.map_err(|failure| failed(&failure))?);
    }
    Ok(bytes)
}

/// Leaves the lines that are there to their ends; their bytes.
fn whole_lines(bytes: &mut Vec<u8>, start: u64, charset: Charset) -> Result<u64, EffectError> {
    let Some(end) = charset.line_end(bytes, start) else {
        let message = format!(
            "The line of the file that begins at byte {start} has more than {} bytes: raise `limit`.",
            bytes.len()
        );
        return Err(EffectError::new(EffectCode::FileLimit, message));
    };
    bytes.truncate(end);
    Ok(end as u64)
}

/// Text. A part may begin and end in the midst of a character, which is left out.
fn text(mut bytes: Vec<u8>, start: u64, is_cut: bool, charset: Charset) -> Result<String, EffectError> {
    let cut = charset.cut_before(&bytes, start);
    bytes.drain(..cut);
    let count = bytes.len();
    let read = charset.decode(bytes).and_then(|(text, taken)| {
        let is_whole = taken == count || is_cut;
        is_whole.then_some(text).ok_or(taken)
    });
    read.map_err(|at| {
        let message = format!(
            "The file is not text in {} (at byte {} of what was read): set `encoding` to the one that it has, such as \
             windows-1252, or read its bytes as base64.",
            charset.name(),
            cut + at
        );
        EffectError::new(EffectCode::Parse, message)
    })
}

/// Without the byte order mark that the file may begin with.
fn without_mark(text: String, start: u64) -> String {
    match text.strip_prefix('\u{feff}') {
        Some(rest) if start == 0 => rest.to_owned(),
        _ => text,
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

    const TEXT: ReadPart<'static> = ReadPart {
        form: Form::Text,
        lines: false,
        encoding: None,
        offset: None,
        limit: None,
    };

    /// A file with these bytes.
    async fn file(files: &MemoryFiles, bytes: &[u8], media_type: &str) -> FileValue {
        let content = (None, Some(STANDARD.encode(bytes)));
        let made = make(files, content, "a.txt", media_type).await.unwrap();
        serde_json::from_value(made).unwrap()
    }

    #[tokio::test]
    async fn lines_are_those_of_a_text() {
        let files = MemoryFiles::default();
        let made = file(&files, b"a\nb", "text/plain").await;
        let read = async |form: Form, limit: u64| {
            let part = ReadPart {
                form,
                lines: true,
                limit: Some(limit),
                ..TEXT
            };
            content(&files, &made, part, 1_000, Owner(None)).await
        };
        assert_eq!(
            read(Form::Text, 2).await.unwrap(),
            json!({"text": "a\n", "next": 2})
        );
        let refused = read(Form::Base64, 2).await.unwrap_err();
        assert_eq!(refused.code, EffectCode::Parameter);
        assert!(refused.message.contains("without it"), "{refused}");
    }

    #[tokio::test]
    async fn texts_are_read_in_the_encoding_of_the_file_or_the_node() {
        let files = MemoryFiles::default();
        let latin = file(&files, b"gr\xfc\xdfe \x80", "text/plain; charset=iso-8859-1").await;
        let read = async |file: &FileValue, encoding: Option<&str>| match content(
            &files,
            file,
            ReadPart { encoding, ..TEXT },
            1_000,
            Owner(None),
        )
        .await
        {
            Ok(read) => read["text"].as_str().unwrap().to_owned(),
            Err(error) => error.to_string(),
        };
        assert_eq!(read(&latin, Some("auto")).await, "grüße €");
        let refused = read(&latin, Some("utf-8")).await;
        assert!(
            refused.starts_with("PARSE: The file is not text in UTF-8 (at byte 2 of what was read)"),
            "{refused}"
        );
        assert_eq!(read(&latin, None).await, refused);
        let unknown = read(&latin, Some("klingon")).await;
        assert!(
            unknown.starts_with("PARAMETER: Parameter `encoding` takes"),
            "{unknown}"
        );
        let cyrillic = file(&files, b"\xcf\xf0\xe8", "text/plain").await;
        assert_eq!(read(&cyrillic, Some("windows-1251")).await, "При");
        let marked = file(&files, "\u{feff}für".as_bytes(), "text/plain; charset=latin1").await;
        assert_eq!(read(&marked, Some("auto")).await, "für");
        // A text may become longer than its file.
        let long = file(&files, &[0x80; 400], "text/plain").await;
        let refused = read(&long, Some("windows-1252")).await;
        assert!(
            refused.starts_with("FILE_LIMIT: What was read of the file has 1200 bytes"),
            "{refused}"
        );
        assert_eq!(
            read(&file(&files, &[b'a'; 1_000], "").await, None).await.len(),
            1_000
        );
        let refused = read(&file(&files, &[b'a'; 1_001], "").await, None).await;
        assert!(refused.starts_with("FILE_LIMIT: 1001 bytes"), "{refused}");
    }

    #[tokio::test]
    async fn parts_of_a_file_are_in_the_encoding_of_its_beginning() {
        let files = MemoryFiles::default();
        let units = "\u{feff}für\n𝄞\n".encode_utf16().flat_map(u16::to_le_bytes);
        let file = file(&files, &units.collect::<Vec<u8>>(), "text/plain").await;
        let read = async |lines: bool, offset: u64, limit: u64| {
            let part = ReadPart {
                lines,
                encoding: Some("auto"),
                offset: Some(offset),
                limit: Some(limit),
                ..TEXT
            };
            content(&files, &file, part, 1_000, Owner(None)).await.unwrap()
        };
        assert_eq!(
            read(true, 0, 12).await,
            json!({"text": "\u{feff}für\n", "next": 10, "encoding": "UTF-16LE"})
        );
        assert_eq!(
            read(true, 10, 100).await,
            json!({"text": "𝄞\n", "next": null, "encoding": "UTF-16LE"})
        );
        assert_eq!(read(false, 3, 3).await, json!({"text": "ü", "size": 16}));
        assert_eq!(read(false, 12, 4).await, json!({"text": "\n", "size": 16}));
        assert_eq!(read(false, 0, 4).await, json!({"text": "f", "size": 16}));
    }
}
