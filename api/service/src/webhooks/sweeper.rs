//! Deletes old lines of the webhook log in the background.

use crate::Service;
use std::time::Duration;
use tokio::task::JoinHandle;

const SWEEP_EVERY: Duration = Duration::from_secs(60);

/// Deletes old lines of the webhook log until the task is aborted, which is safe at any time.
pub fn start(service: Service) -> JoinHandle<()> {
    tokio::spawn(async move {
        loop {
            tokio::time::sleep(SWEEP_EVERY).await;
            if let Err(error) = service.webhooks.sweep(service.clock.now()).await {
                tracing::error!(%error, "Can't delete old lines of the webhook log now");
            }
        }
    })
}
