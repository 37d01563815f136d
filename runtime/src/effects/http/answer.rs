//! Responses, whose size is limited while they are read.

use super::super::progress::EffectResult;
use super::address::place;
use super::context::HttpNeeds;
use super::failure::{failed, send_error};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use heddle_sandbox::EffectError;
use reqwest::header::{CONTENT_LENGTH, HeaderMap, RETRY_AFTER};
use reqwest::{Response, Url};
use serde_json::{Map, Value, json};
use std::time::{Duration, Instant, SystemTime};

/// A response.
pub(super) struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
    /// The URL after redirects.
    pub url: Url,
}

impl Answer {
    /// The effect's result.
    pub fn into_value(self, context: &HttpNeeds) -> EffectResult {
        let mut result = json!({ "status": self.status, "headers": header_object(&self.headers) });
        if let Some(wait) = retry_after(&self.headers) {
            let too_late = Instant::now()
                .checked_add(wait)
                .is_none_or(|at| at >= context.bounds.deadline);
            result["retryAfter"] = match too_late {
                true => "never".into(),
                false => (wait.as_millis() as u64).into(),
            };
        }
        match String::from_utf8(self.body) {
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

/// Retry-After (RFC 9110, section 10.2.3): seconds, or a date.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse::<u32>() {
        return Some(Duration::from_secs(u64::from(seconds)));
    }
    let date = httpdate::parse_http_date(text).ok()?;
    Some(date.duration_since(SystemTime::now()).unwrap_or_default())
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
