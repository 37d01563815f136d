//! Whether the service stops.

use std::sync::Arc;
use tokio::sync::watch;

/// Tells background work that the service stops. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Stop(Arc<watch::Sender<bool>>);

impl Stop {
    pub fn new() -> Self {
        Stop(Arc::new(watch::Sender::new(false)))
    }

    pub fn begin(&self) {
        self.0.send_replace(true);
    }

    pub fn has_begun(&self) -> bool {
        *self.0.borrow()
    }

    /// Becomes true when the service stops.
    pub fn watch(&self) -> watch::Receiver<bool> {
        self.0.subscribe()
    }
}
