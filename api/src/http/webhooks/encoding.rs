//! Bodies that their senders have compressed, as their headers tell. Signatures are over what was sent. Knows nothing of what a body means.

use super::whole;
use crate::app::App;
use crate::http::error::ApiError;
use crate::http::extract::unread;
use axum::BoxError;
use axum::body::Bytes;
use axum::http::HeaderMap;
use axum::http::header::CONTENT_ENCODING;
use futures_util::stream::BoxStream;
use futures_util::{Stream, StreamExt};
use heddle_model::Code;
use heddle_model::ids::UserId;
use heddle_service::webhooks::decompression::{self, Encoding, Undecodable};
use std::error::Error;

impl From<&Undecodable> for ApiError {
    fn from(error: &Undecodable) -> Self {
        match error {
            Undecodable::Broken(_) => ApiError::field("", error.to_string()),
            Undecodable::TooLarge(bytes_max) => {
                let message = format!("The body is larger than {bytes_max} bytes once it is decompressed.");
                Code::PayloadTooLarge.with(message).into()
            }
        }
    }
}

/// How the body is compressed; `None`: it is not.
pub fn of(headers: &HeaderMap) -> Result<Option<Encoding>, ApiError> {
    let mut named = headers.get_all(CONTENT_ENCODING).iter();
    let Some(first) = named.next() else {
        return Ok(None);
    };
    if named.next().is_some() {
        return Err(unknown());
    }
    let named = first.to_str().unwrap_or("?").trim().to_ascii_lowercase();
    match named.as_str() {
        // Some senders name a character set here.
        "" | "identity" | "utf-8" | "utf8" => Ok(None),
        "gzip" | "x-gzip" => Ok(Some(Encoding::Gzip)),
        "deflate" => Ok(Some(Encoding::Deflate)),
        _ => Err(unknown()),
    }
}

fn unknown() -> ApiError {
    let message = "The body's `Content-Encoding` is not supported: send gzip or deflate, or the body as it is, without this header.";
    Code::UnsupportedMediaType.with(message).into()
}

/// Decompresses a body that is in memory. To be done where no other request waits for it.
pub fn decoded(encoding: Encoding, body: &[u8], bytes_max: usize) -> Result<Bytes, ApiError> {
    decompression::decoded(encoding, body, bytes_max).map_err(|error| ApiError::from(&error))
}

/// The body of a request with these headers to an owner, which was read into memory, as it was before it was compressed.
pub async fn unpacked(
    (app, owner): (&App, Option<UserId>),
    headers: &HeaderMap,
    body: Bytes,
    bytes_max: usize,
) -> Result<Bytes, ApiError> {
    match of(headers)? {
        None => Ok(body),
        Some(encoding) => {
            let work = move || async move { decoded(encoding, &body, bytes_max) };
            // Boxed: the future of each request would have to carry it.
            Box::pin(whole::beside(app, owner, work)).await
        }
    }
}

/// The decompressed body of such a request while it arrives. Neither it nor what it decompresses to may have more than `bytes_max`.
pub fn flowing<E>(
    headers: &HeaderMap,
    body: impl Stream<Item = Result<Bytes, E>> + Send + Unpin + 'static,
    bytes_max: u64,
) -> Result<BoxStream<'static, Result<Bytes, BoxError>>, ApiError>
where
    E: Into<BoxError> + Send + 'static,
{
    let Some(encoding) = of(headers)? else {
        return Ok(body.map(|piece| piece.map_err(Into::<BoxError>::into)).boxed());
    };
    Ok(decompression::flowing(encoding, body, bytes_max))
}

/// What is told of a body that did not come to its end.
pub fn broken(error: &(dyn Error + Send + Sync + 'static)) -> ApiError {
    match error.downcast_ref::<Undecodable>() {
        Some(undecodable) => undecodable.into(),
        None => unread(error),
    }
}

#[cfg(test)]
mod tests;
