//! An approximate rate limiter for longer periods that needs little memory: each key has a token bucket, which refills
//! at a constant rate. Knows nothing about what is counted.

use crate::rate_limit::forget_idle;
use heddle_model::clock::Timestamp;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Maximum number of keys in memory; beyond it, the longest idle ones are forgotten.
const KEYS_MAX: usize = 100_000;

/// Counts events by key in this process.
#[derive(Debug)]
pub struct TokenBuckets<K> {
    capacity: u32,
    period: Duration,
    buckets: Mutex<HashMap<K, Bucket>>,
}

#[derive(Clone, Copy, Debug)]
struct Bucket {
    tokens: f64,
    at: Timestamp,
}

impl<K: Hash + Eq + Clone> TokenBuckets<K> {
    /// Allows this many events of a key at once, and as many per period; 0: no limit.
    pub fn new(capacity: u32, period: Duration) -> Self {
        TokenBuckets {
            capacity,
            period,
            buckets: Mutex::default(),
        }
    }

    /// How many events are let through in a period.
    pub const fn capacity(&self) -> u32 {
        self.capacity
    }

    /// Counts an event of `key`; the error is the seconds after which there may be one again.
    pub fn check(&self, key: &K, now: Timestamp) -> Result<(), u64> {
        if self.capacity == 0 {
            return Ok(());
        }
        let capacity = f64::from(self.capacity);
        let period_ms = self.period.as_secs_f64().max(0.001) * 1000.0;
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= KEYS_MAX && !buckets.contains_key(key) {
            // A bucket is full again after a period.
            forget_idle(&mut buckets, KEYS_MAX, now.minus(self.period), |bucket| {
                Some(bucket.at)
            });
        }
        let bucket = buckets.entry(key.clone()).or_insert(Bucket {
            tokens: capacity,
            at: now,
        });
        let passed_ms = now.millis().saturating_sub(bucket.at.millis()).max(0);
        let passed_ms = f64::from(u32::try_from(passed_ms).unwrap_or(u32::MAX));
        bucket.tokens = (bucket.tokens + passed_ms / period_ms * capacity).min(capacity);
        bucket.at = now;
        if bucket.tokens >= 1.0 {
            bucket.tokens -= 1.0;
            return Ok(());
        }
        let wait = Duration::from_secs_f64((1.0 - bucket.tokens) / capacity * period_ms / 1000.0);
        Err(wait.as_secs().saturating_add(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_millis(second * 1000)
    }

    #[test]
    fn a_bucket_empties_and_fills_evenly() {
        let buckets = TokenBuckets::new(3, Duration::from_secs(60));
        for _ in 0..3 {
            assert_eq!(buckets.check(&"a", at(0)), Ok(()));
        }
        assert_eq!(buckets.check(&"a", at(0)), Err(21));
        assert_eq!(buckets.check(&"b", at(0)), Ok(()));
        assert_eq!(buckets.check(&"a", at(20)), Ok(()));
        assert_eq!(buckets.check(&"a", at(30)), Err(11));
        for _ in 0..3 {
            assert_eq!(buckets.check(&"a", at(10_000)), Ok(()));
        }
        assert!(buckets.check(&"a", at(10_000)).is_err());
    }

    #[test]
    fn many_keys_do_not_fill_the_memory() {
        let buckets = TokenBuckets::new(1, Duration::from_secs(60));
        for key in 0..2 * KEYS_MAX {
            assert_eq!(buckets.check(&key, at(0)), Ok(()));
        }
        assert!(buckets.buckets.lock().unwrap().len() <= KEYS_MAX);
    }

    #[test]
    fn many_keys_do_not_free_the_last_ones() {
        let buckets = TokenBuckets::new(1, Duration::from_secs(60));
        for key in 0..KEYS_MAX {
            assert_eq!(buckets.check(&key, at(0)), Ok(()));
        }
        assert_eq!(buckets.check(&KEYS_MAX, at(1)), Ok(()));
        assert!(buckets.check(&KEYS_MAX, at(2)).is_err());
        for key in KEYS_MAX + 1..=KEYS_MAX * 3 / 2 {
            assert_eq!(buckets.check(&key, at(2)), Ok(()));
        }
        assert_eq!(buckets.check(&(2 * KEYS_MAX), at(3)), Ok(()));
        assert!(buckets.check(&KEYS_MAX, at(4)).is_err());
    }
}
