//! Writing what must not be lost: a database that is away is waited for.

use heddle_model::error::chain;
use heddle_store::StoreError;
use std::time::Duration;

/// Wait before trying a database again that does not answer.
const RETRY: Duration = Duration::from_millis(200);

/// Repeats a write for as long as the database is away, and calls `on_wait` with the reason before each wait. Any other
/// error is returned.
pub(crate) async fn retry_while_unavailable<T, F: Future<Output = Result<T, StoreError>>>(
    write: impl Fn() -> F,
    on_wait: impl Fn(&str),
) -> Result<T, StoreError> {
    loop {
        match write().await {
            Err(error @ StoreError::Unavailable(_)) => {
                on_wait(&chain(&error));
                tokio::time::sleep(RETRY).await;
            }
            settled => return settled,
        }
    }
}
