//! How often something may happen in a minute, counted exactly: the last minute's events of each key are
//! remembered. Knows nothing of what is counted.

use crate::clock::Timestamp;
use crate::error::{ApiError, Code};
use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

const WINDOW: Duration = Duration::from_secs(60);
/// Keys that are remembered; past it the longest idle ones are forgotten, so that many addresses can't fill the
/// memory.
const KEYS_MAX: usize = 50_000;

/// Counts events by key over the last minute, in this process.
#[derive(Debug)]
pub struct RateLimiter<K> {
    per_minute: usize,
    events: Mutex<HashMap<K, VecDeque<Timestamp>>>,
}

impl<K: Hash + Eq + Clone> RateLimiter<K> {
    /// Lets so many events of a key through in any minute; 0: all.
    pub fn new(per_minute: u32) -> Self {
        RateLimiter {
            per_minute: usize::try_from(per_minute).unwrap_or(usize::MAX),
            events: Mutex::default(),
        }
    }

    /// Counts an event of `key`, or says when there may be one again. What is refused does not count.
    pub fn check(&self, key: &K, now: Timestamp) -> Result<(), ApiError> {
        if self.per_minute == 0 {
            return Ok(());
        }
        let mut events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        if events.len() >= KEYS_MAX && !events.contains_key(key) {
            forget_idle(&mut events, now);
        }
        let times = events.entry(key.clone()).or_default();
        while times.front().is_some_and(|oldest| oldest.plus(WINDOW) <= now) {
            times.pop_front();
        }
        if let Some(oldest) = times.front().filter(|_| times.len() >= self.per_minute) {
            let wait_ms = oldest.plus(WINDOW).millis().saturating_sub(now.millis());
            let wait_s = u64::try_from(wait_ms).unwrap_or_default().div_ceil(1000);
            return Err(ApiError::from(Code::RateLimited).retry_after_s(wait_s));
        }
        times.push_back(now);
        Ok(())
    }
}

/// Forgets keys without an event in the last minute; if that is too few, half of the others, the longest idle first.
fn forget_idle<K: Hash + Eq>(events: &mut HashMap<K, VecDeque<Timestamp>>, now: Timestamp) {
    let since = now.minus(WINDOW);
    events.retain(|_, times| times.back().is_some_and(|last| *last > since));
    if events.len() < KEYS_MAX / 2 {
        return;
    }
    let mut last: Vec<Timestamp> = events
        .values()
        .filter_map(|times| times.back().copied())
        .collect();
    let middle = last.len() / 2;
    let (_, median, _) = last.select_nth_unstable(middle);
    let median = *median;
    let mut room = KEYS_MAX / 2;
    events.retain(|_, times| {
        let keep = room > 0 && times.back().is_some_and(|last| *last >= median);
        room -= usize::from(keep);
        keep
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minute_has_so_many_events_and_the_next_waits_for_the_oldest_to_be_past() {
        let limiter = RateLimiter::new(3);
        let at = |seconds: i64| Timestamp::from_millis(seconds * 1000);
        for second in [0, 10, 20] {
            assert!(limiter.check(&"a", at(second)).is_ok());
        }
        assert_eq!(limiter.check(&"a", at(59)).unwrap_err().code(), Code::RateLimited);
        assert!(limiter.check(&"b", at(59)).is_ok());
        assert!(limiter.check(&"a", at(60)).is_ok());
        assert!(limiter.check(&"a", at(69)).is_err());
        assert!(limiter.check(&"a", at(70)).is_ok());
    }

    #[test]
    fn many_keys_are_forgotten_before_they_fill_the_memory() {
        let limiter = RateLimiter::new(1);
        let now = Timestamp::from_millis(0);
        for key in 0..3 * KEYS_MAX {
            limiter.check(&key, now).unwrap();
        }
        assert!(limiter.events.lock().unwrap().len() <= KEYS_MAX);
    }
}
