//! Bounds the memory for what others may make as large or as many as they like, and may be slow to take away: events until they are
//! written for the tap, answers until they are sent, and connections and messages by SMTP. Nobody gets more of it than is still free.
//! Knows nothing of what is kept.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;

/// All the room, which is shared between those who are told apart by `K`.
pub struct Rooms<K: Copy + Eq + Hash>(Arc<Shared<K>>);

struct Shared<K> {
    bytes_max: usize,
    /// What has no more bytes is not counted.
    small_bytes_max: usize,
    held: Mutex<Held<K>>,
    freed: Notify,
}

struct Held<K> {
    bytes: usize,
    of_each: HashMap<K, usize>,
}

/// Room for one thing, which is given back when it is dropped.
pub struct Room<K: Copy + Eq + Hash> {
    /// `None`: it is not counted.
    shared: Option<Arc<Shared<K>>>,
    whose: K,
    bytes: usize,
}

impl<K: Copy + Eq + Hash> Clone for Rooms<K> {
    fn clone(&self) -> Self {
        Rooms(self.0.clone())
    }
}

impl<K: Copy + Eq + Hash> Rooms<K> {
    /// Room for so many bytes, or whatever else it is that is counted; what is small takes none.
    pub fn new(bytes_max: usize, small_bytes_max: usize) -> Self {
        let held = Held {
            bytes: 0,
            of_each: HashMap::new(),
        };
        Rooms(Arc::new(Shared {
            bytes_max,
            small_bytes_max,
            held: Mutex::new(held),
            freed: Notify::new(),
        }))
    }

    /// Takes room for so many bytes; `None`: there is none now.
    pub fn take(&self, whose: K, bytes: usize) -> Option<Room<K>> {
        let is_counted = bytes > self.0.small_bytes_max;
        if is_counted && !self.0.take(whose, bytes) {
            return None;
        }
        Some(Room {
            shared: is_counted.then(|| self.0.clone()),
            whose,
            bytes,
        })
    }

    /// Takes room as soon as there is some. `None`: there was none within this time.
    pub async fn wait(&self, whose: K, bytes: usize, time_max: Duration) -> Option<Room<K>> {
        let taken = async {
            loop {
                // First, so that what is given back meanwhile is not missed.
                let freed = self.0.freed.notified();
                if let Some(room) = self.take(whose, bytes) {
                    return room;
                }
                freed.await;
            }
        };
        tokio::time::timeout(time_max, taken).await.ok()
    }
}

impl<K: Copy + Eq + Hash> Shared<K> {
    fn held(&self) -> MutexGuard<'_, Held<K>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, whose: K, bytes: usize) -> bool {
        let mut held = self.held();
        let own = held.of_each.get(&whose).copied().unwrap_or_default();
        let own = own.saturating_add(bytes);
        if own > self.bytes_max.saturating_sub(held.bytes) {
            return false;
        }
        held.bytes += bytes;
        held.of_each.insert(whose, own);
        true
    }

    fn give_back(&self, whose: K, bytes: usize) {
        let mut held = self.held();
        held.bytes = held.bytes.saturating_sub(bytes);
        match held.of_each.get_mut(&whose) {
            Some(own) if *own > bytes => *own -= bytes,
            _ => drop(held.of_each.remove(&whose)),
        }
        drop(held);
        self.freed.notify_waiters();
    }
}

impl<K: Copy + Eq + Hash> Drop for Room<K> {
    fn drop(&mut self) {
        if let Some(shared) = &self.shared {
            shared.give_back(self.whose, self.bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    #[test]
    fn whoever_has_some_leaves_as_much() {
        let rooms = Rooms::new(64, 4);
        let large = |whose: u8| rooms.take(whose, 16);
        let mut held = vec![large(1).unwrap(), large(1).unwrap()];
        assert!(large(1).is_none());
        held.push(large(2).unwrap());
        assert!(large(2).is_none());
        // What is small always has room.
        held.extend((0..100).map(|_| rooms.take(1, 4).unwrap()));
        drop(held);
        let held = rooms.0.held();
        assert_eq!((held.bytes, held.of_each.len()), (0, 0));
    }

    #[tokio::test]
    async fn what_is_given_back_is_for_whoever_waits() {
        let rooms = Rooms::new(64, 4);
        let held = rooms.take(1_u8, 60);
        assert!(held.is_some());
        let long = Duration::from_secs(600);
        let mut waiting = Box::pin(rooms.wait(2, 60, long));
        assert!((&mut waiting).now_or_never().is_none());
        drop(held);
        assert!(waiting.await.is_some());
        let held = rooms.take(1, 60);
        assert!(held.is_some());
        assert!(rooms.wait(2, 60, Duration::ZERO).await.is_none());
    }
}
