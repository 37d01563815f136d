//! What was read from the database, kept in memory until something changes. Knows nothing about what it keeps.

use quick_cache::unsync::Cache;
use quick_cache::{Equivalent, Weighter};
use std::fmt;
use std::hash::Hash;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Values by key. What was read before a change is not kept after it. When there is too much, what is asked for least
/// goes first.
pub struct ReadCache<K, V> {
    kept: Mutex<Kept<K, V>>,
    /// What a value takes at least.
    bytes_min: u64,
}

struct Kept<K, V> {
    values: Cache<K, Entry<V>, Bytes>,
    /// Counts changes.
    generation: u64,
}

struct Entry<V> {
    value: V,
    bytes: u64,
}

#[derive(Clone)]
struct Bytes;

impl<K, V> Weighter<K, Entry<V>> for Bytes {
    fn weight(&self, _: &K, entry: &Entry<V>) -> u64 {
        entry.bytes
    }
}

/// When something was read, in changes.
#[derive(Clone, Copy, Debug)]
pub struct Moment(u64);

/// Decides who renews a value that is believed for a time only. One caller does so before that time is up, so that not all
/// who ask for it then have to at once. Cheap to clone, and new with each value.
#[derive(Clone, Debug, Default)]
pub struct Renewal(Arc<AtomicBool>);

impl Renewal {
    /// Whether to go on with what is so old and believed for so long, rather than to read it again. The first who asks in the
    /// second half of the time shall read it.
    pub fn is_believed(&self, age: Duration, age_max: Duration) -> bool {
        age < age_max && (age < age_max / 2 || self.0.swap(true, Ordering::Relaxed))
    }
}

impl<K: Eq + Hash, V: Clone> ReadCache<K, V> {
    /// For so many values.
    pub fn new(values_max: usize) -> Self {
        ReadCache::with_bytes(values_max, values_max)
    }

    /// For so many values, and so many bytes of them together.
    pub fn with_bytes(values_max: usize, bytes_max: usize) -> Self {
        let values_max = values_max.max(1);
        let bytes_max = bytes_max.max(values_max) as u64;
        ReadCache {
            kept: Mutex::new(Kept {
                values: Cache::with_weighter(values_max, bytes_max, Bytes),
                generation: 0,
            }),
            bytes_min: bytes_max / values_max as u64,
        }
    }

    fn kept(&self) -> MutexGuard<'_, Kept<K, V>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is kept under a key; and the moment, for [`ReadCache::keep`] if it has to be read.
    pub fn get<Q: Hash + Equivalent<K> + ?Sized>(&self, key: &Q) -> (Option<V>, Moment) {
        let kept = self.kept();
        let found = kept.values.get(key).map(|entry| entry.value.clone());
        (found, Moment(kept.generation))
    }

    /// Keeps a value of about so many bytes, unless something has changed since the moment before it was read.
    pub fn keep(&self, since: Moment, key: K, value: V, bytes: usize) {
        let bytes = (bytes as u64).max(self.bytes_min);
        let mut kept = self.kept();
        if kept.generation == since.0 {
            kept.values.insert(key, Entry { value, bytes });
        }
    }

    /// Anything may have changed.
    pub fn forget_all(&self) {
        let mut kept = self.kept();
        kept.generation += 1;
        kept.values.clear();
    }

    /// What is under this key has changed.
    pub fn forget(&self, key: &K) {
        let mut kept = self.kept();
        kept.generation += 1;
        kept.values.remove(key);
    }

    /// Values like these have changed.
    pub fn forget_those(&self, are: impl Fn(&V) -> bool) {
        let mut kept = self.kept();
        kept.generation += 1;
        kept.values.retain(|_, entry| !are(&entry.value));
    }
}

impl<K, V> fmt::Debug for ReadCache<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ReadCache")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_read_before_a_change_is_not_kept() {
        let cache = ReadCache::new(10);
        let (found, before) = cache.get(&"a");
        assert_eq!(found, None);
        cache.keep(before, "a", 1, 0);
        assert_eq!(cache.get(&"a").0, Some(1));
        cache.forget(&"b");
        cache.keep(before, "a", 2, 0);
        assert_eq!(cache.get(&"a").0, Some(1));
        cache.forget_those(|value| *value == 1);
        let (found, after) = cache.get(&"a");
        assert_eq!(found, None);
        cache.keep(after, "a", 3, 0);
        cache.forget_all();
        assert_eq!(cache.get(&"a").0, None);
    }

    #[test]
    fn neither_values_nor_their_bytes_grow_beyond_the_limits() {
        let few = ReadCache::new(100);
        let (_, now) = few.get(&0);
        (0..1_000).for_each(|key| few.keep(now, key, key, 0));
        let kept = |cache: &ReadCache<i32, i32>| (0..1_000).filter(|key| cache.get(key).0.is_some()).count();
        assert!((90..=100).contains(&kept(&few)), "{}", kept(&few));

        let large = ReadCache::with_bytes(100, 1_000);
        let (_, now) = large.get(&0);
        (0..1_000).for_each(|key| large.keep(now, key, key, 100));
        assert!((5..=10).contains(&kept(&large)), "{}", kept(&large));
        large.keep(now, 5_000, 1, 2_000);
        assert_eq!(large.get(&5_000).0, None);
    }

    #[test]
    fn one_who_asks_reads_again_before_all_have_to() {
        let (renewal, age_max) = (Renewal::default(), Duration::from_secs(1));
        let asked = |ages_ms: [u64; 3]| {
            ages_ms.map(|age_ms| renewal.is_believed(Duration::from_millis(age_ms), age_max))
        };
        assert_eq!(asked([0, 100, 499]), [true; 3]);
        assert_eq!(asked([500, 501, 999]), [false, true, true]);
        assert_eq!(asked([1_000, 1_001, 5_000]), [false; 3]);
    }

    #[test]
    fn what_is_asked_for_stays_when_others_come_once() {
        let cache = ReadCache::new(100);
        let (_, now) = cache.get(&0);
        cache.keep(now, 0, 0, 0);
        for key in 1..2_000 {
            assert_eq!(cache.get(&0).0, Some(0), "before {key}");
            cache.keep(now, key, key, 0);
        }
    }
}
