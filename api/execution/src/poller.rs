//! Work in the background that rests between looks: until its time, until somebody tells it to look, or until the
//! service stops. Knows nothing of what is looked for.

use super::Inner;
use heddle_model::error::ServiceError;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, watch};

/// Rest after a look that has failed.
const FAILED_PAUSE: Duration = Duration::from_secs(1);

/// Looks in the background until the service stops, and rests as long as each look says. A failure is logged with what
/// could not be done.
pub(super) fn keep_looking<F>(
    inner: &Arc<Inner>,
    nudge: fn(&Inner) -> &Nudge,
    failed: &'static str,
    look: impl Fn(Arc<Inner>) -> F + Send + Sync + 'static,
) where
    F: Future<Output = Result<Duration, ServiceError>> + Send,
{
    let inner = inner.clone();
    tokio::spawn(async move {
        let mut stopping = inner.stopping.subscribe();
        while !*stopping.borrow() {
            let pause = match look(inner.clone()).await {
                Ok(pause) => pause,
                Err(error) => {
                    tracing::error!("{failed}: {}", error.message());
                    FAILED_PAUSE
                }
            };
            nudge(&inner).rest(pause, &mut stopping).await;
        }
    });
}

/// Tells a background task that there may be something to do.
#[derive(Debug, Default)]
pub(super) struct Nudge(Notify);

impl Nudge {
    /// Has it look now, or once more after its present look.
    pub fn look(&self) {
        self.0.notify_one();
    }

    /// Rests for so long at most.
    pub async fn rest(&self, pause: Duration, stopping: &mut watch::Receiver<bool>) {
        tokio::select! {
            _ = stopping.changed() => {}
            () = self.0.notified() => {}
            () = tokio::time::sleep(pause) => {}
        }
    }
}
