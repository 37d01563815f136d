//! Memory for large requests: what is read, compared or answered takes its share before it is begun and gives it back
//! when it is done. Owners take turns, and none has more than half. Knows nothing of what the memory is for.

use crate::blocking::computing;
use heddle_model::error::{Code, ServiceError};
use heddle_model::ids::UserId;
use heddle_runtime::is_small;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::oneshot;

/// Waiting longer is not worth it to anybody.
const WAIT_MAX: Duration = Duration::from_secs(10);
/// Requests of one owner that wait.
const WAITING_MAX: usize = 32;
/// Owners that wait.
const OWNERS_MAX: usize = 1_000;
/// Seconds after which to try again.
const RETRY_AFTER_S: u64 = 2;

/// Whose request it is: a user's, whatever the workspace, or somebody's who is not known.
pub type Owner = Option<UserId>;

/// The memory. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Budget(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    bytes_max: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    taken: usize,
    owners: HashMap<Owner, OwnerState>,
    /// Owners that wait, in turns.
    turns: VecDeque<Owner>,
    /// Whether one of them would be served, were there more in all.
    is_short: bool,
}

#[derive(Debug, Default)]
struct OwnerState {
    taken: usize,
    waiting: VecDeque<Waiting>,
}

#[derive(Debug)]
struct Waiting {
    bytes: usize,
    granted: oneshot::Sender<Share>,
}

/// A share that is taken until it is dropped.
#[derive(Debug)]
pub struct Share {
    budget: Budget,
    owner: Owner,
    bytes: usize,
}

impl Drop for Share {
    fn drop(&mut self) {
        if self.bytes > 0 {
            self.budget.give_back(self.owner, self.bytes);
        }
    }
}

impl Budget {
    /// Of so many bytes.
    pub fn new(bytes_max: usize) -> Self {
        let state = Mutex::default();
        Budget(Arc::new(Shared { bytes_max, state }))
    }

    /// Takes a share, when it is the owner's turn and there is room. More than an owner may have counts as that.
    pub async fn take(&self, owner: Owner, bytes: usize) -> Result<Share, ServiceError> {
        let bytes = bytes.min(self.share_max());
        let waiting = {
            let mut state = self.state();
            let owner_taken = state.owners.get(&owner).map_or(0, |owner| owner.taken);
            let fits = owner_taken + bytes <= self.share_max() && state.taken + bytes <= self.0.bytes_max;
            let owner_waits = state
                .owners
                .get(&owner)
                .is_some_and(|owner| !owner.waiting.is_empty());
            if fits && !owner_waits && (state.turns.is_empty() || !state.is_short) {
                return Ok(self.granted(&mut state, owner, bytes));
            }
            let is_first = state
                .owners
                .get(&owner)
                .is_none_or(|owner| owner.waiting.is_empty());
            if is_first && state.turns.len() >= OWNERS_MAX {
                state.forget(owner);
                return Err(self.refusal());
            }
            let owner_state = state.owners.entry(owner).or_default();
            owner_state.waiting.retain(|waiting| !waiting.granted.is_closed());
            if owner_state.waiting.len() >= WAITING_MAX {
                return Err(self.refusal());
            }
            let (granted, waiting) = oneshot::channel();
            owner_state.waiting.push_back(Waiting { bytes, granted });
            if is_first {
                state.turns.push_back(owner);
            }
            self.serve(&mut state);
            waiting
        };
        match tokio::time::timeout(WAIT_MAX, waiting).await {
            Ok(Ok(share)) => Ok(share),
            _ => Err(self.refusal()),
        }
    }

    /// Takes a share of `factor` times as many bytes as a text has; `None`: the text is small.
    pub async fn take_unless_small(
        &self,
        owner: Owner,
        (bytes, factor): (usize, usize),
    ) -> Result<Option<Share>, ServiceError> {
        if is_small(bytes) {
            return Ok(None);
        }
        self.take(owner, bytes.saturating_mul(factor)).await.map(Some)
    }

    /// Does what reads a text of so many bytes, of which it may make `factor` times as many: here if that is little,
    /// else with a share and on a thread that may be blocked.
    pub async fn read<T: Send + 'static>(
        &self,
        owner: Owner,
        size: (usize, usize),
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, ServiceError> {
        let Some(share) = self.take_unless_small(owner, size).await? else {
            return Ok(work());
        };
        let work = move || {
            let done = work();
            drop(share);
            done
        };
        computing(work).await
    }

    /// Whether no further request of an owner may wait.
    pub fn is_full_for(&self, owner: Owner) -> bool {
        let state = self.state();
        let owner = state.owners.get(&owner);
        owner.is_some_and(|owner| owner.waiting.len() >= WAITING_MAX)
    }

