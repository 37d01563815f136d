//! Turns of owners whose webhooks come at the same time, so that the few of one don't stand behind the many of another. While all come for
//! one owner, nobody waits.

use heddle_model::clock::Timestamp;
use heddle_model::error::{Code, ServiceError};
use heddle_model::ids::UserId;
use heddle_store::per_user::{PerUser, PerUserOrNobody};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::available_parallelism;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Webhooks of one owner that are dealt with at a time while others' come too.
const PER_OWNER_MAX: usize = 8;
/// Large things that were sent to one owner that are looked at at a time: the owner's share of memory is not for strangers alone.
const LARGE_MAX: usize = 2;
/// For how long somebody else is expected to go on.
const EXPECTED: Duration = Duration::from_secs(1);
/// For a turn: longer than that, senders don't wait for an answer, and what stands here is kept in memory.
const WAIT_MAX: Duration = Duration::from_secs(10);
/// When to send again what had no turn.
const RETRY_AFTER_S: u64 = 5;

/// Who has come.
#[derive(Debug)]
pub struct Turns {
    of_owners: PerUser,
    large: PerUser,
    /// For bodies that are looked at beside all else: more of one owner at a time would only take the processors from each other.
    places: PerUserOrNobody,
    /// The places of all owners: one more than any of them has.
    all_places: Arc<Semaphore>,
    seen: Mutex<Seen>,
}

/// A place for a body, which is given back when it is dropped.
#[derive(Debug)]
pub struct BodyPlace {
    _own: Option<OwnedSemaphorePermit>,
    _of_all: Option<OwnedSemaphorePermit>,
}

#[derive(Debug, Default)]
struct Seen {
    last: Option<UserId>,
    /// When a webhook came for somebody else than the one before.
    changed_at: Option<Timestamp>,
}

impl Seen {
    /// Whether webhooks come for others too.
    fn notes(&mut self, owner: UserId, now: Timestamp) -> bool {
        let last = self.last.replace(owner);
        if last.is_some_and(|last| last != owner) {
            self.changed_at = self.changed_at.max(Some(now));
        }
        // One whose body came slowly arrived before that.
        let is_recent = |then: Timestamp| then.plus(EXPECTED) > now;
        self.changed_at.is_some_and(is_recent)
    }
}

impl Default for Turns {
    fn default() -> Self {
        let processors = processors();
        Turns {
            of_owners: PerUser::new(PER_OWNER_MAX),
            large: PerUser::new(LARGE_MAX),
            places: PerUserOrNobody::new(processors),
            all_places: Arc::new(Semaphore::new(processors + 1)),
            seen: Mutex::default(),
        }
    }
}

impl Turns {
    /// Waits for a webhook's turn, which lasts until what is given is dropped; `None` if there is nobody to give way to.
    pub async fn take(
        &self,
        owner: UserId,
        now: Timestamp,
    ) -> Result<Option<OwnedSemaphorePermit>, ServiceError> {
        let has_company = self
            .seen
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .notes(owner, now);
        if !has_company {
            return Ok(None);
        }
        let turns = self.of_owners.of(owner);
        if let Ok(turn) = turns.clone().try_acquire_owned() {
            return Ok(Some(turn));
        }
        // Boxed: the future of each request would have to carry it.
        match Box::pin(tokio::time::timeout(WAIT_MAX, turns.acquire_owned())).await {
            // Never closed.
            Ok(turn) => Ok(turn.ok()),
            Err(_) => Err(too_many()),
        }
    }

    /// Waits for a place for something large that was sent to an owner; it lasts until what is given is dropped.
    pub async fn take_large(&self, owner: UserId) -> Result<Option<OwnedSemaphorePermit>, ServiceError> {
        let places = self.large.of(owner);
        match tokio::time::timeout(WAIT_MAX, places.acquire_owned()).await {
            // Never closed.
            Ok(place) => Ok(place.ok()),
            Err(_) => Err(too_many()),
        }
    }

    /// Waits for a place to look at a body in that was sent to an owner; those of nobody are together like an owner's. However many are
    /// sent to one owner, the others have a place.
    pub async fn take_place(&self, owner: Option<UserId>) -> BodyPlace {
        let own = self.places.of(owner);
        // Neither is ever closed. An owner's own come first: no more of them than have one wait for the places of all.
        let own = own.acquire_owned().await.ok();
        let of_all = self.all_places.clone().acquire_owned().await.ok();
        BodyPlace {
            _own: own,
            _of_all: of_all,
        }
    }
}

fn processors() -> usize {
    available_parallelism().map_or(1, usize::from)
}

fn too_many() -> ServiceError {
    Code::Unavailable
        .with("Too many webhooks of the same owner are waiting: try again shortly.")
        .retry_after_s(RETRY_AFTER_S)
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    #[tokio::test]
    async fn an_owner_waits_for_their_own_only_and_only_beside_others() {
        let (turns, ann, bob) = (Turns::default(), UserId::new(), UserId::new());
        let at = Timestamp::from_millis;
        // Without waiting, if there is one.
        let take = |owner, now| turns.take(owner, at(now)).now_or_never().map(Result::unwrap);
        for _ in 0..100 {
            assert!(take(ann, 0).unwrap().is_none());
        }
        assert!(take(bob, 1).unwrap().is_some());
        let mut held: Vec<_> = (0..PER_OWNER_MAX)
            .map(|_| take(ann, 2).unwrap().unwrap())
            .collect();
        assert!(take(ann, 3).is_none());
        assert!(take(bob, 4).unwrap().is_some());
        // Its body came slowly.
        assert!(take(ann, -1_000).is_none());
        held.pop();
        assert!(take(ann, 5).unwrap().is_some());
        // Bob has not come for a second.
        assert!(take(ann, 1_100).unwrap().is_none());
    }

    #[tokio::test]
    async fn however_many_bodies_come_for_one_owner_others_have_a_place() {
        let (turns, ann, bob) = (Turns::default(), Some(UserId::new()), Some(UserId::new()));
        let take = |owner| turns.take_place(owner).now_or_never();
        let mut anns: Vec<_> = (0..processors()).map(|_| take(ann).unwrap()).collect();
        let mut waiting = Box::pin(turns.take_place(ann));
        assert!((&mut waiting).now_or_never().is_none());
        let bobs = take(bob).unwrap();
        // Whatever is nobody's is like somebody's: all places are taken now.
        assert!(take(None).is_none());
        drop(bobs);
        assert!(take(None).is_some());
        anns.pop();
        assert!(waiting.now_or_never().is_some());
    }

    #[tokio::test]
    async fn of_what_is_large_an_owner_has_a_few_whoever_else_comes() {
        let (turns, ann, bob) = (Turns::default(), UserId::new(), UserId::new());
        let take = |owner| turns.take_large(owner).now_or_never().map(Result::unwrap);
        let mut held: Vec<_> = (0..LARGE_MAX).map(|_| take(ann).unwrap().unwrap()).collect();
        assert!(take(ann).is_none());
        assert!(take(bob).unwrap().is_some());
        held.pop();
        assert!(take(ann).unwrap().is_some());
    }
}
