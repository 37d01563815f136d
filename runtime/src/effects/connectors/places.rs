//! Limits the number of connector processes. An owner has no more of them than are free besides, however many workspaces that is, and
//! owners who wait take turns: whoever keeps many busy with servers that never answer keeps nobody else from theirs. Knows
//! nothing of what the processes do.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot::{self, error::TryRecvError};

/// Who pays for what a process does, as runs' owners are numbered. `None` is an owner as well.
pub type Owner = Option<u128>;

/// Whose idle process is to be closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnerFilter {
    This(Owner),
    Anybody,
}

/// All places.
pub struct Places(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    /// How many wait for a place.
    waiting: AtomicUsize,
}

struct State {
    places: usize,
    taken: usize,
    of_owners: HashMap<Owner, usize>,
    /// Who waits. Of these none has room, so that whoever gives a place back wakes no more than get one.
    waiting: HashMap<Owner, VecDeque<oneshot::Sender<Place>>>,
    /// Owners who wait, by turns.
    turns: VecDeque<Owner>,
}

/// A place, until it is dropped.
pub struct Place {
    pub owner: Owner,
    shared: Arc<Shared>,
}

/// Counts who waits.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn among(waiting: &'a AtomicUsize) -> Self {
        waiting.fetch_add(1, Ordering::Relaxed);
        Waiting(waiting)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn free(&self) -> usize {
        self.places.saturating_sub(self.taken)
    }

    fn own(&self, owner: Owner) -> usize {
        self.of_owners.get(&owner).copied().unwrap_or_default()
    }

    /// Whether more places are free than the owner has.
    fn has_room_for(&self, owner: Owner) -> bool {
        self.own(owner) < self.free()
    }

    fn take(&mut self, owner: Owner) {
        self.taken += 1;
        *self.of_owners.entry(owner).or_default() += 1;
    }

    fn give_back(&mut self, owner: Owner) {
        self.taken = self.taken.saturating_sub(1);
        match self.of_owners.get_mut(&owner) {
            Some(own) if *own > 1 => *own -= 1,
            _ => drop(self.of_owners.remove(&owner)),
        }
    }

    fn wait(&mut self, owner: Owner) -> oneshot::Receiver<Place> {
        let (sender, place) = oneshot::channel();
        let those = self.waiting.entry(owner).or_default();
        if those.is_empty() {
            self.turns.push_back(owner);
        }
        // Those who have left would be kept for as long as the owner has no room.
        if those.len().is_power_of_two() {
            those.retain(|sender| !sender.is_closed());
        }
        those.push_back(sender);
        place
    }

    /// The next one that waits and gets a place, which is taken by then.
    fn grant(&mut self) -> Option<(Owner, oneshot::Sender<Place>)> {
        for _ in 0..self.turns.len() {
            let owner = self.turns.pop_front()?;
            let next = self.next_of(owner);
            match self.waiting.get(&owner).is_none_or(VecDeque::is_empty) {
                true => drop(self.waiting.remove(&owner)),
                false => self.turns.push_back(owner),
            }
            if let Some(sender) = next {
                self.take(owner);
                return Some((owner, sender));
            }
        }
        None
    }

    fn next_of(&mut self, owner: Owner) -> Option<oneshot::Sender<Place>> {
        if !self.has_room_for(owner) {
            return None;
        }
        let those = self.waiting.get_mut(&owner)?;
        those.retain(|sender| !sender.is_closed());
        those.pop_front()
    }
}

impl Places {
    pub fn new(places: usize) -> Self {
        Places(Arc::new(Shared {
            state: Mutex::new(State {
                places: places.max(1),
                taken: 0,
                of_owners: HashMap::new(),
                waiting: HashMap::new(),
                turns: VecDeque::new(),
            }),
            waiting: AtomicUsize::new(0),
        }))
    }

    /// Whether somebody waits for a place.
    pub fn is_waited_for(&self) -> bool {
        self.0.waiting.load(Ordering::Relaxed) > 0
    }

