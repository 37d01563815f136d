//! Where runs wait for their turn, and who executes them then.
//!
//! Runs start runs: one that executes may call a pattern, start an error pattern, or be tried again. So what executes
//! depends on what accepts, records and cancels, and these hand runs to what executes. The circle is cut here: they know
//! [`ExecuteRuns`] only, whose implementation is set once, when the parts are put together.

use crate::attempt::FinishedAttempt;
use crate::queue::{Place, Queue, Reservation};
use crate::run::Run;
use futures_util::future::BoxFuture;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;
use tokio::sync::oneshot;

pub(crate) trait ExecuteRuns: Send + Sync {
    /// Executes a run that is stored and hands on what becomes of it, in the background. Without a place it only ends,
    /// as cancelled.
    fn execute(self: Arc<Self>, run: Run, place: Option<Place>);

    /// Makes one attempt, from which nothing follows yet.
    fn attempt(self: Arc<Self>, run: Run) -> BoxFuture<'static, FinishedAttempt>;

    /// Waits in the background for an attempt and for its run to be stored under an owner; hands on then what becomes
    /// of it. If it is not stored the attempt is dropped.
    fn finish_once_stored(
        self: Arc<Self>,
        attempt: BoxFuture<'static, FinishedAttempt>,
        stored: oneshot::Receiver<Arc<str>>,
        place: Place,
    );
}

/// Hands runs to what executes them.
pub(crate) struct Dispatcher {
    queue: Queue,
    /// Not kept alive by those who start runs, which it keeps alive itself.
    executor: OnceLock<Weak<dyn ExecuteRuns>>,
}

impl Dispatcher {
    /// Executes nothing before [`Dispatcher::set_executor`].
    pub fn new(queue: Queue) -> Arc<Self> {
        Arc::new(Dispatcher {
            queue,
            executor: OnceLock::new(),
        })
    }

    /// Says who executes, once.
    pub fn set_executor(&self, executor: Weak<dyn ExecuteRuns>) {
        if self.executor.set(executor).is_err() {
            tracing::error!("The executor was set twice: the first one is used");
        }
    }

    /// `None`: the service has gone.
    pub fn executor(&self) -> Option<Arc<dyn ExecuteRuns>> {
        self.executor.get()?.upgrade()
    }

    /// Puts a run in its tenant's lane.
    pub fn queue(&self, run: Run, reservation: Option<Reservation>) {
        let Some(executor) = self.executor() else { return };
        let (share, class, id) = (run.deployment.share(), run.class(), run.id);
        let start = Box::new(move |place| executor.execute(run, place));
        self.queue.push(share, class, Some(id), reservation, start);
    }

    /// Queues a run when its next attempt is due, or at once when it is cancelled or lost before.
    pub fn queue_after(self: &Arc<Self>, run: Run, wait: Duration) {
        let this = self.clone();
        tokio::spawn(async move {
            let live = run.live.clone();
            tokio::select! {
                () = live.interrupted() => {}
                () = tokio::time::sleep(wait) => {}
            }
            match live.is_cancelled() {
                true => this.end_cancelled(run),
                false => this.queue(run, None),
            }
        });
    }

    /// Ends a run that was cancelled, for which it need not wait for its turn.
    pub fn end_cancelled(&self, run: Run) {
        if let Some(executor) = self.executor() {
            executor.execute(run, None);
        }
    }

    /// Executes a run past the queue while nothing else starts.
    pub fn execute_now(&self, run: Run) {
        let Some(executor) = self.executor() else { return };
        let place = self.queue.admit(run.deployment.share(), run.class());
        executor.execute(run, Some(place));
    }

    /// Queues runs that were held.
    pub fn release(&self, held: Vec<Run>) {
        for run in held {
            self.queue(run, None);
        }
    }
}
