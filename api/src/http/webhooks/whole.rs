//! Reading a body into memory, and where large ones are looked at. Knows nothing about what it means.

use crate::http::error::ApiError;
use crate::http::extract::unread;
use axum::body::{Body, Bytes, HttpBody};
use heddle_execution::blocking::blocking;
use heddle_model::Code;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use std::sync::LazyLock;
use std::thread::available_parallelism;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;

/// Time limit for receiving a body.
const BODY_TIME_MAX: Duration = Duration::from_secs(30);
/// To hash and to read more than this takes milliseconds.
pub const SMALL_BYTES_MAX: usize = 256 << 10;
/// For those that are looked at: more at a time would only take the processors from each other, and from all else.
static PLACES: LazyLock<Semaphore> =
    LazyLock::new(|| Semaphore::new(available_parallelism().map_or(1, usize::from)));

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

/// Does what takes long with a large body, where no other request waits for it.
pub async fn beside<T, F>(work: impl FnOnce() -> F + Send + 'static) -> Result<T, ApiError>
where
    T: Send + 'static,
    F: Future<Output = Result<T, ApiError>> + 'static,
{
    // Never closed.
    let _place = PLACES.acquire().await;
    let runtime = Handle::current();
    blocking(move || runtime.block_on(work())).await?
}
