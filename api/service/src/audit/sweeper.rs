//! Removes entries of the audit log that are too old or too many, in the background.

use crate::Service;
use heddle_model::error::chain;
use heddle_store::panics::unless_it_panics;
use std::time::Duration;
use tokio::task::JoinHandle;

const SWEEP_EVERY: Duration = Duration::from_secs(10 * 60);
/// In one of so many rounds all entries are counted.
const ROUNDS_BETWEEN_COUNTS: u64 = 6;

/// Removes entries until the task is aborted, which is safe at any time.
pub fn start(service: Service) -> JoinHandle<()> {
    tokio::spawn(async move {
        for round in 0_u64.. {
            tokio::time::sleep(SWEEP_EVERY).await;
            // A panic was told, and is not to be the last round.
            unless_it_panics(sweep(&service, round)).await;
        }
    })
}

/// Deletes what is too much or too old.
async fn sweep(service: &Service, round: u64) {
    if round.is_multiple_of(ROUNDS_BETWEEN_COUNTS)
        && let Err(error) = service.audit.sweep_surplus(&service.store).await
    {
        tracing::error!(error = %chain(&error), "Can't remove surplus entries of the audit log now");
    }
    if let Err(error) = service.audit.sweep(&service.store, service.clock.now()).await {
        tracing::error!(error = %chain(&error), "Can't remove old entries of the audit log now");
    }
}
