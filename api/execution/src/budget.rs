//! Memory for large requests: what is read, compared or answered takes its share before it is begun and gives it back
//! when it is done. Owners take turns, and none has more than half. What is held for long, as imports do while their patterns are
//! compiled, is one for each owner and half for all of them, so that what is done at once need not wait for it; and a quarter for an
//! owner, so that nobody holds all of that for long. Knows nothing of what the memory is for.

use crate::blocking::computing;
use crate::held::{Held, held, holding};
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
    /// The most that one owner has.
    share_max: usize,
    /// The part for what is held for long, in which an owner has one share at a time; `None`: this is that part.
    long: Option<Budget>,
    state: Mutex<State>,
}

/// What is held for long. Whoever holds it takes no other share within: two who wait for what the other holds would never go on.
#[derive(Debug)]
struct Long {
    _turn: Option<Share>,
    _share: Share,
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

/// Memory that a text takes, roughly, by so much for each of its bytes and for each of its values.
pub const fn memory((bytes, for_byte): (usize, usize), (values, for_value): (usize, usize)) -> usize {
    bytes
        .saturating_mul(for_byte)
        .saturating_add(values.saturating_mul(for_value))
}

/// A share that is taken until it is dropped.
#[derive(Debug)]
pub struct Share {
    budget: Budget,
    owner: Owner,
    bytes: usize,
    /// It is a part of what is held for long.
    _held: Option<Held>,
}

impl Drop for Share {
    fn drop(&mut self) {
        if self.bytes > 0 {
            self.budget.give_back(self.owner, self.bytes);
        }
    }
}

impl Budget {
    /// A budget of so many bytes.
    pub fn new(bytes_max: usize) -> Self {
        let share_max = bytes_max / 2;
        let long = Budget(Arc::new(Shared {
            bytes_max: share_max,
            share_max: share_max / 2,
            long: None,
            state: Mutex::default(),
        }));
        Budget(Arc::new(Shared {
            bytes_max,
            share_max,
            long: Some(long),
            state: Mutex::default(),
        }))
    }

    /// Takes a share, when it is the owner's turn and there is room. More than an owner may have counts as that.
    pub async fn take(&self, owner: Owner, bytes: usize) -> Result<Share, ServiceError> {
        if let Some(held) = held() {
            return Ok(Share {
                budget: self.clone(),
                owner,
                bytes: 0,
                _held: Some(held),
            });
        }
        let bytes = bytes.min(self.0.share_max);
        let waiting = {
            let mut state = self.state();
            let owner_taken = state.owners.get(&owner).map_or(0, |owner| owner.taken);
            let fits = self.may_have(owner_taken, bytes) && state.taken + bytes <= self.0.bytes_max;
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
        computing(owner, work).await
    }

    /// Does what goes on for long with a text of so many bytes, of which it makes so many bytes in memory: when the owner has
    /// nothing else of the kind under way, and there is room. The memory is given back when all of it is done.
    pub async fn hold<T>(
        &self,
        owner: Owner,
        (text_bytes, bytes): (usize, usize),
        work: impl Future<Output = T>,
    ) -> Result<T, ServiceError> {
        if is_small(text_bytes) {
            return Ok(work.await);
        }
        let (_turn, bytes) = match &self.0.long {
            Some(long) => (Some(long.take(owner, bytes).await?), bytes.min(long.0.share_max)),
            None => (None, bytes),
        };
        let _share = self.take(owner, bytes).await?;
        Ok(holding(Arc::new(Long { _turn, _share }), work).await)
    }

    /// Whether no further request of an owner may wait.
    pub fn is_full_for(&self, owner: Owner) -> bool {
        let state = self.state();
        let owner = state.owners.get(&owner);
        owner.is_some_and(|owner| owner.waiting.len() >= WAITING_MAX)
    }

    /// Whether an owner with so many bytes may have these as well.
    fn may_have(&self, taken: usize, bytes: usize) -> bool {
        match self.0.long {
            Some(_) => taken + bytes <= self.0.share_max,
            None => taken == 0,
        }
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
            _held: None,
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
            if !self.may_have(owner_state.taken, bytes) {
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
        let mib = self.0.bytes_max >> 20;
        let message = match self.0.long {
            Some(_) => format!(
                "Too many large requests are being processed: the {mib} MiB for them (`large_request_memory`) are \
                in use. Try again shortly."
            ),
            None => format!(
                "Too many large imports and previews are being processed: each user has one at a time, and all of \
                them together have {mib} MiB (half of `large_request_memory`). Try again shortly."
            ),
        };
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
    use tokio::sync::oneshot;

    type Holding = Pin<Box<dyn Future<Output = bool>>>;
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

    /// Holds until it is told to end.
    fn hold(budget: &Budget, owner: UserId, bytes: usize) -> (oneshot::Sender<()>, Holding) {
        let (end, ended) = oneshot::channel();
        let budget = budget.clone();
        let holding = async move {
            let size = (1 << 20, bytes);
            let inner = budget.clone();
            let work = async move {
                // What is taken within is part of it.
                let within = inner.take(Some(owner), usize::MAX).await;
                ended.await.is_ok() && within.is_ok()
            };
            budget.hold(Some(owner), size, work).await.unwrap_or_default()
        };
        (end, Box::pin(holding))
    }

    #[tokio::test]
    async fn what_is_held_for_long_is_one_for_each_owner_and_leaves_half_to_what_is_done_at_once() {
        let budget = Budget::new(100);
        let (a, b, c) = (UserId::new(), UserId::new(), UserId::new());
        let (end_first, mut first) = hold(&budget, a, 20);
        assert!((&mut first).now_or_never().is_none());
        let (end_second, mut second) = hold(&budget, a, 20);
        assert!((&mut second).now_or_never().is_none());
        assert_eq!(budget.state().taken, 20, "the second one waits for its turn");
        let (end_other, mut other) = hold(&budget, b, 90);
        assert!((&mut other).now_or_never().is_none());
        assert_eq!(budget.state().taken, 45, "more than a quarter is a quarter");
        let (_, mut full) = hold(&budget, c, 6);
        assert!((&mut full).now_or_never().is_none());
        let at_once = take(&budget, c, 50).await;
        assert!(at_once.is_some(), "half is left for what is done at once");
        drop((full, at_once));
        end_first.send(()).unwrap();
        assert!(first.await);
        assert!((&mut second).now_or_never().is_none());
        assert_eq!(budget.state().taken, 45, "it is the second one's turn");
        end_second.send(()).unwrap();
        end_other.send(()).unwrap();
        assert!(second.await && other.await);
        assert!(budget.state().owners.is_empty());
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
