//! What a body says that was received whole, as JSON by its kind and type. Knows nothing of who sent it.

use crate::http::error::ApiError;
use axum::body::Bytes;
use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use futures_util::FutureExt;
use heddle_compiler::text::values_at_most;
use heddle_model::Code;
use heddle_model::form::VALUES_MAX;
use heddle_model::webhook::BodyKind;
use heddle_service::webhooks::body::{self, Problem};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
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

/// What the page of a form or a chat has sent, or a program in its place, as far as it was read while it arrived.
pub enum Sent {
    /// As JSON, with references to the files that are stored.
    Stored(Box<RawValue>),
    /// All of it, as it came.
    Whole(BodyKind, Bytes),
}

impl Sent {
    /// How it was sent.
    pub const fn kind(&self) -> BodyKind {
        match self {
            Sent::Stored(_) => BodyKind::Multipart,
            Sent::Whole(kind, _) => *kind,
        }
    }

    /// How large it is.
    pub fn bytes(&self) -> usize {
        match self {
            Sent::Stored(fields) => fields.get().len(),
            Sent::Whole(_, body) => body.len(),
        }
    }

    /// The fields by name; none if it is something else. Takes time by its size.
    pub fn fields(self, content_type: &str) -> Result<Option<Map<String, Value>>, ApiError> {
        let (kind, body) = match self {
            Sent::Stored(fields) => return Ok(serde_json::from_str(fields.get()).ok()),
            Sent::Whole(kind, body) => (kind, body),
        };
        // All of it is there, so that nothing is waited for.
        let read = body::read(kind, content_type, &body).now_or_never();
        let read = read.ok_or(Code::Internal)?.map_err(unreadable)?;
        if kind == BodyKind::Json && values_at_most(read.get()) > VALUES_MAX {
            let message = format!("the body has more than {VALUES_MAX} values");
            return Err(ApiError::field("", message));
        }
        Ok(serde_json::from_str(read.get()).ok())
    }
}
