//! An exact rate limiter (sliding window): it remembers each key's events of the last minute. Servers that share a
//! limit exchange their counts; until a count arrives, each server only knows its own. Knows nothing about what is
//! counted, or how counts are exchanged.

use heddle_model::clock::Timestamp;
use heddle_model::error::{Code, ServiceError};
use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

const WINDOW: Duration = Duration::from_secs(60);
/// Keys that are remembered; past it the longest idle ones are forgotten, so that many addresses can't fill the
/// memory.
const KEYS_MAX: usize = 50_000;

/// What limits of addresses are counted by: an IPv4 address, or the /64 that one IPv6 client can roam in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LimitKey(IpAddr);

impl LimitKey {
    /// The key under which an address is counted: an IPv4 address, or the /64 network of an IPv6 address.
    pub fn of(address: IpAddr) -> Self {
        LimitKey(match address {
            IpAddr::V4(_) => address,
            IpAddr::V6(address) => {
                let [a, b, c, d, ..] = address.segments();
                IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
            }
        })
    }

    /// The address that represents all addresses with this key.
    pub const fn address(self) -> IpAddr {
        self.0
    }
}

impl std::fmt::Display for LimitKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// Counts events by key over the last minute, in this process.
#[derive(Debug)]
pub struct RateLimiter<K> {
    per_minute: usize,
    events: Mutex<HashMap<K, VecDeque<Timestamp>>>,
    /// Counts that have not been sent to other servers yet, if there are any.
    untold: Option<Mutex<HashMap<K, usize>>>,
}

impl<K: Hash + Eq + Clone> RateLimiter<K> {
    /// Lets so many events of a key through in any minute; 0: all.
    pub fn new(per_minute: u32) -> Self {
        RateLimiter {
            per_minute: usize::try_from(per_minute).unwrap_or(usize::MAX),
            events: Mutex::default(),
            untold: None,
        }
    }

    /// Makes it a limit for several servers, if it is shared.
    pub fn shared_if(mut self, is_shared: bool) -> Self {
        self.untold = is_shared.then(Mutex::default);
        self
    }

    /// How often each key was let through since this was asked last.
    pub fn take_untold(&self) -> Vec<(K, usize)> {
        let Some(untold) = &self.untold else {
            return Vec::new();
        };
        let mut untold = untold.lock().unwrap_or_else(PoisonError::into_inner);
        untold.drain().collect()
    }

    /// Counts what another server has let through.
    pub fn count(&self, key: &K, events: usize, now: Timestamp) {
        let mut kept = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        let times = times_of(&mut kept, key, now);
        let events = events.min(self.per_minute.saturating_sub(times.len()));
        times.extend(std::iter::repeat_n(now, events));
    }

    /// Counts an event of `key`, or says when there may be one again. What is refused does not count.
    pub fn check(&self, key: &K, now: Timestamp) -> Result<(), ServiceError> {
        self.check_up_to(self.per_minute, key, now)
    }

    /// Counts an event of `key` against a limit of its own; 0: no limit.
    pub fn check_up_to(&self, per_minute: usize, key: &K, now: Timestamp) -> Result<(), ServiceError> {
        if per_minute == 0 {
            return Ok(());
        }
        let mut events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        let times = times_of(&mut events, key, now);
        if let Some(oldest) = times.front().filter(|_| times.len() >= per_minute) {
            let wait_ms = oldest.plus(WINDOW).millis().saturating_sub(now.millis());
            let wait_s = u64::try_from(wait_ms).unwrap_or_default().div_ceil(1000);
            return Err(ServiceError::from(Code::RateLimited).retry_after_s(wait_s));
        }
        times.push_back(now);
        drop(events);
        if let Some(untold) = &self.untold {
            let mut untold = untold.lock().unwrap_or_else(PoisonError::into_inner);
            if untold.len() < KEYS_MAX || untold.contains_key(key) {
                *untold.entry(key.clone()).or_default() += 1;
            }
        }
        Ok(())
    }
}

/// A key's events within the last minute.
fn times_of<'m, K: Hash + Eq + Clone>(
    events: &'m mut HashMap<K, VecDeque<Timestamp>>,
    key: &K,
    now: Timestamp,
) -> &'m mut VecDeque<Timestamp> {
    if events.len() >= KEYS_MAX && !events.contains_key(key) {
        forget_idle(events, KEYS_MAX, now.minus(WINDOW), |times| times.back().copied());
    }
    let times = events.entry(key.clone()).or_default();
    while times.front().is_some_and(|oldest| oldest.plus(WINDOW) <= now) {
        times.pop_front();
    }
    times
}

/// Forgets keys without an event since then; if that leaves more than half of `keys_max`, the longest idle of them too.
pub(crate) fn forget_idle<K: Hash + Eq, V>(
    kept: &mut HashMap<K, V>,
    keys_max: usize,
    since: Timestamp,
    last: impl Fn(&V) -> Option<Timestamp>,
) {
    kept.retain(|_, events| last(events).is_some_and(|last| last > since));
    if kept.len() < keys_max / 2 {
        return;
    }
    let mut times: Vec<Timestamp> = kept.values().filter_map(&last).collect();
    let middle = times.len() / 2;
    let (_, median, _) = times.select_nth_unstable(middle);
    let median = *median;
    let mut room = keys_max / 2;
    kept.retain(|_, events| {
        let keep = room > 0 && last(events).is_some_and(|last| last >= median);
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
    fn what_others_have_let_through_counts_and_is_told_once() {
        let (limiter, other) = (
            RateLimiter::new(3).shared_if(true),
            RateLimiter::new(3).shared_if(true),
        );
        let now = Timestamp::from_millis(0);
        for _ in 0..2 {
            limiter.check(&"a", now).unwrap();
        }
        for (key, events) in limiter.take_untold() {
            other.count(&key, events, now);
        }
        assert_eq!((limiter.take_untold(), other.take_untold()), (vec![], vec![]));
        assert!(other.check(&"a", now).is_ok());
        assert!(other.check(&"a", now).is_err());
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