    /// A place for this owner. Where there is none, `close_idle` is told to make some: an idle process is as good as a free place.
    pub async fn take(&self, owner: Owner, close_idle: impl Fn(OwnerFilter) -> bool) -> Place {
        'asking: loop {
            let mut waits = match self.take_or_wait(owner) {
                Ok(place) => return place,
                Err(waits) => waits,
            };
            let _waiting = Waiting::among(&self.0.waiting);
            loop {
                match waits.try_recv() {
                    Ok(place) => return place,
                    // Its sender is dropped only with everything.
                    Err(TryRecvError::Closed) => continue 'asking,
                    Err(TryRecvError::Empty) => {}
                }
                let has_closed = close_idle(OwnerFilter::This(owner))
                    || (self.is_below_half(owner) && close_idle(OwnerFilter::Anybody));
                if !has_closed {
                    break;
                }
            }
            if let Ok(place) = waits.await {
                return place;
            }
        }
    }

    fn take_or_wait(&self, owner: Owner) -> Result<Place, oneshot::Receiver<Place>> {
        let mut state = self.0.state();
        if !state.has_room_for(owner) {
            return Err(state.wait(owner));
        }
        state.take(owner);
        Ok(Place {
            owner,
            shared: self.0.clone(),
        })
    }

    /// Whether the owner has less than half of all places.
    fn is_below_half(&self, owner: Owner) -> bool {
        let state = self.0.state();
        state.own(owner) < state.places.div_ceil(2)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let next: Vec<_> = {
            let mut state = self.shared.state();
            state.give_back(self.owner);
            std::iter::from_fn(|| state.grant()).collect()
        };
        for (owner, waits) in next {
            let shared = self.shared.clone();
            // Whoever has just left gives it back.
            drop(waits.send(Place { owner, shared }));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;
    use std::cell::RefCell;

    fn now(places: &Places, owner: Owner) -> Option<Place> {
        places.take(owner, |_| false).now_or_never()
    }

    fn all(places: &Places, owner: Owner) -> Vec<Place> {
        std::iter::from_fn(|| now(places, owner)).collect()
    }

    fn is_at_rest(places: &Places) -> bool {
        let state = places.0.state();
        state.taken == 0
            && state.of_owners.is_empty()
            && state.waiting.is_empty()
            && state.turns.is_empty()
            && !places.is_waited_for()
    }

    #[test]
    fn an_owner_leaves_as_many_places_as_it_has() {
        for (count, half) in [(1, 1), (2, 1), (3, 2), (64, 32)] {
            assert_eq!(all(&Places::new(count), Some(1)).len(), half, "{count}");
        }
        let places = Places::new(64);
        let held = [Some(1), Some(2), None].map(|owner| all(&places, owner));
        assert_eq!(held.each_ref().map(Vec::len), [32, 16, 8]);
        assert!(now(&places, Some(3)).is_some());
        drop(held);
        // Those who have asked in vain have left.
        assert!(now(&places, Some(1)).is_some());
        assert!(is_at_rest(&places));
    }

    #[test]
    fn who_waits_gets_what_is_given_back_by_turns_of_owners() {
        let places = Places::new(1);
        let held = now(&places, Some(1)).unwrap();
        let wait = |owner| {
            let mut waits = Box::pin(places.take(owner, |_| false));
            assert!(waits.as_mut().now_or_never().is_none());
            waits
        };
        let (left, mut first, mut second, mut other) =
            (wait(Some(1)), wait(Some(1)), wait(Some(1)), wait(Some(2)));
        assert!(places.is_waited_for());
        drop((left, held));
        let place = first.as_mut().now_or_never().unwrap();
        assert!(second.as_mut().now_or_never().is_none());
        drop(place);
        assert!(second.as_mut().now_or_never().is_none());
        drop(other.as_mut().now_or_never().unwrap());
        drop(second.as_mut().now_or_never().unwrap());
        drop((first, second, other));
        assert!(is_at_rest(&places));
    }

    #[test]
    fn who_has_left_is_not_remembered() {
        let places = Places::new(1);
        let held = now(&places, Some(1));
        for _ in 0..1_000 {
            assert!(now(&places, Some(2)).is_none());
        }
        assert_eq!(places.0.state().waiting[&Some(2)].len(), 1);
        drop(held);
        assert!(is_at_rest(&places));
    }

    #[test]
    fn idle_processes_are_as_good_as_free_places() {
        let places = Places::new(4);
        let idle = RefCell::new(all(&places, Some(1)));
        idle.borrow_mut().extend(all(&places, Some(2)));
        assert_eq!(idle.borrow().len(), 3);
        let close = |whose: OwnerFilter| {
            let mut idle = idle.borrow_mut();
            let at = idle.iter().position(|place| match whose {
                OwnerFilter::This(owner) => place.owner == owner,
                OwnerFilter::Anybody => true,
            });
            let closed = at.map(|at| idle.remove(at));
            drop(idle);
            closed.is_some()
        };
        let take = |owner| places.take(owner, close).now_or_never();
        let first = take(Some(3));
        assert!(first.is_some());
        assert_eq!(idle.borrow().len(), 3, "one was free");
        let second = take(Some(3));
        assert!(second.is_some());
        // Half of them are in use, which leaves no more for the same owner, and nobody's idle process is closed for it.
        let rest = idle.borrow().len();
        assert!(rest < 3 && take(Some(3)).is_none());
        assert_eq!(idle.borrow().len(), rest);
    }
}
