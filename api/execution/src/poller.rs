//! Work in the background that rests between its rounds: until its time, until it is woken, or until the service stops.
//! Knows nothing of what is done.

use crate::stop::Stop;
use heddle_model::error::{ServiceError, chain};
use heddle_store::panics::unless_it_panics;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, watch};

/// Rest after a round that has failed.
const FAILED_PAUSE: Duration = Duration::from_secs(1);

/// Does rounds in the background until the service stops, and rests as long as each says, or until it is woken. A
/// failure is logged as `failed` with its reason.
pub(crate) fn start<F>(
    stop: &Stop,
    wakeup: &Wakeup,
    failed: &'static str,
    round: impl Fn() -> F + Send + Sync + 'static,
) where
    F: Future<Output = Result<Duration, ServiceError>> + Send,
{
    let wakeup = wakeup.clone();
    let mut stopping = stop.watch();
    let stop = stop.clone();
    tokio::spawn(async move {
        while !stop.has_begun() {
            let pause = match unless_it_panics(round()).await {
                Some(Ok(pause)) => pause,
                Some(Err(error)) => {
                    tracing::error!("{failed}: {}", chain(&error));
                    FAILED_PAUSE
                }
                // A panic, which was told. What waits for rounds must not wait for ever.
                None => FAILED_PAUSE,
            };
            wakeup.rest(pause, &mut stopping).await;
        }
    });
}

/// Wakes a background task. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wakeup(Arc<Notify>);

impl Wakeup {
    /// Has the task do a round now, or once more after its present one.
    pub fn wake(&self) {
        self.0.notify_one();
    }

    /// Rests until it is woken or the service stops, for so long at most.
    pub async fn rest(&self, pause: Duration, stopping: &mut watch::Receiver<bool>) {
        tokio::select! {
            _ = stopping.changed() => {}
            () = self.0.notified() => {}
            () = tokio::time::sleep(pause) => {}
        }
    }
}

/// The tasks that take up runs, each by the runs that it looks for. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wakeups {
    /// Parked ones that are due or have been woken.
    pub parked: Wakeup,
    /// Those that a server has left.
    pub left: Wakeup,
    /// Those that servers of the role `api` have accepted.
    pub accepted: Wakeup,
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use tokio::sync::mpsc;

    #[tokio::test]
    async fn rounds_go_on_after_one_that_panics() {
        let (stop, wakeup, count) = (Stop::new(), Wakeup::default(), AtomicUsize::new(0));
        let (begins, mut rounds) = mpsc::unbounded_channel();
        start(&stop, &wakeup, "Nothing was done", move || {
            let number = count.fetch_add(1, Ordering::Relaxed);
            let begins = begins.clone();
            async move {
                begins.send(number).unwrap();
                assert!(number > 0, "as by a mistake");
                Ok(Duration::from_secs(3_600))
            }
        });
        assert_eq!(rounds.recv().await, Some(0));
        wakeup.wake();
        assert_eq!(rounds.recv().await, Some(1));
        stop.begin();
    }
}
