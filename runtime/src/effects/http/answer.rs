//! Responses, whose size is limited while they are read, or that become files.

use super::super::open_streams::Live;
use super::super::progress::EffectResult;
use super::super::result_place::ResultPlace;
use super::super::stored_file;
use super::address::place;
use super::context::HttpNeeds;
use super::failure::{failed, send_error};
use crate::aside::is_small;
use crate::egress::body_within;
use crate::files::{FileValue, Files};
use crate::retry_after::retry_after;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use heddle_sandbox::EffectError;
use heddle_sandbox::clock::monotonic;
use percent_encoding::percent_decode_str;
use reqwest::header::{
    CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_TYPE, DATE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER,
};
use reqwest::{Response, Url};
use serde_json::{Map, Value, json};

/// Parameters of a header that are looked at.
const PARAMETERS_MAX: usize = 20;

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
    /// It is still to come.
    Live(Box<Live>),
}

impl Answer {
    /// The body, if it is here.
    pub fn body(&self) -> &[u8] {
        match &self.content {
            Content::Bytes(bytes) => bytes,
            Content::File(_) | Content::Live(_) => &[],
        }
    }

    /// The effect's result.
    pub fn into_value(self, context: &HttpNeeds) -> EffectResult {
        let mut result = json!({ "status": self.status, "headers": header_object(&self.headers) });
        let header = |name: HeaderName| self.headers.get(name).and_then(|value| value.to_str().ok());
        if let Some(wait) =
            header(RETRY_AFTER).and_then(|header_value| retry_after(header_value, header(DATE)))
        {
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
            Content::Live(live) => {
                result["stream"] = context.streams.keep(*live).into();
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
pub(super) async fn body_of(response: Response, url: &Url, bytes_max: usize) -> Result<Vec<u8>, EffectError> {
    let body = body_within(response, bytes_max).await;
    let body = body.map_err(|error| send_error(&error, url))?;
    body.ok_or_else(|| too_large(url, bytes_max))
}

/// The same for what a run is given, which is told to have so many bytes. Once there is more than little, this waits for room for all that may
/// come.
pub(super) async fn result_of(
    mut response: Response,
    url: &Url,
    (told, bytes_max): (Option<u64>, usize),
    result: &ResultPlace,
) -> Result<Vec<u8>, EffectError> {
    let told = told.and_then(|bytes| usize::try_from(bytes).ok());
    let most = told.unwrap_or(bytes_max).min(bytes_max);
    let mut body = Vec::new();
    while let Some(piece) = response.chunk().await.map_err(|error| send_error(&error, url))? {
        let bytes = body.len() + piece.len();
        if bytes > bytes_max {
            return Err(too_large(url, bytes_max));
        }
        if !is_small(bytes) {
            Box::pin(result.make_room(most)).await;
        }
        body.extend_from_slice(&piece);
    }
    Ok(body)
}

fn too_large(url: &Url, bytes_max: usize) -> EffectError {
    failed(format!(
        "The response of {} is larger than the {} KiB allowed.",
        place(url),
        bytes_max >> 10
    ))
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
    let name = file_name(response.headers(), url);
    let failed = |failure| stored_file::failed(&failure);
    let mut sink = files.create(&name, media_type).await.map_err(failed)?;
    while let Some(chunk) = response.chunk().await.map_err(|error| send_error(&error, url))? {
        sink.write(chunk).await.map_err(failed)?;
    }
    sink.finish().await.map_err(failed)
}

/// The name that Content-Disposition gives (RFC 6266), or else the last part of the path.
pub fn file_name(headers: &HeaderMap, url: &Url) -> String {
    let disposition = headers.get(CONTENT_DISPOSITION).map(HeaderValue::as_bytes);
    let disposition = disposition.unwrap_or_default();
    // Many send names in UTF-8 as they are; the standard's own bytes are Latin-1.
    let disposition = match std::str::from_utf8(disposition) {
        Ok(text) => text.to_owned(),
        Err(_) => disposition.iter().map(|byte| char::from(*byte)).collect(),
    };
    let parameters = parameters(&disposition);
    let given = |wanted: &str| {
        let found = parameters.iter().find(|(name, _)| name == wanted);
        found.map(|(_, value)| value.as_str())
    };
    let decoded = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
    // Character set, language and name, percent-encoded; the other one is for old clients then.
    let encoded = given("filename*").and_then(|value| value.rsplit('\'').next());
    let named = encoded
        .map(decoded)
        .or_else(|| given("filename").map(str::to_owned));
    let last = || {
        let segment = url.path_segments().and_then(|mut segments| segments.next_back());
        decoded(segment.unwrap_or_default())
    };
    named.filter(|name| !name.is_empty()).unwrap_or_else(last)
}

/// Names and values behind the first word of a header. Whatever is in quotes is part of its value.
fn parameters(header: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut rest = header.split_once(';').map_or("", |(_, rest)| rest);
    while found.len() < PARAMETERS_MAX
        && let Some((name, value)) = rest.split_once('=')
    {
        // What has no value stands before.
        let name = name.rsplit(';').next().unwrap_or_default();
        let value = value.trim_start();
        let (value, behind) = match value.strip_prefix('"') {
            Some(quoted) => unquoted(quoted),
            None => {
                let (value, behind) = value.split_once(';').unwrap_or((value, ""));
                (value.trim().to_owned(), behind)
            }
        };
        found.push((name.trim().to_ascii_lowercase(), value));
        rest = behind;
    }
    found
}

/// What stands before the next quote, and what behind it.
fn unquoted(text: &str) -> (String, &str) {
    let (mut value, mut chars) = (String::new(), text.chars());
    while let Some(char) = chars.next() {
        match char {
            '"' => break,
            '\\' => value.extend(chars.next()),
            other => value.push(other),
        }
    }
    (value, chars.as_str())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_called_what_servers_call_them() {
        let url = Url::parse("https://example.com/files/a%20b.pdf?c=d").unwrap();
        for (disposition, name) in [
            ("attachment; filename=\"report.pdf\"", "report.pdf"),
            ("attachment;filename=report.pdf ;size=3", "report.pdf"),
            (
                "attachment; filename=\"one; two = \\\"2\\\".pdf\"; size=3",
                "one; two = \"2\".pdf",
            ),
            ("inline; x; FileName = \"Rechnung März.pdf\"", "Rechnung März.pdf"),
            (
                "attachment; filename=\"old.pdf\"; filename*=UTF-8''M%C3%A4rz%3B.pdf",
                "März;.pdf",
            ),
            ("attachment; filename=\"without end", "without end"),
            ("attachment; filename=\"\"", "a b.pdf"),
            ("attachment", "a b.pdf"),
            ("", "a b.pdf"),
        ] {
            let value = HeaderValue::from_bytes(disposition.as_bytes()).unwrap();
            let headers = HeaderMap::from_iter([(CONTENT_DISPOSITION, value)]);
            assert_eq!(file_name(&headers, &url), name, "{disposition}");
        }
        let latin = HeaderValue::from_bytes(b"attachment; filename=\"M\xe4rz.pdf\"").unwrap();
        let headers = HeaderMap::from_iter([(CONTENT_DISPOSITION, latin)]);
        assert_eq!(file_name(&headers, &url), "März.pdf");
    }
}
