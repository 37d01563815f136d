//! Responses, whose size is limited while they are read, or that become files.

use super::super::progress::EffectResult;
use super::super::stored_file;
use super::address::place;
use super::context::HttpNeeds;
use super::failure::{failed, send_error};
use crate::files::{FileValue, Files};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use heddle_sandbox::EffectError;
use heddle_sandbox::clock::{monotonic, wall};
use percent_encoding::percent_decode_str;
use reqwest::header::{CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, RETRY_AFTER};
use reqwest::{Response, Url};
use serde_json::{Map, Value, json};
use std::time::Duration;

/// A response.
pub(super) struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub content: Content,
    /// The URL after redirects.
    pub url: Url,
}

/// What there is of a response's body.
pub(super) enum Content {
    Bytes(Vec<u8>),
    File(FileValue),
}

impl Answer {
    /// The body, unless it is a file.
    pub fn body(&self) -> &[u8] {
        match &self.content {
            Content::Bytes(bytes) => bytes,
            Content::File(_) => &[],
        }
    }

    /// The effect's result.
    pub fn into_value(self, context: &HttpNeeds) -> EffectResult {
        let mut result = json!({ "status": self.status, "headers": header_object(&self.headers) });
        if let Some(wait) = retry_after(&self.headers) {
            let too_late = monotonic()
                .checked_add(wait)
                .is_none_or(|at| at >= context.bounds.deadline);
            result["retryAfter"] = match too_late {
                true => "never".into(),
                false => (wait.as_millis() as u64).into(),
            };
        }
        let body = match self.content {
            Content::Bytes(body) => body,
            Content::File(file) => {
                result["file"] =
                    serde_json::to_value(file).map_err(|error| EffectError::parameter(error.to_string()))?;
                return Ok(result);
            }
        };
        match String::from_utf8(body) {
            Ok(text) => result["text"] = text.into(),
            Err(error) => {
                let body = context.vault.mask_bytes(error.into_bytes());
                result["base64"] = STANDARD.encode(body).into();
            }
        }
        Ok(result)
    }
}

/// The body of an answer, of at most so many bytes after decompression: a small answer can't become a large one.
pub(super) async fn body_of(
    mut response: Response,
    url: &Url,
    bytes_max: usize,
) -> Result<Vec<u8>, EffectError> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| send_error(&error, url))? {
        if chunk.len() > bytes_max.saturating_sub(body.len()) {
            return Err(failed(format!(
                "The response of {} is larger than the {} KiB allowed.",
                place(url),
                bytes_max >> 10
            )));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// A file of the body of an answer, as it is after decompression.
pub(super) async fn file_of(
    mut response: Response,
    url: &Url,
    files: &dyn Files,
) -> Result<FileValue, EffectError> {
    let media_type = response.headers().get(CONTENT_TYPE);
    let media_type = media_type
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let name = name_of(response.headers(), url);
    let failed = |failure| stored_file::failed(&failure);
    let mut sink = files.create(&name, media_type).await.map_err(failed)?;
    while let Some(chunk) = response.chunk().await.map_err(|error| send_error(&error, url))? {
        sink.write(chunk).await.map_err(failed)?;
    }
    sink.finish().await.map_err(failed)
}

/// The name that Content-Disposition gives (RFC 6266), or else the last part of the path.
fn name_of(headers: &HeaderMap, url: &Url) -> String {
    let disposition = headers
        .get(CONTENT_DISPOSITION)
        .and_then(|value| value.to_str().ok());
    let mut named = None;
    for parameter in disposition.unwrap_or_default().split(';').skip(1) {
        let Some((name, value)) = parameter.split_once('=') else {
            continue;
        };
        let value = value.trim().trim_matches('"');
        match name.trim().to_ascii_lowercase().as_str() {
            // Character set, language and name, percent-encoded; the one that is not for old clients.
            "filename*" => {
                let encoded = value.rsplit('\'').next().unwrap_or_default();
                named = Some(percent_decode_str(encoded).decode_utf8_lossy().into_owned());
                break;
            }
            "filename" => named = Some(value.to_owned()),
            _ => {}
        }
    }
    let last = || {
        let segment = url.path_segments().and_then(|mut segments| segments.next_back());
        percent_decode_str(segment.unwrap_or_default())
            .decode_utf8_lossy()
            .into_owned()
    };
    named.filter(|name| !name.is_empty()).unwrap_or_else(last)
}

/// Retry-After (RFC 9110, section 10.2.3): seconds, or a date.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse::<u32>() {
        return Some(Duration::from_secs(u64::from(seconds)));
    }
    let date = httpdate::parse_http_date(text).ok()?;
    Some(date.duration_since(wall()).unwrap_or_default())
}

fn header_object(headers: &HeaderMap) -> Map<String, Value> {
    let mut object = Map::new();
    for name in headers.keys() {
        let mut values: Vec<Value> = headers
            .get_all(name)
            .iter()
            .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned().into())
            .collect();
        let value = if values.len() == 1 {
            values.remove(0)
        } else {
            Value::Array(values)
        };
        object.insert(name.as_str().to_owned(), value);
    }
    // Lengths of what was compressed mean nothing any more.
    object.remove(CONTENT_LENGTH.as_str());
    object
}
