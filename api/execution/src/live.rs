//! Runs that this server has accepted and not yet ended, as others can reach them: to cancel them, and to wait for
//! their end.

use crate::answer_stream::{AnswerStream, Beginning};
use crate::queue::Share;
use heddle_model::ids::DeploymentId;
use heddle_model::status::{Phase, RunStatus};
use heddle_runtime::RunError;
use serde_json::value::RawValue;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use tokio::sync::{Notify, watch};

/// A run's end, as whoever waits for it hears of it.
#[derive(Clone, Debug)]
pub struct Ended {
    /// How it ended.
    pub status: RunStatus,
    /// What Return gave.
    pub output: Option<Box<RawValue>>,
    /// Why it failed.
    pub error: Option<RunError>,
    /// `{status, headers, body, bodyType}` of RespondToWebhook.
    pub response: Option<Box<RawValue>>,
}

impl Ended {
    /// Bytes of what it holds, roughly.
    pub(crate) fn bytes(&self) -> usize {
        let values = [self.output.as_ref(), self.response.as_ref()];
        let given: usize = values.into_iter().flatten().map(|value| value.get().len()).sum();
        given.saturating_add(self.error.as_ref().map_or(0, |error| error.message.len()))
    }

    /// An end without output.
    pub(crate) fn failed(status: RunStatus, error: RunError) -> Self {
        Ended {
            status,
            output: None,
            error: Some(error),
            response: None,
        }
    }
}

/// By which a run's end is waited for.
#[derive(Clone, Debug)]
pub(crate) enum End {
    /// It has come already.
    Known(Arc<Ended>),
    Awaited(watch::Receiver<Option<Arc<Ended>>>),
}

/// What there is of a run's end. The channel is made for the first who asks: most runs have ended by then, and it is large.
#[derive(Debug)]
enum Ending {
    /// Nobody has asked so far.
    Unwatched(Option<Arc<Ended>>),
    Watched(watch::Sender<Option<Arc<Ended>>>),
}

const NONE: u8 = 0;
const CANCELLED: u8 = 1;
const LOST: u8 = 2;

/// A run under way.
#[derive(Debug)]
pub(crate) struct Live {
    pub deployment: DeploymentId,
    pub share: Share,
    interruption: AtomicU8,
    parked: AtomicBool,
    wake: Notify,
    phase: AtomicU8,
    ending: Mutex<Ending>,
    /// Where pieces of its response go, if somebody may wait for them.
    stream: OnceLock<AnswerStream>,
}

impl Live {
    pub fn new(deployment: DeploymentId, share: Share) -> Arc<Self> {
        Arc::new(Live {
            deployment,
            share,
            interruption: AtomicU8::new(NONE),
            parked: AtomicBool::new(false),
            wake: Notify::new(),
            phase: AtomicU8::new(Phase::Queued as u8),
            ending: Mutex::new(Ending::Unwatched(None)),
            stream: OnceLock::new(),
        })
    }

    pub fn cancel(&self) {
        self.interruption.fetch_max(CANCELLED, Ordering::SeqCst);
        self.wake.notify_one();
    }

    pub fn is_cancelled(&self) -> bool {
        self.interruption.load(Ordering::SeqCst) == CANCELLED
    }

    /// The run is another server's.
    pub fn lose(&self) {
        self.interruption.store(LOST, Ordering::SeqCst);
        self.wake.notify_one();
    }

    pub fn is_lost(&self) -> bool {
        self.interruption.load(Ordering::SeqCst) == LOST
    }

    /// Waits until the run is cancelled or lost.
    pub async fn interrupted(&self) {
        while self.interruption.load(Ordering::SeqCst) == NONE {
            self.wake.notified().await;
        }
    }

    /// Whether it is parked, so that nothing of it is here but this.
    pub fn is_parked(&self) -> bool {
        self.parked.load(Ordering::SeqCst)
    }

    pub fn set_parked(&self, parked: bool) {
        self.parked.store(parked, Ordering::SeqCst);
    }

    /// Whether somebody waits for its end.
    pub fn is_watched(&self) -> bool {
        match &*self.ending() {
            Ending::Unwatched(_) => false,
            Ending::Watched(sender) => sender.receiver_count() > 0,
        }
    }

    fn ending(&self) -> MutexGuard<'_, Ending> {
        self.ending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn set_phase(&self, phase: Phase) {
        self.phase.store(phase as u8, Ordering::Relaxed);
    }

    pub fn phase(&self) -> Phase {
        let phase = self.phase.load(Ordering::Relaxed);
        Phase::ALL
            .get(usize::from(phase))
            .copied()
            .unwrap_or(Phase::Ended)
    }

    pub fn end(&self, ended: Ended) {
        let ended = Some(Arc::new(ended));
        match &mut *self.ending() {
            Ending::Unwatched(known) => *known = ended,
            Ending::Watched(sender) => drop(sender.send_replace(ended)),
        }
    }

    /// Lets it stream its response to whoever holds what this gives.
    pub fn offer_stream(&self) -> Beginning {
        let (stream, beginning) = AnswerStream::new();
        // Offered once, when the run is accepted.
        let _ = self.stream.set(stream);
        beginning
    }

    pub fn stream(&self) -> Option<AnswerStream> {
        self.stream.get().cloned()
    }

    pub fn watch(&self) -> End {
        let mut ending = self.ending();
        match &*ending {
            Ending::Unwatched(Some(ended)) => End::Known(ended.clone()),
            Ending::Watched(sender) => End::Awaited(sender.subscribe()),
            Ending::Unwatched(None) => {
                let (sender, receiver) = watch::channel(None);
                *ending = Ending::Watched(sender);
                End::Awaited(receiver)
            }
        }
    }
}

/// Waits for an end; `None`: the server stops before it, or has lost the run to another one.
pub(crate) async fn wait(end: End) -> Option<Arc<Ended>> {
    match end {
        End::Known(ended) => Some(ended),
        End::Awaited(mut ended) => {
            let end = ended.wait_for(Option::is_some).await.ok()?;
            end.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use heddle_model::ids::UserId;
    use heddle_model::tenant::Tenant;

    fn live() -> Arc<Live> {
        let owner = UserId::new();
        let tenant = Tenant::User(owner);
        Live::new(DeploymentId::new(), Share { owner, tenant })
    }

    fn ended() -> Ended {
        Ended {
            status: RunStatus::Success,
            output: None,
            error: None,
            response: None,
        }
    }

    #[tokio::test]
    async fn an_end_is_heard_by_who_asks_before_it_or_after_it_and_so_is_that_none_will_come() {
        let run = live();
        assert!(!run.is_watched());
        let before = run.watch();
        assert!(run.is_watched());
        run.end(ended());
        for end in [before, run.watch()] {
            assert!(wait(end).await.is_some());
        }
        let unwatched = live();
        unwatched.end(ended());
        assert!(!unwatched.is_watched());
        assert!(wait(unwatched.watch()).await.is_some());
        let lost = live();
        let end = lost.watch();
        drop(lost);
        assert!(wait(end).await.is_none());
    }
}
