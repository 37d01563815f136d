//! Reading a body into memory. Knows nothing about what it means.

use crate::http::error::ApiError;
use crate::http::extract::unread;
use axum::body::{Body, Bytes, HttpBody};
use heddle_model::Code;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use std::time::Duration;

/// Time limit for receiving a body.
const BODY_TIME_MAX: Duration = Duration::from_secs(30);

/// Reads a body, limited in size and time.
pub async fn read(body: Body, bytes_max: usize) -> Result<Bytes, ApiError> {
    let too_late = || Code::RequestTimeout.with("The body took too long to arrive.");
    let too_large = || Code::PayloadTooLarge.with(format!("The body is larger than {bytes_max} bytes."));
    if body.size_hint().lower() > bytes_max as u64 {
        return Err(too_large().into());
    }
    let collected = tokio::time::timeout(BODY_TIME_MAX, Limited::new(body, bytes_max).collect()).await;
    match collected.map_err(|_| too_late())? {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(too_large().into()),
        Err(error) => Err(unread(&*error)),
    }
}
