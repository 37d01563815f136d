//! Runs that this server has accepted and not yet ended, as others can reach them: to cancel them, and to wait for
//! their end.

use crate::answer_stream::{AnswerStream, Beginning};
use crate::queue::Share;
use heddle_model::ids::DeploymentId;
use heddle_model::status::{Phase, RunStatus};
use heddle_runtime::RunError;
use serde_json::value::RawValue;
use std::sync::atomic::{AtomicU8, Ordering};
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

/// Nothing of what follows.
const NONE: u8 = 0;
/// Its parking is stored, and it was taken up again, before that is known here.
const AHEAD: u8 = 1;
const PARKED: u8 = 2;
const CANCELLED: u8 = 3;
const LOST: u8 = 4;

/// What a run is whose parking was just stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Parking {
    /// Nothing of it is here any more but this.
    Parked,
    /// It goes on: it was taken up again before this was known here.
    TakenUp,
    /// It was cancelled before, and is to be ended.
    Cancelled,
    /// It is another server's.
    Lost,
}

/// A run under way.
#[derive(Debug)]
pub(crate) struct Live {
    pub deployment: DeploymentId,
    pub share: Share,
    /// Whether it is parked, cancelled or lost: one of these, so that who cancels a run that parks at the same time knows whether it will
    /// end here.
    standing: AtomicU8,
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
            standing: AtomicU8::new(NONE),
            wake: Notify::new(),
            phase: AtomicU8::new(Phase::Queued as u8),
            ending: Mutex::new(Ending::Unwatched(None)),
            stream: OnceLock::new(),
        })
    }

    fn standing(&self) -> u8 {
        self.standing.load(Ordering::SeqCst)
    }

    /// Changes the standing to what follows from it; gives what it was before. `None`: nothing follows from that.
    fn change(&self, next: impl Fn(u8) -> Option<u8>) -> Option<u8> {
        let mut before = self.standing();
        loop {
            let after = next(before)?;
            let changed = self
                .standing
                .compare_exchange(before, after, Ordering::SeqCst, Ordering::SeqCst);
            match changed {
                Ok(_) => return Some(before),
                Err(other) => before = other,
            }
        }
    }

    /// Ends it as soon as it can. `false`: it is parked, so that nothing is here that could end.
    pub fn cancel(&self) -> bool {
        let is_here = self.change(|standing| (standing != PARKED).then_some(standing.max(CANCELLED)));
        self.wake.notify_one();
        is_here.is_some()
    }

    pub fn is_cancelled(&self) -> bool {
        self.standing() == CANCELLED
    }

    /// The run is another server's, unless it is parked, and nobody's.
    pub fn lose(&self) {
        self.change(|standing| (standing != PARKED).then_some(LOST));
        self.wake.notify_one();
    }

    pub fn is_lost(&self) -> bool {
        self.standing() == LOST
    }

    /// Waits until the run is cancelled or lost.
    pub async fn interrupted(&self) {
        while !matches!(self.standing(), CANCELLED | LOST) {
            self.wake.notified().await;
        }
    }

    /// Whether it is parked, so that nothing of it is here but this.
    pub fn is_parked(&self) -> bool {
        self.standing() == PARKED
    }

    /// Parks it, which is stored.
    pub fn park(&self) -> Parking {
        let before = self.change(|standing| match standing {
            NONE => Some(PARKED),
            AHEAD => Some(NONE),
            _ => None,
        });
        match (before, self.standing()) {
            (Some(NONE), _) => Parking::Parked,
            (Some(_), _) => Parking::TakenUp,
            (None, LOST) => Parking::Lost,
            (None, PARKED) => Parking::Parked,
            (None, _) => Parking::Cancelled,
        }
    }

    /// Goes on with it when its run is taken up. `false`: it belongs to an earlier life of the run. It does not if it is parked, or, where the
    /// database has the run as parked (`has_parked`), if it is about to be.
    pub fn take_up(&self, has_parked: bool) -> bool {
        let before = self.change(|standing| match standing {
            PARKED => Some(NONE),
            NONE if has_parked => Some(AHEAD),
            CANCELLED if has_parked => Some(CANCELLED),
            _ => None,
        });
        before.is_some()
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
pub(crate) mod tests {
    use super::*;
    use heddle_model::ids::UserId;
    use heddle_model::tenant::Tenant;

    /// One of a deployment and a user of its own.
    pub fn live() -> Arc<Live> {
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

    #[tokio::test]
    async fn a_run_that_is_cancelled_while_it_parks_does_one_of_both() {
        let first = live();
        assert!(first.cancel() && first.park() == Parking::Cancelled);
        assert!(first.is_cancelled() && !first.is_parked());
        first.interrupted().await;
        let second = live();
        assert!(second.park() == Parking::Parked && !second.cancel());
        assert!(second.is_parked() && !second.is_cancelled());
        second.lose();
        assert!(second.is_parked(), "it is nobody's");
        assert!(second.take_up(true) && !second.is_parked() && second.cancel());
        let lost = live();
        lost.lose();
        assert!(lost.park() == Parking::Lost && !lost.take_up(true) && lost.is_lost());
    }

    #[test]
    fn a_run_may_be_taken_up_before_its_parking_is_known() {
        let run = live();
        assert!(!run.take_up(false), "another one has it");
        assert!(run.take_up(true));
        assert_eq!(run.park(), Parking::TakenUp);
        assert!(!run.is_parked());
        assert_eq!(run.park(), Parking::Parked, "the next time");
    }
}