    fn share_max(&self) -> usize {
        self.0.bytes_max / 2
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn granted(&self, state: &mut State, owner: Owner, bytes: usize) -> Share {
        state.taken += bytes;
        state.owners.entry(owner).or_default().taken += bytes;
        Share {
            budget: self.clone(),
            owner,
            bytes,
        }
    }

    fn give_back(&self, owner: Owner, bytes: usize) {
        let mut state = self.state();
        state.taken = state.taken.saturating_sub(bytes);
        if let Some(owner) = state.owners.get_mut(&owner) {
            owner.taken = owner.taken.saturating_sub(bytes);
        }
        self.serve(&mut state);
        state.forget(owner);
    }

    /// Gives shares to those whose turn it is, until one does not fit. Owners with their share taken are passed over.
    fn serve(&self, state: &mut State) {
        let mut passed_over = 0;
        state.is_short = false;
        while passed_over < state.turns.len() {
            let Some(owner) = state.turns.pop_front() else {
                return;
            };
            let Some(owner_state) = state.owners.get_mut(&owner) else {
                continue;
            };
            let Some(bytes) = owner_state.waiting.front().map(|waiting| waiting.bytes) else {
                state.forget(owner);
                continue;
            };
            if owner_state.taken + bytes > self.share_max() {
                passed_over += 1;
                state.turns.push_back(owner);
                continue;
            }
            if state.taken + bytes > self.0.bytes_max {
                state.turns.push_front(owner);
                state.is_short = true;
                return;
            }
            passed_over = 0;
            let waiting = owner_state.waiting.pop_front();
            let has_more = !owner_state.waiting.is_empty();
            if has_more {
                state.turns.push_back(owner);
            }
            if let Some(waiting) = waiting.filter(|waiting| !waiting.granted.is_closed()) {
                let share = self.granted(state, owner, bytes);
                if let Err(mut share) = waiting.granted.send(share) {
                    // Gone in this moment. Not by dropping it, which would need the lock that is held here.
                    share.bytes = 0;
                    state.taken = state.taken.saturating_sub(bytes);
                    if let Some(owner) = state.owners.get_mut(&owner) {
                        owner.taken = owner.taken.saturating_sub(bytes);
                    }
                }
            }
            state.forget(owner);
        }
    }

    fn refusal(&self) -> ServiceError {
        let message = format!(
            "Too many large requests are being processed: the {} MiB for them (`large_request_memory`) are \
                in use. Try again shortly.",
            self.0.bytes_max >> 20
        );
        Code::Unavailable.with(message).retry_after_s(RETRY_AFTER_S)
    }
}

impl State {
    /// Forgets an owner who has nothing and waits for nothing.
    fn forget(&mut self, owner: Owner) {
        if self
            .owners
            .get(&owner)
            .is_some_and(|state| state.taken == 0 && state.waiting.is_empty())
        {
            self.owners.remove(&owner);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Budget, Share};
    use futures_util::FutureExt;
    use heddle_model::ids::UserId;
    use std::pin::Pin;

    type Taking = Pin<Box<dyn Future<Output = Option<Share>>>>;

    fn take(budget: &Budget, owner: UserId, bytes: usize) -> Taking {
        let budget = budget.clone();
        Box::pin(async move { budget.take(Some(owner), bytes).await.ok() })
    }

    /// The share, if it is granted by now.
    fn now(taking: &mut Taking) -> Option<Share> {
        taking.now_or_never().flatten()
    }

    #[tokio::test]
    async fn no_owner_has_more_than_half_and_turns_are_taken() {
        let budget = Budget::new(100);
        let (a, b) = (UserId::new(), UserId::new());
        let first = take(&budget, a, 500).await.unwrap();
        let (mut second, mut third) = (take(&budget, a, 50), take(&budget, a, 50));
        assert!(now(&mut second).is_none() && now(&mut third).is_none());
        let other = take(&budget, b, 30).await;
        assert!(other.is_some(), "half is left for others");
        let mut waits = take(&budget, b, 21);
        assert!(now(&mut waits).is_none());
        drop(first);
        let second = now(&mut second).unwrap();
        assert!(now(&mut third).is_none());
        drop(other);
        let waits = now(&mut waits).unwrap();
        drop((second, waits));
        assert!(now(&mut third).is_some());
    }

    #[tokio::test]
    async fn only_so_many_of_one_owner_wait_and_who_gave_up_leaves_nothing_behind() {
        let budget = Budget::new(64 << 20);
        let a = UserId::new();
        let share = take(&budget, a, 32 << 20).await;
        let mut waiting: Vec<Taking> = (0..32).map(|_| take(&budget, a, 1)).collect();
        for taking in &mut waiting {
            assert!(now(taking).is_none());
        }
        let refusal = budget.take(Some(a), 1).await.unwrap_err();
        let told = "the 64 MiB for them (`large_request_memory`)";
        assert!(refusal.message().contains(told), "{}", refusal.message());
        assert!(budget.take(None, 1).await.is_ok());
        drop((waiting, share));
        assert!(budget.take(Some(a), 32 << 20).await.is_ok());
        assert_eq!(budget.state().taken, 0);
        assert!(budget.state().owners.is_empty());
    }
}
