//! Whose compilation is next: users take turns, each has at most one under way, and all together as many as there are
//! processors, but at least two, so that one user's work is nobody else's waiting time.

use heddle_model::error::{Code, ServiceError};
use heddle_model::ids::UserId;
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;

/// Requests of one user that wait.
const REQUESTS_MAX: usize = 16;
/// Events and runs of one user that wait, mostly for the same module.
const DEPLOYMENTS_MAX: usize = 1_024;
/// All that wait.
const WAITING_MAX: usize = 4_096;
/// At least so many compilations at once.
const PLACES_MIN: usize = 2;

/// For whom something is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asker {
    /// A request of theirs.
    Request(UserId),
    /// Events and runs of theirs that wait for a deployment.
    Deployment(UserId),
}

impl Asker {
    /// In whose turn it is.
    pub const fn user(self) -> UserId {
        match self {
            Asker::Request(user) | Asker::Deployment(user) => user,
        }
    }
}

/// Who compiles and who waits.
#[derive(Clone, Debug)]
pub struct Turns(Arc<Mutex<Lanes>>);

#[derive(Debug)]
struct Lanes {
    free: usize,
    working: HashSet<UserId>,
    waiting: HashMap<UserId, VecDeque<oneshot::Sender<Turn>>>,
    /// Users of `waiting`, in their order.
    order: VecDeque<UserId>,
    total: usize,
}

/// A place; given back when dropped.
#[derive(Debug)]
pub struct Turn {
    turns: Turns,
    user: UserId,
}

impl Turn {
    /// Whose it is.
    pub fn user(&self) -> UserId {
        self.user
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut lanes = self.turns.lanes();
        lanes.free += 1;
        lanes.working.remove(&self.user);
        drop(lanes);
        self.turns.hand_out();
    }
}

impl Turns {
    pub fn new(places: usize) -> Self {
        Turns(Arc::new(Mutex::new(Lanes {
            free: places.max(PLACES_MIN),
            working: HashSet::new(),
            waiting: HashMap::new(),
            order: VecDeque::new(),
            total: 0,
        })))
    }

    /// Waits for a place. Too many who wait already are an error.
    pub async fn take(&self, asker: Asker) -> Result<Turn, ServiceError> {
        let (user, waiting_max) = match asker {
            Asker::Request(user) => (user, REQUESTS_MAX),
            Asker::Deployment(user) => (user, DEPLOYMENTS_MAX),
        };
        let (sender, turn) = oneshot::channel();
        self.lanes().push(user, waiting_max, sender)?;
        self.hand_out();
        turn.await.map_err(ServiceError::internal)
    }

    fn lanes(&self) -> MutexGuard<'_, Lanes> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives free places to those who wait.
    fn hand_out(&self) {
        loop {
            // Not locked any more when it is sent: whoever waited may have left, and the turn comes back.
            let next = self.lanes().next();
            let Some((user, sender)) = next else { return };
            let turn = Turn {
                turns: self.clone(),
                user,
            };
            drop(sender.send(turn));
        }
    }
}

impl Lanes {
    fn push(
        &mut self,
        user: UserId,
        waiting_max: usize,
        sender: oneshot::Sender<Turn>,
    ) -> Result<(), ServiceError> {
        let full = |message: String| Err(Code::Unavailable.with(message).retry_after_s(5));
        if self.total >= WAITING_MAX {
            return full(format!(
                "{WAITING_MAX} compilations are already waiting: try again shortly."
            ));
        }
        let lane = self.waiting.entry(user).or_default();
        if lane.len() >= waiting_max {
            // Those who have left need no place.
            let before = lane.len();
            lane.retain(|waiting| !waiting.is_closed());
            self.total -= before - lane.len();
        }
        if lane.len() >= waiting_max {
            return full(format!(
                "{waiting_max} of your compilations are already waiting: try again when they are done."
            ));
        }
        if lane.is_empty() {
            self.order.push_back(user);
        }
        lane.push_back(sender);
        self.total += 1;
        Ok(())
    }

    /// The next who may begin, whose place is taken.
    fn next(&mut self) -> Option<(UserId, oneshot::Sender<Turn>)> {
        if self.free == 0 {
            return None;
        }
        for _ in 0..self.order.len() {
            let user = self.order.pop_front()?;
            if self.working.contains(&user) {
                self.order.push_back(user);
                continue;
            }
            let Some(lane) = self.waiting.get_mut(&user) else {
                continue;
            };
            let mut sender = None;
            while let Some(waiting) = lane.pop_front() {
                self.total -= 1;
                if !waiting.is_closed() {
                    sender = Some(waiting);
                    break;
                }
            }
            if lane.is_empty() {
                self.waiting.remove(&user);
            } else {
                self.order.push_back(user);
            }
            if let Some(sender) = sender {
                self.free -= 1;
                self.working.insert(user);
                return Some((user, sender));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    #[tokio::test]
    async fn a_user_compiles_one_thing_at_a_time_and_others_go_first() {
        let (turns, ann, bob) = (Turns::new(1), UserId::new(), UserId::new());
        let first = turns.take(Asker::Request(ann)).await.unwrap();
        // A place is free, but not for her.
        let mut next = Box::pin(turns.take(Asker::Deployment(ann)));
        assert!(next.as_mut().now_or_never().is_none());
        let of_bob = turns.take(Asker::Request(bob)).now_or_never();
        assert_eq!(of_bob.unwrap().unwrap().user(), bob);
        drop(first);
        assert_eq!(next.await.unwrap().user(), ann);
    }

    #[tokio::test]
    async fn whoever_asks_for_too_much_is_refused_and_nobody_else_is() {
        let (turns, ann, bob) = (Turns::new(1), UserId::new(), UserId::new());
        let _first = turns.take(Asker::Request(ann)).await.unwrap();
        let mut waiting: Vec<_> = (0..REQUESTS_MAX)
            .map(|_| Box::pin(turns.take(Asker::Request(ann))))
            .collect();
        for one in &mut waiting {
            assert!(one.as_mut().now_or_never().is_none());
        }
        let refused = turns.take(Asker::Request(ann)).await.unwrap_err();
        assert_eq!(refused.code(), Code::Unavailable);
        assert!(turns.take(Asker::Request(bob)).now_or_never().is_some());
        // Those who have left need no place.
        drop(waiting);
        assert!(turns.take(Asker::Request(ann)).now_or_never().is_none());
    }
}
