//! Messages are read outside the async threads, few at a time.

use super::parts::Refused;
use bytes::Bytes;
use heddle_model::error::{Code, ServiceError};
use tokio::sync::Semaphore;

/// Messages that are read at one time, each of which takes several times its size.
static READERS: Semaphore = Semaphore::const_new(4);

/// Reads a message outside the async threads.
pub(super) async fn aside<T: Send + 'static>(
    raw: &Bytes,
    read: impl FnOnce(&[u8]) -> Result<T, Refused> + Send + 'static,
) -> Result<T, ServiceError> {
    // Never closed, so there is always a permit to wait for.
    let _permit = READERS.acquire().await;
    let raw = raw.clone();
    let done = tokio::task::spawn_blocking(move || read(&raw)).await;
    let done = done.map_err(|error| {
        tracing::error!(%error, "Can't read a message");
        Code::Internal.with("The message could not be read.")
    })?;
    done.map_err(|refused| Code::Validation.with(format!("The message was rejected: {refused}.")))
}
