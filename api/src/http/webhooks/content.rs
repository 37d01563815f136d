//! What a body says that was received whole, as JSON by its kind and type. Knows nothing of who sent it.

use crate::http::error::ApiError;
use axum::body::Bytes;
use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use heddle_model::webhook::BodyKind;
use heddle_service::webhooks::body::{self, Problem};
use serde_json::value::RawValue;
use std::borrow::Cow;

/// The type that the sender names; empty if it names none.
pub fn content_type(headers: &HeaderMap) -> &str {
    let named = headers.get(CONTENT_TYPE);
    named.and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// The body as JSON.
pub async fn value<'b>(
    kind: BodyKind,
    headers: &HeaderMap,
    body: &'b Bytes,
) -> Result<Cow<'b, RawValue>, ApiError> {
    let read = body::read(kind, content_type(headers), body).await;
    read.map_err(unreadable)
}

/// Says what is wrong with a body.
pub fn unreadable(problem: Problem) -> ApiError {
    ApiError::field("", format!("the body {problem}"))
}
