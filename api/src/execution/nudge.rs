//! Work in the background that rests between looks: until its time, until somebody tells it to look, or until the
//! service stops. Knows nothing of what is looked for.

use std::time::Duration;
use tokio::sync::{Notify, watch};

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
