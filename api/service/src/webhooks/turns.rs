//! Turns of owners whose webhooks come at the same time, so that the few of one don't stand behind the many of another. While all come for
//! one owner, nobody waits.

use heddle_model::clock::Timestamp;
use heddle_model::ids::UserId;
use heddle_store::per_user::PerUser;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::OwnedSemaphorePermit;

/// Webhooks of one owner that are dealt with at a time while others' come too.
const PER_OWNER_MAX: usize = 8;
/// For how long somebody else is expected to go on.
const EXPECTED: Duration = Duration::from_secs(1);

/// Who has come.
#[derive(Debug)]
pub struct Turns {
    of_owners: PerUser,
    seen: Mutex<Seen>,
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
            self.changed_at = Some(now);
        }
        let ago = |then: Timestamp| u64::try_from(now.millis().saturating_sub(then.millis())).ok();
        let ago = self.changed_at.and_then(ago);
        ago.is_some_and(|ago| u128::from(ago) < EXPECTED.as_millis())
    }
}

impl Default for Turns {
    fn default() -> Self {
        Turns {
            of_owners: PerUser::new(PER_OWNER_MAX),
            seen: Mutex::default(),
        }
    }
}

impl Turns {
    /// Waits for a webhook's turn, which lasts until what is given is dropped; `None` if there is nobody to give way to.
    pub async fn take(&self, owner: UserId, now: Timestamp) -> Option<OwnedSemaphorePermit> {
        let has_company = self
            .seen
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .notes(owner, now);
        match has_company {
            // Never closed.
            true => self.of_owners.of(owner).acquire_owned().await.ok(),
            false => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    #[test]
    fn an_owner_waits_for_their_own_only_and_only_beside_others() {
        let (turns, ann, bob) = (Turns::default(), UserId::new(), UserId::new());
        let at = Timestamp::from_millis;
        for _ in 0..100 {
            assert!(turns.take(ann, at(0)).now_or_never().unwrap().is_none());
        }
        assert!(turns.take(bob, at(1)).now_or_never().unwrap().is_some());
        let mut held: Vec<_> = (0..PER_OWNER_MAX)
            .map(|_| turns.take(ann, at(2)).now_or_never().unwrap().unwrap())
            .collect();
        assert!(turns.take(ann, at(3)).now_or_never().is_none());
        assert!(turns.take(bob, at(4)).now_or_never().unwrap().is_some());
        held.pop();
        assert!(turns.take(ann, at(5)).now_or_never().unwrap().is_some());
        // Bob has not come for a second.
        assert!(turns.take(ann, at(1_005)).now_or_never().unwrap().is_none());
    }
}
