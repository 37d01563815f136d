//! Writing what must not be lost: a database that is away is waited for.

use heddle_store::StoreError;
use std::time::Duration;

/// Wait before trying a database again that does not answer.
const RETRY: Duration = Duration::from_millis(200);

/// Writes until the database answers; `waits` is told why it does not. What it refuses is given.
pub(super) async fn insist<T, F: Future<Output = Result<T, StoreError>>>(
    write: impl Fn() -> F,
    waits: impl Fn(&str),
) -> Result<T, StoreError> {
    loop {
        match write().await {
            Err(StoreError::Unavailable(reason)) => {
                waits(&reason);
                tokio::time::sleep(RETRY).await;
            }
            settled => return settled,
        }
    }
}
