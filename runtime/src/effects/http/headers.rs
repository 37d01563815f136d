//! Headers of requests.

use heddle_sandbox::EffectError;
use reqwest::header::{HeaderName, HeaderValue};

/// The header by which a service recognises a repeated request.
pub(super) const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// What the connection itself decides.
pub(super) const OWN_HEADERS: [&str; 8] = [
    "connection",
    "content-length",
    "host",
    "keep-alive",
    "proxy-connection",
    "te",
    "transfer-encoding",
    "upgrade",
];

pub(super) fn header_name(name: &str) -> Result<HeaderName, EffectError> {
    HeaderName::from_bytes(name.as_bytes())
        .map_err(|_| EffectError::parameter(format!("`{name}` is not a valid header name.")))
}

pub(super) fn header_value(name: &str, value: &str) -> Result<HeaderValue, EffectError> {
    HeaderValue::from_bytes(value.as_bytes()).map_err(|_| {
        EffectError::parameter(format!(
            "The header `{name}` has a value that contains line breaks or control characters."
        ))
    })
}
