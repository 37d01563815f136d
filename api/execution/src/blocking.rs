//! Work that computes for long, on threads that may be blocked.

use heddle_model::error::ServiceError;

/// Does `work` on a thread that may be blocked. The error is [`Code::Internal`](heddle_model::error::Code::Internal): the
/// work panicked, or the process ends.
pub async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ServiceError> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(ServiceError::internal)
}
