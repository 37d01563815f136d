//! What stands around every request: an id, a line in the log, and the answer to a panic.

use crate::error::{ApiError, Code};
use axum::extract::{MatchedPath, Request};
use axum::http::{HeaderName, HeaderValue};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::any::Any;
use std::time::Instant;
use tracing::Instrument;
use uuid::Uuid;

/// The header with a request's id.
pub static REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Id of a request: the client's when it is sane, else a new one.
#[derive(Clone, Debug)]
pub struct RequestId(pub String);

/// Gives every request and answer an id, and writes a line for each.
pub async fn request_id(mut request: Request, next: Next) -> Response {
    let given = request
        .headers()
        .get(&REQUEST_ID)
        .and_then(|value| value.to_str().ok());
    let id = match given {
        Some(id) if is_sane(id) => id.to_owned(),
        _ => Uuid::now_v7().to_string(),
    };
    request.extensions_mut().insert(RequestId(id.clone()));
    let method = request.method().clone();
    // The route, never the path: a path may have what only its owner should see.
    let route = request
        .extensions()
        .get::<MatchedPath>()
        .map_or_else(|| "(no route)".to_owned(), |path| path.as_str().to_owned());
    let span = tracing::info_span!("request", id = %id);
    let started = Instant::now();
    let mut response = next.run(request).instrument(span.clone()).await;
    let status = response.status().as_u16();
    let labels = [
        ("method", method.to_string()),
        ("route", route.clone()),
        ("status", status.to_string()),
    ];
    metrics::counter!("heddle_http_requests_total", &labels).increment(1);
    metrics::histogram!("heddle_http_request_seconds", &labels[..2]).record(started.elapsed());
    span.in_scope(|| tracing::info!(%method, route, status, "{method} {route} {status}"));
    if let Ok(value) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(REQUEST_ID.clone(), value);
    }
    response
}

fn is_sane(id: &str) -> bool {
    (1..=128).contains(&id.len())
        && id
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"._:-".contains(&byte))
}

/// The answer when a handler panicked.
pub fn panicked(panic: Box<dyn Any + Send + 'static>) -> Response {
    let message = panic
        .downcast_ref::<&str>()
        .map(|message| (*message).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_owned());
    tracing::error!(panic = message, "A handler panicked: {message}");
    ApiError::from(Code::Internal).into_response()
}
